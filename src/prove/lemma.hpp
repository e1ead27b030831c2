#pragma once

#include <map>
#include <mutex>
#include <utility>

#include "fusewright/prove/prove.hpp"
#include "src/prove/chain.hpp"

namespace fusewright::prove {

/// What came of some regions.
struct RegionLemma {
  std::uint64_t instances = 0, unknown = 0;
  bool whole = true;           ///< every way of the space was tried
  std::string unknown_reason;  ///< of the first that has no value
  std::optional<Counterexample> counterexample;

  /// Counts one more; @returns whether it agrees or has no value.
  bool count(const ops::OpTable& table, const Result<std::string>& difference, const Instance& term);
};

/// The lemmas that the regions of all fuse rules rest on, each found out once for all rules that have the operator. A
/// region computes each value from the maps of its operands alone, and the map of a chain is the composition of its
/// links' maps: so what holds of each operator by itself holds of every body that is made of them.
/// For several threads; what is found does not depend on who asks first.
class Lemmas {
 public:
  Lemmas(const rule::RuleSet& rules, const Budget& budget) : rules_(rules), budget_(budget) {}

  /// A region of this operator alone: of each rank every way to get a result in the widest space that has no more than
  /// the budget's.
  const RegionLemma& alone(ops::OpId op, SourceCache& cache);
  /// A region of two operators, the second the reader of the first: one way, drawn. None where they do not fit.
  const RegionLemma& joint(ops::OpId first, ops::OpId second, SourceCache& cache);

 private:
  RegionLemma prove_alone(ops::OpId op, SourceCache& cache) const;
  RegionLemma prove_joint(ops::OpId first, ops::OpId second, SourceCache& cache) const;

  const rule::RuleSet& rules_;
  Budget budget_;
  std::mutex lock_;
  struct Alone {
    std::once_flag once;
    RegionLemma lemma;
  };
  std::map<ops::OpId, Alone> alone_;
  std::map<std::pair<ops::OpId, ops::OpId>, RegionLemma> joints_;
};

}  // namespace fusewright::prove
