#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fusewright/support/diagnostic.hpp"

namespace fusewright::prove {

/// An instance on which the two sides of a rule differ.
struct Counterexample {
  std::string reject;  ///< the instance in the rule language, as a `reject` block
  std::string values;  ///< the inputs, where values matter: "x = [1, -0]"
  std::string reason;  ///< what differs: "element [0] is 0, expected -0"
};

/// What is known of one rule.
struct Verdict {
  enum class Kind : std::uint8_t {
    kProved,     ///< by a solver, for all sizes or all numbers that `theory` says; the bounded space agrees
    kExhausted,  ///< every instance of the stated space agrees
    kSampled,    ///< every instance that was tried agrees, but of some levels of the space only a part was
    kRefuted,
    kUndecided,  ///< anything else; `reason` says what stands in the way
  };
  enum class Subject : std::uint8_t { kRewrite, kOp, kFuse };

  std::string rule;
  Subject subject = Subject::kRewrite;
  std::string exactness;
  Span span;
  Kind kind = Kind::kUndecided;
  std::string theory;           ///< of a proof
  std::string space;            ///< that was searched: levels with their counts
  std::string demands;          ///< what the exactness class asks of the numbers
  std::uint64_t instances = 0;  ///< that matched and were compared
  std::uint64_t refused = 0;    ///< of the pattern's form, but not matched or refused by a guard
  std::string reason;           ///< kUndecided
  std::optional<Counterexample> counterexample;
  double seconds = 0;
};
std::string_view name(Verdict::Kind kind);
std::string_view name(Verdict::Subject subject);

}  // namespace fusewright::prove
