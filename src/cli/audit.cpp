#include "fusewright/audit/audit.hpp"

#include <fmt/format.h>

#include "commands.hpp"
#include "fusewright/frontend/hlo/export.hpp"
#include "fusewright/rule/check.hpp"

namespace fusewright::cli {

namespace {

Result<int> audit(const ModelArguments& args) {
  FW_TRY(const driver::CompileOptions options, compile_options(args));
  FW_TRY(const driver::Compilation c, driver::plan(options));
  if (options.progress) options.progress("");
  const saturate::Saturated* saturated = c.saturated ? &*c.saturated : nullptr;
  if (args.json) fmt::print("{}\n", audit::to_json(*c.plan, saturated).dump(2));
  else fmt::print("{}", audit::to_text(*c.plan, saturated));
  return kOk;
}

// Text of the graph before and after; for HLO the second is a module with fusion instructions.
Result<int> print(const ModelArguments& args) {
  FW_TRY(const driver::CompileOptions options, compile_options(args));
  FW_TRY(const driver::Compilation c, driver::plan(options));
  if (options.progress) options.progress("");
  std::vector<frontend_hlo::FusionGroup> groups;
  for (const plan::Group& group : c.plan->groups)
    if (group.nodes.size() > 1) groups.push_back({group.name, group.nodes, group.inputs, group.outputs});
  FW_TRY(const std::string after, frontend_hlo::export_hlo(c.plan->graph, groups));
  fmt::print("// before\n{}\n// after\n{}", graph::print(c.imported), after);
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
  for (const rule::RewriteRule& rule : rules->rewrites) written += rule.origin == rule::RewriteRule::Origin::kWritten ? 1 : 0;
  fmt::print("{} rewrites, {} fuse rules, {} operators, {} examples\n", written, rules->fuses.size(),
             rules->table->size() - ops::OpTable::builtin().size(), rules->tests.size());
  return kOk;
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
  CLI::App* command = app.add_subcommand("audit", "Say which rules made each kernel, what it saves, and why it ends where it does");
  add_model_options(*command, *args);
  on_run(command, args, exit, audit);
}

void add_print(CLI::App& app, int& exit) {
  auto args = std::make_shared<ModelArguments>();
  CLI::App* command = app.add_subcommand("print", "Print the graph as read, and as HLO text with its kernels as fusion instructions");
  add_model_options(*command, *args);
  on_run(command, args, exit, print);
}

void add_check(CLI::App& app, int& exit) {
  auto args = std::make_shared<RuleArguments>();
  CLI::App* command = app.add_subcommand("check", "Check rule files, on top of the built-in library");
  command->add_option("rules", args->rules, "rule files or folders")->required()->type_name("RULES");
  on_run(command, args, exit, check);
}

}  // namespace fusewright::cli
