#include "window.hpp"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "least.hpp"

namespace fusewright::extract {

std::vector<NodeId> Window::members(UnitSet set) const {
  std::vector<NodeId> out;
  std::size_t next = 0;
  for (std::uint32_t n = 0; n < nodes.size(); ++n) {
    if ((set >> unit_of[n] & 1) == 0) continue;
    for (; next < constants.size() && constants[next].before <= n; ++next)
      if ((constants[next].readers & set) != 0) out.push_back(constants[next].node);
    out.push_back(nodes[n]);
  }
  return out;
}

UnitSet Window::set_of(const std::vector<NodeId>& some) const {
  UnitSet out = 0;
  for (std::size_t u = 0; u < units.size(); ++u)
    if (std::find(some.begin(), some.end(), units[u].last) != some.end()) out |= UnitSet(1) << u;
  return out;
}

std::vector<Value> Window::outputs(ChoiceSet stored) const {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> places;  // (unit, choice)
  each(stored, [&](std::uint32_t c) { places.emplace_back(choices[c], c); });
  std::sort(places.begin(), places.end());
  std::vector<Value> out;
  for (const auto& [unit, c] : places) out.insert(out.end(), values[c].begin(), values[c].end());
  return out;
}

UnitSet Window::cone(ChoiceSet stored, ChoiceSet there) const {
  UnitSet cone = 0, open = 0;
  each(stored, [&](std::uint32_t c) { open |= UnitSet(1) << choices[c]; });
  while (open != 0) {
    const auto n = static_cast<std::uint32_t>(std::countr_zero(open));
    open &= open - 1;
    cone |= UnitSet(1) << n;
    each(units[n].operands & ~cone, [&](std::uint32_t o) {
      if ((bit(o) & there) == 0) open |= UnitSet(1) << o;
    });
  }
  return cone;
}

Signature signature(const Window& w, Evaluator& evaluator) {
  Signature out = evaluator.signature(w.members(w.all()), w.outputs(w.needed));
  const auto add = [&](std::uint64_t word) {
    out.push_back(static_cast<std::uint32_t>(word));
    out.push_back(static_cast<std::uint32_t>(word >> 32));
  };
  add(w.choices.size() << 32 | w.kernels.size());
  for (std::size_t c = 0; c < w.choices.size(); ++c) {
    add(std::uint64_t(w.choices[c]) << 32 | w.values[c].size());
    for (const Value v : w.values[c]) out.push_back(v.result);
  }
  add(w.needed);
  for (const Window::Unit& unit : w.units) add(std::uint64_t(unit.after) << 32 | unit.operators);
  out.insert(out.end(), w.unit_of.begin(), w.unit_of.end());
  for (const UnitSet kernel : w.kernels) add(kernel);
  add(std::bit_cast<std::uint64_t>(w.seconds));
  return out;
}

namespace {

constexpr double kUnreached = std::numeric_limits<double>::infinity();
constexpr double kEqual = 1 - 1e-6;  // costs of sums in another order

/// The least cost of having stored each subset of the choices, in one pass: a kernel only adds to what is stored. What
/// cannot be better by what it costs at least, it and all that is still to be done, is not priced.
class Solver {
 public:
  Solver(const Window& window, Evaluator& evaluator, const Graph& graph, const cost::Device& device, double worthwhile)
      : w_(window),
        evaluator_(evaluator),
        graph_(graph),
        least_work_(window, evaluator, graph, device),
        charge_(worthwhile * window.seconds),
        all_((ChoiceSet(1) << window.choices.size()) - 1),
        best_(static_cast<std::size_t>(all_) + 1),
        rest_(best_.size(), -1) {}

  std::vector<Piece> run() {
    best_[0].cost = 0;
    least_ = w_.seconds * kEqual - charge_ * kEqual;
    for (const UnitSet kernel : w_.kernels) least_ += charged(kernel);
    ChoiceSet goal = 0;
    for (ChoiceSet there = 0; there <= all_; ++there) {
      if (best_[there].cost >= least_ || best_[there].cost + rest(there) >= least_) continue;
      if ((there & w_.needed) == w_.needed) {
        least_ = best_[there].cost;
        goal = there;
        continue;
      }
      const ChoiceSet others = all_ & ~there;
      for (ChoiceSet stored = others; stored != 0; stored = (stored - 1) & others) extend(there, stored);
    }
    std::vector<Piece> better;
    for (ChoiceSet at = goal; at != 0; at = best_[at].from)
      better.push_back({best_[at].units, at & ~best_[at].from, best_[at].price});
    return better;
  }

 private:
  struct Step {
    double cost = kUnreached;
    ChoiceSet from = 0;
    const Priced* price = nullptr;
    UnitSet units = 0;
  };
  struct Part {
    const Priced* price;  // null: there is no such kernel
    double seconds;
  };

  // One more kernel, which stores `stored` where `there` is stored already.
  void extend(ChoiceSet there, ChoiceSet stored) {
    Step& next = best_[there | stored];
    const double so_far = best_[there].cost, later = rest(there | stored);
    if (so_far + later >= least_) return;
    const UnitSet cone = w_.cone(stored, there);
    const double before = so_far + charged(cone);
    const auto too_dear = [&](double cost) { return cost >= next.cost || cost + later >= least_; };
    if (!may_follow(cone, there)) return;
    if ((cone & ~w_.views) != 0) {
      Cone& known = known_cone(cone);
      if (too_dear(before + kEqual * least_work_.seconds(known.work, stored))) return;
      // A kernel takes no less time for storing more, and what a template cannot store it cannot store with more.
      if (known.seconds < 0) {
        known.set = evaluator_.set_of(w_.members(cone));
        known.seconds = evaluator_.admits(*known.set) ? price(cone, ends(cone)).seconds : kUnreached;
      }
      if (too_dear(before + known.seconds)) return;
    }
    const Part& part = price(cone, stored);
    if (part.price != nullptr && before + part.seconds < next.cost)
      next = {before + part.seconds, there, part.price, cone};
  }

  bool may_follow(UnitSet cone, ChoiceSet there) const {
    bool may = true;
    each(cone, [&](std::uint32_t n) { may = may && (w_.units[n].after & ~there) == 0; });
    return may;
  }

  // On top of what it costs, for the kernel and for each operator in it: a plan with more of them must earn that, and
  // another plan with as many must earn its being another one.
  double charged(UnitSet kernel) const {
    std::uint32_t count = 1;
    each(kernel, [&](std::uint32_t u) { count += w_.units[u].operators; });
    return charge_ * count;
  }

  // What is still to be done costs at least this where these are stored.
  double rest(ChoiceSet there) {
    double& known = rest_[there];
    if (known >= 0) return known;
    const ChoiceSet missing = w_.needed & ~there;
    if (missing == 0) return known = 0;
    const UnitSet cone = w_.cone(missing, there);
    known = charged(cone);
    if ((cone & ~w_.views) == 0) return known;
    const auto [least, fresh] = rests_.try_emplace({cone, missing});
    if (fresh) least->second = kEqual * least_work_.seconds(least_work_.work(cone, missing), missing);
    return known += least->second;
  }

  struct Cone {  // what a kernel computes, whatever of it is stored
    Least::Work work;
    double seconds = -1;                // negative: not yet known
    std::optional<Evaluator::Set> set;  // once it is priced
  };
  Cone& known_cone(UnitSet units) {
    const auto [at, fresh] = cones_.try_emplace(units);
    if (fresh) at->second.work = least_work_.work(units, ends(units));
    return at->second;
  }

  // What nothing in the kernel reads must be stored.
  ChoiceSet ends(UnitSet cone) const {
    UnitSet read = 0;
    each(cone, [&](std::uint32_t n) { read |= w_.units[n].operands; });
    ChoiceSet out = 0;
    each(cone & ~read, [&](std::uint32_t n) { out |= w_.bit(n); });
    return out;
  }

  const Part& price(UnitSet cone, ChoiceSet stored) {
    const auto [at, fresh] = parts_.try_emplace({cone, stored});
    if (!fresh) return at->second;
    std::optional<Evaluator::Set>& set = known_cone(cone).set;
    if (!set) set = evaluator_.set_of(w_.members(cone));
    const Evaluated& priced = evaluator_.evaluate(*set, w_.outputs(stored));
    at->second =
        priced ? Part{&*priced, is_view(graph_, set->nodes) ? 0 : priced->cost.seconds} : Part{nullptr, kUnreached};
    return at->second;
  }

  const Window& w_;
  Evaluator& evaluator_;
  const Graph& graph_;
  Least least_work_;
  const double charge_;
  const ChoiceSet all_;
  std::vector<Step> best_;    // by what is stored
  std::vector<double> rest_;  // likewise; negative: not yet known
  using Key = std::pair<UnitSet, ChoiceSet>;
  struct KeyHash {
    std::size_t operator()(const Key& key) const { return hash_mix(key.first, key.second); }
  };
  std::unordered_map<Key, Part, KeyHash> parts_;
  std::unordered_map<Key, double, KeyHash> rests_;
  std::unordered_map<UnitSet, Cone> cones_;
  double least_ = 0;  // that a plan must be cheaper than
};

}  // namespace

std::vector<Piece> solve(const Window& window, Evaluator& evaluator, const Graph& graph, const cost::Device& device,
                         double worthwhile) {
  return Solver(window, evaluator, graph, device, worthwhile).run();
}

}  // namespace fusewright::extract
