#include <unistd.h>

#include <csignal>

#include "commands.hpp"
#include "fusewright/driver/compile.hpp"
#include "fusewright/lsp/server.hpp"

namespace fusewright::cli {

namespace {

struct LspArguments {
  std::vector<std::string> rules;
};

Result<int> serve(const LspArguments& args) {
  std::signal(SIGPIPE, SIG_IGN);  // an editor that is gone is the end of the input
  lsp::Options options{{driver::rules_folder()}};
  options.rules.insert(options.rules.end(), args.rules.begin(), args.rules.end());
  return lsp::serve(options, STDIN_FILENO, STDOUT_FILENO);
}

}  // namespace

void add_lsp(CLI::App& app, Outcome& outcome) {
  auto args = std::make_shared<LspArguments>();
  CLI::App& command =
      add_command(app, outcome, "lsp", "Serve editors: the Language Server Protocol over stdin and stdout",
                  "  fusewright lsp\n"
                  "  fusewright lsp --rules shared-rules/\n"
                  "\ngrammar/editors/README.md says how to set editors up.\n",
                  args, serve);
  command
      .add_option("--rules", args->rules, "rule files that all others build on, besides the library; may be repeated")
      ->type_name("DIR|FILE")
      ->allow_extra_args(false);
}

}  // namespace fusewright::cli
