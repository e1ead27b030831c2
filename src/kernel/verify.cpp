#include <fmt/format.h>

#include <bit>
#include <vector>

#include "fusewright/kernel/ir.hpp"

namespace fusewright::kernel {

namespace {

class Verifier {
 public:
  explicit Verifier(const Kernel& kernel)
      : kernel_(kernel), defined_(kernel.vars.size(), false), checked_(kernel.exprs.size(), false) {}

  Status run() {
    FW_TRY_STATUS(exprs());
    for (const auto* launches : {&kernel_.prepare, &kernel_.launches})
      for (const Launch& launch : *launches) {
        FW_TRY_STATUS(launch_shape(launch));
        FW_TRY_STATUS(body(launch.body, false));
      }
    return {};
  }

 private:
  Status bad(const std::string& what) const { return fail("kernel " + kernel_.name + ": " + what); }

  // Arguments come before their users, so one pass in order sees every expression and there is no cycle.
  Status exprs() const {
    for (std::size_t i = 0; i < kernel_.exprs.size(); ++i) {
      const Expr& e = kernel_.exprs[i];
      for (const ExprId arg : e.args)
        if (arg.index >= i) return bad(fmt::format("expression {} uses a later one", i));
      const auto dtype = [&](std::size_t k) { return kernel_[e.args[k]].dtype; };
      switch (e.kind) {
        case Expr::Kind::kInt:
        case Expr::Kind::kFloat: break;
        case Expr::Kind::kVar:
          if (e.var.index >= kernel_.vars.size()) return bad("variable out of range");
          break;
        case Expr::Kind::kLoad:
          if (e.buffer.index >= kernel_.buffers.size() || e.args.size() != 1 || dtype(0) != DType::kS64 ||
              e.dtype != kernel_[e.buffer].dtype)
            return bad(fmt::format("load {} is malformed", i));
          FW_TRY_STATUS(in_bounds(e.buffer, e.args[0]));
          break;
        case Expr::Kind::kFloorDiv:
        case Expr::Kind::kMod:
          if (e.args.size() != 1 || e.integer <= 0 || dtype(0) != DType::kS64) return bad("division is malformed");
          break;
        case Expr::Kind::kShuffleXor:
          if (kernel_.family != TargetFamily::kGpu || e.args.size() != 1 || e.integer <= 0 || e.integer >= 32)
            return bad("shuffle is malformed");
          break;
        case Expr::Kind::kOp: FW_TRY_STATUS(op(e)); break;
      }
    }
    return {};
  }

  Status op(const Expr& e) const {
    if (static_cast<int>(e.args.size()) != ops::arity(e.op))
      return bad(fmt::format("{} has the wrong arity", ops::name(e.op)));
    const auto dtype = [&](std::size_t k) { return kernel_[e.args[k]].dtype; };
    bool good = true;
    if (e.op == ScalarOp::kConvert) return {};
    if (e.op == ScalarOp::kBitcast) {
      good = ops::bit_width(dtype(0)) == ops::bit_width(e.dtype);
    } else if (e.op == ScalarOp::kSelect) {
      good = dtype(0) == DType::kPred && dtype(1) == e.dtype && dtype(2) == e.dtype;
    } else if (ops::is_comparison(e.op)) {
      good = e.dtype == DType::kPred && dtype(0) == dtype(1);
    } else if (e.op == ScalarOp::kIsFinite || e.op == ScalarOp::kIsNan || e.op == ScalarOp::kIsInf) {
      good = e.dtype == DType::kPred;
    } else {
      for (std::size_t k = 0; k < e.args.size(); ++k) good = good && dtype(k) == e.dtype;
    }
    if (!good) return bad(fmt::format("{} to {} has operands of other dtypes", ops::name(e.op), ops::name(e.dtype)));
    return {};
  }

  Status in_bounds(BufferId buffer, ExprId index) const {
    const Expr& e = kernel_[index];
    if (e.kind == Expr::Kind::kInt && (e.integer < 0 || e.integer >= kernel_[buffer].elements))
      return bad(fmt::format("{}[{}] is out of bounds ({} elements)", kernel_[buffer].name, e.integer,
                             kernel_[buffer].elements));
    return {};
  }

  Status launch_shape(const Launch& launch) const {
    if (launch.name.empty()) return bad("a launch has no name");
    if (kernel_.family == TargetFamily::kCpu) {
      if (launch.body.size() != 1 || kernel_[launch.body[0]].kind != Stmt::Kind::kFor ||
          kernel_[launch.body[0]].loop != LoopKind::kParallel)
        return bad("a CPU launch must be one parallel loop");
    } else if (launch.threads % 32 != 0) {
      return bad(fmt::format("{} threads a block is no multiple of 32", launch.threads));
    }
    return {};
  }

  // A use before its Let, in a sibling body or another launch, is found by walking in order and closing scopes.
  Status uses(ExprId root) {
    std::vector<ExprId> stack{root};
    std::vector<ExprId> seen;
    while (!stack.empty()) {
      const ExprId id = stack.back();
      stack.pop_back();
      if (id.index >= kernel_.exprs.size()) return bad("expression out of range");
      if (checked_[id.index]) continue;
      checked_[id.index] = true;
      seen.push_back(id);
      const Expr& e = kernel_[id];
      if (e.kind == Expr::Kind::kVar && !defined_[e.var.index])
        return bad(
            fmt::format("variable {}.{} is used where it is not defined", kernel_.vars[e.var.index].name, e.var.index));
      stack.insert(stack.end(), e.args.begin(), e.args.end());
    }
    for (const ExprId id : seen) checked_[id.index] = false;
    return {};
  }

  Status body(const std::vector<StmtId>& stmts, bool in_vector) {
    std::vector<VarId> opened;
    for (const StmtId id : stmts) {
      if (id.index >= kernel_.stmts.size()) return bad("statement out of range");
      const Stmt& s = kernel_[id];
      switch (s.kind) {
        case Stmt::Kind::kFor: FW_TRY_STATUS(loop(s, in_vector)); break;
        case Stmt::Kind::kLet:
          FW_TRY_STATUS(uses(s.value));
          if (kernel_[s.value].dtype != kernel_.vars[s.var.index].dtype)
            return bad("a let has another dtype than its value");
          defined_[s.var.index] = true;
          opened.push_back(s.var);
          break;
        case Stmt::Kind::kStore:
          FW_TRY_STATUS(uses(s.index));
          FW_TRY_STATUS(uses(s.value));
          if (kernel_[s.buffer].dtype != kernel_[s.value].dtype)
            return bad("a store has another dtype than its buffer");
          if (kernel_[s.buffer].space == Space::kGlobal && kernel_[s.buffer].role == Buffer::Role::kInput)
            return bad("a store to input " + kernel_[s.buffer].name);
          FW_TRY_STATUS(in_bounds(s.buffer, s.index));
          break;
        case Stmt::Kind::kIf:
          if (in_vector) return bad("a condition inside a vector loop");
          FW_TRY_STATUS(uses(s.condition));
          FW_TRY_STATUS(body(s.body, in_vector));
          FW_TRY_STATUS(body(s.orelse, in_vector));
          break;
        case Stmt::Kind::kBarrier:
          if (kernel_.family != TargetFamily::kGpu || in_vector) return bad("a barrier where there can be none");
          break;
      }
    }
    for (const VarId var : opened) defined_[var.index] = false;
    return {};
  }

  Status loop(const Stmt& s, bool in_vector) {
    if (in_vector) return bad("a loop inside a vector loop");
    FW_TRY_STATUS(uses(s.extent));
    const Expr& extent = kernel_[s.extent];
    const bool needs_constant = s.loop != LoopKind::kSerial;
    if (needs_constant && extent.kind != Expr::Kind::kInt) return bad("a loop's extent must be constant");
    if (s.loop == LoopKind::kVector && !std::has_single_bit(static_cast<std::uint64_t>(extent.integer)))
      return bad(fmt::format("a vector loop has {} lanes", extent.integer));
    defined_[s.var.index] = true;
    FW_TRY_STATUS(body(s.body, s.loop == LoopKind::kVector));
    defined_[s.var.index] = false;
    return {};
  }

  const Kernel& kernel_;
  std::vector<bool> defined_, checked_;
};

}  // namespace

Status verify(const Kernel& kernel) { return Verifier(kernel).run(); }

std::uint64_t hash(const Kernel& kernel) {
  std::uint64_t h = hash_mix(static_cast<std::uint64_t>(kernel.family), kernel.buffers.size());
  for (const Buffer& b : kernel.buffers) {
    h = hash_mix(h, static_cast<std::uint64_t>(b.dtype) | static_cast<std::uint64_t>(b.space) << 8 |
                        static_cast<std::uint64_t>(b.role) << 16);
    h = hash_mix(h, static_cast<std::uint64_t>(b.elements));
  }
  for (const Var& v : kernel.vars) h = hash_mix(h, static_cast<std::uint64_t>(v.dtype));
  for (const Expr& e : kernel.exprs) {
    h = hash_mix(h, static_cast<std::uint64_t>(e.kind) | static_cast<std::uint64_t>(e.dtype) << 8 |
                        static_cast<std::uint64_t>(e.op) << 16);
    h = hash_mix(h, static_cast<std::uint64_t>(e.integer));
    h = hash_mix(h, std::bit_cast<std::uint64_t>(e.number));
    h = hash_mix(h, e.var.index);
    h = hash_mix(h, e.buffer.index);
    for (const ExprId arg : e.args) h = hash_mix(h, arg.index);
  }
  for (const Stmt& s : kernel.stmts) {
    h = hash_mix(h, static_cast<std::uint64_t>(s.kind) | static_cast<std::uint64_t>(s.loop) << 8);
    for (const std::uint32_t part :
         {s.var.index, s.extent.index, s.value.index, s.index.index, s.condition.index, s.buffer.index})
      h = hash_mix(h, part);
    for (const StmtId child : s.body) h = hash_mix(h, child.index);
    h = hash_mix(h, 0xe15eULL);
    for (const StmtId child : s.orelse) h = hash_mix(h, child.index);
  }
  for (const auto* launches : {&kernel.prepare, &kernel.launches}) {
    h = hash_mix(h, launches->size());
    for (const Launch& launch : *launches) {
      h = hash_mix(h, launch.body.size());
      for (const StmtId child : launch.body) h = hash_mix(h, child.index);
    }
  }
  return h;
}

}  // namespace fusewright::kernel
