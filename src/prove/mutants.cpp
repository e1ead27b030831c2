#include <fmt/format.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <set>

#include "fusewright/prove/mutate.hpp"
#include "fusewright/rule/check.hpp"
#include "fusewright/rule/parse.hpp"
#include "src/prove/rewrite.hpp"

namespace fusewright::prove {

namespace {

namespace ast = rule::ast;

/// What rules are written in, and the rules to break.
struct Material {
  std::shared_ptr<const ops::OpTable> table;                ///< with the operators of all files
  std::vector<ast::File> words;                             ///< files with their classes alone
  std::vector<std::pair<std::size_t, ast::Item>> rewrites;  ///< file, rule
};

Result<Material> material_of(const rule::RuleSet& rules, const Options& options) {
  Material out;
  out.table = rules.table;
  for (const SourcePtr& source : rules.sources) {
    FW_TRY(ast::File file, rule::parse_rules(source));
    const bool own = options.files.empty() || std::ranges::find(options.files, source->name) != options.files.end();
    ast::File words;
    words.source = file.source;
    words.layer = own ? 1 : 0;
    for (ast::Item& item : file.items) {
      const auto* rule = std::get_if<ast::RuleDecl>(&item.what);
      if (std::holds_alternative<ast::ClassDecl>(item.what))
        words.items.push_back(std::move(item));
      else if (rule != nullptr && !rule->fuse && own &&
               (options.only.empty() || std::ranges::find(options.only, rule->name.text) != options.only.end()))
        out.rewrites.emplace_back(out.words.size(), std::move(item));
    }
    out.words.push_back(std::move(words));
  }
  return out;
}

/// The mutants of one rule, and where it stands.
struct Task {
  std::size_t file;
  std::vector<Mutant> mutants;
  std::vector<std::optional<Verdict>> verdicts;  ///< by mutant; nothing where it is no rule at all
};

std::optional<Verdict> prove_one(const Material& material, std::size_t file, const Mutant& mutant, const Budget& budget,
                                 SourceCache& cache) {
  std::vector<ast::File> files = material.words;
  ast::Item item;
  item.what = mutant.decl;
  item.span = item.extent = mutant.decl.name.span;
  files[file].items.push_back(std::move(item));
  const auto checked = rule::check_rules(files, *material.table);
  if (!checked || checked->rewrites.empty()) return std::nullopt;
  return prove_rewrite(*checked, 0, budget, cache);
}

constexpr std::uint64_t kMoreTerms = 4;  // times as many, for what few terms neither refute nor prove

/// With more terms where few are not enough and nobody has said why it is right; with more still where none of them
/// matched.
std::optional<Verdict> prove_hard(const Material& material, const Task& task, const Mutant& mutant,
                                  const std::set<std::string>& explained, Budget budget, SourceCache& cache) {
  using enum Verdict::Kind;
  std::optional<Verdict> verdict = prove_one(material, task.file, mutant, budget, cache);
  for (int times = 0; times < 2; ++times) {
    const bool open = verdict && verdict->kind != kRefuted && verdict->kind != kProved;
    if (!open || explained.contains(mutant.rule + ": " + mutant.change())) return verdict;
    if (times > 0 && verdict->instances > 0) return verdict;
    budget.terms_per_level *= kMoreTerms;
    verdict = prove_one(material, task.file, mutant, budget, cache);
  }
  return verdict;
}

/// Mutants of a rule ask for much the same ways to get values: they are proved one after the other, over one cache.
Status prove_all_of(const Material& material, Task& task, const std::set<std::string>& explained, const Budget& budget,
                    MutantJournal* journal, const std::function<void()>& progress) {
  SourceCache cache(*material.table);
  for (std::size_t i = 0; i < task.mutants.size(); ++i) {
    const std::string name = fmt::format("{} {}: {}", task.mutants[i].rule, i, task.mutants[i].change());
    if (const Verdict* known = journal == nullptr ? nullptr : journal->find(name)) {
      task.verdicts[i] = *known;
    } else {
      task.verdicts[i] = prove_hard(material, task, task.mutants[i], explained, budget, cache);
      if (journal != nullptr && task.verdicts[i]) FW_TRY_STATUS(journal->add(name, *task.verdicts[i]));
      cache.trim();
    }
    progress();
  }
  return {};
}

/// What refutes a rule with a weaker guard refutes it without: the spaces that are searched are not the same, because
/// there are more terms.
void carry_over(Task& task) {
  const auto is_refuted = [&](std::size_t i) {
    return task.verdicts[i] && task.verdicts[i]->kind == Verdict::Kind::kRefuted;
  };
  for (std::size_t i = 0; i < task.mutants.size(); ++i) {
    if (task.mutants[i].kind != "dropped guard" || !task.verdicts[i] || is_refuted(i)) continue;
    for (std::size_t k = 0; k < task.mutants.size(); ++k)
      if (task.mutants[k].kind == "wrong constant" && task.mutants[k].before == task.mutants[i].before && is_refuted(k))
        task.verdicts[i] = task.verdicts[k];
  }
}

Status explain(std::vector<MutantOutcome>& outcomes, const std::vector<Explanation>& explanations) {
  std::map<std::string, std::string> reasons;
  for (const Explanation& e : explanations) reasons[e.mutant] = e.reason;
  std::string wrong;
  for (MutantOutcome& outcome : outcomes) {
    const std::string name = outcome.rule + ": " + outcome.change;
    const auto reason = reasons.find(name);
    if (outcome.verdict.kind == Verdict::Kind::kProved) outcome.reason = "proved: " + outcome.verdict.theory;
    if (reason == reasons.end()) continue;
    if (outcome.verdict.kind == Verdict::Kind::kRefuted) wrong += "\nexplained but refuted: " + name;
    if (outcome.reason.empty()) outcome.reason = reason->second;
    reasons.erase(reason);
  }
  for (const auto& [name, reason] : reasons) wrong += "\nexplained, but there is no such mutant: " + name;
  if (wrong.empty()) return {};
  return fail(wrong.substr(1));
}

std::string cell(std::string text) {
  for (std::size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2) text.replace(at, 1, "\\|");
  return text;
}

bool refuted(const MutantOutcome& outcome) { return outcome.verdict.kind == Verdict::Kind::kRefuted; }

}  // namespace

Result<std::vector<Explanation>> read_explanations(const SourcePtr& source) {
  std::vector<Explanation> out;
  std::size_t number = 0;
  std::string_view rest = source->text;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    ++number;
    if (line.empty() || line[0] == '#') continue;
    const std::size_t arrow = line.find(" => ");
    if (arrow == std::string_view::npos || line.substr(0, arrow).find(": ") == std::string_view::npos)
      return fail(fmt::format("{}:{}: expected 'rule: change => reason'", source->name, number));
    out.push_back({std::string(line.substr(0, arrow)), std::string(line.substr(arrow + 4))});
  }
  return out;
}

Result<std::vector<MutantOutcome>> prove_mutants(const rule::RuleSet& rules, const Options& options,
                                                 const std::vector<Explanation>& explanations, MutantJournal* journal) {
  FW_TRY(const Material material, material_of(rules, options));
  std::vector<Task> tasks;
  std::size_t all = 0;
  for (const auto& [file, item] : material.rewrites) {
    tasks.push_back({file, mutants_of(std::get<ast::RuleDecl>(item.what)), {}});
    tasks.back().verdicts.resize(tasks.back().mutants.size());
    all += tasks.back().mutants.size();
  }
  std::atomic<std::size_t> next = 0, done = 0;
  const auto progress = [&] {
    if (options.progress) options.progress(++done, all);
  };
  std::set<std::string> explained;
  for (const Explanation& e : explanations) explained.insert(e.mutant.substr(0, e.mutant.find(" (place ")));
  std::vector<Status> written(tasks.size());
  tbb::task_arena arena(options.threads > 0 ? options.threads : tbb::task_arena::automatic);
  arena.execute([&] {
    tbb::parallel_for(0, arena.max_concurrency(), [&](int) {
      for (std::size_t i = next++; i < tasks.size(); i = next++)
        written[i] = prove_all_of(material, tasks[i], explained, options.budget, journal, progress);
    });
  });
  for (Status& status : written) FW_TRY_STATUS(std::move(status));
  std::vector<MutantOutcome> out;
  std::map<std::string, int> same;  // changes of one name are numbered
  for (Task& task : tasks) {
    carry_over(task);
    for (std::size_t i = 0; i < task.mutants.size(); ++i) {
      if (!task.verdicts[i]) continue;
      const Mutant& mutant = task.mutants[i];
      std::string change = mutant.change();
      const int times = ++same[mutant.rule + change];
      if (times > 1) change += fmt::format(" (place {})", times);
      out.push_back({mutant.rule, mutant.kind, std::move(change), *std::move(task.verdicts[i]), {}});
    }
  }
  FW_TRY_STATUS(explain(out, explanations));
  return out;
}

std::string mutants_to_markdown(const std::vector<MutantOutcome>& outcomes) {
  struct Count {
    std::size_t all = 0, refuted = 0, open = 0;
    std::size_t right() const { return all - refuted - open; }
  };
  std::map<std::string, Count> kinds;
  std::set<std::string> rules;
  Count total;
  std::string survivors, every;
  for (const MutantOutcome& o : outcomes) {
    rules.insert(o.rule);
    for (Count* count : {&kinds[o.kind], &total}) {
      ++count->all;
      count->refuted += refuted(o) ? 1 : 0;
      count->open += !refuted(o) && o.reason.empty() ? 1 : 0;
    }
    if (refuted(o))
      every += fmt::format("| {} | `{}` | `{}` |\n", o.rule, cell(o.change), cell(o.verdict.counterexample->reject));
    else
      survivors += fmt::format("| {} | `{}` | {} |\n", o.rule, cell(o.change),
                               cell(o.reason.empty() ? "OPEN: " + std::string(name(o.verdict.kind)) + " " +
                                                           o.verdict.reason + o.verdict.space
                                                     : o.reason));
  }
  std::string out = fmt::format(
      "# Broken rules\n\nMade by `scripts/mutate-rules`: every rewrite of `rules/` is broken in one place at a time "
      "and proved anew. "
      "{} rules, {} mutants,\n{} refuted, {} right all the same, {} open.\n\n| slip | mutants | refuted | right | open "
      "|\n|---|---|---|---|---|\n",
      rules.size(), total.all, total.refuted, total.right(), total.open);
  for (const auto& [kind, count] : kinds)
    out += fmt::format("| {} | {} | {} | {} | {} |\n", kind, count.all, count.refuted, count.right(), count.open);
  out += "\n## Not refuted, and why\n\n| rule | mutant | why it is right, or that it is open |\n|---|---|---|\n" +
         survivors;
  return out + "\n## Refuted\n\n| rule | mutant | smallest counterexample |\n|---|---|---|\n" + every;
}

}  // namespace fusewright::prove
