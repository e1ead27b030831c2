#include <algorithm>
#include <limits>
#include <numbers>
#include <utility>

#include "src/ops/attr_math.hpp"
#include "src/ops/elaborator.hpp"

namespace fusewright::ops {
namespace {

constexpr int kDeepest = 400;  // expressions nest by the parser's recursion, and by ours

struct BinaryOp {
  std::string_view text;
  const char* op;
};
constexpr BinaryOp kBinaryOps[] = {{"+", "add"},  {"-", "sub"}, {"*", "mul"},   {"/", "div"}, {"%", "mod"},
                                   {"**", "pow"}, {"==", "eq"}, {"!=", "ne"},   {"<", "lt"},  {"<=", "le"},
                                   {">", "gt"},   {">=", "ge"}, {"and", "and"}, {"or", "or"}};

}  // namespace

std::unexpected<Error> fail_near(std::string message, const Span& span, std::string_view word,
                                 const std::vector<std::string>& candidates) {
  auto failure = fail(std::move(message), span);
  if (const std::string near = nearest(word, candidates); !near.empty())
    failure.error().diagnostics[0].suggestion = "did you mean '" + near + "'?";
  return failure;
}

// --- Values ----------------------------------------------------------------------------------------

Result<EnvValue> Elaborator::eval(const Expr& expr) {
  if (depth_ == kDeepest) return fail("the expression nests too deep", expr.span);
  ++depth_;
  Result<EnvValue> value = eval_kind(expr);
  --depth_;
  return value;
}

Result<EnvValue> Elaborator::eval_kind(const Expr& expr) {
  switch (expr.kind) {
    case Expr::Kind::kInt: return AttrValue(expr.integer);
    case Expr::Kind::kFloat: return AttrValue(expr.number);
    case Expr::Kind::kString: return AttrValue(expr.text);
    case Expr::Kind::kBool: return AttrValue(expr.integer != 0);
    case Expr::Kind::kName: return eval_name(expr);
    case Expr::Kind::kList: return eval_list(expr);
    case Expr::Kind::kCall: return eval_call(expr);
    case Expr::Kind::kUnary: return eval_unary(expr);
    case Expr::Kind::kBinary: return eval_binary(expr);
    case Expr::Kind::kIndex: return eval_index(expr);
    case Expr::Kind::kSlice: return eval_slice(expr);
    case Expr::Kind::kResult: return eval_result(expr);
    case Expr::Kind::kConditional: return eval_conditional(expr);
  }
  return fail("an expression of no kind", expr.span);
}

Result<AttrValue> Elaborator::eval_attr(const Expr& expr) {
  FW_TRY(const EnvValue value, eval(expr));
  if (const AttrValue* attr = attr_of(value)) return *attr;
  if (is_absent(value)) return fail("'" + print_expr(expr) + "' is left out", expr.span);
  return fail("'" + print_expr(expr) + "' is a tensor where a number or list is wanted", expr.span);
}

Result<EnvValue> Elaborator::eval_name(const Expr& expr) {
  if (const EnvValue* bound = find(expr.text)) return *bound;
  if (const auto dtype = dtype_from_name(expr.text)) return AttrValue(*dtype);
  if (expr.text == "inf") return AttrValue(std::numeric_limits<double>::infinity());
  if (expr.text == "nan") return AttrValue(std::numeric_limits<double>::quiet_NaN());
  if (expr.text == "pi") return AttrValue(std::numbers::pi);
  if (expr.text == "e") return AttrValue(std::numbers::e);
  if (expr.text == "true" || expr.text == "false") return AttrValue(expr.text == "true");
  if (several_.contains(expr.text)) return fail("'" + expr.text + "' is several tensors", expr.span);
  std::vector<std::string> names;
  for (const Env* env : {&std::as_const(local_), &env_})
    for (const auto& entry : *env) names.push_back(entry.first);
  return fail_near("nothing is called '" + expr.text + "'", expr.span, expr.text, names);
}

Result<EnvValue> Elaborator::eval_list(const Expr& expr) {
  std::vector<AttrValue> items;
  for (const ExprPtr& item : expr.args) {
    FW_TRY(AttrValue value, eval_attr(*item));
    items.push_back(std::move(value));
  }
  const auto all = [&](AttrKind kind) {
    return std::all_of(items.begin(), items.end(), [&](const AttrValue& item) { return kind_of(item) == kind; });
  };
  if (!items.empty() && all(AttrKind::kString)) {
    std::vector<std::string> out;
    for (const AttrValue& item : items) out.push_back(std::get<std::string>(item));
    return AttrValue(std::move(out));
  }
  if (all(AttrKind::kInt)) {
    std::vector<std::int64_t> out;
    for (const AttrValue& item : items) out.push_back(std::get<std::int64_t>(item));
    return AttrValue(std::move(out));
  }
  std::vector<double> out;
  for (std::size_t i = 0; i < items.size(); ++i) {
    FW_TRY(const double number, at(to_number(items[i]), expr.args[i]->span));
    out.push_back(number);
  }
  return AttrValue(std::move(out));
}

Result<EnvValue> Elaborator::eval_unary(const Expr& expr) {
  FW_TRY(const EnvValue value, eval(*expr.args[0]));
  const bool minus = expr.text == "-";
  if (is_tensor(value)) {
    FW_TRY(const std::vector<TermValue> out,
           apply(table_.require(minus ? "neg" : "not"), {{value, {}}}, {}, expr.span));
    return out[0];
  }
  if (is_absent(value)) return fail("'" + print_expr(*expr.args[0]) + "' is left out", expr.span);
  if (minus) return at(attr_negate(std::get<AttrValue>(value)), expr.span);
  FW_TRY(const bool truth, at(to_truth(std::get<AttrValue>(value)), expr.span));
  return AttrValue(!truth);
}

// `and` and `or` look at their right side only where the left one does not decide. Where extents leave the left one
// open, the right one may decide.
Result<EnvValue> Elaborator::eval_logical(const Expr& expr) {
  Result<EnvValue> known = eval(*expr.args[0]);
  if (!known && known.error().kind == ErrorKind::kUnsupported) {
    const Result<AttrValue> other = eval_attr(*expr.args[1]);
    const Result<bool> decides = other ? to_truth(*other) : false;
    if (other && decides && *decides == (expr.text == "or")) return AttrValue(*decides);
  }
  FW_TRY(const EnvValue left, std::move(known));
  if (is_tensor(left)) {
    FW_TRY(const EnvValue right, eval(*expr.args[1]));
    FW_TRY(const std::vector<TermValue> out,
           apply(table_.require(expr.text), {{left, {}}, {right, {}}}, {}, expr.span));
    return out[0];
  }
  if (is_absent(left)) return fail("'" + print_expr(*expr.args[0]) + "' is left out", expr.args[0]->span);
  FW_TRY(const bool decided, at(to_truth(std::get<AttrValue>(left)), expr.args[0]->span));
  if (decided == (expr.text == "or")) return AttrValue(decided);
  FW_TRY(const AttrValue right, eval_attr(*expr.args[1]));
  FW_TRY(const bool truth, at(to_truth(right), expr.args[1]->span));
  return AttrValue(truth);
}

Result<EnvValue> Elaborator::eval_binary(const Expr& expr) {
  if (expr.text == "and" || expr.text == "or") return eval_logical(expr);
  if (expr.text == "along") return fail("'along' wants another operand beside it to lie along", expr.span);
  if (expr.text == "??") {
    FW_TRY(const EnvValue left, eval(*expr.args[0]));
    return is_absent(left) ? eval(*expr.args[1]) : left;
  }
  FW_TRY(const Argument left, eval_argument(*expr.args[0]));
  FW_TRY(const Argument right, eval_argument(*expr.args[1]));
  for (std::size_t i = 0; i < 2; ++i)
    if (is_absent((i == 0 ? left : right).value))
      return fail("'" + print_expr(*expr.args[i]) + "' is left out", expr.args[i]->span);
  if (!is_tensor(left.value) && !is_tensor(right.value)) {
    if (left.along || right.along) return fail("'along' wants a tensor beside it to lie along", expr.span);
    return at(attr_binary(expr.text, *attr_of(left.value), *attr_of(right.value)), expr.span);
  }
  const auto row = std::find_if(std::begin(kBinaryOps), std::end(kBinaryOps),
                                [&](const BinaryOp& b) { return b.text == expr.text; });
  if (row == std::end(kBinaryOps)) return fail("there is no '" + expr.text + "' of tensors", expr.span);
  FW_TRY(const std::vector<TermValue> out, apply(table_.require(row->op), {left, right}, {}, expr.span));
  return out[0];
}

Result<EnvValue> Elaborator::eval_conditional(const Expr& expr) {
  FW_TRY(const AttrValue condition, eval_attr(*expr.args[0]));
  FW_TRY(const bool truth, at(to_truth(condition), expr.args[0]->span));
  return eval(*expr.args[truth ? 1 : 2]);
}

template <class List>
Result<std::size_t> position_in(const List& list, std::int64_t index) {
  const auto size = static_cast<std::int64_t>(list.size());
  if (index < -size || index >= size)
    return fail("index " + std::to_string(index) + " of a list of " + std::to_string(size));
  return static_cast<std::size_t>(index < 0 ? index + size : index);
}

Result<EnvValue> Elaborator::eval_index(const Expr& expr) {
  FW_TRY(const AttrValue list, eval_attr(*expr.args[0]));
  FW_TRY(const AttrValue index_value, eval_attr(*expr.args[1]));
  FW_TRY(const std::int64_t index, at(to_integer(index_value), expr.args[1]->span));
  if (const auto* floats = std::get_if<std::vector<double>>(&list)) {
    FW_TRY(const std::size_t i, at(position_in(*floats, index), expr.span));
    return AttrValue((*floats)[i]);
  }
  if (const auto* strings = std::get_if<std::vector<std::string>>(&list)) {
    FW_TRY(const std::size_t i, at(position_in(*strings, index), expr.span));
    return AttrValue((*strings)[i]);
  }
  FW_TRY(const Shape items, at(to_list(list), expr.args[0]->span));
  FW_TRY(const std::size_t i, at(position_in(items, index), expr.span));
  return at(from_dim(items[i]), expr.span);
}

// Bounds beyond the ends are cut off there, as in Python.
Result<EnvValue> Elaborator::eval_slice(const Expr& expr) {
  FW_TRY(const AttrValue list, eval_attr(*expr.args[0]));
  FW_TRY(const Shape items, at(to_list(list), expr.args[0]->span));
  const auto size = static_cast<std::int64_t>(items.size());
  std::int64_t bounds[2] = {0, size};
  for (std::size_t i = 0; i < 2; ++i) {
    if (i + 1 >= expr.args.size() || expr.args[i + 1] == nullptr) continue;
    FW_TRY(const AttrValue value, eval_attr(*expr.args[i + 1]));
    FW_TRY(const std::int64_t bound, at(to_integer(value), expr.args[i + 1]->span));
    bounds[i] = std::clamp<std::int64_t>(bound < 0 ? bound + size : bound, 0, size);
  }
  if (bounds[1] < bounds[0]) bounds[1] = bounds[0];
  return from_list(Shape(items.begin() + bounds[0], items.begin() + bounds[1]));
}

// `top_k(x).values`, `r.values` of such a call, or `c.groups`: an attribute of a matched node, bound as "c.groups".
Result<EnvValue> Elaborator::eval_result(const Expr& expr) {
  const Expr& base = *expr.args[0];
  Several several;
  if (base.kind == Expr::Kind::kName) {
    if (const EnvValue* bound = find(base.text + "." + expr.text)) return *bound;
    if (const auto found = several_.find(base.text); found != several_.end()) several = found->second;
  } else if (base.kind == Expr::Kind::kCall && table_.find(base.text).valid()) {
    FW_TRY(std::vector<Argument> arguments, eval_arguments(base));
    several.op = table_.find(base.text);
    FW_TRY(several.values, call_operator(base, std::move(arguments)));
  }
  if (!several.op.valid()) return fail("'" + print_expr(base) + "' has no '" + expr.text + "'", expr.span);
  const std::vector<std::string>& names = table_[several.op].results;
  for (std::size_t i = 0; i < names.size() && i < several.values.size(); ++i)
    if (names[i] == expr.text) return several.values[i];
  return fail_near(table_[several.op].name + " has no result '" + expr.text + "'", expr.span, expr.text, names);
}

// --- Bodies ----------------------------------------------------------------------------------------

Result<std::vector<TermValue>> Elaborator::eval_body(const OpInfo& op) {
  for (const auto& [name, expr] : op.body->lets) {
    // A let that names a call with several results holds them all, for `name.result`.
    const OpId callee = expr->kind == Expr::Kind::kCall ? table_.find(expr->text) : OpId();
    if (callee.valid() && table_[callee].results.size() > 1) {
      FW_TRY(std::vector<Argument> arguments, eval_arguments(*expr));
      FW_TRY(std::vector<TermValue> values, call_operator(*expr, std::move(arguments)));
      bind_several(name, {callee, std::move(values)});
      continue;
    }
    FW_TRY(EnvValue value, eval(*expr));
    bind(name, std::move(value));
  }
  std::vector<TermValue> results;
  for (const ExprPtr& expr : op.body->results) {
    FW_TRY(const EnvValue value, eval(*expr));
    if (!is_tensor(value)) return fail("a result of " + op.name + " is not a tensor", expr->span);
    results.push_back(std::get<TermValue>(value));
  }
  return results;
}

// --- What others call ------------------------------------------------------------------------------

Result<EnvValue> elaborate(const OpTable& table, const Expr& expr, const Env& env, TermBuilder& builder) {
  return Elaborator(table, env, builder).eval(expr);
}

Result<std::vector<TermValue>> elaborate_body(const OpTable& table, OpId id,
                                              const std::vector<std::optional<TermValue>>& operands, const Attrs& attrs,
                                              TermBuilder& builder) {
  const OpInfo& op = table[id];
  if (!op.body) return fail(op.name + " has no body");
  const Env nothing;
  Elaborator elaborator(table, nothing, builder);
  for (const AttrSpec& spec : op.attrs) {
    const AttrValue* value = attrs.find(spec.name);
    elaborator.bind(spec.name, value != nullptr ? EnvValue(*value) : EnvValue());
  }
  for (std::size_t i = 0; i < op.operands.size(); ++i) {
    if (op.operands[i].variadic) {
      Several rest;
      for (std::size_t j = i; j < operands.size(); ++j)
        if (operands[j]) rest.values.push_back(*operands[j]);
      elaborator.bind_several(op.operands[i].name, std::move(rest));
    } else {
      elaborator.bind(op.operands[i].name, i < operands.size() && operands[i] ? EnvValue(*operands[i]) : EnvValue());
    }
  }
  return elaborator.eval_body(op);
}

Result<AttrValue> TermBuilder::query(const std::string& function, const std::vector<TermValue>&, const Span& span) {
  return fail("there is no operator or function '" + function + "'", span);
}

Result<TermValue> TermBuilder::fold(TermValue value, const Span&) { return value; }

}  // namespace fusewright::ops
