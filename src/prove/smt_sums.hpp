#pragma once

#include <z3++.h>

#include <map>
#include <vector>

namespace fusewright::prove {

/// Finite sums over the reals as terms of a solver that knows no sums. A sum is an unknown function of its extents and
/// of its body at indices that stand for all, so equal bodies make equal sums; beyond that these lemmas bring it to one
/// form:
///
///  1. sum(a + b) = sum(a) + sum(b), products multiplied out
///  2. sum(c * a) = c * sum(a), where c does not depend on the indices
///  3. sum over i of a = n * a, where a does not depend on i and n is the extent of i
///  4. a sum of sums is one sum over both indices, in any order
///  5. indices may be renamed
///
/// tests/prove/sums_test.cpp holds each against numbers.
class Sums {
 public:
  struct Index {
    z3::expr variable, extent;  ///< integers: 0 <= variable < extent
  };

  explicit Sums(z3::context& context) : c_(context) {}
  z3::expr sum(const std::vector<Index>& over, const z3::expr& body);
  /// Bounds of the variables that the made terms are written in.
  const std::vector<z3::expr>& assumptions() const { return assumptions_; }

 private:
  using Product = std::vector<z3::expr>;
  /// A sum that was made: what its term stands for.
  struct Made {
    std::vector<Index> over;
    Product inside;
    unsigned level = 0;  ///< above all sums inside, so that no index is captured
  };

  using Known = std::map<unsigned, std::vector<Product>>;  // by the term's id
  std::vector<Product> products(const z3::expr& e, Known& known) const;
  std::vector<Product> products_of(const z3::expr& e, Known& known) const;
  z3::expr of_product(std::vector<Index> over, Product factors);
  z3::expr canonical(const std::vector<Index>& over, const Product& inside);
  unsigned level_of(const z3::expr& e) const;
  z3::expr fresh(unsigned level, std::size_t i, const z3::expr& extent);
  z3::expr multiplied(const Product& factors) const;

  z3::context& c_;
  std::vector<z3::expr> assumptions_;
  std::map<unsigned, Made> made_;  // by the term's id
  std::vector<z3::expr> keep_;     // so that ids stay theirs
  std::map<std::string, bool> bounded_;
};

/// Whether `what` stands somewhere in `e`.
bool contains(const z3::expr& e, const z3::expr& what);

}  // namespace fusewright::prove
