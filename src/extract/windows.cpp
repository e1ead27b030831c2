#include "windows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

namespace fusewright::extract {

namespace {

constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
constexpr double kUnreached = std::numeric_limits<double>::infinity();
constexpr int kNext = 2;  // kernels behind one in the model that are tried beside it, though they share nothing
constexpr double kEqual = 1 - 1e-6;  // costs of sums in another order

using Nodes = std::uint64_t;    // bit set over the window's nodes
using Choices = std::uint32_t;  // bit set over the values that may be stored

bool in_registers(ops::OpClass c) { return c == ops::OpClass::kElementwise || c == ops::OpClass::kMovement; }

}  // namespace

struct WindowSearch::Window {
  std::vector<NodeId> nodes;           // topological
  std::vector<Nodes> operands;         // of each node, those inside
  std::vector<Choices> after;          // of each node: what must be stored before what it reads from outside is there
  std::vector<double> arithmetic;      // of each node
  std::vector<std::uint32_t> choice;   // of each node: its number among the choices, or kNone
  std::vector<std::uint32_t> choices;  // positions in `nodes`
  Nodes free = 0;                      // computed again for nothing
  Nodes views = 0;                     // no kernels where they are alone
  std::vector<Nodes> kernels;          // as it stands
  Choices needed = 0;                  // read outside, or results of the model
  double seconds = 0;                  // as it stands

  std::vector<NodeId> members(Nodes set) const {
    std::vector<NodeId> out;
    for (; set != 0; set &= set - 1) out.push_back(nodes[static_cast<std::size_t>(std::countr_zero(set))]);
    return out;
  }

  Nodes set_of(const std::vector<NodeId>& some) const {
    Nodes out = 0;
    for (std::size_t n = 0; n < nodes.size(); ++n)
      if (std::find(some.begin(), some.end(), nodes[n]) != some.end()) out |= Nodes(1) << n;
    return out;
  }

  Choices bit(std::uint32_t node) const { return choice[node] == kNone ? 0 : Choices(1) << choice[node]; }

  // What a kernel computes that stores `stored` where `there` can be read.
  Nodes cone(Choices stored, Choices there) const {
    Nodes cone = 0, open = 0;
    for (Choices left = stored; left != 0; left &= left - 1)
      open |= Nodes(1) << choices[static_cast<std::size_t>(std::countr_zero(left))];
    while (open != 0) {
      const auto n = static_cast<std::uint32_t>(std::countr_zero(open));
      open &= open - 1;
      cone |= Nodes(1) << n;
      for (Nodes below = operands[n] & ~cone; below != 0; below &= below - 1) {
        const auto o = static_cast<std::uint32_t>(std::countr_zero(below));
        if ((bit(o) & there) == 0) open |= Nodes(1) << o;
      }
    }
    return cone;
  }
};

/// A kernel of a solved window.
struct WindowSearch::Piece {
  Nodes nodes = 0;
  Choices stored = 0;
  const Priced* price = nullptr;
};

WindowSearch::~WindowSearch() = default;

WindowSearch::WindowSearch(const Graph& graph, const Uses& uses, const cost::Device& device, Evaluator& evaluator,
                           std::vector<Kernel>& kernels, std::vector<Declined>& declined, double worthwhile)
    : graph_(graph),
      uses_(uses),
      device_(device),
      evaluator_(evaluator),
      kernels_(kernels),
      declined_(declined),
      worthwhile_(worthwhile),
      writer_(graph.nodes.size(), kNone),
      readers_(graph.nodes.size()),
      computed_in_(graph.nodes.size()),
      arithmetic_(graph.nodes.size(), -1) {
  for (std::uint32_t k = 0; k < kernels_.size(); ++k)
    if (kernels_[k].alive) enter(k);
  // What a body reads from outside is read by the operator that owns it.
  for (const NodeId id : graph.entry_computation().nodes)
    for (const NodeId r : uses.readers(id))
      if (!graph[r].computations.empty())
        readers_[id.index].insert(computed_in_[r.index].begin(), computed_in_[r.index].end());
}

void WindowSearch::enter(std::uint32_t kernel) {
  const Kernel& k = kernels_[kernel];
  for (const Value v : k.outputs) writer_[v.node.index] = kernel;
  for (const Value v : k.inputs) readers_[v.node.index].insert(kernel);
  for (const NodeId n : k.nodes) computed_in_[n.index].insert(kernel);
  by_position_.emplace(uses_.position(k.nodes.front()), kernel);
}

void WindowSearch::leave(std::uint32_t kernel) {
  Kernel& k = kernels_[kernel];
  for (const Value v : k.outputs) writer_[v.node.index] = kNone;
  for (const Value v : k.inputs) readers_[v.node.index].erase(kernel);
  for (const NodeId n : k.nodes) computed_in_[n.index].erase(kernel);
  by_position_.erase({uses_.position(k.nodes.front()), kernel});
  k.alive = false;
  k.nodes.clear();
}

// A reshape alone is a view of what it reads.
double WindowSearch::seconds(const Kernel& kernel) const {
  return is_view(graph_, kernel.nodes) ? 0 : kernel.seconds();
}

double WindowSearch::arithmetic(NodeId node) {
  double& known = arithmetic_[node.index];
  if (known >= 0) return known;
  const Evaluated& alone = evaluator_.evaluate(std::vector<NodeId>{node}, evaluator_.stored_values(node));
  return known = alone ? alone->arithmetic : 0;
}

std::vector<std::vector<std::uint32_t>> WindowSearch::windows_around(std::uint32_t kernel) const {
  const Kernel& k = kernels_[kernel];
  std::set<std::uint32_t> readers, writers, siblings;
  const auto usable = [&](std::uint32_t other) {
    return other != kNone && other != kernel && kernels_[other].unsupported.empty();
  };
  for (const Value v : k.outputs)
    for (const std::uint32_t r : readers_[v.node.index])
      if (usable(r)) readers.insert(r);
  for (const Value v : k.inputs) {
    if (usable(writer_[v.node.index])) writers.insert(writer_[v.node.index]);
    for (const std::uint32_t s : readers_[v.node.index])
      if (s > kernel && usable(s) && siblings.size() < kChoices) siblings.insert(s);
  }
  std::vector<std::vector<std::uint32_t>> out{{kernel}};
  for (const std::uint32_t r : readers) out.push_back({kernel, r});
  auto next = by_position_.upper_bound({uses_.position(k.nodes.front()), kernel});
  for (int i = 0; i < kNext && next != by_position_.end(); ++i, ++next)
    if (usable(next->second) && !readers.contains(next->second)) siblings.insert(next->second);
  for (const std::uint32_t s : siblings) out.push_back({kernel, s});
  const auto all = [&](const std::set<std::uint32_t>& others) {
    if (others.size() < 2 || others.size() >= kChoices) return;
    out.push_back({kernel});
    out.back().insert(out.back().end(), others.begin(), others.end());
  };
  all(readers);
  all(writers);
  return out;
}

// Whether the window is solved for the first time.
bool WindowSearch::fresh(const std::vector<std::uint32_t>& window) {
  std::vector<std::uint32_t> key = window;
  std::sort(key.begin(), key.end());
  return solved_.insert(std::move(key)).second;
}

// The values that may be stored: those that are now come first; then those with several readers and those where the
// kind of work or the number of elements changes. A value that lies in between is cheaper in registers than in memory.
void WindowSearch::choose(Window& w) const {
  const std::size_t count = w.nodes.size();
  std::vector<std::uint32_t> readers(count, 0);
  std::vector<bool> changes(count, false), dear_reader(count, false);
  for (std::uint32_t n = 0; n < count; ++n)
    for (Nodes below = w.operands[n]; below != 0; below &= below - 1) {
      const auto o = static_cast<std::size_t>(std::countr_zero(below));
      ++readers[o];
      const graph::Node &from = graph_[w.nodes[o]], &to = graph_[w.nodes[n]];
      const ops::OpClass kind = graph_.info(w.nodes[o]).op_class, its = graph_.info(w.nodes[n]).op_class;
      dear_reader[o] = dear_reader[o] || !in_registers(its);
      changes[o] = changes[o] || !in_registers(kind) || !in_registers(its) || from.types[0].shape != to.types[0].shape;
    }
  const auto stored = [&](std::uint32_t n) { return writer_[w.nodes[n].index] != kNone; };
  const auto optional = [&](std::uint32_t n) {
    const bool free = (w.free >> n & 1) != 0;
    return dear_reader[n] || (!free && (readers[n] > 1 || changes[n]));
  };
  w.choice.assign(count, kNone);
  const auto take = [&](std::uint32_t n) {
    w.choice[n] = static_cast<std::uint32_t>(w.choices.size());
    w.choices.push_back(n);
  };
  for (std::uint32_t n = 0; n < count; ++n)
    if (stored(n)) take(n);
  for (std::uint32_t n = 0; n < count; ++n)
    if (w.choice[n] == kNone && optional(n) && w.choices.size() < kChoices) take(n);
}

// A kernel outside that depends on the window gives what it makes only after the values that it depends on are stored.
void WindowSearch::find_dependences(const std::vector<std::uint32_t>& ids, Window& w) const {
  const std::set<std::uint32_t> inside(ids.begin(), ids.end());
  const std::uint32_t last = uses_.position(w.nodes.back());
  w.after.assign(w.nodes.size(), 0);
  std::map<NodeId, std::uint32_t> number;
  for (std::uint32_t n = 0; n < w.nodes.size(); ++n) number.emplace(w.nodes[n], n);
  for (const std::uint32_t from : w.choices) {
    if ((w.needed & w.bit(from)) == 0) continue;
    std::set<std::uint32_t> seen;
    std::vector<NodeId> stack{w.nodes[from]};
    while (!stack.empty()) {
      const NodeId at = stack.back();
      stack.pop_back();
      for (const std::uint32_t r : readers_[at.index]) {
        if (inside.contains(r) || !seen.insert(r).second) continue;
        for (const Value v : kernels_[r].outputs)
          if (uses_.position(v.node) < last) stack.push_back(v.node);
      }
    }
    for (std::uint32_t n = 0; n < w.nodes.size(); ++n)
      for (const Value operand : graph_[w.nodes[n]].operands)
        if (operand.valid() && !number.contains(operand.node) && writer_[operand.node.index] != kNone &&
            seen.contains(writer_[operand.node.index]))
          w.after[n] |= w.bit(from);
  }
}

bool WindowSearch::build(const std::vector<std::uint32_t>& ids, Window& w) {
  const std::set<std::uint32_t> inside(ids.begin(), ids.end());
  std::set<std::pair<std::uint32_t, NodeId>> all;
  for (const std::uint32_t id : ids) {
    if (!kernels_[id].alive || !kernels_[id].unsupported.empty()) return false;
    for (const NodeId n : kernels_[id].nodes) all.emplace(uses_.position(n), n);
    if (all.size() > kNodes) return false;
    w.seconds += seconds(kernels_[id]);
  }
  std::map<NodeId, std::uint32_t> number;
  for (const auto& [position, n] : all) {
    number.emplace(n, static_cast<std::uint32_t>(w.nodes.size()));
    const std::string& op = graph_.info(n).name;
    if (op == "broadcast" || op == "iota" || op == "reshape") w.free |= Nodes(1) << w.nodes.size();
    if (is_view(graph_, {n})) w.views |= Nodes(1) << w.nodes.size();
    w.nodes.push_back(n);
    w.operands.push_back(0);
    w.arithmetic.push_back(arithmetic(n));
    for (const Value operand : graph_[n].operands)
      if (const auto at = number.find(operand.node); at != number.end()) w.operands.back() |= Nodes(1) << at->second;
  }
  for (const std::uint32_t id : ids) w.kernels.push_back(w.set_of(kernels_[id].nodes));
  // A value that another kernel stores is not stored again here.
  for (const NodeId n : w.nodes)
    if (const std::uint32_t k = writer_[n.index]; k != kNone && !inside.contains(k)) return false;
  choose(w);
  if (w.choices.size() > kChoices) return false;
  for (const std::uint32_t n : w.choices) {
    const NodeId id = w.nodes[n];
    const auto& readers = readers_[id.index];
    const bool outside =
        std::any_of(readers.begin(), readers.end(), [&](std::uint32_t r) { return !inside.contains(r); });
    if (outside || uses_.node_is_result(id)) w.needed |= w.bit(n);
  }
  find_dependences(ids, w);
  return true;
}

// All that the search looks at, without the names of the nodes.
Signature WindowSearch::signature(const Window& w) {
  Signature out = evaluator_.signature(w.nodes, outputs(w, w.needed));
  const auto add = [&](std::uint64_t word) {
    out.push_back(static_cast<std::uint32_t>(word));
    out.push_back(static_cast<std::uint32_t>(word >> 32));
  };
  add(w.choices.size() << 32 | w.kernels.size());
  for (const std::uint32_t place : w.choices) {
    add(std::uint64_t(place) << 32 | evaluator_.stored_values(w.nodes[place]).size());
    for (const Value v : evaluator_.stored_values(w.nodes[place])) out.push_back(v.result);
  }
  add(w.needed);
  add(w.free);
  for (const Choices after : w.after) out.push_back(after);
  for (const Nodes kernel : w.kernels) add(kernel);
  add(std::bit_cast<std::uint64_t>(w.seconds));
  return out;
}

std::vector<Value> WindowSearch::outputs(const Window& w, Choices stored) const {
  std::vector<std::uint32_t> places;
  for (; stored != 0; stored &= stored - 1)
    places.push_back(w.choices[static_cast<std::size_t>(std::countr_zero(stored))]);
  std::sort(places.begin(), places.end());
  std::vector<Value> out;
  for (const std::uint32_t place : places)
    for (const Value v : evaluator_.stored_values(w.nodes[place])) out.push_back(v);
  return out;
}

// The least cost of having stored each subset of the choices, in one pass: a kernel only adds to what is stored.
// Returns the kernels of a better plan, or nothing.
std::vector<WindowSearch::Piece> WindowSearch::search(const Window& w) {
  struct Step {
    double cost = kUnreached;
    Choices from = 0;
    const Priced* price = nullptr;
    Nodes nodes = 0;
  };
  const Choices all = (Choices(1) << w.choices.size()) - 1;
  std::vector<Step> best(static_cast<std::size_t>(all) + 1);
  best[0].cost = 0;
  // On top of what they cost, for each kernel and each operator in it: a plan with more of them must earn that, and
  // another plan with as many must earn its being another one.
  const double charge = worthwhile_ * w.seconds;
  const auto charged = [&](Nodes kernel) { return charge * static_cast<double>(1 + std::popcount(kernel & ~w.free)); };
  double least = w.seconds * kEqual - charge * kEqual;
  for (const Nodes kernel : w.kernels) least += charged(kernel);
  struct Part {
    const Priced* price;  // null: there is no such kernel
    double seconds;
  };
  std::map<std::pair<Nodes, Choices>, Part> parts;
  const auto price = [&](Nodes cone, Choices stored) -> const Part& {
    const auto [at, fresh] = parts.try_emplace({cone, stored});
    if (!fresh) return at->second;
    const std::vector<NodeId> nodes = w.members(cone);
    const Evaluated& priced = evaluator_.evaluate(nodes, outputs(w, stored));
    at->second = priced ? Part{&*priced, is_view(graph_, nodes) ? 0 : priced->cost.seconds} : Part{nullptr, 0};
    return at->second;
  };
  // What such a kernel costs at least, without pricing it: launched, and all of it computed and stored.
  double fastest = 0;  // bytes a second
  for (const cost::MemoryLevel& level : device_.memory) fastest = std::max(fastest, level.bytes_per_second);
  std::vector<double> storing;  // of each choice
  for (const std::uint32_t place : w.choices) {
    double bytes = 0;
    for (const Value v : evaluator_.stored_values(w.nodes[place]))
      bytes += static_cast<double>(ops::byte_size(graph_.type(v)));
    storing.push_back(bytes / fastest);
  }
  const auto at_least = [&](Nodes cone, Choices stored) {
    double arithmetic = 0, moved = 0;
    for (Nodes left = cone; left != 0; left &= left - 1)
      arithmetic += w.arithmetic[static_cast<std::size_t>(std::countr_zero(left))];
    for (Choices left = stored; left != 0; left &= left - 1)
      moved += storing[static_cast<std::size_t>(std::countr_zero(left))];
    return (cone & ~w.views) == 0 ? 0 : device_.launch_seconds + std::max(arithmetic, moved);
  };
  // And everything that is still to be done where these are stored.
  std::vector<double> rest(best.size(), -1);
  const auto rest_of = [&](Choices there) {
    double& known = rest[there];
    if (known >= 0) return known;
    const Choices missing = w.needed & ~there;
    const Nodes cone = w.cone(missing, there);
    return known = missing == 0 ? 0 : charged(cone) + at_least(cone, missing);
  };
  Choices goal = 0;
  for (Choices there = 0; there <= all; ++there) {
    const double so_far = best[there].cost;
    if (so_far + rest_of(there) >= least) continue;
    if ((there & w.needed) == w.needed) {
      least = so_far;
      goal = there;
      continue;
    }
    const Choices others = all & ~there;
    for (Choices stored = others; stored != 0; stored = (stored - 1) & others) {
      const double later = rest_of(there | stored);
      if (so_far + later >= least) continue;
      const Nodes cone = w.cone(stored, there);
      const double before = so_far + charged(cone);
      bool possible = true;
      for (Nodes left = cone; left != 0; left &= left - 1)
        possible = possible && (w.after[static_cast<std::size_t>(std::countr_zero(left))] & ~there) == 0;
      const double cost = before + at_least(cone, stored);
      if (!possible || cost >= best[there | stored].cost || cost + later >= least) continue;
      const Part& part = price(cone, stored);
      if (part.price != nullptr && before + part.seconds < best[there | stored].cost)
        best[there | stored] = {before + part.seconds, there, part.price, cone};
    }
  }
  std::vector<Piece> better;
  for (Choices at = goal; at != 0; at = best[at].from)
    better.push_back({best[at].nodes, at & ~best[at].from, best[at].price});
  return better;
}

bool WindowSearch::solve(const std::vector<std::uint32_t>& ids, const Window& w) {
  const auto [at, fresh] = found_.try_emplace(signature(w));
  if (fresh) at->second = search(w);
  std::vector<Kernel> better;
  double after = 0;
  for (const Piece& piece : at->second) {
    Kernel& kernel = better.emplace_back();
    kernel.nodes = w.members(piece.nodes);
    kernel.inputs = evaluator_.inputs(kernel.nodes);
    kernel.outputs = outputs(w, piece.stored);
    kernel.price = piece.price;
    after += seconds(kernel);
  }
  return !better.empty() && accept(ids, w, std::move(better), w.seconds, after);
}

bool WindowSearch::accept(const std::vector<std::uint32_t>& ids, const Window& w, std::vector<Kernel> better,
                          double before, double after) {
  std::map<NodeId, std::size_t> times;
  for (const Kernel& kernel : better)
    for (const NodeId n : kernel.nodes) ++times[n];
  for (const Kernel& kernel : better)
    for (const std::uint32_t place : kernel.price->exclusive) {
      const NodeId n = kernel.nodes[place];
      const auto& now = computed_in_[n.index];
      const auto outside = std::count_if(
          now.begin(), now.end(), [&](std::uint32_t k) { return std::find(ids.begin(), ids.end(), k) == ids.end(); });
      if (times[n] + static_cast<std::size_t>(outside) > 1) return false;
    }
  std::set<NodeId> stored;
  for (const std::uint32_t n : w.choices)
    if (writer_[w.nodes[n].index] != kNone) stored.insert(w.nodes[n]);
  for (const std::uint32_t id : ids) leave(id);
  for (Kernel& kernel : better) {
    for (const Value v : kernel.outputs)
      if (!stored.contains(v.node))
        for (const NodeId reader : uses_.readers(v.node))
          declined_.push_back({v, reader, plan::Cut::Why::kCost,
                               fmt::format("kept in one kernel {:.4g} us, stored {:.4g} us", 1e6 * before, 1e6 * after),
                               before, after});
    kernels_.push_back(std::move(kernel));
    enter(static_cast<std::uint32_t>(kernels_.size() - 1));
  }
  return true;
}

std::string WindowSearch::run(const FusionOptions& options) {
  Budget budget(evaluator_, options);
  for (std::uint32_t k = 0; k < kernels_.size(); ++k) {  // grows: what gets better is looked at again
    if (!kernels_[k].alive || !kernels_[k].unsupported.empty()) continue;
    for (const auto& ids : windows_around(k)) {
      if (!kernels_[k].alive) break;
      if (!fresh(ids)) continue;
      if (std::string reason = budget.spent(); !reason.empty()) return reason;
      Window w;
      if (build(ids, w)) solve(ids, w);
    }
  }
  return {};
}

}  // namespace fusewright::extract
