#include "fusewright/egraph/builder.hpp"

#include <algorithm>

namespace fusewright::egraph {
namespace {

bool has_value(const EGraph& egraph, EClassId c, double value) {
  const Fact fact = egraph.fact(c);
  return fact.has_splat() && egraph.facts().splat_of(fact).as_double() == value;
}

/// The place, where the error does not know a better one.
Error placed(Error error, const Span& span) {
  for (Diagnostic& diagnostic : error.diagnostics) {
    if (!diagnostic.span.valid()) diagnostic.span = span;
  }
  return error;
}

}  // namespace

Result<const Inferred*> TermBuilder::infer(OpId op, AttrsId attrs, std::span<const TypeId> operands, const Span& span) {
  std::uint64_t hash = hash_mix(op.index, attrs.index);
  for (const TypeId t : operands) hash = hash_mix(hash, t.index);
  for (auto [it, end] = by_hash_.equal_range(hash); it != end; ++it) {
    const Entry& entry = entries_[it->second];
    if (entry.op == op && entry.attrs == attrs && std::ranges::equal(entry.operands, operands)) return &entry.inferred;
  }
  const ops::OpTable& table = egraph_.table();
  std::vector<ops::Type> types;
  for (const TypeId t : operands) types.push_back(egraph_.type(t));
  Result<ops::Attrs> complete = table.complete_attrs(op, egraph_.attrs(attrs), types);
  if (!complete) return std::unexpected(placed(std::move(complete).error(), span));
  Result<std::vector<ops::Type>> results = table.infer(op, types, *complete);
  if (!results) return std::unexpected(placed(std::move(results).error(), span));

  Entry entry{op, attrs, {operands.begin(), operands.end()}, {}};
  entry.inferred.attrs = egraph_.intern(*complete);
  for (const ops::Type& type : *results) entry.inferred.results.push_back(egraph_.intern(type));
  entry.inferred.pack =
      results->size() == 1 ? entry.inferred.results[0] : egraph_.intern(ops::Type::tuple(*std::move(results)));
  entries_.push_back(std::move(entry));
  by_hash_.emplace(hash, static_cast<std::uint32_t>(entries_.size() - 1));
  return &entries_.back().inferred;
}

void TermBuilder::add(OpId op, std::span<const EClassId> operands, const Inferred& inferred,
                      std::vector<EClassId>& results) {
  results.clear();
  const ENodeId node = egraph_.add(op, inferred.attrs, operands, inferred.pack);
  if (inferred.results.size() == 1) {
    results.push_back(term(node));
    return;
  }
  for (std::uint32_t k = 0; k < inferred.results.size(); ++k) {
    results.push_back(term(egraph_.add_result(term(node), k, inferred.results[k])));
  }
}

Result<std::vector<ops::TermValue>> TermBuilder::apply(OpId op,
                                                       const std::vector<std::optional<ops::TermValue>>& operands,
                                                       const ops::Attrs& attrs, const Span& span) {
  operands_.clear();
  types_.clear();
  for (const auto& operand : operands) operands_.push_back(operand ? unpack(*operand) : egraph_.none());
  // Operands left out at the end are not written, so that equal nodes have equal operand lists.
  while (!operands_.empty() && operands_.back() == egraph_.none()) operands_.pop_back();
  for (const EClassId c : operands_) types_.push_back(egraph_.type_id(c));
  FW_TRY(const Inferred* inferred, infer(op, egraph_.intern(attrs), types_, span));
  std::vector<EClassId> results;
  add(op, operands_, *inferred, results);
  std::vector<ops::TermValue> values;
  for (const EClassId c : results) values.push_back(pack(c));
  return values;
}

Result<ops::AttrValue> TermBuilder::query(const std::string& function, const std::vector<ops::TermValue>& args,
                                          const Span& span) {
  const auto wrong_count = [&](std::size_t wanted) {
    return fail(function + "() takes " + std::to_string(wanted) + (wanted == 1 ? " value" : " values"), span);
  };
  if (function == "constant") {
    for (const ops::TermValue v : args) egraph_.note(unpack(v));
    return ops::AttrValue(
        std::ranges::all_of(args, [&](ops::TermValue v) { return egraph_.fact(unpack(v)).constant(); }));
  }
  if (function == "same") {
    if (args.size() != 2) return wrong_count(2);
    egraph_.note(unpack(args[0]), unpack(args[1]));
    return ops::AttrValue(egraph_.find(unpack(args[0])) == egraph_.find(unpack(args[1])));
  }
  const bool known = function == "splat" || function == "is_zero" || function == "is_one" || function == "value";
  if (!known) return ops::TermBuilder::query(function, args, span);
  if (args.size() != 1) return wrong_count(1);
  const EClassId c = unpack(args[0]);
  egraph_.note(c);
  if (function == "splat") return ops::AttrValue(egraph_.fact(c).has_splat());
  if (function == "is_zero") return ops::AttrValue(has_value(egraph_, c, 0));
  if (function == "is_one") return ops::AttrValue(has_value(egraph_, c, 1));
  if (!egraph_.fact(c).has_splat()) return fail("value() of a tensor that is not a constant of one value", span);
  const Splat& splat = egraph_.facts().splat_of(egraph_.fact(c));
  if (ops::is_float(splat.dtype)) return ops::AttrValue(splat.number);
  return ops::AttrValue(splat.integer);
}

Result<ops::TermValue> TermBuilder::fold(ops::TermValue value, const Span& span) {
  egraph_.note(unpack(value));
  if (egraph_.fact(unpack(value)).constant()) return value;
  return fail("fold { } of a value that is not constant", span);
}

}  // namespace fusewright::egraph
