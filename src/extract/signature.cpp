#include "signature.hpp"

#include <algorithm>
#include <unordered_map>

namespace fusewright::extract {

namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::Value;

// Constants of rank 0 are part of a kernel, larger ones are read by it like any other tensor.
bool in_kernels(const Graph& graph, NodeId id) {
  return graph.info(id).name != "constant" || graph[id].types[0].shape.empty();
}

std::uint64_t hash_types(const Node& node) {
  std::uint64_t h = node.types.size();
  for (const ops::Type& type : node.types) h = hash_mix(h, ops::hash(type));
  return h;
}

// Numbers equal things alike, in the order in which they come.
template <class Hash, class Equal>
std::vector<std::uint32_t> numbered(const Graph& graph, const Hash& hash, const Equal& equal) {
  std::vector<std::uint32_t> number(graph.nodes.size(), 0);
  std::unordered_map<std::uint64_t, std::vector<NodeId>> known;
  std::uint32_t next = 0;
  for (const NodeId id : graph.entry_computation().nodes) {
    auto& same_hash = known[hash(id)];
    const auto at = std::ranges::find_if(same_hash, [&](NodeId other) { return equal(id, other); });
    if (at != same_hash.end()) {
      number[id.index] = number[at->index];
      continue;
    }
    number[id.index] = next++;
    same_hash.push_back(id);
  }
  return number;
}

}  // namespace

std::size_t SignatureHash::operator()(const Signature& signature) const noexcept {
  std::uint64_t h = signature.size();
  for (const std::uint32_t word : signature) h = hash_mix(h, word);
  return h;
}

Signatures::Signatures(const Graph& graph, const Uses& uses, const NodeFacts& facts)
    : graph_(graph),
      uses_(uses),
      facts_(facts),
      sources_(graph.nodes.size(), 0),
      place_(graph.nodes.size(), 0),
      asked_(graph.nodes.size(), 0) {
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    const std::string& op = graph.info(NodeId(i)).name;
    sources_[i] = static_cast<std::uint8_t>((op == "constant" ? 2 : 0) | (op == "parameter" ? 1 : 0));
  }
  types_ = numbered(
      graph, [&](NodeId id) { return hash_types(graph[id]); },
      [&](NodeId a, NodeId b) { return graph[a].types == graph[b].types; });
  kind_ = numbered(
      graph,
      [&](NodeId id) {
        const std::uint64_t h = hash_mix(hash_mix(graph[id].op.index, types_[id.index]), graph[id].operands.size());
        return in_kernels(graph, id) ? hash_mix(h, graph[id].attrs.hash()) : h;
      },
      [&](NodeId a, NodeId b) {
        if (graph[a].op != graph[b].op || types_[a.index] != types_[b.index] ||
            graph[a].operands.size() != graph[b].operands.size())
          return false;
        if (!in_kernels(graph, a)) return true;
        // What has a body is itself alone.
        return graph[a].computations.empty() && graph[b].computations.empty() && graph[a].attrs == graph[b].attrs;
      });
}

// What guards and the cost ask of a value that is read or made: who else uses it, and where it comes from.
std::uint32_t Signatures::use(Value value) const {
  const auto& readers = uses_.readers(value.node);
  std::uint32_t bits = sources_[value.node.index];
  const auto note = [&](bool holds) { bits = bits << 1 | (holds ? 1 : 0); };
  note(facts_.load_time[value.node.index]);
  note(uses_.is_result(value));
  note(readers.size() == 1);
  note(std::ranges::any_of(readers, [&](NodeId reader) { return asked_[reader.index] != now_; }));
  return bits;
}

std::uint32_t Signatures::reference(Value value) const {
  constexpr std::uint32_t kAbsent = 0, kInSet = 1, kScalar = 2;
  if (!value.valid()) return kAbsent;
  if (asked_[value.node.index] == now_) return place_[value.node.index] << 2 | kInSet;
  return kind_[value.node.index] << 2 | kScalar;
}

Signature Signatures::of(const std::vector<NodeId>& nodes, const std::vector<Value>& inputs,
                         const std::vector<Value>& outputs) {
  ++now_;
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    asked_[nodes[i].index] = now_;
    place_[nodes[i].index] = i;
  }
  Signature out;
  out.reserve(8 * nodes.size() + 4 * inputs.size() + 2 * outputs.size() + 2);
  out.push_back(static_cast<std::uint32_t>(nodes.size()));
  out.push_back(static_cast<std::uint32_t>(inputs.size()));
  std::vector<std::uint32_t> input_use;
  input_use.reserve(inputs.size());
  for (const Value input : inputs) input_use.push_back(use(input));
  for (const NodeId id : nodes) {
    out.push_back(kind_[id.index]);
    const auto results = static_cast<std::uint32_t>(graph_[id].types.size());
    for (std::uint32_t r = 0; r < results; ++r) out.push_back(use({id, r}));
  }
  // From here on inputs have places as well: two results of one node share its first.
  for (std::uint32_t i = 0; i < inputs.size(); ++i) {
    const NodeId node = inputs[i].node;
    if (asked_[node.index] != now_) place_[node.index] = static_cast<std::uint32_t>(nodes.size()) + i;
    asked_[node.index] = now_;
    out.insert(out.end(), {place_[node.index], inputs[i].result, types_[node.index], input_use[i]});
  }
  for (const NodeId id : nodes)
    for (const Value operand : graph_[id].operands) out.insert(out.end(), {reference(operand), operand.result});
  for (const Value output : outputs) out.insert(out.end(), {place_[output.node.index], output.result});
  return out;
}

Signature Signatures::with_outputs(const Signature& unstored, const std::vector<NodeId>& nodes,
                                   const std::vector<Value>& outputs) {
  Signature out;
  out.reserve(unstored.size() + 2 * outputs.size());
  out = unstored;
  for (const Value output : outputs) {
    const auto place = static_cast<std::uint32_t>(std::ranges::find(nodes, output.node) - nodes.begin());
    out.insert(out.end(), {place, output.result});
  }
  return out;
}

}  // namespace fusewright::extract
