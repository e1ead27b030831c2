#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fusewright/egraph/builder.hpp"
#include "fusewright/egraph/ematch.hpp"
#include "fusewright/egraph/explain.hpp"
#include "fusewright/rule/rule.hpp"
#include "fusewright/saturate/recording.hpp"
#include "fusewright/saturate/rhs.hpp"

namespace fusewright::saturate {

using egraph::EGraph;
using match::PatternId;

/// What became of one match.
struct Outcome {
  enum class Kind : std::uint8_t {
    kChanged,    ///< nodes were made or classes joined
    kUnchanged,  ///< the e-graph knew it all
    kGuard,      ///< guard `guard` of the rule does not hold
    kError,      ///< an expression of the rule has no meaning here, or its type is not that of the root; see
                 ///< Applier::last_error
  };
  Kind kind = Kind::kUnchanged;
  std::uint32_t guard = 0;
};

/// Evaluates guards, `let`s and right-hand sides of matches and puts what they make into an e-graph. Matches that look
/// alike to a rule are evaluated once: the others are made from the recording. The program may grow between calls.
class Applier {
 public:
  Applier(EGraph& egraph, const std::vector<rule::RewriteRule>& rewrites, const match::Program& program);

  /// Reads `count` matches in advance (at most kBatch) and has the memory fetched that applying them will touch.
  static constexpr std::size_t kBatch = 16;
  void read_ahead(PatternId pattern, std::span<const egraph::MatchWord> records, std::size_t count);
  /// Applies the k-th match that was read.
  Outcome apply_read(PatternId pattern, std::span<const egraph::MatchWord> record, std::size_t k) {
    return apply(pattern, record, batch_[k]);
  }
  /// @param record  the match record, for the justification.
  Outcome apply(PatternId pattern, std::span<const egraph::MatchWord> record);
  Outcome apply(PatternId pattern, std::span<const egraph::MatchWord> record, const egraph::Decoded& match);
  const Error& last_error() const { return *error_; }

 private:
  /// What is known of a pattern's rule before any match; made when it first matches.
  struct Prepared {
    bool ready = false;
    std::vector<std::uint32_t> quick;  // steps that are quick guards
    std::vector<QuickGuard> guards;    // parallel to `quick`
    bool needs_env = true;             // further steps, or no quick right-hand side
    std::optional<Rhs> rhs;
    std::vector<std::uint16_t> attr_nodes;  // indices into PatternInfo::named_nodes whose attributes are asked for
  };

  void prepare(PatternId pattern);
  Outcome run(PatternId pattern, const egraph::Decoded& match);
  void set_key(PatternId pattern, const egraph::Decoded& match);
  void evaluate(PatternId pattern, const egraph::Decoded& match);
  Outcome unite(const rule::RewriteRule& rule, egraph::EClassId root, egraph::EClassId result, const Span& span);
  ops::Env environment(PatternId pattern, const egraph::Decoded& match) const;
  Result<std::optional<std::uint32_t>> take_steps(const Prepared& prepared, const rule::RewriteRule& rule,
                                                  const rule::RewriteVariant& variant, ops::Env& env);
  Result<ops::TermValue> as_tensor(const ops::EnvValue& value, egraph::EClassId root, bool peeled, const Span& span);
  std::string maker(egraph::EClassId c) const;
  Outcome failed(Error error);

  EGraph& egraph_;
  const std::vector<rule::RewriteRule>& rewrites_;
  const match::Program& program_;
  egraph::TermBuilder builder_;
  RhsRunner runner_;
  Recorder recorder_;
  Recordings recordings_;
  Recordings::Key key_;
  std::vector<Prepared> prepared_;  // by pattern
  egraph::Decoded decoded_;
  std::array<egraph::Decoded, kBatch> batch_;
  egraph::ApplicationId application_;
  std::shared_ptr<const Error> error_;
};

/// For egraph::replay: applies recorded matches by these rules.
egraph::ApplyMatch replayer(const std::vector<rule::RewriteRule>& rewrites, const match::Program& program);

}  // namespace fusewright::saturate
