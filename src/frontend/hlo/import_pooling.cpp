#include <algorithm>

#include "src/frontend/hlo/combiner.hpp"
#include "src/frontend/hlo/handlers.hpp"

namespace fusewright::frontend_hlo {

namespace {

using Ints = std::vector<std::int64_t>;

constexpr std::int64_t kMostTaps = 256;

/// The gradient of a pooling by maximum, in primitive operators: for each window the number of the tap that was
/// selected, then for each tap what its windows give, spread out to where they took it from, and the sum of all taps.
class SelectAndScatter {
 public:
  SelectAndScatter(Site& site, Value operand, Value source, Window window, std::string_view direction)
      : site_(site), operand_(operand), source_(source), window_(std::move(window)), direction_(direction) {
    for (const std::int64_t size : window_.size) taps_ *= size;
  }

  Result<Value> run() {
    FW_TRY(const Value chosen, selected_taps());
    Value sum;
    for (std::int64_t tap = 0; tap < taps_; ++tap) {
      FW_TRY(const Value part, given_back(chosen, tap));
      if (!sum.valid()) {
        sum = part;
      } else {
        FW_TRY(sum, site_.add("add", {sum, part}));
      }
    }
    return sum;
  }

 private:
  static std::int64_t extent(const Type& type, std::size_t axis) { return *type.shape[axis].constant(); }

  Ints offsets_of(std::int64_t tap) const {
    Ints offsets(window_.size.size());
    for (std::size_t d = offsets.size(); d-- > 0; tap /= window_.size[d]) offsets[d] = tap % window_.size[d];
    return offsets;
  }

  Result<Value> repeated(Value number, const ops::Shape& shape) { return site_.builder().align_to(number, shape); }

  // The first tap, then each later one that the selector prefers, in row-major order.
  Result<Value> selected_taps() {
    const ops::Shape shape = site_.type(source_).shape;
    FW_TRY(Value best, at_tap(0));
    FW_TRY(Value chosen, repeated(site_.builder().constant(ops::scalar_tensor_int(DType::kS32, 0)), shape));
    for (std::int64_t tap = 1; tap < taps_; ++tap) {
      FW_TRY(const Value candidate, at_tap(tap));
      FW_TRY(const Value stays, site_.add(direction_, {best, candidate}));
      FW_TRY(const Value number, repeated(site_.builder().constant(ops::scalar_tensor_int(DType::kS32, tap)), shape));
      FW_TRY(best, site_.add("select", {stays, best, candidate}));
      FW_TRY(chosen, site_.add("select", {stays, chosen, number}));
    }
    return chosen;
  }

  // Of each window the element at the tap.
  Result<Value> at_tap(std::int64_t tap) {
    const Ints starts = offsets_of(tap);
    Ints limits;
    for (std::size_t d = 0; d < starts.size(); ++d)
      limits.push_back(starts[d] + (extent(site_.type(source_), d) - 1) * window_.stride[d] + 1);
    return site_.add("slice", {operand_}, {{"starts", starts}, {"limits", limits}, {"strides", window_.stride}});
  }

  Result<Value> given_back(Value chosen, std::int64_t tap) {
    const ops::Shape shape = site_.type(source_).shape;
    const Value zero = site_.builder().constant(ops::scalar_tensor(site_.type(source_).dtype, 0));
    FW_TRY(const Value number, repeated(site_.builder().constant(ops::scalar_tensor_int(DType::kS32, tap)), shape));
    FW_TRY(const Value here, site_.add("eq", {chosen, number}));
    FW_TRY(const Value zeros, repeated(zero, shape));
    FW_TRY(const Value given, site_.add("select", {here, source_, zeros}));
    const Ints low = offsets_of(tap);
    Ints high, interior;
    for (std::size_t d = 0; d < low.size(); ++d) {
      const std::int64_t spread = (extent(site_.type(source_), d) - 1) * window_.stride[d] + 1;
      high.push_back(extent(site_.type(operand_), d) - low[d] - spread);
      interior.push_back(window_.stride[d] - 1);
    }
    return site_.add("pad", {given, zero}, {{"low", low}, {"high", high}, {"interior", interior}});
  }

  Site& site_;
  Value operand_, source_;
  Window window_;
  std::string_view direction_;
  std::int64_t taps_ = 1;
};

}  // namespace

Result<Leaves> import_select_and_scatter(Site& site) {
  FW_TRY(const std::vector<Value> values, site.tensors(3));
  const Type operand = site.type(values[0]);
  FW_TRY(const Window window, site.attributes.window(operand.shape.size()));
  std::int64_t taps = 1;
  for (std::size_t d = 0; d < window.size.size(); ++d) {
    if (window.pad_low[d] != 0 || window.pad_high[d] != 0) return site.unsupported("padded windows");
    if (window.lhs_dilate[d] != 1 || window.rhs_dilate[d] != 1) return site.unsupported("dilated windows");
    taps = std::min(taps * window.size[d], kMostTaps + 1);
  }
  if (taps > kMostTaps) return site.unsupported("windows of more than " + std::to_string(kMostTaps) + " elements");
  const auto combiner = [&](const char* attribute) -> Result<Combiner> {
    FW_TRY(const std::vector<std::string_view> names, site.attributes.names(attribute));
    if (names.size() != 1) return site.wrong("'" + std::string(attribute) + "' names one computation");
    FW_TRY(const std::uint32_t index, site.importer.find_computation(names[0]));
    return Combiner(site.importer.module, site.importer.names, index);
  };
  FW_TRY(const Combiner select, combiner("select"));
  FW_TRY(const Combiner scatter, combiner("scatter"));
  const auto direction = select.comparison();
  if (!direction) return site.unsupported("its selector is no comparison");
  const auto steps = scatter.steps(1);
  if (!steps || steps->front().rounded || steps->front().opcode != "add")
    return site.unsupported("its combiner is not add");
  if (*ops::element_count(site.type(values[1]).shape) == 0) {
    FW_TRY(const Value start, site.builder().align_to(values[2], operand.shape));
    return Leaves{start};
  }
  FW_TRY(const Value sum, SelectAndScatter(site, values[0], values[1], window, *direction).run());
  FW_TRY(const Value start, site.builder().align_to(values[2], operand.shape));
  return site.leaf(site.add("add", {start, sum}));
}

}  // namespace fusewright::frontend_hlo
