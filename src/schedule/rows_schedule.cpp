#include <algorithm>
#include <bit>

#include "fusewright/schedule/rows.hpp"
#include "templates.hpp"

namespace fusewright::schedule {

using region::RegionValue;
using region::ValueId;

namespace {

// Values worth keeping from one pass over a row to a later one: the last common point of several passes, where the way
// to it is dear. On a GPU what is read from memory is kept as well.
std::vector<ValueId> worth_staging(const Region& region, const Rows& rows, const Target& target) {
  const bool gpu = target.family == Target::Family::kGpu;
  const std::int64_t whole = rows.outer * rows.inner * rows.reduced;
  const Passes passes = passes_needing(region, rows);
  std::vector<bool> dear(region.values.size(), false);
  for (std::size_t i = 0; i < region.values.size(); ++i) {
    const RegionValue& v = region.values[i];
    if (v.kind != RegionValue::Kind::kOp || rows.is_reduction(ValueId(i)) || v.elements() != whole) continue;
    dear[i] = v.scalar_op && ops::is_expensive(*v.scalar_op);
    for (const ValueId operand : v.operands) dear[i] = dear[i] || dear[operand.index];
  }
  std::vector<bool> continued(region.values.size(), false);  // a later value serves the same passes
  for (std::size_t i = 0; i < region.values.size(); ++i)
    for (const ValueId operand : region.values[i].operands)
      if (!rows.is_reduction(ValueId(i)) && passes.same(operand, ValueId(i))) continued[operand.index] = true;
  std::vector<ValueId> staged;
  for (std::size_t i = 0; i < region.values.size(); ++i) {
    const RegionValue& v = region.values[i];
    if (passes[ValueId(i)].size() < 2 || v.elements() != whole) continue;
    const bool capture = v.kind == RegionValue::Kind::kCapture;
    if (capture ? gpu : dear[i] && !continued[i] && v.kind == RegionValue::Kind::kOp) staged.push_back(ValueId(i));
  }
  return staged;
}

// Bytes of what is read that passes after the first read again.
std::int64_t bytes_again(const Region& region, const Rows& rows, const std::vector<ValueId>& staged) {
  const Passes passes = passes_needing(region, rows, staged);
  std::int64_t bytes = 0;
  for (std::uint32_t c = 0; c < region.captures; ++c) {
    const bool kept = std::find(staged.begin(), staged.end(), ValueId(c)) != staged.end();
    const RegionValue& v = region.values[c];
    if (!kept && passes[ValueId(c)].size() > 1)
      bytes += static_cast<std::int64_t>(passes[ValueId(c)].size() - 1) * v.elements() * ops::byte_width(v.dtype);
  }
  return bytes;
}

// ---- CPU: tile = {rows or column groups of a task, parts of a row, accumulators or vectors of columns} ----

Schedule schedule_cpu(const Region& region, const Rows& rows, const Target& target, Template kind) {
  Schedule schedule;
  schedule.kind = kind;
  const std::int64_t lanes = vector_lanes(region, target);
  schedule.vector = lanes;
  const bool columns = rows.inner > 1;

  // Few long rows are cut into parts, which a second launch puts together: parts are worth it by their elements or by
  // the work that these are. The cut depends on the region alone.
  constexpr std::int64_t kPart = 1 << 15, kShortest = 1 << 12, kMostParts = 4096, kLongestStagedRow = 1 << 16;
  constexpr double kPartWork = 1 << 16;  // simple operations
  std::int64_t parts = 1, vectors = columns && rows.reductions.size() == 1 ? 8 : 4;
  const auto groups_of = [&](std::int64_t width) { return rows.outer * ((rows.inner + width - 1) / width); };
  const bool can_split = kind == Template::kReduce && rows.levels == 1;
  // Wide groups of columns read memory in longer pieces, as long as what is read again stays near.
  while (columns && vectors > 1 &&
         (vectors * lanes > rows.inner || (!can_split && (groups_of(vectors * lanes) < 32 ||
                                                          rows.reduced * vectors * lanes * 4 > target.l2_bytes / 2))))
    vectors /= 2;
  const std::int64_t width = columns ? vectors * lanes : 1, groups = groups_of(width);
  if (can_split && groups < 16) parts = std::max<std::int64_t>(1, rows.reduced / (columns ? 1024 : kPart));
  if (can_split && !columns && rows.outer == 1)
    parts = std::max(
        parts, std::min(static_cast<std::int64_t>(region::work(region).units / kPartWork), rows.reduced / kShortest));
  parts = std::min(parts, kMostParts);

  if (rows.reduced > 0 && rows.reduced <= kLongestStagedRow && parts == 1)
    schedule.staged = worth_staging(region, rows, target);
  const std::int64_t row_bytes = rows.reduced * 4 * width;
  std::int64_t task = std::max<std::int64_t>(1, (64 << 10) / std::max<std::int64_t>(1, row_bytes));
  task = std::min(task, std::max<std::int64_t>(1, groups / 16));
  schedule.tile = {task, parts, vectors};
  Resources& r = schedule.resources;
  r.live_values = live_values(region);
  r.registers = r.live_values + 4;
  r.launches = parts > 1 ? 2 : 1;
  r.parallelism = std::max<std::int64_t>(1, groups * parts / task);
  // Rows longer than the nearest cache are read again by every pass.
  if (row_bytes > target.l2_bytes / 2) r.reread_bytes = bytes_again(region, rows, schedule.staged);
  return schedule;
}

// ---- GPU: tile = {threads side by side along a row or over columns, parts of a row} ----

constexpr std::int64_t kEnoughThreads = 1 << 17;  // fill a large GPU; of no one device, so that results are the same
constexpr std::int64_t kMostThreads = 1024, kUsualThreads = 256, kWarp = 32, kLineBytes = 128, kOne = 1;

/// How the threads of a block lie. A thread moves `wide` neighbours at once, and `steps` times that of each row.
struct Block {
  std::int64_t across = kWarp, threads = kWarp, parts = 1, wide = 1, steps = 1;
  std::int64_t parallelism = 0, shared_cells = 0;
};

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
std::int64_t power_of_two_up(std::int64_t n) {
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(std::max(kOne, n))));
}
std::int64_t warps_up(std::int64_t threads) { return ceil_div(std::max(kOne, threads), kWarp) * kWarp; }

// Short rows share a block, by powers of two of the lanes of a warp; longer ones have a block, or several.
Block row_block(const Rows& rows, std::int64_t wide, std::int64_t most_threads, bool can_split) {
  constexpr std::int64_t kManyRows = 4096, kShortest = 1 << 13, kMostBlocks = 256, kSharing = 128;
  Block b;
  b.wide = wide;
  const std::int64_t chunks = std::max(kOne, rows.reduced / wide);
  if (chunks <= kWarp || (chunks <= 4 * kWarp && rows.outer >= kManyRows)) {
    b.across = std::min(kWarp, power_of_two_up(chunks));
    b.threads = std::min(kSharing, warps_up(rows.outer * b.across));
  } else {
    if (can_split && rows.outer < kMostBlocks)
      b.parts = std::clamp<std::int64_t>(rows.reduced / kShortest, 1, kMostBlocks / rows.outer);
    b.across = b.threads = std::min(most_threads, warps_up(ceil_div(chunks, b.parts)));
    b.shared_cells = b.threads > kWarp ? b.threads / kWarp : 0;
  }
  b.steps = ceil_div(ceil_div(chunks, b.parts), b.across);
  b.parallelism = rows.outer * b.parts * b.across;
  return b;
}

// As many groups of threads share out a column as it takes to fill the machine, or to keep a column in registers;
// what they find is joined at the end. Groups stay as wide as a line of memory, or half of one.
Block column_block(const Rows& rows, std::int64_t wide, std::int64_t line, std::int64_t most_threads, bool can_split) {
  constexpr std::int64_t kFewest = 4, kKept = 16, kPart = 16;
  Block b;
  b.wide = wide;
  const std::int64_t chunks = rows.inner / wide, all = rows.outer * chunks;
  const bool again = rows.levels > 1 || !rows.full.empty();
  std::int64_t down = 1;
  const auto steps = [&] { return ceil_div(rows.reduced, down); };
  while ((steps() > kFewest && all * down < kEnoughThreads) || (again && steps() > 1 && steps() * wide > kKept))
    down *= 2;
  const std::int64_t most = std::min(kUsualThreads, power_of_two_up(chunks)),
                     least = again ? std::max(line / 2, kOne) : line;
  b.across = std::min(std::clamp(kUsualThreads / down, std::min(least, most), most), most_threads);
  down = std::min(down, most_threads / b.across);
  b.threads = std::max(kWarp, b.across * down);
  down = b.threads / b.across;
  const std::int64_t blocks = rows.outer * ceil_div(chunks, b.across);
  if (can_split && blocks * b.threads * 2 <= kEnoughThreads)
    b.parts = std::clamp(rows.reduced / (down * kPart), kOne, kEnoughThreads / (blocks * b.threads));
  b.steps = ceil_div(ceil_div(rows.reduced, b.parts), down);
  b.parallelism = all * down * b.parts;
  if (down > 1 && b.threads > kWarp) b.shared_cells = std::min(down, b.threads / kWarp) * b.across * wide;
  return b;
}

bool has_position(const RegionValue& reduction) {
  return reduction.op_name == "arg_max" || reduction.op_name == "arg_min";
}

std::int64_t shared_bytes(const Region& region, const Rows& rows, std::int64_t cells) {
  std::int64_t bytes = 0;
  for (const ValueId id : rows.reductions) {
    const std::int64_t value = std::max<std::int64_t>(4, ops::byte_width(region[region[id].operands[0]].dtype));
    bytes += ceil_div(cells * value, kLineBytes) * kLineBytes;
    if (has_position(region[id])) bytes += ceil_div(cells * 8, kLineBytes) * kLineBytes;
  }
  return bytes;
}

// 32-bit registers that a thread needs beside staged values.
std::int64_t own_registers(const Region& region, const Rows& rows, std::int64_t wide) {
  std::int64_t registers = 24 + 2 * live_values(region);
  for (const ValueId id : rows.reductions) {
    const std::int64_t words = std::max<std::int64_t>(4, ops::byte_width(region[region[id].operands[0]].dtype)) / 4;
    registers += wide * (words + (has_position(region[id]) ? 2 : 0));
  }
  return registers;
}

// Most registers that staged values take up between two passes.
std::int64_t staged_registers(const Region& region, const Rows& rows, const std::vector<ValueId>& staged,
                              std::int64_t elements) {
  const Passes passes = passes_needing(region, rows, staged);
  std::int64_t most = 0;
  for (int pass = 0; pass < rows.levels; ++pass) {
    std::int64_t here = 0;
    for (const ValueId id : staged)
      if (passes[id].front() <= pass && passes[id].back() > pass)
        here += elements * std::max<std::int64_t>(4, ops::byte_width(region[id].dtype)) / 4;
    most = std::max(most, here);
  }
  return most;
}

Schedule schedule_gpu(const Region& region, const Rows& rows, const Target& target, Template kind) {
  Schedule schedule;
  schedule.kind = kind;
  std::int64_t wide = thread_elements(region);
  const std::int64_t line = kLineBytes * thread_elements(region) / 16;  // elements of the narrowest tensor
  while (rows.run % wide != 0) wide /= 2;
  const bool columns = rows.inner > 1, can_split = kind == Template::kReduce && rows.levels == 1;
  Block block;
  std::int64_t threads = kMostThreads;
  while (threads > kUsualThreads && own_registers(region, rows, wide) * threads > target.registers) threads /= 2;
  for (;;) {
    block =
        columns ? column_block(rows, wide, line / wide, threads, can_split) : row_block(rows, wide, threads, can_split);
    if (shared_bytes(region, rows, block.shared_cells) > target.shared_bytes)
      threads /= 2;
    else if (columns && wide > 1 && block.parallelism < kEnoughThreads / 4)
      wide /= 2;  // few columns: rather more threads with less each
    else
      break;
  }
  schedule.vector = block.wide;
  schedule.threads = block.threads;
  schedule.tile = {block.across, block.parts};

  Resources& r = schedule.resources;
  r.live_values = live_values(region);
  r.registers = own_registers(region, rows, wide);
  r.launches = block.parts > 1 ? 2 : 1;
  r.parallelism = block.parallelism;
  r.shared_bytes = shared_bytes(region, rows, block.shared_cells);
  // What is needed again stays in registers as far as there are some, with two blocks or the most threads at a time on
  // a multiprocessor; the rest is read or computed again by each pass.
  constexpr std::int64_t kMostRegisters = 128;
  const std::int64_t resident = std::min(kMostThreads, 2 * block.threads);
  const std::int64_t room = std::min(kMostRegisters, target.registers / resident) - r.registers;
  const std::vector<ValueId> wanted =
      block.parts == 1 && rows.reduced > 0 ? worth_staging(region, rows, target) : std::vector<ValueId>();
  std::int64_t staged = 0;
  for (std::size_t k = wanted.size();
       k-- > 0 &&
       room >= block.steps * block.wide;) {  // the last first: what they are computed from is needed less then
    schedule.staged.push_back(wanted[k]);
    const std::int64_t with = staged_registers(region, rows, schedule.staged, block.steps * block.wide);
    if (with <= room)
      staged = with;
    else
      schedule.staged.pop_back();
  }
  std::sort(schedule.staged.begin(), schedule.staged.end());
  r.registers += staged;
  r.reread_bytes = bytes_again(region, rows, schedule.staged);
  return schedule;
}

Fit schedule_rows(const Region& region, const Rows& rows, const Target& target, Template kind) {
  return target.family == Target::Family::kCpu ? schedule_cpu(region, rows, target, kind)
                                               : schedule_gpu(region, rows, target, kind);
}

}  // namespace

Fit fit_reduce(Fits& fits) {
  const auto& rows = fits.rows();
  if (!rows) return std::unexpected(rows.error());
  if (!rows->full.empty() || rows->levels > 1) return refuse("it keeps whole rows, or reduces in several passes");
  return schedule_rows(fits.region(), *rows, fits.target(), Template::kReduce);
}

Fit fit_row(Fits& fits) {
  const auto& rows = fits.rows();
  if (!rows) return std::unexpected(rows.error());
  return schedule_rows(fits.region(), *rows, fits.target(), Template::kRow);
}

}  // namespace fusewright::schedule
