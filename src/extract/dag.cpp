#include "fusewright/extract/dag.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "dag_ascent.hpp"
#include "dag_branch.hpp"
#include "dag_relax.hpp"
#include "dag_search.hpp"

namespace fusewright::extract {

namespace dag {

namespace {

/// Greatest amount of which all costs are whole multiples; 0 where there is none to speak of. Two choices that differ
/// in cost differ by this much.
double grain_of(const DagProblem& problem) {
  for (const double scale : {1.0, 10.0, 100.0, 1000.0, 10000.0}) {
    std::uint64_t divisor = 0;
    bool whole = true;
    for (const auto& nodes : problem.classes)
      for (const DagNode& node : nodes) {
        const double scaled = node.cost * scale, rounded = std::round(scaled);
        whole = whole && rounded < 1e12 && std::abs(scaled - rounded) <= 1e-9 * std::max(1.0, rounded);
        if (!whole) break;
        divisor = std::gcd(divisor, static_cast<std::uint64_t>(rounded));
      }
    if (whole && divisor > 0) return static_cast<double>(divisor) / scale;
  }
  return 0;
}

/// The methods one after the other, on a net that shrinks with every better bound.
class Solver {
 public:
  Solver(const DagProblem& problem, const DagOptions& options)
      : problem_(make_net(problem)),
        reduced_(problem_),
        limit_(options, problem_.net.nodes()),
        grain_(grain_of(problem)) {}

  DagSolution run() {
    simplify(reduced_, std::vector<bool>(net().nodes(), true));
    start();
    if (!closed()) ascend(8);
    if (!closed()) search();
    if (!closed() && !limit_.counts_work()) program();
    if (!closed()) branch();
    DagSolution out;
    out.choice.assign(problem_.net.classes() - 1, -1);
    for (const Id c : order_of(problem_.net, best_))
      if (c > 0) out.choice[c - 1] = static_cast<std::int32_t>(problem_.net.origin_node[best_[c]]);
    out.cost = cost_;
    out.bound = closed() ? cost_ : std::min(bound_, cost_);
    out.stop = closed() ? DagStop::kProved : limit_.cancelled() ? DagStop::kCancelled : DagStop::kTime;
    return out;
  }

 private:
  const Net& net() const { return reduced_.net; }
  bool closed() const { return proved_ || bound_ >= below(); }
  /// What a better choice costs less than.
  double below() const {
    constexpr double kSame = 1e-10;  // of sums in another order
    return grain_ > 0 ? cost_ - grain_ * (1 - 1e-6) : cost_ * (1 - kSame);
  }

  /// Takes the choice where it is the best so far.
  void take(const Reduced& reduced, const Choice& choice) {
    if (order_of(reduced.net, choice).empty()) return;
    Choice whole = of_problem(problem_.net, to_problem(reduced, choice));
    const double cost = cost_of(problem_.net, whole);
    if (cost >= cost_) return;
    cost_ = cost;
    best_ = std::move(whole);
  }
  void take_improved(const Reduced& reduced, const Choice& choice) {
    take(reduced, choice);
    if (!order_of(reduced.net, choice).empty())
      take(reduced, improve(reduced.net, choice, reduced.net.cost, limit_.part(0.1)));
  }
  void take_improved(const Choice& choice) { take_improved(reduced_, choice); }

  void start() {
    const Choice trees = tree_costs(net(), net().cost).choice;
    take(reduced_, trees);
    if (net().nodes() == net().classes()) {  // nothing to choose
      proved_ = true;
      return;
    }
    take_improved(greedy_dag(net(), net().cost, limit_.part(0.3)));
    take_improved(trees);
  }

  /// Keeps what may be part of a better choice; false where nothing is.
  bool shrink(const std::vector<bool>& keep) {
    if (!derivable(net(), keep)[0]) {
      proved_ = true;
      return false;
    }
    if (std::count(keep.begin(), keep.end(), false) > 0) simplify(reduced_, keep);
    if (net().children(0).empty()) {
      take(reduced_, {0});
      proved_ = true;
    }
    return !proved_;
  }

  void ascend(int rounds) {
    for (int round = 0; round < rounds && !limit_.reached(); ++round) {
      const Ascent ascent = dual_ascent(net(), seed_++, limit_);
      bound_ = std::max(bound_, ascent.bound);
      // What the bound has paid for is where good choices lie.
      take_improved(tree_costs(net(), ascent.reduced).choice);
      if (closed() || !shrink(promising(net(), ascent, below()))) return;
    }
  }

  void search() {
    const Ascent ascent = search_ascent(net(), below(), limit_.part(0.5));
    bound_ = std::max(bound_, ascent.bound);
    if (!closed()) shrink(promising(net(), ascent, below()));
  }

  /// Linear programming, again for as long as it makes the net much smaller.
  void program() {
    constexpr int kRounds = 6;
    for (int round = 0; round < kRounds && !limit_.reached(); ++round) {
      const Relaxation relaxed = relax(net(), below(), limit_.part(0.15));
      bound_ = std::max(bound_, relaxed.bound);
      if (closed() || relaxed.value.empty()) return;
      std::vector<double> cost = net().cost;
      for (Id n = 0; n < net().nodes(); ++n) cost[n] *= 1 - std::min(1.0, relaxed.value[n]);
      take_improved(tree_costs(net(), cost).choice);
      if (closed()) return;
      std::vector<bool> keep(net().nodes(), true);
      for (Id n = 1; n < net().nodes(); ++n)
        keep[n] = relaxed.bound + std::max(0.0, relaxed.reduced[n]) < below() + 1e-6 * cost_;
      const Id before = net().nodes();
      if (!shrink(keep)) return;
      ascend(2);
      if (closed() || net().nodes() > before - before / 10) return;
    }
  }

  void branch() {
    const Searched searched =
        branch_by_ascent(reduced_, bound_, below(), limit_, [&](const Reduced& reduced, const Choice& choice) {
          take_improved(reduced, choice);
          return below();
        });
    if (searched.finished) proved_ = true;
    bound_ = std::max(bound_, std::min(searched.bound, cost_));
  }

  const Reduced problem_;
  Reduced reduced_;
  Limit limit_;
  double grain_;
  Choice best_;
  double cost_ = kInfinite, bound_ = 0;
  bool proved_ = false;
  std::uint64_t seed_ = 0;
};

/// Solves the parts of a problem, the small ones first: what they leave of the time is the others'.
DagSolution solve_pieces(const DagProblem& problem, const DagOptions& options) {
  const Limit limit(options);
  const Reduced whole = make_net(problem);
  Reduced reduced = whole;
  simplify(reduced, std::vector<bool>(whole.net.nodes(), true));
  std::vector<Piece> pieces = pieces_of(reduced.net);
  std::ranges::sort(pieces, {}, [](const Piece& piece) { return std::pair(piece.classes.size(), piece.classes[0]); });
  std::size_t left = reduced.net.classes() - 1;
  DagSolution out;
  out.stop = DagStop::kProved;
  std::map<DagProblem, DagSolution> solved;
  Choice choice(reduced.net.classes(), kNone);
  choice[0] = 0;
  for (Piece& piece : pieces) {
    DagOptions share = options;
    share.seconds =
        options.work > 0 ? 0 : limit.left() * static_cast<double>(piece.classes.size()) / static_cast<double>(left);
    left -= piece.classes.size();
    auto known = solved.find(piece.problem);
    if (known == solved.end()) {
      const DagSolution solution = Solver(piece.problem, share).run();
      known = solved.emplace(std::move(piece.problem), solution).first;
    }
    const DagSolution& part = known->second;
    out.bound += part.bound;
    if (part.stop != DagStop::kProved) out.stop = part.stop;
    for (Id c = 0; c < piece.classes.size(); ++c)
      if (part.choice[c] >= 0)
        choice[piece.classes[c]] = reduced.net.node_begin[piece.classes[c]] + static_cast<Id>(part.choice[c]);
  }
  const Choice all = of_problem(whole.net, to_problem(reduced, choice));
  out.choice.assign(problem.classes.size(), -1);
  for (const Id c : order_of(whole.net, all)) {
    out.cost += whole.net.cost[all[c]];
    if (c > 0) out.choice[c - 1] = static_cast<std::int32_t>(whole.net.origin_node[all[c]]);
  }
  out.bound = out.stop == DagStop::kProved ? out.cost : std::min(out.bound, out.cost);
  out.seconds = options.work > 0 ? 0 : limit.elapsed();
  return out;
}

}  // namespace

}  // namespace dag

std::optional<std::uint32_t> underivable_root(const DagProblem& problem) {
  const dag::Net net = dag::make_net(problem).net;
  const std::vector<bool> made = dag::derivable(net, std::vector<bool>(net.nodes(), true));
  for (const std::uint32_t root : problem.roots)
    if (!made[root + 1]) return root;
  return std::nullopt;
}

Result<DagSolution> solve_dag(const DagProblem& problem, const DagOptions& options) {
  if (problem.roots.empty()) return fail("no root is given");
  const auto known = [&](std::uint32_t c) { return c < problem.classes.size(); };
  for (const std::uint32_t root : problem.roots)
    if (!known(root)) return fail(fmt::format("root {} is no class", root));
  double all = 0;
  for (std::size_t c = 0; c < problem.classes.size(); ++c)
    for (const DagNode& node : problem.classes[c]) {
      all += node.cost;
      if (!std::isfinite(node.cost) || node.cost < 0)
        return fail(fmt::format("class {}: a node costs {}; costs are finite and not negative", c, node.cost));
      if (!std::ranges::all_of(node.children, known)) return fail(fmt::format("class {}: a child is no class", c));
    }
  if (!std::isfinite(all)) return fail("the costs add up to more than a number holds");
  if (const auto root = underivable_root(problem))
    return fail(fmt::format("root {} has no derivation without a cycle", *root));
  return dag::solve_pieces(problem, options);
}

}  // namespace fusewright::extract
