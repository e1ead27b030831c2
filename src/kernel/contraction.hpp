#pragma once

#include <memory>
#include <vector>

#include "elements.hpp"
#include "fusewright/schedule/contraction.hpp"
#include "templates.hpp"

namespace fusewright::kernel {

/// What contractions share on every machine: elements of the operands, the sum, and what follows it.
class ContractionLowering {
 public:
  virtual ~ContractionLowering() = default;
  Result<Kernel> run();

 protected:
  ContractionLowering(const LowerInput& in, schedule::Contraction c);
  virtual void write() = 0;

  ExprId zero_value() { return ops::is_float(acc_) ? b_.number(acc_, 0) : b_.integer(acc_, 0); }
  ExprId multiply_add(ExprId x, ExprId y, ExprId sum);
  /// One element of an operand in the accumulator's dtype; where the map's constraints do not hold, zero.
  ExprId operand(region::ValueId value, const region::IndexMap& map, std::vector<ExprId> dims);
  /// The outputs at (b, m, n), from the finished sum there.
  void store_outputs(ExprId batch, ExprId m, ExprId n, ExprId sum);

  const LowerInput& in_;
  const region::Region& region_;
  schedule::Contraction c_;
  KernelBuilder b_;
  RegionBuffers buffers_;
  DType acc_;  ///< narrow floats are multiplied and summed in f32
  Status status_;
};

/// On a CPU. Tasks are blocks of the result. Each goes through its block by register tiles, whose sums stay in
/// registers over all of k; the right operand's elements are vectors, the left one's are broadcast.
class CpuContraction : public ContractionLowering {
 protected:
  using Ks = std::vector<ExprId>;

  /// What one task computes.
  struct Block {
    ExprId batch, entry;          ///< of the result; of the operands laid out in panels
    ExprId m0, rows, row_panels;  ///< first row, rows that are stored, register tiles from there on
    ExprId n0, columns, panels;
    ExprId row_panel0, panel0;  ///< number of the first register tile in the whole operand
  };
  /// A count that is known when the kernel runs, and what is known of it before.
  struct Count {
    ExprId value;
    std::int64_t least = 0, multiple = 1;
  };
  /// An operand by (k, across): across are rows of the left one, columns of the right one.
  struct Operand {
    enum class From { kMemory, kPanels, kPrepared, kImage } from = From::kPanels;
    region::ValueId value;
    const region::IndexMap* map = nullptr;
    std::size_t k_dim = 0, dim = 0;  ///< of the map
    std::int64_t extent = 1, width = 1;
    std::int64_t entries = 1, stride = 1;  ///< different ones over the batch, and batch numbers from one to the next
    BufferId buffer;

    std::int64_t panels() const { return (extent + width - 1) / width; }
  };

  CpuContraction(const LowerInput& in, schedule::Contraction c);
  void write() final;

  virtual std::int64_t tasks() const = 0;
  virtual Block enter(ExprId task) = 0;
  /// Of an operand that is an image: which element of its buffer is met at row `at` of the left panel or column `at`
  /// of the right one; `n` is the result's column.
  virtual ExprId image_index(const Block& block, ExprId panel, ExprId at, ExprId n, const Ks& ks) = 0;
  /// Sums of a tile's rows as they are to be stored, one behind the other; columns start at 0 and rows are
  /// `stored_pitch_` apart.
  virtual void gather_sums() {}

  bool lies_well(const Operand& operand, std::size_t contiguous) const;
  bool in_a_row() const;
  bool known_at_load(region::ValueId value) const;
  void place(Operand& operand, const char* name, std::int64_t panels_of_task);
  void pack(const Operand& operand, ExprId base, ExprId batch, ExprId first);
  void pack_block(const Block& block);
  void each_vector(const Count& count, const std::function<void(ExprId)>& body);

  schedule::CpuTiles tiles_;
  std::int64_t lanes_ = 1;
  std::vector<std::int64_t> k_extents_;  ///< loops that k is counted in, outermost first
  Operand left_, right_;
  std::int64_t pitch_ = 1, stored_pitch_ = 1;  ///< of the sums
  std::int64_t lead_ = 0;                      ///< sums before a block's first column, not stored
  std::int64_t least_columns_ = 0, columns_multiple_ = 1;
  BufferId tile_, sums_, stored_;

 private:
  void compute(const Block& block);
  void multiply(const Block& block, ExprId r, ExprId q);
  void finish(const Block& block, ExprId r);
  ExprId left_element(const Block& block, ExprId r, ExprId base, ExprId i, ExprId n, const Ks& ks);
  ExprId right_element(const Block& block, ExprId q, ExprId base, ExprId at, const Ks& ks);
  ExprId memory_index(const Operand& operand, std::vector<ExprId> dims);
  ExprId k_number(const Ks& ks);
  void over_k(const std::function<void(const Ks&)>& body);
};

/// A dot of a matrix and a few vectors, none of them known at load, that all lie contiguous along k.
bool is_thin(const LowerInput& in, const schedule::Contraction& c);
std::unique_ptr<ContractionLowering> cpu_thin(const LowerInput& in, schedule::Contraction c);
std::unique_ptr<ContractionLowering> cpu_dot(const LowerInput& in, schedule::Contraction c);
std::unique_ptr<ContractionLowering> cpu_conv(const LowerInput& in, schedule::Contraction c);

}  // namespace fusewright::kernel
