#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "fusewright/audit/audit.hpp"
#include "fusewright/audit/values.hpp"
#include "fusewright/extract/admit.hpp"

namespace fusewright::audit {

using plan::Value;
using Why = plan::Cut::Why;

std::string_view name(Why why);

/// What one `fuse` rule says to two kernels becoming one.
struct Attempt {
  std::string rule;
  Why why = Why::kRule;  ///< what it failed by; kCost also where it would pay
  std::string reason;
  double seconds = 0;  ///< kCost: of the one kernel
};

/// A tensor that one group writes and another, or the caller of the model, reads; and why they are two kernels.
struct Edge {
  Value value;
  std::size_t writer = 0;
  std::optional<std::size_t> reader;  ///< none: an output of the model
  Why why = Why::kOutput;
  std::string reason;
  double seconds_fused = 0, seconds_cut = 0;  ///< where cost decided

  Json json(const plan::Plan& plan) const;
};

/// The edges between the groups of a plan. Why two groups are two is found anew on the finished plan: the planner's own
/// record speaks of the kernels as they were when it decided.
class Edges {
 public:
  explicit Edges(const Subject& subject);

  std::vector<Edge> leaving(std::size_t group) const;
  std::vector<Edge> entering(std::size_t group) const;
  /// Of each `fuse` rule, on both groups as one kernel. Valid as long as the edges are.
  const std::vector<Attempt>& attempts(std::size_t writer, std::size_t reader) const;
  /// Groups that compute a node.
  std::vector<std::size_t> groups_of(graph::NodeId node) const;
  /// Inputs of a group that an earlier group has just written.
  std::vector<bool> hot_inputs(const std::vector<Value>& inputs) const;

 private:
  /// All of two groups as one kernel that rules, templates and costs can tell, without the names of its nodes: a form
  /// that the layers of a model repeat is asked about once.
  struct Form {
    region::Region region;
    std::vector<bool> hot;                  ///< by input
    std::vector<std::uint8_t> guard_facts;  ///< what guards may ask of each value that is read or made
    double apart = 0;                       ///< seconds of the two

    bool operator==(const Form&) const = default;
  };
  struct FormHash {
    std::size_t operator()(const Form& form) const { return region::hash(form.region); }
  };
  struct Union;
  using Attempts = std::shared_ptr<const std::vector<Attempt>>;
  Value storage(Value v) const;
  bool is_read_outside(Value v, std::size_t writer, std::size_t reader, const std::set<graph::NodeId>& inside) const;
  bool cyclic(std::size_t writer, std::size_t reader) const;
  Union united(std::size_t writer, std::size_t reader) const;
  std::vector<std::uint8_t> guard_facts(const std::vector<graph::NodeId>& nodes,
                                        const std::set<graph::NodeId>& inside) const;
  std::vector<Attempt> attempts(const Union& both) const;
  Attempts find_attempts(std::size_t writer, std::size_t reader) const;
  Attempt attempt(const rule::FuseRule& rule, const Union& both) const;
  Edge edge(Value value, std::size_t writer, std::size_t reader) const;

  const Subject& subject_;
  const plan::Plan& plan_;
  extract::Uses uses_;
  std::map<Value, Value> views_;                          // to the tensor seen
  std::map<graph::NodeId, std::vector<std::size_t>> in_;  // groups of a node
  std::map<Value, std::vector<std::size_t>> readers_;     // of a stored tensor, through views
  std::vector<std::vector<std::size_t>> next_;            // by group: those that read what it writes, each behind it
  std::map<Value, std::vector<std::size_t>> read_as_;     // of a tensor as it is, views among them
  std::map<Value, std::vector<graph::NodeId>> viewed_by_;
  std::map<std::pair<Value, std::string>, const plan::Cut*> recorded_;
  std::set<Value> results_;                                                  // the tensors of the model's outputs
  mutable std::map<std::pair<std::size_t, std::size_t>, Attempts> by_pair_;  // writer and reader
  mutable std::unordered_map<Form, Attempts, FormHash> by_form_;
};

}  // namespace fusewright::audit
