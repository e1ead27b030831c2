#include <fmt/format.h>

#include <cmath>

#include "fusewright/rule/parse.hpp"
#include "fusewright/rule/rule.hpp"

namespace fusewright::rule {

using ast::Pattern;
using ops::Expr;
using ops::ExprPtr;

namespace {

std::string number_text(double value) {
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::string text = fmt::format("{}", value);
  // 2e-7, as people write it, not 2e-07.
  const std::size_t exponent = text.find("e-0");
  if (exponent != std::string::npos) text.erase(exponent + 2, 1);
  return text;
}

std::string expr_text(const ExprPtr& expr) { return ops::print_expr(*expr); }

std::string join(const std::vector<ExprPtr>& exprs) {
  std::string text;
  for (const auto& expr : exprs) text += (text.empty() ? "" : ", ") + expr_text(expr);
  return text;
}

std::string join(const std::vector<ast::Name>& names) {
  std::string text;
  for (const auto& name : names) text += (text.empty() ? "" : ", ") + name.text;
  return text;
}

// --- Patterns ----------------------------------------------------------------------------------------

enum PatternBinding {
  kPatternComparison,
  kPatternSum,
  kPatternProduct,
  kPatternNegation,
  kPatternPower,
  kPatternPrimary
};

struct Infix {
  std::string_view mark;
  PatternBinding binding;
};

Infix infix_of(const std::string& op) {
  if (op == "add") return {"+", kPatternSum};
  if (op == "sub") return {"-", kPatternSum};
  if (op == "mul") return {"*", kPatternProduct};
  if (op == "div") return {"/", kPatternProduct};
  if (op == "pow") return {"**", kPatternPower};
  if (op == "eq") return {"==", kPatternComparison};
  if (op == "ne") return {"!=", kPatternComparison};
  if (op == "le") return {"<=", kPatternComparison};
  if (op == "ge") return {">=", kPatternComparison};
  if (op == "lt") return {"<", kPatternComparison};
  return {">", kPatternComparison};
}

int pattern_binding(const Pattern& pattern);
std::string bare_pattern(const Pattern& pattern);
std::string pattern_text(const Pattern& pattern, int context);

std::string operands_text(const Pattern& pattern) {
  std::string text;
  for (std::size_t i = 1; i < pattern.args.size(); ++i) {
    text += (text.empty() ? "" : ", ") + pattern_text(*pattern.args[i], kPatternComparison);
  }
  for (const auto& attr : pattern.attrs) {
    text += (text.empty() ? "" : ", ") + attr.name.text + " = " + expr_text(attr.value);
  }
  return "(" + text + ")";
}

std::string choice_text(const Pattern& pattern) {
  if (pattern.kind != Pattern::Kind::kChoice) return "(" + pattern_text(pattern, kPatternComparison) + ")";
  std::string text;
  for (const auto& arg : pattern.args) text += (text.empty() ? "" : " | ") + pattern_text(*arg, kPatternComparison);
  return "(" + text + ")";
}

/// What stands behind `**`: signs, and a primary.
std::string exponent_text(const Pattern& pattern) {
  if (pattern.as.text.empty() && pattern_binding(pattern) == kPatternNegation) return bare_pattern(pattern);
  return pattern_text(pattern, kPatternPrimary);
}

std::string bare_pattern(const Pattern& pattern) {
  switch (pattern.kind) {
    case Pattern::Kind::kName: return pattern.name.text + (pattern.optional ? "?" : "");
    case Pattern::Kind::kWildcard: return pattern.optional ? "_?" : "_";
    case Pattern::Kind::kLiteral: {
      Expr magnitude = *pattern.literal;
      magnitude.number = std::fabs(magnitude.number);
      if (magnitude.integer < 0) magnitude.integer = -magnitude.integer;
      std::string text = (std::signbit(pattern.literal->number) ? "-" : "") + ops::print_expr(magnitude);
      if (pattern.within) text += " within " + number_text(*pattern.within);
      return text;
    }
    case Pattern::Kind::kApply: {
      std::string head = pattern.args[0] == nullptr ? pattern.name.text : choice_text(*pattern.args[0]);
      head += operands_text(pattern);
      return pattern.result.text.empty() ? head : head + "." + pattern.result.text;
    }
    case Pattern::Kind::kChoice: return choice_text(pattern);
    case Pattern::Kind::kOptional:
      return fmt::format("{} [{} {}]?", pattern_text(*pattern.args[0], kPatternSum), infix_of(pattern.name.text).mark,
                         pattern_text(*pattern.args[1], kPatternProduct));
    case Pattern::Kind::kBinary: {
      const Infix infix = infix_of(pattern.name.text);
      // Sums and products stand in rows; a comparison or a power has two operands, the second power's may have a sign.
      const bool row = infix.binding == kPatternSum || infix.binding == kPatternProduct;
      const bool power = infix.binding == kPatternPower;
      return fmt::format("{} {} {}", pattern_text(*pattern.args[0], row ? infix.binding : infix.binding + 1),
                         infix.mark,
                         power ? exponent_text(*pattern.args[1]) : pattern_text(*pattern.args[1], infix.binding + 1));
    }
    case Pattern::Kind::kNegate: {  // signs in a row need no brackets, which may not be nested as deep
      const bool again = pattern.args[0]->kind == Pattern::Kind::kNegate;
      return "-" + pattern_text(*pattern.args[0], again ? kPatternNegation : kPatternPower);
    }
  }
  return {};
}

int pattern_binding(const Pattern& pattern) {
  switch (pattern.kind) {
    case Pattern::Kind::kOptional: return kPatternSum;
    case Pattern::Kind::kBinary: return infix_of(pattern.name.text).binding;
    case Pattern::Kind::kNegate: return kPatternNegation;
    case Pattern::Kind::kLiteral: return std::signbit(pattern.literal->number) ? kPatternNegation : kPatternPrimary;
    default: return kPatternPrimary;
  }
}

std::string pattern_text(const Pattern& pattern, int context) {
  std::string text = bare_pattern(pattern);
  const int own = pattern_binding(pattern);
  if (!pattern.as.text.empty()) {
    if (own < kPatternPrimary) text = "(" + text + ")";
    text += " as " + pattern.as.text;
    // `(-1 as c)`: the name binds tighter than a sign in front, so nothing more is needed.
    return text;
  }
  return own < context ? "(" + text + ")" : text;
}

// --- Declarations ------------------------------------------------------------------------------------

std::string class_text(const ast::ClassExpr& expr, bool nested) {
  if (expr.kind == ast::ClassExpr::Kind::kName) return expr.name.text;
  if (expr.args.size() == 1) return class_text(*expr.args[0], nested);
  const bool difference = expr.kind == ast::ClassExpr::Kind::kDifference;
  std::string text;
  for (std::size_t i = 0; i < expr.args.size(); ++i) {
    text += (i == 0 ? "" : difference ? " - " : " | ") + class_text(*expr.args[i], i > 0);
  }
  return nested ? "(" + text + ")" : text;
}

std::string bounds_text(std::uint32_t min, std::uint32_t max) {
  if (min == 1 && max == 1) return {};
  if (max == Segment::kUnbounded) return min == 0 ? "*" : "+";
  if (min == 0 && max == 1) return "?";
  return min == max ? fmt::format("{{{}}}", min) : fmt::format("{{{},{}}}", min, max);
}

std::string segment_text(const ast::Segment& segment) {
  std::string text;
  if (segment.apply == nullptr) {
    text = class_text(*segment.ops, segment.ops->kind != ast::ClassExpr::Kind::kName);
  } else if (segment.ops != nullptr) {
    text = class_text(*segment.ops, true) + operands_text(*segment.apply);
  } else {
    text = pattern_text(*segment.apply, kPatternPrimary);
  }
  text += bounds_text(segment.min, segment.max);
  return segment.as.text.empty() ? text : text + " as " + segment.as.text;
}

std::string root_text(const ast::Root& root) {
  if (root.pattern != nullptr) return pattern_text(*root.pattern, kPatternComparison);
  std::string text;
  for (const auto& segment : root.segments) text += (text.empty() ? "" : " |> ") + segment_text(segment);
  if (root.min != 1 || root.max != 1) {
    text += root.min == root.max ? fmt::format(" times {{{}}}", root.min)
                                 : fmt::format(" times {{{},{}}}", root.min, root.max);
  }
  return root.shared.empty() ? text : text + " sharing " + join(root.shared);
}

void print_test(const ast::TestDecl& test, std::string& out) {
  out += test.reject ? "  reject" : "  test";
  if (!test.name.text.empty()) out += " " + test.name.text;
  if (test.because != nullptr) out += " because " + expr_text(test.because);
  out += " {\n";
  for (const auto& input : test.inputs) {
    out += "    " + input.name.text + ": " + (input.constant ? "const " : "") + ops::to_string(input.type) + "\n";
  }
  for (const auto& let : test.lets) out += "    let " + let.name.text + " = " + expr_text(let.value) + "\n";
  if (!test.outputs.empty()) out += "    match " + join(test.outputs) + "\n";
  if (!test.expected.empty()) out += "    to " + join(test.expected) + "\n";
  if (test.kernels) out += fmt::format("    kernels {}\n", *test.kernels);
  out += "  }\n";
}

void print_rule(const ast::RuleDecl& rule, std::string& out) {
  out += (rule.fuse ? "fuse " : "rewrite ") + rule.name.text;
  if (!rule.exactness.empty()) {
    std::string words;
    for (const auto& word : rule.exactness) {
      words += (words.empty() ? "" : ", ") + word.word.text;
      if (word.rtol) words += "(" + number_text(*word.rtol) + ")";
    }
    out += " exactness(" + words + ")";
  }
  if (rule.kernel) out += " kernel(" + rule.kernel->text + ")";
  if (!rule.targets.empty()) out += " requires target(" + join(rule.targets) + ")";
  out += " {\n";
  for (const auto& root : rule.roots) out += "  match " + root_text(root) + "\n";
  for (const auto& clause : rule.clauses) {
    if (clause.where != nullptr)
      out += "  where " + expr_text(clause.where) + "\n";
    else
      out += "  let " + clause.let.name.text + " = " + expr_text(clause.let.value) + "\n";
  }
  if (!rule.no_duplicate.empty()) out += "  no_duplicate " + join(rule.no_duplicate) + "\n";
  if (!rule.to.empty()) out += "  to " + join(rule.to) + "\n";
  for (const auto& test : rule.tests) print_test(test, out);
  out += "}\n";
}

std::string attribute_text(const ast::AttrDecl& attr) {
  std::string text = attr.name.text + (attr.optional ? "?" : "");
  if (attr.kind) text += ": " + attr.kind->text;
  return attr.fallback == nullptr ? text : text + " = " + expr_text(attr.fallback);
}

void print_op(const ast::OpDecl& op, std::string& out) {
  std::string params;
  for (const auto& param : op.params) {
    params += (params.empty() ? "" : ", ") + param.name.text + (param.optional ? "?" : param.variadic ? "..." : "");
  }
  std::string attrs;
  for (const auto& attr : op.attrs) attrs += (attrs.empty() ? "; " : ", ") + attribute_text(attr);
  out += "op " + op.name.text + "(" + params + attrs + ")";
  if (!op.results.empty()) out += " -> (" + join(op.results) + ")";
  if (op.has_body) {
    if (op.lets.empty() && op.values.size() == 1 && op.values[0].name.text.empty()) {
      out += " = " + expr_text(op.values[0].value);
    } else {
      out += " {\n";
      for (const auto& let : op.lets) out += "  let " + let.name.text + " = " + expr_text(let.value) + "\n";
      for (const auto& value : op.values) {
        out += (value.name.text.empty() ? "  to " : "  " + value.name.text + " = ") + expr_text(value.value) + "\n";
      }
      out += "}";
    }
  }
  out += "\n";
}

void print_item(const ast::Item& item, std::string& out) {
  for (std::size_t at = 0; !item.doc.empty() && at <= item.doc.size();) {
    const std::size_t end = std::min(item.doc.find('\n', at), item.doc.size());
    const std::string line = item.doc.substr(at, end - at);
    out += line.empty() ? "///\n" : "/// " + line + "\n";
    at = end + 1;
  }
  for (const auto& allow : item.allows) out += "allow(" + allow.lint.text + ", \"" + allow.reason + "\")\n";
  if (const auto* include = std::get_if<ast::Include>(&item.what))
    out += "include \"" + include->path + "\"\n";
  else if (const auto* set = std::get_if<ast::Ruleset>(&item.what))
    out += "ruleset " + set->name.text + (set->block ? " {\n" : "\n");
  else if (const auto* op = std::get_if<ast::OpDecl>(&item.what))
    print_op(*op, out);
  else if (const auto* rule = std::get_if<ast::RuleDecl>(&item.what))
    print_rule(*rule, out);
  else {
    const auto& opclass = std::get<ast::ClassDecl>(item.what);
    out += "opclass " + opclass.name.text + " = " + class_text(*opclass.value, false);
    if (opclass.where != nullptr) out += " where " + expr_text(opclass.where);
    out += "\n";
  }
}

}  // namespace

std::string print_pattern(const Pattern& pattern) { return pattern_text(pattern, kPatternComparison); }

std::string print_rules(const ast::File& file) {
  std::string out;
  std::vector<std::uint32_t> open;  // items left in each open ruleset block
  for (const auto& item : file.items) {
    if (!out.empty()) out += "\n";
    print_item(item, out);
    for (auto& left : open) --left;
    const auto* set = std::get_if<ast::Ruleset>(&item.what);
    if (set != nullptr && set->block) open.push_back(set->items);
    for (; !open.empty() && open.back() == 0; open.pop_back()) out += "}\n";
  }
  return out;
}

}  // namespace fusewright::rule
