#include "fusewright/egraph/facts.hpp"

#include <array>
#include <bit>
#include <string_view>

#include "fusewright/support/ids.hpp"

namespace fusewright::egraph {
namespace {

// The contents of larger tensors are never read: weights are handles.
constexpr std::size_t kSplatBytes = 4096;

constexpr std::array<std::string_view, 6> kMoving = {"broadcast", "reshape", "transpose", "reverse", "slice", "take"};

std::optional<Splat> splat_of_tensor(const ops::Tensor& tensor) {
  const std::int64_t count = tensor.elements();
  const auto width = static_cast<std::size_t>(ops::byte_width(tensor.dtype));
  if (count == 0 || tensor.bytes() > kSplatBytes) return std::nullopt;
  const std::byte* data = tensor.data();
  for (std::size_t i = width; i < tensor.bytes(); ++i) {
    if (data[i] != data[i - width]) return std::nullopt;
  }
  if (ops::is_float(tensor.dtype)) return Splat{tensor.dtype, ops::get_double(tensor, 0), 0};
  if (ops::is_integer(tensor.dtype) || tensor.dtype == ops::DType::kPred) {
    return Splat{tensor.dtype, 0, ops::get_int(tensor, 0)};
  }
  return std::nullopt;  // complex: no scalar to hold it
}

}  // namespace

bool operator==(const Splat& a, const Splat& b) {
  return a.dtype == b.dtype && a.integer == b.integer &&
         std::bit_cast<std::uint64_t>(a.number) == std::bit_cast<std::uint64_t>(b.number);
}

Facts::Facts(const ops::OpTable& table) {
  kinds_.reserve(table.size());
  for (std::size_t i = 0; i < table.size(); ++i) {
    const ops::OpInfo& info = table[ops::OpId(i)];
    Kind kind = Kind::kPure;
    switch (info.op_class) {
      case ops::OpClass::kControl:
      case ops::OpClass::kEffect:
      case ops::OpClass::kUninterpreted: kind = Kind::kNothing; break;
      case ops::OpClass::kSource:
        if (info.name == "parameter") kind = Kind::kNothing;
        if (info.name == "constant") kind = Kind::kConstant;
        break;
      case ops::OpClass::kMovement:
      case ops::OpClass::kIndexing:
        for (const std::string_view name : kMoving) {
          if (info.name == name) kind = Kind::kMoves;
        }
        break;
      case ops::OpClass::kElementwise:
      case ops::OpClass::kReduction:
      case ops::OpClass::kContraction:
      case ops::OpClass::kConvolution:
      case ops::OpClass::kWindow:
      case ops::OpClass::kSort:
      case ops::OpClass::kScan:
      case ops::OpClass::kComposite: break;
    }
    kinds_.push_back(kind);
  }
}

Fact Facts::splat(const Splat& value) {
  std::uint64_t hash = hash_mix(static_cast<std::uint64_t>(value.dtype), std::bit_cast<std::uint64_t>(value.number));
  hash = hash_mix(hash, static_cast<std::uint64_t>(value.integer));
  auto [begin, end] = by_hash_.equal_range(hash);
  for (; begin != end; ++begin) {
    if (splats_[begin->second] == value) return {((begin->second + 1) << 1) | 1};
  }
  if (splats_.size() == splats_.capacity()) splats_.reserve(2 * splats_.size() + 8);
  by_hash_.emplace(hash, static_cast<std::uint32_t>(splats_.size()));
  splats_.push_back(value);  // has room: no value may get two numbers, nor an entry stand for none
  return {(static_cast<std::uint32_t>(splats_.size()) << 1) | 1};
}

Fact Facts::of_node(ops::OpId op, const ops::Attrs& attrs, std::span<const Fact> operands) {
  if (!may_know(op)) return {};
  const Kind kind = kinds_[op.index];
  if (kind == Kind::kConstant) {
    const ops::AttrValue* value = attrs.find("value");
    if (value == nullptr || !std::holds_alternative<ops::TensorHandle>(*value)) return constant();
    const auto splat_value = splat_of_tensor(*std::get<ops::TensorHandle>(*value));
    return splat_value ? splat(*splat_value) : constant();
  }
  Fact fact = constant();
  for (const Fact operand : operands) fact.word &= operand.word;
  fact.word &= 1;
  if (kind == Kind::kMoves && !operands.empty() && operands[0].has_splat() && fact.constant()) return operands[0];
  return fact;
}

std::optional<Fact> Facts::join(Fact a, Fact b) const {
  if (a.has_splat() && b.has_splat() && a != b) return std::nullopt;
  return Fact{a.has_splat() ? a.word : b.has_splat() ? b.word : (a.word | b.word)};
}

}  // namespace fusewright::egraph
