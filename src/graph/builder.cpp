#include <algorithm>
#include <utility>

#include "fusewright/graph/graph.hpp"

namespace fusewright::graph {
namespace {

// "add.12" of the file becomes the stem "add", so that names do not collect numbers pass after pass.
std::string_view without_number(std::string_view stem) {
  std::string_view rest = stem;
  while (!rest.empty() && rest.back() >= '0' && rest.back() <= '9') rest.remove_suffix(1);
  if (rest.size() < 2 || rest.size() == stem.size() || rest.back() != '.') return stem;
  rest.remove_suffix(1);
  return rest;
}

std::vector<Type> types_of(const Graph& graph, const std::vector<Value>& operands) {
  std::vector<Type> types;
  types.reserve(operands.size());
  for (const Value& operand : operands) types.push_back(operand.valid() ? graph.type(operand) : Type());
  return types;
}

}  // namespace

void Builder::set_origin(SourceSet sources, std::string name_stem) {
  sources_ = std::move(sources);
  stem_ = std::move(name_stem);
}

std::vector<Value> Builder::add_typed(OpId op, std::vector<Value> operands, const Attrs& attrs, std::vector<Type> types,
                                      std::vector<ComputationId> computations) {
  const NodeId id(graph_.nodes.size());
  const std::string_view stem = stem_.empty() ? std::string_view((*graph_.table)[op].name) : without_number(stem_);
  Node node;
  node.op = op;
  node.operands = std::move(operands);
  node.attrs = attrs;
  node.types = std::move(types);
  node.computations = std::move(computations);
  node.parent = computation_;
  node.name = std::string(stem) + '.' + std::to_string(graph_.names_made++);
  node.sources = sources_;
  std::vector<Value> results;
  for (std::uint32_t i = 0; i < node.types.size(); ++i) results.push_back({id, i});
  graph_.nodes.push_back(std::move(node));
  graph_[computation_].nodes.push_back(id);
  return results;
}

Value Builder::parameter(const Type& type, std::string name) {
  std::vector<NodeId>& parameters = graph_[computation_].parameters;
  const std::string saved = std::exchange(stem_, name.empty() ? "parameter" : name);
  const Attrs attrs = {{"index", static_cast<std::int64_t>(parameters.size())}, {"name", name}};
  const Value value = add_typed(graph_.table->require("parameter"), {}, attrs, {type})[0];
  stem_ = saved;
  graph_[computation_].parameters.push_back(value.node);
  if (computation_ == graph_.entry) graph_.inputs.push_back({std::move(name), type, std::nullopt});
  return value;
}

Value Builder::constant(ops::Tensor tensor) {
  const Type type = tensor.type();
  const Attrs attrs = {{"value", std::make_shared<const ops::Tensor>(std::move(tensor))}};
  return add_typed(graph_.table->require("constant"), {}, attrs, {type})[0];
}

Result<std::vector<Value>> Builder::add(OpId op, std::vector<Value> operands, const Attrs& attrs, const Span& span) {
  const std::vector<Type> operand_types = types_of(graph_, operands);
  Result<Attrs> complete = graph_.table->complete_attrs(op, attrs, operand_types);
  if (!complete) return std::unexpected(with_place(std::move(complete).error(), span));
  Result<std::vector<Type>> types = graph_.table->infer(op, operand_types, *complete);
  if (!types) return std::unexpected(with_place(std::move(types).error(), span));
  return add_typed(op, std::move(operands), *complete, *std::move(types));
}

Result<Value> Builder::add(std::string_view op, std::vector<Value> operands, const Attrs& attrs, const Span& span) {
  const OpId id = graph_.table->find(op);
  if (!id.valid()) return fail("there is no operator '" + std::string(op) + "'", span);
  FW_TRY(const std::vector<Value> results, add(id, std::move(operands), attrs, span));
  return results[0];
}

Result<Value> Builder::align_to(Value value, const ops::Shape& shape) {
  FW_TRY(const ops::TermValue aligned, ops::align_to(*graph_.table, pack(value), shape, *this));
  return unpack(aligned);
}

void Builder::set_results(std::vector<Value> results) {
  if (computation_ == graph_.entry) {
    const std::size_t named = std::min(graph_.outputs.size(), results.size());
    graph_.outputs.resize(results.size());
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (i >= named) graph_.outputs[i].name = "output_" + std::to_string(i);
      graph_.outputs[i].type = graph_.type(results[i]);
    }
  }
  graph_[computation_].results = std::move(results);
}

Result<std::vector<ops::TermValue>> Builder::apply(OpId op, const std::vector<std::optional<ops::TermValue>>& operands,
                                                   const Attrs& attrs, const Span& span) {
  std::vector<Value> values;
  for (const auto& operand : operands) values.push_back(operand ? unpack(*operand) : Value());
  FW_TRY(const std::vector<Value> results, add(op, std::move(values), attrs, span));
  std::vector<ops::TermValue> terms;
  for (const Value& result : results) terms.push_back(pack(result));
  return terms;
}

const Type& Builder::type(ops::TermValue value) { return graph_.type(unpack(value)); }

}  // namespace fusewright::graph
