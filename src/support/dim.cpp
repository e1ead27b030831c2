#include "fusewright/support/dim.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <set>
#include <utility>

#include "fusewright/support/check.hpp"
#include "fusewright/support/ids.hpp"

namespace fusewright {
namespace {

constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

// Larger polynomials come only from nonsense: squaring again and again must not fill the memory.
constexpr std::size_t kMostFactors = 16;
constexpr std::size_t kMostTerms = 256;
constexpr std::size_t kLongestName = 4096;

// Out of range, the nearest number that is in range: checks of sizes refuse it then.
std::int64_t saturated_add(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return a < 0 ? kLeast : kMost;
}
std::int64_t saturated_mul(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (!__builtin_mul_overflow(a, b, &product)) return product;
  return (a < 0) != (b < 0) ? kLeast : kMost;
}

std::int64_t floored(std::int64_t a, std::int64_t b) {
  if (b == -1) return a == kLeast ? kMost : -a;
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

}  // namespace

struct Dim::Polynomial {
  Terms terms;
  // The symbols that stand for an operation on other dims, by their text.
  struct Operation {
    bool division;
    Dim a, b;
  };
  std::map<std::string, Operation> operations;
};

Dim Dim::symbol(const std::string& name) { return make({{{{name}, 1}}, {}}); }

Dim Dim::make(Polynomial polynomial) {
  Terms& terms = polynomial.terms;
  std::erase_if(terms, [](const auto& term) { return term.second == 0; });
  if (terms.empty()) return Dim(0);
  if (terms.size() == 1 && terms.begin()->first.empty()) return Dim(terms.begin()->second);
  std::set<std::string> used;
  for (const auto& term : terms) used.insert(term.first.begin(), term.first.end());
  std::erase_if(polynomial.operations, [&](const auto& entry) { return !used.contains(entry.first); });
  Dim dim;
  dim.polynomial_ = std::make_shared<const Polynomial>(std::move(polynomial));
  return dim;
}

Dim Dim::opaque(const char* function, const Dim& a, const Dim& b) {
  const std::string name = std::string(function) + "(" + a.to_string() + ", " + b.to_string() + ")";
  if (name.size() > kLongestName) {
    std::uint64_t seed = 0;
    for (const char c : name) seed = hash_mix(seed, static_cast<unsigned char>(c));
    return symbol(std::string(function) + "#" + std::to_string(seed));  // nothing can be bound in it
  }
  Polynomial polynomial{{{{name}, 1}}, {}};
  polynomial.operations.emplace(name, Polynomial::Operation{function == std::string("floordiv"), a, b});
  return make(std::move(polynomial));
}

Dim::Polynomial Dim::polynomial() const {
  if (polynomial_) return *polynomial_;
  if (constant_ == 0) return {};
  return {{{Monomial(), constant_}}, {}};
}

std::int64_t Dim::value() const {
  FW_CHECK(is_constant()) << "dim " << to_string() << " is not bound";
  return constant_;
}

std::optional<std::int64_t> Dim::constant() const {
  if (polynomial_) return std::nullopt;
  return constant_;
}

Dim Dim::substitute(const std::map<std::string, std::int64_t>& bindings) const {
  if (!polynomial_) return *this;
  std::map<std::string, Dim> values;
  for (const auto& [name, operation] : polynomial_->operations) {
    const Dim a = operation.a.substitute(bindings), b = operation.b.substitute(bindings);
    values.emplace(name, operation.division ? floor_div(a, b) : a * b);
  }
  Dim sum(0);
  for (const auto& [names, coefficient] : polynomial_->terms) {
    Dim product(coefficient);
    for (const std::string& name : names) {
      const auto bound = bindings.find(name);
      const auto computed = values.find(name);
      product = product * (bound != bindings.end()    ? Dim(bound->second)
                           : computed != values.end() ? computed->second
                                                      : symbol(name));
    }
    sum = sum + product;
  }
  return sum;
}

std::vector<std::string> Dim::symbols() const {
  std::set<std::string> names;
  if (polynomial_) {
    for (const auto& term : polynomial_->terms)
      for (const std::string& name : term.first) {
        const auto operation = polynomial_->operations.find(name);
        if (operation == polynomial_->operations.end()) {
          names.insert(name);
          continue;
        }
        for (const Dim* inner : {&operation->second.a, &operation->second.b})
          for (const std::string& symbol : inner->symbols()) names.insert(symbol);
      }
  }
  return {names.begin(), names.end()};
}

std::string Dim::to_string() const {
  if (!polynomial_) return std::to_string(constant_);
  std::string out;
  for (auto it = polynomial_->terms.rbegin(); it != polynomial_->terms.rend(); ++it) {
    const auto& [names, coefficient] = *it;
    // The first term carries its sign, the others have it in front of them: "2*n - 1".
    const bool minus = coefficient < 0 && !out.empty() && coefficient != kLeast;
    const std::int64_t shown = minus ? -coefficient : coefficient;
    std::string term = std::to_string(shown);
    if (!names.empty() && (shown == 1 || shown == -1)) term = shown < 0 ? "-" : "";
    for (const std::string& name : names) term += (term.empty() || term == "-" ? "" : "*") + name;
    out += (out.empty() ? "" : minus ? " - " : " + ") + term;
  }
  return out;
}

Dim operator+(const Dim& a, const Dim& b) {
  if (a.is_constant() && b.is_constant()) return Dim(saturated_add(a.constant_, b.constant_));
  Dim::Polynomial sum = a.polynomial();
  const Dim::Polynomial right = b.polynomial();
  for (const auto& [names, coefficient] : right.terms) {
    std::int64_t& total = sum.terms[names];
    total = saturated_add(total, coefficient);
  }
  sum.operations.insert(right.operations.begin(), right.operations.end());
  return Dim::make(std::move(sum));
}

Dim operator-(const Dim& a, const Dim& b) { return a + b * Dim(-1); }

Dim operator*(const Dim& a, const Dim& b) {
  if (a.is_constant() && b.is_constant()) return Dim(saturated_mul(a.constant_, b.constant_));
  const Dim::Polynomial left = a.polynomial(), right = b.polynomial();
  if (left.terms.size() * right.terms.size() > kMostTerms) return Dim::opaque("mul", a, b);
  Dim::Polynomial product;
  for (const auto& [left_names, x] : left.terms)
    for (const auto& [right_names, y] : right.terms) {
      if (left_names.size() + right_names.size() > kMostFactors) return Dim::opaque("mul", a, b);
      Dim::Monomial names;
      std::merge(left_names.begin(), left_names.end(), right_names.begin(), right_names.end(),
                 std::back_inserter(names));
      std::int64_t& total = product.terms[names];
      total = saturated_add(total, saturated_mul(x, y));
    }
  product.operations = left.operations;
  product.operations.insert(right.operations.begin(), right.operations.end());
  return Dim::make(std::move(product));
}

Dim floor_div(const Dim& a, const Dim& b) {
  if (a.is_constant() && b.is_constant() && b.constant_ != 0) return Dim(floored(a.constant_, b.constant_));
  if (a == b) return Dim(1);
  Dim::Polynomial quotient = a.polynomial();
  const Dim::Polynomial divisor = b.polynomial();
  if (divisor.terms.size() != 1) return Dim::opaque("floordiv", a, b);
  // Exact where the one monomial divides every term.
  const auto& [factors, coefficient] = *divisor.terms.begin();
  Dim::Terms terms;
  for (const auto& [names, c] : quotient.terms) {
    if (coefficient == -1 || c % coefficient != 0 ||
        !std::includes(names.begin(), names.end(), factors.begin(), factors.end()))
      return Dim::opaque("floordiv", a, b);
    Dim::Monomial rest;
    std::set_difference(names.begin(), names.end(), factors.begin(), factors.end(), std::back_inserter(rest));
    terms[rest] = c / coefficient;
  }
  quotient.terms = std::move(terms);
  return Dim::make(std::move(quotient));
}

bool operator==(const Dim& a, const Dim& b) {
  if (a.is_constant() || b.is_constant()) return a.is_constant() && b.is_constant() && a.constant_ == b.constant_;
  return a.polynomial_ == b.polynomial_ || a.polynomial_->terms == b.polynomial_->terms;
}

std::uint64_t Dim::hash() const {
  if (!polynomial_) return hash_mix(1, static_cast<std::uint64_t>(constant_));
  std::uint64_t seed = 2;
  for (const char c : to_string()) seed = hash_mix(seed, static_cast<unsigned char>(c));
  return seed;
}

}  // namespace fusewright
