#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fusewright/driver/compile.hpp"

namespace fusewright::driver {

/// What kernels are made for: "x86", "x86:avx2", "nvptx:sm_90", ...
struct CodeTarget {
  std::string name;  ///< as given
  bool nvptx = false;
  std::string machine;  ///< CPU or GPU architecture; empty for this CPU
  std::string backend;  ///< row of the backend table that kernels are planned for
  std::string device;   ///< device description to plan for where the user names none
};
/// Errors: a target that is not known, with those there are.
Result<CodeTarget> parse_target(const std::string& text);

/// Writes a folder that others can run kernels from: kernels/NN_name.o or .ptx, and manifest.json, which says of each
/// kernel its launches and arguments. With inputs also data/: what each kernel gets and, by the reference evaluator,
/// what it must answer and how far off it may be.
/// @param inputs one for each parameter of the model, or none.
/// @returns bytes written.
Result<std::int64_t> write_package(const Compilation& compilation, const CodeTarget& target, const std::string& folder,
                                   const std::optional<std::vector<ops::Tensor>>& inputs);

}  // namespace fusewright::driver
