#include <algorithm>
#include <numeric>

#include "contraction.hpp"

namespace fusewright::kernel {

using region::RegionValue;
using region::ValueId;
using schedule::Contraction;

CpuContraction::CpuContraction(const LowerInput& in, Contraction c)
    : ContractionLowering(in, std::move(c)),
      tiles_(in.schedule.tile),
      lanes_(std::min(in.schedule.vector, tiles_.columns)),
      k_extents_{c_.k} {
  left_ = {Operand::From::kPanels, c_.left, &c_.left_map, 2, 1, c_.m, tiles_.rows, c_.batch, 1, BufferId()};
  right_ = {Operand::From::kPanels, c_.right, &c_.right_map, 1, 2, c_.n, tiles_.columns, c_.batch, 1, BufferId()};
}

// A tensor in memory that can be read where it lies: along `contiguous` its elements are neighbours.
bool CpuContraction::lies_well(const Operand& operand, std::size_t contiguous) const {
  const RegionValue& v = region_[operand.value];
  if (v.kind != RegionValue::Kind::kCapture || v.dtype != acc_) return false;
  const region::IndexExpr offset = linearize(*operand.map, v.dims);
  const auto stride = [&](std::size_t dim) {
    return region::stride_of(offset, *operand.map, static_cast<std::int64_t>(dim));
  };
  return stride(contiguous) == std::optional<std::int64_t>(1) && stride(operand.dim) && stride(operand.k_dim);
}

bool CpuContraction::known_at_load(ValueId value) const {
  if (in_.constants.empty()) return false;
  const auto graph = region::trace_accesses(region_, {{value, region::identity_map(region_[value].dims)}});
  return graph && std::all_of(graph->nodes.begin(), graph->nodes.end(), [&](const region::AccessNode& n) {
           const RegionValue& v = region_[n.value];
           return v.kind != RegionValue::Kind::kCapture || in_.constant(v.capture);
         });
}

// In panels: element (k, x) of a panel at k * width + x. Once at load, or by each task for itself.
void CpuContraction::place(Operand& operand, const char* name, std::int64_t panels_of_task) {
  const std::int64_t panel = std::max<std::int64_t>(1, c_.k * operand.width);
  if (!known_at_load(operand.value)) {
    operand.from = Operand::From::kPanels;
    operand.buffer = b_.buffer(name, acc_, panels_of_task * panel, Space::kLocal);
    return;
  }
  operand.from = Operand::From::kPrepared;
  operand.buffer =
      b_.buffer(name, acc_, operand.entries * operand.panels() * panel, Space::kGlobal, Buffer::Role::kPacked);
  b_.prepare(in_.name + "_" + name, [&] {
    b_.loop(LoopKind::kParallel, "task", operand.entries * operand.panels(), [&](ExprId task) {
      const ExprId entry = b_.floor_div(task, operand.panels());
      pack(operand, b_.let("base", b_.mul(task, panel)), b_.let("batch", b_.mul(entry, operand.stride)),
           b_.let("first", b_.mul(b_.mod(task, operand.panels()), operand.width)));
    });
  });
}

void CpuContraction::each_vector(const Count& count, const std::function<void(ExprId)>& body) {
  b_.loop(LoopKind::kSerial, "v", b_.floor_div(count.value, lanes_), [&](ExprId v) {
    b_.loop(LoopKind::kVector, "l", lanes_, [&](ExprId l) { body(b_.add(b_.mul(v, lanes_), l)); });
  });
  if (count.multiple % lanes_ == 0) return;
  const ExprId rest = b_.mod(count.value, lanes_);
  if (count.least >= lanes_) {  // the last vector may do some elements again
    b_.when(b_.less(b_.index(0), rest), [&] {
      const ExprId first = b_.let("first", b_.sub(count.value, b_.index(lanes_)));
      b_.loop(LoopKind::kVector, "l", lanes_, [&](ExprId l) { body(b_.add(first, l)); });
    });
    return;
  }
  const ExprId done = b_.let("done", b_.mul(b_.floor_div(count.value, lanes_), lanes_));
  b_.loop(LoopKind::kSerial, "s", rest, [&](ExprId s) { body(b_.add(done, s)); });
}

// Across beyond the operand's extent the last element is repeated: what comes of it is not stored.
void CpuContraction::pack(const Operand& operand, ExprId base, ExprId batch, ExprId first) {
  const std::int64_t width = operand.width;
  const auto copy = [&](ExprId k, ExprId at, ExprId across) {
    std::vector<ExprId> dims(3);
    dims[0] = batch;
    dims[operand.k_dim] = k;
    dims[operand.dim] = across;
    b_.store(operand.buffer, b_.add(base, b_.add(b_.mul(k, width), at)),
             this->operand(operand.value, *operand.map, dims));
  };
  const auto within = [&](ExprId across) {
    return operand.extent % width == 0 ? across : b_.min(across, b_.index(operand.extent - 1));
  };
  const region::IndexExpr offset = linearize(*operand.map, region_[operand.value].dims);
  const auto along_k = region::stride_of(offset, *operand.map, static_cast<std::int64_t>(operand.k_dim));
  if (width % lanes_ != 0 && along_k == std::optional<std::int64_t>(1)) {
    b_.loop(LoopKind::kSerial, "x", b_.index(width), [&](ExprId x) {
      const ExprId across = b_.let("across", within(b_.add(first, x)));
      each_vector({b_.index(c_.k), c_.k, c_.k}, [&](ExprId k) { copy(k, x, across); });
    });
    return;
  }
  const auto rows = [&](bool whole) {
    b_.loop(LoopKind::kSerial, "k", b_.index(c_.k), [&](ExprId k) {
      each_vector({b_.index(width), 0, width}, [&](ExprId x) {
        const ExprId across = b_.add(first, x);
        copy(k, x, whole ? across : within(across));
      });
    });
  };
  if (operand.extent % width == 0) return rows(true);
  b_.when(
      b_.less(b_.add(first, b_.index(width - 1)), b_.index(operand.extent)), [&] { rows(true); }, [&] { rows(false); });
}

// The columns of the right operand that a task meets its rows with.
void CpuContraction::pack_block(const Block& block) {
  b_.loop(LoopKind::kSerial, "p", block.panels, [&](ExprId p) {
    pack(right_, b_.let("base", b_.mul(p, c_.k * right_.width)), block.batch,
         b_.let("from", b_.add(block.n0, b_.mul(p, right_.width))));
  });
}

void CpuContraction::write() {
  b_.launch(in_.name,
            [&] { b_.loop(LoopKind::kParallel, "task", tasks(), [&](ExprId task) { compute(enter(task)); }); });
}

void CpuContraction::compute(const Block& block) {
  b_.loop(LoopKind::kSerial, "r", block.row_panels, [&](ExprId r) {
    if (left_.from == Operand::From::kPanels)
      pack(left_, b_.index(0), block.batch, b_.let("first", b_.add(block.m0, b_.mul(r, tiles_.rows))));
    b_.loop(LoopKind::kSerial, "q", block.panels, [&](ExprId q) { multiply(block, r, q); });
    finish(block, r);
  });
}

// A few taps of a depthwise convolution need no loop.
bool CpuContraction::in_a_row() const {
  constexpr std::int64_t kProducts = 160;  // of vectors
  return c_.k * tiles_.rows * tiles_.columns / lanes_ <= kProducts;
}

void CpuContraction::over_k(const std::function<void(const Ks&)>& body) {
  const LoopKind kind = in_a_row() ? LoopKind::kUnrolled : LoopKind::kSerial;
  Ks ks;
  const std::function<void()> next = [&] {
    if (ks.size() == k_extents_.size()) return body(ks);
    const std::int64_t extent = k_extents_[ks.size()];
    const auto inside = [&](ExprId k) {
      ks.push_back(k);
      next();
      ks.pop_back();
    };
    if (extent == 1) return inside(b_.index(0));
    b_.loop(kind, "k", b_.index(extent), inside);
  };
  next();
}

ExprId CpuContraction::k_number(const Ks& ks) {
  ExprId k = b_.index(0);
  for (std::size_t d = 0; d < ks.size(); ++d) k = b_.add(b_.mul(k, k_extents_[d]), ks[d]);
  return k;
}

// Straight, without names between: it stands in the innermost loop.
ExprId CpuContraction::memory_index(const Operand& operand, std::vector<ExprId> dims) {
  Elements elements(b_, region_, buffers_.captures, std::move(dims));
  return elements.index(linearize(*operand.map, region_[operand.value].dims), *operand.map, {});
}

ExprId CpuContraction::left_element(const Block& block, ExprId r, ExprId base, ExprId i, ExprId n, const Ks& ks) {
  switch (left_.from) {
    case Operand::From::kMemory: {
      const ExprId own = b_.add(b_.add(block.m0, b_.mul(r, tiles_.rows)), i);
      const ExprId m = c_.m % tiles_.rows == 0 ? own : b_.min(own, b_.index(c_.m - 1));
      return b_.load(buffers_.captures[region_[left_.value].capture],
                     memory_index(left_, {block.batch, m, k_number(ks)}));
    }
    case Operand::From::kPanels:
    case Operand::From::kPrepared:
      return b_.load(left_.buffer, b_.add(base, b_.add(b_.mul(k_number(ks), left_.width), i)));
    case Operand::From::kImage: return b_.load(left_.buffer, image_index(block, r, i, n, ks));
  }
  return zero_value();
}

ExprId CpuContraction::right_element(const Block& block, ExprId q, ExprId base, ExprId at, const Ks& ks) {
  switch (right_.from) {
    case Operand::From::kMemory:
      return b_.load(buffers_.captures[region_[right_.value].capture],
                     memory_index(right_, {block.batch, k_number(ks), b_.add(base, at)}));
    case Operand::From::kPanels:
    case Operand::From::kPrepared:
      return b_.load(right_.buffer, b_.add(base, b_.add(b_.mul(k_number(ks), right_.width), at)));
    case Operand::From::kImage: return b_.load(right_.buffer, image_index(block, q, at, at, ks));
  }
  return zero_value();
}

// sums = left panel x right panel; the tile stays in registers over all of k.
void CpuContraction::multiply(const Block& block, ExprId r, ExprId q) {
  const auto each = [&](const std::function<void(ExprId row, ExprId at)>& body) {
    b_.loop(LoopKind::kUnrolled, "i", tiles_.rows, [&](ExprId i) {
      b_.loop(LoopKind::kUnrolled, "v", tiles_.columns / lanes_, [&](ExprId v) {
        b_.loop(LoopKind::kVector, "l", lanes_, [&](ExprId l) { body(i, b_.add(b_.mul(v, lanes_), l)); });
      });
    });
  };
  const auto cell = [&](ExprId i, ExprId at) { return b_.add(b_.mul(i, tiles_.columns), at); };
  const auto base_of = [&](const Operand& operand, ExprId panel0, ExprId panel) {
    if (operand.from != Operand::From::kPrepared) return b_.index(0);
    const ExprId number = b_.add(b_.add(b_.mul(block.entry, operand.panels()), panel0), panel);
    return b_.let("base", b_.mul(number, c_.k * operand.width));
  };
  ExprId column = b_.mul(q, tiles_.columns);  // of the block, where the tile begins
  ExprId left_base = base_of(left_, block.row_panel0, r), right_base = base_of(right_, block.panel0, q);
  if (right_.from == Operand::From::kPanels) right_base = b_.let("base", b_.mul(q, c_.k * tiles_.columns));
  if (right_.from == Operand::From::kMemory) {
    // What is read in place does not reach beyond the last column: the last tile does some columns again.
    right_base = b_.let("n", b_.add(block.n0, column));
    if (c_.n % tiles_.columns != 0) right_base = b_.let("n", b_.min(right_base, b_.index(c_.n - tiles_.columns)));
    column = b_.sub(right_base, block.n0);
  }
  column = b_.let("column", column);
  const ExprId n = b_.let("n", b_.add(block.n0, column));
  each([&](ExprId i, ExprId at) { b_.store(tile_, cell(i, at), zero_value()); });
  over_k([&](const Ks& ks) {
    each([&](ExprId i, ExprId at) {
      const ExprId x = left_element(block, r, left_base, i, b_.add(n, at), ks);
      const ExprId y = right_element(block, q, right_base, at, ks);
      b_.store(tile_, cell(i, at), multiply_add(x, y, b_.load(tile_, cell(i, at))));
    });
  });
  // Through memory from here on, so that what follows may index rows and columns freely.
  each([&](ExprId i, ExprId at) {
    b_.store(sums_, b_.add(b_.add(b_.mul(i, pitch_), b_.index(lead_)), b_.add(column, at)),
             b_.load(tile_, cell(i, at)));
  });
}

void CpuContraction::finish(const Block& block, ExprId r) {
  gather_sums();
  const ExprId first = b_.let("first", b_.mul(r, tiles_.rows));
  const ExprId rows = b_.let("rows", b_.min(b_.index(tiles_.rows), b_.sub(block.rows, first)));
  b_.loop(LoopKind::kSerial, "i", rows, [&](ExprId i) {
    const ExprId m = b_.let("m", b_.add(b_.add(block.m0, first), i));
    each_vector({block.columns, least_columns_, columns_multiple_}, [&](ExprId column) {
      store_outputs(block.batch, m, b_.add(block.n0, column),
                    b_.load(stored_, b_.add(b_.add(b_.mul(i, stored_pitch_), b_.index(lead_)), column)));
    });
  });
}

namespace {

class CpuDot final : public CpuContraction {
 public:
  CpuDot(const LowerInput& in, Contraction c) : CpuContraction(in, std::move(c)) {
    row_panels_ = left_.panels();
    blocks_ = (right_.panels() + tiles_.together - 1) / tiles_.together;
    share_ = (row_panels_ + tiles_.splits - 1) / tiles_.splits;
    const std::int64_t most = tiles_.together * tiles_.columns, last = c_.n - (blocks_ - 1) * most;
    least_columns_ = std::min(last, c_.n);
    columns_multiple_ = blocks_ == 1 ? c_.n : std::gcd(most, last);
    // Packing pays where the elements are met with several rows, or do not lie in the order that is needed.
    if (!known_at_load(right_.value) && row_panels_ == 1 && c_.n >= tiles_.columns && lies_well(right_, 2)) {
      right_.from = Operand::From::kMemory;
      lead_ = c_.n % tiles_.columns == 0 ? 0 : tiles_.columns;
    } else {
      place(right_, "right", tiles_.together);
    }
    if (!known_at_load(left_.value) && lies_well(left_, 2))
      left_.from = Operand::From::kMemory;
    else
      place(left_, "left", 1);
    pitch_ = stored_pitch_ = most + lead_;
    tile_ = b_.buffer("tile", acc_, tiles_.rows * tiles_.columns, Space::kLocal);
    sums_ = stored_ = b_.buffer("sums", acc_, tiles_.rows * pitch_, Space::kLocal);
  }

 private:
  std::int64_t tasks() const override { return c_.batch * blocks_ * tiles_.splits; }

  Block enter(ExprId task) override {
    const ExprId split = b_.let("split", b_.mod(task, tiles_.splits));
    const ExprId number = b_.let("block", b_.mod(b_.floor_div(task, tiles_.splits), blocks_));
    Block block;
    block.batch = block.entry = b_.let("batch", b_.floor_div(task, tiles_.splits * blocks_));
    block.row_panel0 = b_.let("first_rows", b_.mul(split, share_));
    block.row_panels = b_.let(
        "row_panels", b_.op(ScalarOp::kMax, DType::kS64,
                            {b_.index(0), b_.min(b_.index(share_), b_.sub(b_.index(row_panels_), block.row_panel0))}));
    block.m0 = b_.let("m0", b_.mul(block.row_panel0, tiles_.rows));
    block.rows = b_.let("rows", b_.sub(b_.index(c_.m), block.m0));
    block.panel0 = b_.let("first_panel", b_.mul(number, tiles_.together));
    block.panels = b_.let("panels", b_.min(b_.index(tiles_.together), b_.sub(b_.index(right_.panels()), block.panel0)));
    block.n0 = b_.let("n0", b_.mul(block.panel0, tiles_.columns));
    block.columns =
        blocks_ == 1
            ? b_.index(c_.n)
            : b_.let("columns", b_.min(b_.index(tiles_.together * tiles_.columns), b_.sub(b_.index(c_.n), block.n0)));
    if (right_.from == Operand::From::kPanels) pack_block(block);
    return block;
  }

  ExprId image_index(const Block&, ExprId, ExprId, ExprId, const Ks&) override { return b_.index(0); }

  std::int64_t row_panels_ = 1, blocks_ = 1, share_ = 1;  // share of the row panels in one split
};

}  // namespace

std::unique_ptr<ContractionLowering> cpu_dot(const LowerInput& in, Contraction c) {
  return std::make_unique<CpuDot>(in, std::move(c));
}

}  // namespace fusewright::kernel
