#include "src/prove/region_check.hpp"

#include <algorithm>

#include "fusewright/interpret/evaluate.hpp"
#include "fusewright/interpret/inputs.hpp"
#include "fusewright/plan/plan.hpp"
#include "src/prove/region_eval.hpp"
#include "src/prove/values.hpp"

namespace fusewright::prove {

using graph::Graph;
using graph::NodeId;
using graph::Value;

WholeRegion whole_region(const Graph& graph) {
  WholeRegion out;
  for (const NodeId id : graph.entry_computation().nodes) {
    const bool parameter = graph.info(id).name == "parameter", constant = graph.info(id).name == "constant";
    if (parameter || (constant && !graph[id].types[0].shape.empty()))
      out.inputs.push_back({id, 0});
    else if (!constant)
      out.nodes.push_back(id);
  }
  return out;
}

Result<std::string> region_difference(const Graph& graph, const WholeRegion& whole) {
  std::vector<ops::Tensor> parameters, captures;
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    FW_TRY(ops::Tensor made, interpret::make_input(graph.inputs[i].type, 5, i));
    parameters.push_back(std::move(made));
  }
  std::size_t next = 0;
  for (const Value v : whole.inputs)
    captures.push_back(graph.info(v.node).name == "parameter" ? parameters[next++]
                                                              : *graph[v.node].attrs.get<ops::TensorHandle>("value"));
  FW_TRY(const std::vector<ops::Tensor> expected, interpret::evaluate(graph, parameters));
  const std::vector<Value>& results = graph.entry_computation().results;
  std::vector<Value> outputs;  // of a region they are distinct
  for (const Value v : results)
    if (std::ranges::find(outputs, v) == outputs.end()) outputs.push_back(v);
  FW_TRY(const region::Region region, plan::make_region(graph, whole.nodes, whole.inputs, outputs));
  const auto found = evaluate_region(*graph.table, region, captures);
  if (!found) return "the region has no values: " + found.error().diagnostics[0].message;
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    const auto at = static_cast<std::size_t>(std::ranges::find(results, outputs[k]) - results.begin());
    if (std::string reason = compare_bits(expected[at], (*found)[k], false); !reason.empty()) return reason;
  }
  return std::string();
}

}  // namespace fusewright::prove
