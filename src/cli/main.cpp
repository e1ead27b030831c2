#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>

#include "commands.hpp"

int main(int argc, char** argv) {
  using namespace fusewright;
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
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);
    return code == 0 ? cli::kOk : cli::kBadInput;
  } catch (const std::bad_alloc&) {
    std::fputs("error: out of memory\n", stderr);
    return cli::kNoResources;
  }
  return exit;
}
