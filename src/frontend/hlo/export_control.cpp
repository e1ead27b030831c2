#include "src/frontend/hlo/exporter.hpp"

namespace fusewright::frontend_hlo {

namespace {

using Parameters = Exporter::Parameters;
using Results = Exporter::Results;

std::vector<Type> types_of(const Exporter& e, const std::vector<Value>& values) {
  std::vector<Type> types;
  for (const Value value : values) types.push_back(e.type(value));
  return types;
}

// What two bodies capture, each value once.
std::vector<Value> all_captures(const Exporter& e, const Node& node) {
  std::vector<Value> all;
  std::set<Value> seen;
  for (const ComputationId body : node.computations)
    for (const Value value : e.captures(body))
      if (seen.insert(value).second) all.push_back(value);
  return all;
}

// A comparator on the first pair of its parameters. Floats are compared as total order has it, with all NaNs alike and
// -0 equal to 0, which puts NaN at the large end.
std::string comparator(Exporter& e, const Node& node, bool descending) {
  std::vector<std::string> lines;
  std::string name = descending ? "compare_gt" : "compare_lt";
  for (std::size_t i = 0; i < node.types.size(); ++i) {
    const std::string scalar = std::string(ops::name(node.types[i].dtype)) + "[]";
    name += "_" + std::string(ops::name(node.types[i].dtype));
    for (const std::size_t number : {2 * i, 2 * i + 1})
      lines.push_back("%p" + std::to_string(number) + " = " + scalar + " parameter(" + std::to_string(number) + ")");
  }
  std::string attributes = std::string("direction=") + (descending ? "GT" : "LT");
  std::string keys[2] = {"%p0", "%p1"};
  const DType dtype = node.types[0].dtype;
  if (ops::is_float(dtype)) {
    const std::string scalar = std::string(ops::name(dtype)) + "[] ";
    lines.push_back("%zero = " + scalar + "constant(0)");
    lines.push_back("%nan = " + scalar + "constant(nan)");
    for (std::string& key : keys) {
      const std::string p = key.substr(1);
      lines.push_back("%" + p + "_is_zero = pred[] compare(" + key + ", %zero), direction=EQ");
      lines.push_back("%" + p + "_is_nan = pred[] compare(" + key + ", " + key + "), direction=NE");
      lines.push_back("%" + p + "_unsigned = " + scalar + "select(%" + p + "_is_zero, %zero, " + key + ")");
      lines.push_back("%" + p + "_key = " + scalar + "select(%" + p + "_is_nan, %nan, %" + p + "_unsigned)");
      key = "%" + p + "_key";
    }
    attributes += ", type=TOTALORDER";
  }
  lines.push_back("ROOT %holds = pred[] compare(" + keys[0] + ", " + keys[1] + "), " + attributes);
  return e.shared(name, lines);
}

// A body whose values all come from its own parameters.
Result<std::string> closed_body(Exporter& e, const Node& node) {
  if (!e.captures(node.computations[0]).empty())
    return e.unsupported(node, "its computation reads values from outside, which has no form in HLO");
  return e.nested(node.computations[0], Parameters::kSeparate, Results::kPlain, {});
}

}  // namespace

Status print_reduce(Exporter& e, Body& body, NodeId id) {
  const Node& node = e.graph[id];
  FW_TRY(const std::string called, closed_body(e, node));
  const std::string attributes = "dimensions=" + print_list(node.attrs.get<Ints>("axes")) + ", to_apply=" + called;
  const bool single = node.types.size() == 1;
  const std::string name = e.emit(body, node.name, single ? print_type(node.types[0]) : print_tuple_type(node.types),
                                  "reduce", e.operands(body, node), attributes);
  if (single)
    Exporter::bind(body, id, name);
  else
    e.bind_tuple(body, id, name);
  return {};
}

Status print_sort(Exporter& e, Body& body, NodeId id) {
  const Node& node = e.graph[id];
  std::string called;
  if (node.computations.empty()) {
    called = comparator(e, node, node.attrs.get<bool>("descending"));
  } else {
    FW_TRY(called, closed_body(e, node));
  }
  std::string attributes = "dimensions=" + print_list({node.attrs.get<std::int64_t>("axis")});
  if (node.attrs.get<bool>("stable")) attributes += ", is_stable=true";
  attributes += ", to_apply=" + called;
  const bool single = node.types.size() == 1;
  const std::string name = e.emit(body, node.name, single ? print_type(node.types[0]) : print_tuple_type(node.types),
                                  "sort", e.operands(body, node), attributes);
  if (single)
    Exporter::bind(body, id, name);
  else
    e.bind_tuple(body, id, name);
  return {};
}

// Captured values become a part of the loop's state that never changes.
Status print_while(Exporter& e, Body& body, NodeId id) {
  const Node& node = e.graph[id];
  const std::vector<Value> captured = all_captures(e, node);
  std::vector<Value> state = node.operands;
  state.insert(state.end(), captured.begin(), captured.end());
  FW_TRY(const std::string condition, e.nested(node.computations[0], Parameters::kTuple, Results::kPlain, captured));
  FW_TRY(const std::string step,
         e.nested(node.computations[1], Parameters::kTuple, Results::kTupleWithCaptures, captured));
  std::vector<std::string> operands;
  for (const Value value : state) operands.push_back(body.values.at(value));
  const std::string type = print_tuple_type(types_of(e, state));
  const std::string tuple = e.emit(body, "state", type, "tuple", operands);
  e.bind_tuple(body, id, e.emit(body, node.name, type, "while", {tuple}, "condition=" + condition + ", body=" + step));
  return {};
}

// Every branch gets all operands and captured values in one tuple, and gives a tuple.
Status print_conditional(Exporter& e, Body& body, NodeId id) {
  const Node& node = e.graph[id];
  const std::vector<Value> captured = all_captures(e, node);
  std::vector<Value> values(node.operands.begin() + 1, node.operands.end());
  values.insert(values.end(), captured.begin(), captured.end());
  std::vector<std::string> branches, operands;
  for (const ComputationId branch : node.computations) {
    FW_TRY(std::string called, e.nested(branch, Parameters::kTuple, Results::kTuple, captured));
    branches.push_back(std::move(called));
  }
  for (const Value value : values) operands.push_back(body.values.at(value));
  const std::string tuple = e.emit(body, "operands", print_tuple_type(types_of(e, values)), "tuple", operands);
  std::string attributes;
  if (e.type(node.operands[0]).dtype == DType::kPred && branches.size() == 2) {
    attributes = "true_computation=" + branches[0] + ", false_computation=" + branches[1];
  } else {
    attributes = "branch_computations={";
    for (std::size_t i = 0; i < branches.size(); ++i) attributes += (i == 0 ? "" : ", ") + branches[i];
    attributes += "}";
  }
  std::vector<std::string> arguments(branches.size() + 1, tuple);
  arguments[0] = e.operand(body, node, 0);
  e.bind_tuple(body, id, e.emit(body, node.name, print_tuple_type(node.types), "conditional", arguments, attributes));
  return {};
}

Status print_call(Exporter& e, Body& body, NodeId id) {
  const Node& node = e.graph[id];
  const std::vector<Value> captured = all_captures(e, node);
  FW_TRY(const std::string called, e.nested(node.computations[0], Parameters::kSeparate, Results::kPlain, captured));
  std::vector<std::string> operands = e.operands(body, node);
  for (const Value value : captured) operands.push_back(body.values.at(value));
  const bool single = node.types.size() == 1;
  const std::string name = e.emit(body, node.name, single ? print_type(node.types[0]) : print_tuple_type(node.types),
                                  "call", operands, "to_apply=" + called);
  if (single)
    Exporter::bind(body, id, name);
  else
    e.bind_tuple(body, id, name);
  return {};
}

}  // namespace fusewright::frontend_hlo
