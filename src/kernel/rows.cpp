#include "fusewright/schedule/rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>

#include "elements.hpp"
#include "reducer.hpp"
#include "templates.hpp"

namespace fusewright::kernel {

namespace {

using region::AccessRoot;
using region::IndexMap;
using region::ValueId;
using schedule::Rows;

/// Reductions over rows, with what stands before, between and after them. On a CPU a row is walked by vectors along it,
/// or, where the kept axes lie inside, a vector of columns at once; on a GPU by a block, or a column by each thread.
class RowsLowering {
 public:
  RowsLowering(const LowerInput& in, Rows rows)
      : in_(in),
        region_(in.region),
        rows_(std::move(rows)),
        b_(in.name, in.family()),
        buffers_(declare_buffers(b_, in.region)),
        passes_(passes_needing(in.region, rows_)),
        parts_(in.schedule.tile[1]) {
    for (const ValueId id : rows_.reductions) reducers_.push_back(Reducer::of(region_, id));
    choose_staged();
    if (parts_ > 1)
      for (const Reducer& r : reducers_) partials_.push_back(declare(r, "part", kept() * parts_, Space::kGlobal));
  }

  Result<Kernel> run() {
    const bool columns = rows_.inner > 1;
    b_.launch(in_.name, [&] {
      if (in_.cpu())
        columns ? cpu_columns() : cpu_rows();
      else
        columns ? gpu_columns() : gpu_rows();
    });
    if (parts_ > 1) b_.launch(in_.name + "_join", [&] { join_parts(); });
    if (!status_) return std::unexpected(status_.error());
    return b_.finish();
  }

 private:
  /// Memory for partial results of one reduction.
  struct Cells {
    BufferId value, position;
  };
  /// Where in a row, and where its partial results lie while it is walked.
  struct At {
    ExprId outer, inner, column;
    ExprId slot;    ///< of the partial results
    ExprId staged;  ///< of this element in the staged buffers
  };

  std::int64_t kept() const { return rows_.outer * rows_.inner; }

  Cells declare(const Reducer& r, const std::string& name, std::int64_t count, Space space) {
    const Buffer::Role role = space == Space::kGlobal ? Buffer::Role::kTemporary : Buffer::Role::kInput;
    Cells cells{b_.buffer(fmt::format("{}{}", name, r.id.index), r.value, count, space, role), {}};
    if (r.with_position)
      cells.position = b_.buffer(fmt::format("{}{}_at", name, r.id.index), DType::kS64, count, space, role);
    return cells;
  }
  Reducer::Partial read(const Reducer& r, const Cells& cells, ExprId at) {
    return {b_.load(cells.value, at), r.with_position ? b_.load(cells.position, at) : ExprId()};
  }
  void write(const Reducer& r, const Cells& cells, ExprId at, const Reducer::Partial& partial) {
    // Both are computed before either is stored: the second may depend on what the first overwrites.
    const ExprId value = b_.let("value", partial.value);
    const ExprId position = r.with_position ? b_.let("position", partial.position) : ExprId();
    b_.store(cells.value, at, value);
    if (r.with_position) b_.store(cells.position, at, position);
  }

  // A staged value is read back only where it is needed at the element that was staged.
  void choose_staged() {
    std::vector<AccessRoot> roots;
    for (const Reducer& r : reducers_) roots.push_back(full_root(region_[r.id].operands[0]));
    for (const ValueId o : rows_.full) roots.push_back(full_root(o));
    const auto graph = region::trace_accesses(region_, roots, [&](ValueId id) { return rows_.is_reduction(id); });
    if (!graph) return;
    for (const ValueId v : in_.schedule.staged) {
      const IndexMap own = full_map(region_, rows_, v);
      const region::IndexExpr address = linearize(own, region_[v].dims);
      const bool same = std::all_of(graph->nodes.begin(), graph->nodes.end(), [&](const region::AccessNode& n) {
        return n.value != v || compare(linearize(n.map(), region_[v].dims), address) == 0;
      });
      if (same) staged_.emplace(v, BufferId());
    }
  }

  AccessRoot full_root(ValueId v) const { return {v, full_map(region_, rows_, v)}; }
  int first_pass(ValueId v) const { return passes_[v].front(); }

  Elements elements_at(const At& at, int pass) {
    const auto lookup = [this, at, pass](ValueId v, const IndexMap&) -> std::optional<ExprId> {
      if (const auto result = results_.find(v); result != results_.end()) return result->second(at);
      const auto staged = staged_.find(v);
      if (staged == staged_.end() || first_pass(v) >= pass) return std::nullopt;
      return b_.load(staged->second, at.staged);
    };
    const auto stop = [this, pass](ValueId v) {
      return rows_.is_reduction(v) || (staged_.contains(v) && first_pass(v) < pass);
    };
    return Elements(b_, region_, buffers_.captures, {at.outer, at.inner, at.column}, lookup, stop);
  }

  std::vector<ExprId> emit(Elements& elements, const std::vector<AccessRoot>& roots) {
    Result<std::vector<ExprId>> values = elements.emit(roots);
    if (values) return *std::move(values);
    status_ = std::unexpected(values.error());
    return {};
  }

  // One element of one pass: reductions of this level take it up, values staged here are stored.
  void reduce_element(int level, const At& at, const std::map<ValueId, Cells>& cells) {
    std::vector<AccessRoot> roots;
    std::vector<const Reducer*> reducers;
    for (std::size_t r = 0; r < reducers_.size(); ++r) {
      if (rows_.level[r] != level) continue;
      reducers.push_back(&reducers_[r]);
      roots.push_back(full_root(region_[reducers_[r].id].operands[0]));
    }
    std::vector<ValueId> stage;
    for (const auto& [v, buffer] : staged_)
      if (first_pass(v) == level) {
        stage.push_back(v);
        roots.push_back(full_root(v));
      }
    Elements elements = elements_at(at, level);
    const std::vector<ExprId> values = emit(elements, roots);
    if (values.empty()) return;
    for (std::size_t s = 0; s < stage.size(); ++s)
      b_.store(staged_.at(stage[s]), at.staged, values[reducers.size() + s]);
    for (std::size_t k = 0; k < reducers.size(); ++k) {
      const Reducer& r = *reducers[k];
      const Reducer::Partial more{b_.convert(r.value, values[k]), r.with_position ? at.column : ExprId()};
      write(r, cells.at(r.id), at.slot, r.combine(b_, read(r, cells.at(r.id), at.slot), more));
    }
  }

  // One element of the last pass: outputs of full size.
  void store_element(const At& at) {
    std::vector<AccessRoot> roots;
    for (const ValueId o : rows_.full) roots.push_back(full_root(o));
    Elements elements = elements_at(at, rows_.levels);
    const std::vector<ExprId> values = emit(elements, roots);
    for (std::size_t o = 0; o < values.size(); ++o) {
      const ExprId address = elements.index(linearize(roots[o].map, region_[roots[o].value].dims), roots[o].map, {});
      b_.store(output_buffer(roots[o].value), address, values[o]);
    }
  }

  // Outputs with one element for each row.
  void store_kept(const At& at) {
    std::vector<AccessRoot> roots;
    for (const ValueId o : rows_.kept) roots.push_back({o, kept_map(region_, rows_, o)});
    if (roots.empty()) return;
    const auto lookup = [this, at](ValueId v, const IndexMap&) -> std::optional<ExprId> {
      const auto result = results_.find(v);
      return result != results_.end() ? std::optional(result->second(at)) : std::nullopt;
    };
    Elements elements(b_, region_, buffers_.captures, {at.outer, at.inner}, lookup,
                      [this](ValueId v) { return rows_.is_reduction(v); });
    const std::vector<ExprId> values = emit(elements, roots);
    for (std::size_t o = 0; o < values.size(); ++o)
      b_.store(output_buffer(roots[o].value), b_.add(b_.mul(at.outer, rows_.inner), at.inner), values[o]);
  }

  BufferId output_buffer(ValueId v) const {
    const auto at = std::find(region_.outputs.begin(), region_.outputs.end(), v);
    return buffers_.outputs[static_cast<std::size_t>(at - region_.outputs.begin())];
  }

  ExprId zero() { return b_.index(0); }

  // ---- a row along its own vectors (CPU) ----

  // A power of two, since the accumulators are folded by halves.
  std::int64_t unroll() const {
    const std::int64_t most =
        std::max<std::int64_t>(1, std::min(in_.schedule.tile[2], rows_.reduced / parts_ / in_.schedule.vector));
    return static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(most)));
  }

  // Columns [start, start + count): four vectors at once into accumulators of their own, then single vectors, then
  // elements.
  void walk(ExprId start, ExprId count, bool accumulate,
            const std::function<void(ExprId column, ExprId slot)>& element) {
    const std::int64_t lanes = in_.schedule.vector, unrolled = accumulate ? unroll() : 1, step = lanes * unrolled;
    const ExprId steps = b_.floor_div(count, step);
    b_.loop(LoopKind::kSerial, "c", steps, [&](ExprId c) {
      b_.loop(LoopKind::kUnrolled, "u", unrolled, [&](ExprId u) {
        const ExprId first = b_.add(start, b_.add(b_.mul(c, step), b_.mul(u, lanes)));
        b_.loop(LoopKind::kVector, "l", lanes,
                [&](ExprId l) { element(b_.add(first, l), b_.add(b_.mul(u, lanes), l)); });
      });
    });
    const ExprId rest = b_.let("rest", b_.add(start, b_.mul(steps, step)));
    if (unrolled > 1)
      b_.loop(LoopKind::kSerial, "v", b_.floor_div(b_.mod(count, step), lanes), [&](ExprId v) {
        b_.loop(LoopKind::kVector, "l", lanes,
                [&](ExprId l) { element(b_.add(rest, b_.add(b_.mul(v, lanes), l)), l); });
      });
    const ExprId tail = b_.let("tail", b_.add(start, b_.mul(b_.floor_div(count, lanes), lanes)));
    // Elements beyond the last vector have a slot behind those of the vectors.
    b_.loop(LoopKind::kSerial, "s", b_.mod(count, lanes), [&](ExprId s) { element(b_.add(tail, s), b_.index(step)); });
  }

  // All slots into slot 0, in an order that only the extents decide.
  void fold_slots(const Reducer& r, const Cells& cells, std::int64_t slots, bool tail) {
    for (std::int64_t half = slots / 2; half >= 1; half /= 2) {
      const auto step = [&](ExprId l) {
        write(r, cells, l, r.combine(b_, read(r, cells, l), read(r, cells, b_.add(l, b_.index(half)))));
      };
      if (half == 1)
        step(zero());
      else
        b_.loop(LoopKind::kVector, "l", half, step);
    }
    if (tail) write(r, cells, zero(), r.combine(b_, read(r, cells, zero()), read(r, cells, b_.index(slots))));
  }

  void clear(const Reducer& r, const Cells& cells, std::int64_t slots, bool tail) {
    const auto one = [&](ExprId at) { write(r, cells, at, r.identity(b_)); };
    if (slots == 1)
      one(zero());
    else
      b_.loop(LoopKind::kVector, "l", slots, one);
    if (tail) one(b_.index(slots));
  }

  void cpu_rows() {
    const std::int64_t slots = in_.schedule.vector * unroll();
    in_row_slots_ = slots;
    std::map<ValueId, Cells> cells;
    for (const Reducer& r : reducers_) cells[r.id] = declare(r, "acc", slots + 1, Space::kLocal);
    for (auto& [v, buffer] : staged_)
      buffer = b_.buffer(fmt::format("row{}", v.index), region_[v].dtype, rows_.reduced, Space::kLocal);
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

  void cpu_row(ExprId row, const std::map<ValueId, Cells>& cells) {
    const std::int64_t lanes = in_.schedule.vector;
    const std::int64_t length = part_length(lanes);
    const ExprId outer = b_.let("outer", b_.floor_div(row, parts_));
    const ExprId start = b_.let("start", b_.mul(b_.mod(row, parts_), length));
    const ExprId count =
        parts_ > 1 ? b_.let("count", b_.op(ScalarOp::kMax, DType::kS64,
                                           {zero(), b_.min(b_.index(length), b_.sub(b_.index(rows_.reduced), start))}))
                   : b_.index(rows_.reduced);
    const bool tail = rows_.reduced % lanes != 0;
    results_.clear();
    for (int level = 0; level < rows_.levels; ++level) {
      for (std::size_t r = 0; r < reducers_.size(); ++r)
        if (rows_.level[r] == level) clear(reducers_[r], cells.at(reducers_[r].id), in_row_slots_, tail);
      walk(start, count, true,
           [&](ExprId column, ExprId slot) { reduce_element(level, {outer, zero(), column, slot, column}, cells); });
      for (std::size_t r = 0; r < reducers_.size(); ++r) {
        if (rows_.level[r] != level) continue;
        const Reducer& reducer = reducers_[r];
        fold_slots(reducer, cells.at(reducer.id), in_row_slots_, tail);
        if (parts_ > 1) {
          write(reducer, partials_[r], row, read(reducer, cells.at(reducer.id), zero()));
          continue;
        }
        const ExprId result = b_.let(region_[reducer.id].op_name,
                                     reducer.result(b_, region_, read(reducer, cells.at(reducer.id), zero())));
        results_[reducer.id] = [result](const At&) { return result; };
      }
    }
    if (parts_ > 1) return;
    store_kept({outer, zero(), zero(), zero(), zero()});
    if (!rows_.full.empty())
      walk(start, count, false, [&](ExprId column, ExprId) { store_element({outer, zero(), column, zero(), column}); });
  }

  std::int64_t part_length(std::int64_t step) const {
    const std::int64_t length = (rows_.reduced + parts_ - 1) / parts_;
    return parts_ == 1 ? length : (length + step - 1) / step * step;
  }

  // ---- a vector of columns at once (CPU), a column by each thread (GPU) ----

  // `lanes` neighbouring columns from `inner` on, all of the reduced extent (or one part of it).
  void column_group(ExprId outer, ExprId inner, ExprId part, std::int64_t lanes,
                    const std::map<ValueId, Cells>& cells) {
    const auto across = [&](const std::function<void(ExprId)>& body) {
      if (lanes == 1)
        body(zero());
      else
        b_.loop(LoopKind::kVector, "l", lanes, body);
    };
    const std::int64_t length = part_length(1);
    const ExprId start = parts_ > 1 ? b_.let("start", b_.mul(part, length)) : zero();
    const ExprId count = parts_ > 1 ? b_.op(ScalarOp::kMax, DType::kS64,
                                            {zero(), b_.min(b_.index(length), b_.sub(b_.index(rows_.reduced), start))})
                                    : b_.index(rows_.reduced);
    results_.clear();
    for (int level = 0; level < rows_.levels; ++level) {
      for (std::size_t r = 0; r < reducers_.size(); ++r)
        if (rows_.level[r] == level)
          across([&](ExprId l) { write(reducers_[r], cells.at(reducers_[r].id), l, reducers_[r].identity(b_)); });
      b_.loop(LoopKind::kSerial, "c", count, [&](ExprId c) {
        const ExprId column = b_.add(start, c);
        across([&](ExprId l) {
          reduce_element(level, {outer, b_.add(inner, l), column, l, b_.add(b_.mul(column, lanes), l)}, cells);
        });
      });
      for (std::size_t r = 0; r < reducers_.size(); ++r) {
        if (rows_.level[r] != level) continue;
        const Reducer& reducer = reducers_[r];
        const Cells own = cells.at(reducer.id);
        if (parts_ > 1) {
          across([&](ExprId l) {
            const ExprId at = b_.add(b_.mul(b_.add(b_.mul(outer, rows_.inner), b_.add(inner, l)), parts_), part);
            write(reducer, partials_[r], at, read(reducer, own, l));
          });
          continue;
        }
        results_[reducer.id] = [this, reducer, own](const At& at) {
          return reducer.result(b_, region_, read(reducer, own, at.slot));
        };
      }
    }
    if (parts_ > 1) return;
    across([&](ExprId l) { store_kept({outer, b_.add(inner, l), zero(), l, zero()}); });
    if (rows_.full.empty()) return;
    b_.loop(LoopKind::kSerial, "c", b_.index(rows_.reduced), [&](ExprId c) {
      across([&](ExprId l) { store_element({outer, b_.add(inner, l), c, l, b_.add(b_.mul(c, lanes), l)}); });
    });
  }

  void cpu_columns() {
    const std::int64_t lanes = std::min(in_.schedule.vector, rows_.inner);
    std::int64_t width = 1;
    while (width * 2 <= lanes) width *= 2;
    std::map<ValueId, Cells> cells;
    for (const Reducer& r : reducers_) cells[r.id] = declare(r, "acc", width, Space::kLocal);
    for (auto& [v, buffer] : staged_)
      buffer = b_.buffer(fmt::format("row{}", v.index), region_[v].dtype, rows_.reduced * width, Space::kLocal);
    const std::int64_t groups = (rows_.inner + width - 1) / width;
    const std::int64_t all = rows_.outer * groups * parts_, task = parts_ > 1 ? 1 : in_.schedule.tile[0];
    b_.loop(LoopKind::kParallel, "task", (all + task - 1) / task, [&](ExprId t) {
      const ExprId first = b_.let("first", b_.mul(t, task));
      b_.loop(LoopKind::kSerial, "g", b_.min(b_.index(task), b_.sub(b_.index(all), first)), [&](ExprId g) {
        const ExprId at = b_.let("at", b_.add(first, g));
        const ExprId part = b_.let("part", b_.mod(at, parts_));
        const ExprId group = b_.let("group", b_.mod(b_.floor_div(at, parts_), groups));
        const ExprId outer = b_.let("outer", b_.floor_div(at, parts_ * groups));
        const ExprId inner = b_.let("inner", b_.mul(group, width));
        const auto whole = [&] { column_group(outer, inner, part, width, cells); };
        if (rows_.inner % width == 0) return whole();
        b_.when(b_.less(group, b_.index(groups - 1)), whole, [&] {
          b_.loop(LoopKind::kSerial, "i", b_.index(rows_.inner % width),
                  [&](ExprId i) { column_group(outer, b_.let("column", b_.add(inner, i)), part, 1, cells); });
        });
      });
    });
  }

  void gpu_columns() {
    std::map<ValueId, Cells> cells;
    for (const Reducer& r : reducers_) cells[r.id] = declare(r, "acc", 1, Space::kLocal);
    staged_.clear();
    const std::int64_t all = kept() * parts_, threads = in_.schedule.threads;
    b_.loop(LoopKind::kGridX, "block", (all + threads - 1) / threads, [&](ExprId block) {
      b_.loop(LoopKind::kThreadX, "thread", threads, [&](ExprId thread) {
        const ExprId at = b_.let("at", b_.add(b_.mul(block, threads), thread));
        b_.when(b_.less(at, b_.index(all)), [&] {
          // Neighbouring threads take neighbouring columns.
          const ExprId inner = b_.let("inner", b_.mod(at, rows_.inner));
          const ExprId part = b_.let("part", b_.mod(b_.floor_div(at, rows_.inner), parts_));
          const ExprId outer = b_.let("outer", b_.floor_div(at, rows_.inner * parts_));
          column_group(outer, inner, part, 1, cells);
        });
      });
    });
  }

  // ---- a row by a block (GPU) ----

  void gpu_rows() {
    const std::int64_t threads = in_.schedule.threads;
    const std::int64_t wide = rows_.reduced % in_.schedule.vector == 0 ? in_.schedule.vector : 1;
    const std::int64_t length = part_length(wide), steps = (length + threads * wide - 1) / (threads * wide);
    constexpr std::int64_t kMostKept = 64;  // elements of a row in the registers of one thread
    if (steps * wide > kMostKept) staged_.clear();
    std::map<ValueId, Cells> cells, warps;
    for (const Reducer& r : reducers_) {
      cells[r.id] = declare(r, "acc", wide, Space::kLocal);
      if (threads > 32) warps[r.id] = declare(r, "warp", threads / 32, Space::kShared);
    }
    for (auto& [v, buffer] : staged_)
      buffer = b_.buffer(fmt::format("row{}", v.index), region_[v].dtype, steps * wide, Space::kLocal);
    b_.loop(LoopKind::kGridX, "block", rows_.outer * parts_, [&](ExprId block) {
      b_.loop(LoopKind::kThreadX, "thread", threads,
              [&](ExprId thread) { gpu_row(block, thread, wide, steps, length, cells, warps); });
    });
  }

  void gpu_row(ExprId block, ExprId thread, std::int64_t wide, std::int64_t steps, std::int64_t length,
               const std::map<ValueId, Cells>& cells, const std::map<ValueId, Cells>& warps) {
    const std::int64_t threads = in_.schedule.threads;
    const ExprId outer = b_.let("outer", b_.floor_div(block, parts_));
    const ExprId start = b_.let("start", b_.mul(b_.mod(block, parts_), length));
    const LoopKind kind = staged_.empty() ? LoopKind::kSerial : LoopKind::kUnrolled;
    const auto each = [&](const std::function<void(ExprId column, ExprId lane, ExprId kept)>& element) {
      b_.loop(kind, "k", steps, [&](ExprId k) {
        const ExprId local = b_.mul(b_.add(b_.mul(k, threads), thread), wide);
        const auto group = [&] {
          const auto one = [&](ExprId l) { element(b_.add(b_.add(start, local), l), l, b_.add(b_.mul(k, wide), l)); };
          if (wide == 1)
            one(zero());
          else
            b_.loop(LoopKind::kVector, "l", wide, one);
        };
        ExprId inside = b_.integer(DType::kPred, 1);
        if (length % (threads * wide) != 0) inside = b_.less(local, b_.index(length));
        if (parts_ > 1) inside = b_.both(inside, b_.less(b_.add(start, local), b_.index(rows_.reduced)));
        b_.when(inside, group);
      });
    };
    results_.clear();
    for (int level = 0; level < rows_.levels; ++level) {
      for (std::size_t r = 0; r < reducers_.size(); ++r)
        if (rows_.level[r] == level) clear(reducers_[r], cells.at(reducers_[r].id), wide, false);
      each([&](ExprId column, ExprId lane, ExprId kept) {
        reduce_element(level, {outer, zero(), column, lane, kept}, cells);
      });
      std::vector<std::pair<std::size_t, Reducer::Partial>> partial;
      for (std::size_t r = 0; r < reducers_.size(); ++r) {
        if (rows_.level[r] != level) continue;
        fold_slots(reducers_[r], cells.at(reducers_[r].id), wide, false);
        partial.emplace_back(r, across_warp(reducers_[r], read(reducers_[r], cells.at(reducers_[r].id), zero())));
      }
      if (threads > 32) {
        for (const auto& [r, p] : partial) {
          const auto& [reducer, value] = std::pair(reducers_[r], p);
          b_.when(b_.op(ScalarOp::kEq, DType::kPred, {b_.mod(thread, 32), zero()}),
                  [&] { write(reducer, warps.at(reducer.id), b_.floor_div(thread, 32), value); });
        }
        b_.barrier();
        for (auto& [r, p] : partial)
          p = across_block(reducers_[r], warps.at(reducers_[r].id), cells.at(reducers_[r].id));
      }
      for (const auto& [r, p] : partial) {
        const Reducer& reducer = reducers_[r];
        if (parts_ > 1) {
          const auto& target = partials_[r];
          b_.when(b_.op(ScalarOp::kEq, DType::kPred, {thread, zero()}),
                  [&, value = p] { write(reducer, target, block, value); });
          continue;
        }
        const ExprId result = b_.let(region_[reducer.id].op_name, reducer.result(b_, region_, p));
        results_[reducer.id] = [result](const At&) { return result; };
      }
    }
    if (parts_ > 1) return;
    if (!rows_.kept.empty())
      b_.when(b_.op(ScalarOp::kEq, DType::kPred, {thread, zero()}),
              [&] { store_kept({outer, zero(), zero(), zero(), zero()}); });
    if (!rows_.full.empty())
      each([&](ExprId column, ExprId lane, ExprId kept) { store_element({outer, zero(), column, lane, kept}); });
  }

  Reducer::Partial across_warp(const Reducer& r, Reducer::Partial p) {
    for (std::int64_t mask = 16; mask >= 1; mask /= 2) {
      p = {b_.let("mine", p.value), r.with_position ? b_.let("mine_at", p.position) : ExprId()};
      const Reducer::Partial other{b_.let("theirs", b_.shuffle_xor(p.value, mask)),
                                   r.with_position ? b_.let("theirs_at", b_.shuffle_xor(p.position, mask)) : ExprId()};
      p = r.combine(b_, p, other);
    }
    return {b_.let("warp", p.value), r.with_position ? b_.let("warp_at", p.position) : ExprId()};
  }

  Reducer::Partial across_block(const Reducer& r, const Cells& warps, const Cells& own) {
    write(r, own, zero(), read(r, warps, zero()));
    b_.loop(LoopKind::kSerial, "w", b_.index(in_.schedule.threads / 32 - 1), [&](ExprId w) {
      write(r, own, zero(), r.combine(b_, read(r, own, zero()), read(r, warps, b_.add(w, b_.index(1)))));
    });
    const Reducer::Partial all = read(r, own, zero());
    return {b_.let("all", all.value), r.with_position ? b_.let("all_at", all.position) : ExprId()};
  }

  // ---- the second launch: parts of each row, in order ----

  void join_parts() {
    std::map<ValueId, Cells> cells;
    for (const Reducer& r : reducers_) cells[r.id] = declare(r, "join", 1, Space::kLocal);
    const auto one = [&](ExprId at) {
      results_.clear();
      for (std::size_t r = 0; r < reducers_.size(); ++r) {
        const Reducer& reducer = reducers_[r];
        const Cells own = cells.at(reducer.id);
        write(reducer, own, zero(), reducer.identity(b_));
        b_.loop(LoopKind::kSerial, "p", b_.index(parts_), [&](ExprId p) {
          write(reducer, own, zero(),
                reducer.combine(b_, read(reducer, own, zero()),
                                read(reducer, partials_[r], b_.add(b_.mul(at, parts_), p))));
        });
        const ExprId result = b_.let("joined", reducer.result(b_, region_, read(reducer, own, zero())));
        results_[reducer.id] = [result](const At&) { return result; };
      }
      store_kept({b_.let("outer", b_.floor_div(at, rows_.inner)), b_.let("inner", b_.mod(at, rows_.inner)), zero(),
                  zero(), zero()});
    };
    if (in_.cpu()) {
      b_.loop(LoopKind::kParallel, "row", kept(), one);
      return;
    }
    constexpr std::int64_t kThreads = 128;
    b_.loop(LoopKind::kGridX, "block", (kept() + kThreads - 1) / kThreads, [&](ExprId block) {
      b_.loop(LoopKind::kThreadX, "thread", kThreads, [&](ExprId thread) {
        const ExprId at = b_.let("at", b_.add(b_.mul(block, kThreads), thread));
        b_.when(b_.less(at, b_.index(kept())), [&] { one(at); });
      });
    });
  }

  const LowerInput& in_;
  const region::Region& region_;
  Rows rows_;
  KernelBuilder b_;
  RegionBuffers buffers_;
  schedule::Passes passes_;
  std::int64_t parts_;
  std::vector<Reducer> reducers_;
  std::vector<Cells> partials_;  // by reduction; global
  std::map<ValueId, BufferId> staged_;
  std::map<ValueId, std::function<ExprId(const At&)>> results_;  // of the row at hand
  std::int64_t in_row_slots_ = 1;
  Status status_;
};

}  // namespace

Result<Kernel> lower_rows(const LowerInput& in) {
  auto rows = schedule::analyse_rows(in.region);
  if (!rows) return fail(rows.error().reason);
  return RowsLowering(in, *std::move(rows)).run();
}

}  // namespace fusewright::kernel
