#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "fusewright/frontend/hlo/ast.hpp"
#include "fusewright/support/result.hpp"

namespace fusewright::frontend_hlo {

struct SliceAxis {
  std::int64_t start = 0;
  std::int64_t limit = 0;
  std::int64_t stride = 1;
};

struct PadAxis {
  std::int64_t low = 0;
  std::int64_t high = 0;
  std::int64_t interior = 0;
};

/// One number for each windowed axis.
struct Window {
  std::vector<std::int64_t> size, stride, pad_low, pad_high, lhs_dilate, rhs_dilate, reversal;
};

/// Axis numbers as the operator table's `conv` has them: [batch, feature, spatial...], kernel [out, in, spatial...].
struct DimLabels {
  std::vector<std::int64_t> input, kernel, output;
};

/// The attributes of one instruction, read as what they should be.
/// Errors: one that is missing or has another form, named with its instruction's opcode and place.
class AttributeReader {
 public:
  AttributeReader(const Module& module, const Instruction& instruction) : module_(module), instruction_(instruction) {}

  bool has(std::string_view name) const { return instruction_.find(name) != nullptr; }
  Result<std::vector<std::int64_t>> integers(std::string_view name) const;
  Result<std::vector<std::int64_t>> integers_or_empty(std::string_view name) const;
  Result<std::int64_t> integer(std::string_view name) const;
  Result<std::int64_t> integer_or(std::string_view name, std::int64_t fallback) const;
  Result<double> number(std::string_view name) const;
  Result<bool> flag_or(std::string_view name, bool fallback) const;
  /// A bare word (`direction=GT`) or what stands in quotes.
  Result<std::string_view> word(std::string_view name) const;
  /// Names of computations, without their `%`.
  Result<std::vector<std::string_view>> names(std::string_view name) const;
  Result<std::vector<SliceAxis>> slices(std::string_view name) const;
  Result<std::vector<PadAxis>> padding(std::string_view name) const;
  /// @param rank of what the window slides over; the window of a scalar may be left out.
  Result<Window> window(std::size_t rank) const;
  Result<DimLabels> dim_labels(std::size_t spatial_rank) const;

 private:
  template <class Rule, class State>
  Result<State> read(std::string_view name, const char* expected) const;
  Result<const Attribute*> require(std::string_view name, const char* expected) const;
  std::unexpected<Error> malformed(const Attribute& attribute, const char* expected) const;

  const Module& module_;
  const Instruction& instruction_;
};

}  // namespace fusewright::frontend_hlo
