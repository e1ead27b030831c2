#pragma once

#include <span>

/// The math functions as LLVM bitcode, to be linked into modules of generated kernels.
/// Names are fw_<function>_<dtype>[x<lanes>] with dtype f32 (lanes 4, 8, 16) or f64 (lanes 2, 4, 8), e.g.
/// `<16 x float> @fw_exp_f32x16(<16 x float>)`. All are linkonce_odr, alwaysinline and without target attributes.
/// docs/MATH.md lists the functions, their errors, and what a module that links them must see to.
namespace fusewright::math {

/// Scalars and vectors, for x86-64 with AVX2 and FMA at least.
std::span<const unsigned char> x86_bitcode();

/// Scalars only, for nvptx64.
std::span<const unsigned char> nvptx_bitcode();

}  // namespace fusewright::math
