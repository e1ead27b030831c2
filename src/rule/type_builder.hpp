#pragma once

#include <deque>

#include "fusewright/ops/expr.hpp"

namespace fusewright::rule {

/// Builds nothing but types, to see whether an expression makes sense and what it makes.
class TypeBuilder : public ops::TermBuilder {
 public:
  explicit TypeBuilder(const ops::OpTable& table) : table_(table) {}

  ops::TermValue add(ops::Type type) {
    types_.push_back(std::move(type));
    return {types_.size() - 1};
  }

  Result<std::vector<ops::TermValue>> apply(ops::OpId op, const std::vector<std::optional<ops::TermValue>>& operands,
                                            const ops::Attrs& attrs, const Span&) override {
    std::vector<ops::Type> types;
    for (const auto& operand : operands) types.push_back(operand ? types_[operand->id] : ops::Type());
    FW_TRY(const ops::Attrs complete, table_.complete_attrs(op, attrs, types));
    FW_TRY(std::vector<ops::Type> results, table_.infer(op, types, complete));
    std::vector<ops::TermValue> values;
    for (auto& type : results) values.push_back(add(std::move(type)));
    return values;
  }

  const ops::Type& type(ops::TermValue value) override { return types_[value.id]; }

 private:
  const ops::OpTable& table_;
  std::deque<ops::Type> types_;  // references to elements stay valid
};

}  // namespace fusewright::rule
