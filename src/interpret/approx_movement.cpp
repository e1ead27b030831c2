#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "src/interpret/approx.hpp"

namespace fusewright::interpret {
namespace {

// Which operands the elements come from; all others are addresses.
bool is_data(const std::string& op, std::size_t operand) {
  if (op == "pad" || op == "concat" || op == "reshape") return true;
  if (op == "dynamic_update_slice") return operand < 2;
  if (op == "scatter") return operand != 1;
  return operand == 0;
}

Result<Tensor> radii_tensor(const Approx& operand) {
  std::vector<double> radii(static_cast<std::size_t>(operand.value.elements()), 0);
  if (operand.radii) radii = *operand.radii;
  return tensor_of(DType::kF64, operand.value.dims, radii);
}

bool addresses_known(const ApproxCall& call) {
  for (std::size_t k = 0; k < call.operands.size(); ++k)
    if (!is_data(call.node.info.name, k) && !call.operands[k].exact()) return false;
  return true;
}

Approxes unknown(Tensors values) {
  Approxes out;
  for (Tensor& value : values) {
    std::vector<double> radii(static_cast<std::size_t>(value.elements()), std::numeric_limits<double>::infinity());
    out.push_back(with_radii(std::move(value), std::move(radii)));
  }
  return out;
}

// The same node on other data of dtype f64.
Result<std::vector<double>> moved(const ApproxCall& call, const std::function<Result<Tensor>(const Approx&)>& data,
                                  const std::string& combiner) {
  Tensors operands;
  for (std::size_t k = 0; k < call.operands.size(); ++k) {
    if (!is_data(call.node.info.name, k)) {
      operands.push_back(call.operands[k].value);
      continue;
    }
    FW_TRY(Tensor tensor, data(call.operands[k]));
    operands.push_back(std::move(tensor));
  }
  ops::Attrs attrs = call.node.attrs;
  if (!combiner.empty()) attrs.set("combiner", combiner);
  const std::array types = {ops::Type::tensor(DType::kF64, call.node.types[0].shape)};
  FW_TRY(const Tensors results, find_node_fn(call.node.info)({call.node.info, operands, attrs, types}));
  return floats_of(results[0]);
}

Result<Tensor> transformed(const Approx& operand, double (*f)(double value, double radius)) {
  std::vector<double> out(static_cast<std::size_t>(operand.value.elements()));
  for (std::size_t i = 0; i < out.size(); ++i) {
    const Ball ball = operand.ball(static_cast<std::int64_t>(i));
    out[i] = f(number_of(operand.value.dtype, ball.value), ball.radius);
  }
  return tensor_of(DType::kF64, operand.value.dims, out);
}

}  // namespace

Result<Approxes> approx_movement(const ApproxCall& call) {
  FW_TRY(Tensors values, centers(call));
  if (!addresses_known(call)) return unknown(std::move(values));
  if (std::ranges::all_of(call.operands, &Approx::exact)) return Approxes{{std::move(values[0]), nullptr}};
  FW_TRY(std::vector<double> radii, moved(call, radii_tensor, ""));
  return Approxes{with_radii(std::move(values[0]), std::move(radii))};
}

// A result element is a combination of itself and the updates that hit it, in any order.
Result<Approxes> approx_scatter(const ApproxCall& call) {
  const std::string& combiner = call.node.attrs.get<std::string>("combiner");
  if (combiner == "assign") return approx_movement(call);
  FW_TRY(Tensors values, centers(call));
  if (!addresses_known(call)) return unknown(std::move(values));
  const DType dtype = values[0].dtype;
  const bool exact = std::ranges::all_of(call.operands, &Approx::exact);
  if (exact && !ops::is_float(dtype)) return Approxes{{std::move(values[0]), nullptr}};
  std::vector<double> radii(static_cast<std::size_t>(values[0].elements()), 0);
  if (combiner == "max" || combiner == "min") {
    const auto low = [](double value, double radius) { return value - radius; };
    const auto high = [](double value, double radius) { return value + radius; };
    FW_TRY(const std::vector<double> lows, moved(call, [&](const Approx& x) { return transformed(x, low); }, ""));
    FW_TRY(const std::vector<double> highs, moved(call, [&](const Approx& x) { return transformed(x, high); }, ""));
    for (std::size_t i = 0; i < radii.size(); ++i) {
      const double center = ops::get_double(values[0], static_cast<std::int64_t>(i));
      if (!std::isnan(center) && lows[i] != highs[i]) radii[i] = std::max(highs[i] - center, center - lows[i]);
    }
    return Approxes{with_radii(std::move(values[0]), std::move(radii))};
  }
  // Sums and products in the dtype itself: n roundings, each of at most u times the largest a partial result may be.
  const bool sum = combiner == "add";
  const auto size = [](double value, double radius) { return std::fabs(value) + radius; };
  const auto plain_size = [](double value, double) { return std::fabs(value); };
  FW_TRY(const std::vector<double> sizes, moved(call, [&](const Approx& x) { return transformed(x, size); }, combiner));
  FW_TRY(const std::vector<double> plain,
         moved(call, [&](const Approx& x) { return transformed(x, plain_size); }, combiner));
  FW_TRY(const std::vector<double> counts,
         moved(call, [&](const Approx& x) { return transformed(x, [](double, double) { return 1.0; }); }, "add"));
  for (std::size_t i = 0; i < radii.size(); ++i) {
    const double rounding =
        counts[i] <= 1 || !ops::is_float(dtype) ? 0 : counts[i] * 2 * unit_roundoff(dtype) * sizes[i];
    radii[i] = sizes[i] - plain[i] + rounding + (rounding > 0 && !sum ? counts[i] * smallest(dtype) : 0);
    if (std::isnan(radii[i])) radii[i] = exact ? 0 : std::numeric_limits<double>::infinity();
    if (ops::is_float(dtype) && sizes[i] > largest(dtype)) radii[i] = std::numeric_limits<double>::infinity();
  }
  return Approxes{with_radii(std::move(values[0]), std::move(radii))};
}

}  // namespace fusewright::interpret
