#pragma once

#include <catch2/catch.hpp>
#include <map>

#include "fusewright/cost/device.hpp"
#include "fusewright/graph/graph.hpp"
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

/// Over the operators of the built-in rules.
struct GraphInTheMaking {
  graph::Graph graph = graph::make_graph(library().table, "m");
  graph::Builder builder{graph, graph.entry};

  graph::Value op(const std::string& name, std::vector<graph::Value> operands, const ops::Attrs& attrs = {}) {
    const auto made = builder.add(name, std::move(operands), attrs);
    REQUIRE(made.has_value());
    return *made;
  }
};

}  // namespace fusewright::tests
