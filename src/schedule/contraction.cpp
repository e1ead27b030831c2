#include "fusewright/schedule/contraction.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "contraction_maps.hpp"
#include "templates.hpp"

namespace fusewright::schedule {

using region::IndexExpr;
using region::IndexMap;
using region::RegionValue;
using region::ValueId;

using Ints = std::vector<std::int64_t>;

IndexMap map_over(Ints domain, std::size_t rank) {
  IndexMap map;
  map.domain = std::move(domain);
  map.results.assign(rank, region::index_constant(0));
  return map;
}

void spread(IndexMap& map, const IndexExpr& number, const Ints& axes, const Ints& dims) {
  IndexExpr rest = number;
  for (std::size_t i = axes.size(); i-- > 0;) {
    const auto axis = static_cast<std::size_t>(axes[i]);
    const std::int64_t extent = std::max<std::int64_t>(1, dims[axis]);
    map.results[axis] = simplify(i == 0 ? rest : floor_mod(rest, extent), map);
    rest = simplify(floor_div(rest, extent), map);
  }
}

std::int64_t product(const Ints& axes, const Ints& dims) {
  std::int64_t n = 1;
  for (const std::int64_t a : axes) n *= dims[static_cast<std::size_t>(a)];
  return n;
}

namespace {

Ints others(std::size_t rank, const Ints& a, const Ints& b) {
  Ints rest;
  for (std::int64_t d = 0; d < static_cast<std::int64_t>(rank); ++d)
    if (std::find(a.begin(), a.end(), d) == a.end() && std::find(b.begin(), b.end(), d) == b.end()) rest.push_back(d);
  return rest;
}

Contraction of_dot(const Region& region, ValueId id) {
  const RegionValue& v = region[id];
  const Ints& left = region[v.operands[0]].dims;
  const Ints& right = region[v.operands[1]].dims;
  const Ints lhs_batch = v.attrs.get_or<Ints>("lhs_batch", {}), rhs_batch = v.attrs.get_or<Ints>("rhs_batch", {});
  const Ints lhs_contract = v.attrs.get<Ints>("lhs_contract"), rhs_contract = v.attrs.get<Ints>("rhs_contract");
  const Ints lhs_free = others(left.size(), lhs_batch, lhs_contract),
             rhs_free = others(right.size(), rhs_batch, rhs_contract);
  Contraction c;
  c.result = id;
  c.left = v.operands[0];
  c.right = v.operands[1];
  c.batch = product(lhs_batch, left);
  c.m = product(lhs_free, left);
  c.n = product(rhs_free, right);
  c.k = product(lhs_contract, left);
  c.left_map = map_over({c.batch, c.m, c.k}, left.size());
  spread(c.left_map, region::index_dim(0), lhs_batch, left);
  spread(c.left_map, region::index_dim(1), lhs_free, left);
  spread(c.left_map, region::index_dim(2), lhs_contract, left);
  c.right_map = map_over({c.batch, c.k, c.n}, right.size());
  spread(c.right_map, region::index_dim(0), rhs_batch, right);
  spread(c.right_map, region::index_dim(1), rhs_contract, right);
  spread(c.right_map, region::index_dim(2), rhs_free, right);
  c.result_map = region::reshape_map({c.batch, c.m, c.n}, v.dims);
  return c;
}

// The result is read at its own element only, by maps that can be turned round: transposes and reshapes.
std::expected<region::AccessRoot, Refusal> output_root(const Region& region, const Contraction& c, ValueId output) {
  const RegionValue& v = region[output];
  const RegionValue& result = region[c.result];
  const auto stop = [&](ValueId id) { return id == c.result; };
  const IndexExpr own = linearize(c.result_map, result.dims);
  // Straight: the same row-major order.
  const auto graph = region::trace_accesses(region, {{output, region::identity_map(v.dims)}}, stop);
  if (!graph) return refuse(graph.error().diagnostics.front().message);
  std::optional<IndexMap> seen;
  for (const region::AccessNode& n : graph->nodes) {
    if (n.value != c.result) continue;
    if (seen && compare(linearize(*seen, result.dims), linearize(n.map(), result.dims)) != 0)
      return refuse("an output needs several elements of the result");
    seen = n.map();
  }
  region::AccessRoot root{output, map_over(c.result_map.domain, v.dims.size())};
  if (!seen) {  // it does not depend on the result
    spread(root.map, own, others(v.dims.size(), {}, {}), v.dims);
    return root;
  }
  if (!region::is_bijective(*seen, result.dims))
    return refuse("an output reads the result by a map that cannot be turned round");
  const IndexExpr offset = linearize(*seen, result.dims);
  for (std::size_t d = 0; d < v.dims.size(); ++d) {
    if (v.dims[d] == 1) continue;
    const std::int64_t stride = region::stride_of(offset, *seen, static_cast<std::int64_t>(d)).value_or(1);
    root.map.results[d] = simplify(floor_mod(floor_div(own, std::max<std::int64_t>(1, stride)), v.dims[d]), root.map);
  }
  return root;
}

}  // namespace

std::expected<Contraction, Refusal> analyse_contraction(const Region& region, Target::Family family) {
  ValueId result;
  for (std::size_t i = 0; i < region.values.size(); ++i) {
    const RegionValue& v = region.values[i];
    if (v.kind != RegionValue::Kind::kOp) continue;
    if (v.op_class == ops::OpClass::kContraction || v.op_class == ops::OpClass::kConvolution) {
      if (result.valid()) return refuse("two contractions in one kernel");
      result = ValueId(i);
    } else if (!pointwise(v)) {
      return refuse(fmt::format("{} is neither elementwise nor the contraction", v.op_name));
    }
  }
  if (!result.valid()) return refuse("there is no contraction");
  const RegionValue& v = region[result];
  if (v.elements() == 0) return refuse("the result has no elements");
  if (!ops::is_float(v.dtype) && !ops::is_integer(v.dtype))
    return refuse(fmt::format("no contraction of {}", ops::name(v.dtype)));
  const bool conv = v.op_class == ops::OpClass::kConvolution;
  if (conv && v.dims.size() > 5) return refuse(fmt::format("a convolution over {} axes", v.dims.size() - 2));
  for (const ValueId output : region.outputs)
    if (region[output].elements() != v.elements())
      return refuse(
          fmt::format("an output has {} elements, the {} {}", region[output].elements(), v.op_name, v.elements()));
  Contraction c = conv ? of_conv(region, result, family) : of_dot(region, result);
  const auto stop = [&](ValueId id) { return id == result; };
  for (const auto& [operand, map] : {std::pair(c.left, c.left_map), std::pair(c.right, c.right_map)}) {
    IndexMap open = conv && operand == c.conv->image ? c.conv->image_map : map;
    open.constraints.clear();
    const auto graph = region::trace_accesses(region, {{operand, open}}, stop);
    if (!graph) return refuse(graph.error().diagnostics.front().message);
    for (const region::AccessNode& n : graph->nodes)
      if (n.value == result) return refuse("the contraction reads its own result");
  }
  for (const ValueId output : region.outputs) {
    auto root = output_root(region, c, output);
    if (!root) return std::unexpected(root.error());
    c.outputs.push_back(*std::move(root));
  }
  return c;
}

namespace {

std::int64_t pieces(std::int64_t extent, std::int64_t size) { return (extent + size - 1) / size; }

/// What a product in a register tile loads.
enum class Loads { kBroadcastLeft, kBroadcastLeftRightAnywhere, kVectors };

// The register tile that computes m x n in the fewest cycles, as a core with two multipliers and two loads a cycle
// takes them: sums wait four cycles for themselves, a load across lines counts more, and what stands over the edge is
// computed too. One register stays free: loops that need all sixteen were measured to run at half the speed.
void choose_registers(CpuTiles& tiles, std::int64_t m, std::int64_t n, Loads kind, std::int64_t lanes,
                      const Target& target) {
  double least = 0;
  for (std::int64_t rows = 1; rows <= std::min<std::int64_t>(m, target.vector_registers); ++rows)
    for (std::int64_t vectors = 1; vectors <= pieces(n, lanes); ++vectors) {
      const std::int64_t operands = (rows == 1 ? 1 : vectors) + 1;
      if (rows * vectors + operands >= target.vector_registers) break;
      const auto left = static_cast<double>(rows), right = static_cast<double>(vectors);
      const double loads =
          kind == Loads::kVectors ? (left + 1) * right : left + (kind == Loads::kBroadcastLeft ? 1 : 1.5) * right;
      const double cycles = std::max({left * right / 2, loads / 2, 4.0}) + 0.5;
      const double all = cycles * static_cast<double>(pieces(m, rows) * pieces(n, vectors * lanes));
      if (least != 0 && all >= least) continue;
      least = all;
      tiles.rows = rows;
      tiles.columns = vectors * lanes;
    }
}

CpuTiles cut_for_cpu(const Contraction& c, std::int64_t width, std::int64_t lanes, const Target& target) {
  CpuTiles tiles;
  const bool planar = c.conv && c.conv->planar;
  std::int64_t m = c.m, n = c.n, tasks = c.batch;
  if (c.conv) {
    cut_positions(tiles, c, width, target);
    const ConvAxis &d = c.conv->axes[0], &h = c.conv->axes[1], &w = c.conv->axes[2];
    if (planar)
      n = Patch(*c.conv, 1, tiles.height, tiles.width).reach;
    else
      m = tiles.height * tiles.width;
    tasks *= d.out * pieces(h.out, tiles.height) * pieces(w.out, tiles.width) * (planar ? 1 : c.conv->images);
  }
  const Loads loads = planar                             ? Loads::kBroadcastLeftRightAnywhere
                      : c.conv && c.conv->multiplier > 0 ? Loads::kVectors
                                                         : Loads::kBroadcastLeft;
  choose_registers(tiles, m, n, loads, lanes, target);
  const std::int64_t panels = pieces(n, tiles.columns), enough = 8 * target.cores;
  if (planar) {
    tiles.together = panels;
  } else {
    // A task meets all of its rows with these columns of the right operand: about half of the second-level cache.
    const std::int64_t column_bytes = std::max<std::int64_t>(1, c.k * tiles.columns * width);
    tiles.together = std::clamp<std::int64_t>(target.l2_bytes / 2 / column_bytes, 1,
                                              c.conv ? panels : std::max<std::int64_t>(1, 128 / tiles.columns));
    while (tiles.together > 1 && tasks * pieces(panels, tiles.together) < (c.conv ? 1 : enough)) --tiles.together;
    tasks *= pieces(panels, tiles.together);
  }
  if (!c.conv || planar)
    tiles.splits = std::clamp<std::int64_t>(enough / std::max<std::int64_t>(1, tasks), 1, pieces(m, tiles.rows));
  return tiles;
}

Fit fit_contraction(const Region& region, const Target& target, bool conv) {
  const auto c = analyse_contraction(region, target.family);
  if (!c) return std::unexpected(c.error());
  if ((region[c->result].op_class == ops::OpClass::kConvolution) != conv)
    return refuse(conv ? "there is no convolution" : "there is no dot");
  Schedule s;
  s.kind = conv ? Template::kConv : Template::kContract;
  const std::int64_t width = ops::byte_width(region[c->result].dtype) == 8 ? 8 : 4;
  Resources& r = s.resources;
  r.live_values = 4 + static_cast<std::int64_t>(region.values.size());
  if (target.family == Target::Family::kCpu) {
    s.vector = std::max<std::int64_t>(1, target.vector_bits / 8 / width);
    const CpuTiles tiles = cut_for_cpu(*c, width, s.vector, target);
    s.tile = tiles.list();
    const bool planar = c->conv && c->conv->planar;
    const std::int64_t blocks = planar ? 1 : pieces(pieces(c->n, tiles.columns), tiles.together);
    r.registers = tiles.rows * tiles.columns / s.vector + 3;
    r.live_values = std::min<std::int64_t>(r.live_values, target.vector_registers - 4);
    r.parallelism = c->batch * blocks * tiles.splits;
    if (conv)
      r.parallelism *= c->conv->axes[0].out * pieces(c->conv->axes[1].out, tiles.height) *
                       pieces(c->conv->axes[2].out, tiles.width) * (planar ? 1 : c->conv->images);
    r.scratch_bytes = (tiles.together * tiles.columns + tiles.rows) * c->k * width;
    r.reread_bytes = c->batch * c->m * c->k * width * (blocks - 1) + c->batch * c->n * c->k * width * tiles.splits;
  } else {
    s.tile = {64, 64, 16};
    s.threads = 256;
    s.vector = 4;
    r.registers = 96;
    r.live_values = 32;
    r.shared_bytes = (64 + 64) * 16 * width;
    r.parallelism = c->batch * ((c->m + 63) / 64) * ((c->n + 63) / 64) * 256;
    r.reread_bytes = c->batch * (c->m * c->k * ((c->n + 63) / 64 - 1) + c->n * c->k * ((c->m + 63) / 64 - 1)) * width;
  }
  return s;
}

}  // namespace

Fit fit_contract(const Region& region, const Target& target) { return fit_contraction(region, target, false); }
Fit fit_conv(const Region& region, const Target& target) { return fit_contraction(region, target, true); }

}  // namespace fusewright::schedule
