#include <algorithm>
#include <limits>

#include "fusewright/region/index_map.hpp"
#include "fusewright/support/check.hpp"

namespace fusewright::region {

using Kind = IndexNode::Kind;

namespace {
IndexExpr make(Kind kind, std::int64_t value, IndexExpr a = nullptr, IndexExpr b = nullptr) {
  return std::make_shared<const IndexNode>(IndexNode{kind, value, std::move(a), std::move(b)});
}
bool is_constant(const IndexExpr& e) { return e->kind == Kind::kConstant; }
std::int64_t floor_division(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }
}  // namespace

IndexExpr index_constant(std::int64_t value) { return make(Kind::kConstant, value); }
IndexExpr index_dim(std::int64_t dim) { return make(Kind::kDim, dim); }
IndexExpr index_runtime(std::int64_t variable) { return make(Kind::kRuntime, variable); }

IndexExpr operator+(const IndexExpr& a, const IndexExpr& b) {
  if (is_constant(a) && is_constant(b)) return index_constant(a->value + b->value);
  if (is_constant(a) && a->value == 0) return b;
  if (is_constant(b) && b->value == 0) return a;
  return make(Kind::kAdd, 0, a, b);
}

IndexExpr operator*(const IndexExpr& a, std::int64_t factor) {
  if (is_constant(a)) return index_constant(a->value * factor);
  if (factor == 0) return index_constant(0);
  if (factor == 1) return a;
  return make(Kind::kMul, factor, a);
}

IndexExpr floor_div(const IndexExpr& a, std::int64_t divisor) {
  FW_CHECK(divisor > 0);
  if (is_constant(a)) return index_constant(floor_division(a->value, divisor));
  return divisor == 1 ? a : make(Kind::kFloorDiv, divisor, a);
}

IndexExpr floor_mod(const IndexExpr& a, std::int64_t divisor) {
  FW_CHECK(divisor > 0);
  if (is_constant(a)) return index_constant(a->value - divisor * floor_division(a->value, divisor));
  return divisor == 1 ? index_constant(0) : make(Kind::kMod, divisor, a);
}

IndexExpr clamp(const IndexExpr& a, std::int64_t high) {
  if (is_constant(a)) return index_constant(std::clamp<std::int64_t>(a->value, 0, high));
  return make(Kind::kClamp, high, a);
}

std::string to_string(const IndexExpr& e) {
  switch (e->kind) {
    case Kind::kConstant: return std::to_string(e->value);
    case Kind::kDim: return "d" + std::to_string(e->value);
    case Kind::kRuntime: return "r" + std::to_string(e->value);
    case Kind::kAdd: return "(" + to_string(e->a) + " + " + to_string(e->b) + ")";
    case Kind::kMul: return to_string(e->a) + "*" + std::to_string(e->value);
    case Kind::kFloorDiv: return "(" + to_string(e->a) + " // " + std::to_string(e->value) + ")";
    case Kind::kMod: return "(" + to_string(e->a) + " % " + std::to_string(e->value) + ")";
    case Kind::kClamp: return "clamp(" + to_string(e->a) + ", " + std::to_string(e->value) + ")";
  }
  return {};
}

Range range_of(const IndexExpr& e, const IndexMap& map) {
  switch (e->kind) {
    case Kind::kConstant: return {e->value, e->value};
    case Kind::kDim: return {0, std::max<std::int64_t>(0, map.domain[static_cast<std::size_t>(e->value)] - 1)};
    case Kind::kRuntime: return map.runtime[static_cast<std::size_t>(e->value)].range;
    case Kind::kAdd: {
      const Range a = range_of(e->a, map), b = range_of(e->b, map);
      return {a.low + b.low, a.high + b.high};
    }
    case Kind::kMul: {
      const Range a = range_of(e->a, map);
      return e->value >= 0 ? Range{a.low * e->value, a.high * e->value} : Range{a.high * e->value, a.low * e->value};
    }
    case Kind::kFloorDiv: {
      const Range a = range_of(e->a, map);
      return {floor_division(a.low, e->value), floor_division(a.high, e->value)};
    }
    case Kind::kMod: {
      const Range a = range_of(e->a, map);
      const std::int64_t low = floor_division(a.low, e->value), high = floor_division(a.high, e->value);
      if (low == high) return {a.low - low * e->value, a.high - low * e->value};
      return {0, e->value - 1};
    }
    case Kind::kClamp: {
      const Range a = range_of(e->a, map);
      return {std::clamp<std::int64_t>(a.low, 0, e->value), std::clamp<std::int64_t>(a.high, 0, e->value)};
    }
  }
  return {};
}

std::strong_ordering compare(const IndexExpr& a, const IndexExpr& b) {
  if (a == b) return std::strong_ordering::equal;
  if (const auto by_kind = a->kind <=> b->kind; by_kind != 0) return by_kind;
  if (const auto by_value = a->value <=> b->value; by_value != 0) return by_value;
  if (!a->a) return std::strong_ordering::equal;  // dims, constants, runtime variables
  const auto first = compare(a->a, b->a);
  return first != 0 || !a->b ? first : compare(a->b, b->b);
}

namespace {

// A sum of atoms (dims, runtime variables, divisions, remainders, clamps) with coefficients, in the order of `compare`:
// equal sums are written alike.
struct Sum {
  struct Term {
    IndexExpr atom;
    std::int64_t coefficient;
  };
  std::vector<Term> terms;
  std::int64_t constant = 0;

  void add(const IndexExpr& atom, std::int64_t coefficient) {
    if (coefficient == 0) return;
    const auto at = std::lower_bound(terms.begin(), terms.end(), atom,
                                     [](const Term& t, const IndexExpr& e) { return compare(t.atom, e) < 0; });
    if (at == terms.end() || compare(at->atom, atom) != 0) {
      terms.insert(at, {atom, coefficient});
    } else if ((at->coefficient += coefficient) == 0) {
      terms.erase(at);
    }
  }
  void add(const Sum& other, std::int64_t factor) {
    for (const Term& t : other.terms) add(t.atom, t.coefficient * factor);
    constant += other.constant * factor;
  }
  IndexExpr expr() const {
    IndexExpr e;
    for (const Term& t : terms) e = e ? e + t.atom * t.coefficient : t.atom * t.coefficient;
    if (!e) return index_constant(constant);
    return e + index_constant(constant);
  }
};

Sum sum_of(const IndexExpr& e, const IndexMap& map);

// floor((divisor * q + rest) / divisor) = q + floor(rest / divisor), and the rest often stays within one step.
Sum divide(const Sum& numerator, std::int64_t divisor, const IndexMap& map) {
  Sum quotient, rest;
  for (const Sum::Term& t : numerator.terms) {
    if (t.coefficient % divisor == 0)
      quotient.add(t.atom, t.coefficient / divisor);
    else
      rest.add(t.atom, t.coefficient);
  }
  quotient.constant = floor_division(numerator.constant, divisor);
  rest.constant = numerator.constant - quotient.constant * divisor;
  const IndexExpr left = rest.expr();
  const Range range = range_of(left, map);
  const std::int64_t low = floor_division(range.low, divisor), high = floor_division(range.high, divisor);
  if (low == high) {
    quotient.constant += low;
  } else if (left->kind == Kind::kFloorDiv) {
    quotient.add(floor_div(left->a, left->value * divisor), 1);
  } else {
    quotient.add(floor_div(left, divisor), 1);
  }
  return quotient;
}

Sum remainder(const Sum& given, std::int64_t divisor, const IndexMap& map) {
  // (k * (g % b) + r) % d = (k * g + r) % d where d divides k*b.
  Sum numerator = given;
  for (const Sum::Term& t : given.terms) {
    if (t.atom->kind != Kind::kMod || t.coefficient * t.atom->value % divisor != 0) continue;
    numerator.add(t.atom, -t.coefficient);
    numerator.add(sum_of(t.atom->a, map), t.coefficient);
  }
  Sum rest, whole;  // coefficients reduced, and as they are: the latter may still recombine with what stands around
  for (const Sum::Term& t : numerator.terms) {
    rest.add(t.atom, t.coefficient % divisor);
    if (t.coefficient % divisor != 0) whole.add(t.atom, t.coefficient);
  }
  rest.constant = whole.constant = numerator.constant - floor_division(numerator.constant, divisor) * divisor;
  const Range range = range_of(rest.expr(), map);
  const std::int64_t low = floor_division(range.low, divisor), high = floor_division(range.high, divisor);
  if (low == high) {
    rest.constant -= low * divisor;
    return rest;
  }
  Sum out;
  out.add(floor_mod(whole.expr(), divisor), 1);
  return out;
}

// Whether the sum holds `factor` times every term of the other.
bool holds(const Sum& sum, const Sum& other, std::int64_t factor) {
  return std::all_of(other.terms.begin(), other.terms.end(), [&](const Sum::Term& o) {
    return std::any_of(sum.terms.begin(), sum.terms.end(), [&](const Sum::Term& s) {
      return s.coefficient == o.coefficient * factor && compare(s.atom, o.atom) == 0;
    });
  });
}

// k * (g % b) + k*b * (g // b) = k * g: what is left when a reshape is undone.
bool recombine(Sum& sum, const IndexMap& map) {
  for (const Sum::Term& t : sum.terms) {
    if (t.atom->kind != Kind::kMod) continue;
    const std::int64_t divisor = t.atom->value, k = t.coefficient;
    const Sum whole = sum_of(t.atom->a, map);
    const Sum quotient = divide(whole, divisor, map);
    if (quotient.terms.empty() || !holds(sum, quotient, k * divisor)) continue;
    const IndexExpr mod = t.atom;
    sum.add(mod, -k);
    sum.add(quotient, -k * divisor);
    sum.add(whole, k);
    return true;
  }
  return false;
}

// m * ((k * (g % b) + r) // d) + m*c * (g // b) = m * ((k * g + r) // d) where k*b = c*d: the same with a division
// between, which is how a reshape that joins and splits axes at once is undone.
bool recombine_quotient(Sum& sum, const IndexMap& map) {
  for (const Sum::Term& t : sum.terms) {
    if (t.atom->kind != Kind::kFloorDiv) continue;
    const std::int64_t d = t.atom->value, m = t.coefficient;
    const Sum inner = sum_of(t.atom->a, map);
    for (const Sum::Term& u : inner.terms) {
      if (u.atom->kind != Kind::kMod || u.coefficient * u.atom->value % d != 0) continue;
      const std::int64_t b = u.atom->value, k = u.coefficient, c = k * b / d;
      const Sum whole = sum_of(u.atom->a, map);
      const Sum quotient = divide(whole, b, map);
      if (quotient.terms.empty() || !holds(sum, quotient, m * c)) continue;
      Sum joined = inner;
      joined.add(u.atom, -k);
      joined.add(whole, k);
      const IndexExpr division = t.atom;
      sum.add(division, -m);
      sum.add(quotient, -m * c);
      sum.add(divide(joined, d, map), m);
      return true;
    }
  }
  return false;
}

Sum sum_of(const IndexExpr& e, const IndexMap& map) {
  Sum sum;
  switch (e->kind) {
    case Kind::kConstant: sum.constant = e->value; break;
    case Kind::kDim:
      if (map.domain[static_cast<std::size_t>(e->value)] > 1) sum.add(e, 1);  // the only index of a unit axis is 0
      break;
    case Kind::kRuntime: sum.add(e, 1); break;
    case Kind::kAdd:
      sum = sum_of(e->a, map);
      sum.add(sum_of(e->b, map), 1);
      break;
    case Kind::kMul: sum.add(sum_of(e->a, map), e->value); break;
    case Kind::kFloorDiv: sum = divide(sum_of(e->a, map), e->value, map); break;
    case Kind::kMod: sum = remainder(sum_of(e->a, map), e->value, map); break;
    case Kind::kClamp: {
      const IndexExpr inner = sum_of(e->a, map).expr();
      const Range range = range_of(inner, map);
      if (range.low >= 0 && range.high <= e->value) return sum_of(inner, map);
      sum.add(clamp(inner, e->value), 1);
      break;
    }
  }
  while (recombine(sum, map) || recombine_quotient(sum, map)) {
  }
  return sum;
}

}  // namespace

IndexExpr simplify(const IndexExpr& expr, const IndexMap& map) {
  if (expr->kind == Kind::kConstant) return expr;
  if (expr->kind == Kind::kDim && map.domain[static_cast<std::size_t>(expr->value)] > 1) return expr;
  return sum_of(expr, map).expr();
}

}  // namespace fusewright::region
