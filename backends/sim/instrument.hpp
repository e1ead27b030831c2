#pragma once

#include "backends/sim/program.hpp"

namespace llvm {
class Module;
}

namespace fusewright::backend_sim {

/// Makes a function `void <symbol>(Thread*)` of the launch's function in a module of the NVPTX backend (made with
/// Devices::kOutside), which tells the simulator of every access:
///   void fw_sim_access(Thread*, address, i32 bytes, i32 site)      before a load or store of global or shared memory
///   void fw_sim_barrier(Thread*, i32 site)
///   i32 fw_sim_shuffle_32(Thread*, i32 value, i32 mask, i32 site), and _64
Program instrument(llvm::Module& module, const kernel::Kernel& kernel, const kernel::Launch& launch,
                   const std::string& symbol);

}  // namespace fusewright::backend_sim
