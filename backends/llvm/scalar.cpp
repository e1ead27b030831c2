#include "backends/llvm/scalar.hpp"

#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/Module.h>

#include <functional>
#include <limits>

#include "fusewright/support/check.hpp"

namespace fusewright::backend_llvm {

using ops::DType;
using ops::ScalarOp;

Scalars::V Scalars::op(ScalarOp op, DType from, DType to, const std::vector<V>& args) {
  if (op == ScalarOp::kSelect) return builder_.CreateSelect(args[0], args[1], args[2]);
  if (op == ScalarOp::kConvert) return convert(from, to, args[0]);
  if (op == ScalarOp::kBitcast) return bitcast(from, to, args[0]);
  if (op == ScalarOp::kCopy) return args[0];
  if (ops::is_float(from)) return ops::is_float(to) ? round(to, float_op(op, args)) : float_test(op, args);
  if (op == ScalarOp::kIsFinite || op == ScalarOp::kIsNan || op == ScalarOp::kIsInf)
    return llvm::ConstantInt::get(with_lanes(builder_.getInt1Ty(), lanes_of(args[0]->getType())),
                                  op == ScalarOp::kIsFinite ? 1 : 0);
  if (ops::is_comparison(op)) return int_test(op, from, args[0], args[1]);
  return from == DType::kPred ? pred_op(op, args) : int_op(op, from, args);
}

Scalars::V Scalars::unary(unsigned intrinsic, V value) { return builder_.CreateUnaryIntrinsic(intrinsic, value); }

// --- Floats --------------------------------------------------------------------------------------------

// NaN when either is; of equal zeros the first, on every target. (The machines' own instructions differ in both.)
Scalars::V Scalars::larger(V a, V b) {
  V chosen = builder_.CreateSelect(builder_.CreateFCmpOLT(a, b), b, a);
  return builder_.CreateSelect(builder_.CreateFCmpUNO(b, b), b, chosen);
}

Scalars::V Scalars::smaller(V a, V b) {
  V chosen = builder_.CreateSelect(builder_.CreateFCmpOLT(b, a), b, a);
  return builder_.CreateSelect(builder_.CreateFCmpUNO(b, b), b, chosen);
}

Scalars::V Scalars::float_mod(V a, V b) {
  V zero = like(a, 0.0);
  V rest = math("rem", {a, b});
  V negative = builder_.CreateFCmpOLT(b, zero);
  V differ = builder_.CreateXor(builder_.CreateFCmpOLT(rest, zero), negative);
  V moved = builder_.CreateSelect(differ, builder_.CreateFAdd(rest, b), rest);
  V signed_zero = builder_.CreateSelect(negative, like(a, -0.0), zero);
  V is_zero = builder_.CreateAnd(builder_.CreateFCmpOEQ(rest, zero), builder_.CreateFCmpONE(b, zero));
  return builder_.CreateSelect(is_zero, signed_zero, moved);
}

Scalars::V Scalars::float_op(ScalarOp op, const std::vector<V>& x) {
  using llvm::Intrinsic::fabs;
  switch (op) {
    case ScalarOp::kAbs: return unary(fabs, x[0]);
    case ScalarOp::kNeg: return builder_.CreateFNeg(x[0]);
    case ScalarOp::kSign: {
      V zero = like(x[0], 0.0);
      V negative = builder_.CreateSelect(builder_.CreateFCmpOLT(x[0], zero), like(x[0], -1.0), x[0]);
      return builder_.CreateSelect(builder_.CreateFCmpOGT(x[0], zero), like(x[0], 1.0), negative);
    }
    case ScalarOp::kSqrt: return unary(llvm::Intrinsic::sqrt, x[0]);
    case ScalarOp::kRsqrt: return builder_.CreateFDiv(like(x[0], 1.0), unary(llvm::Intrinsic::sqrt, x[0]));
    case ScalarOp::kFloor: return unary(llvm::Intrinsic::floor, x[0]);
    case ScalarOp::kCeil: return unary(llvm::Intrinsic::ceil, x[0]);
    case ScalarOp::kTrunc: return unary(llvm::Intrinsic::trunc, x[0]);
    case ScalarOp::kRoundEven: return unary(llvm::Intrinsic::roundeven, x[0]);
    case ScalarOp::kAdd: return builder_.CreateFAdd(x[0], x[1]);
    case ScalarOp::kSub: return builder_.CreateFSub(x[0], x[1]);
    case ScalarOp::kMul: return builder_.CreateFMul(x[0], x[1]);
    case ScalarOp::kDiv: return builder_.CreateFDiv(x[0], x[1]);
    case ScalarOp::kMod: return float_mod(x[0], x[1]);
    case ScalarOp::kMax: return larger(x[0], x[1]);
    case ScalarOp::kMin: return smaller(x[0], x[1]);
    case ScalarOp::kClamp: return smaller(larger(x[1], x[0]), x[2]);
    case ScalarOp::kFma: return builder_.CreateIntrinsic(llvm::Intrinsic::fma, {x[0]->getType()}, {x[0], x[1], x[2]});
    case ScalarOp::kExp: return math("exp", x);
    case ScalarOp::kExpm1: return math("expm1", x);
    case ScalarOp::kLog: return math("log", x);
    case ScalarOp::kLog1p: return math("log1p", x);
    case ScalarOp::kCbrt: return math("cbrt", x);
    case ScalarOp::kSin: return math("sin", x);
    case ScalarOp::kCos: return math("cos", x);
    case ScalarOp::kTan: return math("tan", x);
    case ScalarOp::kAsin: return math("asin", x);
    case ScalarOp::kAcos: return math("acos", x);
    case ScalarOp::kAtan: return math("atan", x);
    case ScalarOp::kSinh: return math("sinh", x);
    case ScalarOp::kCosh: return math("cosh", x);
    case ScalarOp::kTanh: return math("tanh", x);
    case ScalarOp::kAsinh: return math("asinh", x);
    case ScalarOp::kAcosh: return math("acosh", x);
    case ScalarOp::kAtanh: return math("atanh", x);
    case ScalarOp::kLogistic: return math("logistic", x);
    case ScalarOp::kErf: return math("erf", x);
    case ScalarOp::kRoundAway: return math("round_away", x);
    case ScalarOp::kRem: return math("rem", x);
    case ScalarOp::kPow: return math("pow", x);
    case ScalarOp::kAtan2: return math("atan2", x);
    case ScalarOp::kCopy:
    case ScalarOp::kConvert:
    case ScalarOp::kBitcast:
    case ScalarOp::kSelect:
    case ScalarOp::kNot:
    case ScalarOp::kPopcount:
    case ScalarOp::kClz:
    case ScalarOp::kIsFinite:
    case ScalarOp::kIsNan:
    case ScalarOp::kIsInf:
    case ScalarOp::kAnd:
    case ScalarOp::kOr:
    case ScalarOp::kXor:
    case ScalarOp::kShl:
    case ScalarOp::kShrArithmetic:
    case ScalarOp::kShrLogical:
    case ScalarOp::kEq:
    case ScalarOp::kNe:
    case ScalarOp::kLt:
    case ScalarOp::kLe:
    case ScalarOp::kGt:
    case ScalarOp::kGe: break;
  }
  FW_CHECK(false) << ops::name(op) << " gives no float";
  return nullptr;
}

Scalars::V Scalars::float_test(ScalarOp op, const std::vector<V>& x) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  V a = x[0];
  V b = x.back();
  if (op == ScalarOp::kIsNan) return builder_.CreateFCmpUNO(a, a);
  if (op == ScalarOp::kIsInf) return builder_.CreateFCmpOEQ(unary(llvm::Intrinsic::fabs, a), like(a, kInfinity));
  if (op == ScalarOp::kIsFinite) return builder_.CreateFCmpOLT(unary(llvm::Intrinsic::fabs, a), like(a, kInfinity));
  if (op == ScalarOp::kEq) return builder_.CreateFCmpOEQ(a, b);
  if (op == ScalarOp::kNe) return builder_.CreateFCmpUNE(a, b);
  if (op == ScalarOp::kLt) return builder_.CreateFCmpOLT(a, b);
  if (op == ScalarOp::kLe) return builder_.CreateFCmpOLE(a, b);
  if (op == ScalarOp::kGt) return builder_.CreateFCmpOGT(a, b);
  FW_CHECK(op == ScalarOp::kGe) << ops::name(op) << " is no test of floats";
  return builder_.CreateFCmpOGE(a, b);
}

// --- Integers and pred ---------------------------------------------------------------------------------

Scalars::V Scalars::int_test(ScalarOp op, DType dtype, V a, V b) {
  const bool is_signed = ops::is_signed_integer(dtype);
  if (op == ScalarOp::kEq) return builder_.CreateICmpEQ(a, b);
  if (op == ScalarOp::kNe) return builder_.CreateICmpNE(a, b);
  if (op == ScalarOp::kLt) return is_signed ? builder_.CreateICmpSLT(a, b) : builder_.CreateICmpULT(a, b);
  if (op == ScalarOp::kLe) return is_signed ? builder_.CreateICmpSLE(a, b) : builder_.CreateICmpULE(a, b);
  if (op == ScalarOp::kGt) return is_signed ? builder_.CreateICmpSGT(a, b) : builder_.CreateICmpUGT(a, b);
  return is_signed ? builder_.CreateICmpSGE(a, b) : builder_.CreateICmpUGE(a, b);
}

// Division by zero and the one quotient that does not fit are undefined in LLVM: both divide by one instead.
Scalars::V Scalars::divide(ScalarOp op, DType dtype, V a, V b) {
  const bool is_signed = ops::is_signed_integer(dtype);
  V zero = like(b, std::int64_t{0}), one = like(b, std::int64_t{1});
  V by_zero = builder_.CreateICmpEQ(b, zero);
  V unsafe = by_zero;
  if (is_signed) {
    V lowest =
        llvm::ConstantInt::get(a->getType(), llvm::APInt::getSignedMinValue(a->getType()->getScalarSizeInBits()));
    V overflow =
        builder_.CreateAnd(builder_.CreateICmpEQ(b, like(b, std::int64_t{-1})), builder_.CreateICmpEQ(a, lowest));
    unsafe = builder_.CreateOr(by_zero, overflow);
  }
  V divisor = builder_.CreateSelect(unsafe, one, b);
  if (op == ScalarOp::kDiv) {
    V quotient = is_signed ? builder_.CreateSDiv(a, divisor) : builder_.CreateUDiv(a, divisor);
    return builder_.CreateSelect(by_zero, like(a, std::int64_t{-1}), quotient);
  }
  V rest = is_signed ? builder_.CreateSRem(a, divisor) : builder_.CreateURem(a, divisor);
  rest = builder_.CreateSelect(by_zero, a, rest);
  if (op == ScalarOp::kRem || !is_signed) return rest;
  V differ = builder_.CreateICmpSLT(builder_.CreateXor(rest, b), zero);
  V move =
      builder_.CreateAnd(differ, builder_.CreateAnd(builder_.CreateICmpNE(rest, zero), builder_.CreateNot(by_zero)));
  return builder_.CreateSelect(move, builder_.CreateAdd(rest, b), rest);
}

Scalars::V Scalars::shift(ScalarOp op, DType dtype, V value, V by) {
  const std::int64_t width = ops::bit_width(dtype);
  V inside = builder_.CreateICmpULT(by, like(by, width));
  V zero = like(value, std::int64_t{0});
  if (op == ScalarOp::kShrArithmetic)
    return builder_.CreateAShr(value, builder_.CreateSelect(inside, by, like(by, width - 1)));
  V count = builder_.CreateSelect(inside, by, zero);  // more would be poison
  V shifted = op == ScalarOp::kShl ? builder_.CreateShl(value, count) : builder_.CreateLShr(value, count);
  return builder_.CreateSelect(inside, shifted, zero);
}

// Square and multiply; a negative exponent is that of 1 / base^n, truncated.
Scalars::V Scalars::int_pow(DType dtype, V base, V exponent) {
  const bool is_signed = ops::is_signed_integer(dtype);
  llvm::Type* type = base->getType();
  const std::string name = "fw_int_pow_" + std::string(ops::name(dtype));
  llvm::Function* function = module_.getFunction(name);
  if (function == nullptr) {
    function = llvm::Function::Create(llvm::FunctionType::get(type, {type, type}, false),
                                      llvm::GlobalValue::InternalLinkage, name, module_);
    llvm::LLVMContext& context = module_.getContext();
    auto* entry = llvm::BasicBlock::Create(context, "", function);
    auto* loop = llvm::BasicBlock::Create(context, "", function);
    auto* done = llvm::BasicBlock::Create(context, "", function);
    llvm::IRBuilder<> b(entry);
    V x = function->getArg(0), n = function->getArg(1);
    V zero = like(x, std::int64_t{0}), one = like(x, std::int64_t{1});
    b.CreateBr(loop);
    b.SetInsertPoint(loop);
    auto* product = b.CreatePHI(type, 2);
    auto* square = b.CreatePHI(type, 2);
    auto* rest = b.CreatePHI(type, 2);
    V next = b.CreateSelect(b.CreateICmpEQ(b.CreateAnd(rest, one), zero), product, b.CreateMul(product, square));
    V halved = b.CreateLShr(rest, one);
    product->addIncoming(one, entry);
    product->addIncoming(next, loop);
    square->addIncoming(x, entry);
    square->addIncoming(b.CreateMul(square, square), loop);
    rest->addIncoming(n, entry);
    rest->addIncoming(halved, loop);
    b.CreateCondBr(b.CreateICmpEQ(halved, zero), done, loop);
    b.SetInsertPoint(done);
    V result = next;
    if (is_signed) {
      V even = b.CreateICmpEQ(b.CreateAnd(n, one), zero);
      V minus_one = like(x, std::int64_t{-1});
      V of_minus_one = b.CreateSelect(even, one, minus_one);
      V inverse = b.CreateSelect(b.CreateICmpEQ(x, minus_one), of_minus_one, zero);
      inverse = b.CreateSelect(b.CreateICmpEQ(x, one), one, inverse);
      result = b.CreateSelect(b.CreateICmpSLT(n, zero), inverse, next);
    }
    b.CreateRet(result);
  }
  return builder_.CreateCall(function, {base, exponent});
}

Scalars::V Scalars::int_op(ScalarOp op, DType dtype, const std::vector<V>& x) {
  using namespace llvm::Intrinsic;  // NOLINT: smax, umin, ...
  const bool is_signed = ops::is_signed_integer(dtype);
  const auto binary = [&](llvm::Intrinsic::ID s, llvm::Intrinsic::ID u, V a, V b) {
    return builder_.CreateBinaryIntrinsic(is_signed ? s : u, a, b);
  };
  switch (op) {
    case ScalarOp::kFloor:
    case ScalarOp::kCeil:
    case ScalarOp::kTrunc:
    case ScalarOp::kRoundEven:
    case ScalarOp::kRoundAway: return x[0];
    case ScalarOp::kAbs:
      return is_signed ? builder_.CreateBinaryIntrinsic(llvm::Intrinsic::abs, x[0], builder_.getFalse()) : x[0];
    case ScalarOp::kNeg: return builder_.CreateNeg(x[0]);
    case ScalarOp::kSign: {
      V low = like(x[0], std::int64_t{is_signed ? -1 : 0}), one = like(x[0], std::int64_t{1});
      return binary(smin, umin, binary(smax, umax, x[0], low), one);
    }
    case ScalarOp::kNot: return builder_.CreateNot(x[0]);
    case ScalarOp::kPopcount: return unary(ctpop, x[0]);
    case ScalarOp::kClz: return builder_.CreateBinaryIntrinsic(ctlz, x[0], builder_.getFalse());
    case ScalarOp::kAdd: return builder_.CreateAdd(x[0], x[1]);
    case ScalarOp::kSub: return builder_.CreateSub(x[0], x[1]);
    case ScalarOp::kMul: return builder_.CreateMul(x[0], x[1]);
    case ScalarOp::kDiv:
    case ScalarOp::kRem:
    case ScalarOp::kMod: return divide(op, dtype, x[0], x[1]);
    case ScalarOp::kPow:
      return by_lane(x, register_type(dtype),
                     [&](const std::vector<V>& one) { return int_pow(dtype, one[0], one[1]); });
    case ScalarOp::kMax: return binary(smax, umax, x[0], x[1]);
    case ScalarOp::kMin: return binary(smin, umin, x[0], x[1]);
    case ScalarOp::kAnd: return builder_.CreateAnd(x[0], x[1]);
    case ScalarOp::kOr: return builder_.CreateOr(x[0], x[1]);
    case ScalarOp::kXor: return builder_.CreateXor(x[0], x[1]);
    case ScalarOp::kShl:
    case ScalarOp::kShrArithmetic:
    case ScalarOp::kShrLogical: return shift(op, dtype, x[0], x[1]);
    case ScalarOp::kClamp: return binary(smin, umin, binary(smax, umax, x[1], x[0]), x[2]);
    case ScalarOp::kFma: return builder_.CreateAdd(builder_.CreateMul(x[0], x[1]), x[2]);
    case ScalarOp::kExp:
    case ScalarOp::kExpm1:
    case ScalarOp::kLog:
    case ScalarOp::kLog1p:
    case ScalarOp::kSqrt:
    case ScalarOp::kRsqrt:
    case ScalarOp::kCbrt:
    case ScalarOp::kSin:
    case ScalarOp::kCos:
    case ScalarOp::kTan:
    case ScalarOp::kAsin:
    case ScalarOp::kAcos:
    case ScalarOp::kAtan:
    case ScalarOp::kSinh:
    case ScalarOp::kCosh:
    case ScalarOp::kTanh:
    case ScalarOp::kAsinh:
    case ScalarOp::kAcosh:
    case ScalarOp::kAtanh:
    case ScalarOp::kLogistic:
    case ScalarOp::kErf:
    case ScalarOp::kAtan2:
    case ScalarOp::kIsFinite:
    case ScalarOp::kIsNan:
    case ScalarOp::kIsInf:
    case ScalarOp::kConvert:
    case ScalarOp::kBitcast:
    case ScalarOp::kCopy:
    case ScalarOp::kSelect:
    case ScalarOp::kEq:
    case ScalarOp::kNe:
    case ScalarOp::kLt:
    case ScalarOp::kLe:
    case ScalarOp::kGt:
    case ScalarOp::kGe: break;
  }
  FW_CHECK(false) << ops::name(op) << " of integers";
  return nullptr;
}

// Logic as logic; arithmetic as that of u8, whose result is then x != 0. A shift by one already empties a pred.
Scalars::V Scalars::pred_op(ScalarOp op, const std::vector<V>& x) {
  switch (op) {
    case ScalarOp::kNot: return builder_.CreateNot(x[0]);
    case ScalarOp::kAnd:
    case ScalarOp::kMin:
    case ScalarOp::kMul: return builder_.CreateAnd(x[0], x[1]);
    case ScalarOp::kOr:
    case ScalarOp::kMax:
    case ScalarOp::kAdd: return builder_.CreateOr(x[0], x[1]);
    case ScalarOp::kXor: return builder_.CreateXor(x[0], x[1]);
    case ScalarOp::kShl:
    case ScalarOp::kShrLogical: return builder_.CreateAnd(x[0], builder_.CreateNot(x[1]));
    case ScalarOp::kShrArithmetic: return x[0];
    default: break;
  }
  std::vector<V> bytes;
  for (V v : x) bytes.push_back(convert(DType::kPred, DType::kU8, v));
  return convert(DType::kU8, DType::kPred, int_op(op, DType::kU8, bytes));
}

// --- Functions -----------------------------------------------------------------------------------------

Scalars::V Scalars::by_lane(const std::vector<V>& args, llvm::Type* element,
                            const std::function<V(const std::vector<V>&)>& one) {
  const int lanes = lanes_of(args[0]->getType());
  if (lanes == 1) return one(args);
  V result = llvm::PoisonValue::get(with_lanes(element, lanes));
  for (int lane = 0; lane < lanes; ++lane) {
    std::vector<V> scalars;
    for (V arg : args) scalars.push_back(builder_.CreateExtractElement(arg, static_cast<std::uint64_t>(lane)));
    result = builder_.CreateInsertElement(result, one(scalars), static_cast<std::uint64_t>(lane));
  }
  return result;
}

Scalars::V Scalars::math_call(const char* function, const std::vector<V>& args) {
  llvm::Type* type = args[0]->getType();
  std::string name = std::string("fw_") + function + (type->getScalarSizeInBits() == 64 ? "_f64" : "_f32");
  if (type->isVectorTy()) name += "x" + std::to_string(lanes_of(type));
  std::vector<llvm::Type*> types(args.size(), type);
  return builder_.CreateCall(module_.getOrInsertFunction(name, llvm::FunctionType::get(type, types, false)), args);
}

Scalars::V Scalars::math(const char* function, const std::vector<V>& args) {
  llvm::Type* type = args[0]->getType();
  const int lanes = lanes_of(type);
  llvm::Type* element = type->getScalarType();
  if (lanes == 1) return math_call(function, args);
  if (!target_.vector_math)
    return by_lane(args, element, [&](const std::vector<V>& one) { return math_call(function, one); });

  // Vectors of 128 to 512 bits; narrower ones are filled up, wider ones go in pieces. Lanes are a power of two.
  const int bits = static_cast<int>(type->getScalarSizeInBits());
  const int width = std::clamp(lanes, 128 / bits, 512 / bits);
  if (lanes == width) return math_call(function, args);
  std::vector<V> pieces;
  for (int first = 0; first < lanes; first += width) {
    std::vector<int> mask;
    for (int lane = 0; lane < width; ++lane) mask.push_back(std::min(first + lane, lanes - 1));
    std::vector<V> parts;
    for (V arg : args) parts.push_back(builder_.CreateShuffleVector(arg, mask));
    pieces.push_back(math_call(function, parts));
  }
  for (; pieces.size() > 1;) {  // pairs, until one is left
    std::vector<V> joined;
    const int half = lanes_of(pieces[0]->getType());
    std::vector<int> mask;
    for (int lane = 0; lane < 2 * half; ++lane) mask.push_back(lane);
    for (std::size_t i = 0; i < pieces.size(); i += 2)
      joined.push_back(builder_.CreateShuffleVector(pieces[i], pieces[i + 1], mask));
    pieces = std::move(joined);
  }
  if (lanes >= width) return pieces[0];
  std::vector<int> mask;
  for (int lane = 0; lane < lanes; ++lane) mask.push_back(lane);
  return builder_.CreateShuffleVector(pieces[0], mask);
}

}  // namespace fusewright::backend_llvm
