#include "fusewright/schedule/horizontal.hpp"

#include <algorithm>

#include "elements.hpp"
#include "templates.hpp"

namespace fusewright::kernel {

namespace {

/// Puts kernels of independent parts into one: launch i of the whole runs launch i of every part, each on its own
/// stretch of the outer loop.
class SideBySide {
 public:
  explicit SideBySide(const LowerInput& in)
      : in_(in), b_(in.name, in.family()), buffers_(declare_buffers(b_, in.region)) {}

  Result<Kernel> run() {
    const std::vector<schedule::Part> parts = schedule::independent_parts(in_.region);
    std::size_t launches = 0, prepare = 0;
    for (const schedule::Part& part : parts) {
      const auto schedule = fit_part(part.region, in_.target);
      if (!schedule) return fail(schedule.error().reason);
      std::vector<bool> constants;
      for (const std::uint32_t capture : part.captures) constants.push_back(in_.constant(capture));
      FW_TRY(Kernel kernel, lower(part.region, *schedule, in_.target, in_.name, std::move(constants)));
      launches = std::max(launches, kernel.launches.size());
      prepare = std::max(prepare, kernel.prepare.size());
      kernels_.push_back(std::move(kernel));
      declare(kernels_.back(), part);
    }
    launches_ = &Kernel::prepare;
    for (std::size_t l = 0; l < prepare; ++l)
      b_.prepare(in_.name + "_prepare_" + std::to_string(l), [&] { launch(l); });
    launches_ = &Kernel::launches;
    for (std::size_t l = 0; l < launches; ++l)
      b_.launch(l == 0 ? in_.name : in_.name + "_" + std::to_string(l), [&] { launch(l); });
    return b_.finish();
  }

 private:
  struct Moved {
    std::vector<BufferId> buffers;
    std::vector<ExprId> vars;
  };

  void declare(const Kernel& kernel, const schedule::Part& part) {
    Moved moved;
    std::size_t inputs = 0, outputs = 0;
    for (const Buffer& buffer : kernel.buffers) {
      if (buffer.space == Space::kGlobal && buffer.role == Buffer::Role::kInput)
        moved.buffers.push_back(buffers_.captures[part.captures[inputs++]]);
      else if (buffer.space == Space::kGlobal && buffer.role == Buffer::Role::kOutput)
        moved.buffers.push_back(buffers_.outputs[part.outputs[outputs++]]);
      else
        moved.buffers.push_back(b_.buffer(buffer.name, buffer.dtype, buffer.elements, buffer.space, buffer.role));
    }
    moved.vars.resize(kernel.vars.size());
    moved_.push_back(std::move(moved));
  }

  std::int64_t extent(const Kernel& kernel, std::size_t l) const {
    const std::vector<Launch>& launches = kernel.*launches_;
    if (l >= launches.size()) return 0;
    return in_.cpu() ? launches[l].parallel : launches[l].grid[0];
  }

  void launch(std::size_t l) {
    std::int64_t total = 0;
    for (const Kernel& kernel : kernels_) total += extent(kernel, l);
    if (in_.cpu()) {
      b_.loop(LoopKind::kParallel, "task", total, [&](ExprId task) { choose(l, 0, task, ExprId()); });
      return;
    }
    b_.loop(LoopKind::kGridX, "block", total, [&](ExprId block) {
      b_.loop(LoopKind::kThreadX, "thread", in_.schedule.threads, [&](ExprId thread) { choose(l, 0, block, thread); });
    });
  }

  // The part whose stretch the number lies in; `at` counts from the beginning of part `p`.
  void choose(std::size_t l, std::size_t p, ExprId at, ExprId thread) {
    while (p < kernels_.size() && extent(kernels_[p], l) == 0) ++p;
    if (p == kernels_.size()) return;
    bool last = true;
    for (std::size_t q = p + 1; q < kernels_.size(); ++q) last = last && extent(kernels_[q], l) == 0;
    const auto own = [&] { enter(l, p, at, thread); };
    if (last) return own();
    b_.when(b_.less(at, b_.index(extent(kernels_[p], l))), own,
            [&] { choose(l, p + 1, b_.let("at", b_.sub(at, b_.index(extent(kernels_[p], l)))), thread); });
  }

  void enter(std::size_t l, std::size_t p, ExprId at, ExprId thread) {
    const Kernel& kernel = kernels_[p];
    const std::vector<StmtId>* body = &(kernel.*launches_)[l].body;
    // Loops that the launch itself has become.
    while (body->size() == 1 && kernel[body->front()].kind == Stmt::Kind::kFor) {
      const Stmt& loop = kernel[body->front()];
      if (loop.loop == LoopKind::kParallel || loop.loop == LoopKind::kGridX)
        moved_[p].vars[loop.var.index] = at;
      else if (loop.loop == LoopKind::kThreadX)
        moved_[p].vars[loop.var.index] = thread;
      else
        break;
      body = &loop.body;
    }
    copy(p, *body);
  }

  ExprId expr(std::size_t p, ExprId id) {
    const Kernel& kernel = kernels_[p];
    const Expr& e = kernel[id];
    switch (e.kind) {
      case Expr::Kind::kInt: return b_.integer(e.dtype, e.integer);
      case Expr::Kind::kFloat: return b_.number(e.dtype, e.number);
      case Expr::Kind::kVar: return moved_[p].vars[e.var.index];
      case Expr::Kind::kLoad: return b_.load(moved_[p].buffers[e.buffer.index], expr(p, e.args[0]));
      case Expr::Kind::kFloorDiv: return b_.floor_div(expr(p, e.args[0]), e.integer);
      case Expr::Kind::kMod: return b_.mod(expr(p, e.args[0]), e.integer);
      case Expr::Kind::kShuffleXor: return b_.shuffle_xor(expr(p, e.args[0]), e.integer);
      case Expr::Kind::kOp: break;
    }
    std::vector<ExprId> args;
    for (const ExprId arg : e.args) args.push_back(expr(p, arg));
    return b_.op(e.op, e.dtype, std::move(args));
  }

  void copy(std::size_t p, const std::vector<StmtId>& body) {
    const Kernel& kernel = kernels_[p];
    for (const StmtId id : body) {
      const Stmt& s = kernel[id];
      switch (s.kind) {
        case Stmt::Kind::kFor:
          b_.loop(s.loop, kernel.vars[s.var.index].name, expr(p, s.extent), [&](ExprId var) {
            moved_[p].vars[s.var.index] = var;
            copy(p, s.body);
          });
          break;
        case Stmt::Kind::kLet:
          moved_[p].vars[s.var.index] = b_.let(kernel.vars[s.var.index].name, expr(p, s.value));
          break;
        case Stmt::Kind::kStore: b_.store(moved_[p].buffers[s.buffer.index], expr(p, s.index), expr(p, s.value)); break;
        case Stmt::Kind::kIf:
          b_.when(
              expr(p, s.condition), [&] { copy(p, s.body); },
              s.orelse.empty() ? std::function<void()>() : [&] { copy(p, s.orelse); });
          break;
        case Stmt::Kind::kBarrier: b_.barrier(); break;
      }
    }
  }

  const LowerInput& in_;
  KernelBuilder b_;
  RegionBuffers buffers_;
  std::vector<Kernel> kernels_;
  std::vector<Moved> moved_;
  std::vector<Launch> Kernel::* launches_ = &Kernel::launches;  // those being put together
};

}  // namespace

Result<Kernel> lower_horizontal(const LowerInput& in) { return SideBySide(in).run(); }

}  // namespace fusewright::kernel
