#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>
#include <vector>

#include "fusewright/egraph/egraph.hpp"
#include "fusewright/ops/expr.hpp"

namespace fusewright::egraph {

/// What an operator gives on operands of these types, remembered: completed attributes and result types.
struct Inferred {
  AttrsId attrs;
  std::vector<TypeId> results;
  TypeId pack;  ///< of the node: the only result's, or the tuple of all
};

/// Elaborates terms straight into an e-graph. A TermValue holds the number of a term (ENodeId and EClassId alike).
///
/// Queries: constant(x, ...) - all can be computed at load; splat(x) - x is a constant of one value; is_zero(x),
/// is_one(x); value(x) - that value; same(x, y) - equal as far as is known.
class TermBuilder final : public ops::TermBuilder {
 public:
  explicit TermBuilder(EGraph& egraph) : egraph_(egraph) {}

  Result<std::vector<ops::TermValue>> apply(OpId op, const std::vector<std::optional<ops::TermValue>>& operands,
                                            const ops::Attrs& attrs, const Span& span) override;
  const ops::Type& type(ops::TermValue value) override { return egraph_.type(unpack(value)); }
  Result<ops::AttrValue> query(const std::string& function, const std::vector<ops::TermValue>& args,
                               const Span& span) override;
  /// Refused, as an error, when the value is not constant: rules must ask first.
  Result<ops::TermValue> fold(ops::TermValue value, const Span& span) override;

  /// The cached inference. The pointer stays valid.
  Result<const Inferred*> infer(OpId op, AttrsId attrs, std::span<const TypeId> operands, const Span& span);
  /// A node of inferred type. Returns its terms, one for each result.
  void add(OpId op, std::span<const EClassId> operands, const Inferred& inferred, std::vector<EClassId>& results);

  static ops::TermValue pack(EClassId c) { return {c.index}; }
  static EClassId unpack(ops::TermValue value) { return EClassId(static_cast<std::size_t>(value.id)); }

 private:
  struct Entry {
    OpId op;
    AttrsId attrs;
    std::vector<TypeId> operands;
    Inferred inferred;
  };

  EGraph& egraph_;
  std::deque<Entry> entries_;
  std::unordered_multimap<std::uint64_t, std::uint32_t> by_hash_;
  std::vector<EClassId> operands_;
  std::vector<TypeId> types_;
};

}  // namespace fusewright::egraph
