#pragma once

#include <map>

#include "elements.hpp"
#include "fusewright/schedule/rows.hpp"
#include "reducer.hpp"
#include "templates.hpp"

namespace fusewright::kernel {

/// Reductions over rows, with what stands before, between and after them. On a CPU a row is walked by vectors along it,
/// or, where kept axes lie inside, several vectors of columns at once; on a GPU rows and columns are dealt out to the
/// threads of blocks.
class RowsLowering {
 public:
  RowsLowering(const LowerInput& in, schedule::Rows rows);
  Result<Kernel> run();

 private:
  /// Memory for partial results of one reduction.
  struct Cells {
    BufferId value, position;
  };
  using AllCells = std::map<region::ValueId, Cells>;  // by reduction
  /// Where in a row, and where its partial results lie while it is walked.
  struct At {
    ExprId outer, inner, column;
    ExprId slot;    ///< of the partial results
    ExprId staged;  ///< of this element in the staged buffers
  };
  /// Part of the reduced extent: the first of its elements, and how many there are.
  struct Part {
    ExprId start, count;
  };

  std::int64_t kept() const { return rows_.outer * rows_.inner; }
  std::int64_t part_length(std::int64_t step) const;
  Part part_of(ExprId part, std::int64_t length);
  std::vector<std::size_t> reducers_of(int level) const;
  ExprId zero() { return b_.index(0); }
  /// One body for each of `lanes` neighbours.
  void across(std::int64_t lanes, const std::function<void(ExprId)>& body);

  Cells declare(const Reducer& r, const std::string& name, std::int64_t count, Space space);
  AllCells declare_all(const std::string& name, std::int64_t count, Space space);
  Reducer::Partial read(const Reducer& r, const Cells& cells, ExprId at);
  void write(const Reducer& r, const Cells& cells, ExprId at, const Reducer::Partial& partial);
  void clear(const Reducer& r, const Cells& cells, std::int64_t slots, bool tail);
  void fold_slots(const Reducer& r, const Cells& cells, std::int64_t slots, bool tail);

  void choose_staged();
  void declare_staged(std::int64_t elements);
  region::AccessRoot full_root(region::ValueId v) const { return {v, full_map(region_, rows_, v)}; }
  region::AccessRoot operand_root(const Reducer& r) const { return full_root(region_[r.id].operands[0]); }
  int first_pass(region::ValueId v) const { return passes_[v].front(); }
  BufferId output_buffer(region::ValueId v) const;

  Elements elements_at(const At& at, int pass);
  std::vector<ExprId> emit(Elements& elements, const std::vector<region::AccessRoot>& roots);
  void reduce_element(int level, const At& at, const AllCells& cells);
  void store_element(const At& at);
  void store_kept(const At& at);
  /// Results of reductions, from now on: one for the whole row, or read from its partial results.
  void set_result(const Reducer& r, ExprId result);
  void set_result(const Reducer& r, const Cells& own);

  void cpu_rows();
  void cpu_row(ExprId row, const AllCells& cells);
  void cpu_columns();
  /// Columns that a CPU takes at once.
  struct Columns {
    std::int64_t lanes, vectors;
  };
  void cpu_column_group(ExprId outer, ExprId inner, ExprId part, Columns columns, const AllCells& cells);
  std::int64_t unroll() const;
  void walk(ExprId start, ExprId count, bool accumulate,
            const std::function<void(ExprId column, ExprId slot)>& element);
  void cpu_join();

  /// How a block's threads lie over rows or columns, and what they keep.
  struct GpuBlock;
  using GpuElement = std::function<void(ExprId column, ExprId lane, ExprId kept)>;
  void gpu_rows();
  void gpu_row(const GpuBlock& block);
  void gpu_each_of_row(const GpuBlock& block, const GpuElement& element);
  void gpu_join_row(const GpuBlock& block, int level);
  void gpu_columns();
  void gpu_column(const GpuBlock& block);
  void gpu_each_of_column(const GpuBlock& block, const GpuElement& element);
  void gpu_join_columns(const GpuBlock& block, int level, bool all_need_it);
  Reducer::Partial across_warp(const Reducer& r, Reducer::Partial p, std::int64_t from, std::int64_t to);
  void gpu_join();

  const LowerInput& in_;
  const region::Region& region_;
  schedule::Rows rows_;
  KernelBuilder b_;
  RegionBuffers buffers_;
  schedule::Passes passes_;
  std::int64_t parts_;
  std::vector<Reducer> reducers_;
  std::vector<Cells> partials_;  // by reduction; global
  std::map<region::ValueId, BufferId> staged_;
  std::map<region::ValueId, std::function<ExprId(const At&)>> results_;  // of the row at hand
  std::int64_t in_row_slots_ = 1;
  Status status_;
};

}  // namespace fusewright::kernel
