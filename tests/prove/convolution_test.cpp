#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>

#include "fusewright/interpret/evaluate.hpp"
#include "fusewright/interpret/inputs.hpp"
#include "fusewright/prove/space.hpp"
#include "src/prove/smt_terms.hpp"

namespace fusewright::prove {
namespace {

/// Whole numbers, so that no sum is rounded.
ops::Tensor whole(const ops::Type& type, std::uint64_t index) {
  ops::Tensor t = *interpret::make_input(ops::Type::tensor(ops::DType::kS32, type.shape), 3, index);
  ops::Tensor out = *ops::make_tensor(type.dtype, t.dims);
  for (std::int64_t i = 0; i < t.elements(); ++i) ops::set_double(out, i, static_cast<double>(ops::get_int(t, i)) - 3);
  return out;
}

/// Gives a term of the solver's numbers: sums are added up, and what the solver does not know is looked up here.
class Numbers {
 public:
  Numbers(const std::vector<ops::Tensor>& parameters, std::map<std::string, double> variables)
      : parameters_(parameters), variables_(std::move(variables)) {}

  double of(const z3::expr& e) {
    if (e.is_numeral()) return e.as_double();
    const std::string name = e.decl().name().str();
    if (name == "if") return of(e.arg(0)) != 0 ? of(e.arg(1)) : of(e.arg(2));
    if (name.starts_with("sum")) return sum(e, 0);
    std::vector<double> x;
    for (unsigned i = 0; i < e.num_args(); ++i) x.push_back(of(e.arg(i)));
    if (name == "to_real") return x[0];
    if (name == "true") return 1;
    if (name == "false") return 0;
    if (name == "+") return std::accumulate(x.begin(), x.end(), 0.0);
    if (name == "*") return std::accumulate(x.begin(), x.end(), 1.0, std::multiplies());
    if (name == "-") return x.size() == 1 ? -x[0] : x[0] - x[1];
    if (name == "div") return std::floor(x[0] / x[1]);
    if (name == "mod") return x[0] - x[1] * std::floor(x[0] / x[1]);
    if (name == "<=") return x[0] <= x[1];
    if (name == ">=") return x[0] >= x[1];
    if (name == "=") return x[0] == x[1];
    if (name == "not") return x[0] == 0;
    if (name == "and") return std::ranges::all_of(x, [](double v) { return v != 0; });
    if (name == "or") return std::ranges::any_of(x, [](double v) { return v != 0; });
    if (name.starts_with("group")) return std::floor(x[0] / (x[1] / x[2]));  // of so many features so many groups
    if (name.starts_with("parameter ")) return element(parameters_[name[10] == '0' ? 0 : 1], x[0]);
    const auto variable = variables_.find(name);
    if (variable == variables_.end()) FAIL("what is " << e);
    return variable->second;
  }

 private:
  /// The arguments are the extents, then the body in which the indices are b1_0:extent, ...
  double sum(const z3::expr& e, unsigned index) {
    if (index + 1 == e.num_args()) return of(e.arg(index));
    const std::string name = "b1_" + std::to_string(index) + ":" + e.arg(index).to_string();
    double total = 0;
    for (double i = 0; i < of(e.arg(index)); ++i) {
      variables_[name] = i;
      total += sum(e, index + 1);
    }
    return total;
  }
  /// Out of the input there is nothing: it counts for nothing, too.
  static double element(const ops::Tensor& t, double at) {
    const auto i = static_cast<std::int64_t>(at);
    return i >= 0 && i < t.elements() ? ops::get_double(t, i) : 0;
  }

  const std::vector<ops::Tensor>& parameters_;
  std::map<std::string, double> variables_;
};

}  // namespace

TEST_CASE("every convolution of the table is the sum that proofs take it for", "[prove]") {
  const auto table = std::make_shared<const ops::OpTable>(ops::OpTable::builtin());
  const ops::OpId conv = table->require("conv");
  std::size_t tried = 0;
  for (const ops::Shape& shape : {ops::Shape{1, 2, 2}, {2, 1, 1}}) {
    const Sources sources = sources_of(*table, conv, ops::Type::tensor(ops::DType::kF32, shape), 0, 2, {});
    CHECK(sources.all);
    z3::context context;
    for (const Source& source : sources.ways) {
      const std::vector<ops::Tensor> operands = {whole(source.operands[0], 0), whole(source.operands[1], 1)};
      const auto result = interpret::evaluate_node(*table, conv, operands, source.attrs);
      REQUIRE(result);
      ++tried;
      graph::Graph graph = graph::make_graph(table, "conv");
      graph::Builder builder(graph, graph.entry);
      const graph::Value x = builder.parameter(source.operands[0], "x"), w = builder.parameter(source.operands[1], "w");
      builder.set_results(*builder.add(conv, {x, w}, source.attrs));
      const auto term = TermReader(context, Theory::kReals).result(graph);
      REQUIRE(term);
      for (std::int64_t linear = 0; linear < (*result)[0].elements(); ++linear) {
        std::map<std::string, double> at;
        std::int64_t rest = linear;
        for (std::size_t d = 3; d-- > 0;) {
          const std::int64_t extent = shape[d].value();
          at["i" + std::to_string(d) + "<" + std::to_string(extent)] = static_cast<double>(rest % extent);
          rest /= extent;
        }
        if (Numbers(operands, at).of(*term) == ops::get_double((*result)[0], linear)) continue;
        FAIL("element " << linear << " of " << ops::to_string(source.operands[0]) << ops::to_string(source.operands[1])
                        << *term);
      }
    }
  }
  CHECK(tried > 500);
}

}  // namespace fusewright::prove
