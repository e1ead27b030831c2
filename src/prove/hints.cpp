#include "src/prove/hints.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <set>

#include "src/prove/early_guards.hpp"

namespace fusewright::prove {

using ops::DType;
using ops::Expr;

namespace {

constexpr std::int64_t kTried = 3, kMostExtent = 64;

/// Calls `visit` with every part, recursion as deep as the rule's text.
void each_part(const Expr& expr, const std::function<void(const Expr&)>& visit) {
  visit(expr);
  for (const auto& arg : expr.args)
    if (arg != nullptr) each_part(*arg, visit);
  for (const auto& [name, value] : expr.named) each_part(*value, visit);
}

/// Calls `visit` with every part of the guards, values and right sides of a rule, and with every attribute that its
/// pattern writes out.
void each_part(const rule::RewriteRule& rule, const std::function<void(const Expr&)>& visit,
               const std::function<void(const ops::AttrValue&)>& attribute) {
  for (const rule::Guard& guard : rule.guards) each_part(*guard.expr, visit);
  for (const rule::RewriteVariant& variant : rule.variants) {
    for (const rule::Step& step : variant.steps)
      if (step.value != nullptr) each_part(*step.value, visit);
    for (const auto& to : variant.to) each_part(*to, visit);
    for (const rule::PatternNode& node : variant.nodes)
      for (const rule::AttrPattern& attr : node.attrs)
        if (attr.value) attribute(*attr.value);
  }
}

}  // namespace

std::vector<DType> dtypes_in(const rule::RewriteRule& rule) {
  std::set<DType> found;
  const auto visit = [&](const Expr& expr) {
    const bool word = expr.kind == Expr::Kind::kName || expr.kind == Expr::Kind::kCall;
    if (const auto dtype = word ? ops::dtype_from_name(expr.text) : std::nullopt) found.insert(*dtype);
  };
  each_part(rule, visit, [&](const ops::AttrValue& value) {
    if (const auto* dtype = std::get_if<DType>(&value)) found.insert(*dtype);
  });
  const std::vector<DType>& all = all_dtypes();
  std::erase_if(found, [&](DType dtype) { return std::ranges::find(all, dtype) == all.end(); });
  return {found.begin(), found.end()};
}

std::vector<double> constants_in(const rule::RewriteRule& rule) {
  constexpr std::size_t kFew = 4;
  std::vector<double> found;
  const auto visit = [&](const Expr& expr) {
    const bool number = expr.kind == Expr::Kind::kInt || expr.kind == Expr::Kind::kFloat;
    const double value = expr.kind == Expr::Kind::kInt ? static_cast<double>(expr.integer) : expr.number;
    if (number && found.size() < kFew && std::ranges::find(found, value) == found.end()) found.push_back(value);
  };
  each_part(rule, visit, [](const ops::AttrValue&) {});
  return found;
}

const std::vector<double>& number_table() {
  static const std::vector<double> kValues = {
      1, 0, 2, 0.5, -4, 3, 0.1, -0.0, 10, 1024, 0.001, 0.0009765625, 2048, 65536, 1.0 / 16384, 1.0 / 3, 0x1p-130};
  return kValues;
}

std::vector<double> numbers_near(const std::vector<double>& named) {
  std::vector<double> out;
  for (const double n : named)
    for (const double v : {n, -n, n - 1, n + 1, std::sqrt(std::fabs(n)), -std::sqrt(std::fabs(n))})
      if (std::ranges::find(number_table(), v) == number_table().end() && std::ranges::find(out, v) == out.end())
        out.push_back(v);
  return out;
}

std::vector<double> tried_numbers(const rule::RewriteRule& rule) {
  std::vector<double> out = number_table();
  std::ranges::copy(numbers_near(constants_in(rule)), std::back_inserter(out));
  return out;
}

std::map<std::string, std::vector<double>> further_numbers(const rule::RewriteRule& rule, const GuardNumbers& guards) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  std::map<std::string, std::vector<double>> out = guards.constants;
  for (const auto& [name, role] : roles_of(rule))
    if (role == Role::kSplat && rule.exactness.bitexact())
      for (const double v : {kInfinity, -kInfinity, std::numeric_limits<double>::quiet_NaN()}) out[name].push_back(v);
  return out;
}

bool reshapes(const ops::OpTable& table, const rule::RewriteRule& rule) {
  const ops::OpId reshape = table.require("reshape");
  for (const rule::RewriteVariant& variant : rule.variants)
    for (const rule::PatternNode& node : variant.nodes)
      if (std::ranges::find(node.ops.ops, reshape) != node.ops.ops.end()) return true;
  return false;
}

std::vector<std::int64_t> sizes_in(const rule::RewriteRule& rule) {
  constexpr std::array<std::string_view, 5> kSizes = {"dim", "rank", "shape", "len", "size"};
  std::set<std::int64_t> found;
  const auto look = [&](const Expr& condition) {
    bool asks = false;
    std::set<std::int64_t> numbers;
    each_part(condition, [&](const Expr& expr) {
      asks = asks || (expr.kind == Expr::Kind::kCall && std::ranges::find(kSizes, expr.text) != kSizes.end());
      if (expr.kind == Expr::Kind::kInt && expr.integer > kTried && expr.integer <= kMostExtent)
        numbers.insert({expr.integer, expr.integer + 1});  // what is above a bound as well
    });
    if (asks) found.merge(numbers);
  };
  const auto visit = [&](const Expr& expr) {
    if (expr.kind == Expr::Kind::kConditional) look(*expr.args[0]);
  };
  for (const rule::Guard& guard : rule.guards) look(*guard.expr);
  each_part(rule, visit, [](const ops::AttrValue&) {});
  return {found.begin(), found.end()};
}

std::vector<std::int64_t> extents_in(const rule::RewriteRule& rule) {
  constexpr std::size_t kFew = 3;
  std::set<std::int64_t> found;
  const auto add = [&](std::int64_t n) {
    if (n > kTried && n <= kMostExtent) found.insert(n);
  };
  const auto visit = [&](const Expr& expr) {
    if (expr.kind == Expr::Kind::kInt) add(expr.integer);
  };
  each_part(rule, visit, [&](const ops::AttrValue& value) {
    if (const auto* n = std::get_if<std::int64_t>(&value)) add(*n);
    if (const auto* list = std::get_if<std::vector<std::int64_t>>(&value)) std::ranges::for_each(*list, add);
    if (const auto* shape = std::get_if<ops::Shape>(&value))
      for (const Dim& dim : *shape)
        if (dim.is_constant()) add(dim.value());
  });
  while (found.size() > kFew) found.erase(std::prev(found.end()));
  return {found.begin(), found.end()};
}

std::map<std::string, Role> roles_of(const rule::RewriteRule& rule) {
  std::set<std::string> weights, splats;
  const auto look = [&](const Expr& expr) {
    names_in_calls(expr, {"constant"}, weights);
    names_in_calls(expr, {"fold"}, weights);
    names_in_calls(expr, {"splat", "value", "is_zero", "is_one"}, splats);
  };
  for (const rule::Guard& guard : rule.guards) look(*guard.expr);
  for (const rule::RewriteVariant& variant : rule.variants) {
    for (const rule::Step& step : variant.steps)
      if (step.value != nullptr) look(*step.value);
    for (const auto& to : variant.to) look(*to);
  }
  std::map<std::string, Role> roles;
  for (const std::string& name : weights) roles[name] = Role::kWeight;
  for (const std::string& name : splats) roles[name] = Role::kSplat;
  return roles;
}

}  // namespace fusewright::prove
