#include "src/rule/lint_forms.hpp"

#include <algorithm>

#include "src/rule/make_expr.hpp"

namespace fusewright::rule {

using ops::Expr;
using Kind = Expr::Kind;

bool is_call(const Expr& expr, std::string_view name, std::size_t args) {
  return expr.kind == Kind::kCall && expr.text == name && expr.args.size() == args && expr.named.empty();
}
bool is_one_of(const std::string& name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}
std::string text_of(const Expr& expr) { return ops::print_expr(expr); }

ExprPtr integer(std::int64_t value) {
  Expr expr;
  expr.integer = value;
  return share(std::move(expr));
}
namespace {
ExprPtr make(Kind kind, std::string text, std::vector<ExprPtr> args) {
  Expr expr = leaf(kind, {}, std::move(text));
  expr.args = std::move(args);
  return share(std::move(expr));
}
}  // namespace
ExprPtr call(std::string function, std::vector<ExprPtr> args) {
  return make(Kind::kCall, std::move(function), std::move(args));
}
ExprPtr binary(std::string op, ExprPtr left, ExprPtr right) {
  return make(Kind::kBinary, std::move(op), {std::move(left), std::move(right)});
}
ExprPtr item_of(ExprPtr list, std::int64_t index) { return make(Kind::kIndex, {}, {std::move(list), integer(index)}); }

bool is_literal(const Expr& expr) {
  const bool single = expr.kind == Kind::kInt || (expr.kind == Kind::kFloat && !expr.approximate) ||
                      expr.kind == Kind::kString || expr.kind == Kind::kBool;
  return single || (expr.kind == Kind::kList && std::ranges::all_of(expr.args, [](const ExprPtr& item) {
                      return item->kind != Kind::kList && is_literal(*item);
                    }));
}

namespace {

ExprPtr list_of(const auto& values, const auto& item) {
  std::vector<ExprPtr> items;
  for (const auto& value : values) items.push_back(item(value));
  return make(Kind::kList, {}, std::move(items));
}
ExprPtr real(double value) {
  Expr expr = leaf(Kind::kFloat, {});
  expr.number = value;
  return share(std::move(expr));
}
ExprPtr text(const std::string& value) { return share(leaf(Kind::kString, {}, value)); }
ExprPtr extent(const Dim& dim) { return dim.is_constant() ? integer(dim.value()) : named(dim.to_string(), {}); }

}  // namespace

ExprPtr literal_of(const ops::AttrValue& value) {
  using ops::AttrKind;
  switch (ops::kind_of(value)) {
    case AttrKind::kInt: return integer(std::get<std::int64_t>(value));
    case AttrKind::kFloat: return real(std::get<double>(value));
    case AttrKind::kString: return text(std::get<std::string>(value));
    case AttrKind::kDType: return named(std::string(ops::name(std::get<ops::DType>(value))), {});
    case AttrKind::kInts: return list_of(std::get<std::vector<std::int64_t>>(value), integer);
    case AttrKind::kFloats: return list_of(std::get<std::vector<double>>(value), real);
    case AttrKind::kStrings: return list_of(std::get<std::vector<std::string>>(value), text);
    case AttrKind::kShape: return list_of(std::get<ops::Shape>(value), extent);
    case AttrKind::kTensor: return named("?", {});
    case AttrKind::kBool: break;
  }
  Expr truth = leaf(Kind::kBool, {});
  truth.integer = std::get<bool>(value) ? 1 : 0;
  return share(std::move(truth));
}

namespace {

constexpr std::int64_t kLongest = 64;  // of lists that are written out

bool asks_dtype(const std::string& function) {
  return is_one_of(function, {"dtype", "bits", "is_float", "is_integer"});
}
bool asks_shape(const std::string& function) {
  return is_one_of(function, {"rank", "shape", "dim", "size", "permute", "replace", "without", "reversed", "all_axes",
                              "axes_except", "broadcast_shape", "broadcasts_to"});
}

/// There are no tensors among literals.
class NoTensors final : public ops::TermBuilder {
 public:
  Result<std::vector<ops::TermValue>> apply(OpId, const std::vector<std::optional<ops::TermValue>>&, const ops::Attrs&,
                                            const Span& span) override {
    return std::unexpected(Error{{}, {{Severity::kError, span, {}, {}, {}}}});
  }
  const ops::Type& type(ops::TermValue) override { return none_; }

 private:
  ops::Type none_;
};

/// What an expression of literals alone is; null where it cannot be worked out.
ExprPtr worked_out(const Expr& expr) {
  const bool operation = is_one_of(expr.text, {"and", "or", "not"}) || expr.kind == Kind::kCall ||
                         expr.kind == Kind::kUnary || expr.kind == Kind::kBinary || expr.kind == Kind::kIndex ||
                         expr.kind == Kind::kSlice || expr.kind == Kind::kConditional;
  const auto literal = [](const ExprPtr& arg) {
    return arg == nullptr || is_literal(*arg) ||
           (arg->kind == Kind::kName && ops::dtype_from_name(arg->text).has_value());
  };
  if (!operation || expr.args.empty() || !expr.named.empty() || !std::ranges::all_of(expr.args, literal))
    return nullptr;
  static const ops::OpTable kTable = ops::OpTable::builtin();
  NoTensors none;
  const auto value = ops::elaborate(kTable, expr, {}, none);
  const auto* attr = value ? std::get_if<ops::AttrValue>(&*value) : nullptr;
  return attr == nullptr ? nullptr : literal_of(*attr);
}

/// A bound of a slice that is written as a number; 0 or nothing where it is left out.
bool bounded(const Expr& slice, std::int64_t& first, std::optional<std::int64_t>& last) {
  const auto fits = [](const ExprPtr& bound) { return bound == nullptr || bound->kind == Kind::kInt; };
  if (slice.kind != Kind::kSlice || !fits(slice.args[1]) || !fits(slice.args[2])) return false;
  first = slice.args[1] == nullptr ? 0 : slice.args[1]->integer;
  if (slice.args[2] != nullptr) last = slice.args[2]->integer;
  return true;
}

ExprPtr nested(const std::string& op, const std::vector<ExprPtr>& items) {
  ExprPtr out = items.back();
  for (std::size_t i = items.size() - 1; i-- > 0;)
    out = is_one_of(op, {"min", "max"}) ? call(op, {items[i], out}) : binary(op, items[i], out);
  return out;
}

/// A function of a list that is written out, or of a part of one, as what it is of its elements.
ExprPtr of_list(const Expr& expr) {
  if (expr.args.empty() || expr.args[0] == nullptr || !expr.named.empty()) return nullptr;
  const Expr& list = *expr.args[0];
  const bool written = list.kind == Kind::kList;
  const bool by_number = expr.kind == Kind::kIndex && expr.args[1]->kind == Kind::kInt;
  std::int64_t first = 0;
  std::optional<std::int64_t> last;
  if (by_number && written) {
    const auto size = static_cast<std::int64_t>(list.args.size());
    const std::int64_t at = expr.args[1]->integer + (expr.args[1]->integer < 0 ? size : 0);
    return at >= 0 && at < size ? list.args[static_cast<std::size_t>(at)] : nullptr;
  }
  if (by_number && expr.args[1]->integer >= 0 && bounded(list, first, last) && first >= 0 &&
      (!last || first + expr.args[1]->integer < *last))
    return item_of(list.args[0], first + expr.args[1]->integer);
  if (expr.kind != Kind::kCall) return nullptr;
  if (expr.text == "contains" && expr.args.size() == 2) return binary("in", expr.args[1], expr.args[0]);
  if (expr.args.size() != 1) return nullptr;
  if (written && expr.text == "len") return integer(static_cast<std::int64_t>(list.args.size()));
  if (expr.text == "len" && list.kind == Kind::kBinary && list.text == "+")
    return binary("+", call("len", {list.args[0]}), call("len", {list.args[1]}));
  if (expr.text == "len" && bounded(list, first, last)) {
    const ExprPtr all = call("len", {list.args[0]});
    const auto from_start = [&](std::int64_t bound) {
      return bound >= 0 ? call("min", {all, integer(bound)})
                        : call("max", {binary("-", all, integer(-bound)), integer(0)});
    };
    const ExprPtr end = last ? from_start(*last) : all;
    return call("max", {binary("-", end, from_start(first)), integer(0)});
  }
  if (!written || list.args.empty()) return nullptr;
  if (expr.text == "min" || expr.text == "max") return nested(expr.text, list.args);
  if (expr.text == "sum") return nested("+", list.args);
  return expr.text == "prod" ? nested("*", list.args) : nullptr;
}

/// Lists that are joined, repeated, cut or picked from, as one list.
ExprPtr one_list(const Expr& expr) {
  const auto is_list = [](const ExprPtr& arg) { return arg != nullptr && arg->kind == Kind::kList; };
  // By this extents are compared.
  if (is_call(expr, "permute", 2) && is_list(expr.args[1]) && expr.args[1]->args.size() == 1)
    return make(Kind::kList, {}, {call("dim", {expr.args[0], expr.args[1]->args[0]})});
  if (expr.args.size() < 2 || !is_list(expr.args[0])) return nullptr;
  std::vector<ExprPtr> items = expr.args[0]->args;
  std::int64_t first = 0;
  std::optional<std::int64_t> last;
  if (expr.kind == Kind::kBinary && expr.text == "+" && is_list(expr.args[1])) {
    items.insert(items.end(), expr.args[1]->args.begin(), expr.args[1]->args.end());
  } else if (expr.kind == Kind::kBinary && expr.text == "*" && expr.args[1]->kind == Kind::kInt &&
             expr.args[1]->integer >= 0 && expr.args[1]->integer <= kLongest && items.size() == 1) {
    items.assign(static_cast<std::size_t>(expr.args[1]->integer), items[0]);
  } else if (bounded(expr, first, last)) {
    const auto size = static_cast<std::int64_t>(items.size());
    const auto place = [&](std::int64_t at) { return std::clamp<std::int64_t>(at < 0 ? at + size : at, 0, size); };
    const std::int64_t end = place(last.value_or(size));
    const std::int64_t begin = std::min(place(first), end);
    items = std::vector<ExprPtr>(items.begin() + begin, items.begin() + end);
  } else {
    return nullptr;
  }
  return static_cast<std::int64_t>(items.size()) > kLongest ? nullptr : make(Kind::kList, {}, std::move(items));
}

/// A place that is counted from the end, of a tensor or list whose length is known, from its start.
ExprPtr from_the_front(const Expr& expr, const Known& known) {
  const bool dim = is_call(expr, "dim", 2);
  if ((!dim && expr.kind != Kind::kIndex) || expr.args[1]->kind != Kind::kInt || expr.args[1]->integer >= 0)
    return nullptr;
  const auto length = known.find(text_of(*call(dim ? "rank" : "len", {expr.args[0]})));
  if (length == known.end() || length->second->kind != Kind::kInt) return nullptr;
  if (length->second->integer + expr.args[1]->integer < 0) return nullptr;
  Expr out = expr;
  out.args[1] = integer(length->second->integer + expr.args[1]->integer);
  return share(std::move(out));
}

void name_shapes(Expr& out, const Facts& facts) {
  const auto inner = [&](std::string_view function) {
    return !out.args.empty() && out.args[0] != nullptr && is_call(*out.args[0], function, 1);
  };
  if (out.kind == Kind::kIndex && inner("shape")) {
    out.kind = Kind::kCall;
    out.text = "dim";
  }
  if (out.kind != Kind::kCall || out.args.empty()) return;
  if (out.text == "len" && inner("shape")) out.text = "rank";
  if (asks_shape(out.text) && out.text != "shape" && inner("shape")) out.args[0] = out.args[0]->args[0];
  if (asks_dtype(out.text) && inner("dtype")) out.args[0] = out.args[0]->args[0];
  if (!asks_dtype(out.text) && !asks_shape(out.text)) return;
  const auto& same = asks_dtype(out.text) ? facts.same_dtype : facts.same_shape;
  for (auto& arg : out.args) {
    if (arg == nullptr || arg->kind != Kind::kName) continue;
    if (const auto at = same.find(arg->text); at != same.end()) arg = named(at->second, arg->span);
  }
}

}  // namespace

ExprPtr plain(const Expr& expr, const Facts& facts, const Known& known) {
  Expr out = expr;
  for (auto& arg : out.args) {
    if (arg != nullptr) arg = plain(*arg, facts, known);
  }
  name_shapes(out, facts);
  if (is_literal(out)) return share(std::move(out));
  for (const ExprPtr& simpler : {worked_out(out), from_the_front(out, known), of_list(out), one_list(out)})
    if (simpler != nullptr) return plain(*simpler, facts, known);
  const auto at = known.empty() ? known.end() : known.find(text_of(out));
  return at == known.end() ? share(std::move(out)) : at->second;
}

}  // namespace fusewright::rule
