#include <fmt/format.h>

#include <cmath>
#include <map>

#include "fusewright/driver/session.hpp"
#include "fusewright/interpret/evaluate.hpp"
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

double greatest_difference(const Tensor& a, const Tensor& b) {
  double worst = 0;
  for (std::int64_t i = 0; i < a.elements(); ++i) {
    const double x = ops::get_double(a, i), y = ops::get_double(b, i);
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    const double d = std::abs(x - y);
    worst = std::isnan(d) ? INFINITY : std::max(worst, d);
  }
  return worst;
}

// Half the distance from one to the next number; zero for integers, which are exact.
double rounding_unit(ops::DType dtype) {
  switch (dtype) {
    case ops::DType::kF64: return 0x1p-53;
    case ops::DType::kF32: return 0x1p-24;
    case ops::DType::kF16: return 0x1p-11;
    case ops::DType::kBF16: return 0x1p-8;
    default: return 0;
  }
}

}  // namespace

double half_of_digits(const Tensor& tensor, const graph::Graph& model) {
  double unit = rounding_unit(tensor.dtype);
  if (unit == 0) return 0;
  for (const graph::Node& node : model.nodes)
    for (const ops::Type& type : node.types)
      if (!node.operands.empty() && type.is_tensor()) unit = std::max(unit, rounding_unit(type.dtype));
  double greatest = 0;
  for (std::int64_t i = 0; i < tensor.elements(); ++i)
    if (const double x = std::abs(ops::get_double(tensor, i)); std::isfinite(x)) greatest = std::max(greatest, x);
  return greatest * std::sqrt(unit);
}

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
  FW_TRY(const std::vector<Tensor> reference, interpret::evaluate(c.imported, inputs));
  bool doubtful = false;  // half of the digits do not agree: then only the running bound over the whole model can say
  for (std::size_t o = 0; o < results.size(); ++o) {
    if (results[o].type() != reference[o].type()) {
      report.ok = false;
      report.failures.push_back(fmt::format("output {} is {}, expected {}", o, ops::to_string(results[o].type()),
                                            ops::to_string(reference[o].type())));
      continue;
    }
    const double difference = greatest_difference(results[o], reference[o]);
    report.end_to_end_error = std::max(report.end_to_end_error, difference);
    doubtful = doubtful || difference > half_of_digits(reference[o], c.imported);
  }
  if (doubtful && report.ok) {
    FW_TRY(std::vector<interpret::Bounded> bounds, interpret::evaluate_with_bounds(c.imported, inputs));
    for (std::size_t o = 0; o < results.size(); ++o) {
      for (double& radius : bounds[o].radius) radius *= 2;  // rewritten forms may err as much, the other way
      const interpret::CompareReport compared = interpret::compare(results[o], bounds[o]);
      if (compared.ok) continue;
      report.ok = false;
      report.failures.push_back(fmt::format("output {} against the model as imported: {}", o, compared.message));
    }
  }
  if (outputs != nullptr) *outputs = std::move(results);
  return report;
}

}  // namespace fusewright::driver
