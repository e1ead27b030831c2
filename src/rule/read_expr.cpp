#include <algorithm>
#include <charconv>
#include <limits>

#include "src/rule/make_expr.hpp"
#include "src/rule/tree.hpp"

namespace fusewright::rule {

namespace g = fuse_grammar;
using ops::Expr;
using ops::ExprPtr;

namespace {

ExprPtr binary(const std::string& op, ExprPtr left, ExprPtr right) {
  Span span = left->span;
  span.end = right->span.end;
  Expr expr = leaf(Expr::Kind::kBinary, span, op);
  expr.args = {std::move(left), std::move(right)};
  return share(std::move(expr));
}

ExprPtr unary(const std::string& op, ExprPtr operand, Span span) {
  Expr expr = leaf(Expr::Kind::kUnary, std::move(span), op);
  expr.args = {std::move(operand)};
  return share(std::move(expr));
}

}  // namespace

Span TreeReader::span(const TreeNode& node) const { return span(node, node); }

Span TreeReader::span(const TreeNode& first, const TreeNode& last) const {
  const char* const text = source_->text.data();
  const auto begin = static_cast<std::uint32_t>(first.begin - text);
  auto end = static_cast<std::uint32_t>(last.end - text);
  while (end > begin && !scan_.significant[end - 1]) --end;
  return {source_, begin, end};
}

std::string TreeReader::text(const TreeNode& node) const {
  const Span s = span(node);
  return source_->text.substr(s.begin, s.end - s.begin);
}

// A chain becomes a tree as deep as it is long, and trees are walked by recursion.
bool TreeReader::too_long(const TreeNode& node) {
  constexpr std::size_t kLongestChain = 2 * 64 + 1;
  if (node.children.size() <= kLongestChain) return false;
  unreadable(span(node), "a chain of more than 64 operators; name parts of it with 'let'");
  return true;
}

std::string TreeReader::quoted(const TreeNode& node) const {
  const std::string t = text(node);
  return t.substr(1, t.size() - 2);
}

ast::Name TreeReader::name_behind_mark(const TreeNode& node) const {
  Span s = span(node);
  ++s.begin;
  while (s.begin < s.end && !scan_.significant[s.begin]) ++s.begin;
  return {source_->text.substr(s.begin, s.end - s.begin), s};
}

std::int64_t TreeReader::integer(const TreeNode& node) {
  const std::string t = text(node);
  std::int64_t value = 0;
  if (std::from_chars(t.data(), t.data() + t.size(), value).ec != std::errc()) {
    error(span(node), "the integer " + t + " is out of range");
  }
  return value;
}

std::uint32_t TreeReader::count(const TreeNode& node) {
  const std::int64_t value = integer(node);
  if (value > 1'000'000) error(span(node), "a bound above 1000000");
  return static_cast<std::uint32_t>(std::min<std::int64_t>(value, 1'000'000));
}

double TreeReader::number(const TreeNode& node) {
  const std::string t = text(node);
  if (t == "inf") return std::numeric_limits<double>::infinity();
  double value = 0;
  if (std::from_chars(t.data(), t.data() + t.size(), value).ec != std::errc()) {
    error(span(node), "the number " + t + " is out of range");
  }
  return value;
}

ExprPtr TreeReader::literal(const TreeNode& node) {
  if (node.is_type<g::approximate>()) {
    Expr expr = leaf(Expr::Kind::kFloat, span(node));
    expr.number = number(node.children.front());
    expr.approximate = true;
    // How many digits were written decides what the literal stands for, so they are kept.
    expr.text = text(node.children.front());
    return share(std::move(expr));
  }
  if (node.is_type<g::integer>()) {
    Expr expr = leaf(Expr::Kind::kInt, span(node));
    expr.integer = integer(node);
    expr.number = static_cast<double>(expr.integer);
    return share(std::move(expr));
  }
  Expr expr = leaf(Expr::Kind::kFloat, span(node), text(node));
  expr.number = number(node);
  return share(std::move(expr));
}

std::vector<ExprPtr> TreeReader::expressions(const TreeNode& node) {
  std::vector<ExprPtr> result;
  for (const TreeNode& child : node.children) result.push_back(expression(child));
  return result;
}

ExprPtr TreeReader::call(const TreeNode& node) {
  Expr expr = leaf(Expr::Kind::kCall, span(node), text(node.children[0]));
  for (const TreeNode& argument : node.children[1].children) {
    if (argument.is_type<g::rest_argument>()) {
      Expr base = leaf(Expr::Kind::kName, span(argument.children[0]), text(argument.children[0]));
      expr.named.emplace_back("..", share(std::move(base)));
    } else if (argument.is_type<g::named_argument>()) {
      expr.named.emplace_back(text(argument.children[0]), expression(argument.children[1]));
    } else {
      if (!expr.named.empty()) error(span(argument), "an operand behind a named attribute; operands come first");
      expr.args.push_back(expression(argument));
    }
  }
  return share(std::move(expr));
}

ExprPtr TreeReader::primary(const TreeNode& node) {
  if (node.is_type<g::call>()) return call(node);
  if (node.is_type<g::name>()) return share(leaf(Expr::Kind::kName, span(node), text(node)));
  if (node.is_type<g::text>()) return share(leaf(Expr::Kind::kString, span(node), quoted(node)));
  if (node.is_type<g::truth>()) {
    Expr expr = leaf(Expr::Kind::kBool, span(node));
    expr.integer = text(node) == "true" ? 1 : 0;
    return share(std::move(expr));
  }
  if (node.is_type<g::fold_call>()) {
    Expr expr = leaf(Expr::Kind::kCall, span(node), "fold");
    expr.args.push_back(expression(node.children[0]));
    return share(std::move(expr));
  }
  if (node.is_type<g::list_value>()) {
    Expr expr = leaf(Expr::Kind::kList, span(node));
    expr.args = expressions(node);
    return share(std::move(expr));
  }
  if (node.is_type<g::nested>()) return expression(node.children[0]);
  return literal(node);
}

ExprPtr TreeReader::index(const TreeNode& node, ExprPtr base, const Span& span) {
  ExprPtr bounds[2];
  bool slice = false;
  for (const TreeNode& child : node.children) {
    if (child.is_type<g::slice_colon>()) {
      slice = true;
    } else {
      bounds[slice ? 1 : 0] = expression(child);
    }
  }
  if (!slice && bounds[0] == nullptr) unreadable(span, "an index is missing between '[' and ']'");
  Expr expr = leaf(slice ? Expr::Kind::kSlice : Expr::Kind::kIndex, span);
  expr.args = {std::move(base), bounds[0]};
  if (slice) expr.args.push_back(bounds[1]);
  if (!slice && bounds[0] == nullptr) expr.args[1] = share(leaf(Expr::Kind::kInt, span));
  return share(std::move(expr));
}

ExprPtr TreeReader::postfix(const TreeNode& node) {
  ExprPtr value = expression(node.children[0]);
  for (std::size_t i = 1; i < node.children.size(); ++i) {
    const TreeNode& child = node.children[i];
    const Span whole = span(node.children[0], child);
    if (child.is_type<g::index>()) {
      value = index(child, std::move(value), whole);
    } else {
      Expr expr = leaf(Expr::Kind::kResult, whole, name_behind_mark(child).text);
      expr.args = {std::move(value)};
      value = share(std::move(expr));
    }
  }
  return value;
}

// Children alternate: operand, operator, operand, ...
ExprPtr TreeReader::fold_left(const TreeNode& node) {
  ExprPtr value = expression(node.children[0]);
  for (std::size_t i = 1; i + 1 < node.children.size(); i += 2) {
    std::string op = text(node.children[i]);
    if (node.children[i].is_type<g::comparison_operator>() && op.starts_with("not")) op = "not in";
    value = binary(op, std::move(value), expression(node.children[i + 1]));
  }
  return value;
}

ExprPtr TreeReader::fold_right_power(const TreeNode& node) {
  ExprPtr value = expression(node.children.back());
  for (std::size_t i = node.children.size() - 1; i >= 2; i -= 2) {
    value = binary("**", expression(node.children[i - 2]), std::move(value));
  }
  return value;
}

// v0 if c0 else v1 if c1 else v2 is v0 if c0 else (v1 if c1 else v2).
ExprPtr TreeReader::conditional(const TreeNode& node) {
  ExprPtr value = expression(node.children.back());
  for (std::size_t i = node.children.size() - 1; i >= 2; i -= 2) {
    Expr expr = leaf(Expr::Kind::kConditional, span(node.children[i - 2], node.children.back()));
    expr.args = {expression(node.children[i - 1]), expression(node.children[i - 2]), std::move(value)};
    value = share(std::move(expr));
  }
  return value;
}

ExprPtr TreeReader::expression(const TreeNode& node) {
  const bool flat = node.is_type<g::call>() || node.is_type<g::list_value>();
  if (!flat && too_long(node)) return share(leaf(Expr::Kind::kInt, span(node)));
  if (node.is_type<g::conditional>()) return conditional(node);
  if (node.is_type<g::power>()) return fold_right_power(node);
  if (node.is_type<g::postfix>()) return postfix(node);
  if (node.is_type<g::sum>() || node.is_type<g::product>() || node.is_type<g::coalesce>() ||
      node.is_type<g::comparison>()) {
    return fold_left(node);
  }
  if (node.is_type<g::conjunction>() || node.is_type<g::disjunction>()) {
    const std::string op = node.is_type<g::conjunction>() ? "and" : "or";
    ExprPtr value = expression(node.children[0]);
    for (std::size_t i = 1; i < node.children.size(); ++i) value = binary(op, value, expression(node.children[i]));
    return value;
  }
  if (node.is_type<g::along>()) {
    return binary("along", expression(node.children[0]), expression(node.children[1]));
  }
  if (node.is_type<g::negation>() || node.is_type<g::exponent_operand>() || node.is_type<g::negated>()) {
    const std::string op = node.is_type<g::negated>() ? "not" : "-";
    ExprPtr value = expression(node.children.back());
    for (std::size_t i = node.children.size() - 1; i-- > 0;) {
      value = unary(op, value, span(node.children[i], node.children.back()));
    }
    return value;
  }
  return primary(node);
}

}  // namespace fusewright::rule
