#include <algorithm>

#include "fusewright/ops/axis_sets.hpp"
#include "fusewright/support/check.hpp"
#include "src/rule/checker.hpp"
#include "src/rule/make_expr.hpp"
#include "src/rule/spelling.hpp"

namespace fusewright::rule {

using ops::Expr;

namespace {

ExprPtr number(std::int64_t value, const Span& span) {
  Expr expr = leaf(Expr::Kind::kInt, span);
  expr.integer = value;
  return share(std::move(expr));
}
ExprPtr node(Expr::Kind kind, const std::string& text, const Span& span, std::vector<ExprPtr> args) {
  Expr expr = leaf(kind, span, text);
  expr.args = std::move(args);
  return share(std::move(expr));
}
ExprPtr equal(ExprPtr a, ExprPtr b, const Span& span) {
  return node(Expr::Kind::kBinary, "==", span, {std::move(a), std::move(b)});
}

}  // namespace

void PatternScope::bind(const ast::Name& name, Binding::Kind kind, const OpSet& ops, KindSet kinds) {
  if (kind == Binding::Kind::kTensor) kinds = kTensors;
  const auto [at, fresh] = scope.try_emplace(name.text, Binding{kind, name.span, ops, false, false, kinds});
  if (fresh) return;
  used.insert(name.text);
  if (at->second.kind == kind) return;
  const auto text = [](Binding::Kind one) {
    return one == Binding::Kind::kTensor ? "a tensor" : one == Binding::Kind::kAttr ? "an attribute" : "a segment";
  };
  c_.reports.error(
      name.span,
      "'" + name.text + "' stands for " + text(kind) + " here and for " + text(at->second.kind) + " elsewhere", {},
      {{at->second.span, "it is bound here"}});
}

void PatternScope::attr_unknown(const ast::AttrPattern& pattern) {
  const Expr& value = *pattern.value;
  const std::vector<ExprPtr> names = value.kind == Expr::Kind::kList ? value.args : std::vector<ExprPtr>{pattern.value};
  for (const ExprPtr& name : names) {
    if (name == nullptr || name->kind != Expr::Kind::kName || ops::dtype_from_name(name->text)) continue;
    scope.try_emplace(name->text, Binding{Binding::Kind::kAttr, name->span, {}}).first->second.unknown = true;
  }
}

void PatternScope::attr(const ast::AttrPattern& pattern, const OpSet& ops,
                        const std::function<std::string(std::size_t)>& operand, std::vector<AttrPattern>& into) {
  AttrPattern out{pattern.name.text, {}, {}, pattern.name.span};
  const ops::AttrSpec* spec = ops.ops.empty() ? nullptr : find_attr(c_.table[ops.ops[0]], pattern.name.text);
  if (spec == nullptr) {  // reported with the application
    attr_unknown(pattern);
    return;
  }
  const Expr& value = *pattern.value;
  const Span& span = value.span;
  if (spec->kind == ops::AttrKind::kDType && value.kind == Expr::Kind::kName && !dtype_of_others(value.text).empty()) {
    c_.reports.error(span, "there is no dtype '" + value.text + "'", dtype_meant(value.text));
    attr_unknown(pattern);
    return;
  }
  if (value.kind == Expr::Kind::kName && !ops::dtype_from_name(value.text) && !let_names_.contains(value.text)) {
    bind({value.text, span}, Binding::Kind::kAttr, {}, kinds_of(spec->kind));
    out.bind = value.text;
    into.push_back(std::move(out));
    return;
  }
  auto constant = constant_attr(value, spec->kind);
  const bool any_order = ops::axes_are_a_set(c_.table[ops.ops[0]], spec->name);
  std::string axes_of;
  if (constant && spec->axis_of) {
    const auto* axis = std::get_if<std::int64_t>(&*constant);
    const auto* axes = std::get_if<std::vector<std::int64_t>>(&*constant);
    const bool from_end = (axis != nullptr && *axis < 0) ||
                          (axes != nullptr && std::any_of(axes->begin(), axes->end(), [](auto a) { return a < 0; }));
    if (from_end) axes_of = operand(*spec->axis_of);
  }
  if (constant && axes_of.empty()) {
    if (ops::kind_of(*constant) != spec->kind) {
      c_.reports.error(span, "attribute '" + spec->name + "' is of kind " + std::string(ops::name(spec->kind)) +
                                 ", not " + std::string(ops::name(ops::kind_of(*constant))));
      return;
    }
    if (any_order) std::ranges::sort(std::get<std::vector<std::int64_t>>(*constant));
    out.value = std::move(constant);
    into.push_back(std::move(out));
    return;
  }
  // The place makes the name the same in all variants of the rule.
  const std::string fresh = pattern.name.text + "@" + std::to_string(pattern.name.span.begin);
  out.bind = fresh;
  scope.try_emplace(fresh, Binding{Binding::Kind::kAttr, span, {}, false, true, kinds_of(spec->kind)});
  into.push_back(std::move(out));
  const std::string text = pattern.name.text + " == " + ops::print_expr(value);
  if (constant) {
    const ExprPtr rank = node(Expr::Kind::kCall, "rank", span, {named(axes_of, span)});
    ExprPtr normal = value.kind == Expr::Kind::kList ? node(Expr::Kind::kCall, "normalize", span, {pattern.value, rank})
                                                     : node(Expr::Kind::kBinary, "+", span, {pattern.value, rank});
    if (any_order) normal = node(Expr::Kind::kCall, "sorted", span, {normal});
    pending_.push_back({{}, equal(named(fresh, span), normal, span), text, span});
  } else if (value.kind == Expr::Kind::kList) {
    list_attr(pattern, fresh);
  } else if (!range_attr(pattern, fresh)) {
    pending_.push_back({{}, equal(named(fresh, span), pattern.value, span), text, span});
  }
}

/// `dims = [a, b]`: binds the names that are new, tests the rest.
void PatternScope::list_attr(const ast::AttrPattern& pattern, const std::string& fresh) {
  const Expr& list = *pattern.value;
  const std::string text = pattern.name.text + " == " + ops::print_expr(list);
  const ExprPtr whole = named(fresh, list.span);
  const ExprPtr length = node(Expr::Kind::kCall, "len", list.span, {whole});
  pending_.push_back(
      {{}, equal(length, number(static_cast<std::int64_t>(list.args.size()), list.span), list.span), text, list.span});
  for (std::size_t i = 0; i < list.args.size(); ++i) {
    const Expr& item = *list.args[i];
    const ExprPtr element =
        node(Expr::Kind::kIndex, {}, item.span, {whole, number(static_cast<std::int64_t>(i), item.span)});
    const bool fresh_name =
        item.kind == Expr::Kind::kName && !ops::dtype_from_name(item.text) && !scope.contains(item.text);
    if (fresh_name) {
      scope.emplace(item.text, Binding{Binding::Kind::kAttr, item.span, {}, false, false, kNumbers | kTexts});
      let_names_.insert(item.text);
      pending_.push_back({item.text, element, {}, item.span});
    } else {
      pending_.push_back({{}, equal(element, list.args[i], item.span), text, list.span});
    }
  }
}

/// `axes = range(a, rank(x))` with a new name a: the first of the axes.
bool PatternScope::range_attr(const ast::AttrPattern& pattern, const std::string& fresh) {
  const Expr& range = *pattern.value;
  if (range.kind != Expr::Kind::kCall || range.text != "range" || range.args.size() != 2) return false;
  const Expr& first = *range.args[0];
  if (first.kind != Expr::Kind::kName || scope.contains(first.text)) return false;
  const std::string text = pattern.name.text + " == " + ops::print_expr(range);
  const ExprPtr whole = named(fresh, range.span);
  const ExprPtr length = node(Expr::Kind::kCall, "len", range.span, {whole});
  const ExprPtr some = node(Expr::Kind::kBinary, ">", range.span, {length, number(0, range.span)});
  pending_.push_back({{}, some, text, range.span});
  scope.emplace(first.text, Binding{Binding::Kind::kAttr, first.span, {}, false, false, kNumbers});
  let_names_.insert(first.text);
  pending_.push_back(
      {first.text, node(Expr::Kind::kIndex, {}, first.span, {whole, number(0, first.span)}), {}, first.span});
  pending_.push_back({{}, equal(whole, pattern.value, range.span), text, range.span});
  return true;
}

std::string PatternScope::test_number(const ExprPtr& expr) {
  std::string fresh = "number@" + std::to_string(expr->span.begin);
  while (!scope.try_emplace(fresh, Binding{Binding::Kind::kAttr, expr->span, {}, false, true}).second) fresh += "'";
  pending_.push_back({{}, equal(named(fresh, expr->span), expr, expr->span), ops::print_expr(*expr), expr->span});
  return fresh;
}

/// In the order of the pattern, but for tests of names that it binds further on: these wait for the name.
std::vector<PatternScope::Pending> PatternScope::in_order() {
  std::set<std::string> missing;
  for (const Pending& pending : pending_)
    if (!pending.let.empty()) missing.insert(pending.let);
  std::vector<Pending> ordered, waiting = std::move(pending_);
  while (!waiting.empty()) {
    const auto ready = std::ranges::find_if(waiting, [&](const Pending& pending) {
      std::set<std::string> names;
      collect_names(*pending.expr, names);
      return std::ranges::none_of(names, [&](const std::string& name) { return missing.contains(name); });
    });
    FW_CHECK(ready != waiting.end()) << "names of attributes that are bound by each other";
    missing.erase(ready->let);
    ordered.push_back(std::move(*ready));
    waiting.erase(ready);
  }
  return ordered;
}

std::vector<Step> PatternScope::finish(std::vector<Guard>& guards, ExprPlace place) {
  std::vector<Step> steps;
  for (const Pending& pending : in_order()) {
    ExprContext context{c_.table, c_.reports, place, scope, {}, {}, false, {}};
    ExprPtr expr = lower_expr(pending.expr, context);
    if (pending.let.empty()) {
      used.insert(context.used.begin(), context.used.end());
      guards.push_back({std::move(expr), pending.text, pending.span});
      steps.push_back({Step::Kind::kGuard, static_cast<std::uint32_t>(guards.size() - 1), {}, nullptr});
    } else {
      steps.push_back({Step::Kind::kLet, 0, pending.let, std::move(expr)});
    }
    attr_refs.insert(context.attr_refs.begin(), context.attr_refs.end());
  }
  return steps;
}

}  // namespace fusewright::rule
