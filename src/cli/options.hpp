#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "fusewright/driver/session.hpp"

namespace fusewright::cli {

/// Options that every command on a model takes, as typed.
struct ModelArguments {
  std::string model;
  std::vector<std::string> rules, inputs, shapes, dims, freeze, limits;
  std::string data, memory, device = "cpu", device_file, exactness = "bitexact,reassociating";
  bool no_builtin_rules = false, no_fuse = false, random_weights = false, json = false;
  int threads = 0;
  std::uint64_t seed = 0;
};
void add_model_options(CLI::App& command, ModelArguments& arguments);
/// `--device`, for commands whose target does not say it.
void add_device_option(CLI::App& command, ModelArguments& arguments);

/// Errors: values that do not parse, each naming the option.
Result<driver::CompileOptions> compile_options(const ModelArguments& arguments);

/// `--profile` and `--trace`: where the time went.
struct ProfileArguments {
  bool print = false;
  std::string trace;
};
void add_profile_options(CLI::App& command, ProfileArguments& arguments);
/// Prints it to stderr and writes the file, as asked for. Errors: as of write_file.
/// @param seconds  of the clock, since the command began.
Status report_profile(const ProfileArguments& arguments, const driver::Compilation& compilation, double seconds);

int thread_count(const ModelArguments& arguments);

/// Checks of options' values.
CLI::Validator not_empty();
CLI::Validator whole_number();  ///< from 0 to 2^64 - 1
CLI::Validator not_negative();  ///< a finite number from 0 on

}  // namespace fusewright::cli
