#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "fusewright/kernel/ir.hpp"

namespace fusewright::backend_llvm {

/// What a backend tells the shared lowering about its machine. Plain data: what differs more than this is left in the
/// module as a call of a named device function, whose body the backend supplies.
///
/// Device functions (declared in the module where a kernel uses them):
///   i32 @fw_block_x(), @fw_block_y(), @fw_block_z(), @fw_thread_x()   position of this thread
///   void @fw_barrier()                                               all threads of the block
///   T @fw_shuffle_xor_f32(T, i32 mask)                               also _f64, _i32 and _i64 (other dtypes go as
///   those)
struct Target {
  std::string triple;
  std::string data_layout;
  kernel::TargetFamily family = kernel::TargetFamily::kCpu;
  unsigned global_space = 0;            ///< LLVM address space of global buffers
  unsigned shared_space = 0;            ///< of shared buffers, which become module globals "fw_shared_<n>"
  unsigned calling_convention = 0;      ///< of GPU launches
  std::span<const unsigned char> math;  ///< bitcode of the math functions
  bool vector_math = false;             ///< it has them on vectors, too
  bool fast_gather = false;             ///< vector loads from computed addresses are instructions worth using
  bool statements = false;  ///< each instruction's debug location has its statement's number plus one as the line
  std::int64_t stack_bytes = 16 << 10;  ///< local buffers up to this size live on the stack (or in registers)
};

}  // namespace fusewright::backend_llvm
