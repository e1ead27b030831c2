#include <algorithm>

#include "src/rule/checker.hpp"
#include "src/rule/spelling.hpp"

namespace fusewright::rule {

using ast::ClassExpr;
using ops::Expr;

namespace {

OpSet set_of(std::vector<OpId> ids) {
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return {std::move(ids)};
}

OpSet unite(const OpSet& a, const OpSet& b) {
  std::vector<OpId> all = a.ops;
  all.insert(all.end(), b.ops.begin(), b.ops.end());
  return set_of(std::move(all));
}

OpSet subtract(const OpSet& a, const OpSet& b) {
  OpSet out;
  for (const OpId op : a.ops) {
    if (!b.contains(op)) out.ops.push_back(op);
  }
  return out;
}

/// A body of elementwise operators alone makes a composite operator elementwise.
class ElementwiseBodies {
 public:
  explicit ElementwiseBodies(const ops::OpTable& table) : table_(table) {}

  bool elementwise(OpId op, int depth = 0) {
    const auto& info = table_[op];
    if (info.op_class == ops::OpClass::kElementwise) return true;
    if (info.body == nullptr || info.results.size() != 1 || depth > 32) return false;
    // Bodies that use each other many times over are looked at once.
    if (const auto known = known_.find(op); known != known_.end()) return known->second;
    return known_[op] = body(info, depth);
  }

 private:
  bool body(const ops::OpInfo& info, int depth) {
    const auto fits = [&](const ops::ExprPtr& expr) { return expression(*expr, depth); };
    return std::all_of(info.body->lets.begin(), info.body->lets.end(),
                       [&](const auto& let) { return fits(let.second); }) &&
           std::all_of(info.body->results.begin(), info.body->results.end(), fits);
  }

  bool expression(const Expr& expr, int depth) {
    switch (expr.kind) {
      case Expr::Kind::kInt:
      case Expr::Kind::kFloat:
      case Expr::Kind::kBool:
      case Expr::Kind::kName:
      case Expr::Kind::kString: return true;
      case Expr::Kind::kUnary:
      case Expr::Kind::kBinary:
      case Expr::Kind::kConditional: break;
      case Expr::Kind::kCall: {
        if (expr.text == "dtype" || expr.text == "present" || ops::dtype_from_name(expr.text)) break;
        const OpId op = table_.find(expr.text);
        if (!op.valid() || !elementwise(op, depth + 1)) return false;
        break;
      }
      case Expr::Kind::kList:
      case Expr::Kind::kIndex:
      case Expr::Kind::kSlice:
      case Expr::Kind::kResult: return false;
    }
    return expr.text != "along" &&
           std::all_of(expr.args.begin(), expr.args.end(), [&](const auto& arg) { return expression(*arg, depth); });
  }

  const ops::OpTable& table_;
  std::map<OpId, bool> known_;
};

// --- `where` of a class: conditions on the row of an operator ------------------------------------------

std::optional<std::int64_t> property(const ops::OpInfo& info, const std::string& name) {
  if (name == "operands") return static_cast<std::int64_t>(info.operands.size());
  if (name == "results") return static_cast<std::int64_t>(info.results.size());
  if (name == "commutative") return info.commutative ? 1 : 0;
  if (name == "associative") return info.associative_exact ? 1 : 0;
  if (name == "comparison") return info.scalar && ops::is_comparison(*info.scalar) ? 1 : 0;
  if (name == "expensive") return info.scalar && ops::is_expensive(*info.scalar) ? 1 : 0;
  return std::nullopt;
}

std::int64_t condition(const Expr& expr, const ops::OpInfo& info, Reports& reports) {
  if (expr.kind == Expr::Kind::kInt || expr.kind == Expr::Kind::kBool) return expr.integer;
  if (expr.kind == Expr::Kind::kName) {
    if (const auto value = property(info, expr.text)) return *value;
    reports.error(
        expr.span, "operators have no property '" + expr.text + "'",
        did_you_mean(expr.text, {"operands", "results", "commutative", "associative", "comparison", "expensive"}));
    return 0;
  }
  if (expr.kind == Expr::Kind::kUnary && expr.text == "not")
    return condition(*expr.args[0], info, reports) == 0 ? 1 : 0;
  if (expr.kind == Expr::Kind::kBinary) {
    const std::int64_t a = condition(*expr.args[0], info, reports);
    const std::int64_t b = condition(*expr.args[1], info, reports);
    if (expr.text == "and") return a != 0 && b != 0 ? 1 : 0;
    if (expr.text == "or") return a != 0 || b != 0 ? 1 : 0;
    if (expr.text == "==") return a == b ? 1 : 0;
    if (expr.text == "!=") return a != b ? 1 : 0;
    if (expr.text == "<") return a < b ? 1 : 0;
    if (expr.text == "<=") return a <= b ? 1 : 0;
    if (expr.text == ">") return a > b ? 1 : 0;
    if (expr.text == ">=") return a >= b ? 1 : 0;
  }
  reports.error(expr.span,
                "a condition on operators is made of operands, results, commutative, associative, comparison, "
                "expensive, numbers, comparisons, and, or, not");
  return 0;
}

OpSet filter(const OpSet& set, const ops::ExprPtr& where, const ops::OpTable& table, Reports& reports) {
  if (where == nullptr) return set;
  OpSet out;
  for (const OpId op : set.ops) {
    if (condition(*where, table[op], reports) != 0) out.ops.push_back(op);
  }
  return out;
}

// --- Declared classes, each resolved when it is first needed -------------------------------------------

class ClassResolver {
 public:
  ClassResolver(const ops::OpTable& table, Reports& reports, Classes& classes)
      : table_(table), reports_(reports), classes_(classes) {}

  void add(const ast::ClassDecl& decl) {
    const std::string& name = decl.name.text;
    if (classes_.sets.contains(name)) {
      reports_.error(decl.name.span, "'" + name + "' is a built-in class");
      return;
    }
    const auto [at, fresh] = pending_.emplace(name, &decl);
    if (!fresh) {
      reports_.error(decl.name.span, "the class '" + name + "' is declared twice", {},
                     {{at->second->name.span, "the other declaration is here"}});
    } else if (const OpId op = table_.find(name); op.valid()) {
      reports_.error(decl.name.span, "'" + name + "' is an operator and cannot be a class too", {},
                     {{table_[op].span, "the operator is declared here"}});
    }
  }

  void run() {
    for (const auto& [name, decl] : pending_) resolve(name);
  }

 private:
  void resolve(const std::string& name) {
    if (classes_.sets.contains(name)) return;
    const ast::ClassDecl& decl = *pending_.at(name);
    if (!open_.insert(name).second) {
      reports_.error(decl.name.span, "the class '" + name + "' is made of itself");
      classes_.sets[name];  // so that its users are not told that it does not exist
      return;
    }
    need(*decl.value);
    const std::size_t errors = reports_.error_count();
    classes_.sets[name] = filter(resolve_class(*decl.value, table_, classes_, reports_), decl.where, table_, reports_);
    classes_.places[name] = decl.name.span;
    if (reports_.error_count() > errors) {
      reports_.unread({name}, false);  // what is in it is not known
      return;
    }
    if (classes_.sets[name].ops.empty())
      reports_.warning("empty-class", decl.name.span, "the class '" + name + "' is empty");
  }

  void need(const ClassExpr& expr) {
    if (expr.kind == ClassExpr::Kind::kName && pending_.contains(expr.name.text)) resolve(expr.name.text);
    for (const auto& arg : expr.args) need(*arg);
  }

  const ops::OpTable& table_;
  Reports& reports_;
  Classes& classes_;
  std::map<std::string, const ast::ClassDecl*> pending_;
  std::set<std::string> open_;
};

}  // namespace

bool OpSet::contains(OpId op) const { return std::binary_search(ops.begin(), ops.end(), op); }

std::vector<std::string> Classes::names() const {
  std::vector<std::string> out;
  for (const auto& [name, set] : sets) out.push_back(name);
  return out;
}

Classes builtin_classes(const ops::OpTable& table) {
  using ops::OpClass;
  Classes classes;
  for (const OpClass kind :
       {OpClass::kElementwise, OpClass::kMovement, OpClass::kReduction, OpClass::kContraction, OpClass::kConvolution,
        OpClass::kWindow, OpClass::kSort, OpClass::kScan, OpClass::kIndexing, OpClass::kSource, OpClass::kControl,
        OpClass::kEffect, OpClass::kComposite, OpClass::kUninterpreted}) {
    classes.sets[std::string(ops::name(kind))];
  }
  ElementwiseBodies bodies(table);
  for (std::size_t i = 0; i < table.size(); ++i) {
    const OpId op(i);
    classes.sets[std::string(ops::name(table[op].op_class))].ops.push_back(op);
    if (table[op].body != nullptr && bodies.elementwise(op)) {
      classes.sets[std::string(ops::name(OpClass::kElementwise))].ops.push_back(op);
    }
  }
  return classes;
}

void declare_classes(const std::vector<const ast::ClassDecl*>& decls, const ops::OpTable& table, Reports& reports,
                     Classes& classes) {
  ClassResolver resolver(table, reports, classes);
  for (const auto* decl : decls) resolver.add(*decl);
  resolver.run();
}

OpSet resolve_class(const ClassExpr& expr, const ops::OpTable& table, const Classes& classes, Reports& reports) {
  if (expr.kind == ClassExpr::Kind::kName) {
    // `sort` is both: the class of sort and top_k, which holds the operator.
    if (const auto at = classes.sets.find(expr.name.text); at != classes.sets.end()) return at->second;
    if (const OpId op = table.find(expr.name.text); op.valid()) return {{op}};
    std::vector<std::string> known = table.names();
    for (auto& name : classes.names()) known.push_back(std::move(name));
    reports.unknown(expr.name.span, expr.name.text, "there is no operator or class '" + expr.name.text + "'",
                    operator_meant(expr.name.text, known));
    return {};
  }
  OpSet set = resolve_class(*expr.args[0], table, classes, reports);
  for (std::size_t i = 1; i < expr.args.size(); ++i) {
    const OpSet other = resolve_class(*expr.args[i], table, classes, reports);
    set = expr.kind == ClassExpr::Kind::kUnion ? unite(set, other) : subtract(set, other);
  }
  return set;
}

}  // namespace fusewright::rule
