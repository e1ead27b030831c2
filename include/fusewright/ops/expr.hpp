#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "fusewright/ops/op_table.hpp"

namespace fusewright::ops {

/// One expression of the rule language: bodies of `op`, right-hand sides, attribute arithmetic and guards are all made
/// of it. Patterns have a syntax tree of their own in rule/, which holds these where arithmetic stands.
struct Expr;
using ExprPtr = std::shared_ptr<const Expr>;

struct Expr {
  enum class Kind : std::uint8_t {
    kInt,     ///< integer
    kFloat,   ///< number; `approximate` when written ~0.7071
    kString,  ///< text
    kBool,    ///< integer is 0 or 1
    kName,    ///< text: an operand, attribute, binding or dim
    kList,    ///< args
    kCall,    ///< text(args..., named...): an operator of the table, or a built-in function (rank, shape, dim, dtype,
              ///< fold, ...)
    kUnary,   ///< text is "-", "not"
    kBinary,  ///< text is + - * / // % ** == != < <= > >= and or ?? in
    kIndex,   ///< args[0][args[1]]
    kSlice,   ///< args[0][args[1]:args[2]], absent bounds are null
    kResult,  ///< args[0].text: a named result of a call with several
    kConditional,  ///< args[1] if args[0] else args[2]; decided when elaborated
  };
  Kind kind = Kind::kInt;
  Span span;
  std::int64_t integer = 0;
  double number = 0;
  bool approximate = false;
  std::string text;
  std::vector<ExprPtr> args;
  std::vector<std::pair<std::string, ExprPtr>> named;
};
std::string print_expr(const Expr& expr);  ///< in the rule language's own syntax

/// Body of a composite operator: `let` definitions in order, then one expression for each result.
struct OpBody {
  std::vector<std::pair<std::string, ExprPtr>> lets;
  std::vector<ExprPtr> results;
};

/// A tensor that a TermBuilder made or was given; means something to that builder only.
struct TermValue {
  std::uint64_t id = 0;
  bool operator==(const TermValue&) const = default;
};

/// Where elaborated operators go: a tensor graph, an e-graph, or types alone.
class TermBuilder {
 public:
  virtual ~TermBuilder() = default;
  /// Adds one node of a non-elaborated operator (attributes complete). Operands left out are nullopt.
  virtual Result<std::vector<TermValue>> apply(OpId op, const std::vector<std::optional<TermValue>>& operands,
                                               const Attrs& attrs, const Span& span) = 0;
  virtual const Type& type(TermValue value) = 0;
  /// Guards and functions that only this builder can answer (`constant(w)`); the default says that there is none of
  /// that name.
  virtual Result<AttrValue> query(const std::string& function, const std::vector<TermValue>& args, const Span& span);
  /// `fold { ... }` around a subterm that must be computed when the model is loaded. The default leaves it as it is.
  virtual Result<TermValue> fold(TermValue value, const Span& span);
};

/// What a name can stand for while elaborating: nothing (an optional operand left out), a tensor, or an attribute
/// value.
using EnvValue = std::variant<std::monostate, TermValue, AttrValue>;
using Env = std::map<std::string, EnvValue>;

/// Evaluates an expression. A call is an operator of the table (operands by position or name, attributes by name or
/// behind the operands, `..c` for the attributes bound as "c.<name>"), else a built-in function, a dtype (`f32(x)`
/// converts), and at last a question to the builder. Elementwise operators on operands of unequal shape get NumPy's
/// broadcast as explicit nodes
/// (`align_to`; `v along axes` lies along those axes of the other operands instead); number literals next to a tensor
/// become constants of its dtype. Attribute arithmetic is exact. Names that are not bound mean dtypes, inf, nan, pi and
/// e; `x.field` reads the name "x.field". Shapes are lists of ints where every dim is bound. Built-in functions: rank
/// shape dim size dtype bits is_float is_integer present; broadcast_shape broadcasts_to; len range reversed sorted
/// contains sum prod permute invert replace without; normalize all_axes axes_except; min max abs sqrt exp log floor
/// ceil round pow int float bool; broadcast_to unsqueeze squeeze literal(value, dtype, shape?). Errors: unbound names,
/// kinds that do not fit, types the operators refuse; each with the span in the rule file.
Result<EnvValue> elaborate(const OpTable& table, const Expr& expr, const Env& env, TermBuilder& builder);

/// The functions that a call can name besides operators (`rank`, `shape`, `broadcasts_to`, ...), in order of their
/// rows.
struct FunctionSignature {
  std::string name;
  std::vector<std::string> parameters;
  std::size_t needed = 0;  ///< parameters that may not be left out
};
std::vector<FunctionSignature> function_signatures();

/// The results of a composite operator on these operands, by its body.
Result<std::vector<TermValue>> elaborate_body(const OpTable& table, OpId op,
                                              const std::vector<std::optional<TermValue>>& operands, const Attrs& attrs,
                                              TermBuilder& builder);

/// The canonical broadcast, which every frontend and rule uses so that equal things are equal nodes: unit axes of
/// `value` that grow are dropped by a `reshape`, then one `broadcast` with `dims` places the remaining axes. No node
/// when the shape fits.
Result<TermValue> align_to(const OpTable& table, TermValue value, const Shape& shape, TermBuilder& builder);

}  // namespace fusewright::ops
