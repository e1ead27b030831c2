#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "fusewright/frontend/hlo/ast.hpp"
#include "fusewright/ops/dtype.hpp"
#include "src/frontend/hlo/resolve.hpp"

namespace fusewright::frontend_hlo {

/// What small computations over scalars mean: reducers, comparators, scatter's combiners.
class Combiner {
 public:
  Combiner(const Module& module, const Resolution& names, std::uint32_t computation)
      : module_(module), body_(module.computations[computation]), names_(names.computations[computation]) {}

  struct Step {
    std::string_view opcode;                 ///< elementwise, of ak and bk
    std::optional<ops::DType> rounded = {};  ///< every result is rounded to this float and widened again
  };
  /// For a computation of 2n scalars (a0, .., b0, ..): how result k is made of ak and bk, for each of the n results.
  /// Nothing when one of them is made in another way.
  std::optional<std::vector<Step>> steps(std::size_t results) const;

  /// The operator ("ge") of a computation that compares its two parameters, in their order.
  std::optional<std::string_view> comparison() const;

  /// The computation's result is its second parameter: what a scatter that overwrites has.
  bool is_second_parameter() const;

  struct SortOrder {
    std::size_t operand = 0;  ///< which of the sorted tensors decides
    bool descending = false;
  };
  /// A comparator of one pair of its parameters that is plain less or greater, NaN in any place or at the large end.
  std::optional<SortOrder> sort_order(ops::DType dtype_of_key) const;

  struct ArgReduction {
    bool is_max = true;
    bool last = false;  ///< which of equal elements wins
  };
  /// A reducer of pairs (value, index) that keeps the largest or smallest value, NaN before all, and its index.
  std::optional<ArgReduction> arg_reduction(ops::DType value_dtype) const;

 private:
  bool is_parameter(std::uint32_t instruction, std::size_t number) const;
  std::optional<ops::DType> dtype_of(std::uint32_t instruction) const;
  std::optional<std::vector<double>> evaluate(const std::vector<double>& parameters) const;
  bool orders(std::size_t operand, bool descending, const std::vector<double>& samples) const;
  bool reduces(ArgReduction kind, const std::vector<double>& samples) const;

  const Module& module_;
  const Computation& body_;
  const ResolvedComputation& names_;
};

}  // namespace fusewright::frontend_hlo
