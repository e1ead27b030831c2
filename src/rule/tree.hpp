#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fusewright/rule/ast.hpp"
#include "fusewright/support/diagnostic.hpp"
#include "grammar/fuse_grammar.hpp"

namespace fusewright::rule {

namespace fuse_grammar = grammar::fuse;

template <class Rule>
inline constexpr char grammar_rule = 0;  ///< its address stands for the rule

/// What a rule of the grammar matched, and what those rules matched that it is made of.
struct TreeNode {
  const char* rule = nullptr;
  const char* begin = nullptr;
  const char* end = nullptr;  ///< behind the blanks that follow
  std::vector<TreeNode> children;

  template <class Rule>
  bool is_type() const {
    return rule == &grammar_rule<Rule>;
  }
};

/// Which bytes of a rule file belong to tokens, and whether it can be parsed at all.
struct Scan {
  std::vector<bool> significant;
  std::vector<Diagnostic> errors;  ///< control characters, nesting too deep
};
Scan scan_source(const SourcePtr& source);

/// Turns the parse tree of one file into its AST.
class TreeReader {
 public:
  TreeReader(SourcePtr source, const Scan& scan) : source_(std::move(source)), scan_(scan) {}

  ast::Item item(const TreeNode& node);
  /// Whether a part of the last item could not be read, so that there is something else in its place.
  bool incomplete() const { return incomplete_; }
  std::vector<Diagnostic> take_errors() { return std::move(errors_); }

 private:
  // Text and places; a node's end is that of its last token.
  Span span(const TreeNode& node) const;
  Span span(const TreeNode& first, const TreeNode& last) const;
  std::string text(const TreeNode& node) const;
  ast::Name name(const TreeNode& node) const { return {text(node), span(node)}; }
  ast::Name name_behind_mark(const TreeNode& node) const;  ///< of `.values`, `: ints`
  std::int64_t integer(const TreeNode& node);
  std::uint32_t count(const TreeNode& node);
  double number(const TreeNode& node);
  std::string quoted(const TreeNode& node) const;
  bool too_long(const TreeNode& node);  ///< reports a chain of operators that would nest too deep

  // expressions (read_expr.cpp)
  ast::ExprPtr expression(const TreeNode& node);
  ast::ExprPtr primary(const TreeNode& node);
  ast::ExprPtr literal(const TreeNode& node);
  ast::ExprPtr call(const TreeNode& node);
  ast::ExprPtr postfix(const TreeNode& node);
  ast::ExprPtr index(const TreeNode& node, ast::ExprPtr base, const Span& span);
  ast::ExprPtr fold_left(const TreeNode& node);
  ast::ExprPtr fold_right_power(const TreeNode& node);
  ast::ExprPtr conditional(const TreeNode& node);
  std::vector<ast::ExprPtr> expressions(const TreeNode& node);

  // patterns, classes, segments (read_pattern.cpp)
  ast::PatternPtr pattern(const TreeNode& node);
  ast::PatternPtr primary_pattern(const TreeNode& node);
  ast::PatternPtr literal_pattern(const TreeNode& node);
  ast::PatternPtr choice(const TreeNode& node);
  void operands(const TreeNode& node, ast::Pattern& into);
  ast::ClassPtr class_expression(const TreeNode& node);
  ast::Segment segment(const TreeNode& node);
  ast::Root chain(const TreeNode& node);
  std::pair<std::uint32_t, std::uint32_t> bounds(const TreeNode& node);

  // declarations (read_item.cpp)
  ast::OpDecl op(const TreeNode& node);
  ast::AttrDecl attribute(const TreeNode& node);
  ast::ClassDecl opclass(const TreeNode& node);
  ast::RuleDecl rule(const TreeNode& node, bool fuse);
  void header(const TreeNode& node, ast::RuleDecl& rule);
  void clause(const TreeNode& node, ast::RuleDecl& rule);
  ast::Let let(const TreeNode& node);
  ast::TestDecl test(const TreeNode& node);
  ast::TestDecl::Input input(const TreeNode& node);
  void error(Span span, std::string message, std::string suggestion = {}) {
    errors_.push_back({Severity::kError, std::move(span), std::move(message), {}, std::move(suggestion)});
  }

  void unreadable(Span span, std::string message) {
    error(std::move(span), std::move(message));
    incomplete_ = true;
  }

  SourcePtr source_;
  const Scan& scan_;
  std::vector<Diagnostic> errors_;
  bool incomplete_ = false;
};

}  // namespace fusewright::rule
