#include <algorithm>

#include "contraction.hpp"

namespace fusewright::kernel {

using region::AccessRoot;
using region::IndexMap;
using region::ValueId;
using schedule::Contraction;

namespace {

DType accumulator(DType dtype) { return dtype == DType::kF16 || dtype == DType::kBF16 ? DType::kF32 : dtype; }

}  // namespace

ContractionLowering::ContractionLowering(const LowerInput& in, Contraction c)
    : in_(in),
      region_(in.region),
      c_(std::move(c)),
      b_(in.name, in.family()),
      buffers_(declare_buffers(b_, in.region)),
      acc_(accumulator(region_[c_.result].dtype)) {}

Result<Kernel> ContractionLowering::run() {
  write();
  if (!status_) return std::unexpected(status_.error());
  return b_.finish();
}

ExprId ContractionLowering::multiply_add(ExprId x, ExprId y, ExprId sum) {
  if (ops::is_float(acc_)) return b_.op(ScalarOp::kFma, acc_, {x, y, sum});
  return b_.op(ScalarOp::kAdd, acc_, {b_.op(ScalarOp::kMul, acc_, {x, y}), sum});
}

ExprId ContractionLowering::operand(ValueId value, const IndexMap& map, std::vector<ExprId> dims) {
  Elements elements(b_, region_, buffers_.captures, std::move(dims));
  IndexMap open = map;
  open.constraints.clear();
  const Result<std::vector<ExprId>> made = elements.emit({{value, open}});
  if (!made) {
    status_ = std::unexpected(made.error());
    return zero_value();
  }
  const ExprId x = b_.convert(acc_, made->front());
  if (map.constraints.empty()) return x;
  return b_.select(acc_, elements.guard(map.constraints, map, {}), x, zero_value());
}

void ContractionLowering::store_outputs(ExprId batch, ExprId m, ExprId n, ExprId sum) {
  const ExprId result = b_.let("sum", b_.convert(region_[c_.result].dtype, sum));
  const auto lookup = [&](ValueId v, const IndexMap&) { return v == c_.result ? std::optional(result) : std::nullopt; };
  Elements elements(b_, region_, buffers_.captures, {batch, m, n}, lookup,
                    [this](ValueId v) { return v == c_.result; });
  const Result<std::vector<ExprId>> values = elements.emit(c_.outputs);
  if (!values) {
    status_ = std::unexpected(values.error());
    return;
  }
  for (std::size_t o = 0; o < values->size(); ++o) {
    const AccessRoot& root = c_.outputs[o];
    b_.store(buffers_.outputs[o], elements.index(linearize(root.map, region_[root.value].dims), root.map, {}),
             (*values)[o]);
  }
}

namespace {

/// On a GPU: a block computes 64 x 64 results from slices of both operands in shared memory, a thread 4 x 4 of them.
class GpuContraction final : public ContractionLowering {
 public:
  GpuContraction(const LowerInput& in, Contraction c) : ContractionLowering(in, std::move(c)) {}

 private:
  void write() override {
    b_.launch(in_.name, [&] { gpu(); });
  }

  void gpu() {
    const std::int64_t tile_m = in_.schedule.tile[0], tile_n = in_.schedule.tile[1], tile_k = in_.schedule.tile[2];
    constexpr std::int64_t kEach = 4;
    const BufferId left = b_.buffer("left", acc_, tile_k * tile_m, Space::kShared);
    const BufferId right = b_.buffer("right", acc_, tile_k * tile_n, Space::kShared);
    tile_ = b_.buffer("tile", acc_, kEach * kEach, Space::kLocal);
    b_.loop(LoopKind::kGridZ, "batch", c_.batch, [&](ExprId batch) {
      b_.loop(LoopKind::kGridY, "block_m", (c_.m + tile_m - 1) / tile_m, [&](ExprId block_m) {
        b_.loop(LoopKind::kGridX, "block_n", (c_.n + tile_n - 1) / tile_n, [&](ExprId block_n) {
          b_.loop(LoopKind::kThreadX, "thread", in_.schedule.threads, [&](ExprId thread) {
            const ExprId m0 = b_.let("m0", b_.mul(block_m, tile_m)), n0 = b_.let("n0", b_.mul(block_n, tile_n));
            const ExprId row = b_.let("row", b_.mul(b_.floor_div(thread, tile_n / kEach), kEach));
            const ExprId column = b_.let("column", b_.mul(b_.mod(thread, tile_n / kEach), kEach));
            const auto cell = [&](ExprId i, ExprId j) { return b_.add(b_.mul(i, kEach), j); };
            const auto each = [&](const std::function<void(ExprId, ExprId)>& body) {
              b_.loop(LoopKind::kUnrolled, "i", kEach,
                      [&](ExprId i) { b_.loop(LoopKind::kVector, "j", kEach, [&](ExprId j) { body(i, j); }); });
            };
            each([&](ExprId i, ExprId j) { b_.store(tile_, cell(i, j), zero_value()); });
            b_.loop(LoopKind::kSerial, "slice", b_.index((c_.k + tile_k - 1) / tile_k), [&](ExprId slice) {
              const ExprId k0 = b_.let("k0", b_.mul(slice, tile_k));
              load_slice(left, c_.left, c_.left_map, thread, batch, m0, k0, tile_m, tile_k, 1, 2, c_.m);
              load_slice(right, c_.right, c_.right_map, thread, batch, n0, k0, tile_n, tile_k, 2, 1, c_.n);
              b_.barrier();
              b_.loop(LoopKind::kUnrolled, "k", tile_k, [&](ExprId k) {
                each([&](ExprId i, ExprId j) {
                  const ExprId x = b_.load(left, b_.add(b_.mul(k, tile_m), b_.add(row, i)));
                  const ExprId y = b_.load(right, b_.add(b_.mul(k, tile_n), b_.add(column, j)));
                  b_.store(tile_, cell(i, j), multiply_add(x, y, b_.load(tile_, cell(i, j))));
                });
              });
              b_.barrier();
            });
            const ExprId n = b_.let("n", b_.add(n0, column));
            b_.loop(LoopKind::kUnrolled, "i", kEach, [&](ExprId i) {
              const ExprId m = b_.let("m", b_.add(m0, b_.add(row, i)));
              const ExprId inside =
                  b_.both(c_.m % tile_m == 0 ? b_.integer(DType::kPred, 1) : b_.less(m, b_.index(c_.m)),
                          c_.n % tile_n == 0 ? b_.integer(DType::kPred, 1) : b_.less(n, b_.index(c_.n)));
              if (c_.n % kEach == 0) {
                b_.when(inside, [&] {
                  b_.loop(LoopKind::kVector, "j", kEach,
                          [&](ExprId j) { store_outputs(batch, m, b_.add(n, j), b_.load(tile_, cell(i, j))); });
                });
                return;
              }
              b_.loop(LoopKind::kUnrolled, "j", kEach, [&](ExprId j) {
                const ExprId own = b_.let("own", b_.add(n, j));
                const ExprId good = b_.both(b_.less(m, b_.index(c_.m)), b_.less(own, b_.index(c_.n)));
                b_.when(good, [&] { store_outputs(batch, m, own, b_.load(tile_, cell(i, j))); });
              });
            });
          });
        });
      });
    });
  }

  // A slice lies k-major: cell (k, x) at k * width + x. Each thread fetches four neighbours along the axis that lies
  // contiguous in memory. `x_dim` and `k_dim` are the dims of the map that count along the tile and along k.
  void load_slice(BufferId slice, ValueId value, const IndexMap& map, ExprId thread, ExprId batch, ExprId x0, ExprId k0,
                  std::int64_t width, std::int64_t depth, std::size_t x_dim, std::size_t k_dim, std::int64_t extent) {
    constexpr std::int64_t kEach = 4;
    const auto stride = region::stride_of(linearize(map, region_[value].dims), map, static_cast<std::int64_t>(k_dim));
    const bool along_k = stride == std::optional<std::int64_t>(1);
    const std::int64_t along = along_k ? depth : width, groups = along / kEach;
    const std::int64_t reach = along_k ? c_.k : extent;
    const std::int64_t fetches = width * depth / kEach / in_.schedule.threads;
    b_.loop(LoopKind::kUnrolled, "fetch", fetches, [&](ExprId f) {
      const ExprId at = b_.let("at", b_.add(thread, b_.mul(f, in_.schedule.threads)));
      const ExprId first = b_.let("first", b_.mul(b_.mod(at, groups), kEach));
      const ExprId other = b_.let("other", b_.floor_div(at, groups));
      const auto one = [&](ExprId l, bool inside) {
        const ExprId x = along_k ? other : b_.add(first, l), k = along_k ? b_.add(first, l) : other;
        std::vector<ExprId> dims(3);
        dims[0] = batch;
        dims[x_dim] = b_.add(x0, x);
        dims[k_dim] = b_.add(k0, k);
        b_.store(slice, b_.add(b_.mul(k, width), x), inside ? operand(value, map, dims) : zero_value());
      };
      const auto vector = [&](bool inside) {
        b_.loop(LoopKind::kVector, "l", kEach, [&](ExprId l) { one(l, inside); });
      };
      const ExprId other_at = b_.add(along_k ? x0 : k0, other), first_at = b_.add(along_k ? k0 : x0, first);
      const ExprId other_inside = b_.less(other_at, b_.index(along_k ? extent : c_.k));
      const bool exact = c_.k % depth == 0 && extent % width == 0;
      if (exact) return vector(true);
      if (reach % kEach == 0)
        return b_.when(
            b_.both(other_inside, b_.less(first_at, b_.index(reach))), [&] { vector(true); }, [&] { vector(false); });
      b_.loop(LoopKind::kUnrolled, "l", kEach, [&](ExprId l) {
        b_.when(
            b_.both(other_inside, b_.less(b_.add(first_at, l), b_.index(reach))), [&] { one(l, true); },
            [&] { one(l, false); });
      });
    });
  }

  BufferId tile_;
};

}  // namespace

Result<Kernel> lower_contraction(const LowerInput& in) {
  auto c = schedule::analyse_contraction(in.region, in.target.family);
  if (!c) return fail(c.error().reason);
  if (!in.cpu()) return GpuContraction(in, *std::move(c)).run();
  if (c->conv) return cpu_conv(in, *std::move(c))->run();
  return (is_thin(in, *c) ? cpu_thin(in, *std::move(c)) : cpu_dot(in, *std::move(c)))->run();
}

}  // namespace fusewright::kernel
