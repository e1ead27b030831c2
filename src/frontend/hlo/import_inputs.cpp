#include <algorithm>
#include <cstdlib>
#include <set>

#include "fusewright/support/names.hpp"
#include "src/frontend/hlo/importer.hpp"
#include "src/frontend/hlo/literal.hpp"

namespace fusewright::frontend_hlo {

namespace {

// Zeros in place of values that the text leaves out. The class is the mark.
class ElidedStorage final : public ops::Storage {
 public:
  static std::shared_ptr<ElidedStorage> make(std::size_t bytes) {
    auto storage = std::make_shared<ElidedStorage>();
    storage->size_ = bytes;
    storage->block_ = static_cast<std::byte*>(std::calloc(bytes + 2 * kAlignment, 1));  // lazily zeroed: may be large
    return storage->block_ == nullptr ? nullptr : storage;
  }
  ElidedStorage() = default;
  ElidedStorage(const ElidedStorage&) = delete;
  ElidedStorage& operator=(const ElidedStorage&) = delete;
  ~ElidedStorage() override { std::free(block_); }
  std::byte* data() override {
    const auto address = reinterpret_cast<std::uintptr_t>(block_);
    return block_ + (kAlignment - address % kAlignment) % kAlignment;
  }
  std::size_t size() const override { return size_; }

 private:
  static constexpr std::size_t kAlignment = 64;
  std::byte* block_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace

Status Importer::check_options() const {
  std::vector<std::string> names;
  for (const std::uint32_t p : this->names.computations[module.entry].parameters) {
    const Instruction& parameter = computation(module.entry).instructions[p];
    const std::string name(parameter.name);
    if (!parameter.shape.is_tuple) names.push_back(name);
    for (std::size_t i = 0; parameter.shape.is_tuple && i < leaf_count(parameter.shape); ++i)
      names.push_back(name + "." + std::to_string(i));
  }
  std::set<std::string> known(names.begin(), names.end());
  for (std::size_t i = 0; i < names.size(); ++i) known.insert(std::to_string(i));
  for (const auto& [name, shape] : options_.shapes)
    if (!known.contains(name)) return fail("--shape: " + unknown_name("input", name, names));
  for (const auto& [name, tensor] : options_.inputs)
    if (!known.contains(name)) return fail("--input: " + unknown_name("input", name, names));
  for (const auto& [name, value] : options_.dims)
    if (name != "*")
      return fail("--dim " + name +
                  ": the dims of HLO text have no names; bind them with --shape, or all by --dim '*=N'");
  for (const std::string& glob : options_.freeze) {
    const auto matches = [&](const std::string& name) { return glob_matches(glob, name); };
    if (glob != "all" && std::none_of(names.begin(), names.end(), matches))
      return fail("--freeze: " + unknown_name("input", glob, names));
  }
  return {};
}

const ops::TensorHandle* Importer::given_input(const std::string& name, std::size_t position) const {
  const auto by_name = options_.inputs.find(name);
  if (by_name != options_.inputs.end()) return &by_name->second;
  const auto by_position = options_.inputs.find(std::to_string(position));
  return by_position == options_.inputs.end() ? nullptr : &by_position->second;
}

bool Importer::is_frozen(const std::string& name) const {
  for (const std::string& glob : options_.freeze)
    if (glob == "all" || glob_matches(glob, name)) return true;
  return false;
}

Result<Type> Importer::bound_type(const ShapeTree& shape, const std::string& name, std::size_t position) const {
  ShapeTree bound = shape;
  std::vector<std::int64_t> given;
  bool is_given = false;
  auto at = options_.shapes.find(name);
  if (at == options_.shapes.end()) at = options_.shapes.find(std::to_string(position));
  if (at != options_.shapes.end()) {
    given = at->second;
    is_given = true;
  } else if (const ops::TensorHandle* input = given_input(name, position)) {
    given = (*input)->dims;
    is_given = true;
  }
  if (is_given && given.size() != bound.dims.size())
    return fail("input '" + name + "' is given " + std::to_string(given.size()) + " dimensions, it has " +
                    std::to_string(bound.dims.size()),
                module.span(shape.text));
  const auto any = options_.dims.find("*");
  for (std::size_t i = 0; i < bound.dims.size(); ++i) {
    ShapeDim& dim = bound.dims[i];
    if (is_given &&
        (dim.unknown || dim.extent == given[i] || (dim.bounded && given[i] >= 0 && given[i] <= dim.extent))) {
      dim = {given[i], false, false};
    } else if (is_given) {
      return fail("input '" + name + "' is given " + std::to_string(given[i]) + " along axis " + std::to_string(i) +
                      ", it is " + std::string(shape.text),
                  module.span(shape.text));
    } else if (dim.unknown && any != options_.dims.end()) {
      dim = {any->second, false, false};
    } else if (dim.unknown) {
      return fail("axis " + std::to_string(i) + " of input '" + name + "' is not known: bind it with --shape " + name +
                      "=... or --dim '*=N'",
                  module.span(shape.text));
    }
  }
  return to_type(bound);
}

Result<Value> Importer::replaced(Site& site, const std::string& name, const Type& type) {
  if (!options_.replace_weight || !ops::is_float(type.dtype)) return Value();
  std::optional<ops::Tensor> tensor = options_.replace_weight(name, type);
  if (!tensor) return Value();
  if (tensor->type() != type)
    return fail(
        "the value made for '" + name + "' is " + ops::to_string(tensor->type()) + ", not " + ops::to_string(type),
        site.span());
  return site.builder().constant(*std::move(tensor));
}

Result<Value> Importer::frozen_value(Site& site, const std::string& name, std::size_t position, const Type& type) {
  FW_TRY(const Value random, replaced(site, name, type));
  if (random.valid()) return random;
  const ops::TensorHandle* given = given_input(name, position);
  if (given == nullptr)
    return fail("input '" + name + "' is frozen but has no value: give it with --input, or use --random-weights",
                site.span());
  if ((*given)->type() != type)
    return fail("input '" + name + "' is given " + ops::to_string((*given)->type()) + ", it is " + ops::to_string(type),
                site.span());
  return site.builder().constant(**given);
}

Result<Leaves> Importer::entry_parameter(Site& site) {
  if (!site.instruction.has_shape) return site.wrong("the shape of a parameter cannot be left out");
  std::vector<const ShapeTree*> arrays;
  append_arrays(site.instruction.shape, arrays);
  Leaves leaves;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    std::string name(site.instruction.name);
    if (site.instruction.shape.is_tuple) name += "." + std::to_string(i);
    const std::size_t position = parameter_leaves_++;
    FW_TRY(const Type type, bound_type(*arrays[i], name, position));
    const bool given = given_input(name, position) != nullptr;
    const bool all_others = std::find(options_.freeze.begin(), options_.freeze.end(), "all") != options_.freeze.end();
    bool frozen = is_frozen(name);
    if (frozen && given && all_others) {  // `all` is every one that is not given; a glob that names it still freezes it
      frozen = std::any_of(options_.freeze.begin(), options_.freeze.end(),
                           [&](const std::string& glob) { return glob != "all" && glob_matches(glob, name); });
    }
    if (!frozen) {
      leaves.push_back(site.builder().parameter(type, name));
      site.builder().graph().inputs.back().number = static_cast<std::int64_t>(position);
      continue;
    }
    FW_TRY(const Value value, frozen_value(site, name, position, type));
    leaves.push_back(value);
  }
  return leaves;
}

Result<Leaves> Importer::constant(Site& site, const Type& type) {
  FW_TRY(Literal literal, read_literal(module, site.instruction.literal, type.dtype, ops::static_dims(type.shape)));
  if (!literal.elided) return Leaves{site.builder().constant(std::move(literal.tensor))};
  FW_TRY(const Value random, replaced(site, std::string(site.instruction.name), type));
  if (random.valid()) return Leaves{random};
  literal.tensor.storage = ElidedStorage::make(static_cast<std::size_t>(ops::byte_size(type)));
  if (literal.tensor.storage == nullptr)
    return fail(ErrorKind::kResource, "no memory for a constant of type " + ops::to_string(type), site.span());
  return Leaves{site.builder().constant(std::move(literal.tensor))};
}

Status check_constants_known(const graph::Graph& graph) {
  for (const graph::Node& node : graph.nodes) {
    const ops::AttrValue* value = node.attrs.find("value");
    const auto* tensor = value == nullptr ? nullptr : std::get_if<ops::TensorHandle>(value);
    if (tensor == nullptr || *tensor == nullptr) continue;
    if (std::dynamic_pointer_cast<ElidedStorage>((*tensor)->storage) == nullptr) continue;
    const graph::SourceNode* source = node.sources.empty() ? nullptr : &graph.sources[node.sources[0].index];
    return fail("the values of constant '" + (source != nullptr ? source->name : node.name) +
                    "' are left out in the text ('{...}'); --random-weights makes up those of floating-point type",
                source != nullptr ? source->span : Span());
  }
  return {};
}

}  // namespace fusewright::frontend_hlo
