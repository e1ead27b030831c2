#include <algorithm>

#include "elements.hpp"
#include "fusewright/schedule/contraction.hpp"
#include "templates.hpp"

namespace fusewright::kernel {

namespace {

using region::AccessRoot;
using region::IndexMap;
using region::ValueId;
using schedule::Contraction;

// Narrow floats are multiplied and summed in f32.
DType accumulator(DType dtype) { return dtype == DType::kF16 || dtype == DType::kBF16 ? DType::kF32 : dtype; }

/// What both machines share: elements of the operands, the sum, and what follows it.
class ContractionLowering {
 public:
  ContractionLowering(const LowerInput& in, Contraction c)
      : in_(in),
        region_(in.region),
        c_(std::move(c)),
        b_(in.name, in.family()),
        buffers_(declare_buffers(b_, in.region)),
        acc_(accumulator(region_[c_.result].dtype)) {}

  Result<Kernel> run() {
    if (in_.cpu())
      cpu();
    else
      b_.launch(in_.name, [&] { gpu(); });
    if (!status_) return std::unexpected(status_.error());
    return b_.finish();
  }

 private:
  bool is_float() const { return ops::is_float(acc_); }
  ExprId zero_value() { return is_float() ? b_.number(acc_, 0) : b_.integer(acc_, 0); }
  ExprId multiply_add(ExprId x, ExprId y, ExprId sum) {
    if (is_float()) return b_.op(ScalarOp::kFma, acc_, {x, y, sum});
    return b_.op(ScalarOp::kAdd, acc_, {b_.op(ScalarOp::kMul, acc_, {x, y}), sum});
  }

  // One element of an operand in the accumulator's dtype; where the map's constraints do not hold, zero.
  ExprId operand(ValueId value, const IndexMap& map, std::vector<ExprId> dims) {
    Elements elements(b_, region_, buffers_.captures, dims);
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

  // The outputs at (b, m, n), from the finished sum there.
  void store_outputs(ExprId batch, ExprId m, ExprId n, ExprId sum) {
    const ExprId result = b_.let("sum", b_.convert(region_[c_.result].dtype, sum));
    const auto lookup = [&](ValueId v, const IndexMap&) {
      return v == c_.result ? std::optional(result) : std::nullopt;
    };
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

  // ---- CPU: both operands in panels, a register tile of rows x panel ----

  void cpu() {
    rows_ = in_.schedule.tile[0];
    panel_ = in_.schedule.tile[1];
    lanes_ = std::min(in_.schedule.vector, panel_);
    const std::int64_t together = in_.schedule.tile[2], splits = in_.schedule.tile[3];
    const std::int64_t row_panels = (c_.m + rows_ - 1) / rows_, panels = (c_.n + panel_ - 1) / panel_;
    left_is_packed_ = !left_lies_well();
    if (left_is_packed_) left_ = b_.buffer("left", acc_, c_.k * rows_, Space::kLocal);
    right_ = b_.buffer("right", acc_, together * c_.k * panel_, Space::kLocal);
    tile_ = b_.buffer("tile", acc_, rows_ * panel_, Space::kLocal);
    sums_ = b_.buffer("sums", acc_, rows_ * panel_, Space::kLocal);
    const std::int64_t blocks = (panels + together - 1) / together;
    const std::int64_t share = (row_panels + splits - 1) / splits;
    b_.launch(in_.name, [&] {
      b_.loop(LoopKind::kParallel, "task", c_.batch * blocks * splits, [&](ExprId task) {
        const ExprId split = b_.let("split", b_.mod(task, splits));
        const ExprId block = b_.let("block", b_.mod(b_.floor_div(task, splits), blocks));
        const ExprId batch = b_.let("batch", b_.floor_div(task, splits * blocks));
        const ExprId first_panel = b_.let("first_panel", b_.mul(block, together));
        const ExprId count = b_.let("count", b_.min(b_.index(together), b_.sub(b_.index(panels), first_panel)));
        b_.loop(LoopKind::kSerial, "p", count,
                [&](ExprId p) { pack_right(batch, b_.let("from", b_.mul(b_.add(first_panel, p), panel_)), p); });
        const ExprId first_rows = b_.mul(split, share);
        const ExprId row_count =
            b_.op(ScalarOp::kMax, DType::kS64,
                  {b_.index(0), b_.min(b_.index(share), b_.sub(b_.index(row_panels), first_rows))});
        b_.loop(LoopKind::kSerial, "r", row_count, [&](ExprId r) {
          const ExprId m0 = b_.let("m0", b_.mul(b_.add(first_rows, r), rows_));
          if (left_is_packed_) pack_left(batch, m0);
          b_.loop(LoopKind::kSerial, "q", count, [&](ExprId q) {
            multiply(batch, m0, b_.let("right_at", b_.mul(q, c_.k * panel_)));
            finish(batch, m0, b_.let("n0", b_.mul(b_.add(first_panel, q), panel_)));
          });
        });
      });
    });
  }

  // A tensor in memory, its rows contiguous: read where it lies.
  bool left_lies_well() const {
    const region::RegionValue& v = region_[c_.left];
    return v.kind == region::RegionValue::Kind::kCapture && v.dtype == acc_ && c_.left_map.constraints.empty() &&
           region::stride_of(linearize(c_.left_map, v.dims), c_.left_map, 2) == std::optional<std::int64_t>(1) &&
           region::stride_of(linearize(c_.left_map, v.dims), c_.left_map, 1).has_value();
  }

  // Rows beyond the last repeat it: what they sum to is not stored.
  ExprId row_within(ExprId m) { return c_.m % rows_ == 0 ? m : b_.min(m, b_.index(c_.m - 1)); }

  void pack_left(ExprId batch, ExprId first) {
    b_.loop(LoopKind::kSerial, "i", b_.index(rows_), [&](ExprId i) {
      const auto at = [&](ExprId k) { return b_.add(b_.mul(k, rows_), i); };
      const ExprId m = b_.let("m", row_within(b_.add(first, i)));
      b_.loop(LoopKind::kSerial, "k", b_.index(c_.k / lanes_), [&](ExprId v) {
        b_.loop(LoopKind::kVector, "l", lanes_, [&](ExprId l) {
          const ExprId k = b_.add(b_.mul(v, lanes_), l);
          b_.store(left_, at(k), operand(c_.left, c_.left_map, {batch, m, k}));
        });
      });
      b_.loop(LoopKind::kSerial, "t", b_.index(c_.k % lanes_), [&](ExprId t) {
        const ExprId k = b_.add(b_.index(c_.k / lanes_ * lanes_), t);
        b_.store(left_, at(k), operand(c_.left, c_.left_map, {batch, m, k}));
      });
    });
  }

  // Columns beyond the last repeat it, likewise.
  void pack_right(ExprId batch, ExprId from, ExprId panel) {
    const ExprId base = b_.let("base", b_.mul(panel, c_.k * panel_));
    const auto pack = [&](bool whole) {
      b_.loop(LoopKind::kSerial, "k", b_.index(c_.k), [&](ExprId k) {
        b_.loop(LoopKind::kSerial, "v", b_.index(panel_ / lanes_), [&](ExprId v) {
          const ExprId first = b_.let("n", b_.add(from, b_.mul(v, lanes_)));
          b_.loop(LoopKind::kVector, "l", lanes_, [&](ExprId l) {
            ExprId n = b_.add(first, l);
            if (!whole) n = b_.min(n, b_.index(c_.n - 1));
            b_.store(right_, b_.add(base, b_.add(b_.mul(k, panel_), b_.add(b_.mul(v, lanes_), l))),
                     operand(c_.right, c_.right_map, {batch, k, n}));
          });
        });
      });
    };
    if (c_.n % panel_ == 0) return pack(true);
    b_.when(b_.less(b_.add(from, b_.index(panel_ - 1)), b_.index(c_.n)), [&] { pack(true); }, [&] { pack(false); });
  }

  // sums = left panel x right panel; the tile stays in registers over all of k.
  void multiply(ExprId batch, ExprId m0, ExprId right_at) {
    const auto each = [&](const std::function<void(ExprId row, ExprId at)>& body) {
      b_.loop(LoopKind::kUnrolled, "i", rows_, [&](ExprId i) {
        b_.loop(LoopKind::kUnrolled, "v", panel_ / lanes_, [&](ExprId v) {
          b_.loop(LoopKind::kVector, "l", lanes_, [&](ExprId l) { body(i, b_.add(b_.mul(v, lanes_), l)); });
        });
      });
    };
    const auto cell = [&](ExprId i, ExprId at) { return b_.add(b_.mul(i, panel_), at); };
    each([&](ExprId i, ExprId at) { b_.store(tile_, cell(i, at), zero_value()); });
    b_.loop(LoopKind::kSerial, "k", b_.index(c_.k), [&](ExprId k) {
      each([&](ExprId i, ExprId at) {
        const ExprId x = left_is_packed_ ? b_.load(left_, b_.add(b_.mul(k, rows_), i))
                                         : left_element(batch, row_within(b_.add(m0, i)), k);
        const ExprId y = b_.load(right_, b_.add(right_at, b_.add(b_.mul(k, panel_), at)));
        b_.store(tile_, cell(i, at), multiply_add(x, y, b_.load(tile_, cell(i, at))));
      });
    });
    // Through memory from here on, so that what follows may index rows and columns freely.
    each([&](ExprId i, ExprId at) { b_.store(sums_, cell(i, at), b_.load(tile_, cell(i, at))); });
  }

  // Straight from memory, without names between: it stands in the innermost loop.
  ExprId left_element(ExprId batch, ExprId m, ExprId k) {
    const region::RegionValue& v = region_[c_.left];
    Elements elements(b_, region_, buffers_.captures, {batch, m, k});
    return b_.load(buffers_.captures[v.capture], elements.index(linearize(c_.left_map, v.dims), c_.left_map, {}));
  }

  void finish(ExprId batch, ExprId m0, ExprId n0) {
    const ExprId rows =
        c_.m % rows_ == 0 ? b_.index(rows_) : b_.let("rows", b_.min(b_.index(rows_), b_.sub(b_.index(c_.m), m0)));
    const ExprId columns =
        c_.n % panel_ == 0 ? b_.index(panel_) : b_.let("columns", b_.min(b_.index(panel_), b_.sub(b_.index(c_.n), n0)));
    b_.loop(LoopKind::kSerial, "i", rows, [&](ExprId i) {
      const ExprId m = b_.let("m", b_.add(m0, i));
      const auto one = [&](ExprId column) {
        store_outputs(batch, m, b_.add(n0, column), b_.load(sums_, b_.add(b_.mul(i, panel_), column)));
      };
      b_.loop(LoopKind::kSerial, "v", b_.floor_div(columns, lanes_), [&](ExprId v) {
        b_.loop(LoopKind::kVector, "l", lanes_, [&](ExprId l) { one(b_.add(b_.mul(v, lanes_), l)); });
      });
      if (c_.n % lanes_ != 0) {
        const ExprId done = b_.let("done", b_.mul(b_.floor_div(columns, lanes_), lanes_));
        b_.loop(LoopKind::kSerial, "s", b_.mod(columns, lanes_), [&](ExprId s) { one(b_.add(done, s)); });
      }
    });
  }

  // ---- GPU: a block computes 64 x 64 results from slices of both operands in shared memory, a thread 4 x 4 of them
  // ----

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

  const LowerInput& in_;
  const region::Region& region_;
  Contraction c_;
  KernelBuilder b_;
  RegionBuffers buffers_;
  DType acc_;
  std::int64_t rows_ = 1, panel_ = 1, lanes_ = 1;
  bool left_is_packed_ = true;
  BufferId left_, right_, tile_, sums_;
  Status status_;
};

}  // namespace

Result<Kernel> lower_contraction(const LowerInput& in) {
  auto c = schedule::analyse_contraction(in.region);
  if (!c) return fail(c.error().reason);
  return ContractionLowering(in, *std::move(c)).run();
}

}  // namespace fusewright::kernel
