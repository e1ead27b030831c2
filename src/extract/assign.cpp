#include "assign.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

namespace fusewright::extract {

using graph::Graph;
using graph::NodeId;
using rule::FuseRoot;
using rule::Segment;

Inside::Inside(const Graph& graph, const std::vector<NodeId>& in) : nodes_(in) {
  numbers_.reserve(nodes_.size());
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) numbers_.emplace_back(nodes_[i], i);
  std::sort(numbers_.begin(), numbers_.end());
  producers_.start.push_back(0);
  consumers_.start.assign(nodes_.size() + 1, 0);
  for (const NodeId node : nodes_) {
    for (const graph::Value operand : graph[node].operands)
      if (const auto at = number(operand.node)) {
        producers_.items.push_back(*at);
        ++consumers_.start[*at + 1];
      }
    producers_.start.push_back(static_cast<std::uint32_t>(producers_.items.size()));
  }
  for (std::size_t i = 0; i < nodes_.size(); ++i) consumers_.start[i + 1] += consumers_.start[i];
  consumers_.items.resize(producers_.items.size());
  std::vector<std::uint32_t> next(consumers_.start.begin(), consumers_.start.end() - 1);
  for (std::uint32_t i = 0; i < nodes_.size(); ++i)
    for (const std::uint32_t p : producers(i)) consumers_.items[next[p]++] = i;
}

std::optional<std::uint32_t> Inside::number(NodeId node) const {
  const auto at = std::lower_bound(numbers_.begin(), numbers_.end(), std::pair(node, 0U));
  if (at == numbers_.end() || at->first != node) return std::nullopt;
  return at->second;
}

Parts one_part(const Inside& inside) {
  Parts parts;
  parts.position.resize(inside.nodes().size());
  std::iota(parts.position.begin(), parts.position.end(), 0U);
  parts.members.push_back(parts.position);
  return parts;
}

Parts components(const Inside& inside) {
  const auto count = static_cast<std::uint32_t>(inside.nodes().size());
  std::vector<std::uint32_t> leader(count);
  std::iota(leader.begin(), leader.end(), 0U);
  const auto find = [&](std::uint32_t i) {
    while (leader[i] != i) i = leader[i] = leader[leader[i]];
    return i;
  };
  for (std::uint32_t i = 0; i < count; ++i)
    for (const std::uint32_t p : inside.producers(i)) leader[std::max(find(p), find(i))] = std::min(find(p), find(i));
  Parts parts;
  parts.position.resize(count);
  std::vector<std::uint32_t> part_of(count);  // by leader, which stands first in its part
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t first = find(i);
    if (first == i) {
      part_of[i] = static_cast<std::uint32_t>(parts.members.size());
      parts.members.emplace_back();
    }
    auto& members = parts.members[part_of[first]];
    parts.position[i] = static_cast<std::uint32_t>(members.size());
    members.push_back(i);
  }
  return parts;
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
  Assigner(const Graph& graph, const Inside& inside, const Parts& parts, std::size_t part,
           const std::vector<Segment>& segments)
      : graph_(graph),
        inside_(inside),
        part_(parts.members[part]),
        segments_(segments),
        count_(static_cast<std::uint32_t>(segments.size())),
        position_(parts.position) {
    const bool by_attribute = std::ranges::any_of(segments_, [](const Segment& s) { return !s.attrs.empty(); });
    std::map<ops::OpId, std::uint32_t> by_op;
    for (const std::uint32_t number : part_) {
      const graph::Node& node = graph_[inside_.nodes()[number]];
      const auto next = static_cast<std::uint32_t>(takes_.size());
      const std::uint32_t row = by_attribute ? next : by_op.try_emplace(node.op, next).first->second;
      if (row == next) takes_.push_back(takes(node));
      row_.push_back(row);
    }
  }

  std::expected<Assignment, std::string> run() {
    Ranges all(part_.size(), Range{0, count_ - 1});
    if (!narrow(all)) return std::unexpected(refusal_);
    if (auto found = search(std::move(all))) {
      Assignment segment;
      segment.reserve(part_.size());
      for (const Range& range : *found) segment.push_back(range.low);
      return segment;
    }
    return std::unexpected(looks_ > kMostLooks ? "too many ways to assign its operators to the segments" : refusal_);
  }

 private:
  using Ranges = std::vector<Range>;

  std::vector<bool> takes(const graph::Node& node) const {
    std::vector<bool> out;
    for (const Segment& s : segments_) {
      out.push_back(s.ops.contains(node.op));
      for (const rule::AttrPattern& attr : s.attrs) {
        const ops::AttrValue* value = node.attrs.find(attr.attr);
        if (attr.value && (value == nullptr || !ops::equal(*value, *attr.value))) out.back() = false;
      }
    }
    return out;
  }
  bool takes(std::uint32_t i, std::uint32_t s) const { return takes_[row_[i]][s]; }

  // Makes each range as small as the operators and the edges alone demand. With every node in the first segment of its
  // range all edges go forward: what is left to choose is owed to the bounds of the segments. False: a node has none.
  bool narrow(Ranges& ranges) {
    looks_ += 2 * ranges.size();
    for (std::uint32_t i = 0; i < ranges.size(); ++i) {
      std::uint32_t low = ranges[i].low;
      for (const std::uint32_t p : inside_.producers(part_[i])) {
        const std::uint32_t its = ranges[position_[p]].low;
        low = std::max(low, segments_[its].is_closure() ? its : its + 1);
      }
      while (low <= ranges[i].high && !takes(i, low)) ++low;
      if (low > ranges[i].high) return refuse(i);
      ranges[i].low = low;
    }
    for (std::uint32_t i = static_cast<std::uint32_t>(ranges.size()); i-- > 0;) {
      std::int64_t high = ranges[i].high;
      for (const std::uint32_t c : inside_.consumers(part_[i])) {
        const std::int64_t its = ranges[position_[c]].high;
        high = std::min(high, segments_[static_cast<std::size_t>(its)].is_closure() ? its : its - 1);
      }
      while (!takes(i, static_cast<std::uint32_t>(high))) --high;  // no further than to `low`
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
      if (r.low <= s && s <= r.high && r.low < r.high && takes(i, s)) choices.push_back({i, {s, s}});
    }
    return false;
  }

  std::uint32_t last_at(const Ranges& ranges, std::uint32_t s) const {
    std::uint32_t last = 0;
    for (std::uint32_t i = 0; i < ranges.size(); ++i)
      if (ranges[i].low == s) last = i;
    return last;
  }

  const std::string& op_name(std::uint32_t i) const { return graph_.info(inside_.nodes()[part_[i]]).name; }

  // Why node `i` has no segment.
  bool refuse(std::uint32_t i) {
    const auto first = std::ranges::find(takes_[row_[i]], true);
    const ops::OpId op = graph_[inside_.nodes()[part_[i]]].op;
    if (first != takes_[row_[i]].end()) {
      const auto at = static_cast<std::size_t>(first - takes_[row_[i]].begin());
      const Segment& s = segments_[at];
      const auto stands_there = [&](std::uint32_t row) { return bool(takes_[row][at]); };
      const bool taken = !s.is_closure() && std::any_of(row_.begin(), row_.begin() + i, stands_there);
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
  const std::vector<std::uint32_t>& position_;  // in the part, by number
  std::vector<std::vector<bool>> takes_;        // by row, by segment
  std::vector<std::uint32_t> row_;  // by position in the part: nodes that segments tell apart by operator share
  std::size_t looks_ = 0;
  std::string refusal_;
};

/// Parts and the places of the roots, matched by augmenting paths: first every place that a root asks for, then every
/// part. A path never gives up what is matched, so both are covered in the end where both can be.
class Placer {
 public:
  Placer(const Graph& graph, const Inside& inside, const Parts& parts, const std::vector<FuseRoot>& roots)
      : graph_(graph),
        inside_(inside),
        parts_(parts),
        roots_(roots),
        fits_(parts.members.size()),
        place_of_(parts.members.size(), kNone) {
    for (auto& row : fits_) row.resize(roots.size());
    for (std::uint32_t r = 0; r < roots.size(); ++r)
      for (std::uint32_t k = 0; k < std::min<std::size_t>(roots[r].max, parts.members.size()); ++k)
        places_.push_back({r, k < roots[r].min, kNone});
  }

  std::expected<std::vector<Placed>, std::string> run() {
    for (const FuseRoot& root : roots_)
      if (root.min > parts_.members.size()) return std::unexpected("fewer parts than it asks for");
    for (std::uint32_t p = 0; p < places_.size(); ++p)
      if (places_[p].asked && !augment_from_place(p)) return std::unexpected(reason("fewer parts than it asks for"));
    for (std::uint32_t i = 0; i < parts_.members.size(); ++i)
      if (place_of_[i] == kNone && !augment_from_part(i))
        return std::unexpected(reason("more independent parts than it has roots"));
    std::vector<Placed> out;
    for (std::uint32_t i = 0; i < parts_.members.size(); ++i) {
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
      known = assign(graph_, inside_, parts_, part, roots_[root].segments);
      if (!*known && refusal_.empty()) refusal_ = known->error();
    }
    return known->has_value();
  }
  std::string reason(const char* otherwise) const { return refusal_.empty() ? otherwise : refusal_; }

  // Breadth first from a free place through parts to a free part: each step takes a part from the place it had.
  bool augment_from_place(std::uint32_t start) {
    std::vector<std::uint32_t> queue{start}, came_from(parts_.members.size(), kNone);
    for (std::size_t at = 0; at < queue.size(); ++at)
      for (std::uint32_t i = 0; i < parts_.members.size(); ++i) {
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
  const Parts& parts_;
  const std::vector<FuseRoot>& roots_;
  std::vector<std::vector<std::optional<std::expected<Assignment, std::string>>>> fits_;
  std::vector<Place> places_;
  std::vector<std::uint32_t> place_of_;  // by part
  std::string refusal_;
};

}  // namespace

std::expected<Assignment, std::string> assign(const Graph& graph, const Inside& inside, const Parts& parts,
                                              std::size_t part, const std::vector<Segment>& segments) {
  return Assigner(graph, inside, parts, part, segments).run();
}

std::expected<std::vector<Placed>, std::string> place(const Graph& graph, const Inside& inside, const Parts& parts,
                                                      const std::vector<FuseRoot>& roots) {
  return Placer(graph, inside, parts, roots).run();
}

}  // namespace fusewright::extract
