#include "fusewright/saturate/saturate.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>
#include <numeric>
#include <set>

#include "fusewright/saturate/apply.hpp"
#include "fusewright/support/clock.hpp"
#include "src/saturate/waiting.hpp"

namespace fusewright::saturate {
namespace {

using egraph::EGraph;

// How many applications pass between two looks at the clock.
constexpr std::uint64_t kApplicationsPerPoll = 64;

class Runner {
 public:
  Runner(EGraph& egraph, const rule::RuleSet& rules, match::Program& program, const Options& options)
      : egraph_(egraph),
        rewrites_(rules.rewrites),
        program_(program),
        options_(options),
        waiting_(
            rules, [&options](const rule::RewriteRule& rule) { return is_used(rule, options.allowed, options.target); },
            program),
        matcher_(egraph, program, rewrites_.size()),
        applier_(egraph, rewrites_, program),
        trace_of_(rewrites_.size(), kUnused),
        exhausted_(rewrites_.size(), false) {}

  Result<Trace> run() {
    try {
      FW_TRY_STATUS(search());
    } catch (const std::bad_alloc&) {
      tidy_up();
    }
    trace_woken_rules();
    if (trace_.stop_reasons.empty()) trace_.stop_reasons.push_back({});
    const auto counts = matcher_.counts();
    const auto searching = matcher_.seconds();
    std::vector<double> seconds(searching.begin(), searching.end());
    trace_.instructions.assign(counts.begin(), counts.end());
    // Rules may have been compiled and not been asked any more.
    seconds.resize(program_.trie.size(), 0);
    trace_.instructions.resize(program_.trie.size());
    trace_.occurred = waiting_.occurs();
    trace_.allowed = options_.allowed;
    trace_.target = options_.target;
    std::ranges::sort(trace_.rules, {}, &RuleTrace::rule);
    set_match_seconds(trace_, program_, seconds);
    trace_.applications = egraph_.application_count();
    trace_.bytes = egraph_.bytes();
    report_conflicts();
    trace_.seconds = seconds_since(start_);
    return std::move(trace_);
  }

 private:
  static constexpr std::uint32_t kUnused = 0xffffffffU;
  // Kept back for what has to be done when there is no more.
  static constexpr std::size_t kSpareBytes = std::size_t{1} << 20;

  Status search() {
    egraph_.rebuild();
    std::uint32_t since = 0;
    while (!stopped_) {
      if (trace_.iterations.size() >= options_.limits.iterations) {
        stop(StopReason::Kind::kIterations, static_cast<double>(options_.limits.iterations),
             static_cast<double>(trace_.iterations.size()));
        break;
      }
      FW_TRY(const bool changed, iterate(since));
      if (!stopped_ && !changed) break;
      since = egraph_.round();
    }
    return {};
  }

  /// Memory ran out. By now the matches that were to be applied are gone; what was applied of them stays.
  void tidy_up() {
    spare_.reset();
    index_ = {};
    egraph_.end_application();
    egraph_.rebuild();
    stop(StopReason::Kind::kMemory, 0, static_cast<double>(egraph_.bytes()));
    if (trace_.iterations.empty()) return;
    trace_.iterations.back().nodes = egraph_.live_nodes();
    trace_.iterations.back().classes = egraph_.class_count();
  }

  /// @returns whether anything is new.
  Result<bool> iterate(std::uint32_t since) {
    IterationTrace& iteration = trace_.iterations.emplace_back();
    auto lap = Clock::now();
    const auto lapped = [&lap] {
      const double seconds = seconds_since(lap);
      lap = Clock::now();
      return seconds;
    };
    index_.refresh(egraph_);
    FW_TRY_STATUS(waiting_.wake(index_));
    trace_woken_rules();
    iteration.index_seconds = lapped();

    egraph::MatchOptions options;
    options.since = since;
    options.matches_per_rule = options_.limits.matches_per_rule;
    options.poll = [this](std::size_t bytes) { return poll(bytes); };
    const egraph::MatchSet matches = matcher_.run(index_, options);
    note_cut_rules(matches);
    iteration.match_seconds = lapped();

    egraph_.next_round();
    const std::size_t nodes = egraph_.node_count(), classes = egraph_.class_count();
    if (!stopped_) apply_all(matches, iteration);
    // Whatever a limit cut off, a class never stays half joined.
    const bool changed = egraph_.node_count() != nodes || egraph_.class_count() != classes;
    iteration.apply_seconds = lapped();
    egraph_.rebuild();
    iteration.rebuild_seconds = lapped();
    iteration.nodes = egraph_.live_nodes();
    iteration.classes = egraph_.class_count();
    return changed;
  }

  void trace_woken_rules() {
    for (; traced_patterns_ < program_.patterns.size(); ++traced_patterns_) {
      const match::RuleId id = program_.patterns[traced_patterns_].rule;
      std::uint32_t& at = trace_of_[id.index];
      if (at != kUnused) continue;
      at = static_cast<std::uint32_t>(trace_.rules.size());
      RuleTrace& entry = trace_.rules.emplace_back();
      entry.rule = id;
      entry.name = rewrites_[id.index].name;
      entry.refused.resize(rewrites_[id.index].guards.size(), 0);
    }
  }

  void apply_all(const egraph::MatchSet& matches, IterationTrace& iteration) {
    std::size_t record_bytes = 0;
    for (const auto& records : matches.records) record_bytes += records.size() * sizeof(egraph::MatchWord);
    for (std::size_t p = 0; p < program_.patterns.size() && !stopped_; ++p) {
      const match::PatternInfo& pattern = program_.patterns[p];
      RuleTrace& rule = trace_.rules[trace_of_[pattern.rule.index]];
      if (matches.counts[p] == 0) continue;
      const auto start = Clock::now();
      for (std::uint64_t i = 0; i < matches.counts[p]; ++i) {
        ++rule.matches;
        ++iteration.matches;
        const match::PatternId id(p);
        const std::size_t k = i % Applier::kBatch;
        if (k == 0) {
          const std::size_t ahead = std::min<std::size_t>(Applier::kBatch, matches.counts[p] - i);
          applier_.read_ahead(id, std::span(matches.records[p]).subspan(i * pattern.words), ahead);
        }
        const auto record = matches.record(id, pattern.words, i);
        Outcome outcome = applier_.apply_read(id, record, k);
        if (pattern.alike && outcome.kind == Outcome::Kind::kGuard) outcome = try_other_orders(id, record, outcome);
        count(rule, iteration, outcome);
        if (egraph_.live_nodes() > options_.limits.nodes) {
          stop(StopReason::Kind::kNodes, static_cast<double>(options_.limits.nodes),
               static_cast<double>(egraph_.live_nodes()));
        } else if (iteration.matches % kApplicationsPerPoll == 0) {
          poll(record_bytes);
        }
        if (stopped_) break;
      }
      rule.seconds += seconds_since(start);
    }
  }

  /// Roots that are written alike: the first order of the values in which the guards hold.
  Outcome try_other_orders(match::PatternId id, std::span<const egraph::MatchWord> record, Outcome outcome) {
    const match::PatternInfo& pattern = program_.patterns[id.index];
    const std::size_t words = pattern.words / pattern.roots.size();
    std::vector<std::size_t> order(pattern.roots.size());
    std::iota(order.begin(), order.end(), 0);
    std::vector<egraph::MatchWord> other(record.size());
    while (outcome.kind == Outcome::Kind::kGuard && std::ranges::next_permutation(order).found) {
      for (std::size_t i = 0; i < order.size(); ++i) {
        std::ranges::copy(record.subspan(order[i] * words, words),
                          other.begin() + static_cast<std::ptrdiff_t>(i * words));
      }
      outcome = applier_.apply(id, other);
    }
    return outcome;
  }

  void count(RuleTrace& rule, IterationTrace& iteration, const Outcome& outcome) {
    switch (outcome.kind) {
      case Outcome::Kind::kChanged:
        ++rule.applied;
        ++iteration.applied;
        return;
      case Outcome::Kind::kUnchanged: ++rule.unchanged; return;
      case Outcome::Kind::kGuard: ++rule.refused[outcome.guard]; return;
      case Outcome::Kind::kError:
        if (rule.errors++ > 0) return;
        for (Diagnostic diagnostic : applier_.last_error().diagnostics) {
          diagnostic.severity = Severity::kWarning;
          diagnostic.notes.push_back({rewrites_[rule.rule.index].span, "in rewrite '" + rule.name + "'"});
          trace_.diagnostics.push_back(std::move(diagnostic));
        }
        return;
    }
  }

  /// A rule whose matches were cut off is not run again: what it missed would not be looked at twice.
  void note_cut_rules(const egraph::MatchSet& matches) {
    std::set<match::RuleId> cut;  // of those that were looked for: the others are too many to be gone through
    for (const match::PatternInfo& pattern : program_.patterns)
      if (matches.cut[pattern.rule.index] && !exhausted_[pattern.rule.index]) cut.insert(pattern.rule);
    for (const match::RuleId rule : cut) {
      exhausted_[rule.index] = true;
      matcher_.disable(rule);
      StopReason reason{StopReason::Kind::kMatches, static_cast<double>(options_.limits.matches_per_rule),
                        static_cast<double>(options_.limits.matches_per_rule) + 1, rewrites_[rule.index].name};
      trace_.stop_reasons.push_back(std::move(reason));
    }
  }

  bool poll(std::size_t record_bytes) {
    if (stopped_) return true;
    const double seconds = seconds_since(start_);
    const std::size_t bytes = egraph_.bytes() + record_bytes;
    if (options_.cancel != nullptr && options_.cancel->load(std::memory_order_relaxed)) {
      stop(StopReason::Kind::kCancelled, 0, 0);
    } else if (seconds > options_.limits.seconds) {
      stop(StopReason::Kind::kSeconds, options_.limits.seconds, seconds);
    } else if (bytes > options_.limits.bytes) {
      stop(StopReason::Kind::kBytes, static_cast<double>(options_.limits.bytes), static_cast<double>(bytes));
    }
    return stopped_;
  }

  void stop(StopReason::Kind kind, double limit, double reached) {
    stopped_ = true;
    trace_.stop_reasons.push_back({kind, limit, reached, {}});
  }

  std::string maker(egraph::EClassId term) const {
    if (!egraph_.records()) return "the model or a rewrite";
    const egraph::ApplicationId by = egraph_.made_by(egraph::founder(term));
    if (!by.valid()) return "the model";
    return "rewrite '" + rewrites_[program_.patterns[egraph_[by].pattern.index].rule.index].name + "'";
  }

  void report_conflicts() {
    for (const egraph::Conflict& conflict : egraph_.conflicts()) {
      const bool congruent = conflict.reason.kind != egraph::Reason::Kind::kApplication;
      if (!congruent) continue;  // reported where the rule was applied
      Diagnostic diagnostic;
      diagnostic.severity = Severity::kWarning;
      diagnostic.message =
          "equal operators on equal operands have two different constant values; one of the rewrites before is unsound";
      diagnostic.notes.push_back({{}, "one was made by " + maker(conflict.a)});
      diagnostic.notes.push_back({{}, "the other was made by " + maker(conflict.b)});
      trace_.diagnostics.push_back(std::move(diagnostic));
      return;  // the first tells it all: what follows from it is legion
    }
  }

  EGraph& egraph_;
  const std::vector<rule::RewriteRule>& rewrites_;
  const match::Program& program_;
  const Options& options_;
  Waiting waiting_;
  egraph::Index index_;
  egraph::Matcher matcher_;
  Applier applier_;
  Trace trace_;
  std::vector<std::uint32_t> trace_of_;  // by rule
  std::size_t traced_patterns_ = 0;
  std::vector<bool> exhausted_;  // by rule
  Clock::time_point start_ = Clock::now();
  bool stopped_ = false;
  std::unique_ptr<std::byte[]> spare_ = std::make_unique_for_overwrite<std::byte[]>(kSpareBytes);
};

/// Made before it is needed: then it could not be.
Error out_of_memory() { return fail(ErrorKind::kResource, "out of memory while the rules were applied").error(); }

}  // namespace

std::vector<match::RuleId> select_rules(const std::vector<rule::RewriteRule>& rewrites, const Options& options) {
  std::vector<match::RuleId> selected;
  for (std::size_t i = 0; i < rewrites.size(); ++i)
    if (is_used(rewrites[i], options.allowed, options.target)) selected.push_back(match::RuleId(i));
  return selected;
}

Result<Trace> run(EGraph& egraph, const rule::RuleSet& rules, match::Program& program, const Options& options) {
  Error no_memory = out_of_memory();
  try {
    return Runner(egraph, rules, program, options).run();
  } catch (const std::bad_alloc&) {
    return std::unexpected(std::move(no_memory));
  }
}

Result<Saturated> saturate(const graph::Graph& graph, std::shared_ptr<const rule::RuleSet> rules,
                           const Options& options) {
  if (rules->table != graph.table) return fail("the rules are over another operator table than the graph");
  Error no_memory = out_of_memory();
  try {
    const auto start = Clock::now();
    Saturated out{egraph::from_graph(graph, {options.record}), std::move(rules), {}, {}};
    const double import_seconds = seconds_since(start);
    FW_TRY(out.trace, run(out.imported.egraph, *out.rules, out.program, options));
    out.trace.import_seconds = import_seconds;
    return out;
  } catch (const std::bad_alloc&) {
    return std::unexpected(std::move(no_memory));
  }
}

}  // namespace fusewright::saturate
