#include "fusewright/plan/memory.hpp"

#include <algorithm>

#include "fusewright/plan/storage.hpp"

namespace fusewright::plan {

Memory memory(const Plan& plan) {
  const graph::Graph& graph = plan.graph;
  const std::map<Value, Value> views = viewed(plan);
  const auto bytes = [&](Value v) { return ops::byte_size(graph.type(v)); };
  Memory out;
  std::set<Value> read;
  const auto reads = [&](Value v) { read.insert(storage_of(views, v)); };
  for (const Group& group : plan.groups)
    for (const Value input : group.inputs) reads(input);
  for (const NodeId id : plan.load_time)
    for (const Value operand : graph[id].operands)
      if (operand.valid()) reads(operand);
  std::set<Value> results;
  for (const Value result : graph.entry_computation().results) {
    reads(result);
    results.insert(storage_of(views, result));
  }
  const std::set<Value> ready = ready_values(plan);
  for (const Value v : ready) {
    if (graph.info(v.node).name == "parameter")
      out.inputs += bytes(v);
    else if (read.contains(v))
      out.constants += bytes(v);
  }
  for (const Value v : results)
    if (!ready.contains(v)) out.outputs += bytes(v);
  out.intermediates = plan_buffers(plan).arena_bytes;
  return out;
}

Crest crest(const Plan& plan) {
  std::vector<std::int64_t> alive(plan.groups.size() + 1);
  for (const Life& life : lives(plan)) {
    alive[life.first] += life.bytes;
    alive[life.last + 1] -= life.bytes;
  }
  Crest out;
  std::int64_t now = 0;
  for (std::size_t g = 0; g < plan.groups.size(); ++g) {
    now += alive[g];
    if (now > out.bytes) out = {&plan.groups[g], now};
  }
  return out;
}

}  // namespace fusewright::plan
