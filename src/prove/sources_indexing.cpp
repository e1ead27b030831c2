#include "sources.hpp"

namespace fusewright::prove {

/// HLO's gather. Every choice of which result axes walk inside the slice; one axis of the operand that the slice has no
/// extent in, at any place, or none; starts along that axis, along one of the slice's own or along both; the numbers of
/// an index first, last, or one number without an axis of its own; and one axis of batches that both operands have.
void gather(Request& r) {
  if (r.space.symbols != nullptr) return;
  const auto add = [&](const Ints& offset, const Shape& from, const Ints& sizes, const Ints& collapsed,
                       const Ints& start, const Ints& batching) {
    if (static_cast<std::int64_t>(from.size()) > r.space.max_rank) return;
    Shape batch;
    for (std::int64_t i = 0; i < r.rank(); ++i)
      if (std::ranges::find(offset, i) == offset.end()) batch.push_back(r.shape()[at(i)]);
    const auto rank = static_cast<std::int64_t>(batch.size()), numbers = static_cast<std::int64_t>(start.size());
    for (const std::int64_t vector : {rank, std::int64_t{0}, std::int64_t{-1}}) {
      Shape indices = batch;
      if (vector >= 0) indices.insert(indices.begin() + vector, Dim(numbers));
      if ((vector < 0 && numbers != 1) || (vector == 0 && (rank == 0 || !batching.empty()))) continue;
      r.add({{"offset_dims", offset},
             {"collapsed_slice_dims", collapsed},
             {"start_index_map", start},
             {"operand_batching_dims", batching},
             {"indices_batching_dims", batching},
             {"index_vector_dim", vector < 0 ? rank : vector},
             {"slice_sizes", sizes}},
            {r.like(from), Type::tensor(DType::kS32, std::move(indices))});
    }
  };
  for (const Ints& offset : subsets(r.rank())) {
    Shape slice;
    for (const std::int64_t d : offset) slice.push_back(r.shape()[at(d)]);
    const Ints own = ops::static_dims(slice);
    const auto n = static_cast<std::int64_t>(own.size());
    for (std::int64_t axis = 0; axis < n; ++axis) {  // slices that begin somewhere along an axis
      Shape from = slice;
      from[at(axis)] = from[at(axis)] + Dim(1);
      add(offset, from, own, {}, {axis}, {});
    }
    for (std::int64_t place = 0; place <= n; ++place)
      for (const Dim& extent : new_extents(r.space)) {
        if (extent == Dim(0)) continue;
        Shape from = slice;
        Ints sizes = own;
        from.insert(from.begin() + place, extent);
        sizes.insert(sizes.begin() + place, 1);
        add(offset, from, sizes, {place}, {place}, {});
        if (n == 0) continue;
        const std::int64_t other = place == 0 ? 1 : 0;
        from[at(other)] = from[at(other)] + Dim(1);
        add(offset, from, sizes, {place}, {place, other}, {});
        add(offset, from, sizes, {place}, {other, place}, {});
      }
    if (n == r.rank() || (n > 0 && offset[0] == 0)) continue;
    Shape from = slice;  // behind the batches, which are the first axis of all three
    Ints sizes = own;
    from.insert(from.begin(), {r.shape()[0], Dim(3)});
    sizes.insert(sizes.begin(), {1, 1});
    add(offset, from, sizes, {1}, {1}, {0});
  }
}

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

}  // namespace fusewright::prove
