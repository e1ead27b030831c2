#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "fusewright/egraph/index.hpp"
#include "fusewright/match/program.hpp"
#include "fusewright/saturate/trace.hpp"

namespace fusewright::saturate {

/// The patterns of rewrites of which an operator does not occur in the e-graph. They cannot match, so they are not even
/// compiled: each waits for one operator that it lacks, and is looked at again when that has come about. Matches are
/// not lost by it: whoever waited for an operator matches new nodes only.
class Waiting {
 public:
  /// @param program  empty; gets the patterns as they are compiled.
  Waiting(const ops::OpTable& table, const std::vector<rule::RewriteRule>& rewrites,
          std::span<const match::RuleId> selected, match::Program& program);

  /// Compiles the patterns whose operators all occur by now. Errors: as of match::Compiler::add.
  Status wake(const egraph::Index& index);
  /// Those that still wait, in order of rule, with the place of the operator in their pattern.
  std::vector<Asleep> asleep() const;

 private:
  static constexpr std::uint32_t kAwake = 0xffffffffU;

  std::uint32_t missing(const Asleep& pattern) const;

  const std::vector<rule::RewriteRule>& rewrites_;
  match::Compiler compiler_;
  std::vector<Asleep> patterns_;                         // node: kAwake once it is compiled
  std::vector<std::uint8_t> occurs_;                     // by operator
  std::vector<std::vector<std::uint32_t>> waiting_for_;  // by operator: indices into patterns_
  bool first_ = true;
};

}  // namespace fusewright::saturate
