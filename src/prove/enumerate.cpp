#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "fusewright/prove/instance.hpp"
#include "src/prove/early_guards.hpp"
#include "src/prove/hints.hpp"

namespace fusewright::prove {

using ops::Expr;
using ops::Shape;
using ops::Type;
using rule::PatternNode;
using Kind = InstanceNode::Kind;

namespace {

constexpr std::uint32_t kNone = InstanceNode::kNone;

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

class Enumerator {
 public:
  Enumerator(Enumeration& terms, const Visit& visit)
      : terms_(terms),
        table_(terms.table),
        variant_(terms.variant),
        space_(terms.space),
        near_(numbers_near(terms.space.constants)),
        visit_(visit),
        roles_(roles_of(terms.rule)),
        guards_(terms.table, terms.rule, terms.variant),
        opaque_(opaque_nodes(terms.table, terms.rule, terms.variant)) {
    made_.assign(variant_.nodes.size(), kUnmade);
    for (const std::string& name : variant_.absent) guards_.know_absent(name);
    for (const rule::Guard& guard : terms.rule.guards) names_in(*guard.expr, guarded_);
  }

  bool run(const Type& root) {
    // More than one operand under an implied broadcast is left to small shapes.
    peels_ = !space_.repeats ? 0 : root.rank() <= 1 || space_.repeats_twice ? 2 : 1;
    node(variant_.roots[0], root, [&](std::uint32_t made) {
      draft_.root = made;
      further_roots(1, root);
    });
    return !stopped_;
  }

 private:
  using Then = std::function<void(std::uint32_t)>;
  static constexpr std::uint32_t kUnmade = kNone - 1;
  static constexpr std::size_t kOpaqueWays = 2;  // to get the value of a node that stands for any

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
      for (const ops::OpId op : p.ops.ops) {
        if (table_[op].name == "constant")
          constant(index, p, type, then);
        else
          apply(index, p, op, type, then);
      }
    if (named) guards_.forget(p.name);
  }

  /// `constant()`: one that is written down.
  void constant(std::uint32_t index, const PatternNode& p, const Type& type, const Then& then) {
    const Then bind = [&](std::uint32_t made) {
      made_[index] = made;
      then(made);
      made_[index] = kUnmade;
    };
    if (is_splat(p.name))
      splat(p.name, type, bind);
    else
      with({.kind = Kind::kWeight, .type = type, .name = p.name}, bind);
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
      then(made);
      bound_.erase(p.name);
    };
    const auto role = roles_.find(p.name);
    if (role == roles_.end() || role->second == Role::kData) {
      with({.kind = Kind::kParameter, .type = type, .name = p.name}, bind);
    } else if (role->second == Role::kWeight) {
      with({.kind = Kind::kWeight, .type = type, .name = p.name}, bind);
    } else {
      splat(p.name, type, bind);
    }
  }

  void splat(const std::string& name, const Type& type, const Then& then) {
    const bool fresh = !guards_.knows(name);
    if (fresh) guards_.know(name, type);
    std::size_t passed = 0, passed_near = 0;
    std::vector<double> values = number_table();
    const std::size_t table = values.size();
    values.insert(values.end(), near_.begin(), near_.end());
    const std::size_t named = values.size();
    if (const auto further = space_.numbers_of.find(name); further != space_.numbers_of.end())
      values.insert(values.end(), further->second.begin(), further->second.end());
    for (std::size_t i = 0; i < values.size(); ++i) {
      constexpr std::size_t kMostNear = 6;
      const double value = values[i];
      if (!holds_number(type.dtype, value) || (passed_near == kMostNear && i < named)) continue;
      const bool further = passed >= space_.numbers;
      if (further && further_) break;
      if (terms_.work == 0) stopped_ = true;
      if (stopped_) break;
      --terms_.work;
      guards_.know_number(name, value);
      if (guards_.hold()) {
        ++passed;
        passed_near += i >= table && i < named ? 1 : 0;
        further_ = further_ || further;
        with({.kind = Kind::kNumber, .type = type, .name = name, .number = value}, then);
        if (further) further_ = false;
      }
      guards_.forget_number(name);
    }
    if (fresh) guards_.forget(name);
  }

  void literal(const rule::LiteralPattern& literal, const Type& type, const Then& then) {
    std::vector<double> values = {literal.value};
    if (literal.any) values = {0.5, 3};
    // A number that shapes give: a guard picks it out.
    if (literal.any && guarded_.contains(literal.bind)) values = {0.5, 1, 2, 3, 4, 6, 8, 9, 12, 18, 27};
    if (const auto further = space_.numbers_of.find(literal.bind); literal.any && further != space_.numbers_of.end())
      values.insert(values.end(), further->second.begin(), further->second.end());
    if (literal.value == 0 && !literal.any) values.push_back(-0.0);
    if (!literal.any && literal.tolerance > 0)  // both ends of what matches
      for (const double end : {-0.999, 0.999}) values.push_back(literal.value + end * literal.tolerance);
    if (literal.approximate && type.dtype == ops::DType::kF32)
      values.push_back(std::nextafter(static_cast<float>(literal.value), 2 * static_cast<float>(literal.value)));
    const bool names = !literal.bind.empty() && !guards_.knows(literal.bind);
    for (const double value : values) {
      if (terms_.work == 0) stopped_ = true;
      if (stopped_) return;
      --terms_.work;
      if (!holds_number(type.dtype, value)) continue;
      if (names) {
        if (ops::is_float(type.dtype))
          guards_.know(literal.bind, ops::AttrValue(ops::round_to(type.dtype, value)));
        else
          guards_.know(literal.bind, ops::AttrValue(static_cast<std::int64_t>(value)));
      }
      if (!names || guards_.hold())
        with({.kind = Kind::kNumber, .type = type, .name = literal.bind, .number = value}, then);
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
    const Sources& known =
        space_.symbols != nullptr ? fresh : terms_.cache.sources(op, type, p.result, p.operands.size(), space_);
    const std::optional<Sources> asked = as_asked(p, op, type, known);
    const Sources& sources = asked ? *asked : known;
    terms_.all = terms_.all && sources.all;
    std::size_t left = opaque_[index] ? kOpaqueWays : sources.ways.size();
    for (const Source& source : sources.ways) {
      if (left-- == 0) return;
      if (terms_.work == 0) stopped_ = true;
      if (stopped_) return;
      --terms_.work;
      std::vector<std::string> bound;
      if (bind_attrs(p, source.attrs, bound)) {
        InstanceNode made{.kind = Kind::kApply, .type = type, .op = op, .attrs = source.attrs, .result = p.result};
        made.operands.assign(p.operands.size(), kNone);
        Planned planned{index, p, source, then};
        planned.types.resize(p.operands.size());
        plan(planned, 0, made);
      }
      for (auto name = bound.rbegin(); name != bound.rend(); ++name) {
        guards_.forget(*name);
        attrs_.erase(*name);
      }
    }
  }

  /// Where no way has the attributes that the pattern writes out: the ways with those in place of their own.
  std::optional<Sources> as_asked(const PatternNode& p, ops::OpId op, const Type& type, const Sources& known) const {
    const auto has = [](const ops::Attrs& attrs, const rule::AttrPattern& asked) {
      const ops::AttrValue* value = attrs.find(asked.attr);
      return !asked.value || (value != nullptr && ops::equal(*value, *asked.value));
    };
    const auto fits = [&](const Source& way) {
      return std::ranges::all_of(p.attrs, [&](const rule::AttrPattern& asked) { return has(way.attrs, asked); });
    };
    if (std::ranges::any_of(known.ways, fits)) return std::nullopt;
    Sources out{{}, known.all};
    std::set<std::string> made;
    for (const Source& way : known.ways) {
      ops::Attrs attrs = way.attrs;
      for (const rule::AttrPattern& asked : p.attrs)
        if (asked.value) attrs.set(asked.attr, *asked.value);
      auto complete = table_.complete_attrs(op, attrs, way.operands);
      const auto types = complete ? table_.infer(op, way.operands, *complete) : std::unexpected(complete.error());
      if (!types || p.result >= types->size() || (*types)[p.result] != type) continue;
      std::string key;
      for (const auto& [name, value] : complete->entries()) key += name + '=' + ops::to_string(value) + ' ';
      for (const Type& operand : way.operands) key += ops::to_string(operand);
      if (made.insert(std::move(key)).second) out.ways.push_back({*std::move(complete), way.operands});
    }
    return out;
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

  /// Operands in the order in which most is ruled out: variables and fixed numbers, which have no choice; operators,
  /// in which most names are; moves, whose attributes are mostly told by those; numbers that the term may choose.
  int choices(const PatternNode& p) const {
    switch (p.kind) {
      case PatternNode::Kind::kVariable: return is_splat(p.name) ? 3 : 0;
      case PatternNode::Kind::kWildcard: return 0;
      case PatternNode::Kind::kLiteral: return p.literal.any ? 3 : 0;
      case PatternNode::Kind::kApply: break;
    }
    return p.ops.ops.size() == 1 && table_[p.ops.ops[0]].op_class == ops::OpClass::kMovement ? 2 : 1;
  }

  bool is_splat(const std::string& name) const {
    const auto role = roles_.find(name);
    return role != roles_.end() && role->second == Role::kSplat;
  }

  std::uint32_t operand_at(const PatternNode& p, std::size_t step) const {
    std::vector<std::pair<int, std::uint32_t>> order;
    for (std::uint32_t k = 0; k < p.operands.size(); ++k) order.emplace_back(choices(variant_.nodes[p.operands[k]]), k);
    std::ranges::sort(order);
    return order[step].second;
  }

  /// A node on its way: of each operand the type that it is to have, nothing for those left out.
  struct Planned {
    std::uint32_t index;
    const PatternNode& pattern;
    const Source& source;
    const Then& then;
    std::vector<std::optional<Type>> types = {};
  };

  /// The name that a move gives to its `shape`, which is that of its result.
  const rule::AttrPattern* shape_bound_by(const PatternNode& p) const {
    if (p.kind != PatternNode::Kind::kApply || p.ops.ops.size() != 1) return nullptr;
    if (table_[p.ops.ops[0]].op_class != ops::OpClass::kMovement) return nullptr;
    const auto at = std::ranges::find(p.attrs, "shape", &rule::AttrPattern::attr);
    return at != p.attrs.end() && !at->bind.empty() ? &*at : nullptr;
  }

  /// Runs `then` while the type of a named operand is known, although it is not made yet: guards may ask for it, and
  /// wherever else the name stands it must be the same.
  template <class Next>
  void expecting(const PatternNode& operand, const Type& type, const Next& next) {
    if (terms_.work == 0) stopped_ = true;
    if (stopped_) return;
    --terms_.work;
    if (const rule::AttrPattern* shape = shape_bound_by(operand); shape != nullptr) {
      const ops::AttrValue value(type.shape);
      const auto [known, fresh] = attrs_.emplace(shape->bind, value);
      if (!fresh && !ops::equal(known->second, value)) return;
      if (fresh) guards_.know(shape->bind, value);
      if (!fresh || guards_.hold()) expecting_type(operand, type, next);
      if (fresh) guards_.forget(shape->bind);
      if (fresh) attrs_.erase(shape->bind);
      return;
    }
    expecting_type(operand, type, next);
  }

  template <class Next>
  void expecting_type(const PatternNode& operand, const Type& type, const Next& next) {
    if (operand.name.empty()) return next();
    if (const auto known = expected_.find(operand.name); known != expected_.end()) {
      if (known->second == type) next();
      return;
    }
    expected_.emplace(operand.name, type);
    const bool fresh = !guards_.knows(operand.name);
    if (fresh) guards_.know(operand.name, type);
    if (guards_.hold()) next();
    if (fresh) guards_.forget(operand.name);
    expected_.erase(operand.name);
  }

  /// The types of all operands before any of them is made: as they are, left out, or repeated to them.
  void plan(Planned& node, std::size_t k, const InstanceNode& made) {
    if (k == node.pattern.operands.size()) return operands(node, 0, made);
    const PatternNode& child = variant_.nodes[node.pattern.operands[k]];
    const Type& type = node.source.operands[k];
    const auto take = [&](const Type& taken) {
      expecting(child, taken, [&] {
        node.types[k] = taken;
        plan(node, k + 1, made);
      });
    };
    if (child.optional && !bound_.contains(child.name) && !expected_.contains(child.name)) {
      bound_[child.name] = kNone;
      guards_.know_absent(child.name);
      node.types[k].reset();
      if (guards_.hold()) plan(node, k + 1, made);
      guards_.forget(child.name);
      bound_.erase(child.name);
    }
    take(type);
    const bool implied = table_[made.op].op_class == ops::OpClass::kElementwise && peels_ > 0 &&
                         child.kind != PatternNode::Kind::kLiteral && child.kind != PatternNode::Kind::kWildcard &&
                         node.pattern.operands.size() > 1;
    if (!implied) return;
    --peels_;
    for (const Shape& from : broadcast_sources(type.shape, space_.symbols != nullptr))
      if (from != type.shape) take(Type::tensor(type.dtype, from));
    ++peels_;
  }

  void operands(Planned& node, std::size_t step, const InstanceNode& made) {
    if (step == node.pattern.operands.size()) {
      with(made, [&](std::uint32_t at) {
        made_[node.index] = at;
        node.then(at);
        made_[node.index] = kUnmade;
      });
      return;
    }
    const std::uint32_t k = operand_at(node.pattern, step);
    const auto next = [&](std::uint32_t operand) {
      InstanceNode longer = made;
      longer.operands[k] = operand;
      operands(node, step + 1, longer);
    };
    if (!node.types[k]) return next(kNone);
    const Type type = *node.types[k];  // plan() goes on with the node's own
    const Type& wanted = node.source.operands[k];
    this->node(node.pattern.operands[k], type, [&](std::uint32_t operand) {
      if (type == wanted) return next(operand);
      with({.kind = Kind::kAlign, .type = wanted, .operands = {operand}}, next);
    });
  }

  Enumeration& terms_;
  const ops::OpTable& table_;
  const rule::RewriteVariant& variant_;
  const Space& space_;
  const std::vector<double> near_;  // see numbers_near
  const Visit& visit_;
  std::map<std::string, Role> roles_;
  EarlyGuards guards_;
  std::vector<bool> opaque_;       // by pattern node
  std::set<std::string> guarded_;  // names that guards speak of
  Instance draft_;
  std::vector<std::uint32_t> made_;             // by pattern node
  std::map<std::string, std::uint32_t> bound_;  // by variable
  std::map<std::string, Type> expected_;        // by name: what it is or is to be
  std::map<std::string, ops::AttrValue> attrs_;
  int peels_ = 0;
  bool further_ = false;  // a constant is a number beyond the first of the table
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

bool enumerate(Enumeration& terms, const Type& root, const Visit& visit) { return Enumerator(terms, visit).run(root); }

}  // namespace fusewright::prove
