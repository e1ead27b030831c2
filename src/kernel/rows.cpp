#include "rows.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace fusewright::kernel {

using region::AccessRoot;
using region::IndexMap;
using region::ValueId;
using schedule::Rows;

RowsLowering::RowsLowering(const LowerInput& in, Rows rows)
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

Result<Kernel> RowsLowering::run() {
  const bool columns = rows_.inner > 1;
  b_.launch(in_.name, [&] {
    if (in_.cpu())
      columns ? cpu_columns() : cpu_rows();
    else
      columns ? gpu_columns() : gpu_rows();
  });
  if (parts_ > 1) b_.launch(in_.name + "_join", [&] { in_.cpu() ? cpu_join() : gpu_join(); });
  if (!status_) return std::unexpected(status_.error());
  return b_.finish();
}

// ---- extents ----

std::int64_t RowsLowering::part_length(std::int64_t step) const {
  const std::int64_t length = (rows_.reduced + parts_ - 1) / parts_;
  return parts_ == 1 ? length : (length + step - 1) / step * step;
}

// Lengths are rounded up: the last parts may be shorter, or empty.
RowsLowering::Part RowsLowering::part_of(ExprId part, std::int64_t length) {
  if (parts_ == 1) return {zero(), b_.index(rows_.reduced)};
  const ExprId start = b_.let("start", b_.mul(part, length));
  const ExprId left = b_.min(b_.index(length), b_.sub(b_.index(rows_.reduced), start));
  return {start, b_.let("count", b_.op(ScalarOp::kMax, DType::kS64, {zero(), left}))};
}

std::vector<std::size_t> RowsLowering::reducers_of(int level) const {
  std::vector<std::size_t> there;
  for (std::size_t r = 0; r < reducers_.size(); ++r)
    if (rows_.level[r] == level) there.push_back(r);
  return there;
}

void RowsLowering::across(std::int64_t lanes, const std::function<void(ExprId)>& body) {
  if (lanes == 1)
    body(zero());
  else
    b_.loop(LoopKind::kVector, "l", lanes, body);
}

// ---- partial results ----

RowsLowering::Cells RowsLowering::declare(const Reducer& r, const std::string& name, std::int64_t count, Space space) {
  const Buffer::Role role = space == Space::kGlobal ? Buffer::Role::kTemporary : Buffer::Role::kInput;
  Cells cells{b_.buffer(fmt::format("{}{}", name, r.id.index), r.value, count, space, role), {}};
  if (r.with_position)
    cells.position = b_.buffer(fmt::format("{}{}_at", name, r.id.index), DType::kS64, count, space, role);
  return cells;
}

RowsLowering::AllCells RowsLowering::declare_all(const std::string& name, std::int64_t count, Space space) {
  AllCells cells;
  for (const Reducer& r : reducers_) cells[r.id] = declare(r, name, count, space);
  return cells;
}

Reducer::Partial RowsLowering::read(const Reducer& r, const Cells& cells, ExprId at) {
  return {b_.load(cells.value, at), r.with_position ? b_.load(cells.position, at) : ExprId()};
}

void RowsLowering::write(const Reducer& r, const Cells& cells, ExprId at, const Reducer::Partial& partial) {
  // Both are computed before either is stored: the second may depend on what the first overwrites.
  const ExprId value = b_.let("value", partial.value);
  const ExprId position = r.with_position ? b_.let("position", partial.position) : ExprId();
  b_.store(cells.value, at, value);
  if (r.with_position) b_.store(cells.position, at, position);
}

void RowsLowering::clear(const Reducer& r, const Cells& cells, std::int64_t slots, bool tail) {
  const auto one = [&](ExprId at) { write(r, cells, at, r.identity(b_)); };
  if (slots == 1)
    one(zero());
  else
    b_.loop(LoopKind::kVector, "l", slots, one);
  if (tail) one(b_.index(slots));
}

// All slots into slot 0, in an order that only the extents decide.
void RowsLowering::fold_slots(const Reducer& r, const Cells& cells, std::int64_t slots, bool tail) {
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

void RowsLowering::set_result(const Reducer& r, ExprId result) {
  results_[r.id] = [result](const At&) { return result; };
}

void RowsLowering::set_result(const Reducer& r, const Cells& own) {
  results_[r.id] = [this, &r, own](const At& at) { return r.result(b_, region_, read(r, own, at.slot)); };
}

// ---- staged values ----

// A staged value is read back only where it is needed at the element that was staged.
void RowsLowering::choose_staged() {
  std::vector<AccessRoot> roots;
  for (const Reducer& r : reducers_) roots.push_back(operand_root(r));
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

void RowsLowering::declare_staged(std::int64_t elements) {
  for (auto& [v, buffer] : staged_)
    buffer = b_.buffer(fmt::format("row{}", v.index), region_[v].dtype, elements, Space::kLocal);
}

// ---- elements ----

Elements RowsLowering::elements_at(const At& at, int pass) {
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

std::vector<ExprId> RowsLowering::emit(Elements& elements, const std::vector<AccessRoot>& roots) {
  Result<std::vector<ExprId>> values = elements.emit(roots);
  if (values) return *std::move(values);
  status_ = std::unexpected(values.error());
  return {};
}

// One element of one pass: reductions of this level take it up, values staged here are stored.
void RowsLowering::reduce_element(int level, const At& at, const AllCells& cells) {
  std::vector<AccessRoot> roots;
  std::vector<const Reducer*> reducers;
  for (const std::size_t r : reducers_of(level)) {
    reducers.push_back(&reducers_[r]);
    roots.push_back(operand_root(reducers_[r]));
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
  for (std::size_t s = 0; s < stage.size(); ++s) b_.store(staged_.at(stage[s]), at.staged, values[reducers.size() + s]);
  for (std::size_t k = 0; k < reducers.size(); ++k) {
    const Reducer& r = *reducers[k];
    const Reducer::Partial more{b_.convert(r.value, values[k]), r.with_position ? at.column : ExprId()};
    write(r, cells.at(r.id), at.slot, r.combine(b_, read(r, cells.at(r.id), at.slot), more));
  }
}

// One element of the last pass: outputs of full size.
void RowsLowering::store_element(const At& at) {
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
void RowsLowering::store_kept(const At& at) {
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

BufferId RowsLowering::output_buffer(ValueId v) const {
  const auto at = std::find(region_.outputs.begin(), region_.outputs.end(), v);
  return buffers_.outputs[static_cast<std::size_t>(at - region_.outputs.begin())];
}

Result<Kernel> lower_rows(const LowerInput& in) {
  auto rows = schedule::analyse_rows(in.region);
  if (!rows) return fail(rows.error().reason);
  return RowsLowering(in, *std::move(rows)).run();
}

}  // namespace fusewright::kernel
