#include <fmt/format.h>

#include <algorithm>

#include "commands.hpp"
#include "fusewright/driver/compile.hpp"
#include "fusewright/driver/rule_tests.hpp"
#include "fusewright/ops/op_table.hpp"
#include "fusewright/rule/lint.hpp"
#include "terminal.hpp"

namespace fusewright::cli {

namespace {

struct CheckArguments {
  std::vector<std::string> rules;
  bool json = false;
  bool strict = false;
};

/// What the rule files given look wrong in; the library's own notes are not about them.
std::vector<rule::Finding> findings_in(const rule::RuleSet& rules, const std::vector<std::string>& paths) {
  const std::vector<std::string> files = driver::sources_under(rules, paths);
  std::vector<rule::Finding> findings = rule::lint_rules(rules);
  std::erase_if(findings, [&](const rule::Finding& finding) {
    const Span& span = finding.diagnostic.span;
    return finding.lint.empty() || !span.valid() ||
           std::find(files.begin(), files.end(), span.source->name) == files.end();
  });
  return findings;
}

nlohmann::ordered_json to_json(const std::vector<rule::Finding>& findings) {
  std::vector<Diagnostic> diagnostics;
  for (const rule::Finding& finding : findings) diagnostics.push_back(finding.diagnostic);
  nlohmann::ordered_json list = cli::to_json(diagnostics);
  for (std::size_t i = 0; i < findings.size(); ++i) list[i]["lint"] = findings[i].lint;
  return list;
}

Result<int> check(const CheckArguments& args) {
  FW_TRY(const auto rules, driver::load_rules(args.rules, true));
  const std::vector<rule::Finding> findings = findings_in(*rules, args.rules);
  const auto rewrites = std::count_if(rules->rewrites.begin(), rules->rewrites.end(), [](const rule::RewriteRule& r) {
    return r.origin == rule::RewriteRule::Origin::kWritten;
  });
  const std::size_t operators = rules->table->size() - ops::OpTable::builtin().size();
  for (const rule::Finding& finding : findings) print_warning(rule::print_finding(finding));
  if (args.json) {
    const nlohmann::ordered_json json = {{"rewrites", rewrites},
                                         {"fuse_rules", rules->fuses.size()},
                                         {"operators", operators},
                                         {"examples", rules->tests.size()},
                                         {"warnings", to_json(findings)}};
    print_json(json);
  } else {
    fmt::print("{} rewrites, {} fuse rules, {} operators, {} examples (with the library)\n", rewrites,
               rules->fuses.size(), operators, rules->tests.size());
  }
  return args.strict && !findings.empty() ? kWrong : kOk;
}

}  // namespace

void add_check(CLI::App& app, Outcome& outcome) {
  auto args = std::make_shared<CheckArguments>();
  CLI::App& command = add_command(app, outcome, "check", "Check rule files, on top of the built-in library",
                                  "  fusewright check my-rules/\n"
                                  "  fusewright check mish.fuse --strict --json\n",
                                  args, check);
  command.add_option("rules", args->rules, "rule files or folders")->required()->type_name("RULES...");
  command.add_flag("--strict", args->strict, "end with 1 when there are warnings");
  command.add_flag("--json", args->json, "print one JSON object (docs/JSON.md)");
}

}  // namespace fusewright::cli
