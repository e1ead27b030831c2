#pragma once

// One node of the file on its way into the graph: its operands, its attributes, and the importer for nested graphs.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/frontend/onnx/emitter.hpp"

namespace fusewright::frontend_onnx {

class Importer;
struct NarrowType;
struct Scope;

class Call {
 public:
  Call(Importer& importer, Scope& scope, Emitter& emitter, ::onnx::NodeProto& proto, std::int64_t opset)
      : e(emitter), importer(importer), scope(scope), proto(proto), opset(opset) {}

  Emitter& e;
  Importer& importer;
  Scope& scope;
  ::onnx::NodeProto& proto;
  std::int64_t opset;         ///< version of the node's domain
  std::vector<Value> inputs;  ///< those left out are invalid
  std::string_view target;    ///< what the operator table maps this operator to

  // --- operands
  bool has(std::size_t i) const { return i < inputs.size() && inputs[i].valid(); }
  Value in(std::size_t i) const;  ///< must be there
  Value in_or(std::size_t i, Value fallback) const { return has(i) ? inputs[i] : fallback; }
  std::size_t input_count() const { return inputs.size(); }
  bool wants(int output) const { return output < proto.output_size() && !proto.output(output).empty(); }
  /// Elements that must be known at load; `what` is their name in messages.
  Tensor known(std::size_t i, std::string_view what) const;
  Ints known_ints(std::size_t i, std::string_view what) const;
  std::int64_t known_int(std::size_t i, std::string_view what) const;
  std::vector<double> known_doubles(std::size_t i, std::string_view what) const;
  double known_double(std::size_t i, std::string_view what) const;

  // --- attributes; the wrong kind is refused
  bool has_attr(std::string_view name) const { return find(name) != nullptr; }
  std::int64_t int_attr(std::string_view name, std::int64_t fallback) const;
  std::int64_t int_attr(std::string_view name) const;
  double float_attr(std::string_view name, double fallback) const;
  std::string string_attr(std::string_view name, std::string fallback) const;
  std::string string_attr(std::string_view name) const;
  std::optional<Ints> ints_attr(std::string_view name) const;
  std::optional<std::vector<double>> floats_attr(std::string_view name) const;
  ::onnx::TensorProto* tensor_attr(std::string_view name) const;
  ::onnx::GraphProto& graph_attr(std::string_view name) const;

  // --- what many operators do
  /// Axis in [0, rank), from one that may count from the end.
  std::int64_t axis(std::int64_t value, std::int64_t rank) const;
  Ints axes(Ints values, std::int64_t rank) const;  ///< sorted, without repeats
  /// `axes` of an attribute, or from `since` on of operand `i`.
  std::optional<Ints> axes_attr_or_input(std::size_t i, std::int64_t since) const;

 private:
  ::onnx::AttributeProto* find(std::string_view name) const;
  ::onnx::AttributeProto* find(std::string_view name, ::onnx::AttributeProto::AttributeType type) const;
};

/// NumPy's matmul: vectors, matrices, batches that broadcast; the result rounded to `dtype`.
Value emit_matmul(Emitter& e, Value a, Value b, DType dtype);
/// Convolution with the attributes of `c`; x is [N, C, spatial...], w is [M, C / group, spatial...].
Value emit_conv(Call& c, Value x, Value w, DType dtype);
Value emit_biased_conv(Call& c);  ///< Conv as it stands in the file
Value emit_rotary(Call& c);       ///< com.microsoft's RotaryEmbedding
Value emit_gemm(Call& c);         ///< Gemm as it stands in the file
/// Whole numbers with their zero points, which may be invalid: none.
struct IntegerOperands {
  Value a, zero_a, b, zero_b;
};
Value emit_matmul_integer(Call& c, const IntegerOperands& of);  ///< s32
/// Operand 0 in u8 by its own range, the scale, the zero point.
std::vector<Value> emit_dynamic_quantize(Call& c);
Value emit_quantize(Call& c);
/// `x`, a float, with its values rounded to those of `type`, in its carrier.
/// @param saturate values beyond the greatest become the greatest; else infinity, or NaN where there is none
Value emit_narrow(Call& c, Value x, const NarrowType& type, bool saturate);
Value emit_dequantize(Call& c);

using Handler = std::vector<Value> (*)(Call&);
/// Target of the operators whose result is of the element type that they state, not of their operand's.
constexpr std::string_view kMakesOwnType = "own type";
struct OperatorRow {
  std::string_view name;
  Handler handler;
  std::string_view target = {};
};

// The tables of operators, by kind; all but those for `vendor` (com.microsoft) are of the standard domain.
std::vector<OperatorRow> elementwise_operators();
std::vector<OperatorRow> movement_operators();
std::vector<OperatorRow> source_operators();
std::vector<OperatorRow> reduction_operators();
std::vector<OperatorRow> window_operators();
std::vector<OperatorRow> contraction_operators();
std::vector<OperatorRow> composite_operators();
std::vector<OperatorRow> indexing_operators();
std::vector<OperatorRow> resize_operators();
std::vector<OperatorRow> quantization_operators();
std::vector<OperatorRow> attention_operators();
std::vector<OperatorRow> control_operators();
std::vector<OperatorRow> recurrent_operators();
std::vector<OperatorRow> state_operators();
std::vector<OperatorRow> sampling_operators();
std::vector<OperatorRow> spectral_operators();
std::vector<OperatorRow> unpooling_operators();
std::vector<OperatorRow> vendor_operators();
std::vector<OperatorRow> vendor_attention_operators();
std::vector<OperatorRow> vendor_quantization_operators();
/// The row of an operator, or null. `domain` is empty for the standard one.
const OperatorRow* find_operator(std::string_view domain, std::string_view op_type);

}  // namespace fusewright::frontend_onnx
