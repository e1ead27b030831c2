#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "fusewright/frontend/hlo/import.hpp"
#include "fusewright/frontend/onnx/import.hpp"
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

/// Files of the corpora of this kind, in a fixed order; none, with a word to the tester, where there are no corpora.
std::vector<std::filesystem::path> models_of(const std::string& extension, std::uintmax_t most_bytes) {
  std::vector<std::filesystem::path> models;
  const auto corpora = tests::corpora_dir();
  if (!corpora) {
    WARN("no corpora: set FUSEWRIGHT_CORPORA");
    return models;
  }
  for (const auto& entry : std::filesystem::recursive_directory_iterator(*corpora))
    if (entry.path().extension() == extension && entry.file_size() < most_bytes) models.push_back(entry.path());
  std::ranges::sort(models);
  REQUIRE_FALSE(models.empty());
  return models;
}

struct Replayed {
  std::size_t graphs = 0, terms = 0;

  void add(const graph::Graph& graph) {
    saturate::Options options;
    options.allowed = *rule::parse_exactness("bitexact,reassociating");
    options.limits.nodes = 20'000;
    const auto saturated = saturate::saturate(graph, library(), options);
    REQUIRE(saturated.has_value());
    terms += replay_all(*saturated, 2000);
    ++graphs;
  }
  /// Without corpora there is nothing.
  void check() const {
    if (!tests::corpora_dir()) return;
    CHECK(graphs > 0);
    CHECK(terms > graphs);
  }
};

}  // namespace

TEST_CASE("justifications of the HLO models of the corpora replay, of large ones about 2,000 of all",
          "[driver][slow]") {
  frontend_hlo::ImportOptions import;
  import.dims = {{"*", 2}};
  Replayed replayed;
  for (const auto& model : models_of(".hlo", 1U << 20)) {
    INFO(model.string());
    const auto text = frontend_hlo::read_hlo_file(model.string());
    if (!text) continue;
    const auto graphs = frontend_hlo::import_hlo(*text, library()->table, import);
    if (!graphs) continue;  // tests of other compilers, some of them of what is not supported
    for (const graph::Graph& graph : *graphs) replayed.add(graph);
  }
  replayed.check();
}

TEST_CASE("justifications of the ONNX models of the corpora replay, of large ones about 2,000 of all",
          "[driver][slow]") {
  frontend_onnx::ImportOptions import;
  import.dims = {{"*", 2}};
  Replayed replayed;
  for (const auto& model : models_of(".onnx", 50U << 20)) {
    INFO(model.string());
    const auto graph = frontend_onnx::import_onnx(model.string(), library()->table, import);
    if (graph) replayed.add(*graph);
  }
  replayed.check();
}

}  // namespace fusewright
