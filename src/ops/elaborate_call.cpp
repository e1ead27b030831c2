#include <algorithm>
#include <utility>

#include "src/ops/attr_math.hpp"
#include "src/ops/elaborator.hpp"

namespace fusewright::ops {

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
    return std::all_of(arguments.begin(), arguments.end(),
                       [](const Argument& a) { return attr_of(a.value) != nullptr; });
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
      FW_TRY(const std::vector<TermValue> out,
             apply(table_.require("convert"), arguments, {{"dtype", *dtype}}, expr.span));
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

Result<EnvValue> Elaborator::eval_function(const Function& function, const Expr& expr,
                                           const std::vector<Argument>& arguments) {
  FunctionCall call{table_, builder_, {}};
  for (const Argument& argument : arguments) {
    if (argument.along) return fail("'along' in a call of " + expr.text, expr.span);
    call.args.push_back(argument.value);
  }
  const std::size_t most = function.parameters.size();
  if (call.args.size() > most)
    return fail(
        expr.text + " takes at most " + std::to_string(most) + " arguments, not " + std::to_string(call.args.size()),
        expr.span);
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
      return fail(
          "'" + expr.text + "' is neither an operator nor a function of " + describe(*attr_of(arguments[i].value)),
          expr.span);
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
        return fail(op.name + " takes " + std::to_string(op.operands.size()) + " operands, not " +
                        std::to_string(arguments.size()),
                    expr.span);
      if (attrs.has(op.attrs[position].name))
        return fail("attribute '" + op.attrs[position].name + "' is given twice", expr.span);
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
    const auto operand =
        std::find_if(op.operands.begin(), op.operands.end(), [&](const OperandSpec& o) { return o.name == name; });
    const bool is_attr =
        std::any_of(op.attrs.begin(), op.attrs.end(), [&](const AttrSpec& a) { return a.name == name; });
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
      if (bound != nullptr && attr_of(*bound) != nullptr && !attrs.has(spec.name))
        attrs.set(spec.name, *attr_of(*bound));
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
Result<DType> Elaborator::literal_dtype(const OpInfo& op, std::size_t position,
                                        const std::vector<Argument>& arguments) const {
  const bool selects = op.scalar == ScalarOp::kSelect;
  if (selects && position == 0) return DType::kPred;
  if (op.op_class == OpClass::kIndexing && position > 0) return DType::kS64;
  for (std::size_t i = selects ? 1 : 0; i < arguments.size(); ++i)
    if (is_tensor(arguments[i].value)) return builder_.type(std::get<TermValue>(arguments[i].value)).dtype;
  return fail("a number among the operands of " + op.name +
              " has no tensor beside it to take its dtype from; write literal(number, dtype)");
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

Result<TermValue> Elaborator::place_along(TermValue value, std::vector<std::int64_t> axes, const Shape& shape,
                                          const Span& span) {
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
    FW_TRY(const std::vector<TermValue> reshaped,
           builder_.apply(table_.require("reshape"), {value}, {{"shape", kept}}, span));
    value = reshaped[0];
  }
  FW_TRY(const std::vector<TermValue> out,
         builder_.apply(table_.require("broadcast"), {value}, {{"dims", dims}, {"shape", shape}}, span));
  return out[0];
}

// --- Numbers as tensors ----------------------------------------------------------------------------

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
  FW_TRY(const std::vector<TermValue> out,
         builder.apply(table.require("constant"), {}, {{"value", std::move(tensor)}}, span));
  return out[0];
}

}  // namespace fusewright::ops
