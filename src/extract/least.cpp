#include "least.hpp"

#include <algorithm>

namespace fusewright::extract {

Least::Least(const Window& window, const Evaluator& evaluator, const Graph& graph, const cost::Device& device)
    : w_(window), device_(device), operands_(window.nodes.size()) {
  // What an operator of several results reads is not told from one of them: then it counts as nothing.
  for (const NodeId n : w_.nodes)
    tensors_.push_back(graph[n].types.size() == 1 ? sized(graph[n].types.front()) : Tensor());
  for (std::uint32_t n = 0; n < w_.nodes.size(); ++n)
    if (tensors_[n].elements > 0) add_operands(n, evaluator, graph);
  needed_.assign(tensors_.size(), 0);
  last_.resize(w_.units.size());
  for (std::uint32_t n = 0; n < w_.nodes.size(); ++n) last_[w_.unit_of[n]] = n;
  for (const std::vector<Value>& values : w_.values) {
    double& seconds = storing_.emplace_back(0);
    for (const Value v : values) seconds += cost::transfer_seconds(ops::byte_size(graph.type(v)), true, device_);
  }
}

Least::Tensor Least::sized(const ops::Type& type) {
  if (!type.is_tensor() || !ops::is_static(type.shape)) return {};
  return {ops::byte_size(type) / ops::byte_width(type.dtype), ops::byte_width(type.dtype), true};
}

void Least::add_operands(std::uint32_t node, const Evaluator& evaluator, const Graph& graph) {
  const ops::OpInfo& info = graph.info(w_.nodes[node]);
  const auto& operands = graph[w_.nodes[node]].operands;
  for (std::size_t k = 0; k < operands.size(); ++k) {
    const Value v = operands[k];
    if (!v.valid() || evaluator.is_scalar_constant(v) ||
        std::ranges::find(w_.constants, v.node, &Window::Constant::node) != w_.constants.end())
      continue;
    auto number = static_cast<std::uint32_t>(std::ranges::find(w_.nodes, v.node) - w_.nodes.begin());
    if (number == w_.nodes.size()) {
      const auto known = std::ranges::find(outside_, v);
      number += static_cast<std::uint32_t>(known - outside_.begin());
      if (known == outside_.end()) {
        outside_.push_back(v);
        tensors_.push_back(sized(graph.type(v)));
        tensors_.back().in_cache = evaluator.in_cache(v);
      }
    }
    operands_[node].push_back(
        {number, region::needs_of(info.op_class, info.name, k, tensors_[number].elements, tensors_[node].elements)});
  }
}

double Least::storing(ChoiceSet stored) const {
  double seconds = 0;
  each(stored, [&](std::uint32_t c) { seconds += storing_[c]; });
  return seconds;
}

Least::Work Least::work(UnitSet units, ChoiceSet stored) {
  Work out;
  std::ranges::fill(needed_, 0);
  read_.clear();
  each(stored, [&](std::uint32_t c) {
    const std::uint32_t n = last_[w_.choices[c]];
    needed_[n] = tensors_[n].elements;
  });
  each(units, [&](std::uint32_t u) { out.arithmetic += w_.units[u].arithmetic; });
  const auto computes = [&](std::uint32_t n) { return (units >> w_.unit_of[n] & 1) != 0; };
  for (auto n = static_cast<std::uint32_t>(w_.nodes.size()); n-- > 0;) {
    if (needed_[n] == 0 || !computes(n)) continue;
    for (const Operand& operand : operands_[n]) {
      std::int64_t& needed = needed_[operand.tensor];
      const bool inside = operand.tensor < w_.nodes.size() && computes(operand.tensor);
      if (!inside && needed == 0) read_.push_back(operand.tensor);
      needed = operand.needs.add(tensors_[operand.tensor].elements, needed, needed_[n]);
    }
  }
  for (const std::uint32_t t : read_)
    out.reading += cost::transfer_seconds(needed_[t] * tensors_[t].width, tensors_[t].in_cache, device_);
  return out;
}

}  // namespace fusewright::extract
