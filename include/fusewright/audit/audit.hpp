#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "fusewright/cost/device.hpp"
#include "fusewright/plan/plan.hpp"
#include "fusewright/rule/rule.hpp"
#include "fusewright/saturate/saturate.hpp"

namespace fusewright::audit {

/// What an audit reads: a plan and how it came about. All that is referred to must outlive the call.
struct Subject {
  std::string model;             ///< as the user named it
  const graph::Graph& imported;  ///< the model as read
  const plan::Plan& plan;
  const saturate::Saturated* saturated = nullptr;  ///< null without fusion
  const rule::RuleSet& rules;
  const cost::Device& device;
  const std::vector<std::string>& stop_reasons;
};

/// All groups, each with its rules, source nodes, bytes of its operators one by one and as one kernel, estimated time,
/// and for every tensor that leaves it why the edge to each reader was cut; and for every rewrite how often it matched,
/// applied and was refused. For programs, and for people in 80 columns. Like all answers here they hold no measured
/// value: two audits of the same model and rules are equal byte for byte.
nlohmann::ordered_json overview_json(const Subject& subject);
std::string overview_text(const Subject& subject);

/// An answer about one thing, in both forms.
struct Page {
  nlohmann::ordered_json json;
  std::string text;
};

/// One group in depth: its operators and tensors, schedule and terms of its cost, the rules' places and documentation,
/// the steps by which its nodes came from those of the model, and whether these replay; what each `fuse` rule says to
/// taking in a neighbour.
/// @param group  name or number.
/// Errors: no such group, with the nearest name.
Result<Page> group_page(const Subject& subject, const std::string& group);

/// What became of a node of the model file: which groups compute it, which rules used it, and why it is not in one
/// kernel with each of its neighbours.
/// @param node  name in the model file, or of a node of the plan.
/// Errors: no such node, with the nearest name.
Result<Page> node_page(const Subject& subject, const std::string& node);

}  // namespace fusewright::audit
