#include "fusewright/prove/prove.hpp"

#include <fmt/format.h>

#include <mutex>

#include "commands.hpp"
#include "fusewright/driver/compile.hpp"
#include "fusewright/driver/rule_tests.hpp"
#include "fusewright/prove/report.hpp"
#include "terminal.hpp"

namespace fusewright::cli {

namespace {

struct ProveArguments {
  std::vector<std::string> rules, only;
  bool strict = false, json = false;
};

Result<int> prove_rules(const ProveArguments& args) {
  FW_TRY(const auto rules, driver::load_rules(args.rules, true));
  prove::Options options;
  options.only = args.only;
  options.files = driver::sources_under(*rules, args.rules);
  if (options.files.empty()) return fail(fmt::format("{}: no rule files", fmt::join(args.rules, ", ")));
  const auto progress = progress_line();
  std::mutex lock;
  if (progress)
    options.progress = [&](std::size_t done, std::size_t all) {
      const std::scoped_lock one(lock);
      progress(fmt::format("{} of {} rules", done, all));
    };
  FW_TRY(const std::vector<prove::Verdict> verdicts, prove::prove(rules, options));
  if (progress) progress("");
  if (args.json)
    fmt::print("{}\n", prove::to_json(verdicts).dump(2));
  else
    fmt::print("{}", prove::to_text(verdicts));
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
  command.add_flag("--strict", args->strict, "fail when a rule is neither proved nor exhausted");
  command.add_flag("--json", args->json, "print one JSON object (docs/JSON.md)");
}

}  // namespace fusewright::cli
