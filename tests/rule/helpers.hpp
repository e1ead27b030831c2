#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "fusewright/rule/check.hpp"
#include "fusewright/rule/parse.hpp"

namespace fusewright::rule::testing {

inline std::string source_path(const std::string& path) { return std::string(FUSEWRIGHT_SOURCE_DIR) + "/" + path; }

inline std::string read_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

inline SourcePtr source(std::string text, std::string name = "test.fuse") {
  return std::make_shared<const SourceText>(SourceText{std::move(name), std::move(text)});
}

/// Files with that ending in a folder of the source tree, sorted.
inline std::vector<std::string> files_in(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(source_path(folder))) {
    if (entry.path().extension() == ".fuse") files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

inline ast::File parse(const std::string& text) {
  auto file = parse_rules(source(text));
  if (!file) FAIL(print_error(file.error()));
  return std::move(*file);
}

inline RuleSet check(const std::string& text) {
  auto set = check_rules({parse(text)}, ops::OpTable::builtin());
  if (!set) FAIL(print_error(set.error()));
  return std::move(*set);
}

/// What is wrong with a text, as it is printed; empty when nothing is.
inline std::string errors_of(const std::string& text, const std::string& name = "test.fuse") {
  auto file = parse_rules(source(text, name));
  if (!file) return print_error(file.error());
  auto set = check_rules({*file}, ops::OpTable::builtin());
  return set ? std::string() : print_error(set.error());
}

inline const RewriteRule& rewrite(const RuleSet& set, const std::string& name) {
  const auto at =
      std::find_if(set.rewrites.begin(), set.rewrites.end(), [&](const auto& rule) { return rule.name == name; });
  if (at == set.rewrites.end()) FAIL("no rewrite " << name);
  return *at;
}

/// A checked pattern in a form to compare: operators, names, attributes.
inline std::string dump(const RuleSet& set, const RewriteVariant& variant, std::uint32_t index) {
  const PatternNode& node = variant.nodes[index];
  std::string text;
  switch (node.kind) {
    case PatternNode::Kind::kVariable: return node.name + (node.optional ? "?" : "");
    case PatternNode::Kind::kWildcard: return node.optional ? "_?" : "_";
    case PatternNode::Kind::kLiteral: {
      std::ostringstream out;
      if (node.literal.any)
        out << "number";
      else
        out << (node.literal.approximate ? "~" : "") << node.literal.value;
      if (!node.literal.bind.empty()) out << ":" << node.literal.bind;
      return out.str();
    }
    case PatternNode::Kind::kApply: break;
  }
  for (const OpId op : node.ops.ops) text += (text.empty() ? "" : "|") + (*set.table)[op].name;
  std::string inside;
  for (const std::uint32_t operand : node.operands)
    inside += (inside.empty() ? "" : ", ") + dump(set, variant, operand);
  for (const auto& attr : node.attrs) {
    inside += (inside.empty() ? "" : ", ") + attr.attr + " = " + (attr.value ? ops::to_string(*attr.value) : attr.bind);
  }
  text += "(" + inside + ")";
  return node.name.empty() ? text : text + " as " + node.name;
}
inline std::string dump(const RuleSet& set, const RewriteVariant& variant) {
  return dump(set, variant, variant.roots[0]);
}

}  // namespace fusewright::rule::testing
