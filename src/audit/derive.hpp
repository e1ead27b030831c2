#pragma once

#include <string>
#include <vector>

#include "fusewright/audit/audit.hpp"
#include "fusewright/audit/values.hpp"

namespace fusewright::audit {

/// A term that a node of the model was found equal to, and by what.
struct Step {
  std::string term;       ///< "mul(reduce_sum(x.3), 0.0625)"
  std::string rule;       ///< that made it equal to the term before it; empty for the first term and for operands
  std::string exactness;  ///< of the rule
  bool forward = true;    ///< false: the rule leads from this term to the one before it
};

/// How a node of the plan came from a node of the model.
struct Derivation {
  std::string node;                ///< of the plan
  std::string origin;              ///< of the model as read; empty where a rule made it with no equal there
  std::vector<Step> steps;         ///< the chain of terms; empty where the node is the model's own
  std::vector<std::string> rules;  ///< in the chain and below it, sorted
  std::size_t applications;        ///< of these rules
};

struct Derived {
  std::vector<Derivation> derivations;  ///< of those nodes that are not the model's own
  std::size_t applications = 0;         ///< distinct ones
  std::string failure;                  ///< why they do not replay; empty when they do
};

/// The derivations of a group's nodes, each replayed in an e-graph of its own from the model's nodes alone.
/// Without fusion, or without records of it, there are none.
Derived derive(const Subject& subject, const plan::Group& group);

/// The rules with at least one application that matched a node which came from this source node, with their number.
std::vector<std::pair<std::string, std::size_t>> rules_on(const Subject& subject, graph::SourceId source);

Json to_json(const Derived& derived);
std::string to_text(const Derived& derived);

}  // namespace fusewright::audit
