#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fusewright/graph/graph.hpp"

namespace fusewright::frontend_hlo {

/// Nodes of the entry that become one `fusion` instruction. A node may be in several groups, it is then printed in
/// each.
struct FusionGroup {
  std::string name;                   ///< of the fusion instruction; its computation is called "fused_<name>"
  std::string kind = "kLoop";         ///< kLoop, kInput, kOutput or kCustom
  std::vector<graph::NodeId> nodes;   ///< topological
  std::vector<graph::Value> inputs;   ///< what they read; constants that are left out here are printed inside
  std::vector<graph::Value> outputs;  ///< what others read of them; several make a tuple
};

struct ExportOptions {
  std::int64_t most_literal_elements = 4096;  ///< larger constants are printed `{...}`
};

/// HLO text of a graph that XLA's parser and import_hlo read back. Operators without an opcode are printed as several
/// instructions (take as gather, arg_max as a reduce of pairs, cum_sum as reduce-window, ...). Parameters keep their
/// order, the root is a tuple where there are several results. Nodes that no result needs are left out. Errors
/// (kUnsupported): operators without a meaning in HLO (composites that were not expanded, `loop`), named with their
/// node; symbolic dims; groups that need each other's outputs.
Result<std::string> export_hlo(const graph::Graph& graph, const std::vector<FusionGroup>& groups = {},
                               const ExportOptions& options = {});

}  // namespace fusewright::frontend_hlo
