#include "src/rule/spelling.hpp"

#include <algorithm>
#include <cctype>
#include <string_view>
#include <utility>
#include <vector>

#include "fusewright/ops/dtype.hpp"
#include "fusewright/support/diagnostic.hpp"
#include "src/rule/checker.hpp"

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
/// Our operators, each with its names in frameworks: in small letters without underscores, between spaces.
constexpr std::pair<std::string_view, std::string_view> kOperators[] = {
    {"dot", " matmul mm bmm batchmatmul gemm linear dense einsum dotgeneral "},
    {"conv", " convolution conv1d conv2d conv3d convtranspose "},
    {"logistic", " sigmoid "},
    {"reduce_mean", " mean "},
    {"reduce_sum", " sum "},
    {"reduce_prod", " prod "},
    {"reduce_max", " amax "},
    {"reduce_min", " amin "},
    {"slice", " split narrow "},
    {"transpose", " permutedims "},
    {"convert", " cast astype to "},
    {"concat", " concatenate cat "},
    {"select", " where "},
    {"max", " maximum "},
    {"min", " minimum "},
    {"mul", " multiply square "},
    {"sub", " subtract "},
    {"div", " divide truediv "},
    {"neg", " negate negative "},
    {"pow", " power "},
    {"exp", " exponential "},
    {"broadcast", " expand broadcastindim "},
    {"clamp", " clip clipbyvalue "},
    {"reverse", " flip rev "},
    {"reduce_window_max", " maxpool "},
    {"reduce_window_sum", " avgpool averagepool "},
    {"take", " embedding "},
    {"batch_norm", " batchnormalization "},
    {"layer_norm", " layernormalization "},
    {"group_norm", " groupnormalization "},
    {"silu", " swish "},
    {"reshape", " squeeze unsqueeze flatten view "},
    {"eq", " equal "},
    {"lt", " less "},
    {"gt", " greater "}};
/// Functions, likewise.
constexpr std::pair<std::string_view, std::string_view> kFunctions[] = {{"constant", " isconst isconstant const "},
                                                                        {"rank", " ndim ndims "}};
constexpr std::pair<std::string_view, std::string_view> kAttrs[] = {{"dim", "axis"},
                                                                    {"dim", "axes"},
                                                                    {"dims", "axes"},
                                                                    {"axis", "axes"},
                                                                    {"axes", "axis"},
                                                                    {"stride", "strides"},
                                                                    {"dilation", "rhs_dilation"},
                                                                    {"dilations", "rhs_dilation"},
                                                                    {"eps", "epsilon"},
                                                                    {"group", "groups"},
                                                                    {"permutation", "perm"},
                                                                    {"order", "perm"},
                                                                    {"feature_group_count", "groups"},
                                                                    {"kernel_size", "window"},
                                                                    {"type", "dtype"},
                                                                    {"to", "dtype"}};
constexpr std::pair<std::string_view, std::string_view> kAttrKinds[] = {
    {"integer", "int"}, {"number", "float"}, {"double", "float"}, {"boolean", "bool"}, {"str", "string"},
    {"text", "string"}, {"type", "dtype"},   {"axes", "ints"},    {"axis", "int"},     {"integers", "ints"}};
/// What has no attribute of its own.
constexpr std::pair<std::string_view, std::string_view> kNoAttrs[] = {
    {"keepdims", "a reduction drops its axes; unsqueeze(x, axes) puts them back"},
    {"keepdim", "a reduction drops its axes; unsqueeze(x, axes) puts them back"},
    {"padding", "it is numbers: pad_low = [...], pad_high = [...]"},
    {"pads", "it is numbers: pad_low = [...], pad_high = [...]"}};
constexpr std::pair<std::string_view, std::string_view> kMembers[] = {
    {"ndim", "rank"}, {"ndims", "rank"}, {"dims", "shape"}, {"numel", "size"}, {"type", "dtype"}};
constexpr std::string_view kNear[] = {"pred", "s8",  "s16",  "s32", "s64", "u8", "u16",
                                      "u32",  "u64", "bf16", "f16", "f32", "f64"};

}  // namespace

std::string dtype_of_others(const std::string& word) {
  for (const auto& [other, ours] : kSpellings) {
    if (other == word) return std::string(ours);
  }
  return {};
}

std::string dtype_meant(const std::string& written) {
  std::string word = written;
  std::ranges::transform(word, word.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  std::string meant = ops::dtype_from_name(word) ? word : dtype_of_others(word);
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

std::string kind_meant(const std::string& word, const std::vector<std::string>& known) {
  if (word == "list") return "a list is ints, floats, strings or a shape";
  for (const auto& [other, ours] : kAttrKinds)
    if (other == word) return "did you mean '" + std::string(ours) + "'?";
  return did_you_mean(word, known);
}

std::string attr_meant(const std::string& word, const std::vector<std::string>& known) {
  for (const auto& [other, ours] : kAttrs)
    if (other == word && std::ranges::find(known, ours) != known.end())
      return "did you mean '" + std::string(ours) + "'?";
  for (const auto& [other, hint] : kNoAttrs)
    if (other == word && (!word.starts_with("pad") || std::ranges::find(known, "pad_low") != known.end()))
      return std::string(hint);
  return did_you_mean(word, known);
}

std::string member_meant(const std::string& tensor, const std::string& word) {
  for (const auto& [other, ours] : kMembers)
    if (other == word) return "write " + std::string(ours) + "(" + tensor + ")";
  return is_function(word) ? "write " + word + "(" + tensor + ")" : "";
}

std::string clause_meant(const std::string& word) {
  for (const auto& [other, ours] : kClauses)
    if (other == word) return "did you mean '" + std::string(ours) + "'?";
  return {};
}

std::string operator_meant(const std::string& word, const std::vector<std::string>& known) {
  const auto plain = [](std::string_view name) {
    std::string letters;
    for (const char c : name)
      if (c != '_') letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return letters;
  };
  const std::string wanted = plain(word);
  for (const std::string& name : known)
    if (plain(name) == wanted) return "did you mean '" + name + "'?";
  for (const auto& [ours, others] : kOperators)
    if (others.find(" " + wanted + " ") != std::string_view::npos && std::ranges::find(known, ours) != known.end())
      return "the operator is named '" + std::string(ours) + "'";
  for (const auto& [ours, others] : kFunctions)
    if (others.find(" " + wanted + " ") != std::string_view::npos && std::ranges::find(known, ours) != known.end())
      return "the function is named '" + std::string(ours) + "'";
  return did_you_mean(word, known);
}

}  // namespace fusewright::rule
