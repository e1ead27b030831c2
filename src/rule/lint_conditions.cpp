#include "src/rule/lint_conditions.hpp"

#include <algorithm>
#include <cmath>

namespace fusewright::rule {

using ops::Expr;
using Kind = Expr::Kind;

// --- Expressions in one form -----------------------------------------------------------------------------

namespace {

const std::string kZero;

std::string text_of(const Expr& expr) { return ops::print_expr(expr); }

bool is_call(const Expr& expr, std::string_view name, std::size_t args) {
  return expr.kind == Kind::kCall && expr.text == name && expr.args.size() == args && expr.named.empty();
}

bool is_one_of(const std::string& name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool asks_dtype(const std::string& function) {
  return is_one_of(function, {"dtype", "bits", "is_float", "is_integer"});
}
bool asks_shape(const std::string& function) {
  return is_one_of(function, {"rank", "shape", "dim", "size", "permute", "replace", "without", "reversed", "all_axes",
                              "axes_except", "broadcast_shape", "broadcasts_to"});
}
bool is_count(const Expr& expr) {
  return expr.kind == Kind::kCall && is_one_of(expr.text, {"rank", "dim", "len", "size", "bits"});
}
bool gives_number(const Expr& expr) {
  return is_count(expr) ||
         (expr.kind == Kind::kCall && is_one_of(expr.text, {"sum", "prod", "min", "max", "abs", "floor", "ceil",
                                                            "round", "int", "float", "value"}));
}

DTypeSet dtypes_where(const auto& holds) {
  DTypeSet set;
  for (std::size_t i = 0; i < kDTypeCount; ++i) set[i] = holds(static_cast<ops::DType>(i));
  return set;
}

std::optional<DTypeSet> dtype_constant(const Expr& expr) {
  const auto dtype = expr.kind == Kind::kName ? ops::dtype_from_name(expr.text) : std::nullopt;
  if (!dtype) return std::nullopt;
  return DTypeSet().set(static_cast<std::size_t>(*dtype));
}

bool holds_between(double a, const std::string& op, double b) {
  if (op == "==") return a == b;
  if (op == "!=") return a != b;
  if (op == "<") return a < b;
  if (op == "<=") return a <= b;
  return op == ">" ? a > b : a >= b;
}

/// The comparison that holds where `op` does not, and the one with its sides changed.
std::string opposite(const std::string& op) {
  if (op == "==") return "!=";
  if (op == "!=") return "==";
  if (op == "<") return ">=";
  if (op == ">=") return "<";
  return op == ">" ? "<=" : ">";
}
std::string turned(const std::string& op) {
  if (op == "<" || op == "<=") return op == "<" ? ">" : ">=";
  if (op == ">" || op == ">=") return op == ">" ? "<" : "<=";
  return op;
}

/// Texts, truths, lists of whole numbers: two of them are equal only if they are written alike.
bool is_constant(const Expr& expr) {
  if (expr.kind == Kind::kString || expr.kind == Kind::kBool) return true;
  return expr.kind == Kind::kList && std::all_of(expr.args.begin(), expr.args.end(), [](const ExprPtr& item) {
           return item->kind == Kind::kInt || item->kind == Kind::kString;
         });
}

/// `permute(x, [a])`, by which extents are compared, as the extent it stands for; a list of one as its element.
const Expr single(const Expr& expr) {
  if (expr.kind == Kind::kList && expr.args.size() == 1) return *expr.args[0];
  if (!is_call(expr, "permute", 2) || expr.args[1]->kind != Kind::kList || expr.args[1]->args.size() != 1) return expr;
  Expr out = expr;
  out.text = "dim";
  out.args[1] = expr.args[1]->args[0];
  return out;
}

}  // namespace

std::string Conditions::tensor_of(const Expr& expr, const std::map<std::string, std::string>& same) const {
  const auto at = expr.kind == Kind::kName ? same.find(expr.text) : same.end();
  return at == same.end() ? text_of(expr) : at->second;
}

/// With tensors that surely have one shape, or one dtype, under one name; `len(shape(x))` as `rank(x)`.
ExprPtr Conditions::plain(const Expr& expr) const {
  Expr out = expr;
  for (auto& arg : out.args) {
    if (arg != nullptr) arg = plain(*arg);
  }
  const auto inner = [&](std::string_view function) {
    return !out.args.empty() && out.args[0] != nullptr && is_call(*out.args[0], function, 1);
  };
  if (out.kind == Kind::kIndex && inner("shape")) {
    out.kind = Kind::kCall;
    out.text = "dim";
  }
  if (out.kind != Kind::kCall || out.args.empty()) return std::make_shared<const Expr>(std::move(out));
  if (out.text == "len" && inner("shape")) out.text = "rank";
  if (asks_shape(out.text) && out.text != "shape" && inner("shape")) out.args[0] = out.args[0]->args[0];
  if (asks_dtype(out.text) && inner("dtype")) out.args[0] = out.args[0]->args[0];
  if (!asks_dtype(out.text) && !asks_shape(out.text)) return std::make_shared<const Expr>(std::move(out));
  for (auto& arg : out.args) {
    if (arg == nullptr || arg->kind != Kind::kName) continue;
    Expr name = *arg;
    name.text = tensor_of(*arg, asks_dtype(out.text) ? facts_.same_dtype : facts_.same_shape);
    arg = std::make_shared<const Expr>(std::move(name));
  }
  return std::make_shared<const Expr>(std::move(out));
}

// --- Conditions --------------------------------------------------------------------------------------------

Conditions::Conditions(const Facts& facts) : facts_(facts) {
  for (const auto& [key, set] : facts.dtypes) {
    const auto [at, fresh] = dtypes_.emplace(key, set);
    if (!fresh) at->second &= set;
  }
  for (const auto& [key, range] : facts.numbers) {
    numbers_.add(key, kZero, {range.high});
    numbers_.add(kZero, key, {-range.low});
  }
  for (const Relation& relation : facts.relations) numbers_.add(relation.a, relation.b, {relation.most});
}

bool Conditions::add(const Expr& written, bool holds) {
  const ExprPtr shared = plain(written);
  const Expr& expr = *shared;
  if (expr.kind == Kind::kBool) return (expr.integer != 0) == holds;
  if (expr.kind == Kind::kUnary && expr.text == "not") return add(*expr.args[0], !holds);
  if (expr.kind == Kind::kBinary && (expr.text == "and" || expr.text == "or"))
    return (expr.text == "and") == holds ? add(*expr.args[0], holds) && add(*expr.args[1], holds)
                                         : add_either(expr, holds);
  // The same condition, word for word, must not be stated both ways.
  const auto [stated, fresh] = stated_.emplace(text_of(expr), holds);
  if (!fresh && stated->second != holds) return false;
  if (expr.kind == Kind::kCall) return predicate(expr, holds) && widths_fit();
  if (expr.kind != Kind::kBinary) return true;
  if (expr.text == "in" || expr.text == "not in")
    return membership(*expr.args[0], *expr.args[1], holds == (expr.text == "in"));
  if (!is_one_of(expr.text, {"==", "!=", "<", "<=", ">", ">="})) return true;
  return comparison(holds ? expr.text : opposite(expr.text), *expr.args[0], *expr.args[1]) && widths_fit() &&
         unequal_still();
}

/// One of two must hold: what is known then is what either leaves.
bool Conditions::add_either(const Expr& expr, bool holds) {
  std::vector<Conditions> left;
  for (const auto& arg : expr.args) {
    Conditions branch = *this;
    if (branch.add(*arg, holds)) left.push_back(std::move(branch));
  }
  if (left.empty()) return false;
  if (left.size() == 1) {
    *this = Conditions(left[0]);
    return true;
  }
  for (const auto& [key, set] : left[0].dtypes_) {
    const auto other = left[1].dtypes_.find(left[1].root(key));
    if (other != left[1].dtypes_.end() && !narrow(key, set | other->second)) return false;
  }
  for (const std::string& key : left[0].seen_) {
    if (!left[1].seen_.contains(key)) continue;
    const Interval a = left[0].numbers_.between(key, kZero), b = left[1].numbers_.between(key, kZero);
    if (!numbers_.add(key, kZero, {std::max(a.high, b.high)}) || !numbers_.add(kZero, key, {-std::min(a.low, b.low)}))
      return false;
  }
  return true;
}

/// What follows from a question about constants, or whether two values are one.
bool Conditions::implications(const Expr& expr, bool holds) {
  const auto state = [&](const std::string& function, const Expr& arg, bool truth) {
    return stated_.emplace(function + "(" + text_of(arg) + ")", truth).first->second == truth;
  };
  if (!holds) return true;
  if (expr.text == "same" && expr.args.size() == 2 && expr.named.empty()) {
    for (const char* function : {"shape", "dtype"}) {
      Expr equal = expr;
      equal.kind = Kind::kBinary;
      equal.text = "==";
      for (auto& arg : equal.args) {
        Expr call = expr;
        call.text = function;
        call.args = {arg};
        arg = std::make_shared<const Expr>(std::move(call));
      }
      if (!add(equal)) return false;
    }
    return true;
  }
  if (!is_one_of(expr.text, {"constant", "splat", "is_zero", "is_one"})) return true;
  const bool number = expr.text == "is_zero" || expr.text == "is_one";
  return std::ranges::all_of(expr.args, [&](const ExprPtr& arg) {
    if (!state("constant", *arg, true) || (expr.text != "constant" && !state("splat", *arg, true))) return false;
    if (!number) return true;
    const double value = expr.text == "is_one" ? 1 : 0;
    const std::string key = "value(" + text_of(*arg) + ")";
    return numbers_.add(key, kZero, {value}) && numbers_.add(kZero, key, {-value});
  });
}

bool Conditions::predicate(const Expr& expr, bool holds) {
  if (!implications(expr, holds)) return false;
  if (!is_call(expr, "is_float", 1) && !is_call(expr, "is_integer", 1)) return true;
  const DTypeSet set = dtypes_where(expr.text == "is_float" ? ops::is_float : ops::is_integer);
  if (const auto constant = dtype_constant(*expr.args[0])) return (*constant & set).any() == holds;
  return narrow("dtype(" + text_of(*expr.args[0]) + ")", holds ? set : ~set);
}

bool Conditions::membership(const Expr& item, const Expr& list, bool holds) {
  if (list.kind != Kind::kList) return true;
  if (!holds) {
    return std::all_of(list.args.begin(), list.args.end(),
                       [&](const ExprPtr& other) { return comparison("!=", item, *other); }) &&
           widths_fit() && unequal_still();
  }
  DTypeSet dtypes;
  bool possible = false;
  Interval range{std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()};
  for (const ExprPtr& other : list.args) {
    Conditions branch = *this;
    if (!branch.comparison("==", item, *other) || !branch.widths_fit() || !branch.unequal_still()) continue;
    possible = true;
    const auto set = branch.dtypes_.find(branch.root(text_of(item)));
    dtypes |= set == branch.dtypes_.end() ? ~DTypeSet() : set->second;
    const Interval left = branch.numbers_.between(text_of(item), kZero);
    range = {std::min(range.low, left.low), std::max(range.high, left.high)};
  }
  if (!possible) return false;
  numbers_.add(text_of(item), kZero, {range.high});
  numbers_.add(kZero, text_of(item), {-range.low});
  return !is_call(item, "dtype", 1) || narrow(text_of(item), dtypes);
}

bool Conditions::comparison(const std::string& op, const Expr& left, const Expr& right) {
  const Expr a = single(left), b = single(right);
  if (text_of(a) == text_of(b)) return op == "==" || op == "<=" || op == ">=";
  if (const auto fits = dtype_test(op, a, b)) return *fits;
  if (const auto fits = dtype_test(turned(op), b, a)) return *fits;
  const bool ordered = op != "==" && op != "!=";
  const auto x = linear(a), y = linear(b);
  if (!x || !y || !(ordered || x->number || y->number)) return ordered || equality(left, right, op == "==");
  Linear difference = *x, negative;  // a - b and b - a
  difference.whole = x->whole && y->whole;
  difference.constant -= y->constant;
  for (const auto& [key, factor] : y->terms) difference.terms[key] -= factor;
  std::erase_if(difference.terms, [](const auto& term) { return term.second == 0; });
  negative = difference;
  negative.constant = -difference.constant;
  for (auto& [key, factor] : negative.terms) factor = -factor;
  if (op == "==") return order(difference, false) && order(negative, false);
  if (op == "!=") {
    not_zero_.push_back(difference);
    return true;
  }
  return op == "<" || op == "<=" ? order(difference, op == "<") : order(negative, op == ">");
}

/// `dtype(x)` or `bits(x)` against a constant, as a set of dtypes; nothing for other comparisons.
std::optional<bool> Conditions::dtype_test(const std::string& op, const Expr& a, const Expr& b) {
  if (const auto set = dtype_constant(b); set && (op == "==" || op == "!=")) {
    if (const auto other = dtype_constant(a)) return (*set == *other) == (op == "==");
    return narrow(text_of(a), op == "==" ? *set : ~*set);
  }
  if (!is_call(a, "bits", 1) || b.kind != Kind::kInt) return std::nullopt;
  const auto fits = [&](ops::DType dtype) {
    return holds_between(ops::bit_width(dtype), op, static_cast<double>(b.integer));
  };
  return narrow("dtype(" + text_of(*a.args[0]) + ")", dtypes_where(fits));
}

std::string Conditions::root(const std::string& text) const {
  std::string at = text;
  for (auto next = equal_.find(at); next != equal_.end(); next = equal_.find(at)) at = next->second;
  return at;
}

bool Conditions::narrow(const std::string& tensor, const DTypeSet& set) {
  const auto [at, fresh] = dtypes_.emplace(root(tensor), set);
  if (!fresh) at->second &= set;
  return at->second.any();
}

bool Conditions::unite(const std::string& a, const std::string& b) {
  const std::string from = root(a), to = root(b);
  if (from == to) return true;
  equal_[from] = to;
  if (const auto set = dtypes_.extract(from); !set.empty() && !narrow(to, set.mapped())) return false;
  if (const auto constant = constants_.extract(from); !constant.empty()) {
    if (constants_.emplace(to, constant.mapped()).first->second != constant.mapped()) return false;
  }
  return true;
}

/// Of dtypes, lists and texts.
bool Conditions::equality(const Expr& a, const Expr& b, bool equal) {
  const std::string x = text_of(a), y = text_of(b);
  if (is_constant(a) && is_constant(b)) return (x == y) == equal;
  for (const auto& [expr, text] : {std::pair(&a, &x), std::pair(&b, &y)}) {
    if (is_constant(*expr)) constants_.emplace(root(*text), *text);
  }
  if (equal && !unite(x, y)) return false;
  if (!equal) different_.emplace_back(x, y);
  return std::none_of(different_.begin(), different_.end(), [&](const auto& pair) {
    const std::string left = root(pair.first), right = root(pair.second);
    if (left == right) return true;
    const auto one = dtypes_.find(left), other = dtypes_.find(right);
    return one != dtypes_.end() && other != dtypes_.end() && one->second.count() == 1 && one->second == other->second;
  });
}

// --- Numbers -----------------------------------------------------------------------------------------------

/// The sum that an expression is, or nothing where it may be no number.
std::optional<Linear> Conditions::linear(const Expr& expr) {
  Linear out;
  if (expr.kind == Kind::kInt || expr.kind == Kind::kFloat) {
    out.constant = expr.kind == Kind::kInt ? static_cast<double>(expr.integer) : expr.number;
    out.whole = out.constant == std::floor(out.constant);
    out.number = true;
    return out;
  }
  const bool sum = expr.kind == Kind::kBinary && (expr.text == "+" || expr.text == "-");
  const bool product = expr.kind == Kind::kBinary && expr.text == "*";
  const bool sign = expr.kind == Kind::kUnary && expr.text == "-";
  if (!sum && !product && !sign) return leaf(expr, out) ? std::optional(out) : std::nullopt;
  const auto a = linear(*expr.args[0]);
  const auto b = sign ? std::optional(Linear()) : linear(*expr.args[1]);
  if (!a || !b) return std::nullopt;
  out.whole = a->whole && b->whole;
  out.number = a->number || b->number || sign;
  double left = sign ? -1 : 1, right = expr.text == "-" ? -1 : 1;
  if (product) {
    if (!a->terms.empty() && !b->terms.empty()) {
      leaf(expr, out);
      return out;
    }
    left = b->terms.empty() ? b->constant : 0;
    right = b->terms.empty() ? 0 : a->constant;
  }
  out.constant = left * a->constant + right * b->constant;
  for (const auto& [key, factor] : a->terms) out.terms[key] += left * factor;
  for (const auto& [key, factor] : b->terms) out.terms[key] += right * factor;
  std::erase_if(out.terms, [](const auto& term) { return term.second == 0; });
  return out;
}

/// One number by its text, with what is known of all numbers of its kind.
bool Conditions::leaf(const Expr& expr, Linear& out) {
  const bool name = expr.kind == Kind::kName && !ops::dtype_from_name(expr.text);
  const bool arithmetic = expr.kind == Kind::kBinary && is_one_of(expr.text, {"*", "/", "//", "%", "**"});
  if (!name && !arithmetic && expr.kind != Kind::kIndex && !gives_number(expr)) return false;
  const std::string key = text_of(expr);
  out.terms[key] = 1;
  out.whole = is_count(expr) || facts_.whole.contains(key);
  out.number = out.number || gives_number(expr) || facts_.whole.contains(key) || facts_.numbers.contains(key);
  if (seen_.insert(key).second) {
    if (is_count(expr)) numbers_.add(kZero, key, {0});
    const bool element =
        expr.kind == Kind::kIndex || ((expr.text == "min" || expr.text == "max") && expr.args.size() == 1);
    const auto list = element ? facts_.elements.find(text_of(*expr.args[0])) : facts_.elements.end();
    if (list != facts_.elements.end()) {
      numbers_.add(kZero, key, {-list->second.least});
      if (!list->second.below.empty()) numbers_.add(key, list->second.below, {-1});
    }
  }
  return true;
}

/// A sum that is `factor * (a - b) + constant`, the factor positive, as that; nothing for other sums.
std::optional<Conditions::Distance> Conditions::distance(const Linear& sum) {
  if (sum.terms.empty() || sum.terms.size() > 2) return std::nullopt;
  const auto& [first, factor] = *sum.terms.begin();
  const auto& [last, other] = *sum.terms.rbegin();
  if (sum.terms.size() == 2 && factor != -other) return std::nullopt;
  const std::string& second = sum.terms.size() == 2 ? last : kZero;
  return factor > 0 ? Distance{first, second, -sum.constant / factor} : Distance{second, first, sum.constant / factor};
}

/// Adds that a sum is zero at most, or less than zero.
bool Conditions::order(const Linear& sum, bool strict) {
  if (const auto distance = this->distance(sum)) {
    const double zero = distance->zero;
    // Of whole numbers, a < b is a <= b - 1.
    if (sum.whole) return numbers_.add(distance->a, distance->b, {strict ? std::ceil(zero) - 1 : std::floor(zero)});
    return numbers_.add(distance->a, distance->b, {zero, strict});
  }
  double least = sum.constant;
  for (const auto& [key, factor] : sum.terms) {
    const Interval range = numbers_.between(key, kZero);
    least += factor * (factor > 0 ? range.low : range.high);
  }
  return !(least > 0 || (least == 0 && strict));
}

/// Whether no sum that must not be zero is; a whole number next to what it must not be is moved away from it.
bool Conditions::unequal_still() {
  for (bool changed = true; changed;) {
    changed = false;
    for (const Linear& sum : not_zero_) {
      if (sum.terms.empty() && sum.constant == 0) return false;
      const auto distance = this->distance(sum);
      if (!distance) continue;
      const auto& [a, b, zero] = *distance;
      const Interval range = numbers_.between(a, b);
      if (range.low == zero && range.high == zero) return false;
      if (!sum.whole || (range.low != zero && range.high != zero)) continue;
      if (!(range.low == zero ? numbers_.add(b, a, {-zero - 1}) : numbers_.add(a, b, {zero - 1}))) return false;
      changed = true;
    }
  }
  return true;
}

/// Brings the dtypes of tensors and what is known of their widths together.
bool Conditions::widths_fit() {
  for (const std::string& key : seen_) {
    if (!key.starts_with("bits(")) continue;
    const Interval width = numbers_.between(key, kZero);
    const auto fits = [&](ops::DType dtype) {
      return ops::bit_width(dtype) >= width.low && ops::bit_width(dtype) <= width.high;
    };
    const std::string tensor = "dtype" + key.substr(4);
    if (!narrow(tensor, dtypes_where(fits))) return false;
    double least = std::numeric_limits<double>::infinity(), most = 0;
    for (std::size_t i = 0; i < kDTypeCount; ++i) {
      if (!dtypes_.at(root(tensor)).test(i)) continue;
      const double bits = ops::bit_width(static_cast<ops::DType>(i));
      least = std::min(least, bits);
      most = std::max(most, bits);
    }
    if (!numbers_.add(key, kZero, {most}) || !numbers_.add(kZero, key, {-least})) return false;
  }
  return true;
}

}  // namespace fusewright::rule
