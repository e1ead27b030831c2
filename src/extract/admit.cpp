#include "fusewright/extract/admit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "assign.hpp"

namespace fusewright::extract {

using graph::Graph;
using graph::NodeId;
using graph::Value;
using rule::FuseRule;
using rule::Segment;

Uses::Uses(const Graph& graph)
    : readers_(graph.nodes.size()), result_(graph.nodes.size(), false), position_(graph.nodes.size(), 0) {
  const auto& order = graph.entry_computation().nodes;
  for (std::uint32_t i = 0; i < order.size(); ++i) {
    position_[order[i].index] = i;
    for (const Value operand : graph[order[i]].operands)
      if (operand.valid()) readers_[operand.node.index].push_back(order[i]);
  }
  // What a nested body reads from outside is read by the entry node that owns the body.
  for (const NodeId owner : order) {
    std::vector<graph::ComputationId> bodies = graph[owner].computations;
    for (std::size_t b = 0; b < bodies.size(); ++b)
      for (const NodeId inner : graph[bodies[b]].nodes) {
        for (const Value operand : graph[inner].operands)
          if (operand.valid() && graph[operand.node].parent == graph.entry)
            readers_[operand.node.index].push_back(owner);
        bodies.insert(bodies.end(), graph[inner].computations.begin(), graph[inner].computations.end());
      }
  }
  for (auto& readers : readers_) {
    std::sort(readers.begin(), readers.end());
    readers.erase(std::unique(readers.begin(), readers.end()), readers.end());
  }
  results_ = graph.entry_computation().results;
  std::ranges::sort(results_);
  for (const Value v : results_) result_[v.node.index] = true;
}

bool Uses::is_result(Value value) const {
  return result_[value.node.index] && std::ranges::binary_search(results_, value);
}

namespace {

/// Guards see the graph through this: types of values, and what only a plan can answer.
class GuardTerms final : public ops::TermBuilder {
 public:
  GuardTerms(const Graph& graph, const Uses& uses, const Inside& inside)
      : graph_(graph), uses_(uses), inside_(inside) {}

  Result<std::vector<ops::TermValue>> apply(ops::OpId, const std::vector<std::optional<ops::TermValue>>&,
                                            const ops::Attrs&, const Span& span) override {
    return fail("a guard of a fuse rule cannot apply operators", span);
  }
  const ops::Type& type(ops::TermValue value) override { return graph_.type(graph::Builder::unpack(value)); }

  Result<ops::AttrValue> query(const std::string& function, const std::vector<ops::TermValue>& args,
                               const Span& span) override {
    if (args.size() != 1) return fail(fmt::format("'{}' takes one value", function), span);
    const Value v = graph::Builder::unpack(args[0]);
    const auto& readers = uses_.readers(v.node);
    if (function == "single_use") return ops::AttrValue(readers.size() == 1 && !uses_.is_result(v));
    if (function == "graph_output") return ops::AttrValue(uses_.is_result(v));
    if (function == "side_output") {
      const bool outside = std::any_of(readers.begin(), readers.end(), [&](NodeId r) { return !inside_.number(r); });
      const bool inner =
          std::any_of(readers.begin(), readers.end(), [&](NodeId r) { return inside_.number(r).has_value(); });
      return ops::AttrValue(inner && (outside || uses_.is_result(v)));
    }
    if (function == "constant") return ops::AttrValue(graph_.info(v.node).name == "constant");
    return fail(fmt::format("a fuse rule has no guard function '{}'", function), span);
  }

 private:
  const Graph& graph_;
  const Uses& uses_;
  const Inside& inside_;
};

/// Binds the names of a segment's operands, the two of a commutative one swapped if asked for. @returns the name that
/// stands for another value already, if any; then nothing is bound.
std::string bind_operands(const graph::Node& node, const Segment& segment, bool swapped, ops::Env& env) {
  ops::Env bound = env;
  for (std::size_t k = 0; k < segment.captures.size(); ++k) {
    const std::string& name = segment.captures[k].name;
    const std::size_t at = swapped ? 1 - k : k;
    if (name.empty()) continue;
    ops::EnvValue value;
    if (at < node.operands.size() && node.operands[at].valid()) value = graph::Builder::pack(node.operands[at]);
    if (const auto [known, fresh] = bound.emplace(name, value); !fresh && known->second != value) return name;
  }
  env = std::move(bound);
  return {};
}

/// Names of one root's match: a one-node segment stands for its value, its attributes are "name.attr"; a closure's name
/// is its last value. @returns the name that would stand for two values, if any.
std::string bind_names(const Graph& graph, const Inside& inside, const std::vector<std::uint32_t>& part,
                       const Assignment& segment, const std::vector<Segment>& segments, ops::Env& env) {
  std::vector<const graph::Node*> first(segments.size(), nullptr);
  for (std::size_t s = 0; s < segments.size(); ++s) {
    std::vector<std::uint32_t> members;
    for (std::size_t i = 0; i < part.size(); ++i)
      if (segment[i] == s) members.push_back(part[i]);
    if (members.empty()) continue;
    first[s] = &graph[inside.nodes()[members.front()]];
    const std::string& name = segments[s].name;
    if (name.empty()) continue;
    env[name] = graph::Builder::pack({inside.nodes()[members.back()], 0});
    for (const auto& [attr, value] : first[s]->attrs.entries()) env[name + "." + attr] = value;
  }
  for (std::size_t s = 0; s < segments.size(); ++s) {
    if (first[s] == nullptr) continue;
    std::string other = bind_operands(*first[s], segments[s], false, env);
    const bool swaps = segments[s].captures.size() == 2 && (*graph.table)[first[s]->op].commutative;
    if (!other.empty() && swaps) other = bind_operands(*first[s], segments[s], true, env);
    if (!other.empty()) return other;
    for (const rule::AttrPattern& attr : segments[s].attrs)
      if (!attr.bind.empty())
        if (const ops::AttrValue* value = first[s]->attrs.find(attr.attr)) env[attr.bind] = *value;
  }
  return {};
}

std::unexpected<NotAdmitted> refuse(const FuseRule& rule, std::string reason) {
  return std::unexpected(NotAdmitted{false, fmt::format("rule {}: {}", rule.name, std::move(reason))});
}

}  // namespace

std::expected<std::vector<std::uint32_t>, NotAdmitted> admits(const FuseRule& rule, const Graph& graph,
                                                              const Uses& uses, const std::vector<NodeId>& nodes) {
  return admits(rule, graph, uses, Inside(graph, nodes));
}

std::expected<std::vector<std::uint32_t>, NotAdmitted> admits(const FuseRule& rule, const Graph& graph,
                                                              const Uses& uses, const Inside& inside) {
  const bool horizontal = rule.roots.size() > 1 || rule.roots.front().max > 1;
  const Parts parts = horizontal ? components(inside) : one_part(inside);
  std::vector<std::uint32_t> exclusive;
  ops::Env env;
  const auto placed = place(graph, inside, parts, rule.roots);
  if (!placed) return refuse(rule, placed.error());
  std::map<std::string, ops::EnvValue> shared;
  for (std::size_t p = 0; p < parts.members.size(); ++p) {
    const auto& [number, segment] = (*placed)[p];
    const std::vector<std::uint32_t>& part = parts.members[p];
    const rule::FuseRoot& root = rule.roots[number];
    ops::Env names;
    if (const std::string other = bind_names(graph, inside, part, segment, root.segments, names); !other.empty())
      return refuse(rule, fmt::format("`{}` stands for two values", other));
    for (auto& [name, value] : names) env[name] = value;
    for (std::size_t i = 0; i < part.size() && !rule.no_duplicate.empty(); ++i)
      if (std::ranges::find(rule.no_duplicate, root.segments[segment[i]].name) != rule.no_duplicate.end())
        exclusive.push_back(part[i]);
    for (const std::string& name : root.shared) {
      const auto [at, first] = shared.emplace(name, env[name]);
      if (!first && at->second != env[name]) return refuse(rule, fmt::format("the parts do not share one `{}`", name));
    }
  }

  GuardTerms terms(graph, uses, inside);
  for (const rule::Guard& guard : rule.guards) {
    const Result<ops::EnvValue> value = ops::elaborate(*graph.table, *guard.expr, env, terms);
    const auto* attr = value ? std::get_if<ops::AttrValue>(&*value) : nullptr;
    const bool* holds = attr != nullptr ? std::get_if<bool>(attr) : nullptr;
    if (holds == nullptr || !*holds)
      return std::unexpected(
          NotAdmitted{true, fmt::format("rule {}: guard `{}` does not hold", rule.name, guard.text)});
  }
  return exclusive;
}

}  // namespace fusewright::extract
