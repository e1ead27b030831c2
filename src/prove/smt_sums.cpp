#include "src/prove/smt_sums.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>

namespace fusewright::prove {

namespace {

constexpr std::size_t kMostProducts = 64;  // that a body is multiplied out to; a longer one stays as it is

using Visit = std::function<bool(const z3::expr&)>;

/// Every subterm once, outermost first, until `visit` says yes.
bool any_subterm(const z3::expr& e, const Visit& visit) {
  std::vector<z3::expr> work = {e};
  std::set<unsigned> seen;
  while (!work.empty()) {
    const z3::expr here = work.back();
    work.pop_back();
    if (!seen.insert(here.id()).second) continue;
    if (visit(here)) return true;
    for (unsigned i = here.is_app() ? here.num_args() : 0; i-- > 0;) work.push_back(here.arg(i));
  }
  return false;
}

bool is(const z3::expr& e, Z3_decl_kind kind) { return e.is_app() && e.decl().decl_kind() == kind; }

}  // namespace

bool contains(const z3::expr& e, const z3::expr& what) {
  return any_subterm(e, [&](const z3::expr& s) { return z3::eq(s, what); });
}

/// Multiplied out, what stands there twice once; recursion as deep as the body's text.
std::vector<Sums::Product> Sums::products(const z3::expr& e, Known& known) const {
  if (const auto at = known.find(e.id()); at != known.end()) return at->second;
  std::vector<Product> out = products_of(e, known);
  known.emplace(e.id(), out);
  return out;
}

std::vector<Sums::Product> Sums::products_of(const z3::expr& e, Known& known) const {
  const auto negated = [&](std::vector<Product> all) {
    for (Product& p : all) p.push_back(c_.real_val(-1));
    return all;
  };
  if (is(e, Z3_OP_ADD) || is(e, Z3_OP_SUB)) {
    std::vector<Product> out;
    for (unsigned i = 0; i < e.num_args(); ++i) {
      std::vector<Product> part = products(e.arg(i), known);
      if (i > 0 && is(e, Z3_OP_SUB)) part = negated(std::move(part));
      out.insert(out.end(), part.begin(), part.end());
    }
    if (out.size() <= kMostProducts) return out;
    return {{e}};
  }
  if (is(e, Z3_OP_UMINUS)) return negated(products(e.arg(0), known));
  if (is(e, Z3_OP_DIV)) {
    std::vector<Product> out = products(e.arg(0), known);
    for (Product& p : out) p.push_back(c_.real_val(1) / e.arg(1));
    return out;
  }
  if (!is(e, Z3_OP_MUL)) return {{e}};
  std::vector<Product> out(1);
  for (unsigned i = 0; i < e.num_args(); ++i) {
    const std::vector<Product> right = products(e.arg(i), known);
    if (out.size() * right.size() > kMostProducts) return {{e}};
    std::vector<Product> longer;
    for (const Product& a : out)
      for (const Product& b : right) {
        longer.push_back(a);
        longer.back().insert(longer.back().end(), b.begin(), b.end());
      }
    out = std::move(longer);
  }
  return out;
}

z3::expr Sums::multiplied(const Product& factors) const {
  z3::expr out = c_.real_val(1);
  for (const z3::expr& f : factors) out = out * f;
  return out;
}

z3::expr Sums::sum(const std::vector<Index>& over, const z3::expr& body) {
  z3::expr total = c_.real_val(0);
  const z3::expr simple = body.simplify();
  Known known;
  for (Product& product : products(simple, known)) total = total + of_product(over, std::move(product));
  return total;
}

/// What depends on an index stays inside; an inner sum that does is joined with this one.
z3::expr Sums::of_product(std::vector<Index> over, Product factors) {
  const auto depends = [&](const z3::expr& e) {
    return std::ranges::any_of(over, [&](const Index& i) { return contains(e, i.variable); });
  };
  for (std::size_t i = 0; i < factors.size(); ++i) {
    const auto inner = made_.find(factors[i].id());
    if (inner == made_.end() || !depends(factors[i])) continue;
    // Its indices are free of this sum's: levels differ, and two inner ones of a product are not joined.
    const Made made = inner->second;
    factors.erase(factors.begin() + static_cast<std::ptrdiff_t>(i));
    factors.insert(factors.end(), made.inside.begin(), made.inside.end());
    over.insert(over.end(), made.over.begin(), made.over.end());
    break;
  }
  Product inside, outside;
  for (const z3::expr& f : factors) (depends(f) ? inside : outside).push_back(f);
  std::vector<Index> used;
  for (const Index& i : over) {
    if (std::ranges::any_of(inside, [&](const z3::expr& f) { return contains(f, i.variable); }))
      used.push_back(i);
    else
      outside.push_back(z3::to_real(i.extent));
  }
  if (!used.empty()) outside.push_back(canonical(used, inside));
  return multiplied(outside);
}

unsigned Sums::level_of(const z3::expr& e) const {
  unsigned level = 0;
  any_subterm(e, [&](const z3::expr& s) {
    if (const auto at = made_.find(s.id()); at != made_.end()) level = std::max(level, at->second.level);
    return false;
  });
  return level;
}

z3::expr Sums::fresh(unsigned level, std::size_t i, const z3::expr& extent) {
  const std::string name = fmt::format("b{}_{}:{}", level, i, extent.to_string());
  const z3::expr variable = c_.int_const(name.c_str());
  if (bounded_.emplace(name, true).second) {
    assumptions_.push_back(variable >= 0);
    assumptions_.push_back(variable < extent);
  }
  return variable;
}

/// Indices in the order in which the body names them, by names that depend on nothing else.
z3::expr Sums::canonical(const std::vector<Index>& over, const Product& inside) {
  const z3::expr body = multiplied(inside).simplify();
  std::vector<Index> order;
  any_subterm(body, [&](const z3::expr& s) {
    const auto at = std::ranges::find_if(over, [&](const Index& i) { return z3::eq(i.variable, s); });
    if (at != over.end()) order.push_back(*at);
    return order.size() == over.size();
  });
  const unsigned level = level_of(body) + 1;
  z3::expr_vector from(c_), to(c_);
  Made made{{}, {}, level};
  for (std::size_t i = 0; i < order.size(); ++i) {
    const z3::expr variable = fresh(level, i, order[i].extent);
    from.push_back(order[i].variable);
    to.push_back(variable);
    made.over.push_back({variable, order[i].extent});
  }
  for (z3::expr f : inside) made.inside.push_back(f.substitute(from, to));
  z3::sort_vector domain(c_);
  z3::expr_vector arguments(c_);
  for (const Index& i : made.over) {
    domain.push_back(c_.int_sort());
    arguments.push_back(i.extent);
  }
  z3::expr renamed = body;
  renamed = renamed.substitute(from, to);
  domain.push_back(c_.real_sort());
  arguments.push_back(renamed.simplify());
  const z3::expr term = c_.function(fmt::format("sum{}", made.over.size()).c_str(), domain, c_.real_sort())(arguments);
  keep_.push_back(term);
  made_.emplace(term.id(), std::move(made));
  return term;
}

}  // namespace fusewright::prove
