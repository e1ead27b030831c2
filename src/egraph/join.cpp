#include "src/egraph/join.hpp"

#include <algorithm>
#include <unordered_map>

namespace fusewright::egraph {
namespace {

/// Matches of one part by a hash of the classes in some of its registers; only ever asked for one hash at a time.
using Buckets = std::unordered_map<std::uint64_t, std::vector<std::uint32_t>>;

std::uint64_t mixed(std::uint64_t hash, EClassId c) {
  hash = (hash ^ c.index) * 0xff51afd7ed558ccdULL;
  return hash ^ (hash >> 32);
}

class Join {
 public:
  Join(const EGraph& egraph, const match::Program& program, const match::PatternInfo& pattern,
       const std::vector<PartMatches>& parts, std::uint64_t most,
       const std::function<bool(std::span<const MatchWord>)>& found)
      : egraph_(egraph), program_(program), pattern_(pattern), parts_(parts), left_(most), found_(found) {}

  bool run() {
    bool any = false;
    for (const match::Root& root : pattern_.roots) {
      const std::vector<std::uint8_t>& fresh = matches(root).fresh;
      if (fresh.empty()) return true;
      any |= std::ranges::find(fresh, 1) != fresh.end();
    }
    if (!any) return true;
    buckets_.resize(pattern_.roots.size());
    for (std::size_t i = 1; i < pattern_.roots.size(); ++i) fill(pattern_.roots[i], buckets_[i]);
    chosen_.resize(pattern_.roots.size());
    record_.resize(pattern_.words);
    for (std::uint32_t k = 0; k < matches(pattern_.roots[0]).size() && !stopped_; ++k) {
      chosen_[0] = k;
      extend(1);
    }
    return left_ > 0;
  }

 private:
  const PartMatches& matches(const match::Root& root) const { return parts_[root.part]; }
  EClassId local(const match::Root& root, std::uint32_t k, std::uint16_t reg) const {
    return matches(root).registers[std::size_t{k} * program_.parts[root.part].registers + reg];
  }
  /// A register of the whole pattern, of the roots chosen so far.
  EClassId before(std::uint16_t reg) const {
    std::size_t i = 0;
    while (i + 1 < pattern_.roots.size() && pattern_.roots[i + 1].first_register <= reg) ++i;
    const match::Root& root = pattern_.roots[i];
    return local(root, chosen_[i], static_cast<std::uint16_t>(reg - root.first_register));
  }
  ENodeId node_before(std::uint16_t node) const {
    std::size_t i = 0;
    while (i + 1 < pattern_.roots.size() && pattern_.roots[i + 1].first_node <= node) ++i;
    const match::Root& root = pattern_.roots[i];
    return local_node(root, chosen_[i], static_cast<std::uint16_t>(node - root.first_node));
  }
  ENodeId local_node(const match::Root& root, std::uint32_t k, std::uint16_t node) const {
    return matches(root).nodes[std::size_t{k} * program_.parts[root.part].nodes + node];
  }

  void fill(const match::Root& root, Buckets& buckets) const {
    for (std::uint32_t k = 0; k < matches(root).size(); ++k) {
      std::uint64_t hash = 0;
      for (const auto& [own, earlier] : root.shared) hash = mixed(hash, local(root, k, own));
      buckets[hash].push_back(k);
    }
  }

  /// Chooses a match for root `i` and those behind it. Recursion over the roots, which the checker bounds.
  void extend(std::size_t i) {
    if (i == pattern_.roots.size()) return report();
    const match::Root& root = pattern_.roots[i];
    std::uint64_t hash = 0;
    for (const auto& [own, earlier] : root.shared) hash = mixed(hash, before(earlier));
    const auto bucket = buckets_[i].find(hash);
    if (bucket == buckets_[i].end()) return;
    for (const std::uint32_t k : bucket->second) {
      if (stopped_) return;
      if (--left_ == 0) {
        stopped_ = true;
        return;
      }
      if ((pattern_.alike && k <= chosen_[i - 1]) || !fits(i, k)) continue;
      chosen_[i] = k;
      extend(i + 1);
    }
  }

  bool fits(std::size_t i, std::uint32_t k) const {
    const match::Root& root = pattern_.roots[i];
    for (const auto& [own, earlier] : root.shared) {
      if (local(root, k, own) != before(earlier)) return false;
    }
    for (std::size_t j = 0; j < i; ++j) {
      if (local(root, k, 0) == local(pattern_.roots[j], chosen_[j], 0)) return false;
    }
    for (const match::Root::SameAttr& same : root.attrs) {
      const match::AttrPair& pair = program_.attr_pairs[same.pair];
      const ops::AttrValue* own = egraph_.attrs(local_node(root, k, same.node)).find(pair.first);
      const ops::AttrValue* other = egraph_.attrs(node_before(same.before)).find(pair.second);
      if (own == nullptr || other == nullptr ? own != other : !ops::equal(*own, *other)) return false;
    }
    return true;
  }

  void report() {
    bool fresh = false;
    for (std::size_t i = 0; i < pattern_.roots.size(); ++i) {
      const match::Root& root = pattern_.roots[i];
      const std::uint32_t words = program_.parts[root.part].words;
      fresh |= matches(root).fresh[chosen_[i]] != 0;
      const auto from = matches(root).words.begin() + static_cast<std::ptrdiff_t>(std::size_t{chosen_[i]} * words);
      std::copy_n(from, words, record_.begin() + root.first_word);
    }
    if (fresh && !found_(record_)) stopped_ = true;
  }

  const EGraph& egraph_;
  const match::Program& program_;
  const match::PatternInfo& pattern_;
  const std::vector<PartMatches>& parts_;
  std::uint64_t left_;  // combinations that may still be tried
  const std::function<bool(std::span<const MatchWord>)>& found_;
  std::vector<Buckets> buckets_;       // by root; none of the first
  std::vector<std::uint32_t> chosen_;  // match by root
  std::vector<MatchWord> record_;
  bool stopped_ = false;
};

}  // namespace

bool join(const EGraph& egraph, const match::Program& program, const match::PatternInfo& pattern,
          const std::vector<PartMatches>& parts, std::uint64_t most,
          const std::function<bool(std::span<const MatchWord>)>& found) {
  return Join(egraph, program, pattern, parts, most, found).run();
}

}  // namespace fusewright::egraph
