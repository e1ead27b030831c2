#include "windows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "fusewright/support/distinct.hpp"

namespace fusewright::extract {

namespace {

constexpr std::uint32_t kNone = Window::kNone;
constexpr std::size_t kWidest = 32;  // readers of one tensor that are neighbours for it
constexpr int kNext = 2;  // kernels behind one in the model that are tried beside it, though they share nothing

// Of a window of so many nodes.
std::size_t most_choices(std::size_t nodes) {
  return nodes <= WindowSearch::kFewNodes ? WindowSearch::kChoices : WindowSearch::kFewChoices;
}

bool in_registers(ops::OpClass c) { return c == ops::OpClass::kElementwise || c == ops::OpClass::kMovement; }

}  // namespace

WindowSearch::WindowSearch(const Graph& graph, const Uses& uses, const NodeFacts& facts, const Landmarks& landmarks,
                           const cost::Device& device, Evaluator& evaluator, std::vector<Kernel>& kernels,
                           std::vector<Declined>& declined, double worthwhile)
    : graph_(graph),
      uses_(uses),
      facts_(facts),
      landmarks_(landmarks),
      device_(device),
      evaluator_(evaluator),
      kernels_(kernels),
      declined_(declined),
      worthwhile_(worthwhile),
      writer_(graph.nodes.size(), kNone),
      readers_(graph.nodes.size()),
      computed_in_(graph.nodes.size()),
      arithmetic_(graph.nodes.size(), -1),
      ranks_([this](std::uint32_t kernel) { return readers_of(kernel); },
             [this](std::uint32_t kernel) { return writers_of(kernel); }) {
  for (std::uint32_t k = 0; k < kernels_.size(); ++k)
    if (kernels_[k].alive) enter(k);
  // What a body reads from outside is read by the operator that owns it.
  for (const NodeId id : graph.entry_computation().nodes)
    for (const NodeId r : uses.readers(id))
      if (!graph[r].computations.empty())
        readers_[id.index].insert(computed_in_[r.index].begin(), computed_in_[r.index].end());
  std::vector<std::uint32_t> all;
  for (const auto& [position, k] : by_position_) all.push_back(k);
  ranks_.number(all);
}

std::vector<std::uint32_t> WindowSearch::readers_of(std::uint32_t kernel) const {
  std::vector<std::uint32_t> out;
  for (const Value v : kernels_[kernel].outputs)
    out.insert(out.end(), readers_[v.node.index].begin(), readers_[v.node.index].end());
  return out;
}

std::vector<std::uint32_t> WindowSearch::writers_of(std::uint32_t kernel) const {
  std::vector<std::uint32_t> out;
  for (const Value v : kernels_[kernel].inputs)
    if (writer_[v.node.index] != kNone) out.push_back(writer_[v.node.index]);
  return out;
}

void WindowSearch::enter(std::uint32_t kernel) {
  const Kernel& k = kernels_[kernel];
  for (const Value v : k.outputs) writer_[v.node.index] = kernel;
  for (const Value v : k.inputs) readers_[v.node.index].insert(kernel);
  for (const NodeId n : k.nodes)
    if (!is_number(n)) computed_in_[n.index].insert(kernel);
  by_position_.emplace(uses_.position(k.nodes.front()), kernel);
  form_.resize(kernels_.size());
  form_[kernel] = SignatureHash()(evaluator_.signature(k.nodes, k.outputs));
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

bool WindowSearch::is_free(NodeId node) const {
  const std::string& op = graph_.info(node).name;
  return op == "broadcast" || op == "iota" || op == "reshape";
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
  std::set<std::uint32_t> readers, writers, siblings, again;
  const auto usable = [&](std::uint32_t other) {
    return other != kNone && other != kernel && kernels_[other].unsupported.empty();
  };
  for (const Value v : k.outputs)
    for (const std::uint32_t r : readers_[v.node.index])
      if (usable(r)) readers.insert(r);
  for (const Value v : k.inputs) {
    if (usable(writer_[v.node.index])) writers.insert(writer_[v.node.index]);
    if (readers_[v.node.index].size() > kWidest) continue;
    for (const std::uint32_t s : readers_[v.node.index])
      if (s > kernel && usable(s) && siblings.size() < kChoices) siblings.insert(s);
  }
  for (const NodeId n : k.nodes)
    if (!is_free(n))
      for (const std::uint32_t other : computed_in_[n.index])
        if (usable(other)) again.insert(other);
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
  all(again);
  return out;
}

// What a window looks like: its kernels, what they share, and what is read outside. Blocks that a model repeats have
// windows of one form, and what could not be made better in the first is not tried again.
std::uint64_t WindowSearch::form(const std::vector<std::uint32_t>& window) const {
  std::vector<NodeId> shared;
  const auto number = [&](NodeId node) {
    const auto at = static_cast<std::uint64_t>(std::ranges::find(shared, node) - shared.begin());
    if (at == shared.size()) shared.push_back(node);
    return at;
  };
  const auto outside = [&](std::uint32_t k) { return std::ranges::find(window, k) == window.end(); };
  std::uint64_t h = window.size();
  for (const std::uint32_t k : window) {
    const Kernel& kernel = kernels_[k];
    h = hash_mix(h, form_[k]);
    for (const NodeId n : kernel.nodes)
      if (computed_in_[n.index].size() > 1) h = hash_mix(h, number(n));
    for (const Value v : kernel.inputs) h = hash_mix(h, number(v.node));
    for (const Value v : kernel.outputs) {
      const bool needed = uses_.node_is_result(v.node) || std::ranges::any_of(readers_[v.node.index], outside);
      h = hash_mix(h, number(v.node) << 1 | (needed ? 1 : 0));
    }
  }
  return h;
}

// The values that may be stored: those that are now come first; then those with several readers, those where the kind
// of work or the number of elements changes, and at last those that join what comes out of a product: there few cores
// may be at work. A value that lies in between is cheaper in registers than in memory.
std::vector<std::uint32_t> WindowSearch::choose(const Window& w, const Operands& operands) const {
  const std::size_t count = w.nodes.size();
  std::vector<std::uint32_t> readers(count, 0);
  std::vector<bool> changes(count, false), dear_reader(count, false), joins(count, false);
  std::vector<bool> of_product(count, false);  // products themselves, and what is made of them
  for (std::uint32_t n = 0; n < count; ++n) {
    const ops::OpClass c = graph_.info(w.nodes[n]).op_class;
    of_product[n] = c == ops::OpClass::kContraction || c == ops::OpClass::kConvolution ||
                    std::ranges::any_of(operands[n], [&](std::uint32_t o) { return of_product[o]; });
  }
  for (std::uint32_t n = 0; n < count; ++n)
    for (const std::uint32_t o : operands[n]) {
      ++readers[o];
      const graph::Node &from = graph_[w.nodes[o]], &to = graph_[w.nodes[n]];
      const ops::OpClass kind = graph_.info(w.nodes[o]).op_class, its = graph_.info(w.nodes[n]).op_class;
      dear_reader[o] = dear_reader[o] || !in_registers(its);
      joins[o] = joins[o] || (of_product[n] && !of_product[o]);
      changes[o] = changes[o] || !in_registers(kind) || !in_registers(its) || from.types[0].shape != to.types[0].shape;
    }
  std::vector<std::uint32_t> choices;
  std::vector<bool> chosen(count, false);
  const auto take = [&](bool bounded, const auto& is) {
    for (std::uint32_t n = 0; n < count; ++n) {
      if (chosen[n] || (bounded && choices.size() >= most_choices(count)) || !is(n)) continue;
      chosen[n] = true;
      choices.push_back(n);
    }
  };
  const auto free = [&](std::uint32_t n) { return is_free(w.nodes[n]); };
  take(false, [&](std::uint32_t n) { return writer_[w.nodes[n].index] != kNone; });
  take(true, [&](std::uint32_t n) { return dear_reader[n] || (!free(n) && (readers[n] > 1 || changes[n])); });
  take(true, [&](std::uint32_t n) { return joins[n] && !free(n); });
  return choices;
}

// Each choice is the last of a unit. What is none belongs to that of its readers, or is by itself where they are of
// several.
void WindowSearch::make_units(Window& w, const Operands& operands, const std::vector<std::uint32_t>& choices) {
  const std::size_t count = w.nodes.size();
  constexpr std::uint32_t kMany = kNone - 1;
  std::vector<std::uint32_t> last(count, kNone);  // by node: that of its unit
  for (const std::uint32_t n : choices) last[n] = n;
  for (auto n = static_cast<std::uint32_t>(count); n-- > 0;) {
    if (last[n] == kNone || last[n] == kMany) last[n] = n;
    for (const std::uint32_t o : operands[n])
      if (last[o] != o) last[o] = last[o] == kNone || last[o] == last[n] ? last[n] : kMany;
  }
  w.unit_of.assign(count, 0);
  for (std::uint32_t n = 0; n < count; ++n)
    if (last[n] == n) {
      w.unit_of[n] = static_cast<std::uint32_t>(w.units.size());
      w.units.emplace_back().last = w.nodes[n];
    }
  if (w.units.size() > kUnits) return;
  for (std::uint32_t n = 0; n < count; ++n) {
    w.unit_of[n] = w.unit_of[last[n]];
    Window::Unit& unit = w.units[w.unit_of[n]];
    unit.arithmetic += arithmetic(w.nodes[n]);
    unit.operators += is_free(w.nodes[n]) ? 0 : 1;
  }
  for (std::uint32_t n = 0; n < count; ++n)
    for (const std::uint32_t o : operands[n])
      if (w.unit_of[o] != w.unit_of[n]) w.units[w.unit_of[n]].operands |= UnitSet(1) << w.unit_of[o];
  for (std::uint32_t u = 0; u < w.units.size(); ++u)
    if (is_view(graph_, {w.units[u].last}) && std::ranges::count(w.unit_of, u) == 1) w.views |= UnitSet(1) << u;
  for (const std::uint32_t n : choices) {
    const std::uint32_t unit = w.unit_of[n];
    w.units[unit].choice = static_cast<std::uint32_t>(w.choices.size());
    w.choices.push_back(unit);
    w.values.push_back(evaluator_.stored_values(w.nodes[n]));
  }
}

// Landmarks behind what kernels outside make of a value of the window. What is computed in other kernels too is not
// waited for.
Landmarks::Set WindowSearch::depend_on(NodeId node, const std::set<std::uint32_t>& inside) const {
  Landmarks::Set out;
  for (const std::uint32_t r : readers_[node.index]) {
    if (inside.contains(r)) continue;
    for (const Value v : kernels_[r].outputs)
      if (computed_in_[v.node.index].size() == 1) out |= landmarks_.behind(v.node);
  }
  return out;
}

// A kernel outside that depends on the window gives what it makes only after the values that it depends on are stored.
void WindowSearch::find_dependences(const std::vector<std::uint32_t>& ids, Window& w) {
  const std::set<std::uint32_t> inside(ids.begin(), ids.end());
  struct Outer {  // a tensor that a kernel outside hands to a unit of the window
    std::uint32_t unit, kernel;
    NodeId tensor;
  };
  std::vector<Outer> read, open;
  for (std::uint32_t n = 0; n < w.nodes.size(); ++n)
    for (const Value operand : graph_[w.nodes[n]].operands) {
      if (!operand.valid()) continue;
      const std::uint32_t writer = writer_[operand.node.index];
      if (writer != kNone && !inside.contains(writer)) read.push_back({w.unit_of[n], writer, operand.node});
    }
  seen_.resize(kernels_.size(), 0);
  for (const std::uint32_t from : w.choices) {
    if ((w.needed & w.bit(from)) == 0) continue;
    const Landmarks::Set known = depend_on(w.units[from].last, inside);
    open.clear();
    for (const Outer& outer : read) {
      if ((known & landmarks_.before(outer.tensor)).any()) {
        w.units[outer.unit].after |= w.bit(from);
        continue;
      }
      open.push_back(outer);
    }
    if (open.empty()) continue;
    Ranks::Rank last = ranks_[open.front().kernel];
    for (const Outer& outer : open) last = std::max(last, ranks_[outer.kernel]);
    ++searches_;
    std::vector<NodeId> stack{w.units[from].last};
    while (!stack.empty()) {
      const NodeId at = stack.back();
      stack.pop_back();
      for (const std::uint32_t r : readers_[at.index]) {
        if (ranks_[r] > last || seen_[r] == searches_ || inside.contains(r)) continue;
        seen_[r] = searches_;
        for (const Value v : kernels_[r].outputs) stack.push_back(v.node);
      }
    }
    for (const Outer& outer : open)
      if (seen_[outer.kernel] == searches_) w.units[outer.unit].after |= w.bit(from);
  }
}

void WindowSearch::add_constants(Window& w) const {
  std::map<std::pair<std::uint32_t, NodeId>, UnitSet> readers;
  std::vector<NodeId> stack;
  for (std::uint32_t n = 0; n < w.nodes.size(); ++n) {
    stack.assign(1, w.nodes[n]);
    while (!stack.empty()) {
      const NodeId at = stack.back();
      stack.pop_back();
      for (const Value v : graph_[at].operands) {
        if (!v.valid() || !is_number(v.node) || facts_.load_time[v.node.index]) continue;
        UnitSet& of = readers[{uses_.position(v.node), v.node}];
        if ((of >> w.unit_of[n] & 1) == 0) stack.push_back(v.node);
        of |= UnitSet(1) << w.unit_of[n];
      }
    }
  }
  std::uint32_t before = 0;
  for (const auto& [key, of] : readers) {
    while (uses_.position(w.nodes[before]) < key.first) ++before;
    w.constants.push_back({key.second, before, of});
  }
}

bool WindowSearch::build(const std::vector<std::uint32_t>& ids, Window& w) {
  const auto inside = [&](std::uint32_t kernel) { return std::ranges::find(ids, kernel) != ids.end(); };
  std::vector<std::pair<std::uint32_t, NodeId>> all;  // with their places in the model
  for (const std::uint32_t id : ids) {
    if (!kernels_[id].unsupported.empty()) return false;
    for (const NodeId n : kernels_[id].nodes)
      if (!is_number(n)) all.emplace_back(uses_.position(n), n);
    w.seconds += seconds(kernels_[id]);
  }
  sort_distinct(all);
  if (all.size() > kNodes) return false;
  Operands operands(all.size());
  for (std::uint32_t i = 0; i < all.size(); ++i) {
    const NodeId n = all[i].second;
    // A value that another kernel stores is not stored again here.
    if (const std::uint32_t k = writer_[n.index]; k != kNone && !inside(k)) return false;
    w.nodes.push_back(n);
    for (const Value v : graph_[n].operands) {
      if (!v.valid()) continue;
      const auto at = std::ranges::lower_bound(all, std::pair(uses_.position(v.node), v.node));
      if (at == all.end() || at->second != v.node) continue;
      const auto number = static_cast<std::uint32_t>(at - all.begin());
      if (std::ranges::find(operands[i], number) == operands[i].end()) operands[i].push_back(number);
    }
  }
  const std::vector<std::uint32_t> choices = choose(w, operands);
  if (choices.size() > most_choices(w.nodes.size())) return false;
  make_units(w, operands, choices);
  if (w.units.size() > kUnits) return false;
  add_constants(w);
  for (const std::uint32_t id : ids) w.kernels.push_back(w.set_of(kernels_[id].nodes));
  for (const std::uint32_t u : w.choices) {
    const NodeId id = w.units[u].last;
    const auto& readers = readers_[id.index];
    const bool outside = std::ranges::any_of(readers, [&](std::uint32_t r) { return !inside(r); });
    if (outside || uses_.node_is_result(id)) w.needed |= w.bit(u);
  }
  find_dependences(ids, w);
  return true;
}

bool WindowSearch::solve(const std::vector<std::uint32_t>& ids, const Window& w) {
  const auto [at, fresh] = found_.try_emplace(signature(w, evaluator_));
  if (fresh) at->second = extract::solve(w, evaluator_, graph_, device_, worthwhile_);
  std::vector<Kernel> better;
  double after = 0;
  for (const Piece& piece : at->second) {
    Kernel& kernel = better.emplace_back();
    kernel.nodes = w.members(piece.units);
    kernel.inputs = evaluator_.inputs(kernel.nodes);
    kernel.outputs = w.outputs(piece.stored);
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
  for (const std::uint32_t u : w.choices)
    if (writer_[w.units[u].last.index] != kNone) stored.insert(w.units[u].last);
  for (const std::uint32_t id : ids) leave(id);
  std::vector<std::uint32_t> fresh;
  for (Kernel& kernel : better) {
    for (const Value v : kernel.outputs)
      if (!stored.contains(v.node))
        for (const NodeId reader : uses_.readers(v.node))
          declined_.push_back({v, reader, plan::Cut::Why::kCost,
                               fmt::format("kept in one kernel {:.4g} us, stored {:.4g} us", 1e6 * before, 1e6 * after),
                               before, after});
    kernels_.push_back(std::move(kernel));
    fresh.push_back(static_cast<std::uint32_t>(kernels_.size() - 1));
    enter(fresh.back());
  }
  ranks_.replace(ids, fresh);
  return true;
}

// Whether a window was made better.
bool WindowSearch::improve(std::vector<std::uint32_t> ids) {
  if (!std::ranges::all_of(ids, [&](std::uint32_t id) { return kernels_[id].alive; })) return false;
  // As they stand in the model, in every block that it repeats.
  std::ranges::sort(ids, {},
                    [&](std::uint32_t id) { return std::pair(uses_.position(kernels_[id].nodes.front()), id); });
  const std::uint64_t looks = form(ids);
  if (hopeless_.contains(looks)) return false;
  Window w;
  if (build(ids, w) && solve(ids, w)) return true;
  hopeless_.insert(looks);
  return false;
}

std::string WindowSearch::run(const FusionOptions& options) {
  Budget budget(evaluator_, options);
  for (std::uint32_t k = 0; k < kernels_.size(); ++k) {  // grows: what gets better is looked at again
    if (!kernels_[k].alive || !kernels_[k].unsupported.empty()) continue;
    for (const auto& ids : windows_around(k)) {
      if (!kernels_[k].alive) break;
      if (std::string reason = budget.spent(); !reason.empty()) return reason;
      improve(ids);
    }
  }
  std::vector<std::uint32_t> all;  // a small model is one window
  for (std::uint32_t k = 0; k < kernels_.size() && all.size() <= kChoices; ++k)
    if (kernels_[k].alive) all.push_back(k);
  if (all.size() > 1 && all.size() <= kChoices) improve(all);
  return {};
}

}  // namespace fusewright::extract
