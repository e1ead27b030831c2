#include "fusewright/egraph/broadcast.hpp"

namespace fusewright::egraph {

bool is_trailing(std::span<const std::int64_t> dims, std::size_t rank) {
  if (dims.size() > rank) return false;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] != static_cast<std::int64_t>(rank - dims.size() + i)) return false;
  }
  return true;
}

bool drops_growing_units(const ops::Shape& source, std::span<const std::int64_t> dims, const ops::Shape& shape) {
  if (source.size() > shape.size()) return false;
  const std::size_t lead = shape.size() - source.size();
  std::size_t kept = 0;
  for (std::size_t i = 0; i < source.size(); ++i) {
    if (source[i] == shape[lead + i]) {
      if (kept >= dims.size() || dims[kept] != static_cast<std::int64_t>(lead + i)) return false;
      ++kept;
    } else if (!(source[i] == Dim(1))) {
      return false;
    }
  }
  return kept == dims.size() && kept < source.size();
}

bool broadcast_together(std::span<const ops::Shape* const> shapes, const ops::Shape& shape) {
  std::size_t rank = 0;
  for (const ops::Shape* s : shapes) rank = s->size() > rank ? s->size() : rank;
  if (rank != shape.size()) return false;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    bool reached = false;
    for (const ops::Shape* s : shapes) {
      const std::size_t lead = shape.size() - s->size();
      reached |= axis >= lead && (*s)[axis - lead] == shape[axis];
    }
    if (!reached) return false;
  }
  return true;
}

}  // namespace fusewright::egraph
