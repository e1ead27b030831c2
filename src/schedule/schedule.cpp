#include "fusewright/schedule/schedule.hpp"

#include <algorithm>
#include <array>

#include "fusewright/support/check.hpp"
#include "templates.hpp"

namespace fusewright::schedule {

namespace {

struct Row {
  Template kind;
  Fit (*fit)(Fits&);
};

/// Of a template that asks for nothing but the region.
template <Fit (*kFit)(const Region&, const Target&)>
Fit alone(Fits& fits) {
  return kFit(fits.region(), fits.target());
}

// In the order of ops::kTemplates.
constexpr std::array kFits{
    Row{Template::kLoop, alone<fit_loop>},
    Row{Template::kMove, alone<fit_move>},
    Row{Template::kReduce, fit_reduce},
    Row{Template::kRow, fit_row},
    Row{Template::kContract, alone<fit_contract>},
    Row{Template::kConv, alone<fit_conv>},
    Row{Template::kWindow, alone<fit_window>},
    Row{Template::kSort, alone<fit_sort>},
    Row{Template::kScatter, alone<fit_scatter>},
    Row{Template::kHorizontal, fit_horizontal},
};
static_assert(std::equal(kFits.begin(), kFits.end(), ops::kTemplates.begin(), ops::kTemplates.end(),
                         [](const Row& row, const ops::TemplateName& listed) { return row.kind == listed.kind; }));

}  // namespace

bool computes_nothing(const Region& region) {
  return !region.outputs.empty() && std::all_of(region.outputs.begin(), region.outputs.end(),
                                                [&](region::ValueId id) { return region[id].elements() == 0; });
}

std::expected<Schedule, Refusal> fit(const Region& region, Template kind, const Target& target) {
  PartFits part_fits(target);
  return Fits(region, target, part_fits).with(kind);
}

const Fit& Fits::with(Template kind) {
  const auto row = static_cast<std::size_t>(std::ranges::find(kFits, kind, &Row::kind) - kFits.begin());
  FW_CHECK(row < kFits.size()) << "a template without a row";
  std::optional<Fit>& known = fits_[row];
  if (known) return *known;
  if (computes_nothing(region_)) {
    Schedule nothing;
    nothing.kind = kind;
    known = std::move(nothing);
  } else {
    known = kFits[row].fit(*this);
  }
  return *known;
}

const std::expected<Rows, Refusal>& Fits::rows() {
  if (!rows_) rows_ = analyse_rows(region_);
  return *rows_;
}

const std::vector<Part>& Fits::parts() {
  if (!parts_) parts_ = independent_parts(region_);
  return *parts_;
}

std::int64_t live_values(const Region& region) {
  // A value lives from where it is computed to its last use; captures from their first use. One number, however it is
  // spread, is an operand in memory.
  const std::size_t n = region.values.size();
  std::vector<bool> number(n, false);
  std::vector<std::size_t> first(n, n), last(n, 0);
  for (std::size_t i = 0; i < n; ++i) {
    const region::RegionValue& value = region.values[i];
    if (value.kind == region::RegionValue::Kind::kOp) first[i] = i;
    number[i] = value.kind == region::RegionValue::Kind::kScalar ||
                (value.op_name == "broadcast" && number[value.operands[0].index]);
    for (const region::ValueId operand : region.values[i].operands) {
      first[operand.index] = std::min(first[operand.index], i);
      last[operand.index] = i;
    }
  }
  for (const region::ValueId output : region.outputs)
    last[output.index] = std::max(last[output.index], static_cast<std::size_t>(output.index));
  std::vector<std::int64_t> change(n + 1, 0);
  for (std::size_t i = 0; i < n; ++i) {
    if (first[i] >= n || number[i]) continue;
    ++change[first[i]];
    --change[std::max(first[i], last[i]) + (last[i] > first[i] ? 0 : 1)];
  }
  std::int64_t live = 0, most = 0;
  for (const std::int64_t c : change) most = std::max(most, live += c);
  return most;
}

std::int64_t vector_lanes(const Region& region, const Target& target) {
  std::int64_t widest = 4;
  for (const region::RegionValue& v : region.values) widest = std::max(widest, ops::byte_width(v.dtype));
  return std::max<std::int64_t>(1, target.vector_bits / 8 / widest);
}

std::int64_t thread_elements(const Region& region) {
  std::int64_t narrowest = 16;
  for (std::uint32_t c = 0; c < region.captures; ++c)
    narrowest = std::min(narrowest, ops::byte_width(region.values[c].dtype));
  for (const region::ValueId output : region.outputs)
    narrowest = std::min(narrowest, ops::byte_width(region[output].dtype));
  return std::clamp<std::int64_t>(16 / narrowest, 1, 8);
}

}  // namespace fusewright::schedule
