#include <fmt/format.h>

#include <algorithm>

#include "fusewright/audit/text.hpp"
#include "fusewright/audit/values.hpp"
#include "run.hpp"
#include "terminal.hpp"

namespace fusewright::cli {

namespace {

using audit::human_bytes;
using audit::human_seconds;
using audit::Json;
using audit::number;
using audit::shorten;

std::int64_t launches(const driver::Compilation& c) {
  std::int64_t count = 0;
  for (const kernel::Kernel& k : c.kernels) count += static_cast<std::int64_t>(k.launches.size());
  return count;
}

Json group_json(const driver::Compilation& c, const RunReport& report, std::size_t g) {
  Json json = audit::group_json(*c.plan, g);
  json["kernels"] = c.kernels[g].launches.size();
  const kernel::Counters& counters = report.groups[g].counters;
  if (counters.loads + counters.stores > 0) json["bytes_counted"] = counters.load_bytes + counters.store_bytes;
  if (report.registers[g] >= 0) json["registers"] = report.registers[g];
  if (report.shared_bytes[g] >= 0) json["shared_bytes"] = report.shared_bytes[g];
  json["seconds"] = report.groups[g].seconds;
  return json;
}

Json check_json(const driver::CheckReport& check) {
  return {{"ok", check.ok},
          {"worst_group", check.worst_group},
          {"max_error", number(check.max_error)},
          {"bound", number(check.bound)},
          {"end_to_end_error", number(check.end_to_end_error)},
          {"not_compared", check.not_compared},
          {"failures", check.failures}};
}

void print_check(const driver::CheckReport& check) {
  fmt::print(
      "check {}: outputs differ from the reference by {:.3g}; nearest to its bound is\n  {}, {:.3g} off of "
      "{:.3g} allowed\n",
      check.ok ? paint(stdout, Colour::kGreen, "ok") : paint(stdout, Colour::kRed, "FAILED"), check.end_to_end_error,
      check.worst_group.empty() ? "no kernel" : check.worst_group, check.max_error, check.bound);
  if (check.not_compared > 0)
    fmt::print("  {} element{} of the outputs not compared: the model overflows or underflows on the way there\n",
               check.not_compared, check.not_compared == 1 ? "" : "s");
}

}  // namespace

double RunReport::seconds_median() const {
  if (seconds.empty()) return 0;
  std::vector<double> sorted = seconds;
  std::sort(sorted.begin(), sorted.end());
  return sorted[sorted.size() / 2];
}

double RunReport::seconds_min() const {
  return seconds.empty() ? 0 : *std::min_element(seconds.begin(), seconds.end());
}

Json to_json(const RunArguments& args, const driver::Compilation& c, const RunReport& report) {
  Json json;
  json["model"] = args.model.model;
  json["device"] = args.model.device;
  json["kernels"] = launches(c);
  json["bytes"] = audit::planned_bytes(*c.plan);
  json["groups"] = Json::array();
  for (std::size_t g = 0; g < c.plan->groups.size(); ++g) json["groups"].push_back(group_json(c, report, g));
  json["views"] = audit::views_json(*c.plan);
  json["unfused"] = audit::unfused_json(*c.plan);
  if (args.bench && args.model.no_fuse) json["unfused"]["seconds"] = report.seconds_median();
  if (report.check) json["check"] = check_json(*report.check);
  if (!args.model.data.empty()) json["stored_outputs_ok"] = report.wrong.empty();
  if (report.accuracy) json["accuracy"] = *report.accuracy;
  json["extraction"] = audit::extraction_json(*c.plan);
  json["stop_reasons"] = c.stop_reasons;
  json["phases"] = Json::object();
  for (const auto& [name, seconds] : c.phases) json["phases"][name] = seconds;
  json["peak_bytes"] = report.peak_bytes;
  if (args.bench) {
    json["seconds_median"] = report.seconds_median();
    json["seconds_min"] = report.seconds_min();
    json["seconds_compile"] = report.seconds_compile;
    json["repeats"] = report.seconds.size();
  }
  return json;
}

void print_text(const RunArguments& args, const driver::Compilation& c, const RunReport& report) {
  constexpr std::size_t kName = 31, kRule = 13;
  fmt::print("{:>3} {:{}} {:>9} {:>9} {:>9}  {}\n", "", "kernel", kName, "bytes", "estimate", "time", "rule");
  for (std::size_t g = 0; g < c.plan->groups.size(); ++g) {
    const plan::Group& group = c.plan->groups[g];
    const std::size_t count = c.kernels[g].launches.size();
    const std::string times = count == 1 ? "" : fmt::format(" x{}", count);
    fmt::print("{:>3} {:{}} {:>9} {:>9} {:>9}  {}\n", g, shorten(group.name, kName - times.size()) + times, kName,
               human_bytes(group.bytes), human_seconds(group.seconds_estimated),
               human_seconds(report.groups[g].seconds), shorten(group.fuse_rule, kRule));
  }
  double seconds = 0;
  for (const runtime::GroupRun& group : report.groups) seconds += group.seconds;
  const auto kernels = [](std::int64_t n) { return fmt::format("{} {}", n, n == 1 ? "kernel" : "kernels"); };
  fmt::print("{}, {} bytes, {}\n", kernels(launches(c)), audit::planned_bytes(*c.plan), human_seconds(seconds));
  fmt::print("every operator alone: {}, {} bytes\n", kernels(c.plan->unfused_kernels), c.plan->unfused_bytes);
  for (const std::string& reason : c.stop_reasons) fmt::print("stopped: {}\n", reason);
  if (args.bench)
    fmt::print("median {}, least {} of {} runs; compiled in {}\n", human_seconds(report.seconds_median()),
               human_seconds(report.seconds_min()), report.seconds.size(), human_seconds(report.seconds_compile));
  if (report.check) print_check(*report.check);
  if (!args.model.data.empty())
    fmt::print("stored outputs {}\n",
               report.wrong.empty() ? paint(stdout, Colour::kGreen, "met") : paint(stdout, Colour::kRed, "NOT met"));
  if (report.accuracy) fmt::print("accuracy {:.4f}\n", *report.accuracy);
}

}  // namespace fusewright::cli
