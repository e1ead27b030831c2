#include "fusewright/schedule/window.hpp"

#include <algorithm>

#include "elements.hpp"
#include "reducer.hpp"
#include "templates.hpp"

namespace fusewright::kernel {

namespace {

using region::ValueId;

class WindowLowering {
 public:
  WindowLowering(const LowerInput& in, schedule::WindowReduction w)
      : in_(in),
        region_(in.region),
        w_(std::move(w)),
        b_(in.name, in.family()),
        buffers_(declare_buffers(b_, in.region)),
        reducer_(reducer_of(region_, w_.window)) {
    lanes_ = std::max<std::int64_t>(1, in.schedule.vector);
    partial_ = b_.buffer("acc", reducer_.value, lanes_, Space::kLocal);
  }

  Result<Kernel> run() {
    const std::int64_t elements = w_.rows * w_.columns;
    b_.launch(in_.name, [&] {
      if (in_.cpu()) {
        const std::int64_t task = in_.schedule.tile[0];
        const std::int64_t pieces = (w_.columns + task - 1) / task, rows = std::max<std::int64_t>(1, task / w_.columns);
        b_.loop(LoopKind::kParallel, "task", (w_.rows + rows - 1) / rows * pieces, [&](ExprId t) {
          const ExprId first = b_.let("first", b_.mul(b_.floor_div(t, pieces), rows));
          const ExprId start = b_.let("start", b_.mul(b_.mod(t, pieces), task));
          const ExprId count = b_.let("count", b_.min(b_.index(task), b_.sub(b_.index(w_.columns), start)));
          b_.loop(LoopKind::kSerial, "r", b_.min(b_.index(rows), b_.sub(b_.index(w_.rows), first)),
                  [&](ExprId r) { columns(b_.let("row", b_.add(first, r)), start, count); });
        });
        return;
      }
      const std::int64_t threads = in_.schedule.threads;
      b_.loop(LoopKind::kGridX, "block", (elements + threads - 1) / threads, [&](ExprId block) {
        b_.loop(LoopKind::kThreadX, "thread", threads, [&](ExprId thread) {
          const ExprId at = b_.let("at", b_.add(b_.mul(block, threads), thread));
          b_.when(b_.less(at, b_.index(elements)), [&] {
            group(b_.let("row", b_.floor_div(at, w_.columns)), b_.let("column", b_.mod(at, w_.columns)), 1);
          });
        });
      });
    });
    if (!status_) return std::unexpected(status_.error());
    return b_.finish();
  }

 private:
  // A window combines as the reduction of the same name does.
  static Reducer reducer_of(const region::Region& region, ValueId id) {
    Reducer r = Reducer::of(region, id);
    const std::string& op = region[id].op_name;
    const bool pred = r.value == DType::kPred;
    if (op == "reduce_window_prod")
      r.op = pred ? ScalarOp::kAnd : ScalarOp::kMul;
    else if (op == "reduce_window_max")
      r.op = pred ? ScalarOp::kOr : ScalarOp::kMax;
    else if (op == "reduce_window_min")
      r.op = pred ? ScalarOp::kAnd : ScalarOp::kMin;
    return r;
  }

  void columns(ExprId row, ExprId start, ExprId count) {
    b_.loop(LoopKind::kSerial, "v", b_.floor_div(count, lanes_),
            [&](ExprId v) { group(row, b_.let("column", b_.add(start, b_.mul(v, lanes_))), lanes_); });
    const ExprId done = b_.let("done", b_.add(start, b_.mul(b_.floor_div(count, lanes_), lanes_)));
    b_.loop(LoopKind::kSerial, "s", b_.mod(count, lanes_),
            [&](ExprId s) { group(row, b_.let("column", b_.add(done, s)), 1); });
  }

  // `lanes` neighbouring results from `column` on.
  void group(ExprId row, ExprId column, std::int64_t lanes) {
    const auto across = [&](const std::function<void(ExprId)>& body) {
      if (lanes == 1)
        body(b_.index(0));
      else
        b_.loop(LoopKind::kVector, "l", lanes, body);
    };
    across([&](ExprId l) { b_.store(partial_, l, reducer_.identity(b_).value); });
    b_.loop(LoopKind::kSerial, "tap", b_.index(w_.taps), [&](ExprId tap) {
      across([&](ExprId l) {
        Elements elements(b_, region_, buffers_.captures, {row, b_.add(column, l), tap});
        region::IndexMap open = w_.operand_map;
        open.constraints.clear();
        const Result<std::vector<ExprId>> made = elements.emit({{region_[w_.window].operands[0], open}});
        if (!made) {
          status_ = std::unexpected(made.error());
          return;
        }
        ExprId x = b_.convert(reducer_.value, made->front());
        if (!w_.operand_map.constraints.empty())
          x = b_.select(reducer_.value, elements.guard(w_.operand_map.constraints, w_.operand_map, {}), x,
                        reducer_.identity(b_).value);
        b_.store(partial_, l, reducer_.combine(b_, {b_.load(partial_, l), {}}, {x, {}}).value);
      });
    });
    across([&](ExprId l) {
      const ExprId result = b_.let("window", reducer_.result(b_, region_, {b_.load(partial_, l), {}}));
      const auto lookup = [&](ValueId v, const region::IndexMap&) {
        return v == w_.window ? std::optional(result) : std::nullopt;
      };
      Elements elements(b_, region_, buffers_.captures, {row, b_.add(column, l)}, lookup,
                        [this](ValueId v) { return v == w_.window; });
      const Result<std::vector<ExprId>> values = elements.emit(w_.outputs);
      if (!values) {
        status_ = std::unexpected(values.error());
        return;
      }
      const ExprId at = b_.add(b_.mul(row, w_.columns), b_.add(column, l));
      for (std::size_t o = 0; o < values->size(); ++o) b_.store(buffers_.outputs[o], at, (*values)[o]);
    });
  }

  const LowerInput& in_;
  const region::Region& region_;
  schedule::WindowReduction w_;
  KernelBuilder b_;
  RegionBuffers buffers_;
  Reducer reducer_;
  std::int64_t lanes_ = 1;
  BufferId partial_;
  Status status_;
};

}  // namespace

Result<Kernel> lower_window(const LowerInput& in) {
  auto w = schedule::analyse_window(in.region, std::max<std::int64_t>(1, in.schedule.vector));
  if (!w) return fail(w.error().reason);
  return WindowLowering(in, *std::move(w)).run();
}

}  // namespace fusewright::kernel
