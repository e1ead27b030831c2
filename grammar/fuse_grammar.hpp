#pragma once

#include <tao/pegtl.hpp>

/// Grammar of the rule language. `grammar/LANGUAGE.md` says what it means; this file only says what is well formed.
/// Every token takes the blanks and comments behind it, so that an error stands at the token that does not fit.
namespace fusewright::grammar::fuse {

using namespace tao::pegtl;  // NOLINT: a grammar reads like the formula only without qualifiers

// --- Blanks and comments ---------------------------------------------------------------------------
// `//` is floor division, and a comment only as the first thing on a line, where no division can stand. `///`
// documents.

struct rest_of_line : until<at<eolf>> {};
struct hash_comment : seq<one<'#'>, rest_of_line> {};
struct slash_comment : seq<star<blank>, string<'/', '/'>, not_at<one<'/'>>, rest_of_line> {};
struct sep : star<sor<seq<eol, slash_comment>, space, hash_comment>> {};
struct start_of_file : seq<opt<utf8::bom>, opt<slash_comment>, sep> {};

template <char... Cs>
struct mark : seq<string<Cs...>, sep> {};
template <class R>
struct token : seq<R, sep> {};

// --- Names -----------------------------------------------------------------------------------------

struct reserved_word
    : sor<TAO_PEGTL_STRING("include"), TAO_PEGTL_STRING("ruleset"), TAO_PEGTL_STRING("opclass"), TAO_PEGTL_STRING("op"),
          TAO_PEGTL_STRING("rewrite"), TAO_PEGTL_STRING("fuse"), TAO_PEGTL_STRING("match"), TAO_PEGTL_STRING("where"),
          TAO_PEGTL_STRING("let"), TAO_PEGTL_STRING("test"), TAO_PEGTL_STRING("reject"), TAO_PEGTL_STRING("if"),
          TAO_PEGTL_STRING("else"), TAO_PEGTL_STRING("and"), TAO_PEGTL_STRING("or"), TAO_PEGTL_STRING("not"),
          TAO_PEGTL_STRING("in"), TAO_PEGTL_STRING("as"), TAO_PEGTL_STRING("along"), TAO_PEGTL_STRING("fold"),
          TAO_PEGTL_STRING("true"), TAO_PEGTL_STRING("false"), TAO_PEGTL_STRING("inf"), TAO_PEGTL_STRING("to"),
          one<'_'>> {};
struct reserved : seq<reserved_word, not_at<identifier_other>> {};
struct name : seq<not_at<reserved>, identifier> {};
/// The operators and, or, not have the names of words; in front of a parenthesis they are meant.
struct word_operator : seq<sor<TAO_PEGTL_KEYWORD("and"), TAO_PEGTL_KEYWORD("or"), TAO_PEGTL_KEYWORD("not")>> {};
struct applied_name : sor<name, seq<word_operator, at<sep, one<'('>>>> {};
struct operator_name : sor<name, word_operator> {};
struct kebab_name : seq<identifier, star<one<'-'>, plus<identifier_other>>> {};

#define FW_WORD(rule, text) \
  struct rule : seq<TAO_PEGTL_KEYWORD(text), sep> {}
FW_WORD(word_include, "include");
FW_WORD(word_allow, "allow");
FW_WORD(word_ruleset, "ruleset");
FW_WORD(word_op, "op");
FW_WORD(word_opclass, "opclass");
FW_WORD(word_rewrite, "rewrite");
FW_WORD(word_fuse, "fuse");
FW_WORD(word_match, "match");
FW_WORD(word_where, "where");
FW_WORD(word_let, "let");
FW_WORD(word_to, "to");
FW_WORD(word_test, "test");
FW_WORD(word_reject, "reject");
FW_WORD(word_because, "because");
FW_WORD(word_kernels, "kernels");
FW_WORD(word_const, "const");
FW_WORD(word_exactness, "exactness");
FW_WORD(word_requires, "requires");
FW_WORD(word_target, "target");
FW_WORD(word_kernel, "kernel");
FW_WORD(word_no_duplicate, "no_duplicate");
FW_WORD(word_times, "times");
FW_WORD(word_sharing, "sharing");
FW_WORD(word_within, "within");
FW_WORD(word_as, "as");
FW_WORD(word_if, "if");
FW_WORD(word_else, "else");
FW_WORD(word_or, "or");
FW_WORD(word_and, "and");
FW_WORD(word_not, "not");
FW_WORD(word_in, "in");
FW_WORD(word_along, "along");
FW_WORD(word_fold, "fold");
#undef FW_WORD

struct open_paren : mark<'('> {};
struct close_paren : mark<')'> {};
struct open_brace : mark<'{'> {};
struct close_brace : mark<'}'> {};
struct open_bracket : mark<'['> {};
struct close_bracket : mark<']'> {};
struct comma : mark<','> {};
struct equals : seq<one<'='>, not_at<one<'='>>, sep> {};
struct colon : mark<':'> {};
struct question : seq<one<'?'>, not_at<one<'?'>>, sep> {};
struct separators : star<sor<comma, mark<';'>>> {};
struct comma_or_semicolon : sor<comma, mark<';'>> {};

// --- Numbers and text ------------------------------------------------------------------------------

struct integer : seq<plus<digit>, not_at<identifier_other>> {};
struct exponent : seq<one<'e', 'E'>, opt<one<'+', '-'>>, plus<digit>> {};
struct decimal : seq<plus<digit>, sor<seq<one<'.'>, plus<digit>, opt<exponent>>, exponent>, not_at<identifier_other>> {
};
struct infinity : TAO_PEGTL_KEYWORD("inf") {};
struct number : sor<decimal, integer, infinity> {};
struct approximate : if_must<one<'~'>, number> {};
struct truth : sor<TAO_PEGTL_KEYWORD("true"), TAO_PEGTL_KEYWORD("false")> {};
struct text_content : star<not_one<'"', '\n'>> {};
struct text : if_must<one<'"'>, text_content, one<'"'>> {};

// --- Expressions -----------------------------------------------------------------------------------
// Each level is a list of the next one; which way it folds is decided where the tree is built. Only brackets nest.

struct expression;

/// `..c`: the attributes that are not written, as the node c has them.
struct rest_argument : if_must<mark<'.', '.'>, token<name>> {};
struct named_argument : seq<token<name>, equals, must<expression>> {};
struct argument : sor<rest_argument, named_argument, expression> {};
struct arguments : if_must<open_paren, opt<argument, star<comma_or_semicolon, must<argument>>>, close_paren> {};
struct call : seq<token<applied_name>, arguments> {};
struct fold_block : if_must<open_brace, expression, close_brace> {};
struct fold_parens : if_must<open_paren, expression, close_paren> {};
struct fold_body : sor<fold_block, fold_parens> {};
struct fold_call : if_must<word_fold, fold_body> {};
struct list_value : if_must<open_bracket, opt<expression, star<comma, must<expression>>>, close_bracket> {};
struct nested : if_must<open_paren, expression, close_paren> {};
struct primary : sor<token<number>, token<approximate>, token<text>, token<truth>, fold_call, call, token<name>,
                     list_value, nested> {};

struct slice_colon : seq<colon> {};
struct index : if_must<open_bracket, opt<expression>, opt<slice_colon, opt<expression>>, close_bracket> {};
struct field : seq<one<'.'>, not_at<one<'.'>>, must<token<identifier>>> {};
struct postfix : seq<primary, star<sor<index, field>>> {};

struct power_operator : mark<'*', '*'> {};
struct minus_sign : mark<'-'> {};
struct exponent_operand : seq<star<minus_sign>, postfix> {};
struct power : seq<postfix, star<power_operator, must<exponent_operand>>> {};
struct negation : seq<star<minus_sign>, power> {};
struct along : seq<negation, opt<word_along, must<negation>>> {};
struct floor_division : seq<string<'/', '/'>, not_at<one<'/'>>> {};
struct product_operator
    : token<sor<floor_division, seq<one<'/'>, not_at<one<'/'>>>, seq<one<'*'>, not_at<one<'*'>>>, one<'%'>>> {};
struct product : list_must<along, product_operator> {};
struct sum_operator : token<one<'+', '-'>> {};
struct sum : list_must<product, sum_operator> {};
struct coalesce_operator : mark<'?', '?'> {};
struct coalesce : list_must<sum, coalesce_operator> {};
struct not_in : seq<word_not, word_in> {};
struct comparison_operator
    : sor<mark<'=', '='>, mark<'!', '='>, mark<'<', '='>, mark<'>', '='>, mark<'<'>, mark<'>'>, word_in, not_in> {};
struct comparison : seq<coalesce, opt<comparison_operator, must<coalesce>>> {};
struct negated : seq<star<word_not>, comparison> {};
struct conjunction : list_must<negated, word_and> {};
struct disjunction : list_must<conjunction, word_or> {};
struct conditional : seq<disjunction, star<word_if, must<disjunction, word_else, disjunction>>> {};
struct expression : seq<conditional> {};
struct expressions : list_must<expression, comma> {};

// --- Patterns --------------------------------------------------------------------------------------

struct pattern;
struct alias : if_must<word_as, token<name>> {};
struct wildcard : seq<one<'_'>, not_at<identifier_other>> {};
struct tolerance : if_must<word_within, token<number>> {};
struct literal_pattern : seq<sor<token<number>, seq<token<approximate>, opt<tolerance>>>> {};
struct optional_mark : seq<question> {};
struct name_pattern : seq<token<name>, opt<optional_mark>> {};
struct wildcard_pattern : seq<token<wildcard>, opt<optional_mark>> {};
struct attribute_pattern : seq<token<name>, equals, must<expression>> {};
struct operand : sor<attribute_pattern, pattern> {};
struct operands : if_must<open_paren, opt<operand, star<comma_or_semicolon, must<operand>>>, close_paren> {};
struct result : if_must<one<'.'>, token<identifier>> {};
struct application : seq<token<applied_name>, operands, opt<result>> {};
struct alternative : sor<pattern, token<operator_name>> {};
struct choice : if_must<open_paren, alternative, star<mark<'|'>, must<alternative>>, close_paren> {};
struct choice_pattern : seq<choice, opt<operands, opt<result>>> {};
struct primary_pattern : sor<literal_pattern, wildcard_pattern, application, name_pattern, choice_pattern> {};
struct aliased_pattern : seq<primary_pattern, opt<alias>> {};
struct exponent_pattern : seq<star<minus_sign>, aliased_pattern> {};
struct power_pattern : seq<aliased_pattern, opt<power_operator, must<exponent_pattern>>> {};
struct negated_pattern : seq<star<minus_sign>, power_pattern> {};
struct product_pattern_operator : token<sor<seq<one<'*'>, not_at<one<'*'>>>, seq<one<'/'>, not_at<one<'/'>>>>> {};
struct product_pattern : list_must<negated_pattern, product_pattern_operator> {};
struct optional_operator : token<one<'+', '-', '*', '/'>> {};
struct optional_part : if_must<open_bracket, optional_operator, product_pattern, close_bracket, question> {};
struct sum_pattern_tail : sor<if_must<sum_operator, product_pattern>, optional_part> {};
struct sum_pattern : seq<product_pattern, star<sum_pattern_tail>> {};
struct pattern_comparison : sor<mark<'=', '='>, mark<'!', '='>, mark<'<', '='>, mark<'>', '='>, mark<'<'>, mark<'>'>> {
};
struct pattern : seq<sum_pattern, opt<pattern_comparison, must<sum_pattern>>> {};

// --- Operator classes and segments of a fusion -------------------------------------------------------

struct class_expression;
struct class_braces : if_must<open_brace, token<operator_name>, star<comma, must<token<operator_name>>>, close_brace> {
};
struct class_nested : if_must<open_paren, class_expression, close_paren> {};
struct class_primary : sor<class_braces, class_nested, token<operator_name>> {};
struct class_operator : token<sor<seq<one<'|'>, not_at<one<'>'>>>, one<'-'>>> {};
struct class_expression : list_must<class_primary, class_operator> {};

struct bounds_star : token<one<'*'>> {};
struct bounds_plus : token<one<'+'>> {};
struct bounds_range : if_must<open_brace, token<integer>, opt<comma, must<token<integer>>>, close_brace> {};
struct bounds : sor<bounds_star, bounds_plus, optional_mark, bounds_range> {};
struct class_segment : seq<sor<class_braces, class_nested, token<operator_name>>> {};
struct applied_class : seq<class_nested, operands> {};
struct segment : seq<sor<application, applied_class, class_segment>, opt<bounds>, opt<alias>> {};
struct times : if_must<word_times, bounds_range> {};
struct sharing : if_must<word_sharing, token<name>, star<comma, must<token<name>>>> {};
struct chain : seq<list_must<segment, mark<'|', '>'>>, opt<times, opt<sharing>>> {};

// --- Clauses of rules --------------------------------------------------------------------------------

struct exactness_word : seq<token<name>, opt<if_must<open_paren, token<number>, close_paren>>> {};
struct exactness : if_must<word_exactness, open_paren, exactness_word, star<comma, must<exactness_word>>, close_paren> {
};
struct kernel : if_must<word_kernel, open_paren, token<name>, close_paren> {};
struct requires_target : if_must<word_requires, word_target, open_paren, token<kebab_name>,
                                 star<comma, must<token<kebab_name>>>, close_paren> {};
struct header : star<sor<exactness, kernel, requires_target>> {};

struct let_clause : if_must<word_let, token<name>, equals, expression> {};
struct where_clause : if_must<word_where, expressions> {};
struct to_clause : if_must<word_to, expressions> {};
struct no_duplicate_clause : if_must<word_no_duplicate, token<name>, star<comma, must<token<name>>>> {};
struct match_pattern : if_must<word_match, pattern, star<comma, pattern>> {};
struct match_chain : if_must<word_match, chain> {};

struct dimension : sor<token<integer>, token<name>> {};
struct dimensions : if_must<open_bracket, opt<dimension, star<comma, must<dimension>>>, close_bracket> {};
struct tensor_type : seq<token<identifier>, must<dimensions>> {};
struct constant_mark : seq<word_const> {};
struct input : seq<token<name>, colon, opt<constant_mark>, must<tensor_type>> {};
struct match_outputs : if_must<word_match, expressions> {};
struct kernels_clause : if_must<word_kernels, token<integer>> {};
struct test_clause : sor<let_clause, match_outputs, to_clause, kernels_clause, input> {};
struct end_of_test : seq<close_brace> {};
struct test_body : if_must<open_brace, separators, star<test_clause, separators>, end_of_test> {};
struct because : if_must<word_because, expression> {};
struct test_mark : seq<word_test> {};
struct reject_mark : seq<word_reject> {};
struct test
    : seq<sor<test_mark, reject_mark>, opt<not_at<word_because>, token<kebab_name>>, opt<because>, must<test_body>> {};

struct common_clause : sor<where_clause, let_clause, to_clause, no_duplicate_clause, test> {};
struct rewrite_clause : sor<match_pattern, common_clause> {};
struct fuse_clause : sor<match_chain, common_clause> {};

// --- Declarations ------------------------------------------------------------------------------------

struct documentation_line : seq<string<'/', '/', '/'>, rest_of_line> {};
struct documentation : plus<documentation_line, sep> {};

struct include : if_must<word_include, token<text>> {};
struct ruleset_open : seq<open_brace> {};
struct ruleset : if_must<word_ruleset, token<kebab_name>, opt<ruleset_open>> {};

struct ellipsis : mark<'.', '.', '.'> {};
struct parameter : seq<token<name>, opt<sor<ellipsis, optional_mark>>> {};
struct parameters : opt<parameter, star<comma, must<parameter>>> {};
struct attribute_kind : if_must<colon, token<identifier>> {};
struct attribute_default : if_must<equals, expression> {};
struct attribute : seq<token<name>, opt<optional_mark>, opt<attribute_kind>, opt<attribute_default>> {};
struct attributes : if_must<mark<';'>, attribute, star<comma, must<attribute>>> {};
struct result_name : seq<token<name>> {};
struct result_names : if_must<mark<'-', '>'>, open_paren, result_name, star<comma, must<result_name>>, close_paren> {};
struct formula : if_must<equals, expression> {};
struct value_clause : seq<token<name>, equals, must<expression>> {};
struct op_clause : sor<let_clause, to_clause, value_clause> {};
struct end_of_op : seq<close_brace> {};
struct op_block : if_must<open_brace, separators, star<op_clause, separators>, end_of_op> {};
struct op : if_must<word_op, token<name>, open_paren, parameters, opt<attributes>, close_paren, opt<result_names>,
                    opt<sor<formula, op_block>>> {};

struct class_where : if_must<word_where, expressions> {};
struct opclass : if_must<word_opclass, token<name>, equals, class_expression, opt<class_where>> {};

struct start_of_rule : seq<open_brace, separators> {};
struct end_of_rule : seq<close_brace> {};
struct rewrite
    : if_must<word_rewrite, token<kebab_name>, header, start_of_rule, star<rewrite_clause, separators>, end_of_rule> {};
struct fuse : if_must<word_fuse, token<kebab_name>, header, start_of_rule, star<fuse_clause, separators>, end_of_rule> {
};

struct lint_name : seq<token<kebab_name>> {};
struct reason : seq<token<text>> {};
struct reason_comma : seq<comma> {};
struct allow : if_must<word_allow, open_paren, lint_name, reason_comma, reason, close_paren> {};

struct declaration : sor<include, ruleset, opclass, op, rewrite, fuse> {};
struct item : seq<opt<documentation>, star<allow, separators>, must<declaration>, separators> {};
/// The brace that ends a `ruleset name { ... }`.
struct ruleset_close : seq<close_brace, separators> {};
struct file : must<start_of_file, star<not_at<eof>, sor<ruleset_close, item>>, eof> {};

}  // namespace fusewright::grammar::fuse
