#include <algorithm>

#include "elements.hpp"
#include "templates.hpp"

namespace fusewright::kernel {

namespace {

using region::ValueId;
using Ints = std::vector<std::int64_t>;

bool contains(const Ints& list, std::int64_t item) { return std::find(list.begin(), list.end(), item) != list.end(); }

class ScatterLowering {
 public:
  explicit ScatterLowering(const LowerInput& in)
      : in_(in),
        region_(in.region),
        v_(region_[in.region.outputs.front()]),
        b_(in.name, in.family()),
        buffers_(declare_buffers(b_, in.region)) {}

  Result<Kernel> run() {
    const std::int64_t elements = v_.elements();
    b_.launch(in_.name + "_copy", [&] {
      const auto copy = [&](ExprId at) {
        b_.store(buffers_.outputs[0], at, element(v_.operands[0], split(at, v_.dims)));
      };
      over(elements, copy);
    });
    b_.launch(in_.name, [&] {
      const auto all = [&] {
        const std::int64_t updates = region_[v_.operands[2]].elements();
        b_.loop(LoopKind::kSerial, "u", b_.index(updates), [&](ExprId u) { update(u); });
      };
      if (in_.cpu()) return b_.loop(LoopKind::kParallel, "once", 1, [&](ExprId) { all(); });
      b_.loop(LoopKind::kGridX, "block", 1, [&](ExprId) {
        b_.loop(LoopKind::kThreadX, "thread", 32,
                [&](ExprId thread) { b_.when(b_.op(ScalarOp::kEq, DType::kPred, {thread, b_.index(0)}), all); });
      });
    });
    if (!status_) return std::unexpected(status_.error());
    return b_.finish();
  }

 private:
  void over(std::int64_t elements, const std::function<void(ExprId)>& body) {
    if (in_.cpu()) {
      const std::int64_t task = in_.schedule.tile[0];
      b_.loop(LoopKind::kParallel, "task", (elements + task - 1) / task, [&](ExprId t) {
        const ExprId first = b_.let("first", b_.mul(t, task));
        b_.loop(LoopKind::kSerial, "i", b_.min(b_.index(task), b_.sub(b_.index(elements), first)),
                [&](ExprId i) { body(b_.let("at", b_.add(first, i))); });
      });
      return;
    }
    const std::int64_t threads = in_.schedule.threads;
    b_.loop(LoopKind::kGridX, "block", std::max<std::int64_t>(1, (elements + threads - 1) / threads),
            [&](ExprId block) {
              b_.loop(LoopKind::kThreadX, "thread", threads, [&](ExprId thread) {
                const ExprId at = b_.let("at", b_.add(b_.mul(block, threads), thread));
                b_.when(b_.less(at, b_.index(elements)), [&] { body(at); });
              });
            });
  }

  std::vector<ExprId> split(ExprId at, const Ints& dims) {
    std::vector<ExprId> index(dims.size());
    for (std::size_t d = dims.size(); d-- > 0;) {
      const std::int64_t extent = std::max<std::int64_t>(1, dims[d]);
      index[d] = b_.let("i", d == 0 ? at : b_.mod(at, extent));
      if (d > 0) at = b_.floor_div(at, extent);
    }
    return index;
  }

  ExprId element(ValueId value, const std::vector<ExprId>& index) {
    Elements elements(b_, region_, buffers_.captures, index);
    const Result<std::vector<ExprId>> made = elements.emit({{value, region::identity_map(region_[value].dims)}});
    if (made) return made->front();
    status_ = std::unexpected(made.error());
    return b_.number(region_[value].dtype, 0);
  }

  void update(ExprId u) {
    const Ints window = v_.attrs.get_or<Ints>("update_window_dims", {}),
               inserted = v_.attrs.get_or<Ints>("inserted_window_dims", {});
    const Ints to_operand = v_.attrs.get<Ints>("scatter_dims_to_operand_dims");
    const Ints batching = v_.attrs.get_or<Ints>("input_batching_dims", {}),
               index_batching = v_.attrs.get_or<Ints>("indices_batching_dims", {});
    const std::int64_t vector_dim = v_.attrs.get<std::int64_t>("index_vector_dim");
    const region::RegionValue& indices = region_[v_.operands[1]];
    const std::vector<ExprId> at = split(u, region_[v_.operands[2]].dims);

    std::vector<ExprId> outside;  // axes of the update that count index vectors, in order
    for (std::size_t d = 0; d < at.size(); ++d)
      if (!contains(window, static_cast<std::int64_t>(d))) outside.push_back(at[d]);
    std::vector<ExprId> target(v_.dims.size(), b_.index(0));
    std::size_t next = 0;
    for (std::size_t axis = 0; axis < target.size(); ++axis)
      if (!contains(inserted, static_cast<std::int64_t>(axis)) && !contains(batching, static_cast<std::int64_t>(axis)))
        target[axis] = at[static_cast<std::size_t>(window[next++])];
    for (std::size_t k = 0; k < to_operand.size(); ++k) {
      std::vector<ExprId> index;
      std::size_t o = 0;
      for (std::size_t d = 0; d < indices.dims.size(); ++d)
        index.push_back(static_cast<std::int64_t>(d) == vector_dim ? b_.index(static_cast<std::int64_t>(k))
                                                                   : outside[o++]);
      ExprId& axis = target[static_cast<std::size_t>(to_operand[k])];
      axis = b_.add(axis, b_.let("start", b_.convert(DType::kS64, element(v_.operands[1], index))));
    }
    for (std::size_t k = 0; k < batching.size(); ++k) {
      std::int64_t position = index_batching[k];
      if (position > vector_dim) --position;
      target[static_cast<std::size_t>(batching[k])] = outside[static_cast<std::size_t>(position)];
    }
    ExprId inside = b_.integer(DType::kPred, 1), offset = b_.index(0);
    for (std::size_t axis = 0; axis < target.size(); ++axis) {
      target[axis] = b_.let("to", target[axis]);
      inside = b_.both(inside, b_.op(ScalarOp::kGe, DType::kPred, {target[axis], b_.index(0)}));
      inside = b_.both(inside, b_.less(target[axis], b_.index(v_.dims[axis])));
      offset = b_.add(b_.mul(offset, v_.dims[axis]), target[axis]);
    }
    b_.when(inside, [&] {
      const BufferId out = buffers_.outputs[0];
      const ExprId where = b_.let("where", offset), value = b_.let("update", element(v_.operands[2], at));
      b_.store(out, where, combined(b_.load(out, where), value));
    });
  }

  ExprId combined(ExprId old, ExprId value) {
    const std::string combiner = v_.attrs.get_or<std::string>("combiner", "assign");
    if (combiner == "add") return b_.op(ScalarOp::kAdd, v_.dtype, {old, value});
    if (combiner == "mul") return b_.op(ScalarOp::kMul, v_.dtype, {old, value});
    if (combiner == "max") return b_.op(ScalarOp::kMax, v_.dtype, {old, value});
    if (combiner == "min") return b_.op(ScalarOp::kMin, v_.dtype, {old, value});
    return value;
  }

  const LowerInput& in_;
  const region::Region& region_;
  const region::RegionValue& v_;
  KernelBuilder b_;
  RegionBuffers buffers_;
  Status status_;
};

}  // namespace

Result<Kernel> lower_scatter(const LowerInput& in) { return ScatterLowering(in).run(); }

}  // namespace fusewright::kernel
