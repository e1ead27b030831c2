#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fusewright/frontend/hlo/parse.hpp"
#include "fusewright/graph/graph.hpp"

namespace fusewright::frontend_hlo {

/// What the user says about a model besides its text. Parameters of the entry are named by their name in the text (a
/// tuple's parts `name.0`, `name.1`, ...), or by a decimal number: their position. A name that the model has wins over
/// a number.
struct ImportOptions {
  std::map<std::string, std::vector<std::int64_t>>
      shapes;                                ///< `--shape NAME=1,3`: binds `?` and `<=n`; the rest must agree
  std::map<std::string, std::int64_t> dims;  ///< `--dim '*=N'` binds every `?` that nothing else binds
  std::map<std::string, ops::TensorHandle>
      inputs;  ///< `--input NAME=FILE`: values of frozen parameters, extents of `?`
  /// `--freeze GLOB`: parameters that become constants (`*` and `?`; `all` is every one that is not in `inputs`); each
  /// needs a value in `inputs` or from `replace_weight`.
  std::vector<std::string> freeze;
  /// `--random-weights`: asked for each elided constant and frozen parameter of float dtype; what it returns (same
  /// dtype and extents) is used in its place.
  std::function<std::optional<ops::Tensor>(const std::string& name, const ops::Type& type)> replace_weight;
};

/// Imports the modules of an HLO text, one graph for each, in order.
///
/// Tuples are taken apart: a parameter of tuple type becomes several, the root's parts are the outputs, tokens vanish.
/// Calls, fusions and maps are inlined; a node's source is named by the path to it ("call.3/add.1"). Layouts are of no
/// account but where a bitcast gives them a meaning. `<=n` counts as n. Instructions that the root does not need are
/// left out. A constant written `{...}` is imported as zeros that check_constants_known reports.
///
/// Errors: all that are found, up to twenty, each with its place. kInput for texts that are wrong: syntax, names that
/// are unknown or there twice, opcodes, operand counts, a declared shape that is not the inferred one, computations
/// that call themselves. kUnsupported, naming the opcode, for what is right but not supported.
Result<std::vector<graph::Graph>> import_hlo(const SourcePtr& text, std::shared_ptr<const ops::OpTable> table,
                                             const ImportOptions& options = {});
/// The same of a text that is parsed: that needs no operators.
Result<std::vector<graph::Graph>> import_hlo(const std::vector<Module>& modules,
                                             std::shared_ptr<const ops::OpTable> table,
                                             const ImportOptions& options = {});

/// The text of a file. Errors: a file that cannot be read.
Result<SourcePtr> read_hlo_file(const std::string& path);

/// An error for the first constant whose values were elided in the text, with its place: such a graph cannot be run.
Status check_constants_known(const graph::Graph& graph);

}  // namespace fusewright::frontend_hlo
