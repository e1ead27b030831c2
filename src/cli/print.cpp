#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "commands.hpp"
#include "fusewright/audit/text.hpp"
#include "fusewright/frontend/hlo/export.hpp"
#include "fusewright/graph/algorithms.hpp"
#include "options.hpp"
#include "terminal.hpp"

namespace fusewright::cli {

namespace {

struct PrintArguments {
  ModelArguments model;
  bool before = false, after = false, dot = false;
};

/// XLA's word for what a kernel of this template is.
std::string fusion_kind(ops::Template kind) {
  switch (kind) {
    case ops::Template::kLoop:
    case ops::Template::kMove: return "kLoop";
    case ops::Template::kReduce:
    case ops::Template::kRow: return "kInput";
    case ops::Template::kContract:
    case ops::Template::kConv: return "kOutput";
    case ops::Template::kWindow:
    case ops::Template::kSort:
    case ops::Template::kScatter:
    case ops::Template::kHorizontal: break;
  }
  return "kCustom";
}

/// As HLO text where the model has a meaning there, else as a listing in comments.
std::string text_before(const graph::Graph& imported) {
  if (const Result<std::string> text = frontend_hlo::export_hlo(imported)) return *text;
  std::string out;
  std::istringstream lines(graph::print(imported));
  for (std::string line; std::getline(lines, line);) out += "// " + line + '\n';
  return out;
}

Result<std::string> text_after(const plan::Plan& plan) {
  std::vector<frontend_hlo::FusionGroup> groups;
  for (const plan::Group& group : plan.groups)
    if (group.nodes.size() > 1)
      groups.push_back({group.name, fusion_kind(group.schedule.kind), group.nodes, group.inputs, group.outputs});
  return frontend_hlo::export_hlo(plan.graph, groups);
}

// More than this no one can read, and Graphviz takes minutes for it.
constexpr std::size_t kMostDrawn = 5000;

std::string dot_after(const plan::Plan& plan) {
  std::vector<graph::DotBox> boxes;
  for (const plan::Group& group : plan.groups)
    boxes.push_back({fmt::format("{}\n{}, {}, about {}", group.name, group.fuse_rule, audit::human_bytes(group.bytes),
                                 audit::human_seconds(group.seconds_estimated)),
                     group.nodes});
  return graph::print_dot(plan.graph, {}, boxes, kMostDrawn);
}

Result<int> print(const PrintArguments& args) {
  if (args.dot && args.before && args.after)
    return fail("--dot prints one graph: the fused one, or with --before the one as read");
  FW_TRY(const driver::CompileOptions options, compile_options(args.model));
  FW_TRY(const driver::Compilation c, driver::plan(options));
  if (options.progress) options.progress("");
  const bool both = args.before == args.after;
  std::string before, after;
  if (args.dot) {
    (args.before ? before : after) =
        args.before ? graph::print_dot(c.imported, {}, {}, kMostDrawn) : dot_after(*c.plan);
  } else {
    if (both || args.before) before = text_before(c.imported);
    if (both || args.after) {
      FW_TRY(after, text_after(*c.plan));
    }
  }
  if (args.model.json) {
    nlohmann::ordered_json json = {{"model", args.model.model}};
    if (!before.empty()) json["before"] = before;
    if (!after.empty()) json["after"] = after;
    print_json(json);
  } else {
    fmt::print("{}{}{}", before, both && !args.dot ? "// -----\n" : "", after);
  }
  return kOk;
}

}  // namespace

void add_print(CLI::App& app, Outcome& outcome) {
  auto args = std::make_shared<PrintArguments>();
  CLI::App& command = add_command(app, outcome, "print",
                                  "Print the graph as read, and as HLO text in which each kernel is a fusion "
                                  "instruction",
                                  "  fusewright print model.hlo\n"
                                  "  fusewright print model.onnx --dim batch=4 --after > fused.hlo\n"
                                  "  fusewright print model.onnx --dot | dot -Tsvg > fused.svg\n",
                                  args, print);
  add_model_options(command, args->model);
  add_device_option(command, args->model);
  command.add_flag("--before", args->before, "only the graph as read")->group("Output");
  command.add_flag("--after", args->after, "only the fused module")->group("Output");
  command.add_flag("--dot", args->dot, "as a drawing for Graphviz, a box for each kernel (with --before: as read)")
      ->group("Output");
}

}  // namespace fusewright::cli
