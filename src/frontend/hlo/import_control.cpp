#include <algorithm>

#include "src/frontend/hlo/combiner.hpp"
#include "src/frontend/hlo/foresee.hpp"
#include "src/frontend/hlo/handlers.hpp"
#include "src/frontend/hlo/opcodes.hpp"

namespace fusewright::frontend_hlo {

namespace {

Result<std::string_view> one_name(Site& site, std::string_view attribute) {
  FW_TRY(const std::vector<std::string_view> names, site.attributes.names(attribute));
  if (names.size() != 1) return site.wrong("'" + std::string(attribute) + "' names one computation");
  return names[0];
}

std::vector<Type> types_of(Site& site, const std::vector<Value>& values) {
  std::vector<Type> types;
  for (const Value value : values) types.push_back(site.type(value));
  return types;
}

std::string print_types(const std::vector<Type>& types) {
  return types.size() == 1 ? ops::to_string(types[0]) : ops::to_string(Type::tuple(types));
}

std::vector<Type> result_types(Site& site, graph::ComputationId body) {
  return types_of(site, site.graph()[body].results);
}

// Custom calls that say where a value lives or how it is split among devices, not what it is.
bool is_annotation(std::string_view target) {
  for (const std::string_view name :
       {"Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape", "MoveToHost", "MoveToDevice",
        "annotate_device_placement", "xla.sdy.FuncResultSharding", "LayoutConstraint"})
    if (target == name) return true;
  return false;
}

// "mhlo.erf" and the like stand for elementwise operators that older texts had no opcode for.
const ElementwiseOpcode* elementwise_target(std::string_view target) {
  for (const std::string_view prefix : {"mhlo.", "chlo."})
    if (target.starts_with(prefix)) return find_elementwise_op(target.substr(prefix.size()));
  return nullptr;
}

Result<Leaves> import_top_k_call(Site& site) {
  FW_TRY(const std::vector<Value> values, site.tensors(1));
  FW_TRY(const std::vector<Type> types, site.declared_leaves());
  if (types.size() != 2 || types[0].shape.empty()) return site.wrong("a TopK gives values and indices");
  FW_TRY(const std::vector<std::string_view> names, site.attributes.names("called_computations"));
  bool largest = true;
  if (names.size() == 1) {
    FW_TRY(const std::uint32_t index, site.importer.find_computation(names[0]));
    const Computation& comparator = site.importer.computation(index);
    const Attribute* direction = comparator.instructions[comparator.root].find("direction");
    largest = direction == nullptr || direction->value == "GT" || direction->value == "GE";
  }
  const std::int64_t k = ops::static_dims(types[0].shape).back();
  const ops::Attrs attrs = {
      {"k", k}, {"axis", site.type(values[0]).rank() - 1}, {"largest", largest}, {"dtype", types[1].dtype}};
  return site.builder().add(site.graph().table->require("top_k"), values, attrs, site.span());
}

}  // namespace

Result<Leaves> import_call(Site& site) {
  FW_TRY(const std::string_view name, one_name(site, "to_apply"));
  return site.importer.inline_call(site, name, std::move(site.operands));
}

Result<Leaves> import_fusion(Site& site) {
  FW_TRY(const std::string_view name, one_name(site, "calls"));
  return site.importer.inline_call(site, name, std::move(site.operands));
}

// A computation over scalars, applied to every element: inlined with its scalars standing for whole tensors.
Result<Leaves> import_map(Site& site) {
  FW_TRY(const std::vector<Value> values, site.tensors_at_least(1));
  FW_TRY(const std::string_view name, one_name(site, "to_apply"));
  FW_TRY(const std::uint32_t index, site.importer.find_computation(name));
  const Computation& body = site.importer.computation(index);
  for (const Instruction& instruction : body.instructions) {
    const std::string_view opcode = instruction.opcode;
    bool fine = find_elementwise(opcode) != nullptr;
    for (const std::string_view other : {"parameter", "constant", "select", "clamp", "compare", "convert",
                                         "bitcast-convert", "reduce-precision", "tuple", "copy", "call"})
      fine |= opcode == other;
    if (!fine) return site.unsupported("'" + std::string(opcode) + "' in the body of a map");
  }
  const ops::Shape shape = site.type(values[0]).shape;
  for (const Value value : values)
    if (site.type(value).shape != shape) return site.wrong("the operands of a map have one shape");
  return site.importer.inline_call(site, name, std::move(site.operands), shape);
}

namespace {

/// The body once for each iteration, with what is known of the state as constants.
Result<Leaves> unroll(Site& site, std::string_view body, const Foreseen& loop, Leaves state) {
  const graph::SourceSet sources = {graph::SourceId(site.graph().sources.size() - 1)};
  for (std::size_t i = 0; i < loop.states.size(); ++i) {
    site.builder().set_origin(sources, std::string(site.instruction.name));
    for (std::size_t k = 0; k < state.size(); ++k)
      if (const auto& known = loop.states[i][k]; known && site.graph().info(state[k].node).name != "constant")
        state[k] = site.builder().constant(*known);
    FW_TRY(state, site.importer.inline_call(site, body, {state}, std::nullopt, "[" + std::to_string(i) + "]"));
  }
  return state;
}

}  // namespace

Result<Leaves> import_while(Site& site) {
  if (site.operands.size() != 1) return site.wrong("while takes 1 operand");
  FW_TRY(const std::string_view condition_name, one_name(site, "condition"));
  FW_TRY(const std::string_view body_name, one_name(site, "body"));
  const Leaves state = site.operands[0];
  const std::vector<Type> types = types_of(site, state);
  const std::size_t unroll_left = site.importer.unroll_left;  // what loops inside become here may be for nothing
  FW_TRY(const graph::ComputationId condition, site.importer.import_body(site, condition_name, types, 0, types.size()));
  FW_TRY(const graph::ComputationId body, site.importer.import_body(site, body_name, types, 0, types.size()));
  const std::vector<Type> holds = result_types(site, condition);
  if (holds != std::vector<Type>{Type::tensor(DType::kPred, {})})
    return site.wrong("its condition gives " + print_types(holds) + ", not pred[]");
  if (result_types(site, body) != types)
    return site.wrong("its body gives " + print_types(result_types(site, body)) + ", not " + print_types(types));
  site.importer.unroll_left = unroll_left;
  const std::size_t nodes = site.graph()[body].nodes.size() + 1;
  const graph::ComputationId here = site.builder().computation();
  const std::optional<Foreseen> loop =
      foresee_loop(site.graph(), condition, body, foresee(site.graph(), here, state), unroll_left / nodes);
  if (loop) {
    site.importer.unroll_left -= loop->states.size() * nodes;
    return unroll(site, body_name, *loop, state);
  }
  return site.builder().add_typed(site.graph().table->require("while"), state, {}, types, {condition, body});
}

Result<Leaves> import_conditional(Site& site) {
  if (site.operands.empty() || site.operands[0].size() != 1)
    return site.wrong("conditional takes an index and an operand for each branch");
  std::vector<std::string_view> branches;
  if (site.attributes.has("branch_computations")) {
    FW_TRY(branches, site.attributes.names("branch_computations"));
  } else {
    for (const char* attribute : {"true_computation", "false_computation"}) {
      FW_TRY(const std::string_view name, one_name(site, attribute));
      branches.push_back(name);
    }
  }
  if (branches.empty() || branches.size() + 1 != site.operands.size())
    return site.wrong("it has " + std::to_string(branches.size()) + " branches and operands for " +
                      std::to_string(site.operands.size() - 1));
  // Branches that all get the same tensors share them; else each reads its part of the list.
  const bool shared = std::all_of(site.operands.begin() + 2, site.operands.end(),
                                  [&](const Leaves& leaves) { return leaves == site.operands[1]; });
  std::vector<Value> values = {site.operands[0][0]};
  for (std::size_t i = 1; i < (shared ? 2 : site.operands.size()); ++i)
    values.insert(values.end(), site.operands[i].begin(), site.operands[i].end());
  const std::vector<Type> types = types_of(site, {values.begin() + 1, values.end()});
  std::vector<graph::ComputationId> bodies;
  std::vector<Type> results;
  std::size_t offset = 0;
  for (std::size_t i = 0; i < branches.size(); ++i) {
    const std::size_t count = site.operands[i + 1].size();
    FW_TRY(const graph::ComputationId body, site.importer.import_body(site, branches[i], types, offset, count));
    if (!shared) offset += count;
    bodies.push_back(body);
    const std::vector<Type> given = result_types(site, body);
    if (i == 0) results = given;
    if (given != results)
      return site.wrong("branch '" + std::string(branches[i]) + "' gives " + print_types(given) + ", the first " +
                        print_types(results));
  }
  if (const Known index = foresee(site.graph(), site.builder().computation(), {values.data(), 1}); index[0]) {
    const auto last = static_cast<std::int64_t>(branches.size()) - 1;
    std::int64_t taken = ops::get_int(*index[0], 0);
    if (index[0]->dtype == DType::kPred) taken = taken != 0 ? 0 : 1;
    const auto at = static_cast<std::size_t>(taken < 0 || taken > last ? last : taken);
    return site.importer.inline_call(site, branches[at], {site.operands[at + 1]});
  }
  return site.builder().add_typed(site.graph().table->require("conditional"), values, {}, results, bodies);
}

Result<Leaves> import_custom_call(Site& site) {
  FW_TRY(const std::string_view target, site.attributes.word("custom_call_target"));
  if (is_annotation(target)) return import_identity(site);
  if (target == "TopK") return import_top_k_call(site);
  if (const ElementwiseOpcode* row = elementwise_target(target)) {
    FW_TRY(const std::vector<Value> values, site.tensors(static_cast<std::size_t>(row->operands)));
    return site.leaf(site.add(row->op, values));
  }
  Leaves values;
  for (const Leaves& operand : site.operands) values.insert(values.end(), operand.begin(), operand.end());
  FW_TRY(const std::vector<Type> types, site.declared_leaves());
  return site.builder().add_typed(site.graph().table->require("custom_call"), values, {{"target", std::string(target)}},
                                  types);
}

}  // namespace fusewright::frontend_hlo
