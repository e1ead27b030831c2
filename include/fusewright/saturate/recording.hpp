#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "fusewright/egraph/builder.hpp"

namespace fusewright::saturate {

/// What the expressions of a rule asked and made of one match, and how they ended. Values are numbered: first the
/// registers of the match, then what the steps made.
struct Recording {
  static constexpr std::uint32_t kLeftOut = 0xffffffffU;

  struct Step {
    enum class Kind : std::uint8_t {
      kApply,  ///< a node; its results are the next values
      kGiven,  ///< a term that is there for any match; the next value
      kQuery,  ///< a question to the e-graph
      kFold,   ///< whether a value is known when the model is loaded
    };
    Kind kind = Kind::kApply;
    ops::OpId op = {};
    const egraph::Inferred* inferred = nullptr;
    egraph::EClassId term = {};
    std::uint32_t question = 0;          ///< kQuery, kFold: index into `questions`
    std::uint32_t first = 0, count = 0;  ///< its operands in `operands`
  };
  struct Question {
    std::string function;
    std::optional<ops::AttrValue> answer;  ///< none: it had no answer; of kFold: none, or true
  };
  enum class End : std::uint8_t { kMade, kGuard, kError };

  std::size_t registers = 0;  ///< of the match; a program that has grown since has more, which this rule does not use
  std::vector<Step> steps;
  std::vector<std::uint32_t> operands;  ///< values, or kLeftOut
  std::vector<Question> questions;
  End end = End::kMade;
  std::vector<std::uint32_t> made;     ///< kMade: what each root is equal to
  std::uint32_t guard = 0;             ///< kGuard: the one that does not hold
  std::shared_ptr<const Error> error;  ///< kError
};

/// Elaborates terms into an e-graph and keeps a record of it. A TermValue is the number of a value in the recording.
class Recorder final : public ops::TermBuilder {
 public:
  Recorder(egraph::EGraph& egraph, egraph::TermBuilder& builder) : egraph_(egraph), builder_(builder) {}

  /// Starts on a match with these registers.
  void begin(std::span<const egraph::EClassId> registers);
  /// Does as was done for another match. @returns false, with the values up to there made, where a question has
  /// another answer by now.
  bool play(const Recording& recording, std::span<const egraph::EClassId> registers);

  ops::TermValue given(egraph::EClassId term);
  egraph::EClassId term(ops::TermValue value) const { return values_[static_cast<std::size_t>(value.id)]; }
  Recording& recording() { return recording_; }

  Result<std::vector<ops::TermValue>> apply(ops::OpId op, const std::vector<std::optional<ops::TermValue>>& operands,
                                            const ops::Attrs& attrs, const Span& span) override;
  const ops::Type& type(ops::TermValue value) override { return egraph_.type(term(value)); }
  Result<ops::AttrValue> query(const std::string& function, const std::vector<ops::TermValue>& args,
                               const Span& span) override;
  Result<ops::TermValue> fold(ops::TermValue value, const Span& span) override;

 private:
  Recording::Step& step(Recording::Step::Kind kind, std::span<const ops::TermValue> operands);
  bool answers_alike(const Recording& recording, const Recording::Step& step);

  egraph::EGraph& egraph_;
  egraph::TermBuilder& builder_;
  Recording recording_;
  std::vector<egraph::EClassId> values_, operands_, results_;
  std::vector<egraph::TypeId> types_;
};

/// Recordings by all that the expressions of a rule can see of a match.
class Recordings {
 public:
  using Key = std::vector<std::uint32_t>;

  const Recording* find(const Key& key) const;
  /// Beyond a fixed number nothing more is kept: where no two matches look alike, it would not pay.
  void keep(const Key& key, const Recording& recording);

 private:
  struct Hash {
    std::size_t operator()(const Key& key) const;
  };
  std::unordered_map<Key, Recording, Hash> known_;
};

}  // namespace fusewright::saturate
