#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "src/ops/attr_math.hpp"
#include "src/ops/elaborate.hpp"

// The built-in functions of the rule language: of types, of lists and numbers, and helpers that make tensors.
namespace fusewright::ops {
namespace {

using Ints = std::vector<std::int64_t>;
constexpr std::int64_t kLongestList = 1 << 16;

// --- Arguments -------------------------------------------------------------------------------------

bool given(const FunctionCall& call, std::size_t i) { return !std::holds_alternative<std::monostate>(call.args[i]); }

Result<AttrValue> attr(const FunctionCall& call, std::size_t i) {
  if (const auto* value = std::get_if<AttrValue>(&call.args[i])) return *value;
  return fail(given(call, i) ? "a tensor where a number or list is wanted" : "an argument is left out");
}
Result<TermValue> tensor(const FunctionCall& call, std::size_t i) {
  if (const auto* value = std::get_if<TermValue>(&call.args[i])) return *value;
  return fail(given(call, i) ? "a number or list where a tensor is wanted" : "the tensor is left out");
}
Result<Type> type(const FunctionCall& call, std::size_t i) {
  FW_TRY(const TermValue value, tensor(call, i));
  return Type(call.builder.type(value));
}
Result<std::int64_t> integer(const FunctionCall& call, std::size_t i) {
  FW_TRY(const AttrValue value, attr(call, i));
  return to_integer(value);
}
Result<double> number(const FunctionCall& call, std::size_t i) {
  FW_TRY(const AttrValue value, attr(call, i));
  return to_number(value);
}
/// A list; of a tensor, its shape.
Result<Shape> list(const FunctionCall& call, std::size_t i) {
  if (const auto* value = std::get_if<TermValue>(&call.args[i])) return Shape(call.builder.type(*value).shape);
  FW_TRY(const AttrValue value, attr(call, i));
  return to_list(value);
}
Result<Ints> integers(const FunctionCall& call, std::size_t i) {
  FW_TRY(const AttrValue value, attr(call, i));
  return to_integers(value);
}
/// One axis or a list of them, normalised; not given means all.
Result<Ints> axes(const FunctionCall& call, std::size_t i, std::int64_t rank) {
  Ints out;
  if (!given(call, i)) {
    out.resize(static_cast<std::size_t>(rank));
    std::iota(out.begin(), out.end(), std::int64_t{0});
    return out;
  }
  FW_TRY(const AttrValue value, attr(call, i));
  if (kind_of(value) == AttrKind::kInt) {
    out.push_back(std::get<std::int64_t>(value));
  } else {
    FW_TRY(out, to_integers(value));
  }
  for (std::int64_t& axis : out) {
    FW_TRY(axis, normal_axis(axis, rank));
  }
  return out;
}
bool contains(const Ints& values, std::int64_t value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

EnvValue value(std::int64_t x) { return AttrValue(x); }
EnvValue value(double x) { return AttrValue(x); }
EnvValue value(bool x) { return AttrValue(x); }
EnvValue value(Shape x) { return from_list(std::move(x)); }

Result<EnvValue> operate(FunctionCall& call, const char* op, TermValue operand, const Attrs& attrs) {
  FW_TRY(const std::vector<TermValue> out, call.builder.apply(call.table.require(op), {operand}, attrs, {}));
  return out[0];
}

// --- Of types --------------------------------------------------------------------------------------

Result<EnvValue> run_rank(FunctionCall& call) {
  FW_TRY(const Shape shape, list(call, 0));
  return value(static_cast<std::int64_t>(shape.size()));
}
Result<EnvValue> run_shape(FunctionCall& call) {
  FW_TRY(const Type x, type(call, 0));
  return value(x.shape);
}
Result<EnvValue> run_dim(FunctionCall& call) {
  FW_TRY(const Shape shape, list(call, 0));
  FW_TRY(std::int64_t axis, integer(call, 1));
  FW_TRY(axis, normal_axis(axis, static_cast<std::int64_t>(shape.size())));
  return from_dim(shape[static_cast<std::size_t>(axis)]);
}
Result<EnvValue> run_size(FunctionCall& call) {
  FW_TRY(const Shape shape, list(call, 0));
  FW_TRY(const Ints over, axes(call, 1, static_cast<std::int64_t>(shape.size())));
  Shape extents;
  for (const std::int64_t axis : over) extents.push_back(shape[static_cast<std::size_t>(axis)]);
  FW_TRY(const std::int64_t count, element_count(extents));
  return value(count);
}
Result<DType> dtype_argument(const FunctionCall& call, std::size_t i) {
  if (std::holds_alternative<TermValue>(call.args[i]))
    return call.builder.type(std::get<TermValue>(call.args[i])).dtype;
  FW_TRY(const AttrValue argument, attr(call, i));
  if (const auto* dtype = std::get_if<DType>(&argument)) return *dtype;
  return fail(describe(argument) + " is not a dtype");
}
Result<EnvValue> run_dtype(FunctionCall& call) {
  FW_TRY(const DType dtype, dtype_argument(call, 0));
  return AttrValue(dtype);
}
Result<EnvValue> run_bits(FunctionCall& call) {
  FW_TRY(const DType dtype, dtype_argument(call, 0));
  return value(static_cast<std::int64_t>(bit_width(dtype)));
}
Result<EnvValue> run_is_float(FunctionCall& call) {
  FW_TRY(const DType dtype, dtype_argument(call, 0));
  return value(is_float(dtype));
}
Result<EnvValue> run_is_integer(FunctionCall& call) {
  FW_TRY(const DType dtype, dtype_argument(call, 0));
  return value(is_integer(dtype));
}
Result<EnvValue> run_present(FunctionCall& call) { return value(given(call, 0)); }
Result<EnvValue> run_broadcast_shape(FunctionCall& call) {
  FW_TRY(const Shape a, list(call, 0));
  FW_TRY(const Shape b, list(call, 1));
  FW_TRY(Shape both, broadcast_shapes(a, b));
  return value(std::move(both));
}
// Directed: `from` grows to `to`, which itself does not change.
Result<EnvValue> run_broadcasts_to(FunctionCall& call) {
  FW_TRY(const Shape from, list(call, 0));
  FW_TRY(const Shape to, list(call, 1));
  const Result<Shape> both = broadcast_shapes(from, to);
  return value(both.has_value() && *both == to);
}

// --- Of lists --------------------------------------------------------------------------------------

Result<EnvValue> run_len(FunctionCall& call) {
  FW_TRY(const AttrValue argument, attr(call, 0));
  if (const auto* floats = std::get_if<std::vector<double>>(&argument))
    return value(static_cast<std::int64_t>(floats->size()));
  if (const auto* strings = std::get_if<std::vector<std::string>>(&argument))
    return value(static_cast<std::int64_t>(strings->size()));
  FW_TRY(const Shape items, to_list(argument));
  return value(static_cast<std::int64_t>(items.size()));
}
Result<EnvValue> run_range(FunctionCall& call) {
  FW_TRY(std::int64_t first, integer(call, 0));
  std::int64_t last = first;
  if (given(call, 1)) {
    FW_TRY(last, integer(call, 1));
  } else {
    first = 0;
  }
  Ints out;
  std::int64_t length = 0;
  if (last > first && (__builtin_sub_overflow(last, first, &length) || length > kLongestList))
    return fail("a range of more than " + std::to_string(kLongestList) + " numbers");
  for (std::int64_t i = first; i < last; ++i) out.push_back(i);
  return AttrValue(std::move(out));
}
Result<EnvValue> run_reversed(FunctionCall& call) {
  FW_TRY(Shape items, list(call, 0));
  std::reverse(items.begin(), items.end());
  return value(std::move(items));
}
Result<EnvValue> run_sorted(FunctionCall& call) {
  FW_TRY(Ints items, integers(call, 0));
  std::sort(items.begin(), items.end());
  return AttrValue(std::move(items));
}
Result<EnvValue> run_contains(FunctionCall& call) {
  FW_TRY(const AttrValue items, attr(call, 0));
  FW_TRY(const AttrValue wanted, attr(call, 1));
  return attr_binary("in", wanted, items);
}
Result<EnvValue> run_sum(FunctionCall& call) {
  FW_TRY(const Ints items, integers(call, 0));
  std::int64_t sum = 0;
  for (const std::int64_t item : items)
    if (__builtin_add_overflow(sum, item, &sum)) return fail("the sum is out of range");
  return value(sum);
}
Result<EnvValue> run_prod(FunctionCall& call) {
  FW_TRY(const Ints items, integers(call, 0));
  std::int64_t product = 1;
  for (const std::int64_t item : items)
    if (__builtin_mul_overflow(product, item, &product)) return fail("the product is out of range");
  return value(product);
}
Result<EnvValue> run_permute(FunctionCall& call) {
  FW_TRY(const Shape items, list(call, 0));
  FW_TRY(const Ints order, axes(call, 1, static_cast<std::int64_t>(items.size())));
  Shape out;
  for (const std::int64_t i : order) out.push_back(items[static_cast<std::size_t>(i)]);
  return value(std::move(out));
}
Result<EnvValue> run_invert(FunctionCall& call) {
  FW_TRY(const Ints perm, integers(call, 0));
  Ints out(perm.size(), -1);
  for (std::size_t i = 0; i < perm.size(); ++i) {
    const std::int64_t to = perm[i];
    if (to < 0 || to >= static_cast<std::int64_t>(perm.size()) || out[static_cast<std::size_t>(to)] >= 0)
      return fail(to_string(AttrValue(perm)) + " is not a permutation");
    out[static_cast<std::size_t>(to)] = static_cast<std::int64_t>(i);
  }
  return AttrValue(std::move(out));
}
Result<EnvValue> run_replace(FunctionCall& call) {
  FW_TRY(Shape items, list(call, 0));
  FW_TRY(const Ints at, axes(call, 1, static_cast<std::int64_t>(items.size())));
  FW_TRY(const std::int64_t with, integer(call, 2));
  for (const std::int64_t i : at) items[static_cast<std::size_t>(i)] = Dim(with);
  return value(std::move(items));
}
Result<EnvValue> run_without(FunctionCall& call) {
  FW_TRY(const Shape items, list(call, 0));
  FW_TRY(const Ints dropped, axes(call, 1, static_cast<std::int64_t>(items.size())));
  Shape out;
  for (std::size_t i = 0; i < items.size(); ++i)
    if (!contains(dropped, static_cast<std::int64_t>(i))) out.push_back(items[i]);
  return value(std::move(out));
}
// Two lists of one length, number by number.
Result<EnvValue> pairwise(FunctionCall& call, bool (*combine)(std::int64_t, std::int64_t, std::int64_t*)) {
  FW_TRY(Ints out, integers(call, 0));
  FW_TRY(const Ints other, integers(call, 1));
  if (out.size() != other.size())
    return fail("a list of " + std::to_string(out.size()) + " and one of " + std::to_string(other.size()) + " items");
  for (std::size_t i = 0; i < out.size(); ++i)
    if (combine(out[i], other[i], &out[i])) return fail("a number beyond 64 bits");
  return AttrValue(std::move(out));
}
Result<EnvValue> run_plus(FunctionCall& call) {
  return pairwise(call,
                  [](std::int64_t a, std::int64_t b, std::int64_t* sum) { return __builtin_add_overflow(a, b, sum); });
}
Result<EnvValue> run_minus(FunctionCall& call) {
  return pairwise(call,
                  [](std::int64_t a, std::int64_t b, std::int64_t* sum) { return __builtin_sub_overflow(a, b, sum); });
}
Result<EnvValue> run_normalize(FunctionCall& call) {
  FW_TRY(const std::int64_t rank, integer(call, 1));
  if (const auto* argument = std::get_if<AttrValue>(&call.args[0]);
      argument != nullptr && kind_of(*argument) == AttrKind::kInt) {
    FW_TRY(const std::int64_t axis, normal_axis(std::get<std::int64_t>(*argument), rank));
    return value(axis);
  }
  FW_TRY(Ints out, axes(call, 0, rank));
  return AttrValue(std::move(out));
}
// A rank is as good as a tensor of that rank.
Result<std::int64_t> rank_argument(const FunctionCall& call, std::size_t i) {
  if (const auto* argument = std::get_if<AttrValue>(&call.args[i]);
      argument != nullptr && kind_of(*argument) == AttrKind::kInt) {
    const std::int64_t rank = std::get<std::int64_t>(*argument);
    if (rank < 0 || rank > kLongestList) return fail("a rank of " + std::to_string(rank));
    return rank;
  }
  FW_TRY(const Shape shape, list(call, i));
  return static_cast<std::int64_t>(shape.size());
}
Result<EnvValue> run_all_axes(FunctionCall& call) {
  FW_TRY(const std::int64_t rank, rank_argument(call, 0));
  Ints out(static_cast<std::size_t>(rank));
  std::iota(out.begin(), out.end(), std::int64_t{0});
  return AttrValue(std::move(out));
}
Result<EnvValue> run_axes_except(FunctionCall& call) {
  FW_TRY(const std::int64_t rank, rank_argument(call, 0));
  FW_TRY(const Ints left_out, axes(call, 1, rank));
  Ints out;
  for (std::int64_t axis = 0; axis < rank; ++axis)
    if (!contains(left_out, axis)) out.push_back(axis);
  return AttrValue(std::move(out));
}

// --- Of numbers ------------------------------------------------------------------------------------

// min and max: of two numbers, or over one list.
Result<EnvValue> pick(FunctionCall& call, const char* better) {
  if (given(call, 1)) {
    FW_TRY(const AttrValue a, attr(call, 0));
    FW_TRY(const AttrValue b, attr(call, 1));
    FW_TRY(const AttrValue first, attr_binary(better, a, b));
    return std::get<bool>(first) ? a : b;
  }
  FW_TRY(const Ints items, integers(call, 0));
  if (items.empty()) return fail("an empty list has no least or greatest number");
  return value(better[0] == '<' ? *std::min_element(items.begin(), items.end())
                                : *std::max_element(items.begin(), items.end()));
}
Result<EnvValue> run_min(FunctionCall& call) { return pick(call, "<"); }
Result<EnvValue> run_max(FunctionCall& call) { return pick(call, ">"); }
Result<EnvValue> run_abs(FunctionCall& call) {
  FW_TRY(const AttrValue x, attr(call, 0));
  FW_TRY(const double magnitude, to_number(x));
  if (std::signbit(magnitude)) return attr_negate(x);
  return x;
}
template <double (*kFunction)(double)>
Result<EnvValue> run_math(FunctionCall& call) {
  FW_TRY(const double x, number(call, 0));
  return value(kFunction(x));
}
Result<EnvValue> run_pow(FunctionCall& call) {
  FW_TRY(const AttrValue a, attr(call, 0));
  FW_TRY(const AttrValue b, attr(call, 1));
  return attr_binary("**", a, b);
}
Result<EnvValue> run_float(FunctionCall& call) {
  FW_TRY(const double x, number(call, 0));
  return value(x);
}
Result<EnvValue> run_int(FunctionCall& call) {
  FW_TRY(const AttrValue x, attr(call, 0));
  if (const auto* truth = std::get_if<bool>(&x)) return value(std::int64_t{*truth});
  if (const auto* real = std::get_if<double>(&x)) {
    FW_TRY(const std::int64_t whole, to_integer(AttrValue(std::trunc(*real))));
    return value(whole);
  }
  FW_TRY(const std::int64_t whole, to_integer(x));
  return value(whole);
}
Result<EnvValue> run_bool(FunctionCall& call) {
  FW_TRY(const AttrValue x, attr(call, 0));
  FW_TRY(const bool truth, to_truth(x));
  return value(truth);
}

// --- Tensors ---------------------------------------------------------------------------------------

Result<EnvValue> run_broadcast_to(FunctionCall& call) {
  FW_TRY(const TermValue x, tensor(call, 0));
  FW_TRY(const Shape shape, list(call, 1));
  FW_TRY(const TermValue out, align_to(call.table, x, shape, call.builder));
  return out;
}
// Axes are counted in the result, as in ONNX.
Result<EnvValue> run_unsqueeze(FunctionCall& call) {
  FW_TRY(const TermValue x, tensor(call, 0));
  const Shape from = call.builder.type(x).shape;
  FW_TRY(const AttrValue argument, attr(call, 1));
  const std::size_t added = kind_of(argument) == AttrKind::kInt ? 1 : to_list(argument).value_or(Shape()).size();
  const std::size_t rank = from.size() + added;
  FW_TRY(const Ints at, axes(call, 1, static_cast<std::int64_t>(rank)));
  Shape shape;
  std::size_t next = 0;
  for (std::size_t i = 0; i < rank; ++i) {
    const bool is_new = contains(at, static_cast<std::int64_t>(i));
    if (!is_new && next == from.size()) return fail("unsqueeze names an axis twice");
    shape.push_back(is_new ? Dim(1) : from[next++]);
  }
  if (shape == from) return x;
  return operate(call, "reshape", x, {{"shape", shape}});
}
Result<EnvValue> run_squeeze(FunctionCall& call) {
  FW_TRY(const TermValue x, tensor(call, 0));
  const Shape from = call.builder.type(x).shape;
  FW_TRY(const Ints at, axes(call, 1, static_cast<std::int64_t>(from.size())));
  Shape shape;
  for (std::size_t i = 0; i < from.size(); ++i) {
    const bool named = contains(at, static_cast<std::int64_t>(i));
    if (named && given(call, 1) && from[i] != Dim(1))
      return fail("squeeze of axis " + std::to_string(i) + " of " + to_string(from));
    if (!named || from[i] != Dim(1)) shape.push_back(from[i]);
  }
  if (shape == from) return x;
  return operate(call, "reshape", x, {{"shape", shape}});
}
Result<EnvValue> run_literal(FunctionCall& call) {
  FW_TRY(const AttrValue content, attr(call, 0));
  FW_TRY(const DType dtype, dtype_argument(call, 1));
  FW_TRY(TensorHandle made, number_tensor(dtype, content));
  FW_TRY(TermValue term, constant_term(call.table, call.builder, std::move(made), {}));
  if (given(call, 2)) {
    FW_TRY(const Shape shape, list(call, 2));
    FW_TRY(term, align_to(call.table, term, shape, call.builder));
  }
  return term;
}

double round_half_even(double x) { return std::nearbyint(x); }

}  // namespace

const std::vector<Function>& functions() {
  static const std::vector<Function> kFunctions = {
      {"rank", {"x"}, 1, run_rank},
      {"shape", {"x"}, 1, run_shape},
      {"dim", {"x", "axis"}, 2, run_dim},
      {"size", {"x", "axes"}, 1, run_size},
      {"dtype", {"x"}, 1, run_dtype},
      {"bits", {"x"}, 1, run_bits},
      {"is_float", {"x"}, 1, run_is_float},
      {"is_integer", {"x"}, 1, run_is_integer},
      {"present", {"x"}, 1, run_present},
      {"broadcast_shape", {"a", "b"}, 2, run_broadcast_shape},
      {"broadcasts_to", {"x", "shape"}, 2, run_broadcasts_to},
      {"len", {"list"}, 1, run_len},
      {"range", {"first", "last"}, 1, run_range},
      {"reversed", {"list"}, 1, run_reversed},
      {"sorted", {"list"}, 1, run_sorted},
      {"contains", {"list", "item"}, 2, run_contains},
      {"sum", {"list"}, 1, run_sum},
      {"prod", {"list"}, 1, run_prod},
      {"permute", {"list", "perm"}, 2, run_permute},
      {"invert", {"perm"}, 1, run_invert},
      {"replace", {"list", "positions", "item"}, 3, run_replace},
      {"without", {"list", "positions"}, 2, run_without},
      {"plus", {"a", "b"}, 2, run_plus},
      {"minus", {"a", "b"}, 2, run_minus},
      {"normalize", {"axes", "rank"}, 2, run_normalize},
      {"all_axes", {"x"}, 1, run_all_axes},
      {"axes_except", {"x", "axes"}, 2, run_axes_except},
      {"min", {"a", "b"}, 1, run_min},
      {"max", {"a", "b"}, 1, run_max},
      {"abs", {"x"}, 1, run_abs},
      {"sqrt", {"x"}, 1, run_math<std::sqrt>},
      {"exp", {"x"}, 1, run_math<std::exp>},
      {"log", {"x"}, 1, run_math<std::log>},
      {"floor", {"x"}, 1, run_math<std::floor>},
      {"ceil", {"x"}, 1, run_math<std::ceil>},
      {"round", {"x"}, 1, run_math<round_half_even>},
      {"pow", {"a", "b"}, 2, run_pow},
      {"float", {"x"}, 1, run_float},
      {"int", {"x"}, 1, run_int},
      {"bool", {"x"}, 1, run_bool},
      {"broadcast_to", {"x", "shape"}, 2, run_broadcast_to},
      {"unsqueeze", {"x", "axes"}, 2, run_unsqueeze},
      {"squeeze", {"x", "axes"}, 1, run_squeeze},
      {"literal", {"value", "dtype", "shape"}, 2, run_literal},
  };
  return kFunctions;
}

std::vector<FunctionSignature> function_signatures() {
  std::vector<FunctionSignature> signatures;
  for (const Function& function : functions()) {
    signatures.push_back({function.name, {function.parameters.begin(), function.parameters.end()}, function.needed});
  }
  return signatures;
}

const Function* find_function(std::string_view name) {
  static const std::map<std::string_view, const Function*> kByName = [] {
    std::map<std::string_view, const Function*> by_name;
    for (const Function& function : functions()) by_name.emplace(function.name, &function);
    return by_name;
  }();
  const auto at = kByName.find(name);
  return at == kByName.end() ? nullptr : at->second;
}

}  // namespace fusewright::ops
