#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "fusewright/egraph/index.hpp"
#include "fusewright/match/program.hpp"
#include "fusewright/rule/needs.hpp"

namespace fusewright::saturate {

/// The patterns of rewrites of which an operator does not occur in the e-graph. They cannot match, so they are not even
/// compiled: each waits for one operator that it lacks, and is looked at again when that has come about. Matches are
/// not lost by it: whoever waited for an operator matches new nodes only.
class Waiting {
 public:
  /// @param rules    outlive this
  /// @param used     whether a rewrite is used at all
  /// @param program  empty; gets the patterns as they are compiled.
  Waiting(const rule::RuleSet& rules, std::function<bool(const rule::RewriteRule&)> used, match::Program& program);

  /// Compiles the patterns whose operators all occur by now. Errors: as of match::Compiler::add.
  Status wake(const egraph::Index& index);
  /// By operator: whether it has ever occurred.
  const std::vector<std::uint8_t>& occurs() const { return occurs_; }

 private:
  enum class State : std::uint8_t { kUnseen, kWaits, kDone };
  static constexpr std::uint32_t kNone = 0xffffffffU;

  Status look_at(std::uint32_t pattern);

  const std::vector<rule::RewriteRule>& rewrites_;
  const rule::Needs& needs_;
  std::function<bool(const rule::RewriteRule&)> used_;
  match::Compiler compiler_;
  std::vector<State> state_;          // by pattern
  std::vector<std::uint8_t> occurs_;  // by operator
  /// Who waits for an operator that it does not watch: a list through one array.
  struct Link {
    std::uint32_t pattern, next;
  };
  std::vector<Link> links_;
  std::vector<std::uint32_t> first_link_;  // by operator
};

}  // namespace fusewright::saturate
