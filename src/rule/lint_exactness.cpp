#include <algorithm>
#include <cmath>

#include "src/rule/lint_passes.hpp"

namespace fusewright::rule {

namespace {

/// Whether an operator can round, so that computing something else with it gives other bits.
bool rounds(const ops::OpInfo& info) {
  using ops::OpClass;
  using ops::ScalarOp;
  switch (info.op_class) {
    case OpClass::kElementwise: break;
    case OpClass::kReduction:
    case OpClass::kWindow:
    case OpClass::kScan: return info.name.ends_with("_sum") || info.name.ends_with("_prod");
    case OpClass::kContraction:
    case OpClass::kConvolution: return true;
    case OpClass::kComposite:
    case OpClass::kMovement:
    case OpClass::kSort:
    case OpClass::kIndexing:
    case OpClass::kSource:
    case OpClass::kControl:
    case OpClass::kEffect:
    case OpClass::kUninterpreted: return false;
  }
  static const std::set<ScalarOp> kRounding = {
      ScalarOp::kExp,   ScalarOp::kExpm1, ScalarOp::kLog,   ScalarOp::kLog1p, ScalarOp::kSqrt,     ScalarOp::kRsqrt,
      ScalarOp::kCbrt,  ScalarOp::kSin,   ScalarOp::kCos,   ScalarOp::kTan,   ScalarOp::kAsin,     ScalarOp::kAcos,
      ScalarOp::kAtan,  ScalarOp::kSinh,  ScalarOp::kCosh,  ScalarOp::kTanh,  ScalarOp::kAsinh,    ScalarOp::kAcosh,
      ScalarOp::kAtanh, ScalarOp::kErf,   ScalarOp::kAdd,   ScalarOp::kSub,   ScalarOp::kLogistic, ScalarOp::kMul,
      ScalarOp::kDiv,   ScalarOp::kPow,   ScalarOp::kAtan2, ScalarOp::kFma};
  return info.scalar && kRounding.contains(*info.scalar);
}

/// Whether the elements of the result are elements of the first operand, or of several.
bool moves(const ops::OpInfo& info) {
  static const std::set<std::string> kIndexed = {"take", "take_along", "gather", "dynamic_slice",
                                                 "dynamic_update_slice"};
  return info.op_class == ops::OpClass::kMovement || kIndexed.contains(info.name);
}

/// Whether an operator is neither arithmetic nor exact, so that what it computes is known of it alone. A power may be a
/// product.
bool is_function(const ops::OpInfo& info) {
  using ops::ScalarOp;
  static const std::set<ScalarOp> kArithmetic = {ScalarOp::kAdd, ScalarOp::kSub, ScalarOp::kMul,
                                                 ScalarOp::kDiv, ScalarOp::kPow, ScalarOp::kFma};
  return info.op_class == ops::OpClass::kElementwise && rounds(info) && !kArithmetic.contains(*info.scalar);
}

/// Names of the functions in a term. Recursion as deep as the rule's text.
void functions_in(const ops::OpTable& table, const Term& term, std::set<std::string>& out) {
  for (const OpId op : term.ops)
    if (is_function(table[op])) out.insert(table[op].name);
  for (const Term& arg : term.args) functions_in(table, arg, out);
}

/// Whether a term may be what a function gives at one point, as exp(0 * x) is 1.
bool has_special_number(const Term& term) {
  const bool special =
      term.kind == Term::Kind::kNumber && (term.text.empty() || std::strtod(term.text.c_str(), nullptr) == 0 ||
                                           !std::isfinite(std::strtod(term.text.c_str(), nullptr)));
  return special || term.kind == Term::Kind::kOpaque || std::ranges::any_of(term.args, has_special_number);
}

/// The function that both sides cannot be equal without knowing: one that only the right side takes, or one whose value
/// the left side is and that the right side does not take. Empty where there is none for sure.
std::string function_that_differs(const ops::OpTable& table, const Term& from, const Term& to) {
  std::set<std::string> before, after;
  functions_in(table, from, before);
  functions_in(table, to, after);
  for (const std::string& name : after)
    if (!before.contains(name)) return name;
  const Term* root = &from;
  const auto is_move = [&](const Term& term) {
    const bool one = term.kind == Term::Kind::kApply && term.ops.size() == 1 && !term.args.empty();
    return one && (moves(table[term.ops[0]]) || table[term.ops[0]].scalar == ops::ScalarOp::kNeg);
  };
  while (is_move(*root)) root = root->args.data();
  if (root->kind != Term::Kind::kApply || root->ops.size() != 1 || has_special_number(*root)) return {};
  const ops::OpInfo& info = table[root->ops[0]];
  return is_function(info) && !after.contains(info.name) ? info.name : std::string();
}

/// Whether a rule speaks of the numbers of its operands, at which functions may have special values.
bool asks_for_numbers(const RewriteRule& rule) {
  return std::ranges::any_of(rule.guards, [](const Guard& guard) {
    return std::ranges::any_of(std::array{"is_zero(", "is_one(", "value(", "same("},
                               [&](const char* call) { return guard.text.find(call) != std::string::npos; });
  });
}

bool is_power_of_two(double x) {
  int exponent = 0;
  return x != 0 && std::isfinite(x) && std::abs(std::frexp(x, &exponent)) == 0.5;
}

/// What a term computes with operators that round, in a form that leaves out what hardly can change a bit: moves,
/// signs, factors that are powers of two. `strict` leaves out what surely changes none: a sign of zero, and what leaves
/// the range of the dtype, are seen by some bit.
class Roundings {
 public:
  Roundings(const ops::OpTable& table, bool strict) : table_(table), strict_(strict) {}

  std::string read(const Term& term) {
    if (term.kind != Term::Kind::kApply || term.ops.empty()) {
      approximate |= term.text.starts_with('~') || term.text.find(" within ") != std::string::npos;
      return term.text.starts_with('-') ? term.text.substr(1) : term.text;
    }
    const ops::OpInfo& info = table_[term.ops[0]];
    std::vector<std::string> args;
    for (const Term& arg : term.args) args.push_back(operand(info, arg));
    const bool sign = !strict_ && (info.scalar == ops::ScalarOp::kNeg || info.scalar == ops::ScalarOp::kAbs);
    composite |= info.op_class == ops::OpClass::kComposite;
    narrows |= info.name == "convert" || info.name == "reduce_precision";
    // Which elements an index picks is not told by its key: what surely is the same has indexed the same.
    const bool move = strict_ ? info.op_class == ops::OpClass::kMovement : moves(info);
    if (!args.empty() && (move || sign || scales(info, term))) return args[0];
    if (args.size() == 2 && commutes(info)) std::sort(args.begin(), args.end());
    std::string key = names(term) + "(";
    for (const std::string& arg : args) key += arg + ",";
    key += ")";
    const bool round = std::any_of(term.ops.begin(), term.ops.end(), [&](OpId op) { return rounds(table_[op]); });
    if (round) keys.insert(key);
    return key;
  }

  std::set<std::string> keys;
  bool approximate = false, narrows = false, composite = false;
  bool chooses = false;  ///< what is rounded is one of two: it may be rounded before it is chosen

 private:
  /// Sums and products of whole axes go through them in an order that moves change.
  std::string operand(const ops::OpInfo& info, const Term& arg) {
    std::string key = read(arg);
    if (arg.kind != Term::Kind::kApply || arg.ops.empty()) return key;
    const ops::OpInfo& from = table_[arg.ops[0]];
    chooses |= rounds(info) && from.name == "select";
    const bool moved = strict_ && from.op_class == ops::OpClass::kMovement &&
                       info.op_class != ops::OpClass::kElementwise && info.op_class != ops::OpClass::kMovement;
    return moved ? from.name + "(" + key + ")" : key;
  }
  bool commutes(const ops::OpInfo& info) const {
    return info.commutative || (!strict_ && info.scalar == ops::ScalarOp::kSub);  // signs are left out
  }
  /// `x - y` is `x + -y`.
  std::string names(const Term& term) const {
    std::string text;
    for (const OpId op : term.ops) {
      const bool sub = !strict_ && table_[op].scalar == ops::ScalarOp::kSub;
      text += (text.empty() ? "" : "|") + (sub ? std::string("add") : table_[op].name);
    }
    return text;
  }
  /// Times or over a power of two, the first power, and a sum with zero.
  bool scales(const ops::OpInfo& info, const Term& term) const {
    using ops::ScalarOp;
    if (term.args.size() != 2 || !info.scalar) return false;
    const Term& by = term.args[1];
    if (by.kind != Term::Kind::kNumber || by.text.empty() || by.text.starts_with('~')) return false;
    const double number = std::strtod(by.text.c_str(), nullptr);
    if (*info.scalar == ScalarOp::kMul || *info.scalar == ScalarOp::kDiv)
      return strict_ ? number == 1 : is_power_of_two(number);
    if (*info.scalar == ScalarOp::kPow) return number == 1;
    if (strict_) return false;  // -0 + 0 is 0
    return (*info.scalar == ScalarOp::kAdd || *info.scalar == ScalarOp::kSub) && number == 0;
  }

  const ops::OpTable& table_;
  bool strict_;
};

/// `dtype(x) == s32`, `dtype(x) == pred`
bool asks_for_no_float(const ops::Expr& expr) {
  if (expr.kind != ops::Expr::Kind::kBinary || expr.text != "==") return false;
  return std::ranges::any_of(expr.args, [](const ExprPtr& side) {
    const auto dtype = side->kind == ops::Expr::Kind::kName ? ops::dtype_from_name(side->text) : std::nullopt;
    return dtype && !ops::is_float(*dtype);
  });
}

/// Integers and truth values do not round, so what is said of them alone is exact.
bool may_be_float(const RewriteRule& rule, const RewriteVariant& variant, const PatternTypes& types) {
  for (const Guard& guard : rule.guards) {
    if (guard.text.find("is_integer(") != std::string::npos || asks_for_no_float(*guard.expr)) return false;
  }
  return std::ranges::any_of(variant.roots, [&](std::uint32_t root) {
    std::string name = variant.nodes[root].name.empty() ? "#" + std::to_string(root) : variant.nodes[root].name;
    if (const auto same = types.facts.same_dtype.find(name); same != types.facts.same_dtype.end()) name = same->second;
    const auto at = types.facts.dtypes.find("dtype(" + name + ")");
    if (at == types.facts.dtypes.end()) return true;
    for (std::size_t i = 0; i < kDTypeCount; ++i)
      if (at->second[i] && ops::is_float(static_cast<ops::DType>(i))) return true;
    return false;
  });
}

}  // namespace

void lint_exactness(const RuleSet& rules, Reports& reports) {
  const ops::OpTable& table = *rules.table;
  TypeLints types(table);
  for (const RewriteRule& rule : rules.rewrites) {
    if (rule.origin != RewriteRule::Origin::kWritten || rule.variants.empty()) continue;
    bool other = false;  // a rounding that the pattern does not have, or one of the pattern that is left out
    bool judged = true;
    std::string function;
    for (const RewriteVariant& variant : rule.variants) {
      if (!may_be_float(rule, variant, types.of(rule, variant))) {
        judged = false;
        break;
      }
      const Terms terms(table, variant);
      const bool strict = !rule.exactness.bitexact();  // a warning in vain is worse than none
      Roundings before(table, strict), after(table, strict);
      std::vector<std::string> roots;
      for (const std::uint32_t root : variant.roots) roots.push_back(before.read(terms.of_node(root)));
      for (const ExprPtr& to : variant.to) after.read(terms.of_expr(to));
      // What a composite operator rounds is in its body.
      judged = !before.approximate && !before.narrows && !before.composite && !after.composite && !before.chooses &&
               !after.chooses;
      if (!judged) break;
      if (function.empty() && !asks_for_numbers(rule))
        function = function_that_differs(table, terms.from(), terms.to());
      other |= strict && before.keys != after.keys;
      other |= !std::includes(before.keys.begin(), before.keys.end(), after.keys.begin(), after.keys.end());
      for (const std::string& root : roots) other |= before.keys.contains(root) && !after.keys.contains(root);
    }
    if (!judged) continue;
    if (rule.exactness.bitexact() && other) {
      reports.warning("exactness-missing", rule.span,
                      "'" + rule.name + "' is bitexact, but rounds floats where its pattern does not, or the reverse");
    } else if (!rule.exactness.bitexact() && !rule.exactness.has(ExactnessClass::kApproximate) && !function.empty()) {
      reports.warning("exactness-missing", rule.span,
                      "'" + rule.name + "' is " + to_string(rule.exactness) + ", but equal only by what '" + function +
                          "' computes: that is approximate(RELATIVE ERROR)");
    } else if (!rule.exactness.bitexact() && !other) {
      reports.warning("exactness-unneeded", rule.span,
                      "'" + rule.name + "' is " + to_string(rule.exactness) +
                          ", but rounds what its pattern rounds and nothing else: bitexact would do");
    }
  }
}

}  // namespace fusewright::rule
