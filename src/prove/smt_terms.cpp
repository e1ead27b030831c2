#include "src/prove/smt_terms.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "fusewright/ops/float_format.hpp"

namespace fusewright::prove {

using graph::Graph;
using graph::Node;
using graph::Value;
using ops::DType;
using ops::ScalarOp;
using ops::Shape;
using Ints = std::vector<std::int64_t>;

namespace {

// f8e4m3fn has no infinities and is not an IEEE format.
std::optional<ops::FloatFormat> ieee_format(DType dtype) {
  const auto format = ops::float_format(dtype);
  return format && !format->finite_only ? format : std::nullopt;
}

}  // namespace

/// A polynomial's text, "2*n0*n1 + 3", read back: symbols are integers from one on. They are numbered anew as they are
/// met, so that terms that are alike but for the names of their extents come to one equation.
z3::expr TermReader::extent(const Dim& dim) {
  if (const auto value = dim.constant()) return c_.int_val(*value);
  z3::expr total = c_.int_val(0);
  std::istringstream terms(dim.to_string());
  bool minus = false;
  for (std::string term; terms >> term;) {
    if (term == "+" || term == "-") {
      minus = term == "-";
      continue;
    }
    z3::expr product = c_.int_val(minus ? -1 : 1);
    std::istringstream parts(term);
    for (std::string part; std::getline(parts, part, '*');) {
      const bool digits = part.find_first_not_of("0123456789-") == std::string::npos;
      if (!digits) part = extents_.emplace(part, fmt::format("n{}", extents_.size())).first->second;
      const z3::expr factor = digits ? c_.int_val(part.c_str()) : c_.int_const(part.c_str());
      if (!digits && assumed_.emplace(part, true).second) assumptions_.push_back(factor >= 1);
      product = product * factor;
    }
    total = total + product;
    minus = false;
  }
  return total.simplify();
}

std::vector<z3::expr> TermReader::assumptions() const {
  std::vector<z3::expr> out = assumptions_;
  out.insert(out.end(), sums_.assumptions().begin(), sums_.assumptions().end());
  return out;
}

/// An index below the extent, which is part of its name: indices of other extents are others.
z3::expr TermReader::bounded(const std::string& name, const Dim& limit) {
  const z3::expr n = extent(limit);
  const std::string full = name + "<" + n.to_string();
  const z3::expr i = c_.int_const(full.c_str());
  if (assumed_.emplace(full, true).second) {
    assumptions_.push_back(i >= 0);
    assumptions_.push_back(i < n);
  }
  return i;
}

z3::expr TermReader::linear_of(const Index& index, const Shape& shape) {
  if (index.linear) return *index.linear;
  z3::expr out = c_.int_val(0);
  for (std::size_t i = 0; i < shape.size(); ++i) out = shape[i] == Dim(1) ? out : out * extent(shape[i]) + index.at[i];
  return out.simplify();
}

/// Units may come and go; else only the row-major number is known.
std::optional<TermReader::Index> TermReader::reshaped(const Index& index, const Shape& to, const Shape& from) {
  Index out;
  out.linear = linear_of(index, to);
  std::vector<z3::expr> rest;
  Shape kept, wanted;
  for (std::size_t i = 0; i < to.size(); ++i)
    if (to[i] != Dim(1)) {
      kept.push_back(to[i]);
      if (!index.at.empty()) rest.push_back(index.at[i]);
    }
  for (const Dim& d : from)
    if (d != Dim(1)) wanted.push_back(d);
  if (kept != wanted || rest.size() != kept.size()) return out;  // `at` stays empty
  std::size_t next = 0;
  for (const Dim& d : from) out.at.push_back(d == Dim(1) ? c_.int_val(0) : rest[next++]);
  return out;
}

z3::sort TermReader::sort_of(DType dtype) {
  if (theory_ == Theory::kSymbols) return c_.uninterpreted_sort(fmt::format("{}", ops::name(dtype)).c_str());
  if (dtype == DType::kPred) return c_.bool_sort();
  if (theory_ == Theory::kReals) return c_.real_sort();
  if (const auto f = ieee_format(dtype))
    return c_.fpa_sort(static_cast<unsigned>(f->exponent_bits), static_cast<unsigned>(f->mantissa_bits + 1));
  if (ops::is_integer(dtype)) return c_.bv_sort(static_cast<unsigned>(ops::bit_width(dtype)));
  return c_.uninterpreted_sort(fmt::format("{}", ops::name(dtype)).c_str());
}

TermReader::Term TermReader::number(DType dtype, double value, std::int64_t integer) {
  const z3::sort sort = sort_of(dtype);
  const bool special = !std::isfinite(value);
  if (sort.is_bool()) return c_.bool_val(integer != 0);
  if (sort.is_real() && special) return std::nullopt;
  if (sort.is_real() && !ops::is_float(dtype)) return c_.real_val(std::to_string(integer).c_str());
  if (sort.is_real()) {
    // Exactly: a double is an integer over a power of two.
    int exponent = 0;
    const double mantissa = std::frexp(value, &exponent);
    const auto whole = static_cast<std::int64_t>(std::ldexp(mantissa, 53));
    z3::expr out = c_.real_val(std::to_string(whole).c_str());
    for (int e = exponent - 53; e != 0; e += e > 0 ? -1 : 1) out = e > 0 ? out * 2 : out / 2;
    return out.simplify();
  }
  if (sort.is_fpa()) return z3::expr(c_, Z3_mk_fpa_numeral_double(c_, value, sort));
  if (sort.is_bv()) return c_.bv_val(integer, sort.bv_size());
  const std::string name = ops::is_float(dtype) ? fmt::format("number {:a}", value) : fmt::format("number {}", integer);
  return c_.constant(name.c_str(), sort);
}

TermReader::Term TermReader::uninterpreted(const std::string& name, const std::vector<z3::expr>& arguments,
                                           const z3::sort& range) {
  z3::sort_vector domain(c_);
  z3::expr_vector values(c_);
  std::string full = name;
  for (const z3::expr& a : arguments) {
    domain.push_back(a.get_sort());
    values.push_back(a);
    full += ":" + a.get_sort().to_string();
  }
  return c_.function(full.c_str(), domain, range)(values);
}

TermReader::Term TermReader::result(const Graph& graph) {
  const Value root = graph.entry_computation().results[0];
  Index index;
  const Shape& shape = graph.type(root).shape;
  for (std::size_t i = 0; i < shape.size(); ++i) index.at.push_back(bounded(fmt::format("i{}", i), shape[i]));
  read_.clear();
  return read(graph, root, index, 0);
}

TermReader::Term TermReader::read(const Graph& graph, Value value, const Index& index, int depth) {
  std::vector<unsigned> key = {value.node.index, value.result, static_cast<unsigned>(depth)};
  for (const z3::expr& at : index.at) key.push_back(at.id());
  key.push_back(index.linear ? index.linear->id() : ~0U);
  if (const auto at = read_.find(key); at != read_.end()) return at->second.term;
  const Term term = read_first(graph, value, index, depth);
  read_.emplace(std::move(key), Read{index, term});
  return term;
}

TermReader::Term TermReader::read_first(const Graph& graph, Value value, const Index& index, int depth) {
  const Node& node = graph[value.node];
  const ops::OpInfo& op = graph.info(value.node);
  const ops::Type& type = graph.type(value);
  if (!type.is_tensor()) return std::nullopt;
  if (op.name == "parameter")
    return uninterpreted(fmt::format("parameter {}", node.attrs.get<std::int64_t>("index")),
                         {linear_of(index, type.shape)}, sort_of(type.dtype));
  if (op.name == "constant") {
    const ops::TensorHandle& t = node.attrs.get<ops::TensorHandle>("value");
    if (t->elements() == 0) return std::nullopt;
    return number(type.dtype, ops::get_double(*t, 0), ops::get_int(*t, 0));
  }
  if (op.name == "pad") return padded(graph, node, index, depth);
  if (op.op_class == ops::OpClass::kMovement) return movement(graph, node, op.name, index, depth);
  if (op.name == "dot") return dot(graph, node, index, depth);
  if (op.name == "conv") return conv(graph, node, index, depth);
  if (op.op_class == ops::OpClass::kWindow) return windows(graph, node, op.name, index, depth);
  if (op.op_class == ops::OpClass::kReduction && op.name.starts_with("reduce_"))
    return reduced(graph, node, op.name, index, depth);
  if (op.op_class != ops::OpClass::kElementwise) return std::nullopt;
  std::vector<z3::expr> operands;
  for (const Value o : node.operands) {
    const Term x = read(graph, o, index, depth);
    if (!x) return std::nullopt;
    operands.push_back(*x);
  }
  return scalar(op, node, operands, graph.type(node.operands[0]).dtype);
}

TermReader::Term TermReader::movement(const Graph& graph, const Node& node, const std::string& op, const Index& index,
                                      int depth) {
  const Shape& from = graph.type(node.operands[0]).shape;
  if (op == "reshape") {
    const auto below = reshaped(index, node.types[0].shape, from);
    return read(graph, node.operands[0], *below, depth);
  }
  if (index.at.size() != node.types[0].shape.size()) return std::nullopt;  // only its row-major number is known
  Index below;
  if (op == "broadcast") {
    for (const std::int64_t d : node.attrs.get<Ints>("dims")) below.at.push_back(index.at[static_cast<std::size_t>(d)]);
  } else if (op == "transpose") {
    const Ints& perm = node.attrs.get<Ints>("perm");
    below.at.assign(from.size(), c_.int_val(0));
    for (std::size_t i = 0; i < perm.size(); ++i) below.at[static_cast<std::size_t>(perm[i])] = index.at[i];
  } else if (op == "reverse") {
    below = {index.at, {}};
    for (const std::int64_t a : node.attrs.get<Ints>("axes")) {
      const auto axis = static_cast<std::size_t>(a);
      below.at[axis] = extent(from[axis]) - 1 - index.at[axis];
    }
  } else if (op == "concat" && node.operands.size() == 1) {
    below = index;
  } else {
    return std::nullopt;
  }
  for (z3::expr& e : below.at) e = e.simplify();
  return read(graph, node.operands[0], below, depth);
}

TermReader::Term TermReader::scalar(const ops::OpInfo& op, const Node& node, const std::vector<z3::expr>& x,
                                    DType from) {
  const DType to = node.types[0].dtype;
  std::string name = op.name;
  for (const auto& [attr, value] : node.attrs.entries()) name += fmt::format(" {}={}", attr, ops::to_string(value));
  std::vector<z3::expr> arguments = x;
  if (theory_ == Theory::kSymbols) {
    // The operands of a commutative operator in one order.
    if (op.commutative && arguments[0].hash() > arguments[1].hash()) std::swap(arguments[0], arguments[1]);
    return uninterpreted(name, arguments, sort_of(to));
  }
  if (op.scalar == ScalarOp::kSelect) return z3::ite(x[0], x[1], x[2]);
  Term out;
  if (op.scalar && x[0].is_bool())
    out = truth(*op.scalar, x);
  else if (op.scalar && x[0].is_real())
    out = real(*op.scalar, x);
  else if (op.scalar && x[0].is_fpa())
    out = ieee(*op.scalar, x, to);
  else if (op.scalar && x[0].is_bv())
    out = bits(*op.scalar, x, from);
  return out ? out : uninterpreted(name, arguments, sort_of(to));
}

TermReader::Term TermReader::truth(ScalarOp op, const std::vector<z3::expr>& x) {
  if (op == ScalarOp::kNot) return !x[0];
  if (op == ScalarOp::kAnd || op == ScalarOp::kMin) return x[0] && x[1];
  if (op == ScalarOp::kOr || op == ScalarOp::kMax) return x[0] || x[1];
  if (op == ScalarOp::kXor || op == ScalarOp::kNe) return x[0] != x[1];
  if (op == ScalarOp::kEq) return x[0] == x[1];
  if (op == ScalarOp::kLt) return !x[0] && x[1];
  if (op == ScalarOp::kGt) return x[0] && !x[1];
  if (op == ScalarOp::kLe) return !x[0] || x[1];
  if (op == ScalarOp::kGe) return x[0] || !x[1];
  return std::nullopt;
}

TermReader::Term TermReader::real(ScalarOp op, const std::vector<z3::expr>& x) {
  const z3::expr zero = c_.real_val(0), one = c_.real_val(1);
  if (op == ScalarOp::kAdd) return x[0] + x[1];
  if (op == ScalarOp::kSub) return x[0] - x[1];
  if (op == ScalarOp::kMul) return x[0] * x[1];
  if (op == ScalarOp::kNeg) return -x[0];
  if (op == ScalarOp::kAbs) return z3::ite(x[0] < 0, -x[0], x[0]);
  if (op == ScalarOp::kMax) return z3::ite(x[0] < x[1], x[1], x[0]);
  if (op == ScalarOp::kMin) return z3::ite(x[1] < x[0], x[1], x[0]);
  if (op == ScalarOp::kClamp) {
    const z3::expr raised = z3::ite(x[1] < x[0], x[0], x[1]);
    return z3::ite(x[2] < raised, x[2], raised);
  }
  if (op == ScalarOp::kSign) return z3::ite(x[0] > 0, one, z3::ite(x[0] < 0, -one, zero));
  if (op == ScalarOp::kDiv) {
    assumptions_.push_back(x[1] != zero);
    return x[0] / x[1];
  }
  if (op == ScalarOp::kSqrt || op == ScalarOp::kRsqrt) {
    const Term root = uninterpreted("sqrt", {x[0]}, c_.real_sort());
    assumptions_.push_back(*root >= 0 && *root * *root == x[0]);  // of what is not negative
    if (op == ScalarOp::kSqrt) return root;
    assumptions_.push_back(*root != zero);
    return one / *root;
  }
  if (op == ScalarOp::kEq) return x[0] == x[1];
  if (op == ScalarOp::kNe) return x[0] != x[1];
  if (op == ScalarOp::kLt) return x[0] < x[1];
  if (op == ScalarOp::kLe) return x[0] <= x[1];
  if (op == ScalarOp::kGt) return x[0] > x[1];
  if (op == ScalarOp::kGe) return x[0] >= x[1];
  return std::nullopt;
}

TermReader::Term TermReader::ieee(ScalarOp op, const std::vector<z3::expr>& x, DType to) {
  const auto made = [&](Z3_ast ast) { return z3::expr(c_, ast); };
  const z3::expr nearest = made(Z3_mk_fpa_rne(c_));
  const auto nan = [&](const z3::expr& e) { return made(Z3_mk_fpa_is_nan(c_, e)); };
  const auto less = [&](const z3::expr& a, const z3::expr& b) { return made(Z3_mk_fpa_lt(c_, a, b)); };
  const auto rounded = [&](Z3_ast mode) { return made(Z3_mk_fpa_round_to_integral(c_, mode, x[0])); };
  // The evaluator's own: NaN wins, of two equal ones the first.
  const auto larger = [&](const z3::expr& a, const z3::expr& b) {
    return z3::ite(nan(a), a, z3::ite(nan(b), b, z3::ite(less(a, b), b, a)));
  };
  const auto smaller = [&](const z3::expr& a, const z3::expr& b) {
    return z3::ite(nan(a), a, z3::ite(nan(b), b, z3::ite(less(b, a), b, a)));
  };
  if (op == ScalarOp::kAdd) return made(Z3_mk_fpa_add(c_, nearest, x[0], x[1]));
  if (op == ScalarOp::kSub) return made(Z3_mk_fpa_sub(c_, nearest, x[0], x[1]));
  if (op == ScalarOp::kMul) return made(Z3_mk_fpa_mul(c_, nearest, x[0], x[1]));
  if (op == ScalarOp::kDiv) return made(Z3_mk_fpa_div(c_, nearest, x[0], x[1]));
  if (op == ScalarOp::kSqrt) return made(Z3_mk_fpa_sqrt(c_, nearest, x[0]));
  if (op == ScalarOp::kNeg) return made(Z3_mk_fpa_neg(c_, x[0]));
  if (op == ScalarOp::kAbs) return made(Z3_mk_fpa_abs(c_, x[0]));
  if (op == ScalarOp::kMax) return larger(x[0], x[1]);
  if (op == ScalarOp::kMin) return smaller(x[0], x[1]);
  if (op == ScalarOp::kClamp) return smaller(larger(x[1], x[0]), x[2]);
  if (op == ScalarOp::kFloor) return rounded(Z3_mk_fpa_rtn(c_));
  if (op == ScalarOp::kCeil) return rounded(Z3_mk_fpa_rtp(c_));
  if (op == ScalarOp::kTrunc) return rounded(Z3_mk_fpa_rtz(c_));
  if (op == ScalarOp::kRoundEven) return rounded(nearest);
  if (op == ScalarOp::kRoundAway) return rounded(Z3_mk_fpa_rna(c_));
  if (op == ScalarOp::kEq) return made(Z3_mk_fpa_eq(c_, x[0], x[1]));
  if (op == ScalarOp::kNe) return !made(Z3_mk_fpa_eq(c_, x[0], x[1]));
  if (op == ScalarOp::kLt) return less(x[0], x[1]);
  if (op == ScalarOp::kLe) return made(Z3_mk_fpa_leq(c_, x[0], x[1]));
  if (op == ScalarOp::kGt) return less(x[1], x[0]);
  if (op == ScalarOp::kGe) return made(Z3_mk_fpa_leq(c_, x[1], x[0]));
  if (op == ScalarOp::kIsNan) return nan(x[0]);
  if (op == ScalarOp::kIsInf) return made(Z3_mk_fpa_is_infinite(c_, x[0]));
  if (op == ScalarOp::kConvert && ieee_format(to)) return made(Z3_mk_fpa_to_fp_float(c_, nearest, x[0], sort_of(to)));
  return std::nullopt;
}

TermReader::Term TermReader::bits(ScalarOp op, const std::vector<z3::expr>& x, DType dtype) {
  const bool is_signed = ops::is_signed_integer(dtype);
  const z3::expr zero = c_.bv_val(0, x[0].get_sort().bv_size());
  const auto less = [&](const z3::expr& a, const z3::expr& b) { return is_signed ? a < b : z3::ult(a, b); };
  if (op == ScalarOp::kAdd) return x[0] + x[1];
  if (op == ScalarOp::kSub) return x[0] - x[1];
  if (op == ScalarOp::kMul) return x[0] * x[1];
  if (op == ScalarOp::kDiv) return z3::ite(x[1] == zero, ~zero, is_signed ? x[0] / x[1] : z3::udiv(x[0], x[1]));
  if (op == ScalarOp::kNeg) return -x[0];
  if (op == ScalarOp::kAbs) return is_signed ? z3::ite(x[0] < 0, -x[0], x[0]) : x[0];
  if (op == ScalarOp::kNot) return ~x[0];
  if (op == ScalarOp::kAnd) return x[0] & x[1];
  if (op == ScalarOp::kOr) return x[0] | x[1];
  if (op == ScalarOp::kXor) return x[0] ^ x[1];
  if (op == ScalarOp::kMax) return z3::ite(less(x[0], x[1]), x[1], x[0]);
  if (op == ScalarOp::kMin) return z3::ite(less(x[1], x[0]), x[1], x[0]);
  if (op == ScalarOp::kEq) return x[0] == x[1];
  if (op == ScalarOp::kNe) return x[0] != x[1];
  if (op == ScalarOp::kLt) return less(x[0], x[1]);
  if (op == ScalarOp::kGt) return less(x[1], x[0]);
  if (op == ScalarOp::kLe) return !less(x[1], x[0]);
  if (op == ScalarOp::kGe) return !less(x[0], x[1]);
  return std::nullopt;
}

}  // namespace fusewright::prove
