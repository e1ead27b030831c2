#include "src/frontend/onnx/call.hpp"

#include <algorithm>
#include <set>
#include <unordered_map>

namespace fusewright::frontend_onnx {

using ::onnx::AttributeProto;

Value Call::in(std::size_t i) const {
  if (!has(i)) refuse("input " + std::to_string(i) + " is missing");
  return inputs[i];
}

Tensor Call::known(std::size_t i, std::string_view what) const {
  const Value value = in(i);
  if (auto tensor = e.known(value)) return *std::move(tensor);
  const std::string name = i < static_cast<std::size_t>(proto.input_size()) ? proto.input(static_cast<int>(i)) : "";
  unsupported("its " + std::string(what) + " '" + name +
              "' must be known when the model is loaded (give the input's value, or --freeze an initialiser)");
}

Ints Call::known_ints(std::size_t i, std::string_view what) const {
  const Tensor tensor = known(i, what);
  if (tensor.dims.size() > 1) refuse("its " + std::string(what) + " is not a vector");
  Ints values;
  for (std::int64_t k = 0; k < tensor.elements(); ++k) values.push_back(ops::get_int(tensor, k));
  return values;
}

std::int64_t Call::known_int(std::size_t i, std::string_view what) const {
  const Tensor tensor = known(i, what);
  if (tensor.elements() != 1) refuse("its " + std::string(what) + " is not one number");
  return ops::get_int(tensor, 0);
}

std::vector<double> Call::known_doubles(std::size_t i, std::string_view what) const {
  const Tensor tensor = known(i, what);
  std::vector<double> values;
  for (std::int64_t k = 0; k < tensor.elements(); ++k) values.push_back(ops::get_double(tensor, k));
  return values;
}

double Call::known_double(std::size_t i, std::string_view what) const {
  const std::vector<double> values = known_doubles(i, what);
  if (values.size() != 1) refuse("its " + std::string(what) + " is not one number");
  return values[0];
}

AttributeProto* Call::find(std::string_view name) const {
  for (AttributeProto& attribute : *proto.mutable_attribute()) {
    if (attribute.name() == name) return &attribute;
  }
  return nullptr;
}

AttributeProto* Call::find(std::string_view name, AttributeProto::AttributeType type) const {
  AttributeProto* attribute = find(name);
  // The oldest files leave the type out.
  if (attribute != nullptr && attribute->type() != type && attribute->type() != AttributeProto::UNDEFINED) {
    refuse("attribute '" + std::string(name) + "' has the kind " +
           AttributeProto::AttributeType_Name(attribute->type()) + " where " +
           AttributeProto::AttributeType_Name(type) + " is needed");
  }
  return attribute;
}

namespace {
[[noreturn]] void missing(std::string_view name) { refuse("attribute '" + std::string(name) + "' is missing"); }
}  // namespace

std::int64_t Call::int_attr(std::string_view name, std::int64_t fallback) const {
  const AttributeProto* attribute = find(name, AttributeProto::INT);
  return attribute != nullptr ? attribute->i() : fallback;
}
std::int64_t Call::int_attr(std::string_view name) const {
  if (!has_attr(name)) missing(name);
  return int_attr(name, 0);
}
double Call::float_attr(std::string_view name, double fallback) const {
  const AttributeProto* attribute = find(name, AttributeProto::FLOAT);
  return attribute != nullptr ? static_cast<double>(attribute->f()) : fallback;
}
std::string Call::string_attr(std::string_view name, std::string fallback) const {
  const AttributeProto* attribute = find(name, AttributeProto::STRING);
  return attribute != nullptr ? attribute->s() : std::move(fallback);
}
std::string Call::string_attr(std::string_view name) const {
  if (!has_attr(name)) missing(name);
  return string_attr(name, "");
}
std::optional<Ints> Call::ints_attr(std::string_view name) const {
  const AttributeProto* attribute = find(name, AttributeProto::INTS);
  if (attribute == nullptr) return std::nullopt;
  return Ints(attribute->ints().begin(), attribute->ints().end());
}
std::optional<std::vector<double>> Call::floats_attr(std::string_view name) const {
  const AttributeProto* attribute = find(name, AttributeProto::FLOATS);
  if (attribute == nullptr) return std::nullopt;
  return std::vector<double>(attribute->floats().begin(), attribute->floats().end());
}
::onnx::TensorProto* Call::tensor_attr(std::string_view name) const {
  AttributeProto* attribute = find(name, AttributeProto::TENSOR);
  if (attribute == nullptr) return nullptr;
  if (!attribute->has_t()) refuse("attribute '" + std::string(name) + "' holds no tensor");
  return attribute->mutable_t();
}
::onnx::GraphProto& Call::graph_attr(std::string_view name) const {
  AttributeProto* attribute = find(name, AttributeProto::GRAPH);
  if (attribute == nullptr || !attribute->has_g()) missing(name);
  return *attribute->mutable_g();
}

std::int64_t Call::axis(std::int64_t value, std::int64_t rank) const {
  if (value < -rank || value >= rank) {
    refuse("axis " + std::to_string(value) + " is out of range for rank " + std::to_string(rank));
  }
  return value < 0 ? value + rank : value;
}

Ints Call::axes(Ints values, std::int64_t rank) const {
  for (std::int64_t& value : values) value = axis(value, rank);
  std::sort(values.begin(), values.end());
  if (std::adjacent_find(values.begin(), values.end()) != values.end()) refuse("an axis is named twice");
  return values;
}

std::optional<Ints> Call::axes_attr_or_input(std::size_t i, std::int64_t since) const {
  if (opset < since || has_attr("axes")) return ints_attr("axes");
  if (!has(i)) return std::nullopt;
  return known_ints(i, "axes");
}

namespace {

using Rows = std::unordered_map<std::string_view, OperatorRow>;

Rows index_rows(std::initializer_list<std::vector<OperatorRow>> tables) {
  Rows all;
  for (const auto& table : tables) {
    for (const OperatorRow& row : table) FW_CHECK(all.emplace(row.name, row).second) << "two rows for " << row.name;
  }
  return all;
}

}  // namespace

const OperatorRow* find_operator(std::string_view domain, std::string_view op_type) {
  static const Rows standard = index_rows(
      {elementwise_operators(), movement_operators(), source_operators(), reduction_operators(), window_operators(),
       contraction_operators(), composite_operators(), indexing_operators(), resize_operators(),
       quantization_operators(), attention_operators(), control_operators(), recurrent_operators(), state_operators(),
       sampling_operators(), spectral_operators(), unpooling_operators()});
  static const Rows vendor =
      index_rows({vendor_operators(), vendor_attention_operators(), vendor_quantization_operators()});
  static const Rows none;
  const Rows& rows = domain.empty() ? standard : domain == "com.microsoft" ? vendor : none;
  const auto it = rows.find(op_type);
  return it != rows.end() ? &it->second : nullptr;
}

}  // namespace fusewright::frontend_onnx
