#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "fusewright/plan/plan.hpp"
#include "fusewright/rule/rule.hpp"
#include "fusewright/saturate/saturate.hpp"

namespace fusewright::audit {

/// What was planned and why, with no measured value in it: two audits of the same model and rules are equal byte for
/// byte. For every group its rules, source nodes, bytes of its operators one by one and as one kernel, estimated time,
/// and for every tensor that leaves it why the edge to each reader was cut; for every rewrite how often it matched,
/// applied and was refused.
/// @param saturated may be null: without fusion there is none.
nlohmann::ordered_json to_json(const plan::Plan& plan, const saturate::Saturated* saturated);

/// The same for people.
std::string to_text(const plan::Plan& plan, const saturate::Saturated* saturated);

}  // namespace fusewright::audit
