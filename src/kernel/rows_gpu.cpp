#include <algorithm>

#include "rows.hpp"

namespace fusewright::kernel {

namespace {
constexpr std::int64_t kWarp = 32;
std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
}  // namespace

/// Threads of a block lie `across` side by side along a row or over columns, each with `wide` neighbours; the other way
/// there are threads / across groups of them: of rows, or of what shares out the reduced extent of one group of
/// columns.
struct RowsLowering::GpuBlock {
  std::int64_t threads, across, wide;
  std::int64_t groups;  // of threads
  std::int64_t length;  // of a part
  std::int64_t steps;   // of a thread, over its part
  AllCells cells, shared;
  ExprId thread, position, group;  // position: among `across`
  ExprId outer, inner, part;
  Part own;
  ExprId inside;  // whether there is such a row or column

  GpuBlock(const LowerInput& in, std::int64_t length)
      : threads(in.schedule.threads),
        across(in.schedule.tile[0]),
        wide(in.schedule.vector),
        groups(threads / across),
        length(length) {}
};

Reducer::Partial RowsLowering::across_warp(const Reducer& r, Reducer::Partial p, std::int64_t from, std::int64_t to) {
  for (std::int64_t mask = from; mask >= to; mask /= 2) {
    p = {b_.let("mine", p.value), r.with_position ? b_.let("mine_at", p.position) : ExprId()};
    const Reducer::Partial other{b_.let("theirs", b_.shuffle_xor(p.value, mask)),
                                 r.with_position ? b_.let("theirs_at", b_.shuffle_xor(p.position, mask)) : ExprId()};
    p = r.combine(b_, p, other);
  }
  return {b_.let("warp", p.value), r.with_position ? b_.let("warp_at", p.position) : ExprId()};
}

// ---- rows: some by a warp, or one by a block ----

void RowsLowering::gpu_rows() {
  GpuBlock block(in_, part_length(in_.schedule.vector));
  block.steps = ceil_div(block.length, block.across * block.wide);
  block.cells = declare_all("acc", block.wide, Space::kLocal);
  if (block.across > kWarp) block.shared = declare_all("warp", block.threads / kWarp, Space::kShared);
  declare_staged(block.steps * block.wide);
  const std::int64_t rows = rows_.outer * parts_;
  b_.loop(LoopKind::kGridX, "block", ceil_div(rows, block.groups), [&](ExprId number) {
    b_.loop(LoopKind::kThreadX, "thread", block.threads, [&](ExprId thread) {
      block.thread = thread;
      block.position = block.groups == 1 ? thread : b_.let("position", b_.mod(thread, block.across));
      const ExprId row = block.groups == 1
                             ? number
                             : b_.let("row", b_.add(b_.mul(number, block.groups), b_.floor_div(thread, block.across)));
      block.inside = rows % block.groups == 0 ? b_.integer(DType::kPred, 1) : b_.less(row, b_.index(rows));
      block.outer = b_.let("outer", b_.floor_div(row, parts_));
      block.inner = zero();
      block.part = row;
      block.own = part_of(b_.mod(row, parts_), block.length);
      gpu_row(block);
    });
  });
}

void RowsLowering::gpu_each_of_row(const GpuBlock& block, const GpuElement& element) {
  const LoopKind kind = staged_.empty() ? LoopKind::kSerial : LoopKind::kUnrolled;
  b_.loop(kind, "k", block.steps, [&](ExprId k) {
    const ExprId local = b_.mul(b_.add(b_.mul(k, block.across), block.position), block.wide);
    ExprId inside = block.inside;
    if (parts_ > 1 || block.length % (block.across * block.wide) != 0)
      inside = b_.both(inside, b_.less(local, block.own.count));
    b_.when(inside, [&] {
      across(block.wide, [&](ExprId l) {
        element(b_.add(b_.add(block.own.start, local), l), l, b_.add(b_.mul(k, block.wide), l));
      });
    });
  });
}

void RowsLowering::gpu_row(const GpuBlock& block) {
  results_.clear();
  for (int level = 0; level < rows_.levels; ++level) {
    for (const std::size_t r : reducers_of(level))
      clear(reducers_[r], block.cells.at(reducers_[r].id), block.wide, false);
    gpu_each_of_row(block, [&](ExprId column, ExprId lane, ExprId kept) {
      reduce_element(level, {block.outer, zero(), column, lane, kept}, block.cells);
    });
    gpu_join_row(block, level);
  }
  const ExprId first = b_.both(block.inside, b_.op(ScalarOp::kEq, DType::kPred, {block.position, zero()}));
  if (parts_ > 1)
    b_.when(first, [&] {
      for (std::size_t r = 0; r < reducers_.size(); ++r)
        write(reducers_[r], partials_[r], block.part, read(reducers_[r], block.cells.at(reducers_[r].id), zero()));
    });
  if (parts_ > 1) return;
  if (!rows_.kept.empty()) b_.when(first, [&] { store_kept({block.outer, zero(), zero(), zero(), zero()}); });
  if (!rows_.full.empty())
    gpu_each_of_row(block, [&](ExprId column, ExprId lane, ExprId kept) {
      store_element({block.outer, zero(), column, lane, kept});
    });
}

// All threads of a row get the results of this level.
void RowsLowering::gpu_join_row(const GpuBlock& block, int level) {
  const std::vector<std::size_t> here = reducers_of(level);
  std::map<region::ValueId, Reducer::Partial> warp;
  for (const std::size_t r : here) {
    const Reducer& reducer = reducers_[r];
    const Cells& own = block.cells.at(reducer.id);
    fold_slots(reducer, own, block.wide, false);
    warp[reducer.id] = across_warp(reducer, read(reducer, own, zero()), std::min(block.across, kWarp) / 2, 1);
    write(reducer, own, zero(), warp[reducer.id]);
  }
  if (block.across > kWarp) {
    b_.when(b_.op(ScalarOp::kEq, DType::kPred, {b_.mod(block.thread, kWarp), zero()}), [&] {
      for (const std::size_t r : here)
        write(reducers_[r], block.shared.at(reducers_[r].id), b_.floor_div(block.thread, kWarp), warp[reducers_[r].id]);
    });
    b_.barrier();
    for (const std::size_t r : here) {
      const Reducer& reducer = reducers_[r];
      const Cells &own = block.cells.at(reducer.id), &shared = block.shared.at(reducer.id);
      write(reducer, own, zero(), read(reducer, shared, zero()));
      b_.loop(LoopKind::kSerial, "w", block.threads / kWarp - 1, [&](ExprId w) {
        const Reducer::Partial more = read(reducer, shared, b_.add(w, b_.index(1)));
        write(reducer, own, zero(), reducer.combine(b_, read(reducer, own, zero()), more));
      });
    }
  }
  if (parts_ > 1) return;
  for (const std::size_t r : here) {
    const Reducer::Partial whole = read(reducers_[r], block.cells.at(reducers_[r].id), zero());
    set_result(reducers_[r], b_.let(region_[reducers_[r].id].op_name, reducers_[r].result(b_, region_, whole)));
  }
}

// ---- columns: groups of threads share out the reduced extent of the same columns ----

void RowsLowering::gpu_columns() {
  GpuBlock block(in_, part_length(1));
  block.steps = ceil_div(block.length, block.groups);
  block.cells = declare_all("acc", block.wide, Space::kLocal);
  const std::int64_t slots = std::min(block.groups, block.threads / kWarp);
  if (block.groups > 1 && block.threads > kWarp)
    block.shared = declare_all("group", slots * block.across * block.wide, Space::kShared);
  declare_staged(block.steps * block.wide);
  const std::int64_t chunks = rows_.inner / block.wide, blocks = ceil_div(chunks, block.across);
  b_.loop(LoopKind::kGridX, "block", rows_.outer * parts_ * blocks, [&](ExprId number) {
    b_.loop(LoopKind::kThreadX, "thread", block.threads, [&](ExprId thread) {
      block.thread = thread;
      block.position = b_.let("position", b_.mod(thread, block.across));
      block.group = b_.let("group", b_.floor_div(thread, block.across));
      const ExprId chunk = b_.let("chunk", b_.add(b_.mul(b_.mod(number, blocks), block.across), block.position));
      block.inside = chunks % block.across == 0 ? b_.integer(DType::kPred, 1) : b_.less(chunk, b_.index(chunks));
      block.outer = b_.let("outer", b_.floor_div(number, parts_ * blocks));
      block.inner = b_.let("inner", b_.mul(chunk, block.wide));
      block.part = b_.let("part", b_.mod(b_.floor_div(number, blocks), parts_));
      block.own = part_of(block.part, block.length);
      gpu_column(block);
    });
  });
}

void RowsLowering::gpu_each_of_column(const GpuBlock& block, const GpuElement& element) {
  const auto one = [&](ExprId k, ExprId row) {
    const ExprId column = b_.let("column", b_.add(block.own.start, row));
    across(block.wide, [&](ExprId l) { element(column, l, b_.add(b_.mul(k, block.wide), l)); });
  };
  const auto row = [&](ExprId k) { return b_.add(b_.mul(k, block.groups), block.group); };
  const bool even = parts_ == 1 && rows_.reduced % block.groups == 0;
  b_.when(block.inside, [&] {
    if (staged_.empty()) {
      // As many steps as this group has.
      const ExprId left = b_.add(b_.sub(block.own.count, block.group), b_.index(block.groups - 1));
      const ExprId some = b_.op(ScalarOp::kMax, DType::kS64, {left, zero()});
      const ExprId steps = even ? b_.index(block.steps) : b_.let("steps", b_.floor_div(some, block.groups));
      return b_.loop(LoopKind::kSerial, "k", steps, [&](ExprId k) { one(k, row(k)); });
    }
    b_.loop(LoopKind::kUnrolled, "k", block.steps, [&](ExprId k) {
      if (even) return one(k, row(k));
      b_.when(b_.less(row(k), block.own.count), [&] { one(k, row(k)); });
    });
  });
}

void RowsLowering::gpu_column(const GpuBlock& block) {
  const bool again = rows_.levels > 1 || !rows_.full.empty();
  const auto at = [&](ExprId column, ExprId l, ExprId kept) -> At {
    return {block.outer, b_.add(block.inner, l), column, l, kept};
  };
  results_.clear();
  for (int level = 0; level < rows_.levels; ++level) {
    for (const std::size_t r : reducers_of(level))
      clear(reducers_[r], block.cells.at(reducers_[r].id), block.wide, false);
    gpu_each_of_column(
        block, [&](ExprId column, ExprId l, ExprId kept) { reduce_element(level, at(column, l, kept), block.cells); });
    if (block.groups > 1) gpu_join_columns(block, level, again);
    for (const std::size_t r : reducers_of(level)) set_result(reducers_[r], block.cells.at(reducers_[r].id));
  }
  ExprId first = block.inside;
  if (block.groups > 1) first = b_.both(first, b_.less(block.thread, b_.index(block.across)));
  b_.when(first, [&] {
    across(block.wide, [&](ExprId l) {
      if (parts_ == 1) return store_kept(at(zero(), l, zero()));
      const ExprId row = b_.add(b_.mul(block.outer, rows_.inner), b_.add(block.inner, l));
      for (std::size_t r = 0; r < reducers_.size(); ++r)
        write(reducers_[r], partials_[r], b_.add(b_.mul(row, parts_), block.part),
              read(reducers_[r], block.cells.at(reducers_[r].id), l));
    });
  });
  if (!rows_.full.empty())
    gpu_each_of_column(block, [&](ExprId column, ExprId l, ExprId kept) { store_element(at(column, l, kept)); });
}

// The first group of threads gets the results, or every one.
void RowsLowering::gpu_join_columns(const GpuBlock& block, int level, bool all_need_it) {
  const std::vector<std::size_t> here = reducers_of(level);
  const auto each = [&](const std::function<void(const Reducer&, const Cells& own)>& body) {
    for (const std::size_t r : here) body(reducers_[r], block.cells.at(reducers_[r].id));
  };
  const bool within_warp = block.across < kWarp;
  if (within_warp)
    each([&](const Reducer& r, const Cells& own) {
      b_.loop(LoopKind::kUnrolled, "u", block.wide,
              [&](ExprId u) { write(r, own, u, across_warp(r, read(r, own, u), kWarp / 2, block.across)); });
    });
  if (block.threads == kWarp) return;

  const std::int64_t slots = std::min(block.groups, block.threads / kWarp);
  const auto cell = [&](ExprId slot, ExprId l) {
    return b_.add(b_.mul(b_.add(b_.mul(slot, block.across), block.position), block.wide), l);
  };
  ExprId writes = b_.integer(DType::kPred, 1);
  if (within_warp) writes = b_.less(b_.mod(block.thread, kWarp), b_.index(block.across));
  b_.when(writes, [&] {
    const ExprId slot = within_warp ? b_.floor_div(block.thread, kWarp) : block.group;
    each([&](const Reducer& r, const Cells& own) {
      across(block.wide, [&](ExprId l) { write(r, block.shared.at(r.id), cell(slot, l), read(r, own, l)); });
    });
  });
  b_.barrier();
  b_.when(b_.less(block.thread, b_.index(block.across)), [&] {
    each([&](const Reducer& r, const Cells& own) {
      const Cells& shared = block.shared.at(r.id);
      b_.loop(LoopKind::kSerial, "s", slots - 1, [&](ExprId s) {
        across(block.wide, [&](ExprId l) {
          const Reducer::Partial more = read(r, shared, cell(b_.add(s, b_.index(1)), l));
          write(r, own, l, r.combine(b_, read(r, own, l), more));
        });
      });
      if (all_need_it) across(block.wide, [&](ExprId l) { write(r, shared, cell(zero(), l), read(r, own, l)); });
    });
  });
  if (!all_need_it) return;
  b_.barrier();
  each([&](const Reducer& r, const Cells& own) {
    across(block.wide, [&](ExprId l) { write(r, own, l, read(r, block.shared.at(r.id), cell(zero(), l))); });
  });
}

// ---- the second launch: a warp takes the parts of a row ----

void RowsLowering::gpu_join() {
  constexpr std::int64_t kRows = 4;
  const AllCells cells = declare_all("join", 1, Space::kLocal);
  b_.loop(LoopKind::kGridX, "block", ceil_div(kept(), kRows), [&](ExprId block) {
    b_.loop(LoopKind::kThreadX, "thread", kRows * kWarp, [&](ExprId thread) {
      const ExprId at = b_.let("at", b_.add(b_.mul(block, kRows), b_.floor_div(thread, kWarp)));
      const ExprId lane = b_.let("lane", b_.mod(thread, kWarp));
      const ExprId inside =
          kept() % kRows == 0 ? b_.integer(DType::kPred, 1) : b_.let("inside", b_.less(at, b_.index(kept())));
      results_.clear();
      for (std::size_t r = 0; r < reducers_.size(); ++r) {
        const Reducer& reducer = reducers_[r];
        const Cells& own = cells.at(reducer.id);
        write(reducer, own, zero(), reducer.identity(b_));
        b_.loop(LoopKind::kSerial, "p", ceil_div(parts_, kWarp), [&](ExprId p) {
          const ExprId part = b_.let("part", b_.add(b_.mul(p, kWarp), lane));
          ExprId there = inside;
          if (parts_ % kWarp != 0) there = b_.both(there, b_.less(part, b_.index(parts_)));
          b_.when(there, [&] {
            const Reducer::Partial more = read(reducer, partials_[r], b_.add(b_.mul(at, parts_), part));
            write(reducer, own, zero(), reducer.combine(b_, read(reducer, own, zero()), more));
          });
        });
        const Reducer::Partial whole = across_warp(reducer, read(reducer, own, zero()), kWarp / 2, 1);
        set_result(reducer, b_.let("joined", reducer.result(b_, region_, whole)));
      }
      b_.when(b_.both(inside, b_.op(ScalarOp::kEq, DType::kPred, {lane, zero()})), [&] {
        store_kept({b_.let("outer", b_.floor_div(at, rows_.inner)), b_.let("inner", b_.mod(at, rows_.inner)), zero(),
                    zero(), zero()});
      });
    });
  });
}

}  // namespace fusewright::kernel
