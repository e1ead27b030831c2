#include "fusewright/schedule/lines.hpp"

#include <algorithm>

#include "elements.hpp"
#include "reducer.hpp"
#include "templates.hpp"

namespace fusewright::kernel {

namespace {

using region::ValueId;
using schedule::Lines;

constexpr std::int64_t kWarp = 32;

class LinesLowering {
 public:
  LinesLowering(const LowerInput& in, Lines lines)
      : in_(in),
        region_(in.region),
        lines_(std::move(lines)),
        op_(region_[lines_.op]),
        b_(in.name, in.family()),
        buffers_(declare_buffers(b_, in.region)),
        key_(region_[op_.operands[0]].dtype) {}

  Result<Kernel> run() {
    if (lines_.scan)
      declare_scan();
    else if (selected() > 0)
      declare_selection();
    else
      declare_sort();
    const auto order = [&](ExprId line, ExprId thread) {
      if (selected() > 0)
        in_.cpu() ? cpu_select(line) : gpu_select(line, thread);
      else
        in_.cpu() ? cpu_sort(line) : gpu_sort(line, thread);
    };
    b_.launch(in_.name, [&] {
      if (in_.cpu()) {
        b_.loop(LoopKind::kParallel, "line", count(),
                [&](ExprId line) { lines_.scan ? scan(line) : order(line, ExprId()); });
        return;
      }
      const std::int64_t threads = in_.schedule.threads,
                         blocks = lines_.scan ? (count() + threads - 1) / threads : count();
      b_.loop(LoopKind::kGridX, "block", blocks, [&](ExprId block) {
        b_.loop(LoopKind::kThreadX, "thread", threads, [&](ExprId thread) {
          if (!lines_.scan) return order(block, thread);
          const ExprId line = b_.let("line", b_.add(b_.mul(block, threads), thread));
          b_.when(b_.less(line, b_.index(count())), [&] { scan(line); });
        });
      });
    });
    if (!status_) return std::unexpected(status_.error());
    return b_.finish();
  }

 private:
  std::int64_t selected() const { return lines_.scan ? 0 : in_.schedule.tile[1]; }
  std::int64_t count() const { return lines_.outer * lines_.inner; }
  ExprId zero() { return b_.index(0); }

  ExprId element(ValueId value, ExprId outer, ExprId inner, ExprId position) {
    Elements elements(b_, region_, buffers_.captures, {outer, inner, position});
    const Result<std::vector<ExprId>> made = elements.emit({{value, line_map(region_, lines_, value)}});
    if (made) return made->front();
    status_ = std::unexpected(made.error());
    return b_.number(region_[value].dtype, 0);
  }

  void store_result(std::size_t output, ExprId outer, ExprId inner, ExprId position, ExprId value) {
    const std::int64_t length = lines_.result_length;
    b_.store(buffers_.outputs[output], b_.add(b_.mul(b_.add(b_.mul(outer, length), position), lines_.inner), inner),
             value);
  }

  // ---- cumulative operators: one line after the other, element by element ----

  void declare_scan() {
    if (op_.op_name == "cum_sum") step_.op = ScalarOp::kAdd;
    if (op_.op_name == "cum_prod") step_.op = ScalarOp::kMul;
    if (op_.op_name == "cum_max") step_.op = ScalarOp::kMax;
    if (op_.op_name == "cum_min") step_.op = ScalarOp::kMin;
    step_.value = key_ == DType::kF16 || key_ == DType::kBF16 ? DType::kF32 : key_;
    keys_ = b_.buffer("acc", step_.value, 1, Space::kLocal);
  }

  void scan(ExprId line) {
    const bool exclusive = op_.attrs.get_or<bool>("exclusive", false),
               reverse = op_.attrs.get_or<bool>("reverse", false);
    const ExprId outer = b_.let("outer", b_.floor_div(line, lines_.inner)),
                 inner = b_.let("inner", b_.mod(line, lines_.inner));
    b_.store(keys_, zero(), step_.identity(b_).value);
    b_.loop(LoopKind::kSerial, "c", b_.index(lines_.length), [&](ExprId c) {
      const ExprId position = b_.let("position", reverse ? b_.sub(b_.index(lines_.length - 1), c) : c);
      const ExprId before = b_.let("before", b_.load(keys_, zero()));
      const ExprId x = b_.convert(step_.value, element(op_.operands[0], outer, inner, position));
      const ExprId after = b_.let("after", step_.combine(b_, {before, {}}, {x, {}}).value);
      b_.store(keys_, zero(), after);
      store_result(0, outer, inner, position, b_.convert(op_.dtype, exclusive ? before : after));
    });
  }

  // ---- ordering: on a CPU runs are merged; on a GPU a bitonic network over (key, position), where positions make it
  // stable and push the padding behind ----

  void declare_sort() {
    // A line and where it is merged to; of a GPU a line filled up to a power of two.
    std::int64_t cells = in_.cpu() ? 2 * lines_.length : in_.schedule.tile[0];
    Space space = Space::kLocal;
    if (in_.cpu()) {
      left_ = b_.buffer("left", DType::kS64, 1, Space::kLocal);
      right_ = b_.buffer("right", DType::kS64, 1, Space::kLocal);
    } else {
      space = in_.schedule.resources.shared_bytes > 0 ? Space::kShared : Space::kGlobal;
      if (space == Space::kGlobal) cells *= count();
    }
    const Buffer::Role role = space == Space::kGlobal ? Buffer::Role::kTemporary : Buffer::Role::kInput;
    keys_ = b_.buffer("keys", key_, cells, space, role);
    places_ = b_.buffer("places", DType::kS32, cells, space, role);
  }

  // Runs of ordered elements, merged two by two from one half of the cells to the other.
  void cpu_sort(ExprId line) {
    const std::int64_t n = lines_.length;
    const ExprId outer = b_.let("outer", b_.floor_div(line, lines_.inner)),
                 inner = b_.let("inner", b_.mod(line, lines_.inner));
    b_.loop(LoopKind::kSerial, "i", b_.index(n),
            [&](ExprId i) { put(i, element(op_.operands[0], outer, inner, i), b_.convert(DType::kS32, i)); });
    std::int64_t from = 0;
    for (std::int64_t length = 1; length < n; length *= 2, from = n - from)
      b_.loop(LoopKind::kSerial, "run", b_.index((n + 2 * length - 1) / (2 * length)),
              [&](ExprId run) { merge(b_.let("start", b_.mul(run, 2 * length)), length, from); });
    b_.loop(LoopKind::kSerial, "i", b_.index(lines_.result_length), [&](ExprId i) {
      const ExprId at = b_.add(i, b_.index(from));
      store_ordered(outer, inner, i, b_.load(keys_, at), b_.let("place", b_.load(places_, at)));
    });
  }

  // Of equal keys the left one comes first, which stood first.
  void merge(ExprId start, std::int64_t length, std::int64_t from) {
    const ExprId n = b_.index(lines_.length), last = b_.index(lines_.length - 1);
    const ExprId middle = b_.let("middle", b_.min(b_.add(start, b_.index(length)), n)),
                 end = b_.let("end", b_.min(b_.add(start, b_.index(2 * length)), n));
    b_.store(left_, zero(), start);
    b_.store(right_, zero(), middle);
    b_.loop(LoopKind::kSerial, "c", b_.sub(end, start), [&](ExprId c) {
      const ExprId i = b_.let("i", b_.load(left_, zero())), j = b_.let("j", b_.load(right_, zero()));
      const ExprId at_i = b_.add(b_.min(i, last), b_.index(from)), at_j = b_.add(b_.min(j, last), b_.index(from));
      const ExprId a = b_.let("a", b_.load(keys_, at_i)), b = b_.let("b", b_.load(keys_, at_j));
      const ExprId no_left = b_.op(ScalarOp::kGe, DType::kPred, {i, middle});
      const ExprId take = b_.let("take", b_.both(b_.less(j, end), either(no_left, precedes(b, a))));
      // A choice of addresses: one of values would become a branch that is mispredicted half of the time.
      const ExprId next = b_.let("next", b_.select(DType::kS64, take, at_j, at_i));
      put(b_.add(b_.add(start, c), b_.index(lines_.length - from)), b_.load(keys_, next), b_.load(places_, next));
      const ExprId step = b_.let("step", b_.convert(DType::kS64, take));
      b_.store(left_, zero(), b_.add(i, b_.sub(b_.index(1), step)));
      b_.store(right_, zero(), b_.add(j, step));
    });
  }

  // The line's cells, dealt out to the threads of a block.
  void each(std::int64_t cells, ExprId thread, const std::function<void(ExprId)>& body) {
    const std::int64_t threads = in_.schedule.threads;
    b_.loop(LoopKind::kSerial, "i", b_.index((cells + threads - 1) / threads), [&](ExprId i) {
      const ExprId at = b_.let("at", b_.add(b_.mul(i, threads), thread));
      if (cells % threads == 0)
        body(at);
      else
        b_.when(b_.less(at, b_.index(cells)), [&] { body(at); });
    });
  }
  ExprId either(ExprId p, ExprId q) { return b_.op(ScalarOp::kOr, DType::kPred, {p, q}); }
  ExprId negated(ExprId p) { return b_.op(ScalarOp::kNot, DType::kPred, {p}); }
  ExprId is_nan(ExprId a) { return b_.op(ScalarOp::kIsNan, DType::kPred, {a}); }

  // Whether key a stands before key b wherever they come from. NaN is the greatest number.
  ExprId precedes(ExprId a, ExprId b) {
    const bool descending =
        op_.op_name == "top_k" ? op_.attrs.get_or<bool>("largest", true) : op_.attrs.get_or<bool>("descending", false);
    if (descending) std::swap(a, b);
    const ExprId less = b_.op(ScalarOp::kLt, DType::kPred, {a, b});
    return ops::is_float(key_) ? either(less, b_.both(is_nan(b), negated(is_nan(a)))) : less;
  }

  // Whether (a, i) stands before (b, j): of equal ones the earlier.
  ExprId before(ExprId a, ExprId i, ExprId b, ExprId j) {
    ExprId same = b_.op(ScalarOp::kEq, DType::kPred, {a, b});
    if (ops::is_float(key_)) same = either(same, b_.both(is_nan(a), is_nan(b)));
    const ExprId n = place_of(lines_.length);
    const ExprId i_real = b_.op(ScalarOp::kLt, DType::kPred, {i, n}),
                 j_padding = b_.op(ScalarOp::kGe, DType::kPred, {j, n});
    const ExprId earlier = b_.op(ScalarOp::kLt, DType::kPred, {i, j});
    return b_.let("before", b_.both(i_real, either(j_padding, either(precedes(a, b), b_.both(same, earlier)))));
  }

  // Puts what stands first into the lower cell, or where it is not `up` into the higher one.
  void exchange(ExprId low, ExprId high, ExprId up) {
    const ExprId a = b_.let("a", b_.load(keys_, low)), b = b_.let("b", b_.load(keys_, high));
    const ExprId at_a = b_.let("at_a", b_.load(places_, low)), at_b = b_.let("at_b", b_.load(places_, high));
    ExprId swap = before(b, at_b, a, at_a);
    if (up.valid()) swap = b_.select(DType::kPred, up, swap, before(a, at_a, b, at_b));
    swap = b_.let("swap", swap);
    b_.store(keys_, low, b_.select(key_, swap, b, a));
    b_.store(keys_, high, b_.select(key_, swap, a, b));
    b_.store(places_, low, b_.select(DType::kS32, swap, at_b, at_a));
    b_.store(places_, high, b_.select(DType::kS32, swap, at_a, at_b));
  }

  void gpu_sort(ExprId line, ExprId thread) {
    const std::int64_t padded = in_.schedule.tile[0];
    const ExprId outer = b_.let("outer", b_.floor_div(line, lines_.inner)),
                 inner = b_.let("inner", b_.mod(line, lines_.inner));
    const bool own_memory = in_.schedule.resources.shared_bytes > 0;
    const ExprId base = own_memory ? zero() : b_.let("base", b_.mul(line, padded));
    const auto cell = [&](ExprId at) { return b_.add(base, at); };
    each(padded, thread, [&](ExprId at) {
      const ExprId position =
          lines_.length == padded ? at : b_.let("position", b_.min(at, b_.index(lines_.length - 1)));
      b_.store(keys_, cell(at), element(op_.operands[0], outer, inner, position));
      b_.store(places_, cell(at), b_.convert(DType::kS32, at));
    });
    b_.barrier();
    for (std::int64_t size = 2; size <= padded; size *= 2)
      for (std::int64_t stride = size / 2; stride > 0; stride /= 2) {
        each(padded / 2, thread, [&](ExprId i) {
          const ExprId low = b_.let("low", b_.add(b_.mul(b_.floor_div(i, stride), 2 * stride), b_.mod(i, stride)));
          const ExprId high = b_.let("high", b_.add(low, b_.index(stride)));
          const ExprId up = b_.op(ScalarOp::kEq, DType::kPred, {b_.mod(b_.floor_div(low, size), 2), zero()});
          exchange(cell(low), cell(high), up);
        });
        b_.barrier();
      }
    each(lines_.result_length, thread, [&](ExprId at) {
      const ExprId place = b_.let("place", b_.load(places_, cell(at)));
      store_ordered(outer, inner, at, b_.load(keys_, cell(at)), place);
    });
  }

  // What stands at a position of the order: its key, and its place in the line.
  void store_ordered(ExprId outer, ExprId inner, ExprId position, ExprId key, ExprId place) {
    for (std::size_t o = 0; o < region_.outputs.size(); ++o) {
      const region::RegionValue& result = region_[region_.outputs[o]];
      ExprId value = key;
      if (result.result != 0 && op_.op_name == "top_k")
        value = b_.convert(result.dtype, place);
      else if (result.result != 0)
        value = element(op_.operands[result.result], outer, inner, b_.let("from", b_.convert(DType::kS64, place)));
      store_result(o, outer, inner, position, value);
    }
  }

  // ---- the first few of an order; a place behind the line stands for nothing found ----

  void declare_selection() {
    const bool cpu = in_.cpu();
    const std::int64_t cells = cpu ? selected() : 1;
    keys_ = b_.buffer("keys", key_, cells, Space::kLocal);
    places_ = b_.buffer("places", DType::kS32, cells, Space::kLocal);
    if (cpu) return;
    last_key_ = b_.buffer("last_key", key_, 1, Space::kLocal);
    last_place_ = b_.buffer("last_place", DType::kS32, 1, Space::kLocal);
    const std::int64_t warps = in_.schedule.threads / kWarp;
    if (warps == 1) return;
    warp_keys_ = b_.buffer("warp_keys", key_, warps, Space::kShared);
    warp_places_ = b_.buffer("warp_places", DType::kS32, warps, Space::kShared);
  }

  ExprId key_of(std::int64_t value) {
    return ops::is_float(key_) ? b_.number(key_, static_cast<double>(value)) : b_.integer(key_, value);
  }
  ExprId place_of(std::int64_t value) { return b_.integer(DType::kS32, value); }
  void put(ExprId at, ExprId key, ExprId place) {
    b_.store(keys_, at, key);
    b_.store(places_, at, place);
  }

  // An element that stands before the last of those found so far takes its place and moves up.
  void cpu_select(ExprId line) {
    const ExprId outer = b_.let("outer", b_.floor_div(line, lines_.inner)),
                 inner = b_.let("inner", b_.mod(line, lines_.inner));
    const ExprId last = b_.index(selected() - 1);
    b_.loop(LoopKind::kSerial, "j", b_.index(selected()),
            [&](ExprId j) { put(j, key_of(0), place_of(lines_.length)); });
    b_.loop(LoopKind::kSerial, "c", b_.index(lines_.length), [&](ExprId c) {
      const ExprId x = b_.let("x", element(op_.operands[0], outer, inner, c));
      const ExprId place = b_.let("place", b_.convert(DType::kS32, c));
      const ExprId least = b_.let("least", b_.load(keys_, last)), its = b_.let("its", b_.load(places_, last));
      b_.when(before(x, place, least, its), [&] {
        put(last, x, place);
        b_.loop(LoopKind::kSerial, "i", b_.index(selected() - 1), [&](ExprId i) {
          const ExprId low = b_.let("low", b_.sub(b_.index(selected() - 2), i));
          exchange(low, b_.let("high", b_.add(low, b_.index(1))), ExprId());
        });
      });
    });
    b_.loop(LoopKind::kSerial, "j", b_.index(selected()),
            [&](ExprId j) { store_ordered(outer, inner, j, b_.load(keys_, j), b_.let("place", b_.load(places_, j))); });
  }

  // Takes (key, place) where it stands before what is kept in cell 0, if `only` holds.
  void keep_first(ExprId key, ExprId place, ExprId only) {
    const ExprId kept = b_.let("kept", b_.load(keys_, zero())), its = b_.let("its", b_.load(places_, zero()));
    ExprId take = before(key, place, kept, its);
    if (only.valid()) take = b_.both(take, only);
    take = b_.let("take", take);
    put(zero(), b_.select(key_, take, key, kept), b_.select(DType::kS32, take, place, its));
  }

  // One after the other: the first of the order behind the one before.
  void gpu_select(ExprId line, ExprId thread) {
    const std::int64_t threads = in_.schedule.threads, warps = threads / kWarp;
    const ExprId outer = b_.let("outer", b_.floor_div(line, lines_.inner)),
                 inner = b_.let("inner", b_.mod(line, lines_.inner));
    b_.store(last_key_, zero(), key_of(0));
    b_.store(last_place_, zero(), place_of(-1));
    b_.loop(LoopKind::kSerial, "j", b_.index(selected()), [&](ExprId j) {
      const ExprId last = b_.let("last", b_.load(last_key_, zero())), its = b_.let("its", b_.load(last_place_, zero()));
      const ExprId any = b_.let("any", b_.op(ScalarOp::kLt, DType::kPred, {its, place_of(0)}));
      put(zero(), key_of(0), place_of(lines_.length));
      each(lines_.length, thread, [&](ExprId at) {
        const ExprId x = b_.let("x", element(op_.operands[0], outer, inner, at));
        const ExprId place = b_.let("place", b_.convert(DType::kS32, at));
        const ExprId behind = either(any, before(last, its, x, place));
        keep_first(x, place, behind);
      });
      for (std::int64_t mask = kWarp / 2; mask >= 1; mask /= 2) {
        const ExprId key = b_.let("mine", b_.load(keys_, zero())), place = b_.let("mine_at", b_.load(places_, zero()));
        keep_first(b_.let("theirs", b_.shuffle_xor(key, mask)), b_.let("theirs_at", b_.shuffle_xor(place, mask)),
                   ExprId());
      }
      if (warps > 1) gpu_first_of_warps(thread, warps);
      const ExprId key = b_.let("first", b_.load(keys_, zero())), place = b_.let("first_at", b_.load(places_, zero()));
      b_.store(last_key_, zero(), key);
      b_.store(last_place_, zero(), place);
      b_.when(b_.op(ScalarOp::kEq, DType::kPred, {thread, zero()}),
              [&] { store_ordered(outer, inner, j, key, place); });
    });
  }

  void gpu_first_of_warps(ExprId thread, std::int64_t warps) {
    b_.when(b_.op(ScalarOp::kEq, DType::kPred, {b_.mod(thread, kWarp), zero()}), [&] {
      const ExprId warp = b_.let("warp", b_.floor_div(thread, kWarp));
      b_.store(warp_keys_, warp, b_.load(keys_, zero()));
      b_.store(warp_places_, warp, b_.load(places_, zero()));
    });
    b_.barrier();
    b_.loop(LoopKind::kSerial, "w", b_.index(warps), [&](ExprId w) {
      keep_first(b_.let("theirs", b_.load(warp_keys_, w)), b_.let("theirs_at", b_.load(warp_places_, w)), ExprId());
    });
    b_.barrier();  // before the next one is written
  }

  const LowerInput& in_;
  const region::Region& region_;
  Lines lines_;
  const region::RegionValue& op_;
  KernelBuilder b_;
  RegionBuffers buffers_;
  DType key_;
  Reducer step_;
  BufferId keys_, places_;
  BufferId left_, right_;                                     // CPU: how far two runs are merged
  BufferId last_key_, last_place_, warp_keys_, warp_places_;  // GPU selection
  Status status_;
};

}  // namespace

Result<Kernel> lower_lines(const LowerInput& in) {
  auto lines = schedule::analyse_lines(in.region);
  if (!lines) return fail(lines.error().reason);
  return LinesLowering(in, *std::move(lines)).run();
}

}  // namespace fusewright::kernel
