#include "memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "fusewright/extract/admit.hpp"
#include "fusewright/plan/memory.hpp"
#include "fusewright/plan/storage.hpp"

namespace fusewright::extract {

namespace {

using graph::NodeId;
using graph::Value;
using plan::Plan;

/// Orders the groups of a plan, always taking the one of those that can run that leaves least alive behind it.
class Ordering {
 public:
  explicit Ordering(const Plan& plan)
      : plan_(plan), views_(plan::viewed(plan)), after_(plan.groups.size()), waits_(plan.groups.size()) {
    const Uses uses(plan.graph);
    std::map<NodeId, std::vector<std::size_t>> computed_in;
    std::map<Value, std::size_t> writer;
    for (std::size_t g = 0; g < plan.groups.size(); ++g) {
      for (const NodeId n : plan.groups[g].nodes) computed_in[n].push_back(g);
      for (const Value v : plan.groups[g].outputs) writer.emplace(v, g);
    }
    std::set<std::pair<std::size_t, std::size_t>> edges;
    for (std::size_t g = 0; g < plan.groups.size(); ++g) {
      for (const Value input : plan.groups[g].inputs)
        if (const auto from = writer.find(storage(input)); from != writer.end() && from->second != g) {
          edges.emplace(from->second, g);
          readers_[storage(input)].insert(g);
        }
      for (const Value v : plan.groups[g].outputs)  // what is read from within a body
        for (const NodeId r : uses.readers(v.node))
          if (!plan.graph[r].computations.empty())
            for (const std::size_t reader : computed_in[r])
              if (reader != g) edges.emplace(g, reader);
    }
    std::size_t last = plan.groups.size();  // effects stay in the order in which they stand
    for (std::size_t g = 0; g < plan.groups.size(); ++g) {
      if (std::ranges::none_of(plan.groups[g].nodes, [&](NodeId n) {
            const ops::OpClass c = plan.graph.info(n).op_class;
            return c == ops::OpClass::kEffect || c == ops::OpClass::kControl;
          }))
        continue;
      if (last < g) edges.emplace(last, g);
      last = g;
    }
    for (const auto& [from, to] : edges) {
      after_[from].push_back(to);
      ++waits_[to];
    }
    for (const Value v : plan.graph.entry_computation().results) results_.insert(storage(v));
  }

  std::vector<std::size_t> run() {
    std::set<std::size_t> ready;
    for (std::size_t g = 0; g < waits_.size(); ++g)
      if (waits_[g] == 0) ready.insert(g);
    std::vector<std::size_t> order;
    while (!ready.empty()) {
      std::size_t best = *ready.begin();
      std::int64_t least = std::numeric_limits<std::int64_t>::max();
      for (const std::size_t g : ready)
        if (const std::int64_t more = growth(g); more < least) {
          least = more;
          best = g;
        }
      ready.erase(best);
      order.push_back(best);
      for (const Value input : plan_.groups[best].inputs)
        if (const auto at = readers_.find(storage(input)); at != readers_.end()) at->second.erase(best);
      for (const std::size_t next : after_[best])
        if (--waits_[next] == 0) ready.insert(next);
    }
    return order;
  }

 private:
  Value storage(Value v) const { return plan::storage_of(views_, v); }

  /// Bytes that are alive behind a group and were not before it.
  std::int64_t growth(std::size_t g) const {
    std::int64_t bytes = 0;
    const auto size = [&](Value v) { return ops::byte_size(plan_.graph.type(v)); };
    for (const Value v : plan_.groups[g].outputs)
      if (!results_.contains(v) && readers_.contains(v)) bytes += size(v);
    std::set<Value> freed;
    for (const Value input : plan_.groups[g].inputs) {
      const Value v = storage(input);
      const auto readers = readers_.find(v);
      const bool last = readers != readers_.end() && readers->second.size() == 1 && readers->second.contains(g);
      if (last && !results_.contains(v) && freed.insert(v).second) bytes -= size(v);
    }
    return bytes;
  }

  const Plan& plan_;
  std::map<Value, Value> views_;
  std::map<Value, std::set<std::size_t>> readers_;  // groups still to come, of what groups write
  std::set<Value> results_;
  std::vector<std::vector<std::size_t>> after_;
  std::vector<std::size_t> waits_;
};

/// In the order in which less is alive at once, of the one that it has and one that looks at nothing else.
void reorder(Plan& plan) {
  const std::vector<std::size_t> order = Ordering(plan).run();
  Plan other = plan;
  for (std::size_t i = 0; i < order.size(); ++i) other.groups[i] = plan.groups[order[i]];
  if (plan::plan_buffers(other).arena_bytes < plan::plan_buffers(plan).arena_bytes) plan = std::move(other);
}

/// With the costs that the groups have on this device.
void reprice(Plan& plan, const cost::Device& device) {
  plan.extraction.cost = 0;
  for (plan::Group& group : plan.groups) {
    if (group.unsupported.empty()) {
      const std::vector<bool> known = plan::known_at_load(plan, group);
      std::vector<bool> hot;
      for (std::size_t i = 0; i < group.inputs.size(); ++i)
        hot.push_back(!known[i] && plan.graph.info(group.inputs[i].node).name != "parameter");
      cost::KernelCost cost = cost::kernel_cost(group.region, group.schedule, device, hot);
      group.seconds_estimated = cost.seconds;
      group.cost_explanation = std::move(cost.explanation);
    }
    plan.extraction.cost += group.seconds_estimated;
  }
}

std::string needs(const Plan& plan) {
  const plan::Memory m = plan::memory(plan);
  std::string text = fmt::format("{} bytes at once: {} of inputs, {} of weights, {} of outputs and {} between kernels",
                                 m.total(), m.inputs, m.constants, m.outputs, m.intermediates);
  if (const plan::Crest at = plan::crest(plan); at.group != nullptr) text += ", most at kernel " + at.group->name;
  return text;
}

}  // namespace

// Where memory is slower, it pays to store less: the least slowness for which a plan fits is the least that must be
// given up. Steps of four find it roughly, halving the last of them (in its logarithm) to a tenth; the cheapest is
// taken of all that fit, as less memory does not always cost more.
Result<Plan> fit_memory(Plan plan, std::int64_t most, const cost::Device& device, const Replan& replan) {
  constexpr double kStep = 4, kSlowest = 1024;
  constexpr int kHalvings = 4;
  const auto fits = [&](const Plan& p) { return plan::memory(p).total() <= most; };
  if (fits(plan)) return plan;
  reorder(plan);
  if (fits(plan)) return plan;
  Plan smallest = std::move(plan);
  std::optional<Plan> cheapest;  // of those that fit
  const auto fits_where_slower = [&](double by) -> Result<bool> {
    cost::Device other = device;
    for (cost::MemoryLevel& level : other.memory) level.bytes_per_second /= by;
    FW_TRY(Plan next, replan(other));
    reorder(next);
    if (!fits(next)) {
      if (plan::memory(next).total() < plan::memory(smallest).total()) smallest = std::move(next);
      return false;
    }
    reprice(next, device);
    if (!cheapest || next.extraction.cost < cheapest->extraction.cost) cheapest = std::move(next);
    return true;
  };
  double low = 1, high = 1;  // without and with a plan that fits
  while (!cheapest && high < kSlowest) {
    low = high;
    high *= kStep;
    FW_TRY_STATUS(fits_where_slower(high));
  }
  if (!cheapest)
    return fail(ErrorKind::kResource,
                fmt::format("no plan was found that needs at most {} bytes of memory; the smallest needs {}", most,
                            needs(smallest)));
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = std::sqrt(low * high);
    FW_TRY(const bool fit, fits_where_slower(middle));
    (fit ? high : low) = middle;
  }
  return *std::move(cheapest);
}

}  // namespace fusewright::extract
