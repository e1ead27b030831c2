#include <algorithm>

#include "elements.hpp"
#include "templates.hpp"

namespace fusewright::kernel {

namespace {

/// The loop over a domain whose last extent is walked contiguously.
class Loop {
 public:
  Loop(const LowerInput& in, std::vector<std::int64_t> extents)
      : in_(in), b_(in.name, in.family()), extents_(std::move(extents)), buffers_(declare_buffers(b_, in.region)) {
    for (const std::int64_t e : extents_) elements_ *= e;
    for (const region::ValueId output : in.region.outputs)
      roots_.push_back({output, region::reshape_map(extents_, in.region[output].dims)});
  }

  Result<Kernel> run() {
    b_.launch(in_.name, [&] {
      if (in_.cpu())
        cpu();
      else
        gpu();
    });
    if (!status_) return std::unexpected(status_.error());
    return b_.finish();
  }

 private:
  std::int64_t inner() const { return extents_.back(); }

  // Everything at one point: the value of each output, stored. `row` numbers the outer dims, `column` is the inner
  // index.
  void point(ExprId row, ExprId column) {
    std::vector<ExprId> dims(extents_.size());
    dims.back() = column;
    ExprId rest = row;
    for (std::size_t d = extents_.size() - 1; d-- > 0;) {
      dims[d] = d == 0 ? rest : b_.mod(rest, extents_[d]);
      if (d != 0) rest = b_.floor_div(rest, extents_[d]);
    }
    Elements elements(b_, in_.region, buffers_.captures, dims);
    Result<std::vector<ExprId>> values = elements.emit(roots_);
    if (!values) {
      status_ = std::unexpected(values.error());
      return;
    }
    const ExprId at = b_.add(b_.mul(row, inner()), column);
    for (std::size_t o = 0; o < values->size(); ++o) b_.store(buffers_.outputs[o], at, (*values)[o]);
  }

  // Columns [start, start + count) of a row: whole vectors, then what is left one by one.
  void columns(ExprId row, ExprId start, ExprId count, bool whole_vectors) {
    const std::int64_t lanes = in_.schedule.vector;
    const ExprId vectors = b_.floor_div(count, lanes);
    b_.loop(LoopKind::kSerial, "v", vectors, [&](ExprId v) {
      const ExprId first = b_.add(start, b_.mul(v, lanes));
      b_.loop(LoopKind::kVector, "l", lanes, [&](ExprId l) { point(row, b_.add(first, l)); });
    });
    if (whole_vectors) return;
    const ExprId done = b_.let("done", b_.add(start, b_.mul(vectors, lanes)));
    b_.loop(LoopKind::kSerial, "s", b_.mod(count, lanes), [&](ExprId s) { point(row, b_.add(done, s)); });
  }

  void cpu() {
    const std::int64_t task = std::max(in_.schedule.tile[0], in_.schedule.vector);
    const std::int64_t rows = elements_ == 0 ? 0 : elements_ / inner();
    if (inner() >= task || rows <= 1) {
      // Long rows: a task is a piece of one row.
      const std::int64_t pieces = (inner() + task - 1) / task;
      b_.loop(LoopKind::kParallel, "task", rows * pieces, [&](ExprId t) {
        const ExprId row = b_.let("row", b_.floor_div(t, pieces));
        const ExprId start = b_.let("start", b_.mul(b_.mod(t, pieces), task));
        const ExprId count = b_.let("count", b_.min(b_.index(task), b_.sub(b_.index(inner()), start)));
        columns(row, start, count, inner() % in_.schedule.vector == 0);
      });
      return;
    }
    const std::int64_t rows_a_task = task / inner();
    b_.loop(LoopKind::kParallel, "task", (rows + rows_a_task - 1) / rows_a_task, [&](ExprId t) {
      const ExprId first = b_.let("first", b_.mul(t, rows_a_task));
      const ExprId count = b_.min(b_.index(rows_a_task), b_.sub(b_.index(rows), first));
      b_.loop(LoopKind::kSerial, "r", count, [&](ExprId r) {
        columns(b_.let("row", b_.add(first, r)), b_.index(0), b_.index(inner()), inner() % in_.schedule.vector == 0);
      });
    });
  }

  void gpu() {
    const std::int64_t step = inner() % in_.schedule.vector == 0 ? in_.schedule.vector : 1;
    const std::int64_t threads = in_.schedule.threads, steps = elements_ / step;
    b_.loop(LoopKind::kGridX, "block", std::max<std::int64_t>(1, (steps + threads - 1) / threads), [&](ExprId block) {
      b_.loop(LoopKind::kThreadX, "thread", threads, [&](ExprId thread) {
        const ExprId at = b_.let("at", b_.add(b_.mul(block, threads), thread));
        b_.when(b_.less(at, b_.index(steps)), [&] {
          const ExprId row = b_.let("row", b_.floor_div(at, std::max<std::int64_t>(1, inner() / step)));
          const ExprId column = b_.let("column", b_.mul(b_.mod(at, std::max<std::int64_t>(1, inner() / step)), step));
          if (step == 1)
            point(row, column);
          else
            b_.loop(LoopKind::kVector, "l", step, [&](ExprId l) { point(row, b_.add(column, l)); });
        });
      });
    });
  }

  const LowerInput& in_;
  KernelBuilder b_;
  std::vector<std::int64_t> extents_;
  RegionBuffers buffers_;
  std::vector<region::AccessRoot> roots_;
  std::int64_t elements_ = 1;
  Status status_;
};

}  // namespace

Result<Kernel> lower_loop(const LowerInput& in) {
  const region::RegionValue& first = in.region[in.region.outputs.front()];
  std::vector<region::AccessRoot> roots;
  for (const region::ValueId output : in.region.outputs)
    roots.push_back({output, region::reshape_map(first.dims, in.region[output].dims)});
  FW_TRY(std::vector<std::int64_t> extents, collapse_domain(in.region, roots));
  // Rows shorter than a vector are walked as one flat range; some accesses become gathers.
  std::int64_t elements = 1;
  for (const std::int64_t e : extents) elements *= e;
  if (extents.back() < in.schedule.vector && elements > extents.back()) extents = {elements};
  return Loop(in, std::move(extents)).run();
}

}  // namespace fusewright::kernel
