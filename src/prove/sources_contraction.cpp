#include "sources.hpp"

namespace fusewright::prove {

namespace {

/// The dtypes whose products may be summed up in that of the result.
std::vector<DType> narrower(const Request& r) {
  const DType dtype = r.wanted.dtype;
  if (dtype == DType::kF32) return and_named({dtype, DType::kF16}, r.space);
  if (dtype == DType::kS32) return and_named({dtype, DType::kS8}, r.space);
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
        for (const DType dtype : and_named({r.wanted.dtype}, r.space))
          r.add({{"lhs_batch", Ints{0, 1}},
                 {"rhs_batch", Ints{0, 1}},
                 {"lhs_contract", Ints{left ? 2 : 3}},
                 {"rhs_contract", Ints{right ? 2 : 3}},
                 {"dtype", r.wanted.dtype}},
                {Type::tensor(dtype, a), Type::tensor(dtype, b)});
      }
}

}  // namespace

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
            for (const DType dtype : narrower(r))
              r.add({{"lhs_batch", a.batch},
                     {"rhs_batch", b.batch},
                     {"lhs_contract", a.contract},
                     {"rhs_contract", b.contract},
                     {"dtype", r.wanted.dtype}},
                    {Type::tensor(dtype, a.shape), Type::tensor(dtype, b.shape)});
      }
  if (r.rank() == 4 && r.space.max_rank >= 4) batched_dot(r);
}

namespace {

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
  for (const DType dtype : narrower(r)) {
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

}  // namespace

namespace {

/// The rows that are not plain, beside the simplest window and the most complicated one.
bool is_corner(const WindowRow& row) {
  return row.size != 2 || (row.stride == 1 && row.low + row.high == 0) || row.stride + row.low + row.high == 4 ||
         row.low < 0 || row.high < 0;
}

/// One axis at a time: every plain row in the first form, one in each other; corners of the others in the first.
void narrow_conv(Request& r) {
  const std::vector<ConvForm> forms = conv_forms(r.rank());
  const std::vector<WindowRow>&plain = plain_rows(), &every = all_rows();
  const auto along = [&](const ConvForm& form, const WindowRow& row) {
    for (std::int64_t axis = 0; axis < r.rank() - 2; ++axis) {
      std::vector<WindowRow> rows(at(r.rank() - 2), plain[0]);
      rows[at(axis)] = row;
      add_conv(r, form, rows);
    }
  };
  for (std::size_t f = 1; f < forms.size(); ++f) along(forms[f], plain[5]);
  for (std::size_t i = 0; i < every.size(); ++i)
    if (i < plain.size() || (every[i].size != 1 && is_corner(every[i]))) along(forms[0], every[i]);
}

}  // namespace

/// One spatial axis: every plain row in every form, every other row in the first. Two: every pair of plain rows in the
/// first form, each plain row beside one other in every form.
void conv(Request& r) {
  if (r.rank() < 2) return;
  if (r.space.symbols != nullptr) return symbolic_conv(r);
  if (r.rank() > (r.space.narrow ? 2 : 4)) return narrow_conv(r);
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

namespace {

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

}  // namespace

/// Along each axis a row of all_rows() without reversal, windows of three side by side, or windows side by side that do
/// not reach an edge: all of them on one axis, pairs of the undilated ones on neighbouring axes.
void window(Request& r) {
  if (r.space.symbols != nullptr) return symbolic_window(r);
  static const std::vector<WindowRow> kRows = [] {
    std::vector<WindowRow> rows = {{1, 1, 0, 0, 1, 1, 0}, {3, 3, 0, 0, 1, 1, 0}, {3, 3, 1, 1, 1, 1, 0}};
    for (const WindowRow& row : all_rows())
      if (row.reversal == 0 && (row.size != 1 || row.stride != 1 || row.low != 0 || row.high != 0)) rows.push_back(row);
    for (const auto& [low, high] : {std::pair<std::int64_t, std::int64_t>(-1, 0), {0, -1}})
      for (const std::int64_t size : {1, 2}) rows.push_back({size, size, low, high, 1, 1, 0});
    return rows;
  }();
  constexpr std::size_t kPaired = 11;
  const auto taken = [&](const WindowRow& row) {
    const bool dilated = row.lhs_dilation + row.rhs_dilation > 2;
    return !r.space.narrow || !dilated || (row.size == 2 && is_corner(row));
  };
  const auto choices = [&](std::int64_t n) {
    std::vector<AxisCut> out;  // `a` is the row
    for (std::size_t i = 0; i < kRows.size(); ++i) {
      const auto extent = input_extent(kRows[i], n);
      if (!extent || !taken(kRows[i])) continue;
      out.push_back({*extent, static_cast<std::int64_t>(i), 0, 0});
    }
    for (std::size_t i = 0; i < kRows.size(); ++i) {  // an element that no window reaches
      const WindowRow& row = kRows[i];
      const bool pieces = row.size == 2 && row.stride == 2 && row.low == 0 && row.high == 0;
      const auto extent = input_extent(row, n);
      if (extent && pieces && row.lhs_dilation + row.rhs_dilation == 2)
        out.push_back({*extent + 1, static_cast<std::int64_t>(i), 0, 0});
    }
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

}  // namespace fusewright::prove
