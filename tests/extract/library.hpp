#pragma once

#include <catch2/catch.hpp>
#include <map>

#include "fusewright/cost/device.hpp"
#include "fusewright/rule/check.hpp"
#include "tests/main/paths.hpp"

/// The built-in rules and device files, each read once.
namespace fusewright::tests {

inline const rule::RuleSet& library() {
  static const auto rules = rule::load_rules({(source_dir() / "rules").string()}, ops::OpTable::builtin());
  REQUIRE(rules.has_value());
  return *rules;
}

/// "x86-avx512", "h200", ...
inline const cost::Device& device(const std::string& name) {
  static std::map<std::string, cost::Device> known;
  if (!known.contains(name)) {
    const auto loaded = cost::load_device((source_dir() / "backends/devices" / (name + ".json")).string());
    REQUIRE(loaded.has_value());
    known.emplace(name, *loaded);
  }
  return known.at(name);
}

}  // namespace fusewright::tests
