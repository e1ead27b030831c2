#include "fusewright/plan/plan.hpp"

#include <catch2/catch.hpp>
#include <random>

#include "fusewright/plan/memory.hpp"
#include "fusewright/plan/sources.hpp"

using namespace fusewright;
using graph::Value;
using ops::DType;

namespace {

/// A chain x -> op -> op ... on f32[n], every operator a group of its own.
plan::Plan chain(int length, std::int64_t n) {
  auto table = std::make_shared<const ops::OpTable>(ops::OpTable::builtin());
  plan::Plan plan;
  plan.graph = graph::make_graph(table, "chain");
  graph::Builder builder(plan.graph, plan.graph.entry);
  Value v = builder.parameter(ops::Type::tensor(DType::kF32, {n}), "x");
  std::vector<Value> made;
  for (int i = 0; i < length; ++i) {
    const Value next = *builder.add("exp", {v});
    plan::Group group;
    group.name = "exp_" + std::to_string(i);
    group.nodes = {next.node};
    group.inputs = {v};
    group.outputs = {next};
    plan.groups.push_back(std::move(group));
    v = next;
  }
  builder.set_results({v});
  for (plan::Group& group : plan.groups)
    group.region = *plan::make_region(plan.graph, group.nodes, group.inputs, group.outputs);
  return plan;
}

}  // namespace

TEST_CASE("tensors whose lives do not meet share memory", "[plan]") {
  const plan::Plan p = chain(10, 1000);
  REQUIRE(plan::verify(p).has_value());
  const plan::BufferPlan buffers = plan::plan_buffers(p);
  CHECK(buffers.slots.size() == 9);  // the last one is the output
  CHECK(buffers.arena_bytes == 2 * 4032);
  for (std::size_t i = 0; i + 1 < buffers.slots.size(); ++i)
    CHECK(buffers.slots[i].offset != buffers.slots[i + 1].offset);
  for (const auto& slot : buffers.slots) CHECK(slot.offset % 64 == 0);
}

TEST_CASE("what a run holds at once is inputs, weights, outputs and what lies between kernels", "[plan]") {
  const plan::Plan p = chain(10, 1000);
  const plan::Memory memory = plan::memory(p);
  CHECK(memory.inputs == 4000);
  CHECK(memory.constants == 0);
  CHECK(memory.outputs == 4000);
  CHECK(memory.intermediates == 2 * 4032);
  CHECK(memory.total() == 4000 + 4000 + 2 * 4032);
  CHECK(plan::crest(p).bytes == 2 * 4032);
  CHECK(plan::crest(p).group == &p.groups[1]);
  CHECK(plan::crest(chain(1, 8)).group == nullptr);
}

TEST_CASE("a kernel stands for the constants that its own operators read, not for equal ones elsewhere", "[plan]") {
  const auto table = std::make_shared<const ops::OpTable>(ops::OpTable::builtin());
  // Each layer multiplies by a constant of its own in the model, all by the same one in the plan.
  constexpr std::size_t kLayers = 3;
  graph::Graph model = graph::make_graph(table, "model"), planned = graph::make_graph(table, "planned");
  for (std::size_t layer = 0; layer < kLayers; ++layer)
    for (const char* op : {"two", "scaled"}) model.sources.push_back({op + std::to_string(layer), op, {}});
  planned.sources = model.sources;
  const auto two = [] {
    ops::Tensor tensor = *ops::make_tensor(DType::kF32, {});
    ops::set_double(tensor, 0, 2);
    return tensor;
  };
  const ops::Type type = ops::Type::tensor(DType::kF32, {});
  graph::Builder in_model(model, model.entry), in_plan(planned, planned.entry);
  Value x = in_model.parameter(type, "x"), y = in_plan.parameter(type, "x");
  in_plan.set_origin({graph::SourceId(0), graph::SourceId(2), graph::SourceId(4)}, "two");
  const Value shared = in_plan.constant(two());
  std::vector<plan::NodeId> muls;
  for (std::size_t layer = 0; layer < kLayers; ++layer) {
    in_model.set_origin({graph::SourceId(2 * layer)}, "two");
    const Value own = in_model.constant(two());
    in_model.set_origin({graph::SourceId(2 * layer + 1)}, "scaled");
    x = *in_model.add("mul", {x, own});
    in_plan.set_origin({graph::SourceId(2 * layer + 1)}, "scaled");
    y = *in_plan.add("mul", {y, shared});
    muls.push_back(y.node);
  }
  in_model.set_results({x});
  in_plan.set_results({y});
  const plan::KernelSources sources(planned, model);
  using Names = std::vector<std::string>;
  CHECK(sources.names(sources.of({shared.node, muls[1]})) == Names{"scaled1", "two1"});
  CHECK(sources.names(sources.of({shared.node, muls[0], muls[2]})) == Names{"scaled0", "scaled2", "two0", "two2"});
  CHECK(sources.names(sources.of({muls[1]})) == Names{"scaled1"});
  CHECK(sources.names(sources.of({shared.node})) == Names{"two0", "two1", "two2"});
}

TEST_CASE("the verifier finds a tensor that is read before it is written, or never, or twice", "[plan]") {
  plan::Plan late = chain(3, 8);
  std::swap(late.groups[0], late.groups[2]);
  CHECK_FALSE(plan::verify(late).has_value());
  plan::Plan never = chain(3, 8);
  never.groups.pop_back();
  CHECK_FALSE(plan::verify(never).has_value());
  plan::Plan twice = chain(3, 8);
  twice.groups.push_back(twice.groups.back());
  CHECK_FALSE(plan::verify(twice).has_value());
}

TEST_CASE("kernel names say what they fuse and stay short", "[plan]") {
  const plan::Plan p = chain(60, 8);
  std::vector<graph::NodeId> nodes;
  for (const plan::Group& group : p.groups) nodes.push_back(group.nodes.front());
  CHECK(plan::group_name(p.graph, nodes, 7) == "exp_7");
  CHECK(plan::group_name(p.graph, {}, 3) == "copy_3");
}
