#include <algorithm>
#include <cmath>

#include "src/rule/checker.hpp"

namespace fusewright::rule {

using ast::Pattern;
using ops::Expr;

namespace {

constexpr std::size_t kMostVariants = 1024;

Expr leaf(Expr::Kind kind, const Span& span, std::string text) {
  Expr expr;
  expr.kind = kind;
  expr.span = span;
  expr.text = std::move(text);
  return expr;
}
ExprPtr share(Expr expr) { return std::make_shared<const Expr>(std::move(expr)); }
ExprPtr named(const std::string& text, const Span& span) { return share(leaf(Expr::Kind::kName, span, text)); }
ExprPtr number(std::int64_t value, const Span& span) {
  Expr expr = leaf(Expr::Kind::kInt, span, {});
  expr.integer = value;
  return share(std::move(expr));
}
ExprPtr node(Expr::Kind kind, const std::string& text, const Span& span, std::vector<ExprPtr> args) {
  Expr expr = leaf(kind, span, text);
  expr.args = std::move(args);
  return share(std::move(expr));
}
ExprPtr equal(ExprPtr a, ExprPtr b, const Span& span) {
  return node(Expr::Kind::kBinary, "==", span, {std::move(a), std::move(b)});
}

/// Lowers the patterns of one rule for one combination of choices.
class Lowering {
 public:
  Lowering(const std::set<std::string>& called, const RuleContext& context, std::vector<std::uint32_t>& path,
           std::vector<std::uint32_t>& ways)
      : called_(called), c_(context), path_(path), ways_(ways), out_{{}, PatternScope(context)} {}

  Lowered run(const std::vector<ast::PatternPtr>& roots) {
    for (const auto& root : roots) out_.variant.roots.push_back(lower(*root));
    return std::move(out_);
  }

 private:
  std::uint32_t choose(std::size_t ways) {
    if (cursor_ == path_.size()) {
      path_.push_back(0);
      ways_.push_back(static_cast<std::uint32_t>(ways));
    }
    return path_[cursor_++];
  }

  std::uint32_t add(PatternNode node) {
    out_.variant.nodes.push_back(std::move(node));
    return static_cast<std::uint32_t>(out_.variant.nodes.size() - 1);
  }

  std::uint32_t lower(const Pattern& pattern) {
    switch (pattern.kind) {
      case Pattern::Kind::kName: return variable(pattern.name, pattern);
      case Pattern::Kind::kWildcard: return wildcard(pattern);
      case Pattern::Kind::kLiteral: return literal(pattern);
      case Pattern::Kind::kApply: return apply(pattern);
      case Pattern::Kind::kChoice: return choice(pattern);
      case Pattern::Kind::kOptional: return optional(pattern);
      case Pattern::Kind::kBinary: return infix(pattern, {pattern.args[0], pattern.args[1]});
      case Pattern::Kind::kNegate: return infix(pattern, {pattern.args[0]});
    }
    return 0;
  }

  std::uint32_t variable(const ast::Name& name, const Pattern& pattern) {
    if (!pattern.as.text.empty() && pattern.kind == Pattern::Kind::kName) {
      c_.reports.error(pattern.as.span, "'" + name.text + "' is a name already; it needs no second one");
    }
    out_.scope.bind(name, Binding::Kind::kTensor);
    PatternNode node;
    node.kind = PatternNode::Kind::kVariable;
    node.span = pattern.span;
    node.name = name.text;
    node.optional = pattern.optional;
    return add(std::move(node));
  }

  std::uint32_t wildcard(const Pattern& pattern) {
    if (!pattern.as.text.empty()) return variable(pattern.as, pattern);
    PatternNode node;
    node.span = pattern.span;
    node.optional = pattern.optional;
    return add(std::move(node));
  }

  std::uint32_t literal(const Pattern& pattern) {
    PatternNode node;
    node.kind = PatternNode::Kind::kLiteral;
    node.span = pattern.span;
    node.literal.value = pattern.literal->kind == Expr::Kind::kInt ? static_cast<double>(pattern.literal->integer)
                                                                   : pattern.literal->number;
    node.literal.approximate = pattern.literal->approximate;
    if (pattern.literal->approximate) node.literal.tolerance = digit_tolerance(pattern.literal->text);
    if (pattern.within) node.literal.tolerance = *pattern.within;
    if (!pattern.as.text.empty()) {
      out_.scope.bind(pattern.as, Binding::Kind::kAttr, {}, kNumbers);
      node.literal.bind = pattern.as.text;
    }
    return add(std::move(node));
  }

  std::uint32_t choice(const Pattern& pattern) {
    const Pattern& chosen = *pattern.args[choose(pattern.args.size())];
    if (pattern.as.text.empty()) return lower(chosen);
    const auto is_number = [](const auto& arg) { return arg->kind == Pattern::Kind::kLiteral && arg->as.text.empty(); };
    const auto numbers = std::count_if(pattern.args.begin(), pattern.args.end(), is_number);
    if (numbers > 0 && static_cast<std::size_t>(numbers) < pattern.args.size()) {
      c_.reports.error(pattern.as.span,
                       "'" + pattern.as.text + "' would name a number in one alternative and a tensor in another");
      out_.scope.bind(pattern.as, Binding::Kind::kTensor);
      return lower(chosen);
    }
    return rename(lower(chosen), pattern.as);
  }

  /// `a [+ b]?`: with it first, so that variants are in the order of how much they match.
  std::uint32_t optional(const Pattern& pattern) {
    if (choose(2) == 0) return infix(pattern, {pattern.args[0], pattern.args[1]});
    const std::uint32_t left = lower(*pattern.args[0]);
    return pattern.as.text.empty() ? left : rename(left, pattern.as);
  }

  /// Gives the value of a node, which may have a name already, another name.
  std::uint32_t rename(std::uint32_t index, const ast::Name& name) {
    PatternNode& node = out_.variant.nodes[index];
    if (node.kind == PatternNode::Kind::kLiteral) {
      out_.scope.bind(name, Binding::Kind::kAttr, {}, kNumbers);
      node.literal.bind = name.text;
      return index;
    }
    if (node.name.empty()) {
      out_.scope.bind(name, Binding::Kind::kTensor, node.ops);
      node.name = name.text;
      if (node.kind == PatternNode::Kind::kWildcard) node.kind = PatternNode::Kind::kVariable;
      return index;
    }
    out_.scope.bind(name, Binding::Kind::kTensor, node.ops);
    out_.scope.used.insert(node.name);
    Step alias{Step::Kind::kLet, 0, name.text, named(node.name, name.span)};
    out_.variant.steps.push_back(std::move(alias));
    return index;
  }

  std::uint32_t infix(const Pattern& pattern, const std::vector<ast::PatternPtr>& args) {
    const std::string op = pattern.kind == Pattern::Kind::kNegate ? "neg" : pattern.name.text;
    PatternNode node;
    node.kind = PatternNode::Kind::kApply;
    node.span = pattern.span;
    node.ops = {{c_.table.require(op)}};
    for (const auto& arg : args) node.operands.push_back(lower(*arg));
    bind_node(pattern.as, node);
    return add(std::move(node));
  }

  void bind_node(const ast::Name& as, PatternNode& node) {
    if (as.text.empty()) return;
    if (const auto at = out_.scope.scope.find(as.text); at != out_.scope.scope.end()) {
      c_.reports.error(as.span, "'" + as.text + "' is bound already", {}, {{at->second.span, "it is bound here"}});
      return;
    }
    out_.scope.bind(as, Binding::Kind::kTensor, node.ops);
    node.name = as.text;
    if (called_.contains(as.text)) out_.scope.scope.at(as.text).op_name = true;
  }

  std::uint32_t apply(const Pattern& pattern) {
    PatternNode node;
    node.kind = PatternNode::Kind::kApply;
    node.span = pattern.span;
    node.ops = resolve_application(pattern.name, pattern.args[0].get(), pattern.args.size() - 1, pattern.attrs,
                                   pattern.span, c_);
    if (called_.contains(pattern.as.text) && node.ops.ops.size() > 1) {
      node.ops = {{node.ops.ops[choose(node.ops.ops.size())]}};
    }
    if (node.ops.ops.empty()) {  // reported; whatever is inside may still be wrong on its own
      for (std::size_t i = 1; i < pattern.args.size(); ++i) lower(*pattern.args[i]);
      bind_node(pattern.as, node);
      return add({});
    }
    for (std::size_t i = 1; i < pattern.args.size(); ++i) {
      node.operands.push_back(lower(*pattern.args[i]));
      optional_operand(node, i - 1, *pattern.args[i]);
    }
    if (!pattern.result.text.empty()) choose_result(pattern.result, node);
    // Behind the operands, so that names bound there are bound.
    for (const auto& attr : pattern.attrs) {
      out_.scope.attr(attr, node.ops, [&](std::size_t i) { return operand_name(node, i); }, node.attrs);
    }
    bind_node(pattern.as, node);
    return add(std::move(node));
  }

  void optional_operand(const PatternNode& node, std::size_t i, const Pattern& operand) {
    if (!operand.optional) return;
    const auto& info = c_.table[node.ops.ops[0]];
    const auto* spec = operand_at(info, i);
    if (spec != nullptr && !spec->optional && !spec->variadic) {
      c_.reports.error(operand.span, "operand '" + spec->name + "' of " + info.name + " cannot be left out");
    }
  }

  void choose_result(const ast::Name& result, PatternNode& node) {
    for (const OpId op : node.ops.ops) {
      const auto& names = c_.table[op].results;
      const auto at = std::find(names.begin(), names.end(), result.text);
      if (at == names.end()) {
        c_.reports.error(result.span, c_.table[op].name + " has no result '" + result.text + "'",
                         did_you_mean(result.text, names));
        return;
      }
      node.result = static_cast<std::uint32_t>(at - names.begin());
    }
  }

  /// The Env name of operand i, made up where the author gave none.
  std::string operand_name(const PatternNode& node, std::size_t i) {
    if (i >= node.operands.size()) return {};
    PatternNode& operand = out_.variant.nodes[node.operands[i]];
    if (operand.kind == PatternNode::Kind::kLiteral) return {};
    if (operand.name.empty()) {
      operand.name = "operand@" + std::to_string(operand.span.begin);
      if (operand.kind == PatternNode::Kind::kWildcard) operand.kind = PatternNode::Kind::kVariable;
      out_.scope.scope[operand.name] = {Binding::Kind::kTensor, operand.span, operand.ops, false, true, kTensors};
    }
    return operand.name;
  }

  const std::set<std::string>& called_;
  const RuleContext& c_;
  std::vector<std::uint32_t>& path_;
  std::vector<std::uint32_t>& ways_;
  std::size_t cursor_ = 0;
  Lowered out_;
};

// --- Names that a pattern binds, for the comparison of alternatives --------------------------------------

void collect_names(const Pattern& pattern, std::map<std::string, Span>& names) {
  if (pattern.kind == Pattern::Kind::kName) names.emplace(pattern.name.text, pattern.name.span);
  if (!pattern.as.text.empty()) names.emplace(pattern.as.text, pattern.as.span);
  for (std::size_t i = 0; i < pattern.args.size(); ++i) {
    if (pattern.args[i] != nullptr && !(pattern.kind == Pattern::Kind::kApply && i == 0)) {
      collect_names(*pattern.args[i], names);
    }
  }
  for (const auto& attr : pattern.attrs) {
    if (attr.value->kind == Expr::Kind::kName) names.emplace(attr.value->text, attr.value->span);
  }
}

/// Alternatives must bind the same names, or the right-hand side could not rely on any.
void check_alternatives(const Pattern& pattern, Reports& reports) {
  for (std::size_t i = 0; i < pattern.args.size(); ++i) {
    if (pattern.args[i] != nullptr && !(pattern.kind == Pattern::Kind::kApply && i == 0)) {
      check_alternatives(*pattern.args[i], reports);
    }
  }
  if (pattern.kind != Pattern::Kind::kChoice) return;
  std::vector<std::map<std::string, Span>> bound(pattern.args.size());
  for (std::size_t i = 0; i < pattern.args.size(); ++i) collect_names(*pattern.args[i], bound[i]);
  for (std::size_t i = 0; i < bound.size(); ++i) {
    for (const auto& [name, span] : bound[i]) {
      for (std::size_t j = 0; j < bound.size(); ++j) {
        if (bound[j].contains(name)) continue;
        reports.error(span, "'" + name + "' is bound in one alternative and not in another", {},
                      {{pattern.args[j]->span, "this alternative does not bind it"}});
        break;
      }
    }
  }
}

bool has_attrs(const ops::OpInfo& info, const std::vector<ast::AttrPattern>& attrs) {
  return std::all_of(attrs.begin(), attrs.end(),
                     [&](const auto& a) { return find_attr(info, a.name.text) != nullptr; });
}

void check_operator(OpId op, std::size_t operands, const std::vector<ast::AttrPattern>& attrs, const Span& span,
                    const RuleContext& context) {
  const auto& info = context.table[op];
  if (!operand_count_fits(info, operands)) {
    const bool more = operands > info.operands.size() && !info.attrs.empty();
    context.reports.error(span, info.name + " takes " + operand_count_text(info) + ", not " + std::to_string(operands),
                          more ? "attributes are written by name: " + info.attrs[0].name + " = ..." : "");
  }
  for (const auto& attr : attrs) {
    if (find_attr(info, attr.name.text) != nullptr) continue;
    std::vector<std::string> known;
    for (const auto& spec : info.attrs) known.push_back(spec.name);
    context.reports.error(attr.name.span, info.name + " has no attribute '" + attr.name.text + "'",
                          did_you_mean(attr.name.text, known));
  }
}

}  // namespace

double digit_tolerance(const std::string& digits) {
  const std::size_t point = digits.find('.');
  const std::size_t exponent = digits.find_first_of("eE");
  if (point == std::string::npos && exponent == std::string::npos) return 0;
  const std::size_t end = exponent == std::string::npos ? digits.size() : exponent;
  const int decimals = point == std::string::npos ? 0 : static_cast<int>(end - point - 1);
  const int power = exponent == std::string::npos ? 0 : std::atoi(digits.c_str() + exponent + 1);
  return 0.5 * std::pow(10.0, power - decimals);
}

OpSet resolve_application(const ast::Name& name, const Pattern* choice, std::size_t operands,
                          const std::vector<ast::AttrPattern>& attrs, const Span& span, const RuleContext& context) {
  if (choice == nullptr) {
    if (const OpId op = context.table.find(name.text); op.valid()) {
      check_operator(op, operands, attrs, span, context);
      return {{op}};
    }
    const auto at = context.classes.sets.find(name.text);
    if (at == context.classes.sets.end()) {
      std::vector<std::string> known = context.table.names();
      for (auto& word : context.classes.names()) known.push_back(std::move(word));
      context.reports.unknown(name.span, name.text, "there is no operator or class '" + name.text + "'",
                              did_you_mean(name.text, known));
      return {};
    }
    OpSet set;
    for (const OpId op : at->second.ops) {
      const auto& info = context.table[op];
      if (operand_count_fits(info, operands) && has_attrs(info, attrs)) set.ops.push_back(op);
    }
    if (set.ops.empty()) {
      context.reports.unknown(span, name.text,
                              "no operator of class " + name.text + " takes " + std::to_string(operands) +
                                  (operands == 1 ? " operand" : " operands") +
                                  (attrs.empty() ? "" : " and these attributes"),
                              {});
    }
    return set;
  }
  // ( relu | gelu )(x): a choice of operators.
  std::vector<const Pattern*> words;
  if (choice->kind == Pattern::Kind::kName) words.push_back(choice);
  for (const auto& arg : choice->args) words.push_back(arg.get());
  OpSet set;
  for (const Pattern* word : words) {
    if (word->kind != Pattern::Kind::kName || word->optional || !word->as.text.empty()) {
      context.reports.error(word->span, "only operators can be applied to operands");
      continue;
    }
    const OpSet part = resolve_application(word->name, nullptr, operands, attrs, span, context);
    set.ops.insert(set.ops.end(), part.ops.begin(), part.ops.end());
  }
  std::sort(set.ops.begin(), set.ops.end());
  set.ops.erase(std::unique(set.ops.begin(), set.ops.end()), set.ops.end());
  return set;
}

std::optional<ops::AttrValue> constant_attr(const Expr& expr, ops::AttrKind kind) {
  using ops::AttrKind;
  switch (expr.kind) {
    case Expr::Kind::kInt:
      if (kind == AttrKind::kFloat) return ops::AttrValue(static_cast<double>(expr.integer));
      return ops::AttrValue(expr.integer);
    case Expr::Kind::kFloat: return ops::AttrValue(expr.number);
    case Expr::Kind::kBool: return ops::AttrValue(expr.integer != 0);
    case Expr::Kind::kString: return ops::AttrValue(expr.text);
    case Expr::Kind::kName:
      if (const auto dtype = ops::dtype_from_name(expr.text)) return ops::AttrValue(*dtype);
      return std::nullopt;
    case Expr::Kind::kUnary: {
      if (expr.text != "-") return std::nullopt;
      auto value = constant_attr(*expr.args[0], kind);
      if (!value) return std::nullopt;
      if (auto* integer = std::get_if<std::int64_t>(&*value))
        *integer = -*integer;
      else if (auto* real = std::get_if<double>(&*value))
        *real = -*real;
      else
        return std::nullopt;
      return value;
    }
    case Expr::Kind::kList: {
      std::vector<std::int64_t> ints;
      std::vector<double> floats;
      std::vector<std::string> strings;
      for (const auto& arg : expr.args) {
        const auto value = constant_attr(*arg, kind == AttrKind::kFloats ? AttrKind::kFloat : AttrKind::kInt);
        if (!value) return std::nullopt;
        if (const auto* integer = std::get_if<std::int64_t>(&*value))
          ints.push_back(*integer);
        else if (const auto* real = std::get_if<double>(&*value))
          floats.push_back(*real);
        else if (const auto* text = std::get_if<std::string>(&*value))
          strings.push_back(*text);
      }
      const std::size_t count = expr.args.size();
      if (kind == AttrKind::kFloats && floats.size() == count) return ops::AttrValue(std::move(floats));
      if (kind == AttrKind::kStrings && strings.size() == count) return ops::AttrValue(std::move(strings));
      if (kind == AttrKind::kShape && ints.size() == count) return ops::AttrValue(ops::Shape(ints.begin(), ints.end()));
      if (kind == AttrKind::kFloat && floats.size() == count && count > 0) return ops::AttrValue(std::move(floats));
      if (ints.size() == count) return ops::AttrValue(std::move(ints));
      return std::nullopt;
    }
    default: return std::nullopt;
  }
}

// --- PatternScope ------------------------------------------------------------------------------------

void PatternScope::bind(const ast::Name& name, Binding::Kind kind, const OpSet& ops, KindSet kinds) {
  if (kind == Binding::Kind::kTensor) kinds = kTensors;
  const auto [at, fresh] = scope.try_emplace(name.text, Binding{kind, name.span, ops, false, false, kinds});
  if (fresh) return;
  used.insert(name.text);
  if (at->second.kind == kind) return;
  const bool tensor = at->second.kind == Binding::Kind::kTensor;
  c_.reports.error(name.span,
                   "'" + name.text + "' stands for " +
                       (tensor ? "an attribute here and for a tensor" : "a tensor here and for an attribute") +
                       " elsewhere",
                   {}, {{at->second.span, "it is bound here"}});
}

void PatternScope::attr(const ast::AttrPattern& pattern, const OpSet& ops,
                        const std::function<std::string(std::size_t)>& operand, std::vector<AttrPattern>& into) {
  AttrPattern out{pattern.name.text, {}, {}, pattern.name.span};
  if (ops.ops.empty()) return;
  const ops::AttrSpec* spec = find_attr(c_.table[ops.ops[0]], pattern.name.text);
  if (spec == nullptr) return;  // reported with the application
  const Expr& value = *pattern.value;
  const Span& span = value.span;
  if (value.kind == Expr::Kind::kName && !ops::dtype_from_name(value.text) && !let_names_.contains(value.text)) {
    bind({value.text, span}, Binding::Kind::kAttr, {}, kinds_of(spec->kind));
    out.bind = value.text;
    into.push_back(std::move(out));
    return;
  }
  auto constant = constant_attr(value, spec->kind);
  std::string axes_of;
  if (constant && spec->axis_of) {
    const auto* axis = std::get_if<std::int64_t>(&*constant);
    const auto* axes = std::get_if<std::vector<std::int64_t>>(&*constant);
    const bool from_end = (axis != nullptr && *axis < 0) ||
                          (axes != nullptr && std::any_of(axes->begin(), axes->end(), [](auto a) { return a < 0; }));
    if (from_end) axes_of = operand(*spec->axis_of);
  }
  if (constant && axes_of.empty()) {
    if (ops::kind_of(*constant) != spec->kind) {
      c_.reports.error(span, "attribute '" + spec->name + "' is of kind " + std::string(ops::name(spec->kind)) +
                                 ", not " + std::string(ops::name(ops::kind_of(*constant))));
      return;
    }
    out.value = std::move(constant);
    into.push_back(std::move(out));
    return;
  }
  // The place makes the name the same in all variants of the rule.
  const std::string fresh = pattern.name.text + "@" + std::to_string(pattern.name.span.begin);
  out.bind = fresh;
  scope.try_emplace(fresh, Binding{Binding::Kind::kAttr, span, {}, false, true, kinds_of(spec->kind)});
  into.push_back(std::move(out));
  const std::string text = pattern.name.text + " == " + ops::print_expr(value);
  if (constant) {
    const ExprPtr rank = node(Expr::Kind::kCall, "rank", span, {named(axes_of, span)});
    const ExprPtr normal = value.kind == Expr::Kind::kList
                               ? node(Expr::Kind::kCall, "normalize", span, {pattern.value, rank})
                               : node(Expr::Kind::kBinary, "+", span, {pattern.value, rank});
    pending_.push_back({{}, equal(named(fresh, span), normal, span), text, span});
  } else if (value.kind == Expr::Kind::kList) {
    list_attr(pattern, fresh);
  } else if (!range_attr(pattern, fresh)) {
    pending_.push_back({{}, equal(named(fresh, span), pattern.value, span), text, span});
  }
}

/// `dims = [a, b]`: binds the names that are new, tests the rest.
void PatternScope::list_attr(const ast::AttrPattern& pattern, const std::string& fresh) {
  const Expr& list = *pattern.value;
  const std::string text = pattern.name.text + " == " + ops::print_expr(list);
  const ExprPtr whole = named(fresh, list.span);
  const ExprPtr length = node(Expr::Kind::kCall, "len", list.span, {whole});
  pending_.push_back(
      {{}, equal(length, number(static_cast<std::int64_t>(list.args.size()), list.span), list.span), text, list.span});
  for (std::size_t i = 0; i < list.args.size(); ++i) {
    const Expr& item = *list.args[i];
    const ExprPtr element =
        node(Expr::Kind::kIndex, {}, item.span, {whole, number(static_cast<std::int64_t>(i), item.span)});
    const bool fresh_name =
        item.kind == Expr::Kind::kName && !ops::dtype_from_name(item.text) && !scope.contains(item.text);
    if (fresh_name) {
      scope.emplace(item.text, Binding{Binding::Kind::kAttr, item.span, {}, false, false, kNumbers | kTexts});
      let_names_.insert(item.text);
      pending_.push_back({item.text, element, {}, item.span});
    } else {
      pending_.push_back({{}, equal(element, list.args[i], item.span), text, list.span});
    }
  }
}

/// `axes = range(a, rank(x))` with a new name a: the first of the axes.
bool PatternScope::range_attr(const ast::AttrPattern& pattern, const std::string& fresh) {
  const Expr& range = *pattern.value;
  if (range.kind != Expr::Kind::kCall || range.text != "range" || range.args.size() != 2) return false;
  const Expr& first = *range.args[0];
  if (first.kind != Expr::Kind::kName || scope.contains(first.text)) return false;
  const std::string text = pattern.name.text + " == " + ops::print_expr(range);
  const ExprPtr whole = named(fresh, range.span);
  const ExprPtr length = node(Expr::Kind::kCall, "len", range.span, {whole});
  const ExprPtr some = node(Expr::Kind::kBinary, ">", range.span, {length, number(0, range.span)});
  pending_.push_back({{}, some, text, range.span});
  scope.emplace(first.text, Binding{Binding::Kind::kAttr, first.span, {}, false, false, kNumbers});
  let_names_.insert(first.text);
  pending_.push_back(
      {first.text, node(Expr::Kind::kIndex, {}, first.span, {whole, number(0, first.span)}), {}, first.span});
  pending_.push_back({{}, equal(whole, pattern.value, range.span), text, range.span});
  return true;
}

std::string PatternScope::test_number(const ExprPtr& expr) {
  const std::string fresh = "number@" + std::to_string(expr->span.begin);
  scope.try_emplace(fresh, Binding{Binding::Kind::kAttr, expr->span, {}, false, true});
  pending_.push_back({{}, equal(named(fresh, expr->span), expr, expr->span), ops::print_expr(*expr), expr->span});
  return fresh;
}

std::vector<Step> PatternScope::finish(std::vector<Guard>& guards, ExprPlace place) {
  std::vector<Step> steps;
  for (const Pending& pending : pending_) {
    ExprContext context{c_.table, c_.reports, place, scope, {}, {}, false, {}};
    ExprPtr expr = lower_expr(pending.expr, context);
    if (pending.let.empty()) {
      used.insert(context.used.begin(), context.used.end());
      guards.push_back({std::move(expr), pending.text, pending.span});
      steps.push_back({Step::Kind::kGuard, static_cast<std::uint32_t>(guards.size() - 1), {}, nullptr});
    } else {
      steps.push_back({Step::Kind::kLet, 0, pending.let, std::move(expr)});
    }
    attr_refs.insert(context.attr_refs.begin(), context.attr_refs.end());
  }
  return steps;
}

// --- All variants ------------------------------------------------------------------------------------

std::vector<Lowered> lower_patterns(const std::vector<ast::PatternPtr>& roots, const std::set<std::string>& called,
                                    const RuleContext& context) {
  for (const auto& root : roots) check_alternatives(*root, context.reports);
  std::vector<Lowered> out;
  std::vector<std::uint32_t> path, ways;
  do {
    if (out.size() == kMostVariants) {
      context.reports.error(roots[0]->span, "the choices of this rule multiply out to more than " +
                                                std::to_string(kMostVariants) + " patterns");
      break;
    }
    out.push_back(Lowering(called, context, path, ways).run(roots));
    // The next combination: the last choice that has another way, those behind it start again.
    while (!path.empty() && path.back() + 1 == ways.back()) {
      path.pop_back();
      ways.pop_back();
    }
    if (!path.empty()) ++path.back();
  } while (!path.empty());
  return out;
}

}  // namespace fusewright::rule
