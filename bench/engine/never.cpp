// What rules that never match cost a saturation. usage: bench_engine_never MODEL.hlo RULES.fuse [rounds]
// [RULES-FOLDER]; saturates the model under the library and under the library with RULES.fuse, in turn, and prints the
// seconds of each, compiling the rules included, and by how much the second takes longer: by what a tenth of all rounds
// stays below, for a busy machine only ever adds time.

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <vector>

#include "fusewright/frontend/hlo/import.hpp"
#include "fusewright/rule/check.hpp"
#include "fusewright/saturate/saturate.hpp"

namespace {

using namespace fusewright;

template <class T>
T must(Result<T> result) {
  if (result) return *std::move(result);
  fmt::print(stderr, "{}", print_error(result.error()));
  std::exit(2);
}

struct Side {
  std::shared_ptr<const rule::RuleSet> rules;
  graph::Graph graph;
  std::size_t nodes = 0;
};

Side side_of(const std::vector<std::string>& paths, const std::string& model) {
  Side side;
  side.rules = std::make_shared<const rule::RuleSet>(must(rule::load_rules(paths, ops::OpTable::builtin())));
  side.graph = must(frontend_hlo::import_hlo(must(frontend_hlo::read_hlo_file(model)), side.rules->table)).front();
  return side;
}

/// Of the processor, not of the clock: what is looked for is smaller than what other programs take away.
double seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

double measure(Side& side) {
  const graph::Graph graph = side.graph;  // a new one each time: where a model lies in memory is worth some percent
  const double start = seconds();
  side.nodes = must(saturate::saturate(graph, side.rules, saturate::Options())).graph().live_nodes();
  return seconds() - start;
}

double undisturbed(std::vector<double> values) {
  const std::size_t tenth = values.size() / 10;
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(tenth));
  return values[tenth];
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    fmt::print(stderr, "usage: bench_engine_never MODEL.hlo RULES.fuse [rounds] [RULES-FOLDER]\n");
    return 2;
  }
  const int rounds = std::max(1, argc > 3 ? std::atoi(argv[3]) : 20);
  const std::string library = argc > 4 ? argv[4] : "rules";
  Side without = side_of({library}, argv[1]), beside = side_of({library, argv[2]}, argv[1]);
  std::vector<double> first, second;
  for (int i = 0; i < rounds; ++i) {
    if (i % 2 == 0) first.push_back(measure(without));
    second.push_back(measure(beside));
    if (i % 2 != 0) first.push_back(measure(without));
  }
  if (without.nodes != beside.nodes) {
    fmt::print(stderr, "the rules match: {} e-nodes with them, {} without\n", beside.nodes, without.nodes);
    return 1;
  }
  const double alone = undisturbed(first), together = undisturbed(second);
  fmt::print("{} rewrites {:.5f} s, {} rewrites {:.5f} s: {:+.1f} %\n", without.rules->rewrites.size(), alone,
             beside.rules->rewrites.size(), together, 100 * (together / alone - 1));
  return 0;
}
