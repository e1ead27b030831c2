#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "fusewright/prove/instance.hpp"
#include "fusewright/rule/check.hpp"

namespace fusewright::prove {

using ops::Expr;
using ops::Shape;
using ops::Type;
using rule::PatternNode;
using Kind = InstanceNode::Kind;

namespace {

constexpr std::uint32_t kNone = InstanceNode::kNone;

/// Arguments of calls of these functions anywhere in an expression. Recursion as deep as the rule's text.
void names_in_calls(const Expr& expr, const std::set<std::string>& functions, bool inside, std::set<std::string>& out) {
  const bool here = inside || (expr.kind == Expr::Kind::kCall && functions.contains(expr.text));
  if (here && expr.kind == Expr::Kind::kName) out.insert(expr.text);
  for (const auto& arg : expr.args)
    if (arg != nullptr) names_in_calls(*arg, functions, here, out);
  for (const auto& [name, value] : expr.named) names_in_calls(*value, functions, here, out);
}

/// Numbers for constants that the rule reads: powers of two and not, both signs, the ends of what guards ask for.
const std::vector<double>& splat_values() {
  static const std::vector<double> kValues = {1,  0,    2,     0.5,          -4,   3,     0.1,        -0.0,
                                              10, 1024, 0.001, 0.0009765625, 2048, 65536, 1.0 / 16384};
  return kValues;
}

bool holds_number(ops::DType dtype, double value) {
  if (ops::is_float(dtype)) return true;
  if (value != std::floor(value) || std::signbit(value) != (value < 0)) return false;
  if (dtype == ops::DType::kPred) return value == 0 || value == 1;
  const int bits = ops::bit_width(dtype);
  if (ops::is_unsigned_integer(dtype)) return value >= 0 && value < std::ldexp(1.0, bits);
  return value >= -std::ldexp(1.0, bits - 1) && value < std::ldexp(1.0, bits - 1);
}

/// Shapes that NumPy repeats to this one, itself first.
std::vector<Shape> broadcast_sources(const Shape& shape, bool symbolic) {
  std::vector<Shape> out = {shape};
  for (std::size_t drop = 0; drop <= shape.size(); ++drop) {
    const Shape suffix(shape.begin() + static_cast<std::ptrdiff_t>(drop), shape.end());
    for (std::size_t bits = 0; bits < (std::size_t{1} << suffix.size()); ++bits) {
      Shape from = suffix;
      for (std::size_t i = 0; i < from.size(); ++i)
        if ((bits >> i & 1) != 0) from[i] = Dim(1);
      const bool units_twice = bits != 0 && symbolic && drop > 0;  // the same broadcast as a shorter suffix
      if (!units_twice && std::ranges::find(out, from) == out.end()) out.push_back(std::move(from));
    }
  }
  return out;
}

void names_in(const Expr& expr, std::set<std::string>& out) {
  if (expr.kind == Expr::Kind::kName) out.insert(expr.text);
  if (expr.kind == Expr::Kind::kResult && expr.args[0]->kind == Expr::Kind::kName) {
    out.insert(expr.args[0]->text + "." + expr.text);
    return;
  }
  for (const auto& arg : expr.args)
    if (arg != nullptr) names_in(*arg, out);
  for (const auto& [name, value] : expr.named) names_in(*value, out);
}

/// The steps of a rule on what is known of an unfinished term, so that what a guard refuses is not built at all. Types
/// and attributes only: questions about values are left to the matcher.
class EarlyGuards final : public ops::TermBuilder {
 public:
  EarlyGuards(const ops::OpTable& table, const rule::RewriteRule& rule, const rule::RewriteVariant& variant)
      : table_(table), rule_(rule), variant_(variant) {
    const std::vector<std::string>& queries = rule::term_queries();
    std::map<std::string, std::set<std::string>> lets;  // what each let needs in the end
    for (const rule::Step& step : variant.steps) {
      const Expr& expr = step.kind == rule::Step::Kind::kGuard ? *rule.guards[step.guard].expr : *step.value;
      std::set<std::string> names, asked;
      std::set<std::string>& needs = needs_.emplace_back();
      names_in(expr, names);
      for (const std::string& name : names) {
        if (const auto let = lets.find(name); let != lets.end())
          needs.insert(let->second.begin(), let->second.end());
        else if (!free(name))
          needs.insert(name);
      }
      names_in_calls(expr, {queries.begin(), queries.end()}, false, asked);
      if (!asked.empty()) needs.insert("");  // of values: never known here
      if (step.kind == rule::Step::Kind::kLet) lets[step.name] = needs;
    }
  }

  void know(const std::string& name, ops::AttrValue value) {
    env_[name] = std::move(value);
    fresh_.insert(name);
  }
  void know(const std::string& name, const Type& type) {
    types_.push_back(type);
    env_[name] = ops::TermValue{types_.size() - 1};
    fresh_.insert(name);
  }
  void know_absent(const std::string& name) {
    env_[name] = std::monostate();
    fresh_.insert(name);
  }
  void forget(const std::string& name) {
    const auto at = env_.find(name);
    if (at == env_.end()) return;
    if (std::holds_alternative<ops::TermValue>(at->second)) types_.pop_back();
    env_.erase(at);
  }
  bool knows(const std::string& name) const { return env_.contains(name); }

  /// False when a guard that what is newly known decides does not hold.
  bool hold() {
    const std::set<std::string> fresh = std::exchange(fresh_, {});
    std::optional<ops::Env> env;  // with the lets that were computed on the way
    std::set<std::size_t> computed;
    for (std::size_t i = 0; i < variant_.steps.size(); ++i) {
      const rule::Step& step = variant_.steps[i];
      if (step.kind != rule::Step::Kind::kGuard) continue;
      const std::set<std::string>& needs = needs_[i];
      if (std::ranges::none_of(needs, [&](const std::string& n) { return fresh.contains(n); })) continue;
      if (!std::ranges::all_of(needs, [&](const std::string& n) { return env_.contains(n); })) continue;
      if (!env) env = env_;
      for (std::size_t k = 0; k < i; ++k) {
        const rule::Step& let = variant_.steps[k];
        if (let.kind != rule::Step::Kind::kLet || computed.contains(k)) continue;
        if (!std::ranges::includes(needs, needs_[k])) continue;
        computed.insert(k);
        if (auto value = ops::elaborate(table_, *let.value, *env, *this)) (*env)[let.name] = *std::move(value);
      }
      const auto value = ops::elaborate(table_, *rule_.guards[step.guard].expr, *env, *this);
      const auto* attr = value ? std::get_if<ops::AttrValue>(&*value) : nullptr;
      const bool* truth = attr != nullptr ? std::get_if<bool>(attr) : nullptr;
      if (truth != nullptr && !*truth) return false;
    }
    return true;
  }

  Result<std::vector<ops::TermValue>> apply(ops::OpId, const std::vector<std::optional<ops::TermValue>>&,
                                            const ops::Attrs&, const Span& span) override {
    return fail("only types are known", span);
  }
  const Type& type(ops::TermValue value) override { return types_[value.id]; }

 private:
  /// Names that mean something by themselves: dtypes and numbers.
  static bool free(const std::string& name) {
    return ops::dtype_from_name(name).has_value() || name == "inf" || name == "nan" || name == "pi" || name == "e";
  }

  const ops::OpTable& table_;
  const rule::RewriteRule& rule_;
  const rule::RewriteVariant& variant_;
  std::vector<std::set<std::string>> needs_;  // by step: names that it and its lets rest on
  ops::Env env_;
  std::set<std::string> fresh_;  // known since guards were last tried
  std::vector<Type> types_;      // names are forgotten in the reverse order
};

class Enumerator {
 public:
  Enumerator(Enumeration& terms, const Visit& visit)
      : terms_(terms),
        table_(terms.table),
        variant_(terms.variant),
        space_(terms.space),
        visit_(visit),
        roles_(roles_of(terms.rule)),
        guards_(terms.table, terms.rule, terms.variant) {
    made_.assign(variant_.nodes.size(), kUnmade);
    for (const std::string& name : variant_.absent) guards_.know_absent(name);
    for (const rule::Guard& guard : terms.rule.guards) names_in(*guard.expr, guarded_);
  }

  bool run(const Type& root) {
    // More than one operand under an implied broadcast is left to the small shapes.
    peels_ = !space_.repeats ? 0 : root.rank() <= 1 ? 2 : 1;
    node(variant_.roots[0], root, [&](std::uint32_t made) {
      draft_.root = made;
      further_roots(1, root);
    });
    return !stopped_;
  }

 private:
  using Then = std::function<void(std::uint32_t)>;
  static constexpr std::uint32_t kUnmade = kNone - 1;

  void further_roots(std::size_t i, const Type& first) {
    if (i == variant_.roots.size()) {
      if (!visit_(draft_)) stopped_ = true;
      return;
    }
    for (const Shape& shape : shapes_of_rank(first.rank(), space_)) {
      node(variant_.roots[i], Type::tensor(first.dtype, shape), [&](std::uint32_t made) {
        draft_.others.push_back(made);
        further_roots(i + 1, first);
        draft_.others.pop_back();
      });
    }
  }

  void with(InstanceNode made, const Then& then) {
    draft_.nodes.push_back(std::move(made));
    then(static_cast<std::uint32_t>(draft_.nodes.size() - 1));
    draft_.nodes.pop_back();
  }

  void node(std::uint32_t index, const Type& type, const Then& then) {
    if (stopped_) return;
    const PatternNode& p = variant_.nodes[index];
    switch (p.kind) {
      case PatternNode::Kind::kVariable: variable(p, type, then); return;
      case PatternNode::Kind::kWildcard: with({.kind = Kind::kParameter, .type = type}, then); return;
      case PatternNode::Kind::kLiteral: literal(p.literal, type, then); return;
      case PatternNode::Kind::kApply: break;
    }
    if (made_[index] != kUnmade) {
      if (draft_.nodes[made_[index]].type == type) then(made_[index]);
      return;
    }
    // Its type may be all that a guard asks: then there is no need to look for ways to get it.
    const bool named = !p.name.empty() && !guards_.knows(p.name);
    if (named) guards_.know(p.name, type);
    if (!named || guards_.hold())
      for (const ops::OpId op : p.ops.ops) apply(index, p, op, type, then);
    if (named) guards_.forget(p.name);
  }

  void variable(const PatternNode& p, const Type& type, const Then& then) {
    for (std::uint32_t i = 0; i < variant_.nodes.size(); ++i)
      if (variant_.nodes[i].kind == PatternNode::Kind::kApply && variant_.nodes[i].name == p.name) {
        node(i, type, then);
        return;
      }
    if (const auto bound = bound_.find(p.name); bound != bound_.end()) {
      if (bound->second != kNone && draft_.nodes[bound->second].type == type) then(bound->second);
      return;
    }
    const Then bind = [&](std::uint32_t made) {
      bound_[p.name] = made;
      guards_.know(p.name, type);
      if (guards_.hold()) then(made);
      guards_.forget(p.name);
      bound_.erase(p.name);
    };
    const auto role = roles_.find(p.name);
    if (role == roles_.end() || role->second == Role::kData) {
      with({.kind = Kind::kParameter, .type = type, .name = p.name}, bind);
    } else if (role->second == Role::kWeight) {
      with({.kind = Kind::kWeight, .type = type, .name = p.name}, bind);
    } else {
      for (const double value : splat_values())
        if (holds_number(type.dtype, value))
          with({.kind = Kind::kNumber, .type = type, .name = p.name, .number = value}, bind);
    }
  }

  void literal(const rule::LiteralPattern& literal, const Type& type, const Then& then) {
    std::vector<double> values = {literal.value};
    if (literal.any) values = {0.5, 3};
    // A number that shapes give: a guard picks it out.
    if (literal.any && guarded_.contains(literal.bind)) values = {0.5, 1, 2, 3, 4, 6, 8, 9, 12, 18, 27};
    if (literal.value == 0 && !literal.any) values.push_back(-0.0);
    if (literal.approximate && type.dtype == ops::DType::kF32)
      values.push_back(std::nextafter(static_cast<float>(literal.value), 2 * static_cast<float>(literal.value)));
    const bool names = !literal.bind.empty() && !guards_.knows(literal.bind);
    for (const double value : values) {
      if (!holds_number(type.dtype, value)) continue;
      if (names) {
        if (ops::is_float(type.dtype))
          guards_.know(literal.bind, ops::AttrValue(ops::round_to(type.dtype, value)));
        else
          guards_.know(literal.bind, ops::AttrValue(static_cast<std::int64_t>(value)));
      }
      if (!names || guards_.hold()) with({.kind = Kind::kNumber, .type = type, .number = value}, then);
      if (names) guards_.forget(literal.bind);
    }
  }

  void apply(std::uint32_t index, const PatternNode& p, ops::OpId op, const Type& type, const Then& then) {
    const ops::OpInfo& info = table_[op];
    const bool variadic = !info.operands.empty() && info.operands.back().variadic;
    if (!variadic && p.operands.size() > info.operands.size()) return;
    // Where extents are symbols the list is its own: a further call makes new ones.
    Sources fresh;
    if (space_.symbols != nullptr) fresh = sources_of(table_, op, type, p.result, p.operands.size(), space_);
    const Sources& sources =
        space_.symbols != nullptr ? fresh : terms_.cache.sources(op, type, p.result, p.operands.size(), space_);
    terms_.all = terms_.all && sources.all;
    for (const Source& source : sources.ways) {
      if (terms_.work == 0) stopped_ = true;
      if (stopped_) return;
      --terms_.work;
      std::vector<std::string> bound;
      if (bind_attrs(p, source.attrs, bound)) {
        InstanceNode made{.kind = Kind::kApply, .type = type, .op = op, .attrs = source.attrs, .result = p.result};
        made.operands.assign(p.operands.size(), kNone);
        operands(index, p, source, 0, std::move(made), then);
      }
      for (auto name = bound.rbegin(); name != bound.rend(); ++name) {
        guards_.forget(*name);
        attrs_.erase(*name);
      }
    }
  }

  /// Drops what the pattern's attributes rule out before anything is built.
  bool bind_attrs(const PatternNode& p, const ops::Attrs& attrs, std::vector<std::string>& bound) {
    if (!p.name.empty())
      for (const auto& [name, value] : attrs.entries()) {
        if (guards_.knows(p.name + "." + name)) continue;
        bound.push_back(p.name + "." + name);
        guards_.know(bound.back(), value);
      }
    for (const rule::AttrPattern& pattern : p.attrs) {
      const ops::AttrValue* value = attrs.find(pattern.attr);
      if (value == nullptr) continue;
      if (pattern.bind.empty()) {
        if (pattern.value && !ops::equal(*value, *pattern.value)) return false;
        continue;
      }
      const auto [known, fresh] = attrs_.emplace(pattern.bind, *value);
      if (fresh) {
        bound.push_back(pattern.bind);
        guards_.know(pattern.bind, *value);  // again where it is `name.attr`
      } else if (!ops::equal(known->second, *value)) {
        return false;
      }
    }
    return bound.empty() || guards_.hold();
  }

  /// Operands in order of what there is to choose: variables and numbers, then moves, then all else. So guards that
  /// speak of the first hold before the last are tried.
  std::uint32_t operand_at(const PatternNode& p, std::size_t step) const {
    std::vector<std::pair<int, std::uint32_t>> order;
    for (std::uint32_t k = 0; k < p.operands.size(); ++k) {
      const PatternNode& child = variant_.nodes[p.operands[k]];
      int choices = 0;
      if (child.kind == PatternNode::Kind::kApply)
        choices = child.ops.ops.size() == 1 && table_[child.ops.ops[0]].op_class == ops::OpClass::kMovement ? 1 : 2;
      order.emplace_back(choices, k);
    }
    std::ranges::sort(order);
    return order[step].second;
  }

  void operands(std::uint32_t index, const PatternNode& p, const Source& source, std::size_t step, InstanceNode made,
                const Then& then) {
    if (step == p.operands.size()) {
      with(std::move(made), [&](std::uint32_t at) {
        made_[index] = at;
        then(at);
        made_[index] = kUnmade;
      });
      return;
    }
    const std::uint32_t k = operand_at(p, step);
    const PatternNode& child = variant_.nodes[p.operands[k]];
    const auto next = [&](std::uint32_t operand) {
      InstanceNode longer = made;
      longer.operands[k] = operand;
      operands(index, p, source, step + 1, std::move(longer), then);
    };
    if (child.optional && !bound_.contains(child.name)) {
      bound_[child.name] = kNone;
      guards_.know_absent(child.name);
      if (guards_.hold()) next(kNone);
      guards_.forget(child.name);
      bound_.erase(child.name);
    }
    const Type& type = source.operands[k];
    const bool implied = table_[made.op].op_class == ops::OpClass::kElementwise && peels_ > 0 &&
                         child.kind != PatternNode::Kind::kLiteral && child.kind != PatternNode::Kind::kWildcard &&
                         p.operands.size() > 1;
    node(p.operands[k], type, next);
    if (!implied) return;
    --peels_;
    for (const Shape& from : broadcast_sources(type.shape, space_.symbols != nullptr)) {
      if (from == type.shape) continue;
      node(p.operands[k], Type::tensor(type.dtype, from),
           [&](std::uint32_t operand) { with({.kind = Kind::kAlign, .type = type, .operands = {operand}}, next); });
    }
    ++peels_;
  }

  Enumeration& terms_;
  const ops::OpTable& table_;
  const rule::RewriteVariant& variant_;
  const Space& space_;
  const Visit& visit_;
  std::map<std::string, Role> roles_;
  EarlyGuards guards_;
  std::set<std::string> guarded_;  // names that guards speak of
  Instance draft_;
  std::vector<std::uint32_t> made_;             // by pattern node
  std::map<std::string, std::uint32_t> bound_;  // by variable
  std::map<std::string, ops::AttrValue> attrs_;
  int peels_ = 0;
  bool stopped_ = false;
};

}  // namespace

std::int64_t Instance::size() const {
  std::int64_t sum = 0;
  for (const InstanceNode& node : nodes) {
    std::int64_t elements = 1;
    for (const Dim& d : node.type.shape) elements *= d.constant().value_or(1);
    sum += elements + node.type.rank() + (node.type.dtype == ops::DType::kF32 ? 0 : 1);
  }
  return sum;
}

std::map<std::string, Role> roles_of(const rule::RewriteRule& rule) {
  std::set<std::string> weights, splats;
  const auto look = [&](const Expr& expr) {
    names_in_calls(expr, {"constant"}, false, weights);
    names_in_calls(expr, {"fold"}, false, weights);
    names_in_calls(expr, {"splat", "value", "is_zero", "is_one"}, false, splats);
  };
  for (const rule::Guard& guard : rule.guards) look(*guard.expr);
  for (const rule::RewriteVariant& variant : rule.variants) {
    for (const rule::Step& step : variant.steps)
      if (step.value != nullptr) look(*step.value);
    for (const auto& to : variant.to) look(*to);
  }
  std::map<std::string, Role> roles;
  for (const std::string& name : weights) roles[name] = Role::kWeight;
  for (const std::string& name : splats) roles[name] = Role::kSplat;
  return roles;
}

const Sources& SourceCache::sources(ops::OpId op, const Type& wanted, std::uint32_t result, std::size_t operands,
                                    const Space& space) {
  std::string key = std::to_string(op.index) + ' ' + std::to_string(result) + ' ' + std::to_string(operands) + ' ' +
                    to_string(wanted);
  for (const std::int64_t extent : space.extents) key += ' ' + std::to_string(extent);
  const auto [at, fresh] = found_.try_emplace(std::move(key));
  if (fresh) at->second = sources_of(table_, op, wanted, result, operands, space);
  return at->second;
}

bool enumerate(Enumeration& terms, const Type& root, const Visit& visit) { return Enumerator(terms, visit).run(root); }

}  // namespace fusewright::prove
