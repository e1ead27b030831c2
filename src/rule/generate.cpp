#include <fmt/format.h>

#include <algorithm>

#include "src/rule/checker.hpp"
#include "src/rule/make_expr.hpp"

namespace fusewright::rule {

using ops::Expr;

namespace {

constexpr std::size_t kMostOptional = 4;  // operands that may be left out: each doubles the patterns

std::string rule_name(const std::string& prefix, const std::string& op) {
  std::string name = prefix + "-" + op;
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

using Replace = std::function<ExprPtr(const ExprPtr&)>;

/// Copies an expression; `replace` gives the substitute for a part, or null to go into it.
ExprPtr rewrite_expr(const ExprPtr& expr, const Replace& replace) {
  if (expr == nullptr) return nullptr;
  if (ExprPtr substitute = replace(expr)) return substitute;
  Expr out = *expr;
  for (auto& arg : out.args) arg = rewrite_expr(arg, replace);
  for (auto& [key, value] : out.named) value = rewrite_expr(value, replace);
  return share(std::move(out));
}

ExprPtr call_of(const ops::OpInfo& info, const std::set<std::string>& attrs) {
  Expr call;
  call.kind = Expr::Kind::kCall;
  call.span = info.span;
  call.text = info.name;
  for (const auto& operand : info.operands) call.args.push_back(named(operand.name, info.span));
  for (const auto& attr : info.attrs) {
    if (attrs.contains(attr.name)) call.named.emplace_back(attr.name, named(attr.name, info.span));
  }
  return share(std::move(call));
}

RewriteRule blank_rule(const std::string& prefix, OpId op, RewriteRule::Origin origin, const ops::OpInfo& info) {
  RewriteRule rule;
  rule.name = rule_name(prefix, info.name);
  rule.doc = info.documentation;
  rule.span = info.span;
  rule.op = op;
  rule.origin = origin;
  return rule;
}

// --- op => body ----------------------------------------------------------------------------------------

RewriteVariant expand_result(OpId op, const ops::OpInfo& info, std::uint32_t result) {
  RewriteVariant variant;
  PatternNode root;
  root.kind = PatternNode::Kind::kApply;
  root.span = info.span;
  root.ops = {{op}};
  root.result = result;
  for (const auto& operand : info.operands) {
    PatternNode node;
    node.kind = PatternNode::Kind::kVariable;
    node.span = info.span;
    node.name = operand.name;
    node.optional = operand.optional;
    variant.nodes.push_back(std::move(node));
    root.operands.push_back(static_cast<std::uint32_t>(variant.nodes.size() - 1));
  }
  for (const auto& attr : info.attrs) root.attrs.push_back({attr.name, attr.name, {}, info.span});
  variant.nodes.push_back(std::move(root));
  variant.roots = {static_cast<std::uint32_t>(variant.nodes.size() - 1)};

  // A let that holds all results of a call is put where it is used, and only lets that this result needs are computed.
  std::map<std::string, ExprPtr> several;
  const Replace inline_several = [&](const ExprPtr& expr) -> ExprPtr {
    if (expr->kind != Expr::Kind::kResult || expr->args[0]->kind != Expr::Kind::kName) return nullptr;
    const auto at = several.find(expr->args[0]->text);
    if (at == several.end()) return nullptr;
    Expr out = *expr;
    out.args[0] = at->second;
    return share(std::move(out));
  };
  const ExprPtr value = info.body->results[result];
  for (const auto& [name, let] : info.body->lets) several[name] = rewrite_expr(let, inline_several);
  std::set<std::string> needed;
  const ExprPtr to = rewrite_expr(value, inline_several);
  collect_names(*to, needed);
  for (std::size_t i = info.body->lets.size(); i-- > 0;) {
    const std::string& name = info.body->lets[i].first;
    if (!needed.contains(name)) continue;
    collect_names(*several[name], needed);
    variant.steps.insert(variant.steps.begin(), Step{Step::Kind::kLet, 0, name, several[name]});
  }
  variant.to = {to};
  return variant;
}

// --- body => op ----------------------------------------------------------------------------------------

/// Reads a body as a pattern, for one choice of which optional operands are there.
class BodyPattern {
 public:
  BodyPattern(const ops::OpInfo& info, std::set<std::string> absent, const RuleContext& context)
      : info_(info), c_(context), absent_(std::move(absent)) {
    for (const auto& [name, value] : info.body->lets) lets_[name] = value;
  }

  /// The variant, or nothing and a reason.
  std::optional<RewriteVariant> run(std::vector<Guard>& guards) {
    const auto root = convert(info_.body->results[0]);
    if (!root) return std::nullopt;
    if (nodes_[*root].kind != PatternNode::Kind::kApply) return give_up("its body is no operator");
    for (const auto& operand : info_.operands) {
      if (!scope_.scope.contains(operand.name) && !absent_.contains(operand.name)) {
        return give_up("its body does not use '" + operand.name + "'");
      }
    }
    RewriteVariant variant;
    variant.steps = scope_.finish(guards, ExprPlace::kRewrite);
    // What a rule author would be told is here the reason why there is no rule.
    if (errors_.error_count() > 0) return give_up(errors_.take_errors()[0].message);
    variant.nodes = std::move(nodes_);
    variant.roots = {*root};
    variant.absent = {absent_.begin(), absent_.end()};
    std::set<std::string> attrs;
    for (const auto& spec : info_.attrs) {
      if (scope_.scope.contains(spec.name))
        attrs.insert(spec.name);
      else if (!spec.fallback && !spec.optional)
        return give_up("its body does not tell '" + spec.name + "'");
    }
    variant.to = {call_of(info_, attrs)};
    return variant;
  }

  const std::string& reason() const { return reason_; }

 private:
  std::nullopt_t give_up(std::string reason) {
    if (reason_.empty()) reason_ = std::move(reason);
    return std::nullopt;
  }

  std::uint32_t add(PatternNode node) {
    nodes_.push_back(std::move(node));
    return static_cast<std::uint32_t>(nodes_.size() - 1);
  }

  std::uint32_t variable(const std::string& name, const Span& span) {
    scope_.bind({name, span}, Binding::Kind::kTensor);
    PatternNode node;
    node.kind = PatternNode::Kind::kVariable;
    node.name = name;
    node.span = span;
    return add(std::move(node));
  }

  std::uint32_t number(double value, const Span& span) {
    PatternNode node;
    node.kind = PatternNode::Kind::kLiteral;
    node.span = span;
    node.literal.value = value;
    return add(std::move(node));
  }

  const ops::AttrSpec* attr_spec(const std::string& name) const { return find_attr(info_, name); }
  bool is_operand(const std::string& name) const {
    return std::any_of(info_.operands.begin(), info_.operands.end(), [&](const auto& o) { return o.name == name; });
  }

  std::optional<std::uint32_t> convert(const ExprPtr& expr) {
    const bool leaf =
        expr->kind == Expr::Kind::kInt || expr->kind == Expr::Kind::kFloat || expr->kind == Expr::Kind::kName;
    if (!leaf && of_attrs(*expr)) return computed_number(expr);
    switch (expr->kind) {
      case Expr::Kind::kInt: return number(static_cast<double>(expr->integer), expr->span);
      case Expr::Kind::kFloat: return number(expr->number, expr->span);
      case Expr::Kind::kName: return name(expr);
      case Expr::Kind::kUnary: return unary(*expr);
      case Expr::Kind::kBinary: return binary(*expr);
      case Expr::Kind::kCall: return call(expr, {});
      case Expr::Kind::kResult:
        if (expr->args[0]->kind == Expr::Kind::kCall) return call(expr->args[0], expr->text);
        return give_up("one call gives several values");
      case Expr::Kind::kConditional: {
        const auto decided = condition(*expr->args[0]);
        if (!decided) return give_up("a condition in its body depends on attributes");
        return convert(expr->args[*decided ? 1 : 2]);
      }
      case Expr::Kind::kString:
      case Expr::Kind::kBool:
      case Expr::Kind::kList:
      case Expr::Kind::kIndex:
      case Expr::Kind::kSlice: return give_up("its body computes with attributes where a tensor stands");
    }
    return std::nullopt;
  }

  /// Only the presence of operands is known when rules are made.
  std::optional<bool> condition(const Expr& expr) const {
    if (expr.kind == Expr::Kind::kBool) return expr.integer != 0;
    if (expr.kind == Expr::Kind::kCall && expr.text == "present" && expr.args[0]->kind == Expr::Kind::kName &&
        is_operand(expr.args[0]->text)) {
      return !absent_.contains(expr.args[0]->text);
    }
    if (expr.kind == Expr::Kind::kUnary && expr.text == "not") {
      const auto inner = condition(*expr.args[0]);
      return inner ? std::optional(!*inner) : std::nullopt;
    }
    if (expr.kind == Expr::Kind::kBinary && (expr.text == "and" || expr.text == "or")) {
      const auto a = condition(*expr.args[0]);
      const auto b = condition(*expr.args[1]);
      if (a && b) return expr.text == "and" ? *a && *b : *a || *b;
    }
    return std::nullopt;
  }

  std::optional<std::uint32_t> name(const ExprPtr& expr) {
    const std::string& text = expr->text;
    if (absent_.contains(text)) return give_up("its body needs the optional operand '" + text + "'");
    if (is_operand(text)) return variable(text, expr->span);
    if (const auto* spec = attr_spec(text)) return attr_number(*spec, expr->span);
    const auto let = lets_.find(text);
    if (let == lets_.end()) return give_up("'" + text + "' is no tensor");
    if (of_attrs(*let->second)) return computed_number(let->second);
    if (scope_.scope.contains(text)) return variable(text, expr->span);
    const auto node = convert(let->second);
    if (!node) return std::nullopt;
    // The first use names the value, later ones ask for the same.
    PatternNode& made = nodes_[*node];
    if (made.kind == PatternNode::Kind::kApply && made.name.empty()) {
      made.name = text;
      scope_.bind({text, expr->span}, Binding::Kind::kTensor, made.ops);
    }
    return node;
  }

  /// An attribute among tensors is a number of the model that the match reads.
  std::optional<std::uint32_t> attr_number(const ops::AttrSpec& spec, const Span& span) {
    if (spec.kind != ops::AttrKind::kFloat && spec.kind != ops::AttrKind::kInt) {
      return give_up("'" + spec.name + "' is no number");
    }
    if (scope_.scope.contains(spec.name)) {  // a second place has the same number
      Expr again;
      again.kind = Expr::Kind::kName;
      again.text = spec.name;
      again.span = span;
      return computed_number(share(std::move(again)));
    }
    scope_.bind({spec.name, span}, Binding::Kind::kAttr);
    PatternNode node;
    node.kind = PatternNode::Kind::kLiteral;
    node.span = span;
    node.literal.bind = spec.name;
    if (is_hidden_literal(spec)) {
      node.literal.value = std::get<double>(*spec.fallback);
      node.literal.approximate = true;
      node.literal.tolerance = digit_tolerance(fmt::format("{}", node.literal.value));
    } else {
      node.literal.any = true;
    }
    return add(std::move(node));
  }

  /// A number that attributes and shapes give: any constant, and a test that it is that number.
  std::uint32_t computed_number(const ExprPtr& expr) {
    PatternNode node;
    node.kind = PatternNode::Kind::kLiteral;
    node.span = expr->span;
    node.literal.any = true;
    node.literal.bind = scope_.test_number(inline_lets(expr));
    return add(std::move(node));
  }

  std::optional<std::uint32_t> apply(const std::string& op, const std::vector<ExprPtr>& args, const Span& span) {
    PatternNode node;
    node.kind = PatternNode::Kind::kApply;
    node.span = span;
    node.ops = {{c_.table.require(op)}};
    for (const auto& arg : args) {
      const auto operand = placed_operand(arg);
      if (!operand) return std::nullopt;
      node.operands.push_back(*operand);
    }
    return add(std::move(node));
  }

  /// `s along axes`, or an operand as it is.
  std::optional<std::uint32_t> placed_operand(const ExprPtr& expr) {
    if (expr->kind != Expr::Kind::kBinary || expr->text != "along") return convert(expr);
    PatternNode node;
    node.kind = PatternNode::Kind::kApply;
    node.span = expr->span;
    node.ops = {{c_.table.require("broadcast")}};
    const auto operand = convert(expr->args[0]);
    if (!operand) return std::nullopt;
    node.operands = {*operand};
    ExprPtr axes = inline_lets(expr->args[1]);
    const bool list =
        axes->kind == Expr::Kind::kList || axes->kind == Expr::Kind::kCall || axes->kind == Expr::Kind::kSlice;
    if (!list) {
      Expr one;
      one.kind = Expr::Kind::kList;
      one.span = axes->span;
      one.args = {axes};
      axes = share(std::move(one));
    }
    attr("dims", axes, node);
    return add(std::move(node));
  }

  std::optional<std::uint32_t> unary(const Expr& expr) {
    return apply(expr.text == "-" ? "neg" : "not", expr.args, expr.span);
  }

  std::optional<std::uint32_t> binary(const Expr& expr) {
    static const std::map<std::string, std::string> kOps = {
        {"+", "add"}, {"-", "sub"}, {"*", "mul"}, {"/", "div"}, {"%", "mod"}, {"**", "pow"},  {"==", "eq"},
        {"!=", "ne"}, {"<", "lt"},  {"<=", "le"}, {">", "gt"},  {">=", "ge"}, {"and", "and"}, {"or", "or"}};
    if (expr.text == "??") {
      const bool absent = expr.args[0]->kind == Expr::Kind::kName && absent_.contains(expr.args[0]->text);
      return convert(expr.args[absent ? 1 : 0]);
    }
    const auto op = kOps.find(expr.text);
    if (op == kOps.end()) return give_up("there is no operator for '" + expr.text + "'");
    return apply(op->second, expr.args, expr.span);
  }

  /// Made of numbers, attributes and shapes alone.
  bool of_attrs(const Expr& expr) const {
    if (expr.kind == Expr::Kind::kCall)
      return expr.text == "dim" || expr.text == "rank" || expr.text == "size" || expr.text == "prod";
    if (expr.kind == Expr::Kind::kConditional || expr.kind == Expr::Kind::kString || expr.kind == Expr::Kind::kResult)
      return false;
    if (expr.kind == Expr::Kind::kName) {
      const auto let = lets_.find(expr.text);
      return attr_spec(expr.text) != nullptr || (let != lets_.end() && of_attrs(*let->second));
    }
    return std::all_of(expr.args.begin(), expr.args.end(), [&](const auto& a) { return a == nullptr || of_attrs(*a); });
  }

  std::optional<std::uint32_t> call(const ExprPtr& expr, const std::string& result) {
    const OpId op = c_.table.find(expr->text);
    if (!op.valid()) return give_up("its body calls " + expr->text + ", which is no operator");
    const auto& info = c_.table[op];
    PatternNode node;
    node.kind = PatternNode::Kind::kApply;
    node.span = expr->span;
    node.ops = {{op}};
    const bool variadic = !info.operands.empty() && info.operands.back().variadic;
    const std::size_t operands = variadic ? expr->args.size() : std::min(expr->args.size(), info.operands.size());
    for (std::size_t i = 0; i < operands; ++i) {
      const auto operand = placed_operand(expr->args[i]);
      if (!operand) return std::nullopt;
      node.operands.push_back(*operand);
    }
    for (std::size_t i = operands; i < expr->args.size(); ++i) attr(info.attrs[i - operands].name, expr->args[i], node);
    for (const auto& [key, value] : expr->named) {
      if (find_attr(info, key) == nullptr) return give_up("its body names an operand");
      attr(key, value, node);
    }
    for (const ops::AttrSpec& spec : info.attrs) {
      if (!spec.fallback || std::ranges::find(node.attrs, spec.name, &AttrPattern::attr) != node.attrs.end()) continue;
      default_attr(spec, expr->span, node);
    }
    if (!result.empty()) {
      const auto at = std::find(info.results.begin(), info.results.end(), result);
      node.result = static_cast<std::uint32_t>(at - info.results.begin());
    }
    return add(std::move(node));
  }

  ExprPtr inline_lets(const ExprPtr& expr) {
    const Replace replace = [&](const ExprPtr& part) -> ExprPtr {
      if (part->kind != Expr::Kind::kName || scope_.scope.contains(part->text)) return nullptr;
      const auto at = lets_.find(part->text);
      return at == lets_.end() ? nullptr : rewrite_expr(at->second, replace_);
    };
    replace_ = replace;
    return rewrite_expr(expr, replace);
  }

  void attr(const std::string& key, const ExprPtr& value, PatternNode& node) {
    scope_.attr(
        {{key, value->span}, inline_lets(value)}, node.ops, [&](std::size_t i) { return operand_name(node, i); },
        node.attrs);
  }

  /// An attribute that the body leaves out; an axis is counted from the end of its operand.
  void default_attr(const ops::AttrSpec& spec, const Span& span, PatternNode& node) {
    const auto* number = std::get_if<std::int64_t>(&*spec.fallback);
    if (!spec.axis_of || number == nullptr) {
      node.attrs.push_back({spec.name, {}, spec.fallback, span});
      return;
    }
    Expr axis;
    axis.span = span;
    axis.integer = *number;
    attr(spec.name, share(std::move(axis)), node);
  }

  /// The name of an operand, made up where it has none.
  std::string operand_name(const PatternNode& node, std::size_t i) {
    if (i >= node.operands.size()) return {};
    PatternNode& operand = nodes_[node.operands[i]];
    if (operand.kind == PatternNode::Kind::kLiteral) return {};
    if (operand.name.empty()) {
      operand.name = "operand@" + std::to_string(node.operands[i]);
      scope_.bind({operand.name, operand.span}, Binding::Kind::kTensor, operand.ops);
    }
    return operand.name;
  }

  const ops::OpInfo& info_;
  const RuleContext& c_;
  Reports errors_;
  RuleContext quiet_{c_.table, c_.classes, errors_};
  PatternScope scope_{quiet_};
  std::set<std::string> absent_;
  std::map<std::string, ExprPtr> lets_;
  std::vector<PatternNode> nodes_;
  std::string reason_;
  Replace replace_;
};

}  // namespace

std::vector<RewriteRule> generate_rewrites(OpId op, const RuleContext& context) {
  const auto& info = context.table[op];
  if (std::any_of(info.operands.begin(), info.operands.end(), [](const auto& operand) { return operand.variadic; })) {
    context.reports.note(info.span, "'" + info.name +
                                        "' takes any number of operands, so it is expanded when a model is loaded "
                                        "and never recognised");
    return {};
  }
  RewriteRule expand = blank_rule("expand", op, RewriteRule::Origin::kExpand, info);
  for (std::uint32_t i = 0; i < info.results.size(); ++i) expand.variants.push_back(expand_result(op, info, i));

  std::vector<std::string> optional;
  for (const auto& operand : info.operands) {
    if (operand.optional) optional.push_back(operand.name);
  }
  RewriteRule recognise = blank_rule("recognise", op, RewriteRule::Origin::kRecognise, info);
  std::string reason = "it has too many optional operands";
  for (std::size_t subset = 0; optional.size() <= kMostOptional && subset < (std::size_t{1} << optional.size());
       ++subset) {
    std::set<std::string> absent;
    for (std::size_t i = 0; i < optional.size(); ++i) {
      if ((subset >> i & 1) != 0) absent.insert(optional[i]);
    }
    BodyPattern pattern(info, std::move(absent), context);
    std::vector<Guard> guards;
    auto variant = pattern.run(guards);
    if (!variant) {
      reason = pattern.reason();
      continue;
    }
    for (Step& step : variant->steps) {
      if (step.kind == Step::Kind::kGuard) step.guard += static_cast<std::uint32_t>(recognise.guards.size());
    }
    recognise.guards.insert(recognise.guards.end(), guards.begin(), guards.end());
    recognise.variants.push_back(std::move(*variant));
  }
  std::vector<RewriteRule> rules;
  rules.push_back(std::move(expand));
  if (recognise.variants.empty()) {
    context.reports.note(info.span, "'" + info.name + "' is expanded, but not recognised in a model: " + reason);
  } else {
    rules.push_back(std::move(recognise));
  }
  return rules;
}

}  // namespace fusewright::rule
