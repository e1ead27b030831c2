#include "fusewright/audit/audit.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <sstream>

#include "commands.hpp"
#include "fusewright/driver/rule_tests.hpp"
#include "fusewright/frontend/hlo/export.hpp"
#include "fusewright/rule/check.hpp"

namespace fusewright::cli {

namespace {

Result<int> audit(const ModelArguments& args) {
  FW_TRY(const driver::CompileOptions options, compile_options(args));
  FW_TRY(const driver::Compilation c, driver::plan(options));
  if (options.progress) options.progress("");
  const saturate::Saturated* saturated = c.saturated ? &*c.saturated : nullptr;
  if (args.json)
    fmt::print("{}\n", audit::to_json(*c.plan, saturated).dump(2));
  else
    fmt::print("{}", audit::to_text(*c.plan, saturated));
  return kOk;
}

std::string fusion_kind(schedule::Template kind) {
  switch (kind) {
    case schedule::Template::kLoop:
    case schedule::Template::kMove: return "kLoop";
    case schedule::Template::kReduce:
    case schedule::Template::kRow: return "kInput";
    case schedule::Template::kContract:
    case schedule::Template::kConv: return "kOutput";
    case schedule::Template::kWindow:
    case schedule::Template::kHorizontal:
    case schedule::Template::kSort:
    case schedule::Template::kScatter: break;
  }
  return "kCustom";
}

struct PrintArguments {
  ModelArguments model;
  bool before = false, after = false;
};

// The model as read, as HLO text where it has a meaning there and else as a listing in comments; then the plan as an
// HLO module in which each kernel is a fusion instruction.
Result<int> print(const PrintArguments& args) {
  FW_TRY(const driver::CompileOptions options, compile_options(args.model));
  FW_TRY(const driver::Compilation c, driver::plan(options));
  if (options.progress) options.progress("");
  const bool both = args.before == args.after;
  if (both || args.before) {
    const Result<std::string> text = frontend_hlo::export_hlo(c.imported);
    if (text) {
      fmt::print("{}", *text);
    } else {
      std::istringstream lines(graph::print(c.imported));
      for (std::string line; std::getline(lines, line);) fmt::print("// {}\n", line);
    }
  }
  if (both) fmt::print("// -----\n");
  if (both || args.after) {
    std::vector<frontend_hlo::FusionGroup> groups;
    for (const plan::Group& group : c.plan->groups)
      if (group.nodes.size() > 1)
        groups.push_back({group.name, fusion_kind(group.schedule.kind), group.nodes, group.inputs, group.outputs});
    FW_TRY(const std::string text, frontend_hlo::export_hlo(c.plan->graph, groups));
    fmt::print("{}", text);
  }
  return kOk;
}

struct RuleArguments {
  std::vector<std::string> rules;
  bool json = false;
};

Result<int> check(const RuleArguments& args) {
  FW_TRY(const auto rules, driver::load_rules(args.rules, true));
  for (const Diagnostic& warning : rules->warnings)
    if (warning.severity != Severity::kNote) fmt::print(stderr, "{}", print_diagnostic(warning));
  std::size_t written = 0;
  for (const rule::RewriteRule& rule : rules->rewrites)
    written += rule.origin == rule::RewriteRule::Origin::kWritten ? 1 : 0;
  fmt::print("{} rewrites, {} fuse rules, {} operators, {} examples\n", written, rules->fuses.size(),
             rules->table->size() - ops::OpTable::builtin().size(), rules->tests.size());
  return kOk;
}

// Examples of the given files; each line one, failures with their place and reason.
Result<int> test(const RuleArguments& args) {
  FW_TRY(const auto rules, driver::load_rules(args.rules, true));
  FW_TRY(const driver::Backend* backend, driver::find_backend("cpu"));
  FW_TRY(const cost::Device device, cost::load_device(driver::devices_folder() + "/" + backend->device + ".json"));
  std::vector<std::string> files;
  for (const SourcePtr& source : rules->sources)
    for (const std::string& path : args.rules) {
      std::error_code error;
      const auto in = std::filesystem::relative(source->name, path, error);
      if (!error && !in.empty() && *in.begin() != "..") files.push_back(source->name);
    }
  if (files.empty()) return fail(fmt::format("{}: no rule files", fmt::join(args.rules, ", ")));
  FW_TRY(const std::vector<driver::RuleTestResult> results, driver::run_rule_tests(rules, device, files));
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  std::size_t failed = 0;
  for (const driver::RuleTestResult& r : results) {
    failed += r.passed ? 0 : 1;
    if (args.json)
      json.push_back({{"rule", r.rule},
                      {"example", r.name},
                      {"reject", r.reject},
                      {"fired", r.fired},
                      {"passed", r.passed},
                      {"reason", r.reason}});
    else
      fmt::print("{}  {:6} {}{}{}\n", r.passed ? "ok    " : "FAILED", r.reject ? "reject" : "test", r.name,
                 r.reason.empty() ? "" : ": ", r.reason);
  }
  if (args.json)
    fmt::print("{}\n", json.dump(2));
  else
    fmt::print("{} passed, {} failed\n", results.size() - failed, failed);
  return failed == 0 ? kOk : kWrong;
}

template <class Arguments>
void on_run(CLI::App* command, std::shared_ptr<Arguments> args, int& exit, Result<int> (*work)(const Arguments&)) {
  command->callback([args, &exit, work] {
    const Result<int> code = work(*args);
    exit = code ? *code : report(code.error());
  });
}

}  // namespace

void add_audit(CLI::App& app, int& exit) {
  auto args = std::make_shared<ModelArguments>();
  CLI::App* command =
      app.add_subcommand("audit", "Say which rules made each kernel, what it saves, and why it ends where it does");
  add_model_options(*command, *args);
  on_run(command, args, exit, audit);
}

void add_print(CLI::App& app, int& exit) {
  auto args = std::make_shared<PrintArguments>();
  CLI::App* command =
      app.add_subcommand("print", "Print the graph as read, and as HLO text with its kernels as fusion instructions");
  add_model_options(*command, args->model);
  command->add_flag("--before", args->before, "only the graph as read");
  command->add_flag("--after", args->after, "only the planned module");
  on_run(command, args, exit, print);
}

void add_check(CLI::App& app, int& exit) {
  auto args = std::make_shared<RuleArguments>();
  CLI::App* command = app.add_subcommand("check", "Check rule files, on top of the built-in library");
  command->add_option("rules", args->rules, "rule files or folders")->required()->type_name("RULES");
  on_run(command, args, exit, check);
}

void add_test(CLI::App& app, int& exit) {
  auto args = std::make_shared<RuleArguments>();
  CLI::App* command = app.add_subcommand("test", "Run the `test` and `reject` examples of rule files");
  command->add_option("rules", args->rules, "rule files or folders")->required()->type_name("RULES");
  command->add_flag("--json", args->json, "print one JSON list");
  on_run(command, args, exit, test);
}

}  // namespace fusewright::cli
