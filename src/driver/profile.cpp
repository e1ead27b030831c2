#include "fusewright/driver/profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace fusewright::driver {

namespace {

using Parts = std::vector<std::pair<std::string, double>>;

void add_parts(Profile& profile, int depth, double start, const Parts& parts) {
  for (const auto& [name, seconds] : parts) {
    profile.entries.push_back({name, depth, start, seconds});
    start += seconds;
  }
}

void add_saturation(Profile& profile, double start, const saturate::Trace& trace) {
  double rounds = 0;
  for (const saturate::IterationTrace& it : trace.iterations)
    rounds += it.index_seconds + it.match_seconds + it.apply_seconds + it.rebuild_seconds;
  add_parts(profile, 1, start, {{"e-graph of the model", trace.import_seconds}});
  start += trace.import_seconds;
  for (std::size_t i = 0; i < trace.iterations.size(); ++i) {
    const saturate::IterationTrace& it = trace.iterations[i];
    const Parts parts{{"index", it.index_seconds},
                      {"search", it.match_seconds},
                      {"apply", it.apply_seconds},
                      {"rebuild", it.rebuild_seconds}};
    const double seconds = it.index_seconds + it.match_seconds + it.apply_seconds + it.rebuild_seconds;
    profile.entries.push_back({fmt::format("round {}", i + 1), 1, start, seconds});
    add_parts(profile, 2, start, parts);
    start += seconds;
  }
  add_parts(profile, 1, start, {{"begin and end", std::max(0.0, trace.seconds - rounds)}});
}

double total(const saturate::RuleTrace& rule) { return rule.match_seconds + rule.seconds; }

bool has_parts(const std::vector<ProfileEntry>& entries, std::size_t i) {
  return i + 1 < entries.size() && entries[i + 1].depth > entries[i].depth;
}

}  // namespace

double Profile::accounted() const {
  double sum = 0;
  for (std::size_t i = 0; i < entries.size(); ++i)
    if (!has_parts(entries, i)) sum += entries[i].seconds;
  return seconds > 0 ? sum / seconds : 1;
}

Profile profile_of(const Compilation& compilation, double seconds) {
  Profile profile;
  profile.seconds = seconds;
  double start = 0;
  for (const auto& [name, spent] : compilation.phases) {
    profile.entries.push_back({name, 0, start, spent});
    if (name == "saturate" && compilation.saturated) add_saturation(profile, start, compilation.saturated->trace);
    if (name == "extract") add_parts(profile, 1, start, compilation.parts);
    start += spent;
  }
  if (!compilation.saturated) return profile;
  std::ranges::copy_if(compilation.saturated->trace.rules, std::back_inserter(profile.rules),
                       [](const saturate::RuleTrace& rule) { return total(rule) > 0; });
  std::ranges::sort(profile.rules, {}, [](const saturate::RuleTrace& rule) {
    return std::pair<double, std::string_view>(-total(rule), rule.name);
  });
  return profile;
}

std::string print_profile(const Profile& profile) {
  constexpr std::size_t kRules = 40;
  std::string out = fmt::format("{:44} {:>10} {:>8}\n", "phase", "ms", "share");
  const auto line = [&](const std::string& name, double seconds) {
    out += fmt::format("{:44} {:>10.3f} {:>6.1f} %\n", name, 1e3 * seconds,
                       profile.seconds > 0 ? 100 * seconds / profile.seconds : 0);
  };
  for (const ProfileEntry& entry : profile.entries)
    line(std::string(2 * static_cast<std::size_t>(entry.depth), ' ') + entry.name, entry.seconds);
  line("the whole", profile.seconds);
  out += fmt::format("accounted for: {:.1f} %\n", 100 * profile.accounted());
  if (profile.rules.empty()) return out;
  out += fmt::format("\n{:44} {:>10} {:>10} {:>8} {:>8}\n", "rewrite", "search ms", "apply ms", "matches", "applied");
  for (std::size_t i = 0; i < std::min(kRules, profile.rules.size()); ++i) {
    const saturate::RuleTrace& rule = profile.rules[i];
    out += fmt::format("{:44} {:>10.3f} {:>10.3f} {:>8} {:>8}\n", rule.name, 1e3 * rule.match_seconds,
                       1e3 * rule.seconds, rule.matches, rule.applied);
  }
  if (profile.rules.size() > kRules) {
    double rest = 0;
    for (std::size_t i = kRules; i < profile.rules.size(); ++i) rest += total(profile.rules[i]);
    out += fmt::format("{} further rewrites: {:.3f} ms\n", profile.rules.size() - kRules, 1e3 * rest);
  }
  return out;
}

std::string trace_events(const Profile& profile) {
  using Json = nlohmann::ordered_json;
  Json events = Json::array();
  const auto add = [&](const std::string& name, const char* category, int track, double start, double seconds) {
    events.push_back({{"name", name},
                      {"cat", category},
                      {"ph", "X"},
                      {"ts", 1e6 * start},
                      {"dur", 1e6 * seconds},
                      {"pid", 1},
                      {"tid", track}});
  };
  const auto name_track = [&](int track, const char* name) {
    events.push_back({{"name", "thread_name"}, {"ph", "M"}, {"pid", 1}, {"tid", track}, {"args", {{"name", name}}}});
  };
  name_track(1, "phases");
  for (const ProfileEntry& entry : profile.entries) add(entry.name, "phase", 1, entry.start, entry.seconds);
  if (profile.rules.empty()) return Json{{"traceEvents", events}}.dump() + '\n';
  name_track(2, "rewrites, added up");
  double start = 0;
  for (const saturate::RuleTrace& rule : profile.rules) {
    add(rule.name, "rewrite", 2, start, total(rule));
    events.back()["args"] = {{"matches", rule.matches}, {"applied", rule.applied}};
    add("search", "rewrite", 2, start, rule.match_seconds);
    add("apply", "rewrite", 2, start + rule.match_seconds, rule.seconds);
    start += total(rule);
  }
  return Json{{"traceEvents", events}}.dump() + '\n';
}

}  // namespace fusewright::driver
