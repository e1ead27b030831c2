#include <fmt/format.h>

#include "commands.hpp"
#include "fusewright/driver/compile.hpp"
#include "fusewright/ops/op_table.hpp"
#include "terminal.hpp"

namespace fusewright::cli {

namespace {

struct CheckArguments {
  std::vector<std::string> rules;
  bool json = false;
};

Result<int> check(const CheckArguments& args) {
  FW_TRY(const auto rules, driver::load_rules(args.rules, true));
  std::vector<Diagnostic> warnings;
  for (const Diagnostic& d : rules->warnings)
    if (d.severity != Severity::kNote) warnings.push_back(d);
  const auto rewrites = std::count_if(rules->rewrites.begin(), rules->rewrites.end(), [](const rule::RewriteRule& r) {
    return r.origin == rule::RewriteRule::Origin::kWritten;
  });
  const std::size_t operators = rules->table->size() - ops::OpTable::builtin().size();
  print_warnings(warnings);
  if (args.json) {
    const nlohmann::ordered_json json = {{"rewrites", rewrites},
                                         {"fuse_rules", rules->fuses.size()},
                                         {"operators", operators},
                                         {"examples", rules->tests.size()},
                                         {"warnings", to_json(warnings)}};
    fmt::print("{}\n", json.dump(2));
  } else {
    fmt::print("{} rewrites, {} fuse rules, {} operators, {} examples (with the library)\n", rewrites,
               rules->fuses.size(), operators, rules->tests.size());
  }
  return kOk;
}

}  // namespace

void add_check(CLI::App& app, Outcome& outcome) {
  auto args = std::make_shared<CheckArguments>();
  CLI::App& command = add_command(app, outcome, "check", "Check rule files, on top of the built-in library",
                                  "  fusewright check my-rules/\n"
                                  "  fusewright check mish.fuse --json\n",
                                  args, check);
  command.add_option("rules", args->rules, "rule files or folders")->required()->type_name("RULES...");
  command.add_flag("--json", args->json, "print one JSON object (docs/JSON.md)");
}

}  // namespace fusewright::cli
