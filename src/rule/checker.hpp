#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "fusewright/rule/ast.hpp"
#include "fusewright/rule/rule.hpp"

namespace fusewright::rule {

/// Collects what is wrong; the same message at the same place (from two variants of one rule) counts once.
class Reports {
 public:
  void error(const Span& span, std::string message, std::string suggestion = {}, std::vector<Note> notes = {});
  /// A name that nothing declares, unless it may be declared in what could not be read.
  void unknown(const Span& span, const std::string& name, std::string message, std::string suggestion);
  void warning(const std::string& lint, const Span& span, std::string message, std::vector<Note> notes = {});
  void note(const Span& span, std::string message);
  /// Names that are declared, or all names, but not how.
  void unread(const std::vector<std::string>& names, bool any);
  /// What was collected elsewhere, as if it were said here and now.
  void add(Reports more);
  /// Errors so far, those that were left out too: whether a part is sound shows in whether it grew.
  std::size_t error_count() const { return error_count_; }
  /// In the order of files and places; one for each place.
  std::vector<Diagnostic> take_errors();
  std::vector<Finding> take_findings();

 private:
  bool fresh(const Span& span, const std::string& message);
  std::vector<Diagnostic> errors_;
  std::vector<Finding> findings_;
  std::size_t error_count_ = 0;
  std::set<std::tuple<std::string, std::uint32_t, std::string>> seen_;
  std::set<std::string> unread_;
  bool unread_any_ = false;
};

/// In the order of files and places.
void sort_findings(std::vector<Finding>& findings);

/// "did you mean 'x'?" or empty.
std::string did_you_mean(const std::string& word, const std::vector<std::string>& candidates);

/// What an expression can be: a set of kinds. Attributes are all but tensors.
using KindSet = std::uint8_t;
constexpr KindSet kTensors = 1, kNumbers = 2, kTruths = 4, kTexts = 8, kDTypes = 16, kLists = 32;
constexpr KindSet kAnyKind = 63;
KindSet kinds_of(ops::AttrKind kind);

/// What a name stands for where expressions see it.
struct Binding {
  enum class Kind : std::uint8_t { kTensor, kAttr, kSegment };
  Kind kind = Kind::kTensor;
  Span span;
  OpSet ops;             ///< of the node that `as name` names; empty for a plain value
  bool op_name = false;  ///< `as act` of several operators: act(...) applies the one that matched
  bool derived = false;  ///< made by the checker: no warning when unused
  KindSet kinds = kAnyKind;
  ops::ExprPtr extent = {};  ///< of an extent's name in an example: it as a list of one, `permute(x, [0])`
  bool unknown = false;      ///< an attribute or a node of an operator that was reported: nothing more is said of it
};
using Scope = std::map<std::string, Binding>;

/// "c.attr" was asked for: node `name` must bind it.
struct AttrRef {
  std::string node, attr;
  auto operator<=>(const AttrRef&) const = default;
};

enum class ExprPlace : std::uint8_t { kBody, kRewrite, kFuse, kTest };

/// Names and functions that one expression may use, and what it turned out to use.
struct ExprContext {
  const ops::OpTable& table;
  Reports& reports;
  ExprPlace place;
  const Scope& scope;
  std::set<std::string> used;
  std::set<AttrRef> attr_refs;
  bool hide_literals = false;                            ///< kBody: ~c becomes a hidden attribute
  std::vector<std::pair<std::string, double>> literals;  ///< those attributes
  KindSet kinds = kAnyKind;                              ///< what the last expression can be
};

/// Checks names, operand counts, attributes and kinds of an expression and puts what is only surface (`along`,
/// `c.attr`,
/// `..c`, out_feature(c)) into plain terms. Returns the expression that ops::elaborate understands. Reports one that is
/// none of `wanted`; `role` says what it is wanted for: "a condition".
ExprPtr lower_expr(const ExprPtr& expr, ExprContext& context, KindSet wanted = kAnyKind, const std::string& role = {});

/// Whether expressions can call something by this name that is no operator: `rank`, `constant`, `out_feature`.
bool is_function(const std::string& name);
/// Whether a name means something where nothing is bound to it: `pi`, `f32`.
bool is_constant_name(const std::string& name);

/// What a lowered expression can be. Reports every part that is used as what it cannot be, with the place where its
/// name is bound.
KindSet check_kinds(const ExprPtr& expr, ExprContext& context, KindSet wanted, const std::string& role);

/// Resolved class names for one set of rules.
struct Classes {
  std::map<std::string, OpSet> sets;
  std::map<std::string, Span> places;

  std::vector<std::string> names() const;
};
Classes builtin_classes(const ops::OpTable& table);
/// Adds the declared classes, in any order; reports unknown names and cycles.
void declare_classes(const std::vector<const ast::ClassDecl*>& decls, const ops::OpTable& table, Reports& reports,
                     Classes& classes);
OpSet resolve_class(const ast::ClassExpr& expr, const ops::OpTable& table, const Classes& classes, Reports& reports);

/// Declares the composite and uninterpreted operators in a copy of the table.
ops::OpTable declare_ops(const std::vector<const ast::OpDecl*>& decls, const std::vector<std::string>& docs,
                         const ops::OpTable& base, Reports& reports);

struct RuleContext {
  const ops::OpTable& table;
  const Classes& classes;
  Reports& reports;
};
RewriteRule check_rewrite(const ast::RuleDecl& decl, const RuleContext& context);
FuseRule check_fuse(const ast::RuleDecl& decl, const RuleContext& context);
std::vector<TestCase> check_tests(const ast::RuleDecl& decl, const std::vector<Guard>& guards,
                                  const RuleContext& context);

/// `expand-NAME` and, where the body can be read as a pattern, `recognise-NAME` of a composite operator. When it
/// cannot, a note says why.
std::vector<RewriteRule> generate_rewrites(OpId op, const RuleContext& context);

/// Lets are put in where they are used, by lints and by generated rules. So a name means one thing in all of a body or
/// rule, also that of a number (pi, e), and what comes of putting them in has an end.
class LetChecks {
 public:
  LetChecks(Reports& reports) : reports_(reports) {}

  void read(const ops::Expr& expr) { parts(expr); }
  /// Reports a name that was read before, unless it is `taken` and reported for that, and a value without end.
  void bind(const ast::Name& name, const ops::Expr& value, bool taken);

 private:
  std::size_t parts(const ops::Expr& expr);

  Reports& reports_;
  std::map<std::string, Span> read_;
  std::map<std::string, std::size_t> parts_;  ///< of each let, with those before it put in
};

/// What may be left out must be asked for, or have another in its place, wherever it is needed.
class AbsentUses {
 public:
  /// The names, each with the place where it is optional.
  AbsentUses(const ops::OpTable& table, std::map<std::string, Span> places, Reports& reports)
      : table_(table), places_(std::move(places)), reports_(reports) {}

  /// A name alone hands on what it stands for, also nothing.
  void check(const ExprPtr& expr) {
    if (!places_.empty() && expr != nullptr && expr->kind != ops::Expr::Kind::kName) visit(*expr);
  }
  /// What is asked of a condition that holds from here on.
  void ask(const ops::Expr& expr);

 private:
  void visit(const ops::Expr& expr);
  void part(const ExprPtr& expr, bool may_be_absent);

  const ops::OpTable& table_;
  std::map<std::string, Span> places_;
  Reports& reports_;
  std::set<std::string> asked_;
};

/// Bindings of patterns, and the tests that their attributes stand for.
class PatternScope {
 public:
  PatternScope(const RuleContext& context) : c_(context) {}

  /// Binds a name, or notes that it is a test for equality. Reports a name of another kind.
  void bind(const ast::Name& name, Binding::Kind kind, const OpSet& ops = {}, KindSet kinds = kAnyKind);
  /// `attr = value` of an application: a binding, a constant, or a free name with guards that `finish` makes.
  /// `operand` gives the Env name of operand i, for axes that count from its end.
  void attr(const ast::AttrPattern& pattern, const OpSet& ops, const std::function<std::string(std::size_t)>& operand,
            std::vector<AttrPattern>& into);
  /// The names of an attribute that there is not.
  void attr_unknown(const ast::AttrPattern& pattern);
  /// The Env name of a number that must equal `expr`.
  std::string test_number(const ExprPtr& expr);
  /// Guards and lets of the attributes, once everything is bound; guards are appended to `guards`.
  std::vector<Step> finish(std::vector<Guard>& guards, ExprPlace place);

  Scope scope;
  std::set<std::string> used;  ///< names that occur more than once
  std::set<AttrRef> attr_refs;

 private:
  struct Pending {
    std::string let;  ///< name, or empty for a guard
    ExprPtr expr;
    std::string text;
    Span span;
  };
  std::vector<Pending> in_order();
  void list_attr(const ast::AttrPattern& pattern, const std::string& fresh);
  bool range_attr(const ast::AttrPattern& pattern, const std::string& fresh);

  const RuleContext& c_;
  std::vector<Pending> pending_;
  std::set<std::string> let_names_;
};

/// Nodes of the patterns of one variant, and what they bind.
struct Lowered {
  RewriteVariant variant;
  PatternScope scope;
};
/// Multiplies out the choices of the patterns and lowers each combination. `called` holds the names that the rule
/// applies as operators, whose alternatives must be told apart.
std::vector<Lowered> lower_patterns(const std::vector<ast::PatternPtr>& roots, const std::set<std::string>& called,
                                    const RuleContext& context);
/// Operators that an application can mean: an operator by its name, else a class, those that take so many operands.
OpSet resolve_application(const ast::Name& name, const ast::Pattern* choice, std::size_t operands,
                          const std::vector<ast::AttrPattern>& attrs, const Span& span, const RuleContext& context);
/// A guard with its text from the source.
Guard make_guard(ExprPtr expr, const Span& span);
/// The top-level conjuncts of a condition.
std::vector<ExprPtr> conjuncts(const ExprPtr& expr);
/// Header of a rule: exactness, targets, template.
Exactness check_exactness(const ast::RuleDecl& decl, Reports& reports);
std::vector<std::string> check_targets(const ast::RuleDecl& decl, Reports& reports);

/// The operand specification that position `i` of an application falls under; null when there are too many.
const ops::OperandSpec* operand_at(const ops::OpInfo& op, std::size_t i);
/// Whether an attribute holds the number of a `~literal` of an operator's body: it cannot be written in rules.
bool is_hidden_literal(const ops::AttrSpec& spec);
/// The number of attributes that can be written, which are the first.
std::size_t positional_attrs(const ops::OpInfo& op);
const ops::AttrSpec* find_attr(const ops::OpInfo& op, const std::string& name);
/// A literal as an attribute value, when the expression is one (numbers, text, lists of them, dtypes), else nothing.
std::optional<ops::AttrValue> constant_attr(const ops::Expr& expr, ops::AttrKind kind);
/// ~0.7071 stands for everything that rounds to these digits: half a unit of the last one.
double digit_tolerance(const std::string& digits);
/// The number of operands as it can be written: "2 operands", "1 to 3 operands".
std::string operand_count_text(const ops::OpInfo& op);
bool operand_count_fits(const ops::OpInfo& op, std::size_t count);

}  // namespace fusewright::rule
