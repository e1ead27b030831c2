#include <algorithm>
#include <set>

#include "fusewright/rule/check.hpp"
#include "src/rule/checker.hpp"

namespace fusewright::rule {

using ops::Expr;

namespace {

struct KindName {
  KindSet kind;
  const char* text;
};
constexpr KindSet kElements = kNumbers | kTexts;  // of a list
constexpr KindName kNames[] = {{kTensors, "a tensor"}, {kNumbers, "a number"}, {kTruths, "true or false"},
                               {kTexts, "a text"},     {kDTypes, "a dtype"},   {kLists, "a list"}};

std::string kind_text(KindSet kinds) {
  std::string text;
  for (const auto& [kind, name] : kNames) {
    if ((kinds & kind) != 0) text += (text.empty() ? "" : " or ") + std::string(name);
  }
  return text;
}

/// What a built-in function takes, by position, and gives. `grammar/LANGUAGE.md` describes them.
struct FunctionKinds {
  const char* name;
  std::vector<KindSet> takes;
  KindSet gives;
};

const FunctionKinds* find_kinds(const std::string& name) {
  constexpr KindSet shape = kTensors | kLists, axes = kNumbers | kLists, typed = kTensors | kDTypes;
  static const std::vector<FunctionKinds> table = {
      {"rank", {shape}, kNumbers},
      {"shape", {kTensors}, kLists},
      {"dim", {shape, kNumbers}, kNumbers},
      {"size", {shape, axes}, kNumbers},
      {"dtype", {typed}, kDTypes},
      {"bits", {typed}, kNumbers},
      {"is_float", {typed}, kTruths},
      {"is_integer", {typed}, kTruths},
      {"present", {kAnyKind}, kTruths},
      {"broadcast_shape", {shape, shape}, kLists},
      {"broadcasts_to", {shape, shape}, kTruths},
      {"len", {kLists}, kNumbers},
      {"range", {kNumbers, kNumbers}, kLists},
      {"reversed", {shape}, kLists},
      {"sorted", {kLists}, kLists},
      {"contains", {kLists, kElements}, kTruths},
      {"sum", {kLists}, kNumbers},
      {"prod", {kLists}, kNumbers},
      {"permute", {shape, axes}, kLists},
      {"invert", {kLists}, kLists},
      {"replace", {shape, axes, kNumbers}, kLists},
      {"without", {shape, axes}, kLists},
      {"plus", {kLists, kLists}, kLists},
      {"minus", {kLists, kLists}, kLists},
      {"normalize", {axes, kNumbers}, axes},
      {"all_axes", {shape | kNumbers}, kLists},
      {"axes_except", {shape | kNumbers, axes}, kLists},
      {"min", {axes, kNumbers}, kNumbers},
      {"max", {axes, kNumbers}, kNumbers},
      {"abs", {kNumbers}, kNumbers},
      {"sqrt", {kNumbers}, kNumbers},
      {"exp", {kNumbers}, kNumbers},
      {"log", {kNumbers}, kNumbers},
      {"floor", {kNumbers}, kNumbers},
      {"ceil", {kNumbers}, kNumbers},
      {"round", {kNumbers}, kNumbers},
      {"pow", {kNumbers, kNumbers}, kNumbers},
      {"float", {kNumbers | kTruths}, kNumbers},
      {"int", {kNumbers | kTruths}, kNumbers},
      {"bool", {kNumbers | kTruths}, kTruths},
      {"broadcast_to", {kTensors, shape}, kTensors},
      {"unsqueeze", {kTensors, axes}, kTensors},
      {"squeeze", {kTensors, axes}, kTensors},
      {"literal", {kNumbers | kLists | kTruths, typed, shape}, kTensors},
  };
  const auto at = std::find_if(table.begin(), table.end(), [&](const auto& row) { return row.name == name; });
  return at == table.end() ? nullptr : &*at;
}

/// Whether a list is one of extents or axes.
bool holds_numbers(const Expr& list) {
  static const std::set<std::string> functions = {"shape",     "broadcast_shape", "range", "invert", "all_axes",
                                                  "normalize", "axes_except",     "plus",  "minus"};
  return list.kind == Expr::Kind::kCall && functions.contains(list.text);
}

/// Works out what an expression can be; reports where none of it fits. Never narrower than what can come.
class Kinds {
 public:
  explicit Kinds(ExprContext& context) : c_(context) {}

  KindSet of(const ExprPtr& expr) {
    if (expr == nullptr) return kAnyKind;
    switch (expr->kind) {
      case Expr::Kind::kInt:
      case Expr::Kind::kFloat: return kNumbers;
      case Expr::Kind::kString: return kTexts;
      case Expr::Kind::kBool: return kTruths;
      case Expr::Kind::kName: return of_name(*expr);
      case Expr::Kind::kList:
        for (const auto& item : expr->args) want(item, kElements, "an element of a list");
        return kLists;
      case Expr::Kind::kCall: return of_call(*expr);
      case Expr::Kind::kUnary: return of_unary(*expr);
      case Expr::Kind::kBinary: return of_binary(*expr);
      case Expr::Kind::kIndex:
        want(expr->args[0], kLists, "what an index is taken of");
        want(expr->args[1], kNumbers, "an index");
        return holds_numbers(*expr->args[0]) ? kNumbers : kElements;
      case Expr::Kind::kSlice:
        want(expr->args[0], kLists, "what a range is taken of");
        for (std::size_t i = 1; i < expr->args.size(); ++i) want(expr->args[i], kNumbers, "the end of a range");
        return kLists;
      case Expr::Kind::kResult: of(expr->args[0]); return kAnyKind;
      case Expr::Kind::kConditional: {
        want(expr->args[0], kTruths, "a condition");
        const KindSet yes = of(expr->args[1]);
        return yes | of(expr->args[2]);
      }
    }
    return kAnyKind;
  }

  /// Reports an expression that can be none of these; it has no kind from there on, so that one slip is one error.
  KindSet want(const ExprPtr& expr, KindSet wanted, const std::string& role) {
    const KindSet is = of(expr);
    if ((is & wanted) != 0 || is == 0) return is;
    mismatch(*expr, is, role + " is " + kind_text(wanted), wanted);
    return 0;
  }

  void mismatch(const Expr& expr, KindSet is, const std::string& rule, KindSet wanted) {
    std::vector<Note> notes;
    std::string subject = "this", suggestion;
    if (is == kNumbers && wanted == kTensors) suggestion = "literal(number, dtype, shape) is a tensor of one number";
    if (expr.kind == Expr::Kind::kName) {
      subject = "'" + expr.text + "'";
      const auto at = c_.scope.find(expr.text);
      if (at != c_.scope.end() && at->second.span.valid()) notes.push_back({at->second.span, "it is bound here"});
      std::vector<std::string> others;
      for (const auto& [name, binding] : c_.scope) {
        if (!binding.derived && name != expr.text && (binding.kinds & wanted) != 0) others.push_back(name);
      }
      if (const std::string near = did_you_mean(expr.text, others); !near.empty()) suggestion = near;
    }
    c_.reports.error(expr.span, subject + " is " + kind_text(is) + ", but " + rule, std::move(suggestion),
                     std::move(notes));
  }

 private:
  KindSet of_name(const Expr& expr) const {
    if (const auto at = c_.scope.find(expr.text); at != c_.scope.end()) return at->second.kinds;
    if (const std::size_t dot = expr.text.find('.'); dot != std::string::npos) return of_attribute(expr.text, dot);
    if (ops::dtype_from_name(expr.text)) return kDTypes;
    return expr.text == "inf" || expr.text == "nan" || expr.text == "pi" || expr.text == "e" ? kNumbers : kAnyKind;
  }

  KindSet of_attribute(const std::string& text, std::size_t dot) const {
    const auto at = c_.scope.find(text.substr(0, dot));
    if (at == c_.scope.end()) return kAnyKind;
    KindSet kinds = 0;
    for (const OpId op : at->second.ops.ops) {
      if (const auto* spec = find_attr(c_.table[op], text.substr(dot + 1))) kinds |= kinds_of(spec->kind);
    }
    return kinds == 0 ? kAnyKind : kinds;
  }

  KindSet of_unary(const Expr& expr) {
    if (expr.text == "not") return want(expr.args[0], kTruths | kTensors, "what is negated") & (kTruths | kTensors);
    return want(expr.args[0], kNumbers | kTensors, "what has a sign") & (kNumbers | kTensors);
  }

  KindSet of_binary(const Expr& expr) {
    const std::string& op = expr.text;
    const ExprPtr &left = expr.args[0], &right = expr.args[1];
    if (op == "??") return of(left) | of(right);
    if (op == "along") {
      want(left, kTensors | kNumbers, "what lies along an axis");
      want(right, kNumbers | kLists, "an axis");
      return kTensors;
    }
    if (op == "in" || op == "not in") {
      const KindSet list = want(right, kLists, "what stands behind 'in'");
      if ((list & kLists) != 0) want(left, kElements, "what is looked for in a list");
      return kTruths;
    }
    if (op == "and" || op == "or") {
      const KindSet a = want(left, kTruths | kTensors, "what stands beside '" + op + "'");
      const KindSet b = want(right, kTruths | kTensors, "what stands beside '" + op + "'");
      return arithmetic(a, b, kTruths);
    }
    const bool ordered = op == "<" || op == "<=" || op == ">" || op == ">=";
    if (ordered || op == "==" || op == "!=") return of_comparison(expr, ordered);
    const bool lists = op == "+" || op == "*";
    const KindSet allowed = kNumbers | kTensors | (lists ? kLists | kTexts : 0);
    const KindSet a = want(left, allowed, "an operand of '" + op + "'");
    const KindSet b = want(right, allowed, "an operand of '" + op + "'");
    if ((a == kTensors && b == kLists) || (a == kLists && b == kTensors)) {
      const ExprPtr& list = a == kLists ? left : right;
      mismatch(*list, kLists, "the other operand of '" + op + "' is a tensor", kTensors | kNumbers);
      return 0;
    }
    const auto is_no_list = [](KindSet kinds) { return kinds != 0 && (kinds & (kLists | kTensors)) == 0; };
    if (op == "+" && ((a == kLists && is_no_list(b)) || (is_no_list(a) && b == kLists))) {
      const bool first = b == kLists;
      mismatch(first ? *left : *right, first ? a : b, "lists are joined with lists", kLists);
      return 0;
    }
    return arithmetic(a, b, (kNumbers | (lists ? kLists | kTexts : 0)) & (a | b));
  }

  /// Of tensors where one can be there, else what numbers give.
  static KindSet arithmetic(KindSet a, KindSet b, KindSet otherwise) {
    if (a == 0 || b == 0) return 0;
    if (a == kTensors || b == kTensors) return kTensors;
    const KindSet tensors = (a | b) & kTensors;
    return tensors | otherwise;
  }

  KindSet of_comparison(const Expr& expr, bool ordered) {
    const KindSet a = of(expr.args[0]), b = of(expr.args[1]);
    if (a == 0 || b == 0) return 0;
    if (a == kTensors || b == kTensors) return kTensors;
    const KindSet allowed = kNumbers | kTensors;
    for (const auto& [arg, is] : {std::pair(expr.args[0], a), std::pair(expr.args[1], b)}) {
      if (ordered && (is & allowed) == 0) {
        mismatch(*arg, is, "what is ordered by '" + expr.text + "' is a number", kNumbers);
        return kTruths;
      }
    }
    const KindSet tensors = (a | b) & kTensors;
    if (tensors == 0 && (a & b) == 0) mismatch(*expr.args[1], b, "it is compared with " + kind_text(a), a);
    return kTruths | tensors;
  }

  KindSet of_call(const Expr& expr) {
    if (expr.text == "fold" && expr.args.size() == 1) return of(expr.args[0]);
    const bool asks = std::find(term_queries().begin(), term_queries().end(), expr.text) != term_queries().end() ||
                      std::find(plan_queries().begin(), plan_queries().end(), expr.text) != plan_queries().end();
    if (asks && !expr.args.empty()) {
      for (const auto& arg : expr.args) want(arg, kTensors, "what '" + expr.text + "' asks about");
      return expr.text == "value" ? kNumbers : kTruths;
    }
    const OpId op = c_.table.find(expr.text);
    const FunctionKinds* function = find_kinds(expr.text);
    if (op.valid() && (function == nullptr || operand_count_fits(c_.table[op], expr.args.size())))
      return of_operator(expr, c_.table[op], function);
    if (function != nullptr) {
      for (std::size_t i = 0; i < expr.args.size() && i < function->takes.size(); ++i)
        want(expr.args[i], function->takes[i], "argument " + std::to_string(i + 1) + " of " + expr.text);
      for (const auto& [key, value] : expr.named) of(value);
      return function->gives;
    }
    if (ops::dtype_from_name(expr.text) && expr.args.size() == 1) {
      want(expr.args[0], kTensors | kNumbers | kTruths, "what is converted to " + expr.text);
      return kTensors;
    }
    for (const auto& arg : expr.args) of(arg);
    return kAnyKind;
  }

  KindSet of_operator(const Expr& expr, const ops::OpInfo& info, const FunctionKinds* function) {
    const bool variadic = !info.operands.empty() && info.operands.back().variadic;
    KindSet all = 0;
    bool tensor = false;
    for (std::size_t i = 0; i < expr.args.size(); ++i) {
      if (variadic || i < info.operands.size()) {
        const KindSet wanted = kTensors | kNumbers | kTruths | (function != nullptr ? function->takes[i] : 0);
        const std::string name = i < info.operands.size() ? " '" + info.operands[i].name + "'" : "";
        const KindSet is = want(expr.args[i], wanted, "operand" + name + " of " + info.name);
        all |= is;
        tensor |= is == kTensors;
      } else if (i - info.operands.size() < positional_attrs(info)) {
        const ops::AttrSpec& spec = info.attrs[i - info.operands.size()];
        if (of(expr.args[i]) == kTensors && (kinds_of(spec.kind) & kTensors) == 0) {
          c_.reports.error(expr.args[i]->span,
                           info.name + " takes " + operand_count_text(info) + ", and this is one more",
                           "behind the operands stand attributes: '" + spec.name + "'");
          return kTensors;
        }
        attribute(info, spec, expr.args[i]);
      }
    }
    for (const auto& [key, value] : expr.named) {
      if (key == "..") continue;
      const auto* spec = find_attr(info, key);
      if (spec != nullptr)
        attribute(info, *spec, value);
      else
        want(value, kTensors | kNumbers | kTruths, "operand '" + key + "' of " + info.name);
    }
    if (function == nullptr || tensor) return kTensors;
    return (all & kTensors) != 0 ? kTensors | function->gives : function->gives;
  }

  void attribute(const ops::OpInfo& info, const ops::AttrSpec& spec, const ExprPtr& value) {
    want(value, kinds_of(spec.kind), "attribute '" + spec.name + "' of " + info.name);
  }

  ExprContext& c_;
};

}  // namespace

KindSet kinds_of(ops::AttrKind kind) {
  using ops::AttrKind;
  switch (kind) {
    case AttrKind::kInt:
    case AttrKind::kFloat: return kNumbers;
    case AttrKind::kBool: return kTruths | kNumbers;
    case AttrKind::kString: return kTexts;
    case AttrKind::kDType: return kDTypes;
    case AttrKind::kInts:
    case AttrKind::kFloats:
    case AttrKind::kStrings:
    case AttrKind::kShape: return kLists;
    case AttrKind::kTensor: return kAnyKind;
  }
  return kAnyKind;
}

KindSet check_kinds(const ExprPtr& expr, ExprContext& context, KindSet wanted, const std::string& role) {
  Kinds kinds(context);
  return wanted == kAnyKind ? kinds.of(expr) : kinds.want(expr, wanted, role);
}

}  // namespace fusewright::rule
