#include "fusewright/extract/dag.hpp"

#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>
#include <random>
#include <sstream>

#include "fusewright/extract/egraph_json.hpp"
#include "tests/main/paths.hpp"

using namespace fusewright;
using namespace fusewright::extract;

namespace {

/// The cost of a choice from its roots; nothing where it has a cycle or a gap.
std::optional<double> cost_of(const DagProblem& problem, const std::vector<std::int32_t>& choice) {
  std::vector<int> state(problem.classes.size(), 0);  // 1: below it is being seen to, 2: done
  std::vector<std::pair<std::uint32_t, std::size_t>> stack;
  double cost = 0;
  for (const std::uint32_t root : problem.roots) {
    if (state[root] == 2) continue;
    stack.emplace_back(root, 0);
    state[root] = 1;
    while (!stack.empty()) {
      auto& [c, i] = stack.back();
      if (choice[c] < 0) return std::nullopt;
      const DagNode& node = problem.classes[c][static_cast<std::size_t>(choice[c])];
      if (i == node.children.size()) {
        cost += node.cost;
        state[c] = 2;
        stack.pop_back();
        continue;
      }
      const std::uint32_t d = node.children[i++];
      if (state[d] == 1) return std::nullopt;
      if (state[d] == 2) continue;
      state[d] = 1;
      stack.emplace_back(d, 0);
    }
  }
  return cost;
}

/// The least cost over all choices.
std::optional<double> brute_force(const DagProblem& problem) {
  std::vector<std::int32_t> choice(problem.classes.size(), 0);
  std::optional<double> best;
  while (true) {
    if (const auto cost = cost_of(problem, choice); cost && (!best || *cost < *best)) best = cost;
    std::size_t c = 0;
    for (; c < choice.size(); ++c) {
      if (++choice[c] < static_cast<std::int32_t>(problem.classes[c].size())) break;
      choice[c] = 0;
    }
    if (c == choice.size()) return best;
  }
}

/// Children are any classes, so cycles are the rule; costs are whole, broken or nothing.
DagProblem random_problem(unsigned seed) {
  std::mt19937 random(seed);
  const auto below = [&](unsigned n) { return static_cast<std::uint32_t>(random() % n); };
  DagProblem problem;
  const unsigned classes = 2 + below(7);
  for (unsigned c = 0; c < classes; ++c) {
    auto& nodes = problem.classes.emplace_back();
    for (unsigned i = 1 + below(3); i > 0; --i) {
      DagNode& node = nodes.emplace_back();
      node.cost = seed % 2 == 0 ? below(4) : below(1000) / 7.0;
      for (unsigned k = below(c < classes / 2 ? 3 : 2); k > 0; --k) node.children.push_back(below(classes));
    }
  }
  for (unsigned r = 1 + below(2); r > 0; --r) problem.roots.push_back(below(classes));
  return problem;
}

NamedProblem corpus_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  auto named = read_egraph_json(path.string(), std::string(std::istreambuf_iterator<char>(in), {}));
  if (!named) FAIL(print_error(named.error()));
  return *std::move(named);
}

std::string read_error(const std::string& text) {
  const auto named = read_egraph_json("g.json", text);
  REQUIRE_FALSE(named.has_value());
  return print_error(named.error());
}

}  // namespace

TEST_CASE("extraction from small random e-graphs costs what trying everything finds", "[extract][dag]") {
  int solvable = 0;
  for (unsigned seed = 0; seed < 600; ++seed) {
    const DagProblem problem = random_problem(seed);
    const auto best = brute_force(problem);
    const auto solution = solve_dag(problem);
    INFO("seed " << seed);
    REQUIRE(solution.has_value() == best.has_value());
    REQUIRE(underivable_root(problem).has_value() != best.has_value());
    if (!best) continue;
    ++solvable;
    CHECK(solution->cost == Approx(*best).margin(1e-12));
    CHECK(solution->bound <= *best + 1e-9);
    const auto counted = cost_of(problem, solution->choice);
    REQUIRE(counted.has_value());
    CHECK(*counted == Approx(solution->cost).margin(1e-12));
  }
  CHECK(solvable > 200);
}

TEST_CASE("the same extraction gives the same choice", "[extract][dag]") {
  for (unsigned seed = 0; seed < 20; ++seed) {
    const DagProblem problem = random_problem(seed);
    if (underivable_root(problem)) continue;
    CHECK(solve_dag(problem)->choice == solve_dag(problem)->choice);
  }
}

TEST_CASE("a chain of a hundred thousand classes is extracted without recursion", "[extract][dag]") {
  DagProblem problem;
  for (std::uint32_t c = 0; c < 100000; ++c) {
    problem.classes.push_back({{1, {}}});
    if (c > 0) problem.classes[c] = {{1, {c - 1}}, {1, {c, c - 1}}};
  }
  problem.roots = {99999};
  const auto solution = solve_dag(problem);
  REQUIRE(solution.has_value());
  CHECK(solution->cost == 100000);
  CHECK(solution->stop == DagStop::kProved);
}

TEST_CASE("problems side by side, with free classes in common, are solved as each alone", "[extract][dag]") {
  constexpr unsigned kSeeds = 60, kCopies = 5;
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    DagProblem one = random_problem(seed);
    if (underivable_root(one)) continue;
    for (const DagOptions& options : {DagOptions{10, 0, {}}, DagOptions{0, 1'000'000, {}}}) {
      const auto alone = solve_dag(one, options);
      REQUIRE(alone.has_value());
      DagProblem all;
      all.classes.push_back({{0, {}}});
      for (unsigned copy = 0; copy < kCopies; ++copy) {
        const auto first = static_cast<std::uint32_t>(all.classes.size());
        for (std::vector<DagNode> nodes : one.classes) {
          for (DagNode& node : nodes) {
            for (std::uint32_t& child : node.children) child += first;
            node.children.push_back(0);
          }
          all.classes.push_back(std::move(nodes));
        }
        for (const std::uint32_t root : one.roots) all.roots.push_back(root + first);
      }
      const auto together = solve_dag(all, options);
      REQUIRE(together.has_value());
      INFO("seed " << seed);
      CHECK(together->stop == alone->stop);
      CHECK(together->cost == Approx(kCopies * alone->cost));
      CHECK(together->bound == Approx(kCopies * alone->bound));
      REQUIRE(cost_of(all, together->choice).has_value());
    }
  }
}

TEST_CASE("a long chain in which every class could skip the one before it is extracted within its limits",
          "[extract][dag]") {
  DagProblem problem;
  for (std::uint32_t c = 0; c < 100000; ++c) {
    problem.classes.push_back({{1, {}}});
    if (c > 1) problem.classes[c] = {{1, {c - 1}}, {1.5 + 0.25 * (c % 3), {c - 2}}};
  }
  problem.roots = {99999};
  for (const DagOptions& options : {DagOptions{1, 0, {}}, DagOptions{10, 10'000'000, {}}}) {
    const auto solution = solve_dag(problem, options);
    REQUIRE(solution.has_value());
    CHECK(solution->cost <= 100000);
    CHECK(solution->bound <= solution->cost);
    REQUIRE(cost_of(problem, solution->choice).has_value());
  }
}

TEST_CASE("extraction that is cancelled or has no time still gives a choice and a bound", "[extract][dag]") {
  for (unsigned seed = 0; seed < 40; ++seed) {
    const DagProblem problem = random_problem(seed);
    const auto best = brute_force(problem);
    if (!best) continue;
    for (const DagOptions& options :
         {DagOptions{0, 0, {}}, DagOptions{10, 0, [] { return true; }}, DagOptions{10, 1, {}}}) {
      const auto solution = solve_dag(problem, options);
      REQUIRE(solution.has_value());
      CHECK(cost_of(problem, solution->choice).has_value());
      CHECK(solution->bound <= *best + 1e-9);
    }
  }
}

TEST_CASE("e-graphs that cannot be read say what is wrong and where", "[extract][dag]") {
  using Catch::Contains;
  const auto node = [](const std::string& members) {
    return "{\n\"nodes\": {\n \"n\": {" + members + "}},\n\"root_eclasses\": [\"c\"]}";
  };
  CHECK_THAT(read_error("{\n nodes"), Contains("g.json:2:") && Contains("no JSON"));
  CHECK_THAT(read_error("[]"), Contains("an object"));
  CHECK_THAT(read_error("{}"), Contains("'nodes'"));
  CHECK_THAT(read_error(R"({"nodes": {}})"), Contains("'root_eclasses'"));
  CHECK_THAT(read_error(R"({"nodes": {}, "root_eclasses": []})"), Contains("empty"));
  CHECK_THAT(read_error(node(R"("op": "f", "eclass": "c")")), Contains("g.json:3:2") && Contains("no 'cost'"));
  CHECK_THAT(read_error(node(R"("cost": -1, "eclass": "c")")), Contains("node 'n': its cost is -1"));
  CHECK_THAT(read_error(node(R"("cost": null, "eclass": "c")")), Contains("no number"));
  CHECK_THAT(read_error(node(R"("cost": 1e999, "eclass": "c")")), Contains("out of range"));
  CHECK_THAT(read_error(node(R"("cost": 1)")), Contains("'eclass'"));
  CHECK_THAT(read_error(node(R"("cost": 1, "eclass": "d")")), Contains("g.json:4:1") && Contains("root class 'c'"));
  CHECK_THAT(read_error(node(R"("cost": 1, "eclass": "c", "children": ["m"])")), Contains("no node 'm'"));
  CHECK_THAT(read_error(node(R"("cost": "1", "eclass": "c")")), Contains("its cost is no number"));
  CHECK_THAT(read_error(node(R"("cost": 1, "eclass": {})")), Contains("no text 'eclass'"));
  CHECK_THAT(read_error(node(R"("cost": 1, "eclass": "c", "children": "n")")), Contains("'children' is no list"));
  CHECK_THAT(read_error(node(R"("cost": 1, "eclass": "c", "children": [["n"]])")), Contains("the name of a node"));
  CHECK_THAT(read_error(R"({"nodes": {"n": 1}, "root_eclasses": []})"), Contains("node 'n': an object is expected"));
  CHECK_THAT(read_error(R"({"nodes": []})"), Contains("no object 'nodes'"));
  CHECK_THAT(read_error(R"({"nodes": {}, "nodes": {}})"), Contains("'nodes' is there twice"));
  CHECK_THAT(read_error(R"({"nodes": {}, "root_eclasses": [1]})"), Contains("the name of a class"));
  CHECK_THAT(
      read_error("{\"nodes\": {\"n\": {\"cost\": 1, \"eclass\": \"c\"},\n\"n\": {\"cost\": 2, \"eclass\": \"c\"}}}"),
      Contains("g.json:2:1") && Contains("node 'n': it is there twice"));
  CHECK_THAT(read_error(node(R"("cost": 1, "eclass": "\ud800")")), Contains("no JSON: ") && Contains("surrogate"));
  CHECK_THAT(read_error(node(R"("cost": 1, "eclass": "c", "children": ["n"])")), Contains("without a cycle"));
}

TEST_CASE("members that mean nothing may be of any depth and any kind", "[extract][dag]") {
  const std::string deep = std::string(300000, '[') + std::string(300000, ']');
  const std::string odd = R"("x": {"nodes": {"cost": [1, {"eclass": null}]}, "root_eclasses": 3})";
  const auto named = read_egraph_json(
      "g.json", "{\"deep\": " + deep + ", " + odd + R"(, "nodes": {"n": {"op": "f", "cost": 2, "y": [{"cost": 7}],
      "children": [], "eclass": "c", "z": true}}, "root_eclasses": ["c"], "last": 1.5})");
  REQUIRE(named.has_value());
  CHECK(named->classes == std::vector<std::string>{"c"});
  CHECK(solve_dag(named->problem)->cost == 2);
}

TEST_CASE("costs that add up to more than a number holds are refused", "[extract][dag]") {
  const DagProblem problem{{{{1.7e308, {1}}}, {{1.7e308, {}}}}, {0}};
  const auto solution = solve_dag(problem);
  REQUIRE_FALSE(solution.has_value());
  CHECK_THAT(print_error(solution.error()), Catch::Contains("add up"));
}

TEST_CASE("cyclic e-graphs of the corpora never get a cyclic answer", "[extract][dag]") {
  const auto corpora = tests::corpora_dir();
  if (!corpora) {
    WARN("no corpora: set FUSEWRIGHT_CORPORA");
    return;
  }
  for (const auto& entry : std::filesystem::recursive_directory_iterator(*corpora / "egraphs/adversarial")) {
    if (entry.path().extension() != ".json") continue;
    INFO(entry.path());
    const NamedProblem named = corpus_file(entry.path());
    const auto solution = solve_dag(named.problem, {.seconds = 1});
    REQUIRE(solution.has_value());
    const auto cost = cost_of(named.problem, solution->choice);
    REQUIRE(cost.has_value());
    CHECK(*cost == Approx(solution->cost));
    CHECK(solution->bound <= solution->cost);
  }
}

TEST_CASE("extraction from e-graphs of other systems is no dearer than the best that is known", "[extract][slow]") {
  const auto corpora = tests::corpora_dir();
  if (!corpora) {
    WARN("no corpora: set FUSEWRIGHT_CORPORA");
    return;
  }
  std::ifstream table(*corpora / "egraphs/best_known.tsv");
  std::string line;
  std::getline(table, line);
  int proved = 0;
  while (std::getline(table, line)) {
    std::istringstream row(line);
    std::string file, status;
    double nodes, classes, trees, greedy, best, bound;
    row >> file >> nodes >> classes >> trees >> greedy >> best >> bound >> status;
    INFO(file);
    const NamedProblem named = corpus_file(*corpora / "egraphs" / file);
    const auto solution = solve_dag(named.problem, {.seconds = 30});
    REQUIRE(solution.has_value());
    const auto cost = cost_of(named.problem, solution->choice);
    REQUIRE(cost.has_value());
    CHECK(*cost == Approx(solution->cost));
    CHECK(solution->cost <= best * (1 + 1e-6));
    if (status == "optimal") CHECK(solution->bound <= best * (1 + 1e-6));
    proved += solution->stop == DagStop::kProved;
  }
  CHECK(proved >= 23);
}
