#include "fusewright/driver/rule_tests.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "fusewright/extract/admit.hpp"
#include "fusewright/extract/extract.hpp"
#include "fusewright/interpret/inputs.hpp"
#include "fusewright/rule/check.hpp"
#include "fusewright/saturate/saturate.hpp"
#include "fusewright/schedule/schedule.hpp"

namespace fusewright::driver {

namespace {

using rule::TestCase;

/// An example as a graph: its outputs first, then what they are expected to equal.
Result<graph::Graph> graph_of(const rule::RuleSet& rules, const TestCase& test) {
  graph::Graph graph = graph::make_graph(rules.table, test.name);
  graph::Builder builder(graph, graph.entry);
  ops::Env env;
  std::uint64_t number = 0;
  for (const rule::TestInput& input : test.inputs) {
    graph::Value value;
    if (input.constant) {
      FW_TRY(ops::Tensor weight, interpret::random_weight(input.type, 1, number++));
      value = builder.constant(std::move(weight));
    } else {
      value = builder.parameter(input.type, input.name);
    }
    env[input.name] = graph::Builder::pack(value);
  }
  FW_TRY(const std::vector<ops::TermValue> terms, rule::elaborate_test(*rules.table, test, env, builder));
  std::vector<graph::Value> results;
  for (const ops::TermValue term : terms) results.push_back(graph::Builder::unpack(term));
  builder.set_results(std::move(results));
  return graph::remove_dead(std::move(graph));  // a rule that fires on what nothing reads shows nothing
}

const rule::RewriteRule* rewrite_named(const rule::RuleSet& rules, const std::string& name) {
  for (const rule::RewriteRule& r : rules.rewrites)
    if (r.name == name) return &r;
  return nullptr;
}

/// What each guard refused, to be put behind a reason.
std::string refusals(const rule::RewriteRule& rule, const saturate::RuleTrace& trace) {
  std::string text;
  for (std::size_t g = 0; g < trace.refused.size(); ++g)
    if (trace.refused[g] > 0)
      text += fmt::format(": guard `{}` refused {} matches", rule.guards[g].text, trace.refused[g]);
  return text;
}

Status run_rewrite(const rule::RewriteRule& rule, const TestCase& test, const saturate::Saturated& saturated,
                   RuleTestResult& result) {
  const saturate::RuleTrace* trace = nullptr;
  for (const saturate::RuleTrace& t : saturated.trace.rules)
    if (t.name == rule.name) trace = &t;
  result.fired = trace != nullptr && trace->applied + trace->unchanged > 0;
  std::string nothing;  // what came of matches whose right side could not be made
  if (trace != nullptr && trace->errors > 0)
    for (const Diagnostic& d : saturated.trace.diagnostics)
      if (!d.notes.empty() && d.notes.back().message == "in rewrite '" + rule.name + "'")
        nothing += fmt::format(": {} of its matches came to nothing: {}", trace->errors, d.message);
  if (test.reject) {
    if (result.fired)
      result.reason = "the rule fired";
    else if (!nothing.empty())
      result.reason = "the rule did not fire, but its pattern matches" + nothing;
    else if (test.because &&
             (trace == nullptr || *test.because >= trace->refused.size() || trace->refused[*test.because] == 0))
      result.reason = fmt::format("it did not fire, but not because of `{}`", rule.guards[*test.because].text);
    else if (!test.because && trace != nullptr && std::ranges::any_of(trace->refused, [](auto n) { return n > 0; }))
      result.reason = "its pattern matches" + refusals(rule, *trace);
    return {};
  }
  if (!result.fired) {
    result.reason = "the rule did not fire" + nothing;
    if (trace != nullptr) result.reason += refusals(rule, *trace);
    return {};
  }
  const egraph::EGraph& egraph = saturated.graph();
  const auto& terms = saturated.imported.results;
  for (std::size_t i = 0; i < test.expected.size(); ++i)
    if (egraph.find(terms[i]) != egraph.find(terms[test.outputs.size() + i]))
      result.reason = fmt::format("output {} was not found equal to what is expected", i);
  return {};
}

/// The first kernel of the plan that the rule alone would have made, too: another rule may have given it its name, and
/// that one's template for the same loops its own.
const plan::Group* kernel_of(const rule::FuseRule& rule, const plan::Plan& plan, const cost::Device& device) {
  const extract::Uses uses(plan.graph);
  for (const plan::Group& group : plan.groups) {
    if (!extract::admits(rule, plan.graph, uses, group.nodes)) continue;
    if (!rule.kernel || schedule::fit(group.region, *rule.kernel, device.shape)) return &group;
  }
  return nullptr;
}

const rule::FuseRule& fuse_named(const rule::RuleSet& rules, const std::string& name) {
  return *std::ranges::find(rules.fuses, name, &rule::FuseRule::name);
}

Status run_fuse(const rule::RuleSet& rules, const TestCase& test, const graph::Graph& graph,
                const saturate::Saturated& saturated, const cost::Device& device, RuleTestResult& result) {
  FW_TRY(const plan::Plan plan,
         extract::extract({graph, saturated.imported, saturated.program, rules.rewrites, rules, device}, {}));
  const plan::Group* kernel = kernel_of(fuse_named(rules, test.rule), plan, device);
  result.fired = kernel != nullptr;
  if (test.reject) {
    if (result.fired) result.reason = fmt::format("the rule admits the kernel {}", kernel->name);
    return {};
  }
  const auto kernels = static_cast<std::int64_t>(plan.groups.size());
  if (test.kernels && *test.kernels != kernels)
    result.reason = fmt::format("{} kernels, {} are expected", kernels, *test.kernels);
  else if (!result.fired)
    result.reason = "the rule admits no kernel of the plan";
  if (!result.reason.empty())
    for (const plan::Cut& cut : plan.cuts)
      if (cut.why != plan::Cut::Why::kOutput)
        result.reason += fmt::format("; {} is stored: {}", plan.graph[cut.value.node].name, cut.reason);
  return {};
}

}  // namespace

std::vector<std::string> sources_under(const rule::RuleSet& rules, const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const SourcePtr& source : rules.sources)
    for (const std::string& path : paths) {
      std::error_code error;
      const auto in = std::filesystem::relative(source->name, path, error);
      if (error || in.empty() || *in.begin() == "..") continue;
      files.push_back(source->name);
      break;
    }
  return files;
}

Result<std::vector<RuleTestResult>> run_rule_tests(std::shared_ptr<const rule::RuleSet> rules,
                                                   const cost::Device& device, const std::vector<std::string>& files) {
  std::vector<RuleTestResult> results;
  for (const TestCase& test : rules->tests) {
    if (!files.empty() &&
        (!test.span.valid() || std::find(files.begin(), files.end(), test.span.source->name) == files.end()))
      continue;
    RuleTestResult result{test.rule, test.name, test.reject, false, false, {}, test.span};
    const rule::RewriteRule* rewrite = rewrite_named(*rules, test.rule);
    Result<graph::Graph> graph = graph_of(*rules, test);
    if (!graph) return std::unexpected(with_context(graph.error(), fmt::format("example {}", test.name), test.span));
    saturate::Options options;
    options.allowed.add(rule::ExactnessClass::kReassociating);
    if (rewrite != nullptr) {
      options.allowed = options.allowed | rewrite->exactness;
      if (!rewrite->targets.empty()) options.target = rewrite->targets.front();  // whatever machine this is
    }
    options.limits.nodes = 100'000;
    options.limits.iterations = 20;
    FW_TRY(const saturate::Saturated saturated, saturate::saturate(*graph, rules, options));
    FW_TRY_STATUS(rewrite != nullptr ? run_rewrite(*rewrite, test, saturated, result)
                                     : run_fuse(*rules, test, *graph, saturated, device, result));
    result.passed = result.reason.empty();
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace fusewright::driver
