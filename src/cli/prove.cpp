#include "fusewright/prove/prove.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <mutex>
#include <sstream>

#include "commands.hpp"
#include "fusewright/driver/compile.hpp"
#include "fusewright/driver/rule_tests.hpp"
#include "fusewright/prove/mutate.hpp"
#include "fusewright/prove/report.hpp"
#include "terminal.hpp"

namespace fusewright::cli {

namespace {

struct ProveArguments {
  std::vector<std::string> rules, only;
  bool strict = false, json = false, mutate = false;
  std::string explained, journal;
  int threads = 0;
  std::uint64_t terms = prove::Budget().terms_per_level;
};

/// Every rule broken in every way; fails when one is neither refuted nor explained.
Result<int> prove_broken(const rule::RuleSet& rules, const prove::Options& options, const ProveArguments& args) {
  std::vector<prove::Explanation> explanations;
  if (!args.explained.empty()) {
    std::ifstream in(args.explained, std::ios::binary);
    std::ostringstream text;
    if (in.is_open()) text << in.rdbuf();
    if (!in.is_open() || in.bad()) return fail("cannot read " + args.explained);
    const auto source = std::make_shared<const SourceText>(SourceText{args.explained, text.str()});
    FW_TRY(explanations, prove::read_explanations(source));
  }
  std::optional<prove::MutantJournal> journal;
  if (!args.journal.empty()) {
    FW_TRY(journal, prove::MutantJournal::open(args.journal, rules, options.budget));
  }
  FW_TRY(const std::vector<prove::MutantOutcome> outcomes,
         prove::prove_mutants(rules, options, explanations, journal ? &*journal : nullptr));
  fmt::print("{}", prove::mutants_to_markdown(outcomes));
  for (const prove::MutantOutcome& o : outcomes)
    if (o.verdict.kind != prove::Verdict::Kind::kRefuted && o.reason.empty()) return kWrong;
  return kOk;
}

/// What a run that is interrupted has printed stays.
void print_now(const std::string& text) {
  fmt::print("{}", text);
  std::fflush(stdout);
}

Result<int> prove_rules(const ProveArguments& args) {
  FW_TRY(const auto rules, driver::load_rules(args.rules, true));
  prove::Options options;
  options.only = args.only;
  options.threads = args.threads;
  options.budget.terms_per_level = args.terms;
  options.files = driver::sources_under(*rules, args.rules);
  if (options.files.empty()) return fail(fmt::format("{}: no rule files", fmt::join(args.rules, ", ")));
  const auto progress = progress_line();
  std::mutex lock;
  if (progress)
    options.progress = [&, what = args.mutate ? "broken rules" : "rules"](std::size_t done, std::size_t all) {
      const std::scoped_lock one(lock);
      progress(fmt::format("{} of {} {}", done, all, what));
    };
  if (args.mutate) return prove_broken(*rules, options, args);
  FW_TRY(const std::vector<std::string> names, prove::names_to_prove(*rules, options));
  const std::size_t widest =
      names.empty() ? 4 : std::max<std::size_t>(4, std::ranges::max(names, {}, &std::string::size).size());
  if (!args.json) {
    print_now(prove::table_head(widest));
    options.known = [&](const prove::Verdict& verdict) {
      const std::scoped_lock one(lock);
      if (progress) progress("");
      print_now(prove::table_line(verdict, widest));
    };
  }
  FW_TRY(const std::vector<prove::Verdict> verdicts, prove::prove(rules, options));
  if (progress) progress("");
  if (args.json)
    print_json(prove::to_json(verdicts));
  else
    fmt::print("{}", prove::table_end(verdicts));
  for (const prove::Verdict& v : verdicts) {
    if (v.kind == prove::Verdict::Kind::kRefuted) return kWrong;
    const bool open = v.kind == prove::Verdict::Kind::kUndecided || v.kind == prove::Verdict::Kind::kSampled;
    if (args.strict && open) return kWrong;
  }
  return kOk;
}

}  // namespace

void add_prove(CLI::App& app, Outcome& outcome) {
  auto args = std::make_shared<ProveArguments>();
  CLI::App& command =
      add_command(app, outcome, "prove", "Prove rules, search for counterexamples, and say what is known of each",
                  "  fusewright prove my-rules/\n"
                  "  fusewright prove rules/ --rule conv-scale-fold --strict\n",
                  args, prove_rules);
  command.add_option("rules", args->rules, "rule files or folders")->required()->type_name("RULES...");
  command.add_option("--rule", args->only, "only this rewrite, operator or fuse rule; may be repeated")
      ->type_name("NAME")
      ->allow_extra_args(false);
  CLI::Option* strict = command.add_flag("--strict", args->strict, "fail when a rule is neither proved nor exhausted");
  command
      .add_option("--threads", args->threads,
                  "threads to work with, 0 for one on each core; verdicts do not depend on it")
      ->type_name("N")
      ->check(CLI::Range(0, 1024));
  command.add_option("--terms", args->terms, "most terms of one rank: the widest space that has no more is searched")
      ->type_name("N")
      ->capture_default_str()
      ->check(CLI::Range(1, 1'000'000));
  CLI::Option* mutate = command.add_flag(
      "--mutate", args->mutate, "break every rewrite in every way, and print which broken ones are refuted (Markdown)");
  command
      .add_option("--explained", args->explained,
                  "with --mutate: file of reasons for mutants that are right all the same")
      ->type_name("FILE")
      ->needs(mutate);
  command
      .add_option("--journal", args->journal,
                  "with --mutate: file where each outcome is noted; those that an earlier run of the same rules left "
                  "there are taken over")
      ->type_name("FILE")
      ->needs(mutate);
  CLI::Option* json = command.add_flag("--json", args->json, "print one JSON object (docs/JSON.md)");
  mutate->excludes(json)->excludes(strict);
}

}  // namespace fusewright::cli
