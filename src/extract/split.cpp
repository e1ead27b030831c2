#include "split.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace fusewright::extract {

namespace {

constexpr std::size_t kPlaces = 64;  // at which a cut is tried at first

bool spills(const Kernel& kernel) {
  return kernel.price != nullptr && kernel.price->cost.spills > 1 &&
         kernel.price->cost.compute > kernel.price->cost.memory;
}

/// One kernel, by the places of its nodes.
class Splitter {
 public:
  /// @param times  by node: kernels that compute it
  Splitter(const Graph& graph, const Uses& uses, const NodeFacts& facts, Evaluator& evaluator, const Kernel& kernel,
           const std::vector<std::uint32_t>& times, const Budget& budget)
      : graph_(graph), evaluator_(evaluator), kernel_(kernel), budget_(budget), operands_(kernel.nodes.size()) {
    const auto stored = [&](NodeId n) {
      return std::ranges::any_of(kernel.outputs, [&](Value v) { return v.node == n; });
    };
    for (std::uint32_t i = 0; i < kernel.nodes.size(); ++i) {
      const NodeId n = kernel.nodes[i];
      follows_.push_back(facts.is_number(n, uses) || (times[n.index] > 1 && !stored(n)));
      if (!follows_.back()) own_.push_back(i);
      for (const Value v : graph[n].operands) {
        if (!v.valid()) continue;
        const auto at = std::ranges::lower_bound(kernel.nodes, uses.position(v.node), {},
                                                 [&](NodeId inner) { return uses.position(inner); });
        if (at != kernel.nodes.end() && *at == v.node)
          operands_[i].push_back({static_cast<std::uint32_t>(at - kernel.nodes.begin()), v.result});
      }
    }
  }

  /// Kernels that cost less together than this one; none where there are no such.
  std::vector<Kernel> run() {
    Pieces best = apart(), single;
    for (std::size_t i = 0; i < own_.size() && single.seconds < best.seconds; ++i) single.add(piece(i, i + 1));
    if (single.seconds < best.seconds) best = std::move(single);
    if (best.seconds >= kernel_.seconds()) best.kernels.clear();
    return std::move(best.kernels);
  }

 private:
  struct Operand {
    std::uint32_t place, result;
  };
  struct Piece {
    double seconds = std::numeric_limits<double>::infinity();  // there is no such kernel
    Kernel kernel;
  };
  struct Pieces {
    double seconds = 0;
    std::vector<Kernel> kernels;

    void add(Piece piece) {
      seconds += piece.seconds;
      kernels.push_back(std::move(piece.kernel));
    }
  };

  // By place: what is computed for the nodes of a stretch, or for all the others.
  std::vector<bool> computed(std::size_t from, std::size_t to, bool inside) const {
    std::vector<bool> out(operands_.size(), false);
    for (std::size_t i = 0; i < own_.size(); ++i) out[own_[i]] = (i >= from && i < to) == inside;
    for (std::size_t i = out.size(); i-- > 0;)
      if (out[i])
        for (const Operand& o : operands_[i])
          if (follows_[o.place]) out[o.place] = true;
    return out;
  }

  Piece piece(std::size_t from, std::size_t to) const {
    const std::vector<bool> here = computed(from, to, true), elsewhere = computed(from, to, false);
    std::vector<Value> stored;
    for (std::size_t i = 0; i < here.size(); ++i)
      if (elsewhere[i])
        for (const Operand& o : operands_[i])
          if (here[o.place] && !follows_[o.place]) stored.push_back({kernel_.nodes[o.place], o.result});
    for (const Value v : kernel_.outputs) stored.push_back(v);
    std::ranges::sort(stored);
    Piece out;
    Kernel& kernel = out.kernel;
    for (std::size_t i = 0; i < here.size(); ++i) {
      if (!here[i]) continue;
      kernel.nodes.push_back(kernel_.nodes[i]);
      for (std::uint32_t r = 0; r < graph_[kernel_.nodes[i]].types.size(); ++r)
        if (const Value v{kernel_.nodes[i], r}; std::ranges::binary_search(stored, v)) kernel.outputs.push_back(v);
    }
    const Evaluated& price = evaluator_.evaluate(kernel.nodes, kernel.outputs);
    const auto elsewhere_too = [&](std::uint32_t place) {
      const auto at = std::ranges::find(kernel_.nodes, kernel.nodes[place]);
      return follows_[static_cast<std::size_t>(at - kernel_.nodes.begin())];
    };
    if (!price || std::ranges::any_of(price->exclusive, elsewhere_too)) return out;
    kernel.inputs = evaluator_.inputs(kernel.nodes);
    kernel.price = &*price;
    out.seconds = is_view(graph_, kernel.nodes) ? 0 : price->cost.seconds;
    return out;
  }

  // The place where two kernels cost least: among some at the same distance from each other, then around the best of
  // these.
  std::size_t best_cut(std::size_t from, std::size_t to) const {
    std::size_t best = from, step = std::max<std::size_t>(1, (to - from) / kPlaces);
    double least = std::numeric_limits<double>::infinity();
    const auto consider = [&](std::size_t cut) {
      if (cut <= from || cut >= to) return;
      const double first = piece(from, cut).seconds;
      if (first >= least) return;
      const double both = first + piece(cut, to).seconds;
      if (both >= least) return;
      least = both;
      best = cut;
    };
    for (std::size_t cut = from + step; cut < to; cut += step) consider(cut);
    while (step > 1 && best > from) {
      step = (step + 1) / 2;
      const std::size_t middle = best;
      consider(middle - step);
      consider(middle + step);
      if (step == 1) break;
    }
    return best;
  }

  // Cut in two where that costs less, and each half again.
  Pieces apart() const {
    struct Part {
      std::size_t from, to;
      Piece whole{};
      std::size_t halves = 0;  // the first of two that follow each other, or none
      double least = 0;
    };
    std::vector<Part> parts{{0, own_.size()}};
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const auto [from, to] = std::pair(parts[i].from, parts[i].to);
      parts[i].whole = piece(from, to);
      parts[i].least = parts[i].whole.seconds;
      if (to - from < 2 || !spills(parts[i].whole.kernel) || !budget_.spent().empty()) continue;
      const std::size_t cut = best_cut(from, to);
      if (cut == from) continue;
      parts[i].halves = parts.size();
      parts.push_back({from, cut});
      parts.push_back({cut, to});
    }
    for (std::size_t i = parts.size(); i-- > 0;) {
      Part& part = parts[i];
      if (part.halves == 0) continue;
      const double both = parts[part.halves].least + parts[part.halves + 1].least;
      if (both < part.least)
        part.least = both;
      else
        part.halves = 0;
    }
    Pieces out;
    std::vector<std::size_t> open{0};
    while (!open.empty()) {
      Part& part = parts[open.back()];
      open.pop_back();
      if (part.halves == 0)
        out.add(std::move(part.whole));
      else
        open.insert(open.end(), {part.halves + 1, part.halves});
    }
    return out;
  }

  const Graph& graph_;
  Evaluator& evaluator_;
  const Kernel& kernel_;
  const Budget& budget_;
  std::vector<std::vector<Operand>> operands_;  // by place: those inside
  std::vector<bool> follows_;                   // by place: computed in every piece that reads it, never stored
  std::vector<std::uint32_t> own_;              // the other places, in order
};

}  // namespace

std::string split_kernels(const Graph& graph, const Uses& uses, const NodeFacts& facts, Evaluator& evaluator,
                          std::vector<Kernel>& kernels, std::vector<Declined>& declined, const FusionOptions& options) {
  const Budget budget(evaluator, options);
  std::vector<std::uint32_t> times(graph.nodes.size(), 0);
  for (const Kernel& k : kernels)
    for (const NodeId n : k.nodes) ++times[n.index];
  const std::size_t count = kernels.size();
  for (std::size_t k = 0; k < count; ++k) {
    if (!kernels[k].alive || !spills(kernels[k])) continue;
    if (std::string reason = budget.spent(); !reason.empty()) return reason;
    std::vector<Kernel> pieces = Splitter(graph, uses, facts, evaluator, kernels[k], times, budget).run();
    if (pieces.empty()) continue;
    double after = 0;
    for (const Kernel& piece : pieces) after += piece.seconds();
    const Kernel& whole = kernels[k];
    for (const Kernel& piece : pieces)
      for (const Value v : piece.outputs)
        if (std::ranges::find(whole.outputs, v) == whole.outputs.end())
          for (const NodeId reader : uses.readers(v.node))
            declined.push_back({v, reader, plan::Cut::Why::kCost,
                                fmt::format("kept in one kernel {:.4g} us ({}), stored {:.4g} us",
                                            1e6 * whole.seconds(), whole.price->cost.explanation, 1e6 * after),
                                whole.seconds(), after});
    kernels[k].alive = false;
    kernels[k].nodes.clear();
    std::ranges::move(pieces, std::back_inserter(kernels));
  }
  return {};
}

}  // namespace fusewright::extract
