#include "fusewright/frontend/hlo/parse.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <tao/pegtl.hpp>
#include <tao/pegtl/contrib/limit_depth.hpp>

#include "grammar/hlo_grammar.hpp"

namespace fusewright::frontend_hlo {

namespace {

namespace g = grammar::hlo;
namespace pegtl = tao::pegtl;

constexpr std::size_t kDeepestNesting = 256;

// A shape that is being read. Tuples are closed by taking what was put on the stack since their parenthesis.
struct OpenShapes {
  std::vector<ShapeTree> shapes;
  std::vector<std::size_t> open_tuples;
};

struct ParseState {
  SourcePtr source;
  std::vector<Module> modules;
  bool module_is_open = false;  // what comes next belongs to modules.back()

  Computation computation;
  Instruction instruction;
  OpenShapes shapes;
  std::optional<ShapeTree> operand_shape;
  std::vector<Attribute> attributes;  // read, not yet given to their owner
  std::string_view name;              // of the instruction or computation whose first word was read
  bool marked = false;                // ROOT or ENTRY stood before it
  const char* begin = nullptr;        // of that word

  Module& module() {
    if (!module_is_open) {
      modules.push_back({source, {}, {}, {}, 0});
      module_is_open = true;
    }
    return modules.back();
  }
};

template <class Input>
std::string_view view(const Input& in) {
  return {in.begin(), in.size()};
}

std::string_view without_percent(std::string_view name) { return name.starts_with('%') ? name.substr(1) : name; }

template <class Input>
std::int64_t read_number(const Input& in) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(in.begin(), in.end(), value);
  if (error != std::errc() || end != in.end()) throw pegtl::parse_error("the number is too large", in);
  return value;
}

template <class Rule>
struct action : pegtl::nothing<Rule> {};

// The recursive rules: a text cannot nest so deep that the parser's own stack ends.
template <>
struct action<g::braces> : pegtl::limit_depth<kDeepestNesting> {};
template <>
struct action<g::parens> : pegtl::limit_depth<kDeepestNesting> {};
template <>
struct action<g::brackets> : pegtl::limit_depth<kDeepestNesting> {};

// --- Shapes

template <>
struct action<g::element_type> {
  template <class Input>
  static void apply(const Input& in, ParseState& s) {
    ShapeTree shape;
    shape.element_type = view(in);
    s.shapes.shapes.push_back(std::move(shape));
  }
};
template <>
struct action<g::dim_number> {
  template <class Input>
  static void apply(const Input& in, ParseState& s) {
    ShapeDim dim;
    dim.extent = read_number(in);
    s.shapes.shapes.back().dims.push_back(dim);
  }
};
template <>
struct action<g::dim_unknown> {
  static void apply0(ParseState& s) { s.shapes.shapes.back().dims.push_back({0, false, true}); }
};
template <>
struct action<g::dim> {
  template <class Input>
  static void apply(const Input& in, ParseState& s) {
    s.shapes.shapes.back().dims.back().bounded = *in.begin() == '<';
  }
};
template <>
struct action<g::layout_order> {
  template <class Input>
  static void apply(const Input& in, ParseState& s) {
    std::vector<std::int64_t>& order = s.shapes.shapes.back().minor_to_major;
    for (const char* at = in.begin(); at < in.end();) {
      std::int64_t axis = 0;
      const auto [next, error] = std::from_chars(at, in.end(), axis);
      at = error == std::errc() ? next : at + 1;
      if (error == std::errc()) order.push_back(axis);
    }
  }
};
template <>
struct action<g::array_shape> {
  template <class Input>
  static void apply(const Input& in, ParseState& s) {
    s.shapes.shapes.back().text = view(in);
  }
};
template <>
struct action<g::tuple_open> {
  static void apply0(ParseState& s) { s.shapes.open_tuples.push_back(s.shapes.shapes.size()); }
};
template <>
struct action<g::tuple_shape> : pegtl::limit_depth<kDeepestNesting> {
  template <class Input>
  static void apply(const Input& in, ParseState& s) {
    std::vector<ShapeTree>& stack = s.shapes.shapes;
    const auto first = stack.begin() + static_cast<std::ptrdiff_t>(s.shapes.open_tuples.back());
    s.shapes.open_tuples.pop_back();
    ShapeTree tuple;
    tuple.is_tuple = true;
    tuple.text = view(in);
    tuple.elements.assign(std::make_move_iterator(first), std::make_move_iterator(stack.end()));
    stack.erase(first, stack.end());
    stack.push_back(std::move(tuple));
  }
};

ShapeTree take_shape(ParseState& s) {
  ShapeTree shape = std::move(s.shapes.shapes.back());
  s.shapes.shapes.clear();
  return shape;
}

// --- Attributes

template <>
struct action<g::attribute_name> {
  template <class Input>
  static void apply(const Input& in, ParseState& s) {
    s.attributes.push_back({view(in), {}});
  }
};
template <>
struct action<g::attribute_value> {
  template <class Input>
  static void apply(const Input& in, ParseState& s) {
    s.attributes.back().value = view(in);
  }
};

// --- Instructions

template <>
struct action<g::root_mark> {
  static void apply0(ParseState& s) { s.marked = true; }
};
template <>
struct action<g::instruction_name> {
  template <class Input>
  static void apply(const Input& in, ParseState& s) {
    s.instruction = {};
    s.instruction.name = without_percent(view(in));
    s.instruction.is_root = std::exchange(s.marked, false);
    s.begin = in.begin();
  }
};
template <>
struct action<g::instruction_shape> {
  static void apply0(ParseState& s) {
    s.instruction.shape = take_shape(s);
    s.instruction.has_shape = true;
  }
};
template <>
struct action<g::opcode> {
  template <class Input>
  static void apply(const Input& in, ParseState& s) {
    s.instruction.opcode = view(in);
  }
};
template <>
struct action<g::constant_opcode> : action<g::opcode> {};
template <>
struct action<g::parameter_opcode> : action<g::opcode> {};
template <>
struct action<g::literal_text> {
  template <class Input>
  static void apply(const Input& in, ParseState& s) {
    s.instruction.literal = view(in);
  }
};
template <>
struct action<g::parameter_number> {
  template <class Input>
  static void apply(const Input& in, ParseState& s) {
    s.instruction.parameter_number = read_number(in);
  }
};
template <>
struct action<g::operand_shape> {
  static void apply0(ParseState& s) { s.operand_shape = take_shape(s); }
};
template <>
struct action<g::operand_name> {
  template <class Input>
  static void apply(const Input& in, ParseState& s) {
    s.instruction.operands.push_back({without_percent(view(in)), std::exchange(s.operand_shape, std::nullopt)});
  }
};
template <>
struct action<g::instruction> {
  template <class Input>
  static void apply(const Input& in, ParseState& s) {
    s.instruction.attributes = std::exchange(s.attributes, {});
    s.instruction.text = {s.begin, static_cast<std::size_t>(in.end() - s.begin)};
    if (s.instruction.is_root) s.computation.root = static_cast<std::uint32_t>(s.computation.instructions.size());
    s.computation.instructions.push_back(std::move(s.instruction));
  }
};

// --- Computations and modules

template <>
struct action<g::entry_mark> {
  static void apply0(ParseState& s) { s.marked = true; }
};
template <>
struct action<g::computation_name> {
  template <class Input>
  static void apply(const Input& in, ParseState& s) {
    s.computation = {};
    s.computation.name = without_percent(view(in));
    s.computation.is_entry = std::exchange(s.marked, false);
  }
};
template <>
struct action<g::signature> {
  static void apply0(ParseState& s) { s.shapes.shapes.clear(); }
};
template <>
struct action<g::body> {
  static void apply0(ParseState& s) {
    Computation& c = s.computation;
    bool has_root = false;
    for (const Instruction& i : c.instructions) has_root |= i.is_root;
    if (!has_root) c.root = static_cast<std::uint32_t>(c.instructions.size() - 1);
  }
};
template <>
struct action<g::computation> {
  static void apply0(ParseState& s) {
    s.attributes.clear();
    s.module().computations.push_back(std::move(s.computation));
  }
};
template <>
struct action<g::header> {
  static void apply0(ParseState& s) { s.module().attributes = std::exchange(s.attributes, {}); }
};
template <>
struct action<g::module_word> {
  static void apply0(ParseState& s) { s.module_is_open = false; }
};
template <>
struct action<g::module_name> {
  template <class Input>
  static void apply(const Input& in, ParseState& s) {
    s.module().name = view(in);
  }
};
template <>
struct action<g::module_separator> {
  static void apply0(ParseState& s) { s.module_is_open = false; }
};

// --- Messages

template <class Rule>
inline constexpr const char* message = nullptr;
template <>
inline constexpr const char* message<g::comment_end> = "this comment is not closed by '*/'";
template <>
inline constexpr const char* message<g::string_end> = "this string is not closed";
template <>
inline constexpr const char* message<g::balanced> = "unbalanced text";
template <>
inline constexpr const char* message<g::braces_end> = "expected '}'";
template <>
inline constexpr const char* message<g::parens_end> = "expected ')'";
template <>
inline constexpr const char* message<g::brackets_end> = "expected ']'";
template <>
inline constexpr const char* message<g::dims_end> = "expected a dimension or ']'";
template <>
inline constexpr const char* message<g::tuple_end> = "expected a shape or ')'";
template <>
inline constexpr const char* message<g::shape> = "expected a shape such as 'f32[2,3]'";
template <>
inline constexpr const char* message<g::attribute> = "expected an attribute 'name=value'";
template <>
inline constexpr const char* message<g::attribute_equals> = "expected '=' after the attribute's name";
template <>
inline constexpr const char* message<g::attribute_value> = "expected the attribute's value";
template <>
inline constexpr const char* message<g::instruction_equals> = "expected '=' after the instruction's name";
template <>
inline constexpr const char* message<g::call> = "expected a shape and an opcode such as 'f32[2,3] add(...)'";
template <>
inline constexpr const char* message<g::arguments_open> = "expected '(' after the opcode";
template <>
inline constexpr const char* message<g::arguments_end> = "expected an operand or ')'";
template <>
inline constexpr const char* message<g::parameter_number> = "expected the parameter's number";
template <>
inline constexpr const char* message<g::operand_name> = "expected the operand's name";
template <>
inline constexpr const char* message<g::signature_colon> = "expected ':' after the parameter's name";
template <>
inline constexpr const char* message<g::signature_end> = "expected a parameter or ')'";
template <>
inline constexpr const char* message<g::signature_arrow> = "expected '->' and the result's shape";
template <>
inline constexpr const char* message<g::body> = "expected '{' and the computation's instructions";
template <>
inline constexpr const char* message<g::instructions> = "expected an instruction 'name = shape opcode(...)'";
template <>
inline constexpr const char* message<g::body_end> = "expected an instruction 'name = shape opcode(...)' or '}'";
template <>
inline constexpr const char* message<g::module_name> = "expected the module's name";
template <>
inline constexpr const char* message<g::end_of_file> = "expected 'HloModule' or a computation";

// Only what `must` asks for raises an error; elsewhere a rule that fails is just an alternative not taken.
struct Messages {
  template <class Rule>
  static constexpr const char* message = frontend_hlo::message<Rule>;
  template <class Rule>
  static constexpr bool raise_on_failure = false;
};
template <class Rule>
using control = pegtl::must_if<Messages, pegtl::normal, false>::control<Rule>;

// Dumps of XLA's protobufs have the same file names as its text, so they are worth a word.
bool looks_like_protobuf(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    if (text[at] == '#' || text[at] == '/') at = std::min(text.find('\n', at), text.size());
    if (at < text.size() && text[at] > ' ') break;
    ++at;
  }
  const std::string_view rest = text.substr(std::min(at, text.size()));
  return rest.starts_with("hlo_module") || rest.starts_with("name:") || rest.starts_with("computations {");
}

}  // namespace

Result<std::vector<Module>> parse_hlo(const SourcePtr& source) {
  const std::string& text = source->text;
  if (text.size() > std::numeric_limits<std::uint32_t>::max() / 2) return fail("the file is too large", {source, 0, 0});
  ParseState state;
  state.source = source;
  try {
    pegtl::memory_input<pegtl::tracking_mode::lazy> in(text.data(), text.size(), source->name);
    pegtl::parse<g::file, action, control>(in, state);
  } catch (const pegtl::parse_error& error) {
    if (looks_like_protobuf(text)) return fail("this is a protobuf text dump, not HLO text", {source, 0, 0});
    const auto at = static_cast<std::uint32_t>(std::min(error.positions().front().byte, text.size()));
    // The text that limit_depth raises is PEGTL's own.
    if (error.message().starts_with("maximum parser rule nesting"))
      return fail("brackets nested deeper than " + std::to_string(kDeepestNesting), {source, at, at + 1});
    return fail(std::string(error.message()), {source, at, at + 1});
  }
  for (Module& module : state.modules) {
    if (module.computations.empty()) return fail("the module has no computation", module.span(module.name));
    module.entry = static_cast<std::uint32_t>(module.computations.size() - 1);
    for (std::size_t i = 0; i < module.computations.size(); ++i)
      if (module.computations[i].is_entry) module.entry = static_cast<std::uint32_t>(i);
  }
  if (state.modules.empty()) return fail("there is no HLO module in this file", {source, 0, 0});
  return std::move(state.modules);
}

}  // namespace fusewright::frontend_hlo
