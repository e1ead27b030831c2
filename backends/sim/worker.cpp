#include "backends/sim/worker.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <bit>
#include <boost/context/detail/fcontext.hpp>
#include <cstdlib>
#include <new>

#include "fusewright/support/check.hpp"

namespace fusewright::backend_sim {

namespace context = boost::context::detail;

using kernel::Buffer;
using State = Thread::State;

namespace {

constexpr std::size_t kWarp = 32;
constexpr std::size_t kStack = 256 << 10;  // of a thread, beside its local buffers

std::int64_t width(const Buffer& b) { return ops::byte_width(b.dtype); }

void enter_fiber(context::transfer_t from) {
  auto* const thread = static_cast<Thread*>(from.data);
  thread->worker->fiber(*thread, from.fctx);
}

}  // namespace

// --- Names ---------------------------------------------------------------------------------------------

std::string LaunchRun::name(Where who) const {
  const auto x = static_cast<std::uint64_t>(launch.grid[0]), y = static_cast<std::uint64_t>(launch.grid[1]);
  return fmt::format("kernel '{}', launch '{}', block ({}, {}, {}), thread {}", kernel.name, launch.name, who.block % x,
                     who.block / x % y, who.block / (x * y), who.thread);
}

std::string LaunchRun::describe(std::uint32_t site, std::int64_t element) const {
  static constexpr const char* kKinds[] = {"load", "store", "barrier", "shuffle"};
  const Site& s = program.sites[site];
  std::string out = kKinds[static_cast<int>(s.kind)];
  if (s.buffer >= 0)
    out += fmt::format(" of '{}'[{}]", kernel.buffers[static_cast<std::size_t>(s.buffer)].name, element);
  if (s.statement.valid()) out += fmt::format(" in `{}`", print(kernel, s.statement));
  return out;
}

// --- Stacks --------------------------------------------------------------------------------------------

Stacks::Stacks(std::size_t count, std::size_t bytes) : count_(count), each_((bytes + 4095) / 4096 * 4096 + kGuard) {
  void* memory =
      mmap(nullptr, count_ * each_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  memory_ = static_cast<char*>(memory);
  for (std::size_t i = 0; i < count_; ++i) mprotect(memory_ + i * each_, kGuard, PROT_NONE);
}
Stacks::~Stacks() { munmap(memory_, count_ * each_); }

// --- Blocks --------------------------------------------------------------------------------------------

// Where threads do not wait for each other, one fiber runs them all.
Worker::Worker(LaunchRun& run)
    : run_(run),
      counting_(run.program.sites.size()),
      threads_(static_cast<std::size_t>(run.launch.threads)),
      shared_memory_(
          static_cast<char*>(std::aligned_alloc(64, static_cast<std::size_t>(run.program.shared_bytes + 64))),
          &std::free),
      shared_(run.kernel.buffers.size()),
      stacks_(run.program.waits ? threads_.size() : 1, kStack + 2 * static_cast<std::size_t>(run.program.local_bytes)) {
  for (std::size_t t = 0; t < threads_.size(); ++t) {
    threads_[t].buffers = run.buffers.data();
    threads_[t].shared = shared_memory_.get();
    threads_[t].number = static_cast<std::uint32_t>(t);
    threads_[t].worker = this;
  }
  for (std::size_t b = 0; b < shared_.size(); ++b)
    if (run.kernel.buffers[b].space == kernel::Space::kShared) shared_[b].reset(run.kernel.buffers[b].elements);
}

void Worker::work() {
  for (;;) {
    const std::int64_t block = run_.next_block.fetch_add(1);
    if (block >= run_.end_block.load()) return;
    run_block(block);
    if (!failed_) continue;
    std::int64_t end = run_.end_block.load();
    while (end > block && !run_.end_block.compare_exchange_weak(end, block)) {
    }
  }
}

void Worker::run_block(std::int64_t block) {
  block_ = block;
  start_epoch_ = ++epoch_;
  failed_ = false;
  const std::int64_t x = run_.launch.grid[0], y = run_.launch.grid[1];
  for (Thread& t : threads_) {
    t.block[0] = static_cast<std::uint32_t>(block % x);
    t.block[1] = static_cast<std::uint32_t>(block / x % y);
    t.block[2] = static_cast<std::uint32_t>(block / (x * y));
    t.state = State::kReady;
  }
  if (!run_.program.waits) {
    start(0);
    resume(threads_[0]);
    return;
  }
  for (std::size_t t = 0; t < threads_.size(); ++t) start(t);
  do {
    for (std::size_t warp = 0; warp < threads_.size() && !failed_; warp += kWarp) run_warp(warp);
  } while (!failed_ && pass_barrier());
}

void Worker::start(std::size_t thread) {
  threads_[thread].context = context::make_fcontext(stacks_.top(thread), stacks_.bytes(), &enter_fiber);
}

void Worker::resume(Thread& thread) { thread.context = context::jump_fcontext(thread.context, &thread).fctx; }

// The body of every fiber: one thread, or all of them. A fiber is never left by its end.
void Worker::fiber(Thread& thread, void* scheduler) {
  scheduler_ = scheduler;
  if (run_.program.waits) {
    run_.program.function(&thread);
    thread.state = State::kEnded;
  } else {
    for (Thread& each : threads_) {
      counting_.begin_lane();
      run_.program.function(&each);
      if (each.number % kWarp == kWarp - 1) counting_.end_warp();
    }
  }
  context::jump_fcontext(scheduler_, nullptr);
}

// --- Waiting -------------------------------------------------------------------------------------------

void Worker::wait(Thread& thread, State state, std::uint32_t site) {
  thread.state = state;
  thread.site = site;
  scheduler_ = context::jump_fcontext(scheduler_, nullptr).fctx;
}

// Runs the lanes of a warp until all are at a barrier or at their end.
void Worker::run_warp(std::size_t first) {
  do {
    for (std::size_t t = first; t < first + kWarp; ++t) {
      if (threads_[t].state != State::kReady) continue;
      counting_.begin_lane();
      resume(threads_[t]);
      if (failed_) return;
    }
    counting_.end_warp();
  } while (exchange(first));
}

std::string Worker::standing(const Thread& thread) const {
  const std::string who = fmt::format("thread {}", thread.number);
  if (thread.state == State::kEnded) return who + " has ended";
  return fmt::format("{} is at the {}", who, run_.describe(thread.site, 0));
}

// Lanes that meet at a shuffle get each other's values.
bool Worker::exchange(std::size_t first) {
  const auto at_shuffle = [&](std::size_t t) { return threads_[t].state == State::kShuffle; };
  std::size_t one = first;
  while (one < first + kWarp && !at_shuffle(one)) ++one;
  if (one == first + kWarp) return false;
  const Thread& model = threads_[one];
  for (std::size_t t = first; t < first + kWarp; ++t) {
    const Thread& other = threads_[t];
    const bool same = at_shuffle(t) && other.mask == model.mask &&
                      run_.program.sites[other.site].statement == run_.program.sites[model.site].statement;
    if (same) continue;
    fault(fmt::format("{}: the lanes of a warp diverge at a shuffle: {}, {}",
                      run_.name({static_cast<std::uint64_t>(block_), model.number}), standing(model), standing(other)));
    return false;
  }
  std::uint64_t values[kWarp];
  for (std::size_t lane = 0; lane < kWarp; ++lane) values[lane] = threads_[first + lane].value;
  for (std::size_t lane = 0; lane < kWarp; ++lane) {
    threads_[first + lane].value = values[(lane ^ model.mask) % kWarp];
    threads_[first + lane].state = State::kReady;
  }
  return true;
}

// True when all threads were at one barrier and may go on; false at the block's end.
bool Worker::pass_barrier() {
  const Thread& model = threads_[0];
  for (const Thread& other : threads_) {
    const bool same = other.state == model.state &&
                      (model.state == State::kEnded ||
                       run_.program.sites[other.site].statement == run_.program.sites[model.site].statement);
    if (same) continue;
    fault(fmt::format("{}: the threads of a block diverge at a barrier: {}, {}",
                      run_.name({static_cast<std::uint64_t>(block_), other.number}), standing(model), standing(other)));
    return false;
  }
  if (model.state == State::kEnded) return false;
  for (Thread& t : threads_) t.state = State::kReady;
  ++epoch_;
  return true;
}

// --- Accesses ------------------------------------------------------------------------------------------

void Worker::fault(std::string message) {
  failed_ = true;
  if (faults_.empty() || faults_.front().block > block_) faults_.assign(1, {block_, std::move(message)});
}

// From within a fiber, which nobody enters again.
void Worker::stop(const std::string& message) {
  fault(message);
  context::jump_fcontext(scheduler_, nullptr);
  std::abort();
}

void Worker::access(Thread& thread, std::uint64_t address, std::uint32_t bytes, std::uint32_t site) {
  if (run_.program.sites[site].shared)
    shared(thread, address, bytes, site);
  else
    global(thread, address, bytes, site);
}

// Where the code does not show which buffer an address belongs to, the address does.
std::int32_t Worker::buffer_at(std::uint64_t address, std::uint32_t bytes, kernel::Space space) const {
  for (std::size_t b = 0; b < run_.kernel.buffers.size(); ++b) {
    const Buffer& buffer = run_.kernel.buffers[b];
    if (buffer.space != space) continue;
    const std::uint64_t base = space == kernel::Space::kGlobal
                                   ? run_.base[b]
                                   : reinterpret_cast<std::uint64_t>(shared_memory_.get()) +
                                         static_cast<std::uint64_t>(run_.program.shared_offset[b]);
    if (address >= base && address + bytes <= base + static_cast<std::uint64_t>(buffer.elements * width(buffer)))
      return static_cast<std::int32_t>(b);
  }
  return -1;
}

void Worker::global(Thread& thread, std::uint64_t address, std::uint32_t bytes, std::uint32_t site) {
  const Site& s = run_.program.sites[site];
  const Where who{static_cast<std::uint64_t>(block_), thread.number};
  const std::int32_t found = s.buffer >= 0 ? s.buffer : buffer_at(address, bytes, kernel::Space::kGlobal);
  if (found < 0) stop(fmt::format("{}: {} is outside of every buffer", run_.name(who), run_.describe(site, 0)));
  const auto index = static_cast<std::size_t>(found);
  const Buffer& buffer = run_.kernel.buffers[index];
  const auto offset = static_cast<std::int64_t>(address - run_.base[index]);
  const std::int64_t size = width(buffer);
  if (offset < 0 || offset + bytes > buffer.elements * size) {
    // The first element outside.
    const std::int64_t element = offset < 0 ? -((-offset + size - 1) / size) : std::max(offset / size, buffer.elements);
    stop(fmt::format("{}: {} is out of bounds: the buffer has {} elements", run_.name(who),
                     run_.describe(site, element), buffer.elements));
  }
  const bool store = s.kind == Site::Kind::kStore;
  counting_.access(site, address, bytes, store);
  GlobalShadow& shadow = run_.shadows[index];
  if (!shadow.watched()) return;
  for (std::int64_t e = offset / size; e <= (offset + bytes - 1) / size; ++e) {
    const std::uint64_t epoch = epoch_ - start_epoch_;
    const auto other = store ? shadow.store(e, who, epoch, site) : shadow.load(e, who, epoch, site);
    if (other)
      stop(
          fmt::format("{}: {} races with thread {} of the same block", run_.name(who), run_.describe(site, e), *other));
  }
}

void Worker::shared(Thread& thread, std::uint64_t address, std::uint32_t bytes, std::uint32_t site) {
  const Site& s = run_.program.sites[site];
  const Where who{static_cast<std::uint64_t>(block_), thread.number};
  const std::int32_t found = s.buffer >= 0 ? s.buffer : buffer_at(address, bytes, kernel::Space::kShared);
  if (found < 0) stop(fmt::format("{}: {} is outside of every shared buffer", run_.name(who), run_.describe(site, 0)));
  const auto index = static_cast<std::size_t>(found);
  const Buffer& buffer = run_.kernel.buffers[index];
  const auto offset = static_cast<std::int64_t>(address - reinterpret_cast<std::uint64_t>(thread.shared)) -
                      run_.program.shared_offset[index];
  if (offset < 0 || offset + bytes > buffer.elements * width(buffer))
    stop(fmt::format("{}: {} is out of bounds: the buffer has {} elements", run_.name(who),
                     run_.describe(site, offset / width(buffer)), buffer.elements));
  SharedShadow& shadow = shared_[index];
  const bool store = s.kind == Site::Kind::kStore;
  const int shift = std::countr_zero(static_cast<std::uint64_t>(width(buffer)));  // quicker than division
  const std::int64_t last = (offset + bytes - 1) >> shift;
  for (std::int64_t e = offset >> shift; e <= last; ++e) {
    const SharedShadow::Answer a =
        store ? shadow.store(e, thread.number, epoch_) : shadow.load(e, thread.number, epoch_, start_epoch_);
    if (a.kind == SharedShadow::Answer::Kind::kGood) [[likely]]
      continue;
    if (a.kind == SharedShadow::Answer::Kind::kUnwritten)
      stop(fmt::format("{}: {} reads what no thread of the block wrote", run_.name(who), run_.describe(site, e)));
    stop(fmt::format("{}: {} races with thread {} of the block: there is no barrier between", run_.name(who),
                     run_.describe(site, e), a.other));
  }
}

// --- Calls of generated code ---------------------------------------------------------------------------

void fw_sim_access(Thread* thread, std::uint64_t address, std::uint32_t bytes, std::uint32_t site) {
  thread->worker->access(*thread, address, bytes, site);
}

void fw_sim_barrier(Thread* thread, std::uint32_t site) { thread->worker->wait(*thread, State::kBarrier, site); }

std::uint64_t fw_sim_shuffle_64(Thread* thread, std::uint64_t value, std::uint32_t mask, std::uint32_t site) {
  thread->value = value;
  thread->mask = mask;
  thread->worker->wait(*thread, State::kShuffle, site);
  return thread->value;
}

std::uint32_t fw_sim_shuffle_32(Thread* thread, std::uint32_t value, std::uint32_t mask, std::uint32_t site) {
  return static_cast<std::uint32_t>(fw_sim_shuffle_64(thread, value, mask, site));
}

}  // namespace fusewright::backend_sim
