#include <algorithm>
#include <set>

#include "src/rule/checker.hpp"

namespace fusewright::rule {

namespace {

/// The operators that the nodes of a composite operator's body are of, through composites in it.
void add_body_ops(const ops::OpTable& table, OpId op, std::set<OpId>& into);

void add_expr_ops(const ops::OpTable& table, const ops::Expr& expr, std::set<OpId>& into) {
  using Kind = ops::Expr::Kind;
  static const std::map<std::string, std::string> kInfix = {
      {"+", "add"}, {"-", "sub"}, {"*", "mul"}, {"/", "div"}, {"%", "mod"}, {"**", "pow"},  {"==", "eq"},
      {"!=", "ne"}, {"<", "lt"},  {"<=", "le"}, {">", "gt"},  {">=", "ge"}, {"and", "and"}, {"or", "or"}};
  if (expr.kind == Kind::kBinary) {
    if (const auto row = kInfix.find(expr.text); row != kInfix.end()) into.insert(table.require(row->second));
  } else if (expr.kind == Kind::kUnary) {
    into.insert(table.require(expr.text == "-" ? "neg" : "not"));
  } else if (expr.kind == Kind::kCall) {
    if (const OpId op = table.find(expr.text); op.valid()) {
      if (into.insert(op).second) add_body_ops(table, op, into);
    } else if (ops::dtype_from_name(expr.text)) {
      into.insert(table.require("convert"));
    }
  }
  for (const auto& arg : expr.args) {
    if (arg != nullptr) add_expr_ops(table, *arg, into);
  }
}

void add_body_ops(const ops::OpTable& table, OpId op, std::set<OpId>& into) {
  if (table[op].body == nullptr) return;
  for (const auto& [name, value] : table[op].body->lets) add_expr_ops(table, *value, into);
  for (const auto& value : table[op].body->results) add_expr_ops(table, *value, into);
}

/// Regions are made of primitive operators. So a composite operator in a segment stands for any number of those of its
/// body, and where many elementwise operators can stand, what aligns their operands can too.
void admit_primitives(const ops::OpTable& table, Segment& segment) {
  std::set<OpId> ops(segment.ops.ops.begin(), segment.ops.ops.end());
  bool elementwise = false;
  for (const OpId op : segment.ops.ops) {
    elementwise |= table[op].op_class == ops::OpClass::kElementwise;
    if (table[op].body == nullptr) continue;
    add_body_ops(table, op, ops);
    segment.max = Segment::kUnbounded;
    elementwise = true;
  }
  if (elementwise && segment.is_closure()) {
    for (const char* name : {"broadcast", "reshape"}) ops.insert(table.require(name));
  }
  segment.ops.ops.assign(ops.begin(), ops.end());
}

class FuseChecker {
 public:
  FuseChecker(const ast::RuleDecl& decl, const RuleContext& context, FuseRule& rule)
      : decl_(decl), c_(context), scope_(context), rule_(rule) {}

  void run() {
    if (decl_.roots.empty()) c_.reports.error(decl_.name.span, "the fuse rule has no 'match'");
    if (!decl_.to.empty()) {
      c_.reports.error(decl_.to_span,
                       "a fuse rule has no 'to': it says what may become one kernel, not what it equals");
    }
    if (decl_.kernel) {
      rule_.kernel = ops::template_from_name(decl_.kernel->text);
      if (!rule_.kernel) unknown_template();
    }
    for (const auto& root : decl_.roots) add_root(root);
    const auto matches_something = [](const FuseRoot& root) {
      return std::any_of(root.segments.begin(), root.segments.end(), [](const Segment& s) { return s.min > 0; });
    };
    if (!rule_.roots.empty() && std::none_of(rule_.roots.begin(), rule_.roots.end(), matches_something)) {
      c_.reports.error(decl_.roots[0].span, "every segment may be empty, so the rule would match nothing at all",
                       "write '+' for one or more");
    }
    add_guards();
    for (const auto& name : decl_.no_duplicate) {
      if (!segment_names_.contains(name.text)) {
        c_.reports.error(name.span, "'" + name.text + "' is not a segment of this rule",
                         did_you_mean(name.text, {segment_names_.begin(), segment_names_.end()}));
      }
      rule_.no_duplicate.push_back(name.text);
    }
  }

 private:
  void unknown_template() {
    std::vector<std::string> known;
    for (const auto& [kind, name] : ops::kTemplates) known.emplace_back(name);
    std::string list;
    for (const auto& name : known) list += (list.empty() ? "" : ", ") + name;
    c_.reports.error(decl_.kernel->span,
                     "there is no kernel template '" + decl_.kernel->text + "' (there are " + list + ")",
                     did_you_mean(decl_.kernel->text, known));
  }

  void add_root(const ast::Root& root) {
    FuseRoot out;
    out.min = root.min;
    out.max = root.max;
    for (const auto& segment : root.segments) out.segments.push_back(add_segment(segment));
    for (const auto& name : root.shared) {
      const auto at = scope_.scope.find(name.text);
      if (at == scope_.scope.end() || at->second.kind != Binding::Kind::kTensor) {
        c_.reports.error(name.span, "'" + name.text + "' is not an operand of this chain");
      }
      out.shared.push_back(name.text);
    }
    rule_.roots.push_back(std::move(out));
  }

  Segment add_segment(const ast::Segment& segment) {
    Segment out;
    out.min = segment.min;
    out.max = segment.max;
    out.name = segment.as.text;
    out.span = segment.span;
    if (segment.apply != nullptr) {
      add_application(segment, out);
    } else {
      const std::size_t errors = c_.reports.error_count();
      out.ops = resolve_class(*segment.ops, c_.table, c_.classes, c_.reports);
      if (out.ops.ops.empty() && c_.reports.error_count() == errors)
        c_.reports.error(segment.span, "this class has no operators");
    }
    out.text = segment_text(segment.span);
    admit_primitives(c_.table, out);
    if (out.name.empty()) return out;
    if (const auto at = scope_.scope.find(out.name); at != scope_.scope.end()) {
      c_.reports.error(segment.as.span, "'" + out.name + "' is bound already", {},
                       {{at->second.span, "it is bound here"}});
    }
    segment_names_.insert(out.name);
    scope_.scope.try_emplace(out.name,
                             Binding{Binding::Kind::kSegment, segment.as.span, out.ops, false, false, kTensors});
    return out;
  }

  /// As written, without its name.
  static std::string segment_text(const Span& span) {
    std::string text = span.source->text.substr(span.begin, span.end - span.begin);
    const std::size_t as = text.rfind(" as ");
    return as == std::string::npos ? text : text.substr(0, as);
  }

  void add_application(const ast::Segment& segment, Segment& out) {
    const ast::Pattern& apply = *segment.apply;
    const std::size_t operands = apply.args.size() - 1;
    const std::size_t errors = c_.reports.error_count();
    if (segment.ops != nullptr) {
      for (const OpId op : resolve_class(*segment.ops, c_.table, c_.classes, c_.reports).ops) {
        if (operand_count_fits(c_.table[op], operands)) out.ops.ops.push_back(op);
      }
      if (out.ops.ops.empty() && c_.reports.error_count() == errors) {
        c_.reports.error(segment.span, "no operator of this class takes " + std::to_string(operands) +
                                           (operands == 1 ? " operand" : " operands"));
      }
    } else {
      out.ops = resolve_application(apply.name, apply.args[0].get(), operands, apply.attrs, apply.span, c_);
    }
    for (std::size_t i = 1; i < apply.args.size(); ++i) {
      const ast::Pattern& operand = *apply.args[i];
      const bool plain = operand.kind == ast::Pattern::Kind::kName || operand.kind == ast::Pattern::Kind::kWildcard;
      if (!plain || !operand.as.text.empty()) {
        c_.reports.error(operand.span,
                         "the operands of a segment are names; what computes them is a segment of its own: a |> b");
        continue;
      }
      if (operand.kind == ast::Pattern::Kind::kName) {
        if (segment_names_.contains(operand.name.text))
          scope_.used.insert(operand.name.text);  // the value of a segment before
        else
          scope_.bind(operand.name, Binding::Kind::kTensor);
      }
      out.captures.push_back({operand.name.text, operand.optional});
    }
    const auto capture_name = [&](std::size_t i) {
      return i < out.captures.size() ? out.captures[i].name : std::string();
    };
    for (const auto& attr : apply.attrs) scope_.attr(attr, out.ops, capture_name, out.attrs);
  }

  void add_guards() {
    const std::vector<Step> steps = scope_.finish(rule_.guards, ExprPlace::kFuse);
    for (const Step& step : steps) {
      if (step.kind == Step::Kind::kLet) lets_[step.name] = step.value;
    }
    ExprContext context{c_.table, c_.reports, ExprPlace::kFuse, scope_.scope, {}, std::move(scope_.attr_refs),
                        false,    {}};
    for (const auto& clause : decl_.clauses) {
      if (clause.where == nullptr) {
        c_.reports.error(clause.let.name.span, "a fuse rule computes nothing, so it has no 'let'");
        continue;
      }
      for (const auto& conjunct : conjuncts(clause.where)) {
        rule_.guards.push_back(make_guard(lower_expr(conjunct, context, kTruths, "a condition"), conjunct->span));
      }
    }
    for (Guard& guard : rule_.guards) guard.expr = substitute(guard.expr);
    for (const AttrRef& ref : context.attr_refs) bind_attr(ref);
  }

  /// Elements of attribute lists (`axes = [a]`) in guards become the elements themselves: a fuse rule has no steps.
  ExprPtr substitute(const ExprPtr& expr) const {
    if (expr == nullptr || lets_.empty()) return expr;
    if (expr->kind == ops::Expr::Kind::kName) {
      const auto at = lets_.find(expr->text);
      return at == lets_.end() ? expr : at->second;
    }
    ops::Expr out = *expr;
    for (auto& arg : out.args) arg = substitute(arg);
    for (auto& [key, value] : out.named) value = substitute(value);
    return std::make_shared<const ops::Expr>(std::move(out));
  }

  void bind_attr(const AttrRef& ref) {
    for (auto& root : rule_.roots) {
      for (auto& segment : root.segments) {
        if (segment.name != ref.node) continue;
        if (segment.is_closure()) {
          c_.reports.error(segment.span,
                           "'" + ref.node + "' stands for many operators, so it has no attribute '" + ref.attr + "'");
        }
        segment.attrs.push_back({ref.attr, ref.node + "." + ref.attr, {}, segment.span});
      }
    }
  }

  const ast::RuleDecl& decl_;
  const RuleContext& c_;
  PatternScope scope_;
  FuseRule& rule_;
  std::set<std::string> segment_names_;
  std::map<std::string, ExprPtr> lets_;
};

}  // namespace

FuseRule check_fuse(const ast::RuleDecl& decl, const RuleContext& context) {
  FuseRule rule;
  rule.name = decl.name.text;
  rule.span = decl.name.span;
  rule.exactness = check_exactness(decl, context.reports);
  rule.targets = check_targets(decl, context.reports);
  FuseChecker(decl, context, rule).run();
  return rule;
}

}  // namespace fusewright::rule
