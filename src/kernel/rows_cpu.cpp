#include <algorithm>
#include <bit>

#include "rows.hpp"

namespace fusewright::kernel {

// ---- a row along its own vectors ----

// A power of two, since the accumulators are folded by halves.
std::int64_t RowsLowering::unroll() const {
  const std::int64_t most =
      std::max<std::int64_t>(1, std::min(in_.schedule.tile[2], rows_.reduced / parts_ / in_.schedule.vector));
  return static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(most)));
}

// Columns [start, start + count): four vectors at once into accumulators of their own, then single vectors, then
// elements.
void RowsLowering::walk(ExprId start, ExprId count, bool accumulate,
                        const std::function<void(ExprId column, ExprId slot)>& element) {
  const std::int64_t lanes = in_.schedule.vector, unrolled = accumulate ? unroll() : 1, step = lanes * unrolled;
  const ExprId steps = b_.floor_div(count, step);
  b_.loop(LoopKind::kSerial, "c", steps, [&](ExprId c) {
    b_.loop(LoopKind::kUnrolled, "u", unrolled, [&](ExprId u) {
      const ExprId first = b_.add(start, b_.add(b_.mul(c, step), b_.mul(u, lanes)));
      b_.loop(LoopKind::kVector, "l", lanes, [&](ExprId l) { element(b_.add(first, l), b_.add(b_.mul(u, lanes), l)); });
    });
  });
  const ExprId rest = b_.let("rest", b_.add(start, b_.mul(steps, step)));
  if (unrolled > 1)
    b_.loop(LoopKind::kSerial, "v", b_.floor_div(b_.mod(count, step), lanes), [&](ExprId v) {
      b_.loop(LoopKind::kVector, "l", lanes, [&](ExprId l) { element(b_.add(rest, b_.add(b_.mul(v, lanes), l)), l); });
    });
  const ExprId tail = b_.let("tail", b_.add(start, b_.mul(b_.floor_div(count, lanes), lanes)));
  // Elements beyond the last vector have a slot behind those of the vectors.
  b_.loop(LoopKind::kSerial, "s", b_.mod(count, lanes), [&](ExprId s) { element(b_.add(tail, s), b_.index(step)); });
}

void RowsLowering::cpu_rows() {
  const std::int64_t slots = in_.schedule.vector * unroll();
  in_row_slots_ = slots;
  const AllCells cells = declare_all("acc", slots + 1, Space::kLocal);
  declare_staged(rows_.reduced);
  const std::int64_t task = parts_ > 1 ? 1 : in_.schedule.tile[0];
  const std::int64_t rows = rows_.outer * parts_;
  b_.loop(LoopKind::kParallel, "task", (rows + task - 1) / task, [&](ExprId t) {
    const ExprId first = b_.let("first", b_.mul(t, task));
    b_.loop(LoopKind::kSerial, "r", b_.min(b_.index(task), b_.sub(b_.index(rows), first)), [&](ExprId i) {
      const ExprId row = b_.let("row", b_.add(first, i));
      cpu_row(row, cells);
    });
  });
}

void RowsLowering::cpu_row(ExprId row, const AllCells& cells) {
  const std::int64_t lanes = in_.schedule.vector;
  const ExprId outer = b_.let("outer", b_.floor_div(row, parts_));
  const auto [start, count] = part_of(b_.mod(row, parts_), part_length(lanes));
  const bool tail = rows_.reduced % lanes != 0;
  results_.clear();
  for (int level = 0; level < rows_.levels; ++level) {
    for (const std::size_t r : reducers_of(level)) clear(reducers_[r], cells.at(reducers_[r].id), in_row_slots_, tail);
    walk(start, count, true,
         [&](ExprId column, ExprId slot) { reduce_element(level, {outer, zero(), column, slot, column}, cells); });
    for (const std::size_t r : reducers_of(level)) {
      const Reducer& reducer = reducers_[r];
      fold_slots(reducer, cells.at(reducer.id), in_row_slots_, tail);
      const Reducer::Partial whole = read(reducer, cells.at(reducer.id), zero());
      if (parts_ > 1)
        write(reducer, partials_[r], row, whole);
      else
        set_result(reducer, b_.let(region_[reducer.id].op_name, reducer.result(b_, region_, whole)));
    }
  }
  if (parts_ > 1) return;
  store_kept({outer, zero(), zero(), zero(), zero()});
  if (!rows_.full.empty())
    walk(start, count, false, [&](ExprId column, ExprId) { store_element({outer, zero(), column, zero(), column}); });
}

// ---- several vectors of columns at once ----

// `lanes` neighbouring columns from `inner` on, `vectors` times, all of the reduced extent (or one part of it).
void RowsLowering::cpu_column_group(ExprId outer, ExprId inner, ExprId part, Columns columns, const AllCells& cells) {
  const auto each = [&](const std::function<void(ExprId)>& body) {
    if (columns.vectors == 1) return across(columns.lanes, body);
    b_.loop(LoopKind::kUnrolled, "u", columns.vectors,
            [&](ExprId u) { across(columns.lanes, [&](ExprId l) { body(b_.add(b_.mul(u, columns.lanes), l)); }); });
  };
  const std::int64_t width = columns.lanes * columns.vectors;
  const auto at = [&](ExprId column, ExprId l) -> At {
    return {outer, b_.add(inner, l), column, l, b_.add(b_.mul(column, width), l)};
  };
  const auto [start, count] = part_of(part, part_length(1));
  results_.clear();
  for (int level = 0; level < rows_.levels; ++level) {
    for (const std::size_t r : reducers_of(level))
      each([&](ExprId l) { write(reducers_[r], cells.at(reducers_[r].id), l, reducers_[r].identity(b_)); });
    b_.loop(LoopKind::kSerial, "c", count, [&](ExprId c) {
      const ExprId column = b_.add(start, c);
      each([&](ExprId l) { reduce_element(level, at(column, l), cells); });
    });
    for (const std::size_t r : reducers_of(level)) {
      const Reducer& reducer = reducers_[r];
      const Cells own = cells.at(reducer.id);
      if (parts_ == 1) {
        set_result(reducer, own);
        continue;
      }
      each([&](ExprId l) {
        const ExprId row = b_.add(b_.mul(outer, rows_.inner), b_.add(inner, l));
        write(reducer, partials_[r], b_.add(b_.mul(row, parts_), part), read(reducer, own, l));
      });
    }
  }
  if (parts_ > 1) return;
  each([&](ExprId l) { store_kept({outer, b_.add(inner, l), zero(), l, zero()}); });
  if (!rows_.full.empty())
    b_.loop(LoopKind::kSerial, "c", count, [&](ExprId c) { each([&](ExprId l) { store_element(at(c, l)); }); });
}

void RowsLowering::cpu_columns() {
  const std::int64_t most = std::min(in_.schedule.vector, rows_.inner);
  Columns all{static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(most))), in_.schedule.tile[2]};
  const std::int64_t width = all.lanes * all.vectors, rest = rows_.inner % width;
  const AllCells cells = declare_all("acc", width, Space::kLocal);
  declare_staged(rows_.reduced * width);
  const std::int64_t groups = (rows_.inner + width - 1) / width;
  const std::int64_t count = rows_.outer * groups * parts_, task = parts_ > 1 ? 1 : in_.schedule.tile[0];
  b_.loop(LoopKind::kParallel, "task", (count + task - 1) / task, [&](ExprId t) {
    const ExprId first = b_.let("first", b_.mul(t, task));
    b_.loop(LoopKind::kSerial, "g", b_.min(b_.index(task), b_.sub(b_.index(count), first)), [&](ExprId g) {
      const ExprId at = b_.let("at", b_.add(first, g));
      const ExprId part = b_.let("part", b_.mod(at, parts_));
      const ExprId group = b_.let("group", b_.mod(b_.floor_div(at, parts_), groups));
      const ExprId outer = b_.let("outer", b_.floor_div(at, parts_ * groups));
      const ExprId inner = b_.let("inner", b_.mul(group, width));
      const auto some = [&](std::int64_t from, std::int64_t times, Columns columns) {
        const std::int64_t step = columns.lanes * columns.vectors;
        b_.loop(LoopKind::kSerial, "i", b_.index(times), [&](ExprId i) {
          const ExprId column = b_.let("column", b_.add(inner, b_.add(b_.index(from), b_.mul(i, step))));
          cpu_column_group(outer, column, part, columns, cells);
        });
      };
      const auto whole = [&] { cpu_column_group(outer, inner, part, all, cells); };
      if (rest == 0) return whole();
      b_.when(b_.less(group, b_.index(groups - 1)), whole, [&] {
        const std::int64_t vectors = rest / all.lanes, single = rest % all.lanes;
        if (vectors > 0) some(0, vectors, {all.lanes, 1});
        if (single > 0) some(vectors * all.lanes, single, {1, 1});
      });
    });
  });
}

// ---- the second launch: parts of each row, in order ----

void RowsLowering::cpu_join() {
  const AllCells cells = declare_all("join", 1, Space::kLocal);
  b_.loop(LoopKind::kParallel, "row", kept(), [&](ExprId at) {
    results_.clear();
    for (std::size_t r = 0; r < reducers_.size(); ++r) {
      const Reducer& reducer = reducers_[r];
      const Cells own = cells.at(reducer.id);
      write(reducer, own, zero(), reducer.identity(b_));
      b_.loop(LoopKind::kSerial, "p", b_.index(parts_), [&](ExprId p) {
        const Reducer::Partial more = read(reducer, partials_[r], b_.add(b_.mul(at, parts_), p));
        write(reducer, own, zero(), reducer.combine(b_, read(reducer, own, zero()), more));
      });
      set_result(reducer, b_.let("joined", reducer.result(b_, region_, read(reducer, own, zero()))));
    }
    store_kept({b_.let("outer", b_.floor_div(at, rows_.inner)), b_.let("inner", b_.mod(at, rows_.inner)), zero(),
                zero(), zero()});
  });
}

}  // namespace fusewright::kernel
