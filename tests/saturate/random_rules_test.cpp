#include <fmt/format.h>

#include <map>
#include <optional>
#include <random>
#include <set>

#include "tests/egraph/invariants.hpp"
#include "tests/saturate/helpers.hpp"

// The engine against an implementation that is as simple as can be, on random rules over random operators.

namespace fusewright::saturate {
namespace {

/// A term, or a pattern: of an operator, or (op < 0) the variable `variable`.
struct Tree {
  int op = -1;
  int variable = 0;
  std::vector<Tree> operands;
};

struct Operator {
  std::string name;
  std::size_t arity = 0;
  bool commutes = false;
};

struct Rule {
  Tree match, to;
};

/// Equal terms by lists and searches alone: no union-find, no hashing, every match found anew in each round.
class Naive {
 public:
  explicit Naive(const std::vector<Operator>& operators) : operators_(operators) {}

  struct Node {
    int op = 0;
    std::vector<int> operands;  // classes
    int of = 0;                 // class
  };

  int add(int op, std::vector<int> operands) {
    sort(op, operands);
    for (const Node& node : nodes_)
      if (node.op == op && node.operands == operands) return node.of;
    nodes_.push_back({op, std::move(operands), next_class_});
    return next_class_++;
  }
  int add(const Tree& tree, const std::map<int, int>& bound) {
    if (tree.op < 0) return bound.at(tree.variable);
    std::vector<int> operands;
    for (const Tree& operand : tree.operands) operands.push_back(add(operand, bound));
    return add(tree.op, operands);
  }

  void round(const std::vector<Rule>& rules) {
    std::vector<std::tuple<const Rule*, int, std::map<int, int>>> found;
    for (const Rule& rule : rules) {
      std::set<std::pair<int, std::map<int, int>>> seen;
      for (const Node& node : nodes_)
        for (const auto& bound : matches(rule.match, node.of, {}))
          if (seen.emplace(node.of, bound).second) found.emplace_back(&rule, node.of, bound);
    }
    // Classes of matches follow unions as nodes do.
    for (std::size_t i = 0; i < found.size(); ++i) {
      const auto [rule, root, bound] = found[i];
      const int made = add(rule->to, bound);
      const auto joined = [&](int c) { return c == made ? root : c; };
      unite(made, root);
      for (std::size_t k = i + 1; k < found.size(); ++k) {
        std::get<1>(found[k]) = joined(std::get<1>(found[k]));
        for (auto& [variable, c] : std::get<2>(found[k])) c = joined(c);
      }
    }
    while (close()) {
    }
  }

  const std::vector<Node>& nodes() const { return nodes_; }

 private:
  void sort(int op, std::vector<int>& operands) const {
    if (operators_[static_cast<std::size_t>(op)].commutes) std::sort(operands.begin(), operands.end());
  }
  void unite(int gone, int kept) {
    for (Node& node : nodes_) {
      if (node.of == gone) node.of = kept;
      for (int& c : node.operands)
        if (c == gone) c = kept;
      sort(node.op, node.operands);
    }
  }
  /// @returns whether two classes were joined.
  bool close() {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      for (std::size_t k = i + 1; k < nodes_.size(); ++k) {
        if (nodes_[i].op != nodes_[k].op || nodes_[i].operands != nodes_[k].operands) continue;
        const int kept = nodes_[i].of, gone = nodes_[k].of;
        nodes_.erase(nodes_.begin() + static_cast<std::ptrdiff_t>(k));
        if (kept != gone) unite(gone, kept);
        return true;
      }
    }
    return false;
  }
  std::vector<std::map<int, int>> matches(const Tree& pattern, int c, const std::map<int, int>& bound) const {
    if (pattern.op < 0) {
      const auto known = bound.find(pattern.variable);
      if (known != bound.end() && known->second != c) return {};
      std::map<int, int> more = bound;
      more[pattern.variable] = c;
      return {more};
    }
    std::vector<std::map<int, int>> out;
    for (const Node& node : nodes_) {
      if (node.op != pattern.op || node.of != c) continue;
      std::vector<std::vector<int>> orders = {node.operands};
      if (operators_[static_cast<std::size_t>(node.op)].commutes)
        orders.push_back({node.operands[1], node.operands[0]});
      for (const std::vector<int>& operands : orders) {
        std::vector<std::map<int, int>> partial = {bound};
        for (std::size_t k = 0; k < operands.size(); ++k) {
          std::vector<std::map<int, int>> longer;
          for (const auto& b : partial)
            for (auto& m : matches(pattern.operands[k], operands[k], b)) longer.push_back(std::move(m));
          partial = std::move(longer);
        }
        out.insert(out.end(), partial.begin(), partial.end());
      }
    }
    return out;
  }

  const std::vector<Operator>& operators_;
  std::vector<Node> nodes_;
  int next_class_ = 0;
};

Result<std::vector<ops::Type>> infer_scalar(const ops::OpInfo&, std::span<const ops::Type>, const ops::Attrs&) {
  return std::vector<ops::Type>{ops::Type::tensor(ops::DType::kF32, {})};
}

/// A case of this number: always the same.
struct Case {
  explicit Case(std::uint64_t seed) : random(seed) {
    for (int i = 0; i < 5; ++i) {
      const std::size_t arity = i < 2 ? 0 : 1 + below(i == 4 ? 3 : 2);
      operators.push_back({fmt::format("f{}", i), arity, arity == 2 && below(2) == 0});
    }
    const std::size_t count = 2 + below(4);
    for (std::size_t i = 0; i < count; ++i) {
      variables = 0;
      Tree match = tree(2, true);
      while (match.op < 0 || match.operands.empty()) match = tree(2, true);
      if (variables == 0) variables = 1;  // of a pattern of no variables the other side may have none either
      names.clear();
      collect(match);
      rules.push_back({match, tree(2, false)});
    }
    for (int i = 0; i < 4; ++i) {
      names.clear();
      terms.push_back(tree(3, false));
    }
  }

  std::size_t below(std::size_t n) { return random() % n; }

  /// A pattern makes up variables, the other side of a rule takes them from `names`.
  Tree tree(int depth, bool pattern) {
    const bool leaf = depth == 0 || below(3) == 0;
    if (leaf && pattern) return {-1, static_cast<int>(below(static_cast<std::size_t>(std::min(++variables, 3)))), {}};
    if (leaf && !names.empty()) {
      return {-1, *std::next(names.begin(), static_cast<std::ptrdiff_t>(below(names.size()))), {}};
    }
    Tree out;
    out.op = static_cast<int>(leaf ? below(2) : below(operators.size()));
    for (std::size_t i = 0; i < operators[static_cast<std::size_t>(out.op)].arity; ++i)
      out.operands.push_back(tree(depth - 1, pattern));
    return out;
  }
  void collect(const Tree& t) {
    if (t.op < 0) names.insert(t.variable);
    for (const Tree& operand : t.operands) collect(operand);
  }
  std::string text(const Tree& t) const {
    if (t.op < 0) return std::string(1, static_cast<char>('x' + t.variable));
    std::string out = operators[static_cast<std::size_t>(t.op)].name + "(";
    for (std::size_t i = 0; i < t.operands.size(); ++i) out += (i > 0 ? ", " : "") + text(t.operands[i]);
    return out + ")";
  }
  std::string text() const {
    std::string out;
    for (std::size_t i = 0; i < rules.size(); ++i)
      out += fmt::format("rewrite r{} {{ match {} to {} }}\n", i, text(rules[i].match), text(rules[i].to));
    return out;
  }

  ops::OpTable table() const {
    ops::OpTable table = ops::OpTable::builtin();
    for (const Operator& op : operators) {
      ops::OpInfo info;
      info.name = op.name;
      info.op_class = ops::OpClass::kUninterpreted;
      for (std::size_t i = 0; i < op.arity; ++i) info.operands.push_back({fmt::format("a{}", i)});
      info.commutative = op.commutes;
      info.infer = infer_scalar;
      REQUIRE(table.add(std::move(info)).has_value());
    }
    return table;
  }

  std::mt19937_64 random;
  std::vector<Operator> operators;
  std::vector<Rule> rules;
  std::vector<Tree> terms;
  int variables = 0;
  std::set<int> names;
};

EClassId add(egraph::TermBuilder& builder, const ops::OpTable& table, const Case& c, const Tree& tree) {
  std::vector<std::optional<ops::TermValue>> operands;
  for (const Tree& operand : tree.operands)
    operands.emplace_back(egraph::TermBuilder::pack(add(builder, table, c, operand)));
  const auto made = builder.apply(table.require(c.operators[static_cast<std::size_t>(tree.op)].name), operands, {}, {});
  REQUIRE(made.has_value());
  return egraph::TermBuilder::unpack((*made)[0]);
}

/// The e-nodes of both are the same but for the names of the classes: found from the leaves up.
void compare(const egraph::EGraph& egraph, const Case& c, const Naive& naive) {
  std::map<int, EClassId> class_of;
  std::map<EClassId, int> back;
  std::size_t matched = 0;
  std::vector<bool> done(naive.nodes().size(), false);
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t i = 0; i < done.size(); ++i) {
      const Naive::Node& node = naive.nodes()[i];
      if (done[i] || !std::ranges::all_of(node.operands, [&](int k) { return class_of.contains(k); })) continue;
      std::vector<EClassId> operands;
      for (const int k : node.operands) operands.push_back(class_of.at(k));
      const ops::OpId op = egraph.table().require(c.operators[static_cast<std::size_t>(node.op)].name);
      const ENodeId found = egraph.lookup(op, egraph[ENodeId(1)].attrs, operands, egraph.type_id(EClassId(1)));
      REQUIRE(found.valid());
      const EClassId of = egraph.find(egraph::term(found));
      REQUIRE(class_of.emplace(node.of, of).first->second == of);
      REQUIRE(back.emplace(of, node.of).first->second == node.of);
      done[i] = changed = true;
      ++matched;
    }
  }
  REQUIRE(matched == naive.nodes().size());
  REQUIRE(matched == egraph.live_nodes());
  REQUIRE(back.size() == egraph.class_count());
}

/// @returns whether a rule found anything to do.
bool run_case(std::uint64_t seed) {
  const Case c(seed);
  INFO("seed " << seed << "\n" << c.text());
  const auto source = std::make_shared<const SourceText>(SourceText{"random.fuse", c.text()});
  auto file = rule::parse_rules(source);
  REQUIRE(file.has_value());
  auto rules = rule::check_rules({*file}, c.table());
  if (!rules) FAIL(print_error(rules.error()));

  constexpr std::uint64_t kRounds = 3;
  constexpr std::size_t kMostNodes = 150;
  Naive naive(c.operators);
  for (const Tree& term : c.terms) naive.add(term, {});
  std::uint64_t rounds = 0;
  while (rounds < kRounds && naive.nodes().size() < kMostNodes) {
    naive.round(c.rules);
    ++rounds;
  }
  egraph::EGraph egraph(rules->table);
  egraph::TermBuilder builder(egraph);
  for (const Tree& term : c.terms) add(builder, *rules->table, c, term);
  Options options = all_exactness();
  options.limits.iterations = rounds;
  match::Program program;
  const auto trace = run(egraph, *rules, program, options);
  REQUIRE(trace.has_value());
  egraph::Invariants(egraph).check();
  compare(egraph, c, naive);
  check_replays(egraph, program, rules->rewrites);
  return trace->applications > 0;
}

void run_cases(std::uint64_t first, std::uint64_t count) {
  std::uint64_t busy = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) busy += run_case(seed) ? 1 : 0;
  CHECK(busy > count / 3);
}

}  // namespace

TEST_CASE("random rules on random terms make the classes that a naive implementation makes, and every one is explained",
          "[saturate]") {
  run_cases(1, 200);
}

TEST_CASE("many random rules on random terms make the classes that a naive implementation makes", "[saturate][slow]") {
  run_cases(1000, 3000);
}

}  // namespace fusewright::saturate
