#include "fusewright/saturate/rhs.hpp"

#include <algorithm>
#include <bit>
#include <string>

#include "fusewright/ops/expr.hpp"

namespace fusewright::saturate {

using egraph::EClassId;
using egraph::EGraph;
using ops::Expr;

namespace {

struct Sign {
  std::string_view text;
  const char* op;
};
constexpr Sign kSigns[] = {{"+", "add"}, {"-", "sub"}, {"*", "mul"}, {"/", "div"}, {"%", "mod"}, {"**", "pow"}};

const match::Binding* find_binding(const match::PatternInfo& pattern, const std::string& name) {
  const auto it = std::ranges::find(pattern.bindings, name, &match::Binding::name);
  return it == pattern.bindings.end() ? nullptr : &*it;
}

/// The number in this dtype, where it is one of its numbers or can be rounded to one.
std::optional<ops::Tensor> scalar_of(ops::DType dtype, const ops::AttrValue& number) {
  const auto* integer = std::get_if<std::int64_t>(&number);
  if (ops::is_float(dtype)) {
    return integer != nullptr ? ops::scalar_tensor_int(dtype, *integer)
                              : ops::scalar_tensor(dtype, std::get<double>(number));
  }
  if (integer == nullptr || !ops::is_integer(dtype)) return std::nullopt;
  ops::Tensor tensor = ops::scalar_tensor_int(dtype, *integer);
  if (ops::get_int(tensor, 0) != *integer || (ops::is_unsigned_integer(dtype) && *integer < 0)) return std::nullopt;
  return tensor;
}

/// Evaluates what needs no match: numbers, lists, words.
class NoTerms final : public ops::TermBuilder {
 public:
  Result<std::vector<ops::TermValue>> apply(ops::OpId, const std::vector<std::optional<ops::TermValue>>&,
                                            const ops::Attrs&, const Span& span) override {
    return fail("a tensor where an attribute is wanted", span);
  }
  const ops::Type& type(ops::TermValue) override { return none_; }

 private:
  ops::Type none_;
};

class RhsCompiler {
 public:
  RhsCompiler(EGraph& egraph, const match::PatternInfo& pattern) : egraph_(egraph), pattern_(pattern) {}

  /// Recursion as deep as the rule's own text, which the parser bounds. @returns whether it is a tensor.
  enum class Found { kNo, kTensor, kNumber };
  Found compile(const Expr& expr) {
    switch (expr.kind) {
      case Expr::Kind::kInt: return number(ops::AttrValue(expr.integer));
      case Expr::Kind::kFloat: return number(ops::AttrValue(expr.number));
      case Expr::Kind::kName: return name(expr);
      case Expr::Kind::kUnary:
        if (expr.text != "-" || compile(*expr.args[0]) != Found::kTensor) return Found::kNo;
        return apply("neg", 1);
      case Expr::Kind::kBinary: return binary(expr);
      case Expr::Kind::kCall: return call(expr);
      case Expr::Kind::kString:
      case Expr::Kind::kBool:
      case Expr::Kind::kList:
      case Expr::Kind::kIndex:
      case Expr::Kind::kSlice:
      case Expr::Kind::kResult:
      case Expr::Kind::kConditional: return Found::kNo;
    }
    return Found::kNo;
  }
  Rhs take() { return std::move(rhs_); }

 private:
  Found number(ops::AttrValue value) {
    rhs_.code.push_back({.kind = Rhs::Code::Kind::kNumber, .number = static_cast<std::uint32_t>(rhs_.numbers.size())});
    rhs_.numbers.push_back(std::move(value));
    return Found::kNumber;
  }

  Found name(const Expr& expr) {
    const match::Binding* binding = find_binding(pattern_, expr.text);
    if (binding == nullptr || binding->kind != match::Binding::Kind::kValue) return Found::kNo;
    rhs_.code.push_back({.kind = Rhs::Code::Kind::kRegister, .index = binding->index});
    return Found::kTensor;
  }

  Found binary(const Expr& expr) {
    const auto sign = std::ranges::find(kSigns, std::string_view(expr.text), &Sign::text);
    if (sign == std::end(kSigns)) return Found::kNo;
    const Found left = compile(*expr.args[0]);
    if (left == Found::kNo) return Found::kNo;
    const Found right = compile(*expr.args[1]);
    if (right == Found::kNo || (left == Found::kNumber && right == Found::kNumber)) return Found::kNo;
    return apply(sign->op, 2);
  }

  Found call(const Expr& expr) {
    const ops::OpId op = egraph_.table().find(expr.text);
    if (!op.valid()) return Found::kNo;
    const ops::OpInfo& info = egraph_.table()[op];
    const bool plain =
        info.results.size() == 1 && expr.args.size() >= info.operands.size() &&
        std::ranges::none_of(info.operands, [](const ops::OperandSpec& o) { return o.optional || o.variadic; });
    if (!plain) return Found::kNo;
    bool any_tensor = info.operands.empty();
    for (std::size_t i = 0; i < info.operands.size(); ++i) {
      const Found found = compile(*expr.args[i]);
      // Numbers among operands that are not elementwise have rules of their own.
      if (found == Found::kNo || (found == Found::kNumber && info.op_class != ops::OpClass::kElementwise))
        return Found::kNo;
      any_tensor |= found == Found::kTensor;
    }
    ops::Attrs attrs;
    for (std::size_t i = info.operands.size(); i < expr.args.size(); ++i) {
      const std::size_t at = i - info.operands.size();
      if (at >= info.attrs.size() || !constant_attr(info.attrs[at].name, *expr.args[i], attrs)) return Found::kNo;
    }
    for (const auto& [name, value] : expr.named) {
      if (attrs.has(name) || !constant_attr(name, *value, attrs)) return Found::kNo;
    }
    return any_tensor ? apply(op, info.operands.size(), attrs) : Found::kNo;
  }

  bool constant_attr(const std::string& name, const Expr& expr, ops::Attrs& attrs) {
    NoTerms none;
    const Result<ops::EnvValue> value = ops::elaborate(egraph_.table(), expr, {}, none);
    if (!value || !std::holds_alternative<ops::AttrValue>(*value)) return false;
    attrs.set(name, std::get<ops::AttrValue>(*value));
    return true;
  }

  Found apply(const char* op, std::size_t count) { return apply(egraph_.table().require(op), count, {}); }
  Found apply(ops::OpId op, std::size_t count, const ops::Attrs& attrs) {
    rhs_.code.push_back({.kind = Rhs::Code::Kind::kApply,
                         .index = static_cast<std::uint16_t>(count),
                         .op = op,
                         .attrs = egraph_.intern(attrs)});
    return Found::kTensor;
  }

  EGraph& egraph_;
  const match::PatternInfo& pattern_;
  Rhs rhs_;
};

}  // namespace

std::optional<Rhs> compile_rhs(EGraph& egraph, const match::PatternInfo& pattern, const Expr& expr) {
  RhsCompiler compiler(egraph, pattern);
  if (compiler.compile(expr) != RhsCompiler::Found::kTensor) return std::nullopt;
  return compiler.take();
}

void RhsRunner::prefetch(const Rhs& rhs, const egraph::Decoded& match, Places& places) {
  operands_.clear();  // invalid where not known
  std::size_t next = 0;
  for (const Rhs::Code& code : rhs.code) {
    if (code.kind == Rhs::Code::Kind::kRegister) {
      operands_.push_back(match.registers[code.index]);
      egraph_.prefetch(egraph::founder(operands_.back()));
      continue;
    }
    EClassId made;
    if (code.kind == Rhs::Code::Kind::kApply) {
      if (next == places.size() || code.seen == nullptr) return;
      const std::span own = std::span(operands_).last(code.index);
      std::uint32_t& place = places[next++];
      if (place != 0) {
        if (const egraph::ENodeId node = egraph_.prefetch_node(place); node.valid()) made = egraph::term(node);
      } else if (std::ranges::all_of(own, &EClassId::valid)) {
        place = egraph_.prefetch_slot(code.op, code.seen->attrs, own);
      }
      operands_.resize(operands_.size() - code.index);
    }
    operands_.push_back(made);
  }
}

std::optional<EClassId> RhsRunner::run(Rhs& rhs, const egraph::Decoded& match) {
  stack_.clear();
  for (Rhs::Code& code : rhs.code) {
    switch (code.kind) {
      case Rhs::Code::Kind::kRegister: {
        const EClassId term = match.registers[code.index];
        if (term == egraph_.none()) return std::nullopt;
        push(term);
        break;
      }
      case Rhs::Code::Kind::kNumber: push(EClassId(), code.number); break;
      case Rhs::Code::Kind::kApply:
        if (!apply(rhs, code)) return std::nullopt;
        break;
    }
  }
  return stack_.back().term;
}

bool RhsRunner::apply(const Rhs& rhs, Rhs::Code& code) {
  const std::size_t first = stack_.size() - code.index;
  const bool elementwise = egraph_.table()[code.op].op_class == ops::OpClass::kElementwise;
  egraph::TypeId common;
  operands_.clear();
  types_.clear();
  for (std::size_t i = first; i < stack_.size(); ++i) {
    if (stack_[i].number != kNoNumber) continue;
    const egraph::TypeId type = egraph_.type_id(stack_[i].term);
    if (elementwise && common.valid() && type != common) return false;  // to be broadcast
    common = type;
  }
  for (std::size_t i = first; i < stack_.size(); ++i) {
    if (stack_[i].number == kNoNumber) {
      operands_.push_back(stack_[i].term);
    } else {
      const auto term = number_term(rhs.numbers[stack_[i].number], common);
      if (!term) return false;
      operands_.push_back(*term);
    }
    types_.push_back(egraph_.type_id(operands_.back()));
  }
  const std::span seen = std::span(code.seen_types).first(std::min(types_.size(), code.seen_types.size()));
  if (code.seen == nullptr || types_.size() > seen.size() || !std::ranges::equal(seen, types_)) {
    const auto inferred = builder_.infer(code.op, code.attrs, types_, {});
    if (!inferred) return false;
    code.seen = *inferred;
    std::copy_n(types_.begin(), seen.size(), code.seen_types.begin());
  }
  builder_.add(code.op, operands_, *code.seen, results_);
  stack_.resize(first);
  push(results_[0]);
  return true;
}

std::optional<EClassId> RhsRunner::number_term(const ops::AttrValue& number, egraph::TypeId type) {
  const auto* integer = std::get_if<std::int64_t>(&number);
  if (integer == nullptr && !std::holds_alternative<double>(number)) return std::nullopt;
  const std::uint64_t bits = integer != nullptr ? static_cast<std::uint64_t>(*integer)
                                                : std::bit_cast<std::uint64_t>(std::get<double>(number));
  const std::tuple key(type, number.index(), bits);
  const auto known = number_terms_.find(key);
  if (known != number_terms_.end()) return known->second;
  const ops::Type wanted = egraph_.type(type);
  if (!wanted.is_tensor()) return std::nullopt;
  auto tensor = scalar_of(wanted.dtype, number);
  if (!tensor) return std::nullopt;
  const ops::Attrs attrs = {{"value", std::make_shared<const ops::Tensor>(*std::move(tensor))}};
  const auto scalar = builder_.apply(egraph_.table().require("constant"), {}, attrs, {});
  if (!scalar) return std::nullopt;
  const auto wide = ops::align_to(egraph_.table(), (*scalar)[0], wanted.shape, builder_);
  if (!wide) return std::nullopt;
  return number_terms_[key] = egraph::TermBuilder::unpack(*wide);
}

std::optional<QuickGuard> compile_guard(const match::PatternInfo& pattern, const Expr& expr) {
  if (expr.kind != Expr::Kind::kCall || !expr.named.empty()) return std::nullopt;
  QuickGuard guard;
  if (expr.text == "constant")
    guard.kind = QuickGuard::Kind::kConstant;
  else if (expr.text == "splat")
    guard.kind = QuickGuard::Kind::kSplat;
  else if (expr.text == "is_zero")
    guard.kind = QuickGuard::Kind::kIsZero;
  else if (expr.text == "is_one")
    guard.kind = QuickGuard::Kind::kIsOne;
  else
    return std::nullopt;
  if (guard.kind != QuickGuard::Kind::kConstant && expr.args.size() != 1) return std::nullopt;
  for (const ops::ExprPtr& arg : expr.args) {
    if (arg->kind != Expr::Kind::kName) return std::nullopt;
    const match::Binding* binding = find_binding(pattern, arg->text);
    if (binding != nullptr && binding->kind == match::Binding::Kind::kNothing) continue;  // left out: has no say
    if (binding == nullptr || binding->kind != match::Binding::Kind::kValue) return std::nullopt;
    guard.registers.push_back(binding->index);
  }
  return guard;
}

bool holds(const EGraph& egraph, const QuickGuard& guard, const egraph::Decoded& match) {
  for (const std::uint16_t reg : guard.registers) {
    const EClassId c = match.registers[reg];
    if (c == egraph.none()) continue;
    const egraph::Fact fact = egraph.fact(c);
    const auto is = [&](double value) {
      return fact.has_splat() && egraph.facts().splat_of(fact).as_double() == value;
    };
    bool good = false;
    switch (guard.kind) {
      case QuickGuard::Kind::kConstant: good = fact.constant(); break;
      case QuickGuard::Kind::kSplat: good = fact.has_splat(); break;
      case QuickGuard::Kind::kIsZero: good = is(0); break;
      case QuickGuard::Kind::kIsOne: good = is(1); break;
    }
    if (!good) return false;
  }
  return true;
}

}  // namespace fusewright::saturate
