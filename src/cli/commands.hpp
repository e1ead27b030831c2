#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "fusewright/driver/session.hpp"

namespace fusewright::cli {

/// Exit codes of the program.
enum Exit : int { kOk = 0, kWrong = 1, kBadInput = 2, kNoResources = 3 };

/// Options that every command on a model takes, as typed.
struct ModelArguments {
  std::string model;
  std::vector<std::string> rules, inputs, shapes, dims, freeze;
  std::string data, device = "cpu", device_file, exactness = "bitexact,reassociating", limit;
  bool no_builtin_rules = false, no_fuse = false, random_weights = false, json = false;
  int threads = 0;
  std::uint64_t seed = 0;
};
void add_model_options(CLI::App& command, ModelArguments& arguments);
/// Errors: values that do not parse, each naming the option.
Result<driver::CompileOptions> compile_options(const ModelArguments& arguments);
int thread_count(const ModelArguments& arguments);

/// Checks of options' values.
CLI::Validator not_empty();
CLI::Validator whole_number();  ///< from 0 to 2^64 - 1
CLI::Validator not_negative();  ///< a finite number from 0 on

/// Prints the error to stderr and gives the exit code of its kind.
int report(const Error& error);

/// A line on the terminal for work that takes longer than a second; silent elsewhere.
std::function<void(const std::string&)> progress_line();

// One function adds one command; the command's callback sets `exit`.
void add_run(CLI::App& app, int& exit);
void add_bench(CLI::App& app, int& exit);
void add_compile(CLI::App& app, int& exit);
void add_audit(CLI::App& app, int& exit);
void add_print(CLI::App& app, int& exit);
void add_check(CLI::App& app, int& exit);
void add_test(CLI::App& app, int& exit);
void add_prove(CLI::App& app, int& exit);

}  // namespace fusewright::cli
