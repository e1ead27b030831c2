#include <algorithm>

#include "fusewright/rule/check.hpp"
#include "src/rule/checker.hpp"

namespace fusewright::rule {

using ops::Expr;

namespace {

/// Functions of the expression language: those of ops::elaborate, with the number of arguments they take.
struct FunctionRow {
  const char* name;
  std::size_t least, most;
};
constexpr FunctionRow kFunctions[] = {
    {"rank", 1, 1},    {"shape", 1, 1},  {"dim", 2, 2},   {"dtype", 1, 1},      {"size", 1, 1},         {"len", 1, 1},
    {"range", 1, 2},   {"present", 1, 1}, {"fold", 1, 1},  {"broadcasts_to", 2, 2}, {"product", 1, 1},  {"accumulates", 1, 1},
};

/// Axes of a convolution by their role: an entry of one of its dimension numbers.
struct RoleRow {
  const char* name;
  const char* attr;
  std::int64_t position;
};
constexpr RoleRow kRoles[] = {
    {"out_feature", "rhs_spec", 0},  {"in_feature", "rhs_spec", 1},  {"feature", "out_spec", 1},
    {"batch", "out_spec", 0},        {"input_feature", "lhs_spec", 1}, {"input_batch", "lhs_spec", 0},
};

template <class Row, std::size_t N>
const Row* find_row(const Row (&rows)[N], const std::string& name) {
  const auto at = std::find_if(std::begin(rows), std::end(rows), [&](const Row& row) { return row.name == name; });
  return at == std::end(rows) ? nullptr : at;
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

ExprPtr share(Expr expr) { return std::make_shared<const Expr>(std::move(expr)); }

Expr leaf(Expr::Kind kind, const Span& span, std::string text) {
  Expr expr;
  expr.kind = kind;
  expr.span = span;
  expr.text = std::move(text);
  return expr;
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
          c_.reports.error(expr->span, "'along' places a vector along an axis of the operand next to it, as in w * s along 0");
          return expr;
        }
        return binary(*expr);
      case Expr::Kind::kList:
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

  ExprPtr name(const ExprPtr& expr) {
    c_.used.insert(expr->text);
    if (c_.scope.contains(expr->text) || ops::dtype_from_name(expr->text)) return expr;
    std::vector<std::string> known;
    for (const auto& [key, binding] : c_.scope) known.push_back(key);
    c_.reports.error(expr->span, "'" + expr->text + "' is not bound here", did_you_mean(expr->text, known));
    return expr;
  }

  // w * s along a  ->  w * broadcast(s, dims = [a], shape = shape(w))
  ExprPtr binary(const Expr& expr) {
    Expr out = expr;
    const bool along[2] = {is_along(*expr.args[0]), is_along(*expr.args[1])};
    if (along[0] && along[1]) {
      c_.reports.error(expr.span, "one of the two operands must have all axes for 'along' to place the other in");
      return share(std::move(out));
    }
    for (int i = 0; i < 2; ++i) {
      if (!along[i]) out.args[i] = lower(expr.args[i]);
    }
    for (int i = 0; i < 2; ++i) {
      if (along[i]) out.args[i] = place_along(*expr.args[i], out.args[1 - i]);
    }
    return share(std::move(out));
  }
  static bool is_along(const Expr& expr) { return expr.kind == Expr::Kind::kBinary && expr.text == "along"; }

  ExprPtr place_along(const Expr& along, const ExprPtr& whole) {
    ExprPtr axes = lower(along.args[1]);
    if (axes->kind != Expr::Kind::kList) {
      Expr list = leaf(Expr::Kind::kList, axes->span, {});
      list.args = {axes};
      axes = share(std::move(list));
    }
    Expr shape = leaf(Expr::Kind::kCall, whole->span, "shape");
    shape.args = {whole};
    Expr placed = leaf(Expr::Kind::kCall, along.span, "broadcast");
    placed.args = {lower(along.args[0])};
    placed.named = {{"dims", axes}, {"shape", share(std::move(shape))}};
    return share(std::move(placed));
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
      c_.reports.error(span, "'" + node + "' can be " + info.name + ", which has no attribute '" + attr + "'",
                       did_you_mean(attr, known), {{binding.span, "it is bound here"}});
      return share(leaf(Expr::Kind::kName, span, node));
    }
    c_.attr_refs.insert({node, attr});
    return share(leaf(Expr::Kind::kName, span, node + "." + attr));
  }

  bool is_node(const Expr& expr) const {
    if (expr.kind != Expr::Kind::kName) return false;
    const auto at = c_.scope.find(expr.text);
    return at != c_.scope.end() && !at->second.ops.ops.empty();
  }

  ExprPtr result(const ExprPtr& expr) {
    const Expr& base = *expr->args[0];
    if (is_node(base)) return attribute_of(base.text, expr->text, expr->span);
    if (base.kind == Expr::Kind::kName && c_.scope.contains(base.text)) {
      c_.reports.error(expr->span, "'" + base.text + "' is not a node that was given a name with 'as', so it has no attributes");
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
    const OpId op = c_.table.find(expr.text);
    // An operator's name is also a function of attributes where no operand is a tensor (max, min, sign, ...).
    if (op.valid()) return apply(expr, c_.table[op]);
    if (contains(term_queries(), expr.text) || contains(plan_queries(), expr.text)) return query(expr);
    if (const FunctionRow* row = find_row(kFunctions, expr.text)) {
      if (expr.args.size() < row->least || expr.args.size() > row->most) {
        c_.reports.error(expr.span, expr.text + " takes " + std::to_string(row->least) +
                                        (row->most > row->least ? " or " + std::to_string(row->most) : "") +
                                        (row->most == 1 ? " argument" : " arguments") + ", not " +
                                        std::to_string(expr.args.size()));
      }
      return children(expr);
    }
    std::vector<std::string> known = c_.table.names();
    for (const auto& row : kFunctions) known.emplace_back(row.name);
    for (const auto& row : kRoles) known.emplace_back(row.name);
    for (const auto& name : term_queries()) known.push_back(name);
    c_.reports.error(callee_span(expr), "there is no operator or function '" + expr.text + "'",
                     did_you_mean(expr.text, known));
    return children(expr);
  }

  static Span callee_span(const Expr& expr) {
    Span span = expr.span;
    span.end = std::min<std::uint32_t>(span.end, span.begin + static_cast<std::uint32_t>(expr.text.size()));
    return span;
  }

  ExprPtr role_axis(const Expr& expr, const RoleRow& role) {
    if (expr.args.size() != 1 || !is_node(*expr.args[0])) {
      c_.reports.error(expr.span, expr.text + " takes a convolution that was given a name with 'as'");
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
      c_.reports.error(expr.span, "'" + expr.text + "' is judged on the plan, so only a fuse rule can ask for it; in a rewrite "
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
    if (!operand_count_fits(info, expr.args.size())) {
      c_.reports.error(expr.span, info.name + " takes " + operand_count_text(info) + ", not " +
                                      std::to_string(expr.args.size()));
    }
    Expr out = expr;
    out.text = info.name;
    for (auto& arg : out.args) arg = lower(arg);
    out.named.clear();
    std::string rest;
    for (const auto& [key, value] : expr.named) {
      if (key == "..") {
        rest = value->text;
        continue;
      }
      if (find_attr(info, key) == nullptr) {
        std::vector<std::string> known;
        for (const auto& spec : info.attrs) known.push_back(spec.name);
        c_.reports.error(value->span, info.name + " has no attribute '" + key + "'", did_you_mean(key, known));
      }
      if (std::any_of(out.named.begin(), out.named.end(), [&](const auto& entry) { return entry.first == key; })) {
        c_.reports.error(value->span, "attribute '" + key + "' is given twice");
      }
      out.named.emplace_back(key, lower(value));
    }
    if (!rest.empty()) take_rest(info, rest, expr.span, out);
    missing_attrs(info, out);
    return share(std::move(out));
  }

  void take_rest(const ops::OpInfo& info, const std::string& node, const Span& span, Expr& out) {
    const auto at = c_.scope.find(node);
    if (at == c_.scope.end() || at->second.ops.ops.empty()) {
      c_.reports.error(span, "'.." + node + "' takes the attributes of a node that was given a name with 'as'");
      return;
    }
    for (const auto& spec : info.attrs) {
      const bool given = std::any_of(out.named.begin(), out.named.end(), [&](const auto& e) { return e.first == spec.name; });
      if (!given) out.named.emplace_back(spec.name, attribute_of(node, spec.name, span));
    }
    if (info.attrs.empty()) c_.used.insert(node);
  }

  void missing_attrs(const ops::OpInfo& info, const Expr& call) {
    for (const auto& spec : info.attrs) {
      if (spec.fallback || spec.optional || info.complete != nullptr) continue;
      const bool given = std::any_of(call.named.begin(), call.named.end(), [&](const auto& e) { return e.first == spec.name; });
      if (!given) c_.reports.error(call.span, "attribute '" + spec.name + "' of " + info.name + " is missing");
    }
  }

  ExprContext& c_;
};

}  // namespace

const std::vector<std::string>& term_queries() {
  static const std::vector<std::string> names = {"constant"};
  return names;
}

const std::vector<std::string>& plan_queries() {
  static const std::vector<std::string> names = {"single_use", "graph_output", "side_output", "count", "same_shape"};
  return names;
}

ExprPtr lower_expr(const ExprPtr& expr, ExprContext& context) { return Lowering(context).lower(expr); }

const ops::AttrSpec* find_attr(const ops::OpInfo& op, const std::string& name) {
  const auto at = std::find_if(op.attrs.begin(), op.attrs.end(), [&](const auto& spec) { return spec.name == name; });
  return at == op.attrs.end() ? nullptr : &*at;
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
