#include <algorithm>
#include <cmath>
#include <optional>

#include "src/rule/lint_passes.hpp"

namespace fusewright::rule {

namespace {

constexpr std::size_t kMostOperands = 3;

DTypeSet all_dtypes() { return DTypeSet().set(); }
ops::DType dtype_at(std::size_t i) { return static_cast<ops::DType>(i); }

/// Dtypes of operands, then of the result, that an operator takes.
using Row = std::array<std::uint8_t, kMostOperands + 1>;
struct Signature {
  std::size_t operands = 0;
  std::vector<Row> rows;
};

/// What dtypes an operator takes is asked of the operator itself: it is tried on small tensors of every dtype.
class Signatures {
 public:
  explicit Signatures(const ops::OpTable& table) : table_(table) {}

  /// Nothing for operators that cannot be tried without knowing more.
  const std::optional<Signature>& of(OpId op, std::size_t operands, std::uint32_t result) {
    const auto key = std::tuple(op, operands, result);
    if (const auto at = known_.find(key); at != known_.end()) return at->second;
    return known_[key] = make(table_[op], op, operands, result);
  }

 private:
  std::optional<Signature> make(const ops::OpInfo& info, OpId op, std::size_t operands, std::uint32_t result) const {
    using ops::OpClass;
    const bool tried = info.op_class == OpClass::kElementwise || info.op_class == OpClass::kReduction ||
                       info.op_class == OpClass::kScan || info.op_class == OpClass::kSort ||
                       info.op_class == OpClass::kComposite;
    if (!tried || operands == 0 || operands > kMostOperands) return std::nullopt;
    ops::Attrs attrs;
    std::vector<std::string> dtypes;
    for (const auto& spec : info.attrs) {
      if (spec.kind == ops::AttrKind::kDType) dtypes.push_back(spec.name);
      if (spec.fallback || spec.optional || info.complete != nullptr || spec.kind == ops::AttrKind::kDType) continue;
      if (spec.name == "axes" && spec.kind == ops::AttrKind::kInts)
        attrs.set("axes", std::vector<std::int64_t>{0});
      else if (spec.name == "axis" || spec.name == "k")
        attrs.set(spec.name, std::int64_t{spec.name == "k"});
      else
        return std::nullopt;
    }
    if (dtypes.size() > 1) return std::nullopt;
    // A dtype that is an attribute may be any.
    Signature signature{operands, {}};
    for (std::size_t i = 0; i < (dtypes.empty() ? 1 : kDTypeCount); ++i) {
      if (!dtypes.empty()) attrs.set(dtypes[0], dtype_at(i));
      Row row{};
      try_rows(op, attrs, result, 0, row, signature);
    }
    if (signature.rows.empty()) return std::nullopt;
    return signature;
  }

  void try_rows(OpId op, const ops::Attrs& attrs, std::uint32_t result, std::size_t at, Row& row,
                Signature& signature) const {
    if (at == signature.operands) {
      std::vector<ops::Type> types;
      for (std::size_t i = 0; i < at; ++i) types.push_back(ops::Type::tensor(dtype_at(row[i]), {Dim(2), Dim(2)}));
      const auto complete = table_.complete_attrs(op, attrs, types);
      if (!complete) return;
      const auto results = table_.infer(op, types, *complete);
      if (!results || result >= results->size() || !(*results)[result].is_tensor()) return;
      row[kMostOperands] = static_cast<std::uint8_t>((*results)[result].dtype);
      signature.rows.push_back(row);
      return;
    }
    for (std::size_t i = 0; i < kDTypeCount; ++i) {
      // Of three operands two have one dtype, in every operator there is: select, clamp.
      if (at == 2 && i != row[0] && i != row[1]) continue;
      row[at] = static_cast<std::uint8_t>(i);
      try_rows(op, attrs, result, at + 1, row, signature);
    }
  }

  const ops::OpTable& table_;
  std::map<std::tuple<OpId, std::size_t, std::uint32_t>, std::optional<Signature>> known_;
};

/// Lengths of the attributes that a pattern takes apart, as `axes = [a, b]` does, by the names they are bound to.
std::map<std::string, double> lengths_in(const RewriteRule& rule, const RewriteVariant& variant) {
  using Kind = ops::Expr::Kind;
  std::map<std::string, double> lengths;
  for (const Step& step : variant.steps) {
    if (step.kind != Step::Kind::kGuard) continue;
    const ops::Expr& test = *rule.guards[step.guard].expr;
    if (test.kind != Kind::kBinary || test.text != "==" || test.args[1]->kind != Kind::kInt) continue;
    const ops::Expr& call = *test.args[0];
    if (call.kind == Kind::kCall && call.text == "len" && call.args.size() == 1 && call.args[0]->kind == Kind::kName)
      lengths.emplace(call.args[0]->text, static_cast<double>(test.args[1]->integer));
  }
  return lengths;
}

/// Narrows the dtypes and ranks of the values of one pattern until nothing changes.
class Narrowing {
 public:
  Narrowing(const ops::OpTable& table, Signatures& signatures, const RewriteRule& rule, const RewriteVariant& variant)
      : table_(table), signatures_(signatures), variant_(variant), lengths_(lengths_in(rule, variant)) {
    std::map<std::string, std::size_t> first;
    for (std::size_t i = 0; i < variant.nodes.size(); ++i) {
      const std::string& name = variant.nodes[i].name;
      cell_.push_back(name.empty() ? i : first.emplace(name, i).first->second);
    }
    dtypes_.assign(variant.nodes.size(), all_dtypes());
    ranks_.assign(variant.nodes.size(), Interval{0, 64});
  }

  PatternTypes run() {
    PatternTypes out;
    do {
      changed_ = false;
      for (std::size_t i = 0; i < variant_.nodes.size() && out.dead == nullptr; ++i) {
        const PatternNode& node = variant_.nodes[i];
        if (node.kind == PatternNode::Kind::kLiteral) literal(i, node);
        if (node.kind == PatternNode::Kind::kApply) apply(i, node);
        find_dead(i, node, out);
        if (node.kind == PatternNode::Kind::kApply && out.dead == nullptr) find_impossible(node, out);
      }
    } while (changed_ && out.dead == nullptr);
    if (out.dead == nullptr) out.facts = facts();
    return out;
  }

 private:
  Facts facts() const {
    Facts facts;
    std::vector<std::string> names;
    for (std::size_t i = 0; i < variant_.nodes.size(); ++i) {
      const std::string& name = variant_.nodes[cell_[i]].name;
      names.push_back(name.empty() ? "#" + std::to_string(i) : name);
    }
    add_relations(table_, variant_, names, facts);
    std::vector<std::size_t> same(names.size());
    for (std::size_t i = 0; i < names.size(); ++i) same[i] = cell_[i];
    for (std::size_t i = 0; i < names.size(); ++i) {
      for (const std::uint32_t operand : variant_.nodes[i].operands) {
        const std::size_t from = same[i], to = same[operand];
        if (!variant_.nodes[operand].optional && has_dtype_of(i, operand))
          std::replace(same.begin(), same.end(), from, to);
      }
    }
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (variant_.nodes[i].optional) continue;
      if (same[i] != i) facts.same_dtype[names[i]] = names[same[i]];
      DTypeSet& dtypes = facts.dtypes.emplace("dtype(" + names[same[i]] + ")", all_dtypes()).first->second;
      dtypes &= dtypes_[cell_[i]];
      const auto shape = facts.same_shape.find(names[i]);
      const std::string rank = "rank(" + (shape == facts.same_shape.end() ? names[i] : shape->second) + ")";
      Interval& ranks = facts.numbers.emplace(rank, Interval()).first->second;
      ranks = {std::max(ranks.low, ranks_[cell_[i]].low), std::min(ranks.high, ranks_[cell_[i]].high)};
    }
    return facts;
  }

  /// Whether the value of a node surely has the dtype of that operand.
  bool has_dtype_of(std::size_t i, std::size_t operand) const {
    const PatternNode& node = variant_.nodes[i];
    const std::size_t count = node.operands.size();
    const auto at = std::find(node.operands.begin(), node.operands.end(), operand);
    const auto k = static_cast<std::size_t>(at - node.operands.begin());
    const auto optional = [&](std::uint32_t n) { return variant_.nodes[n].optional; };
    if (std::any_of(node.operands.begin(), node.operands.end(), optional) || node.ops.ops.empty()) return false;
    return std::all_of(node.ops.ops.begin(), node.ops.ops.end(), [&](OpId op) {
      if (table_[op].op_class == ops::OpClass::kMovement) return k == 0;
      const auto& signature = signatures_.of(op, count, node.result);
      return signature && std::all_of(signature->rows.begin(), signature->rows.end(), [&](const Row& row) {
               return row[k] == row[kMostOperands] || !fits(row, i, node);
             });
    });
  }

  /// Whether a row is one of those that are left for a node.
  bool fits(const Row& row, std::size_t i, const PatternNode& node) const {
    bool fits = dtypes_[cell_[i]].test(row[kMostOperands]);
    for (std::size_t k = 0; k < node.operands.size(); ++k) fits = fits && dtypes_[cell_[node.operands[k]]].test(row[k]);
    return fits;
  }

  void find_dead(std::size_t i, const PatternNode& node, PatternTypes& out) const {
    const auto dead = [&](std::size_t n) { return dtypes_[cell_[n]].none() || ranks_[cell_[n]].empty(); };
    const auto operand = std::find_if(node.operands.begin(), node.operands.end(), dead);
    if (!dead(i) && operand == node.operands.end()) return;
    const std::size_t at = dead(i) ? i : *operand;
    out.dead = &variant_.nodes[at];
    out.why =
        dtypes_[cell_[at]].none() ? "no dtype fits all operators around it" : "no rank fits all operators around it";
  }

  void find_impossible(const PatternNode& node, PatternTypes& out) const {
    for (const AttrPattern& attr : node.attrs) {
      if (!attr.value || node.ops.ops.empty()) continue;
      out.why = impossible_attribute(table_[node.ops.ops[0]], attr);
      if (out.why.empty()) continue;
      out.dead = &node;
      return;
    }
  }

  void narrow(std::size_t node, const DTypeSet& set) {
    DTypeSet& cell = dtypes_[cell_[node]];
    if ((cell & set) == cell) return;
    cell &= set;
    changed_ = true;
  }
  void narrow(std::size_t node, double low, double high) {
    Interval& cell = ranks_[cell_[node]];
    if (low <= cell.low && high >= cell.high) return;
    cell.low = std::max(cell.low, low);
    cell.high = std::min(cell.high, high);
    changed_ = true;
  }

  void literal(std::size_t i, const PatternNode& node) {
    if (node.literal.any || node.literal.tolerance > 0 || node.literal.approximate)
      return;  // what is near may be whole
    const double value = node.literal.value;
    DTypeSet holds;
    for (std::size_t d = 0; d < kDTypeCount; ++d) holds[d] = holds_number(dtype_at(d), value);
    narrow(i, holds);
  }

  /// Floats round it; integers have it or have it not.
  static bool holds_number(ops::DType dtype, double value) {
    if (ops::is_float(dtype)) return true;
    if (!std::isfinite(value)) return false;
    if (!ops::is_integer(dtype)) return true;
    const int bits = ops::bit_width(dtype);
    const bool is_signed = ops::is_signed_integer(dtype);
    const double end = std::ldexp(1.0, is_signed ? bits - 1 : bits);
    if (value != std::trunc(value) || bits == 64) return value == std::trunc(value);  // u64 is compared as s64
    return value < end && value >= (is_signed ? -end : 0);
  }

  void apply(std::size_t i, const PatternNode& node) {
    if (node.ops.ops.empty()) return;
    apply_dtypes(i, node);
    apply_ranks(i, node);
  }

  void apply_dtypes(std::size_t i, const PatternNode& node) {
    const std::size_t count = node.operands.size();
    for (const std::uint32_t operand : node.operands) {
      if (variant_.nodes[operand].optional) return;
    }
    std::vector<DTypeSet> operands(count);
    DTypeSet result;
    for (const OpId op : node.ops.ops) {
      if (table_[op].op_class == ops::OpClass::kMovement && count > 0) {
        operands[0] |= dtypes_[cell_[i]];
        result |= dtypes_[cell_[node.operands[0]]];
        for (std::size_t k = 1; k < count; ++k) operands[k] = all_dtypes();
        continue;
      }
      const auto& signature = signatures_.of(op, count, node.result);
      if (!signature) return;
      for (const Row& row : signature->rows) {
        if (!fits(row, i, node)) continue;
        for (std::size_t k = 0; k < count; ++k) operands[k].set(row[k]);
        result.set(row[kMostOperands]);
      }
    }
    for (const AttrPattern& attr : node.attrs) {
      const auto* dtype = attr.value ? std::get_if<ops::DType>(&*attr.value) : nullptr;
      const ops::OpClass op_class = table_[node.ops.ops[0]].op_class;  // of these the attribute is the result's
      if (dtype != nullptr && (op_class == ops::OpClass::kElementwise || op_class == ops::OpClass::kReduction))
        result &= DTypeSet().set(static_cast<std::size_t>(*dtype));
    }
    narrow(i, result);
    for (std::size_t k = 0; k < count; ++k) narrow(node.operands[k], operands[k]);
  }

  const ops::AttrValue* constant(const PatternNode& node, std::string_view attr) const {
    for (const auto& pattern : node.attrs) {
      if (pattern.attr == attr && pattern.value) return &*pattern.value;
    }
    return nullptr;
  }
  std::optional<double> length(const PatternNode& node, std::string_view attr) const {
    for (const auto& pattern : node.attrs)
      if (const auto known = lengths_.find(pattern.bind); pattern.attr == attr && known != lengths_.end())
        return known->second;
    const auto* value = constant(node, attr);
    if (value == nullptr) return std::nullopt;
    if (const auto* ints = std::get_if<std::vector<std::int64_t>>(value)) return static_cast<double>(ints->size());
    if (const auto* shape = std::get_if<ops::Shape>(value)) return static_cast<double>(shape->size());
    return std::nullopt;
  }

  void apply_ranks(std::size_t i, const PatternNode& node) {
    const auto rank = [&](std::size_t n) { return ranks_[cell_[n]]; };
    const ops::OpInfo& info = table_[node.ops.ops[0]];
    axes_in_range(info, node);
    if (node.operands.empty() || node.ops.ops.size() > 1) return;
    const std::size_t x = node.operands[0];
    if (info.op_class == ops::OpClass::kElementwise) {
      // An operand may be repeated by a broadcast, so it may have fewer axes than the result, but not more.
      double most = 0;
      for (const std::uint32_t operand : node.operands) {
        narrow(operand, 0, rank(i).high);
        narrow(i, rank(operand).low, 64);
        most = std::max(most, rank(operand).high);
      }
      narrow(i, 0, most);
    } else if (info.name == "transpose" || info.name == "reverse") {
      narrow(i, rank(x).low, rank(x).high);
      narrow(x, rank(i).low, rank(i).high);
      if (const auto axes = length(node, "perm")) narrow(x, *axes, *axes);
    } else if (info.name == "reshape" || info.name == "broadcast") {
      if (const auto axes = length(node, "shape")) narrow(i, *axes, *axes);
      if (const auto axes = length(node, "dims")) narrow(x, *axes, *axes);
      if (info.name == "broadcast") narrow(i, rank(x).low, 64);
    } else if (info.op_class == ops::OpClass::kReduction && find_attr(info, "axes") != nullptr) {
      narrow(x, rank(i).low, 64);
      if (const auto axes = length(node, "axes")) {
        narrow(i, rank(x).low - *axes, rank(x).high - *axes);
        narrow(x, rank(i).low + *axes, rank(i).high + *axes);
      }
    }
  }

  /// Numbers of axes that are written say how many axes there are at least; so does how many are written, for each
  /// stands once.
  void axes_in_range(const ops::OpInfo& info, const PatternNode& node) {
    for (const auto& spec : info.attrs) {
      if (!spec.axis_of || *spec.axis_of >= node.operands.size()) continue;
      if (const auto axes = length(node, spec.name)) narrow(node.operands[*spec.axis_of], *axes, 64);
      const auto* value = constant(node, spec.name);
      if (value == nullptr) continue;
      std::int64_t most = -1;
      if (const auto* axis = std::get_if<std::int64_t>(value)) most = *axis;
      if (const auto* axes = std::get_if<std::vector<std::int64_t>>(value)) {
        for (const std::int64_t axis : *axes) most = std::max(most, axis);
      }
      narrow(node.operands[*spec.axis_of], static_cast<double>(most) + 1, 64);
    }
  }

  const ops::OpTable& table_;
  Signatures& signatures_;
  const RewriteVariant& variant_;
  std::map<std::string, double> lengths_;
  std::vector<std::size_t> cell_;  ///< of each node: the first of the same name
  std::vector<DTypeSet> dtypes_;
  std::vector<Interval> ranks_;
  bool changed_ = false;
};

}  // namespace

struct TypeLints::State {
  explicit State(const ops::OpTable& t) : table(t), signatures(t) {}
  const ops::OpTable& table;
  Signatures signatures;
};

TypeLints::TypeLints(const ops::OpTable& table) : state_(std::make_unique<State>(table)) {}
TypeLints::~TypeLints() = default;

PatternTypes TypeLints::of(const RewriteRule& rule, const RewriteVariant& variant) {
  return Narrowing(state_->table, state_->signatures, rule, variant).run();
}

}  // namespace fusewright::rule
