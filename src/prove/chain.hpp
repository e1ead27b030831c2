#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "fusewright/prove/instance.hpp"
#include "src/prove/random.hpp"

namespace fusewright::prove {

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
