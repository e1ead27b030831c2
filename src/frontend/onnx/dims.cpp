#include <algorithm>
#include <set>

#include "fusewright/support/names.hpp"
#include "src/frontend/onnx/importer.hpp"

namespace fusewright::frontend_onnx {

namespace {

std::string dim_name(const std::string& input, std::size_t axis, const ::onnx::TensorShapeProto::Dimension& dim) {
  if (dim.has_dim_param() && !dim.dim_param().empty() && dim.dim_param() != "?") return dim.dim_param();
  return input + ".dim" + std::to_string(axis);
}

// Some exporters write -1 for an extent that they do not know.
bool is_stated(const ::onnx::TensorShapeProto::Dimension& dim) { return dim.has_dim_value() && dim.dim_value() != -1; }

}  // namespace

DimBinder::DimBinder(const ImportOptions& options) : options_(options) {
  for (const auto& [name, value] : options.dims) {
    if (value < 0) refuse("--dim " + name + "=" + std::to_string(value) + ": an extent cannot be negative");
  }
}

void DimBinder::bind_given(const std::string& input, std::size_t axis, const ::onnx::TensorShapeProto::Dimension& dim,
                           std::int64_t value) {
  if (value < 0) refuse("input '" + input + "' is given the negative extent " + std::to_string(value));
  const std::string place = "axis " + std::to_string(axis) + " of input '" + input + "'";
  if (is_stated(dim)) {
    if (dim.dim_value() == value) return;
    refuse(place + " is " + std::to_string(dim.dim_value()) + " in the file, but given as " + std::to_string(value));
  }
  const std::string name = dim_name(input, axis, dim);
  if (const auto option = options_.dims.find(name); option != options_.dims.end() && option->second != value) {
    refuse("dim '" + name + "' is " + std::to_string(option->second) + " by --dim, but " + std::to_string(value) +
           " by " + place);
  }
  const auto [it, fresh] = bound_.emplace(name, value);
  if (fresh) {
    bound_by_[name] = place;
  } else if (it->second != value) {
    refuse("dim '" + name + "' is given as " + std::to_string(it->second) + " by " + bound_by_[name] + " and as " +
           std::to_string(value) + " by " + place);
  }
}

std::int64_t DimBinder::extent(const std::string& input, std::size_t axis,
                               const ::onnx::TensorShapeProto::Dimension& dim) {
  if (is_stated(dim)) {
    if (dim.dim_value() < 0) {
      refuse("axis " + std::to_string(axis) + " of input '" + input + "' has the negative extent " +
             std::to_string(dim.dim_value()));
    }
    return dim.dim_value();
  }
  const std::string name = dim_name(input, axis, dim);
  if (const auto it = bound_.find(name); it != bound_.end()) return it->second;
  if (const auto it = options_.dims.find(name); it != options_.dims.end()) return it->second;
  if (const auto it = options_.dims.find("*"); it != options_.dims.end()) return it->second;
  refuse("dim '" + name + "' (axis " + std::to_string(axis) + " of input '" + input + "') is not bound: give --dim '" +
         name + "=N', --shape '" + input + "=...', or --dim '*=N' for all that are left");
}

Type DimBinder::bind(const InputOption& option) {
  const ::onnx::ValueInfoProto& input = *option.proto;
  const ::onnx::TypeProto& type = input.type();
  if (type.has_sequence_type()) unsupported("input '" + input.name() + "' is a sequence, which is not supported");
  if (type.has_optional_type()) unsupported("input '" + input.name() + "' is an optional, which is not supported");
  if (type.has_map_type()) unsupported("input '" + input.name() + "' is a map, which is not supported");
  if (type.has_sparse_tensor_type())
    unsupported("input '" + input.name() + "' is a sparse tensor, which is not supported");
  if (!type.has_tensor_type()) refuse("input '" + input.name() + "' has no type");
  const auto& tensor = type.tensor_type();
  DType dtype = DType::kF32;
  try {
    dtype = dtype_of(tensor.elem_type());
  } catch (Failure& failure) {
    throw Failure{with_context(std::move(failure.error), "input '" + input.name() + "'")};
  }

  const Ints* given = option.shape;
  if (option.given != nullptr) {
    if (given != nullptr && *given != option.given->dims) {
      refuse("--shape and the tensor given for input '" + input.name() + "' disagree");
    }
    given = &option.given->dims;
    if (option.given->dtype != dtype) {
      refuse("input '" + input.name() + "' is " + std::string(ops::name(dtype)) + " in the file, but a tensor of " +
             std::string(ops::name(option.given->dtype)) + " is given");
    }
  }
  const int rank = tensor.shape().dim_size();
  if (given == nullptr && !tensor.has_shape()) {
    refuse("the file does not say how many axes input '" + input.name() + "' has: give --shape '" + input.name() +
           "=...'");
  }
  if (given != nullptr && tensor.has_shape() && static_cast<int>(given->size()) != rank) {
    refuse("input '" + input.name() + "' has " + std::to_string(rank) + " axes in the file, but " +
           std::to_string(given->size()) + " are given");
  }
  ops::Shape result;
  if (!tensor.has_shape()) {
    result.assign(given->begin(), given->end());
  } else {
    for (int i = 0; i < rank; ++i) {
      const auto axis = static_cast<std::size_t>(i);
      if (given != nullptr) bind_given(input.name(), axis, tensor.shape().dim(i), (*given)[axis]);
      result.emplace_back(given != nullptr ? (*given)[axis] : extent(input.name(), axis, tensor.shape().dim(i)));
    }
  }
  if (auto count = ops::element_count(result); !count) {
    throw Failure{with_context(std::move(count).error(), "input '" + input.name() + "'")};
  }
  return Type::tensor(dtype, std::move(result));
}

void DimBinder::check_inputs(const std::vector<InputOption>& inputs) const {
  std::vector<std::string> names;
  std::set<std::string> known;
  for (const InputOption& input : inputs) {
    names.push_back(input.proto->name());
    known.insert(input.proto->name());
    if (!input.number.empty()) known.insert(input.number);
  }
  for (const auto& [name, shape] : options_.shapes)
    if (!known.contains(name)) refuse("--shape: " + unknown_name("input", name, names));
  for (const auto& [name, tensor] : options_.inputs)
    if (!known.contains(name)) refuse("--input: " + unknown_name("input", name, names));
}

void DimBinder::check_dims(const std::vector<InputOption>& inputs) const {
  std::vector<std::string> names;
  for (const InputOption& input : inputs) {
    if (input.initialized) continue;
    const auto& shape = input.proto->type().tensor_type().shape();
    for (int i = 0; i < shape.dim_size(); ++i)
      if (!is_stated(shape.dim(i)))
        names.push_back(dim_name(input.proto->name(), static_cast<std::size_t>(i), shape.dim(i)));
  }
  for (const auto& [name, value] : options_.dims)
    if (name != "*" && std::find(names.begin(), names.end(), name) == names.end())
      refuse("--dim: " + unknown_name("open dim", name, names));
}

}  // namespace fusewright::frontend_onnx
