#pragma once

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "fusewright/prove/prove.hpp"
#include "fusewright/prove/report.hpp"
#include "fusewright/rule/check.hpp"
#include "fusewright/rule/parse.hpp"

namespace fusewright::prove {

inline std::shared_ptr<const rule::RuleSet> rules_of(const std::string& text) {
  auto file = rule::parse_rules(std::make_shared<const SourceText>(SourceText{"test.fuse", text}));
  if (!file) FAIL(print_error(file.error()));
  auto set = rule::check_rules({*file}, ops::OpTable::builtin());
  if (!set) FAIL(print_error(set.error()));
  return std::make_shared<const rule::RuleSet>(*std::move(set));
}

inline std::vector<Verdict> verdicts_of(const std::string& text) {
  Options options;
  options.budget = {120};
  auto verdicts = prove(rules_of(text), options);
  if (!verdicts) FAIL(print_error(verdicts.error()));
  return *std::move(verdicts);
}

inline Verdict verdict_of(const std::string& text) {
  const std::vector<Verdict> all = verdicts_of(text);
  REQUIRE(all.size() == 1);
  INFO(to_text(all));
  return all[0];
}

inline bool refuted(const std::string& text) {
  const Verdict v = verdict_of(text);
  INFO(to_text({v}));
  REQUIRE(v.counterexample.has_value() == (v.kind == Verdict::Kind::kRefuted));
  return v.kind == Verdict::Kind::kRefuted;
}

/// Not only nothing found against it.
inline bool sure(const Verdict& v) { return v.kind == Verdict::Kind::kProved || v.kind == Verdict::Kind::kExhausted; }

inline bool holds(const std::string& text) { return sure(verdict_of(text)); }

}  // namespace fusewright::prove
