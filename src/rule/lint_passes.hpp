#pragma once

#include <bitset>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "src/rule/checker.hpp"

namespace fusewright::rule {

// Each pass looks for one kind of slip in all rules.
void lint_examples(const RuleSet& rules, Reports& reports);
void lint_possibility(const RuleSet& rules, Reports& reports);
void lint_overlaps(const RuleSet& rules, Reports& reports);
void lint_cycles(const RuleSet& rules, Reports& reports);
void lint_exactness(const RuleSet& rules, Reports& reports);
void lint_folds(const RuleSet& rules, Reports& reports);

constexpr std::size_t kDTypeCount = static_cast<std::size_t>(ops::DType::kC128) + 1;
using DTypeSet = std::bitset<kDTypeCount>;

/// Numbers an expression can be, both ends included.
struct Interval {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();

  bool empty() const { return low > high; }
};

/// a - b <= most.
struct Relation {
  std::string a, b;
  double most = 0;
};
/// Elements of a list are at least this, and less than a number where one is named.
struct Elements {
  double least = 0;
  std::string below;
};

/// What is known of the tensors and numbers of a rule, by the text of the expression: "dtype(x)", "rank(x)". Of tensors
/// that surely have one dtype, or one shape, only one is asked: `same_dtype` and `same_shape` lead there.
struct Facts {
  std::map<std::string, DTypeSet> dtypes;
  std::map<std::string, Interval> numbers;
  std::vector<Relation> relations;
  std::map<std::string, std::string> same_dtype, same_shape;
  std::map<std::string, Elements> elements;  ///< by the list's name
  std::set<std::string> whole;               ///< names of whole numbers
};

/// Dtypes and ranks that the operators of a pattern leave for the values it names. `dead` is the node that nothing
/// fits, or none.
struct PatternTypes {
  Facts facts;
  const PatternNode* dead = nullptr;
  std::string why;
};
/// Why no operator has an attribute of this value, or empty.
std::string impossible_attribute(const ops::OpInfo& info, const AttrPattern& attr);
/// Adds what operators say of ranks, of extents and of their attributes. `names` has a text for the value of each node.
void add_relations(const ops::OpTable& table, const RewriteVariant& variant, const std::vector<std::string>& names,
                   Facts& facts);
class TypeLints {
 public:
  explicit TypeLints(const ops::OpTable& table);
  ~TypeLints();
  PatternTypes of(const RewriteRule& rule, const RewriteVariant& variant);

 private:
  struct State;
  std::unique_ptr<State> state_;  ///< what was learned of the operators
};

// --- Terms: patterns and right-hand sides in one form -------------------------------------------------

/// A value of a pattern or a right-hand side.
struct Term {
  /// kTuple: the values that a rewrite of several roots matches, in order.
  enum class Kind : std::uint8_t { kVariable, kNumber, kApply, kTuple, kOpaque };
  Kind kind = Kind::kOpaque;
  std::string text;      ///< the name; the number, or "" for any; of kOpaque its source
  std::string function;  ///< of kOpaque: what makes it of its operands, if it has any
  bool optional = false;
  std::vector<OpId> ops;
  std::uint32_t result = 0;
  std::vector<Term> args;
  std::map<std::string, ExprPtr> attrs;  ///< ".." names the node whose attributes are taken
};
/// Of one variant: names stand for the terms they name, lets for their values.
class Terms {
 public:
  Terms(const ops::OpTable& table, const RewriteVariant& variant);
  Term of_node(std::uint32_t node) const;
  Term of_expr(const ExprPtr& expr) const;
  /// What is matched and what becomes of it: a term, or tuples for several roots.
  Term from() const;
  Term to() const;
  /// With the lets put in.
  ExprPtr inlined(const ExprPtr& expr) const;
  /// The conditions of a rule's variant, with the lets put in.
  std::vector<ExprPtr> conditions(const RewriteRule& rule) const;
  /// Of operators that have names.
  std::map<std::string, Term> named_nodes() const;

 private:
  std::optional<bool> is_there(const ops::Expr& name) const;
  Term of_call(const ops::Expr& expr) const;
  Term operate(const std::string& op, const std::vector<ExprPtr>& args) const;

  const ops::OpTable& table_;
  const RewriteVariant& variant_;
  std::map<std::string, ExprPtr> lets_;
};

/// What the names of a pattern stand for in another term.
struct Substitution {
  std::map<std::string, Term> values;
  std::map<std::string, ExprPtr> attrs;  ///< by name: the other's attribute
};
/// Whether `pattern` matches `term`, whose names are taken as they are; the first way to match, or the first one that
/// is accepted.
bool match_term(const ops::OpTable& table, const Term& pattern, const Term& term, Substitution& substitution);
bool match_term(const ops::OpTable& table, const Term& pattern, const Term& term,
                const std::function<bool(const Substitution&)>& accept);
Term instantiate(const ops::OpTable& table, const Term& term, const Substitution& substitution);
ExprPtr instantiate(const ops::OpTable& table, const ExprPtr& expr, const Substitution& substitution);
/// Those of a term's root; of the first root's in a tuple.
const std::vector<OpId>& root_ops(const Term& term);
/// In one form for terms that differ by the order of commutative operands alone.
ExprPtr expr_of(const ops::OpTable& table, const Term& term);
std::string print_term(const ops::OpTable& table, const Term& term);
std::size_t operators_in(const Term& term);
/// With what the named nodes of a pattern stand for under a substitution.
Substitution with_nodes(const ops::OpTable& table, const std::map<std::string, Term>& nodes,
                        const Substitution& substitution);

}  // namespace fusewright::rule
