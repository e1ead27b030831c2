#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "fusewright/plan/plan.hpp"

/// How parts of a plan look in JSON, wherever they stand.
namespace fusewright::audit {

using Json = nlohmann::ordered_json;

/// A number; those that JSON has no form for are the strings "inf", "-inf" and "nan".
Json number(double value);

/// A tensor's name: its node's, with ":2" behind it for the third result.
std::string value_name(const graph::Graph& graph, graph::Value value);

/// What is planned of a group: id, name, kind, rules, nodes, tensors, bytes, flops, estimate.
Json group_json(const plan::Plan& plan, std::size_t group);
Json views_json(const plan::Plan& plan);
Json unfused_json(const plan::Plan& plan);
Json extraction_json(const plan::Plan& plan);

/// Bytes of all groups.
std::int64_t planned_bytes(const plan::Plan& plan);

}  // namespace fusewright::audit
