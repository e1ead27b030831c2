#include "fusewright/egraph/convert.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "fusewright/egraph/builder.hpp"
#include "fusewright/egraph/index.hpp"
#include "fusewright/support/check.hpp"

namespace fusewright::egraph {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::Value;

std::vector<Value> captures(const Graph& graph, NodeId owner) {
  std::vector<Value> found;
  std::vector<graph::ComputationId> work(graph[owner].computations);
  const graph::ComputationId home = graph[owner].parent;
  const auto visit = [&](Value v) {
    if (v.valid() && graph[v.node].parent == home) found.push_back(v);
  };
  while (!work.empty()) {
    const graph::Computation& body = graph[work.back()];
    work.pop_back();
    for (const NodeId id : body.nodes) {
      for (const Value v : graph[id].operands) visit(v);
      work.insert(work.end(), graph[id].computations.begin(), graph[id].computations.end());
    }
    for (const Value v : body.results) visit(v);
  }
  std::ranges::sort(found);
  const auto [first, last] = std::ranges::unique(found);
  found.erase(first, last);
  return found;
}

namespace {

bool has_identity(const Graph& graph, const Node& node) {
  const ops::OpClass op_class = (*graph.table)[node.op].op_class;
  return op_class == ops::OpClass::kControl || op_class == ops::OpClass::kEffect || !node.computations.empty();
}

TypeId node_type(EGraph& egraph, const Node& node) {
  return egraph.intern(node.types.size() == 1 ? node.types[0] : ops::Type::tuple(node.types));
}

}  // namespace

Imported from_graph(const Graph& graph, EGraphOptions options) {
  Imported out{EGraph(graph.table, options), {}, {}, {}, {}};
  out.first_term.assign(graph.nodes.size(), 0);
  // A result is a term from where it is first read: one that nobody reads is no value of the graph, and no rule is to
  // find it.
  std::vector<EClassId> packs(graph.nodes.size());  // by node of several results
  const auto read = [&](Value v) {
    EClassId& at = out.terms[out.first_term[v.node.index] + v.result];
    if (at == out.egraph.none())
      at = term(out.egraph.add_result(packs[v.node.index], v.result, out.egraph.intern(graph.type(v))));
    return at;
  };
  std::vector<EClassId> operands;
  for (const NodeId id : graph.entry_computation().nodes) {
    const Node& node = graph[id];
    operands.clear();
    for (const Value v : node.operands) operands.push_back(v.valid() ? read(v) : out.egraph.none());
    const bool unique = has_identity(graph, node);
    if (!node.computations.empty()) {
      for (const Value v : captures(graph, id)) operands.push_back(read(v));
    } else {
      while (!operands.empty() && operands.back() == out.egraph.none()) operands.pop_back();
    }
    const AttrsId attrs = unique ? out.egraph.intern_distinct(node.attrs) : out.egraph.intern(node.attrs);
    const ENodeId made = out.egraph.add(node.op, attrs, operands, node_type(out.egraph, node));
    out.egraph.add_sources(made, node.sources);
    out.origins.resize(out.egraph.node_count());
    if (!out.origins[made.index].valid()) out.origins[made.index] = id;

    out.first_term[id.index] = static_cast<std::uint32_t>(out.terms.size());
    packs[id.index] = term(made);
    out.terms.insert(out.terms.end(), node.types.size(), node.types.size() == 1 ? term(made) : out.egraph.none());
  }
  for (const Value v : graph.entry_computation().results) out.results.push_back(read(v));
  return out;
}

const SourceSet& Provenance::sources(ENodeId n) {
  const ApplicationId made_by = egraph_.made_by(n);
  if (!made_by.valid()) return egraph_.own_sources(n);
  sets_.resize(egraph_.application_count());
  known_.resize(egraph_.application_count(), 0);
  // What a rule matched is older than what it made, so this ends; a stack, because the chain can be long.
  std::vector<ApplicationId> work{made_by};
  while (!work.empty()) {
    const ApplicationId id = work.back();
    if (known_[id.index] != 0) {
      work.pop_back();
      continue;
    }
    bool ready = true;
    SourceSet joined;
    for (const MatchWord word : egraph_.matched(id)) {
      if (word.none()) continue;
      const ApplicationId below = egraph_.made_by(word.node());
      if (below.valid() && known_[below.index] == 0) {
        work.push_back(below);
        ready = false;
      } else if (ready) {
        joined = graph::merge(joined, below.valid() ? sets_[below.index] : egraph_.own_sources(word.node()));
      }
    }
    if (!ready) continue;
    sets_[id.index] = std::move(joined);
    known_[id.index] = 1;
    work.pop_back();
  }
  return sets_[made_by.index];
}

Selection select_smallest(const Imported& imported) {
  const EGraph& egraph = imported.egraph;
  Index index;
  index.refresh(egraph);
  constexpr std::uint64_t kUnknown = std::numeric_limits<std::uint64_t>::max() / 2;
  std::vector<std::uint64_t> cost(egraph.node_count(), kUnknown);
  Selection selection{std::vector<ENodeId>(egraph.node_count())};
  cost[0] = 0;
  std::vector<EClassId> work(index.classes());
  std::vector<std::uint8_t> queued(egraph.node_count(), 1);
  for (std::size_t i = 0; i < work.size(); ++i) {
    const EClassId c = work[i];
    queued[c.index] = 0;
    bool improved = false;
    for (const auto& [op, n] : index.nodes(c)) {
      std::uint64_t sum = imported.origin(n).valid() || op == egraph.result_op() ? 2 : 3;
      for (const EClassId operand : egraph.operands(n)) sum = std::min(kUnknown, sum + cost[operand.index]);
      if (sum >= cost[c.index]) continue;
      cost[c.index] = sum;
      selection.choice[c.index] = n;
      improved = true;
    }
    if (!improved) continue;
    egraph.for_each_use(c, [&](ENodeId user, std::uint32_t) {
      const EClassId above = index.class_of(user);
      if (queued[above.index] != 0) return;
      queued[above.index] = 1;
      work.push_back(above);
    });
  }
  return selection;
}

namespace {

/// Writes the chosen nodes behind those of the source graph, whose old entry nodes are then dead.
class Rebuilder {
 public:
  Rebuilder(const Graph& source, const Imported& imported, const Selection& selection,
            std::map<std::string, ENodeId>* chosen)
      : chosen_(chosen),
        source_(source),
        imported_(imported),
        egraph_(imported.egraph),
        selection_(selection),
        out_(source),
        provenance_(egraph_),
        made_(egraph_.node_count()),
        state_(egraph_.node_count(), State::kNew),
        equal_sources_(egraph_.node_count()) {}

  Result<Graph> run() {
    for (std::size_t i = 0; i < imported_.origins.size(); ++i) {
      const ENodeId n(i);
      const SourceSet& own = egraph_.own_sources(n);
      SourceSet& all = equal_sources_[egraph_.find(term(n)).index];
      if (!own.empty() && !is_source(n)) all = graph::merge(all, own);
    }
    graph::Computation& entry = out_[out_.entry];
    entry.nodes.clear();
    entry.parameters.clear();
    for (const NodeId parameter : source_.entry_computation().parameters) {
      // Parameters are ports: they stay even where nobody reads them.
      const EClassId c = egraph_.find(imported_.at({parameter, 0}));
      const NodeId copy = append(parameter, {});
      out_[out_.entry].parameters.push_back(copy);
      parameters_.emplace_back(c, copy);
    }
    for (std::size_t i = 0; i < imported_.results.size(); ++i) {
      FW_TRY_STATUS(emit(egraph_.find(imported_.results[i])));
      out_[out_.entry].results[i] = value_of(egraph_.find(imported_.results[i]));
    }
    remap_captures();
    return graph::remove_dead(std::move(out_));
  }

 private:
  enum class State : std::uint8_t { kNew, kOpen, kDone };

  bool is_source(ENodeId n) const {
    const OpId op = egraph_[n].op;
    return op.index < egraph_.table().size() && egraph_.table()[op].op_class == ops::OpClass::kSource;
  }

  Status emit(EClassId root) {
    std::vector<EClassId> work{root};
    while (!work.empty()) {
      const EClassId c = work.back();
      State& state = state_[c.index];
      if (state == State::kDone || c == egraph_.none()) {
        work.pop_back();
        continue;
      }
      const ENodeId n = selection_[c];
      if (!n.valid()) return fail(ErrorKind::kCheckFailed, "a needed class has no chosen node");
      if (state == State::kNew) {
        state = State::kOpen;
        for (const EClassId operand : egraph_.operands(n)) {
          const EClassId below = egraph_.find(operand);
          if (state_[below.index] == State::kOpen)
            return fail(ErrorKind::kCheckFailed, "the chosen nodes form a cycle");
          work.push_back(below);
        }
        continue;
      }
      work.pop_back();
      if (state == State::kDone) continue;
      state = State::kDone;
      write(c, n);
    }
    return {};
  }

  Value value_of(EClassId c) const { return c == egraph_.none() ? Value() : made_[c.index]; }

  void write(EClassId c, ENodeId n) {
    if (egraph_[n].op == egraph_.result_op()) {
      made_[c.index] = {value_of(egraph_.find(egraph_.operands(n)[0])).node, egraph_.result_number(n)};
      return;
    }
    const NodeId origin = imported_.origin(n);
    if (origin.valid() && source_.info(origin).name == "parameter") {
      const std::size_t at = std::ranges::find(source_.entry_computation().parameters, origin) -
                             source_.entry_computation().parameters.begin();
      made_[c.index] = {parameters_[at].second, 0};
      return;
    }
    std::vector<Value> operands;
    for (const EClassId operand : egraph_.operands(n)) operands.push_back(value_of(egraph_.find(operand)));
    NodeId id;
    if (origin.valid()) {
      const std::size_t own = source_[origin].operands.size();
      operands.resize(std::max(own, operands.size()));
      const auto captured = captures(source_, origin);
      for (std::size_t i = 0; i < captured.size(); ++i) moved_captures_.emplace_back(captured[i], operands[own + i]);
      operands.resize(own);
      id = append(origin, std::move(operands));
    } else {
      id = append_new(n, c, std::move(operands));
    }
    Node& node = out_[id];
    node.sources = provenance_.sources(n);
    if (!is_source(n)) node.sources = graph::merge(node.sources, equal_sources_[c.index]);
    made_[c.index] = {id, 0};
    if (chosen_ != nullptr) chosen_->emplace(node.name, n);
  }

  NodeId append(NodeId original, std::vector<Value> operands) {
    const NodeId id(out_.nodes.size());
    Node node = source_[original];
    node.operands = std::move(operands);
    out_.nodes.push_back(std::move(node));
    out_[out_.entry].nodes.push_back(id);
    return id;
  }

  NodeId append_new(ENodeId n, EClassId c, std::vector<Value> operands) {
    graph::Builder builder(out_, out_.entry);
    const ops::Type& type = egraph_.type(c);
    std::vector<ops::Type> types = type.kind == ops::Type::Kind::kTuple ? type.elements : std::vector<ops::Type>{type};
    return builder.add_typed(egraph_[n].op, std::move(operands), egraph_.attrs(n), std::move(types))[0].node;
  }

  /// Bodies go on using the old nodes around them until this.
  void remap_captures() {
    if (moved_captures_.empty()) return;
    std::ranges::sort(moved_captures_);
    const auto remap = [&](Value& v) {
      if (!v.valid() || v.node.index >= source_.nodes.size() || source_[v.node].parent != source_.entry) return;
      const auto it = std::ranges::lower_bound(moved_captures_, v, {}, &std::pair<Value, Value>::first);
      if (it != moved_captures_.end() && it->first == v) v = it->second;
    };
    for (std::size_t i = 0; i < source_.nodes.size(); ++i) {
      if (source_.nodes[i].parent == source_.entry) continue;
      for (Value& v : out_.nodes[i].operands) remap(v);
    }
    for (graph::Computation& computation : out_.computations) {
      if (&computation == &out_[out_.entry]) continue;
      for (Value& v : computation.results) remap(v);
    }
  }

  std::map<std::string, ENodeId>* chosen_;
  const Graph& source_;
  const Imported& imported_;
  const EGraph& egraph_;
  const Selection& selection_;
  Graph out_;
  Provenance provenance_;
  std::vector<Value> made_;   // by canonical class; of a pack its first result
  std::vector<State> state_;  // by canonical class
  std::vector<SourceSet> equal_sources_;
  std::vector<std::pair<EClassId, NodeId>> parameters_;
  std::vector<std::pair<Value, Value>> moved_captures_;
};

}  // namespace

Result<Graph> to_graph(const Graph& source, const Imported& imported, const Selection& selection,
                       std::map<std::string, ENodeId>* chosen) {
  return Rebuilder(source, imported, selection, chosen).run();
}

}  // namespace fusewright::egraph
