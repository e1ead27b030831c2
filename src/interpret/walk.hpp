#pragma once

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "fusewright/interpret/evaluate.hpp"
#include "src/interpret/node.hpp"
#include "src/interpret/program.hpp"
#include "src/interpret/schedule.hpp"

namespace fusewright::interpret {

/// A node's nested computation as its operator sees it: as a program on elements where it is one, and as a function on
/// values.
template <class T>
struct Nested {
  const ScalarProgram* program = nullptr;
  std::function<Result<std::vector<T>>(std::vector<T>)> function;
};

/// The program on elements, each operation rounded as its node would be.
std::vector<Scalar> run_scalars(const ScalarProgram& program, std::span<const Scalar> args);

/// The nested computation on elements of the operands. The arguments are, of a combiner, one of each init and one of
/// each x (the operands are x..., init...: the same dtypes twice), of a comparator two of each operand.
template <class Domain>
Result<std::vector<Scalar>> run_nested(const Nested<typename Domain::Value>& nested, std::span<const Scalar> args,
                                       std::span<const Tensor> operands) {
  if (nested.program != nullptr && nested.program->parameters == args.size()) return run_scalars(*nested.program, args);
  const bool comparator = args.size() == 2 * operands.size();
  std::vector<typename Domain::Value> values;
  for (std::size_t k = 0; k < args.size(); ++k) {
    Tensor element = ops::scalar_tensor_int(operands[comparator ? k / 2 : k].dtype, 0);
    set_scalar(element, 0, args[k]);
    values.push_back(Domain::exact(std::move(element)));
  }
  FW_TRY(const auto results, nested.function(std::move(values)));
  std::vector<Scalar> out;
  for (const auto& result : results) {
    const Tensor& tensor = Domain::tensor(result);
    if (tensor.elements() != 1)
      return fail("its computation gives " + to_string(tensor.type()) + " where one element is wanted");
    out.push_back(get_scalar(tensor, 0));
  }
  return out;
}

/// Elements along a new first axis; none: zero of them, of the stated type.
Result<Tensor> stack_tensors(std::span<const Tensor> elements, const ops::Type& element);
std::unexpected<Error> cannot_evaluate(const ops::OpInfo& info, const ops::Attrs& attrs);

/// A graph of the node's own body: the composite's operands are parameters in order, those left out have no storage.
/// The graph refers to `table`, which must outlive it.
Result<graph::Graph> composite_graph(const ops::OpTable& table, ops::OpId op, std::span<const Tensor> operands,
                                     const ops::Attrs& attrs);
/// Types of the results of a node whose stated types are not all static, by its operands.
Result<std::vector<ops::Type>> actual_types(const ops::OpTable& table, ops::OpId op, std::span<const Tensor> operands,
                                            const ops::Attrs& attrs);
/// The failure with the node's name, operator and place in front.
Error at_node(const graph::Graph& graph, graph::NodeId id, Error error);
Status check_inputs(const graph::Graph& graph, std::span<const Tensor> inputs);

/// Walks a graph in order and runs its control flow, over any kind of values: a Domain says what a value is and what
/// the operators do to it.
///   using Value;                                   cheap to copy; Value{} is an operand left out
///   static const Tensor& tensor(const Value&);     its tensor, of type and (where certain) contents
///   static Value exact(Tensor);
///   Result<std::vector<Value>> node(const ops::OpInfo&, std::span<const Value>, const ops::Attrs&,
///                                   std::span<const ops::Type>, std::uint64_t seed, const Nested<Value>*);
///   Result<std::int64_t> decide(const Value&);     of a scalar that control flow hangs on
///   Result<Value> stack(std::span<const Value>, const ops::Type& element);   along a new first axis
template <class Domain>
class Walker {
 public:
  using Value = typename Domain::Value;
  using Values = std::vector<Value>;
  using Observer = std::function<void(graph::Value, const Value&)>;

  Walker(const graph::Graph& graph, Domain& domain, const EvaluateOptions& options, int depth = 0)
      : graph_(graph), domain_(domain), options_(options), schedule_(make_schedule(graph)), depth_(depth) {}

  /// Results of the entry. `observer` sees the entry's values; nodes that are not `needed` (empty: all are) are left
  /// out.
  Result<Values> run_entry(Values inputs, const Observer& observer = {}, const std::vector<bool>& needed = {}) {
    observer_ = observer;
    needed_ = needed;
    return run(graph_.entry, std::move(inputs), nullptr);
  }

 private:
  // The values of one run of one computation, by position of the node and result.
  struct Frame {
    graph::ComputationId computation;
    std::vector<Values> slots;
    Frame* outer;
  };

  static constexpr int kMaxDepth = 200;  // of bodies within bodies and composites within composites

  Result<Values> run(graph::ComputationId id, Values args, Frame* outer) {
    const graph::Computation& computation = graph_[id];
    if (args.size() != computation.parameters.size())
      return fail("computation '" + computation.name + "' takes " + std::to_string(computation.parameters.size()) +
                  " operands, not " + std::to_string(args.size()));
    if (depth_ >= kMaxDepth) return fail(ErrorKind::kUnsupported, "computations are nested too deeply");
    ++depth_;
    Frame frame{id, std::vector<Values>(computation.nodes.size()), outer};
    for (std::size_t i = 0; i < args.size(); ++i)
      frame.slots[schedule_.position[computation.parameters[i].index]].push_back(std::move(args[i]));
    for (std::size_t i = 0; i < computation.nodes.size(); ++i) {
      const graph::NodeId node = computation.nodes[i];
      const bool entry = id == graph_.entry;
      if (entry && !needed_.empty() && !needed_[node.index]) continue;
      if (frame.slots[i].empty() && !is_parameter(node)) {
        Result<Values> results = run_node(node, frame);
        if (!results) return std::unexpected(at_node(graph_, node, std::move(results).error()));
        frame.slots[i] = *std::move(results);
      }
      if (entry && observer_)
        for (std::uint32_t r = 0; r < frame.slots[i].size(); ++r) observer_({node, r}, frame.slots[i][r]);
      for (const graph::Value dead : schedule_.dies[id.index][i]) release(frame, dead);
    }
    Values results;
    for (const graph::Value result : computation.results) {
      if (id == graph_.entry && !needed_.empty()) break;  // the observer has what was wanted
      FW_TRY(Value value, read(result, &frame));
      results.push_back(std::move(value));
    }
    --depth_;
    return results;
  }

  bool is_parameter(graph::NodeId id) const { return graph_.info(id).name == "parameter"; }

  void release(Frame& frame, graph::Value value) {
    Values& slot = frame.slots[schedule_.position[value.node.index]];
    if (value.result < slot.size()) slot[value.result] = Value{};
  }

  // The frame of the value's own computation: this one or, for a captured value, one around it.
  Result<Value> read(graph::Value value, Frame* frame) {
    if (!value.valid()) return Value{};
    const graph::ComputationId home = graph_[value.node].parent;
    while (frame != nullptr && frame->computation != home) frame = frame->outer;
    if (frame == nullptr) return fail("value '" + graph_[value.node].name + "' is not visible here");
    const Values& slot = frame->slots[schedule_.position[value.node.index]];
    if (value.result >= slot.size()) return fail("value '" + graph_[value.node].name + "' has not been computed");
    return slot[value.result];
  }

  Result<Values> run_node(graph::NodeId id, Frame& frame) {
    const graph::Node& node = graph_[id];
    const ops::OpInfo& info = graph_.info(id);
    Values operands;
    for (const graph::Value operand : node.operands) {
      FW_TRY(Value value, read(operand, &frame));
      operands.push_back(std::move(value));
    }
    if (info.name == "while") return run_while(node, std::move(operands), frame);
    if (info.name == "conditional") return run_conditional(node, std::move(operands), frame);
    if (info.name == "loop") return run_loop(node, std::move(operands), frame);
    if (info.name == "call") return run_body(node, 0, std::move(operands), frame);
    if (info.body) return run_composite(node, operands);
    std::vector<ops::Type> types = node.types;
    if (!std::ranges::all_of(types, [](const ops::Type& type) { return ops::is_static(type.shape); })) {
      FW_TRY(types, actual_types(*graph_.table, node.op, tensors_of(operands), node.attrs));
    }
    const std::uint64_t seed = hash_mix(hash_mix(options_.seed, id.index), random_runs_);
    if (info.op_class == ops::OpClass::kEffect) ++random_runs_;
    Nested<Value> nested;
    if (!node.computations.empty()) nested = nested_body(node, frame);
    return domain_.node(info, operands, node.attrs, types, seed, node.computations.empty() ? nullptr : &nested);
  }

  static Tensors tensors_of(const Values& values) {
    Tensors out;
    for (const Value& value : values) out.push_back(Domain::tensor(value));
    return out;
  }

  Nested<Value> nested_body(const graph::Node& node, Frame& frame) {
    const graph::ComputationId body = node.computations[0];
    auto at = programs_.find(body.index);
    if (at == programs_.end()) at = programs_.emplace(body.index, compile_scalar_program(graph_, body)).first;
    return {at->second ? &*at->second : nullptr,
            [this, body, &frame](Values args) { return run(body, std::move(args), &frame); }};
  }

  Result<Values> run_body(const graph::Node& node, std::size_t which, Values args, Frame& frame) {
    if (which >= node.computations.size()) return fail("it has no computation " + std::to_string(which));
    return run(node.computations[which], std::move(args), &frame);
  }

  Result<Values> run_composite(const graph::Node& node, const Values& operands) {
    if (depth_ >= kMaxDepth) return fail(ErrorKind::kUnsupported, "computations are nested too deeply");
    FW_TRY(const graph::Graph body, composite_graph(*graph_.table, node.op, tensors_of(operands), node.attrs));
    Values args;
    for (const Value& operand : operands)
      if (present(Domain::tensor(operand))) args.push_back(operand);
    return Walker(body, domain_, options_, depth_ + 1).run_entry(std::move(args));
  }

  Result<Values> run_while(const graph::Node& node, Values values, Frame& frame) {
    for (std::int64_t i = 0; i < options_.max_iterations; ++i) {
      FW_TRY(const Values condition, run_body(node, 0, values, frame));
      if (condition.size() != 1) return fail("its condition has " + std::to_string(condition.size()) + " results");
      FW_TRY(const std::int64_t go_on, domain_.decide(condition[0]));
      if (go_on == 0) return values;
      FW_TRY(values, run_body(node, 1, std::move(values), frame));
    }
    return too_long();
  }

  Result<Values> run_conditional(const graph::Node& node, Values operands, Frame& frame) {
    if (operands.empty() || node.computations.empty()) return fail("a conditional without index or branches");
    FW_TRY(std::int64_t index, domain_.decide(operands[0]));
    const auto last = static_cast<std::int64_t>(node.computations.size()) - 1;
    if (Domain::tensor(operands[0]).dtype == DType::kPred) index = index != 0 ? 0 : 1;
    if (index < 0 || index > last) index = last;
    operands.erase(operands.begin());
    return run_body(node, static_cast<std::size_t>(index), std::move(operands), frame);
  }

  // ONNX's: the body takes (iteration, condition, x...) and gives (condition, x..., one element of each scan).
  Result<Values> run_loop(const graph::Node& node, Values operands, Frame& frame) {
    if (operands.size() < 2 || node.computations.size() != 1) return fail("a loop without its operands or body");
    const auto scans = static_cast<std::size_t>(node.attrs.template get_or<std::int64_t>("scans", 0));
    std::int64_t trips = std::numeric_limits<std::int64_t>::max();
    if (present(Domain::tensor(operands[0]))) {
      FW_TRY(trips, domain_.decide(operands[0]));
    }
    Value condition = operands[1];
    if (!present(Domain::tensor(condition))) condition = Domain::exact(ops::scalar_tensor_int(DType::kPred, 1));
    Values carried(operands.begin() + 2, operands.end());
    std::vector<Values> scanned(scans);
    for (std::int64_t i = 0; i < trips; ++i) {
      FW_TRY(const std::int64_t go_on, domain_.decide(condition));
      if (go_on == 0) break;
      if (i == options_.max_iterations) return too_long();
      Values args = {Domain::exact(ops::scalar_tensor_int(DType::kS64, i)), condition};
      args.insert(args.end(), carried.begin(), carried.end());
      FW_TRY(Values results, run_body(node, 0, std::move(args), frame));
      if (results.size() != 1 + carried.size() + scans)
        return fail("its body has " + std::to_string(results.size()) + " results, not " +
                    std::to_string(1 + carried.size() + scans));
      condition = results[0];
      std::move(results.begin() + 1, results.begin() + 1 + static_cast<std::ptrdiff_t>(carried.size()),
                carried.begin());
      for (std::size_t s = 0; s < scans; ++s) scanned[s].push_back(std::move(results[1 + carried.size() + s]));
    }
    const std::vector<graph::Value>& body_results = graph_[node.computations[0]].results;
    for (std::size_t s = 0; s < scans; ++s) {
      const std::size_t at = body_results.size() - scans + s;
      FW_TRY(Value stacked, domain_.stack(scanned[s], graph_.type(body_results[at])));
      carried.push_back(std::move(stacked));
    }
    return carried;
  }

  std::unexpected<Error> too_long() const {
    return fail(ErrorKind::kResource,
                "its loop does not end within " + std::to_string(options_.max_iterations) + " iterations");
  }

  const graph::Graph& graph_;
  Domain& domain_;
  const EvaluateOptions& options_;
  Schedule schedule_;
  std::map<std::uint32_t, std::optional<ScalarProgram>> programs_;  // by computation
  Observer observer_;
  std::vector<bool> needed_;
  std::uint64_t random_runs_ = 0;
  int depth_;
};

}  // namespace fusewright::interpret
