#pragma once

#include <expected>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "fusewright/graph/graph.hpp"
#include "fusewright/rule/rule.hpp"

namespace fusewright::extract {

/// Nodes of a region by number, in topological order, with the edges inside it.
class Inside {
 public:
  Inside(const graph::Graph& graph, const std::vector<graph::NodeId>& in);

  const std::vector<graph::NodeId>& nodes() const { return nodes_; }
  std::optional<std::uint32_t> number(graph::NodeId node) const;
  std::span<const std::uint32_t> producers(std::uint32_t node) const { return producers_.of(node); }
  std::span<const std::uint32_t> consumers(std::uint32_t node) const { return consumers_.of(node); }

 private:
  struct Lists {
    std::vector<std::uint32_t> start, items;
    std::span<const std::uint32_t> of(std::uint32_t i) const {
      return {items.data() + start[i], start[i + 1] - start[i]};
    }
  };
  std::vector<graph::NodeId> nodes_;
  std::vector<std::pair<graph::NodeId, std::uint32_t>> numbers_;  // sorted
  Lists producers_, consumers_;
};

/// A region cut into parts, and where in its part each node stands.
struct Parts {
  std::vector<std::vector<std::uint32_t>> members;  ///< by part: numbers, ascending
  std::vector<std::uint32_t> position;              ///< by number
};
Parts one_part(const Inside& inside);
/// Those that no edge joins.
Parts components(const Inside& inside);

/// Segment of each node of a part.
using Assignment = std::vector<std::uint32_t>;

/// Assigns the nodes of a part to the segments: each to one that takes its operator
/// and attributes, every edge forward or inside one closure, every segment's bounds kept. Of several ways, nodes stand
/// in early segments, the first nodes first. Finds one where there is one; a region with very many ways to try may be
/// given up, which the reason says.
/// @returns the assignment, or why there is none, in words about one operator or segment.
std::expected<Assignment, std::string> assign(const graph::Graph& graph, const Inside& inside, const Parts& parts,
                                              std::size_t part, const std::vector<rule::Segment>& segments);

/// Gives each part a root of the rule: none to which it cannot be assigned, and to each root as many as it asks for.
/// @returns for each part the number of its root, or why there is no such way.
struct Placed {
  std::uint32_t root = 0;
  Assignment segment;
};
std::expected<std::vector<Placed>, std::string> place(const graph::Graph& graph, const Inside& inside,
                                                      const Parts& parts, const std::vector<rule::FuseRoot>& roots);

}  // namespace fusewright::extract
