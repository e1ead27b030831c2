#include "src/prove/guard_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

namespace fusewright::prove {

using ops::Expr;
using Kind = Expr::Kind;

namespace {

constexpr int kMostRank = 8;  // that sizes are multiplied out to

bool is_call(const Expr& expr, const std::string& function, std::size_t args) {
  return expr.kind == Kind::kCall && expr.text == function && expr.args.size() == args && expr.named.empty();
}

bool is_name(const Expr& expr) { return expr.kind == Kind::kName; }

bool is_shape(const Expr& expr) { return is_call(expr, "shape", 1) && is_name(*expr.args[0]); }

/// Exact but for what lies 80 digits behind the point.
std::string digits_of(double number) { return fmt::format("{:.80f}", number); }

}  // namespace

GuardReader::GuardReader(z3::context& context, const ops::OpTable& table, const rule::RewriteVariant& variant)
    : context_(context), table_(table), variant_(variant) {}

std::optional<z3::expr> GuardReader::read(const Expr& guard) {
  if (guard.kind == Kind::kBinary && guard.text == "and") {
    const auto left = read(*guard.args[0]), right = read(*guard.args[1]);
    return left && right ? *left && *right : left ? left : right;
  }
  if (guard.kind == Kind::kBinary && guard.text == "==" && is_shape(*guard.args[0]) && is_shape(*guard.args[1])) {
    const std::string &a = guard.args[0]->args[0]->text, &b = guard.args[1]->args[0]->text;
    return rank(a) == rank(b) && size(a) == size(b);
  }
  return truth(guard);
}

GuardReader::Number GuardReader::truth(const Expr& expr) {
  if (expr.kind == Kind::kBool) return context_.bool_val(expr.integer != 0);
  if (expr.kind == Kind::kUnary && expr.text == "not") {
    const Number inner = truth(*expr.args[0]);
    return inner ? Number(!*inner) : std::nullopt;
  }
  if (is_call(expr, "is_zero", 1) || is_call(expr, "is_one", 1)) {
    if (!is_name(*expr.args[0])) return std::nullopt;
    const auto at =
        constants_.try_emplace(expr.args[0]->text, context_.real_const(("value " + expr.args[0]->text).c_str()));
    return at.first->second == context_.real_val(expr.text == "is_one" ? 1 : 0);
  }
  if (expr.kind != Kind::kBinary) return std::nullopt;
  if (expr.text == "and" || expr.text == "or") {
    const Number left = truth(*expr.args[0]), right = truth(*expr.args[1]);
    if (!left || !right) return std::nullopt;
    return expr.text == "and" ? *left && *right : *left || *right;
  }
  if (expr.text == "in" || expr.text == "not in") {
    const Number element = number(*expr.args[0]);
    const auto list = numbers(*expr.args[1]);
    if (!element || !list) return std::nullopt;
    z3::expr any = context_.bool_val(false);
    for (const z3::expr& one : *list) {
      const auto [a, b] = alike(*element, one);
      any = any || a == b;
    }
    return expr.text == "in" ? any : !any;
  }
  return comparison(expr.text, *expr.args[0], *expr.args[1]);
}

GuardReader::Number GuardReader::comparison(const std::string& op, const Expr& left, const Expr& right) {
  if (op == "==" && is_shape(left)) return shape_is(left, right);
  if (op == "==" && is_shape(right)) return shape_is(right, left);
  if (const auto l = numbers(left), r = numbers(right); l && r && l->size() == r->size()) {
    z3::expr all = context_.bool_val(true);
    for (std::size_t k = 0; k < l->size(); ++k) {
      const auto [a, b] = alike((*l)[k], (*r)[k]);
      all = all && a == b;
    }
    return op == "==" ? Number(all) : op == "!=" ? Number(!all) : std::nullopt;
  }
  const Number l = number(left), r = number(right);
  if (!l || !r) return std::nullopt;
  const auto [a, b] = alike(*l, *r);
  if (op == "==") return a == b;
  if (op == "!=") return a != b;
  if (op == "<") return a < b;
  if (op == "<=") return a <= b;
  if (op == ">") return a > b;
  if (op == ">=") return a >= b;
  return std::nullopt;
}

GuardReader::Number GuardReader::shape_is(const Expr& shape, const Expr& list) {
  const auto extents = numbers(list);
  if (!extents) return std::nullopt;
  const std::string& tensor = shape.args[0]->text;
  z3::expr all = rank(tensor) == static_cast<int>(extents->size());
  for (std::size_t k = 0; k < extents->size(); ++k) {
    if (!(*extents)[k].is_int()) return std::nullopt;
    all = all && extent(tensor, context_.int_val(static_cast<int>(k))) == (*extents)[k];
  }
  return all;
}

/// A list that is written out, or some extents of a tensor: `dim(x, 0)` beside an extent is checked to `permute(x,
/// [0])`.
std::optional<std::vector<z3::expr>> GuardReader::numbers(const Expr& list) {
  std::vector<z3::expr> out;
  if (is_call(list, "permute", 2) && (is_name(*list.args[0]) || is_shape(*list.args[0]))) {
    const std::string& tensor = is_name(*list.args[0]) ? list.args[0]->text : list.args[0]->args[0]->text;
    const auto axes = numbers(*list.args[1]);
    if (!axes) return std::nullopt;
    for (const z3::expr& axis : *axes) {
      if (!axis.is_int()) return std::nullopt;
      out.push_back(extent(tensor, axis));
    }
    return out;
  }
  if (list.kind != Kind::kList) return std::nullopt;
  for (const auto& arg : list.args) {
    const Number one = number(*arg);
    if (!one) return std::nullopt;
    out.push_back(*one);
  }
  return out;
}

GuardReader::Number GuardReader::number(const Expr& expr) {
  switch (expr.kind) {
    case Kind::kInt: return context_.int_val(expr.integer);
    case Kind::kFloat: return context_.real_val(digits_of(expr.number).c_str());
    case Kind::kName: return name(expr.text);
    case Kind::kResult: return is_name(*expr.args[0]) ? name(expr.args[0]->text + "." + expr.text) : std::nullopt;
    case Kind::kUnary: {
      const Number inner = expr.text == "-" ? number(*expr.args[0]) : std::nullopt;
      return inner ? Number(-*inner) : std::nullopt;
    }
    case Kind::kBinary: return binary(expr);
    case Kind::kCall: return call(expr);
    case Kind::kIndex: {
      const Number at = is_shape(*expr.args[0]) ? number(*expr.args[1]) : std::nullopt;
      return at && at->is_int() ? Number(extent(expr.args[0]->args[0]->text, *at)) : std::nullopt;
    }
    case Kind::kConditional: {
      const Number test = truth(*expr.args[0]), yes = number(*expr.args[1]), no = number(*expr.args[2]);
      if (!test || !yes || !no) return std::nullopt;
      const auto [a, b] = alike(*yes, *no);
      return z3::ite(*test, a, b);
    }
    case Kind::kString:
    case Kind::kBool:
    case Kind::kList:
    case Kind::kSlice: break;
  }
  return std::nullopt;
}

/// A number that a pattern binds, or a `let`.
GuardReader::Number GuardReader::name(const std::string& text) {
  for (const rule::Step& step : variant_.steps)
    if (step.kind == rule::Step::Kind::kLet && step.name == text) return number(*step.value);
  if (const auto at = attributes_.find(text); at != attributes_.end()) return at->second;
  const auto of_kind = [&](ops::AttrKind kind) -> Number {
    if (kind == ops::AttrKind::kInt) return attributes_.emplace(text, context_.int_const(text.c_str())).first->second;
    if (kind == ops::AttrKind::kFloat)
      return attributes_.emplace(text, context_.real_const(text.c_str())).first->second;
    return std::nullopt;
  };
  for (const rule::PatternNode& node : variant_.nodes) {
    if (node.kind == rule::PatternNode::Kind::kLiteral && node.literal.bind == text)
      return constants_.try_emplace(text, context_.real_const(("value " + text).c_str())).first->second;
    if (node.kind != rule::PatternNode::Kind::kApply || node.ops.ops.empty()) continue;
    for (const ops::AttrSpec& spec : table_[node.ops.ops[0]].attrs) {
      const bool bound = std::ranges::any_of(
          node.attrs, [&](const rule::AttrPattern& asked) { return asked.attr == spec.name && asked.bind == text; });
      if (bound || node.name + "." + spec.name == text) return of_kind(spec.kind);
    }
  }
  return std::nullopt;
}

GuardReader::Number GuardReader::call(const Expr& expr) {
  const bool of_tensor = !expr.args.empty() && expr.args[0] != nullptr && is_name(*expr.args[0]);
  const std::string tensor = of_tensor ? expr.args[0]->text : std::string();
  if (is_call(expr, "value", 1) && of_tensor)
    return constants_.try_emplace(tensor, context_.real_const(("value " + tensor).c_str())).first->second;
  if (is_call(expr, "rank", 1) && of_tensor) return rank(tensor);
  if (is_call(expr, "size", 1) && of_tensor) return size(tensor);
  if (is_call(expr, "prod", 1) && is_shape(*expr.args[0])) return size(expr.args[0]->args[0]->text);
  if (is_call(expr, "dim", 2) && of_tensor) {
    const Number axis = number(*expr.args[1]);
    return axis && axis->is_int() ? Number(extent(tensor, *axis)) : std::nullopt;
  }
  if (is_call(expr, "float", 1) || is_call(expr, "abs", 1)) {
    const Number inner = number(*expr.args[0]);
    if (!inner) return std::nullopt;
    return expr.text == "float" ? real(*inner) : z3::ite(*inner < 0, -*inner, *inner);
  }
  if (is_call(expr, "min", 2) || is_call(expr, "max", 2)) {
    const Number l = number(*expr.args[0]), r = number(*expr.args[1]);
    if (!l || !r) return std::nullopt;
    const auto [a, b] = alike(*l, *r);
    return expr.text == "min" ? z3::ite(a < b, a, b) : z3::ite(a < b, b, a);
  }
  return std::nullopt;
}

GuardReader::Number GuardReader::binary(const Expr& expr) {
  const Number l = number(*expr.args[0]), r = number(*expr.args[1]);
  if (!l || !r) return std::nullopt;
  const auto [a, b] = alike(*l, *r);
  if (expr.text == "+") return a + b;
  if (expr.text == "-") return a - b;
  if (expr.text == "*") return a * b;
  if (expr.text == "/") return real(a) / real(b);
  std::int64_t whole = 0;
  const bool fixed = r->is_int() && r->is_numeral_i64(whole);
  if (expr.text == "**" && fixed && whole >= 0 && whole <= kMostRank) {
    z3::expr product = l->is_int() ? context_.int_val(1) : context_.real_val(1);
    for (std::int64_t k = 0; k < whole; ++k) product = product * *l;
    return product;
  }
  // Towards minus infinity, which a divisor above zero has in common with the solver.
  if (!fixed || whole <= 0 || (expr.text != "//" && expr.text != "%")) return std::nullopt;
  if (l->is_real()) {  // of a constant that is a whole number
    there_.push_back(z3::is_int(*l));
    narrowed_ = true;
  }
  const z3::expr from = l->is_real() ? z3::expr(context_, Z3_mk_real2int(context_, *l)) : *l;
  return expr.text == "//" ? from / *r : z3::mod(from, *r);
}

z3::expr GuardReader::rank(const std::string& tensor) {
  return ranks_.try_emplace(tensor, context_.int_const(("rank " + tensor).c_str())).first->second;
}

z3::expr GuardReader::extent(const std::string& tensor, const z3::expr& axis) {
  const z3::func_decl of = context_.function(("extent " + tensor).c_str(), context_.int_sort(), context_.int_sort());
  const z3::expr count = rank(tensor);
  const z3::expr from_front = z3::ite(axis < 0, axis + count, axis);
  const z3::expr out = of(from_front.simplify());
  extents_.push_back(out);
  there_.push_back(from_front >= 0 && from_front < count && out >= 0);
  return out;
}

z3::expr GuardReader::size(const std::string& tensor) {
  const z3::func_decl of = context_.function(("extent " + tensor).c_str(), context_.int_sort(), context_.int_sort());
  const z3::expr count = rank(tensor);
  z3::expr product = context_.int_val(1);
  for (int k = 0; k < kMostRank; ++k) {
    const z3::expr out = z3::ite(count > k, of(context_.int_val(k)), context_.int_val(1));
    extents_.push_back(out);
    there_.push_back(out >= 0);
    product = product * out;
  }
  return product;
}

z3::expr GuardReader::real(const z3::expr& number) const { return number.is_int() ? z3::to_real(number) : number; }

std::pair<z3::expr, z3::expr> GuardReader::alike(const z3::expr& a, const z3::expr& b) const {
  if (a.is_int() == b.is_int()) return {a, b};
  return {real(a), real(b)};
}

z3::expr GuardReader::sense() const {
  z3::expr all = context_.bool_val(true);
  for (const auto& [name, rank] : ranks_) all = all && rank >= 0 && rank <= kMostRank;
  for (const z3::expr& there : there_) all = all && there;
  return all;
}

}  // namespace fusewright::prove
