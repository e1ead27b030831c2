#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "fusewright/ops/expr.hpp"

namespace fusewright::ops {
namespace {

// How tightly an expression holds together; the printer puts parentheses around what is looser than its place.
enum Level : int {
  kConditional,
  kOr,
  kAnd,
  kNot,
  kComparison,
  kCoalesce,
  kSum,
  kProduct,
  kAlong,
  kNegation,
  kPower,
  kPostfix,
  kPrimary,
};

Level binary_level(std::string_view op) {
  if (op == "or") return kOr;
  if (op == "and") return kAnd;
  if (op == "??") return kCoalesce;
  if (op == "+" || op == "-") return kSum;
  if (op == "*" || op == "/" || op == "//" || op == "%") return kProduct;
  if (op == "along") return kAlong;
  if (op == "**") return kPower;
  return kComparison;
}

Level level(const Expr& expr) {
  switch (expr.kind) {
    case Expr::Kind::kInt: return expr.integer < 0 ? kNegation : kPrimary;
    case Expr::Kind::kFloat: return expr.number < 0 ? kNegation : kPrimary;
    case Expr::Kind::kUnary: return expr.text == "-" ? kNegation : kNot;
    case Expr::Kind::kBinary: return binary_level(expr.text);
    case Expr::Kind::kIndex:
    case Expr::Kind::kSlice:
    case Expr::Kind::kResult: return kPostfix;
    case Expr::Kind::kConditional: return kConditional;
    case Expr::Kind::kString:
    case Expr::Kind::kBool:
    case Expr::Kind::kName:
    case Expr::Kind::kList:
    case Expr::Kind::kCall: break;
  }
  return kPrimary;
}

void print_at(std::string& out, const Expr& expr, int least);

std::string print_float(const Expr& expr) {
  std::string text = expr.text.empty() ? fmt::format("{}", expr.number) : expr.text;
  if (text.find_first_not_of("-0123456789") == std::string::npos && !expr.approximate) text += ".0";
  return (expr.approximate ? "~" : "") + text;
}

void print_call(std::string& out, const Expr& expr) {
  out += expr.text + '(';
  bool first = true;
  for (const ExprPtr& arg : expr.args) {
    if (!std::exchange(first, false)) out += ", ";
    print_at(out, *arg, kConditional);
  }
  for (const auto& [name, value] : expr.named) {
    if (!std::exchange(first, false)) out += ", ";
    out += name == ".." ? ".." : name + " = ";
    print_at(out, *value, kConditional);
  }
  out += ')';
}

void print_binary(std::string& out, const Expr& expr) {
  const Level own = level(expr);
  // Sums and products fold to the left, powers to the right; comparisons do not chain.
  const bool to_right = own == kPower;
  const bool chains = own != kComparison && own != kAlong;
  print_at(out, *expr.args[0], !chains || to_right ? own + 1 : own);
  out += expr.text == "**" ? "**" : ' ' + expr.text + ' ';
  print_at(out, *expr.args[1], to_right ? static_cast<int>(own) : own + 1);
}

void print_plain(std::string& out, const Expr& expr) {
  switch (expr.kind) {
    case Expr::Kind::kInt: out += std::to_string(expr.integer); return;
    case Expr::Kind::kFloat: out += print_float(expr); return;
    case Expr::Kind::kString: out += '"' + expr.text + '"'; return;
    case Expr::Kind::kBool: out += expr.integer != 0 ? "true" : "false"; return;
    case Expr::Kind::kName: out += expr.text; return;
    case Expr::Kind::kCall: print_call(out, expr); return;
    case Expr::Kind::kBinary: print_binary(out, expr); return;
    case Expr::Kind::kUnary:
      out += expr.text == "-" ? "-" : expr.text + ' ';
      print_at(out, *expr.args[0], level(expr));
      return;
    case Expr::Kind::kList:
      out += '[';
      for (std::size_t i = 0; i < expr.args.size(); ++i) {
        if (i > 0) out += ", ";
        print_at(out, *expr.args[i], kConditional);
      }
      out += ']';
      return;
    case Expr::Kind::kIndex:
    case Expr::Kind::kSlice:
      print_at(out, *expr.args[0], kPostfix);
      out += '[';
      if (expr.args[1]) print_at(out, *expr.args[1], kConditional);
      if (expr.kind == Expr::Kind::kSlice) out += ':';
      if (expr.args.size() > 2 && expr.args[2]) print_at(out, *expr.args[2], kConditional);
      out += ']';
      return;
    case Expr::Kind::kResult:
      print_at(out, *expr.args[0], kPostfix);
      out += '.' + expr.text;
      return;
    case Expr::Kind::kConditional:
      print_at(out, *expr.args[1], kOr);
      out += " if ";
      print_at(out, *expr.args[0], kOr);
      out += " else ";
      print_at(out, *expr.args[2], kConditional);
      return;
  }
}

void print_at(std::string& out, const Expr& expr, int least) {
  const bool nested = level(expr) < least;
  if (nested) out += '(';
  print_plain(out, expr);
  if (nested) out += ')';
}

}  // namespace

std::string print_expr(const Expr& expr) {
  std::string out;
  print_at(out, expr, kConditional);
  return out;
}

}  // namespace fusewright::ops
