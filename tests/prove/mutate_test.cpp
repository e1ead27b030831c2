#include "fusewright/prove/mutate.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "fusewright/rule/check.hpp"
#include "fusewright/rule/parse.hpp"

namespace fusewright::prove {
namespace {

SourcePtr source_of(const std::string& name, const std::string& text) {
  return std::make_shared<const SourceText>(SourceText{name, text});
}

std::vector<std::string> changes(const std::string& rule) {
  auto file = rule::parse_rules(source_of("test.fuse", rule));
  if (!file) FAIL(print_error(file.error()));
  std::vector<std::string> out;
  for (const Mutant& m : mutants_of(std::get<rule::ast::RuleDecl>(file->items[0].what))) out.push_back(m.change());
  return out;
}

std::vector<MutantOutcome> outcomes(const std::string& text, const std::string& explained = {}) {
  auto file = rule::parse_rules(source_of("test.fuse", text));
  if (!file) FAIL(print_error(file.error()));
  auto set = rule::check_rules({*file}, ops::OpTable::builtin());
  if (!set) FAIL(print_error(set.error()));
  Options options;
  options.budget = {60};
  auto out = prove_mutants(*set, options, *read_explanations(source_of("explained", explained)));
  if (!out) FAIL(print_error(out.error()));
  return *std::move(out);
}

const char* const kAddZero = "rewrite add-zero { match x + 0  where is_integer(x)  to x }";

}  // namespace

TEST_CASE("a rule is broken in each of its places", "[prove]") {
  CHECK(changes("rewrite r { match max(max(x, b), b)  where rank(x) >= 2  to max(x, -b) }") ==
        std::vector<std::string>{"wrong operator: max(max(x, b), b) -> min(max(x, b), b)",
                                 "wrong operator: max(x, b) -> min(x, b)", "dropped equality: b -> b_other",
                                 "dropped guard: rank(x) >= 2", "wrong constant: rank(x) >= 2 -> rank(x) >= 1",
                                 "wrong operator: max(x, -b) -> min(x, -b)",
                                 "swapped operand: max(x, -b) -> max(-b, x)", "dropped operator: max(x, -b) -> x",
                                 "dropped operator: max(x, -b) -> -b", "swapped operand: x -> b", "wrong sign: -b -> b",
                                 "swapped operand: b -> x"});
}

TEST_CASE("a number that is changed is printed as it is now", "[prove]") {
  const std::vector<std::string> all =
      changes("rewrite r { match x * 0.5  where splat(c), value(c) >= 0.25  to x * 3.0 }");
  for (const std::string wanted :
       {"wrong constant: 0.5 -> 1.0", "wrong constant: value(c) >= 0.25 -> value(c) >= 0.125",
        "wrong constant: 3.0 -> 6.0"})
    CHECK(std::ranges::find(all, wanted) != all.end());
}

TEST_CASE("broken rules are refuted", "[prove]") {
  const std::vector<MutantOutcome> all = outcomes(kAddZero);
  REQUIRE(all.size() == 3);
  CHECK(all[0].change == "wrong operator: x + 0 -> x - 0");
  CHECK(all[0].verdict.kind != Verdict::Kind::kRefuted);  // zero has no sign
  CHECK(all[1].verdict.kind == Verdict::Kind::kRefuted);
  CHECK(all[2].verdict.kind == Verdict::Kind::kRefuted);
  CHECK(mutants_to_markdown(all).find("1 rules, 3 mutants,\n2 refuted, 1 right all the same, 0 open") !=
        std::string::npos);
}

TEST_CASE("a mutant that is right all the same is proved or has a reason", "[prove]") {
  const std::string rule = "rewrite r { match max(x, x)  where rank(x) >= 0  to x }";
  bool explained = false;
  for (const MutantOutcome& o : outcomes(rule, "r: dropped guard: rank(x) >= 0 => no rank is below zero")) {
    if (o.verdict.kind != Verdict::Kind::kRefuted) CHECK_FALSE(o.reason.empty());
    explained = explained || (o.change == "dropped guard: rank(x) >= 0" && !o.reason.empty() &&
                              o.verdict.kind != Verdict::Kind::kRefuted);
  }
  CHECK(explained);
}

TEST_CASE("an explanation of what is refuted or does not exist is an error", "[prove]") {
  auto file = rule::parse_rules(source_of("test.fuse", kAddZero));
  auto set = rule::check_rules({*file}, ops::OpTable::builtin());
  Options options;
  options.budget = {60};
  const auto refuted = prove_mutants(*set, options, {{"add-zero: dropped guard: is_integer(x)", "no"}});
  REQUIRE_FALSE(refuted);
  CHECK(refuted.error().diagnostics[0].message == "explained but refuted: add-zero: dropped guard: is_integer(x)");
  const auto absent = prove_mutants(*set, options, {{"add-zero: other", "no"}});
  REQUIRE_FALSE(absent);
  CHECK(absent.error().diagnostics[0].message == "explained, but there is no such mutant: add-zero: other");
  CHECK_FALSE(read_explanations(source_of("explained", "add-zero has no reason\n")));
}

/// A journal of the rules of a text, in a file of its own.
class JournalFile {
 public:
  explicit JournalFile(const std::string& text) {
    auto file = rule::parse_rules(source_of("test.fuse", text));
    if (!file) FAIL(print_error(file.error()));
    set_ = *rule::check_rules({*file}, ops::OpTable::builtin());
    std::filesystem::remove(path_);
  }
  ~JournalFile() { std::filesystem::remove(path_); }

  std::vector<MutantOutcome> run(std::uint64_t terms) const {
    Options options;
    options.budget = {terms};
    auto journal = MutantJournal::open(path_, set_, options.budget);
    REQUIRE(journal);
    auto out = prove_mutants(set_, options, {}, &*journal);
    REQUIRE(out);
    return *std::move(out);
  }
  std::vector<std::string> lines() const {
    std::vector<std::string> out;
    std::ifstream in(path_);
    for (std::string line; std::getline(in, line);) out.push_back(line);
    return out;
  }
  void write(const std::vector<std::string>& lines) const {
    std::ofstream out(path_);
    for (const std::string& line : lines) out << line << '\n';
  }

 private:
  rule::RuleSet set_;
  std::string path_ = (std::filesystem::temp_directory_path() / "fusewright-mutants-test.jsonl").string();
};

TEST_CASE("broken rules are taken over from a run that was interrupted", "[prove]") {
  const JournalFile file(kAddZero);
  const std::vector<MutantOutcome> first = file.run(60);
  std::vector<std::string> known = file.lines();
  REQUIRE(known.size() == 4);  // a heading
  // The first is known, told by its seconds; the second was cut off.
  const std::size_t at = known[1].find("\"seconds\":");
  known[1].replace(at, known[1].find_first_of(",}", at) - at, "\"seconds\":1234.5");
  known[2].resize(40);
  known.pop_back();
  file.write(known);
  const std::vector<MutantOutcome> second = file.run(60);
  CHECK(file.lines().size() == 4);
  CHECK(second[0].verdict.seconds == 1234.5);
  CHECK(second[1].verdict.seconds != 1234.5);
  CHECK(mutants_to_markdown(second) == mutants_to_markdown(first));
  CHECK(file.run(61)[0].verdict.seconds != 1234.5);  // of another budget
  CHECK_FALSE(MutantJournal::open("/nowhere/mutants.jsonl", {}, {}));
}

TEST_CASE("what refutes a weaker guard refutes the rule without it", "[prove]") {
  const JournalFile file("rewrite r { match x + x  where rank(x) >= 1  to x * 2 }");
  file.run(60);
  std::vector<std::string> lines = file.lines();
  const auto judge = [&](const std::string& change, const std::string& verdict) {
    for (std::string& line : lines) {
      const std::size_t at = line.find("\"verdict\":\"") + 11;
      if (line.find(change) != std::string::npos) line.replace(at, line.find('"', at) - at, verdict);
    }
  };
  judge("dropped guard: rank(x) >= 1", "exhausted");
  judge("wrong constant: rank(x) >= 1 -> rank(x) >= 0", "refuted");
  file.write(lines);
  std::size_t found = 0;
  for (const MutantOutcome& o : file.run(60))
    found += o.change == "dropped guard: rank(x) >= 1" && o.verdict.kind == Verdict::Kind::kRefuted ? 1 : 0;
  CHECK(found == 1);
}

}  // namespace fusewright::prove
