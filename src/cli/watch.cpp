#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <iterator>

#include "commands.hpp"
#include "fusewright/audit/text.hpp"
#include "fusewright/audit/values.hpp"
#include "fusewright/driver/replan.hpp"
#include "options.hpp"
#include "terminal.hpp"
#include "watch_files.hpp"

namespace fusewright::cli {

namespace {

using Clock = std::chrono::steady_clock;
using Json = nlohmann::ordered_json;

/// A plan of the model, and how long it took from the save on.
struct Planned {
  std::shared_ptr<const plan::Plan> plan;
  std::vector<std::pair<std::string, double>> phases;
  std::vector<std::string> stop_reasons;
  double seconds = 0;
};

double estimate(const plan::Plan& plan) {
  double seconds = 0;
  for (const plan::Group& group : plan.groups) seconds += group.seconds_estimated;
  return seconds;
}

// --- As JSON -------------------------------------------------------------------------------------------

Json totals_json(const plan::Plan& plan) {
  return {{"kernels", plan.groups.size()},
          {"bytes", audit::planned_bytes(plan)},
          {"seconds_estimated", audit::number(estimate(plan))}};
}

Json group_json(const plan::Group& group) {
  Json rewrites = Json::array();
  for (const plan::RewriteUse& use : group.rewrites) rewrites.push_back(use.rule);
  return {{"name", group.name},
          {"fuse_rule", group.fuse_rule},
          {"kind", ops::name(group.schedule.kind)},
          {"rewrites", std::move(rewrites)},
          {"nodes", group.source_nodes},
          {"bytes", group.bytes},
          {"seconds_estimated", audit::number(group.seconds_estimated)}};
}

Json plan_json(const Planned* before, const Planned& after, const std::vector<std::string>& files) {
  Json event = {{"event", "plan"}, {"files", files}, {"seconds", after.seconds}};
  for (const auto& [phase, seconds] : after.phases) event["phases"][phase] = seconds;
  event["before"] = before == nullptr ? Json(nullptr) : totals_json(*before->plan);
  event["after"] = totals_json(*after.plan);
  event["stop_reasons"] = after.stop_reasons;
  for (const char* list : {"added", "removed", "changed"}) event[list] = Json::array();
  if (before == nullptr) return event;
  const driver::PlanDifference difference = driver::compare_plans(*before->plan, *after.plan);
  for (const std::size_t g : difference.added) event["added"].push_back(group_json(after.plan->groups[g]));
  for (const std::size_t g : difference.removed) event["removed"].push_back(group_json(before->plan->groups[g]));
  for (const auto& [b, a] : difference.changed)
    event["changed"].push_back(
        {{"before", group_json(before->plan->groups[b])}, {"after", group_json(after.plan->groups[a])}});
  return event;
}

// --- As text -------------------------------------------------------------------------------------------

std::string arrow(const std::string& before, const std::string& after) {
  return before == after ? after : before + " -> " + after;
}
std::string milliseconds(double seconds) { return fmt::format("{:.4g} ms", seconds * 1e3); }

std::string rules_of(const plan::Group& group) {
  std::vector<std::string> rules{group.fuse_rule};
  for (const plan::RewriteUse& use : group.rewrites)
    if (std::find(rules.begin() + 1, rules.end(), use.rule) == rules.end()) rules.push_back(use.rule);
  return fmt::format("{}", fmt::join(rules, ", "));
}

void print_row(const char* head, const std::string& text) {
  constexpr std::size_t kIndent = 12;
  fmt::print("  {:10}{}\n", head, audit::wrapped(text, kIndent));
}

/// One group, or what it was and what it is.
void print_group(char mark, const plan::Group& before, const plan::Group& after) {
  const Colour colour = mark == '+' ? Colour::kGreen : mark == '-' ? Colour::kRed : Colour::kYellow;
  fmt::print("{}\n", paint(stdout, colour, fmt::format("{} {}", mark, arrow(before.name, after.name))));
  print_row("rules", arrow(rules_of(before), rules_of(after)));
  print_row("nodes", arrow(fmt::format("{}", fmt::join(before.source_nodes, ", ")),
                           fmt::format("{}", fmt::join(after.source_nodes, ", "))));
  print_row("bytes", arrow(std::to_string(before.bytes), std::to_string(after.bytes)));
  print_row("cost", arrow(milliseconds(before.seconds_estimated), milliseconds(after.seconds_estimated)));
}

void print_text(const Planned* before, const Planned& after, const std::vector<std::string>& files) {
  for (const bool there : {true, false}) {
    std::vector<std::string> part;
    std::error_code error;
    std::copy_if(files.begin(), files.end(), std::back_inserter(part),
                 [&](const std::string& file) { return std::filesystem::exists(file, error) == there; });
    if (part.empty()) continue;
    fmt::print("{}\n", audit::wrapped(fmt::format("{}: {}", there ? "saved" : "gone", fmt::join(part, ", ")), 2));
  }
  const plan::Plan& was = before == nullptr ? *after.plan : *before->plan;
  const plan::Plan& is = *after.plan;
  const driver::PlanDifference difference = driver::compare_plans(was, is);
  for (const std::size_t g : difference.removed) print_group('-', was.groups[g], was.groups[g]);
  for (const std::size_t g : difference.added) print_group('+', is.groups[g], is.groups[g]);
  for (const auto& [b, a] : difference.changed) print_group('~', was.groups[b], is.groups[a]);
  const auto totals = [](const plan::Plan& plan) {
    return std::tuple(std::to_string(plan.groups.size()),
                      fmt::format("{:.4g}", static_cast<double>(audit::planned_bytes(plan)) / 1e6),
                      milliseconds(estimate(plan)));
  };
  const auto [kernels_before, bytes_before, cost_before] = totals(was);
  const auto [kernels, bytes, cost] = totals(is);
  fmt::print("{}{} kernels, {} MB, {} estimated ({:.2f} s)\n",
             before != nullptr && difference.empty() ? "nothing changed: " : "", arrow(kernels_before, kernels),
             arrow(bytes_before, bytes), arrow(cost_before, cost), after.seconds);
  for (const std::string& reason : after.stop_reasons) fmt::print("stopped: {}\n", reason);
}

// --- The loop --------------------------------------------------------------------------------------------

class Watch {
 public:
  Watch(const ModelArguments& args, const driver::CompileOptions& options)
      : args_(args), options_(options), replanner_(options) {
    watched_ = options.rules;
    if (watched_.empty() && options.builtin_rules) watched_ = {driver::rules_folder()};
    watched_.push_back(options.model);
  }

  /// Ends only by a signal, or where files cannot be watched.
  Result<int> run() {
    FW_TRY_STATUS(files_.add(watched_));
    std::vector<std::string> changed;
    for (;;) {
      const Clock::time_point start = Clock::now();
      FW_TRY_STATUS(show(changed, start));
      std::fflush(stdout);
      FW_TRY(changed, files_.wait());
      const std::string model = std::filesystem::absolute(args_.model).lexically_normal().generic_string();
      if (std::find(changed.begin(), changed.end(), model) != changed.end()) replanner_.forget_model();
    }
  }

 private:
  /// Errors: at the start, what no rule file can mend.
  Status show(const std::vector<std::string>& changed, Clock::time_point start) {
    Result<driver::Compilation> c = replanner_.plan();
    if (!c) {
      if (changed.empty() && driver::load_rules(options_.rules, options_.builtin_rules))
        return std::unexpected(std::move(c).error());
      if (args_.json)
        print_json({{"event", "error"},
                    {"files", changed},
                    {"kept", last_.has_value()},
                    {"diagnostics", to_json(c.error().diagnostics)}},
                   -1);
      report(c.error(), false);
      if (!args_.json) fmt::print("{}\n", last_ ? "the last plan is kept" : "no plan yet");
      return {};
    }
    Planned now{c->plan, c->phases, c->stop_reasons, std::chrono::duration<double>(Clock::now() - start).count()};
    const Planned* before = last_ ? &*last_ : nullptr;
    if (args_.json)
      print_json(plan_json(before, now, changed), -1);
    else
      print_text(before, now, changed);
    last_ = std::move(now);
    std::vector<std::string> sources;  // included from elsewhere
    for (const SourcePtr& source : c->rules->sources) sources.push_back(source->name);
    return files_.add(sources);
  }

  const ModelArguments& args_;
  const driver::CompileOptions& options_;
  driver::Replanner replanner_;
  std::vector<std::string> watched_;
  FileWatch files_;
  std::optional<Planned> last_;
};

Result<int> watch(const ModelArguments& args) {
  FW_TRY(driver::CompileOptions options, compile_options(args));
  options.progress = {};
  return Watch(args, options).run();
}

}  // namespace

void add_watch(CLI::App& app, Outcome& outcome) {
  auto args = std::make_shared<ModelArguments>();
  CLI::App& command =
      add_command(app, outcome, "watch", "Plan a model again whenever a rule file is saved, and say what changed",
                  "  fusewright watch model.onnx --rules my-rules/\n"
                  "  fusewright watch model.onnx --dim batch=4 --rules my-rules/ --json\n"
                  "\nEnds with Ctrl-C. An error in a rule file is shown, and the last plan kept.\n",
                  args, watch);
  add_model_options(command, *args);
  add_device_option(command, *args);
  command.get_option("--json")->description("print one JSON object for each plan or error, on a line (docs/JSON.md)");
}

}  // namespace fusewright::cli
