#include "src/rule/spelling.hpp"

#include <string_view>
#include <utility>
#include <vector>

#include "fusewright/ops/dtype.hpp"
#include "fusewright/support/diagnostic.hpp"

namespace fusewright::rule {

namespace {

constexpr std::pair<std::string_view, std::string_view> kSpellings[] = {
    {"float16", "f16"}, {"half", "f16"},   {"bfloat16", "bf16"}, {"float32", "f32"}, {"float", "f32"},
    {"fp16", "f16"},    {"fp32", "f32"},   {"float64", "f64"},   {"double", "f64"},  {"int8", "s8"},
    {"int16", "s16"},   {"int32", "s32"},  {"int64", "s64"},     {"int", "s64"},     {"i8", "s8"},
    {"i16", "s16"},     {"i32", "s32"},    {"i64", "s64"},       {"uint8", "u8"},    {"uint16", "u16"},
    {"uint32", "u32"},  {"uint64", "u64"}, {"bool", "pred"}};
constexpr std::pair<std::string_view, std::string_view> kClauses[] = {
    {"with", "to"},    {"becomes", "to"},    {"into", "to"},     {"rhs", "to"},       {"replace", "to"},
    {"then", "to"},    {"pattern", "match"}, {"lhs", "match"},   {"from", "match"},   {"find", "match"},
    {"when", "where"}, {"if", "where"},      {"guard", "where"}, {"example", "test"}, {"fails", "reject"}};
constexpr std::string_view kNear[] = {"pred", "s8",  "s16",  "s32", "s64", "u8", "u16",
                                      "u32",  "u64", "bf16", "f16", "f32", "f64"};

}  // namespace

std::string dtype_meant(const std::string& word) {
  std::string meant;
  for (const auto& [other, ours] : kSpellings) {
    if (other == word) meant = ours;
  }
  // A dtype is short, so that one letter too many or another digit is near and little else is.
  if (meant.empty() && word.size() > 1 && word.size() < 6) {
    std::vector<std::string> names;
    for (const std::string_view name : kNear) {
      if (name[0] == word[0]) names.emplace_back(name);
    }
    meant = nearest(word, names);
  }
  return meant.empty() ? "" : "did you mean '" + meant + "'?";
}

std::string clause_meant(const std::string& word) {
  for (const auto& [other, ours] : kClauses)
    if (other == word) return "did you mean '" + std::string(ours) + "'?";
  return {};
}

}  // namespace fusewright::rule
