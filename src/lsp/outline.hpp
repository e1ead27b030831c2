#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fusewright/rule/tokens.hpp"

namespace fusewright::lsp {

/// Tokens [begin, end) of an outline, or bytes of its text.
struct Stretch {
  std::size_t begin = 0, end = 0;
  bool holds(std::size_t i) const { return begin <= i && i < end; }
};

/// A name that a declaration gives to something inside of it.
struct Binding {
  enum class Kind : std::uint8_t { kTensor, kNode, kSegment, kAttribute, kOperand, kResult, kLet, kInput };
  Kind kind = Kind::kTensor;
  std::string name;
  std::size_t token = 0;  ///< where it is bound
  std::string what;       ///< a node's or segment's operators, an attribute's owner, a let's expression, a type
};
std::string_view name(Binding::Kind kind);

/// `test` or `reject`.
struct Example {
  bool reject = false;
  std::string name;
  std::size_t token = 0;  ///< its keyword
  Stretch tokens;         ///< all of it
  Stretch body;           ///< inside its braces
  std::vector<Binding> bindings;
};

struct Declaration {
  enum class Kind : std::uint8_t { kInclude, kRuleset, kOp, kOpclass, kRewrite, kFuse };
  Kind kind = Kind::kOp;
  std::string name;       ///< of an include its path
  std::size_t token = 0;  ///< of its name
  Stretch tokens;         ///< from its keyword on
  std::string doc;
  std::string signature;  ///< as written, up to the formula or the block
  std::vector<Binding> bindings;
  std::vector<Example> examples;
};
std::string_view name(Declaration::Kind kind);

/// What a text declares, as far as its tokens tell: also of a text that is no rule file, or not yet.
struct Outline {
  std::string text;
  std::vector<rule::Token> tokens;  ///< without comments
  std::vector<rule::Token> comments;
  std::vector<Declaration> declarations;

  std::string_view word(std::size_t i) const { return i < tokens.size() ? tokens[i].text(text) : std::string_view(); }
  bool is_word(std::size_t i) const { return i < tokens.size() && tokens[i].kind == rule::Token::Kind::kWord; }
  /// The word, number or mark at a byte; one that ends there counts where none begins.
  std::optional<std::size_t> token_at(std::size_t offset) const;
  /// Tokens that begin before a byte.
  std::size_t tokens_before(std::size_t offset) const;
  bool in_comment(std::size_t offset) const;
  const Declaration* declaration_at(std::size_t token) const;
  /// The bracket that is open in front of a token, innermost first, within its declaration.
  std::vector<std::size_t> open_brackets(std::size_t token) const;
  /// The operator or class whose operands or attributes stand in the brackets around a token; empty where there is
  /// none.
  std::string applied_at(std::size_t token) const;
};

/// @param is_operator  tells operators from names in an alternation `(relu | x)`.
Outline outline_of(std::string text, const std::function<bool(std::string_view)>& is_operator);

/// What a name stands for where it stands.
const Binding* binding_at(const Outline& outline, std::size_t token);
/// The bindings that can be seen from a token, those of its example first.
std::vector<const Binding*> bindings_around(const Outline& outline, std::size_t token);
/// Whether a token names an attribute or a result, which belong to an operator: `dims` of `broadcast(x, dims = d)`,
/// `c.dims`.
bool is_field(const Outline& outline, std::size_t token);

}  // namespace fusewright::lsp
