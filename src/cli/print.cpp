#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "commands.hpp"
#include "fusewright/audit/text.hpp"
#include "fusewright/egraph/dot.hpp"
#include "fusewright/frontend/hlo/export.hpp"
#include "fusewright/graph/algorithms.hpp"
#include "graphviz.hpp"
#include "options.hpp"
#include "terminal.hpp"

namespace fusewright::cli {

namespace {

struct PrintArguments {
  ModelArguments model;
  bool before = false, after = false, dot = false, egraph = false, svg = false;
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

// More than this no one can read.
constexpr std::size_t kMostDrawn = 5000;
constexpr std::size_t kMostLaidOut = 1000;

std::string dot_after(const plan::Plan& plan, std::size_t most) {
  std::vector<graph::DotBox> boxes;
  for (const plan::Group& group : plan.groups)
    boxes.push_back({fmt::format("{}\n{}, {}, about {}", group.name, group.fuse_rule, audit::human_bytes(group.bytes),
                                 audit::human_seconds(group.seconds_estimated)),
                     group.nodes});
  return graph::print_dot(plan.graph, {}, boxes, most);
}

struct Drawing {
  std::size_t nodes;
  std::function<std::string(std::size_t most)> dot;  ///< of the first so many
};

/// As much of it as Graphviz lays out in time: how long that takes depends on more than the number of nodes. Half as
/// many get half the time, so that it is over in about 20 s.
Result<std::string> layout(const Drawing& drawing) {
  double seconds = 10;
  std::size_t most = std::min(drawing.nodes, kMostLaidOut);
  FW_TRY(std::optional<std::string> svg, draw_svg(drawing.dot(most), seconds));
  std::string why;
  while (!svg && most > 1) {
    why = fmt::format("'dot' does not lay out {} in {} s", most, seconds);
    most /= 2;
    seconds = std::max(2.0, seconds / 2);
    FW_TRY(svg, draw_svg(drawing.dot(most), seconds));
  }
  if (!svg) return fail(ErrorKind::kResource, fmt::format("--svg: 'dot' does not lay out one node in {} s", seconds));
  if (!why.empty())
    print_warning(fmt::format("warning: --svg: the first {} of {} nodes are drawn: {}\n", most, drawing.nodes, why));
  return *std::move(svg);
}

/// The one graph that is asked for.
Result<Drawing> drawing(const PrintArguments& args, const driver::Compilation& c) {
  if (args.egraph && !c.saturated) return fail("--egraph: with --no-fuse there is no e-graph");
  if (args.egraph)
    return Drawing{c.saturated->graph().live_nodes(), [&c](std::size_t most) {
                     return egraph::print_dot(c.saturated->graph(), c.saturated->imported.results, most);
                   }};
  if (args.before)
    return Drawing{c.imported.entry_computation().nodes.size(),
                   [&c](std::size_t most) { return graph::print_dot(c.imported, {}, {}, most); }};
  return Drawing{c.plan->graph.entry_computation().nodes.size(),
                 [&c](std::size_t most) { return dot_after(*c.plan, most); }};
}

Result<int> print(const PrintArguments& args) {
  const bool draws = args.dot || args.svg || args.egraph;
  if (draws && int{args.before} + int{args.after} + int{args.egraph} > 1)
    return fail("one graph is drawn: the fused one, with --before the one as read, with --egraph all that are equal");
  FW_TRY(const driver::CompileOptions options, compile_options(args.model));
  FW_TRY(const driver::Compilation c, driver::plan(options));
  const bool both = args.before == args.after;
  std::string before, after, egraph;
  if (draws) {
    if (options.progress) options.progress("draw");
    FW_TRY(const Drawing asked, drawing(args, c));
    FW_TRY((args.egraph ? egraph : args.before ? before : after), args.svg ? layout(asked) : asked.dot(kMostDrawn));
  } else {
    if (both || args.before) before = text_before(c.imported);
    if (both || args.after) {
      FW_TRY(after, text_after(*c.plan));
    }
  }
  if (options.progress) options.progress("");
  if (args.model.json) {
    nlohmann::ordered_json json = {{"model", args.model.model}};
    if (!before.empty()) json["before"] = before;
    if (!after.empty()) json["after"] = after;
    if (!egraph.empty()) json["egraph"] = egraph;
    print_json(json);
  } else {
    fmt::print("{}{}{}{}", before, both && !draws ? "// -----\n" : "", after, egraph);
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
                                  "  fusewright print model.onnx --svg > fused.svg\n"
                                  "  fusewright print model.onnx --egraph --svg > equal.svg\n",
                                  args, print);
  add_model_options(command, args->model);
  add_device_option(command, args->model);
  command.add_flag("--before", args->before, "only the graph as read")->group("Output");
  command.add_flag("--after", args->after, "only the fused module")->group("Output");
  command.add_flag("--dot", args->dot, "as a drawing for Graphviz, a box for each kernel (with --before: as read)")
      ->group("Output");
  command
      .add_flag("--egraph", args->egraph,
                "a drawing of all forms of the model that the rules found, a box for each set of equal values")
      ->group("Output");
  command.add_flag("--svg", args->svg, "the drawing as SVG; needs the program 'dot' of Graphviz")->group("Output");
}

}  // namespace fusewright::cli
