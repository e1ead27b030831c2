#include "fusewright/plan/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "fusewright/plan/storage.hpp"

namespace fusewright::plan {

namespace {

constexpr std::int64_t kAlignment = 64;

std::string describe(const graph::Graph& graph, Value v) {
  return fmt::format("'{}' result {}", graph[v.node].name, v.result);
}

}  // namespace

std::set<Value> ready_values(const Plan& plan) {
  std::set<Value> ready;
  for (const NodeId id : plan.graph.entry_computation().nodes) {
    const std::string& op = plan.graph.info(id).name;
    if (op == "parameter" || op == "constant") ready.insert({id, 0});
  }
  for (const NodeId id : plan.load_time)
    for (std::uint32_t r = 0; r < plan.graph[id].types.size(); ++r) ready.insert({id, r});
  return ready;
}

std::map<Value, Value> viewed(const Plan& plan) {
  std::map<Value, Value> of;
  for (const View& view : plan.views) of.emplace(view.value, view.of);
  return of;
}

Value storage_of(const std::map<Value, Value>& views, Value v) {
  for (auto at = views.find(v); at != views.end(); at = views.find(v)) v = at->second;
  return v;
}

std::vector<Life> lives(const Plan& plan) {
  const std::map<Value, Value> views = viewed(plan);
  std::set<Value> apart = ready_values(plan);  // memory of their own
  for (const Value result : plan.graph.entry_computation().results) apart.insert(storage_of(views, result));
  std::vector<Life> lives;
  std::map<Value, std::size_t> index;
  for (std::size_t g = 0; g < plan.groups.size(); ++g) {
    for (const Value input : plan.groups[g].inputs)
      if (const auto at = index.find(storage_of(views, input)); at != index.end()) lives[at->second].last = g;
    for (const Value output : plan.groups[g].outputs) {
      if (apart.contains(output)) continue;
      const std::int64_t bytes = ops::byte_size(plan.graph.type(output));
      index.emplace(output, lives.size());
      lives.push_back({output, (bytes + kAlignment - 1) / kAlignment * kAlignment, g, g});
    }
  }
  return lives;
}

Status verify(const Plan& plan) {
  std::set<Value> ready = ready_values(plan);
  const std::map<Value, Value> views = viewed(plan);
  for (const View& view : plan.views)
    if (view.value == view.of ||
        ops::byte_size(plan.graph.type(view.value)) != ops::byte_size(plan.graph.type(view.of)))
      return fail("plan: the view " + describe(plan.graph, view.value) + " is not of the size of its tensor");
  for (const Group& group : plan.groups) {
    for (const Value input : group.inputs)
      if (!ready.contains(storage_of(views, input)))
        return fail(
            fmt::format("plan: group {} reads {} before it is written", group.name, describe(plan.graph, input)));
    for (const Value output : group.outputs)
      if (!ready.insert(output).second)
        return fail(fmt::format("plan: group {} writes {} again", group.name, describe(plan.graph, output)));
    if (group.region.outputs.size() != group.outputs.size() || group.region.captures != group.inputs.size())
      return fail(fmt::format("plan: the region of group {} does not have its inputs and outputs", group.name));
  }
  for (const Value result : plan.graph.entry_computation().results)
    if (!ready.contains(storage_of(views, result)))
      return fail("plan: output " + describe(plan.graph, result) + " is never written");
  return {};
}

std::vector<bool> known_at_load(const Plan& plan, const Group& group) {
  const std::map<Value, Value> views = viewed(plan);
  const std::set<NodeId> folded(plan.load_time.begin(), plan.load_time.end());
  std::vector<bool> known;
  for (const Value input : group.inputs) {
    const NodeId node = storage_of(views, input).node;
    known.push_back(folded.contains(node) || plan.graph.info(node).name == "constant");
  }
  return known;
}

BufferPlan plan_buffers(const Plan& plan) {
  const std::vector<Life> lives = plan::lives(plan);
  // Largest first, each at the lowest offset where no tensor that lives at the same time lies.
  std::vector<std::size_t> order(lives.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return lives[a].bytes != lives[b].bytes ? lives[a].bytes > lives[b].bytes : a < b;
  });
  struct Placed {
    std::int64_t begin, end;  // in the arena
    std::size_t first, last;
  };
  BufferPlan buffers;
  std::vector<Placed> placed;  // by `begin`
  for (const std::size_t i : order) {
    const Life& life = lives[i];
    std::int64_t offset = 0;
    for (const Placed& other : placed) {
      if (other.first > life.last || life.first > other.last) continue;
      if (other.begin - offset >= life.bytes) break;
      offset = std::max(offset, other.end);
    }
    const Placed at{offset, offset + life.bytes, life.first, life.last};
    placed.insert(std::ranges::upper_bound(placed, at.begin, {}, &Placed::begin), at);
    buffers.slots.push_back({life.value, offset, life.bytes});
    buffers.arena_bytes = std::max(buffers.arena_bytes, at.end);
  }
  std::sort(buffers.slots.begin(), buffers.slots.end(), [](const auto& a, const auto& b) { return a.value < b.value; });
  return buffers;
}

}  // namespace fusewright::plan
