#include "src/frontend/hlo/handlers.hpp"

namespace fusewright::frontend_hlo {

Result<Leaves> import_parameter(Site& site) {
  if (site.scope.computation == site.importer.module.entry) return site.importer.entry_parameter(site);
  return site.scope.arguments[static_cast<std::size_t>(site.instruction.parameter_number)];
}

Result<Leaves> import_constant(Site& site) {
  if (!site.instruction.has_shape) return site.wrong("its shape cannot be left out");
  if (site.instruction.shape.is_tuple) return site.unsupported("a constant tuple");
  FW_TRY(const Type type, site.importer.to_type(site.instruction.shape));
  FW_TRY(Leaves leaves, site.importer.constant(site, type));
  if (!site.scope.map_shape || !type.shape.empty()) return leaves;
  return site.leaf(site.builder().align_to(leaves[0], *site.scope.map_shape));
}

Result<Leaves> import_iota(Site& site) {
  FW_TRY_STATUS(site.tensors(0));
  FW_TRY(const Type type, site.declared());
  FW_TRY(const std::int64_t axis, site.attributes.integer("iota_dimension"));
  return site.leaf(site.add("iota", {}, {{"shape", type.shape}, {"dtype", type.dtype}, {"axis", axis}}));
}

Result<Leaves> import_tuple(Site& site) {
  Leaves all;
  for (const Leaves& operand : site.operands) all.insert(all.end(), operand.begin(), operand.end());
  return all;
}

Result<Leaves> import_get_tuple_element(Site& site) {
  if (site.operands.size() != 1) return site.wrong("get-tuple-element takes 1 operand");
  FW_TRY(const std::int64_t index, site.attributes.integer("index"));
  const Computation& computation = site.importer.computation(site.scope.computation);
  const auto self = static_cast<std::size_t>(&site.instruction - computation.instructions.data());
  const std::uint32_t operand = site.importer.names.computations[site.scope.computation].operands[self][0];
  const Instruction& tuple = computation.instructions[operand];
  const Leaves& leaves = site.operands[0];
  const bool has_tree = tuple.has_shape && tuple.shape.is_tuple;
  if (tuple.has_shape && !tuple.shape.is_tuple) return site.wrong("'" + std::string(tuple.name) + "' is not a tuple");
  const std::size_t size = has_tree ? tuple.shape.elements.size() : leaves.size();
  if (index < 0 || static_cast<std::size_t>(index) >= size)
    return site.wrong("there is no element " + std::to_string(index) + " in '" + std::string(tuple.name) +
                      "', which has " + std::to_string(size));
  const auto element = static_cast<std::size_t>(index);
  if (!has_tree) return Leaves{leaves[element]};
  std::size_t first = 0;
  for (std::size_t i = 0; i < element; ++i) first += leaf_count(tuple.shape.elements[i]);
  const auto begin = leaves.begin() + static_cast<std::ptrdiff_t>(first);
  return Leaves(begin, begin + static_cast<std::ptrdiff_t>(leaf_count(tuple.shape.elements[element])));
}

// Copies, barriers and the like say where or when a value is kept, not what it is. A second operand is a token.
Result<Leaves> import_identity(Site& site) {
  if (site.operands.empty()) return site.wrong("it has no operand");
  return site.operands[0];
}

Result<Leaves> import_copy_start(Site& site) {
  FW_TRY(const std::vector<Value> values, site.tensors(1));
  return Leaves{values[0], values[0], site.builder().constant(ops::scalar_tensor_int(DType::kU32, 0))};
}

Result<Leaves> import_copy_done(Site& site) {
  if (site.operands.size() != 1 || site.operands[0].size() != 3) return site.wrong("its operand is not a copy-start");
  return Leaves{site.operands[0][0]};
}

Result<Leaves> import_token(Site&) { return Leaves{}; }

Result<Leaves> import_dimension_size(Site& site) {
  FW_TRY(const std::vector<Value> values, site.tensors(1));
  FW_TRY(const std::vector<std::int64_t> axes, site.attributes.integers("dimensions"));
  const Type& type = site.type(values[0]);
  if (axes.size() != 1 || axes[0] < 0 || axes[0] >= type.rank()) return site.wrong("there is no such dimension");
  const std::int64_t extent = ops::static_dims(type.shape)[static_cast<std::size_t>(axes[0])];
  return Leaves{site.builder().constant(ops::scalar_tensor_int(DType::kS32, extent))};
}

}  // namespace fusewright::frontend_hlo
