#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "fusewright/graph/graph.hpp"
#include "fusewright/prove/space.hpp"
#include "fusewright/rule/rule.hpp"

namespace fusewright::prove {

/// One value of a term that a rule's left side is meant to match.
struct InstanceNode {
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
  enum class Kind : std::uint8_t {
    kParameter,
    kWeight,  ///< a constant whose values are made up
    kNumber,  ///< a constant of one value
    kAlign,   ///< `operands[0]`, broadcast as in NumPy
    kApply,
  };
  Kind kind = Kind::kParameter;
  ops::Type type = {};
  std::string name = {};  ///< of the rule's variable, or empty
  double number = 0;      ///< kNumber
  ops::OpId op = {};      ///< kApply, and below
  ops::Attrs attrs = {};
  std::uint32_t result = 0;
  std::vector<std::uint32_t> operands = {};  ///< kNone for those left out
};

/// A closed term, operands before their users.
struct Instance {
  std::vector<InstanceNode> nodes;
  std::uint32_t root = 0;
  std::vector<std::uint32_t> others = {};  ///< further roots, of a pattern of several

  /// Elements and ranks of all its leaves, for ordering: the smallest counterexample is the one to show.
  std::int64_t size() const;
};

/// How the guards of a rule want a variable to be.
enum class Role : std::uint8_t { kData, kWeight, kSplat };
std::map<std::string, Role> roles_of(const rule::RewriteRule& rule);

/// What sources_of found before: patterns ask for the same again and again, and so do rules like one another.
class SourceCache {
 public:
  explicit SourceCache(const ops::OpTable& table) : table_(table) {}
  /// The reference stays valid. Not for symbolic extents, which are new each time.
  const Sources& sources(ops::OpId op, const ops::Type& wanted, std::uint32_t result, std::size_t operands,
                         const Space& space);
  /// Forgets all where it has become large; call it where no reference is held.
  void trim();

 private:
  static constexpr std::size_t kMostWays = 200'000;

  const ops::OpTable& table_;
  std::map<std::string, Sources> found_;
  UseCache uses_;
  std::size_t ways_ = 0;
};

/// Terms of one pattern.
struct Enumeration {
  const ops::OpTable& table;
  const rule::RewriteRule& rule;
  const rule::RewriteVariant& variant;
  const Space& space;
  SourceCache& cache;
  std::uint64_t work = ~std::uint64_t{0};  ///< the most ways to get a value that are tried; what is left of it
  bool all = true;                         ///< no list of ways was cut short
};

/// Calls `visit` with every term of the space that has the form of the pattern and a root of this type (further roots
/// have its rank and dtype), until it returns false or the work is done. Terms that a guard refuses by types and
/// attributes are not built; what is said of values, and whether equal names meet equal values, is left to the matcher.
/// @returns false when stopped.
using Visit = std::function<bool(const Instance&)>;
bool enumerate(Enumeration& terms, const ops::Type& root, const Visit& visit);

/// What stands for the weights of a term: made-up numbers; or values that are known to be constant and of which no more
/// is known, of any extents.
enum class Weights : std::uint8_t { kMadeUp, kUnknown };

/// The term as a graph: variables are parameters, or constants made from their number.
/// Errors: types that do not fit; unknown weights of types that cannot count (pred).
Result<graph::Graph> graph_of(std::shared_ptr<const ops::OpTable> table, const Instance& instance,
                              Weights weights = Weights::kMadeUp);

/// A graph made with unknown weights, or what a rule made of it, with parameters for them behind its own.
graph::Graph weights_as_parameters(const graph::Graph& graph, const Instance& instance);

/// The term in the rule language, as a `reject` block.
std::string print_reject(const ops::OpTable& table, const Instance& instance);

}  // namespace fusewright::prove
