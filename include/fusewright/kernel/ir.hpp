#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "fusewright/ops/dtype.hpp"
#include "fusewright/ops/scalar.hpp"
#include "fusewright/support/ids.hpp"
#include "fusewright/support/result.hpp"

namespace fusewright::kernel {

using ops::DType;
using ops::ScalarOp;

using BufferId = Id<struct BufferTag>;
using VarId = Id<struct VarTag>;
using ExprId = Id<struct KernelExprTag>;
using StmtId = Id<struct StmtTag>;

/// Where a buffer lives. Global buffers are kernel arguments. Shared ones belong to one GPU block. Local ones belong to
/// one GPU thread or one iteration of the CPU's parallel loop; small ones become registers.
enum class Space : std::uint8_t { kGlobal, kShared, kLocal };

struct Buffer {
  std::string name;
  DType dtype = DType::kF32;
  std::int64_t elements = 0;
  Space space = Space::kGlobal;
  /// Global: inputs are read only, outputs and temporaries (which live from one launch of the kernel to the next) are
  /// written. Packed ones are written by `Kernel::prepare` and kept from then on.
  enum class Role : std::uint8_t { kInput, kOutput, kTemporary, kPacked } role = Role::kInput;
};

/// A scalar expression; inside a vector loop it is a vector with one lane for each iteration. Expressions are pure and
/// may be shared within one statement; across statements a value is named by a Let. Index arithmetic is s64 (emitted
/// narrower where the range allows).
struct Expr {
  enum class Kind : std::uint8_t {
    kInt,    ///< `integer` as dtype (integers, pred)
    kFloat,  ///< `number` as dtype
    kVar,    ///< `var`: a loop variable (s64) or a Let
    kLoad,  ///< buffer[args[0]], of the buffer's dtype. In a vector loop: one wide load where the index has stride 1 in
            ///< the loop variable, a broadcast where it has stride 0, a gather elsewhere
    kOp,    ///< `op` on args, computed in `dtype`'s precision, rounded to dtype. f16 and bf16 are computed in f32 and
            ///< rounded. Comparisons give pred; kConvert and kBitcast give dtype
    kFloorDiv,    ///< args[0] / integer; args[0] >= 0, integer > 0 (s64)
    kMod,         ///< args[0] % integer; args[0] >= 0, integer > 0 (s64)
    kShuffleXor,  ///< GPU: args[0] of the lane whose number is this lane's xor `integer`; all 32 lanes of the warp take
                  ///< part
  };
  Kind kind = Kind::kInt;
  DType dtype = DType::kS64;
  std::int64_t integer = 0;
  double number = 0;
  VarId var;
  BufferId buffer;
  ScalarOp op = ScalarOp::kCopy;
  std::vector<ExprId> args;
};

enum class LoopKind : std::uint8_t {
  kSerial,
  kUnrolled,  ///< constant extent, replicated in place
  kVector,    ///< constant extent = lanes (a power of two), iterations independent; innermost. Masked stores and loads
              ///< via If/kSelect are not needed: templates split off tails
  kParallel,  ///< CPU: outermost loop of a launch; its iterations are what threads share out. Independent of each other
  kGridX,
  kGridY,
  kGridZ,    ///< GPU: outermost loops of a launch: blocks
  kThreadX,  ///< GPU: directly inside the grid loops: threads of a block
};

/// Statements are trees: `body` holds the children in order.
struct Stmt {
  enum class Kind : std::uint8_t {
    kFor,  ///< for (var = 0; var < extent; ++var) body; extent is an expression for kSerial, kParallel and grid loops,
           ///< else a kInt
    kLet,  ///< var = value, visible in the statements after it in the same body
    kStore,    ///< buffer[index] = value, of the buffer's dtype. In a vector loop like kLoad; two lanes never store to
               ///< one element
    kIf,       ///< if (condition) body else orelse. Not inside a vector loop
    kBarrier,  ///< GPU: all threads of the block; makes shared memory visible
  };
  Kind kind = Kind::kFor;
  LoopKind loop = LoopKind::kSerial;
  VarId var;
  ExprId extent, value, index, condition;
  BufferId buffer;
  std::vector<StmtId> body, orelse;
};

struct Var {
  std::string name;
  DType dtype = DType::kS64;
};

/// One launch. Launches of a kernel run in order, each seeing what those before wrote.
struct Launch {
  std::string name;          ///< function name in the object: letters, digits and '_'
  std::vector<StmtId> body;  ///< CPU: exactly one kParallel loop. GPU: grid loops, then one kThreadX loop, nested
  std::array<std::int64_t, 3> grid{1, 1, 1};  ///< GPU: blocks
  std::int64_t threads = 1;                   ///< GPU: threads a block, a multiple of 32
  std::int64_t parallel = 1;                  ///< CPU: iterations of the parallel loop
};

enum class TargetFamily : std::uint8_t { kCpu, kGpu };

/// One fused kernel in the loop-nest language. Arguments: all global buffers in order (inputs, outputs, then
/// temporaries and packed ones).
struct Kernel {
  std::string name;
  TargetFamily family = TargetFamily::kCpu;
  std::vector<Buffer> buffers;
  std::vector<Var> vars;
  std::vector<Expr> exprs;
  std::vector<Stmt> stmts;
  /// Run once, in order, when the model is loaded: they read inputs that are known by then and write packed buffers.
  std::vector<Launch> prepare;
  std::vector<Launch> launches;

  const Buffer& operator[](BufferId id) const { return buffers[id.index]; }
  const Expr& operator[](ExprId id) const { return exprs[id.index]; }
  const Stmt& operator[](StmtId id) const { return stmts[id.index]; }
};

/// Our own invariants: ids in range, vars defined before use, dtypes agree, loop kinds nested as they may be, constant
/// indices in bounds, GPU barriers not under a condition that differs between threads. An error is a bug of a template.
Status verify(const Kernel& kernel);
std::string print(const Kernel& kernel);               ///< like C, for people and golden tests
std::string print(const Kernel& kernel, StmtId stmt);  ///< the statement's own line
std::uint64_t hash(const Kernel& kernel);              ///< structural; names do not count

}  // namespace fusewright::kernel
