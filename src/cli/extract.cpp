#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "commands.hpp"
#include "fusewright/extract/egraph_json.hpp"
#include "fusewright/support/clock.hpp"
#include "options.hpp"
#include "terminal.hpp"

namespace fusewright::cli {

namespace {

struct ExtractArguments {
  std::string file;
  double seconds = 10;
  bool json = false;
};

std::atomic<bool> interrupted = false;

// The first signal asks for what was found so far; the second one does not wait.
void interrupt(int signal) {
  if (interrupted.exchange(true)) std::_Exit(128 + signal);
}

Result<std::string> read_text(const std::string& path) {
  std::error_code error;
  std::ifstream in;
  if (std::filesystem::is_regular_file(path, error)) in.open(path, std::ios::binary);
  if (!in.is_open()) return fail(fmt::format("cannot read the e-graph {}", path));
  return std::string(std::istreambuf_iterator<char>(in), {});
}

std::string_view stop_name(extract::DagStop stop) {
  switch (stop) {
    case extract::DagStop::kProved: return "proved";
    case extract::DagStop::kTime: return "time";
    case extract::DagStop::kCancelled: return "cancelled";
  }
  return "";
}

std::string_view stop_text(extract::DagStop stop) {
  switch (stop) {
    case extract::DagStop::kProved: return "nothing is cheaper";
    case extract::DagStop::kTime: return "time is over: --time S gives it more";
    case extract::DagStop::kCancelled: return "the best until it was interrupted";
  }
  return "";
}

void print_json(const extract::NamedProblem& named, const extract::DagSolution& solution, double gap) {
  nlohmann::ordered_json json = {{"cost", solution.cost},
                                 {"bound", solution.bound},
                                 {"gap", gap},
                                 {"stop", stop_name(solution.stop)},
                                 {"seconds", solution.seconds},
                                 {"choices", nlohmann::ordered_json::object()}};
  auto& choices = json["choices"].get_ref<nlohmann::ordered_json::object_t&>();
  for (std::size_t c = 0; c < named.classes.size(); ++c)  // names are unique: no search for each of thousands
    if (const std::int32_t n = solution.choice[c]; n >= 0)
      choices.emplace_back(named.classes[c], named.nodes[c][static_cast<std::size_t>(n)]);
  cli::print_json(json);
}

Result<int> extract_file(const ExtractArguments& args) {
  const auto start = Clock::now();
  FW_TRY(std::string text, read_text(args.file));
  FW_TRY(const extract::NamedProblem named, extract::read_egraph_json(args.file, std::move(text)));
  std::signal(SIGINT, interrupt);
  const auto progress = progress_line();
  if (progress) progress("extract");
  extract::DagOptions options;
  options.seconds = std::max(0.0, args.seconds - seconds_since(start));
  options.cancelled = [] { return interrupted.load(); };
  FW_TRY(extract::DagSolution solution, extract::solve_dag(named.problem, options));
  solution.seconds = seconds_since(start);
  if (progress) progress("");
  const double gap = solution.cost > 0 ? (solution.cost - solution.bound) / solution.cost : 0;
  if (args.json) {
    print_json(named, solution, gap);
    return kOk;
  }
  std::size_t nodes = 0, chosen = 0;
  for (std::size_t c = 0; c < named.classes.size(); ++c) {
    nodes += named.nodes[c].size();
    chosen += solution.choice[c] >= 0;
  }
  fmt::print("{} of {} nodes in {} classes chosen\n", chosen, nodes, named.classes.size());
  fmt::print("cost   {}\nbound  {}, gap {:.2f} %: {}\ntime   {:.2f} s\n", solution.cost, solution.bound, 100 * gap,
             stop_text(solution.stop), solution.seconds);
  return kOk;
}

}  // namespace

void add_extract(CLI::App& app, Outcome& outcome) {
  auto args = std::make_shared<ExtractArguments>();
  CLI::App& command =
      add_command(app, outcome, "extract", "Choose the cheapest nodes of an e-graph, each paid once, with a bound",
                  "  fusewright extract egraph.json\n"
                  "  fusewright extract egraph.json --time 60 --json   # each class with its node\n"
                  "\nCtrl-C ends the search with the best choice so far.\n",
                  args, extract_file);
  command.add_option("file", args->file, "e-graph as JSON: nodes with op, cost, children and eclass; root_eclasses")
      ->required()
      ->type_name("FILE.json");
  command.add_option("--time", args->seconds, "seconds to search at most")
      ->type_name("S")
      ->capture_default_str()
      ->check(not_negative());
  command.add_flag("--json", args->json, "print one JSON object (docs/JSON.md)");
}

}  // namespace fusewright::cli
