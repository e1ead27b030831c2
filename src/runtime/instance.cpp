#include "fusewright/runtime/instance.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <thread>

#include "fusewright/interpret/evaluate.hpp"
#include "fusewright/support/check.hpp"

namespace fusewright::runtime {

using ops::Tensor;
using plan::Plan;
using plan::Value;

namespace {

const Tensor* find(const std::vector<std::pair<Value, Tensor>>& sorted, Value value) {
  const auto at =
      std::lower_bound(sorted.begin(), sorted.end(), value, [](const auto& entry, Value v) { return entry.first < v; });
  return at != sorted.end() && at->first == value ? &at->second : nullptr;
}

void* address_of(const Tensor& t) { return t.storage->data() + t.offset; }

// The same bytes under the extents of another tensor type.
Tensor seen_as(Tensor tensor, const ops::Type& type) {
  tensor.dims = ops::static_dims(type.shape);
  return tensor;
}

}  // namespace

const Tensor* Instance::constant(Value value) const { return find(constants_, value); }

// Weights are folded by the reference evaluator: once, and to the last bit as the model says.
Status Instance::fold_constants() {
  const graph::Graph& graph = plan_->graph;
  std::map<Value, Tensor> known;
  for (const graph::NodeId id : graph.entry_computation().nodes)
    if (graph.info(id).name == "constant")
      known.emplace(Value{id, 0}, *graph[id].attrs.get<ops::TensorHandle>("value"));
  for (const graph::NodeId id : plan_->load_time) {
    const graph::Node& node = graph[id];
    std::vector<Tensor> operands;
    for (const Value v : node.operands) operands.push_back(v.valid() ? known.at(v) : Tensor{});
    Result<std::vector<Tensor>> results =
        interpret::evaluate_node(*graph.table, node.op, operands, node.attrs, node.types);
    if (!results) return std::unexpected(with_context(results.error(), fmt::format("folding '{}'", node.name)));
    for (std::uint32_t r = 0; r < results->size(); ++r) known[{id, r}] = std::move((*results)[r]);
  }
  constants_.assign(known.begin(), known.end());
  return {};
}

Result<Tensor> Instance::output(Value value) {
  for (auto& [v, tensor] : outputs_)
    if (v == value && tensor.storage.use_count() == 1) return tensor;
  const ops::Type& type = plan_->graph.type(value);
  FW_TRY(Tensor made, ops::make_tensor(type.dtype, ops::static_dims(type.shape)));
  std::erase_if(outputs_, [&](const auto& entry) { return entry.first == value; });
  outputs_.emplace_back(value, made);
  return made;
}

Result<Instance> Instance::make(std::shared_ptr<const Plan> plan, const std::vector<kernel::Kernel>& kernels,
                                std::unique_ptr<kernel::Executable> executable) {
  for (const plan::Group& group : plan->groups) {
    if (group.unsupported.empty()) continue;
    const graph::Node& node = plan->graph[group.nodes.front()];
    // By the name and operator that the file has for it, where it comes from the file.
    graph::SourceNode source{node.name, plan->graph.info(group.nodes.front()).name, {}};
    if (!node.sources.empty()) source = plan->graph.sources[node.sources.front().index];
    return fail(
        ErrorKind::kUnsupported,
        fmt::format("the runtime does not execute node '{}' ({}): {}", source.name, source.op, group.unsupported),
        source.span);
  }
  FW_CHECK(kernels.size() == plan->groups.size());
  Instance instance;
  instance.plan_ = std::move(plan);
  instance.executable_ = std::move(executable);
  FW_TRY_STATUS(instance.fold_constants());

  const plan::BufferPlan buffers = plan::plan_buffers(*instance.plan_);
  instance.arena_bytes_ = buffers.arena_bytes;
  FW_TRY(const auto arena, ops::allocate_storage(static_cast<std::size_t>(buffers.arena_bytes)));
  for (const auto& slot : buffers.slots) {
    const ops::Type& type = instance.plan_->graph.type(slot.value);
    instance.slots_.emplace_back(
        slot.value, Tensor{type.dtype, ops::static_dims(type.shape), arena, static_cast<std::size_t>(slot.offset)});
  }
  for (const kernel::Kernel& kernel : kernels) {
    auto& temporaries = instance.temporaries_.emplace_back();
    for (const kernel::Buffer& b : kernel.buffers)
      if (b.space == kernel::Space::kGlobal && b.role >= kernel::Buffer::Role::kTemporary) {
        FW_TRY(Tensor made, ops::make_tensor(b.dtype, {b.elements}));
        temporaries.push_back(std::move(made));
      }
  }
  FW_TRY_STATUS(instance.prepare(kernels));
  return instance;
}

Status Instance::prepare(const std::vector<kernel::Kernel>& kernels) {
  std::map<Value, Value> views;
  for (const plan::View& view : plan_->views) views.emplace(view.value, view.of);
  for (std::size_t g = 0; g < kernels.size(); ++g) {
    if (kernels[g].prepare.empty()) continue;
    std::vector<void*> addresses;
    for (Value v : plan_->groups[g].inputs) {
      for (auto at = views.find(v); at != views.end(); at = views.find(v)) v = at->second;
      const Tensor* known = constant(v);
      addresses.push_back(known != nullptr ? address_of(*known) : nullptr);
    }
    addresses.insert(addresses.end(), plan_->groups[g].outputs.size(), nullptr);
    for (const Tensor& t : temporaries_[g]) addresses.push_back(address_of(t));
    const int threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    FW_TRY_STATUS(executable_->prepare(g, addresses, threads));
  }
  return {};
}

Result<std::vector<Tensor>> Instance::run(std::span<const Tensor> inputs, int threads, std::vector<GroupRun>* groups,
                                          const GroupObserver& observer) {
  const graph::Graph& graph = plan_->graph;
  const graph::Computation& entry = graph.entry_computation();
  FW_CHECK(inputs.size() == entry.parameters.size());
  std::map<Value, Tensor> made;  // parameters and outputs
  for (std::size_t i = 0; i < inputs.size(); ++i) made.emplace(Value{entry.parameters[i], 0}, inputs[i]);
  std::map<Value, Value> views;
  for (const plan::View& view : plan_->views) views.emplace(view.value, view.of);

  const auto tensor_of = [&](Value value) -> Tensor {
    Value storage = value;
    for (auto at = views.find(storage); at != views.end(); at = views.find(storage)) storage = at->second;
    const Tensor* found = nullptr;
    if (const auto at = made.find(storage); at != made.end()) found = &at->second;
    if (found == nullptr) found = find(constants_, storage);
    if (found == nullptr) found = find(slots_, storage);
    FW_CHECK(found != nullptr) << "no memory for " << graph[value.node].name;
    return seen_as(*found, graph.type(value));
  };

  if (groups != nullptr) groups->assign(plan_->groups.size(), {});
  for (std::size_t g = 0; g < plan_->groups.size(); ++g) {
    const plan::Group& group = plan_->groups[g];
    std::vector<Tensor> in, out;
    for (const Value v : group.inputs) in.push_back(tensor_of(v));
    for (const Value v : group.outputs) {
      if (find(slots_, v) == nullptr && !made.contains(v)) {
        FW_TRY(Tensor own, output(v));
        made.emplace(v, std::move(own));
      }
      out.push_back(tensor_of(v));
    }
    std::vector<void*> addresses;
    for (const auto* list : {&in, &out, &temporaries_[g]})
      for (const Tensor& t : *list) addresses.push_back(address_of(t));
    const auto start = std::chrono::steady_clock::now();
    if (const Status ran = executable_->run(g, addresses, threads); !ran)
      return std::unexpected(with_context(ran.error(), fmt::format("group {}", group.name)));
    if (groups != nullptr) {
      (*groups)[g].seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      (*groups)[g].counters = executable_->counters(g);
    }
    if (observer) FW_TRY_STATUS(observer(g, in, out));
  }
  std::vector<Tensor> results;
  for (const Value v : entry.results) results.push_back(tensor_of(v));
  return results;
}

}  // namespace fusewright::runtime
