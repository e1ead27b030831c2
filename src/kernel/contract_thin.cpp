#include <algorithm>

#include "contraction.hpp"

namespace fusewright::kernel {

using region::RegionValue;
using schedule::Contraction;

namespace {

constexpr std::int64_t kThin = 4;  // columns that are few
constexpr std::int64_t kSums = 8;  // vectors that a core can keep adding to without waiting

/// One side of the product: its elements by (k, across).
struct Side {
  region::ValueId value;
  const region::IndexMap* map;
  std::size_t k_dim, dim;
  std::int64_t extent;
};

/// A matrix against a few vectors, all contiguous along k, on a CPU: lanes are neighbours in k, and a result is the sum
/// of its lanes. Nothing is packed: each element of the matrix is met once.
class CpuThin final : public ContractionLowering {
 public:
  CpuThin(const LowerInput& in, Contraction c)
      : ContractionLowering(in, std::move(c)),
        lanes_(in.schedule.vector),
        left_{c_.left, &c_.left_map, 2, 1, c_.m},
        right_{c_.right, &c_.right_map, 1, 2, c_.n},
        rows_are_m_(c_.n <= kThin),
        columns_((rows_are_m_ ? right_ : left_).extent),
        rows_(std::min((rows_are_m_ ? left_ : right_).extent, std::max<std::int64_t>(1, kSums / columns_))) {}

 private:
  void write() override {
    const std::int64_t all = (rows_are_m_ ? left_ : right_).extent, tiles = (all + rows_ - 1) / rows_;
    constexpr std::int64_t kWork = 1 << 16;  // products of a task
    const std::int64_t together =
        std::clamp<std::int64_t>(kWork / std::max<std::int64_t>(1, c_.k * rows_ * columns_), 1, tiles);
    const std::int64_t tasks = (tiles + together - 1) / together;
    sums_ = b_.buffer("sums", acc_, rows_ * columns_ * lanes_, Space::kLocal);
    lines_ = b_.buffer("lines", acc_, rows_ * columns_ * lanes_, Space::kLocal);
    b_.launch(in_.name, [&] {
      b_.loop(LoopKind::kParallel, "task", c_.batch * tasks, [&](ExprId task) {
        const ExprId batch = b_.let("batch", b_.floor_div(task, tasks));
        const ExprId first = b_.let("first", b_.mul(b_.mod(task, tasks), together));
        const ExprId count = b_.let("count", b_.min(b_.index(together), b_.sub(b_.index(tiles), first)));
        b_.loop(LoopKind::kSerial, "t", count,
                [&](ExprId t) { tile(batch, b_.let("row0", b_.mul(b_.add(first, t), rows_)), all); });
      });
    });
  }

  ExprId element(const Side& side, ExprId batch, ExprId across, ExprId k) {
    std::vector<ExprId> dims(3);
    dims[0] = batch;
    dims[side.dim] = across;
    dims[side.k_dim] = k;
    return operand(side.value, *side.map, std::move(dims));
  }

  ExprId product(ExprId batch, ExprId row, ExprId column, ExprId k, ExprId sum) {
    const ExprId m = rows_are_m_ ? row : column, n = rows_are_m_ ? column : row;
    return multiply_add(element(left_, batch, m, k), element(right_, batch, n, k), sum);
  }

  // Rows beyond the last repeat it: what they sum to is not stored.
  void tile(ExprId batch, ExprId row0, std::int64_t all) {
    const auto each = [&](const std::function<void(ExprId row, ExprId column, ExprId cell, ExprId lane)>& body) {
      b_.loop(LoopKind::kUnrolled, "i", rows_, [&](ExprId i) {
        b_.loop(LoopKind::kUnrolled, "j", columns_, [&](ExprId j) {
          const ExprId row = b_.add(row0, i);
          b_.loop(LoopKind::kVector, "l", lanes_, [&](ExprId l) {
            body(all % rows_ == 0 ? row : b_.min(row, b_.index(all - 1)), j,
                 b_.add(b_.mul(b_.add(b_.mul(i, columns_), j), lanes_), l), l);
          });
        });
      });
    };
    each([&](ExprId, ExprId, ExprId cell, ExprId) { b_.store(lines_, cell, zero_value()); });
    const std::int64_t vectors = c_.k / lanes_;
    b_.loop(LoopKind::kSerial, "k", b_.index(vectors), [&](ExprId v) {
      each([&](ExprId row, ExprId column, ExprId cell, ExprId lane) {
        const ExprId k = b_.add(b_.mul(v, lanes_), lane);
        b_.store(lines_, cell, product(batch, row, column, k, b_.load(lines_, cell)));
      });
    });
    each([&](ExprId, ExprId, ExprId cell, ExprId) { b_.store(sums_, cell, b_.load(lines_, cell)); });
    const ExprId rows = b_.let("rows", b_.min(b_.index(rows_), b_.sub(b_.index(all), row0)));
    b_.loop(LoopKind::kSerial, "i", rows, [&](ExprId i) {
      const ExprId row = b_.let("row", b_.add(row0, i));
      b_.loop(LoopKind::kSerial, "j", b_.index(columns_), [&](ExprId j) { finish(batch, row, i, j); });
    });
  }

  void finish(ExprId batch, ExprId row, ExprId i, ExprId j) {
    const ExprId own = b_.let("own", b_.mul(b_.add(b_.mul(i, columns_), j), lanes_));
    const ScalarOp add = ScalarOp::kAdd;
    for (std::int64_t half = lanes_ / 2; half > 0; half /= 2)
      b_.loop(LoopKind::kVector, "l", half, [&](ExprId l) {
        const ExprId at = b_.add(own, l);
        b_.store(sums_, at, b_.op(add, acc_, {b_.load(sums_, at), b_.load(sums_, b_.add(at, b_.index(half)))}));
      });
    const std::int64_t done = c_.k / lanes_ * lanes_;
    b_.loop(LoopKind::kSerial, "k", b_.index(c_.k - done), [&](ExprId k) {
      b_.store(sums_, own, product(batch, row, j, b_.add(k, b_.index(done)), b_.load(sums_, own)));
    });
    const ExprId m = rows_are_m_ ? row : j, n = rows_are_m_ ? j : row;
    store_outputs(batch, m, n, b_.load(sums_, own));
  }

  std::int64_t lanes_;
  Side left_, right_;
  bool rows_are_m_;
  std::int64_t columns_, rows_;  // of a tile
  BufferId sums_, lines_;
};

}  // namespace

bool is_thin(const LowerInput& in, const Contraction& c) {
  const auto along_k = [&](region::ValueId value, const region::IndexMap& map, std::int64_t k) {
    const RegionValue& v = in.region[value];
    return v.kind == RegionValue::Kind::kCapture && !in.constant(v.capture) &&
           region::stride_of(linearize(map, v.dims), map, k) == std::optional<std::int64_t>(1);
  };
  const bool few = std::min(c.m, c.n) <= kThin && std::max(c.m, c.n) > kThin;
  return few && c.k >= in.schedule.vector && along_k(c.left, c.left_map, 2) && along_k(c.right, c.right_map, 1);
}

std::unique_ptr<ContractionLowering> cpu_thin(const LowerInput& in, Contraction c) {
  return std::make_unique<CpuThin>(in, std::move(c));
}

}  // namespace fusewright::kernel
