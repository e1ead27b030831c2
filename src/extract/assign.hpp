#pragma once

#include <expected>
#include <map>
#include <string>
#include <vector>

#include "fusewright/graph/graph.hpp"
#include "fusewright/rule/rule.hpp"

namespace fusewright::extract {

/// Nodes of a region by number, in topological order, with the edges inside it.
struct Inside {
  std::vector<graph::NodeId> nodes;
  std::map<graph::NodeId, std::uint32_t> number;
  std::vector<std::vector<std::uint32_t>> producers, consumers;

  Inside(const graph::Graph& graph, const std::vector<graph::NodeId>& in);
};

/// Segment of each node of a region; of nodes outside the part, zero.
using Assignment = std::vector<std::uint32_t>;

/// Assigns the nodes of `part` (numbers in `inside`, ascending) to the segments: each to one that takes its operator
/// and attributes, every edge forward or inside one closure, every segment's bounds kept. Of several ways, nodes stand
/// in early segments, the first nodes first. Finds one where there is one; a region with very many ways to try may be
/// given up, which the reason says.
/// @returns the assignment, or why there is none, in words about one operator or segment.
std::expected<Assignment, std::string> assign(const graph::Graph& graph, const Inside& inside,
                                              const std::vector<std::uint32_t>& part,
                                              const std::vector<rule::Segment>& segments);

/// Gives each part a root of the rule: none to which it cannot be assigned, and to each root as many as it asks for.
/// @returns for each part the number of its root, or why there is no such way.
struct Placed {
  std::uint32_t root = 0;
  Assignment segment;
};
std::expected<std::vector<Placed>, std::string> place(const graph::Graph& graph, const Inside& inside,
                                                      const std::vector<std::vector<std::uint32_t>>& parts,
                                                      const std::vector<rule::FuseRoot>& roots);

}  // namespace fusewright::extract
