#include "src/prove/lemma.hpp"

#include "src/prove/levels.hpp"
#include "src/prove/region_check.hpp"

namespace fusewright::prove {

using ops::OpId;
using ops::Type;
using Kind = InstanceNode::Kind;

namespace {

/// The ways to get results of one rank.
struct Ways {
  std::vector<std::pair<Type, const Source*>> all;
  bool whole = true;
};

Ways ways_in(const ops::OpTable& table, OpId op, const Level& level, const Tier& tier, SourceCache& cache) {
  const Space space = space_of(tier);
  Ways out;
  for (const Type& type : root_types(level, tier)) {
    const Sources& sources = cache.sources(op, type, 0, operand_count(table[op], type), space);
    out.whole = out.whole && sources.all;
    for (const Source& way : sources.ways) out.all.emplace_back(type, &way);
  }
  return out;
}

Instance one_operator(OpId op, const Type& type, const Source& way) {
  Instance out;
  InstanceNode node{.kind = Kind::kApply, .type = type, .op = op, .attrs = way.attrs};
  for (const Type& operand : way.operands) {
    node.operands.push_back(static_cast<std::uint32_t>(out.nodes.size()));
    out.nodes.push_back({.kind = Kind::kParameter, .type = operand});
  }
  out.root = static_cast<std::uint32_t>(out.nodes.size());
  out.nodes.push_back(std::move(node));
  return out;
}

Result<std::string> difference_of(const std::shared_ptr<const ops::OpTable>& table, const Instance& term) {
  FW_TRY(const graph::Graph graph, graph_of_copies(table, term, 1, {}, std::nullopt));
  return region_difference(graph, whole_region(graph));
}

}  // namespace

bool RegionLemma::count(const ops::OpTable& table, const Result<std::string>& difference, const Instance& term) {
  if (!difference) {
    if (unknown++ == 0) unknown_reason = difference.error().diagnostics.front().message;
    return true;
  }
  ++instances;
  if (!difference->empty()) counterexample = {print_reject(table, term), {}, *difference};
  return difference->empty();
}

RegionLemma Lemmas::prove_alone(OpId op, SourceCache& cache) const {
  RegionLemma lemma;
  for (const Level& level : levels()) {
    Ways ways;
    std::uint64_t most = 0;
    for (const Tier& tier : level.tiers) {
      most = most_terms(level, tier, budget_.terms_per_level);
      ways = ways_in(*rules_.table, op, level, tier, cache);
      if (ways.whole && ways.all.size() <= most) break;
    }
    const bool small = ways.whole && ways.all.size() <= most;
    if (level.besides && !small) continue;
    lemma.whole = lemma.whole && small;
    const std::uint64_t one_in = (ways.all.size() + most - 1) / most;
    for (std::size_t i = 0; i < ways.all.size(); i += one_in) {
      const Instance term = one_operator(op, ways.all[i].first, *ways.all[i].second);
      if (!lemma.count(*rules_.table, difference_of(rules_.table, term), term)) return lemma;
    }
  }
  return lemma;
}

RegionLemma Lemmas::prove_joint(OpId first, OpId second, SourceCache& cache) const {
  RegionLemma lemma;
  Random random(first.index * rules_.table->size() + second.index);
  const std::vector<Link> links = {{second}, {first}};
  constexpr int kTries = 3;  // for each type: which operand goes on is drawn
  for (const Type& type : chain_types())
    for (int i = 0; i < kTries && lemma.instances == 0; ++i) {
      const auto chain = draw_chain(*rules_.table, links, type, random, cache);
      if (!chain || chain->term.nodes.size() < 2) continue;
      if (!lemma.count(*rules_.table, difference_of(rules_.table, chain->term), chain->term)) return lemma;
    }
  return lemma;
}

const RegionLemma& Lemmas::alone(OpId op, SourceCache& cache) {
  Alone* at = nullptr;
  {
    const std::scoped_lock one(lock_);
    at = &alone_[op];
  }
  std::call_once(at->once, [&] { at->lemma = prove_alone(op, cache); });
  return at->lemma;
}

const RegionLemma& Lemmas::joint(OpId first, OpId second, SourceCache& cache) {
  const std::pair key(first, second);
  {
    const std::scoped_lock one(lock_);
    if (const auto at = joints_.find(key); at != joints_.end()) return at->second;
  }
  RegionLemma lemma = prove_joint(first, second, cache);  // twice by two threads now and then, to the same end
  const std::scoped_lock one(lock_);
  return joints_.emplace(key, std::move(lemma)).first->second;
}

}  // namespace fusewright::prove
