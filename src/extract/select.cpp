#include <algorithm>
#include <vector>

#include "fusewright/egraph/index.hpp"
#include "fusewright/extract/dag.hpp"
#include "fusewright/extract/extract.hpp"
#include "fusewright/support/check.hpp"

namespace fusewright::extract {

namespace {

using egraph::EClassId;
using egraph::EGraph;
using egraph::ENodeId;

constexpr std::uint64_t kWork = 20'000'000;  // nodes looked at, in each part of a model that is like no other
constexpr double kFewer = 1e-12;             // seconds: fewer nodes win between equals
constexpr double kNoKernel = 1e3;            // seconds: dearer than any kernel, but a choice where there is no other

std::int64_t bytes_of(const ops::Type& type) {
  if (type.kind == ops::Type::Kind::kTuple) {
    std::int64_t sum = 0;
    for (const ops::Type& element : type.elements) sum += bytes_of(element);
    return sum;
  }
  return type.is_tensor() && ops::is_static(type.shape) ? ops::byte_size(type) : 0;
}

/// Price of one e-node next to fused neighbours.
class Pricing {
 public:
  Pricing(const EGraph& egraph, const cost::Device& device) : egraph_(egraph), device_(device) {}

  double own(ENodeId n) const {
    const double epsilon = kFewer * (1 + preference(n));
    const ops::OpId op = egraph_[n].op;
    if (op == egraph_.result_op()) return epsilon;
    const ops::OpInfo& info = egraph_.table()[op];
    const EClassId c = egraph::term(n);
    // Weights folded at load cost what reading them costs, and that is paid by what reads them. What shares only such
    // things is chosen apart.
    if (egraph_.fact(c).constant()) return 0;
    const auto bytes = static_cast<double>(bytes_of(egraph_.type(c)));
    const double bandwidth = device_.memory.back().bytes_per_second;
    switch (info.op_class) {
      case ops::OpClass::kComposite:
      case ops::OpClass::kUninterpreted: return kNoKernel;
      case ops::OpClass::kElementwise:
        return epsilon + static_cast<double>(elements(c)) * work(info, egraph_.type(c)) / device_.unit_rate;
      case ops::OpClass::kMovement:
        // A transpose that no reader absorbs is a pass over memory; the others vanish into index arithmetic.
        return epsilon + (info.name == "transpose" || info.name == "concat" ? 0.5 : 0.01) * bytes / bandwidth;
      case ops::OpClass::kContraction:
      case ops::OpClass::kConvolution: return epsilon + contraction(n, info) / device_.contraction_flops;
      case ops::OpClass::kSource: return 0;
      default: return epsilon + (bytes + operand_bytes(n)) / bandwidth;
    }
  }

 private:
  /// Between equals the model's own nodes win; those that rules made are told apart by what they are, and not by their
  /// numbers, which depend on the order of the model's nodes. Less than one for what rules made, less than for two.
  double preference(ENodeId n) const {
    if (!egraph_.records() || !egraph_.made_by(n).valid()) return 0;
    const egraph::ENode& node = egraph_[n];
    std::uint64_t hash = egraph_.attrs(n).hash() * 31 + ops::hash(egraph_.type(egraph::term(n)));
    hash = (hash * 31 + node.op.index) * 0x9e3779b97f4a7c15U;  // the golden ratio's: spreads over the upper bits
    return 0.25 + 0.5 * static_cast<double>(hash >> 11) * 0x1p-53;
  }
  std::int64_t elements(EClassId c) const {
    const ops::Type& type = egraph_.type(c);
    return type.is_tensor() ? bytes_of(type) / std::max<std::int64_t>(1, ops::byte_width(type.dtype)) : 0;
  }
  static double work(const ops::OpInfo& info, const ops::Type& type) {
    return info.scalar ? static_cast<double>(ops::work(*info.scalar, type.dtype)) : 1;
  }
  double operand_bytes(ENodeId n) const {
    double sum = 0;
    for (const EClassId operand : egraph_.operands(n))
      if (operand != egraph_.none()) sum += static_cast<double>(bytes_of(egraph_.type(operand)));
    return sum;
  }
  // Multiply-adds, twice: elements of the result by what is summed for each.
  double contraction(ENodeId n, const ops::OpInfo& info) const {
    const auto operands = egraph_.operands(n);
    const double result = static_cast<double>(elements(egraph::term(n)));
    const ops::Type& a = egraph_.type(operands[0]);
    const ops::Type& b = egraph_.type(operands[1]);
    if (info.op_class == ops::OpClass::kContraction) {
      double terms = 1;
      for (const std::int64_t axis : egraph_.attrs(n).get<std::vector<std::int64_t>>("lhs_contract"))
        terms *= static_cast<double>(a.shape[static_cast<std::size_t>(axis)].constant().value_or(1));
      return 2 * result * terms;
    }
    const std::int64_t out_axis = egraph_.attrs(n).get<std::vector<std::int64_t>>("rhs_spec")[0];
    const auto out = static_cast<double>(b.shape[static_cast<std::size_t>(out_axis)].constant().value_or(1));
    return 2 * result * static_cast<double>(elements(operands[1])) / std::max<double>(1, out);
  }

  const EGraph& egraph_;
  const cost::Device& device_;
};

}  // namespace

egraph::Selection select_nodes(const egraph::Imported& imported, const cost::Device& device) {
  const EGraph& egraph = imported.egraph;
  egraph::Selection selection;
  selection.choice.resize(egraph.node_count());
  if (imported.results.empty()) return selection;
  egraph::Index index;
  index.refresh(egraph);
  const Pricing pricing(egraph, device);
  std::vector<std::uint32_t> number(egraph.node_count());  // by class: in the problem
  for (std::uint32_t c = 0; c < index.classes().size(); ++c) number[index.classes()[c].index] = c;
  DagProblem problem;
  std::vector<std::vector<ENodeId>> nodes;  // by class of the problem
  for (const EClassId c : index.classes()) {
    std::vector<ENodeId>& own = nodes.emplace_back();
    for (const auto& [op, n] : index.nodes(c)) own.push_back(n);
    std::ranges::sort(own);
    std::vector<DagNode>& choices = problem.classes.emplace_back();
    for (const ENodeId n : own) {
      DagNode& node = choices.emplace_back();
      node.cost = pricing.own(n);
      for (const EClassId operand : egraph.operands(n))
        if (operand != egraph.none()) node.children.push_back(number[egraph.find(operand).index]);
    }
  }
  for (const EClassId c : imported.results) problem.roots.push_back(number[egraph.find(c).index]);
  DagOptions options;
  options.work = kWork;
  const Result<DagSolution> solution = solve_dag(problem, options);
  FW_CHECK(solution.has_value()) << "the model itself is a choice";
  for (std::uint32_t c = 0; c < nodes.size(); ++c)
    if (const std::int32_t n = solution->choice[c]; n >= 0)
      selection.choice[index.classes()[c].index] = nodes[c][static_cast<std::size_t>(n)];
  return selection;
}

}  // namespace fusewright::extract
