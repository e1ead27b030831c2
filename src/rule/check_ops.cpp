#include <algorithm>

#include "src/rule/checker.hpp"
#include "src/rule/spelling.hpp"

namespace fusewright::rule {

using ops::AttrKind;
using ops::Expr;

namespace {

/// An operator without a body: nothing is known of it but that it keeps the type of its first operand.
Result<std::vector<ops::Type>> infer_like_first(const ops::OpInfo& op, std::span<const ops::Type> operands,
                                                const ops::Attrs&) {
  if (operands.empty() || !operands[0].is_tensor()) return fail(op.name + " needs its first operand");
  return std::vector<ops::Type>(op.results.size(), operands[0]);
}

constexpr AttrKind kKinds[] = {AttrKind::kInt,   AttrKind::kFloat, AttrKind::kBool,   AttrKind::kString,
                               AttrKind::kDType, AttrKind::kInts,  AttrKind::kFloats, AttrKind::kStrings,
                               AttrKind::kShape, AttrKind::kTensor};

std::optional<AttrKind> kind_from_name(const std::string& name) {
  for (const AttrKind kind : kKinds) {
    if (ops::name(kind) == name) return kind;
  }
  return std::nullopt;
}

class OpsChecker {
 public:
  OpsChecker(const ops::OpTable& base, Reports& reports) : base_(base), rows_(base), reports_(reports) {}

  /// The row of an operator without its body, so that bodies may name operators declared behind them.
  void add_row(const ast::OpDecl& decl, const std::string& doc) {
    ops::OpInfo info;
    info.name = decl.name.text;
    info.op_class = decl.has_body ? ops::OpClass::kComposite : ops::OpClass::kUninterpreted;
    info.documentation = doc;
    info.span = decl.name.span;
    std::map<std::string, Span> names;
    for (const auto& param : decl.params) {
      once(param.name, names, "operand");
      info.operands.push_back({param.name.text, param.optional, param.variadic});
    }
    check_operand_order(decl);
    for (const auto& attr : decl.attrs) {
      once(attr.name, names, "attribute");
      info.attrs.push_back(attr_spec(attr));
    }
    if (!decl.results.empty()) info.results.clear();
    std::map<std::string, Span> results;
    for (const auto& result : decl.results) {
      once(result, results, "result");
      info.results.push_back(result.text);
    }
    if (!decl.has_body) {
      info.infer = infer_like_first;
      if (decl.params.empty()) {
        reports_.error(decl.name.span, "an operator without a body has the type of its first operand, so it needs one");
      }
    }
    if (auto id = rows_.add(info); !id) {
      const auto& d = id.error().diagnostics[0];
      reports_.error(decl.name.span, d.message, d.suggestion, d.notes);
      return;
    }
    decls_.emplace_back(&decl, std::move(info));
  }

  ops::OpTable finish() {
    std::sort(decls_.begin(), decls_.end(), [](const auto& a, const auto& b) { return a.second.name < b.second.name; });
    for (auto& [decl, info] : decls_) {
      if (decl->has_body) add_body(*decl, info);
    }
    check_recursion();
    ops::OpTable table = base_;
    for (auto& [decl, info] : decls_) {
      (void)table.add(std::move(info));  // a name taken was reported when its row was made
    }
    return table;
  }

 private:
  void once(const ast::Name& name, std::map<std::string, Span>& names, const std::string& what) {
    const auto [at, fresh] = names.emplace(name.text, name.span);
    if (fresh) return;
    reports_.error(name.span, "the " + what + " '" + name.text + "' has a name that is taken", {},
                   {{at->second, "it is taken here"}});
  }

  void check_operand_order(const ast::OpDecl& decl) {
    for (std::size_t i = 0; i + 1 < decl.params.size(); ++i) {
      if (decl.params[i].variadic)
        reports_.error(decl.params[i].name.span, "only the last operand can be any number of tensors");
    }
  }

  ops::AttrSpec attr_spec(const ast::AttrDecl& attr) {
    ops::AttrSpec spec;
    spec.name = attr.name.text;
    spec.optional = attr.optional;
    std::optional<AttrKind> kind;
    if (attr.kind) {
      kind = kind_from_name(attr.kind->text);
      if (!kind) {
        std::vector<std::string> known;
        for (const AttrKind k : kKinds) known.emplace_back(ops::name(k));
        reports_.error(attr.kind->span, "there is no attribute kind '" + attr.kind->text + "'",
                       kind_meant(attr.kind->text, known));
      }
    }
    if (attr.fallback != nullptr) {
      spec.fallback = constant_attr(*attr.fallback, kind.value_or(AttrKind::kInt));
      if (!spec.fallback) {
        reports_.error(attr.fallback->span, "a default is a number, a text, a dtype or a list of them");
      } else if (kind && ops::kind_of(*spec.fallback) != *kind) {
        reports_.error(attr.fallback->span, "the default is of kind " +
                                                std::string(ops::name(ops::kind_of(*spec.fallback))) + ", not " +
                                                std::string(ops::name(*kind)));
      } else {
        kind = ops::kind_of(*spec.fallback);
      }
    } else if (!attr.kind) {
      reports_.error(attr.name.span, "the attribute '" + attr.name.text + "' has neither a kind nor a default",
                     "write " + attr.name.text + ": int, or " + attr.name.text + " = 0");
    }
    spec.kind = kind.value_or(AttrKind::kTensor);  // of no kind that its uses could contradict
    const bool axes = spec.name == "axis" || spec.name == "axes";
    if (axes && (spec.kind == AttrKind::kInt || spec.kind == AttrKind::kInts)) spec.axis_of = 0;
    return spec;
  }

  void add_body(const ast::OpDecl& decl, ops::OpInfo& info) {
    Scope scope;
    for (const auto& param : decl.params)
      scope[param.name.text] = {Binding::Kind::kTensor, param.name.span, {}, false, false, kTensors};
    for (const auto& attr : decl.attrs)
      scope[attr.name.text] = {
          Binding::Kind::kAttr, attr.name.span, {}, false, false, kinds_of(find_attr(info, attr.name.text)->kind)};
    auto body = std::make_shared<ops::OpBody>();
    ExprContext context{rows_, reports_, ExprPlace::kBody, scope, {}, {}, true, {}};
    LetChecks lets(reports_);
    for (const auto& let : decl.lets) {
      body->lets.emplace_back(let.name.text, lower_expr(let.value, context));
      lets.bind(let.name, *let.value, scope.contains(let.name.text));
      const auto [at, fresh] = scope.try_emplace(
          let.name.text, Binding{Binding::Kind::kTensor, let.name.span, {}, false, false, context.kinds});
      if (!fresh) {
        reports_.error(let.name.span, "'" + let.name.text + "' is bound already", {},
                       {{at->second.span, "it is bound here"}});
      }
    }
    body->results.resize(info.results.size());
    std::map<std::string, Span> absent;
    for (const auto& param : decl.params)
      if (param.optional) absent[param.name.text] = param.name.span;
    AbsentUses optional(rows_, std::move(absent), reports_);
    for (const auto& [name, value] : body->lets) optional.check(value);
    for (const auto& value : decl.values) {
      ExprPtr expr = lower_expr(value.value, context, kTensors, "a result of " + info.name);
      optional.check(expr);
      add_result(value, decl, info, std::move(expr), *body);
    }
    bool complete = true;
    const bool nameless = info.results.size() > 1 && std::ranges::any_of(decl.values, [](const auto& value) {
                            return value.name.text.empty();  // reported: it may be any of them
                          });
    for (std::size_t i = 0; i < info.results.size(); ++i) {
      if (body->results[i] != nullptr) continue;
      complete = false;
      const auto before = info.results.begin() + static_cast<std::ptrdiff_t>(i);
      if (nameless || std::find(info.results.begin(), before, info.results[i]) != before) continue;  // reported
      reports_.error(decl.name.span,
                     "the body of " + info.name + " does not say what its result '" + info.results[i] + "' is");
    }
    for (const auto& [name, number] : context.literals) {
      info.attrs.push_back({name, AttrKind::kFloat, ops::AttrValue(number), false, std::nullopt});
    }
    calls_[info.name];
    for (const auto& let : decl.lets) collect_calls(*let.value, info.name);
    for (const auto& value : decl.values) collect_calls(*value.value, info.name);
    for (const auto& param : decl.params) {
      if (!context.used.contains(param.name.text)) {
        reports_.warning("unused-name", param.name.span,
                         "the body of " + info.name + " does not use its operand '" + param.name.text + "'");
      }
    }
    if (complete) info.body = std::move(body);
  }

  void add_result(const ast::Let& value, const ast::OpDecl& decl, const ops::OpInfo& info, ExprPtr expr,
                  ops::OpBody& body) {
    std::size_t at = 0;
    if (!value.name.text.empty()) {
      at = static_cast<std::size_t>(std::find(info.results.begin(), info.results.end(), value.name.text) -
                                    info.results.begin());
      if (at == info.results.size()) {
        reports_.error(value.name.span, info.name + " has no result '" + value.name.text + "'",
                       decl.results.empty()
                           ? "name the results: op " + info.name + "(...) -> (" + value.name.text + "), or write 'let'"
                           : did_you_mean(value.name.text, info.results));
        return;
      }
    } else if (info.results.size() > 1) {
      reports_.error(value.value->span, info.name + " has several results; say which one this is");
      return;
    }
    if (body.results[at] != nullptr)
      reports_.error(value.value->span, "the result '" + info.results[at] + "' is given twice");
    body.results[at] = std::move(expr);
  }

  void collect_calls(const Expr& expr, const std::string& op) {
    if (expr.kind == Expr::Kind::kCall) calls_[op].insert(expr.text);
    for (const auto& arg : expr.args) {
      if (arg != nullptr) collect_calls(*arg, op);
    }
    for (const auto& [key, value] : expr.named) collect_calls(*value, op);
  }

  /// Takes away operators whose bodies call none that is left; what stays calls itself.
  void check_recursion() {
    std::map<std::string, std::set<std::string>> left;
    for (const auto& [op, calls] : calls_) {
      for (const auto& callee : calls) {
        if (calls_.contains(callee)) left[op].insert(callee);
      }
      left[op];
    }
    for (bool changed = true; changed;) {
      changed = false;
      for (auto it = left.begin(); it != left.end();) {
        if (!it->second.empty()) {
          ++it;
          continue;
        }
        for (auto& [op, calls] : left) calls.erase(it->first);
        it = left.erase(it);
        changed = true;
      }
    }
    for (auto& [decl, info] : decls_) {
      const auto at = left.find(info.name);
      if (at == left.end()) continue;
      reports_.error(info.span, "the body of " + info.name + " calls itself, through " + *at->second.begin());
      info.body = nullptr;
    }
  }

  const ops::OpTable& base_;
  ops::OpTable rows_;
  Reports& reports_;
  std::vector<std::pair<const ast::OpDecl*, ops::OpInfo>> decls_;
  std::map<std::string, std::set<std::string>> calls_;
};

}  // namespace

ops::OpTable declare_ops(const std::vector<const ast::OpDecl*>& decls, const std::vector<std::string>& docs,
                         const ops::OpTable& base, Reports& reports) {
  OpsChecker checker(base, reports);
  for (std::size_t i = 0; i < decls.size(); ++i) checker.add_row(*decls[i], docs[i]);
  return checker.finish();
}

}  // namespace fusewright::rule
