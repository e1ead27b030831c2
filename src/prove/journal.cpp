#include "fusewright/prove/journal.hpp"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>

namespace fusewright::prove {

using nlohmann::ordered_json;

namespace {

constexpr std::array kKinds = {Verdict::Kind::kProved, Verdict::Kind::kExhausted, Verdict::Kind::kSampled,
                               Verdict::Kind::kRefuted, Verdict::Kind::kUndecided};

/// The first line: what the verdicts depend on.
std::string heading(const rule::RuleSet& rules, const Budget& budget) {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const SourcePtr& source : rules.sources)
    for (const char c : source->text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return ordered_json({{"rules", fmt::format("{:016x}", hash)}, {"terms", budget.terms_per_level}}).dump();
}

ordered_json to_line(const std::string& mutant, const Verdict& v) {
  ordered_json line = {{"mutant", mutant}, {"verdict", name(v.kind)}, {"seconds", v.seconds}};
  if (!v.theory.empty()) line["theory"] = v.theory;
  if (!v.space.empty()) line["space"] = v.space;
  if (!v.reason.empty()) line["reason"] = v.reason;
  if (v.counterexample)
    line["counterexample"] = {{"reject", v.counterexample->reject},
                              {"values", v.counterexample->values},
                              {"reason", v.counterexample->reason}};
  return line;
}

std::optional<std::pair<std::string, Verdict>> read_line(const std::string& text) {
  const ordered_json line = ordered_json::parse(text, nullptr, false);
  if (!line.is_object() || !line.contains("mutant")) return std::nullopt;
  const auto field = [](const ordered_json& of, const char* key) { return of.value(key, std::string()); };
  Verdict v;
  for (const Verdict::Kind kind : kKinds)
    if (name(kind) == field(line, "verdict")) v.kind = kind;
  v.seconds = line.value("seconds", 0.0);
  v.theory = field(line, "theory");
  v.space = field(line, "space");
  v.reason = field(line, "reason");
  if (const auto found = line.find("counterexample"); found != line.end())
    v.counterexample = {field(*found, "reject"), field(*found, "values"), field(*found, "reason")};
  return std::pair(field(line, "mutant"), std::move(v));
}

}  // namespace

Result<MutantJournal> MutantJournal::open(const std::string& path, const rule::RuleSet& rules, const Budget& budget) {
  MutantJournal out;
  out.path_ = path;
  std::ifstream in(path, std::ios::binary);
  const std::string first = heading(rules, budget);
  std::string line;
  if (std::getline(in, line) && line == first)
    while (std::getline(in, line))
      if (auto read = read_line(line)) out.known_.insert(*std::move(read));
  in.close();
  out.out_.open(path, std::ios::binary | std::ios::trunc);
  out.out_ << first << '\n';
  for (const auto& [mutant, verdict] : out.known_) out.out_ << to_line(mutant, verdict).dump() << '\n';
  out.out_.flush();
  if (!out.out_) return fail("cannot write " + path);
  return out;
}

const Verdict* MutantJournal::find(const std::string& mutant) const {
  const auto at = known_.find(mutant);
  return at == known_.end() ? nullptr : &at->second;
}

Status MutantJournal::add(const std::string& mutant, const Verdict& verdict) {
  const std::scoped_lock one(*lock_);
  out_ << to_line(mutant, verdict).dump() << '\n';
  out_.flush();
  if (!out_) return fail("cannot write " + path_);
  return {};
}

}  // namespace fusewright::prove
