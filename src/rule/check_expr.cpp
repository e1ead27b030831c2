#include <algorithm>

#include "fusewright/rule/check.hpp"
#include "src/rule/checker.hpp"
#include "src/rule/make_expr.hpp"
#include "src/rule/spelling.hpp"

namespace fusewright::rule {

using ops::Expr;

namespace {

/// Axes of a convolution by their role: an entry of one of its dimension numbers.
struct RoleRow {
  const char* name;
  const char* attr;
  std::int64_t position;
};
constexpr RoleRow kRoles[] = {
    {"out_feature", "rhs_spec", 0}, {"in_feature", "rhs_spec", 1},    {"feature", "out_spec", 1},
    {"batch", "out_spec", 0},       {"input_feature", "lhs_spec", 1}, {"input_batch", "lhs_spec", 0},
};

template <class Row, std::size_t N>
const Row* find_row(const Row (&rows)[N], const std::string& name) {
  const auto at = std::find_if(std::begin(rows), std::end(rows), [&](const Row& row) { return row.name == name; });
  return at == std::end(rows) ? nullptr : at;
}

const std::vector<ops::FunctionSignature>& functions() {
  static const std::vector<ops::FunctionSignature> signatures = ops::function_signatures();
  return signatures;
}
const ops::FunctionSignature* find_function(const std::string& name) {
  const auto at = std::find_if(functions().begin(), functions().end(), [&](const auto& f) { return f.name == name; });
  return at == functions().end() ? nullptr : &*at;
}

/// The name in front of `= value`; the value itself where more than blanks stand between.
Span key_span(const std::string& key, const Span& value) {
  if (!value.valid()) return value;
  const std::string_view before = std::string_view(value.source->text).substr(0, value.begin);
  const auto trimmed = [](std::string_view text) {
    return text.substr(0, text.find_last_not_of(" \t\r\n") + 1);  // npos + 1 is 0
  };
  std::string_view left = trimmed(before);
  if (!left.ends_with('=')) return value;
  left.remove_suffix(1);
  left = trimmed(left);
  if (!left.ends_with(key)) return value;
  Span span = value;
  span.begin = static_cast<std::uint32_t>(left.size() - key.size());
  span.end = static_cast<std::uint32_t>(left.size());
  return span;
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

class Lowering {
 public:
  explicit Lowering(ExprContext& context) : c_(context) {}

  ExprPtr lower(const ExprPtr& expr) {
    if (expr == nullptr) return nullptr;
    switch (expr->kind) {
      case Expr::Kind::kInt:
      case Expr::Kind::kString:
      case Expr::Kind::kBool: return expr;
      case Expr::Kind::kFloat: return literal(expr);
      case Expr::Kind::kName: return name(expr);
      case Expr::Kind::kCall: return call(*expr);
      case Expr::Kind::kResult: return result(expr);
      case Expr::Kind::kBinary:
        if (expr->text == "along") {
          c_.reports.error(expr->span,
                           "'along' places a vector along an axis of the operand next to it, as in w * s along 0");
          return expr;
        }
        return binary(*expr);
      case Expr::Kind::kList: return list(*expr);
      case Expr::Kind::kUnary:
      case Expr::Kind::kIndex:
      case Expr::Kind::kSlice:
      case Expr::Kind::kConditional: return children(*expr);
    }
    return expr;
  }

 private:
  ExprPtr children(const Expr& expr) {
    Expr out = expr;
    for (auto& arg : out.args) arg = lower(arg);
    for (auto& [key, value] : out.named) value = lower(value);
    return share(std::move(out));
  }

  ExprPtr literal(const ExprPtr& expr) {
    if (!expr->approximate || !c_.hide_literals) return expr;
    const std::string attr = "literal_" + std::to_string(c_.literals.size() + 1);
    c_.literals.emplace_back(attr, expr->number);
    return share(leaf(Expr::Kind::kName, expr->span, attr));
  }

  const Binding* extent_named(const Expr& expr) const {
    if (expr.kind != Expr::Kind::kName) return nullptr;
    const auto at = c_.scope.find(expr.text);
    return at != c_.scope.end() && at->second.extent != nullptr ? &at->second : nullptr;
  }

  /// `[n, 4]` of an extent `n` is joined of lists, for a symbol is no number.
  ExprPtr list(const Expr& expr) {
    if (std::ranges::none_of(expr.args, [&](const ExprPtr& item) { return extent_named(*item) != nullptr; }))
      return children(expr);
    ExprPtr joined;
    for (const ExprPtr& item : expr.args) {
      ExprPtr one;
      if (const Binding* extent = extent_named(*item)) {
        Expr there = *extent->extent;
        there.span = item->span;
        one = share(std::move(there));
      } else {
        Expr alone = leaf(Expr::Kind::kList, item->span);
        alone.args = {lower(item)};
        one = share(std::move(alone));
      }
      if (joined != nullptr) {
        Expr both = leaf(Expr::Kind::kBinary, expr.span, "+");
        both.args = {std::move(joined), std::move(one)};
        one = share(std::move(both));
      }
      joined = std::move(one);
    }
    return joined;
  }

  ExprPtr name(const ExprPtr& expr) {
    if (const Binding* extent = extent_named(*expr)) {
      c_.reports.error(expr->span,
                       "'" + expr->text + "' is an extent that is not known: it can stand in a list, as in [" +
                           expr->text + ", 4], and nothing else be made of it",
                       {}, {{extent->span, "it is named here"}});
      return expr;
    }
    c_.used.insert(expr->text);
    if (c_.scope.contains(expr->text) || is_constant_name(expr->text)) return expr;
    std::vector<std::string> known;
    for (const auto& [key, binding] : c_.scope) known.push_back(key);
    std::string near = is_function(expr->text) ? "it is a function: " + expr->text + "(x)" : std::string();
    if (near.empty()) near = did_you_mean(expr->text, known);
    if (near.empty()) near = dtype_meant(expr->text);
    c_.reports.error(expr->span, "'" + expr->text + "' is not bound here", std::move(near));
    return expr;
  }

  static bool is_along(const Expr& expr) { return expr.kind == Expr::Kind::kBinary && expr.text == "along"; }

  /// An operand, which may be placed along axes where the operator is elementwise.
  ExprPtr operand(const ExprPtr& expr, bool elementwise) {
    return elementwise && is_along(*expr) ? children(*expr) : lower(expr);
  }

  /// `x in [a, b]` is x == a or x == b, so that the elements may be of any kind.
  ExprPtr in_list(const Expr& expr) {
    const bool in = expr.text == "in";
    ExprPtr out;
    for (const ExprPtr& item : expr.args[1]->args) {
      Expr same = leaf(Expr::Kind::kBinary, expr.span, in ? "==" : "!=");
      same.args = {expr.args[0], item};
      ExprPtr one = share(std::move(same));
      if (out == nullptr) {
        out = std::move(one);
        continue;
      }
      Expr both = leaf(Expr::Kind::kBinary, expr.span, in ? "or" : "and");
      both.args = {std::move(out), std::move(one)};
      out = share(std::move(both));
    }
    if (out != nullptr) return lower(out);
    Expr nothing = leaf(Expr::Kind::kBool, expr.span, {});
    nothing.integer = in ? 0 : 1;
    return share(std::move(nothing));
  }

  ExprPtr binary(const Expr& expr) {
    if ((expr.text == "in" || expr.text == "not in") && expr.args[1]->kind == Expr::Kind::kList) return in_list(expr);
    if (is_along(*expr.args[0]) && is_along(*expr.args[1])) {
      c_.reports.error(expr.span, "one of the two operands must have all axes for 'along' to place the other in");
    }
    Expr out = expr;
    for (auto& arg : out.args) arg = operand(arg, true);
    return share(std::move(out));
  }

  /// The name of attribute `attr` of node `node`, when every operator it can be has one.
  ExprPtr attribute_of(const std::string& node, const std::string& attr, const Span& span) {
    c_.used.insert(node);
    const Binding& binding = c_.scope.at(node);
    for (const OpId op : binding.ops.ops) {
      const auto& info = c_.table[op];
      if (find_attr(info, attr) != nullptr) continue;
      std::vector<std::string> known;
      for (const auto& spec : info.attrs) known.push_back(spec.name);
      std::string meant = contains(info.results, attr)
                              ? "a result is named in the pattern: " + info.name + "(...)." + attr + " as " + node
                              : member_meant(node, attr);
      c_.reports.error(span, "'" + node + "' can be " + info.name + ", which has no attribute '" + attr + "'",
                       meant.empty() ? attr_meant(attr, known) : std::move(meant),
                       {{binding.span, "it is bound here"}});
      return share(leaf(Expr::Kind::kName, span, node));
    }
    c_.attr_refs.insert({node, attr});
    return share(leaf(Expr::Kind::kName, span, node + "." + attr));
  }

  std::vector<Note> bound_at(const std::string& name) const {
    const auto at = c_.scope.find(name);
    if (at == c_.scope.end() || !at->second.span.valid()) return {};
    return {{at->second.span, "it is bound here"}};
  }

  bool is_node(const Expr& expr) const {
    if (expr.kind != Expr::Kind::kName) return false;
    const auto at = c_.scope.find(expr.text);
    return at != c_.scope.end() && !at->second.ops.ops.empty();
  }

  ExprPtr result(const ExprPtr& expr) {
    const Expr& base = *expr->args[0];
    if (is_node(base)) return attribute_of(base.text, expr->text, expr->span);
    if (base.kind == Expr::Kind::kName && c_.place == ExprPlace::kBody && c_.scope.contains(base.text)) {
      c_.used.insert(base.text);  // a let that holds all results of a call
      return expr;
    }
    if (base.kind == Expr::Kind::kName && c_.scope.contains(base.text)) {
      if (c_.scope.at(base.text).unknown) return expr;
      c_.reports.error(expr->span,
                       "'" + base.text + "' is not a node that was given a name with 'as', so it has no attributes",
                       member_meant(base.text, expr->text), bound_at(base.text));
      return expr;
    }
    Expr out = *expr;
    out.args[0] = lower(expr->args[0]);
    const OpId op = base.kind == Expr::Kind::kCall ? c_.table.find(base.text) : OpId();
    if (op.valid() && !contains(c_.table[op].results, expr->text)) {
      c_.reports.error(expr->span, base.text + " has no result '" + expr->text + "'",
                       did_you_mean(expr->text, c_.table[op].results));
    }
    return share(std::move(out));
  }

  ExprPtr call(const Expr& expr) {
    if (const RoleRow* role = find_row(kRoles, expr.text)) return role_axis(expr, *role);
    const auto bound = c_.scope.find(expr.text);
    if (bound != c_.scope.end() && bound->second.op_name) return apply_bound(expr, bound->second);
    const bool asks = contains(term_queries(), expr.text) || contains(plan_queries(), expr.text);
    if (asks && !expr.args.empty()) return query(expr);  // constant(w) is no application of the operator `constant`
    const OpId op = c_.table.find(expr.text);
    const ops::FunctionSignature* function = find_function(expr.text);
    // max, min, sqrt, ... are operators of tensors and functions of numbers; which one shows only when it is
    // elaborated.
    if (op.valid() && (function == nullptr || operand_count_fits(c_.table[op], expr.args.size()))) {
      return apply(expr, c_.table[op]);
    }
    if (function != nullptr) return call_function(expr, *function);
    if (expr.text == "fold" && expr.args.size() == 1) return children(expr);
    if (asks) return query(expr);
    if (ops::dtype_from_name(expr.text) && expr.args.size() == 1) return children(expr);
    if (bound != c_.scope.end() && bound->second.span.valid()) {
      c_.reports.error(callee_span(expr), "'" + expr.text + "' is no operator that could be applied", {},
                       {{bound->second.span, "it is bound here"}});
      return children(expr);
    }
    std::vector<std::string> known = c_.table.names();
    for (const auto& row : functions()) known.push_back(row.name);
    for (const auto& row : kRoles) known.emplace_back(row.name);
    for (const auto& name : term_queries()) known.push_back(name);
    if (c_.place != ExprPlace::kBody && c_.place != ExprPlace::kTest)
      for (const auto& name : plan_queries()) known.push_back(name);
    const bool dtype = !dtype_of_others(expr.text).empty();
    c_.reports.unknown(callee_span(expr), expr.text, "there is no operator or function '" + expr.text + "'",
                       dtype ? dtype_meant(expr.text) : operator_meant(expr.text, known));
    return children(expr);
  }

  static Span callee_span(const Expr& expr) {
    Span span = expr.span;
    span.end = std::min<std::uint32_t>(span.end, span.begin + static_cast<std::uint32_t>(expr.text.size()));
    return span;
  }

  ExprPtr call_function(const Expr& expr, const ops::FunctionSignature& function) {
    const std::size_t given = expr.args.size() + expr.named.size();
    const std::size_t most = function.parameters.size();
    if (given < function.needed || given > most) {
      std::string wanted = std::to_string(function.needed);
      if (most > function.needed) wanted += " to " + std::to_string(most);
      c_.reports.error(expr.span, expr.text + " takes " + wanted + (most == 1 ? " argument" : " arguments") + ", not " +
                                      std::to_string(given));
    }
    for (const auto& [key, value] : expr.named) {
      if (!contains(function.parameters, key)) {
        c_.reports.error(key_span(key, value->span), expr.text + " has no parameter '" + key + "'",
                         did_you_mean(key, function.parameters));
      }
    }
    return children(expr);
  }

  ExprPtr role_axis(const Expr& expr, const RoleRow& role) {
    if (expr.args.size() != 1 || !is_node(*expr.args[0])) {
      const bool named = expr.args.size() == 1 && expr.args[0]->kind == Expr::Kind::kName;
      c_.reports.error(expr.span, expr.text + " takes a convolution that was given a name with 'as'", {},
                       named ? bound_at(expr.args[0]->text) : std::vector<Note>());
      return children(expr);
    }
    Expr position = leaf(Expr::Kind::kInt, expr.span, {});
    position.integer = role.position;
    Expr index = leaf(Expr::Kind::kIndex, expr.span, {});
    index.args = {attribute_of(expr.args[0]->text, role.attr, expr.span), share(std::move(position))};
    return share(std::move(index));
  }

  ExprPtr query(const Expr& expr) {
    const bool of_plan = contains(plan_queries(), expr.text);
    if (c_.place == ExprPlace::kBody || c_.place == ExprPlace::kTest) {
      c_.reports.error(expr.span, "'" + expr.text + "' is a condition of rules; it has no meaning here");
    } else if (of_plan && c_.place == ExprPlace::kRewrite) {
      c_.reports.error(expr.span, "'" + expr.text +
                                      "' is judged on the plan, so only a fuse rule can ask for it; in a rewrite "
                                      "it would depend on the order of saturation");
    }
    if (expr.args.empty() || (of_plan && expr.args.size() != 1)) {
      c_.reports.error(expr.span, expr.text + (of_plan ? " takes one name" : " takes at least one tensor"));
    }
    return children(expr);
  }

  // act(x) where `(relu | gelu)(_) as act` matched: the variant knows the operator.
  ExprPtr apply_bound(const Expr& expr, const Binding& binding) {
    c_.used.insert(expr.text);
    Expr out = expr;
    if (binding.ops.ops.size() == 1) out.text = c_.table[binding.ops.ops[0]].name;
    if (binding.ops.ops.empty()) return children(out);
    return apply(out, c_.table[binding.ops.ops[0]]);
  }

  ExprPtr apply(const Expr& expr, const ops::OpInfo& info) {
    Expr out = expr;
    out.text = info.name;
    const bool elementwise = info.op_class == ops::OpClass::kElementwise && info.operands.size() > 1;
    for (auto& arg : out.args) arg = operand(arg, elementwise);
    std::set<std::string> given;
    std::size_t operands = given_operands(expr, info, given);
    bool all_known = true;
    for (auto& [key, value] : out.named) {
      if (key == "..") {
        take_rest(info, value->text, value->span, given);
        continue;
      }
      if (!given.insert(key).second) c_.reports.error(key_span(key, value->span), "'" + key + "' is given twice");
      const bool is_operand = is_operand_name(info, key);
      if (is_operand) ++operands;
      if (!is_operand && find_attr(info, key) == nullptr) {
        unknown_attr(info, key, key_span(key, value->span));
        all_known = false;
      }
      value = operand(value, elementwise && is_operand);
    }
    if (!operand_count_fits(info, operands)) {
      c_.reports.error(expr.span,
                       info.name + " takes " + operand_count_text(info) + ", not " + std::to_string(operands));
    }
    if (all_known) missing_attrs(info, given, expr.span);  // one that is misspelt is not missing besides
    return share(std::move(out));
  }

  /// Operands by position; what stands behind the last one gives attributes in the order of the row.
  static std::size_t given_operands(const Expr& expr, const ops::OpInfo& info, std::set<std::string>& given) {
    const bool variadic = !info.operands.empty() && info.operands.back().variadic;
    const std::size_t count = expr.args.size();
    const std::size_t behind = variadic || count <= info.operands.size() ? 0 : count - info.operands.size();
    if (behind > positional_attrs(info)) return count;
    for (std::size_t i = 0; i < behind; ++i) given.insert(info.attrs[i].name);
    return count - behind;
  }

  static bool is_operand_name(const ops::OpInfo& info, const std::string& name) {
    return std::any_of(info.operands.begin(), info.operands.end(),
                       [&](const auto& operand) { return operand.name == name && !operand.variadic; });
  }

  void unknown_attr(const ops::OpInfo& info, const std::string& attr, const Span& span) {
    std::vector<std::string> known;
    for (std::size_t i = 0; i < positional_attrs(info); ++i) known.push_back(info.attrs[i].name);
    c_.reports.error(span, info.name + " has no attribute '" + attr + "'", attr_meant(attr, known));
  }

  void take_rest(const ops::OpInfo& info, const std::string& node, const Span& span, std::set<std::string>& given) {
    const auto at = c_.scope.find(node);
    if (at == c_.scope.end() || at->second.ops.ops.empty()) {
      c_.reports.error(span, "'.." + node + "' takes the attributes of a node that was given a name with 'as'", {},
                       bound_at(node));
      for (const auto& spec : info.attrs) given.insert(spec.name);
      return;
    }
    c_.used.insert(node);
    for (const OpId op : at->second.ops.ops) {
      std::vector<std::string> lacking;
      for (const auto& spec : info.attrs) {
        if (!given.contains(spec.name) && find_attr(c_.table[op], spec.name) == nullptr) lacking.push_back(spec.name);
      }
      if (lacking.empty()) continue;
      c_.reports.error(span,
                       "'.." + node + "' can be of " + c_.table[op].name + ", which lacks " + attributes_text(lacking) +
                           " of " + info.name,
                       {}, bound_at(node));
      for (const auto& spec : info.attrs) given.insert(spec.name);
      return;
    }
    for (const auto& spec : info.attrs) {
      if (given.insert(spec.name).second) attribute_of(node, spec.name, span);
    }
  }

  void missing_attrs(const ops::OpInfo& info, const std::set<std::string>& given, const Span& span) {
    std::vector<std::string> missing;
    for (const auto& spec : info.attrs) {
      if (!spec.fallback && !spec.optional && info.complete == nullptr && !given.contains(spec.name))
        missing.push_back(spec.name);
    }
    if (missing.empty()) return;
    const auto has = [&](OpId op) {
      return std::ranges::all_of(missing, [&](const auto& attr) { return find_attr(c_.table[op], attr) != nullptr; });
    };
    const auto node = std::ranges::find_if(c_.scope, [&](const auto& entry) {
      const std::vector<OpId>& ops = entry.second.ops.ops;
      return !ops.empty() && std::ranges::all_of(ops, has);
    });
    c_.reports.error(
        span, attributes_text(missing) + " of " + info.name + (missing.size() == 1 ? " is" : " are") + " missing",
        node == c_.scope.end() ? "" : ".." + node->first + " takes those of '" + node->first + "'");
  }

  /// "attribute 'a'", "attributes 'a', 'b'".
  static std::string attributes_text(const std::vector<std::string>& attrs) {
    std::string text = attrs.size() == 1 ? "attribute" : "attributes";
    for (std::size_t i = 0; i < attrs.size(); ++i) text += (i == 0 ? " '" : ", '") + attrs[i] + "'";
    return text;
  }

  ExprContext& c_;
};

/// An extent as a list of one, which can hold a symbol too, where a number could not; null for what is no extent.
ExprPtr extent(const Expr& expr) {
  const bool dim = expr.kind == Expr::Kind::kCall && expr.text == "dim" && expr.args.size() == 2;
  const bool index = expr.kind == Expr::Kind::kIndex && expr.args[0]->kind == Expr::Kind::kCall &&
                     expr.args[0]->text == "shape" && expr.args[0]->args.size() == 1;
  if (!dim && !index && expr.kind != Expr::Kind::kInt) return nullptr;
  Expr at = leaf(Expr::Kind::kList, expr.span, {});
  at.args = {dim || index ? expr.args[1] : share(expr)};
  if (!dim && !index) return share(std::move(at));
  Expr out = leaf(Expr::Kind::kCall, expr.span, "permute");
  out.args = {dim ? expr.args[0] : expr.args[0]->args[0], share(std::move(at))};
  return share(std::move(out));
}

/// `dim(x, 0) == dim(y, 1)` holds for two equal symbols, too.
ExprPtr compare_extents(const ExprPtr& expr) {
  if (expr == nullptr || expr->args.empty()) return expr;
  Expr out = *expr;
  for (auto& arg : out.args) arg = compare_extents(arg);
  if (expr->kind != Expr::Kind::kBinary || (expr->text != "==" && expr->text != "!=")) return share(std::move(out));
  const ExprPtr left = extent(*out.args[0]), right = extent(*out.args[1]);
  const bool numbers =
      left != nullptr && right != nullptr && left->kind == Expr::Kind::kList && right->kind == Expr::Kind::kList;
  if (left != nullptr && right != nullptr && !numbers) out.args = {left, right};
  return share(std::move(out));
}

}  // namespace

const std::vector<std::string>& term_queries() {
  static const std::vector<std::string> names = {"constant", "same", "splat", "value", "is_zero", "is_one"};
  return names;
}

const std::vector<std::string>& plan_queries() {
  static const std::vector<std::string> names = {"single_use", "graph_output", "side_output"};
  return names;
}

ExprPtr lower_expr(const ExprPtr& expr, ExprContext& context, KindSet wanted, const std::string& role) {
  const std::size_t errors = context.reports.error_count();
  ExprPtr lowered = Lowering(context).lower(expr);
  const bool sound = context.reports.error_count() == errors;
  context.kinds = sound ? check_kinds(lowered, context, wanted, role) : kAnyKind;
  return sound && context.place != ExprPlace::kBody ? compare_extents(lowered) : lowered;
}

bool is_constant_name(const std::string& name) {
  return name == "nan" || name == "pi" || name == "e" || ops::dtype_from_name(name).has_value();
}

bool is_function(const std::string& name) {
  return find_function(name) != nullptr || find_row(kRoles, name) != nullptr || contains(term_queries(), name) ||
         contains(plan_queries(), name) || name == "fold";
}

const ops::AttrSpec* find_attr(const ops::OpInfo& op, const std::string& name) {
  const auto at = std::find_if(op.attrs.begin(), op.attrs.end(), [&](const auto& spec) { return spec.name == name; });
  return at == op.attrs.end() ? nullptr : &*at;
}

bool is_hidden_literal(const ops::AttrSpec& spec) { return spec.name.starts_with("literal_") && spec.fallback; }

std::size_t positional_attrs(const ops::OpInfo& op) {
  return static_cast<std::size_t>(std::ranges::find_if(op.attrs, is_hidden_literal) - op.attrs.begin());
}

const ops::OperandSpec* operand_at(const ops::OpInfo& op, std::size_t i) {
  if (i < op.operands.size()) return &op.operands[i];
  return !op.operands.empty() && op.operands.back().variadic ? &op.operands.back() : nullptr;
}

namespace {
std::size_t least_operands(const ops::OpInfo& op) {
  std::size_t least = 0;
  for (std::size_t i = 0; i < op.operands.size(); ++i) {
    if (!op.operands[i].optional && !op.operands[i].variadic) least = i + 1;
  }
  return least;
}
}  // namespace

bool operand_count_fits(const ops::OpInfo& op, std::size_t count) {
  if (count < least_operands(op)) return false;
  return count <= op.operands.size() || (!op.operands.empty() && op.operands.back().variadic);
}

std::string operand_count_text(const ops::OpInfo& op) {
  const std::size_t least = least_operands(op);
  const bool open = !op.operands.empty() && op.operands.back().variadic;
  const std::size_t most = op.operands.size();
  if (open) return std::to_string(least) + " or more operands";
  if (least == most) return std::to_string(most) + (most == 1 ? " operand" : " operands");
  return std::to_string(least) + " to " + std::to_string(most) + " operands";
}

}  // namespace fusewright::rule
