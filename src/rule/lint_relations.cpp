#include <algorithm>
#include <array>

#include "fusewright/ops/axis_sets.hpp"
#include "src/rule/lint_passes.hpp"

namespace fusewright::rule {

namespace {

bool is_one_of(const std::string& name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Attributes of built-in operators whose numbers are no less than this, whichever operator it is.
struct LeastRow {
  const char* attr;
  double least;
};
constexpr std::array<LeastRow, 16> kLeast = {{{"interior", 0},
                                              {"starts", 0},
                                              {"limits", 0},
                                              {"sizes", 0},
                                              {"slice_sizes", 0},
                                              {"shape", 0},
                                              {"reversal", 0},
                                              {"k", 0},
                                              {"strides", 1},
                                              {"window", 1},
                                              {"groups", 1},
                                              {"batch_groups", 1},
                                              {"lhs_dilation", 1},
                                              {"rhs_dilation", 1},
                                              {"base_dilation", 1},
                                              {"window_dilation", 1}}};

const LeastRow* least_of(const ops::OpInfo& info, const std::string& attr) {
  const auto row = std::find_if(kLeast.begin(), kLeast.end(), [&](const auto& r) { return r.attr == attr; });
  return row == kLeast.end() || info.span.valid() ? nullptr : row;
}

/// Whether a result has the axes of the first operand, and whether it has its extents too.
bool keeps_rank(const ops::OpInfo& info) {
  using ops::OpClass;
  if (info.op_class == OpClass::kMovement) return info.name != "broadcast" && info.name != "reshape";
  if (is_one_of(info.name, {"take_along", "dynamic_slice", "dynamic_update_slice", "scatter"})) return true;
  return info.op_class == OpClass::kWindow || info.op_class == OpClass::kScan || info.op_class == OpClass::kSort ||
         info.op_class == OpClass::kConvolution;
}
/// Of a composite operator of one operand, tried on extents that nothing is known of.
bool composite_keeps_shape(const ops::OpTable& table, OpId op) {
  const ops::OpInfo& info = table[op];
  if (info.operands.size() != 1 || info.results.size() != 1) return false;
  ops::Attrs attrs;
  for (const auto& spec : info.attrs) {
    if (spec.fallback || spec.optional) continue;
    if (spec.name == "axes")
      attrs.set("axes", std::vector<std::int64_t>{0});
    else if (spec.name == "axis")
      attrs.set("axis", std::int64_t{0});
    else
      return false;
  }
  bool kept = false;
  ops::Shape shape;
  for (const char* extent : {"a", "b", "c", "d"}) {
    shape.push_back(Dim::symbol(extent));
    const std::vector<ops::Type> types = {ops::Type::tensor(ops::DType::kF32, shape)};
    const auto complete = table.complete_attrs(op, attrs, types);
    if (!complete) continue;
    const auto results = table.infer(op, types, *complete);
    if (!results) continue;
    if (!(*results)[0].is_tensor() || (*results)[0].shape != shape) return false;
    kept = true;
  }
  return kept;
}
bool keeps_shape(const ops::OpTable& table, OpId op) {
  using ops::OpClass;
  const ops::OpInfo& info = table[op];
  if (info.op_class == OpClass::kElementwise) return info.operands.size() == 1;
  if (info.op_class == OpClass::kComposite) return composite_keeps_shape(table, op);
  return info.op_class == OpClass::kScan ||
         is_one_of(info.name, {"reverse", "sort", "dynamic_update_slice", "scatter"});
}

/// Whose axes a list attribute has one number for: those of the first operand, of the result, or of nobody.
enum class Axes : std::uint8_t { kNone, kOperand, kResult };
Axes numbers_for(const ops::OpInfo& info, const std::string& attr) {
  if (is_one_of(info.name, {"reshape", "iota"})) return attr == "shape" ? Axes::kResult : Axes::kNone;
  if (info.name == "broadcast") return attr == "shape" ? Axes::kResult : Axes::kOperand;
  const bool all = is_one_of(info.name, {"slice", "pad", "dynamic_slice"}) || info.op_class == ops::OpClass::kWindow ||
                   (info.name == "transpose" && attr == "perm");
  return all ? Axes::kOperand : Axes::kNone;
}

class Relating {
 public:
  Relating(const ops::OpTable& table, const RewriteVariant& variant, const std::vector<std::string>& names,
           Facts& facts)
      : table_(table), variant_(variant), names_(names), facts_(facts) {}

  void run() {
    for (std::size_t i = 0; i < variant_.nodes.size(); ++i) {
      const PatternNode& node = variant_.nodes[i];
      if (node.kind == PatternNode::Kind::kApply && node.ops.ops.size() == 1) same_shapes(i, node);
    }
    for (std::size_t i = 0; i < variant_.nodes.size(); ++i) {
      const PatternNode& node = variant_.nodes[i];
      if (node.kind != PatternNode::Kind::kApply || node.ops.ops.size() != 1) continue;
      ranks(i, node);
      for (const AttrPattern& attr : node.attrs) attribute(i, node, attr);
    }
  }

 private:
  /// Under what name the shape of a node's value is known.
  std::string shape_of(std::size_t node) const {
    const auto at = facts_.same_shape.find(names_[node]);
    return at == facts_.same_shape.end() ? names_[node] : at->second;
  }
  std::string rank_of(std::size_t node) const { return "rank(" + shape_of(node) + ")"; }
  bool given(const PatternNode& node, std::size_t operand) const {
    return operand < node.operands.size() && !variant_.nodes[node.operands[operand]].optional;
  }

  void same_shapes(std::size_t i, const PatternNode& node) {
    if (!keeps_shape(table_, node.ops.ops[0]) || !given(node, 0)) return;
    const std::string from = shape_of(i), to = shape_of(node.operands[0]);
    if (from == to) return;
    for (auto& [name, same] : facts_.same_shape) same = same == from ? to : same;
    facts_.same_shape[from] = to;
  }

  void at_most(const std::string& a, const std::string& b, double most = 0) {
    facts_.relations.push_back({a, b, most});
  }
  void equal(const std::string& a, const std::string& b, double difference = 0) {
    at_most(a, b, difference);
    at_most(b, a, -difference);
  }

  void ranks(std::size_t i, const PatternNode& node) {
    const ops::OpInfo& info = table_[node.ops.ops[0]];
    if (info.op_class == ops::OpClass::kElementwise) {
      for (std::size_t k = 0; k < node.operands.size(); ++k)
        if (given(node, k)) at_most(rank_of(node.operands[k]), rank_of(i));
      return;
    }
    if (!given(node, 0)) return;
    const std::string x = rank_of(node.operands[0]);
    if (keeps_rank(info)) equal(rank_of(i), x);
    if (info.op_class == ops::OpClass::kConvolution && given(node, 1)) {
      equal(rank_of(node.operands[1]), x);
      at_most("", x, -2);
    }
    if (info.name == "concat") {
      for (std::size_t k = 1; k < node.operands.size(); ++k) equal(rank_of(node.operands[k]), x);
    }
    if (info.name == "broadcast") at_most(x, rank_of(i));
    if (info.op_class == ops::OpClass::kReduction) {
      at_most(rank_of(i), x);
      if (find_attr(info, "axis") != nullptr) equal(rank_of(i), x, -1);
    }
  }

  void attribute(std::size_t i, const PatternNode& node, const AttrPattern& attr) {
    const ops::OpInfo& info = table_[node.ops.ops[0]];
    const auto* spec = find_attr(info, attr.attr);
    if (spec == nullptr || attr.bind.empty()) return;
    const bool number = spec->kind == ops::AttrKind::kInt;
    const bool list = spec->kind == ops::AttrKind::kInts || spec->kind == ops::AttrKind::kShape;
    if (number) facts_.whole.insert(attr.bind);
    if (spec->axis_of && given(node, *spec->axis_of)) {
      const std::string rank = rank_of(node.operands[*spec->axis_of]);
      if (number) at_least(attr.bind, 0);
      if (number) at_most(attr.bind, rank, -1);
      if (list) facts_.elements[attr.bind] = {0, rank};
      if (list) at_most("len(" + attr.bind + ")", rank);
    }
    if (const LeastRow* row = least_of(info, attr.attr)) {
      if (number) at_least(attr.bind, row->least);
      if (list) facts_.elements[attr.bind].least = row->least;
    }
    const Axes axes = list ? numbers_for(info, attr.attr) : Axes::kNone;
    if (axes == Axes::kOperand && given(node, 0)) equal("len(" + attr.bind + ")", rank_of(node.operands[0]));
    if (axes == Axes::kResult) equal("len(" + attr.bind + ")", rank_of(i));
  }

  void at_least(const std::string& number, double least) { at_most("", number, -least); }

  const ops::OpTable& table_;
  const RewriteVariant& variant_;
  const std::vector<std::string>& names_;
  Facts& facts_;
};

}  // namespace

std::string impossible_attribute(const ops::OpInfo& info, const AttrPattern& attr) {
  std::vector<double> numbers;
  if (const auto* number = std::get_if<std::int64_t>(&*attr.value)) numbers.push_back(static_cast<double>(*number));
  if (const auto* list = std::get_if<std::vector<std::int64_t>>(&*attr.value))
    numbers.assign(list->begin(), list->end());
  if (const auto* shape = std::get_if<ops::Shape>(&*attr.value)) {
    for (const Dim& dim : *shape)
      if (dim.is_constant()) numbers.push_back(static_cast<double>(dim.value()));
  }
  const LeastRow* row = least_of(info, attr.attr);
  if (row != nullptr && std::ranges::any_of(numbers, [&](double number) { return number < row->least; }))
    return "'" + attr.attr + "' is at least " + std::to_string(static_cast<int>(row->least));
  const auto* spec = find_attr(info, attr.attr);
  const bool in_order = ops::axes_are_a_set(info, attr.attr) || (info.name == "broadcast" && attr.attr == "dims") ||
                        (info.name == "gather" &&
                         is_one_of(attr.attr, {"offset_dims", "collapsed_slice_dims", "operand_batching_dims"})) ||
                        (info.name == "scatter" &&
                         is_one_of(attr.attr, {"update_window_dims", "inserted_window_dims", "input_batching_dims"}));
  if (in_order && !std::ranges::is_sorted(numbers)) return "'" + attr.attr + "' stand in increasing order";
  if (spec != nullptr && spec->axis_of && std::ranges::any_of(numbers, [](double number) { return number < 0; }))
    return "'" + attr.attr + "' of a match counts from the front";
  const bool axes =
      in_order || (spec != nullptr && spec->axis_of) || attr.attr == "perm" || attr.attr.ends_with("_spec");
  std::ranges::sort(numbers);
  if (axes && std::ranges::adjacent_find(numbers) != numbers.end()) return "'" + attr.attr + "' names each axis once";
  return {};
}

void add_relations(const ops::OpTable& table, const RewriteVariant& variant, const std::vector<std::string>& names,
                   Facts& facts) {
  Relating(table, variant, names, facts).run();
}

}  // namespace fusewright::rule
