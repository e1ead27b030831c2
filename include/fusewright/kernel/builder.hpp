#pragma once

#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "fusewright/kernel/ir.hpp"

namespace fusewright::kernel {

/// Makes kernels: folds constants in index arithmetic, shares equal expressions, keeps the open statement list.
class KernelBuilder {
 public:
  KernelBuilder(std::string name, TargetFamily family);

  BufferId buffer(std::string name, DType dtype, std::int64_t elements, Space space,
                  Buffer::Role role = Buffer::Role::kInput);

  ExprId index(std::int64_t value);  ///< s64 immediate
  ExprId number(DType dtype, double value);
  ExprId integer(DType dtype, std::int64_t value);
  ExprId var(VarId var);
  ExprId load(BufferId buffer, ExprId index);
  ExprId op(ScalarOp op, DType dtype, std::vector<ExprId> args);
  ExprId add(ExprId a, ExprId b);  ///< s64
  ExprId sub(ExprId a, ExprId b);
  ExprId mul(ExprId a, std::int64_t b);
  ExprId mul(ExprId a, ExprId b);
  ExprId floor_div(ExprId a, std::int64_t b);
  ExprId mod(ExprId a, std::int64_t b);
  ExprId min(ExprId a, ExprId b);
  ExprId less(ExprId a, ExprId b);  ///< pred
  ExprId both(ExprId a, ExprId b);  ///< pred and
  ExprId select(DType dtype, ExprId condition, ExprId a, ExprId b);
  ExprId convert(DType dtype, ExprId a);
  ExprId shuffle_xor(ExprId a, std::int64_t mask);

  /// Statements go to the innermost open body. `body` receives the loop variable.
  void loop(LoopKind kind, std::string name, ExprId extent, const std::function<void(ExprId)>& body);
  void loop(LoopKind kind, std::string name, std::int64_t extent, const std::function<void(ExprId)>& body);
  ExprId let(std::string name, ExprId value);  ///< names a value; constants and variables pass through
  void store(BufferId buffer, ExprId index, ExprId value);
  void when(ExprId condition, const std::function<void()>& body, const std::function<void()>& orelse = {});
  void barrier();
  /// Statements made in `body` become one launch; grid, threads and parallel are read off its outer loops.
  void launch(std::string name, const std::function<void()>& body);
  /// The same, to be run once at load.
  void prepare(std::string name, const std::function<void()>& body);

  Kernel finish();  ///< verified (checked)

 private:
  ExprId intern(Expr expr);
  void append(Stmt stmt);
  Launch make_launch(std::string name, const std::function<void()>& body);
  std::vector<StmtId> collect(const std::function<void()>& body);

  Kernel kernel_;
  std::vector<std::vector<StmtId>> open_;                            // bodies being filled, innermost last
  std::unordered_map<std::uint64_t, std::vector<ExprId>> interned_;  // by hash
};

}  // namespace fusewright::kernel
