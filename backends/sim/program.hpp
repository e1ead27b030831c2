#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fusewright/kernel/ir.hpp"

namespace fusewright::backend_sim {

class Worker;

/// One GPU thread while it runs; generated code gets its address and reads the first fields.
struct Thread {
  void* const* buffers = nullptr;  ///< addresses of the kernel's global buffers
  char* shared = nullptr;          ///< shared memory of this block
  std::uint32_t block[3] = {0, 0, 0};
  std::uint32_t number = 0;  ///< in its block

  Worker* worker = nullptr;
  void* context = nullptr;  ///< of its fiber, while it waits
  enum class State : std::uint8_t { kReady, kBarrier, kShuffle, kEnded } state = State::kReady;
  std::uint32_t site = 0;   ///< where it waits
  std::uint32_t mask = 0;   ///< of its shuffle
  std::uint64_t value = 0;  ///< that it sends or got
};

/// An instruction of the generated code that the simulator hears of.
struct Site {
  enum class Kind : std::uint8_t { kLoad, kStore, kBarrier, kShuffle } kind = Kind::kLoad;
  bool shared = false;
  std::int32_t buffer = -1;  ///< of the kernel; -1 where only the address shows it
  kernel::StmtId statement;
};

/// A launch as generated code.
struct Program {
  using Function = void (*)(Thread*);
  std::string symbol;
  Function function = nullptr;
  std::vector<Site> sites;
  bool waits = false;                       ///< has barriers or shuffles
  std::vector<std::int64_t> shared_offset;  ///< of each of the kernel's buffers, in the block's shared memory
  std::int64_t shared_bytes = 0, local_bytes = 0;
};

}  // namespace fusewright::backend_sim
