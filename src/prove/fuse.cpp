#include "src/prove/fuse.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "fusewright/extract/admit.hpp"
#include "src/prove/region_check.hpp"
#include "src/prove/values.hpp"

namespace fusewright::prove {

using graph::Graph;
using ops::OpId;
using ops::Type;
using rule::Segment;
using Kind = InstanceNode::Kind;

namespace {

constexpr std::uint32_t kLongestBody = 4;
constexpr std::uint64_t kSeed = 20261;
constexpr std::uint64_t kTermsPerBody = 5;  // of the budget, for each random body of a root

/// The rule without operators that no region has: composites are their bodies there, and the general reduce has a
/// computation of its own.
rule::FuseRule of_primitives(const ops::OpTable& table, rule::FuseRule rule) {
  const auto absent = [&](OpId op) { return table[op].body != nullptr || table[op].name == "reduce"; };
  for (rule::FuseRoot& root : rule.roots)
    for (Segment& segment : root.segments) std::erase_if(segment.ops.ops, absent);
  return rule;
}

class FuseSearch {
 public:
  FuseSearch(const rule::RuleSet& rules, const rule::FuseRule& rule, const Budget& budget, SourceCache& cache,
             Lemmas& lemmas)
      : rules_(rules), rule_(of_primitives(*rules.table, rule)), budget_(budget), lemmas_(lemmas), cache_(cache) {}

  Search run() {
    for (const rule::FuseRoot& root : rule_.roots)
      for (const Segment& segment : root.segments)
        if (segment.ops.ops.empty()) return std::move(search_);  // of composites alone: nothing matches
    if (each_alone() && each_joint() && each_place()) random_bodies();
    return std::move(search_);
  }

 private:
  static std::uint32_t most(const Segment& segment) { return std::min(segment.max, kLongestBody); }

  void note(const std::string& text) { search_.space += (search_.space.empty() ? "" : "; ") + text; }

  /// Takes over what a lemma found. @returns whether it holds.
  bool rests_on(const RegionLemma& lemma) {
    search_.instances += lemma.instances;
    search_.sampled = search_.sampled || !lemma.whole;
    if (lemma.unknown > 0 && search_.unknown == 0) search_.unknown_reason = lemma.unknown_reason;
    search_.unknown += lemma.unknown;
    search_.counterexample = lemma.counterexample;
    return !lemma.counterexample;
  }

  bool each_alone() {
    std::set<OpId> operators;
    for (const rule::FuseRoot& root : rule_.roots)
      for (const Segment& segment : root.segments) operators.insert(segment.ops.ops.begin(), segment.ops.ops.end());
    std::string without;
    for (const OpId op : operators) {
      const RegionLemma& lemma = lemmas_.alone(op, cache_);
      if (!rests_on(lemma)) return false;
      if (lemma.instances > 0) continue;
      without += (without.empty() ? "" : ", ") + (*rules_.table)[op].name;
      search_.sampled = true;
    }
    note(fmt::format("{} operators alone in {} ways", operators.size(), search_.instances));
    if (!without.empty()) note("no way to try " + without);
    return true;
  }

  /// Operators of one closure, and of one segment and those that may stand next behind it.
  std::set<std::pair<OpId, OpId>> neighbours() const {
    std::set<std::pair<OpId, OpId>> out;
    for (const rule::FuseRoot& root : rule_.roots)
      for (std::size_t s = 0; s < root.segments.size(); ++s)
        for (std::size_t r = s; r < root.segments.size(); ++r) {
          if (r == s && most(root.segments[s]) < 2) continue;
          for (const OpId first : root.segments[s].ops.ops)
            for (const OpId second : root.segments[r].ops.ops) out.emplace(first, second);
          if (r > s && root.segments[r].min > 0) break;
        }
    return out;
  }

  bool each_joint() {
    const std::uint64_t before = search_.instances;
    for (const auto& [first, second] : neighbours())
      if (!rests_on(lemmas_.joint(first, second, cache_))) return false;
    if (search_.instances > before) note(fmt::format("{} pairs of neighbours", search_.instances - before));
    return true;
  }

  /// Every operator in every segment, the other segments as short as they may be, until one such chain is admitted.
  bool each_place() {
    std::uint64_t places = 0, filled = 0;
    Random random(kSeed);
    for (const rule::FuseRoot& root : rule_.roots)
      for (std::size_t s = 0; s < root.segments.size(); ++s)
        for (const OpId op : root.segments[s].ops.ops) {
          const std::uint64_t before = admitted_;
          if (!fill_place(root, s, op, random)) return false;
          ++places;
          filled += admitted_ > before ? 1 : 0;
        }
    note(fmt::format("{} of {} operators at their places of the pattern", filled, places));
    search_.sampled = search_.sampled || filled == 0;  // only its operators are known to be right, one by one
    return true;
  }

  bool fill_place(const rule::FuseRoot& root, std::size_t place, OpId op, Random& random) {
    constexpr int kTries = 4;  // for each type
    const std::uint64_t before = admitted_;
    for (const Type& type : chain_types())
      for (int i = 0; i < kTries && admitted_ == before; ++i) {
        std::vector<Link> links;
        for (std::size_t k = root.segments.size(); k-- > 0;) {
          const Segment& segment = root.segments[k];
          const std::uint32_t count = k == place ? std::max<std::uint32_t>(segment.min, 1) : segment.min;
          for (std::uint32_t n = 0; n < count; ++n)
            links.push_back(
                {k == place && n == 0 ? op : segment.ops.ops[random.below(segment.ops.ops.size())], &segment});
        }
        const auto chain = draw_chain(*rules_.table, links, type, random, cache_);
        if (chain && !compare(root, *chain, std::nullopt)) return false;
      }
    return true;
  }

  void random_bodies() {
    const std::uint64_t before = search_.instances;
    Random random(kSeed);
    for (const rule::FuseRoot& root : rule_.roots)
      for (std::uint64_t i = 0; i < budget_.terms_per_level / kTermsPerBody; ++i)
        if (!random_body(root, random)) return;
    note(fmt::format("{} random bodies to length {} (seed {})", search_.instances - before, kLongestBody, kSeed));
  }

  bool random_body(const rule::FuseRoot& root, Random& random) {
    std::vector<Link> links;
    for (std::size_t k = root.segments.size(); k-- > 0;) {
      const Segment& segment = root.segments[k];
      const auto count = segment.min + static_cast<std::uint32_t>(random.below(most(segment) - segment.min + 1));
      for (std::uint32_t n = 0; n < count; ++n)
        links.push_back({segment.ops.ops[random.below(segment.ops.ops.size())], &segment});
    }
    const std::vector<Type>& types = chain_types();
    const auto chain = draw_chain(*rules_.table, links, types[random.below(types.size())], random, cache_);
    if (!chain) return true;
    const auto side = static_cast<std::uint32_t>(random.below(chain->term.nodes.size()));
    const bool has_side = random.below(2) == 0 && chain->term.nodes[side].kind == Kind::kApply;
    return compare(root, *chain, has_side ? std::optional(side) : std::nullopt);
  }

  /// @returns whether the region's body has the graph's values, or the rule does not admit it.
  bool compare(const rule::FuseRoot& root, const Chain& chain, std::optional<std::uint32_t> side_output) {
    std::vector<std::uint32_t> shared;
    for (const std::string& name : root.shared)
      if (const auto at = chain.captured.find(name); at != chain.captured.end()) shared.push_back(at->second);
    const Result<Graph> graph =
        graph_of_copies(rules_.table, chain.term, std::max<std::uint32_t>(root.min, 1), shared, side_output);
    if (!graph) return rests_on(counted(std::unexpected(graph.error()), chain));
    const WholeRegion region = whole_region(*graph);
    const extract::Uses uses(*graph);
    if (region.nodes.empty() || !extract::admits(rule_, *graph, uses, region.nodes)) {
      ++search_.refused;
      return true;
    }
    if (has_elements(*graph)) ++admitted_;
    return rests_on(counted(region_difference(*graph, region), chain));
  }

  RegionLemma counted(const Result<std::string>& difference, const Chain& chain) const {
    RegionLemma one;
    one.count(*rules_.table, difference, chain.term);
    return one;
  }

  const rule::RuleSet& rules_;
  const rule::FuseRule rule_;
  const Budget& budget_;
  Lemmas& lemmas_;
  SourceCache& cache_;
  Search search_;
  std::uint64_t admitted_ = 0;  // regions of the rule's own with an element to compare
};

}  // namespace

Search search_fuse(const rule::RuleSet& rules, const rule::FuseRule& rule, const Budget& budget, SourceCache& cache,
                   Lemmas& lemmas) {
  return FuseSearch(rules, rule, budget, cache, lemmas).run();
}

}  // namespace fusewright::prove
