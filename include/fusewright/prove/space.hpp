#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "fusewright/ops/op_table.hpp"

namespace fusewright::prove {

/// A bounded set of tensor types that instances of a rule are drawn from.
struct Space {
  std::int64_t max_rank = 4;                      ///< of any tensor in an instance
  std::vector<std::int64_t> extents = {1, 2, 3};  ///< of an axis
  bool repeats = true;                            ///< operands of elementwise operators may be repeated as in NumPy
  bool repeats_twice = false;                     ///< two of them at a time, in terms of rank 2 and more too
  bool narrow = false;  ///< windows, cuts and pads along one axis at a time, and the plainer rows of their tables
  /// Operands of casts and comparisons are of some_dtypes() only, further ones of composite operators all of one type.
  bool plain = false;
  std::vector<ops::DType> named;  ///< by the rule: of operands too that otherwise are of few dtypes
  std::vector<double> constants;  ///< of the rule: attributes that are numbers are these, too
  /// By name of a constant that the rule reads: numbers beside those of the table.
  std::map<std::string, std::vector<double>> numbers_of;
  /// Of the table of numbers for constants that the rule reads, so many for each constant: the first that guards let
  /// pass beside those of the constants before it. One constant at a time may be any other.
  std::size_t numbers = std::numeric_limits<std::size_t>::max();
  /// Where set, extents are symbols instead: for each new axis a fresh one, numbered by this counter, or the one that
  /// all may share, or one.
  std::uint32_t* symbols = nullptr;
};

/// One way to get a value of a wanted type from an operator: complete attributes and the operands' types.
struct Source {
  ops::Attrs attrs;
  std::vector<ops::Type> operands;
};

/// Ways to get a value, and whether they are all that the space has.
struct Sources {
  std::vector<Source> ways;
  bool all = true;
};

/// Uses of an operator with the types of their results.
struct Uses {
  std::vector<Source> ways;
  std::vector<std::vector<ops::Type>> results;  ///< one for each
  bool all = true;
};
/// Those of composite operators that were found before, by operator and first operand: many wanted types ask for them.
using UseCache = std::map<std::string, Uses>;

/// The ways in the space to get a value; every one infers to the wanted type.
/// @param result   which result of the operator the wanted type is of.
/// @param operands how many; more than the row's own where its last operand is variadic.
/// Empty for control flow and effects, which have no instances.
Sources sources_of(const ops::OpTable& table, ops::OpId op, const ops::Type& wanted, std::uint32_t result,
                   std::size_t operands, const Space& space, UseCache* known = nullptr);

/// The same from the other end: all attributes and further operand types that go with a first operand of this type.
/// @param present  by operand: whether an optional one is given.
Sources uses_of(const ops::OpTable& table, ops::OpId op, const ops::Type& first, const std::vector<bool>& present,
                const Space& space);

/// Shapes of one rank over the space's extents, in lexical order.
std::vector<ops::Shape> shapes_of_rank(std::int64_t rank, const Space& space);

/// Every dtype that the reference evaluator computes on; the complex ones have no values there.
const std::vector<ops::DType>& all_dtypes();

/// Of each kind one, and narrow ones: f32, s32, pred, f16, s8, u8.
const std::vector<ops::DType>& some_dtypes();

}  // namespace fusewright::prove
