#include "fusewright/frontend/hlo/export.hpp"

#include <algorithm>
#include <limits>

#include "fusewright/graph/algorithms.hpp"
#include "src/frontend/hlo/exporter.hpp"
#include "src/frontend/hlo/opcodes.hpp"

namespace fusewright::frontend_hlo {

std::string print_type(const Type& type) {
  if (type.kind == Type::Kind::kToken) return "token[]";
  return ops::to_string(type);
}

std::string print_tuple_type(const std::vector<Type>& types) {
  std::string out = "(";
  for (std::size_t i = 0; i < types.size(); ++i) out += (i == 0 ? "" : ", ") + print_type(types[i]);
  return out + ")";
}

std::string print_list(const Ints& numbers) {
  std::string out = "{";
  for (std::size_t i = 0; i < numbers.size(); ++i) out += (i == 0 ? "" : ",") + std::to_string(numbers[i]);
  return out + "}";
}

std::string clean_name(std::string_view name) {
  std::string out;
  for (const char c : name) {
    const bool fine =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-';
    out += fine ? c : '_';
  }
  const char first = out.empty() ? '0' : out[0];
  const bool starts_well = (first >= 'a' && first <= 'z') || (first >= 'A' && first <= 'Z') || first == '_';
  return starts_well ? out : "v" + out;
}

namespace {

// Each name that is taken has the number that its next namesake tries first.
std::string unique(std::map<std::string, std::size_t>& taken, const std::string& stem) {
  const auto [at, is_new] = taken.emplace(stem, 1);
  if (is_new) return stem;
  for (;;) {
    std::string name = stem + "." + std::to_string(at->second++);
    if (taken.emplace(name, 1).second) return name;
  }
}

std::string print_computation(const std::string& head, const std::vector<std::string>& lines) {
  std::string out = head + " {\n";
  for (const std::string& line : lines) out += "  " + line + "\n";
  return out + "}\n";
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  return out + "\"";
}

}  // namespace

// --- Instructions --------------------------------------------------------------------------------------

std::string Exporter::emit(Body& body, std::string_view stem, const std::string& shape, std::string_view opcode,
                           const std::vector<std::string>& operands, const std::string& attributes) const {
  const std::string name = unique(body.names, clean_name(stem));
  std::string line = "%" + name + " = " + shape + " " + std::string(opcode) + "(";
  for (std::size_t i = 0; i < operands.size(); ++i) line += (i == 0 ? "" : ", ") + operands[i];
  line += ")" + (attributes.empty() ? "" : ", " + attributes) + body.metadata;
  body.line_of["%" + name] = body.lines.size();
  body.lines.push_back(std::move(line));
  return "%" + name;
}

std::string Exporter::constant(Body& body, DType dtype, const std::string& literal) const {
  return emit(body, "constant", std::string(ops::name(dtype)) + "[]", "constant", {literal});
}

std::string Exporter::splat(Body& body, const Type& type, const std::string& literal) const {
  const std::string scalar = constant(body, type.dtype, literal);
  if (type.shape.empty()) return scalar;
  return emit(body, "broadcast", print_type(type), "broadcast", {scalar}, "dimensions={}");
}

std::string Exporter::identity(std::string_view reduction, DType dtype) {
  const bool is_pred = dtype == DType::kPred;
  if (reduction == "sum" || reduction == "or") return is_pred ? "false" : "0";
  if (reduction == "prod") return is_pred ? "true" : "1";
  const bool is_max = reduction == "max";
  if (ops::is_float(dtype)) return is_max ? "-inf" : "inf";
  if (is_pred) return is_max ? "false" : "true";
  const int bits = ops::bit_width(dtype);
  const std::uint64_t ones = std::numeric_limits<std::uint64_t>::max() >> (64 - bits);
  if (ops::is_unsigned_integer(dtype)) return is_max ? "0" : std::to_string(ones);
  if (reduction == "and") return "-1";
  const std::int64_t highest = static_cast<std::int64_t>(ones >> 1);
  return std::to_string(is_max ? -highest - 1 : highest);
}

std::vector<std::string> Exporter::operands(const Body& body, const Node& node) const {
  std::vector<std::string> names;
  for (const Value value : node.operands)
    if (value.valid()) names.push_back(body.values.at(value));
  return names;
}

void Exporter::bind_tuple(Body& body, NodeId id, const std::string& tuple) const {
  const Node& node = graph[id];
  for (std::uint32_t i = 0; i < node.types.size(); ++i)
    body.values[{id, i}] =
        emit(body, node.name, print_type(node.types[i]), "get-tuple-element", {tuple}, "index=" + std::to_string(i));
}

std::unexpected<Error> Exporter::unsupported(const Node& node, const std::string& why) const {
  const graph::SourceNode* source = node.sources.empty() ? nullptr : &graph.sources[node.sources[0].index];
  return fail(ErrorKind::kUnsupported, "node '" + node.name + "': " + why, source != nullptr ? source->span : Span());
}

// The model's own names of the node, for whoever reads the text.
void Exporter::begin_node(Body& body, const Node& node) const {
  constexpr std::size_t kMostNames = 4;
  std::string names;
  for (std::size_t i = 0; i < node.sources.size() && i < kMostNames; ++i)
    names += (i == 0 ? "" : ";") + graph.sources[node.sources[i].index].name;
  body.metadata = names.empty() ? "" : ", metadata={op_name=" + quoted(names) + "}";
}

Status Exporter::print_node(Body& body, NodeId id) {
  const Node& node = graph[id];
  begin_node(body, node);
  for (const Type& type : node.types)
    if (type.is_tensor() && !ops::is_static(type.shape))
      return unsupported(node, "its shape " + ops::to_string(type) + " is symbolic");
  const std::string& op = graph.info(id).name;
  if (const OpPrinter printer = find_printer(op)) return printer(*this, body, id);
  const ElementwiseOpcode* row = find_elementwise_op(op);
  if (row == nullptr) return unsupported(node, "operator '" + op + "' has no form in HLO");
  bind(body, id, emit(body, node.name, print_type(node.types[0]), row->opcode, operands(body, node)));
  return {};
}

// --- Computations --------------------------------------------------------------------------------------

std::string Exporter::unique_computation(std::string_view stem) { return unique(computation_names_, clean_name(stem)); }

std::string Exporter::computation(std::string_view stem, const std::vector<std::string>& lines) {
  const std::string name = "%" + unique_computation(stem);
  computations += print_computation(name, lines) + "\n";
  return name;
}

std::string Exporter::shared(const std::string& stem, const std::vector<std::string>& lines) {
  const auto at = shared_.find(stem);
  if (at != shared_.end()) return at->second;
  return shared_[stem] = computation(stem, lines);
}

std::string Exporter::binary(std::string_view opcode, DType dtype) {
  const std::string scalar = std::string(ops::name(dtype)) + "[]";
  return shared(std::string(opcode) + "_" + std::string(ops::name(dtype)),
                {"%a = " + scalar + " parameter(0)", "%b = " + scalar + " parameter(1)",
                 "ROOT %result = " + scalar + " " + std::string(opcode) + "(%a, %b)"});
}

// Marks the root; what is several things, or must be a tuple, is packed.
std::string Exporter::finish(Body& body, const std::vector<std::string>& results, const std::vector<Type>& types,
                             bool as_tuple) const {
  body.metadata.clear();
  std::string root;
  if (as_tuple || results.size() != 1)
    root = emit(body, "tuple", print_tuple_type(types), "tuple", results);
  else
    root = results[0];
  std::string& line = body.lines[body.line_of.at(root)];
  line = "ROOT " + line;
  return root;
}

std::vector<Value> Exporter::captures(ComputationId id) const {
  std::vector<Value> found;
  std::set<Value> seen;
  std::set<std::uint32_t> inside;
  std::vector<ComputationId> work = {id};
  std::vector<Value> used;
  while (!work.empty()) {
    const ComputationId next = work.back();
    work.pop_back();
    inside.insert(next.index);
    for (const NodeId node : graph[next].nodes) {
      used.insert(used.end(), graph[node].operands.begin(), graph[node].operands.end());
      work.insert(work.end(), graph[node].computations.begin(), graph[node].computations.end());
    }
    used.insert(used.end(), graph[next].results.begin(), graph[next].results.end());
  }
  for (const Value value : used)
    if (value.valid() && !inside.contains(graph[value.node].parent.index) && seen.insert(value).second)
      found.push_back(value);
  return found;
}

Result<std::string> Exporter::nested(ComputationId id, Parameters kind, Results form,
                                     const std::vector<Value>& captured) {
  const graph::Computation& computation = graph[id];
  Body body;
  std::vector<Value> parameters;
  std::vector<Type> types;
  for (const NodeId parameter : computation.parameters) parameters.push_back({parameter, 0});
  parameters.insert(parameters.end(), captured.begin(), captured.end());
  for (const Value value : parameters) types.push_back(type(value));
  const std::string tuple =
      kind == Parameters::kTuple ? emit(body, "state", print_tuple_type(types), "parameter", {"0"}) : "";
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const std::string number = std::to_string(i);
    body.values[parameters[i]] =
        kind == Parameters::kTuple
            ? emit(body, "p" + number, print_type(types[i]), "get-tuple-element", {tuple}, "index=" + number)
            : emit(body, "p" + number, print_type(types[i]), "parameter", {number});
  }
  for (const NodeId node : computation.nodes)
    if (graph.info(node).name != "parameter") FW_TRY_STATUS(print_node(body, node));
  std::vector<Value> results = computation.results;
  if (form == Results::kTupleWithCaptures) results.insert(results.end(), captured.begin(), captured.end());
  std::vector<std::string> names;
  std::vector<Type> result_types;
  for (const Value value : results) {
    names.push_back(body.values.at(value));
    result_types.push_back(type(value));
  }
  finish(body, names, result_types, form != Results::kPlain);
  return this->computation(computation.name, body.lines);
}

// --- The entry: single nodes and groups in an order that serves them all -------------------------------------

namespace {

class EntryPrinter {
 public:
  EntryPrinter(Exporter& exporter, const std::vector<FusionGroup>& groups) : e_(exporter), groups_(groups) {}

  Result<std::string> run() {
    Body body;
    for (std::size_t g = 0; g < groups_.size(); ++g)
      for (const Value output : groups_[g].outputs) group_of_.emplace(output, g);
    const graph::Computation& entry = e_.graph.entry_computation();
    for (std::size_t i = 0; i < entry.nodes.size(); ++i) position_[entry.nodes[i]] = i;
    for (std::size_t i = 0; i < entry.parameters.size(); ++i) print_parameter(body, i);
    FW_TRY(const std::vector<Unit> order, schedule());
    for (const Unit& unit : order) {
      FW_TRY_STATUS(unit.is_group ? print_group(body, groups_[unit.index]) : e_.print_node(body, NodeId(unit.index)));
    }
    std::vector<std::string> results;
    std::vector<Type> types;
    for (const Value value : entry.results) {
      results.push_back(body.values.at(value));
      types.push_back(e_.type(value));
    }
    e_.finish(body, results, types, false);
    return print_computation("ENTRY %" + e_.unique_computation("main"), body.lines);
  }

 private:
  struct Unit {
    bool is_group = false;
    std::size_t index = 0;
    auto operator<=>(const Unit&) const = default;
  };

  void print_parameter(Body& body, std::size_t index) {
    const graph::Port& port = e_.graph.inputs[index];
    const NodeId node = e_.graph.entry_computation().parameters[index];
    Exporter::bind(body, node, e_.emit(body, port.name, print_type(port.type), "parameter", {std::to_string(index)}));
  }

  Unit unit_of(Value value) const {
    const auto group = group_of_.find(value);
    return group == group_of_.end() ? Unit{false, value.node.index} : Unit{true, group->second};
  }

  bool is_parameter(Value value) const { return e_.graph.info(value.node).name == "parameter"; }

  // What a unit reads, its own inside left out. Operands that a group does not list are inputs too, but constants.
  std::vector<Value> reads(const Unit& unit) const {
    std::vector<Value> values;
    if (unit.is_group) return inputs(groups_[unit.index]);
    const Node& node = e_.graph[NodeId(unit.index)];
    for (const Value value : node.operands)
      if (value.valid()) values.push_back(value);
    for (const ComputationId body : node.computations)
      for (const Value value : e_.captures(body)) values.push_back(value);
    return values;
  }

  std::vector<Value> inputs(const FusionGroup& group) const {
    const std::set<NodeId> inside(group.nodes.begin(), group.nodes.end());
    std::vector<Value> values = group.inputs;
    std::set<Value> listed(values.begin(), values.end());
    for (const NodeId id : group.nodes) {
      std::vector<Value> used = e_.graph[id].operands;
      for (const ComputationId body : e_.graph[id].computations)
        for (const Value value : e_.captures(body)) used.push_back(value);
      for (const Value value : used)
        if (value.valid() && !inside.contains(value.node) && !is_inner_constant(value) && listed.insert(value).second)
          values.push_back(value);
    }
    return values;
  }

  bool is_inner_constant(Value value) const {
    const std::string& op = e_.graph.info(value.node).name;
    return op == "constant" || op == "iota";
  }

  std::size_t place(const Unit& unit) const {
    if (!unit.is_group) return position_.at(NodeId(unit.index));
    std::size_t last = 0;
    for (const NodeId node : groups_[unit.index].nodes) last = std::max(last, position_.at(node));
    return last;
  }

  // Needed units, each behind those it reads, otherwise as they stand in the graph.
  Result<std::vector<Unit>> schedule() const {
    std::map<Unit, std::set<Unit>> readers;
    std::set<Unit> needed;
    std::vector<Unit> work;
    const auto need = [&](Value value) {
      const Unit unit = unit_of(value);
      if (needed.insert(unit).second) work.push_back(unit);
      return unit;
    };
    for (const Value value : e_.graph.entry_computation().results)
      if (!is_parameter(value)) need(value);
    while (!work.empty()) {
      const Unit unit = work.back();
      work.pop_back();
      for (const Value value : reads(unit)) {
        if (is_parameter(value)) continue;
        const Unit maker = need(value);
        if (maker != unit) readers[maker].insert(unit);
      }
    }
    std::vector<Unit> units(needed.begin(), needed.end());
    std::sort(units.begin(), units.end(), [&](const Unit& a, const Unit& b) { return place(a) < place(b); });
    std::map<Unit, std::size_t> number;
    for (std::size_t i = 0; i < units.size(); ++i) number[units[i]] = i;
    std::vector<std::pair<std::size_t, std::size_t>> edges;
    for (const auto& [maker, all] : readers)
      for (const Unit& reader : all) edges.emplace_back(number[maker], number[reader]);
    const auto order = graph::stable_order(units.size(), std::move(edges));
    if (!order) return fail(ErrorKind::kUnsupported, "fusion groups need each other's outputs");
    std::vector<Unit> out;
    for (const std::size_t i : *order) out.push_back(units[i]);
    return out;
  }

  Status print_group(Body& body, const FusionGroup& group) {
    const std::vector<Value> from = inputs(group);
    Body fused;
    std::vector<std::string> operands;
    for (std::size_t i = 0; i < from.size(); ++i) {
      const std::string number = std::to_string(i);
      fused.values[from[i]] = e_.emit(fused, "param_" + number, print_type(e_.type(from[i])), "parameter", {number});
      operands.push_back(body.values.at(from[i]));
    }
    for (const NodeId id : group.nodes) {
      for (const Value value : e_.graph[id].operands)
        if (value.valid() && is_inner_constant(value) && !fused.values.contains(value))
          FW_TRY_STATUS(e_.print_node(fused, value.node));
      if (!fused.values.contains({id, 0})) FW_TRY_STATUS(e_.print_node(fused, id));
    }
    std::vector<std::string> results;
    std::vector<Type> types;
    for (const Value value : group.outputs) {
      results.push_back(fused.values.at(value));
      types.push_back(e_.type(value));
    }
    e_.finish(fused, results, types, false);
    const std::string called = e_.computation("fused_" + group.name, fused.lines);
    body.metadata.clear();
    const bool single = types.size() == 1;
    const std::string name = e_.emit(body, group.name, single ? print_type(types[0]) : print_tuple_type(types),
                                     "fusion", operands, "kind=" + group.kind + ", calls=" + called);
    if (single) body.values[group.outputs[0]] = name;
    for (std::size_t i = 0; !single && i < types.size(); ++i)
      body.values[group.outputs[i]] =
          e_.emit(body, group.name, print_type(types[i]), "get-tuple-element", {name}, "index=" + std::to_string(i));
    return {};
  }

  Exporter& e_;
  const std::vector<FusionGroup>& groups_;
  std::map<Value, std::size_t> group_of_;
  std::map<NodeId, std::size_t> position_;
};

}  // namespace

Result<std::string> export_hlo(const graph::Graph& graph, const std::vector<FusionGroup>& groups,
                               const ExportOptions& options) {
  for (const graph::Port& port : graph.inputs)
    if (!port.type.is_tensor() || !ops::is_static(port.type.shape))
      return fail(ErrorKind::kUnsupported,
                  "input '" + port.name + "' is " + ops::to_string(port.type) + ", not a tensor of known shape");
  Exporter exporter(graph, options);
  FW_TRY(const std::string entry, EntryPrinter(exporter, groups).run());
  return "HloModule " + clean_name(graph.name.empty() ? "module" : graph.name) + "\n\n" + exporter.computations + entry;
}

}  // namespace fusewright::frontend_hlo
