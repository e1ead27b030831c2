#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "fusewright/ops/op_table.hpp"
#include "fusewright/ops/tensor.hpp"

namespace fusewright::egraph {

/// A value that every element of a tensor has. Floats are held exactly in `number`, integers and pred in `integer`.
struct Splat {
  ops::DType dtype = ops::DType::kF32;
  double number = 0;
  std::int64_t integer = 0;

  double as_double() const { return ops::is_float(dtype) ? number : static_cast<double>(integer); }
  friend bool operator==(const Splat& a, const Splat& b);  ///< bit for bit: 0 and -0 differ
};

/// What is known about a class: whether it can be computed when the model is loaded, and its one value if all elements
/// are equal. A small number: facts compare and copy as one word. The default one knows nothing.
struct Fact {
  std::uint32_t word = 0;

  bool constant() const { return (word & 1) != 0; }
  bool has_splat() const { return word > 1; }
  bool operator==(const Fact&) const = default;
};

/// The lattice of facts: `join` is what holds of a class of which both facts hold.
class Facts {
 public:
  explicit Facts(const ops::OpTable& table);

  static Fact constant() { return {1}; }
  Fact splat(const Splat& value);
  /// Precondition: fact.has_splat().
  const Splat& splat_of(Fact fact) const { return splats_[(fact.word >> 1) - 1]; }

  /// The fact of a node of a built-in or declared operator, from the facts of its operands.
  Fact of_node(ops::OpId op, const ops::Attrs& attrs, std::span<const Fact> operands);
  /// Nothing when both know a value and the values differ.
  std::optional<Fact> join(Fact a, Fact b) const;
  /// Whether equal operands can ever make this operator's result known (false for parameters, effects, ...).
  bool may_know(ops::OpId op) const { return op.index < kinds_.size() && kinds_[op.index] != Kind::kNothing; }

 private:
  enum class Kind : std::uint8_t {
    kNothing,   ///< parameters, effects, control flow, uninterpreted operators
    kConstant,  ///< `constant`
    kMoves,     ///< elements of operand 0 and nothing else: a splat stays one
    kPure,      ///< constant when all operands are
  };

  std::vector<Kind> kinds_;  // one for each operator
  std::vector<Splat> splats_;
  std::unordered_multimap<std::uint64_t, std::uint32_t> by_hash_;
};

}  // namespace fusewright::egraph
