#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "fusewright/prove/instance.hpp"

namespace fusewright::prove {

/// SplitMix64.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t below(std::uint64_t n) {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15ULL;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return (z ^ (z >> 31)) % n;
  }

 private:
  std::uint64_t state_;
};

/// How many operands an operator is tried with for a result of this type.
std::size_t operand_count(const ops::OpInfo& op, const ops::Type& result);

/// One operator of a chain.
struct Link {
  ops::OpId op;
  const rule::Segment* segment = nullptr;  ///< that it stands in, whose captures are to be known
};

/// A term that is a chain of operators, and the leaf or value that each capture of the rule named.
struct Chain {
  Instance term;
  std::map<std::string, std::uint32_t> captured;
};

/// Makes a chain from the result down, the last operator first: of each operator one operand goes on, the others are
/// inputs of the kernel, now and then the same value again. Types are of extents 1 and 2; which way there is to get
/// one is drawn. Nothing where some operator has no way to get what its reader wants.
std::optional<Chain> draw_chain(const ops::OpTable& table, const std::vector<Link>& links, const ops::Type& root,
                                Random& random, SourceCache& cache);

/// Results that chains are drawn for.
const std::vector<ops::Type>& chain_types();

/// The graph of `copies` such terms, which share the given nodes. All results of their roots leave the region, and
/// those of `side_output` in the first copy.
Result<graph::Graph> graph_of_copies(std::shared_ptr<const ops::OpTable> table, const Instance& term,
                                     std::uint32_t copies, const std::vector<std::uint32_t>& shared,
                                     std::optional<std::uint32_t> side_output);

}  // namespace fusewright::prove
