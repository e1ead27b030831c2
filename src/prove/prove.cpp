#include "fusewright/prove/prove.hpp"

#include <fmt/format.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>

#include "src/prove/exhaust.hpp"
#include "src/prove/fuse.hpp"
#include "src/prove/rewrite.hpp"
#include "src/prove/smt.hpp"
#include "src/prove/values.hpp"

namespace fusewright::prove {

using Origin = rule::RewriteRule::Origin;

namespace {

/// One thing that gets a verdict.
struct Task {
  Verdict::Subject subject;
  std::size_t index = 0;  ///< into rewrites, operators or fuse rules
};

void settle(const Search& search, Verdict& verdict) {
  verdict.instances += search.instances;
  verdict.refused += search.refused;
  verdict.space = search.space;
  verdict.counterexample = search.counterexample;
  if (search.counterexample) {
    verdict.kind = Verdict::Kind::kRefuted;
  } else if (search.instances == 0) {
    verdict.reason = search.unknown == 0 ? "no instance of the space matches"
                                         : "no instance of the space has a value: " + search.unknown_reason;
  } else if (search.instances == search.empty) {
    verdict.reason = "no instance of the space that matches has an element to compare";
  } else {
    verdict.kind = search.sampled ? Verdict::Kind::kSampled : Verdict::Kind::kExhausted;
  }
  if (search.many_ways > 0)
    verdict.space += fmt::format("; {} that match in more than {} ways, each in at most {} of them", search.many_ways,
                                 kMostMatches, kMostMatches);
  if (search.unknown > 0)
    verdict.space += fmt::format("; {} without a value ({})", search.unknown, search.unknown_reason);
}

/// A proof counts beside the search, never instead of it: the solver knows nothing of roundings in a rule that is not
/// bit-exact, nor of sizes that are equal by chance.
void prove_further(const rule::RuleSet& rules, const LoneRule& rule, Verdict& verdict) {
  if (verdict.kind != Verdict::Kind::kExhausted && verdict.kind != Verdict::Kind::kSampled) return;
  verdict.theory = prove_by_solver(rules, rule);
  if (!verdict.theory.empty()) verdict.kind = Verdict::Kind::kProved;
}

void prove_op(const rule::RuleSet& rules, std::size_t index, const Options& options, SourceCache& cache,
              Verdict& verdict) {
  const ops::OpId op(index);
  const ops::OpInfo& info = (*rules.table)[op];
  verdict.rule = info.name;
  verdict.span = info.span;
  verdict.exactness = "bitexact";
  verdict.demands = demands({});
  std::optional<LoneRule> recognise;
  for (std::size_t i = 0; i < rules.rewrites.size(); ++i) {
    if (rules.rewrites[i].origin != Origin::kRecognise || rules.rewrites[i].op != op) continue;
    Result<LoneRule> lone = compile_lone(rules, i);
    if (lone) recognise = *std::move(lone);
  }
  Search search = search_op(rules, op, recognise ? &*recognise : nullptr, options.budget);
  if (recognise && !search.counterexample) {
    // Terms of the body's form beside the body itself: what else does the recogniser take for it?
    Budget part = options.budget;
    part.terms_per_level /= 4;
    const Search more = search_rewrite(rules, *recognise, part, cache);
    search.instances += more.instances;
    search.empty += more.empty;
    search.many_ways += more.many_ways;
    search.refused += more.refused;
    search.sampled = search.sampled || more.sampled;
    search.counterexample = more.counterexample;
    if (!more.space.empty()) search.space += "; recognised: " + more.space;
  }
  settle(search, verdict);
  if (recognise) prove_further(rules, *recognise, verdict);
}

void prove_fuse(const rule::RuleSet& rules, std::size_t index, const Options& options, SourceCache& cache,
                Lemmas& lemmas, Verdict& verdict) {
  const rule::FuseRule& rule = rules.fuses[index];
  verdict.rule = rule.name;
  verdict.span = rule.span;
  verdict.exactness = rule::to_string(rule.exactness);
  verdict.demands = "a region's body read through its index maps has the values of its nodes, bit for bit";
  settle(search_fuse(rules, rule, options.budget, cache, lemmas), verdict);
}

std::vector<Task> tasks_of(const rule::RuleSet& rules, const Options& options) {
  const auto wanted = [&](const std::string& name, const Span& span) {
    if (!options.only.empty()) return std::ranges::find(options.only, name) != options.only.end();
    return options.files.empty() ||
           (span.valid() && std::ranges::find(options.files, span.source->name) != options.files.end());
  };
  std::vector<Task> tasks;
  for (std::size_t i = 0; i < rules.rewrites.size(); ++i)
    if (rules.rewrites[i].origin == Origin::kWritten && wanted(rules.rewrites[i].name, rules.rewrites[i].span))
      tasks.push_back({Verdict::Subject::kRewrite, i});
  for (std::size_t i = 0; i < rules.table->size(); ++i) {
    const ops::OpInfo& info = (*rules.table)[ops::OpId(i)];
    if (info.body != nullptr && wanted(info.name, info.span)) tasks.push_back({Verdict::Subject::kOp, i});
  }
  for (std::size_t i = 0; i < rules.fuses.size(); ++i)
    if (wanted(rules.fuses[i].name, rules.fuses[i].span)) tasks.push_back({Verdict::Subject::kFuse, i});
  return tasks;
}

std::vector<std::string> names_of(const rule::RuleSet& rules, const std::vector<Task>& tasks) {
  std::vector<std::string> names;
  for (const Task& task : tasks) {
    switch (task.subject) {
      case Verdict::Subject::kRewrite: names.push_back(rules.rewrites[task.index].name); break;
      case Verdict::Subject::kOp: names.push_back((*rules.table)[ops::OpId(task.index)].name); break;
      case Verdict::Subject::kFuse: names.push_back(rules.fuses[task.index].name); break;
    }
  }
  return names;
}

/// Hands verdicts on in their order, whatever order they are reached in.
class InOrder {
 public:
  InOrder(const std::vector<Verdict>& verdicts, const std::function<void(const Verdict&)>& known)
      : verdicts_(verdicts), known_(known), reached_(verdicts.size(), false) {}

  void reached(std::size_t i) {
    if (!known_) return;
    const std::scoped_lock one(lock_);
    reached_[i] = true;
    for (; next_ < reached_.size() && reached_[next_]; ++next_) known_(verdicts_[next_]);
  }

 private:
  const std::vector<Verdict>& verdicts_;
  const std::function<void(const Verdict&)>& known_;
  std::mutex lock_;
  std::vector<bool> reached_;
  std::size_t next_ = 0;
};

}  // namespace

Verdict prove_rewrite(const rule::RuleSet& rules, std::size_t index, const Budget& budget, SourceCache& cache) {
  const auto start = std::chrono::steady_clock::now();
  const rule::RewriteRule& rule = rules.rewrites[index];
  Verdict verdict;
  verdict.rule = rule.name;
  verdict.span = rule.span;
  verdict.exactness = rule::to_string(rule.exactness);
  verdict.demands = demands(rule.exactness);
  const Result<LoneRule> lone = compile_lone(rules, index);
  if (lone) {
    settle(search_rewrite(rules, *lone, budget, cache), verdict);
    prove_further(rules, *lone, verdict);
  } else {
    verdict.reason = lone.error().diagnostics[0].message;
  }
  verdict.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return verdict;
}

Result<std::vector<std::string>> names_to_prove(const rule::RuleSet& rules, const Options& options) {
  const std::vector<std::string> all = names_of(rules, tasks_of(rules, {}));
  for (const std::string& name : options.only) {
    if (std::ranges::find(all, name) != all.end()) continue;
    const std::string near = nearest(name, all);
    return fail(fmt::format("there is no rule '{}'{}", name, near.empty() ? "" : "; did you mean '" + near + "'?"));
  }
  return names_of(rules, tasks_of(rules, options));
}

Result<std::vector<Verdict>> prove(std::shared_ptr<const rule::RuleSet> rules, const Options& options) {
  FW_TRY_STATUS(names_to_prove(*rules, options));
  const std::vector<Task> tasks = tasks_of(*rules, options);
  std::vector<Verdict> verdicts(tasks.size());
  Lemmas lemmas(*rules, options.budget);
  InOrder in_order(verdicts, options.known);
  std::atomic<std::size_t> done = 0;
  const auto decide = [&](std::size_t i, SourceCache& cache) {
    const auto start = std::chrono::steady_clock::now();
    Verdict& verdict = verdicts[i];
    switch (tasks[i].subject) {
      case Verdict::Subject::kRewrite: verdict = prove_rewrite(*rules, tasks[i].index, options.budget, cache); break;
      case Verdict::Subject::kOp: prove_op(*rules, tasks[i].index, options, cache, verdict); break;
      case Verdict::Subject::kFuse: prove_fuse(*rules, tasks[i].index, options, cache, lemmas, verdict); break;
    }
    verdict.subject = tasks[i].subject;
    verdict.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    cache.trim();
    in_order.reached(i);
    if (options.progress) options.progress(++done, tasks.size());
  };
  // The next rule to whoever is free, fuse rules (the last of the report) first: they take longest.
  const auto fuses = static_cast<std::size_t>(
      std::ranges::count(tasks, Verdict::Subject::kFuse, [](const Task& t) { return t.subject; }));
  tbb::task_arena arena(options.threads > 0 ? options.threads : tbb::task_arena::automatic);
  std::atomic<std::size_t> next = 0;
  arena.execute([&] {
    tbb::parallel_for(0, arena.max_concurrency(), [&](int) {
      SourceCache cache(*rules->table);
      for (std::size_t i = next++; i < tasks.size(); i = next++)
        decide((i + tasks.size() - fuses) % tasks.size(), cache);
    });
  });
  return verdicts;
}

std::string_view name(Verdict::Kind kind) {
  switch (kind) {
    case Verdict::Kind::kProved: return "proved";
    case Verdict::Kind::kExhausted: return "exhausted";
    case Verdict::Kind::kSampled: return "sampled";
    case Verdict::Kind::kRefuted: return "refuted";
    case Verdict::Kind::kUndecided: return "undecided";
  }
  return "";
}

std::string_view name(Verdict::Subject subject) {
  switch (subject) {
    case Verdict::Subject::kRewrite: return "rewrite";
    case Verdict::Subject::kOp: return "op";
    case Verdict::Subject::kFuse: return "fuse";
  }
  return "";
}

}  // namespace fusewright::prove
