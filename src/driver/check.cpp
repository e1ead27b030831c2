#include <fmt/format.h>

#include <cmath>
#include <map>

#include "fusewright/driver/session.hpp"
#include "fusewright/interpret/evaluate.hpp"
#include "fusewright/interpret/range.hpp"
#include "fusewright/support/check.hpp"

namespace fusewright::driver {

using ops::Tensor;

graph::Graph group_graph(const plan::Plan& plan, const plan::Group& group) {
  const graph::Graph& from = plan.graph;
  graph::Graph out = graph::make_graph(from.table, group.name);
  graph::Builder builder(out, out.entry);
  std::map<graph::Value, graph::Value> made;
  for (const graph::Value in : group.inputs) made[in] = builder.parameter(from.type(in), from[in.node].name);
  for (const graph::NodeId id : group.nodes) {
    const graph::Node& node = from[id];
    std::vector<graph::Value> operands;
    for (const graph::Value v : node.operands) {
      if (v.valid() && !made.contains(v))
        made[v] = builder.constant(*from[v.node].attrs.get<ops::TensorHandle>("value"));
      operands.push_back(v.valid() ? made.at(v) : graph::Value{});
    }
    const std::vector<graph::Value> results = builder.add_typed(node.op, std::move(operands), node.attrs, node.types);
    for (std::uint32_t r = 0; r < results.size(); ++r) made[{id, r}] = results[r];
  }
  std::vector<graph::Value> results;
  for (const graph::Value v : group.outputs) results.push_back(made.at(v));
  builder.set_results(std::move(results));
  return out;
}

namespace {

interpret::BoundOptions bounds_for(const plan::Group& group) {
  interpret::BoundOptions options;
  // The group is compared with what it computes after rewriting; sums may take any order in any case.
  options.reassociating = false;
  for (const plan::RewriteUse& use : group.rewrites) {
    const Result<rule::Exactness> exactness = rule::parse_exactness(use.exactness);
    if (!exactness) continue;
    options.excess_precision = options.excess_precision || exactness->has(rule::ExactnessClass::kExcessPrecision);
  }
  return options;
}

double distance(double x, double y) {
  if (x == y || (std::isnan(x) && std::isnan(y))) return 0;
  const double d = std::abs(x - y);
  return std::isnan(d) ? INFINITY : d;
}

/// Greatest difference among elements that are finite in both.
double finite_difference(const Tensor& a, const Tensor& b) {
  double worst = 0;
  for (std::int64_t i = 0; i < a.elements(); ++i) {
    const double x = ops::get_double(a, i), y = ops::get_double(b, i);
    if (std::isfinite(x) && std::isfinite(y)) worst = std::max(worst, std::abs(x - y));
  }
  return worst;
}

/// How far rounding moves the outputs of a whole model, seen in samples; another is taken only while something asks for
/// more than those before it allow.
class Spread {
 public:
  Spread(const graph::Graph& graph, std::span<const Tensor> inputs, std::span<const Tensor> reference)
      : graph_(graph), inputs_(inputs), reference_(reference), seen_(reference.size(), 0) {}

  /// Whether each output's difference is one that rounding is seen to make.
  Result<std::vector<bool>> explains(const std::vector<double>& differences, double times) {
    constexpr int kSamples = 4;
    std::vector<bool> explained(differences.size());
    for (;; ++samples_) {
      bool all = true;
      for (std::size_t o = 0; o < differences.size(); ++o) {
        explained[o] = differences[o] <= times * kMargin * seen_[o];
        all = all && explained[o];
      }
      if (all || samples_ == kSamples) return explained;
      FW_TRY(const interpret::Perturbed sample,
             interpret::evaluate_perturbed(graph_, inputs_, static_cast<std::uint64_t>(samples_)));
      jumps_ = jumps_ || sample.jumps;
      for (std::size_t o = 0; o < seen_.size(); ++o)
        seen_[o] = std::max(seen_[o], finite_difference(sample.values[o], reference_[o]));
    }
  }
  /// A model that jumps may come out on the other side of a step that no sample crossed.
  bool jumps() const { return jumps_; }
  double seen(std::size_t output) const { return seen_[output]; }

 private:
  static constexpr double kMargin = 4;  // few samples of a maximum

  const graph::Graph& graph_;
  std::span<const Tensor> inputs_, reference_;
  std::vector<double> seen_;
  int samples_ = 0;
  bool jumps_ = false;
};

std::string text(double x) { return std::isnan(x) ? "nan" : fmt::format("{}", x); }

/// Elements that are infinite or NaN in one of both, or infinite with another sign.
std::vector<std::int64_t> unlike_infinities(const Tensor& a, const Tensor& b) {
  std::vector<std::int64_t> out;
  for (std::int64_t i = 0; i < a.elements(); ++i)
    if (std::isinf(distance(ops::get_double(a, i), ops::get_double(b, i)))) out.push_back(i);
  return out;
}

/// The outputs against the reference evaluation of the model as imported.
class OutputCheck {
 public:
  OutputCheck(const Compilation& c, std::span<const Tensor> inputs, CheckReport& report)
      : c_(c), inputs_(inputs), report_(report) {}

  Status run(std::span<const Tensor> outputs) {
    FW_TRY(const std::vector<Tensor> reference, interpret::evaluate(c_.imported, inputs_));
    std::vector<double> differences(outputs.size(), 0);
    for (std::size_t o = 0; o < outputs.size(); ++o) {
      if (outputs[o].type() != reference[o].type()) {
        wrong(o, fmt::format("is {}, expected {}", ops::to_string(outputs[o].type()),
                             ops::to_string(reference[o].type())));
        continue;
      }
      differences[o] = finite_difference(outputs[o], reference[o]);
      FW_TRY_STATUS(infinities(o, outputs[o], reference[o]));
      report_.end_to_end_error = std::max(report_.end_to_end_error, differences[o]);
    }
    Spread spread(c_.imported, inputs_, reference);
    FW_TRY(const std::vector<bool> explained, spread.explains(differences, 1));
    for (std::size_t o = 0; o < outputs.size(); ++o) {
      if (explained[o]) continue;
      if (!spread.jumps()) {
        wrong(o, fmt::format("against the model as imported: it is off by {:.3g} where rounding moves it by {:.3g}",
                             differences[o], spread.seen(o)));
        continue;
      }
      FW_TRY(const interpret::Bounded* bound, bounded(o));
      const interpret::CompareReport compared = interpret::compare(outputs[o], *bound);
      if (!compared.ok) wrong(o, "against the model as imported: " + compared.message);
    }
    return {};
  }

 private:
  void wrong(std::size_t o, const std::string& what) {
    report_.ok = false;
    report_.failures.push_back(fmt::format("output {} {}", o, what));
  }

  /// Right where the model itself overflows on the way, or its bound reaches infinity.
  Status infinities(std::size_t o, const Tensor& output, const Tensor& reference) {
    const std::vector<std::int64_t> unlike = unlike_infinities(output, reference);
    if (unlike.empty()) return {};
    FW_TRY(const interpret::Bounded* bound, bounded(o));
    if (lost_.empty()) {
      FW_TRY(lost_, interpret::out_of_range(c_.imported, inputs_));
    }
    std::int64_t count = 0;
    for (const std::int64_t i : unlike) {
      if (lost_[o][static_cast<std::size_t>(i)] || std::isinf(bound->radius_at(i))) continue;
      if (count++ > 0) continue;
      wrong(o, fmt::format("against the model as imported: element {} is {}, expected {}", i,
                           text(ops::get_double(output, i)), text(ops::get_double(reference, i))));
    }
    report_.not_compared += static_cast<std::int64_t>(unlike.size()) - count;
    return {};
  }

  Result<const interpret::Bounded*> bounded(std::size_t o) {
    if (bounds_.empty()) {
      FW_TRY(bounds_, interpret::evaluate_with_bounds(c_.imported, inputs_));
      for (interpret::Bounded& bound : bounds_)
        for (double& radius : bound.radius) radius *= 2;  // rewritten forms may err as much, the other way
    }
    return &bounds_[o];
  }

  const Compilation& c_;
  std::span<const Tensor> inputs_;
  CheckReport& report_;
  std::vector<interpret::Bounded> bounds_;
  std::vector<std::vector<bool>> lost_;
};

}  // namespace

Result<CheckReport> check_run(const Compilation& c, runtime::Instance& instance, std::span<const Tensor> inputs,
                              int threads, std::vector<Tensor>* outputs, std::vector<runtime::GroupRun>* groups) {
  CheckReport report;
  double worst_ratio = -1;
  const auto observe = [&](std::size_t g, std::span<const Tensor> in, std::span<const Tensor> out) -> Status {
    const plan::Group& group = c.plan->groups[g];
    FW_TRY(const std::vector<interpret::Bounded> expected,
           interpret::evaluate_with_bounds(group_graph(*c.plan, group), in, bounds_for(group)));
    for (std::size_t o = 0; o < out.size(); ++o) {
      const interpret::CompareReport compared = interpret::compare(out[o], expected[o]);
      const double ratio = std::isnan(compared.ratio) ? INFINITY : compared.ratio;
      if (ratio > worst_ratio) {
        worst_ratio = ratio;
        report.worst_group = group.name;
        report.max_error = compared.max_error;
        report.bound = compared.bound;
      }
      if (compared.ok) continue;
      report.ok = false;
      report.failures.push_back(fmt::format("group {} output {}: {} ({} of {} elements wrong)", group.name, o,
                                            compared.message, compared.wrong, out[o].elements()));
    }
    return {};
  };
  FW_TRY(std::vector<Tensor> results, instance.run(inputs, threads, groups, observe));
  FW_TRY_STATUS(OutputCheck(c, inputs, report).run(results));
  if (outputs != nullptr) *outputs = std::move(results);
  return report;
}

Result<std::vector<std::string>> wrong_outputs(const graph::Graph& imported, std::span<const Tensor> inputs,
                                               std::span<const Tensor> outputs, std::span<const Tensor> stored) {
  std::vector<std::string> wrong;
  if (stored.size() > outputs.size())
    wrong.push_back(fmt::format("{} stored outputs, the model has {}", stored.size(), outputs.size()));
  FW_TRY(std::vector<interpret::Bounded> bounds, interpret::evaluate_with_bounds(imported, inputs));
  std::vector<Tensor> reference;
  for (const interpret::Bounded& bounded : bounds) reference.push_back(bounded.value);
  const std::size_t count = std::min(stored.size(), outputs.size());
  std::vector<double> differences(outputs.size(), 0);
  std::vector<bool> bounded(outputs.size(), true);
  for (std::size_t o = 0; o < count; ++o) {
    // The stored values are another implementation's: it may err by as much as ours, the other way.
    for (double& radius : bounds[o].radius) radius *= 2;
    bounds[o].value = stored[o];
    const interpret::CompareReport compared = interpret::compare(outputs[o], bounds[o]);
    bounded[o] = compared.ok;
    if (!compared.ok) wrong.push_back(fmt::format("output {}: {}", o, compared.message));
    if (compared.ok) differences[o] = finite_difference(outputs[o], stored[o]);
  }
  Spread spread(imported, inputs, reference);
  FW_TRY(const std::vector<bool> explained, spread.explains(differences, 2));
  // A model that jumps may land on the other side of a step that no sample crossed; there the bound has to do.
  for (std::size_t o = 0; o < count; ++o)
    if (bounded[o] && !explained[o] && !spread.jumps())
      wrong.push_back(
          fmt::format("output {}: off by {:.3g} where rounding moves it by {:.3g}", o, differences[o], spread.seen(o)));
  return wrong;
}

}  // namespace fusewright::driver
