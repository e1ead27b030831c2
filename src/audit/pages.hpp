#pragma once

#include <string>

#include "edges.hpp"

namespace fusewright::audit {

/// What the group's operators move when each is a kernel of its own.
std::int64_t bytes_alone(const graph::Graph& graph, const plan::Group& group);

/// A group's rules, nodes, bytes and estimate, in lines.
std::string group_text(const plan::Plan& plan, std::size_t group, std::size_t most_nodes);
/// One edge, seen from its writer or its reader, and why it is one.
std::string edge_text(const plan::Plan& plan, const Edge& edge, bool leaving);
std::string reason_text(const Edge& edge);

Json to_json(const std::vector<Attempt>& attempts);
std::string to_text(const std::vector<Attempt>& attempts, std::size_t indent);

}  // namespace fusewright::audit
