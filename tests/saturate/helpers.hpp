#pragma once

#include <algorithm>

#include <catch2/catch.hpp>

#include "fusewright/rule/check.hpp"
#include "fusewright/rule/parse.hpp"
#include "fusewright/saturate/apply.hpp"
#include "fusewright/saturate/saturate.hpp"
#include "tests/main/paths.hpp"

namespace fusewright::saturate {

using egraph::EClassId;
using egraph::ENodeId;
using graph::Builder;
using graph::Graph;
using graph::Value;

inline std::shared_ptr<const rule::RuleSet> rules_of(const std::string& text) {
  const auto source = std::make_shared<const SourceText>(SourceText{"test.fuse", text});
  auto file = rule::parse_rules(source);
  if (!file) FAIL(print_error(file.error()));
  auto rules = rule::check_rules({*file}, ops::OpTable::builtin());
  if (!rules) FAIL(print_error(rules.error()));
  return std::make_shared<const rule::RuleSet>(*std::move(rules));
}

/// The rules that are shipped.
inline std::shared_ptr<const rule::RuleSet> library() {
  static const std::shared_ptr<const rule::RuleSet> rules = [] {
    auto loaded = rule::load_rules({(tests::source_dir() / "rules").string()}, ops::OpTable::builtin());
    if (!loaded) FAIL(print_error(loaded.error()));
    return std::make_shared<const rule::RuleSet>(*std::move(loaded));
  }();
  return rules;
}

inline ops::Type f32(std::initializer_list<std::int64_t> dims) {
  return ops::Type::tensor(ops::DType::kF32, ops::Shape(dims.begin(), dims.end()));
}

/// As a run is by default.
inline Options default_exactness() {
  Options options;
  options.allowed = *rule::parse_exactness("bitexact,reassociating");
  return options;
}
inline Options all_exactness() {
  Options options;
  options.allowed.classes = 0xff;
  return options;
}

inline Saturated must_saturate(const Graph& graph, const std::shared_ptr<const rule::RuleSet>& rules,
                               const Options& options = all_exactness()) {
  auto result = saturate(graph, rules, options);
  if (!result) FAIL(print_error(result.error()));
  return *std::move(result);
}

/// A graph of one operator tree over parameters, written as a rule would.
struct Model {
  explicit Model(const std::shared_ptr<const rule::RuleSet>& rules)
      : graph(graph::make_graph(rules->table, "test")), builder(graph, graph.entry) {}
  Value input(const char* name, ops::Type type) {
    const Value v = builder.parameter(type, name);
    env[name] = Builder::pack(v);
    return v;
  }
  void constant(const char* name, ops::Tensor tensor) {
    env[name] = Builder::pack(builder.constant(std::move(tensor)));
  }
  void let(const char* name, const std::string& text) { env[name] = Builder::pack(eval(text)); }
  Value eval(const std::string& text) {
    // The language has no entry for a lone expression: a rule's right-hand side is one.
    const auto source =
        std::make_shared<const SourceText>(SourceText{"expr", "rewrite e { match exp(a) to " + text + " }"});
    const auto file = rule::parse_rules(source);
    if (!file) FAIL(print_error(file.error()));
    const auto value =
        ops::elaborate(*graph.table, *std::get<rule::ast::RuleDecl>(file->items[0].what).to[0], env, builder);
    if (!value) FAIL(print_error(value.error()));
    return Builder::unpack(std::get<ops::TermValue>(*value));
  }
  const Graph& finish(std::vector<Value> results) {
    builder.set_results(std::move(results));
    return graph;
  }
  Graph graph;
  Builder builder;
  ops::Env env;
};

/// What the rules make in so many rounds where each matches everything from scratch.
inline egraph::Imported saturated_from_scratch(const Graph& graph, const rule::RuleSet& rules, int rounds) {
  egraph::Imported slow = egraph::from_graph(graph);
  const auto program =
      match::compile_program(*rules.table, rules.rewrites, select_rules(rules.rewrites, all_exactness()));
  REQUIRE(program.has_value());
  Applier applier(slow.egraph, rules.rewrites, *program);
  for (int i = 0; i < rounds; ++i) {
    egraph::Index index;
    index.refresh(slow.egraph);
    egraph::Matcher matcher(slow.egraph, *program, rules.rewrites.size());
    const egraph::MatchSet found = matcher.run(index, {});
    slow.egraph.next_round();
    for (std::size_t p = 0; p < program->patterns.size(); ++p) {
      const match::PatternId id(p);
      for (std::uint64_t k = 0; k < found.counts[p]; ++k)
        applier.apply(id, found.record(id, program->patterns[p].words, k));
    }
    slow.egraph.rebuild();
  }
  return slow;
}

inline bool equal(const Saturated& s, Value a, Value b) {
  return s.graph().find(s.imported.at(a)) == s.graph().find(s.imported.at(b));
}

/// Every union that a rule made is proved anew.
inline void check_replays(const egraph::EGraph& egraph, const match::Program& program,
                          const std::vector<rule::RewriteRule>& rewrites) {
  const auto apply = replayer(rewrites, program);
  for (std::size_t i = 1; i < egraph.node_count(); ++i) {
    const EClassId a(i);
    const EClassId b = egraph.find(a);
    const egraph::Explanation why = egraph::explain(egraph, program, a, b);
    const auto between = egraph::applications_between(egraph, program, a, b);
    CHECK(std::ranges::includes(why.applications, between));
    for (const egraph::ProofStep& step : why.chain) {
      if (step.reason.kind != egraph::Reason::Kind::kApplication) continue;
      CHECK(std::ranges::binary_search(between, step.reason.application));
    }
    const Status status = egraph::replay(egraph, program, why, a, b, apply);
    if (!status) FAIL("term " << i << ": " << print_error(status.error()));
    EClassId at = a;
    for (const egraph::ProofStep& step : why.chain) {
      REQUIRE(step.from == at);
      at = step.to;
    }
    REQUIRE(at == b);
  }
}
inline void check_replays(const Saturated& s) { check_replays(s.graph(), s.program, s.rules->rewrites); }

/// The nodes of this operator that the value is found equal to a result of.
inline std::vector<ENodeId> operators(const Saturated& s, Value value, const std::string& name) {
  const egraph::EGraph& egraph = s.graph();
  egraph::Index index;
  index.refresh(egraph);
  const ops::OpId wanted = egraph.table().require(name);
  std::vector<ENodeId> found;
  const auto look = [&](EClassId c) {
    for (const auto& entry : index.nodes(egraph.find(c)))
      if (entry.op == wanted) found.push_back(entry.node);
  };
  const EClassId c = egraph.find(s.imported.at(value));
  look(c);
  for (const auto& entry : index.nodes(c))
    if (entry.op == egraph.result_op()) look(egraph.operands(entry.node)[0]);
  return found;
}
inline bool has_operator(const Saturated& s, Value value, const std::string& name) {
  return !operators(s, value, name).empty();
}

}  // namespace fusewright::saturate
