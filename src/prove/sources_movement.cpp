#include "sources.hpp"

namespace fusewright::prove {

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
    Space split = r.space;  // of axes that are several more below, the factors
    split.extents = {1, 2};
    for (std::int64_t rank = 0; rank <= r.space.max_rank; ++rank)
      for (const Shape& from : shapes_of_rank(rank, rank <= r.rank() + 1 ? wide : split)) {
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

/// Of many axes the rotations, which leave none where it was, the exchanges of two, and the reversal.
std::vector<Ints> orders_of_axes(std::int64_t rank) {
  constexpr std::int64_t kAll = 4;
  if (rank <= kAll) return permutations(rank);
  Ints own(at(rank));
  std::iota(own.begin(), own.end(), std::int64_t{0});
  std::vector<Ints> out = {own, Ints(own.rbegin(), own.rend())};
  for (std::int64_t i = 1; i < rank; ++i) {
    out.push_back(own);
    std::ranges::rotate(out.back(), out.back().begin() + i);
  }
  for (std::size_t i = 0; i < own.size(); ++i)
    for (std::size_t k = i + 1; k < own.size(); ++k) {
      out.push_back(own);
      std::swap(out.back()[i], out.back()[k]);
    }
  return out;
}

void transpose(Request& r) {
  for (const Ints& perm : orders_of_axes(r.rank())) {
    Shape from(r.shape().size());
    for (std::size_t i = 0; i < from.size(); ++i) from[at(perm[i])] = r.shape()[i];
    r.add({{"perm", perm}}, {r.like(std::move(from))});
  }
}

void reverse(Request& r) {
  for (const Ints& axes : subsets(r.rank())) r.add({{"axes", axes}}, {r.wanted});
}

void per_axis(Request& r, std::size_t paired, const std::function<std::vector<AxisCut>(std::int64_t extent)>& choices,
              const std::function<void(const std::vector<AxisCut>&)>& visit) {
  if (r.space.symbols != nullptr) return;
  if (r.space.narrow) paired = 0;
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
    // Beside other pieces of a longer tensor.
    out.push_back({n + 2, 0, n, 1});
    out.push_back({n + 2, 2, n + 2, 1});
    if (n > 0) out.push_back({2 * n + 1, 0, 2 * n - 1, 2});
    if (n == 0) out.insert(out.end(), {{3, 1, 1, 1}, {3, 3, 3, 1}, {3, 3, 3, 2}});
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

namespace {

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

}  // namespace

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

}  // namespace fusewright::prove
