#pragma once

#include <map>
#include <string>
#include <vector>

#include "src/rule/lint_passes.hpp"

namespace fusewright::rule {

/// Numbers of which only differences are known: `a - b <= most` for any of them. The empty name is zero.
class Differences {
 public:
  /// A bound; below it alone where `strict`.
  struct Bound {
    double most = 0;
    bool strict = false;
  };
  /// a - b <= most; false when no numbers fit it and all before. What does not fit is left out.
  bool add(const std::string& a, const std::string& b, Bound bound);
  /// What `a - b` can be.
  Interval between(const std::string& a, const std::string& b) const;
  /// What each number can be.
  std::map<std::string, Interval> ranges() const;

 private:
  /// Sums of bounds: a strict one is the least bit below its number.
  struct Sum {
    double most = 0;
    std::int64_t strict = 0;
    auto operator<=>(const Sum&) const = default;
    Sum operator+(const Bound& bound) const { return {most + bound.most, strict - (bound.strict ? 1 : 0)}; }
  };
  struct Edge {
    std::size_t to;
    Bound bound;
  };
  std::size_t number(const std::string& name);
  /// The most that each number can be above that one; what it can be below it at the most where `backwards`.
  std::vector<double> distances(std::size_t from, bool backwards) const;

  std::map<std::string, std::size_t> numbers_;
  std::vector<std::vector<Edge>> edges_;  ///< of b: a <= b + most
  std::vector<Sum> witness_;              ///< numbers that fit
};

}  // namespace fusewright::rule
