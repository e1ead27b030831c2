#include <algorithm>
#include <cmath>
#include <numeric>

#include "src/rule/lint_conditions.hpp"

// What conditions say of numbers.

namespace fusewright::rule {

using ops::Expr;
using Kind = Expr::Kind;

namespace {

const std::string kZero;
constexpr std::size_t kMostRounds = 4;  // in which bounds of sums narrow one another
constexpr double kExact = 1e12;         // whole numbers below it are exact through all that is done with them

bool is_count(const Expr& expr) {
  return expr.kind == Kind::kCall && is_one_of(expr.text, {"rank", "dim", "len", "size", "bits"});
}
bool gives_number(const Expr& expr) {
  if (expr.kind == Kind::kBinary) return is_one_of(expr.text, {"/", "//", "%", "**"});
  return is_count(expr) ||
         (expr.kind == Kind::kCall && is_one_of(expr.text, {"sum", "prod", "min", "max", "abs", "floor", "ceil",
                                                            "round", "int", "float", "value"}));
}

}  // namespace

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
  const bool product = expr.kind == Kind::kBinary && expr.text == "*";
  if (!name && !product && expr.kind != Kind::kIndex && !gives_number(expr)) return false;
  const std::string key = text_of(expr);
  out.terms[key] = 1;
  out.whole = is_whole(expr);
  out.number = out.number || gives_number(expr) || facts_.whole.contains(key) || facts_.numbers.contains(key);
  if (seen_.emplace(key, std::make_shared<const Expr>(expr)).second) define(expr);
  return true;
}

bool Conditions::is_whole(const Expr& expr) const {
  const auto all = [&] { return std::ranges::all_of(expr.args, [&](const ExprPtr& arg) { return is_whole(*arg); }); };
  if (expr.kind == Kind::kInt || is_count(expr) || facts_.whole.contains(text_of(expr))) return true;
  if (expr.kind == Kind::kIndex) return facts_.elements.contains(text_of(*expr.args[0]));
  if (expr.kind == Kind::kUnary) return expr.text == "-" && all();
  if (expr.kind == Kind::kBinary) return is_one_of(expr.text, {"+", "-", "*", "//", "%"}) && all();
  if (expr.kind != Kind::kCall || !is_one_of(expr.text, {"min", "max", "abs"}) || !expr.named.empty()) return false;
  return expr.args.size() == 1 && expr.text != "abs" ? facts_.elements.contains(text_of(*expr.args[0])) : all();
}

/// What a number is by what it is made of.
void Conditions::define(const Expr& expr) {
  const ExprPtr self = std::make_shared<const Expr>(expr);
  const auto hold = [&](const std::string& op, ExprPtr a, ExprPtr b) {
    open_.emplace_back(binary(op, std::move(a), std::move(b)), true);
  };
  const auto one_of = [&](const ExprPtr& a, const ExprPtr& b) {
    hold("or", binary("==", self, a), binary("==", self, b));
  };
  if (is_count(expr)) hold(">=", self, integer(0));
  const bool least = is_call(expr, "min", 2);
  if (least || is_call(expr, "max", 2)) {
    for (const ExprPtr& arg : expr.args) hold(least ? "<=" : ">=", self, arg);
    one_of(expr.args[0], expr.args[1]);
  }
  if (is_call(expr, "abs", 1)) {
    const ExprPtr negative = binary("-", integer(0), expr.args[0]);
    hold(">=", self, integer(0));
    hold(">=", self, expr.args[0]);
    hold(">=", self, negative);
    one_of(expr.args[0], negative);
  }
  if (is_call(expr, "floor", 1) || is_call(expr, "ceil", 1)) {
    const bool down = expr.text == "floor";
    hold(down ? "<=" : ">=", self, expr.args[0]);
    hold("<", down ? expr.args[0] : self, binary("+", down ? self : expr.args[0], integer(1)));
  }
  const bool divides = expr.kind == Kind::kBinary && (expr.text == "%" || expr.text == "//") && is_whole(expr) &&
                       expr.args[1]->kind == Kind::kInt && expr.args[1]->integer > 0;
  if (divides) {
    const ExprPtr& by = expr.args[1];
    const ExprPtr quotient = binary("//", expr.args[0], by), rest = binary("%", expr.args[0], by);
    hold(">=", rest, integer(0));
    hold("<", rest, by);
    hold("==", expr.args[0], binary("+", binary("*", by, quotient), rest));
  }
  if (is_call(expr, "value", 1)) open_.emplace_back(call("splat", expr.args), true);
  // What has no such element has no answer, and the condition does not hold.
  const bool element = expr.kind == Kind::kIndex || is_call(expr, "dim", 2);
  if (element && expr.args[1]->kind == Kind::kInt) {
    const std::int64_t at = expr.args[1]->integer;
    hold(">=", call(expr.kind == Kind::kIndex ? "len" : "rank", {expr.args[0]}), integer(at < 0 ? -at : at + 1));
  }
  const bool of_extents = expr.kind == Kind::kCall && expr.args.size() == 1 && is_call(*expr.args[0], "shape", 1);
  if (of_extents) hold(">=", self, integer(0));
  if (is_call(expr, "min", 1)) hold("<=", self, call("max", expr.args));
  const bool of_list = expr.kind == Kind::kIndex || is_call(expr, "min", 1) || is_call(expr, "max", 1);
  const auto list = of_list ? facts_.elements.find(text_of(*expr.args[0])) : facts_.elements.end();
  if (list != facts_.elements.end()) {
    numbers_.add(kZero, text_of(expr), {-list->second.least});
    if (!list->second.below.empty()) numbers_.add(text_of(expr), list->second.below, {-1});
  }
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
  bounds_.emplace_back(sum, strict);
  double least = sum.constant;
  for (const auto& [key, factor] : sum.terms) {
    const Interval range = numbers_.between(key, kZero);
    least += factor * (factor > 0 ? range.low : range.high);
  }
  return !(least > 0 || (least == 0 && strict));
}

bool Conditions::numbers_fit() { return bounds_fit() && equations_fit() && widths_fit() && unequal_still(); }

/// Narrows each whole number of a sum by what the others leave for it.
bool Conditions::bounds_fit() {
  for (std::size_t round = 0; round < kMostRounds && !bounds_.empty(); ++round) {
    std::map<std::string, Interval> ranges = numbers_.ranges();
    for (const auto& [sum, strict] : bounds_) {
      const auto least_without = [&, &terms = sum.terms](const std::string& left_out) {
        double least = 0;
        for (const auto& [key, factor] : terms) {
          const Interval range = key == left_out ? Interval{0, 0} : ranges[key];
          least += factor * (factor > 0 ? range.low : range.high);
        }
        return least;
      };
      const double constant = sum.constant + (strict && sum.whole ? 1 : 0), least = constant + least_without(kZero);
      if (least > 0 || (least == 0 && strict && !sum.whole)) return false;
      if (!sum.whole) continue;
      for (const auto& [key, factor] : sum.terms) {
        const double rest = constant + least_without(key);  // factor * key <= -rest
        if (!(std::abs(rest) < kExact)) continue;
        if (!(factor > 0 ? numbers_.add(key, kZero, {std::floor(-rest / factor)})
                         : numbers_.add(kZero, key, {-std::ceil(-rest / factor)})))
          return false;
      }
    }
  }
  return true;
}

/// Whether whole numbers fit all equations: numbers that are multiplied by one are put into the other equations, and
/// what divides all factors of an equation must divide its constant.
bool Conditions::equations_fit() const {
  std::vector<Linear> rows = equations_;
  std::map<std::string, Interval> ranges = rows.empty() ? decltype(numbers_.ranges())() : numbers_.ranges();
  for (Linear& row : rows) {
    for (const auto& [key, factor] : std::map(row.terms)) {
      const Interval range = ranges[key];
      if (range.low != range.high || std::abs(range.low) > kExact) continue;
      row.constant += factor * range.low;
      row.terms.erase(key);
    }
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    Linear row = rows[i];
    double divisor = 0;
    for (const auto& [key, factor] : row.terms) {
      if (factor != std::floor(factor) || std::abs(factor) > kExact || std::abs(row.constant) > kExact) return true;
      divisor = static_cast<double>(
          std::gcd(static_cast<std::int64_t>(divisor), static_cast<std::int64_t>(std::abs(factor))));
    }
    if (row.terms.empty() ? row.constant != 0 : std::fmod(row.constant, divisor) != 0) return false;
    const auto unit = std::ranges::find_if(row.terms, [&](const auto& t) { return std::abs(t.second) == divisor; });
    if (unit == row.terms.end()) continue;
    for (std::size_t j = i + 1; j < rows.size(); ++j) {
      const auto at = rows[j].terms.find(unit->first);
      if (at == rows[j].terms.end()) continue;
      const double times = at->second / unit->second;
      if (times != std::floor(times)) continue;
      for (const auto& [key, factor] : row.terms) rows[j].terms[key] -= times * factor;
      rows[j].constant -= times * row.constant;
      std::erase_if(rows[j].terms, [](const auto& term) { return term.second == 0; });
    }
  }
  return true;
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
  for (const auto& [key, expr] : seen_) {
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
