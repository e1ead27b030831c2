#include <deque>

#include "src/ops/elaborate.hpp"

namespace fusewright::ops {
namespace {

// A composite may be made of composites; one that is made of itself, or doubles at each level, must end in an error.
struct Budget {
  std::size_t depth = 0;
  std::size_t nodes = 0;
};
constexpr std::size_t kDeepest = 32;
constexpr std::size_t kMostNodes = 1 << 18;

Result<std::vector<Type>> infer_within(const OpTable& table, OpId op, std::span<const Type> operands,
                                       const Attrs& attrs, Budget& budget);

// Values are types and nothing else.
class TypeBuilder final : public TermBuilder {
 public:
  TypeBuilder(const OpTable& table, Budget& budget) : table_(table), budget_(budget) {}

  TermValue add(Type type) {
    types_.push_back(std::move(type));
    return {types_.size() - 1};
  }

  Result<std::vector<TermValue>> apply(OpId op, const std::vector<std::optional<TermValue>>& operands,
                                       const Attrs& attrs, const Span& span) override {
    std::vector<Type> types;
    for (const auto& operand : operands) types.push_back(operand ? types_[operand->id] : Type());
    Result<std::vector<Type>> results = infer_within(table_, op, types, attrs, budget_);
    if (!results) return std::unexpected(with_place(std::move(results).error(), span));
    std::vector<TermValue> values;
    for (Type& type : *results) values.push_back(add(std::move(type)));
    return values;
  }

  const Type& type(TermValue value) override { return types_[value.id]; }

 private:
  const OpTable& table_;
  Budget& budget_;
  std::deque<Type> types_;  // references to elements stay valid
};

Result<std::vector<Type>> infer_within(const OpTable& table, OpId op, std::span<const Type> operands,
                                       const Attrs& attrs, Budget& budget) {
  if (++budget.nodes > kMostNodes)
    return fail(ErrorKind::kUnsupported, "the body of " + table[op].name + " has more than 2^18 nodes");
  if (!table[op].body) return table.infer(op, operands, attrs);
  if (budget.depth == kDeepest) return fail("the body of " + table[op].name + " nests too deep; is it made of itself?");
  ++budget.depth;
  TypeBuilder builder(table, budget);
  std::vector<std::optional<TermValue>> values;
  for (const Type& type : operands)
    values.push_back(type.is_tensor() ? std::optional(builder.add(type)) : std::nullopt);
  FW_TRY(const std::vector<TermValue> results, elaborate_body(table, op, values, attrs, builder));
  --budget.depth;
  std::vector<Type> types;
  for (const TermValue value : results) types.push_back(builder.type(value));
  return types;
}

}  // namespace

Result<std::vector<Type>> infer_composite(const OpTable& table, OpId op, std::span<const Type> operands,
                                          const Attrs& attrs) {
  Budget budget;
  return infer_within(table, op, operands, attrs, budget);
}

}  // namespace fusewright::ops
