#include "fusewright/interpret/error_model.hpp"

#include <algorithm>
#include <limits>
#include <string_view>

#include "src/interpret/approx.hpp"
#include "src/interpret/bits.hpp"
#include "src/interpret/walk.hpp"

namespace fusewright::interpret {
namespace {

struct Row {
  std::string_view op;
  ApproxFn function;
};

constexpr Row kRows[] = {
    {"reduce_precision", approx_reduce_precision},
    {"broadcast", approx_movement},
    {"reshape", approx_movement},
    {"transpose", approx_movement},
    {"reverse", approx_movement},
    {"slice", approx_movement},
    {"pad", approx_movement},
    {"concat", approx_movement},
    {"take", approx_movement},
    {"take_along", approx_movement},
    {"gather", approx_movement},
    {"dynamic_slice", approx_movement},
    {"dynamic_update_slice", approx_movement},
    {"scatter", approx_scatter},
    {"reduce_sum", approx_reduction},
    {"reduce_prod", approx_reduction},
    {"reduce_max", approx_reduction},
    {"reduce_min", approx_reduction},
    {"reduce_and", approx_reduction},
    {"reduce_or", approx_reduction},
    {"reduce", approx_reduce},
    {"reduce_window_sum", approx_reduce_window},
    {"reduce_window_prod", approx_reduce_window},
    {"reduce_window_max", approx_reduce_window},
    {"reduce_window_min", approx_reduce_window},
    {"cum_sum", approx_cumulative},
    {"cum_prod", approx_cumulative},
    {"cum_max", approx_cumulative},
    {"cum_min", approx_cumulative},
    {"dot", approx_dot},
    {"conv", approx_conv},
    {"arg_max", approx_arg_reduction},
    {"arg_min", approx_arg_reduction},
    {"sort", approx_sort},
    {"top_k", approx_top_k},
};

// Values are tensors of balls.
struct ApproxDomain {
  using Value = Approx;

  const BoundOptions& options;

  static const Tensor& tensor(const Approx& value) { return value.value; }
  static Approx exact(Tensor value) { return {std::move(value), nullptr}; }

  Result<Approxes> node(const ops::OpInfo& info, std::span<const Approx> operands, const ops::Attrs& attrs,
                        std::span<const ops::Type> types, std::uint64_t seed, const Nested<Approx>* nested) {
    if (find_node_fn(info) == nullptr) return cannot_evaluate(info, attrs);
    Tensors values;
    for (const Approx& operand : operands) values.push_back(operand.value);
    ScalarBody body;
    if (nested != nullptr)
      body = [&](std::span<const Scalar> args) { return run_nested<ApproxDomain>(*nested, args, values); };
    std::function<std::vector<Ball>(std::span<const Ball>)> balls;
    if (nested != nullptr && nested->program != nullptr)
      balls = [&](std::span<const Ball> args) { return run_balls(*nested->program, args); };
    const ApproxCall call{{info, values, attrs, types, seed, nested == nullptr ? nullptr : &body},
                          operands,
                          options,
                          nested == nullptr ? nullptr : &balls};
    if (const ApproxFn function = find_approx_fn(info)) return function(call);
    return from_exact(call);
  }

  Result<std::int64_t> decide(const Approx& value) {
    if (value.value.elements() != 1)
      return fail("control flow hangs on a value of type " + to_string(value.value.type()));
    if (!value.exact())
      return fail(ErrorKind::kUnsupported, "control flow hangs on a value that its error bound leaves open");
    return ops::get_int(value.value, 0);
  }

  Result<Approx> stack(std::span<const Approx> elements, const ops::Type& element) {
    Tensors values;
    for (const Approx& one : elements) values.push_back(one.value);
    FW_TRY(Tensor value, stack_tensors(values, element));
    std::vector<double> radii;
    for (const Approx& one : elements)
      for (std::int64_t i = 0; i < one.value.elements(); ++i) radii.push_back(one.radius(i));
    return with_radii(std::move(value), std::move(radii));
  }

 private:
  // Sources and random numbers: exact unless something they depend on is not.
  static Result<Approxes> from_exact(const ApproxCall& call) {
    FW_TRY(Tensors values, centers(call));
    const bool exact = std::ranges::all_of(call.operands, &Approx::exact);
    Approxes out;
    for (Tensor& value : values) {
      const double radius = exact ? 0 : std::numeric_limits<double>::infinity();
      std::vector<double> radii(static_cast<std::size_t>(value.elements()), radius);
      out.push_back(with_radii(std::move(value), std::move(radii)));
    }
    return out;
  }

  std::vector<Ball> run_balls(const ScalarProgram& program, std::span<const Ball> args) const {
    return program.run(
        args,
        [&](const ScalarProgram::Step& step, const Ball* x) {
          return ball_op(step.op, step.from, step.to, x, options);
        },
        [](Scalar scalar) { return Ball{scalar, 0}; });
  }
};

/// A tensor that stands for exact operands, and whether rounding has moved it.
struct Moved {
  Tensor value;
  bool moved = false;
};

bool jumps(const ops::OpInfo& info, DType to) {
  static constexpr std::string_view kNames[] = {"arg_max", "arg_min", "sort", "top_k"};
  static constexpr ScalarOp kSteps[] = {ScalarOp::kFloor,     ScalarOp::kCeil, ScalarOp::kTrunc, ScalarOp::kRoundEven,
                                        ScalarOp::kRoundAway, ScalarOp::kSign, ScalarOp::kMod,   ScalarOp::kRem};
  static constexpr ScalarOp kTests[] = {ScalarOp::kIsFinite, ScalarOp::kIsNan, ScalarOp::kIsInf};
  if (!info.scalar) return std::ranges::find(kNames, std::string_view(info.name)) != std::end(kNames);
  if (std::ranges::find(kSteps, *info.scalar) != std::end(kSteps)) return true;
  // Comparisons, conversions to integers.
  return !ops::is_float(to) && std::ranges::find(kTests, *info.scalar) == std::end(kTests);
}

// Each node's own error, drawn within its radius, becomes part of the value.
struct PerturbedDomain {
  using Value = Moved;

  ApproxDomain bounds;
  std::uint64_t seed;
  std::uint64_t drawn = 0;
  bool jumped = false;

  static const Tensor& tensor(const Moved& value) { return value.value; }
  static Moved exact(Tensor value) { return {std::move(value), false}; }

  Result<std::vector<Moved>> node(const ops::OpInfo& info, std::span<const Moved> operands, const ops::Attrs& attrs,
                                  std::span<const ops::Type> types, std::uint64_t node_seed,
                                  const Nested<Moved>* nested) {
    Approxes args;
    bool moved = false, moved_float = false;
    for (const Moved& operand : operands) {
      args.push_back({operand.value, nullptr});
      moved = moved || operand.moved;
      moved_float = moved_float || (operand.moved && ops::is_float(operand.value.dtype));
    }
    Nested<Approx> body;
    if (nested != nullptr) body = {nested->program, through(*nested)};
    FW_TRY(Approxes results, bounds.node(info, args, attrs, types, node_seed, nested == nullptr ? nullptr : &body));
    std::vector<Moved> out;
    for (Approx& result : results) {
      jumped = jumped || (moved_float && (nested != nullptr || jumps(info, result.value.dtype)));
      const bool own = !result.exact() && ops::is_float(result.value.dtype);
      if (own) {
        FW_TRY(result.value, draw(result));
      }
      out.push_back({std::move(result.value), moved || own});
    }
    return out;
  }

  Result<std::int64_t> decide(const Moved& value) {
    jumped = jumped || value.moved;
    return bounds.decide({value.value, nullptr});
  }

  Result<Moved> stack(std::span<const Moved> elements, const ops::Type& element) {
    Tensors values;
    bool moved = false;
    for (const Moved& one : elements) {
      values.push_back(one.value);
      moved = moved || one.moved;
    }
    FW_TRY(Tensor value, stack_tensors(values, element));
    return Moved{std::move(value), moved};
  }

 private:
  Result<Tensor> draw(const Approx& result) {
    const std::uint64_t stream = random_stream(seed, drawn++);
    std::vector<double> values = floats_of(result.value);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double radius = (*result.radii)[i];
      if (std::isfinite(radius) && std::isfinite(values[i])) values[i] += radius * (2 * random_uniform(stream, i) - 1);
    }
    return tensor_of(result.value.dtype, result.value.dims, values);
  }

  static std::function<Result<Approxes>(Approxes)> through(const Nested<Moved>& nested) {
    return [&nested](Approxes args) -> Result<Approxes> {
      std::vector<Moved> moved;
      for (Approx& arg : args) moved.push_back({std::move(arg.value), false});
      FW_TRY(std::vector<Moved> results, nested.function(std::move(moved)));
      Approxes out;
      for (Moved& result : results) out.push_back({std::move(result.value), nullptr});
      return out;
    };
  }
};

}  // namespace

ApproxFn find_approx_fn(const ops::OpInfo& info) {
  if (info.scalar) return approx_elementwise;
  const auto* row = std::ranges::find(kRows, std::string_view(info.name), &Row::op);
  return row == std::end(kRows) ? nullptr : row->function;
}

Result<std::vector<Bounded>> evaluate_with_bounds(const graph::Graph& graph, std::span<const ops::Tensor> inputs,
                                                  const BoundOptions& options,
                                                  std::span<const std::vector<double>> input_radius) {
  FW_TRY_STATUS(check_inputs(graph, inputs));
  Approxes args;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const bool exact = i >= input_radius.size() || input_radius[i].empty();
    if (!exact && static_cast<std::int64_t>(input_radius[i].size()) != inputs[i].elements())
      return fail("input " + std::to_string(i) + " has " + std::to_string(inputs[i].elements()) + " elements and " +
                  std::to_string(input_radius[i].size()) + " radii");
    args.push_back(exact ? Approx{inputs[i], nullptr} : with_radii(inputs[i], input_radius[i]));
  }
  ApproxDomain domain{options};
  FW_TRY(const Approxes results, Walker<ApproxDomain>(graph, domain, options.evaluate).run_entry(std::move(args)));
  std::vector<Bounded> out;
  for (const Approx& result : results) {
    Bounded bounded{result.value, result.radii ? *result.radii : std::vector<double>()};
    if (options.approximate > 0 && ops::is_float(result.value.dtype)) {
      bounded.radius.resize(static_cast<std::size_t>(result.value.elements()), 0);
      for (std::int64_t i = 0; i < result.value.elements(); ++i) {
        const double size = std::fabs(ops::get_double(result.value, i));
        if (std::isfinite(size)) bounded.radius[static_cast<std::size_t>(i)] += options.approximate * size;
      }
    }
    out.push_back(std::move(bounded));
  }
  return out;
}

Result<Perturbed> evaluate_perturbed(const graph::Graph& graph, std::span<const ops::Tensor> inputs, std::uint64_t seed,
                                     const BoundOptions& options) {
  FW_TRY_STATUS(check_inputs(graph, inputs));
  std::vector<Moved> args;
  for (const Tensor& input : inputs) args.push_back({input, false});
  PerturbedDomain domain{{options}, seed};
  FW_TRY(std::vector<Moved> results,
         Walker<PerturbedDomain>(graph, domain, options.evaluate).run_entry(std::move(args)));
  Perturbed out;
  for (Moved& result : results) out.values.push_back(std::move(result.value));
  out.jumps = domain.jumped;
  return out;
}

}  // namespace fusewright::interpret
