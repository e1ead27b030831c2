#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "fusewright/ops/attrs.hpp"
#include "fusewright/ops/scalar.hpp"
#include "fusewright/ops/type.hpp"
#include "fusewright/support/ids.hpp"
#include "fusewright/support/result.hpp"

namespace fusewright::ops {

struct OpBody;  // expr.hpp

using OpId = Id<struct OpTag>;

struct OperandSpec {
  std::string name;
  bool optional = false;  ///< may be left out (Type::kNone)
  bool variadic = false;  ///< the last one: any number from zero
};

struct AttrSpec {
  std::string name;
  AttrKind kind = AttrKind::kInt;
  std::optional<AttrValue> fallback;  ///< without one the attribute is required, unless `optional`
  bool optional = false;
  /// Numbers of axes of that operand: negative ones count from its end and are normalised, others must be in range.
  std::optional<std::size_t> axis_of = std::nullopt;
};

/// What an operator does to its index space. Rules name these classes (`elementwise`, `movement`, ...).
enum class OpClass : std::uint8_t {
  kElementwise,   ///< one result element from one element of each operand
  kMovement,      ///< every result element is an operand element or a fill: broadcast, reshape, transpose, slice, pad,
                  ///< concat, ...
  kReduction,     ///< reduce_sum, reduce_max, arg_max, ...
  kContraction,   ///< dot
  kConvolution,   ///< conv
  kWindow,        ///< reduce_window
  kSort,          ///< sort, top_k
  kScan,          ///< cumulative operations
  kIndexing,      ///< gather, scatter, dynamic slices: addresses come from data
  kSource,        ///< parameter, constant, iota
  kControl,       ///< while, conditional, loop, call
  kEffect,        ///< random state, send, receive, custom calls: unique identity, never merged
  kComposite,     ///< has a body of more primitive operators
  kUninterpreted  ///< declared `op` without a body
};
std::string_view name(OpClass op_class);

struct OpInfo;
/// Types of the results, from the operands' types (kNone for those left out) and attributes already completed.
using InferFn = Result<std::vector<Type>> (*)(const OpInfo& op, std::span<const Type> operands, const Attrs& attrs);
/// Fills the defaults that depend on the operands (strides of a convolution, dtype of a dot).
using CompleteFn = Status (*)(Attrs& attrs, std::span<const Type> operands);

struct OpInfo {
  std::string name;
  OpClass op_class = OpClass::kElementwise;
  std::vector<OperandSpec> operands;
  std::vector<AttrSpec> attrs;
  std::vector<std::string> results = {"out"};
  std::optional<ScalarOp> scalar;  ///< elementwise operators, but for reduce_precision
  bool commutative = false;        ///< in the first two operands
  bool associative_exact =
      false;  ///< bit-exactly associative for integers and pred (add, mul, and, or, xor) or for all (min, max)
  InferFn infer = nullptr;  ///< null for control flow and effects, whose types the frontend states, and for composites
  CompleteFn complete = nullptr;
  std::shared_ptr<const OpBody> body;  ///< composites
  std::string documentation;
  Span span;  ///< of the declaration in a rule file
};

/// All operators that are known: the built-in rows and those that rule files declared. A plain value.
class OpTable {
 public:
  /// Only the built-in operators.
  static OpTable builtin();

  std::size_t size() const { return ops_.size(); }
  const OpInfo& operator[](OpId id) const { return ops_[id.index]; }
  OpId find(std::string_view name) const;     ///< invalid when there is none
  OpId require(std::string_view name) const;  ///< a built-in that must exist (checked)
  std::vector<std::string> names() const;     ///< in order of id

  /// Adds a row; an error when the name is taken (the other place is a note).
  Result<OpId> add(OpInfo info);

  /// Checks operand count and attribute names and kinds, fills defaults, normalises negative axes where the row says
  /// so. An int is taken where a float is wanted, an int list where a shape is.
  Result<Attrs> complete_attrs(OpId op, const Attrs& attrs, std::span<const Type> operands) const;
  /// Types of the results of a built-in or composite operator (a composite's body is elaborated on types), attributes
  /// completed. Errors: what the operator refuses, named with its shapes; operators whose types the frontend must
  /// state.
  Result<std::vector<Type>> infer(OpId op, std::span<const Type> operands, const Attrs& attrs) const;

 private:
  std::vector<OpInfo> ops_;
  std::unordered_map<std::string, OpId> by_name_;
};

}  // namespace fusewright::ops
