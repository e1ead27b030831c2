#pragma once

#include <limits>
#include <vector>

#include "backends/llvm/scalar.hpp"
#include "fusewright/kernel/ir.hpp"

namespace fusewright::backend_llvm {

/// An expression's value while code is written. In a vector loop it stands for one element in each lane, and is kept as
/// narrow as it is known to be: the same in all lanes, or (s64) rising evenly from lane to lane, or a vector.
struct Value {
  llvm::Value* v = nullptr;  ///< a vector when `wide`, else the scalar of lane 0
  bool wide = false;
  std::int64_t stride = 0;                                      ///< lane l holds v + l * stride
  std::int64_t multiple = 1;                                    ///< s64: v is a multiple of this; 0 when v is 0
  std::int64_t low = std::numeric_limits<std::int64_t>::min();  ///< s64: bounds of v
  std::int64_t high = std::numeric_limits<std::int64_t>::max();

  bool uniform() const { return !wide && stride == 0; }
};
Value constant_index(llvm::Value* v, std::int64_t value);

/// A buffer as the code of one launch sees it: the address, and what its accesses are marked with.
struct Place {
  llvm::Value* address = nullptr;
  std::int64_t align = 64;  ///< of the address, in bytes
  bool constant = false;    ///< nobody writes it while the launch runs
};

/// Writes the expressions and memory accesses of one launch.
class Expressions {
 public:
  Expressions(const kernel::Kernel& kernel, llvm::Module& module, llvm::IRBuilder<>& builder, const Target& target)
      : kernel_(kernel),
        builder_(builder),
        target_(target),
        scalars_(module, builder, target),
        vars_(kernel.vars.size()),
        memo_(kernel.exprs.size()),
        stamps_(kernel.exprs.size(), 0),
        places_(kernel.buffers.size()) {}

  int lanes = 1;  ///< of the vector loop around, 1 outside

  void set(kernel::VarId var, Value value) { vars_[var.index] = value; }
  void set(kernel::BufferId buffer, Place place) { places_[buffer.index] = place; }

  /// The value in the state of memory here. Subexpressions are shared within one call and until `forget`.
  Value evaluate(kernel::ExprId root);
  void store(kernel::BufferId buffer, const Value& index, const Value& value);
  /// Begins a new statement: memory may have changed.
  void forget() { ++stamp_; }

 private:
  Value node(const kernel::Expr& expr);
  Value op(const kernel::Expr& expr);
  Value affine_op(const kernel::Expr& expr, const Value& a, const Value& b);
  Value divide(const kernel::Expr& expr, const Value& a);
  Value load(kernel::BufferId buffer, const Value& index);
  Value shuffle(const kernel::Expr& expr, const Value& a);
  const Value& arg(const kernel::Expr& expr, std::size_t k) const { return memo_[expr.args[k].index]; }

  llvm::Value* widen(const Value& value);
  llvm::Value* lane_index(const Value& index, int lane);
  llvm::Value* element(kernel::BufferId buffer, llvm::Value* index);
  llvm::Align alignment(kernel::BufferId buffer, const Value& index) const;
  llvm::Value* marked(llvm::Instruction* access, const Place& place);
  llvm::Value* load_lanes(kernel::BufferId buffer, const Value& index);

  const kernel::Kernel& kernel_;
  llvm::IRBuilder<>& builder_;
  const Target& target_;
  Scalars scalars_;
  std::vector<Value> vars_, memo_;
  std::vector<std::uint32_t> stamps_;  // of the statement that memo_ belongs to
  std::uint32_t stamp_ = 1;
  std::vector<Place> places_;
};

}  // namespace fusewright::backend_llvm
