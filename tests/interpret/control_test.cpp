#include "tests/interpret/helpers.hpp"

#include "fusewright/ops/expr.hpp"

using namespace fusewright;
using namespace fusewright::interpret::testing;

namespace {

const Type kCount = Type::tensor(DType::kS64, {});
const Type kFlag = Type::tensor(DType::kPred, {});
const Type kNumber = Type::tensor(DType::kF32, {});

Tensor count(std::int64_t value) { return ops::scalar_tensor_int(DType::kS64, value); }
Tensor number(double value) { return ops::scalar_tensor(DType::kF32, value); }
Tensor flag(bool value) { return ops::scalar_tensor_int(DType::kPred, value ? 1 : 0); }

graph::OpId op(const char* name) { return table()->require(name); }

// while (i < limit) { i = i + 1; x = x * 2 }, where `limit` is captured from the entry.
Graph doubling(std::int64_t step) {
  Graph graph = graph::make_graph(table(), "doubling");
  Builder entry(graph, graph.entry);
  const Value i = entry.parameter(kCount, "i"), x = entry.parameter(kNumber, "x"),
              limit = entry.parameter(kCount, "limit");
  const auto condition = graph::add_computation(graph, "condition", graph.entry);
  Builder test(graph, condition);
  const Value at = test.parameter(kCount, "i");
  test.parameter(kNumber, "x");
  test.set_results({get(test.add("lt", {at, limit}))});
  const auto body = graph::add_computation(graph, "body", graph.entry);
  Builder inner(graph, body);
  const Value j = inner.parameter(kCount, "i"), y = inner.parameter(kNumber, "x");
  inner.set_results({get(inner.add("add", {j, inner.constant(count(step))})), get(inner.add("add", {y, y}))});
  entry.set_results(entry.add_typed(op("while"), {i, x}, {}, {kCount, kNumber}, {condition, body}));
  return graph;
}

// Branches x + 1 and x * 10.
Graph branches(const Type& index_type) {
  Graph graph = graph::make_graph(table(), "branches");
  Builder entry(graph, graph.entry);
  const Value index = entry.parameter(index_type, "index"), x = entry.parameter(kNumber, "x");
  std::vector<graph::ComputationId> bodies;
  for (const char* name : {"add", "mul"}) {
    bodies.push_back(graph::add_computation(graph, name));
    Builder body(graph, bodies.back());
    const Value y = body.parameter(kNumber, "x");
    body.set_results({get(body.add(name, {y, body.constant(number(name == std::string("add") ? 1 : 10))}))});
  }
  entry.set_results(entry.add_typed(op("conditional"), {index, x}, {}, {kNumber}, bodies));
  return graph;
}

// ONNX's loop: carries x = x + step (captured), scans x before it, goes on while x < 10.
Graph scanning(bool with_trips) {
  Graph graph = graph::make_graph(table(), "scanning");
  Builder entry(graph, graph.entry);
  const Value trips = entry.parameter(kCount, "trips"), x = entry.parameter(kNumber, "x"),
              step = entry.parameter(kNumber, "step");
  const auto body = graph::add_computation(graph, "body", graph.entry);
  Builder inner(graph, body);
  inner.parameter(kCount, "iteration");
  inner.parameter(kFlag, "condition");
  const Value y = inner.parameter(kNumber, "x");
  const Value next = get(inner.add("add", {y, step}));
  inner.set_results({get(inner.add("lt", {next, inner.constant(number(10))})), next, y});
  const Type scans = Type::tensor(DType::kF32, {ops::Shape{Dim::symbol("n")}});
  entry.set_results(entry.add_typed(op("loop"), {with_trips ? trips : Value(), Value(), x},
                                    {{"scans", std::int64_t{1}}}, {kNumber, scans}, {body}));
  return graph;
}

// Results (largest, its index) of a reduce over pairs, as JAX writes arg_max.
Graph arg_max_by_reduce(std::int64_t n) {
  Graph graph = graph::make_graph(table(), "pairs");
  const auto body = graph::add_computation(graph, "larger");
  Builder inner(graph, body);
  const Value a = inner.parameter(kNumber, "a"), ai = inner.parameter(kCount, "ai");
  const Value b = inner.parameter(kNumber, "b"), bi = inner.parameter(kCount, "bi");
  const Value first = get(inner.add("ge", {a, b}));
  inner.set_results({get(inner.add("select", {first, a, b})), get(inner.add("select", {first, ai, bi}))});
  Builder entry(graph, graph.entry);
  const Value x = entry.parameter(Type::tensor(DType::kF32, {n}), "x");
  const Value i = get(entry.add("iota", {}, {{"shape", Shape{n}}, {"dtype", DType::kS64}}));
  const std::vector<Value> operands = {x, i, entry.constant(number(-kInf)), entry.constant(count(0))};
  entry.set_results(entry.add_typed(op("reduce"), operands, {{"axes", Ints{0}}}, {kNumber, kCount}, {body}));
  return graph;
}

}  // namespace

TEST_CASE("while runs until its condition fails and reads captured values", "[interpret]") {
  const std::vector<Tensor> inputs = {count(0), number(1), count(5)};
  const auto results = get(interpret::evaluate(doubling(1), inputs));
  CHECK(whole(results[0]) == Ints{5});
  CHECK(numbers(results[1]) == Numbers{32});
}

TEST_CASE("a loop without end is an error that names the node", "[interpret]") {
  interpret::EvaluateOptions options;
  options.max_iterations = 100;
  const std::vector<Tensor> inputs = {count(0), number(1), count(5)};
  const auto result = interpret::evaluate(doubling(0), inputs, options);
  REQUIRE_FALSE(result.has_value());
  CHECK(result.error().kind == ErrorKind::kResource);
  CHECK_THAT(message(result), Catch::Contains("while") && Catch::Contains("does not end within 100 iterations"));
}

TEST_CASE("conditional takes the last branch when the index is out of range, and branch 0 for true", "[interpret]") {
  const auto taken = [](const Type& type, const Tensor& index) {
    const std::vector<Tensor> inputs = {index, number(3)};
    return numbers(get(interpret::evaluate(branches(type), inputs))[0]);
  };
  CHECK(taken(kCount, count(0)) == Numbers{4});
  CHECK(taken(kCount, count(1)) == Numbers{30});
  CHECK(taken(kCount, count(7)) == Numbers{30});
  CHECK(taken(kCount, count(-1)) == Numbers{30});
  CHECK(taken(kFlag, flag(true)) == Numbers{4});
  CHECK(taken(kFlag, flag(false)) == Numbers{30});
}

TEST_CASE("loop carries values, stacks its scans and stops at either bound", "[interpret]") {
  const auto run = [](bool with_trips, std::int64_t trips) {
    const std::vector<Tensor> inputs = {count(trips), number(1), number(3)};
    return get(interpret::evaluate(scanning(with_trips), inputs));
  };
  CHECK(numbers(run(true, 2)[0]) == Numbers{7});
  CHECK(numbers(run(true, 2)[1]) == Numbers{1, 4});
  CHECK(numbers(run(true, 99)[1]) == Numbers{1, 4, 7});
  CHECK(numbers(run(false, 0)[0]) == Numbers{10});
  CHECK(run(true, 0)[1].dims == Ints{0});
}

TEST_CASE("reduce folds several operands by its computation", "[interpret]") {
  const std::vector<Tensor> inputs = {vec(DType::kF32, {3, 9, 1, 9})};
  const auto results = get(interpret::evaluate(arg_max_by_reduce(4), inputs));
  CHECK(numbers(results[0]) == Numbers{9});
  CHECK(whole(results[1]) == Ints{1});
}

TEST_CASE("call runs its computation", "[interpret]") {
  Graph graph = branches(kCount);
  Builder entry(graph, graph.entry);
  const Value x = {graph.entry_computation().parameters[1], 0};
  entry.set_results(entry.add_typed(op("call"), {x}, {}, {kNumber}, {graph::ComputationId(2)}));
  const std::vector<Tensor> inputs = {count(0), number(3)};
  CHECK(numbers(get(interpret::evaluate(graph, inputs))[0]) == Numbers{30});
}

TEST_CASE("a chain of 100,000 nodes is walked without recursion", "[interpret]") {
  Graph graph = graph::make_graph(table(), "chain");
  Builder builder(graph, graph.entry);
  Value x = builder.parameter(kNumber, "x");
  for (int i = 0; i < 100'000; ++i) x = builder.add_typed(op("neg"), {x}, {}, {kNumber})[0];
  builder.set_results({x});
  const std::vector<Tensor> inputs = {number(3)};
  CHECK(numbers(get(interpret::evaluate(graph, inputs))[0]) == Numbers{3});
}

TEST_CASE("wanted values are computed and nothing else", "[interpret]") {
  Graph graph = graph::make_graph(table(), "wanted");
  Builder builder(graph, graph.entry);
  const Value x = builder.parameter(kNumber, "x");
  const Value doubled = get(builder.add("add", {x, x}));
  const Value called =
      builder.add_typed(op("custom_call"), {doubled}, {{"target", std::string("mystery")}}, {kNumber})[0];
  builder.set_results({called});
  const std::vector<Tensor> inputs = {number(3)};
  const std::vector<Value> wanted = {doubled, x};
  const auto values = get(interpret::evaluate_values(graph, inputs, wanted));
  CHECK(numbers(values[0]) == Numbers{6});
  CHECK(numbers(values[1]) == Numbers{3});
  const auto all = interpret::evaluate(graph, inputs);
  REQUIRE_FALSE(all.has_value());
  CHECK(all.error().kind == ErrorKind::kUnsupported);
  CHECK_THAT(message(all), Catch::Contains("custom_call of 'mystery' cannot be evaluated"));
}

TEST_CASE("an observer sees every value of the entry once", "[interpret]") {
  const std::vector<Tensor> inputs = {count(1), number(3)};
  std::vector<std::string> seen;
  const Graph graph = branches(kCount);
  get(interpret::evaluate_observed(graph, inputs,
                                   [&](Value value, const Tensor&) { seen.push_back(graph.info(value.node).name); }));
  CHECK(seen == std::vector<std::string>{"parameter", "parameter", "conditional"});
}

TEST_CASE("inputs that do not fit are refused with their name", "[interpret]") {
  const Graph graph = branches(kCount);
  const std::vector<Tensor> few = {count(0)};
  CHECK(message(interpret::evaluate(graph, few)) == "the graph takes 2 inputs, not 1");
  const std::vector<Tensor> wrong = {count(0), vec(DType::kF32, {1, 2})};
  CHECK_THAT(message(interpret::evaluate(graph, wrong)), Catch::Contains("is f32[2] where the graph takes f32[]"));
}

TEST_CASE("random operators repeat with the seed and differ between nodes", "[interpret]") {
  Graph graph = graph::make_graph(table(), "random");
  Builder builder(graph, graph.entry);
  const Value low = builder.constant(number(-1)), high = builder.constant(number(1));
  const Attrs attrs = {{"shape", Shape{1000}}, {"dtype", DType::kF32}};
  const Type type = Type::tensor(DType::kF32, {1000});
  const Value a = builder.add_typed(op("rng_uniform"), {low, high}, attrs, {type})[0];
  const Value b = builder.add_typed(op("rng_uniform"), {low, high}, attrs, {type})[0];
  builder.set_results({a, b});
  interpret::EvaluateOptions options;
  options.seed = 7;
  const auto first = get(interpret::evaluate(graph, {}, options));
  const auto again = get(interpret::evaluate(graph, {}, options));
  CHECK(numbers(first[0]) == numbers(again[0]));
  CHECK(numbers(first[0]) != numbers(first[1]));
  bool inside = true;
  for (const double value : numbers(first[0])) inside = inside && value >= -1 && value < 1;
  CHECK(inside);
  const auto bits =
      nodes("rng_bit_generator", {ints(DType::kU64, {1, 2})}, {{"shape", Shape{8}}, {"dtype", DType::kU32}});
  CHECK(whole(bits[0]) == Ints{1, 10});
  CHECK(whole(bits[1]) == whole(nodes("rng_bit_generator", {ints(DType::kU64, {1, 2})},
                                      {{"shape", Shape{8}}, {"dtype", DType::kU32}})[1]));
}
