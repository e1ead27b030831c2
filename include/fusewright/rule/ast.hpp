#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "fusewright/ops/expr.hpp"
#include "fusewright/support/diagnostic.hpp"

/// Rule files as they were parsed: names unresolved, nothing checked but the grammar.
namespace fusewright::rule::ast {

using ops::ExprPtr;

struct Name {
  std::string text;
  Span span;
};

struct Pattern;
using PatternPtr = std::shared_ptr<const Pattern>;

/// `dims = d` in an application.
struct AttrPattern {
  Name name;
  ExprPtr value;
};

struct Pattern {
  enum class Kind : std::uint8_t {
    kName,      ///< name: a variable (or an operator name inside a choice)
    kWildcard,  ///< _
    kLiteral,   ///< literal, maybe with a tolerance
    kApply,     ///< name or args[0] (a choice) applied; operands follow
    kChoice,    ///< ( args[0] | args[1] | ... )
    kOptional,  ///< args[0] [op args[1]]?   `name` is the operator add, sub, mul or div
    kBinary,    ///< args[0] op args[1]      `name` is the operator
    kNegate,    ///< - args[0]
  };
  Kind kind = Kind::kWildcard;
  Span span;
  Name name;
  std::vector<PatternPtr> args;    ///< kApply: args[0] is null, or the choice that is applied; then the operands
  std::vector<AttrPattern> attrs;  ///< kApply
  bool optional = false;           ///< kName, kWildcard: `b?`
  ExprPtr literal;                 ///< kLiteral: kInt or kFloat, sign included
  std::optional<double> within;    ///< kLiteral: `~0.7 within 0.01`
  Name result;                     ///< kApply: `.values`
  Name as;                         ///< `as name`
};

struct Param {
  Name name;
  bool optional = false;  ///< x?
  bool variadic = false;  ///< x...
};
struct AttrDecl {
  Name name;
  std::optional<Name> kind;  ///< `axes: ints`
  ExprPtr fallback;          ///< may be null
  bool optional = false;     ///< axes?: ints
};
struct Let {
  Name name;
  ExprPtr value;
};

struct OpDecl {
  Name name;
  std::vector<Param> params;
  std::vector<AttrDecl> attrs;
  std::vector<Name> results;  ///< empty: one, named out
  bool has_body = false;
  std::vector<Let> lets;
  std::vector<Let> values;  ///< one for each result, in any order
};

/// Set algebra over classes and operators.
struct ClassExpr;
using ClassPtr = std::shared_ptr<const ClassExpr>;
struct ClassExpr {
  enum class Kind : std::uint8_t { kName, kUnion, kDifference };
  Kind kind = Kind::kName;
  Name name;
  std::vector<ClassPtr> args;
};
struct ClassDecl {
  Name name;
  ClassPtr value;
  ExprPtr where;  ///< over properties of an operator (operands, results, commutative, ...); may be null
};

/// exactness(word, word(number), ...)
struct ExactnessWord {
  Name word;
  std::optional<double> rtol;
};

struct Segment {
  Span span;
  ClassPtr ops;      ///< of a class segment; null for an application
  PatternPtr apply;  ///< operator(operands)
  std::uint32_t min = 1, max = 1;
  Name as;
};
struct Root {
  Span span;
  PatternPtr pattern;             ///< of a rewrite
  std::vector<Segment> segments;  ///< of a fuse
  std::uint32_t min = 1, max = 1;
  std::vector<Name> shared;
};

struct TestDecl {
  struct Input {
    Name name;
    bool constant = false;
    ops::Type type;
  };
  bool reject = false;
  Span span;    ///< of its first word
  Span extent;  ///< of all of it
  Name name;
  ExprPtr because;
  std::vector<Input> inputs;
  std::vector<Let> lets;
  std::vector<ExprPtr> outputs, expected;
  std::optional<std::int64_t> kernels;
};

/// A `where` or `let`, in the order written.
struct Clause {
  ExprPtr where;
  Let let;  ///< when `where` is null
};

struct RuleDecl {
  bool fuse = false;
  Name name;
  std::vector<ExactnessWord> exactness;
  Span exactness_span;
  std::optional<Name> kernel;
  std::vector<Name> targets;
  std::vector<Root> roots;
  std::vector<Clause> clauses;
  std::vector<ExprPtr> to;
  Span to_span;
  std::vector<Name> no_duplicate;
  std::vector<TestDecl> tests;
};

struct Include {
  std::string path;
};
struct Ruleset {
  Name name;
  bool block = false;       ///< `ruleset name { ... }`; otherwise it names the rest of the file
  std::uint32_t items = 0;  ///< of a block: how many of the following items are in it
};

/// `allow(lint, "reason")` in front of a declaration.
struct Allow {
  Name lint;
  std::string reason;
};

struct Item {
  std::variant<Include, Ruleset, OpDecl, ClassDecl, RuleDecl> what;
  std::string doc;
  std::vector<Allow> allows;
  Span span;    ///< of its name or path
  Span extent;  ///< from its documentation to its last token
};

struct File {
  SourcePtr source;
  std::uint32_t layer = 0;  ///< which of the paths that were loaded it came with
  std::vector<Item> items;
  // Of what could not be read, so that its users are not told that it does not exist.
  std::vector<std::string> unread_names;  ///< that a declaration with a syntax error declares
  bool unread_include = false;            ///< an include, or the whole file
};

}  // namespace fusewright::rule::ast
