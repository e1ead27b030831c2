#include "src/extract/signature.hpp"

#include <catch2/catch.hpp>

#include "src/extract/evaluate.hpp"
#include "tests/extract/library.hpp"

using namespace fusewright;
using graph::NodeId;
using graph::Value;
using ops::DType;
using tests::library;

namespace {

struct Model : tests::GraphInTheMaking {
  Value x = in(), y = in();

  Value in() {
    return builder.parameter(ops::Type::tensor(DType::kF32, {8, 4}), "x" + std::to_string(graph.inputs.size()));
  }
  Value number(double value) {
    const Value scalar = builder.constant(ops::scalar_tensor(DType::kF32, value));
    return *builder.align_to(scalar, {8, 4});
  }
  /// Of the producers of these values, which are stored.
  extract::Signature signature(const std::vector<Value>& nodes, const std::vector<Value>& stored) {
    const extract::Uses uses(graph);
    const std::vector<bool> none(graph.nodes.size(), false);
    const extract::NodeFacts facts{none, none, none};
    extract::Evaluator evaluator(graph, uses, library(), tests::device("x86-avx2"), facts, extract::FusionOptions());
    std::vector<NodeId> ids;
    for (const Value v : nodes) ids.push_back(v.node);
    return evaluator.signature(ids, stored);
  }
};

}  // namespace

TEST_CASE("blocks that a model repeats have one signature, whatever they read", "[extract]") {
  Model m;
  const auto block = [&](Value a, Value b) {
    const Value d = m.op("sub", {a, b}), e = m.op("exp", {d});
    return std::vector<Value>{d, e, m.op("mul", {e, d})};
  };
  const auto first = block(m.x, m.y), second = block(m.in(), m.in());
  m.builder.set_results({first[2], second[2]});
  CHECK(m.signature(first, {first[2]}) == m.signature(second, {second[2]}));
}

TEST_CASE("what a kernel or a guard can tell apart has another signature", "[extract]") {
  Model m;
  const Value d = m.op("sub", {m.x, m.y}), swapped = m.op("sub", {m.y, m.x}), twice = m.op("sub", {m.x, m.x});
  const Value e = m.op("exp", {d}), f = m.op("exp", {d}), again = m.op("exp", {m.op("sub", {m.in(), m.in()})});
  const Value spread2 = m.number(2), spread3 = m.number(3);
  const Value two = m.op("mul", {m.x, spread2}), three = m.op("mul", {m.x, spread3});
  const Value rows = m.op("reduce_sum", {m.x}, {{"axes", std::vector<std::int64_t>{1}}});
  const Value columns = m.op("reduce_sum", {m.x}, {{"axes", std::vector<std::int64_t>{0}}});
  const Value inner = m.graph[again.node].operands[0];
  m.builder.set_results({swapped, twice, e, f, again, two, three, rows, columns});

  // What differs: how often a value is read, what else reads it, what is stored, the number, the axis.
  CHECK(m.signature({swapped}, {swapped}) != m.signature({twice}, {twice}));
  CHECK(m.signature({d, e}, {e}) != m.signature({inner, again}, {again}));
  CHECK(m.signature({d, e}, {e}) != m.signature({d, e}, {d, e}));
  CHECK(m.signature({d, e}, {d, e}) != m.signature({d, e}, {e, d}));
  CHECK(m.signature({spread2, two}, {two}) != m.signature({spread3, three}, {three}));
  CHECK(m.signature({two}, {two}) == m.signature({three}, {three}));  // the number comes from outside
  CHECK(m.signature({rows}, {rows}) != m.signature({columns}, {columns}));
  // The order of the operands shows where they are told apart by something else.
  const Value over = m.op("div", {d, two}), under = m.op("div", {two, d});
  m.builder.set_results({over, under});
  CHECK(m.signature({d, two, over}, {over}) != m.signature({d, two, under}, {under}));
}
