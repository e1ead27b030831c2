#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "fusewright/interpret/evaluate.hpp"

namespace fusewright::interpret {

/// What a right kernel may answer: the oracle's value, and how far from it each element may lie.
struct Bounded {
  ops::Tensor value;           ///< as `evaluate` gives it
  std::vector<double> radius;  ///< absolute, one for each element; empty: exact everywhere; infinite: anything is right

  double radius_at(std::int64_t index) const { return radius.empty() ? 0.0 : radius[static_cast<std::size_t>(index)]; }
};

/// What kernels are allowed to do beyond rounding every node once; as the rules of a group say.
struct BoundOptions {
  EvaluateOptions evaluate;
  bool reassociating =
      true;  ///< single operations rearranged, weights folded; one node's sum may always take any order
  bool excess_precision = false;  ///< roundings between nodes may be dropped, multiply-adds contracted
  double approximate = 0;         ///< relative error that an approximating rule adds to the results
};

/// Evaluates a graph (a fused group, say) on actual inputs together with a running error bound for each element.
///
/// The model is (center, radius) arithmetic. Each operator passes on its operands' radii through the function itself
/// (endpoints where it is monotone, else its derivative's bound) and adds what a kernel's own computation may be off
/// by: kMathUlp for transcendental functions, nothing for operations that round correctly. Then the interval is rounded
/// to the dtype at both ends, because a kernel rounds every node too. A sum of n terms in any order adds min((n - 1) u
/// sum|x|, max(lambda sqrt(n) u m, 4 d)), with u the unit roundoff of the accumulator, m a bound on the partial sums
/// and d the error that a plain sequential sum in the accumulator makes on this very data: the first is the worst case,
/// the second holds with probability 1 - 2 exp(-lambda^2 / 2) for rounding errors of mean zero, and d covers data whose
/// errors are not. Where an operator jumps (floor, sign, comparisons, arg_max, conversion to integer, sort) either side
/// of the jump is right if the bound reaches it: radii of that size, and a selection by an uncertain predicate covers
/// both sides.
///
/// @param input_radius one for each input, empty for exact ones; may be left out altogether.
/// Errors: as evaluate; control flow whose condition the bound leaves open (kUnsupported).
/// Source: Higham, Accuracy and Stability of Numerical Algorithms, 3.3 and 4.2; Higham and Mary, A New Approach to
/// Probabilistic Rounding Error Analysis, SIAM J. Sci. Comput. 41, 2019.
Result<std::vector<Bounded>> evaluate_with_bounds(const graph::Graph& graph, std::span<const ops::Tensor> inputs,
                                                  const BoundOptions& options = {},
                                                  std::span<const std::vector<double>> input_radius = {});

/// One way in which rounding may turn out over a whole graph.
struct Perturbed {
  std::vector<ops::Tensor> values;  ///< of the results
  bool jumps =
      false;  ///< an operator that jumps (floor, comparison, arg_max, sort, ...) saw a value that rounding moved
};
/// Evaluates a graph with errors drawn at random: each node's result is moved by up to what `evaluate_with_bounds`
/// would give as its own error, on operands that were moved before it. So errors travel as they do in a run, cancel and
/// grow as the model makes them, where a running bound over many layers adds up what never comes together. Errors: as
/// evaluate. Source: Parker, Monte Carlo Arithmetic, UCLA CSD-970002, 1997.
Result<Perturbed> evaluate_perturbed(const graph::Graph& graph, std::span<const ops::Tensor> inputs, std::uint64_t seed,
                                     const BoundOptions& options = {});

/// Error of the kernels' transcendental functions, in units in the last place of f32 or f64.
inline constexpr double kMathUlp = 4;

/// The worst element of a comparison: the one with the largest error relative to what it may be.
struct CompareReport {
  bool ok = false;
  double max_error = 0;     ///< |actual - expected| at the worst element; infinite where only one of them is NaN
  double bound = 0;         ///< what it may be there
  double ratio = 0;         ///< max_error / bound; above 1 is wrong
  std::int64_t index = -1;  ///< linear; -1 when there are no elements or shapes differ
  std::int64_t wrong = 0;   ///< number of elements outside their bound
  double actual = 0;
  double expected = 0;
  std::string message;  ///< empty when ok: "element [3,17] is 1.5, expected 1.25 (error 0.25, bound 1e-6)"
};

/// NaN equals NaN; an overflow within the bound may be infinite or not. A different dtype or shape is not ok.
CompareReport compare(const ops::Tensor& actual, const Bounded& expected);
/// |actual - expected| <= atol + rtol * |expected|, element by element; integers and pred too.
CompareReport compare_tolerance(const ops::Tensor& actual, const ops::Tensor& expected, double rtol, double atol);

}  // namespace fusewright::interpret
