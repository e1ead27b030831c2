#pragma once

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>

#include "fusewright/prove/space.hpp"

/// What the parts of `sources_of` share. Each operator that is asked for by its result has a function.
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

constexpr std::size_t kMostSources = 20'000;  // of one operator for one type

/// Extents that an axis may have: those of the space, or a symbol of its own.
std::vector<Dim> new_extents(const Space& space);
inline std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }
/// Increasing lists out of 0..n-1.
std::vector<Ints> subsets(std::int64_t n);
std::vector<Ints> permutations(std::int64_t n);

/// One operator and the type that it is to have; what gives it is added to `out`.
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
                        const std::function<void(const Shape&, const Ints&)>& visit);

/// What one axis of a slice or pad may do, most ordinary first.
struct AxisCut {
  std::int64_t extent, a, b, c;
};

/// All axes as they are, then every choice on one axis, then pairs of the first `paired` choices on two neighbours.
void per_axis(Request& r, std::size_t paired, const std::function<std::vector<AxisCut>(std::int64_t extent)>& choices,
              const std::function<void(const std::vector<AxisCut>&)>& visit);

/// These, and those that the rule names.
std::vector<DType> and_named(std::vector<DType> dtypes, const Space& space);

void broadcast(Request& r);
void reshape(Request& r);
void transpose(Request& r);
void reverse(Request& r);
void slice(Request& r);
void pad(Request& r);
void concat(Request& r);
void dot(Request& r);
void conv(Request& r);
void window(Request& r);
void gather(Request& r);
void scatter(Request& r);
void take(Request& r);
void take_along(Request& r);
void dynamic_slice(Request& r);

}  // namespace fusewright::prove
