#include "src/lsp/words.hpp"

#include <algorithm>

#include "fusewright/ops/expr.hpp"
#include "fusewright/rule/check.hpp"

namespace fusewright::lsp {

const std::vector<Word>& keywords() {
  static const std::vector<Word> words{
      {"include", "`include \"file.fuse\"` reads another file, found from the folder of this one."},
      {"ruleset", "`ruleset name` names the rules of the rest of the file, `ruleset name { ... }` those inside."},
      {"op", "`op name(operands; attributes) = formula` gives an operator its meaning."},
      {"opclass", "`opclass name = set where condition` names a set of operators."},
      {"rewrite", "`rewrite name { match ... where ... to ... }` states that two terms are equal."},
      {"fuse", "`fuse name { match segment |> segment }` says that a region may become one kernel."},
      {"allow", "`allow(lint, \"reason\")` in front of a declaration silences a warning there."},
      {"match", "The pattern of a rule; in an example, the term to try."},
      {"where", "Conditions that must hold; each counts as a guard of its own."},
      {"let", "Names an expression."},
      {"to", "What the pattern equals; in an example, what the term must be found equal to."},
      {"no_duplicate", "The values of these segments are computed in one kernel only."},
      {"test", "An example in which the rule must fire."},
      {"reject", "An example in which the rule must not fire; `because` names the guard that refuses."},
      {"because", "The guard that refuses, as it is written in the rule."},
      {"kernels", "The number of kernels that the plan of the example has."},
      {"const", "The input is known when the model is loaded: a weight."},
      {"exactness", "What the rule may change in the numbers."},
      {"requires", "`requires target(x86)`: only for these targets."},
      {"target", "`requires target(x86)`: only for these targets."},
      {"kernel", "The loop structure of the kernel; without it, all that fit compete."},
      {"times", "So many independent chains side by side."},
      {"sharing", "The chains have this value in common."},
      {"within", "How near a number must be to match."},
      {"as", "Names the value, and the node."},
      {"along", "`v along a` places a vector along axis `a` of the operand beside it."},
      {"fold", "Computed when the model is loaded; what is in it must be constant."},
      {"if", "`a if condition else b`, decided when the rule is applied."},
      {"else", "`a if condition else b`, decided when the rule is applied."},
      {"and", "Both conditions; in front of operands, the operator."},
      {"or", "One of the conditions; in front of operands, the operator."},
      {"not", "The condition does not hold; in front of operands, the operator."},
      {"in", "Whether a list holds the item."},
      {"true", "The bool."},
      {"false", "The bool."},
      {"inf", "Infinity."},
  };
  return words;
}

const std::vector<Word>& exactness_classes() {
  static const std::vector<Word> words{
      {"bitexact", "Changes nothing."},
      {"reassociating", "Weight folding and the order of sums."},
      {"contracting", "A multiplication and an addition are rounded once."},
      {"factoring", "`a*x + b*x` against `(a + b)*x`."},
      {"approximate", "Another formula, within the relative error in brackets."},
      {"excess_precision", "A rounding to a narrower dtype is left out."},
  };
  return words;
}

const std::vector<Word>& templates() {
  static const std::vector<Word> words{
      {"loop", "Each element by itself."},
      {"move", "Data that only moves."},
      {"reduce", "One reduction, with what stands before and behind it."},
      {"row", "Several reductions over one row."},
      {"contract", "A matrix product."},
      {"conv", "A convolution."},
      {"window", "Reductions of windows: pooling."},
      {"sort", "Sorting, the greatest k, running sums."},
      {"scatter", "Updates at places that are read from a tensor."},
      {"horizontal", "Independent parts side by side in one launch."},
  };
  return words;
}

const std::vector<Word>& targets() {
  static const std::vector<Word> words{{"x86", "The CPU."}, {"nvptx", "NVIDIA GPUs."}};
  return words;
}

const std::vector<Word>& axis_roles() {
  static const std::vector<Word> words{
      {"out_feature", "Axis of a convolution's weights that counts output channels."},
      {"in_feature", "Axis of a convolution's weights that counts input channels."},
      {"feature", "Axis of a convolution's result that counts channels."},
      {"batch", "Axis of a convolution's result that counts the batch."},
      {"input_feature", "Axis of a convolution's input that counts channels."},
      {"input_batch", "Axis of a convolution's input that counts the batch."},
  };
  return words;
}

const std::vector<Word>& functions() {
  static const std::vector<Word> words{
      {"constant", "Whether all of these are known when the model is loaded."},
      {"same", "Whether both are one value."},
      {"splat", "Whether it is a constant of one number."},
      {"value", "The number that a splat repeats."},
      {"is_zero", "Whether it is a constant of zeros."},
      {"is_one", "Whether it is a constant of ones."},
      {"single_use", "Whether the value has one reader. Only in `fuse`."},
      {"graph_output", "Whether the value is an output of the model. Only in `fuse`."},
      {"side_output", "Whether the value leaves the region besides being used inside. Only in `fuse`."},
      {"rank", "Number of axes."},
      {"shape", "The extents, as a list."},
      {"dim", "The extent of one axis."},
      {"size", "The number of elements, along these axes or in all."},
      {"dtype", "The dtype."},
      {"bits", "The width of its dtype in bits."},
      {"is_float", "Whether the dtype is floating point."},
      {"is_integer", "Whether the dtype is an integer."},
      {"present", "Whether an optional operand was given."},
      {"broadcast_shape", "The shape that both broadcast to, as in NumPy."},
      {"broadcasts_to", "Whether `x` broadcasts to the shape (and not the other way)."},
      {"len", "Number of items."},
      {"range", "The numbers from `first` to before `last`, or from 0."},
      {"reversed", "The list backwards."},
      {"sorted", "The list in ascending order."},
      {"contains", "Whether the list holds the item."},
      {"sum", "The sum of the items."},
      {"prod", "The product of the items."},
      {"permute", "`permute(l, p)[i]` is `l[p[i]]`."},
      {"invert", "The inverse permutation."},
      {"replace", "The list with the item at these positions."},
      {"without", "The list without these positions."},
      {"normalize", "Axes counted from 0; negative ones count from the end."},
      {"all_axes", "Every axis of `x`."},
      {"axes_except", "The axes of `x` that are not in `axes`."},
      {"min", "The lesser number, or the least of a list."},
      {"max", "The greater number, or the greatest of a list."},
      {"abs", "The magnitude of a number."},
      {"sqrt", "The square root of a number."},
      {"exp", "The exponential of a number."},
      {"log", "The natural logarithm of a number."},
      {"floor", "The number rounded down."},
      {"ceil", "The number rounded up."},
      {"round", "The number rounded, ties to even."},
      {"pow", "A power of a number."},
      {"float", "As a floating-point number."},
      {"int", "As an integer."},
      {"bool", "As a truth value."},
      {"broadcast_to", "`x` repeated to the shape, as in NumPy."},
      {"unsqueeze", "`x` with axes of extent one put in."},
      {"squeeze", "`x` with axes of extent one left out."},
      {"literal", "A tensor of one number."},
  };
  return words;
}

std::optional<std::string_view> meaning_in(const std::vector<Word>& words, std::string_view name) {
  for (const Word& word : words)
    if (word.name == name) return word.meaning;
  return std::nullopt;
}

std::string function_signature(std::string_view name) {
  for (const ops::FunctionSignature& f : ops::function_signatures()) {
    if (f.name != name) continue;
    std::string text = f.name + "(";
    for (std::size_t i = 0; i < f.parameters.size(); ++i)
      text += (i > 0 ? ", " : "") + f.parameters[i] + (i < f.needed ? "" : "?");
    return text + ")";
  }
  const auto has = [&](const std::vector<std::string>& names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  if (name == "constant") return "constant(x, ...)";
  if (name == "same") return "same(x, y)";
  if (has(rule::term_queries()) || has(rule::plan_queries())) return std::string(name) + "(x)";
  if (meaning_in(axis_roles(), name)) return std::string(name) + "(c)";
  return {};
}

std::string signature(const ops::OpInfo& op) {
  std::string text = op.name + "(";
  for (std::size_t i = 0; i < op.operands.size(); ++i) {
    const ops::OperandSpec& operand = op.operands[i];
    text += (i > 0 ? ", " : "") + operand.name + (operand.variadic ? "..." : operand.optional ? "?" : "");
  }
  for (std::size_t i = 0; i < op.attrs.size(); ++i) {
    const ops::AttrSpec& attr = op.attrs[i];
    text += (i > 0 ? ", " : "; ") + attr.name + (attr.optional ? "?" : "") + ": " + std::string(ops::name(attr.kind));
    if (attr.fallback) text += " = " + ops::to_string(*attr.fallback);
  }
  text += ")";
  if (op.results.size() == 1) return text;
  text += " -> (";
  for (std::size_t i = 0; i < op.results.size(); ++i) text += (i > 0 ? ", " : "") + op.results[i];
  return text + ")";
}

namespace {

const std::vector<Word>& built_in_meanings() {
  static const std::vector<Word> words{
      {"convert", "Converts to `dtype`. The shape stays."},
      {"bitcast", "The same bits as another dtype of that width. The shape stays."},
      {"reduce_precision", "Rounds to so many bits of exponent and mantissa. The type stays."},
      {"select", "`on_true` where `pred` holds, else `on_false`. All three of one shape, which is the result's."},
      {"clamp", "`x` held between `low` and `high`. All three of one shape, which is the result's."},
      {"broadcast", "Axis i of `x` becomes axis `dims[i]` of the result; the other axes repeat. Result: `shape`."},
      {"reshape", "The same elements in row-major order. Result: `shape`."},
      {"transpose", "Axis i of the result is axis `perm[i]` of `x`."},
      {"reverse", "The elements backwards along `axes`. The shape stays."},
      {"slice",
       "Elements from `starts` to before `limits` by `strides`. Extent: (limit - start) / stride, rounded up."},
      {"pad",
       "`value` put in front of, behind and between the elements; negative amounts cut. Extent: low + extent + "
       "high + interior between elements."},
      {"concat", "One behind the other along `axis`, whose extents add up."},
      {"reduce", "Combines along `axes`, which are removed, by a nested computation."},
      {"arg_max", "Where the greatest element along `axis` stands; the axis is removed."},
      {"arg_min", "Where the least element along `axis` stands; the axis is removed."},
      {"dot",
       "Sums of products over the contracted axes. Result axes: batch axes, free axes of `a`, free axes of `b`."},
      {"conv",
       "Convolution of `x` with `w`. `lhs_spec` and `out_spec` hold the axes of [batch, feature, spatial...], "
       "`rhs_spec` those of [out_feature, in_feature, spatial...]."},
      {"sort", "Sorted along `axis` by the first operand; the others follow. The shapes stay."},
      {"top_k", "The greatest (or least) `k` along `axis`, whose extent becomes `k`."},
      {"take", "Slices of `x` at `indices`. Result: the shape of `x` with `axis` replaced by the shape of `indices`."},
      {"take_along", "Elements of `x` at `indices` along `axis`. Result: the shape of `indices`."},
      {"gather", "Slices of `x` of `slice_sizes` at `indices`, as in HLO (start indices clamp)."},
      {"dynamic_slice", "A slice of `sizes` that starts at scalars, which clamp. Result: `sizes`."},
      {"dynamic_update_slice", "`x` with `update` written at scalars, which clamp. The shape stays."},
      {"scatter",
       "`x` with `updates` combined in at `indices`, as in HLO (those out of range are dropped). The shape "
       "stays."},
      {"parameter", "An input of the model."},
      {"constant", "A tensor of the model."},
      {"iota", "Counts from 0 along `axis`. Result: `shape`."},
      {"while", "Repeats a body while a condition holds."},
      {"conditional", "One of several branches."},
      {"loop", "ONNX's loop: a body with a trip count."},
      {"call", "A nested computation."},
      {"rng_uniform", "Random numbers from `low` to `high`. Result: `shape`."},
      {"rng_normal", "Random numbers of this mean and deviation. Result: `shape`."},
      {"rng_bit_generator", "Random bits and the next state."},
      {"custom_call", "Something outside the model's own operators."},
  };
  return words;
}

}  // namespace

std::string built_in_meaning(const ops::OpInfo& op) {
  if (const auto found = meaning_in(built_in_meanings(), op.name)) return std::string(*found);
  if (op.op_class == ops::OpClass::kElementwise) {
    const bool truth = op.scalar && ops::is_comparison(*op.scalar);
    const std::string operands = op.operands.size() == 1 ? "`x`" : "operands of one shape";
    return "Each element by itself, of " + operands + (truth ? "; `pred`" : "") + ". The shape stays.";
  }
  const std::size_t stem = op.name.rfind('_');
  const std::string what = stem == std::string::npos ? op.name : op.name.substr(stem + 1);
  if (op.name.starts_with("reduce_window_")) return "The " + what + " of each window; padding counts as the identity.";
  if (op.op_class == ops::OpClass::kReduction) return "The " + what + " along `axes`, which are removed.";
  if (op.op_class == ops::OpClass::kScan) return "Running " + what + " along `axis`. The shape stays.";
  return {};
}

}  // namespace fusewright::lsp
