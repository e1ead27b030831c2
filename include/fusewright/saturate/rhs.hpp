#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "fusewright/egraph/builder.hpp"
#include "fusewright/egraph/ematch.hpp"
#include "fusewright/rule/rule.hpp"

namespace fusewright::saturate {

/// A right-hand side compiled to a stack machine: names of tensors, numbers beside tensors, and operators whose
/// attributes are the same in every match. What does not fit is elaborated by ops::elaborate instead, with the same
/// outcome.
struct Rhs {
  struct Code {
    enum class Kind : std::uint8_t { kRegister, kNumber, kApply };
    Kind kind = Kind::kRegister;
    std::uint16_t index = 0;  ///< kRegister: which; kApply: number of operands
    ops::OpId op = {};
    egraph::AttrsId attrs = {};
    std::uint32_t number = 0;  ///< index into numbers
    /// kApply: the inference that was asked for last, and of which operand types: mostly the next one is the same.
    std::array<egraph::TypeId, 3> seen_types = {};
    const egraph::Inferred* seen = nullptr;
  };
  std::vector<Code> code;
  std::vector<ops::AttrValue> numbers;
};
std::optional<Rhs> compile_rhs(egraph::EGraph& egraph, const match::PatternInfo& pattern, const ops::Expr& expr);

/// Runs compiled right-hand sides over one e-graph.
class RhsRunner {
 public:
  RhsRunner(egraph::EGraph& egraph, egraph::TermBuilder& builder) : egraph_(egraph), builder_(builder) {}

  /// The term, or nothing where operands would have to be broadcast or types do not fit.
  std::optional<egraph::EClassId> run(Rhs& rhs, const egraph::Decoded& match);
  /// Has the memory fetched that run() will read. Called again, once that has come, it sees what is to be read then.
  using Places = std::array<std::uint32_t, 4>;  ///< of the first nodes that run() makes: hashes, or 0
  void prefetch(const Rhs& rhs, const egraph::Decoded& match, Places& places);
  /// The constant of this type whose elements are all that number; nothing when its dtype has no such number.
  std::optional<egraph::EClassId> number_term(const ops::AttrValue& number, egraph::TypeId type);

 private:
  struct Operand {
    egraph::EClassId term;
    std::uint32_t number = kNoNumber;
  };
  static constexpr std::uint32_t kNoNumber = 0xffffffffU;

  bool apply(const Rhs& rhs, Rhs::Code& code);
  void push(egraph::EClassId term, std::uint32_t number = kNoNumber) {
    Operand& operand = stack_.emplace_back();
    operand.term = term;
    operand.number = number;
  }

  egraph::EGraph& egraph_;
  egraph::TermBuilder& builder_;
  std::vector<Operand> stack_;
  std::vector<egraph::EClassId> operands_, results_;
  std::vector<egraph::TypeId> types_;
  std::map<std::tuple<egraph::TypeId, std::size_t, std::uint64_t>, egraph::EClassId> number_terms_;  // type, kind, bits
};

/// `constant(x, y)`, `splat(x)`, `is_zero(x)`, `is_one(x)` of matched values: answered without an environment.
struct QuickGuard {
  enum class Kind : std::uint8_t { kConstant, kSplat, kIsZero, kIsOne };
  Kind kind = Kind::kConstant;
  std::uint32_t guard = 0;  ///< of the rule
  std::vector<std::uint16_t> registers;
};
std::optional<QuickGuard> compile_guard(const match::PatternInfo& pattern, const ops::Expr& expr);
bool holds(const egraph::EGraph& egraph, const QuickGuard& guard, const egraph::Decoded& match);

}  // namespace fusewright::saturate
