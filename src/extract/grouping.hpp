#pragma once

#include <map>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

#include "evaluate.hpp"
#include "fusewright/extract/fusion.hpp"
#include "landmarks.hpp"
#include "ranks.hpp"

namespace fusewright::extract {

/// A partition in the making. Groups are numbered; merged ones die.
class Grouping {
 public:
  Grouping(const Graph& graph, const Uses& uses, const Landmarks& landmarks, const cost::Device& device,
           Evaluator& evaluator, NodeFacts& facts)
      : graph_(graph),
        uses_(uses),
        landmarks_(landmarks),
        device_(device),
        evaluator_(evaluator),
        facts_(facts),
        groups_of_(graph.nodes.size()) {}

  /// Places the nodes one by one, consumers first.
  void place(NodeId node);
  void place_alone(NodeId node);
  /// Adds to the kernels what is made of constants alone, where they read it.
  void place_numbers();
  /// Prices the loops that grew without being priced at each step.
  void finish_streams();
  /// Merges neighbours and siblings while that pays and time is left. @returns why it stopped before, or nothing.
  std::string improve(const FusionOptions& options);

  /// What came of it; dead ones among them.
  std::vector<Kernel>& kernels() { return members_; }
  std::vector<Declined>& declined() { return declined_; }

 private:
  /// Where a group stands, as long as it and its readers do not change.
  struct Around {
    bool known = false;
    std::vector<std::uint32_t> readers;  // groups that read what it makes
    Landmarks::Set behind, before;       // what surely depends on it, and what it depends on
  };

  const Around& around(std::uint32_t group) const;
  const std::vector<std::uint32_t>& readers(std::uint32_t group) const { return around(group).readers; }
  std::vector<std::uint32_t> writers(std::uint32_t group) const;
  std::vector<std::uint32_t> fellow_readers(std::uint32_t group) const;
  std::vector<std::uint32_t> consumers(NodeId node) const;
  /// What these groups would be as one kernel, with the node that is being placed where there is one.
  struct Attempt {
    std::vector<NodeId> nodes;
    std::vector<Value> outputs;
    const Evaluated* price = nullptr;  // the evaluator's

    const Priced* operator->() const { return &**price; }
    bool possible() const { return price->has_value(); }
  };
  std::vector<NodeId> with(const std::vector<std::uint32_t>& groups, NodeId node) const;
  Attempt attempt(const std::vector<std::uint32_t>& groups, NodeId node) const;
  Attempt unpriced(const std::vector<std::uint32_t>& groups, NodeId node) const;
  bool joins_cyclically(const std::vector<std::uint32_t>& groups) const;
  bool surely_depend(const std::vector<std::uint32_t>& groups) const;
  void replace(const std::vector<std::uint32_t>& groups, Attempt by);
  void become(Kernel& kernel, Attempt attempt) const;
  void note_change(std::uint32_t group);
  double seconds(const std::vector<std::uint32_t>& groups) const;
  bool clashes(const Attempt& attempt, const std::vector<std::uint32_t>& groups) const;
  Kernel unsupported(NodeId node, std::string reason) const;
  bool try_duplicate(NodeId node, const std::vector<std::uint32_t>& groups, double alone);
  bool try_merge(NodeId node, const std::vector<std::uint32_t>& groups, double alone);
  bool grow_streaming(NodeId node, std::uint32_t group);
  bool feeds_from_anchor(NodeId node) const;
  bool try_join(std::uint32_t a, std::uint32_t b);
  void decline(NodeId node, NodeId reader, plan::Cut::Why why, std::string reason, double fused = 0, double cut = 0);
  NodeId reader_in(NodeId node, std::uint32_t group) const;

  const Graph& graph_;
  const Uses& uses_;
  const Landmarks& landmarks_;
  const cost::Device& device_;
  Evaluator& evaluator_;
  NodeFacts& facts_;
  std::vector<std::vector<std::uint32_t>> groups_of_;  // by node, sorted
  std::vector<Kernel> members_;
  std::vector<Declined> declined_;

  std::uint32_t changes_ = 0;
  Ranks ranks_{[this](std::uint32_t group) { return readers(group); },
               [this](std::uint32_t group) { return writers(group); }};
  std::vector<std::uint32_t> changed_at_;      // by group
  std::unordered_set<std::uint64_t> refused_;  // pairs of such times: what did not pay then does not pay now
  mutable std::vector<Around> around_;
  mutable std::vector<std::uint64_t> visited_;  // by group: the search that saw it last
  mutable std::uint64_t searches_ = 0;

  /// Large loops grow without being priced anew at each step: what is read, and how many values are alive.
  struct Stream {
    std::set<Value> inputs;
    std::size_t priced_at = 0;  // nodes when it was last priced
  };
  std::map<std::uint32_t, Stream> streams_;
};

}  // namespace fusewright::extract
