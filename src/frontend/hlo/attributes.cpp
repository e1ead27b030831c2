#include "src/frontend/hlo/attributes.hpp"

#include <charconv>
#include <string>
#include <tao/pegtl.hpp>

#include "grammar/hlo_grammar.hpp"

namespace fusewright::frontend_hlo {

namespace {

namespace value = grammar::hlo::value;
namespace pegtl = tao::pegtl;

struct NumberTooLarge {};

std::int64_t to_integer(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) throw NumberTooLarge();
  return number;
}

template <class Input>
std::string_view view(const Input& in) {
  return {in.begin(), in.size()};
}

using Integers = std::vector<std::int64_t>;
using Names = std::vector<std::string_view>;
using Slices = std::vector<SliceAxis>;
using Pads = std::vector<PadAxis>;

struct WindowField {
  std::string_view key;
  Integers numbers;
  Pads pads;
};
using WindowFields = std::vector<WindowField>;

struct LabelTexts {
  std::string_view input, kernel, output;
};

template <class Rule>
struct action : pegtl::nothing<Rule> {};

template <>
struct action<value::integer> {
  template <class Input>
  static void apply(const Input& in, Integers& s) {
    s.push_back(to_integer(view(in)));
  }
};
template <>
struct action<value::name> {
  template <class Input>
  static void apply(const Input& in, Names& s) {
    const std::string_view name = view(in);
    s.push_back(name.starts_with('%') ? name.substr(1) : name);
  }
};
template <>
struct action<value::slice_start> {
  template <class Input>
  static void apply(const Input& in, Slices& s) {
    s.push_back({to_integer(view(in)), 0, 1});
  }
};
template <>
struct action<value::slice_limit> {
  template <class Input>
  static void apply(const Input& in, Slices& s) {
    s.back().limit = to_integer(view(in));
  }
};
template <>
struct action<value::slice_stride> {
  template <class Input>
  static void apply(const Input& in, Slices& s) {
    s.back().stride = to_integer(view(in));
  }
};

// A window's numbers are tried as paddings first; what such a try has collected is dropped when it fails.
Pads& pads_of(Pads& s) { return s; }
Pads& pads_of(WindowFields& s) { return s.back().pads; }

template <>
struct action<value::pad_low> {
  template <class Input, class State>
  static void apply(const Input& in, State& s) {
    pads_of(s).push_back({to_integer(view(in)), 0, 0});
  }
};
template <>
struct action<value::pad_high> {
  template <class Input, class State>
  static void apply(const Input& in, State& s) {
    pads_of(s).back().high = to_integer(view(in));
  }
};
template <>
struct action<value::pad_interior> {
  template <class Input, class State>
  static void apply(const Input& in, State& s) {
    pads_of(s).back().interior = to_integer(view(in));
  }
};
template <>
struct action<value::window_key> {
  template <class Input>
  static void apply(const Input& in, WindowFields& s) {
    s.push_back({view(in), {}, {}});
  }
};
template <>
struct action<value::window_number> {
  template <class Input>
  static void apply(const Input& in, WindowFields& s) {
    s.back().pads.clear();
    s.back().numbers.push_back(to_integer(view(in)));
  }
};
template <>
struct action<value::input_labels> {
  template <class Input>
  static void apply(const Input& in, LabelTexts& s) {
    s.input = view(in);
  }
};
template <>
struct action<value::kernel_labels> {
  template <class Input>
  static void apply(const Input& in, LabelTexts& s) {
    s.kernel = view(in);
  }
};
template <>
struct action<value::output_labels> {
  template <class Input>
  static void apply(const Input& in, LabelTexts& s) {
    s.output = view(in);
  }
};

// "b01f" with ('b', 'f') gives [0, 3, 1, 2]; empty when an axis is missing or there twice.
Integers axes_of(std::string_view labels, char first, char second, std::size_t spatial_rank) {
  if (labels.size() != spatial_rank + 2) return {};
  std::string wanted = {first, second};
  for (std::size_t i = 0; i < spatial_rank; ++i) wanted += static_cast<char>('0' + i);
  Integers axes;
  for (const char label : wanted) {
    const std::size_t at = labels.find(label);
    if (at == std::string_view::npos) return {};
    axes.push_back(static_cast<std::int64_t>(at));
  }
  return axes;
}

}  // namespace

std::unexpected<Error> AttributeReader::malformed(const Attribute& attribute, const char* expected) const {
  return fail("'" + std::string(attribute.name) + "' should be " + expected, module_.span(attribute.value));
}

Result<const Attribute*> AttributeReader::require(std::string_view name, const char* expected) const {
  if (const Attribute* attribute = instruction_.find(name)) return attribute;
  return fail("'" + std::string(instruction_.opcode) + "' needs the attribute '" + std::string(name) + "', " + expected,
              module_.span(instruction_.opcode));
}

template <class Rule, class State>
Result<State> AttributeReader::read(std::string_view name, const char* expected) const {
  FW_TRY(const Attribute* attribute, require(name, expected));
  State state;
  try {
    pegtl::memory_input<pegtl::tracking_mode::lazy> in(attribute->value.data(), attribute->value.size(), "");
    if (pegtl::parse<Rule, action>(in, state)) return state;
  } catch (const NumberTooLarge&) {
  } catch (const pegtl::parse_error&) {
  }
  return malformed(*attribute, expected);
}

Result<Integers> AttributeReader::integers(std::string_view name) const {
  return read<value::integers, Integers>(name, "a list of integers such as {0,1}");
}

Result<Integers> AttributeReader::integers_or_empty(std::string_view name) const {
  if (!has(name)) return Integers{};
  return integers(name);
}

Result<std::int64_t> AttributeReader::integer(std::string_view name) const {
  FW_TRY(const Attribute* attribute, require(name, "an integer"));
  try {
    return to_integer(attribute->value);
  } catch (const NumberTooLarge&) {
    return malformed(*attribute, "an integer");
  }
}

Result<std::int64_t> AttributeReader::integer_or(std::string_view name, std::int64_t fallback) const {
  if (!has(name)) return fallback;
  return integer(name);
}

Result<double> AttributeReader::number(std::string_view name) const {
  FW_TRY(const Attribute* attribute, require(name, "a number"));
  double number = 0;
  const char* stop = attribute->value.data() + attribute->value.size();
  const auto [end, error] = std::from_chars(attribute->value.data(), stop, number);
  if (error != std::errc() || end != stop) return malformed(*attribute, "a number");
  return number;
}

Result<bool> AttributeReader::flag_or(std::string_view name, bool fallback) const {
  const Attribute* attribute = instruction_.find(name);
  if (attribute == nullptr) return fallback;
  if (attribute->value == "true") return true;
  if (attribute->value == "false") return false;
  return malformed(*attribute, "true or false");
}

Result<std::string_view> AttributeReader::word(std::string_view name) const {
  FW_TRY(const Attribute* attribute, require(name, "a word"));
  std::string_view text = attribute->value;
  if (text.size() >= 2 && text.starts_with('"') && text.ends_with('"')) text = text.substr(1, text.size() - 2);
  return text;
}

Result<Names> AttributeReader::names(std::string_view name) const {
  return read<value::names, Names>(name, "the name of a computation");
}

Result<Slices> AttributeReader::slices(std::string_view name) const {
  return read<value::slices, Slices>(name, "the range of each axis, such as {[0:16], [0:8:2]}");
}

Result<Pads> AttributeReader::padding(std::string_view name) const {
  return read<value::padding, Pads>(name, "the padding of each axis, such as 0_0x1_1");
}

Result<Window> AttributeReader::window(std::size_t rank) const {
  const char* expected = "a window such as {size=3x3 stride=2x2 pad=1_1x1_1}";
  Window window;
  window.size.assign(rank, 1);
  window.stride = window.lhs_dilate = window.rhs_dilate = window.size;
  window.pad_low.assign(rank, 0);
  window.pad_high = window.reversal = window.pad_low;
  if (rank == 0 && !has("window")) return window;
  FW_TRY(const WindowFields fields, (read<value::window, WindowFields>("window", expected)));
  const Attribute& attribute = *instruction_.find("window");
  for (const WindowField& field : fields) {
    Integers* numbers = field.key == "size"           ? &window.size
                        : field.key == "stride"       ? &window.stride
                        : field.key == "lhs_dilate"   ? &window.lhs_dilate
                        : field.key == "rhs_dilate"   ? &window.rhs_dilate
                        : field.key == "rhs_reversal" ? &window.reversal
                                                      : nullptr;
    const bool is_pad = field.key == "pad";
    if (!is_pad && numbers == nullptr) return malformed(attribute, expected);
    if ((is_pad ? field.pads.size() : field.numbers.size()) != rank) {
      return fail("'" + std::string(field.key) + "' of the window should have " + std::to_string(rank) + " numbers",
                  module_.span(attribute.value));
    }
    if (numbers != nullptr) *numbers = field.numbers;
    for (std::size_t i = 0; is_pad && i < rank; ++i) {
      window.pad_low[i] = field.pads[i].low;
      window.pad_high[i] = field.pads[i].high;
    }
  }
  return window;
}

Result<DimLabels> AttributeReader::dim_labels(std::size_t spatial_rank) const {
  const char* expected = "the role of each axis, such as b01f_01io->b01f";
  FW_TRY(const LabelTexts texts, (read<value::dim_labels, LabelTexts>("dim_labels", expected)));
  DimLabels labels{axes_of(texts.input, 'b', 'f', spatial_rank), axes_of(texts.kernel, 'o', 'i', spatial_rank),
                   axes_of(texts.output, 'b', 'f', spatial_rank)};
  if (labels.input.empty() || labels.kernel.empty() || labels.output.empty())
    return malformed(*instruction_.find("dim_labels"), expected);
  return labels;
}

}  // namespace fusewright::frontend_hlo
