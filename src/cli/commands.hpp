#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "fusewright/support/result.hpp"

namespace fusewright::cli {

/// Exit codes of the program.
enum Exit : int { kOk = 0, kWrong = 1, kBadInput = 2, kNoResources = 3 };

/// What the command that was given came to: its exit code, or the error for main to report.
using Outcome = Result<int>;

// One function adds one command; each command's callback fills in the outcome.
void add_run(CLI::App& app, Outcome& outcome);
void add_bench(CLI::App& app, Outcome& outcome);
void add_audit(CLI::App& app, Outcome& outcome);
void add_compile(CLI::App& app, Outcome& outcome);
void add_print(CLI::App& app, Outcome& outcome);
void add_check(CLI::App& app, Outcome& outcome);
void add_fmt(CLI::App& app, Outcome& outcome);
void add_lsp(CLI::App& app, Outcome& outcome);
void add_watch(CLI::App& app, Outcome& outcome);
void add_test(CLI::App& app, Outcome& outcome);
void add_extract(CLI::App& app, Outcome& outcome);
void add_calibrate(CLI::App& app, Outcome& outcome);
void add_prove(CLI::App& app, Outcome& outcome);

/// A command that does `work` with its arguments. `examples` stand at the end of its help.
template <class Arguments>
CLI::App& add_command(CLI::App& app, Outcome& outcome, const std::string& name, const std::string& description,
                      const std::string& examples, std::shared_ptr<Arguments> args,
                      Result<int> (*work)(const Arguments&)) {
  CLI::App& command = *app.add_subcommand(name, description);
  command.footer("\nExamples:\n" + examples);
  command.callback([args, &outcome, work] { outcome = work(*args); });
  return command;
}

}  // namespace fusewright::cli
