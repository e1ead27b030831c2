#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "fusewright/egraph/egraph.hpp"
#include "fusewright/egraph/index.hpp"
#include "fusewright/match/program.hpp"
#include "fusewright/support/large_vector.hpp"

namespace fusewright::egraph {

/// What a matcher instruction let through.
struct InstrCount {
  std::uint64_t tried = 0;
  std::uint64_t passed = 0;
};

/// Matches found in one round: for each pattern its records, PatternInfo::words words each.
struct MatchSet {
  std::vector<LargeVector<MatchWord>> records;  ///< by pattern
  std::vector<std::uint64_t> counts;            ///< by pattern
  std::vector<bool> cut;                        ///< by rule: the limit was reached, the rest is not in here
  bool stopped = false;                         ///< `poll` said stop

  std::span<const MatchWord> record(PatternId pattern, std::uint32_t words, std::uint64_t i) const {
    return std::span(records[pattern.index]).subspan(i * words, words);
  }
};

struct MatchOptions {
  std::uint32_t since = 0;  ///< only matches that look at a node changed in this round or later
  std::uint64_t matches_per_rule = ~std::uint64_t{0};
  std::function<bool(std::size_t bytes)>
      poll;  ///< asked now and then, with the bytes of all records; true ends the search
};

/// Runs a matcher program over a picture of an e-graph. The program may grow between runs.
class Matcher {
 public:
  /// @param rules  number of rules that RuleIds count.
  Matcher(const EGraph& egraph, const match::Program& program, std::size_t rules);
  ~Matcher();
  Matcher(const Matcher&) = delete;
  Matcher& operator=(const Matcher&) = delete;

  /// All matches, in a fixed order. Precondition: the index is a picture of the e-graph as it is now.
  MatchSet run(const Index& index, const MatchOptions& options);
  /// Leaves the patterns of a rule out of later runs.
  void disable(match::RuleId rule) { disabled_[rule.index] = true; }
  /// By trie node, over all runs.
  std::span<const InstrCount> counts() const { return counts_; }
  /// By trie node, over all runs: seconds that the search below a root took; of patterns of several roots also, at the
  /// last node of their code, what joining them took.
  std::span<const double> seconds() const { return seconds_; }

 private:
  struct Run;

  void grow();

  const EGraph& egraph_;
  const match::Program& program_;
  std::size_t rules_;
  std::vector<bool> disabled_;        // by rule
  std::vector<std::uint64_t> found_;  // by rule: matches in this run
  std::vector<InstrCount> counts_;
  std::vector<double> seconds_;
  std::vector<std::vector<std::uint8_t>> op_in_set_;     // by op set, operator
  std::vector<std::vector<std::uint8_t>> attr_results_;  // by attribute test, AttrsId: 0 unknown, 1 no, 2 yes
};

/// A match record read back as terms.
struct Decoded {
  EClassId root;                    ///< the value that was matched; of several roots, the first
  std::vector<EClassId> registers;  ///< class registers of the program; `none()` where an operand was left out
  std::vector<ENodeId> nodes;       ///< matched nodes
  bool peeled = false;              ///< some operand stands for its broadcast
  std::vector<Note> relied;         ///< what the match took as equal or known, where asked for
};
void decode(const EGraph& egraph, const match::Program& program, PatternId pattern, std::span<const MatchWord> record,
            bool with_relied, Decoded& out);
/// Whether the term is one of the values that were matched.
bool is_root(const match::PatternInfo& pattern, const Decoded& match, EClassId term);

/// Whether the constant's value is the number of the pattern, to the rounding of its dtype (see rule::LiteralPattern).
bool fits_literal(const rule::LiteralPattern& literal, const Splat& value);

}  // namespace fusewright::egraph
