#include <algorithm>
#include <filesystem>
#include <vector>

#include "fusewright/frontend/hlo/import.hpp"
#include "fusewright/saturate/apply.hpp"
#include "kernels.hpp"
#include "tests/main/paths.hpp"

// Why the rules made what they made of the models of others: proved again, from the model alone.

namespace fusewright {

namespace {

/// Every node that a rule made and every term that is not its class's own, or so many of them.
std::size_t replay_all(const saturate::Saturated& s, std::size_t most) {
  const egraph::EGraph& egraph = s.graph();
  std::vector<egraph::EClassId> terms;
  for (std::size_t i = 1; i < egraph.node_count(); ++i) {
    const egraph::EClassId a(i);
    if (egraph.find(a) != a || egraph.made_by(egraph::founder(a)).valid()) terms.push_back(a);
  }
  const auto apply = saturate::replayer(s.rules->rewrites, s.program);
  const std::size_t step = std::max<std::size_t>(1, terms.size() / most);
  std::size_t replayed = 0;
  for (std::size_t i = 0; i < terms.size(); i += step, ++replayed) {
    const egraph::EClassId a = terms[i], b = egraph.find(a);
    const egraph::Explanation why = egraph::explain(egraph, s.program, a, b);
    if (const Status status = egraph::replay(egraph, s.program, why, a, b, apply); !status)
      FAIL("term " << a.index << ": " << print_error(status.error()));
  }
  return replayed;
}

}  // namespace

TEST_CASE("justifications of the HLO models of the corpora replay, of large ones about 2,000 of all",
          "[driver][slow]") {
  const auto corpora = tests::corpora_dir();
  if (!corpora) {
    WARN("no corpora: set FUSEWRIGHT_CORPORA");
    return;
  }
  std::vector<std::filesystem::path> models;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(*corpora / "hlo"))
    if (entry.path().extension() == ".hlo" && entry.file_size() < 1U << 20) models.push_back(entry.path());
  std::ranges::sort(models);
  frontend_hlo::ImportOptions import;
  import.dims = {{"*", 2}};
  std::size_t read = 0, replayed = 0;
  for (const auto& model : models) {
    INFO(model.string());
    const auto text = frontend_hlo::read_hlo_file(model.string());
    if (!text) continue;
    const auto graphs = frontend_hlo::import_hlo(*text, library()->table, import);
    if (!graphs) continue;  // tests of other compilers, some of them of what is not supported
    for (const graph::Graph& graph : *graphs) {
      saturate::Options options;
      options.allowed = *rule::parse_exactness("bitexact,reassociating");
      options.limits.nodes = 20'000;
      const auto saturated = saturate::saturate(graph, library(), options);
      REQUIRE(saturated.has_value());
      replayed += replay_all(*saturated, 2000);
      ++read;
    }
  }
  CHECK(read > 0);
  CHECK(replayed > read);
}

}  // namespace fusewright
