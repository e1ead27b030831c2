#include <cmath>
#include <string_view>
#include <tuple>
#include <utility>

#include "fusewright/rule/rule.hpp"
#include "src/rule/tree.hpp"

namespace fusewright::rule {

namespace g = fuse_grammar;
using ast::Pattern;
using ast::PatternPtr;

namespace {

PatternPtr share(Pattern pattern) { return std::make_shared<const Pattern>(std::move(pattern)); }

std::string operator_of(std::string_view mark) {
  static constexpr std::pair<std::string_view, std::string_view> kOperators[] = {
      {"+", "add"}, {"-", "sub"}, {"*", "mul"}, {"/", "div"}, {"**", "pow"}, {"==", "eq"},
      {"!=", "ne"}, {"<=", "le"}, {">=", "ge"}, {"<", "lt"},  {">", "gt"}};
  for (const auto& [text, name] : kOperators) {
    if (text == mark) return std::string(name);
  }
  return {};
}

PatternPtr negate(const PatternPtr& operand, Span span) {
  Pattern pattern;
  pattern.span = std::move(span);
  if (operand->kind == Pattern::Kind::kLiteral && operand->as.text.empty() && !std::signbit(operand->literal->number)) {
    ops::Expr literal = *operand->literal;
    literal.span = pattern.span;
    literal.integer = -literal.integer;
    literal.number = -literal.number;
    if (literal.kind == ops::Expr::Kind::kInt && literal.integer == 0) literal.number = 0;
    pattern.kind = Pattern::Kind::kLiteral;
    pattern.within = operand->within;
    pattern.literal = std::make_shared<const ops::Expr>(std::move(literal));
  } else {
    pattern.kind = Pattern::Kind::kNegate;
    pattern.args = {operand};
  }
  return share(std::move(pattern));
}

}  // namespace

PatternPtr TreeReader::literal_pattern(const TreeNode& node) {
  Pattern pattern;
  pattern.kind = Pattern::Kind::kLiteral;
  pattern.span = span(node);
  pattern.literal = literal(node.children[0]);
  if (node.children.size() > 1) pattern.within = number(node.children[1].children[0]);
  return share(std::move(pattern));
}

PatternPtr TreeReader::choice(const TreeNode& node) {
  if (node.children.size() == 1 && !node.children[0].is_type<g::operator_name>()) return pattern(node.children[0]);
  Pattern pattern;
  pattern.kind = Pattern::Kind::kChoice;
  pattern.span = span(node);
  for (const TreeNode& child : node.children) {
    if (child.is_type<g::operator_name>()) {
      Pattern word;
      word.kind = Pattern::Kind::kName;
      word.name = name(child);
      word.span = word.name.span;
      pattern.args.push_back(share(std::move(word)));
    } else {
      pattern.args.push_back(this->pattern(child));
    }
  }
  return share(std::move(pattern));
}

void TreeReader::operands(const TreeNode& node, Pattern& into) {
  for (const TreeNode& child : node.children) {
    if (child.is_type<g::attribute_pattern>()) {
      into.attrs.push_back({name(child.children[0]), expression(child.children[1])});
    } else {
      if (!into.attrs.empty()) error(span(child), "an operand behind a named attribute; operands come first");
      into.args.push_back(pattern(child));
    }
  }
}

PatternPtr TreeReader::primary_pattern(const TreeNode& node) {
  Pattern result;
  result.span = span(node);
  if (node.is_type<g::literal_pattern>()) return literal_pattern(node);
  if (node.is_type<g::choice>()) return choice(node);
  if (node.is_type<g::name_pattern>() || node.is_type<g::wildcard_pattern>()) {
    const bool named = node.is_type<g::name_pattern>();
    result.kind = named ? Pattern::Kind::kName : Pattern::Kind::kWildcard;
    if (named) result.name = name(node.children[0]);
    result.optional = node.children.size() > (named ? 1 : 0);
    return share(std::move(result));
  }
  result.kind = Pattern::Kind::kApply;
  if (node.is_type<g::choice_pattern>()) {
    PatternPtr applied = choice(node.children[0]);
    if (applied->kind != Pattern::Kind::kChoice && applied->kind != Pattern::Kind::kName) {
      unreadable(applied->span, "only operators can be applied to operands");
    }
    result.args.push_back(std::move(applied));
  } else {
    result.name = name(node.children[0]);
    result.args.push_back(nullptr);
  }
  operands(node.children[1], result);
  if (node.children.size() > 2) result.result = name_behind_mark(node.children[2]);
  return share(std::move(result));
}

PatternPtr TreeReader::pattern(const TreeNode& node) {
  if (too_long(node)) return std::make_shared<const Pattern>();
  if (node.is_type<g::pattern>() || node.is_type<g::power_pattern>() || node.is_type<g::sum_pattern>() ||
      node.is_type<g::product_pattern>()) {
    PatternPtr value = pattern(node.children[0]);
    for (std::size_t i = 1; i < node.children.size(); ++i) {
      const TreeNode& child = node.children[i];
      Pattern result;
      PatternPtr right;
      std::string mark;
      if (child.is_type<g::optional_part>()) {
        result.kind = Pattern::Kind::kOptional;
        mark = text(child.children[0]);
        right = pattern(child.children[1]);
        result.span = span(node.children[0], child);
      } else {
        result.kind = Pattern::Kind::kBinary;
        mark = text(child);
        right = pattern(node.children[++i]);
        result.span = span(node.children[0], node.children[i]);
      }
      result.name = {operator_of(mark), span(child)};
      result.args = {value, right};
      value = share(std::move(result));
    }
    return value;
  }
  if (node.is_type<g::negated_pattern>() || node.is_type<g::exponent_pattern>()) {
    PatternPtr value = pattern(node.children.back());
    for (std::size_t i = node.children.size() - 1; i-- > 0;) {
      value = negate(value, span(node.children[i], node.children.back()));
    }
    return value;
  }
  if (node.is_type<g::aliased_pattern>()) {
    Pattern result = *pattern(node.children[0]);
    if (!result.as.text.empty()) error(span(node.children[1]), "two names for one value");
    result.as = name(node.children[1].children[0]);
    result.span.end = result.as.span.end;
    return share(std::move(result));
  }
  return primary_pattern(node);
}

ast::ClassPtr TreeReader::class_expression(const TreeNode& node) {
  ast::ClassExpr result;
  if (node.is_type<g::operator_name>()) {
    result.name = name(node);
    return std::make_shared<const ast::ClassExpr>(std::move(result));
  }
  if (node.is_type<g::class_braces>()) {
    result.kind = ast::ClassExpr::Kind::kUnion;
    for (const TreeNode& child : node.children) result.args.push_back(class_expression(child));
    return std::make_shared<const ast::ClassExpr>(std::move(result));
  }
  if (too_long(node)) return std::make_shared<const ast::ClassExpr>(std::move(result));
  ast::ClassPtr value = class_expression(node.children[0]);
  for (std::size_t i = 1; i + 1 < node.children.size(); i += 2) {
    ast::ClassExpr combined;
    combined.kind = text(node.children[i]) == "|" ? ast::ClassExpr::Kind::kUnion : ast::ClassExpr::Kind::kDifference;
    combined.args = {value, class_expression(node.children[i + 1])};
    value = std::make_shared<const ast::ClassExpr>(std::move(combined));
  }
  return value;
}

std::pair<std::uint32_t, std::uint32_t> TreeReader::bounds(const TreeNode& node) {
  if (node.is_type<g::bounds_star>()) return {0, Segment::kUnbounded};
  if (node.is_type<g::bounds_plus>()) return {1, Segment::kUnbounded};
  if (node.is_type<g::optional_mark>()) return {0, 1};
  const std::uint32_t low = count(node.children[0]);
  const std::uint32_t high = node.children.size() > 1 ? count(node.children[1]) : low;
  if (high < low || high == 0) error(span(node), "bounds that nothing fits");
  return {low, high};
}

ast::Segment TreeReader::segment(const TreeNode& node) {
  ast::Segment result;
  result.span = span(node);
  for (const TreeNode& child : node.children) {
    if (child.is_type<g::application>()) {
      result.apply = primary_pattern(child);
    } else if (child.is_type<g::applied_class>()) {
      Pattern apply;
      apply.kind = Pattern::Kind::kApply;
      apply.span = span(child);
      apply.args.push_back(nullptr);
      operands(child.children[1], apply);
      result.ops = class_expression(child.children[0]);
      result.apply = share(std::move(apply));
    } else if (child.is_type<g::class_segment>()) {
      result.ops = class_expression(child.children[0]);
    } else if (child.is_type<g::alias>()) {
      result.as = name(child.children[0]);
    } else {
      std::tie(result.min, result.max) = bounds(child);
    }
  }
  return result;
}

ast::Root TreeReader::chain(const TreeNode& node) {
  ast::Root root;
  root.span = span(node);
  for (const TreeNode& child : node.children) {
    if (child.is_type<g::segment>()) {
      root.segments.push_back(segment(child));
    } else if (child.is_type<g::times>()) {
      std::tie(root.min, root.max) = bounds(child.children[0]);
      if (root.max == 1)
        error(span(child), "'times' is of several chains side by side; one is what 'match' says alone");
    } else {
      for (const TreeNode& shared : child.children) root.shared.push_back(name(shared));
    }
  }
  return root;
}

}  // namespace fusewright::rule
