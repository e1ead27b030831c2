#include <algorithm>

#include "src/rule/checker.hpp"
#include "src/rule/make_expr.hpp"

namespace fusewright::rule {

using ast::Pattern;
using ops::Expr;

namespace {

constexpr std::size_t kMostVariants = 1024;

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
      c_.reports.error(pattern.as.span, "'" + name.text + "' is a name already; it needs no second one",
                       "'as' names what stands right before it: (a * b) as c names the product");
      out_.scope.bind(pattern.as, Binding::Kind::kTensor);  // nothing follows from the slip
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
    for (std::size_t i = 0; i < args.size(); ++i) {
      node.operands.push_back(lower(*args[i]));
      optional_operand(node, i, *args[i]);
    }
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
      for (std::size_t i = 1; i < pattern.args.size(); ++i) {
        const Pattern& arg = *pattern.args[i];
        const bool fresh = arg.kind == Pattern::Kind::kName && !out_.scope.scope.contains(arg.name.text);
        lower(arg);
        if (fresh) out_.scope.scope.at(arg.name.text).kinds = kAnyKind;  // a function takes numbers, too
      }
      bind_unknown(pattern);
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

  /// Names of an application that means no operator, so that nothing follows from it where they are used.
  void bind_unknown(const Pattern& pattern) {
    Scope& scope = out_.scope.scope;
    if (!pattern.as.text.empty())
      scope.try_emplace(pattern.as.text, Binding{Binding::Kind::kTensor, pattern.as.span, {}}).first->second.unknown =
          true;
    for (const auto& attr : pattern.attrs) out_.scope.attr_unknown(attr);
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
void check_alternatives(const Pattern& pattern, const RuleContext& context) {
  Reports& reports = context.reports;
  for (std::size_t i = 0; i < pattern.args.size(); ++i) {
    if (pattern.args[i] != nullptr && !(pattern.kind == Pattern::Kind::kApply && i == 0)) {
      check_alternatives(*pattern.args[i], context);
    }
  }
  if (pattern.kind != Pattern::Kind::kChoice) return;
  for (const auto& arg : pattern.args) {
    if (arg->kind != Pattern::Kind::kName || !context.table.find(arg->name.text).valid()) continue;
    reports.error(arg->span, "'" + arg->name.text + "' is an operator, and has no operands here",
                  "write " + arg->name.text + "(x), or (" + arg->name.text + " | ...)(x)");
    return;
  }
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
}  // namespace

std::vector<Lowered> lower_patterns(const std::vector<ast::PatternPtr>& roots, const std::set<std::string>& called,
                                    const RuleContext& context) {
  for (const auto& root : roots) check_alternatives(*root, context);
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
