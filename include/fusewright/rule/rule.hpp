#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fusewright/ops/expr.hpp"
#include "fusewright/ops/op_table.hpp"
#include "fusewright/ops/template.hpp"

namespace fusewright::rule {

using ops::ExprPtr;
using ops::OpId;

/// What a rule may change about the numbers. Bit-exact is the empty set.
enum class ExactnessClass : std::uint8_t {
  kReassociating,    ///< weight folding and the order of sums
  kContracting,      ///< a multiplication and an addition rounded once
  kFactoring,        ///< a*x + b*x against (a + b)*x
  kApproximate,      ///< another formula, within `rtol`
  kExcessPrecision,  ///< a rounding to a narrower dtype left out
};
struct Exactness {
  std::uint8_t classes = 0;  ///< bit set over ExactnessClass
  double rtol = 0;           ///< relative error, with kApproximate

  bool bitexact() const { return classes == 0; }
  bool has(ExactnessClass c) const { return (classes >> static_cast<int>(c) & 1) != 0; }
  void add(ExactnessClass c) { classes = static_cast<std::uint8_t>(classes | 1 << static_cast<int>(c)); }
  bool within(const Exactness& allowed) const { return (classes & ~allowed.classes) == 0; }
  friend Exactness operator|(const Exactness& a, const Exactness& b);  ///< union of classes, sum of rtol
  bool operator==(const Exactness&) const = default;
};
std::string to_string(const Exactness& exactness);  ///< "bitexact", "reassociating", "approximate(0.001), factoring"
/// A comma-separated list as `--exactness` takes it ("bitexact,reassociating"); an error names the unknown word.
Result<Exactness> parse_exactness(std::string_view text);

/// Operators, sorted by id.
struct OpSet {
  std::vector<OpId> ops;

  bool contains(OpId op) const;
  bool operator==(const OpSet&) const = default;
};

// --- Rewrites --------------------------------------------------------------------------------------

/// `name = value` in a pattern. After both are checked: a binding or a constant, never an expression (those become
/// guards).
struct AttrPattern {
  std::string attr;                     ///< an attribute that every operator of the node has
  std::string bind;                     ///< Env name that gets the value; bound before: the values must be equal
  std::optional<ops::AttrValue> value;  ///< set when `bind` is empty: the attribute must equal it
  Span span;
};

/// A number in a pattern. Matches a constant whose elements are all that number (a scalar, or a splat), of any dtype.
struct LiteralPattern {
  bool any = false;          ///< every constant splat matches; its number is bound to `bind`
  double value = 0;          ///< exact match: equal to the constant when rounded to the constant's dtype
  double tolerance = 0;      ///< absolute; of ~c: half a unit of its last digit, or as written
  bool approximate = false;  ///< also matches within one unit in the last place of the constant's dtype
  std::string bind;  ///< Env name that gets the model's own number (int for integer dtypes, else double), or empty
};

/// One node of a checked pattern. The children stand before it in RewriteVariant::nodes.
struct PatternNode {
  enum class Kind : std::uint8_t { kVariable, kWildcard, kLiteral, kApply };
  Kind kind = Kind::kWildcard;
  Span span;
  /// kVariable: its name; seen before (anywhere in the variant), the value must be the same e-class.
  /// kApply: `as name`, or empty. Binds a tensor in Env.
  std::string name;
  bool optional =
      false;  ///< kVariable or kWildcard operand `b?`: it may be left out; then `name` stands for nothing (monostate)
  LiteralPattern literal;
  OpSet ops;                 ///< kApply: one operator, or those of a class or alternation
  std::uint32_t result = 0;  ///< kApply: which result of the operator the value must be
  std::vector<std::uint32_t>
      operands;  ///< kApply: indices into nodes; trailing optional operands not mentioned must be absent
  std::vector<AttrPattern> attrs;  ///< attributes not mentioned are free; one that the node lacks binds nothing
};

/// A condition of `where`, one for each top-level conjunct, so that why-not can count them apart.
struct Guard {
  ExprPtr expr;
  std::string text;  ///< as written
  Span span;
};

/// `where` and `let` in the order in which they hold; lets that only compute attributes come before the guards that
/// need them.
struct Step {
  enum class Kind : std::uint8_t { kGuard, kLet };
  Kind kind = Kind::kGuard;
  std::uint32_t guard = 0;  ///< kGuard: index into RewriteRule::guards
  std::string name;         ///< kLet: Env name
  ExprPtr value;            ///< kLet
};

/// A rule with its alternations, optional parts and called bindings multiplied out.
struct RewriteVariant {
  std::vector<PatternNode> nodes;    ///< children first
  std::vector<std::uint32_t> roots;  ///< indices into nodes; more than one only for several `match` clauses
  std::vector<std::string> absent;   ///< names of optional parts left out: they stand for nothing
  std::vector<Step> steps;
  std::vector<ExprPtr> to;  ///< one for each root: equal to that root's value
};

/// An equality, applied left to right. Both directions are two rules.
///
/// Matching: an operand pattern of an *elementwise* kApply may also match through a canonical broadcast (ops::align_to:
/// `broadcast`, or `broadcast` of `reshape`), as rules are written in NumPy's broadcasting. The matcher then elaborates
/// the pattern itself with the bindings and checks that it lands in the root's class. Commutative operators match
/// either way round. With the Env {names bound, absent ones as nothing}, the steps run in order (ops::elaborate), then
/// `to` is elaborated and united with the root.
struct RewriteRule {
  std::string name;
  std::string ruleset;  ///< that it was declared in, or empty
  std::string doc;
  Span span;
  Exactness exactness;
  std::vector<std::string> targets;  ///< `requires target(x86)`: empty for all
  std::vector<Guard> guards;
  std::vector<RewriteVariant> variants;
  OpId op;  ///< of the generated ones: the composite operator that is recognised or expanded
  /// kExpand: `op` to its body (elaborate_body gives the same terms as steps and `to`); kRecognise: its body to `op`.
  enum class Origin : std::uint8_t { kWritten, kRecognise, kExpand } origin = Origin::kWritten;
};

// --- Fusion ----------------------------------------------------------------------------------------

struct Capture {
  std::string name;  ///< Env name of that operand's value; empty for `_`
  bool optional = false;
};

/// One link of a chain. Holds between `min` and `max` op nodes, every one of an operator in `ops`.
struct Segment {
  OpSet ops;
  std::uint32_t min = 1;
  std::uint32_t max = 1;           ///< kUnbounded for `*` and `+`
  std::string name;                ///< `as name`, or empty
  std::string text;                ///< as written, for audits: "(elementwise | movement)*"
  std::vector<Capture> captures;   ///< operands by position, when written as an application
  std::vector<AttrPattern> attrs;  ///< of an application
  Span span;

  static constexpr std::uint32_t kUnbounded = std::numeric_limits<std::uint32_t>::max();
  bool is_closure() const { return max != 1 || min != 1; }
};

/// A chain of segments, producers first. Data flows only forward: every edge inside goes from a node to a node of the
/// same closure or of a later segment. Operands from outside (side inputs) are free. Repeated `min`..`max` times for
/// `times {2,8}`.
struct FuseRoot {
  std::vector<Segment> segments;
  std::uint32_t min = 1;
  std::uint32_t max = 1;
  std::vector<std::string> shared;  ///< `sharing x`: captures that are one value in all repetitions
};

/// A region of op nodes may become one kernel when its nodes can be assigned to the segments of the roots and the
/// guards hold. Any value may leave the region as a side output unless a guard forbids it. Whether the region does
/// become a kernel is decided by cost.
struct FuseRule {
  std::string name;
  std::string ruleset;
  std::string doc;
  Span span;
  std::optional<ops::Template> kernel;  ///< none: every template that fits competes
  Exactness exactness;
  std::vector<std::string> targets;
  std::vector<FuseRoot> roots;
  /// Over segment names (a one-node segment stands for its value), captures and attributes "name.attr"; functions as in
  /// rewrites and besides single_use(x), graph_output(x), side_output(x).
  std::vector<Guard> guards;
  std::vector<std::string> no_duplicate;  ///< segments whose values must be computed in one kernel only
};

// --- Examples --------------------------------------------------------------------------------------

struct TestInput {
  std::string name;
  ops::Type type;
  bool constant = false;
  Span span;
};

/// `test` or `reject` inside a rule.
struct TestCase {
  std::string rule;  ///< the rule it belongs to
  std::string name;  ///< as written, or "<rule>/1", ...
  Span span;         ///< of its first word
  Span extent;       ///< of all of it
  bool reject = false;
  std::optional<std::uint32_t>
      because;  ///< of a reject: index of the guard that must refuse (none: the pattern must not match)
  std::vector<TestInput> inputs;
  std::vector<std::pair<std::string, ExprPtr>> lets;
  std::vector<ExprPtr> outputs;         ///< `match E, ...`
  std::vector<ExprPtr> expected;        ///< `to E, ...`: must be found equal after the rule; empty when not stated
  std::optional<std::int64_t> kernels;  ///< `kernels N`: number of kernels of the plan, of a fuse rule
};

// --- What looks like a slip ---------------------------------------------------------------------------

/// A warning, of a lint that has a name; or a note, of none.
struct Finding {
  Diagnostic diagnostic;
  std::string lint;  ///< "unused-name"; empty for a note
};

/// `allow(lint, "reason")`: no warning of that lint at the declaration behind it.
struct Allowance {
  std::string lint, reason;
  Span span;         ///< of the lint's name
  Span declaration;  ///< from its documentation to its end
};

// --- All of it -------------------------------------------------------------------------------------

class Needs;

struct RuleSet {
  std::shared_ptr<const ops::OpTable> table;  ///< the built-in operators and the declared ones
  std::vector<RewriteRule> rewrites;          ///< by name, generated ones among them
  std::shared_ptr<const Needs> needs;         ///< of the rewrites (see needs.hpp)
  std::vector<FuseRule> fuses;                ///< by name
  std::map<std::string, OpSet> classes;       ///< built-in and declared
  std::vector<TestCase> tests;                ///< by rule, in the order written
  std::vector<Finding> findings;              ///< of checking alone, also those allowed (see lint.hpp)
  std::vector<Allowance> allowances;          ///< in the order of files and places
  std::vector<SourcePtr> sources;             ///< by file name
};

}  // namespace fusewright::rule
