#include "fusewright/schedule/contraction.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "fusewright/schedule/window.hpp"
#include "templates.hpp"

namespace fusewright::schedule {

using region::IndexExpr;
using region::IndexMap;
using region::RegionValue;
using region::ValueId;

namespace {

using Ints = std::vector<std::int64_t>;

IndexMap map_over(Ints domain, std::size_t rank) {
  IndexMap map;
  map.domain = std::move(domain);
  map.results.assign(rank, region::index_constant(0));
  return map;
}

// A linear number of some axes (in order, row-major), taken apart into a position on each.
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

/// Axis numbers and window of a convolution.
struct Window {
  Ints lhs, rhs,
      out;  // [batch, feature, spatial...], [out_feature, in_feature, spatial...], [batch, feature, spatial...]
  Ints strides, low, lhs_dilation, rhs_dilation, reversal;
  std::int64_t groups = 1, batch_groups = 1;

  explicit Window(const RegionValue& v)
      : lhs(v.attrs.get<Ints>("lhs_spec")),
        rhs(v.attrs.get<Ints>("rhs_spec")),
        out(v.attrs.get<Ints>("out_spec")),
        groups(v.attrs.get_or<std::int64_t>("groups", 1)),
        batch_groups(v.attrs.get_or<std::int64_t>("batch_groups", 1)) {
    const std::size_t spatial = lhs.size() - 2;
    strides = v.attrs.get_or<Ints>("strides", Ints(spatial, 1));
    low = v.attrs.get_or<Ints>("pad_low", Ints(spatial, 0));
    lhs_dilation = v.attrs.get_or<Ints>("lhs_dilation", Ints(spatial, 1));
    rhs_dilation = v.attrs.get_or<Ints>("rhs_dilation", Ints(spatial, 1));
    reversal = v.attrs.get_or<Ints>("reversal", Ints(spatial, 0));
  }
  static Ints tail(const Ints& spec) { return {spec.begin() + 2, spec.end()}; }
};

// The kernel's position as it stands in the weights, taken apart from its number.
std::vector<IndexExpr> taps(const IndexMap& map, const IndexExpr& number, const Ints& axes, const Ints& dims) {
  std::vector<IndexExpr> at(axes.size());
  IndexExpr rest = number;
  for (std::size_t s = axes.size(); s-- > 0;) {
    const std::int64_t extent = std::max<std::int64_t>(1, dims[static_cast<std::size_t>(axes[s])]);
    at[s] = simplify(s == 0 ? rest : floor_mod(rest, extent), map);
    rest = simplify(floor_div(rest, extent), map);
  }
  return at;
}

// Which element of the input a result element meets at a tap; outside of the input it meets zero.
void input_position(IndexMap& map, const Window& w, const Ints& input, const std::vector<IndexExpr>& out_at,
                    const std::vector<IndexExpr>& tap, const Ints& kernel) {
  for (std::size_t s = 0; s < tap.size(); ++s) {
    const auto axis = static_cast<std::size_t>(w.lhs[s + 2]);
    const IndexExpr t = w.reversal[s] != 0 ? tap[s] * -1 + region::index_constant(kernel[s] - 1) : tap[s];
    map.results[axis] =
        window_position(map, out_at[s], t, w.strides[s], w.rhs_dilation[s], w.low[s], w.lhs_dilation[s], input[axis]);
  }
}

Contraction of_conv(const Region& region, ValueId id) {
  const RegionValue& v = region[id];
  const Window w(v);
  const Ints& input = region[v.operands[0]].dims;
  const Ints& weights = region[v.operands[1]].dims;
  const auto axis = [](const Ints& dims, std::int64_t a) { return dims[static_cast<std::size_t>(a)]; };
  const std::int64_t all_groups = w.groups * w.batch_groups;
  const std::int64_t features = axis(weights, w.rhs[0]) / std::max<std::int64_t>(1, all_groups);  // out, of one group
  const std::int64_t channels = axis(weights, w.rhs[1]);
  const std::int64_t images = axis(v.dims, w.out[0]);
  const Ints kernel_axes = Window::tail(w.rhs), out_axes = Window::tail(w.out);
  Ints kernel;
  for (const std::int64_t a : kernel_axes) kernel.push_back(axis(weights, a));
  const std::int64_t taps_count = product(kernel_axes, weights), positions = product(out_axes, v.dims);
  // Where positions are the contiguous extent of the result they are n, and the images join the batch; else features
  // are n, and images join the positions.
  const bool positions_inside =
      w.out[1] < *std::min_element(out_axes.begin(), out_axes.end(), std::less<>()) || out_axes.empty();
  const bool planar = !out_axes.empty() && positions_inside;

  Contraction c;
  c.result = id;
  c.k = channels * taps_count;
  c.batch = all_groups * (planar ? images : 1);
  const std::int64_t pixels = planar ? positions : positions * images;
  c.left = v.operands[planar ? 1 : 0];
  c.right = v.operands[planar ? 0 : 1];
  c.m = planar ? features : pixels;
  c.n = planar ? pixels : features;

  const auto group_of = [&](const IndexMap& map) {
    return simplify(planar ? floor_div(region::index_dim(0), images) : region::index_dim(0), map);
  };
  const auto image_of = [&](const IndexMap& map, const IndexExpr& pixel) {
    return simplify(
        planar ? floor_mod(region::index_dim(0), images) : floor_div(pixel, std::max<std::int64_t>(1, positions)), map);
  };
  const auto channel_of = [&](const IndexMap& map, const IndexExpr& k) {
    return simplify(floor_div(k, std::max<std::int64_t>(1, taps_count)), map);
  };

  const auto weight_map = [&](IndexMap& map, const IndexExpr& feature, const IndexExpr& k) {
    map.results[static_cast<std::size_t>(w.rhs[0])] = simplify(group_of(map) * features + feature, map);
    map.results[static_cast<std::size_t>(w.rhs[1])] = channel_of(map, k);
    const std::vector<IndexExpr> tap =
        taps(map, simplify(floor_mod(k, std::max<std::int64_t>(1, taps_count)), map), kernel_axes, weights);
    for (std::size_t s = 0; s < tap.size(); ++s) map.results[static_cast<std::size_t>(kernel_axes[s])] = tap[s];
  };
  const auto image_map = [&](IndexMap& map, const IndexExpr& pixel, const IndexExpr& k) {
    const IndexExpr group = group_of(map);
    // feature groups split the input's features, batch groups its images
    const IndexExpr feature_group = w.batch_groups > 1 ? region::index_constant(0) : group;
    const IndexExpr batch_group = w.batch_groups > 1 ? group : region::index_constant(0);
    map.results[static_cast<std::size_t>(w.lhs[1])] = simplify(feature_group * channels + channel_of(map, k), map);
    map.results[static_cast<std::size_t>(w.lhs[0])] = simplify(batch_group * images + image_of(map, pixel), map);
    const IndexExpr position = simplify(planar ? pixel : floor_mod(pixel, std::max<std::int64_t>(1, positions)), map);
    const std::vector<IndexExpr> at = taps(map, position, out_axes, v.dims);
    const std::vector<IndexExpr> tap =
        taps(map, simplify(floor_mod(k, std::max<std::int64_t>(1, taps_count)), map), kernel_axes, weights);
    input_position(map, w, input, at, tap, kernel);
  };
  c.left_map = map_over({c.batch, c.m, c.k}, region[c.left].dims.size());
  c.right_map = map_over({c.batch, c.k, c.n}, region[c.right].dims.size());
  if (planar) {
    weight_map(c.left_map, region::index_dim(1), region::index_dim(2));
    image_map(c.right_map, region::index_dim(2), region::index_dim(1));
  } else {
    image_map(c.left_map, region::index_dim(1), region::index_dim(2));
    weight_map(c.right_map, region::index_dim(2), region::index_dim(1));
  }
  c.result_map = map_over({c.batch, c.m, c.n}, v.dims.size());
  const IndexExpr feature = region::index_dim(planar ? 1 : 2), pixel = region::index_dim(planar ? 2 : 1);
  c.result_map.results[static_cast<std::size_t>(w.out[1])] =
      simplify(group_of(c.result_map) * features + feature, c.result_map);
  c.result_map.results[static_cast<std::size_t>(w.out[0])] = image_of(c.result_map, pixel);
  const IndexExpr position =
      simplify(planar ? pixel : floor_mod(pixel, std::max<std::int64_t>(1, positions)), c.result_map);
  spread(c.result_map, position, out_axes, v.dims);
  return c;
}

// The result is read at its own element only, by maps that can be turned round: transposes and reshapes.
std::expected<region::AccessRoot, Refusal> output_root(const Region& region, const Contraction& c, ValueId output) {
  const RegionValue& v = region[output];
  const RegionValue& result = region[c.result];
  if (v.elements() != result.elements())
    return refuse(fmt::format("an output has {} elements, the {} {}", v.elements(), result.op_name, result.elements()));
  const auto stop = [&](ValueId id) { return id == c.result; };
  const IndexExpr own = linearize(c.result_map, result.dims);
  // Straight: the same row-major order.
  const auto graph = region::trace_accesses(region, {{output, region::identity_map(v.dims)}}, stop);
  if (!graph) return refuse(graph.error().diagnostics.front().message);
  std::optional<IndexMap> seen;
  for (const region::AccessNode& n : graph->nodes) {
    if (n.value != c.result) continue;
    if (seen && to_string(linearize(*seen, result.dims)) != to_string(linearize(n.map, result.dims)))
      return refuse("an output needs several elements of the result");
    seen = n.map;
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

std::expected<Contraction, Refusal> analyse_contraction(const Region& region) {
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
  Contraction c = v.op_class == ops::OpClass::kContraction ? of_dot(region, result) : of_conv(region, result);
  const auto stop = [&](ValueId id) { return id == result; };
  for (const auto& [operand, map] : {std::pair(c.left, c.left_map), std::pair(c.right, c.right_map)}) {
    IndexMap open = map;
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

// tile = {m, n of a register tile, n of a task, m-splits}
Fit fit_contraction(const Region& region, const Target& target, bool conv) {
  const auto c = analyse_contraction(region);
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
    const std::int64_t vectors = c->n > s.vector ? 2 : 1;
    const std::int64_t rows =
        std::max<std::int64_t>(1, std::min<std::int64_t>((target.vector_registers - vectors - 1) / vectors, c->m));
    const std::int64_t panel = vectors * s.vector, panels = (c->n + panel - 1) / panel;
    // A task packs its columns of the right operand once and meets all rows with them; about half of the second-level
    // cache.
    std::int64_t together =
        std::clamp<std::int64_t>(target.l2_bytes / 2 / std::max<std::int64_t>(1, c->k * panel * width), 1, 8);
    while (together > 1 && c->batch * ((panels + together - 1) / together) < 16) --together;
    const std::int64_t tasks = c->batch * ((panels + together - 1) / together);
    const std::int64_t row_panels = (c->m + rows - 1) / rows;
    const std::int64_t splits = std::clamp<std::int64_t>(16 / std::max<std::int64_t>(1, tasks), 1, row_panels);
    s.tile = {rows, panel, together, splits};
    r.registers = rows * vectors + vectors + 1;
    r.live_values = std::min<std::int64_t>(r.live_values, target.vector_registers - 4);
    r.parallelism = tasks * splits;
    r.scratch_bytes = (together * panel + rows) * c->k * width;
    r.reread_bytes = c->batch * c->m * c->k * width * ((panels + together - 1) / together - 1) +
                     c->batch * c->n * c->k * width * splits;
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
