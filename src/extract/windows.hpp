#pragma once

#include <boost/container/flat_set.hpp>
#include <boost/container/small_vector.hpp>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "landmarks.hpp"
#include "ranks.hpp"
#include "window.hpp"

namespace fusewright::extract {

/// Improves a partition by solving small neighbourhoods of it to the optimum: a kernel alone, with each neighbour (what
/// reads it, reads the same, or stands behind it in the model), with all its readers, with all its writers. In a window
/// the values that may be stored are those with several readers, those at which the kind of work changes, and those
/// stored so far; for at most kChoices of them every way of storing some and computing the others where they are read
/// is searched, with kernels of one or several outputs, recomputation, side outputs and siblings in one kernel alike.
/// What lies outside stays as it is; no cycle through it can arise, because what depends on a value of the window can
/// be read only after that value is stored.
class WindowSearch {
 public:
  static constexpr std::size_t kFewNodes = 14, kChoices = 12;  ///< values that may be stored in a window of few nodes
  static constexpr std::size_t kFewChoices = 6;                ///< in a larger one
  static constexpr std::size_t kUnits = 64;
  static constexpr std::size_t kNodes = 256;

  WindowSearch(const Graph& graph, const Uses& uses, const NodeFacts& facts, const Landmarks& landmarks,
               const cost::Device& device, Evaluator& evaluator, std::vector<Kernel>& kernels,
               std::vector<Declined>& declined, double worthwhile);

  /// Solves windows until none gets better. @returns the reason where it stopped before, or nothing.
  std::string run(const FusionOptions& options);

 private:
  std::vector<std::vector<std::uint32_t>> windows_around(std::uint32_t kernel) const;
  std::uint64_t form(const std::vector<std::uint32_t>& window) const;
  bool improve(std::vector<std::uint32_t> ids);
  bool build(const std::vector<std::uint32_t>& ids, Window& w);
  bool is_number(NodeId node) const { return facts_.is_number(node, uses_); }
  void add_constants(Window& w) const;
  using Operands =
      std::vector<boost::container::small_vector<std::uint32_t, 4>>;  // by node of a window: those inside, distinct
  std::vector<std::uint32_t> choose(const Window& w, const Operands& operands) const;
  void make_units(Window& w, const Operands& operands, const std::vector<std::uint32_t>& choices);
  bool is_free(NodeId node) const;  ///< computed again for nothing
  Landmarks::Set depend_on(NodeId node, const std::set<std::uint32_t>& inside) const;
  void find_dependences(const std::vector<std::uint32_t>& ids, Window& w);
  bool solve(const std::vector<std::uint32_t>& ids, const Window& w);
  bool accept(const std::vector<std::uint32_t>& ids, const Window& w, std::vector<Kernel> better, double before,
              double after);
  double seconds(const Kernel& kernel) const;
  double arithmetic(NodeId node);
  void enter(std::uint32_t kernel);
  void leave(std::uint32_t kernel);
  std::vector<std::uint32_t> readers_of(std::uint32_t kernel) const;
  std::vector<std::uint32_t> writers_of(std::uint32_t kernel) const;

  const Graph& graph_;
  const Uses& uses_;
  const NodeFacts& facts_;
  const Landmarks& landmarks_;
  const cost::Device& device_;
  Evaluator& evaluator_;
  std::vector<Kernel>& kernels_;
  std::vector<Declined>& declined_;
  double worthwhile_;
  std::vector<std::uint32_t> writer_;  // by node: the kernel that stores it, or kNone
  using Few = boost::container::flat_set<std::uint32_t, std::less<>, boost::container::small_vector<std::uint32_t, 2>>;
  std::vector<Few> readers_;                                       // by node: kernels that read it from memory
  std::vector<Few> computed_in_;                                   // by node
  std::set<std::pair<std::uint32_t, std::uint32_t>> by_position_;  // (of its first node, kernel)
  std::vector<double> arithmetic_;  // by node: seconds, no kernel takes less; negative: not yet known
  Ranks ranks_;
  std::vector<std::uint64_t> form_;             // by kernel: its signature's hash
  std::unordered_set<std::uint64_t> hopeless_;  // forms of windows that cannot be made better
  std::unordered_map<Signature, std::vector<Piece>, SignatureHash> found_;
  std::vector<std::uint32_t> seen_;  // by kernel: the search that saw it last
  std::uint32_t searches_ = 0;
};

}  // namespace fusewright::extract
