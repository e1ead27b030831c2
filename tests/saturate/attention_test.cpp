#include "tests/saturate/helpers.hpp"

// Attention and rotary positions as exporters write them are found by their names; what is near them is not.

namespace fusewright::saturate {
namespace {

const std::string kProduct =
    "dot(q, k, lhs_batch = [0, 1], rhs_batch = [0, 1], lhs_contract = [3], rhs_contract = [3])";

/// Queries, keys and values [2, 4, 8, 16], weights `w` times the values; `lets` are made in order.
bool found(const std::vector<std::pair<const char*, std::string>>& lets, const std::string& name,
           const std::string& result = "") {
  Model m(library());
  for (const char* input : {"q", "k", "v"}) m.input(input, f32({2, 4, 8, 16}));
  m.input("bias", f32({2, 1, 1, 8}));
  m.input("cos", f32({8, 16}));
  m.input("sin", f32({8, 16}));
  m.input("mask", ops::Type::tensor(ops::DType::kPred, {Dim(2), Dim(4), Dim(8), Dim(8)}));
  for (const auto& [name_of, text] : lets) m.let(name_of, text);
  const Value value = m.eval(
      result.empty() ? "dot(w, v, lhs_batch = [0, 1], rhs_batch = [0, 1], lhs_contract = [3], rhs_contract = [2])"
                     : result);
  const Saturated s = must_saturate(m.finish({value}), library(), default_exactness());
  check_replays(s);
  return has_operator(s, value, name);
}

}  // namespace

TEST_CASE("attention is recognised scaled, divided, biased, masked, capped, or scaled before its product",
          "[saturate]") {
  for (const std::string& scores :
       {kProduct, kProduct + " * 0.3", kProduct + " / 3", kProduct + " * 0.3 + bias", kProduct + " / 3 + bias",
        "select(mask, " + kProduct + ", -1e9)", "select(mask, " + kProduct + " * 0.3, -1e9)",
        "select(mask, " + kProduct + " / 3, -1e9)", "tanh(" + kProduct + " * 0.3 / 50) * 50"}) {
    INFO(scores);
    CHECK(found({{"w", "softmax(" + scores + ")"}}, "attention"));
    CHECK_FALSE(found({{"w", "softmax(" + scores + ", axis = 2)"}}, "attention"));
  }
  const std::string scaled =
      "dot(q * 0.7, transpose(k, [0, 1, 3, 2]) * 0.7, lhs_batch = [0, 1], rhs_batch = [0, 1], "
      "lhs_contract = [3], rhs_contract = [2])";
  CHECK(found({{"w", "softmax(" + scaled + ")"}}, "attention"));
  CHECK_FALSE(found({{"w", "softmax(" + kProduct + " * 0.3) * 0.9"}}, "attention"));
  CHECK_FALSE(found({{"w", "softmax(select(mask, -1e9, " + kProduct + " * 0.3 * bias))"}}, "attention"));
}

TEST_CASE("rotary positions are recognised by halves and by pairs", "[saturate]") {
  const std::vector<std::pair<const char*, std::string>> halves = {
      {"a", "slice(q, [0, 0, 0, 0], [2, 4, 8, 8], [1, 1, 1, 1])"},
      {"b", "slice(q, [0, 0, 0, 8], [2, 4, 8, 16], [1, 1, 1, 1])"}};
  CHECK(found(halves, "rotary_embedding", "q * cos + concat(-b, a, axis = 3) * sin"));
  CHECK_FALSE(found(halves, "rotary_embedding", "q * cos + concat(-a, b, axis = 3) * sin"));
  CHECK_FALSE(found(halves, "rotary_embedding", "q * cos + concat(b, a, axis = 3) * sin"));
  CHECK_FALSE(found(halves, "rotary_embedding", "k * cos + concat(-b, a, axis = 3) * sin"));
  const std::vector<std::pair<const char*, std::string>> pairs = {
      {"a", "reshape(slice(q, [0, 0, 0, 0], [2, 4, 8, 16], [1, 1, 1, 2]), [2, 4, 8, 8, 1])"},
      {"b", "reshape(-slice(q, [0, 0, 0, 1], [2, 4, 8, 16], [1, 1, 1, 2]), [2, 4, 8, 8, 1])"}};
  CHECK(found(pairs, "rotary_embedding_of_pairs", "q * cos + reshape(concat(b, a, axis = 4), [2, 4, 8, 16]) * sin"));
  CHECK_FALSE(
      found(pairs, "rotary_embedding_of_pairs", "q * cos + reshape(concat(a, b, axis = 4), [2, 4, 8, 16]) * sin"));
}

}  // namespace fusewright::saturate
