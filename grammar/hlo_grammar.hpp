#pragma once

#include <tao/pegtl.hpp>

/// The text form of HLO modules, as XLA prints and reads it. Rules only: what they build stands in frontend/hlo.
///
/// A file holds modules, separated by lines `// -----`. A module may lack its header; then it is just its computations.
/// Attribute values and literals are matched here as balanced text; `value::` and `literal::` below say what is in
/// them.
namespace fusewright::grammar::hlo {

using namespace tao::pegtl;

// --- What separates words ---------------------------------------------------------------------------

struct module_separator : seq<string<'/', '/', ' ', '-', '-', '-', '-', '-'>, star<blank>, at<eolf>> {};
struct line_comment : seq<not_at<module_separator>, sor<two<'/'>, one<'#'>>, until<at<eolf>>> {};
struct comment_end : until<string<'*', '/'>> {};
struct block_comment : if_must<string<'/', '*'>, comment_end> {};
struct gap : sor<plus<space>, line_comment, block_comment> {};
struct gaps : star<gap> {};

// --- Words ------------------------------------------------------------------------------------------

struct name_char : sor<alnum, one<'_', '.', '-'>> {};
struct bare_name : seq<sor<alpha, one<'_'>>, star<name_char>> {};
struct name_text : sor<seq<one<'%'>, plus<name_char>>, bare_name> {};
struct digits : plus<digit> {};
template <class Word>
struct keyword : seq<Word, not_at<name_char>> {};

// --- Text that closes what it opens -----------------------------------------------------------------

struct string_end : until<one<'"'>, sor<seq<one<'\\'>, any>, any>> {};
struct quoted : if_must<one<'"'>, string_end> {};
struct balanced;
struct braces_end : one<'}'> {};
struct parens_end : one<')'> {};
struct brackets_end : one<']'> {};
struct braces : if_must<one<'{'>, balanced, braces_end> {};
struct parens : if_must<one<'('>, balanced, parens_end> {};
struct brackets : if_must<one<'['>, balanced, brackets_end> {};
struct plain_run : plus<not_one<'{', '}', '(', ')', '[', ']', '"'>> {};
struct balanced : star<sor<plain_run, quoted, braces, parens, brackets>> {};

// --- Shapes: f32[2,<=3]{1,0:T(8,128)S(1)}, (s32[], f32[?,4]), token[] -----------------------------------

struct element_type : seq<lower, star<alnum>> {};
struct dim_bound : string<'<', '='> {};
struct dim_number : digits {};
struct dim_unknown : one<'?'> {};
struct dim : sor<dim_unknown, seq<opt<dim_bound>, dim_number>> {};
struct dims_end : one<']'> {};
struct dims : if_must<one<'['>, gaps, opt<list<dim, one<','>, gap>>, gaps, dims_end> {};
struct layout_order : list<digits, one<','>, blank> {};
struct layout_tiles : seq<one<':'>, star<sor<alnum, one<'(', ')', ',', '*', '#', ' ', '-', '[', ']'>>>> {};
struct layout : seq<one<'{'>, opt<layout_order>, opt<layout_tiles>, one<'}'>> {};
struct array_shape : seq<element_type, dims, opt<layout>> {};
struct shape;
struct tuple_open : one<'('> {};
struct tuple_end : one<')'> {};
struct tuple_shape : if_must<tuple_open, gaps, opt<list<shape, one<','>, gap>>, gaps, tuple_end> {};
struct shape : sor<tuple_shape, array_shape> {};

// --- Attributes: name=value, values as text -----------------------------------------------------------

struct attribute_name : seq<sor<alpha, one<'_'>>, star<sor<alnum, one<'_', '-'>>>> {};
struct value_run
    : plus<sor<alnum, one<'_', '.', '-', '%', ':', '<', '>', '=', '+', '@', '$', '\'', '?', '|', '&', '!', '~'>>> {};
struct value_part : sor<value_run, quoted, braces, parens, brackets> {};
// `literal=s32[] 1` and `mesh['x'=2] {'x'}` go on behind a blank; an instruction's name never starts so.
struct value_rest : seq<plus<blank>, sor<seq<opt<one<'-'>>, digits>, braces>> {};
struct attribute_value : seq<plus<value_part>, star<value_rest>> {};
struct attribute_equals : one<'='> {};
struct attribute : if_must<attribute_name, gaps, attribute_equals, gaps, attribute_value> {};
struct attributes : star<seq<gaps, one<','>, must<gaps, attribute>>> {};

// --- Instructions -----------------------------------------------------------------------------------

struct root_mark : keyword<string<'R', 'O', 'O', 'T'>> {};
struct instruction_name : name_text {};
struct instruction_equals : one<'='> {};
struct shape_ahead : at<sor<one<'('>, seq<element_type, one<'['>>>> {};
struct instruction_shape : seq<shape_ahead, must<shape>> {};
struct opcode : seq<lower, star<sor<lower, digit, one<'-'>>>> {};
struct arguments_open : one<'('> {};
struct arguments_end : one<')'> {};

struct literal_text : star<sor<plain_run, quoted, braces, parens, brackets>> {};
struct constant_opcode : seq<string<'c', 'o', 'n', 's', 't', 'a', 'n', 't'>, at<gaps, arguments_open>> {};
struct constant_call : if_must<constant_opcode, gaps, arguments_open, literal_text, arguments_end> {};

struct parameter_opcode : seq<string<'p', 'a', 'r', 'a', 'm', 'e', 't', 'e', 'r'>, at<gaps, arguments_open>> {};
struct parameter_number : digits {};
struct parameter_call : if_must<parameter_opcode, gaps, arguments_open, gaps, parameter_number, gaps, arguments_end> {};

struct operand_shape : seq<shape_ahead, must<shape>> {};
struct operand_name : name_text {};
struct operand : sor<seq<operand_shape, gaps, must<operand_name>>, operand_name> {};
struct operand_call
    : if_must<opcode, gaps, arguments_open, gaps, opt<list<operand, one<','>, gap>>, gaps, arguments_end> {};

struct call : sor<constant_call, parameter_call, operand_call> {};
struct instruction : if_must<seq<opt<seq<root_mark, gaps>>, instruction_name>, gaps, instruction_equals, gaps,
                             opt<instruction_shape, gaps>, call, attributes> {};

// --- Computations -----------------------------------------------------------------------------------

struct entry_mark : keyword<string<'E', 'N', 'T', 'R', 'Y'>> {};
struct computation_name : name_text {};
struct signature_name : name_text {};
struct signature_colon : one<':'> {};
struct signature_parameter : if_must<signature_name, gaps, signature_colon, gaps, shape> {};
struct signature_end : one<')'> {};
struct signature_arrow : string<'-', '>'> {};
struct signature : if_must<one<'('>, gaps, opt<list<signature_parameter, one<','>, gap>>, gaps, signature_end, gaps,
                           signature_arrow, gaps, shape> {};
struct body_open : one<'{'> {};
struct body_end : one<'}'> {};
struct instructions : plus<instruction, gaps> {};
struct body : if_must<body_open, gaps, instructions, body_end> {};
struct computation
    : if_must<seq<opt<seq<entry_mark, gaps>>, computation_name>, gaps, opt<signature, gaps>, body, attributes> {};

// --- Modules ----------------------------------------------------------------------------------------

struct module_word : keyword<string<'H', 'l', 'o', 'M', 'o', 'd', 'u', 'l', 'e'>> {};
struct module_name : name_text {};
struct header : if_must<module_word, gaps, module_name, attributes> {};

// Tables of source positions; they say nothing about what is computed.
struct table_word : keyword<sor<TAO_PEGTL_STRING("FileNames"), TAO_PEGTL_STRING("FunctionNames"),
                                TAO_PEGTL_STRING("FileLocations"), TAO_PEGTL_STRING("StackFrames")>> {};
struct table : seq<table_word, gaps, star<seq<digits, gaps, sor<quoted, braces>, gaps>>> {};

struct file_item : sor<module_separator, header, table, computation> {};
struct end_of_file : eof {};
struct file : must<gaps, star<file_item, gaps>, end_of_file> {};

// --- What stands in attribute values ------------------------------------------------------------------

namespace value {

struct integer : seq<opt<one<'-'>>, digits> {};
struct name : name_text {};
template <class Item>
struct items : seq<gaps, opt<list<Item, one<','>, gap>>, gaps> {};

/// {0,2} or nothing in the braces
struct integers : seq<one<'{'>, items<integer>, one<'}'>, eof> {};
/// {%body, %other} or one name alone
struct names : seq<sor<seq<one<'{'>, items<name>, one<'}'>>, name>, eof> {};

/// {[0:16], [0:4:2]}: start, limit and, where it is not 1, stride of each axis
struct slice_start : integer {};
struct slice_limit : integer {};
struct slice_stride : integer {};
struct slice_axis : seq<one<'['>, slice_start, one<':'>, slice_limit, opt<one<':'>, slice_stride>, one<']'>> {};
struct slices : seq<one<'{'>, items<slice_axis>, one<'}'>, eof> {};

/// 0_0x2_1_1: low, high and, where it is not 0, interior padding of each axis
struct pad_low : integer {};
struct pad_high : integer {};
struct pad_interior : integer {};
struct pad_axis : seq<pad_low, one<'_'>, pad_high, opt<one<'_'>, pad_interior>> {};
struct padding_list : list<pad_axis, one<'x'>> {};
struct padding : seq<padding_list, eof> {};

/// {size=3x3 stride=2x2 pad=1_1x1_1 lhs_dilate=1x1 rhs_dilate=1x1 rhs_reversal=0x0}
struct window_key : seq<lower, star<sor<lower, one<'_'>>>> {};
struct window_number : integer {};
struct window_numbers : list<window_number, one<'x'>> {};
struct window_field : seq<window_key, one<'='>, sor<padding_list, window_numbers>> {};
struct window : seq<one<'{'>, gaps, star<window_field, gaps>, one<'}'>, eof> {};

/// b01f_01io->b01f: what each axis of the input, the kernel and the output is
struct input_labels : plus<sor<digit, one<'b', 'f', '?'>>> {};
struct kernel_labels : plus<sor<digit, one<'i', 'o', '?'>>> {};
struct output_labels : plus<sor<digit, one<'b', 'f', '?'>>> {};
struct dim_labels : seq<input_labels, one<'_'>, kernel_labels, string<'-', '>'>, output_labels, eof> {};

}  // namespace value

// --- Literals: 1.5, {{1,2},{3,4}}, (1, -2.5), {...} -----------------------------------------------------

namespace literal {

struct elided : seq<one<'{'>, gaps, string<'.', '.', '.'>, gaps, one<'}'>> {};
struct open : one<'{'> {};
struct close : one<'}'> {};
struct not_a_number : seq<string<'n', 'a', 'n'>, opt<string<'(', '0', 'x'>, plus<xdigit>, one<')'>>> {};
struct exponent : seq<one<'e', 'E'>, opt<one<'-', '+'>>, digits> {};
struct decimal : seq<sor<seq<digits, opt<one<'.'>, star<digit>>>, seq<one<'.'>, digits>>, opt<exponent>> {};
struct word : sor<TAO_PEGTL_STRING("inf"), TAO_PEGTL_STRING("true"), TAO_PEGTL_STRING("false")> {};
struct scalar : seq<opt<one<'-', '+'>>, sor<not_a_number, word, decimal>, not_at<name_char>> {};
struct complex : if_must<one<'('>, gaps, scalar, gaps, one<','>, gaps, scalar, gaps, one<')'>> {};
struct element;
struct array : seq<open, gaps, opt<list<element, one<','>, gap>>, gaps, close> {};
struct element : sor<elided, array, complex, scalar> {};
struct value : must<gaps, element, gaps, eof> {};

}  // namespace literal

}  // namespace fusewright::grammar::hlo
