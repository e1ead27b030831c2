#pragma once

#include <functional>
#include <span>
#include <vector>

#include "fusewright/egraph/ematch.hpp"

namespace fusewright::egraph {

/// One link of a chain: `from` and `to` are equal for this reason.
struct ProofStep {
  EClassId from, to;
  Reason reason;
  bool forward = true;  ///< of an application: `from` is what the pattern matched, `to` what the rule made of it
};

/// Why two terms are equal, down to the nodes of the model.
struct Explanation {
  std::vector<ProofStep> chain;             ///< from the first term to the second; empty when they are one
  std::vector<ApplicationId> applications;  ///< all that the chain rests on, in the order in which they happened
  std::vector<ENodeId> terms;               ///< all that they speak of, in order of number
};

/// Precondition: find(a) == find(b), and the e-graph records.
Explanation explain(const EGraph& egraph, const match::Program& program, EClassId a, EClassId b);
/// What it took to make a node: an empty chain, and the applications behind it.
Explanation explain_node(const EGraph& egraph, const match::Program& program, ENodeId node);

/// The applications of `explain` alone (of `explain_node` where both terms are one), in time proportional to them,
/// however large the model is. Those that only made constants are left out, unless the terms are constants.
std::vector<ApplicationId> applications_between(const EGraph& egraph, const match::Program& program, EClassId a,
                                                EClassId b);

/// Applies a rule to a match whose values are these terms of `egraph`; true when it could. See saturate/apply.hpp.
using ApplyMatch = std::function<bool(EGraph& egraph, PatternId pattern, const Decoded& match)>;

/// Proves `a` equal to `b` anew: in an e-graph of its own, from the nodes of the model alone, each application checked
/// against what it relied on and then applied. Nothing of the recorded proof is believed.
/// @returns an error that names the application that does not replay (kCheckFailed).
Status replay(const EGraph& egraph, const match::Program& program, const Explanation& explanation, EClassId a,
              EClassId b, const ApplyMatch& apply);

}  // namespace fusewright::egraph
