#include "siblings.hpp"

#include <algorithm>
#include <map>
#include <span>
#include <utility>

#include "fusewright/support/check.hpp"
#include "kernel_flow.hpp"

namespace fusewright::extract {

namespace {

// Only where launching is a good part of the time.
constexpr double kLaunchShare = 0.3;

class Siblings {
 public:
  Siblings(const Graph& graph, const Uses& uses, Evaluator& evaluator, std::vector<Kernel>& kernels, Budget& budget)
      : graph_(graph),
        uses_(uses),
        evaluator_(evaluator),
        kernels_(kernels),
        budget_(budget),
        times_(graph.nodes.size(), 0) {
    for (const Kernel& k : kernels_)
      for (const NodeId n : k.nodes) ++times_[n.index];
  }

  /// @param level  by kernel: none depends on another of its level
  std::string join(const std::vector<std::uint32_t>& level) {
    std::map<std::pair<std::uint32_t, std::vector<std::int64_t>>, std::vector<std::uint32_t>> alike;
    for (std::uint32_t k = 0; k < kernels_.size(); ++k) {
      const Kernel& kernel = kernels_[k];
      if (!kernel.alive || kernel.price == nullptr || kernel.outputs.empty() || is_view(graph_, kernel.nodes)) continue;
      if (kernel.price->cost.launch < kLaunchShare * kernel.seconds()) continue;
      alike[{level[k], ops::static_dims(graph_.type(kernel.outputs.front()).shape)}].push_back(k);
    }
    for (auto& [key, some] : alike) {
      std::ranges::sort(some, {}, [&](std::uint32_t k) {
        return std::pair(kernels_[k].price->schedule.kind, uses_.position(kernels_[k].nodes.front()));
      });
      for (std::size_t first = 0; first < some.size(); first += joined_from(some, first))
        if (std::string reason = budget_.spent(); !reason.empty()) return reason;
    }
    return {};
  }

 private:
  // Joins as many to the first of these as pay: twice as many each time, then half as many more. @returns how many are
  // one now.
  std::size_t joined_from(const std::vector<std::uint32_t>& some, std::size_t first) {
    std::size_t count = 1;
    bool grows = true;
    for (std::size_t more = 1; more > 0;) {
      more = std::min(more, some.size() - first - count);
      if (more > 0 && try_join(some[first], {some.begin() + static_cast<std::ptrdiff_t>(first + count), more})) {
        count += more;
        more = grows ? count : more / 2;
      } else {
        grows = false;
        more /= 2;
      }
    }
    return count;
  }

  bool try_join(std::uint32_t to, std::span<const std::uint32_t> others) {
    Kernel joined = kernels_[to];
    double apart = joined.seconds();
    for (const std::uint32_t k : others) {
      joined.nodes.insert(joined.nodes.end(), kernels_[k].nodes.begin(), kernels_[k].nodes.end());
      joined.outputs.insert(joined.outputs.end(), kernels_[k].outputs.begin(), kernels_[k].outputs.end());
      apart += kernels_[k].seconds();
    }
    const auto place = [&](NodeId n) { return uses_.position(n); };
    std::ranges::sort(joined.nodes, {}, place);
    const auto twice = std::ranges::unique(joined.nodes);
    joined.nodes.erase(twice.begin(), twice.end());
    std::ranges::sort(joined.outputs, {}, [&](Value v) { return std::pair(place(v.node), v.result); });
    joined.inputs = evaluator_.inputs(joined.nodes);
    const Evaluated& price = evaluator_.evaluate(joined.nodes, joined.outputs);
    if (!price || price->cost.seconds >= apart) return false;
    const auto elsewhere = [&](std::uint32_t p) { return times_[joined.nodes[p].index] > 1; };
    if (std::ranges::any_of(price->exclusive, elsewhere)) return false;
    joined.price = &*price;
    for (const std::uint32_t k : others) {
      kernels_[k].alive = false;
      kernels_[k].nodes.clear();
    }
    kernels_[to] = std::move(joined);
    return true;
  }

  const Graph& graph_;
  const Uses& uses_;
  Evaluator& evaluator_;
  std::vector<Kernel>& kernels_;
  Budget& budget_;
  std::vector<std::uint32_t> times_;  // by node: kernels that compute it
};

}  // namespace

std::string join_siblings(const Graph& graph, const Uses& uses, Evaluator& evaluator, std::vector<Kernel>& kernels,
                          const FusionOptions& options) {
  Budget budget(evaluator, options);
  Siblings siblings(graph, uses, evaluator, kernels, budget);
  for (const bool by_height : {true, false}) {
    const std::optional<Levels> levels = find_levels(graph, uses, kernels);
    FW_CHECK(levels) << "kernels depend on each other in a circle";
    std::string stopped = siblings.join(by_height ? levels->height : levels->depth);
    if (!stopped.empty()) return stopped;
  }
  return {};
}

}  // namespace fusewright::extract
