#include <algorithm>

#include "src/frontend/onnx/importer.hpp"

namespace fusewright::frontend_onnx {

namespace {

using Values = std::vector<Value>;

// A nested graph whose nodes go to a computation of their own. Values of the graphs around it are captured by name.
struct Body {
  graph::ComputationId computation;
  Emitter emitter;
  Scope scope;

  Body(Call& c, const std::string& name)
      : computation(graph::add_computation(c.e.graph(), name, c.e.builder().computation())),
        emitter(c.e.graph(), computation, c.importer.knowledge()) {
    scope.outer = &c.scope;
    scope.emitter = &emitter;
    scope.opsets = c.scope.opsets;
    scope.prefix = c.scope.prefix;
    scope.depth = c.scope.depth + 1;
    emitter.set_origin(c.e.origin().first, name);
  }
  Value parameter(const Type& type, const std::string& name) {
    const Value value = emitter.builder().parameter(type, name);
    if (!name.empty() && !scope.values.emplace(name, value).second)
      refuse("input '" + name + "' of the nested graph is listed twice");
    return value;
  }
};

std::string body_name(const Call& c, const char* part) {
  const std::string& name = c.proto.name().empty() && c.proto.output_size() > 0 ? c.proto.output(0) : c.proto.name();
  return name + "." + part;
}

// Nodes of a nested graph that become part of the graph around it: a branch that is taken, a turn of a loop.
Scope inlined(Call& c) {
  Scope scope;
  scope.outer = &c.scope;
  scope.emitter = &c.e;
  scope.opsets = c.scope.opsets;
  scope.prefix = c.scope.prefix;
  scope.depth = c.scope.depth + 1;
  return scope;
}

Values if_else(Call& c) {
  const Value condition = c.in(0);
  if (product(c.e.dims(condition)) != 1) refuse("its condition is not one element");
  // A condition that follows from constants or from the values of given inputs: the other branch is never read.
  if (const auto known = c.e.known(condition)) {
    Scope scope = inlined(c);
    return c.importer.import_graph(c.graph_attr(ops::get_int(*known, 0) != 0 ? "then_branch" : "else_branch"), scope);
  }
  std::vector<graph::ComputationId> bodies;
  std::vector<std::vector<Type>> types;
  for (const char* branch : {"then_branch", "else_branch"}) {
    Body body(c, body_name(c, branch));
    const Values results = c.importer.import_graph(c.graph_attr(branch), body.scope);
    body.emitter.builder().set_results(results);
    types.emplace_back();
    for (const Value value : results) types.back().push_back(c.e.type(value));
    bodies.push_back(body.computation);
  }
  if (types[0].size() != types[1].size()) refuse("its branches have different numbers of results");
  for (std::size_t i = 0; i < types[0].size(); ++i) {
    if (types[0][i] == types[1][i]) continue;
    unsupported("its branches give " + ops::to_string(types[0][i]) + " and " + ops::to_string(types[1][i]) +
                ", which are different types (the condition is not known at load)");
  }
  return c.e.builder().add_typed(c.e.graph().table->require("conditional"), {c.e.reshape(condition, {})}, {}, types[0],
                                 bodies);
}

void check_invariant(const Body& body, const Values& results, const std::vector<Type>& carried) {
  for (std::size_t i = 0; i < carried.size(); ++i) {
    const Type type = body.emitter.type(results[i]);
    if (type == carried[i]) continue;
    unsupported("value " + std::to_string(i) + " that its loop carries starts as " + ops::to_string(carried[i]) +
                " and becomes " + ops::to_string(type) + "; types that change in a loop are not supported");
  }
}

// The results that a loop stacks have one more axis in front, as long as the loop runs.
Type stacked(const Type& type, std::int64_t trips) {
  ops::Shape shape = type.shape;
  shape.insert(shape.begin(), trips);
  return Type::tensor(type.dtype, shape);
}

constexpr std::int64_t kMostUnrolled = 20'000;  // nodes

bool may_unroll(std::int64_t trips, const ::onnx::GraphProto& graph) {
  return trips * std::max(1, graph.node_size()) <= kMostUnrolled;
}

// The results of each turn, one below the other along a new first axis.
Value stack(Call& c, const Values& turns) {
  Values rows;
  for (const Value turn : turns) {
    Ints dims = c.e.dims(turn);
    dims.insert(dims.begin(), 1);
    rows.push_back(c.e.reshape(turn, dims));
  }
  return c.e.concat(rows, 0);
}

// A loop of few turns, their number known, whose condition is known at each: the turns one after the other. Nothing
// where it is not such a loop; nodes made until that was found out are read by nobody.
std::optional<Values> unrolled_loop(Call& c, const ::onnx::GraphProto& graph, std::size_t carried) {
  if (!c.has(0)) return std::nullopt;
  const auto count = c.e.known(c.in(0));
  if (!count || count->elements() != 1) return std::nullopt;
  const std::int64_t trips = std::max<std::int64_t>(0, ops::get_int(*count, 0));
  const std::size_t scans = static_cast<std::size_t>(graph.output_size()) - 1 - carried;
  if (trips > kMostUnrolled || !may_unroll(trips, graph) || (trips == 0 && scans > 0)) return std::nullopt;
  Value going = c.has(1) ? c.e.reshape(c.in(1), {}) : c.e.scalar_int(DType::kPred, 1);
  Values state(c.inputs.begin() + 2, c.inputs.end());
  std::vector<Values> stacks(scans);
  for (std::int64_t turn = 0; turn < trips; ++turn) {
    const auto known = c.e.known(going);
    if (!known) return std::nullopt;
    if (ops::get_int(*known, 0) == 0) break;
    ::onnx::GraphProto body = graph;  // a copy: reading takes its tensors away
    Scope scope = inlined(c);
    scope.values[body.input(0).name()] = c.e.scalar_int(DType::kS64, turn);
    scope.values[body.input(1).name()] = going;
    for (std::size_t i = 0; i < carried; ++i) scope.values[body.input(static_cast<int>(i) + 2).name()] = state[i];
    const Values results = c.importer.import_graph(body, scope);
    going = c.e.reshape(c.e.to_pred(results[0]), {});
    state.assign(results.begin() + 1, results.begin() + 1 + static_cast<std::ptrdiff_t>(carried));
    for (std::size_t i = 0; i < scans; ++i) stacks[i].push_back(results[1 + carried + i]);
  }
  for (const Values& turns : stacks) {
    if (turns.empty()) return std::nullopt;
    state.push_back(stack(c, turns));
  }
  return state;
}

Values loop(Call& c) {
  ::onnx::GraphProto& graph = c.graph_attr("body");
  const auto carried_count = static_cast<std::size_t>(std::max(0, c.proto.input_size() - 2));
  if (static_cast<std::size_t>(graph.input_size()) != carried_count + 2)
    refuse("its body has " + std::to_string(graph.input_size()) + " inputs where " + std::to_string(carried_count + 2) +
           " are needed");
  if (static_cast<std::size_t>(graph.output_size()) < carried_count + 1) refuse("its body has too few outputs");
  for (std::size_t i = 0; i < carried_count; ++i) c.in(i + 2);  // all are needed
  if (auto results = unrolled_loop(c, graph, carried_count)) return *std::move(results);
  Body body(c, body_name(c, "body"));
  body.parameter(Type::tensor(DType::kS64, {}), graph.input(0).name());
  body.parameter(Type::tensor(DType::kPred, {}), graph.input(1).name());
  Values operands = {c.has(0) ? c.e.reshape(c.in(0), {}) : Value{}, c.has(1) ? c.e.reshape(c.in(1), {}) : Value{}};
  std::vector<Type> types;
  for (std::size_t i = 0; i < carried_count; ++i) {
    operands.push_back(c.in(i + 2));
    types.push_back(c.e.type(operands.back()));
    body.parameter(types.back(), graph.input(static_cast<int>(i) + 2).name());
  }
  const std::vector<Type> carried = types;
  Values results = c.importer.import_graph(graph, body.scope);
  results[0] = body.emitter.reshape(body.emitter.to_pred(results[0]), {});
  check_invariant(body, Values(results.begin() + 1, results.end()), carried);
  const std::size_t scans = results.size() - 1 - carried_count;
  if (scans > 0) {
    if (!c.has(0)) unsupported("a loop that stacks results needs a trip count");
    const std::int64_t trips = std::max<std::int64_t>(0, c.known_int(0, "trip count"));
    for (std::size_t i = carried_count + 1; i < results.size(); ++i)
      types.push_back(stacked(c.e.type(results[i]), trips));
  }
  body.emitter.builder().set_results(results);
  return c.e.builder().add_typed(c.e.graph().table->require("loop"), operands,
                                 {{"scans", static_cast<std::int64_t>(scans)}}, types, {body.computation});
}

// --- Scan: a loop whose body takes one slice of each scanned input ------------------------------------

struct ScanAttrs {
  std::size_t states = 0, inputs = 0, outputs = 0;
  Ints input_axes, output_axes, input_directions, output_directions;
};

ScanAttrs read_scan(Call& c, const ::onnx::GraphProto& graph) {
  if (c.opset < 9) unsupported("Scan before opset 9 is not supported");
  ScanAttrs a;
  const std::int64_t inputs = c.int_attr("num_scan_inputs");
  const auto all = static_cast<std::int64_t>(c.input_count());
  if (inputs < 1 || inputs > all || graph.input_size() != all)
    refuse("attribute 'num_scan_inputs' is " + std::to_string(inputs));
  a.inputs = static_cast<std::size_t>(inputs);
  a.states = static_cast<std::size_t>(all - inputs);
  if (static_cast<std::size_t>(graph.output_size()) < a.states) refuse("its body has too few outputs");
  a.outputs = static_cast<std::size_t>(graph.output_size()) - a.states;
  const auto read = [&](const char* name, std::size_t count) {
    Ints values = c.ints_attr(name).value_or(Ints(count, 0));
    if (values.size() != count) refuse("attribute '" + std::string(name) + "' has the wrong length");
    return values;
  };
  a.input_axes = read("scan_input_axes", a.inputs);
  a.output_axes = read("scan_output_axes", a.outputs);
  a.input_directions = read("scan_input_directions", a.inputs);
  a.output_directions = read("scan_output_directions", a.outputs);
  return a;
}

// Extents that all scanned inputs have in common.
std::int64_t scan_trips(Call& c, const ScanAttrs& a) {
  std::int64_t trips = -1;
  for (std::size_t i = 0; i < a.inputs; ++i) {
    const Value x = c.in(a.states + i);
    const std::int64_t extent = c.e.dims(x)[c.axis(a.input_axes[i], c.e.rank(x))];
    if (trips >= 0 && trips != extent) refuse("its scanned inputs have different lengths");
    trips = extent;
  }
  return trips;
}

// The first axis of a stacked result goes where it belongs.
Value place_output(Call& c, Value value, const ScanAttrs& a, std::size_t i) {
  if (a.output_directions[i] != 0) value = c.e.op("reverse", {value}, {{"axes", Ints{0}}});
  const std::int64_t rank = c.e.rank(value), axis = c.axis(a.output_axes[i], rank);
  Ints perm;
  for (std::int64_t k = 1; k < rank; ++k) perm.push_back(k);
  perm.insert(perm.begin() + axis, 0);
  return c.e.transpose(value, perm);
}

Values unrolled_scan(Call& c, const ::onnx::GraphProto& graph, const ScanAttrs& a, std::int64_t trips) {
  Values state;
  for (std::size_t i = 0; i < a.states; ++i) state.push_back(c.in(i));
  std::vector<Values> stacks(a.outputs);
  for (std::int64_t turn = 0; turn < trips; ++turn) {
    ::onnx::GraphProto body = graph;  // a copy: reading takes its tensors away
    Scope scope = inlined(c);
    for (std::size_t i = 0; i < a.states; ++i) scope.values[body.input(static_cast<int>(i)).name()] = state[i];
    for (std::size_t i = 0; i < a.inputs; ++i) {
      const Value x = c.in(a.states + i);
      const std::int64_t axis = c.axis(a.input_axes[i], c.e.rank(x));
      const std::int64_t at = a.input_directions[i] == 0 ? turn : trips - 1 - turn;
      Ints dims = c.e.dims(x);
      dims.erase(dims.begin() + axis);
      scope.values[body.input(static_cast<int>(a.states + i)).name()] =
          c.e.reshape(c.e.slice(x, axis, at, at + 1), dims);
    }
    const Values results = c.importer.import_graph(body, scope);
    state.assign(results.begin(), results.begin() + static_cast<std::ptrdiff_t>(a.states));
    for (std::size_t i = 0; i < a.outputs; ++i) stacks[i].push_back(results[a.states + i]);
  }
  for (std::size_t i = 0; i < a.outputs; ++i) state.push_back(place_output(c, stack(c, stacks[i]), a, i));
  return state;
}

Values scan(Call& c) {
  ::onnx::GraphProto& graph = c.graph_attr("body");
  const ScanAttrs a = read_scan(c, graph);
  const std::int64_t trips = scan_trips(c, a);
  if (trips > 0 && trips <= kMostUnrolled && may_unroll(trips, graph)) return unrolled_scan(c, graph, a, trips);
  Body body(c, body_name(c, "body"));
  const Value step = body.parameter(Type::tensor(DType::kS64, {}), "");
  const Value going = body.parameter(Type::tensor(DType::kPred, {}), "");
  std::vector<Type> types;
  Values operands(2);
  for (std::size_t i = 0; i < a.states; ++i) {
    operands.push_back(c.in(i));
    types.push_back(c.e.type(operands.back()));
    body.parameter(types.back(), graph.input(static_cast<int>(i)).name());
  }
  const std::vector<Type> carried = types;
  for (std::size_t i = 0; i < a.inputs; ++i) {
    const Value x = c.in(a.states + i);
    const std::int64_t axis = c.axis(a.input_axes[i], c.e.rank(x));
    const Value at =
        a.input_directions[i] == 0 ? step : body.emitter.binary("sub", static_cast<double>(trips - 1), step);
    body.scope.values[graph.input(static_cast<int>(a.states + i)).name()] =
        body.emitter.op("take", {x, at}, {{"axis", axis}});
  }
  operands[0] = c.e.scalar_int(DType::kS64, trips);
  Values results = c.importer.import_graph(graph, body.scope);
  check_invariant(body, results, carried);
  for (std::size_t i = 0; i < a.outputs; ++i) types.push_back(stacked(c.e.type(results[a.states + i]), trips));
  results.insert(results.begin(), going);
  body.emitter.builder().set_results(results);
  Values out = c.e.builder().add_typed(c.e.graph().table->require("loop"), operands,
                                       {{"scans", static_cast<std::int64_t>(a.outputs)}}, types, {body.computation});
  for (std::size_t i = 0; i < a.outputs; ++i) out[a.states + i] = place_output(c, out[a.states + i], a, i);
  return out;
}

}  // namespace

std::vector<OperatorRow> control_operators() { return {{"If", if_else}, {"Loop", loop}, {"Scan", scan}}; }

}  // namespace fusewright::frontend_onnx
