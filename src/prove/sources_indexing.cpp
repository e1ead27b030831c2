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
      for (const DType dtype : and_named({DType::kS32}, r.space)) {
        r.add({{"offset_dims", offset},
               {"collapsed_slice_dims", collapsed},
               {"start_index_map", start},
               {"operand_batching_dims", batching},
               {"indices_batching_dims", batching},
               {"index_vector_dim", vector < 0 ? rank : vector},
               {"slice_sizes", sizes}},
              {r.like(from), Type::tensor(dtype, indices)});
      }
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

namespace {

/// What a scatter writes at one place, and where that is told.
struct ScatterForm {
  Ints inserted, batching;  ///< axes of x that a slice does not have
  Ints map;                 ///< axes of x that an index tells the start along
  Shape sizes;              ///< of a slice
  Shape batch;              ///< of the indices
};

/// One form with the slice's axes at any place among the updates', and the numbers of an index first, last, or without
/// an axis of their own.
void scatter_form(Request& r, const std::string& combiner, const ScatterForm& form) {
  const auto rank = static_cast<std::int64_t>(form.batch.size()), numbers = static_cast<std::int64_t>(form.map.size());
  const auto all = rank + static_cast<std::int64_t>(form.sizes.size());
  for (const std::int64_t vector : {rank, std::int64_t{0}, std::int64_t{-1}}) {
    if ((vector < 0 && numbers != 1) || (vector == 0 && (rank == 0 || !form.batching.empty()))) continue;
    Shape indices = form.batch;
    if (vector >= 0) indices.insert(indices.begin() + vector, Dim(numbers));
    for (const Ints& window : subsets(all)) {
      if (window.size() != form.sizes.size()) continue;
      Shape updates;
      std::size_t next_size = 0, next_batch = 0;
      for (std::int64_t i = 0; i < all; ++i) {
        const bool inside = std::ranges::find(window, i) != window.end();
        updates.push_back(inside ? form.sizes[next_size++] : form.batch[next_batch++]);
      }
      for (const DType dtype : and_named({DType::kS32}, r.space)) {
        r.add({{"update_window_dims", window},
               {"inserted_window_dims", form.inserted},
               {"scatter_dims_to_operand_dims", form.map},
               {"input_batching_dims", form.batching},
               {"indices_batching_dims", form.batching},
               {"index_vector_dim", vector < 0 ? rank : vector},
               {"combiner", combiner}},
              {r.wanted, Type::tensor(dtype, indices), r.like(updates)});
      }
    }
  }
}

}  // namespace

/// HLO's scatter. Every choice of axes that a slice does not have; starts along those, in either order, or along one of
/// the slice's own, which is one shorter then; no axis of indices, one or two; and one axis of batches that both
/// operands have. Each with every combiner.
void scatter(Request& r) {
  if (r.space.symbols != nullptr) return;
  for (const Ints& inserted : subsets(r.rank())) {
    Shape slice;
    Ints kept;
    for (std::int64_t i = 0; i < r.rank(); ++i) {
      if (std::ranges::find(inserted, i) != inserted.end()) continue;
      slice.push_back(r.shape()[at(i)]);
      kept.push_back(i);
    }
    std::vector<Shape> batches = {{}};
    for (const Dim& extent : new_extents(r.space)) batches.push_back({extent});
    batches.push_back({Dim(2), Dim(1)});
    for (const std::string combiner : {"assign", "add", "mul", "max", "min"})
      for (const Shape& batch : batches) {
        scatter_form(r, combiner, {inserted, {}, inserted, slice, batch});
        if (inserted.size() > 1)
          scatter_form(r, combiner, {inserted, {}, {inserted.rbegin(), inserted.rend()}, slice, batch});
        for (std::size_t k = 0; k < kept.size() && slice[k] != Dim(0); ++k) {
          ScatterForm form{inserted, {}, inserted, slice, batch};
          form.map.push_back(kept[k]);
          form.sizes[k] = form.sizes[k] - Dim(1);
          scatter_form(r, combiner, form);
        }
        if (inserted.empty() || inserted[0] != 0) continue;
        const Ints others(inserted.begin() + 1, inserted.end());
        if (batch.empty() && !others.empty()) scatter_form(r, combiner, {others, {0}, others, slice, {r.shape()[0]}});
      }
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
        for (const DType dtype : and_named({DType::kS64, DType::kS32}, r.space))
          r.add({{"axis", axis}}, {r.like(from), Type::tensor(dtype, Shape(begin + axis, begin + axis + q))});
      }
}

void take_along(Request& r) {
  for (std::int64_t axis = 0; axis < r.rank(); ++axis)
    for (const Dim& extent : new_extents(r.space)) {
      Shape from = r.shape();
      from[at(axis)] = extent;
      for (const DType dtype : and_named({DType::kS64, DType::kS32}, r.space))
        r.add({{"axis", axis}}, {r.like(from), Type::tensor(dtype, r.shape())});
    }
}

namespace {

void dynamic_slice_by(Request& r, DType dtype) {
  const bool update = r.op.name == "dynamic_update_slice";
  for (std::int64_t axis = -1; axis < r.rank(); ++axis) {
    Shape other = r.shape();
    if (axis >= 0)
      other[at(axis)] = update ? std::max<std::int64_t>(other[at(axis)].value() - 1, 0) : other[at(axis)].value() + 1;
    std::vector<Type> types = {update ? r.wanted : r.like(other)};
    if (update) types.push_back(r.like(other));
    types.insert(types.end(), at(r.rank()), Type::tensor(dtype, {}));
    if (types.size() != r.operands) continue;
    r.add(update ? Attrs() : Attrs{{"sizes", ops::static_dims(r.shape())}}, std::move(types));
  }
}

}  // namespace

void dynamic_slice(Request& r) {
  if (r.space.symbols != nullptr) return;
  for (const DType dtype : and_named({DType::kS32}, r.space)) dynamic_slice_by(r, dtype);
}

}  // namespace fusewright::prove
