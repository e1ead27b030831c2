#include "assign.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace fusewright::extract {

using graph::Graph;
using graph::NodeId;
using rule::FuseRoot;
using rule::Segment;

Inside::Inside(const Graph& graph, const std::vector<NodeId>& in)
    : nodes(in), producers(in.size()), consumers(in.size()) {
  for (std::uint32_t i = 0; i < nodes.size(); ++i) number.emplace(nodes[i], i);
  for (std::uint32_t i = 0; i < nodes.size(); ++i)
    for (const graph::Value operand : graph[nodes[i]].operands) {
      const auto at = number.find(operand.node);
      if (at == number.end()) continue;
      producers[i].push_back(at->second);
      consumers[at->second].push_back(i);
    }
}

namespace {

// Nodes looked at before a region is given up: a fraction of a second. Rules whose closures do not compete need one
// look at each node.
constexpr std::size_t kMostLooks = 1'000'000;

// The segments that a node can stand in: none before `low`, none behind `high`.
struct Range {
  std::uint32_t low, high;
};

/// One way of narrowing the ranges of the nodes.
struct Choice {
  std::uint32_t at;  // in the part
  Range range;
};

class Assigner {
 public:
  Assigner(const Graph& graph, const Inside& inside, const std::vector<std::uint32_t>& part,
           const std::vector<Segment>& segments)
      : graph_(graph),
        inside_(inside),
        part_(part),
        segments_(segments),
        count_(static_cast<std::uint32_t>(segments.size())),
        position_(inside.nodes.size(), 0) {
    for (std::uint32_t i = 0; i < part_.size(); ++i) position_[part_[i]] = i;
    std::map<ops::OpId, std::vector<bool>> by_op;
    for (const std::uint32_t node : part_) takes_.push_back(takes(inside_.nodes[node], by_op));
  }

  std::expected<Assignment, std::string> run() {
    Ranges all(part_.size(), Range{0, count_ - 1});
    if (!narrow(all)) return std::unexpected(refusal_);
    if (auto found = search(std::move(all))) {
      Assignment segment(inside_.nodes.size(), 0);
      for (std::size_t i = 0; i < part_.size(); ++i) segment[part_[i]] = (*found)[i].low;
      return segment;
    }
    return std::unexpected(looks_ > kMostLooks ? "too many ways to assign its operators to the segments" : refusal_);
  }

 private:
  using Ranges = std::vector<Range>;

  std::vector<bool> takes(NodeId id, std::map<ops::OpId, std::vector<bool>>& by_op) const {
    const graph::Node& node = graph_[id];
    auto [at, fresh] = by_op.try_emplace(node.op);
    if (fresh)
      for (const Segment& s : segments_) at->second.push_back(s.ops.contains(node.op));
    std::vector<bool> out = at->second;
    for (std::size_t s = 0; s < out.size(); ++s)
      for (const rule::AttrPattern& attr : segments_[s].attrs) {
        const ops::AttrValue* value = node.attrs.find(attr.attr);
        if (attr.value && (value == nullptr || !ops::equal(*value, *attr.value))) out[s] = false;
      }
    return out;
  }

  // Makes each range as small as the operators and the edges alone demand. With every node in the first segment of its
  // range all edges go forward: what is left to choose is owed to the bounds of the segments. False: a node has none.
  bool narrow(Ranges& ranges) {
    looks_ += 2 * ranges.size();
    for (std::uint32_t i = 0; i < ranges.size(); ++i) {
      std::uint32_t low = ranges[i].low;
      for (const std::uint32_t p : inside_.producers[part_[i]]) {
        const std::uint32_t its = ranges[position_[p]].low;
        low = std::max(low, segments_[its].is_closure() ? its : its + 1);
      }
      while (low <= ranges[i].high && !takes_[i][low]) ++low;
      if (low > ranges[i].high) return refuse(i);
      ranges[i].low = low;
    }
    for (std::uint32_t i = static_cast<std::uint32_t>(ranges.size()); i-- > 0;) {
      std::int64_t high = ranges[i].high;
      for (const std::uint32_t c : inside_.consumers[part_[i]]) {
        const std::int64_t its = ranges[position_[c]].high;
        high = std::min(high, segments_[static_cast<std::size_t>(its)].is_closure() ? its : its - 1);
      }
      while (!takes_[i][static_cast<std::size_t>(high)]) --high;  // no further than to `low`
      ranges[i].high = static_cast<std::uint32_t>(high);
    }
    return true;
  }

  // Depth first: while the bounds of a segment are broken, one of its choices must be taken.
  std::optional<Ranges> search(Ranges first) {
    struct Frame {
      Ranges ranges;
      std::vector<Choice> choices;
      std::size_t next = 0;
    };
    std::vector<Frame> frames;
    std::vector<Choice> choices;
    if (holds(first, choices)) return first;
    frames.push_back({std::move(first), std::move(choices)});
    while (!frames.empty() && looks_ <= kMostLooks) {
      Frame& frame = frames.back();
      if (frame.next == frame.choices.size()) {
        frames.pop_back();
        continue;
      }
      const Choice choice = frame.choices[frame.next++];
      Ranges ranges = frame.ranges;
      ranges[choice.at] = choice.range;
      if (!narrow(ranges)) continue;
      choices.clear();
      if (holds(ranges, choices)) return ranges;
      frames.push_back({std::move(ranges), std::move(choices)});
    }
    return std::nullopt;
  }

  // Whether all bounds hold with every node in its first segment. If not, the choices of which every assignment makes
  // one: one of too many nodes moves on, or one more node stands where too few do. The last segments and the last nodes
  // are tried first, because these leave the most freedom to the others.
  bool holds(const Ranges& ranges, std::vector<Choice>& choices) {
    std::vector<std::uint32_t> filled(count_, 0);
    for (const Range& r : ranges) ++filled[r.low];
    for (std::uint32_t s = count_; s-- > 0;) {
      if (filled[s] > segments_[s].max) return too_many(ranges, s, choices);
    }
    for (std::uint32_t s = count_; s-- > 0;) {
      if (filled[s] < segments_[s].min) return too_few(ranges, s, choices);
    }
    return true;
  }

  bool too_many(const Ranges& ranges, std::uint32_t s, std::vector<Choice>& choices) {
    refusal_ = fmt::format("`{}` has its {}, and here is another", segments_[s].text, op_name(last_at(ranges, s)));
    std::uint32_t taken = 0;  // of any `max + 1` nodes one must move: of those that cannot, and the first that can
    for (const Range& r : ranges) taken += r.low == s && r.high == s ? 1 : 0;
    for (std::uint32_t i = 0; i < ranges.size() && taken <= segments_[s].max; ++i) {
      if (ranges[i].low != s || ranges[i].high == s) continue;
      choices.push_back({i, {s + 1, ranges[i].high}});
      ++taken;
    }
    std::ranges::reverse(choices);
    return false;
  }

  bool too_few(const Ranges& ranges, std::uint32_t s, std::vector<Choice>& choices) {
    refusal_ = fmt::format("nothing for its segment `{}`", segments_[s].text);
    for (std::uint32_t i = static_cast<std::uint32_t>(ranges.size()); i-- > 0;) {
      const Range& r = ranges[i];
      if (r.low <= s && s <= r.high && r.low < r.high && takes_[i][s]) choices.push_back({i, {s, s}});
    }
    return false;
  }

  std::uint32_t last_at(const Ranges& ranges, std::uint32_t s) const {
    std::uint32_t last = 0;
    for (std::uint32_t i = 0; i < ranges.size(); ++i)
      if (ranges[i].low == s) last = i;
    return last;
  }

  const std::string& op_name(std::uint32_t i) const { return graph_.info(inside_.nodes[part_[i]]).name; }

  // Why node `i` has no segment.
  bool refuse(std::uint32_t i) {
    const auto first = std::find(takes_[i].begin(), takes_[i].end(), true);
    const ops::OpId op = graph_[inside_.nodes[part_[i]]].op;
    if (first != takes_[i].end()) {
      const Segment& s = segments_[static_cast<std::size_t>(first - takes_[i].begin())];
      const bool taken = !s.is_closure() && std::ranges::any_of(inside_.producers[part_[i]], [&](std::uint32_t p) {
        return graph_[inside_.nodes[p]].op == op;
      });
      refusal_ = taken
                     ? fmt::format("`{}` has its {}, and here is another", s.text, op_name(i))
                     : fmt::format("{} would have to stand behind `{}`, where no segment takes it", op_name(i), s.text);
      return false;
    }
    const bool by_attribute = std::ranges::any_of(segments_, [&](const Segment& s) { return s.ops.contains(op); });
    refusal_ = by_attribute ? fmt::format("an attribute of {} is another one", op_name(i))
                            : fmt::format("it takes no {}", op_name(i));
    return false;
  }

  const Graph& graph_;
  const Inside& inside_;
  const std::vector<std::uint32_t>& part_;
  const std::vector<Segment>& segments_;
  const std::uint32_t count_;
  std::vector<std::uint32_t> position_;   // in the part, by number
  std::vector<std::vector<bool>> takes_;  // by position in the part, by segment
  std::size_t looks_ = 0;
  std::string refusal_;
};

/// Parts and the places of the roots, matched by augmenting paths: first every place that a root asks for, then every
/// part. A path never gives up what is matched, so both are covered in the end where both can be.
class Placer {
 public:
  Placer(const Graph& graph, const Inside& inside, const std::vector<std::vector<std::uint32_t>>& parts,
         const std::vector<FuseRoot>& roots)
      : graph_(graph),
        inside_(inside),
        parts_(parts),
        roots_(roots),
        fits_(parts.size()),
        place_of_(parts.size(), kNone) {
    for (auto& row : fits_) row.resize(roots.size());
    for (std::uint32_t r = 0; r < roots.size(); ++r)
      for (std::uint32_t k = 0; k < std::min<std::size_t>(roots[r].max, parts.size()); ++k)
        places_.push_back({r, k < roots[r].min, kNone});
  }

  std::expected<std::vector<Placed>, std::string> run() {
    for (const FuseRoot& root : roots_)
      if (root.min > parts_.size()) return std::unexpected("fewer parts than it asks for");
    for (std::uint32_t p = 0; p < places_.size(); ++p)
      if (places_[p].asked && !augment_from_place(p)) return std::unexpected(reason("fewer parts than it asks for"));
    for (std::uint32_t i = 0; i < parts_.size(); ++i)
      if (place_of_[i] == kNone && !augment_from_part(i))
        return std::unexpected(reason("more independent parts than it has roots"));
    std::vector<Placed> out;
    for (std::uint32_t i = 0; i < parts_.size(); ++i) {
      const std::uint32_t root = places_[place_of_[i]].root;
      out.push_back({root, **fits_[i][root]});
    }
    return out;
  }

 private:
  static constexpr std::uint32_t kNone = ~0U;
  struct Place {
    std::uint32_t root;
    bool asked;
    std::uint32_t part;
  };

  bool fits(std::uint32_t part, std::uint32_t root) {
    auto& known = fits_[part][root];
    if (!known) {
      known = assign(graph_, inside_, parts_[part], roots_[root].segments);
      if (!*known && refusal_.empty()) refusal_ = known->error();
    }
    return known->has_value();
  }
  std::string reason(const char* otherwise) const { return refusal_.empty() ? otherwise : refusal_; }

  // Breadth first from a free place through parts to a free part: each step takes a part from the place it had.
  bool augment_from_place(std::uint32_t start) {
    std::vector<std::uint32_t> queue{start}, came_from(parts_.size(), kNone);
    for (std::size_t at = 0; at < queue.size(); ++at)
      for (std::uint32_t i = 0; i < parts_.size(); ++i) {
        if (came_from[i] != kNone || !fits(i, places_[queue[at]].root)) continue;
        came_from[i] = queue[at];
        if (place_of_[i] != kNone) {
          queue.push_back(place_of_[i]);
          continue;
        }
        for (std::uint32_t part = i; part != kNone;) {
          const std::uint32_t place = came_from[part], before = places_[place].part;
          places_[place].part = part;
          place_of_[part] = place;
          part = place == start ? kNone : before;
        }
        return true;
      }
    return false;
  }

  bool augment_from_part(std::uint32_t start) {
    std::vector<std::uint32_t> queue{start}, came_from(places_.size(), kNone);
    for (std::size_t at = 0; at < queue.size(); ++at)
      for (std::uint32_t p = 0; p < places_.size(); ++p) {
        if (came_from[p] != kNone || !fits(queue[at], places_[p].root)) continue;
        came_from[p] = queue[at];
        if (places_[p].part != kNone) {
          queue.push_back(places_[p].part);
          continue;
        }
        for (std::uint32_t place = p; place != kNone;) {
          const std::uint32_t part = came_from[place], before = place_of_[part];
          places_[place].part = part;
          place_of_[part] = place;
          place = part == start ? kNone : before;
        }
        return true;
      }
    return false;
  }

  const Graph& graph_;
  const Inside& inside_;
  const std::vector<std::vector<std::uint32_t>>& parts_;
  const std::vector<FuseRoot>& roots_;
  std::vector<std::vector<std::optional<std::expected<Assignment, std::string>>>> fits_;
  std::vector<Place> places_;
  std::vector<std::uint32_t> place_of_;  // by part
  std::string refusal_;
};

}  // namespace

std::expected<Assignment, std::string> assign(const Graph& graph, const Inside& inside,
                                              const std::vector<std::uint32_t>& part,
                                              const std::vector<Segment>& segments) {
  return Assigner(graph, inside, part, segments).run();
}

std::expected<std::vector<Placed>, std::string> place(const Graph& graph, const Inside& inside,
                                                      const std::vector<std::vector<std::uint32_t>>& parts,
                                                      const std::vector<FuseRoot>& roots) {
  return Placer(graph, inside, parts, roots).run();
}

}  // namespace fusewright::extract
