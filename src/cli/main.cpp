#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <stdexcept>

#include "commands.hpp"

namespace {

// Files have no name until they are complete, so there is nothing to tidy up, and a kernel that runs cannot be asked.
void end_at_once(int signal) { std::_Exit(128 + signal); }

}  // namespace

int main(int argc, char** argv) {
  using namespace fusewright;
  std::signal(SIGINT, end_at_once);
  std::signal(SIGTERM, end_at_once);
  CLI::App app("Fusewright: operator fusion by rewrite rules that you can write, trust and explain", "fusewright");
  app.set_version_flag("--version", FUSEWRIGHT_VERSION);
  app.require_subcommand(1);
  app.fallthrough(false);
  int exit = cli::kOk;
  cli::add_run(app, exit);
  cli::add_bench(app, exit);
  cli::add_compile(app, exit);
  cli::add_audit(app, exit);
  cli::add_print(app, exit);
  cli::add_check(app, exit);
  cli::add_test(app, exit);
  cli::add_prove(app, exit);
  for (CLI::App* command : app.get_subcommands({}))
    for (CLI::Option* option : command->get_options())
      if (option->get_items_expected_max() > 0) option->check(cli::not_empty());
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);
    return code == 0 ? cli::kOk : cli::kBadInput;
  } catch (const std::bad_alloc&) {
    std::fputs("error: out of memory\n", stderr);
    exit = cli::kNoResources;
  } catch (const std::runtime_error& error) {  // of the thread libraries, where the system has no more threads
    std::fprintf(stderr, "error: %s\n", error.what());
    exit = cli::kNoResources;
  }
  if (exit == cli::kNoResources) {  // libraries that tidy up at exit may wait for memory for ever
    std::fflush(nullptr);
    std::_Exit(exit);
  }
  return exit;
}
