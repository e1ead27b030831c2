#include <algorithm>
#include <cmath>

#include "src/rule/checker.hpp"
#include "src/rule/spelling.hpp"

namespace fusewright::rule {

using ast::Pattern;
using ops::Expr;

namespace {

bool has_attrs(const ops::OpInfo& info, const std::vector<ast::AttrPattern>& attrs) {
  return std::all_of(attrs.begin(), attrs.end(),
                     [&](const auto& a) { return find_attr(info, a.name.text) != nullptr; });
}

void check_operator(OpId op, std::size_t operands, const std::vector<ast::AttrPattern>& attrs, const Span& span,
                    const RuleContext& context) {
  const auto& info = context.table[op];
  if (!operand_count_fits(info, operands)) {
    const bool more = operands > info.operands.size() && !info.attrs.empty();
    context.reports.error(span, info.name + " takes " + operand_count_text(info) + ", not " + std::to_string(operands),
                          more ? "attributes are written by name: " + info.attrs[0].name + " = ..." : "");
  }
  for (const auto& attr : attrs) {
    if (find_attr(info, attr.name.text) != nullptr) continue;
    std::vector<std::string> known;
    for (const auto& spec : info.attrs) known.push_back(spec.name);
    context.reports.error(attr.name.span, info.name + " has no attribute '" + attr.name.text + "'",
                          attr_meant(attr.name.text, known));
  }
}

/// What an operator that there is not may stand for: those of frameworks, and functions, which are not matched.
std::string meant_in_pattern(const std::string& name, const RuleContext& context) {
  if (ops::dtype_from_name(name)) return "a conversion is matched by convert(x, dtype = " + name + ")";
  std::vector<std::string> known = context.table.names();
  for (auto& word : context.classes.names()) known.push_back(std::move(word));
  const std::string meant = operator_meant(name, known);
  if (meant.starts_with("the operator") || !is_function(name)) return meant;
  return "it is a function: a condition or 'to' may call it, a pattern has operators";
}

}  // namespace

double digit_tolerance(const std::string& digits) {
  const std::size_t point = digits.find('.');
  const std::size_t exponent = digits.find_first_of("eE");
  if (point == std::string::npos && exponent == std::string::npos) return 0;
  const std::size_t end = exponent == std::string::npos ? digits.size() : exponent;
  const int decimals = point == std::string::npos ? 0 : static_cast<int>(end - point - 1);
  const int power = exponent == std::string::npos ? 0 : std::atoi(digits.c_str() + exponent + 1);
  return 0.5 * std::pow(10.0, power - decimals);
}

OpSet resolve_application(const ast::Name& name, const Pattern* choice, std::size_t operands,
                          const std::vector<ast::AttrPattern>& attrs, const Span& span, const RuleContext& context) {
  if (choice == nullptr) {
    if (const OpId op = context.table.find(name.text); op.valid()) {
      check_operator(op, operands, attrs, span, context);
      return {{op}};
    }
    const auto at = context.classes.sets.find(name.text);
    if (at == context.classes.sets.end()) {
      context.reports.unknown(name.span, name.text, "there is no operator or class '" + name.text + "'",
                              meant_in_pattern(name.text, context));
      return {};
    }
    OpSet set;
    for (const OpId op : at->second.ops) {
      const auto& info = context.table[op];
      if (operand_count_fits(info, operands) && has_attrs(info, attrs)) set.ops.push_back(op);
    }
    if (set.ops.empty()) {
      context.reports.unknown(span, name.text,
                              "no operator of class " + name.text + " takes " + std::to_string(operands) +
                                  (operands == 1 ? " operand" : " operands") +
                                  (attrs.empty() ? "" : " and these attributes"),
                              {});
    }
    return set;
  }
  // ( relu | gelu )(x): a choice of operators.
  std::vector<const Pattern*> words;
  if (choice->kind == Pattern::Kind::kName) words.push_back(choice);
  for (const auto& arg : choice->args) words.push_back(arg.get());
  OpSet set;
  for (const Pattern* word : words) {
    if (word->kind != Pattern::Kind::kName || word->optional || !word->as.text.empty()) {
      context.reports.error(word->span, "only operators can be applied to operands");
      continue;
    }
    OpSet part = resolve_application(word->name, nullptr, operands, attrs, span, context);
    std::erase_if(part.ops, [&](OpId op) { return !operand_count_fits(context.table[op], operands); });  // reported
    set.ops.insert(set.ops.end(), part.ops.begin(), part.ops.end());
  }
  std::sort(set.ops.begin(), set.ops.end());
  set.ops.erase(std::unique(set.ops.begin(), set.ops.end()), set.ops.end());
  return set;
}

std::optional<ops::AttrValue> constant_attr(const Expr& expr, ops::AttrKind kind) {
  using ops::AttrKind;
  switch (expr.kind) {
    case Expr::Kind::kInt:
      if (kind == AttrKind::kFloat) return ops::AttrValue(static_cast<double>(expr.integer));
      return ops::AttrValue(expr.integer);
    case Expr::Kind::kFloat: return ops::AttrValue(expr.number);
    case Expr::Kind::kBool: return ops::AttrValue(expr.integer != 0);
    case Expr::Kind::kString: return ops::AttrValue(expr.text);
    case Expr::Kind::kName:
      if (const auto dtype = ops::dtype_from_name(expr.text)) return ops::AttrValue(*dtype);
      return std::nullopt;
    case Expr::Kind::kUnary: {
      if (expr.text != "-") return std::nullopt;
      auto value = constant_attr(*expr.args[0], kind);
      if (!value) return std::nullopt;
      if (auto* integer = std::get_if<std::int64_t>(&*value))
        *integer = -*integer;
      else if (auto* real = std::get_if<double>(&*value))
        *real = -*real;
      else
        return std::nullopt;
      return value;
    }
    case Expr::Kind::kList: {
      std::vector<std::int64_t> ints;
      std::vector<double> floats;
      std::vector<std::string> strings;
      for (const auto& arg : expr.args) {
        const auto value = constant_attr(*arg, kind == AttrKind::kFloats ? AttrKind::kFloat : AttrKind::kInt);
        if (!value) return std::nullopt;
        if (const auto* integer = std::get_if<std::int64_t>(&*value))
          ints.push_back(*integer);
        else if (const auto* real = std::get_if<double>(&*value))
          floats.push_back(*real);
        else if (const auto* text = std::get_if<std::string>(&*value))
          strings.push_back(*text);
      }
      const std::size_t count = expr.args.size();
      if (kind == AttrKind::kFloats && floats.size() == count) return ops::AttrValue(std::move(floats));
      if (kind == AttrKind::kStrings && strings.size() == count) return ops::AttrValue(std::move(strings));
      if (kind == AttrKind::kShape && ints.size() == count) return ops::AttrValue(ops::Shape(ints.begin(), ints.end()));
      if (kind == AttrKind::kFloat && floats.size() == count && count > 0) return ops::AttrValue(std::move(floats));
      if (ints.size() == count) return ops::AttrValue(std::move(ints));
      return std::nullopt;
    }
    default: return std::nullopt;
  }
}

}  // namespace fusewright::rule
