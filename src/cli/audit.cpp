#include "fusewright/audit/audit.hpp"

#include <fmt/format.h>

#include "commands.hpp"
#include "fusewright/support/clock.hpp"
#include "options.hpp"
#include "terminal.hpp"

namespace fusewright::cli {

namespace {

struct AuditArguments {
  ModelArguments model;
  std::string group, node;
  ProfileArguments profile;
};

Result<int> audit(const AuditArguments& args) {
  const auto start = Clock::now();
  FW_TRY(const driver::CompileOptions options, compile_options(args.model));
  FW_TRY(driver::Compilation c, driver::plan(options));
  if (options.progress) options.progress("audit");
  const auto before_page = Clock::now();
  const audit::Subject subject{args.model.model, c.imported, *c.plan,       c.saturated ? &*c.saturated : nullptr,
                               *c.rules,         c.device,   c.stop_reasons};
  audit::Page page;
  if (!args.node.empty()) {
    FW_TRY(page, audit::node_page(subject, args.node));
  } else if (!args.group.empty()) {
    FW_TRY(page, audit::group_page(subject, args.group));
  } else if (args.model.json) {
    page.json = audit::overview_json(subject);
  } else {
    page.text = audit::overview_text(subject);
  }
  if (options.progress) options.progress("");
  c.phases.emplace_back("audit", seconds_since(before_page));
  FW_TRY_STATUS(report_profile(args.profile, c, seconds_since(start)));
  if (args.model.json)
    print_json(page.json);
  else
    fmt::print("{}", page.text);
  // The program ends. To take a large plan apart before that, node by node, would only take time.
  [[maybe_unused]] static const auto* const kept = new driver::Compilation(std::move(c));
  return kOk;
}

}  // namespace

void add_audit(CLI::App& app, Outcome& outcome) {
  auto args = std::make_shared<AuditArguments>();
  CLI::App& command = add_command(app, outcome, "audit",
                                  "Say which rules made each kernel, what it saves, and why it ends where it does",
                                  "  fusewright audit model.onnx --dim batch=4\n"
                                  "  fusewright audit model.onnx --group conv_bias_relu_4\n"
                                  "  fusewright audit model.onnx --why global_pool\n"
                                  "  fusewright audit model.hlo --json > a.json   # nothing measured: use cmp\n",
                                  args, audit);
  add_model_options(command, args->model);
  add_device_option(command, args->model);
  add_profile_options(command, args->profile);
  command.add_option("--group", args->group, "only this group, in depth: its name or number")
      ->type_name("NAME|N")
      ->group("Output");
  command.add_option("--why", args->node, "only this node of the model: where it went, and why no further")
      ->type_name("NODE")
      ->group("Output")
      ->excludes("--group");
}

}  // namespace fusewright::cli
