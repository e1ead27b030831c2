#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "fusewright/rule/rule.hpp"

namespace fusewright::rule {

/// The operators that the patterns of a set of rewrites cannot do without. Made once with the rules, for any number of
/// saturations: they look only at the patterns that watch an operator which occurs, however many others there are.
class Needs {
 public:
  Needs(const ops::OpTable& table, const std::vector<RewriteRule>& rewrites);

  struct Pattern {
    std::uint32_t rewrite = 0;  ///< index into RuleSet::rewrites
    std::uint32_t variant = 0;
    std::uint32_t first = 0, last = 0;  // of its needs
  };
  std::span<const Pattern> patterns() const { return patterns_; }  ///< in order of rewrite and variant
  /// Patterns that cannot match before this operator, or another one in its place, occurs; each pattern watches the
  /// node of it whose operators the fewest patterns know.
  std::span<const std::uint32_t> watching(ops::OpId op) const {
    return std::span(watching_).subspan(begin_[op.index], begin_[op.index + 1] - begin_[op.index]);
  }
  /// Operators of the first node of a pattern, from its root on, of which none occurs; empty where there is no such
  /// node.
  std::span<const ops::OpId> missing(const Pattern& pattern, std::span<const std::uint8_t> occurs) const;

 private:
  struct Need {
    std::uint32_t first = 0, last = 0;  // in ops_
  };
  std::span<const ops::OpId> ops(const Need& need) const {
    return std::span(ops_).subspan(need.first, need.last - need.first);
  }

  std::vector<Pattern> patterns_;
  std::vector<Need> needs_;
  std::vector<ops::OpId> ops_;
  std::vector<std::uint32_t> begin_, watching_;  // by operator: indices into patterns_
};

}  // namespace fusewright::rule
