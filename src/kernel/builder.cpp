#include "fusewright/kernel/builder.hpp"

#include <bit>
#include <optional>

#include "fusewright/support/check.hpp"

namespace fusewright::kernel {

namespace {

std::uint64_t hash_expr(const Expr& e) {
  std::uint64_t h = hash_mix(static_cast<std::uint64_t>(e.kind), static_cast<std::uint64_t>(e.dtype));
  h = hash_mix(h, static_cast<std::uint64_t>(e.integer));
  h = hash_mix(h, std::bit_cast<std::uint64_t>(e.number));
  h = hash_mix(h, e.var.index);
  h = hash_mix(h, e.buffer.index);
  h = hash_mix(h, static_cast<std::uint64_t>(e.op));
  for (const ExprId arg : e.args) h = hash_mix(h, arg.index);
  return h;
}

bool same_expr(const Expr& a, const Expr& b) {
  return a.kind == b.kind && a.dtype == b.dtype && a.integer == b.integer &&
         std::bit_cast<std::uint64_t>(a.number) == std::bit_cast<std::uint64_t>(b.number) && a.var == b.var &&
         a.buffer == b.buffer && a.op == b.op && a.args == b.args;
}

}  // namespace

KernelBuilder::KernelBuilder(std::string name, TargetFamily family) {
  kernel_.name = std::move(name);
  kernel_.family = family;
}

BufferId KernelBuilder::buffer(std::string name, DType dtype, std::int64_t elements, Space space, Buffer::Role role) {
  kernel_.buffers.push_back({std::move(name), dtype, elements, space, role});
  return BufferId(kernel_.buffers.size() - 1);
}

ExprId KernelBuilder::intern(Expr expr) {
  std::vector<ExprId>& same_hash = interned_[hash_expr(expr)];
  for (const ExprId id : same_hash)
    if (same_expr(kernel_[id], expr)) return id;
  kernel_.exprs.push_back(std::move(expr));
  same_hash.push_back(ExprId(kernel_.exprs.size() - 1));
  return same_hash.back();
}

ExprId KernelBuilder::index(std::int64_t value) { return integer(DType::kS64, value); }

ExprId KernelBuilder::number(DType dtype, double value) {
  Expr e;
  e.kind = Expr::Kind::kFloat;
  e.dtype = dtype;
  e.number = value;
  return intern(std::move(e));
}

ExprId KernelBuilder::integer(DType dtype, std::int64_t value) {
  Expr e;
  e.kind = Expr::Kind::kInt;
  e.dtype = dtype;
  e.integer = value;
  return intern(std::move(e));
}

ExprId KernelBuilder::var(VarId var) {
  Expr e;
  e.kind = Expr::Kind::kVar;
  e.dtype = kernel_.vars[var.index].dtype;
  e.var = var;
  return intern(std::move(e));
}

ExprId KernelBuilder::load(BufferId buffer, ExprId index) {
  // Only loops that do not turn and branches not taken read a tensor of nothing: no clamped index is inside.
  if (const Buffer& from = kernel_[buffer]; from.elements == 0)
    return ops::is_float(from.dtype) ? number(from.dtype, 0) : integer(from.dtype, 0);
  Expr e;
  e.kind = Expr::Kind::kLoad;
  e.dtype = kernel_[buffer].dtype;
  e.buffer = buffer;
  e.args = {index};
  return intern(std::move(e));
}

ExprId KernelBuilder::op(ScalarOp op, DType dtype, std::vector<ExprId> args) {
  FW_CHECK(static_cast<int>(args.size()) == ops::arity(op)) << ops::name(op);
  Expr e;
  e.kind = Expr::Kind::kOp;
  e.dtype = dtype;
  e.op = op;
  e.args = std::move(args);
  return intern(std::move(e));
}

namespace {
std::optional<std::int64_t> constant(const Kernel& kernel, ExprId id) {
  const Expr& e = kernel[id];
  if (e.kind != Expr::Kind::kInt) return std::nullopt;
  return e.integer;
}
}  // namespace

ExprId KernelBuilder::add(ExprId a, ExprId b) {
  const auto x = constant(kernel_, a), y = constant(kernel_, b);
  if (x && y) return index(*x + *y);
  if (x && *x == 0) return b;
  if (y && *y == 0) return a;
  return op(ScalarOp::kAdd, DType::kS64, {a, b});
}

ExprId KernelBuilder::sub(ExprId a, ExprId b) {
  const auto x = constant(kernel_, a), y = constant(kernel_, b);
  if (x && y) return index(*x - *y);
  if (y && *y == 0) return a;
  return op(ScalarOp::kSub, DType::kS64, {a, b});
}

ExprId KernelBuilder::mul(ExprId a, std::int64_t b) {
  if (const auto x = constant(kernel_, a)) return index(*x * b);
  if (b == 0) return index(0);
  if (b == 1) return a;
  return op(ScalarOp::kMul, DType::kS64, {a, index(b)});
}

ExprId KernelBuilder::mul(ExprId a, ExprId b) {
  if (const auto y = constant(kernel_, b)) return mul(a, *y);
  if (const auto x = constant(kernel_, a)) return mul(b, *x);
  return op(ScalarOp::kMul, DType::kS64, {a, b});
}

ExprId KernelBuilder::floor_div(ExprId a, std::int64_t b) {
  FW_CHECK(b > 0);
  if (const auto x = constant(kernel_, a)) return index(*x / b);
  if (b == 1) return a;
  Expr e;
  e.kind = Expr::Kind::kFloorDiv;
  e.integer = b;
  e.args = {a};
  return intern(std::move(e));
}

ExprId KernelBuilder::mod(ExprId a, std::int64_t b) {
  FW_CHECK(b > 0);
  if (const auto x = constant(kernel_, a)) return index(*x % b);
  if (b == 1) return index(0);
  Expr e;
  e.kind = Expr::Kind::kMod;
  e.integer = b;
  e.args = {a};
  return intern(std::move(e));
}

ExprId KernelBuilder::min(ExprId a, ExprId b) {
  const auto x = constant(kernel_, a), y = constant(kernel_, b);
  if (x && y) return index(std::min(*x, *y));
  return op(ScalarOp::kMin, DType::kS64, {a, b});
}

ExprId KernelBuilder::less(ExprId a, ExprId b) {
  const auto x = constant(kernel_, a), y = constant(kernel_, b);
  if (x && y) return integer(DType::kPred, *x < *y ? 1 : 0);
  return op(ScalarOp::kLt, DType::kPred, {a, b});
}

ExprId KernelBuilder::both(ExprId a, ExprId b) {
  const auto x = constant(kernel_, a), y = constant(kernel_, b);
  if (x) return *x != 0 ? b : a;
  if (y) return *y != 0 ? a : b;
  return op(ScalarOp::kAnd, DType::kPred, {a, b});
}

ExprId KernelBuilder::select(DType dtype, ExprId condition, ExprId a, ExprId b) {
  if (const auto c = constant(kernel_, condition)) return *c != 0 ? a : b;
  return op(ScalarOp::kSelect, dtype, {condition, a, b});
}

ExprId KernelBuilder::convert(DType dtype, ExprId a) {
  if (kernel_[a].dtype == dtype) return a;
  return op(ScalarOp::kConvert, dtype, {a});
}

ExprId KernelBuilder::shuffle_xor(ExprId a, std::int64_t mask) {
  Expr e;
  e.kind = Expr::Kind::kShuffleXor;
  e.dtype = kernel_[a].dtype;
  e.integer = mask;
  e.args = {a};
  return intern(std::move(e));
}

void KernelBuilder::append(Stmt stmt) {
  FW_CHECK(!open_.empty()) << "statement outside a launch";
  kernel_.stmts.push_back(std::move(stmt));
  open_.back().push_back(StmtId(kernel_.stmts.size() - 1));
}

std::vector<StmtId> KernelBuilder::collect(const std::function<void()>& body) {
  open_.emplace_back();
  body();
  std::vector<StmtId> made = std::move(open_.back());
  open_.pop_back();
  return made;
}

void KernelBuilder::loop(LoopKind kind, std::string name, ExprId extent, const std::function<void(ExprId)>& body) {
  kernel_.vars.push_back({std::move(name), DType::kS64});
  Stmt stmt;
  stmt.kind = Stmt::Kind::kFor;
  stmt.loop = kind;
  stmt.var = VarId(kernel_.vars.size() - 1);
  stmt.extent = extent;
  stmt.body = collect([&] { body(var(stmt.var)); });
  append(std::move(stmt));
}

void KernelBuilder::loop(LoopKind kind, std::string name, std::int64_t extent,
                         const std::function<void(ExprId)>& body) {
  loop(kind, std::move(name), index(extent), body);
}

ExprId KernelBuilder::let(std::string name, ExprId value) {
  const Expr::Kind kind = kernel_[value].kind;
  if (kind == Expr::Kind::kInt || kind == Expr::Kind::kFloat || kind == Expr::Kind::kVar) return value;
  kernel_.vars.push_back({std::move(name), kernel_[value].dtype});
  Stmt stmt;
  stmt.kind = Stmt::Kind::kLet;
  stmt.var = VarId(kernel_.vars.size() - 1);
  stmt.value = value;
  const VarId made = stmt.var;
  append(std::move(stmt));
  return var(made);
}

void KernelBuilder::store(BufferId buffer, ExprId index, ExprId value) {
  FW_CHECK(kernel_[buffer].dtype == kernel_[value].dtype) << "store to " << kernel_[buffer].name;
  if (kernel_[buffer].elements == 0) return;  // like a load, it is never run and no index is inside
  Stmt stmt;
  stmt.kind = Stmt::Kind::kStore;
  stmt.buffer = buffer;
  stmt.index = index;
  stmt.value = value;
  append(std::move(stmt));
}

void KernelBuilder::when(ExprId condition, const std::function<void()>& body, const std::function<void()>& orelse) {
  if (const auto c = constant(kernel_, condition)) {
    if (*c != 0)
      body();
    else if (orelse)
      orelse();
    return;
  }
  Stmt stmt;
  stmt.kind = Stmt::Kind::kIf;
  stmt.condition = condition;
  stmt.body = collect(body);
  if (orelse) stmt.orelse = collect(orelse);
  append(std::move(stmt));
}

void KernelBuilder::barrier() {
  Stmt stmt;
  stmt.kind = Stmt::Kind::kBarrier;
  append(std::move(stmt));
}

void KernelBuilder::launch(std::string name, const std::function<void()>& body) {
  kernel_.launches.push_back(make_launch(std::move(name), body));
}

void KernelBuilder::prepare(std::string name, const std::function<void()>& body) {
  kernel_.prepare.push_back(make_launch(std::move(name), body));
}

Launch KernelBuilder::make_launch(std::string name, const std::function<void()>& body) {
  Launch launch;
  launch.name = std::move(name);
  launch.body = collect(body);
  // The outer loops say how large the launch is.
  const std::vector<StmtId>* at = &launch.body;
  while (at->size() == 1 && kernel_[at->front()].kind == Stmt::Kind::kFor) {
    const Stmt& loop = kernel_[at->front()];
    const auto extent = constant(kernel_, loop.extent);
    if (!extent) break;
    if (loop.loop == LoopKind::kParallel)
      launch.parallel = *extent;
    else if (loop.loop == LoopKind::kGridX)
      launch.grid[0] = *extent;
    else if (loop.loop == LoopKind::kGridY)
      launch.grid[1] = *extent;
    else if (loop.loop == LoopKind::kGridZ)
      launch.grid[2] = *extent;
    else if (loop.loop == LoopKind::kThreadX)
      launch.threads = *extent;
    else
      break;
    at = &loop.body;
  }
  return launch;
}

Kernel KernelBuilder::finish() {
  FW_CHECK(open_.empty());
  const Status status = verify(kernel_);
  FW_CHECK(status.has_value()) << print_error(status.error()) << print(kernel_);
  return std::move(kernel_);
}

}  // namespace fusewright::kernel
