#include "backends/llvm/expressions.hpp"

#include <llvm/IR/Module.h>

#include <numeric>
#include <utility>

#include "fusewright/support/check.hpp"

namespace fusewright::backend_llvm {

using kernel::BufferId;
using kernel::Expr;
using kernel::ExprId;
using ops::DType;
using ops::ScalarOp;

namespace {

constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kHighest = std::numeric_limits<std::int64_t>::max();

std::int64_t saturated_add(std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  if (__builtin_add_overflow(a, b, &out)) return a < 0 ? kLowest : kHighest;
  return out;
}

std::int64_t saturated_mul(std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  if (__builtin_mul_overflow(a, b, &out)) return (a < 0) != (b < 0) ? kLowest : kHighest;
  return out;
}

bool known(const Value& v) { return v.low == v.high; }

// Saturated bounds say nothing: what was computed may have wrapped.
Value bounded(Value v, std::int64_t low, std::int64_t high) {
  const bool wrapped = low == kLowest || high == kHighest || low > high;
  v.low = wrapped ? kLowest : low;
  v.high = wrapped ? kHighest : high;
  return v;
}

}  // namespace

Value constant_index(llvm::Value* v, std::int64_t value) {
  Value out;
  out.v = v;
  out.multiple = value < 0 ? -value : value;
  out.low = out.high = value;
  return out;
}

Value Expressions::evaluate(ExprId root) {
  std::vector<ExprId> stack{root};
  while (!stack.empty()) {
    const ExprId id = stack.back();
    if (stamps_[id.index] == stamp_) {
      stack.pop_back();
      continue;
    }
    const Expr& expr = kernel_[id];
    const std::size_t before = stack.size();
    for (const ExprId arg : expr.args)
      if (stamps_[arg.index] != stamp_) stack.push_back(arg);
    if (stack.size() != before) continue;  // arguments first
    memo_[id.index] = node(expr);
    stamps_[id.index] = stamp_;
    stack.pop_back();
  }
  return memo_[root.index];
}

Value Expressions::node(const Expr& expr) {
  switch (expr.kind) {
    case Expr::Kind::kInt: {
      llvm::Value* v = scalars_.integer(expr.dtype, expr.integer);
      if (expr.dtype == DType::kS64) return constant_index(v, expr.integer);
      return {.v = v};
    }
    case Expr::Kind::kFloat: return {.v = scalars_.number(expr.dtype, expr.number)};
    case Expr::Kind::kVar: return vars_[expr.var.index];
    case Expr::Kind::kLoad: return load(expr.buffer, arg(expr, 0));
    case Expr::Kind::kOp: return op(expr);
    case Expr::Kind::kFloorDiv:
    case Expr::Kind::kMod: return divide(expr, arg(expr, 0));
    case Expr::Kind::kShuffleXor: return shuffle(expr, arg(expr, 0));
  }
  return {};
}

llvm::Value* Expressions::widen(const Value& value) {
  if (value.wide || lanes == 1) return value.v;
  llvm::Value* splat = builder_.CreateVectorSplat(static_cast<unsigned>(lanes), value.v);
  if (value.stride == 0) return splat;
  std::vector<llvm::Constant*> steps;
  for (int lane = 0; lane < lanes; ++lane)
    steps.push_back(
        llvm::ConstantInt::get(value.v->getType(), static_cast<std::uint64_t>(lane * value.stride), true, true));
  return builder_.CreateAdd(splat, llvm::ConstantVector::get(steps));
}

// --- Operations ----------------------------------------------------------------------------------------

Value Expressions::op(const Expr& expr) {
  const DType from = expr.op == ScalarOp::kSelect ? expr.dtype : kernel_[expr.args[0]].dtype;
  bool uniform = true, wide = false;
  for (std::size_t k = 0; k < expr.args.size(); ++k) {
    uniform = uniform && arg(expr, k).uniform();
    wide = wide || arg(expr, k).wide;
  }
  const bool index_op = expr.dtype == DType::kS64 && from == DType::kS64 && expr.args.size() == 2;
  if (index_op && !wide) {
    Value out = affine_op(expr, arg(expr, 0), arg(expr, 1));
    if (out.v != nullptr) return out;
  }
  if (expr.op == ScalarOp::kCopy) return arg(expr, 0);

  std::vector<llvm::Value*> args;
  for (std::size_t k = 0; k < expr.args.size(); ++k) args.push_back(uniform ? arg(expr, k).v : widen(arg(expr, k)));
  Value out;
  // A uniform condition chooses whole vectors.
  if (expr.op == ScalarOp::kSelect && arg(expr, 0).uniform()) args[0] = arg(expr, 0).v;
  out.v = scalars_.op(expr.op, from, expr.dtype, args);
  out.wide = !uniform && lanes > 1;
  return out;
}

// Sums and products of s64 values that rise evenly rise evenly; of uniform ones the bounds are kept.
Value Expressions::affine_op(const Expr& expr, const Value& a, const Value& b) {
  Value out;
  switch (expr.op) {
    case ScalarOp::kAdd:
      out.v = builder_.CreateAdd(a.v, b.v);
      out.stride = a.stride + b.stride;
      out.multiple = std::gcd(a.multiple, b.multiple);
      return bounded(out, saturated_add(a.low, b.low), saturated_add(a.high, b.high));
    case ScalarOp::kSub:
      out.v = builder_.CreateSub(a.v, b.v);
      out.stride = a.stride - b.stride;
      out.multiple = std::gcd(a.multiple, b.multiple);
      return bounded(out, saturated_add(a.low, saturated_mul(b.high, -1)),
                     saturated_add(a.high, saturated_mul(b.low, -1)));
    case ScalarOp::kMul: {
      // Lanes rise evenly only when the other factor is a number.
      const Value& factor = known(b) ? b : a;
      const Value& other = known(b) ? a : b;
      if (!known(factor) && (a.stride != 0 || b.stride != 0)) return out;
      if (factor.stride != 0) return out;
      std::int64_t multiple = 0;
      if (__builtin_mul_overflow(a.multiple, b.multiple, &multiple)) multiple = 1;
      out.v = builder_.CreateMul(a.v, b.v);
      out.stride = other.stride == 0 ? 0 : saturated_mul(other.stride, factor.low);
      out.multiple = multiple;
      if (!known(factor)) return out;
      const std::int64_t x = saturated_mul(other.low, factor.low), y = saturated_mul(other.high, factor.low);
      return bounded(out, std::min(x, y), std::max(x, y));
    }
    case ScalarOp::kMax:
    case ScalarOp::kMin: {
      if (!a.uniform() || !b.uniform()) return out;
      const bool max = expr.op == ScalarOp::kMax;
      out.v = builder_.CreateBinaryIntrinsic(max ? llvm::Intrinsic::smax : llvm::Intrinsic::smin, a.v, b.v);
      out.multiple = std::gcd(a.multiple, b.multiple);
      out.low = max ? std::max(a.low, b.low) : std::min(a.low, b.low);
      out.high = max ? std::max(a.high, b.high) : std::min(a.high, b.high);
      return out;
    }
    default: return out;
  }
}

// By a positive number, of what is not negative. Where whole groups of lanes share a quotient, lanes need no division.
Value Expressions::divide(const Expr& expr, const Value& a) {
  const bool mod = expr.kind == Expr::Kind::kMod;
  const std::int64_t by = expr.integer;
  const auto scalar = [&](llvm::Value* v, std::int64_t high) {
    llvm::Type* type = v->getType();
    // 32-bit division is far cheaper, where the value is known to be small.
    const bool narrow =
        high <= std::numeric_limits<std::uint32_t>::max() && by <= std::numeric_limits<std::uint32_t>::max();
    llvm::Type* small = with_lanes(builder_.getInt32Ty(), lanes_of(type));
    llvm::Value* x = narrow ? builder_.CreateTrunc(v, small) : v;
    llvm::Value* divisor = llvm::ConstantInt::get(x->getType(), static_cast<std::uint64_t>(by));
    llvm::Value* y = mod ? builder_.CreateURem(x, divisor) : builder_.CreateUDiv(x, divisor);
    return narrow ? builder_.CreateZExt(y, type) : y;
  };
  const std::int64_t high = a.low >= 0 ? a.high : kHighest;
  Value out;
  out.low = 0;
  out.high = mod ? std::min(high, by - 1) : high / by;
  if (mod)
    out.multiple = std::gcd(a.multiple, by);
  else if (a.multiple % by == 0)
    out.multiple = a.multiple / by;

  if (!a.wide) {
    const std::int64_t step = std::gcd(a.multiple, by);  // v mod `by` is at most by - step
    const bool inside = a.stride >= 0 && saturated_mul(a.stride, lanes - 1) < step;
    if (a.stride == 0 || a.stride % by == 0 || inside) {
      out.v = high < by ? (mod ? a.v : llvm::ConstantInt::get(a.v->getType(), 0)) : scalar(a.v, high);
      if (a.stride != 0 && inside)
        out.stride = mod ? a.stride : 0;
      else if (a.stride != 0)
        out.stride = mod ? 0 : a.stride / by;
      return out;
    }
  }
  const bool bounded_lanes = !a.wide && a.low >= 0 && a.stride >= 0;
  out = Value{};
  out.v = scalar(widen(a), bounded_lanes ? saturated_add(a.high, saturated_mul(a.stride, lanes - 1)) : kHighest);
  out.wide = true;
  return out;
}

Value Expressions::shuffle(const Expr& expr, const Value& a) {
  llvm::Type* type = a.v->getType();
  llvm::Type* carrier = type;
  std::string suffix = type->isDoubleTy() ? "f64" : type->isFloatTy() ? "f32" : type->isIntegerTy(64) ? "i64" : "i32";
  if (suffix == "i32") carrier = builder_.getInt32Ty();
  llvm::Module& module = *builder_.GetInsertBlock()->getModule();
  const llvm::FunctionCallee callee = module.getOrInsertFunction(
      "fw_shuffle_xor_" + suffix, llvm::FunctionType::get(carrier, {carrier, builder_.getInt32Ty()}, false));
  FW_CHECK(a.uniform()) << "a shuffle inside a vector loop";
  llvm::Value* sent = carrier == type ? a.v : builder_.CreateZExt(a.v, carrier);
  llvm::Value* got = builder_.CreateCall(callee, {sent, builder_.getInt32(static_cast<std::uint32_t>(expr.integer))});
  return {.v = carrier == type ? got : builder_.CreateTrunc(got, type)};
}

// --- Memory --------------------------------------------------------------------------------------------

llvm::Value* Expressions::element(BufferId buffer, llvm::Value* index) {
  return builder_.CreateInBoundsGEP(scalars_.memory_type(kernel_[buffer].dtype), places_[buffer.index].address, index);
}

// Of the element in lane 0 (stride 1 and 0), by what its index is a multiple of.
llvm::Align Expressions::alignment(BufferId buffer, const Value& index) const {
  const std::int64_t align = places_[buffer.index].align;
  const std::int64_t offset = (index.multiple & (align - 1)) * ops::byte_width(kernel_[buffer].dtype);
  return llvm::Align(static_cast<std::uint64_t>(std::gcd(align, offset)));
}

llvm::Value* Expressions::marked(llvm::Instruction* access, const Place& place) {
  if (place.constant)
    access->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(builder_.getContext(), {}));
  return access;
}

llvm::Value* Expressions::lane_index(const Value& index, int lane) {
  if (index.wide) return builder_.CreateExtractElement(index.v, static_cast<std::uint64_t>(lane));
  return builder_.CreateAdd(index.v, builder_.getInt64(static_cast<std::uint64_t>(lane * index.stride)));
}

llvm::Value* Expressions::load_lanes(BufferId buffer, const Value& index) {
  const DType dtype = kernel_[buffer].dtype;
  const Place& place = places_[buffer.index];
  llvm::Type* one = scalars_.memory_type(dtype);
  llvm::Type* all = with_lanes(one, lanes);
  const llvm::Align natural(static_cast<std::uint64_t>(ops::byte_width(dtype)));
  if (!index.wide && index.stride == 1)
    return marked(
        builder_.CreateAlignedLoad(all, element(buffer, index.v), std::max(natural, alignment(buffer, index))), place);
  if (!index.wide && index.stride == -1) {
    llvm::Value* last = element(buffer, lane_index(index, lanes - 1));
    return builder_.CreateVectorReverse(marked(builder_.CreateAlignedLoad(all, last, natural), place));
  }
  if (index.wide && target_.fast_gather && one->getPrimitiveSizeInBits() >= 32)
    return builder_.CreateMaskedGather(all, element(buffer, index.v), natural);
  llvm::Value* out = llvm::PoisonValue::get(all);
  for (int lane = 0; lane < lanes; ++lane) {
    llvm::Value* v = marked(builder_.CreateAlignedLoad(one, element(buffer, lane_index(index, lane)), natural), place);
    out = builder_.CreateInsertElement(out, v, static_cast<std::uint64_t>(lane));
  }
  return out;
}

Value Expressions::load(BufferId buffer, const Value& index) {
  const DType dtype = kernel_[buffer].dtype;
  if (!index.uniform()) return {.v = scalars_.from_memory(dtype, load_lanes(buffer, index)), .wide = true};
  const llvm::Align natural(static_cast<std::uint64_t>(ops::byte_width(dtype)));
  llvm::Instruction* load = builder_.CreateAlignedLoad(scalars_.memory_type(dtype), element(buffer, index.v), natural);
  return {.v = scalars_.from_memory(dtype, marked(load, places_[buffer.index]))};
}

void Expressions::store(BufferId buffer, const Value& index, const Value& value) {
  const DType dtype = kernel_[buffer].dtype;
  const llvm::Align natural(static_cast<std::uint64_t>(ops::byte_width(dtype)));
  if (lanes == 1) {
    builder_.CreateAlignedStore(scalars_.to_memory(dtype, value.v), element(buffer, index.v), natural);
    return;
  }
  llvm::Value* all = scalars_.to_memory(dtype, widen(value));
  if (!index.wide && index.stride == 1) {
    builder_.CreateAlignedStore(all, element(buffer, index.v), std::max(natural, alignment(buffer, index)));
    return;
  }
  if (!index.wide && index.stride == -1) {
    builder_.CreateAlignedStore(builder_.CreateVectorReverse(all), element(buffer, lane_index(index, lanes - 1)),
                                natural);
    return;
  }
  for (int lane = 0; lane < lanes; ++lane)
    builder_.CreateAlignedStore(builder_.CreateExtractElement(all, static_cast<std::uint64_t>(lane)),
                                element(buffer, lane_index(index, lane)), natural);
}

}  // namespace fusewright::backend_llvm
