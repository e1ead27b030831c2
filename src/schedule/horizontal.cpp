#include "fusewright/schedule/horizontal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "templates.hpp"

namespace fusewright::schedule {

using region::RegionValue;
using region::ValueId;

namespace {

/// Of each value the first one of its part; captures and scalars are of no part.
std::vector<std::uint32_t> leaders(const Region& region) {
  const std::size_t n = region.values.size();
  std::vector<std::uint32_t> leader(n);
  std::iota(leader.begin(), leader.end(), 0U);
  const auto find = [&](std::uint32_t i) {
    while (leader[i] != i) i = leader[i] = leader[leader[i]];
    return i;
  };
  const auto join = [&](std::uint32_t a, std::uint32_t b) {
    leader[std::max(find(a), find(b))] = std::min(find(a), find(b));
  };
  for (std::uint32_t i = 0; i < n; ++i) {
    const RegionValue& v = region.values[i];
    if (v.kind != RegionValue::Kind::kOp) continue;
    for (const ValueId operand : v.operands)
      if (region[operand].kind == RegionValue::Kind::kOp) join(i, operand.index);
    if (v.result != 0) join(i, i - 1);
  }
  for (std::uint32_t i = 0; i < n; ++i) leader[i] = find(i);
  return leader;
}

bool has_parts(const Region& region) {
  const std::vector<std::uint32_t> leader = leaders(region);
  std::optional<std::uint32_t> first;
  for (std::uint32_t i = 0; i < leader.size(); ++i) {
    if (region.values[i].kind != RegionValue::Kind::kOp) continue;
    if (first.value_or(leader[i]) != leader[i]) return true;
    first = leader[i];
  }
  return false;
}

}  // namespace

std::vector<Part> independent_parts(const Region& region) {
  constexpr std::uint32_t kNone = ~0U;
  const auto n = static_cast<std::uint32_t>(region.values.size());
  const std::vector<std::uint32_t> leader = leaders(region);
  std::vector<std::uint32_t> number(n, kNone);  // by leader
  std::vector<std::vector<std::uint32_t>> members;
  for (std::uint32_t i = 0; i < n; ++i) {
    if (region.values[i].kind != RegionValue::Kind::kOp) continue;
    std::uint32_t& p = number[leader[i]];
    if (p == kNone) {
      p = static_cast<std::uint32_t>(members.size());
      members.emplace_back();
    }
    members[p].push_back(i);
  }
  std::vector<Part> parts(members.size());
  std::vector<std::uint32_t> moved(n, kNone), moved_for(n, kNone);  // its number in the part that had it last
  for (std::uint32_t p = 0; p < parts.size(); ++p) {
    Region& part = parts[p].region;
    part.values.reserve(2 * members[p].size());
    const auto add = [&](std::uint32_t i) -> RegionValue& {
      moved[i] = static_cast<std::uint32_t>(part.values.size());
      moved_for[i] = p;
      return part.values.emplace_back(region.values[i]);
    };
    // Captures come first in each part.
    for (const std::uint32_t i : members[p])
      for (const ValueId operand : region.values[i].operands) {
        if (region[operand].kind != RegionValue::Kind::kCapture || moved_for[operand.index] == p) continue;
        RegionValue& capture = add(operand.index);
        parts[p].captures.push_back(capture.capture);
        capture.capture = part.captures++;
      }
    for (const std::uint32_t i : members[p]) {
      for (const ValueId operand : region.values[i].operands)
        if (moved_for[operand.index] != p) add(operand.index);
      for (ValueId& operand : add(i).operands) operand = ValueId(moved[operand.index]);
    }
  }
  for (std::size_t o = 0; o < region.outputs.size(); ++o) {
    const std::uint32_t id = region.outputs[o].index;
    if (region.values[id].kind != RegionValue::Kind::kOp) continue;
    const std::uint32_t p = number[leader[id]];
    parts[p].outputs.push_back(o);
    parts[p].region.outputs.emplace_back(moved[id]);
  }
  return parts;
}

// Of several with as few launches the first: its loop structure is the cheapest.
std::expected<Schedule, Refusal> fit_part(const Region& part, const Target& target) {
  if (computes_nothing(part)) return refuse("one of the parts has no elements");
  PartFits none(target);
  Fits fits(part, target, none);
  const Schedule* best = nullptr;
  for (const auto& [kind, name] : ops::kTemplates) {
    if (kind == Template::kHorizontal) continue;
    const Fit& made = fits.with(kind);
    if (made && (best == nullptr || made->resources.launches < best->resources.launches)) best = &*made;
    if (best != nullptr && best->resources.launches <= 1) break;
  }
  if (best == nullptr) return refuse("no template computes one of the parts");
  return *best;
}

const Fit& PartFits::of(const Region& part) {
  const auto at = known_.find(part);
  return at != known_.end() ? at->second : known_.emplace(part, fit_part(part, target_)).first->second;
}

namespace {

// Loops over the same extents, each of which reads a whole tensor that another reads too: one loop reads it once.
bool is_one_loop(const Region& region, const std::vector<Part>& parts) {
  if (std::ranges::any_of(parts, [](const Part& part) { return part.region.outputs.empty(); })) return false;
  const auto& dims = parts.front().region[parts.front().region.outputs.front()].dims;
  std::vector<std::size_t> readers(region.captures, 0);
  for (const Part& part : parts)
    for (const std::uint32_t capture : part.captures) ++readers[capture];
  return std::ranges::all_of(parts, [&](const Part& part) {
    return part.region[part.region.outputs.front()].dims == dims &&
           std::ranges::any_of(part.captures, [&](std::uint32_t capture) {
             return readers[capture] > 1 && region.values[capture].dims == dims;
           });
  });
}

}  // namespace

Fit fit_horizontal(Fits& fits) {
  const Region& region = fits.region();
  const Target& target = fits.target();
  if (!has_parts(region)) return refuse("there are no independent parts");
  const std::vector<Part>& parts = fits.parts();
  const auto in_a_loop = [](const RegionValue& v) { return v.kind != RegionValue::Kind::kOp || pointwise(v); };
  if (std::ranges::all_of(region.values, in_a_loop) && is_one_loop(region, parts))
    return refuse("one loop reads what its parts share once");
  Schedule s;
  s.kind = Template::kHorizontal;
  Resources& r = s.resources;
  r.launches = 0;
  for (const Part& part : parts) {
    const Fit& one = fits.part_fits().of(part.region);
    if (!one) return std::unexpected(one.error());
    if (target.family == Target::Family::kGpu) {
      // Blocks of one launch have one size, and parts are told apart by the block's number alone.
      if (one->kind == Template::kContract || one->kind == Template::kConv)
        return refuse("contractions are not laid side by side on a GPU");
      if (s.threads != 0 && s.threads != one->threads)
        return refuse(fmt::format("parts with {} and {} threads a block", s.threads, one->threads));
    }
    s.threads = one->threads;
    s.vector = one->vector;
    r.live_values = std::max(r.live_values, one->resources.live_values);
    r.registers = std::max(r.registers, one->resources.registers);
    r.shared_bytes += one->resources.shared_bytes;
    r.scratch_bytes += one->resources.scratch_bytes;
    r.parallelism += one->resources.parallelism;
    r.recomputed_units += one->resources.recomputed_units;
    r.reread_bytes += one->resources.reread_bytes;
    r.launches = std::max(r.launches, one->resources.launches);
  }
  // Each part reads what it shares with others by itself.
  std::vector<bool> read(region.captures, false);
  for (const Part& part : parts)
    for (const std::uint32_t capture : part.captures) {
      const RegionValue& v = region.values[capture];
      if (read[capture]) r.reread_bytes += v.elements() * ops::byte_width(v.dtype);
      read[capture] = true;
    }
  return s;
}

}  // namespace fusewright::schedule
