#include <algorithm>
#include <unordered_set>

#include "fusewright/graph/graph.hpp"

namespace fusewright::graph {
namespace {

// How many bodies an operator has.
struct BodyCount {
  const char* op;
  std::size_t least;
  std::size_t most;
};
constexpr std::size_t kMany = static_cast<std::size_t>(-1);
constexpr BodyCount kBodies[] = {{"reduce", 1, 1}, {"sort", 0, 1}, {"while", 2, 2},          {"conditional", 1, kMany},
                                 {"loop", 1, 1},   {"call", 1, 1}, {"custom_call", 0, kMany}};

class Verifier {
 public:
  explicit Verifier(const Graph& graph)
      : graph_(graph), position_(graph.nodes.size(), kMany), owners_(graph.computations.size()) {}

  Status run() {
    FW_TRY_STATUS(check_lists());
    for (const Computation& computation : graph_.computations) {
      for (const NodeId id : computation.nodes) {
        if (Status status = check_node(id); !status)
          return std::unexpected(with_context(std::move(status).error(), "node '" + graph_[id].name + "'"));
      }
    }
    FW_TRY_STATUS(check_results());
    return check_ports();
  }

 private:
  // Every listed node is in one list only; from here on positions and owners are known.
  Status check_lists() {
    std::unordered_set<std::string> names;
    if (graph_.table == nullptr || graph_.entry.index >= graph_.computations.size())
      return fail("the graph has no table or no entry");
    for (std::size_t c = 0; c < graph_.computations.size(); ++c) {
      const Computation& computation = graph_.computations[c];
      if (computation.parent.valid() && computation.parent.index >= graph_.computations.size())
        return fail("computation '" + computation.name + "' has no parent");
      for (std::size_t i = 0; i < computation.nodes.size(); ++i) {
        const NodeId id = computation.nodes[i];
        if (id.index >= graph_.nodes.size()) return fail("computation '" + computation.name + "' lists no node");
        const Node& node = graph_[id];
        if (position_[id.index] != kMany) return fail("node '" + node.name + "' is listed twice");
        if (node.parent != ComputationId(c))
          return fail("node '" + node.name + "' is listed by another than its parent");
        if (!names.insert(node.name).second) return fail("two nodes have the name '" + node.name + "'");
        position_[id.index] = i;
        for (const ComputationId body : node.computations) {
          if (body.index >= graph_.computations.size())
            return fail("node '" + node.name + "' has a body that is not there");
          owners_[body.index].push_back(id);
        }
      }
    }
    return {};
  }

  // The value is made before position `at` of computation `user`, there or in a body around it.
  Status check_use(Value value, ComputationId user, std::size_t at) const {
    if (value.node.index >= graph_.nodes.size() || position_[value.node.index] == kMany)
      return fail("it uses a node that is not in the graph");
    const Node& maker = graph_[value.node];
    if (value.result >= maker.types.size())
      return fail("it uses result " + std::to_string(value.result) + " of '" + maker.name + "'");
    const std::size_t made_at = position_[value.node.index];
    if (maker.parent == user) return made_at < at ? Status() : fail("it uses '" + maker.name + "', which comes later");
    ComputationId inner = user;
    for (std::size_t depth = 0; depth < graph_.computations.size(); ++depth) {
      const ComputationId outer = graph_[inner].parent;
      if (!outer.valid()) break;
      if (outer == maker.parent) {
        for (const NodeId owner : owners_[inner.index])
          if (graph_[owner].parent == outer && position_[owner.index] <= made_at)
            return fail("it captures '" + maker.name + "', which comes later");
        return {};
      }
      inner = outer;
    }
    return fail("it uses '" + maker.name + "' of a computation that is not around it");
  }

  Status check_node(NodeId id) const {
    const Node& node = graph_[id];
    if (node.op.index >= graph_.table->size()) return fail("its operator is not in the table");
    const ops::OpInfo& info = graph_.info(id);
    std::vector<Type> operands;
    operands.reserve(node.operands.size());
    for (const Value& operand : node.operands) {
      if (operand.valid()) FW_TRY_STATUS(check_use(operand, node.parent, position_[id.index]));
      operands.push_back(operand.valid() ? graph_.type(operand) : Type());
    }
    FW_TRY_STATUS(check_bodies(node, info));
    for (const SourceId source : node.sources)
      if (source.index >= graph_.sources.size()) return fail("it names a source node that is not there");
    if (!std::is_sorted(node.sources.begin(), node.sources.end())) return fail("its source nodes are not sorted");
    FW_TRY(const Attrs complete, graph_.table->complete_attrs(node.op, node.attrs, operands));
    if (!(complete == node.attrs)) return fail("its attributes are not complete");
    if (info.infer == nullptr && !info.body) return {};
    FW_TRY(const std::vector<Type> types, graph_.table->infer(node.op, operands, node.attrs));
    if (types == node.types) return {};
    std::string wanted;
    for (const Type& type : types) wanted += (wanted.empty() ? "" : ", ") + ops::to_string(type);
    return fail("its type is not " + wanted);
  }

  Status check_bodies(const Node& node, const ops::OpInfo& info) const {
    const auto row =
        std::find_if(std::begin(kBodies), std::end(kBodies), [&](const BodyCount& b) { return b.op == info.name; });
    const std::size_t least = row == std::end(kBodies) ? 0 : row->least;
    const std::size_t most = row == std::end(kBodies) ? 0 : row->most;
    if (node.computations.size() >= least && node.computations.size() <= most) return {};
    return fail("it has " + std::to_string(node.computations.size()) + " bodies");
  }

  Status check_results() const {
    for (std::size_t c = 0; c < graph_.computations.size(); ++c) {
      const Computation& computation = graph_.computations[c];
      for (const Value& result : computation.results) {
        Status status = check_use(result, ComputationId(c), kMany);
        if (!status)
          return std::unexpected(
              with_context(std::move(status).error(), "results of computation '" + computation.name + "'"));
      }
      for (std::size_t i = 0; i < computation.parameters.size(); ++i) {
        const NodeId id = computation.parameters[i];
        const bool fits = id.index < graph_.nodes.size() && graph_[id].parent == ComputationId(c) &&
                          graph_.info(id).name == "parameter" &&
                          graph_[id].attrs.get<std::int64_t>("index") == static_cast<std::int64_t>(i);
        if (!fits)
          return fail("parameter " + std::to_string(i) + " of computation '" + computation.name + "' is not one");
      }
    }
    return {};
  }

  Status check_ports() const {
    const Computation& entry = graph_.entry_computation();
    if (graph_.inputs.size() != entry.parameters.size()) return fail("the graph has not one input for each parameter");
    if (graph_.outputs.size() != entry.results.size()) return fail("the graph has not one output for each result");
    for (std::size_t i = 0; i < graph_.inputs.size(); ++i)
      if (graph_.inputs[i].type != graph_[entry.parameters[i]].types[0])
        return fail("input '" + graph_.inputs[i].name + "' has another type than its parameter");
    for (std::size_t i = 0; i < graph_.outputs.size(); ++i)
      if (graph_.outputs[i].type != graph_.type(entry.results[i]))
        return fail("output '" + graph_.outputs[i].name + "' has another type than its result");
    return {};
  }

  const Graph& graph_;
  std::vector<std::size_t> position_;        // of a node in its computation
  std::vector<std::vector<NodeId>> owners_;  // of a computation
};

}  // namespace

Status verify(const Graph& graph) { return Verifier(graph).run(); }

}  // namespace fusewright::graph
