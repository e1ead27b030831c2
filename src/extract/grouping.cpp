#include "grouping.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "fusewright/support/check.hpp"
#include "fusewright/support/distinct.hpp"

namespace fusewright::extract {

namespace {

using Why = plan::Cut::Why;
using schedule::Template;

// Beyond this many nodes a loop is priced only each time it has grown by a quarter.
constexpr std::size_t kPricedEachStep = 48;
// Kernels of more nodes grow only as loops do, so that planning takes time in proportion to the graph.
constexpr std::size_t kMostPriced = 512;

bool streaming(Template kind) {
  return kind == Template::kLoop || kind == Template::kMove || kind == Template::kReduce || kind == Template::kRow;
}

bool is_anchor(ops::OpClass c) { return c == ops::OpClass::kContraction || c == ops::OpClass::kConvolution; }

std::string microseconds(double seconds) { return fmt::format("{:.4g} us", 1e6 * seconds); }

}  // namespace

std::vector<std::uint32_t> Grouping::consumers(NodeId node) const {
  std::vector<std::uint32_t> groups;
  for (const NodeId reader : uses_.readers(node))
    groups.insert(groups.end(), groups_of_[reader.index].begin(), groups_of_[reader.index].end());
  sort_distinct(groups);
  return groups;
}

// What is computed in other groups too is waited for by none.
const Grouping::Around& Grouping::around(std::uint32_t group) const {
  if (around_.size() < members_.size()) around_.resize(members_.size());
  Around& out = around_[group];
  if (out.known) return out;
  out = {};
  out.known = true;
  for (const NodeId node : members_[group].nodes) {
    out.before |= landmarks_.before(node);
    if (groups_of_[node.index].size() == 1) out.behind |= landmarks_.behind(node);
    if (facts_.duplicated[node.index]) continue;
    for (const NodeId reader : uses_.readers(node))
      for (const std::uint32_t c : groups_of_[reader.index])
        if (c != group) out.readers.push_back(c);
  }
  sort_distinct(out.readers);
  return out;
}

std::vector<std::uint32_t> Grouping::writers(std::uint32_t group) const {
  std::vector<std::uint32_t> out;
  for (const NodeId node : members_[group].nodes)
    for (const Value operand : graph_[node].operands)
      if (operand.valid() && !facts_.duplicated[operand.node.index])
        for (const std::uint32_t w : groups_of_[operand.node.index])
          if (w != group) out.push_back(w);
  sort_distinct(out);
  return out;
}

std::vector<NodeId> Grouping::with(const std::vector<std::uint32_t>& groups, NodeId node) const {
  std::vector<NodeId> nodes;
  if (node.valid()) nodes.push_back(node);
  for (const std::uint32_t g : groups) nodes.insert(nodes.end(), members_[g].nodes.begin(), members_[g].nodes.end());
  std::sort(nodes.begin(), nodes.end(), [&](NodeId a, NodeId b) { return uses_.position(a) < uses_.position(b); });
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  return nodes;
}

Grouping::Attempt Grouping::attempt(const std::vector<std::uint32_t>& groups, NodeId node) const {
  Attempt out = unpriced(groups, node);
  out.price = &evaluator_.evaluate(out.nodes, out.outputs);
  return out;
}

Grouping::Attempt Grouping::unpriced(const std::vector<std::uint32_t>& groups, NodeId node) const {
  Attempt out;
  out.nodes = with(groups, node);
  out.outputs = evaluator_.outputs(out.nodes, [&](NodeId n) {
    if (!facts_.duplicated[n.index]) return false;
    const auto& in = groups_of_[n.index];
    return std::any_of(in.begin(), in.end(),
                       [&](std::uint32_t g) { return std::find(groups.begin(), groups.end(), g) == groups.end(); });
  });
  return out;
}

void Grouping::become(Kernel& kernel, Attempt attempt) const {
  kernel.inputs = evaluator_.inputs(attempt.nodes);
  kernel.nodes = std::move(attempt.nodes);
  kernel.outputs = std::move(attempt.outputs);
  kernel.price = &**attempt.price;
}

double Grouping::seconds(const std::vector<std::uint32_t>& groups) const {
  double sum = 0;
  for (const std::uint32_t g : groups) sum += members_[g].seconds();
  return sum;
}

NodeId Grouping::reader_in(NodeId node, std::uint32_t group) const {
  for (const NodeId reader : uses_.readers(node)) {
    const auto& in = groups_of_[reader.index];
    if (std::find(in.begin(), in.end(), group) != in.end()) return reader;
  }
  return {};
}

void Grouping::decline(NodeId node, NodeId reader, Why why, std::string reason, double fused, double cut) {
  declined_.push_back({{node, 0}, reader, why, std::move(reason), fused, cut});
}

// Whether one of the groups depends on another through a landmark that none of them computes.
bool Grouping::surely_depend(const std::vector<std::uint32_t>& groups) const {
  for (const std::uint32_t a : groups)
    for (const std::uint32_t b : groups) {
      if (a == b) continue;
      Landmarks::Set between = around(a).behind & around(b).before;
      if (between.none()) continue;
      for (const std::uint32_t g : groups)
        for (const NodeId n : members_[g].nodes) landmarks_.remove(n, between);
      if (between.any()) return true;
    }
  return false;
}

// A path from one of the groups to another through a group outside would become a cycle.
bool Grouping::joins_cyclically(const std::vector<std::uint32_t>& groups) const {
  if (surely_depend(groups)) return true;
  const auto inside = [&](std::uint32_t g) { return std::ranges::find(groups, g) != groups.end(); };
  Ranks::Rank last = ranks_[groups.front()];
  for (const std::uint32_t g : groups) last = std::max(last, ranks_[g]);
  visited_.resize(members_.size(), 0);
  ++searches_;
  std::vector<std::uint32_t> stack;
  const auto visit = [&](std::uint32_t g) {
    if (ranks_[g] > last || visited_[g] == searches_) return;
    visited_[g] = searches_;
    stack.push_back(g);
  };
  for (const std::uint32_t g : groups)
    for (const std::uint32_t r : readers(g))
      if (!inside(r)) visit(r);
  while (!stack.empty()) {
    const std::uint32_t at = stack.back();
    stack.pop_back();
    for (const std::uint32_t r : readers(at)) {
      if (inside(r)) return true;
      visit(r);
    }
  }
  return false;
}

// An operator without a kernel reads and writes all its values.
Kernel Grouping::unsupported(NodeId node, std::string reason) const {
  Kernel out;
  out.nodes = {node};
  out.unsupported = std::move(reason);
  for (const Value v : graph_[node].operands)
    if (v.valid()) out.inputs.push_back(v);
  for (std::uint32_t r = 0; r < graph_[node].types.size(); ++r) out.outputs.push_back({node, r});
  return out;
}

void Grouping::place_alone(NodeId node) {
  if (facts_.constant[node.index]) {  // its readers cannot compute it after all: then once, at load
    facts_.load_time[node.index] = true;
    return;
  }
  Kernel member;
  Attempt alone = attempt({}, node);
  if (alone.possible())
    become(member, std::move(alone));
  else
    member = unsupported(node, alone.price->error().reason);
  members_.push_back(std::move(member));
  const auto group = static_cast<std::uint32_t>(members_.size() - 1);
  groups_of_[node.index].push_back(group);
  note_change(group);
  ranks_.add_first(group);
}

void Grouping::note_change(std::uint32_t group) {
  changed_at_.resize(members_.size(), 0);
  changed_at_[group] = ++changes_;
  around_.resize(members_.size());
  around_[group].known = false;
}

void Grouping::replace(const std::vector<std::uint32_t>& groups, Attempt by) {
  const std::uint32_t keep = groups.front();
  for (const std::uint32_t g : groups) {
    for (const NodeId n : members_[g].nodes) std::erase(groups_of_[n.index], g);
    members_[g].alive = g == keep;
    if (g != keep) members_[g].nodes.clear();
    streams_.erase(g);
  }
  for (const NodeId n : by.nodes) {
    auto& in = groups_of_[n.index];
    in.insert(std::lower_bound(in.begin(), in.end(), keep), keep);
  }
  become(members_[keep], std::move(by));
  note_change(keep);
  for (const std::uint32_t w : writers(keep)) around_[w].known = false;
  if (groups.size() > 1) ranks_.replace(groups, {keep});
}

// What the node reads comes, one reader after the other, out of a contraction or convolution that can compute it in its
// tile.
bool Grouping::feeds_from_anchor(NodeId node) const {
  for (NodeId at = node; at.valid();) {
    const graph::Node& n = graph_[at];
    if (is_anchor(graph_.info(at).op_class)) return true;
    const ops::OpClass c = graph_.info(at).op_class;
    if (c != ops::OpClass::kElementwise && c != ops::OpClass::kMovement) return false;
    NodeId next;
    for (const Value operand : n.operands) {
      if (!operand.valid() || facts_.load_time[operand.node.index] || graph_.info(operand.node).name == "parameter")
        continue;
      if (uses_.readers(operand.node).size() != 1 || uses_.node_is_result(operand.node)) continue;
      if (ops::byte_size(graph_.type(operand)) < ops::byte_size(n.types[0])) continue;
      if (!next.valid() || uses_.position(operand.node) > uses_.position(next)) next = operand.node;
    }
    at = next;
  }
  return false;
}

// Places a node in front of a large loop without pricing all of it again: into it, or by itself where too many values
// would be alive. False: not such a node.
bool Grouping::grow_streaming(NodeId node, std::uint32_t group) {
  Kernel& member = members_[group];
  if (member.nodes.size() < kPricedEachStep || member.price == nullptr || member.price->rule == nullptr ||
      member.price->schedule.kind != Template::kLoop)
    return false;
  const rule::FuseRule& rule = *member.price->rule;
  if (rule.roots.size() != 1 || rule.roots.front().segments.size() != 1 || !rule.guards.empty()) return false;
  const rule::Segment& segment = rule.roots.front().segments.front();
  const graph::Node& n = graph_[node];
  if (!segment.is_closure() || segment.max != rule::Segment::kUnbounded || !segment.ops.contains(n.op)) return false;
  // Arithmetic of the loop's own extents, and broadcasts that only spread what lies in memory or is one number.
  const auto spreads = [&] {
    const NodeId from = n.operands[0].node;
    return graph_.info(node).name == "broadcast" &&
           (graph_.type(n.operands[0]).shape.empty() || facts_.load_time[from.index] ||
            graph_.info(from).name == "parameter");
  };
  if ((graph_.info(node).op_class != ops::OpClass::kElementwise && !spreads()) || uses_.node_is_result(node))
    return false;
  const NodeId reader = reader_in(node, group);
  if (graph_.info(reader).op_class != ops::OpClass::kElementwise || graph_[reader].types[0].shape != n.types[0].shape)
    return false;

  Stream& stream = streams_[group];
  if (stream.priced_at == 0) {
    stream.inputs.insert(member.inputs.begin(), member.inputs.end());
    stream.priced_at = member.nodes.size();
  }
  // Growing from the consumers, what the group reads at this point is what is alive here.
  std::set<Value> inputs = stream.inputs;
  inputs.erase({node, 0});
  for (const Value operand : n.operands)
    if (!evaluator_.is_scalar_constant(operand)) inputs.insert(operand);
  const auto registers = static_cast<std::size_t>(device_.shape.vector_registers - 4);
  if (inputs.size() > registers && inputs.size() > stream.inputs.size()) {
    decline(node, reader, Why::kCost,
            fmt::format("the loop has {} operators, and {} values alive at once are more than {} registers hold",
                        member.nodes.size(), inputs.size(), registers));
    place_alone(node);
    return true;
  }
  stream.inputs = std::move(inputs);
  member.nodes.push_back(node);  // sorted when priced
  groups_of_[node.index].push_back(group);
  note_change(group);
  if (member.nodes.size() * 4 > stream.priced_at * 5) {
    if (Attempt grown = attempt({group}, {}); grown.possible()) become(member, std::move(grown));
    stream.priced_at = member.nodes.size();
  }
  return true;
}

void Grouping::finish_streams() {
  for (const auto& [group, stream] : streams_) {
    Kernel& member = members_[group];
    if (!member.alive || stream.priced_at == member.nodes.size()) continue;
    Attempt grown = attempt({group}, {});
    FW_CHECK(grown.possible()) << grown.price->error().reason;
    become(member, std::move(grown));
  }
  streams_.clear();
}

// Each kernel with all that it reads is priced once. What it cannot compute is made when the model is loaded.
void Grouping::place_numbers() {
  std::vector<std::vector<NodeId>> numbers(members_.size());
  const auto& order = graph_.entry_computation().nodes;
  for (std::size_t i = order.size(); i-- > 0;) {
    if (!facts_.is_number(order[i], uses_) || facts_.load_time[order[i].index]) continue;
    facts_.duplicated[order[i].index] = true;
    groups_of_[order[i].index] = consumers(order[i]);
    for (const std::uint32_t g : groups_of_[order[i].index]) numbers[g].push_back(order[i]);
  }
  for (std::uint32_t g = 0; g < numbers.size(); ++g) {
    if (numbers[g].empty()) continue;
    Attempt whole;
    if (members_[g].unsupported.empty()) {
      whole.nodes = members_[g].nodes;
      whole.nodes.insert(whole.nodes.end(), numbers[g].begin(), numbers[g].end());
      std::ranges::sort(whole.nodes, {}, [&](NodeId n) { return uses_.position(n); });
      whole.outputs = members_[g].outputs;
      whole.price = &evaluator_.evaluate(whole.nodes, whole.outputs);
      if (whole.possible()) {
        become(members_[g], std::move(whole));
        continue;
      }
    }
    for (const NodeId n : numbers[g]) {
      facts_.load_time[n.index] = true;
      std::erase(groups_of_[n.index], g);
    }
  }
}

// Whether a rule of the kernel says that one of its nodes is computed nowhere else, and another kernel computes it.
bool Grouping::clashes(const Attempt& attempt, const std::vector<std::uint32_t>& groups) const {
  for (const std::uint32_t place : attempt->exclusive)
    for (const std::uint32_t g : groups_of_[attempt.nodes[place].index])
      if (std::ranges::find(groups, g) == groups.end()) return true;
  return false;
}

bool Grouping::try_duplicate(NodeId node, const std::vector<std::uint32_t>& groups, double alone) {
  const std::string& op = graph_.info(node).name;
  const bool free = op == "broadcast" || op == "iota";
  const auto unsupported = [&](std::uint32_t g) { return !members_[g].unsupported.empty(); };
  if (uses_.node_is_result(node) || (groups.size() > 8 && !free) || std::ranges::any_of(groups, unsupported))
    return false;
  facts_.duplicated[node.index] = true;
  double more = 0;
  std::vector<Attempt> attempts;
  for (const std::uint32_t g : groups) {
    Attempt& with_it = attempts.emplace_back(attempt({g}, node));
    const auto is_node = [&](std::uint32_t place) { return with_it.nodes[place] == node; };
    if (!with_it.possible() || std::ranges::any_of(with_it->exclusive, is_node)) {
      facts_.duplicated[node.index] = false;
      return false;
    }
    more += with_it->cost.seconds - members_[g].seconds();
  }
  if (more > alone && !free) {
    facts_.duplicated[node.index] = false;
    decline(node, reader_in(node, groups.front()), Why::kCost,
            fmt::format("computing {} again in {} kernels costs {}, storing it {}", op, groups.size(),
                        microseconds(more), microseconds(alone)),
            more, alone);
    return false;
  }
  for (std::size_t i = 0; i < groups.size(); ++i) replace({groups[i]}, std::move(attempts[i]));
  return true;
}

bool Grouping::try_merge(NodeId node, const std::vector<std::uint32_t>& groups, double alone) {
  for (const std::uint32_t g : groups)
    if (!members_[g].unsupported.empty()) {
      decline(node, reader_in(node, g), Why::kTemplate, members_[g].unsupported);
      return false;
    }
  if (groups.size() > 1 && joins_cyclically(groups)) {
    decline(node, reader_in(node, groups.front()), Why::kTemplate,
            "its readers depend on each other through another kernel");
    return false;
  }
  Attempt merged = attempt(groups, node);
  const NodeId reader = reader_in(node, groups.front());
  if (!merged.possible()) {
    decline(node, reader, merged.price->error().why, merged.price->error().reason);
    return false;
  }
  if (clashes(merged, groups)) {
    decline(node, reader, Why::kGuard, fmt::format("rule {}: no_duplicate", merged->rule->name));
    return false;
  }
  const double apart = seconds(groups) + alone;
  if (merged->cost.seconds > apart) {
    decline(node, reader, Why::kCost,
            fmt::format("fused {} ({}), apart {}", microseconds(merged->cost.seconds), merged->cost.explanation,
                        microseconds(apart)),
            merged->cost.seconds, apart);
    return false;
  }
  replace(groups, std::move(merged));
  return true;
}

void Grouping::place(NodeId node) {
  const std::vector<std::uint32_t> groups = consumers(node);
  if (groups.empty()) return place_alone(node);
  if (groups.size() == 1 && grow_streaming(node, groups.front())) return;

  std::size_t operators = 0;
  for (const std::uint32_t g : groups) operators += members_[g].nodes.size();
  if (operators > kMostPriced) {
    decline(node, reader_in(node, groups.front()), Why::kCost,
            fmt::format("kernels of {} operators together are not priced again for one more", operators));
    return place_alone(node);
  }
  const Evaluated& priced = evaluator_.evaluate(std::vector<NodeId>{node});
  const bool possible = graph_[node].types.size() == 1;
  if (!possible || (!priced && graph_.info(node).op_class != ops::OpClass::kMovement)) return place_alone(node);
  double alone = priced ? priced->cost.seconds : 0;

  if (groups.size() == 1) {
    const Kernel& only = members_[groups.front()];
    const Template kind = only.price != nullptr ? only.price->schedule.kind : Template::kLoop;
    // A contraction computes what follows it for nothing, so a row kernel must not take that away from it.
    const bool anchored = !is_anchor(graph_.info(node).op_class) && feeds_from_anchor(node);
    if (anchored && (kind == Template::kRow || kind == Template::kReduce)) alone = 0;
    if (anchored && !streaming(kind)) return place_alone(node);
    if (!streaming(kind) && only.unsupported.empty() && !is_anchor(graph_.info(node).op_class)) {
      // In front of a contraction: worth it at once only if it makes what is read smaller; `improve` weighs the rest.
      std::int64_t reads = 0;
      for (const Value v : evaluator_.inputs({node})) reads += ops::byte_size(graph_.type(v));
      if (reads > ops::byte_size(graph_[node].types[0]) && graph_.info(node).op_class == ops::OpClass::kElementwise)
        return place_alone(node);
    }
    if (!try_merge(node, groups, alone)) place_alone(node);
    return;
  }
  const bool anchored = !is_anchor(graph_.info(node).op_class) && feeds_from_anchor(node);
  if (!anchored && try_duplicate(node, groups, alone)) return;
  if (anchored) alone = 0;
  if (groups.size() <= 16 && try_merge(node, groups, alone)) return;
  place_alone(node);
}

}  // namespace fusewright::extract
