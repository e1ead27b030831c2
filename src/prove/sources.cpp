#include "sources.hpp"

#include <fmt/format.h>

#include <cmath>
#include <map>

namespace fusewright::prove {

std::vector<Dim> new_extents(const Space& space) {
  if (space.symbols != nullptr)
    return {Dim::symbol("n" + std::to_string((*space.symbols)++)), Dim::symbol("n"), Dim(1)};
  return {space.extents.begin(), space.extents.end()};
}

std::vector<DType> and_named(std::vector<DType> dtypes, const Space& space) {
  for (const DType dtype : space.named)
    if (std::ranges::find(dtypes, dtype) == dtypes.end()) dtypes.push_back(dtype);
  return dtypes;
}

/// Of operands whose dtype the result does not tell.
std::vector<DType> open_dtypes(const Space& space) {
  return and_named(space.plain ? some_dtypes() : all_dtypes(), space);
}

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

namespace {

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
  for (const DType dtype : !converts && !tests ? one : open_dtypes(r.space))
    for (const Attrs& a : attrs) r.add(a, std::vector<Type>(r.operands, Type::tensor(dtype, r.shape())));
}

// --- Reductions, sorts, scans --------------------------------------------------------------------------

void reduction(Request& r) {
  const auto add = [&](const Shape& from, const Ints& axes) { r.add({{"axes", axes}}, {r.like(from)}); };
  with_inserted_axes(r.shape(), 2, r.space, add);
  if (r.space.symbols != nullptr) return;
  Space two = r.space;  // three axes, of one extent
  two.extents = {2};
  with_inserted_axes(r.shape(), 3, two, [&](const Shape& from, const Ints& axes) {
    if (axes.size() == 3) add(from, axes);
  });
}

void arg_reduction(Request& r) {
  with_inserted_axes(r.shape(), 1, r.space, [&](const Shape& from, const Ints& axes) {
    if (axes.empty()) return;
    for (const bool last : {false, true})
      for (const DType dtype : open_dtypes(r.space))
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
        const bool places = r.result != 0;
        for (const DType data : places ? open_dtypes(r.space) : std::vector<DType>{r.wanted.dtype})
          r.add({{"k", k}, {"axis", axis}, {"largest", largest}, {"dtype", places ? r.wanted.dtype : DType::kS64}},
                {Type::tensor(data, from)});
      }
}

void scan(Request& r) {
  for (std::int64_t axis = 0; axis < r.rank(); ++axis)
    for (const bool exclusive : {false, true})
      for (const bool reverse : {false, true})
        r.add({{"axis", axis}, {"exclusive", exclusive}, {"reverse", reverse}}, {r.wanted});
}

// --- Sources ---------------------------------------------------------------------------------------------

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
                                                       {"gather", gather},
                                                       {"scatter", scatter},
                                                       {"take", take},
                                                       {"take_along", take_along},
                                                       {"dynamic_slice", dynamic_slice},
                                                       {"dynamic_update_slice", dynamic_slice},
                                                       {"iota", iota}};
  return kMakers;
}

// --- Any other operator: by trial -------------------------------------------------------------------------------

/// Values of one attribute to try on a first operand of this type.
std::vector<AttrValue> attr_values(const ops::AttrSpec& spec, const Type& first, const Space& space) {
  std::vector<AttrValue> out;
  switch (spec.kind) {
    case AttrKind::kInt:
      if (spec.axis_of) {
        for (std::int64_t a = 0; a < first.rank(); ++a) out.emplace_back(a);
      } else {
        for (std::int64_t v = 0; v <= 3; ++v) out.emplace_back(v);
        for (const double v : space.constants)
          if (v == std::round(v) && (v < 0 || v > 3)) out.emplace_back(static_cast<std::int64_t>(v));
      }
      return out;
    case AttrKind::kFloat:
      if (spec.fallback) out.push_back(*spec.fallback);
      for (const double v : {0.5, 1.0, -2.0}) out.emplace_back(v);
      for (const double v : space.constants) out.emplace_back(v);
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

namespace {

/// Types of all operands: the further ones alike, in some shape that goes with the first or in its own but for one
/// extent; then, if not `plain`, one of them at a time unlike the others, or like the first where those have a unit
/// extent in place of one of its own (one head of keys for several of queries).
std::vector<std::vector<Type>> operand_types(const Type& first, const std::vector<bool>& present, bool plain) {
  if (present.empty()) return {{}};
  const std::vector<Type> beside = companions(first);
  std::vector<std::vector<Type>> out;
  const auto alike = [&](const Type& type) {
    std::vector<Type> types = {first};
    for (std::size_t i = 1; i < present.size(); ++i) types.push_back(present[i] ? type : Type());
    return types;
  };
  for (const Type& type : beside) out.push_back(alike(type));
  if (std::ranges::count(present, true) < 2) return {alike(first)};
  for (std::size_t axis = 0; axis < first.shape.size(); ++axis) {
    Type longer = first;
    longer.shape[axis] = longer.shape[axis] + Dim(1);
    out.push_back(alike(longer));
  }
  if (plain) return out;
  for (std::size_t axis = 0; axis < first.shape.size(); ++axis) {
    Type unit = first;
    unit.shape[axis] = Dim(1);
    if (unit == first) continue;
    out.push_back(alike(unit));
    for (std::size_t i = 1; i < present.size() && std::ranges::count(present, true) > 2; ++i) {
      if (!present[i]) continue;
      out.push_back(alike(unit));
      out.back()[i] = first;
    }
  }
  for (const Type& type : beside)
    for (std::size_t i = 1; i < present.size() && std::ranges::count(present, true) > 2; ++i)
      for (const Type& other : beside) {
        if (!present[i] || other == type) continue;
        out.push_back(alike(type));
        out.back()[i] = other;
      }
  return out;
}

Uses typed_uses(const ops::OpTable& table, ops::OpId id, const Type& first, const std::vector<bool>& present,
                const Space& space) {
  const OpInfo& op = table[id];
  const std::vector<std::vector<Type>> operands = operand_types(first, present, space.plain);
  // Attributes off their defaults one at a time, those without a default in every way.
  std::vector<Attrs> attrs(1);
  for (const ops::AttrSpec& spec : op.attrs) {
    if (spec.fallback || spec.optional) continue;
    std::vector<Attrs> more;
    for (const Attrs& a : attrs)
      for (AttrValue& value : attr_values(spec, first, space)) {
        more.push_back(a);
        more.back().set(spec.name, std::move(value));
      }
    attrs = std::move(more);
  }
  const std::size_t needed = attrs.size();
  for (const ops::AttrSpec& spec : op.attrs) {
    if (!spec.fallback && !spec.optional) continue;
    for (AttrValue& value : attr_values(spec, first, space)) {
      if (spec.fallback && ops::equal(value, *spec.fallback)) continue;
      for (std::size_t i = 0; i < needed; ++i) {
        attrs.push_back(attrs[i]);
        attrs.back().set(spec.name, value);
      }
    }
  }
  Uses out;
  for (const auto& types : operands)
    for (const Attrs& a : attrs) {
      out.all = out.ways.size() < kMostSources;
      if (!out.all) return out;
      auto complete = table.complete_attrs(id, a, types);
      if (!complete) continue;
      auto results = table.infer(id, types, *complete);
      if (!results) continue;
      out.ways.push_back({*std::move(complete), types});
      out.results.push_back(*std::move(results));
    }
  return out;
}

/// Ways to get the wanted type from first operands of its shape, of some with an axis more and of some with another
/// extent; from attributes alone where there are no operands.
void composite(Request& r, ops::OpId id, UseCache& known) {
  const auto add = [&](const Shape& from) {
    const Type first = r.like(from);
    std::string key = fmt::format("{} {} {} {} {}", id.index, ops::to_string(first), r.operands, r.space.plain,
                                  fmt::join(r.space.constants, ","));
    const auto [at, fresh] = known.try_emplace(std::move(key));
    if (fresh) at->second = typed_uses(r.table, id, first, std::vector<bool>(r.operands, true), r.space);
    const Uses& uses = at->second;
    r.all = r.all && uses.all;
    for (std::size_t i = 0; i < uses.ways.size(); ++i)
      if (r.result < uses.results[i].size() && uses.results[i][r.result] == r.wanted)
        r.add(uses.ways[i].attrs, uses.ways[i].operands);
  };
  const std::int64_t more_axes = r.op.attrs.empty() || r.operands == 0 ? 0 : 1;
  with_inserted_axes(r.shape(), more_axes, r.space, [&](const Shape& from, const Ints&) { add(from); });
  if (r.space.symbols != nullptr || r.operands == 0) return;
  for (std::size_t axis = 0; axis < r.shape().size(); ++axis)
    for (const Dim& extent : new_extents(r.space)) {
      Shape from = r.shape();
      from[axis] = extent;
      if (from != r.shape()) add(from);
    }
}

}  // namespace

Sources uses_of(const ops::OpTable& table, ops::OpId id, const Type& first, const std::vector<bool>& present,
                const Space& space) {
  Uses uses = typed_uses(table, id, first, present, space);
  return {std::move(uses.ways), uses.all};
}

Sources sources_of(const ops::OpTable& table, ops::OpId id, const Type& wanted, std::uint32_t result,
                   std::size_t operands, const Space& space, UseCache* known) {
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
    UseCache none;
    composite(r, id, known != nullptr ? *known : none);
    return {std::move(r.out), r.all};
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

const std::vector<DType>& some_dtypes() {
  static const std::vector<DType> kDTypes = {DType::kF32, DType::kS32, DType::kPred,
                                             DType::kF16, DType::kS8,  DType::kU8};
  return kDTypes;
}

}  // namespace fusewright::prove
