#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "src/interpret/approx.hpp"
#include "src/interpret/fold.hpp"
#include "src/interpret/ordering.hpp"

namespace fusewright::interpret {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Line {
  std::vector<double> centers, radii;
};

Line line_of(const Approx& x, std::int64_t base, std::span<const std::int64_t> steps) {
  Line line;
  for (const std::int64_t step : steps) {
    const Ball ball = x.ball(base + step);
    line.centers.push_back(number_of(x.value.dtype, ball.value));
    line.radii.push_back(ball.radius);
  }
  return line;
}

// Ascending with NaN last, or the reverse of it.
void sort_numbers(std::vector<double>& values, bool descending) {
  std::ranges::sort(values, [descending](double a, double b) {
    const int order = compare_keys(DType::kF64, {a, 0}, {b, 0});
    return descending ? order > 0 : order < 0;
  });
}

// The k-th smallest of values that move within their radii lies between the k-th smallest of the lower ends and of the
// upper.
std::vector<double> sorted_radii(const Line& line, bool descending) {
  std::vector<double> low = line.centers, high = line.centers, center = line.centers;
  for (std::size_t i = 0; i < low.size(); ++i) {
    low[i] -= line.radii[i];
    high[i] += line.radii[i];
  }
  for (std::vector<double>* values : {&low, &high, &center}) sort_numbers(*values, descending);
  std::vector<double> out(low.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    const bool fixed = low[i] == high[i] || (std::isnan(low[i]) && std::isnan(high[i]));
    out[i] = fixed ? 0 : std::max(high[i] - center[i], center[i] - low[i]);
    if (std::isnan(out[i])) out[i] = kInfinity;
  }
  return out;
}

// Runs of places in sorted order within which elements may change places: begin of the run for each place, and its end.
struct Run {
  std::size_t begin, end;
};
std::vector<Run> overlapping_runs(const Line& line, std::span<const std::int64_t> order, bool descending, bool stable) {
  std::vector<Run> runs;
  double reach = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto at = static_cast<std::size_t>(order[i]);
    const double center = descending ? -line.centers[at] : line.centers[at];
    const double radius = line.radii[at];
    const bool first = i == 0;
    const bool moves =
        !first && (radius > 0 || reach > (descending ? -line.centers[static_cast<std::size_t>(order[i - 1])]
                                                     : line.centers[static_cast<std::size_t>(order[i - 1])]));
    const bool tie = !first && !stable && center == reach;
    const bool joins = !first && (tie || (moves && !(center - radius > reach)));
    if (joins)
      runs.back().end = i + 1;
    else
      runs.push_back({i, i + 1});
    reach = joins ? std::max(reach, center + radius) : center + radius;
  }
  std::vector<Run> by_place;
  for (const Run& run : runs) by_place.insert(by_place.end(), run.end - run.begin, run);
  return by_place;
}

// What may stand at each place when the elements of a run change places: the hull of the run.
std::vector<double> companion_radii(const Line& companion, std::span<const std::int64_t> order,
                                    const std::vector<Run>& runs) {
  std::vector<double> out(order.size(), 0);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const double center = companion.centers[static_cast<std::size_t>(order[i])];
    for (std::size_t k = runs[i].begin; k < runs[i].end; ++k) {
      const auto at = static_cast<std::size_t>(order[k]);
      const double distance = companion.centers[at] == center ? 0 : std::fabs(companion.centers[at] - center);
      out[i] =
          std::max(out[i], std::isnan(distance) && k != i ? kInfinity : companion.radii[at] + (k == i ? 0 : distance));
    }
  }
  return out;
}

std::vector<Scalar> as_keys(const Line& line) {
  std::vector<Scalar> keys;
  for (const double center : line.centers) keys.push_back({center, 0});
  return keys;
}

}  // namespace

// Any index is right whose element reaches the best one's within their bounds.
Result<Approxes> approx_arg_reduction(const ApproxCall& call) {
  FW_TRY(Tensors values, centers(call));
  const Approx& x = call.operands[0];
  if (x.exact()) return Approxes{{std::move(values[0]), nullptr}};
  const bool largest_wins = call.node.info.name == "arg_max";
  const Dims axes = {call.node.integer("axis")};
  const ReductionLayout layout = reduction_layout(x.value.dims, axes);
  std::vector<double> radii(layout.outer.size(), 0);
  for (std::size_t at = 0; at < layout.outer.size(); ++at) {
    const Line line = line_of(x, layout.outer[at], layout.inner);
    const std::int64_t chosen = ops::get_int(values[0], static_cast<std::int64_t>(at));
    double sure = -kInfinity;  // the best that some element surely is
    for (std::size_t i = 0; i < line.centers.size(); ++i)
      sure = std::max(sure, (largest_wins ? line.centers[i] : -line.centers[i]) - line.radii[i]);
    if (std::isnan(line.centers[static_cast<std::size_t>(chosen)])) continue;
    for (std::size_t i = 0; i < line.centers.size(); ++i) {
      const double reach = (largest_wins ? line.centers[i] : -line.centers[i]) + line.radii[i];
      const double top = std::fabs(static_cast<double>(static_cast<std::int64_t>(i) - chosen));
      const bool equal = reach == sure && line.radii[i] == 0;  // an exact tie goes by index, unless others may move
      if (reach > sure || equal || std::isnan(reach)) radii[at] = std::max(radii[at], top);
    }
  }
  return Approxes{with_radii(std::move(values[0]), std::move(radii))};
}

Result<Approxes> approx_sort(const ApproxCall& call) {
  FW_TRY(Tensors values, centers(call));
  const bool exact = std::ranges::all_of(call.operands, &Approx::exact);
  const bool stable = call.node.attrs.get<bool>("stable");
  const bool descending = call.node.attrs.get<bool>("descending");
  const bool alone = call.operands.size() == 1;
  Approxes out;
  // Nothing moves, or what moves cannot be seen.
  if (exact && (stable || alone || call.node.body != nullptr)) {
    for (Tensor& value : values) out.push_back({std::move(value), nullptr});
    return out;
  }
  const Dims axes = {call.node.integer("axis")};
  const ReductionLayout layout = reduction_layout(call.operands[0].value.dims, axes);
  std::vector<std::vector<double>> radii;
  for (const Tensor& value : values)
    radii.emplace_back(static_cast<std::size_t>(value.elements()), call.node.body == nullptr ? 0 : kInfinity);
  for (const std::int64_t base : layout.outer) {
    if (call.node.body != nullptr) break;  // an order of its own: nothing is known
    const Line keys = line_of(call.operands[0], base, layout.inner);
    const std::vector<std::int64_t> order = key_order(DType::kF64, as_keys(keys), descending);
    const std::vector<Run> runs = overlapping_runs(keys, order, descending, stable);
    for (std::size_t k = 0; k < values.size(); ++k) {
      const std::vector<double> line =
          k == 0 ? sorted_radii(keys, descending)
                 : companion_radii(line_of(call.operands[k], base, layout.inner), order, runs);
      for (std::size_t i = 0; i < line.size(); ++i)
        radii[k][static_cast<std::size_t>(base + layout.inner[i])] = line[i];
    }
  }
  for (std::size_t k = 0; k < values.size(); ++k) out.push_back(with_radii(std::move(values[k]), std::move(radii[k])));
  return out;
}

Result<Approxes> approx_top_k(const ApproxCall& call) {
  FW_TRY(Tensors values, centers(call));
  const Approx& x = call.operands[0];
  if (x.exact()) return Approxes{{std::move(values[0]), nullptr}, {std::move(values[1]), nullptr}};
  const bool descending = call.node.attrs.get<bool>("largest");
  const Dims axes = {call.node.integer("axis")};
  const ReductionLayout from = reduction_layout(x.value.dims, axes);
  const ReductionLayout to = reduction_layout(values[0].dims, axes);
  std::vector<double> value_radii(static_cast<std::size_t>(values[0].elements()), 0);
  std::vector<double> index_radii(value_radii.size(), 0);
  for (std::size_t at = 0; at < to.outer.size(); ++at) {
    const Line keys = line_of(x, from.outer[at], from.inner);
    Line indices;
    for (std::size_t i = 0; i < keys.centers.size(); ++i) indices.centers.push_back(static_cast<double>(i));
    indices.radii.assign(keys.centers.size(), 0);
    const std::vector<std::int64_t> order = key_order(DType::kF64, as_keys(keys), descending);
    const std::vector<Run> runs = overlapping_runs(keys, order, descending, true);
    const std::vector<double> of_values = sorted_radii(keys, descending);
    const std::vector<double> of_indices = companion_radii(indices, order, runs);
    for (std::size_t i = 0; i < to.inner.size(); ++i) {
      value_radii[static_cast<std::size_t>(to.outer[at] + to.inner[i])] = of_values[i];
      index_radii[static_cast<std::size_t>(to.outer[at] + to.inner[i])] = of_indices[i];
    }
  }
  return Approxes{with_radii(std::move(values[0]), std::move(value_radii)),
                  with_radii(std::move(values[1]), std::move(index_radii))};
}

}  // namespace fusewright::interpret
