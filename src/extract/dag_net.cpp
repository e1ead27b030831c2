#include "dag_net.hpp"

#include <algorithm>
#include <numeric>

namespace fusewright::extract::dag {

namespace {

void link_users(Net& net) {
  net.user_begin.assign(net.classes() + 1, 0);
  for (const Id c : net.child) ++net.user_begin[c + 1];
  for (Id c = 0; c < net.classes(); ++c) net.user_begin[c + 1] += net.user_begin[c];
  net.user.resize(net.child.size());
  std::vector<Id> at(net.user_begin.begin(), net.user_begin.end() - 1);
  for (Id n = 0; n < net.nodes(); ++n)
    for (const Id c : net.children(n)) net.user[at[c]++] = n;
}

void add_node(Net& net, Id c, double cost, std::vector<Id>& children, Id origin) {
  std::sort(children.begin(), children.end());
  children.erase(std::unique(children.begin(), children.end()), children.end());
  net.child.insert(net.child.end(), children.begin(), children.end());
  net.child_begin.push_back(static_cast<Id>(net.child.size()));
  net.node_class.push_back(c);
  net.cost.push_back(cost);
  net.origin_node.push_back(origin);
}

void end_class(Net& net, Id origin) {
  net.node_begin.push_back(net.nodes());
  net.origin_class.push_back(origin);
}

/// Round after round of what makes a net smaller; each round's finds make room for the next.
class Simplifier {
 public:
  Simplifier(Reduced& reduced, std::vector<bool> keep, Id needed)
      : reduced_(reduced),
        net_(reduced.net),
        keep_(std::move(keep)),
        drop_(net_.classes(), false),
        needed_(net_.classes(), false) {
    needed_[needed] = true;
  }

  void run() {
    drop_underivable();
    take_free();
    hoist();
    drop_unreachable();
    drop_replaced();
    rebuild();
  }

 private:
  void drop_underivable() {
    for (Id n = 0; n < net_.nodes(); ++n)
      if (std::ranges::binary_search(net_.children(n), net_.node_class[n])) keep_[n] = false;
    const std::vector<bool> made = derivable(net_, keep_);
    for (Id n = 0; n < net_.nodes(); ++n)
      for (const Id c : net_.children(n))
        if (!made[c]) keep_[n] = false;
  }

  // A class that costs nothing to make is made, and nobody need ask for it.
  void take_free() {
    std::vector<Id> missing(net_.nodes()), ready;
    const auto make = [&](Id n) {
      const Id c = net_.node_class[n];
      if (drop_[c] || c == 0) return;
      drop_[c] = true;
      reduced_.fixed[net_.origin_class[c]] = static_cast<std::int32_t>(net_.origin_node[n]);
      ready.push_back(c);
    };
    for (Id n = 0; n < net_.nodes(); ++n) missing[n] = static_cast<Id>(net_.children(n).size());
    for (Id n = 0; n < net_.nodes(); ++n)
      if (keep_[n] && net_.cost[n] == 0 && missing[n] == 0) make(n);
    while (!ready.empty()) {
      const Id c = ready.back();
      ready.pop_back();
      for (const Id n : net_.users(c))
        if (--missing[n] == 0 && keep_[n] && net_.cost[n] == 0) make(n);
    }
  }

  // What every choice makes becomes a root, and readers that no cycle joins to it need not ask for it any more.
  void hoist() {
    const std::vector<Id> component = components(net_);
    needed_[0] = true;
    std::vector<Id> stack, times(net_.classes(), 0);
    for (Id c = 0; c < net_.classes(); ++c)
      if (needed_[c]) stack.push_back(c);
    while (!stack.empty()) {
      const Id c = stack.back();
      stack.pop_back();
      const auto [first, last] = net_.nodes_of(c);
      Id kept = 0;
      for (Id n = first; n < last; ++n)
        if (keep_[n]) {
          ++kept;
          for (const Id d : net_.children(n)) ++times[d];
        }
      for (Id n = first; n < last; ++n)
        if (keep_[n])
          for (const Id d : net_.children(n)) {
            if (times[d] == kept && !needed_[d] && !drop_[d]) needed_[d] = true, stack.push_back(d);
            times[d] = 0;
          }
    }
    component_ = component;
  }

  bool asks(Id n, Id d) const {
    if (drop_[d]) return false;
    return net_.node_class[n] == 0 || !needed_[d] || component_[d] == component_[net_.node_class[n]];
  }

  void drop_unreachable() {
    std::vector<bool> seen(net_.classes(), false);
    std::vector<Id> stack;
    const auto see = [&](Id c) {
      if (!seen[c]) seen[c] = true, stack.push_back(c);
    };
    for (Id c = 0; c < net_.classes(); ++c)
      if (needed_[c]) see(c);
    while (!stack.empty()) {
      const Id c = stack.back();
      stack.pop_back();
      const auto [first, last] = net_.nodes_of(c);
      for (Id n = first; n < last; ++n)
        if (keep_[n])
          for (const Id d : net_.children(n))
            if (asks(n, d)) see(d);
    }
    for (Id c = 0; c < net_.classes(); ++c)
      if (!seen[c]) drop_[c] = true;
  }

  // A node is replaced by one of its class that costs no more and asks for no other class.
  void drop_replaced() {
    lists_.resize(net_.nodes());
    for (Id n = 0; n < net_.nodes(); ++n) {
      if (!keep_[n] || drop_[net_.node_class[n]]) continue;
      for (const Id d : net_.children(n))
        if (asks(n, d)) lists_[n].push_back(d);
    }
    for (Id c = 1; c < net_.classes(); ++c) {
      if (drop_[c]) continue;
      std::vector<Id> nodes;
      for (Id n = net_.node_begin[c]; n < net_.node_begin[c + 1]; ++n)
        if (keep_[n]) nodes.push_back(n);
      sort_by(nodes, [&](Id n) { return net_.cost[n]; });
      constexpr std::size_t kMost = 2000;  // the comparison is quadratic
      for (std::size_t i = 0; i < std::min(kMost, nodes.size()); ++i) {
        if (!keep_[nodes[i]]) continue;
        for (std::size_t j = 0; j < nodes.size(); ++j) {
          const Id a = nodes[i], b = nodes[j];
          if (a == b || !keep_[b] || net_.cost[a] > net_.cost[b] || lists_[a].size() > lists_[b].size()) continue;
          if (std::ranges::includes(lists_[b], lists_[a])) keep_[b] = false;
        }
      }
    }
  }

  void rebuild() {
    Net to;
    std::vector<Id> renamed(net_.classes(), kNone);
    Id count = 0;
    for (Id c = 0; c < net_.classes(); ++c)
      if (!drop_[c]) renamed[c] = count++;
    for (Id c = 0; c < net_.classes(); ++c) {
      if (drop_[c]) continue;
      for (Id n = net_.node_begin[c]; n < net_.node_begin[c + 1]; ++n) {
        if (!keep_[n]) continue;
        std::vector<Id> children;
        for (const Id d : lists_[n]) children.push_back(renamed[d]);
        if (c == 0)
          for (Id d = 1; d < net_.classes(); ++d)
            if (needed_[d] && !drop_[d]) children.push_back(renamed[d]);
        add_node(to, renamed[c], net_.cost[n], children, net_.origin_node[n]);
      }
      end_class(to, net_.origin_class[c]);
    }
    link_users(to);
    net_ = std::move(to);
  }

  Reduced& reduced_;
  Net& net_;
  std::vector<bool> keep_;
  std::vector<bool> drop_;    // classes
  std::vector<bool> needed_;  // classes in every choice
  std::vector<Id> component_;
  std::vector<std::vector<Id>> lists_;
};

}  // namespace

Limit::Limit(const DagOptions& options, Id nodes)
    : options_(&options),
      nodes_(nodes),
      work_(options.work > 0 ? std::make_shared<std::uint64_t>(0) : nullptr),
      end_(options.work > 0 ? static_cast<double>(options.work) : options.seconds),
      start_(std::chrono::steady_clock::now()) {}
double Limit::elapsed() const {
  if (work_) return static_cast<double>(*work_);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

Reduced make_net(const DagProblem& problem) {
  Reduced out;
  Net& net = out.net;
  const auto up = [](std::vector<Id> list) {
    for (Id& c : list) ++c;
    return list;
  };
  std::vector<Id> children = up(problem.roots);
  add_node(net, 0, 0, children, kNone);
  end_class(net, kNone);
  for (Id c = 0; c < problem.classes.size(); ++c) {
    for (Id i = 0; i < problem.classes[c].size(); ++i) {
      children = up(problem.classes[c][i].children);
      add_node(net, c + 1, problem.classes[c][i].cost, children, i);
    }
    end_class(net, c);
  }
  link_users(net);
  out.fixed.assign(problem.classes.size(), -1);
  return out;
}

std::vector<bool> derivable(const Net& net, const std::vector<bool>& keep) {
  std::vector<bool> made(net.classes(), false);
  std::vector<Id> missing(net.nodes()), ready;
  const auto make = [&](Id n) {
    if (keep[n] && !made[net.node_class[n]]) made[net.node_class[n]] = true, ready.push_back(net.node_class[n]);
  };
  for (Id n = 0; n < net.nodes(); ++n)
    if ((missing[n] = static_cast<Id>(net.children(n).size())) == 0) make(n);
  while (!ready.empty()) {
    const Id c = ready.back();
    ready.pop_back();
    for (const Id n : net.users(c))
      if (--missing[n] == 0) make(n);
  }
  return made;
}

void simplify(Reduced& reduced, std::vector<bool> keep, Id needed) {
  constexpr int kRounds = 6;
  for (int round = 0; round < kRounds; ++round) {
    const std::size_t before = reduced.net.nodes() + reduced.net.child.size();
    Simplifier(reduced, std::move(keep), needed).run();
    needed = 0;
    keep.assign(reduced.net.nodes(), true);
    if (reduced.net.nodes() + reduced.net.child.size() == before) break;
  }
}

// Tarjan's algorithm with its own stack.
std::vector<Id> components(const Net& net) {
  std::vector<Id> component(net.classes(), kNone), number(net.classes(), 0), low(net.classes(), 0), open;
  struct Frame {
    Id c, node, child;
  };
  std::vector<Frame> stack;
  Id next = 0, found = 0;
  const auto enter = [&](Id c) {
    number[c] = low[c] = ++next;
    open.push_back(c);
    stack.push_back({c, net.node_begin[c], 0});
  };
  for (Id start = 0; start < net.classes(); ++start) {
    if (number[start] != 0) continue;
    enter(start);
    while (!stack.empty()) {
      Frame& at = stack.back();
      if (at.node == net.node_begin[at.c + 1]) {
        const Id c = at.c;
        stack.pop_back();
        if (!stack.empty()) low[stack.back().c] = std::min(low[stack.back().c], low[c]);
        if (low[c] != number[c]) continue;
        while (true) {
          const Id d = open.back();
          open.pop_back();
          component[d] = found;
          if (d == c) break;
        }
        ++found;
      } else if (at.child == net.children(at.node).size()) {
        ++at.node;
        at.child = 0;
      } else {
        const Id d = net.children(at.node)[at.child++];
        if (number[d] == 0) {
          enter(d);
        } else if (component[d] == kNone) {
          low[at.c] = std::min(low[at.c], number[d]);
        }
      }
    }
  }
  return component;
}

std::vector<Id> order_of(const Net& net, const Choice& choice) {
  enum : std::uint8_t { kNew, kOpen, kDone };
  std::vector<std::uint8_t> state(net.classes(), kNew);
  std::vector<Id> order;
  std::vector<std::pair<Id, Id>> stack{{0, 0}};
  state[0] = kOpen;
  if (choice[0] == kNone) return {};
  while (!stack.empty()) {
    auto& [c, i] = stack.back();
    const auto children = net.children(choice[c]);
    if (i == children.size()) {
      state[c] = kDone;
      order.push_back(c);
      stack.pop_back();
      continue;
    }
    const Id d = children[i++];
    if (state[d] == kOpen || choice[d] == kNone) return {};
    if (state[d] == kDone) continue;
    state[d] = kOpen;
    stack.emplace_back(d, 0);
  }
  return order;
}

double cost_of(const Net& net, const Choice& choice) {
  const std::vector<Id> order = order_of(net, choice);
  if (order.empty()) return kInfinite;
  double sum = 0;
  for (const Id c : order) sum += net.cost[choice[c]];
  return sum;
}

std::vector<Piece> pieces_of(const Net& net) {
  std::vector<Id> above(net.classes());  // a forest: classes of one piece have one root
  std::iota(above.begin(), above.end(), 0);
  const auto find = [&](Id c) {
    while (above[c] != c) c = above[c] = above[above[c]];
    return c;
  };
  for (Id n = 1; n < net.nodes(); ++n)
    for (const Id d : net.children(n)) {
      const Id a = find(net.node_class[n]), b = find(d);
      above[std::max(a, b)] = std::min(a, b);
    }
  std::vector<Piece> pieces;
  std::vector<Id> piece_of(net.classes(), kNone), number(net.classes(), kNone);
  for (Id c = 1; c < net.classes(); ++c) {
    const Id first = find(c);
    if (first == c) {
      piece_of[c] = static_cast<Id>(pieces.size());
      pieces.emplace_back();
    }
    Piece& piece = pieces[piece_of[first]];
    number[c] = static_cast<Id>(piece.classes.size());
    piece.classes.push_back(c);
  }
  for (Piece& piece : pieces) {
    const auto numbers = [&](std::span<const Id> classes) {
      std::vector<Id> out;
      for (const Id c : classes) out.push_back(number[c]);
      return out;
    };
    for (const Id c : piece.classes) {
      std::vector<DagNode>& nodes = piece.problem.classes.emplace_back();
      for (Id n = net.node_begin[c]; n < net.node_begin[c + 1]; ++n)
        nodes.push_back({net.cost[n], numbers(net.children(n))});
    }
  }
  for (const Id c : net.children(0)) pieces[piece_of[find(c)]].problem.roots.push_back(number[c]);
  return pieces;
}

std::vector<std::int32_t> to_problem(const Reduced& reduced, const Choice& choice) {
  std::vector<std::int32_t> out = reduced.fixed;
  for (Id c = 1; c < reduced.net.classes(); ++c)
    if (choice[c] != kNone)
      out[reduced.net.origin_class[c]] = static_cast<std::int32_t>(reduced.net.origin_node[choice[c]]);
  return out;
}

Choice of_problem(const Net& net, const std::vector<std::int32_t>& nodes) {
  Choice choice(net.classes(), kNone);
  choice[0] = 0;
  for (Id c = 1; c < net.classes(); ++c)
    if (nodes[c - 1] >= 0) choice[c] = net.node_begin[c] + static_cast<Id>(nodes[c - 1]);
  return choice;
}

}  // namespace fusewright::extract::dag
