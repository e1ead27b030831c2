#include "src/ops/elaborate.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

#include "src/ops/attr_math.hpp"

namespace fusewright::ops {
namespace {

constexpr int kDeepest = 400;  // expressions nest by the parser's recursion, and by ours

struct BinaryOp {
  std::string_view text;
  const char* op;
};
constexpr BinaryOp kBinaryOps[] = {{"+", "add"}, {"-", "sub"}, {"*", "mul"}, {"/", "div"},  {"%", "mod"}, {"**", "pow"}, {"==", "eq"},
                                   {"!=", "ne"}, {"<", "lt"},  {"<=", "le"}, {">", "gt"},   {">=", "ge"}, {"and", "and"}, {"or", "or"}};

// One operand of an operator: `along` holds the axes of the result that it lies along, where that was written.
struct Argument {
  EnvValue value;
  std::optional<std::vector<std::int64_t>> along;
};

// Values of one name that are several: a variadic operand, or a call with several results.
struct Several {
  OpId op;  // invalid for operands
  std::vector<TermValue> values;
};

bool is_tensor(const EnvValue& value) { return std::holds_alternative<TermValue>(value); }
bool is_absent(const EnvValue& value) { return std::holds_alternative<std::monostate>(value); }
const AttrValue* attr_of(const EnvValue& value) { return std::get_if<AttrValue>(&value); }

template <class T>
Result<T> at(Result<T> result, const Span& span) {
  if (!result) return std::unexpected(with_place(std::move(result).error(), span));
  return result;
}

std::unexpected<Error> fail_near(std::string message, const Span& span, std::string_view word,
                                 const std::vector<std::string>& candidates) {
  auto failure = fail(std::move(message), span);
  if (const std::string near = nearest(word, candidates); !near.empty())
    failure.error().diagnostics[0].suggestion = "did you mean '" + near + "'?";
  return failure;
}

class Elaborator {
 public:
  Elaborator(const OpTable& table, const Env& env, TermBuilder& builder) : table_(table), env_(env), builder_(builder) {}

  Result<EnvValue> eval(const Expr& expr);
  Result<std::vector<TermValue>> eval_body(const OpInfo& op);
  void bind(const std::string& name, EnvValue value) { local_.insert_or_assign(name, std::move(value)); }
  void bind_several(const std::string& name, Several several) { several_.insert_or_assign(name, std::move(several)); }

 private:
  Result<EnvValue> eval_kind(const Expr& expr);
  Result<EnvValue> eval_name(const Expr& expr);
  Result<EnvValue> eval_list(const Expr& expr);
  Result<EnvValue> eval_unary(const Expr& expr);
  Result<EnvValue> eval_binary(const Expr& expr);
  Result<EnvValue> eval_logical(const Expr& expr);
  Result<EnvValue> eval_index(const Expr& expr);
  Result<EnvValue> eval_slice(const Expr& expr);
  Result<EnvValue> eval_result(const Expr& expr);
  Result<EnvValue> eval_conditional(const Expr& expr);
  Result<EnvValue> eval_call(const Expr& expr);
  Result<EnvValue> eval_function(const Function& function, const Expr& expr, const std::vector<Argument>& arguments);
  Result<EnvValue> eval_query(const Expr& expr, const std::vector<Argument>& arguments);
  Result<AttrValue> eval_attr(const Expr& expr);
  Result<Argument> eval_argument(const Expr& expr);
  Result<std::vector<Argument>> eval_arguments(const Expr& expr);

  // Calls of operators.
  bool calls_operator(const Expr& expr, const std::vector<Argument>& arguments) const;
  Result<std::vector<TermValue>> call_operator(const Expr& expr, std::vector<Argument> arguments);
  Result<Attrs> read_named(const Expr& expr, const OpInfo& op, std::vector<Argument>& arguments);
  Result<std::vector<TermValue>> apply(OpId op, const std::vector<Argument>& arguments, const Attrs& attrs, const Span& span);
  Result<TermValue> operand_term(const OpInfo& op, std::size_t position, const Argument& argument,
                                 const std::vector<Argument>& arguments, const Span& span);
  Result<DType> literal_dtype(const OpInfo& op, std::size_t position, const std::vector<Argument>& arguments) const;
  Result<Shape> common_shape(const OpInfo& op, const std::vector<Argument>& arguments) const;
  Result<TermValue> place_along(TermValue value, std::vector<std::int64_t> axes, const Shape& shape, const Span& span);

  // Null when nothing has that name.
  const EnvValue* find(const std::string& name) const {
    if (const auto bound = local_.find(name); bound != local_.end()) return &bound->second;
    const auto bound = env_.find(name);
    return bound == env_.end() ? nullptr : &bound->second;
  }

  const OpTable& table_;
  const Env& env_;
  Env local_;  // operands, attributes and lets of a body
  TermBuilder& builder_;
  std::map<std::string, Several> several_;
  int depth_ = 0;
};

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
    FW_TRY(const std::vector<TermValue> out, apply(table_.require(minus ? "neg" : "not"), {{value, {}}}, {}, expr.span));
    return out[0];
  }
  if (is_absent(value)) return fail("'" + print_expr(*expr.args[0]) + "' is left out", expr.span);
  if (minus) return at(attr_negate(std::get<AttrValue>(value)), expr.span);
  FW_TRY(const bool truth, at(to_truth(std::get<AttrValue>(value)), expr.span));
  return AttrValue(!truth);
}

// `and` and `or` look at their right side only where the left one does not decide.
Result<EnvValue> Elaborator::eval_logical(const Expr& expr) {
  FW_TRY(const EnvValue left, eval(*expr.args[0]));
  if (is_tensor(left)) {
    FW_TRY(const EnvValue right, eval(*expr.args[1]));
    FW_TRY(const std::vector<TermValue> out, apply(table_.require(expr.text), {{left, {}}, {right, {}}}, {}, expr.span));
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
  const auto row = std::find_if(std::begin(kBinaryOps), std::end(kBinaryOps), [&](const BinaryOp& b) { return b.text == expr.text; });
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

// --- Calls -----------------------------------------------------------------------------------------

Result<Argument> Elaborator::eval_argument(const Expr& expr) {
  if (expr.kind != Expr::Kind::kBinary || expr.text != "along") {
    FW_TRY(EnvValue value, eval(expr));
    return Argument{std::move(value), std::nullopt};
  }
  FW_TRY(EnvValue value, eval(*expr.args[0]));
  FW_TRY(const AttrValue axes, eval_attr(*expr.args[1]));
  if (kind_of(axes) == AttrKind::kInt) return Argument{std::move(value), std::vector{std::get<std::int64_t>(axes)}};
  FW_TRY(std::vector<std::int64_t> list, at(to_integers(axes), expr.args[1]->span));
  return Argument{std::move(value), std::move(list)};
}

Result<std::vector<Argument>> Elaborator::eval_arguments(const Expr& expr) {
  std::vector<Argument> arguments;
  for (const ExprPtr& arg : expr.args) {
    const auto several = arg->kind == Expr::Kind::kName ? several_.find(arg->text) : several_.end();
    if (several != several_.end() && !several->second.op.valid()) {
      for (const TermValue value : several->second.values) arguments.push_back({value, std::nullopt});
      continue;
    }
    FW_TRY(Argument argument, eval_argument(*arg));
    arguments.push_back(std::move(argument));
  }
  return arguments;
}

// A name that is both, `max` say, is the operator where a tensor is among the arguments. Operators without operands are
// meant where there is no tensor: `constant(w)` asks a question.
bool Elaborator::calls_operator(const Expr& expr, const std::vector<Argument>& arguments) const {
  const OpId op = table_.find(expr.text);
  if (!op.valid()) return false;
  if (table_[op].operands.empty())
    return std::all_of(arguments.begin(), arguments.end(), [](const Argument& a) { return attr_of(a.value) != nullptr; });
  if (find_function(expr.text) == nullptr) return true;
  return std::any_of(arguments.begin(), arguments.end(), [](const Argument& a) { return is_tensor(a.value); });
}

Result<EnvValue> Elaborator::eval_call(const Expr& expr) {
  FW_TRY(std::vector<Argument> arguments, eval_arguments(expr));
  if (calls_operator(expr, arguments)) {
    FW_TRY(const std::vector<TermValue> results, call_operator(expr, std::move(arguments)));
    return results[0];
  }
  if (expr.text == "fold" && arguments.size() == 1) {
    if (!is_tensor(arguments[0].value)) return std::move(arguments[0].value);
    FW_TRY(const TermValue folded, at(builder_.fold(std::get<TermValue>(arguments[0].value), expr.span), expr.span));
    return folded;
  }
  if (const Function* function = find_function(expr.text)) return eval_function(*function, expr, arguments);
  if (const auto dtype = dtype_from_name(expr.text); dtype && arguments.size() == 1) {
    if (is_tensor(arguments[0].value)) {
      FW_TRY(const std::vector<TermValue> out, apply(table_.require("convert"), arguments, {{"dtype", *dtype}}, expr.span));
      return out[0];
    }
    if (const AttrValue* number = attr_of(arguments[0].value)) {
      FW_TRY(TensorHandle tensor, at(number_tensor(*dtype, *number), expr.span));
      FW_TRY(const TermValue term, constant_term(table_, builder_, std::move(tensor), expr.span));
      return term;
    }
  }
  return eval_query(expr, arguments);
}

Result<EnvValue> Elaborator::eval_function(const Function& function, const Expr& expr, const std::vector<Argument>& arguments) {
  FunctionCall call{table_, builder_, {}};
  for (const Argument& argument : arguments) {
    if (argument.along) return fail("'along' in a call of " + expr.text, expr.span);
    call.args.push_back(argument.value);
  }
  const std::size_t most = function.parameters.size();
  if (call.args.size() > most)
    return fail(expr.text + " takes at most " + std::to_string(most) + " arguments, not " + std::to_string(call.args.size()), expr.span);
  std::vector<bool> given(most, false);
  std::fill_n(given.begin(), call.args.size(), true);
  call.args.resize(most);
  for (const auto& [name, value] : expr.named) {
    const auto position = std::find_if(function.parameters.begin(), function.parameters.end(),
                                       [&, wanted = std::string_view(name)](const char* p) { return p == wanted; });
    if (position == function.parameters.end()) return fail(expr.text + " has no parameter '" + name + "'", value->span);
    const auto i = static_cast<std::size_t>(position - function.parameters.begin());
    if (given[i]) return fail("parameter '" + name + "' of " + expr.text + " is given twice", value->span);
    FW_TRY(call.args[i], eval(*value));
    given[i] = true;
  }
  for (std::size_t i = 0; i < function.needed; ++i)
    if (!given[i]) return fail(expr.text + " needs '" + function.parameters[i] + "'", expr.span);
  return at(function.run(call), expr.span);
}

// Last resort: what only the builder knows. Operands left out have no say.
Result<EnvValue> Elaborator::eval_query(const Expr& expr, const std::vector<Argument>& arguments) {
  std::vector<TermValue> terms;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (is_absent(arguments[i].value)) continue;
    if (!is_tensor(arguments[i].value))
      return fail("'" + expr.text + "' is neither an operator nor a function of " + describe(*attr_of(arguments[i].value)), expr.span);
    terms.push_back(std::get<TermValue>(arguments[i].value));
  }
  if (!expr.named.empty()) return fail("there is no operator '" + expr.text + "'", expr.span);
  Result<AttrValue> answer = builder_.query(expr.text, terms, expr.span);
  if (answer) return *std::move(answer);
  Error error = with_place(std::move(answer).error(), expr.span);
  std::vector<std::string> known = table_.names();
  for (const Function& function : functions()) known.emplace_back(function.name);
  const std::string near = nearest(expr.text, known);
  if (!near.empty() && near != expr.text && error.diagnostics[0].suggestion.empty())
    error.diagnostics[0].suggestion = "did you mean '" + near + "'?";
  return std::unexpected(std::move(error));
}

Result<std::vector<TermValue>> Elaborator::call_operator(const Expr& expr, std::vector<Argument> arguments) {
  const OpId id = table_.find(expr.text);
  const OpInfo& op = table_[id];
  FW_TRY(Attrs attrs, read_named(expr, op, arguments));
  // Numbers and lists behind the operands are attributes, in the order of the row: reshape(x, [2, 3]).
  if (op.operands.empty() || !op.operands.back().variadic) {
    for (std::size_t i = op.operands.size(); i < arguments.size(); ++i) {
      const AttrValue* value = attr_of(arguments[i].value);
      const std::size_t position = i - op.operands.size();
      if (value == nullptr || position >= op.attrs.size())
        return fail(op.name + " takes " + std::to_string(op.operands.size()) + " operands, not " + std::to_string(arguments.size()), expr.span);
      if (attrs.has(op.attrs[position].name)) return fail("attribute '" + op.attrs[position].name + "' is given twice", expr.span);
      attrs.set(op.attrs[position].name, *value);
    }
    if (arguments.size() > op.operands.size()) arguments.resize(op.operands.size());
  }
  return apply(id, arguments, attrs, expr.span);
}

// What stands behind a name: an attribute or an operand. `..c` stands for the attributes of c that are not written.
Result<Attrs> Elaborator::read_named(const Expr& expr, const OpInfo& op, std::vector<Argument>& arguments) {
  Attrs attrs;
  for (const auto& [name, value] : expr.named) {
    if (name == "..") continue;
    const auto operand = std::find_if(op.operands.begin(), op.operands.end(), [&](const OperandSpec& o) { return o.name == name; });
    const bool is_attr = std::any_of(op.attrs.begin(), op.attrs.end(), [&](const AttrSpec& a) { return a.name == name; });
    if (operand != op.operands.end() && !operand->variadic && !is_attr) {
      const auto position = static_cast<std::size_t>(operand - op.operands.begin());
      if (position < arguments.size() && !is_absent(arguments[position].value))
        return fail("operand '" + name + "' is given twice", value->span);
      if (position >= arguments.size()) arguments.resize(position + 1);
      FW_TRY(arguments[position], eval_argument(*value));
      continue;
    }
    if (!is_attr) {
      std::vector<std::string> known;
      for (const AttrSpec& spec : op.attrs) known.push_back(spec.name);
      return fail_near(op.name + " has no attribute '" + name + "'", value->span, name, known);
    }
    FW_TRY(const EnvValue evaluated, eval(*value));
    if (is_absent(evaluated)) continue;  // an optional attribute that is passed on
    if (is_tensor(evaluated)) return fail("attribute '" + name + "' of " + op.name + " is a tensor", value->span);
    attrs.set(name, *attr_of(evaluated));
  }
  for (const auto& [name, value] : expr.named) {
    if (name != "..") continue;
    for (const AttrSpec& spec : op.attrs) {
      const EnvValue* bound = find(value->text + "." + spec.name);
      if (bound != nullptr && attr_of(*bound) != nullptr && !attrs.has(spec.name)) attrs.set(spec.name, *attr_of(*bound));
    }
  }
  return attrs;
}

// --- Operands --------------------------------------------------------------------------------------

Result<std::vector<TermValue>> Elaborator::apply(OpId id, const std::vector<Argument>& arguments, const Attrs& attrs,
                                                 const Span& span) {
  const OpInfo& op = table_[id];
  std::vector<std::optional<TermValue>> operands;
  std::vector<Type> types;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (is_absent(arguments[i].value)) {
      operands.push_back(std::nullopt);
      types.emplace_back();
      continue;
    }
    FW_TRY(const TermValue term, operand_term(op, i, arguments[i], arguments, span));
    operands.push_back(term);
    types.push_back(builder_.type(term));
  }
  FW_TRY(const Attrs complete, at(table_.complete_attrs(id, attrs, types), span));
  return at(builder_.apply(id, operands, complete, span), span);
}

Result<TermValue> Elaborator::operand_term(const OpInfo& op, std::size_t position, const Argument& argument,
                                           const std::vector<Argument>& arguments, const Span& span) {
  const bool elementwise = op.op_class == OpClass::kElementwise;
  if (argument.along && !elementwise) return fail("'along' in an operand of " + op.name, span);
  TermValue term;
  const AttrValue* attr = attr_of(argument.value);
  if (attr == nullptr) {
    term = std::get<TermValue>(argument.value);
  } else if (const auto* tensor = std::get_if<TensorHandle>(attr)) {
    FW_TRY(term, constant_term(table_, builder_, *tensor, span));
  } else {
    FW_TRY(const DType dtype, at(literal_dtype(op, position, arguments), span));
    FW_TRY(TensorHandle number, at(number_tensor(dtype, *attr), span));
    FW_TRY(term, constant_term(table_, builder_, std::move(number), span));
  }
  if (!elementwise || arguments.size() < 2) return term;
  FW_TRY(const Shape shape, at(common_shape(op, arguments), span));
  if (argument.along && !builder_.type(term).shape.empty()) return place_along(term, *argument.along, shape, span);
  return at(align_to(table_, term, shape, builder_), span);
}

// A number takes the dtype of the tensors beside it.
Result<DType> Elaborator::literal_dtype(const OpInfo& op, std::size_t position, const std::vector<Argument>& arguments) const {
  const bool selects = op.scalar == ScalarOp::kSelect;
  if (selects && position == 0) return DType::kPred;
  if (op.op_class == OpClass::kIndexing && position > 0) return DType::kS64;
  for (std::size_t i = selects ? 1 : 0; i < arguments.size(); ++i)
    if (is_tensor(arguments[i].value)) return builder_.type(std::get<TermValue>(arguments[i].value)).dtype;
  return fail("a number among the operands of " + op.name + " has no tensor beside it to take its dtype from; write literal(number, dtype)");
}

Result<Shape> Elaborator::common_shape(const OpInfo& op, const std::vector<Argument>& arguments) const {
  std::optional<Shape> shape;
  for (const Argument& argument : arguments) {
    if (!is_tensor(argument.value)) continue;
    const Shape& next = builder_.type(std::get<TermValue>(argument.value)).shape;
    if (argument.along && !next.empty()) continue;
    if (!shape) {
      shape = next;
      continue;
    }
    Result<Shape> both = broadcast_shapes(*shape, next);
    if (!both) return std::unexpected(with_context(std::move(both).error(), "operands of " + op.name));
    shape = *std::move(both);
  }
  if (!shape) {
    for (const Argument& argument : arguments)
      if (argument.along) return fail("'along' wants another operand of " + op.name + " to lie along");
    return Shape();
  }
  return *std::move(shape);
}

Result<TermValue> Elaborator::place_along(TermValue value, std::vector<std::int64_t> axes, const Shape& shape, const Span& span) {
  const Type type = builder_.type(value);
  for (std::int64_t& axis : axes) {
    FW_TRY(axis, at(normal_axis(axis, static_cast<std::int64_t>(shape.size())), span));
  }
  if (axes.size() != type.shape.size() || !std::is_sorted(axes.begin(), axes.end()))
    return fail(to_string(type) + " along axes " + to_string(AttrValue(axes)), span);
  // As in align_to, an axis of extent one repeats.
  Shape kept;
  std::vector<std::int64_t> dims;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const Dim& target = shape[static_cast<std::size_t>(axes[i])];
    if (type.shape[i] == target) {
      kept.push_back(type.shape[i]);
      dims.push_back(axes[i]);
    } else if (type.shape[i] != Dim(1)) {
      return fail(to_string(type) + " along axis " + std::to_string(axes[i]) + " of " + to_string(shape), span);
    }
  }
  if (type.shape == shape) return value;
  if (kept.size() < type.shape.size()) {
    FW_TRY(const std::vector<TermValue> reshaped, builder_.apply(table_.require("reshape"), {value}, {{"shape", kept}}, span));
    value = reshaped[0];
  }
  FW_TRY(const std::vector<TermValue> out,
         builder_.apply(table_.require("broadcast"), {value}, {{"dims", dims}, {"shape", shape}}, span));
  return out[0];
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

}  // namespace

Result<EnvValue> elaborate(const OpTable& table, const Expr& expr, const Env& env, TermBuilder& builder) {
  return Elaborator(table, env, builder).eval(expr);
}

Result<std::vector<TermValue>> elaborate_body(const OpTable& table, OpId id, const std::vector<std::optional<TermValue>>& operands,
                                              const Attrs& attrs, TermBuilder& builder) {
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

Result<TensorHandle> number_tensor(DType dtype, const AttrValue& number) {
  const auto refuse = [&] { return fail(describe(number) + " is no " + std::string(name(dtype))); };
  const auto share = [](Tensor tensor) { return std::make_shared<const Tensor>(std::move(tensor)); };
  if (const auto* truth = std::get_if<bool>(&number)) return share(scalar_tensor_int(dtype, *truth ? 1 : 0));
  if (dtype != DType::kPred && !is_integer(dtype)) {
    if (const auto* integer = std::get_if<std::int64_t>(&number)) return share(scalar_tensor_int(dtype, *integer));
    FW_TRY(const double value, to_number(number));
    return share(scalar_tensor(dtype, value));
  }
  Result<std::int64_t> integer = to_integer(number);
  if (!integer) return refuse();
  Tensor tensor = scalar_tensor_int(dtype, *integer);
  const bool wrapped = get_int(tensor, 0) != *integer || (is_unsigned_integer(dtype) && *integer < 0);
  if (wrapped) return refuse();
  return share(std::move(tensor));
}

Result<TermValue> constant_term(const OpTable& table, TermBuilder& builder, TensorHandle tensor, const Span& span) {
  FW_TRY(const std::vector<TermValue> out, builder.apply(table.require("constant"), {}, {{"value", std::move(tensor)}}, span));
  return out[0];
}

}  // namespace fusewright::ops
