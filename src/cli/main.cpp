#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <string_view>

#include "commands.hpp"
#include "help.hpp"
#include "options.hpp"
#include "terminal.hpp"

/// Read by jemalloc, where the program is linked with it. It makes an arena for a second thread when that allocates
/// first, and crashes where there is no memory for it.
extern "C" const char* malloc_conf = "narenas:1";

namespace {

using namespace fusewright;

// Files have no name until they are complete, so there is nothing to tidy up, and a kernel that runs cannot be asked.
void end_at_once(int signal) { std::_Exit(128 + signal); }

cli::Outcome run(int argc, char** argv) {
  CLI::App app("Fusewright: operator fusion by rewrite rules that you can write, trust and explain", "fusewright");
  cli::Outcome outcome = cli::kOk;
  app.set_version_flag("--version", "fusewright " FUSEWRIGHT_VERSION, "print the version");
  app.set_help_flag("-h,--help", "print this");
  app.formatter(cli::help_formatter());
  app.require_subcommand(1);
  app.footer(
      "\n`fusewright COMMAND --help` lists a command's options, with examples.\n"
      "Exit codes: 0 done, 1 a wrong result or failed check, 2 bad input or usage,\n"
      "3 out of memory, or of time with no plan, or of room for what is written,\n"
      "or no plan within --memory.");
  cli::add_run(app, outcome);
  cli::add_bench(app, outcome);
  cli::add_audit(app, outcome);
  cli::add_print(app, outcome);
  cli::add_compile(app, outcome);
  cli::add_check(app, outcome);
  cli::add_fmt(app, outcome);
  cli::add_lsp(app, outcome);
  cli::add_watch(app, outcome);
  cli::add_test(app, outcome);
  cli::add_prove(app, outcome);
  cli::add_extract(app, outcome);
  cli::add_calibrate(app, outcome);
  for (CLI::App* command : app.get_subcommands({}))
    for (CLI::Option* option : command->get_options())
      if (option->get_items_expected_max() > 0) option->check(cli::not_empty());
  FW_TRY_STATUS(cli::check_command(app, argc, argv));
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help_or_version) {
    app.exit(help_or_version);
  } catch (const CLI::ParseError& error) {
    return std::unexpected(cli::usage_error(app, error));
  } catch (const std::bad_alloc&) {
    return fail(ErrorKind::kResource, "out of memory");
  } catch (const std::runtime_error& error) {  // of the thread libraries, where the system has no more threads
    FW_TRY_STATUS(cli::finish_output());       // or of printing
    return fail(ErrorKind::kResource, error.what());
  }
  return outcome;
}

}  // namespace

int main(int argc, char** argv) {
  cli::open_standard_streams();
  std::signal(SIGINT, end_at_once);
  std::signal(SIGTERM, end_at_once);
  const cli::Outcome outcome = run(argc, argv);
  const bool json = std::any_of(argv, argv + argc, [](const char* a) { return std::string_view(a) == "--json"; });
  int exit = outcome ? *outcome : cli::report(outcome.error(), json);
  if (outcome)
    if (const Status arrived = cli::finish_output(); !arrived) exit = cli::report(arrived.error(), false);
  if (exit == cli::kNoResources) {  // libraries that tidy up at exit may wait for memory for ever
    std::fflush(nullptr);
    std::_Exit(exit);
  }
  return exit;
}
