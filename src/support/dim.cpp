#include "fusewright/support/dim.hpp"

#include <algorithm>
#include <functional>
#include <set>

#include "fusewright/support/check.hpp"
#include "fusewright/support/ids.hpp"

namespace fusewright {

Dim Dim::symbol(const std::string& name) { return from_terms({{{name}, 1}}); }

Dim Dim::from_terms(Terms terms) {
  std::erase_if(terms, [](const auto& term) { return term.second == 0; });
  if (terms.empty()) return Dim(0);
  if (terms.size() == 1 && terms.begin()->first.empty()) return Dim(terms.begin()->second);
  Dim dim;
  dim.terms_ = std::make_shared<const Terms>(std::move(terms));
  return dim;
}

Dim::Terms Dim::terms() const {
  if (terms_) return *terms_;
  return constant_ == 0 ? Terms{} : Terms{{{}, constant_}};
}

std::int64_t Dim::value() const {
  FW_CHECK(is_constant()) << "dim " << to_string() << " is not bound";
  return constant_;
}

std::optional<std::int64_t> Dim::constant() const {
  if (terms_) return std::nullopt;
  return constant_;
}

Dim Dim::substitute(const std::map<std::string, std::int64_t>& bindings) const {
  if (!terms_) return *this;
  Dim sum(0);
  for (const auto& [names, coefficient] : *terms_) {
    Dim product(coefficient);
    for (const std::string& name : names) {
      const auto bound = bindings.find(name);
      product = product * (bound == bindings.end() ? symbol(name) : Dim(bound->second));
    }
    sum = sum + product;
  }
  return sum;
}

std::vector<std::string> Dim::symbols() const {
  std::set<std::string> names;
  if (terms_)
    for (const auto& term : *terms_) names.insert(term.first.begin(), term.first.end());
  return {names.begin(), names.end()};
}

std::string Dim::to_string() const {
  if (!terms_) return std::to_string(constant_);
  std::string out;
  for (auto it = terms_->rbegin(); it != terms_->rend(); ++it) {
    const auto& [names, coefficient] = *it;
    std::string term = coefficient == 1 && !names.empty() ? "" : std::to_string(coefficient);
    for (const std::string& name : names) term += (term.empty() ? "" : "*") + name;
    out += (out.empty() ? "" : " + ") + term;
  }
  return out;
}

Dim operator+(const Dim& a, const Dim& b) {
  if (a.is_constant() && b.is_constant()) return Dim(a.constant_ + b.constant_);
  Dim::Terms sum = a.terms();
  for (const auto& [names, coefficient] : b.terms()) sum[names] += coefficient;
  return Dim::from_terms(std::move(sum));
}

Dim operator-(const Dim& a, const Dim& b) { return a + b * Dim(-1); }

Dim operator*(const Dim& a, const Dim& b) {
  if (a.is_constant() && b.is_constant()) return Dim(a.constant_ * b.constant_);
  Dim::Terms product;
  for (const auto& [left, x] : a.terms())
    for (const auto& [right, y] : b.terms()) {
      std::vector<std::string> names = left;
      names.insert(names.end(), right.begin(), right.end());
      std::sort(names.begin(), names.end());
      product[names] += x * y;
    }
  return Dim::from_terms(std::move(product));
}

Dim floor_div(const Dim& a, const Dim& b) {
  if (b.is_constant() && b.constant_ > 0) {
    const std::int64_t d = b.constant_;
    if (a.is_constant()) return Dim(a.constant_ / d - (a.constant_ % d < 0 ? 1 : 0));
    Dim::Terms terms = a.terms();
    if (std::all_of(terms.begin(), terms.end(), [d](const auto& t) { return t.second % d == 0; })) {
      for (auto& term : terms) term.second /= d;
      return Dim::from_terms(std::move(terms));
    }
  }
  if (a == b) return Dim(1);
  return Dim::symbol("floordiv(" + a.to_string() + ", " + b.to_string() + ")");
}

bool operator==(const Dim& a, const Dim& b) {
  if (a.is_constant() || b.is_constant()) return a.is_constant() && b.is_constant() && a.constant_ == b.constant_;
  return *a.terms_ == *b.terms_;
}

std::uint64_t Dim::hash() const {
  if (!terms_) return hash_mix(1, static_cast<std::uint64_t>(constant_));
  std::uint64_t seed = 2;
  for (const char c : to_string()) seed = hash_mix(seed, static_cast<unsigned char>(c));
  return seed;
}

}  // namespace fusewright
