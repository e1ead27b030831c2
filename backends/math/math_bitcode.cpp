#include "math_bitcode.hpp"

// The assembler copies the files in; FW_X86_BITCODE and FW_NVPTX_BITCODE are their paths, set by the build.
#define FW_EMBED(symbol, path)                           \
  asm(".section .rodata\n"                               \
      ".balign 16\n" #symbol "_begin:\n"                 \
      ".incbin \"" path "\"\n" #symbol "_end:\n"         \
      ".byte 0\n"                                        \
      ".previous\n");                                    \
  extern "C" __attribute__((visibility("hidden"))) const unsigned char symbol##_begin[], symbol##_end[]

FW_EMBED(fw_math_x86, FW_X86_BITCODE);
FW_EMBED(fw_math_nvptx, FW_NVPTX_BITCODE);

namespace fusewright::math {

std::span<const unsigned char> x86_bitcode() { return {fw_math_x86_begin, fw_math_x86_end}; }

std::span<const unsigned char> nvptx_bitcode() { return {fw_math_nvptx_begin, fw_math_nvptx_end}; }

}  // namespace fusewright::math
