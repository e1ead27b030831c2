#include <algorithm>
#include <map>

#include "src/frontend/onnx/call.hpp"

namespace fusewright::frontend_onnx {

namespace {

using Values = std::vector<Value>;

}  // namespace

Value emit_matmul(Emitter& e, Value a, Value b, DType dtype) {
  const bool vector_a = e.rank(a) == 1;
  if (e.rank(a) == 0 || e.rank(b) == 0) refuse("an operand is a scalar");
  const std::int64_t rank_a = e.rank(a);
  const Ints da = e.dims(a), db = e.dims(b);
  // A matrix or vector on the right has no batch of its own: all axes of the left one but the last are free.
  if (e.rank(b) <= 2) {
    return e.op("dot", {a, b}, {{"lhs_contract", Ints{rank_a - 1}}, {"rhs_contract", Ints{0}}, {"dtype", dtype}});
  }
  if (vector_a) a = e.reshape(a, {1, da[0]});
  const Ints left = e.dims(a);
  const Ints batch = broadcast_dims({left.begin(), left.end() - 2}, {db.begin(), db.end() - 2});
  const auto widen = [&](Value x) {
    const Ints own = e.dims(x);
    Ints dims = batch;
    dims.insert(dims.end(), own.end() - 2, own.end());
    return e.align(x, dims);
  };
  a = widen(a);
  b = widen(b);
  const auto n = static_cast<std::int64_t>(batch.size());
  Value out = e.op("dot", {a, b},
                   {{"lhs_batch", count_up(n)},
                    {"rhs_batch", count_up(n)},
                    {"lhs_contract", Ints{n + 1}},
                    {"rhs_contract", Ints{n}},
                    {"dtype", dtype}});
  if (vector_a) {
    Ints dims = e.dims(out);
    dims.erase(dims.end() - 2);
    out = e.reshape(out, dims);
  }
  return out;
}

namespace {

Values matmul(Call& c) { return {emit_matmul(c.e, c.in(0), c.in(1), c.e.dtype(c.in(0)))}; }

}  // namespace

Value emit_gemm(Call& c) {
  const Value a = c.in(0), b = c.in(1);
  if (c.e.rank(a) != 2 || c.e.rank(b) != 2) refuse("its operands are not matrices");
  const Ints lhs = {c.int_attr("transA", 0) != 0 ? 0 : 1};
  const Ints rhs = {c.int_attr("transB", 0) != 0 ? 1 : 0};
  Value out = c.e.op("dot", {a, b}, {{"lhs_contract", lhs}, {"rhs_contract", rhs}, {"dtype", c.e.dtype(a)}});
  if (const double alpha = c.float_attr("alpha", 1); alpha != 1) out = c.e.binary("mul", out, alpha);
  const double beta = c.float_attr("beta", 1);
  if (!c.has(2) || beta == 0) return out;
  Value bias = c.in(2);
  if (beta != 1) bias = c.e.binary("mul", bias, beta);
  return c.e.op("add", {out, c.e.align(bias, c.e.dims(out))});
}

namespace {

Values gemm(Call& c) { return {emit_gemm(c)}; }

// --- Einsum: operand by operand, each pair one dot --------------------------------------------------

// Labels are letters; the axes of an ellipsis get the numbers 256, 257, ... counted from its end.
using Labels = std::vector<int>;
struct Term {
  Value value;
  Labels labels;
};
constexpr int kEllipsis = 256;

Labels parse_labels(const std::string& text, std::int64_t rank) {
  Labels labels;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (std::isalpha(static_cast<unsigned char>(text[i]))) {
      labels.push_back(text[i]);
    } else if (text.compare(i, 3, "...") == 0) {
      const auto letters = static_cast<std::int64_t>(
          std::count_if(text.begin(), text.end(), [](unsigned char ch) { return std::isalpha(ch); }));
      for (std::int64_t k = rank - letters; k > 0; --k) labels.push_back(kEllipsis + static_cast<int>(k) - 1);
      i += 2;
    } else {
      refuse("the equation has '" + text.substr(i, 1) + "' where a letter should stand");
    }
  }
  return labels;
}

std::int64_t position(const Labels& labels, int label) {
  return std::find(labels.begin(), labels.end(), label) - labels.begin();
}
bool contains(const Labels& labels, int label) {
  return position(labels, label) < static_cast<std::int64_t>(labels.size());
}

// A label that stands twice in one operand takes its diagonal.
Term take_diagonals(Emitter& e, Term term) {
  for (std::size_t i = 0; i < term.labels.size(); ++i) {
    for (std::size_t j = i + 1; j < term.labels.size(); ++j) {
      if (term.labels[i] != term.labels[j]) continue;
      const Ints dims = e.dims(term.value);
      if (dims[i] != dims[j]) refuse("axes with the same letter have different extents");
      const auto ai = static_cast<std::int64_t>(i), aj = static_cast<std::int64_t>(j);
      const Value on = e.op("eq", {e.iota(DType::kS64, dims, ai), e.iota(DType::kS64, dims, aj)});
      const Value masked = e.select(on, term.value, e.scalar(e.dtype(term.value), 0));
      term.value = e.op("reduce_sum", {masked}, {{"axes", Ints{aj}}});
      term.labels.erase(term.labels.begin() + static_cast<std::ptrdiff_t>(j));
      --j;
    }
  }
  return term;
}

Term sum_out(Emitter& e, Term term, const Labels& needed) {
  Ints axes;
  Labels kept;
  for (std::size_t i = 0; i < term.labels.size(); ++i) {
    if (contains(needed, term.labels[i]))
      kept.push_back(term.labels[i]);
    else
      axes.push_back(static_cast<std::int64_t>(i));
  }
  if (!axes.empty()) term.value = e.op("reduce_sum", {term.value}, {{"axes", axes}});
  term.labels = kept;
  return term;
}

// Extents of 1 broadcast (they come from ellipses): they are dropped where the other side is longer.
Term drop_units(Emitter& e, Term term, const Term& other) {
  Ints dims = e.dims(term.value), kept;
  const Ints others = e.dims(other.value);
  Labels labels;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const std::int64_t at = position(other.labels, term.labels[i]);
    if (dims[i] == 1 && at < static_cast<std::int64_t>(others.size()) && others[at] != 1) continue;
    kept.push_back(dims[i]);
    labels.push_back(term.labels[i]);
  }
  return {e.reshape(term.value, kept), labels};
}

Term contract(Emitter& e, Term a, Term b, const Labels& needed) {
  Labels wide = needed;
  wide.insert(wide.end(), b.labels.begin(), b.labels.end());
  a = sum_out(e, a, wide);
  wide = needed;
  wide.insert(wide.end(), a.labels.begin(), a.labels.end());
  b = sum_out(e, b, wide);
  const Term a_full = a;
  a = drop_units(e, a, b);
  b = drop_units(e, b, a_full);
  Ints lhs_batch, rhs_batch, lhs_contract, rhs_contract;
  Labels labels, lhs_free, rhs_free;
  for (const int label : a.labels) {
    if (!contains(b.labels, label)) {
      lhs_free.push_back(label);
    } else if (contains(needed, label)) {
      lhs_batch.push_back(position(a.labels, label));
      rhs_batch.push_back(position(b.labels, label));
      labels.push_back(label);
    } else {
      lhs_contract.push_back(position(a.labels, label));
      rhs_contract.push_back(position(b.labels, label));
    }
  }
  for (const int label : b.labels) {
    if (!contains(a.labels, label)) rhs_free.push_back(label);
  }
  labels.insert(labels.end(), lhs_free.begin(), lhs_free.end());
  labels.insert(labels.end(), rhs_free.begin(), rhs_free.end());
  const Value out = e.op("dot", {a.value, b.value},
                         {{"lhs_batch", lhs_batch},
                          {"rhs_batch", rhs_batch},
                          {"lhs_contract", lhs_contract},
                          {"rhs_contract", rhs_contract},
                          {"dtype", e.dtype(a.value)}});
  return {out, labels};
}

Values einsum(Call& c) {
  std::string equation = c.string_attr("equation");
  std::erase_if(equation, [](char ch) { return ch == ' ' || ch == '\t'; });
  const std::size_t arrow = equation.find("->");
  const std::string left = equation.substr(0, arrow);
  std::vector<Term> terms;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < c.input_count(); ++i) {
    const std::size_t end = std::min(left.find(',', begin), left.size());
    if (begin > left.size()) refuse("the equation has fewer terms than there are operands");
    const std::int64_t rank = c.e.rank(c.in(i));
    Labels labels = parse_labels(left.substr(begin, end - begin), rank);
    if (static_cast<std::int64_t>(labels.size()) != rank)
      refuse("term " + std::to_string(i) + " of the equation does not fit rank " + std::to_string(rank));
    terms.push_back(take_diagonals(c.e, {c.in(i), std::move(labels)}));
    begin = end + 1;
  }
  if (begin <= left.size()) refuse("the equation has more terms than there are operands");
  if (terms.empty()) refuse("it has no operands");

  std::map<int, int> counts;
  int ellipsis = 0;
  for (const Term& term : terms) {
    for (const int label : term.labels) {
      ++counts[label];
      if (label >= kEllipsis) ellipsis = std::max(ellipsis, label - kEllipsis + 1);
    }
  }
  Labels output;
  if (arrow != std::string::npos) {
    const std::string right = equation.substr(arrow + 2);
    const auto letters = std::count_if(right.begin(), right.end(), [](unsigned char ch) { return std::isalpha(ch); });
    output = parse_labels(right, right.find("...") == std::string::npos ? letters : letters + ellipsis);
  } else {
    // Implicit: the ellipsis, then the letters that stand once, sorted; a diagonal counts twice in the text.
    for (int k = ellipsis; k > 0; --k) output.push_back(kEllipsis + k - 1);
    for (const auto& [label, count] : counts) {
      if (label < kEllipsis && std::count(left.begin(), left.end(), static_cast<char>(label)) == 1)
        output.push_back(label);
    }
  }
  for (const int label : output) {
    if (!counts.contains(label)) refuse("the equation's result has a letter that no operand has");
  }
  Term result = terms[0];
  for (std::size_t i = 1; i < terms.size(); ++i) {
    Labels needed = output;
    for (std::size_t j = i + 1; j < terms.size(); ++j)
      needed.insert(needed.end(), terms[j].labels.begin(), terms[j].labels.end());
    result = contract(c.e, result, terms[i], needed);
  }
  result = sum_out(c.e, result, output);
  Ints perm;
  for (const int label : output) perm.push_back(position(result.labels, label));
  if (perm.size() != result.labels.size()) refuse("the equation's result names a letter twice");
  return {c.e.transpose(result.value, perm)};
}

}  // namespace

std::vector<OperatorRow> contraction_operators() { return {{"MatMul", matmul}, {"Gemm", gemm}, {"Einsum", einsum}}; }

}  // namespace fusewright::frontend_onnx
