#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <optional>

#include "fusewright/prove/space.hpp"

namespace fusewright::prove {

using ops::AttrKind;
using ops::Attrs;
using ops::AttrValue;
using ops::DType;
using ops::OpClass;
using ops::OpInfo;
using ops::Shape;
using ops::Type;
using Ints = std::vector<std::int64_t>;

namespace {

constexpr std::size_t kMostSources = 20'000;  // of one operator for one type

std::vector<Dim> new_extents(const Space& space) {
  if (space.symbols != nullptr)
    return {Dim::symbol("n" + std::to_string((*space.symbols)++)), Dim::symbol("n"), Dim(1)};
  return {space.extents.begin(), space.extents.end()};
}

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// Increasing lists out of 0..n-1.
std::vector<Ints> subsets(std::int64_t n) {
  std::vector<Ints> out;
  for (std::int64_t bits = 0; bits < (std::int64_t{1} << n); ++bits) {
    Ints set;
    for (std::int64_t i = 0; i < n; ++i)
      if ((bits >> i & 1) != 0) set.push_back(i);
    out.push_back(std::move(set));
  }
  std::ranges::sort(out, {}, [](const Ints& set) { return std::pair(set.size(), set); });
  return out;
}

std::vector<Ints> permutations(std::int64_t n) {
  Ints perm(at(n));
  std::iota(perm.begin(), perm.end(), std::int64_t{0});
  std::vector<Ints> out;
  do out.push_back(perm);
  while (std::next_permutation(perm.begin(), perm.end()));
  return out;
}

struct Request {
  const ops::OpTable& table;
  const OpInfo& op;
  const Type& wanted;
  std::uint32_t result;
  std::size_t operands;
  const Space& space;
  std::vector<Source> out;
  bool all = true;  ///< that there are have been added

  void add(Attrs attrs, std::vector<Type> types) {
    all = all && out.size() < kMostSources;
    if (all) out.push_back({std::move(attrs), std::move(types)});
  }
  const Shape& shape() const { return wanted.shape; }
  std::int64_t rank() const { return wanted.rank(); }
  Type like(Shape shape) const { return Type::tensor(wanted.dtype, std::move(shape)); }
};

/// Every shape that is `shape` with up to `most` further axes put in, and where they went.
void with_inserted_axes(const Shape& shape, std::int64_t most, const Space& space,
                        const std::function<void(const Shape&, const Ints&)>& visit) {
  const auto rank = static_cast<std::int64_t>(shape.size());
  for (std::int64_t added = 0; added <= most && rank + added <= space.max_rank; ++added)
    for (const Ints& axes : subsets(rank + added)) {
      if (static_cast<std::int64_t>(axes.size()) != added) continue;
      std::vector<Shape> shapes(1);
      std::size_t old = 0;
      for (std::int64_t i = 0; i < rank + added; ++i) {
        const bool fresh = std::ranges::find(axes, i) != axes.end();
        const std::vector<Dim> extents = fresh ? new_extents(space) : std::vector<Dim>{shape[old++]};
        std::vector<Shape> longer;
        for (const Shape& s : shapes)
          for (const Dim& extent : extents) {
            longer.push_back(s);
            longer.back().push_back(extent);
          }
        shapes = std::move(longer);
      }
      for (const Shape& s : shapes) visit(s, axes);
    }
}

// --- Elementwise -------------------------------------------------------------------------------------

void elementwise(Request& r) {
  if (r.op.name == "select") {
    r.add({}, {Type::tensor(DType::kPred, r.shape()), r.wanted, r.wanted});
    return;
  }
  const bool converts = r.op.name == "convert" || r.op.name == "bitcast";
  const bool tests = r.wanted.dtype == DType::kPred && r.op.scalar &&
                     (ops::is_comparison(*r.op.scalar) || *r.op.scalar == ops::ScalarOp::kIsFinite ||
                      *r.op.scalar == ops::ScalarOp::kIsNan || *r.op.scalar == ops::ScalarOp::kIsInf);
  std::vector<Attrs> attrs(1);
  if (converts) attrs = {{{"dtype", r.wanted.dtype}}};
  if (r.op.name == "reduce_precision")
    attrs = {{{"exponent_bits", std::int64_t{5}}, {"mantissa_bits", std::int64_t{10}}},
             {{"exponent_bits", std::int64_t{8}}, {"mantissa_bits", std::int64_t{7}}}};
  const std::vector<DType> one = {r.wanted.dtype};
  for (const DType dtype : converts || tests ? all_dtypes() : one)
    for (const Attrs& a : attrs) r.add(a, std::vector<Type>(r.operands, Type::tensor(dtype, r.shape())));
}

// --- Movement ----------------------------------------------------------------------------------------

void broadcast(Request& r) {
  for (const Ints& dims : subsets(r.rank())) {
    Shape from;
    for (const std::int64_t d : dims) from.push_back(r.shape()[at(d)]);
    r.add({{"dims", dims}, {"shape", r.shape()}}, {r.like(std::move(from))});
  }
}

void reshape(Request& r) {
  const Attrs attrs = {{"shape", r.shape()}};
  if (r.space.symbols == nullptr) {
    std::int64_t count = 1;
    for (const Dim& d : r.shape()) count *= d.value();
    Space wide = r.space;  // merged axes are longer than the space's own
    for (std::int64_t n = 4; n <= 9; ++n)
      if (count != 0 && count % n == 0) wide.extents.push_back(n);
    for (std::int64_t rank = 0; rank <= std::min<std::int64_t>(r.space.max_rank, r.rank() + 1); ++rank)
      for (const Shape& from : shapes_of_rank(rank, wide)) {
        std::int64_t product = 1;
        for (const Dim& d : from) product *= d.value();
        if (product == count) r.add(attrs, {r.like(from)});
      }
    return;
  }
  r.add(attrs, {r.wanted});
  for (std::size_t i = 0; i <= r.shape().size(); ++i) {
    Shape unit = r.shape();
    unit.insert(unit.begin() + static_cast<std::ptrdiff_t>(i), Dim(1));
    r.add(attrs, {r.like(unit)});
    if (i + 1 >= r.shape().size()) continue;
    Shape merged = r.shape();
    merged[i] = merged[i] * merged[i + 1];
    merged.erase(merged.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    r.add(attrs, {r.like(merged)});
  }
}

void transpose(Request& r) {
  for (const Ints& perm : permutations(r.rank())) {
    Shape from(r.shape().size());
    for (std::size_t i = 0; i < from.size(); ++i) from[at(perm[i])] = r.shape()[i];
    r.add({{"perm", perm}}, {r.like(std::move(from))});
  }
}

void reverse(Request& r) {
  for (const Ints& axes : subsets(r.rank())) r.add({{"axes", axes}}, {r.wanted});
}

/// What one axis of a slice or pad may do, most ordinary first.
struct AxisCut {
  std::int64_t extent, a, b, c;
};

/// All axes as they are, then every choice on one axis, then pairs of the first `paired` choices on two neighbours.
void per_axis(Request& r, std::size_t paired, const std::function<std::vector<AxisCut>(std::int64_t extent)>& choices,
              const std::function<void(const std::vector<AxisCut>&)>& visit) {
  if (r.space.symbols != nullptr) return;
  std::vector<std::vector<AxisCut>> all;
  for (const Dim& d : r.shape()) all.push_back(choices(d.value()));
  for (const auto& c : all)
    if (c.empty()) return;
  std::vector<AxisCut> cuts;
  for (const auto& c : all) cuts.push_back(c[0]);
  visit(cuts);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const AxisCut first = cuts[i];
    for (std::size_t k = 1; k < all[i].size(); ++k) {
      cuts[i] = all[i][k];
      visit(cuts);
      if (i + 1 == all.size() || k >= paired) continue;
      const AxisCut next = cuts[i + 1];
      for (std::size_t m = 1; m < std::min(all[i + 1].size(), paired); ++m) {
        cuts[i + 1] = all[i + 1][m];
        visit(cuts);
      }
      cuts[i + 1] = next;
    }
    cuts[i] = first;
  }
}

void slice(Request& r) {
  const auto choices = [](std::int64_t n) {
    std::vector<AxisCut> out = {{n, 0, n, 1}, {n + 1, 1, n + 1, 1}, {n + 1, 0, n, 1}, {n + 2, 1, n + 1, 1}};
    if (n > 0) out.push_back({2 * n - 1, 0, 2 * n - 1, 2});
    if (n > 0) out.push_back({2 * n + 1, 1, 2 * n + 1, 2});
    return out;
  };
  per_axis(r, 6, choices, [&](const std::vector<AxisCut>& cuts) {
    Shape from;
    Ints starts, limits, strides;
    for (const AxisCut& c : cuts) {
      from.push_back(c.extent);
      starts.push_back(c.a);
      limits.push_back(c.b);
      strides.push_back(c.c);
    }
    r.add({{"starts", starts}, {"limits", limits}, {"strides", strides}}, {r.like(std::move(from))});
  });
}

/// Padding by one on either side of each axis of symbolic extent, and of all of them.
void symbolic_pad(Request& r) {
  for (std::int64_t axis = -1; axis < r.rank(); ++axis)
    for (const auto& [before, behind] : {std::pair<std::int64_t, std::int64_t>(1, 0), {0, 1}, {1, 1}, {0, 0}}) {
      Shape from = r.shape();
      Ints low(from.size(), 0), high(from.size(), 0);
      for (std::int64_t i = 0; i < r.rank(); ++i) {
        if (axis >= 0 && axis != i) continue;
        low[at(i)] = before;
        high[at(i)] = behind;
        from[at(i)] = from[at(i)] - Dim(before + behind);
      }
      r.add({{"low", low}, {"high", high}, {"interior", Ints(from.size(), 0)}}, {r.like(std::move(from)), r.like({})});
    }
}

void pad(Request& r) {
  if (r.space.symbols != nullptr) return symbolic_pad(r);
  const auto choices = [](std::int64_t n) {
    std::vector<AxisCut> out = {{n, 0, 0, 0}};
    for (const AxisCut& c : {AxisCut{n - 1, 1, 0, 0},
                             {n - 1, 0, 1, 0},
                             {n - 2, 1, 1, 0},
                             {n + 1, -1, 0, 0},
                             {n + 1, 0, -1, 0},
                             {n, 1, -1, 0},
                             {n, -1, 1, 0}})
      if (c.extent >= 0) out.push_back(c);
    if (n % 2 == 1) out.push_back({(n + 1) / 2, 0, 0, 1});
    return out;
  };
  per_axis(r, 9, choices, [&](const std::vector<AxisCut>& cuts) {
    Shape from;
    Ints low, high, interior;
    for (const AxisCut& c : cuts) {
      from.push_back(c.extent);
      low.push_back(c.a);
      high.push_back(c.b);
      interior.push_back(c.c);
    }
    r.add({{"low", low}, {"high", high}, {"interior", interior}}, {r.like(std::move(from)), r.like({})});
  });
}

/// Pieces that add up along one axis.
void concat(Request& r) {
  for (std::int64_t axis = 0; axis < r.rank(); ++axis) {
    const Attrs attrs = {{"axis", axis}};
    if (r.operands == 1) r.add(attrs, {r.wanted});
    if (r.operands < 2 || r.space.symbols != nullptr) continue;
    const std::int64_t n = r.shape()[at(axis)].value();
    const auto pieces = [&](auto&& self, std::int64_t left, std::vector<Type>& types) -> void {
      const bool last = types.size() + 1 == r.operands;
      for (std::int64_t e = last ? left : 0; e <= left; ++e) {
        Shape piece = r.shape();
        piece[at(axis)] = e;
        types.push_back(r.like(piece));
        if (last)
          r.add(attrs, types);
        else
          self(self, left - e, types);
        types.pop_back();
      }
    };
    std::vector<Type> types;
    pieces(pieces, n, types);
  }
}

// --- Reductions, sorts, scans --------------------------------------------------------------------------

void reduction(Request& r) {
  with_inserted_axes(r.shape(), 2, r.space,
                     [&](const Shape& from, const Ints& axes) { r.add({{"axes", axes}}, {r.like(from)}); });
}

void arg_reduction(Request& r) {
  with_inserted_axes(r.shape(), 1, r.space, [&](const Shape& from, const Ints& axes) {
    if (axes.empty()) return;
    for (const bool last : {false, true})
      for (const DType dtype : {DType::kF32, DType::kS32})
        r.add({{"axis", axes[0]}, {"last", last}, {"dtype", r.wanted.dtype}}, {Type::tensor(dtype, from)});
  });
}

void sort(Request& r) {
  for (std::int64_t axis = 0; axis < r.rank(); ++axis)
    for (const bool descending : {false, true})
      r.add({{"axis", axis}, {"descending", descending}, {"stable", true}}, std::vector<Type>(r.operands, r.wanted));
}

void top_k(Request& r) {
  if (r.space.symbols != nullptr) return;
  for (std::int64_t axis = 0; axis < r.rank(); ++axis)
    for (std::int64_t more = 0; more <= 1; ++more)
      for (const bool largest : {true, false}) {
        Shape from = r.shape();
        const std::int64_t k = from[at(axis)].value();
        from[at(axis)] = k + more;
        const DType data = r.result == 0 ? r.wanted.dtype : DType::kF32;
        r.add({{"k", k}, {"axis", axis}, {"largest", largest}, {"dtype", r.result == 0 ? DType::kS64 : r.wanted.dtype}},
              {Type::tensor(data, from)});
      }
}

void scan(Request& r) {
  for (std::int64_t axis = 0; axis < r.rank(); ++axis)
    for (const bool exclusive : {false, true})
      for (const bool reverse : {false, true})
        r.add({{"axis", axis}, {"exclusive", exclusive}, {"reverse", reverse}}, {r.wanted});
}

// --- Contractions ----------------------------------------------------------------------------------------

/// The dtypes whose products may be summed up in this one.
std::vector<DType> narrower(DType dtype) {
  if (dtype == DType::kF32) return {dtype, DType::kF16};
  if (dtype == DType::kS32) return {dtype, DType::kS8};
  return {dtype};
}

/// One side of a dot: where its batch, free and contracted axes stand.
struct Side {
  Shape shape;
  Ints batch, contract;
};

/// Every order of the axes in which the free ones keep theirs.
std::vector<Side> sides(const Shape& batch, const Shape& free, const Shape& contract) {
  std::vector<Side> out;
  const auto nb = static_cast<std::int64_t>(batch.size()), nf = static_cast<std::int64_t>(free.size());
  const auto n = nb + nf + static_cast<std::int64_t>(contract.size());
  for (const Ints& place : permutations(n)) {  // place[i] is where axis i of [batch, free, contract] stands
    if (!std::is_sorted(place.begin() + nb, place.begin() + nb + nf)) continue;
    Side side{Shape(at(n)), {}, {}};
    for (std::int64_t i = 0; i < n; ++i) {
      side.shape[at(place[at(i)])] = i < nb ? batch[at(i)] : i < nb + nf ? free[at(i - nb)] : contract[at(i - nb - nf)];
      if (i < nb) side.batch.push_back(place[at(i)]);
      if (i >= nb + nf) side.contract.push_back(place[at(i)]);
    }
    out.push_back(std::move(side));
  }
  return out;
}

/// Attention's products: two batch axes in front, the free and the contracted axis in either order.
void batched_dot(Request& r) {
  const Shape& out = r.shape();
  for (const Dim& contract : new_extents(r.space))
    for (const bool left : {false, true})
      for (const bool right : {false, true}) {
        const Shape a = {out[0], out[1], left ? contract : out[2], left ? out[2] : contract};
        const Shape b = {out[0], out[1], right ? contract : out[3], right ? out[3] : contract};
        r.add({{"lhs_batch", Ints{0, 1}},
               {"rhs_batch", Ints{0, 1}},
               {"lhs_contract", Ints{left ? 2 : 3}},
               {"rhs_contract", Ints{right ? 2 : 3}},
               {"dtype", r.wanted.dtype}},
              {r.like(a), r.like(b)});
      }
}

void dot(Request& r) {
  const std::int64_t most = std::min<std::int64_t>(r.space.max_rank, 3);
  std::vector<Shape> contracts = {{}};
  for (const Shape& one : shapes_of_rank(1, r.space)) contracts.push_back(one);
  if (r.space.symbols == nullptr)
    contracts.push_back({2, 3});
  else
    contracts.push_back(shapes_of_rank(2, r.space)[0]);
  for (std::int64_t nb = 0; nb <= r.rank(); ++nb)
    for (std::int64_t nl = 0; nb + nl <= r.rank(); ++nl)
      for (const Shape& contract : contracts) {
        const std::int64_t nr = r.rank() - nb - nl;
        const auto nc = static_cast<std::int64_t>(contract.size());
        if (nb + nl + nc > most || nb + nr + nc > most) continue;
        const auto begin = r.shape().begin();
        const Shape batch(begin, begin + nb), left(begin + nb, begin + nb + nl),
            right(begin + nb + nl, r.shape().end());
        for (const Side& a : sides(batch, left, contract))
          for (const Side& b : sides(batch, right, contract))
            for (const DType dtype : narrower(r.wanted.dtype))
              r.add({{"lhs_batch", a.batch},
                     {"rhs_batch", b.batch},
                     {"lhs_contract", a.contract},
                     {"rhs_contract", b.contract},
                     {"dtype", r.wanted.dtype}},
                    {Type::tensor(dtype, a.shape), Type::tensor(dtype, b.shape)});
      }
  if (r.rank() == 4 && r.space.max_rank >= 4) batched_dot(r);
}

/// What a window does along one axis.
struct WindowRow {
  std::int64_t size, stride, low, high, lhs_dilation, rhs_dilation, reversal;
};

/// Windows of one or two elements, strides of one or two, padding by nothing or one on either side: every combination.
const std::vector<WindowRow>& plain_rows() {
  static const std::vector<WindowRow> kRows = [] {
    std::vector<WindowRow> out;
    for (const std::int64_t size : {2, 1})
      for (const std::int64_t stride : {1, 2})
        for (const std::int64_t low : {0, 1})
          for (const std::int64_t high : {0, 1}) out.push_back({size, stride, low, high, 1, 1, 0});
    return out;
  }();
  return kRows;
}

/// The same with dilations of one or two, and reversed, every combination; then negative padding and a longer window.
const std::vector<WindowRow>& all_rows() {
  static const std::vector<WindowRow> kRows = [] {
    std::vector<WindowRow> out;
    for (const std::int64_t lhs : {1, 2})
      for (const std::int64_t rhs : {1, 2})
        for (const std::int64_t reversal : {0, 1})
          for (WindowRow row : plain_rows()) {
            row.lhs_dilation = lhs;
            row.rhs_dilation = rhs;
            row.reversal = reversal;
            out.push_back(row);
          }
    out.push_back({2, 1, -1, 0, 1, 1, 0});
    out.push_back({2, 1, 0, -1, 1, 1, 0});
    out.push_back({3, 2, 1, 0, 1, 1, 0});
    return out;
  }();
  return kRows;
}

/// The extent of an input from which the row makes `out` windows; the smallest.
std::optional<std::int64_t> input_extent(const WindowRow& row, std::int64_t out) {
  const std::int64_t window = (row.size - 1) * row.rhs_dilation + 1;
  for (std::int64_t in = 0; in <= 9; ++in) {
    const std::int64_t padded = (in == 0 ? 0 : (in - 1) * row.lhs_dilation + 1) + row.low + row.high;
    const std::int64_t windows = padded < window ? 0 : (padded - window) / row.stride + 1;
    if (windows == out) return in;
  }
  return std::nullopt;
}

struct ConvLayout {
  Ints lhs, rhs, out;
};
/// NCHW, NHWC with HWIO, and NCHW with OIHW to NHWC.
std::vector<ConvLayout> conv_layouts(std::int64_t rank) {
  Ints first(at(rank)), last(at(rank)), weights(at(rank));
  std::iota(first.begin(), first.end(), std::int64_t{0});
  std::iota(last.begin() + 2, last.end(), std::int64_t{1});
  last[1] = rank - 1;  // N...C
  std::iota(weights.begin() + 2, weights.end(), std::int64_t{0});
  weights[0] = rank - 1;  // ...IO
  weights[1] = rank - 2;
  return {{first, first, first}, {last, weights, last}, {first, weights, last}};
}

/// A convolution's attributes but for what its windows do.
struct ConvForm {
  ConvLayout layout;
  std::int64_t groups = 1, batch_groups = 1, in_features = 1;
};

std::vector<ConvForm> conv_forms(std::int64_t rank) {
  std::vector<ConvForm> out;
  for (const ConvLayout& layout : conv_layouts(rank))
    for (const auto& [groups, batch] : {std::pair<std::int64_t, std::int64_t>(1, 1), {2, 1}, {1, 2}})
      for (const std::int64_t in_features : {2, 1}) out.push_back({layout, groups, batch, in_features});
  return out;
}

/// One convolution to the wanted type, its windows along each axis by these rows; none where no input gives it.
void add_conv(Request& r, const ConvForm& form, const std::vector<WindowRow>& rows) {
  const ConvLayout& layout = form.layout;
  Shape x(at(r.rank())), w(at(r.rank()));
  const auto out = [&](std::size_t role) { return r.shape()[at(layout.out[role])].value(); };
  if (out(1) % form.groups != 0 || out(1) % form.batch_groups != 0) return;
  x[at(layout.lhs[0])] = out(0) * form.batch_groups;
  x[at(layout.lhs[1])] = form.in_features * form.groups;
  w[at(layout.rhs[0])] = out(1);
  w[at(layout.rhs[1])] = form.in_features;
  std::map<std::string, Ints> lists;
  for (std::size_t s = 0; s < rows.size(); ++s) {
    const WindowRow& row = rows[s];
    const auto extent = input_extent(row, out(s + 2));
    if (!extent) return;
    x[at(layout.lhs[s + 2])] = *extent;
    w[at(layout.rhs[s + 2])] = row.size;
    lists["strides"].push_back(row.stride);
    lists["pad_low"].push_back(row.low);
    lists["pad_high"].push_back(row.high);
    lists["lhs_dilation"].push_back(row.lhs_dilation);
    lists["rhs_dilation"].push_back(row.rhs_dilation);
    lists["reversal"].push_back(row.reversal);
  }
  for (const DType dtype : narrower(r.wanted.dtype)) {
    Attrs attrs = {{"groups", form.groups},  {"batch_groups", form.batch_groups},
                   {"lhs_spec", layout.lhs}, {"rhs_spec", layout.rhs},
                   {"out_spec", layout.out}, {"dtype", r.wanted.dtype}};
    for (const auto& [name, list] : lists) attrs.set(name, list);
    r.add(std::move(attrs), {Type::tensor(dtype, x), Type::tensor(dtype, w)});
    if (form.in_features != 2 || form.groups != 1) return;  // another dtype has nothing to do with the rest
  }
}

/// The extent from which a row makes `out` windows of this size, as a polynomial; of an undilated input.
Dim input_extent(const WindowRow& row, const Dim& size, const Dim& out) {
  return (out - Dim(1)) * Dim(row.stride) + (size - Dim(1)) * Dim(row.rhs_dilation) + Dim(1 - row.low - row.high);
}

/// Extents are symbols, the window's own too where it is not one. Every row in the first form, one in each other.
void symbolic_conv(Request& r) {
  std::vector<WindowRow> rows = {{2, 1, 0, 0, 1, 1, 0}, {2, 2, 0, 0, 1, 1, 0}, {1, 1, 0, 0, 1, 1, 0},
                                 {2, 1, 1, 0, 1, 1, 0}, {2, 1, 0, 1, 1, 1, 0}, {2, 2, 1, 1, 1, 1, 0},
                                 {2, 1, 1, 1, 1, 2, 0}, {2, 1, 0, 0, 1, 1, 1}, {2, 1, -1, 0, 1, 1, 0}};
  const std::vector<ConvForm> forms = conv_forms(r.rank());
  for (std::size_t f = 0; f < forms.size(); ++f)
    for (std::size_t i = 0; i < (f == 0 && r.rank() > 2 ? rows.size() : 1); ++i) {
      const ConvForm& form = forms[f];
      const ConvLayout& layout = form.layout;
      Shape x(at(r.rank())), w(at(r.rank()));
      const auto out = [&](std::size_t role) { return r.shape()[at(layout.out[role])]; };
      if (out(1).is_constant() && form.groups * form.batch_groups > 1) continue;
      const Dim in_features = form.in_features == 1 ? Dim(1) : new_extents(r.space)[0];
      x[at(layout.lhs[0])] = out(0) * Dim(form.batch_groups);
      x[at(layout.lhs[1])] = in_features * Dim(form.groups);
      w[at(layout.rhs[0])] = out(1);
      w[at(layout.rhs[1])] = in_features;
      std::map<std::string, Ints> lists;
      for (std::int64_t s = 0; s < r.rank() - 2; ++s) {
        const WindowRow& row = rows[(i + at(s) * 3) % rows.size()];
        const Dim size = row.size == 1 ? Dim(1) : new_extents(r.space)[0];
        x[at(layout.lhs[at(s) + 2])] = input_extent(row, size, out(at(s) + 2));
        w[at(layout.rhs[at(s) + 2])] = size;
        lists["strides"].push_back(row.stride);
        lists["pad_low"].push_back(row.low);
        lists["pad_high"].push_back(row.high);
        lists["rhs_dilation"].push_back(row.rhs_dilation);
        lists["reversal"].push_back(row.reversal);
      }
      Attrs attrs = {{"groups", form.groups},  {"batch_groups", form.batch_groups},
                     {"lhs_spec", layout.lhs}, {"rhs_spec", layout.rhs},
                     {"out_spec", layout.out}, {"dtype", r.wanted.dtype}};
      for (const auto& [name, list] : lists) attrs.set(name, list);
      r.add(std::move(attrs), {r.like(x), r.like(w)});
    }
}

/// One spatial axis: every plain row in every form, every other row in the first. Two: every pair of plain rows in the
/// first form, each plain row beside one other in every form.
void conv(Request& r) {
  if (r.rank() < 2) return;
  if (r.space.symbols != nullptr) return symbolic_conv(r);
  const std::vector<ConvForm> forms = conv_forms(r.rank());
  const std::vector<WindowRow>&plain = plain_rows(), &every = all_rows();
  for (std::size_t f = 0; f < forms.size(); ++f) {
    if (r.rank() == 2) add_conv(r, forms[f], {});
    if (r.rank() == 3)
      for (const WindowRow& row : f == 0 ? every : plain) add_conv(r, forms[f], {row});
    if (r.rank() != 4) continue;
    for (std::size_t i = 0; i < plain.size(); ++i)
      for (std::size_t k = 0; k < plain.size(); ++k)
        if (f == 0 || k == (i + 5) % plain.size()) add_conv(r, forms[f], {plain[i], plain[k]});
    for (std::size_t i = plain.size(); f == 0 && i < every.size(); ++i)
      add_conv(r, forms[f], {every[i], every[(i + 37) % every.size()]});
  }
}

/// Windows along one axis, and along all of them, of symbolic extents.
void symbolic_window(Request& r) {
  const WindowRow rows[] = {{2, 1, 0, 0, 1, 1, 0}, {2, 2, 0, 0, 1, 1, 0}, {3, 3, 0, 0, 1, 1, 0},
                            {2, 1, 1, 0, 1, 1, 0}, {2, 1, 1, 1, 1, 2, 0}, {3, 2, 0, 1, 1, 1, 0}};
  for (std::int64_t axis = -1; axis < r.rank(); ++axis)
    for (const WindowRow& row : rows) {
      Shape from;
      std::map<std::string, Ints> lists;
      for (std::int64_t i = 0; i < r.rank(); ++i) {
        const WindowRow own = axis < 0 || axis == i ? row : WindowRow{1, 1, 0, 0, 1, 1, 0};
        from.push_back(input_extent(own, Dim(own.size), r.shape()[at(i)]));
        lists["window"].push_back(own.size);
        lists["strides"].push_back(own.stride);
        lists["pad_low"].push_back(own.low);
        lists["pad_high"].push_back(own.high);
        lists["base_dilation"].push_back(1);
        lists["window_dilation"].push_back(own.rhs_dilation);
      }
      Attrs attrs;
      for (const auto& [name, list] : lists) attrs.set(name, list);
      r.add(std::move(attrs), {r.like(std::move(from))});
    }
}

/// Along each axis a row of all_rows() without reversal or windows of three side by side: all of them on one axis,
/// pairs of the undilated ones on neighbouring axes.
void window(Request& r) {
  if (r.space.symbols != nullptr) return symbolic_window(r);
  static const std::vector<WindowRow> kRows = [] {
    std::vector<WindowRow> rows = {{1, 1, 0, 0, 1, 1, 0}, {3, 3, 0, 0, 1, 1, 0}, {3, 3, 1, 1, 1, 1, 0}};
    for (const WindowRow& row : all_rows())
      if (row.reversal == 0 && (row.size != 1 || row.stride != 1 || row.low != 0 || row.high != 0)) rows.push_back(row);
    return rows;
  }();
  constexpr std::size_t kPaired = 11;
  const auto choices = [](std::int64_t n) {
    std::vector<AxisCut> out;  // `a` is the row
    for (std::size_t i = 0; i < kRows.size(); ++i)
      if (const auto extent = input_extent(kRows[i], n)) out.push_back({*extent, static_cast<std::int64_t>(i), 0, 0});
    return out;
  };
  per_axis(r, kPaired, choices, [&](const std::vector<AxisCut>& cuts) {
    Shape from;
    Ints size, strides, low, high, base, dilation;
    for (const AxisCut& c : cuts) {
      const WindowRow& row = kRows[at(c.a)];
      from.push_back(c.extent);
      size.push_back(row.size);
      strides.push_back(row.stride);
      low.push_back(row.low);
      high.push_back(row.high);
      base.push_back(row.lhs_dilation);
      dilation.push_back(row.rhs_dilation);
    }
    r.add({{"window", size},
           {"strides", strides},
           {"pad_low", low},
           {"pad_high", high},
           {"base_dilation", base},
           {"window_dilation", dilation}},
          {r.like(std::move(from))});
  });
}

// --- Indexing, sources ---------------------------------------------------------------------------------------

void take(Request& r) {
  for (std::int64_t axis = 0; axis <= r.rank(); ++axis)
    for (std::int64_t q = 0; axis + q <= r.rank() && q <= 2; ++q)
      for (const Dim& extent : new_extents(r.space)) {
        const auto begin = r.shape().begin();
        Shape from(begin, begin + axis);
        from.push_back(extent);
        from.insert(from.end(), begin + axis + q, r.shape().end());
        if (static_cast<std::int64_t>(from.size()) > r.space.max_rank) continue;
        r.add({{"axis", axis}},
              {r.like(std::move(from)), Type::tensor(DType::kS64, Shape(begin + axis, begin + axis + q))});
      }
}

void take_along(Request& r) {
  for (std::int64_t axis = 0; axis < r.rank(); ++axis)
    for (const Dim& extent : new_extents(r.space)) {
      Shape from = r.shape();
      from[at(axis)] = extent;
      r.add({{"axis", axis}}, {r.like(std::move(from)), Type::tensor(DType::kS64, r.shape())});
    }
}

void dynamic_slice(Request& r) {
  if (r.space.symbols != nullptr) return;
  const bool update = r.op.name == "dynamic_update_slice";
  const std::vector<Type> starts(at(r.rank()), Type::tensor(DType::kS32, {}));
  for (std::int64_t axis = -1; axis < r.rank(); ++axis) {
    Shape other = r.shape();
    if (axis >= 0)
      other[at(axis)] = update ? std::max<std::int64_t>(other[at(axis)].value() - 1, 0) : other[at(axis)].value() + 1;
    std::vector<Type> types = {update ? r.wanted : r.like(other)};
    if (update) types.push_back(r.like(other));
    types.insert(types.end(), starts.begin(), starts.end());
    if (types.size() != r.operands) continue;
    r.add(update ? Attrs() : Attrs{{"sizes", ops::static_dims(r.shape())}}, std::move(types));
  }
}

void iota(Request& r) {
  for (std::int64_t axis = 0; axis < std::max<std::int64_t>(r.rank(), 1); ++axis)
    r.add({{"shape", r.shape()}, {"dtype", r.wanted.dtype}, {"axis", axis}}, {});
}

using Maker = void (*)(Request&);
const std::map<std::string, Maker>& makers() {
  static const std::map<std::string, Maker> kMakers = {{"broadcast", broadcast},
                                                       {"reshape", reshape},
                                                       {"transpose", transpose},
                                                       {"reverse", reverse},
                                                       {"slice", slice},
                                                       {"pad", pad},
                                                       {"concat", concat},
                                                       {"arg_max", arg_reduction},
                                                       {"arg_min", arg_reduction},
                                                       {"sort", sort},
                                                       {"top_k", top_k},
                                                       {"dot", dot},
                                                       {"conv", conv},
                                                       {"take", take},
                                                       {"take_along", take_along},
                                                       {"dynamic_slice", dynamic_slice},
                                                       {"dynamic_update_slice", dynamic_slice},
                                                       {"iota", iota}};
  return kMakers;
}

// --- Any other operator: by trial -------------------------------------------------------------------------------

/// Values of one attribute to try on a first operand of this type.
std::vector<AttrValue> attr_values(const ops::AttrSpec& spec, const Type& first) {
  std::vector<AttrValue> out;
  switch (spec.kind) {
    case AttrKind::kInt:
      if (spec.axis_of) {
        for (std::int64_t a = 0; a < first.rank(); ++a) out.emplace_back(a);
      } else {
        for (std::int64_t v = 0; v <= 3; ++v) out.emplace_back(v);
      }
      return out;
    case AttrKind::kFloat:
      if (spec.fallback) out.push_back(*spec.fallback);
      for (const double v : {0.5, 1.0, -2.0}) out.emplace_back(v);
      return out;
    case AttrKind::kBool: return {false, true};
    case AttrKind::kDType: return {DType::kF32, DType::kS32};
    case AttrKind::kInts:
      for (Ints& axes : subsets(first.rank())) out.emplace_back(std::move(axes));
      return out;
    case AttrKind::kShape: return {first.shape};
    case AttrKind::kString:
    case AttrKind::kFloats:
    case AttrKind::kStrings:
    case AttrKind::kTensor:
      if (spec.fallback) out.push_back(*spec.fallback);
      return out;
  }
  return out;
}

/// What a further operand may look like beside a first one: like it, or along some of its axes.
std::vector<Type> companions(const Type& first) {
  std::vector<Type> out = {first};
  for (std::size_t i = 1; i <= first.shape.size(); ++i)
    out.push_back(
        Type::tensor(first.dtype, Shape(first.shape.begin() + static_cast<std::ptrdiff_t>(i), first.shape.end())));
  for (std::size_t i = 0; i + 1 < first.shape.size(); ++i) out.push_back(Type::tensor(first.dtype, {first.shape[i]}));
  std::vector<Type> distinct;
  for (Type& type : out)
    if (std::ranges::find(distinct, type) == distinct.end()) distinct.push_back(std::move(type));
  return distinct;
}

}  // namespace

std::vector<Source> uses_of(const ops::OpTable& table, ops::OpId id, const Type& first,
                            const std::vector<bool>& present, const Space&) {
  const OpInfo& op = table[id];
  std::vector<std::vector<Type>> operands = {{first}};
  for (std::size_t i = 1; i < present.size(); ++i) {
    std::vector<std::vector<Type>> longer;
    for (const auto& types : operands)
      for (const Type& type : present[i] ? companions(first) : std::vector<Type>{Type()}) {
        longer.push_back(types);
        longer.back().push_back(type);
      }
    operands = std::move(longer);
  }
  // Attributes off their defaults one at a time, those without a default in every way.
  std::vector<Attrs> attrs(1);
  for (const ops::AttrSpec& spec : op.attrs) {
    if (spec.fallback || spec.optional) continue;
    std::vector<Attrs> more;
    for (const Attrs& a : attrs)
      for (AttrValue& value : attr_values(spec, first)) {
        more.push_back(a);
        more.back().set(spec.name, std::move(value));
      }
    attrs = std::move(more);
  }
  const std::size_t needed = attrs.size();
  for (const ops::AttrSpec& spec : op.attrs) {
    if (!spec.fallback && !spec.optional) continue;
    for (AttrValue& value : attr_values(spec, first)) {
      if (spec.fallback && ops::equal(value, *spec.fallback)) continue;
      for (std::size_t i = 0; i < needed; ++i) {
        attrs.push_back(attrs[i]);
        attrs.back().set(spec.name, value);
      }
    }
  }
  std::vector<Source> out;
  for (const auto& types : operands)
    for (const Attrs& a : attrs) {
      if (out.size() >= kMostSources) return out;
      auto complete = table.complete_attrs(id, a, types);
      if (complete && table.infer(id, types, *complete)) out.push_back({*std::move(complete), types});
    }
  return out;
}

Sources sources_of(const ops::OpTable& table, ops::OpId id, const Type& wanted, std::uint32_t result,
                   std::size_t operands, const Space& space) {
  const OpInfo& op = table[id];
  Request r{table, op, wanted, result, operands, space, {}, true};
  if (const auto maker = makers().find(op.name); maker != makers().end()) {
    maker->second(r);
  } else if (op.op_class == OpClass::kElementwise) {
    elementwise(r);
  } else if (op.op_class == OpClass::kReduction) {
    reduction(r);
  } else if (op.op_class == OpClass::kScan) {
    scan(r);
  } else if (op.op_class == OpClass::kWindow) {
    window(r);
  } else if (op.op_class == OpClass::kComposite || op.op_class == OpClass::kUninterpreted) {
    if (operands == 0) return {};
    with_inserted_axes(wanted.shape, op.attrs.empty() ? 0 : 1, space, [&](const Shape& from, const Ints&) {
      for (Source& s : uses_of(table, id, r.like(from), std::vector<bool>(operands, true), space))
        r.add(std::move(s.attrs), std::move(s.operands));
    });
  }
  Sources out{{}, r.all};
  for (Source& s : r.out) {
    auto complete = table.complete_attrs(id, s.attrs, s.operands);
    if (!complete) continue;
    const auto types = table.infer(id, s.operands, *complete);
    if (!types || result >= types->size() || (*types)[result] != wanted) continue;
    out.ways.push_back({*std::move(complete), std::move(s.operands)});
  }
  return out;
}

std::vector<Shape> shapes_of_rank(std::int64_t rank, const Space& space) {
  std::vector<Shape> shapes(1);
  for (std::int64_t i = 0; i < rank; ++i) {
    std::vector<Shape> longer;
    for (const Shape& shape : shapes)
      for (const Dim& extent : new_extents(space)) {
        longer.push_back(shape);
        longer.back().push_back(extent);
      }
    shapes = std::move(longer);
  }
  return shapes;
}

const std::vector<DType>& all_dtypes() {
  static const std::vector<DType> kDTypes = {DType::kF32,      DType::kS32,   DType::kPred, DType::kF16, DType::kBF16,
                                             DType::kF64,      DType::kS8,    DType::kS16,  DType::kS64, DType::kU8,
                                             DType::kU16,      DType::kU32,   DType::kU64,  DType::kS4,  DType::kU4,
                                             DType::kF8E4M3FN, DType::kF8E5M2};
  return kDTypes;
}

}  // namespace fusewright::prove
