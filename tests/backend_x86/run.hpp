#pragma once

#include <fmt/format.h>
#include <catch2/catch.hpp>

#include <cstdlib>
#include <functional>
#include <vector>

#include "backends/x86/x86.hpp"
#include "fusewright/kernel/builder.hpp"
#include "fusewright/ops/tensor.hpp"
#include "src/interpret/elements.hpp"

namespace fusewright {

using kernel::Buffer;
using kernel::BufferId;
using kernel::ExprId;
using kernel::Kernel;
using kernel::KernelBuilder;
using kernel::LoopKind;
using kernel::Space;
using kernel::TargetFamily;
using ops::DType;
using ops::ScalarOp;
using ops::Tensor;

inline Tensor tensor(DType dtype, std::int64_t elements) {
  auto made = ops::make_tensor(dtype, {elements});
  REQUIRE(made.has_value());
  return *made;
}

inline Tensor numbers(DType dtype, std::int64_t elements, const std::function<double(std::int64_t)>& value) {
  Tensor out = tensor(dtype, elements);
  for (std::int64_t i = 0; i < elements; ++i) {
    if (ops::is_float(dtype))
      ops::set_double(out, i, value(i));
    else
      ops::set_int(out, i, static_cast<std::int64_t>(value(i)));
  }
  return out;
}

inline std::unique_ptr<kernel::Executable> compiled(const std::vector<Kernel>& kernels,
                                                    const backend_x86::Options& options = {"", "off", 0}) {
  auto made = backend_x86::compile_x86(kernels, options);
  if (!made) FAIL(print_error(made.error()));
  return std::move(*made);
}

inline void run(kernel::Executable& executable, std::size_t index, std::vector<Tensor>& tensors, int threads = 2) {
  std::vector<void*> addresses;
  for (Tensor& t : tensors) addresses.push_back(t.mutable_data());
  const Status status = executable.run(index, addresses, threads);
  if (!status) FAIL(print_error(status.error()));
}

/// Compiles and runs; `tensors` are the global buffers in order.
inline void run(const Kernel& kernel, std::vector<Tensor>& tensors, int threads = 2) {
  const auto executable = compiled({kernel});
  run(*executable, 0, tensors, threads);
}

/// A launch of vectors over [0, elements), then of single elements for the rest. `body` gets the element's number.
inline void over(KernelBuilder& b, const std::string& name, std::int64_t elements, std::int64_t lanes,
                 const std::function<void(ExprId)>& body) {
  const std::int64_t vectors = elements / lanes, rest = elements % lanes;
  b.launch(name, [&] {
    b.loop(LoopKind::kParallel, "v", vectors + (rest != 0 ? 1 : 0), [&](ExprId v) {
      const ExprId first = b.mul(v, lanes);
      b.when(
          b.less(v, b.index(vectors)),
          [&] { b.loop(LoopKind::kVector, "l", lanes, [&](ExprId l) { body(b.add(first, l)); }); },
          [&] { b.loop(LoopKind::kSerial, "s", rest, [&](ExprId s) { body(b.add(first, s)); }); });
    });
  });
}

}  // namespace fusewright
