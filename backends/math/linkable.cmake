# Makes the textual IR of math.cpp ready to be linked into kernels.
# Usage: cmake -DINPUT=in.ll -DOUTPUT=out.ll -P linkable.cmake
#
# - What clang noted about the machine goes. A function without target attributes may be inlined into a caller with any.
#   (They were only needed while clang ran: it passes 512-bit vectors in registers only where AVX-512 is on.)
# - linkonce_odr: a module keeps only the functions it calls, and none once they are inlined.

file(READ "${INPUT}" text)
set(names "target-cpu|target-features|tune-cpu|min-legal-vector-width|prefer-vector-width|frame-pointer|no-builtins|stack-protector-buffer-size")
string(REGEX REPLACE " \"(${names})\"(=\"[^\"]*\")?" "" text "${text}")
string(REPLACE "\ndefine hidden " "\ndefine linkonce_odr hidden " text "${text}")
string(REGEX REPLACE "\n!llvm\\.(module\\.flags|errno\\.tbaa|ident) =[^\n]*" "" text "${text}")
file(WRITE "${OUTPUT}" "${text}")
