#include <fmt/format.h>

#include "commands.hpp"
#include "fusewright/driver/compile.hpp"
#include "fusewright/driver/rule_tests.hpp"
#include "terminal.hpp"

namespace fusewright::cli {

namespace {

struct TestArguments {
  std::vector<std::string> rules;
  bool json = false;
};

nlohmann::ordered_json to_json(const driver::RuleTestResult& r) {
  nlohmann::ordered_json json = {{"rule", r.rule},   {"example", r.name},  {"reject", r.reject},
                                 {"fired", r.fired}, {"passed", r.passed}, {"reason", r.reason}};
  if (r.span.valid()) {
    json["file"] = r.span.source->name;
    json["line"] = line_column(r.span).line;
  }
  return json;
}

/// Those without a name of their own are called after their rule.
std::string named(const driver::RuleTestResult& r) {
  return r.name.starts_with(r.rule + "/") ? r.name : r.rule + "/" + r.name;
}

Result<int> test(const TestArguments& args) {
  FW_TRY(const auto rules, driver::load_rules(args.rules, true));
  FW_TRY(const driver::Backend* backend, driver::find_backend("cpu"));
  FW_TRY(const cost::Device device, cost::load_device(driver::devices_folder() + "/" + backend->device + ".json"));
  const std::vector<std::string> files = driver::sources_under(*rules, args.rules);
  if (files.empty()) return fail(fmt::format("{}: no rule files", fmt::join(args.rules, ", ")));
  FW_TRY(const std::vector<driver::RuleTestResult> results, driver::run_rule_tests(rules, device, files));
  nlohmann::ordered_json examples = nlohmann::ordered_json::array();
  std::size_t failed = 0;
  for (const driver::RuleTestResult& r : results) {
    failed += r.passed ? 0 : 1;
    examples.push_back(to_json(r));
    if (args.json) continue;
    fmt::print("{} {:6} {}\n",
               r.passed ? paint(stdout, Colour::kGreen, "ok    ") : paint(stdout, Colour::kRed, "FAILED"),
               r.reject ? "reject" : "test", named(r));
    if (!r.reason.empty())
      fmt::print("              {}{}\n",
                 r.span.valid() ? fmt::format("{}:{}: ", r.span.source->name, line_column(r.span).line) : "", r.reason);
  }
  if (args.json)
    print_json({{"passed", results.size() - failed}, {"failed", failed}, {"examples", std::move(examples)}});
  else
    fmt::print("{} passed, {} failed\n", results.size() - failed, failed);
  return failed == 0 ? kOk : kWrong;
}

}  // namespace

void add_test(CLI::App& app, Outcome& outcome) {
  auto args = std::make_shared<TestArguments>();
  CLI::App& command = add_command(app, outcome, "test", "Run the `test` and `reject` examples of rule files",
                                  "  fusewright test my-rules/\n"
                                  "  fusewright test rules/fusion.fuse --json\n",
                                  args, test);
  command.add_option("rules", args->rules, "rule files or folders")->required()->type_name("RULES...");
  command.add_flag("--json", args->json, "print one JSON object (docs/JSON.md)");
}

}  // namespace fusewright::cli
