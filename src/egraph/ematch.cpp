#include "fusewright/egraph/ematch.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "fusewright/egraph/broadcast.hpp"
#include "fusewright/support/check.hpp"
#include "fusewright/support/clock.hpp"
#include "src/egraph/join.hpp"

namespace fusewright::egraph {

using match::Instr;
using match::TrieNode;

namespace {

// How many nodes are tried between two looks at the clock.
constexpr std::uint32_t kNodesPerPoll = 256;
// How many combinations of matches of several roots are tried for each match that a rule may have.
constexpr std::uint64_t kTriesPerMatch = 8;
constexpr std::uint8_t kFar = 0xff;
// From so many kNode siblings on, one pass over the class serves them all.
constexpr std::size_t kChoicesToDispatch = 4;

struct OpTraits {
  bool commutes = false;
  bool elementwise = false;
  bool multiple = false;  // several results
};

/// Adds the time until its end.
class Stopwatch {
 public:
  explicit Stopwatch(double& seconds) : seconds_(seconds) {}
  ~Stopwatch() { seconds_ += seconds_since(start_); }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  double& seconds_;
  Clock::time_point start_ = Clock::now();
};

}  // namespace

/// One search. Recursion follows the pattern, whose length the compiler bounds, never the e-graph.
struct Matcher::Run {
  struct Children {
    std::uint32_t first = 0, last = 0;              // in child_pool
    std::uint32_t first_group = 0, last_group = 0;  // in groups
  };
  struct Group {
    std::uint16_t reg;
    std::uint32_t first, last;  // in by_op
  };

  Run(Matcher& matcher, const Index& index, const MatchOptions& options, MatchSet& out)
      : m(matcher), egraph(matcher.egraph_), program(matcher.program_), index(index), options(options), out(out) {
    regs.resize(program.registers);
    nodes.resize(program.nodes);
    swapped.resize(program.nodes, 0);
    std::size_t longest = 0;
    for (const auto& pattern : program.patterns) {
      longest = std::max<std::size_t>(longest, pattern.words);
      m.found_[pattern.rule.index] = 0;
    }
    words.resize(longest);
    parts.resize(program.parts.size());
    const ops::OpTable& table = egraph.table();
    traits.resize(table.size() + 2);
    for (std::size_t i = 0; i < table.size(); ++i) {
      const ops::OpInfo& info = table[OpId(i)];
      traits[i] = {info.commutative, info.op_class == ops::OpClass::kElementwise, info.results.size() > 1};
    }
    broadcast = table.find("broadcast");
    reshape = table.find("reshape");
  }

  void run() {
    find_active();
    find_levels();
    for (const std::uint32_t root : program.roots) {
      if (active[root] == 0) continue;
      joining = program.trie[root].joined;
      const Stopwatch watch(m.seconds_[root]);
      for (const OpId op : program.op_sets[program.trie[root].instr.data].ops) {
        for (const ENodeId n : index.nodes_of_op(op)) {
          if (out.stopped) return;
          if (joining || is_candidate(n, program.trie[root].depth)) try_root(root, n);
        }
      }
    }
    for (std::size_t id = 0; id < program.patterns.size() && !out.stopped; ++id) {
      const match::PatternInfo& pattern = program.patterns[id];
      if (pattern.roots.empty() || active[pattern.code.front()] == 0 || m.disabled_[pattern.rule.index]) continue;
      const std::uint64_t most =
          std::min(options.matches_per_rule, ~std::uint64_t{0} / kTriesPerMatch) * kTriesPerMatch;
      const Stopwatch watch(m.seconds_[pattern.code.back()]);
      const auto take = [&](std::span<const MatchWord> record) {
        poll();
        return found(id, record);
      };
      if (!join(egraph, program, pattern, parts, most, take)) out.cut[pattern.rule.index] = true;
    }
  }

  /// Now and then a look at the clock: a search of many matches from one root, or of very many nodes without any, must
  /// not run past its limits either.
  void poll() {
    if (++polled % kNodesPerPoll == 0 && options.poll && options.poll(bytes)) out.stopped = true;
  }

  /// A branch of the trie is dead where an operator that it needs does not occur.
  void find_active() {
    active.assign(program.trie.size(), 0);
    for (const auto& pattern : program.patterns) {
      const bool alive = !m.disabled_[pattern.rule.index] && std::ranges::all_of(pattern.code, [&](std::uint32_t at) {
        const Instr& instr = program.trie[at].instr;
        return instr.kind != Instr::Kind::kNode || std::ranges::any_of(program.op_sets[instr.data].ops, [&](OpId op) {
                 return !index.nodes_of_op(op).empty();
               });
      });
      if (!alive) continue;
      for (const std::uint32_t at : pattern.code) active[at] = 1;
    }
    list_children();
  }

  /// Live children of each trie node. Many kNode siblings on one register become one look at the operators of its
  /// class.
  void list_children() {
    lists.assign(program.trie.size(), {});
    by_op.clear();
    std::vector<std::uint32_t> choices;
    for (std::uint32_t at = 0; at < program.trie.size(); ++at) {
      if (active[at] == 0) continue;
      Children& list = lists[at];
      list.first = static_cast<std::uint32_t>(child_pool.size());
      choices.clear();
      for (std::uint32_t c = program.trie[at].first_child; c != TrieNode::kNone; c = program.trie[c].next_sibling) {
        if (active[c] == 0) continue;
        const Instr& instr = program.trie[c].instr;
        if (instr.kind == Instr::Kind::kNode && !instr.pack)
          choices.push_back(c);
        else
          child_pool.push_back(c);
      }
      if (choices.size() < kChoicesToDispatch) {
        child_pool.insert(child_pool.end(), choices.begin(), choices.end());
      } else {
        dispatch(list, choices);
      }
      list.last = static_cast<std::uint32_t>(child_pool.size());
    }
  }

  void dispatch(Children& list, const std::vector<std::uint32_t>& choices) {
    std::map<std::uint16_t, std::map<OpId, std::vector<std::uint32_t>>> sorted;  // by register, operator
    for (const std::uint32_t c : choices) {
      const Instr& instr = program.trie[c].instr;
      for (const OpId op : program.op_sets[instr.data].ops) {
        if (!index.nodes_of_op(op).empty()) sorted[instr.a][op].push_back(c);
      }
    }
    list.first_group = static_cast<std::uint32_t>(groups.size());
    for (auto& [reg, ops] : sorted) {
      Group& group = groups.emplace_back(Group{reg, static_cast<std::uint32_t>(by_op.size()), 0});
      for (auto& [op, children] : ops) by_op.emplace_back(op, std::move(children));
      group.last = static_cast<std::uint32_t>(by_op.size());
    }
    list.last_group = static_cast<std::uint32_t>(groups.size());
  }

  /// Distance of each class from a change, upwards, as far as any pattern looks.
  void find_levels() {
    if (options.since == 0) return;
    std::uint16_t deepest = 0;
    for (const std::uint32_t root : program.roots) deepest = std::max(deepest, program.trie[root].depth);
    levels.assign(index.node_count(), kFar);
    std::vector<EClassId> frontier, next;
    for (std::size_t i = 1; i < index.node_count(); ++i) {
      const ENodeId n(i);
      const EClassId c = index.class_of(n);
      if (egraph[n].dead || index.changed_in(n) < options.since || levels[c.index] == 0) continue;
      levels[c.index] = 0;
      frontier.push_back(c);
    }
    for (std::uint8_t level = 1; level + 2 <= deepest && level < kFar && !frontier.empty(); ++level) {
      next.clear();
      for (const EClassId c : frontier) {
        egraph.for_each_use(c, [&](ENodeId user, std::uint32_t) {
          const EClassId above = index.class_of(user);
          if (levels[above.index] != kFar) return;
          levels[above.index] = level;
          next.push_back(above);
        });
      }
      frontier.swap(next);
    }
  }

  bool is_candidate(ENodeId n, std::uint16_t depth) const {
    if (options.since == 0 || is_fresh_root(n)) return true;
    for (const EClassId c : egraph.operands(n)) {
      if (levels[c.index] + 2 <= depth) return true;
    }
    return false;
  }
  bool is_fresh(ENodeId n) const { return index.changed_in(n) >= options.since; }
  /// A root is matched for itself: that its class was joined to another changes nothing.
  bool is_fresh_root(ENodeId n) const { return egraph.changed_in(n) >= options.since; }

  void try_root(std::uint32_t at, ENodeId n) {
    const Instr& instr = program.trie[at].instr;
    ++m.counts_[at].tried;
    if (!traits[egraph[n].op.index].multiple) {
      regs[0] = index.class_of(n);
      choose(at, n, ENodeId(), false);
      return;
    }
    egraph.for_each_use(index.class_of(n), [&](ENodeId user, std::uint32_t) {
      if (egraph[user].op != egraph.result_op() || egraph.result_number(user) != instr.result) return;
      regs[0] = index.class_of(user);
      choose(at, n, user, is_fresh(user));
    });
  }

  void pass(std::uint32_t at, bool fresh) {
    ++m.counts_[at].passed;
    const Children list = lists[at];
    for (std::uint32_t i = list.first; i < list.last; ++i) step(child_pool[i], fresh);
    for (std::uint32_t g = list.first_group; g < list.last_group; ++g) {
      const Group group = groups[g];
      std::uint32_t next = group.first;
      // Both lists are in order of operator.
      for (const auto& [op, n] : index.nodes(regs[group.reg])) {
        while (next < group.last && by_op[next].first < op) ++next;
        if (next == group.last) break;
        if (by_op[next].first != op) continue;
        for (const std::uint32_t c : by_op[next].second) choose(c, n, ENodeId(), fresh);
      }
    }
  }

  void step(std::uint32_t at, bool fresh) {
    const Instr& instr = program.trie[at].instr;
    switch (instr.kind) {
      case Instr::Kind::kNode: return nodes_in(at, regs[instr.a], fresh);
      case Instr::Kind::kOperand: return operand(at, fresh);
      case Instr::Kind::kFit:
        if (fits(instr)) pass(at, fresh);
        return;
      case Instr::Kind::kSame:
        if (regs[instr.a] == regs[instr.b]) pass(at, fresh);
        return;
      case Instr::Kind::kLiteral: {
        const Fact fact = egraph.fact(regs[instr.a]);
        if (fact.has_splat() && fits_literal(program.literals[instr.data], egraph.facts().splat_of(fact))) {
          pass(at, fresh);
        }
        return;
      }
      case Instr::Kind::kAttrIs:
        if (attr_is(instr)) pass(at, fresh);
        return;
      case Instr::Kind::kAttrSame:
        if (attr_same(instr)) pass(at, fresh);
        return;
      case Instr::Kind::kYield:
        if (fresh) yield(at);
        return;
      case Instr::Kind::kPart: return part(at, fresh);
    }
  }

  void nodes_in(std::uint32_t at, EClassId c, bool fresh) {
    const Instr& instr = program.trie[at].instr;
    const std::vector<OpId>& set = program.op_sets[instr.data].ops;
    if (instr.pack) {
      for (const auto& [op, result] : index.nodes(c, egraph.result_op())) {
        if (egraph.result_number(result) != instr.result) continue;
        const bool changed = fresh || is_fresh(result);
        for (const auto& entry : index.nodes(egraph.operands(result)[0])) {
          if (m.op_in_set_[instr.data][entry.op.index] != 0) choose(at, entry.node, result, changed);
        }
      }
    }
    if (set.size() == 1) {
      for (const auto& entry : index.nodes(c, set[0])) choose(at, entry.node, ENodeId(), fresh);
      return;
    }
    for (const auto& entry : index.nodes(c)) {
      if (m.op_in_set_[instr.data][entry.op.index] != 0) choose(at, entry.node, ENodeId(), fresh);
    }
  }

  void choose(std::uint32_t at, ENodeId n, ENodeId result, bool fresh) {
    poll();
    if (out.stopped) return;
    const Instr& instr = program.trie[at].instr;
    const ENode& node = egraph[n];
    const auto operands = egraph.operands(n);
    for (std::size_t j = instr.c; j < operands.size(); ++j) {
      if (operands[j] != egraph.none()) return;  // an operand that the pattern does not know of
    }
    // The value of a part's root may be what another root shares with it.
    fresh = fresh || options.since == 0 || (instr.b == 0 && !joining ? is_fresh_root(n) : is_fresh(n));
    nodes[instr.b] = n;
    swapped[instr.b] = 0;
    MatchWord* record = &words[program.trie[at].word];
    record[0] = MatchWord(n);
    if (instr.pack) record[1] = result.valid() ? MatchWord(result) : MatchWord();
    pass(at, fresh);
    if (!instr.swap || !traits[node.op.index].commutes || operands[0] == operands[1]) return;
    nodes[instr.b] = n;
    swapped[instr.b] = 1;
    record[0] = MatchWord(n, true);
    if (instr.pack) record[1] = result.valid() ? MatchWord(result) : MatchWord();
    pass(at, fresh);
    swapped[instr.b] = 0;
  }

  void operand(std::uint32_t at, bool fresh) {
    const Instr& instr = program.trie[at].instr;
    const ENodeId n = nodes[instr.a];
    const auto operands = egraph.operands(n);
    const std::size_t position = swapped[instr.a] != 0 && instr.b < 2 ? 1U - instr.b : instr.b;
    const EClassId c = position < operands.size() ? operands[position] : egraph.none();
    if (c == egraph.none() && !instr.optional) return;
    regs[instr.c] = c;
    if (!instr.peel) return pass(at, fresh);

    MatchWord* record = &words[program.trie[at].word];
    record[0] = record[1] = MatchWord();
    pass(at, fresh);
    if (c == egraph.none() || !traits[egraph[n].op.index].elementwise) return;
    const ops::Shape& shape = egraph.type(c).shape;
    for (const auto& wide : index.nodes(c, broadcast)) {
      const bool changed = fresh || is_fresh(wide.node);
      const EClassId below = egraph.operands(wide.node)[0];
      const auto& dims = egraph.attrs(wide.node).get<std::vector<std::int64_t>>("dims");
      if (is_trailing(dims, shape.size())) {
        regs[instr.c] = below;
        record[0] = MatchWord(wide.node);
        record[1] = MatchWord();
        pass(at, changed);
      }
      for (const auto& narrow : index.nodes(below, reshape)) {
        const EClassId source = egraph.operands(narrow.node)[0];
        if (!drops_growing_units(egraph.type(source).shape, dims, shape)) continue;
        regs[instr.c] = source;
        record[0] = MatchWord(wide.node);
        record[1] = MatchWord(narrow.node);
        pass(at, changed || is_fresh(narrow.node));
      }
    }
  }

  bool fits(const Instr& instr) const {
    const auto operands = egraph.operands(nodes[instr.a]);
    const ops::Shape& shape = egraph.type(operands[0]).shape;
    bool peeled = false;
    for (std::size_t j = 0; j < operands.size() && j < instr.c; ++j) {
      const std::size_t position = swapped[instr.a] != 0 && j < 2 ? 1 - j : j;
      peeled |= regs[instr.b + j] != operands[position];
    }
    if (!peeled) return true;
    std::vector<const ops::Shape*> shapes;
    for (std::size_t j = 0; j < instr.c; ++j) {
      const bool shaping = j < 32 && (instr.data >> j & 1U) != 0;
      if (shaping && regs[instr.b + j] != egraph.none()) shapes.push_back(&egraph.type(regs[instr.b + j]).shape);
    }
    return broadcast_together(shapes, shape);
  }

  bool attr_is(const Instr& instr) {
    const AttrsId id = egraph[nodes[instr.a]].attrs;
    std::vector<std::uint8_t>& known = m.attr_results_[instr.data];
    if (known.size() <= id.index) known.resize(id.index + 1, 0);
    if (known[id.index] == 0) {
      const match::AttrTest& test = program.attr_tests[instr.data];
      const ops::AttrValue* value = egraph.attrs(id).find(test.attr);
      known[id.index] = value != nullptr && ops::equal(*value, test.value) ? 2 : 1;
    }
    return known[id.index] == 2;
  }

  bool attr_same(const Instr& instr) const {
    const match::AttrPair& pair = program.attr_pairs[instr.data];
    const ops::AttrValue* first = egraph.attrs(nodes[instr.a]).find(pair.first);
    const ops::AttrValue* second = egraph.attrs(nodes[instr.b]).find(pair.second);
    if (first == nullptr || second == nullptr) return first == second;
    return ops::equal(*first, *second);
  }

  void yield(std::uint32_t at) {
    const std::uint32_t id = program.trie[at].instr.data;
    if (found(id, std::span(words).first(program.patterns[id].words))) ++m.counts_[at].passed;
  }

  /// @returns whether the rule may have it, and more.
  bool found(std::size_t id, std::span<const MatchWord> record) {
    const match::PatternInfo& pattern = program.patterns[id];
    if (out.cut[pattern.rule.index]) return false;
    if (m.found_[pattern.rule.index] >= options.matches_per_rule) {
      out.cut[pattern.rule.index] = true;
      return false;
    }
    ++m.found_[pattern.rule.index];
    ++out.counts[id];
    out.records[id].append(record.begin(), record.end());
    bytes += record.size_bytes();
    return !out.stopped;
  }

  void part(std::uint32_t at, bool fresh) {
    const std::uint32_t id = program.trie[at].instr.data;
    const match::Part& info = program.parts[id];
    PartMatches& matches = parts[id];
    if (matches.size() >= options.matches_per_rule) {
      for (const match::PatternInfo& pattern : program.patterns) {
        if (std::ranges::any_of(pattern.roots, [&](const match::Root& root) { return root.part == id; }))
          out.cut[pattern.rule.index] = true;
      }
      return;
    }
    ++m.counts_[at].passed;
    matches.words.insert(matches.words.end(), words.begin(), words.begin() + info.words);
    matches.registers.insert(matches.registers.end(), regs.begin(), regs.begin() + info.registers);
    matches.nodes.insert(matches.nodes.end(), nodes.begin(), nodes.begin() + info.nodes);
    matches.fresh.push_back(fresh ? 1 : 0);
    bytes += info.words * sizeof(MatchWord) + info.registers * sizeof(EClassId) + info.nodes * sizeof(ENodeId) + 1;
  }

  Matcher& m;
  const EGraph& egraph;
  const match::Program& program;
  const Index& index;
  const MatchOptions& options;
  MatchSet& out;
  std::vector<EClassId> regs;
  std::vector<ENodeId> nodes;
  std::vector<std::uint8_t> swapped;
  std::vector<MatchWord> words;
  std::vector<std::uint8_t> active, levels;
  std::vector<Children> lists;  // by trie node
  std::vector<std::uint32_t> child_pool;
  std::vector<Group> groups;
  std::vector<std::pair<OpId, std::vector<std::uint32_t>>> by_op;
  std::vector<OpTraits> traits;
  std::vector<PartMatches> parts;
  bool joining = false;  // the matches of parts are looked for
  OpId broadcast, reshape;
  std::size_t bytes = 0;
  std::uint32_t polled = 0;
};

Matcher::Matcher(const EGraph& egraph, const match::Program& program, std::size_t rules)
    : egraph_(egraph), program_(program), rules_(rules), disabled_(rules, false), found_(rules, 0) {}

Matcher::~Matcher() = default;

/// Room for what the program got since the last run.
void Matcher::grow() {
  counts_.resize(program_.trie.size());
  seconds_.resize(program_.trie.size(), 0);
  attr_results_.resize(program_.attr_tests.size());
  for (std::size_t i = op_in_set_.size(); i < program_.op_sets.size(); ++i) {
    std::vector<std::uint8_t>& in = op_in_set_.emplace_back(egraph_.table().size() + 2, 0);
    for (const OpId op : program_.op_sets[i].ops) in[op.index] = 1;
  }
}

MatchSet Matcher::run(const Index& index, const MatchOptions& options) {
  grow();
  MatchSet out;
  out.records.resize(program_.patterns.size());
  out.counts.resize(program_.patterns.size(), 0);
  out.cut.resize(rules_, false);
  Run(*this, index, options, out).run();
  // Whatever passes an instruction is tried by all of its children.
  for (std::size_t at = 0; at < counts_.size(); ++at) {
    const std::uint32_t parent = program_.trie[at].parent;
    if (parent != TrieNode::kNone) counts_[at].tried = counts_[parent].passed;
  }
  return out;
}

bool fits_literal(const rule::LiteralPattern& literal, const Splat& value) {
  if (literal.any) return true;
  if (!ops::is_float(value.dtype)) {
    return static_cast<double>(value.integer) == literal.value && std::trunc(literal.value) == literal.value;
  }
  const double rounded = ops::round_to(value.dtype, literal.value);
  if (value.number == rounded && (rounded != 0 || std::signbit(value.number) == std::signbit(rounded))) return true;
  if (!literal.approximate) return false;
  const double distance = std::abs(value.number - literal.value);
  if (distance <= literal.tolerance) return true;
  // One unit in the last place of the constant's dtype, from the spacing of its numbers round the literal.
  int exponent = 0;
  std::frexp(literal.value, &exponent);
  int digits = std::numeric_limits<double>::digits;
  if (value.dtype == ops::DType::kF32) digits = std::numeric_limits<float>::digits;
  if (value.dtype == ops::DType::kF16) digits = 11;
  if (value.dtype == ops::DType::kBF16) digits = 8;
  return distance <= std::ldexp(1.0, exponent - digits) && literal.value != 0;
}

}  // namespace fusewright::egraph
