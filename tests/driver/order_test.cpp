#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <vector>

#include "fusewright/extract/extract.hpp"
#include "fusewright/frontend/hlo/import.hpp"
#include "fusewright/frontend/onnx/import.hpp"
#include "fusewright/saturate/saturate.hpp"
#include "kernels.hpp"
#include "tests/main/paths.hpp"

// A plan depends on what a model computes, not on the order in which a file lists it.

namespace fusewright {

namespace {

using graph::Graph;
using graph::NodeId;

/// The entry's nodes in another order that puts each behind what it uses, and all nodes numbered anew.
Graph shuffled(const Graph& graph, unsigned seed) {
  std::mt19937 rng(seed);
  const std::vector<NodeId>& entry = graph.entry_computation().nodes;
  std::map<NodeId, std::vector<NodeId>> readers;
  std::map<NodeId, std::size_t> waits;
  for (const NodeId id : entry) {
    std::set<NodeId> used;
    std::vector<NodeId> stack{id};
    while (!stack.empty()) {
      const graph::Node& node = graph[stack.back()];
      stack.pop_back();
      for (const Value v : node.operands)
        if (v.valid() && v.node != id && graph[v.node].parent == graph.entry) used.insert(v.node);
      for (const graph::ComputationId body : node.computations) {
        stack.insert(stack.end(), graph[body].nodes.begin(), graph[body].nodes.end());
        for (const Value v : graph[body].results)
          if (graph[v.node].parent == graph.entry) used.insert(v.node);
      }
    }
    waits[id] = used.size();
    for (const NodeId u : used) readers[u].push_back(id);
  }
  std::vector<NodeId> ready, order;
  for (const NodeId id : entry)
    if (waits[id] == 0) ready.push_back(id);
  while (!ready.empty()) {
    std::swap(ready[rng() % ready.size()], ready.back());
    order.push_back(ready.back());
    ready.pop_back();
    for (const NodeId r : readers[order.back()])
      if (--waits[r] == 0) ready.push_back(r);
  }
  REQUIRE(order.size() == entry.size());

  std::vector<std::uint32_t> number(graph.nodes.size());
  std::iota(number.begin(), number.end(), 0U);
  std::ranges::shuffle(number, rng);
  const auto renumber = [&](NodeId& id) { id = NodeId(number[id.index]); };
  Graph out = graph;
  for (std::size_t i = 0; i < number.size(); ++i) out.nodes[number[i]] = graph.nodes[i];
  for (graph::Node& node : out.nodes)
    for (Value& v : node.operands)
      if (v.valid()) renumber(v.node);
  out.computations[graph.entry.index].nodes = order;
  for (graph::Computation& c : out.computations) {
    std::ranges::for_each(c.nodes, renumber);
    std::ranges::for_each(c.parameters, renumber);
    for (Value& v : c.results) renumber(v.node);
  }
  return out;
}

struct Outcome {
  double cost = 0;
  std::vector<std::string> groups;  ///< rule, size and the nodes of the file that it gives, sorted
};

/// @param named  with the names of the nodes that each kernel gives
Outcome plan(const Graph& graph, bool named) {
  static const cost::Device device = device_of("cpu");
  saturate::Options options;
  options.allowed = *rule::parse_exactness("bitexact,reassociating");
  const auto saturated = saturate::saturate(graph, library(), options);
  REQUIRE(saturated.has_value());
  extract::FusionOptions fusion;
  fusion.allowed = options.allowed;
  const auto made = extract::extract(
      {graph, saturated->imported, saturated->program, library()->rewrites, *library(), device}, fusion);
  REQUIRE(made.has_value());
  Outcome out{made->extraction.cost, {}};
  for (const plan::Group& group : made->groups) {
    std::set<std::string>
        names;  // of what it writes: equal weights that several nodes have belong to whichever is first
    for (const Value v : group.outputs)
      for (const graph::SourceId source : made->graph[v.node].sources)
        names.insert(made->graph.sources[source.index].name);
    std::string text = fmt::format("{} of {} nodes:", group.fuse_rule, group.nodes.size());
    for (const Value v : group.outputs) text += " " + to_string(made->graph.type(v));
    if (named)
      for (const std::string& name : names) text += " " + name;
    out.groups.push_back(text);
  }
  std::ranges::sort(out.groups);
  return out;
}

std::vector<std::filesystem::path> models(const std::filesystem::path& folder, const char* extension,
                                          std::uintmax_t most) {
  std::vector<std::filesystem::path> found;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.path().extension() == extension && entry.file_size() < most) found.push_back(entry.path());
  std::ranges::sort(found);
  return found;
}

std::vector<Graph> read(const std::filesystem::path& model) {
  if (model.extension() == ".onnx") {
    frontend_onnx::ImportOptions import;
    import.dims = {{"*", 2}};
    auto graph = frontend_onnx::import_onnx(model.string(), library()->table, import);
    return graph ? std::vector<Graph>{*std::move(graph)} : std::vector<Graph>();
  }
  frontend_hlo::ImportOptions import;
  import.dims = {{"*", 2}};
  const auto text = frontend_hlo::read_hlo_file(model.string());
  if (!text) return {};
  auto graphs = frontend_hlo::import_hlo(*text, library()->table, import);
  return graphs ? *std::move(graphs) : std::vector<Graph>();
}

/// Every step-th model of the corpora below so many bytes.
void check_models(std::size_t step, std::uintmax_t most) {
  const auto corpora = tests::corpora_dir();
  if (!corpora) {
    WARN("no corpora: set FUSEWRIGHT_CORPORA");
    return;
  }
  std::vector<std::filesystem::path> all = models(*corpora / "hlo", ".hlo", most);
  for (const char* folder : {"onnx-fusion", "onnx-backend", "onnx-real", "twins"})
    std::ranges::copy(models(*corpora / folder, ".onnx", most), std::back_inserter(all));
  std::size_t compared = 0;
  for (std::size_t i = 0; i < all.size(); i += step)
    for (const Graph& graph : read(all[i])) {
      INFO(all[i].string());
      // Where all weights are one number, layers are equal, and which of two a kernel comes from is a matter of order.
      const bool named = !all[i].filename().string().starts_with("light_");
      const Outcome there = plan(graph, named), shuffled_there = plan(shuffled(graph, static_cast<unsigned>(i)), named);
      CHECK(shuffled_there.cost == Approx(there.cost).epsilon(1e-9));
      std::vector<std::string> other;
      std::ranges::set_symmetric_difference(there.groups, shuffled_there.groups, std::back_inserter(other));
      CHECK(other == std::vector<std::string>());
      ++compared;
    }
  CHECK(compared > 0);
}

}  // namespace

TEST_CASE("the order of a model's nodes changes neither cost nor kernels, in some of the corpora", "[driver]") {
  check_models(8, 1U << 16);
}

TEST_CASE("the order of a model's nodes changes neither cost nor kernels, in all of the corpora", "[driver][.slow]") {
  check_models(1, 1U << 26);
}

}  // namespace fusewright
