#include "src/frontend/hlo/literal.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <tao/pegtl.hpp>
#include <tao/pegtl/contrib/limit_depth.hpp>

#include "grammar/hlo_grammar.hpp"

namespace fusewright::frontend_hlo {

namespace {

namespace literal = grammar::hlo::literal;
namespace pegtl = tao::pegtl;
using ops::DType;

// What stands in the text, flat: numbers with the braces around them checked as they come.
struct Scan {
  std::vector<std::int64_t> dims;
  std::vector<std::int64_t> counts;  // of elements in each brace that is open
  std::vector<std::string_view> numbers;
  std::string_view misplaced;  // the first brace or number that does not fit the shape
  bool elided = false;
  bool has_complex = false;

  void place(std::string_view text, std::size_t depth) {
    if (misplaced.empty() && counts.size() != depth) misplaced = text;
    if (!counts.empty()) ++counts.back();
  }
};

template <class Input>
std::string_view view(const Input& in) {
  return {in.begin(), in.size()};
}

template <class Rule>
struct action : pegtl::nothing<Rule> {};
template <>
struct action<literal::array> : pegtl::limit_depth<64> {};
template <>
struct action<literal::elided> {
  static void apply0(Scan& s) { s.elided = true; }
};
template <>
struct action<literal::complex> {
  static void apply0(Scan& s) { s.has_complex = true; }
};
template <>
struct action<literal::open> {
  template <class Input>
  static void apply(const Input& in, Scan& s) {
    if (s.misplaced.empty() && s.counts.size() >= s.dims.size()) s.misplaced = view(in);
    if (!s.counts.empty()) ++s.counts.back();
    s.counts.push_back(0);
  }
};
template <>
struct action<literal::close> {
  template <class Input>
  static void apply(const Input& in, Scan& s) {
    const std::size_t depth = s.counts.size();
    if (s.misplaced.empty() && depth <= s.dims.size() && s.counts.back() != s.dims[depth - 1]) s.misplaced = view(in);
    s.counts.pop_back();
  }
};
template <>
struct action<literal::scalar> {
  template <class Input>
  static void apply(const Input& in, Scan& s) {
    s.numbers.push_back(view(in));
    s.place(view(in), s.dims.size());
  }
};

// Widths of the float formats, for NaNs with a payload.
struct FloatFormat {
  int bits;
  int mantissa;
};
FloatFormat format_of(DType dtype) {
  if (dtype == DType::kF64) return {64, 52};
  if (dtype == DType::kF32) return {32, 23};
  return dtype == DType::kBF16 ? FloatFormat{16, 7} : FloatFormat{16, 10};
}

bool has_payload(DType dtype) {
  return dtype == DType::kF64 || dtype == DType::kF32 || dtype == DType::kBF16 || dtype == DType::kF16;
}

std::uint64_t bits_of(const ops::Tensor& tensor, std::int64_t index) {
  const std::size_t width = static_cast<std::size_t>(ops::byte_width(tensor.dtype));
  std::uint64_t bits = 0;
  std::memcpy(&bits, tensor.data() + static_cast<std::size_t>(index) * width, width);  // little-endian
  return bits;
}

void store_nan(ops::Tensor& tensor, std::int64_t index, std::string_view text) {
  const bool negative = text.starts_with('-');
  const FloatFormat format = format_of(tensor.dtype);
  std::uint64_t payload = std::uint64_t{1} << (format.mantissa - 1);
  if (const std::size_t at = text.find("0x"); at != std::string_view::npos)
    std::from_chars(text.data() + at + 2, text.data() + text.size(), payload, 16);
  const std::uint64_t mantissa_mask = (std::uint64_t{1} << format.mantissa) - 1;
  payload &= mantissa_mask;
  if (payload == 0) payload = 1;
  std::uint64_t bits = payload | (((std::uint64_t{1} << (format.bits - 1 - format.mantissa)) - 1) << format.mantissa);
  if (negative) bits |= std::uint64_t{1} << (format.bits - 1);
  const std::size_t width = static_cast<std::size_t>(format.bits) / 8;
  std::memcpy(tensor.mutable_data() + static_cast<std::size_t>(index) * width, &bits, width);
}

bool store_float(ops::Tensor& tensor, std::int64_t index, std::string_view text) {
  const std::string_view magnitude = text.substr(text.starts_with('-') || text.starts_with('+') ? 1 : 0);
  const double sign = text.starts_with('-') ? -1.0 : 1.0;
  if (magnitude.starts_with("nan")) {
    if (has_payload(tensor.dtype))
      store_nan(tensor, index, text);
    else
      ops::set_double(tensor, index, std::numeric_limits<double>::quiet_NaN());
    return true;
  }
  if (magnitude == "inf") {
    ops::set_double(tensor, index, sign * std::numeric_limits<double>::infinity());
    return true;
  }
  if (magnitude == "true" || magnitude == "false") return false;
  const char* end = magnitude.data() + magnitude.size();
  if (tensor.dtype == DType::kF32) {  // directly, so that the text is rounded once
    float value = 0;
    if (std::from_chars(magnitude.data(), end, value).ec == std::errc()) {
      ops::set_double(tensor, index, sign * static_cast<double>(value));
      return true;
    }
  }
  double value = 0;
  const auto result = std::from_chars(magnitude.data(), end, value);
  if (result.ec == std::errc::result_out_of_range) {  // what is too small is zero
    const std::size_t exponent = magnitude.find_first_of("eE");
    if (exponent == std::string_view::npos || magnitude.substr(exponent + 1, 1) != "-") return false;
    value = 0;
  }
  ops::set_double(tensor, index, sign * value);
  return std::isfinite(ops::get_double(tensor, index));
}

bool store_integer(ops::Tensor& tensor, std::int64_t index, std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  if (tensor.dtype == DType::kPred) {
    const bool is_true = text == "true" || text == "1";
    ops::set_int(tensor, index, is_true ? 1 : 0);
    return is_true || text == "false" || text == "0";
  }
  const char* end = text.data() + text.size();
  std::int64_t value = 0;
  auto result = std::from_chars(text.data(), end, value);
  if (result.ec == std::errc::result_out_of_range && tensor.dtype == DType::kU64) {
    std::uint64_t wide = 0;
    result = std::from_chars(text.data(), end, wide);
    value = std::bit_cast<std::int64_t>(wide);
  } else if (ops::is_unsigned_integer(tensor.dtype) && text.starts_with('-')) {
    return false;
  }
  if (result.ec != std::errc() || result.ptr != end) return false;
  ops::set_int(tensor, index, value);
  const int width = ops::bit_width(tensor.dtype);
  if (width >= 64) return true;
  const std::int64_t low = ops::is_unsigned_integer(tensor.dtype) ? 0 : -(std::int64_t{1} << (width - 1));
  const std::int64_t high = (std::int64_t{1} << (ops::is_unsigned_integer(tensor.dtype) ? width : width - 1)) - 1;
  return value >= low && value <= high;
}

// A tensor without elements still has its outer braces: f32[2,0] is {{}, {}}.
std::string print_empty(const std::vector<std::int64_t>& dims, std::int64_t most_elements) {
  std::string out;
  for (std::size_t axis = dims.size(); axis-- > 0;) {
    const std::string inner = std::move(out);
    out = "{";
    for (std::int64_t i = 0; axis + 1 < dims.size() && i < dims[axis]; ++i) {
      out += (i == 0 ? "" : ", ") + inner;
      if (static_cast<std::int64_t>(out.size()) > most_elements) return "{...}";
    }
    out += '}';
  }
  return out;
}

}  // namespace

Result<Literal> read_literal(const Module& module, std::string_view text, DType dtype,
                             const std::vector<std::int64_t>& dims) {
  const std::string type = ops::to_string(ops::Type::tensor(dtype, ops::Shape(dims.begin(), dims.end())));
  Scan scan;
  scan.dims = dims;
  try {
    pegtl::memory_input<pegtl::tracking_mode::lazy> in(text.data(), text.size(), "");
    pegtl::parse<literal::value, action>(in, scan);
  } catch (const pegtl::parse_error& error) {
    const std::size_t at = std::min(error.positions().front().byte, text.size());
    return fail("this is not a literal of type " + type, module.span(text.substr(at, at < text.size() ? 1 : 0)));
  }
  if (scan.has_complex || dtype == DType::kC64 || dtype == DType::kC128)
    return fail(ErrorKind::kUnsupported, "complex literals are not supported", module.span(text));
  Literal result;
  if (scan.elided) {
    result.tensor = ops::Tensor{dtype, dims, nullptr, 0};
    result.elided = true;
    return result;
  }
  if (!scan.misplaced.empty()) return fail("the literal does not fit its shape " + type, module.span(scan.misplaced));
  FW_TRY(const std::int64_t elements, ops::element_count(ops::Shape(dims.begin(), dims.end())));
  const auto count = static_cast<std::int64_t>(scan.numbers.size());
  if (count != elements) {
    return fail(
        "the literal has " + std::to_string(count) + " numbers, its shape " + type + " has " + std::to_string(elements),
        module.span(text));
  }
  FW_TRY(result.tensor, ops::make_tensor(dtype, dims));
  if (elements == 0) return result;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::string_view number = scan.numbers[static_cast<std::size_t>(i)];
    if (!(ops::is_float(dtype) ? store_float(result.tensor, i, number) : store_integer(result.tensor, i, number)))
      return fail("'" + std::string(number) + "' is not a value of " + std::string(ops::name(dtype)),
                  module.span(number));
  }
  return result;
}

std::string print_scalar(const ops::Tensor& tensor, std::int64_t index) {
  if (tensor.dtype == DType::kPred) return ops::get_int(tensor, index) != 0 ? "true" : "false";
  if (tensor.dtype == DType::kU64) return std::to_string(std::bit_cast<std::uint64_t>(ops::get_int(tensor, index)));
  if (!ops::is_float(tensor.dtype)) return std::to_string(ops::get_int(tensor, index));
  const double value = ops::get_double(tensor, index);
  if (std::isnan(value)) {
    if (!has_payload(tensor.dtype)) return "nan";
    const FloatFormat format = format_of(tensor.dtype);
    const std::uint64_t bits = bits_of(tensor, index);
    const std::uint64_t payload = bits & ((std::uint64_t{1} << format.mantissa) - 1);
    std::string out = (bits >> (format.bits - 1) & 1) != 0 ? "-nan" : "nan";
    if (payload == std::uint64_t{1} << (format.mantissa - 1)) return out;
    char buffer[32];
    const auto end = std::to_chars(buffer, buffer + sizeof(buffer), payload, 16);
    return out + "(0x" + std::string(buffer, end.ptr) + ")";
  }
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char buffer[64];
  const auto end = tensor.dtype == DType::kF32
                       ? std::to_chars(buffer, buffer + sizeof(buffer), static_cast<float>(value))
                       : std::to_chars(buffer, buffer + sizeof(buffer), value);
  return std::string(buffer, end.ptr);
}

std::string print_literal(const ops::Tensor& tensor, std::int64_t most_elements) {
  if (tensor.dims.empty()) return print_scalar(tensor, 0);
  const std::int64_t elements = tensor.elements();
  if (elements > most_elements) return "{...}";
  // A brace opens and closes wherever the index is a multiple of what one entry of an axis holds.
  const std::size_t rank = tensor.dims.size();
  std::vector<std::int64_t> block(rank);
  std::int64_t size = 1;
  for (std::size_t axis = rank; axis-- > 0;) block[axis] = size *= tensor.dims[axis];
  if (elements == 0) return print_empty(tensor.dims, most_elements);
  std::string out;
  for (std::int64_t i = 0; i < elements; ++i) {
    if (i > 0) out += ", ";
    for (std::size_t axis = 0; axis < rank; ++axis)
      if (i % block[axis] == 0) out += '{';
    out += print_scalar(tensor, i);
    for (std::size_t axis = 0; axis < rank; ++axis)
      if ((i + 1) % block[axis] == 0) out += '}';
  }
  return out;
}

}  // namespace fusewright::frontend_hlo
