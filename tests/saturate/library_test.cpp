#include <catch2/catch.hpp>

#include <filesystem>

#include "fusewright/frontend/hlo/import.hpp"
#include "fusewright/frontend/hlo/parse.hpp"
#include "fusewright/rule/check.hpp"
#include "fusewright/saturate/apply.hpp"
#include "fusewright/saturate/saturate.hpp"
#include "tests/main/paths.hpp"

namespace fusewright::saturate {
namespace {

Saturated saturate_example(const std::filesystem::path& model) {
  auto rules = rule::load_rules({(tests::source_dir() / "rules").string()}, ops::OpTable::builtin());
  if (!rules) FAIL(print_error(rules.error()));
  const auto shared = std::make_shared<const rule::RuleSet>(*std::move(rules));
  const auto text = frontend_hlo::read_hlo_file(model.string());
  if (!text) FAIL(print_error(text.error()));
  auto graphs = frontend_hlo::import_hlo(*text, shared->table, {});
  if (!graphs) FAIL(print_error(graphs.error()));
  Options options;
  options.allowed = *rule::parse_exactness("bitexact,reassociating");
  auto saturated = saturate(graphs->front(), shared, options);
  if (!saturated) FAIL(print_error(saturated.error()));
  return *std::move(saturated);
}

}  // namespace

TEST_CASE("the rule library ends on the example models, and every justification replays", "[saturate]") {
  for (const char* name : {"examples/elementwise.hlo", "examples/encoder/model.hlo"}) {
    INFO(name);
    const Saturated s = saturate_example(tests::source_dir() / name);
    for (const Diagnostic& diagnostic : s.trace.diagnostics) UNSCOPED_INFO(print_diagnostic(diagnostic));
    CHECK(s.trace.saturated());
    const egraph::EGraph& egraph = s.graph();
    const auto apply = replayer(s.rules->rewrites, s.program);
    for (std::size_t i = 1; i < egraph.node_count(); ++i) {
      const egraph::EClassId a(i), b = egraph.find(a);
      const egraph::Explanation why = egraph::explain(egraph, s.program, a, b);
      const Status status = egraph::replay(egraph, s.program, why, a, b, apply);
      INFO("term " << i);
      if (!status) FAIL(print_error(status.error()));
    }
  }
}

}  // namespace fusewright::saturate
