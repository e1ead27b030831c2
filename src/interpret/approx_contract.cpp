#include <algorithm>
#include <cmath>

#include "src/interpret/approx.hpp"
#include "src/interpret/contraction.hpp"
#include "src/interpret/parallel.hpp"

namespace fusewright::interpret {
namespace {

// One operand as doubles, with its radii; no radii when it is exact.
struct Side {
  std::vector<double> values;
  std::vector<double> radii;

  explicit Side(const Approx& x) {
    if (x.radii) radii = *x.radii;
    if (ops::is_float(x.value.dtype)) {
      values = floats_of(x.value);
      return;
    }
    for (std::int64_t i = 0; i < x.value.elements(); ++i)
      values.push_back(number_of(x.value.dtype, get_scalar(x.value, i)));
  }
};

// The statistics of kPanel sums side by side (see SumStats), so that the compiler sees vectors.
struct PanelStats {
  double sum[kPanel] = {}, magnitude[kPanel] = {}, squares[kPanel] = {}, largest[kPanel] = {}, naive[kPanel] = {};
  double input_error[kPanel] = {};
  Quad exact[kPanel] = {};

  void add_f32(const double* lhs, std::int64_t depth, const double* panel) {
    float running[kPanel] = {};
    for (std::int64_t k = 0; k < depth; ++k, panel += kPanel)
      for (int j = 0; j < kPanel; ++j) {
        const double term = lhs[k] * panel[j];
        sum[j] += term;
        magnitude[j] += std::fabs(term);
        squares[j] += term * term;
        largest[j] = std::max(largest[j], std::fabs(sum[j]));
        running[j] += static_cast<float>(term);
      }
    for (int j = 0; j < kPanel; ++j) naive[j] = running[j];
  }

  void add_f64(const double* lhs, std::int64_t depth, const double* panel) {
    for (std::int64_t k = 0; k < depth; ++k, panel += kPanel)
      for (int j = 0; j < kPanel; ++j) {
        const double term = lhs[k] * panel[j];
        exact[j] += Quad(lhs[k]) * Quad(panel[j]);
        magnitude[j] += std::fabs(term);
        squares[j] += term * term;
        naive[j] += term;
        largest[j] = std::max(largest[j], std::fabs(naive[j]));
      }
    for (int j = 0; j < kPanel; ++j) sum[j] = static_cast<double>(exact[j]);
  }

  // Null radii are zeros.
  void add_errors(const double* lhs, const double* lhs_radii, std::int64_t depth, const double* panel,
                  const double* panel_radii) {
    for (std::int64_t k = 0; k < depth; ++k)
      for (std::int64_t j = 0; j < kPanel; ++j) {
        const double a = lhs_radii == nullptr ? 0 : lhs_radii[k];
        const double b = panel_radii == nullptr ? 0 : panel_radii[k * kPanel + j];
        // Padding meets nothing: 0 times an infinite radius is still nothing.
        if (a != 0) input_error[j] += a * (std::fabs(panel[k * kPanel + j]) + b);
        if (b != 0) input_error[j] += b * std::fabs(lhs[k]);
      }
  }

  SumStats stats(int j, std::int64_t depth, double factor_roundoff) const {
    return {sum[j], magnitude[j], squares[j], largest[j], naive[j], input_error[j], depth, factor_roundoff};
  }
};

struct Job {
  const Contraction& plan;
  const BoundOptions& options;
  DType dtype;
  double factor_roundoff;
  bool in_f64;
  const Side &lhs, &rhs;
  std::vector<double> panels, panel_radii;
};

void run_block(const Job& job, std::int64_t batch, std::int64_t row, Tensor& value, std::vector<double>& radii) {
  const Contraction& plan = job.plan;
  const std::int64_t rows = std::min(kRowBlock, plan.rows - row);
  const std::int64_t panel_count = (plan.columns + kPanel - 1) / kPanel;
  std::vector<double> lhs(static_cast<std::size_t>(rows * plan.depth));
  std::vector<double> lhs_radii(job.lhs.radii.empty() ? 0 : lhs.size());
  for (std::int64_t r = 0; r < rows; ++r) {
    gather_row(plan, job.lhs.values.data(), batch, row + r, lhs.data() + r * plan.depth);
    if (!lhs_radii.empty()) gather_row(plan, job.lhs.radii.data(), batch, row + r, lhs_radii.data() + r * plan.depth);
  }
  for (std::int64_t p = 0; p < panel_count; ++p)
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::int64_t start = (batch * panel_count + p) * plan.depth * kPanel;
      const double* left = lhs.data() + r * plan.depth;
      const double* left_radii = lhs_radii.empty() ? nullptr : lhs_radii.data() + r * plan.depth;
      const double* right_radii = job.panel_radii.empty() ? nullptr : job.panel_radii.data() + start;
      PanelStats stats;
      if (job.in_f64)
        stats.add_f64(left, plan.depth, job.panels.data() + start);
      else
        stats.add_f32(left, plan.depth, job.panels.data() + start);
      if (left_radii != nullptr || right_radii != nullptr)
        stats.add_errors(left, left_radii, plan.depth, job.panels.data() + start, right_radii);
      for (int j = 0; j < kPanel && p * kPanel + j < plan.columns; ++j) {
        const Ball ball = finish_sum(job.dtype, stats.stats(j, plan.depth, job.factor_roundoff), job.options);
        const std::int64_t at = plan.out_batch[static_cast<std::size_t>(batch)] +
                                plan.out_row[static_cast<std::size_t>(row + r)] +
                                plan.out_column[static_cast<std::size_t>(p * kPanel + j)];
        ops::set_double(value, at, ball.value.f);
        radii[static_cast<std::size_t>(at)] = ball.radius;
      }
    }
}

// Integers are exact; uncertain ones move the result by what the operands may move, if it does not wrap.
double integer_radius(DType dtype, const Ball& ball, double error) {
  const double limit = std::ldexp(1.0, ops::bit_width(dtype) - (ops::is_signed_integer(dtype) ? 1 : 0));
  return std::fabs(ball.value.f) + error < limit ? error : std::numeric_limits<double>::infinity();
}

Result<Approxes> approx_plan(const ApproxCall& call, const Contraction& plan) {
  const DType in = call.operands[0].value.dtype;
  const DType dtype = call.node.dtype();
  const bool exact = call.operands[0].exact() && call.operands[1].exact();
  if (!ops::is_float(dtype) && exact) {
    FW_TRY(Tensors values, centers(call));
    return Approxes{{std::move(values[0]), nullptr}};
  }
  const Side lhs(call.operands[0]);
  const Side rhs(call.operands[1]);
  const bool whole = !ops::is_float(dtype);
  Job job{plan,
          call.options,
          whole ? DType::kF64 : dtype,
          whole ? 0 : unit_roundoff(in),
          whole || in == DType::kF64 || dtype == DType::kF64,
          lhs,
          rhs,
          pack_panels(plan, rhs.values),
          rhs.radii.empty() ? std::vector<double>() : pack_panels(plan, rhs.radii)};
  FW_TRY(Tensor value, ops::make_tensor(job.dtype, call.node.dims()));
  std::vector<double> radii(static_cast<std::size_t>(value.elements()), 0);
  const std::int64_t blocks = (plan.rows + kRowBlock - 1) / kRowBlock;
  parallel_for(plan.batches * blocks, grain_for(8 * kRowBlock * plan.depth * (plan.columns + 1)),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t i = begin; i < end; ++i)
                   run_block(job, i / blocks, i % blocks * kRowBlock, value, radii);
               });
  if (!whole) return Approxes{with_radii(std::move(value), std::move(radii))};
  FW_TRY(Tensors values, centers(call));
  for (std::size_t i = 0; i < radii.size(); ++i)
    radii[i] =
        integer_radius(dtype, {{ops::get_double(value, static_cast<std::int64_t>(i)), 0}, 0}, std::round(radii[i]));
  return Approxes{with_radii(std::move(values[0]), std::move(radii))};
}

}  // namespace

Result<Approxes> approx_dot(const ApproxCall& call) { return approx_plan(call, plan_dot(call.node)); }
Result<Approxes> approx_conv(const ApproxCall& call) { return approx_plan(call, plan_conv(call.node)); }

}  // namespace fusewright::interpret
