#include "fusewright/driver/replan.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>

#include "import.hpp"

namespace fusewright::driver {

namespace {

std::string text_of(const ops::OpInfo& op) {
  std::string text = op.name + '(';
  for (const auto& o : op.operands) text += o.name + (o.optional ? "?" : o.variadic ? "..." : "") + ',';
  for (const auto& a : op.attrs) {
    text += a.name + (a.optional ? "?" : "") + ':' + std::string(ops::name(a.kind));
    if (a.fallback) text += '=' + ops::to_string(*a.fallback);
    text += ',';
  }
  for (const std::string& result : op.results) text += result + ' ';
  if (op.body == nullptr) return text;
  for (const auto& [name, value] : op.body->lets) text += "let " + name + '=' + ops::print_expr(*value) + '\n';
  for (const auto& value : op.body->results) text += ops::print_expr(*value) + '\n';
  return text;
}

/// Then a graph over one is a graph over the other.
bool same_operators(const ops::OpTable& a, const ops::OpTable& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (text_of(a[ops::OpId(i)]) != text_of(b[ops::OpId(i)])) return false;
  return true;
}

/// Of rule files: the last one in it may have been deleted, and the next is still to be written.
bool is_empty_folder(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) return false;
  for (std::filesystem::recursive_directory_iterator it(path, error), end; !error && it != end; it.increment(error))
    if (it->path().extension() == ".fuse") return false;
  return !error;
}

bool same_group(const plan::Group& a, const plan::Group& b) {
  const auto uses = [](const plan::Group& group) {
    std::vector<std::pair<std::string, std::vector<std::string>>> rules;
    for (const plan::RewriteUse& use : group.rewrites) rules.emplace_back(use.rule, use.source_nodes);
    return rules;
  };
  return a.source_nodes == b.source_nodes && a.fuse_rule == b.fuse_rule && a.schedule.kind == b.schedule.kind &&
         a.bytes == b.bytes && a.seconds_estimated == b.seconds_estimated && a.nodes.size() == b.nodes.size() &&
         uses(a) == uses(b);
}

std::size_t shared_nodes(const plan::Group& a, const plan::Group& b) {
  std::vector<std::string> both;
  std::set_intersection(a.source_nodes.begin(), a.source_nodes.end(), b.source_nodes.begin(), b.source_nodes.end(),
                        std::back_inserter(both));
  return both.size();
}

}  // namespace

Result<Compilation> Replanner::plan() {
  std::vector<std::string> paths = options_.rules;
  std::erase_if(paths, is_empty_folder);
  FW_TRY(auto rules, load_rules(paths, options_.builtin_rules));
  if (imported_ && same_operators(*imported_->table, *rules->table)) {
    imported_->table = rules->table;
  } else {
    FW_TRY(const Import import, read_model(options_));
    FW_TRY(imported_, import(rules->table));
  }
  return plan_imported(options_, std::move(rules), *imported_);
}

PlanDifference compare_plans(const plan::Plan& before, const plan::Plan& after) {
  // By a node of the model, so that each group is held against few.
  std::multimap<std::string, std::size_t> by_node;
  for (std::size_t b = 0; b < before.groups.size(); ++b)
    for (const std::string& node : before.groups[b].source_nodes) by_node.emplace(node, b);
  std::vector<bool> taken(before.groups.size(), false);
  std::vector<bool> stays(after.groups.size(), false);
  const auto candidates = [&](const plan::Group& group) {
    std::vector<std::size_t> found;
    for (const std::string& node : group.source_nodes)
      for (auto [at, end] = by_node.equal_range(node); at != end; ++at)
        if (!taken[at->second]) found.push_back(at->second);
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    return found;
  };
  for (std::size_t a = 0; a < after.groups.size(); ++a) {
    for (const std::size_t b : candidates(after.groups[a])) {
      if (!same_group(before.groups[b], after.groups[a])) continue;
      taken[b] = stays[a] = true;
      break;
    }
  }
  PlanDifference difference;
  for (std::size_t a = 0; a < after.groups.size(); ++a) {
    if (stays[a]) continue;
    const plan::Group& group = after.groups[a];
    std::size_t best = before.groups.size(), most = 0;
    for (const std::size_t b : candidates(group)) {
      const std::size_t shared = shared_nodes(before.groups[b], group);
      const std::size_t larger = std::max(before.groups[b].source_nodes.size(), group.source_nodes.size());
      if (2 * shared >= larger && shared > most) best = b, most = shared;
    }
    if (best == before.groups.size()) {
      difference.added.push_back(a);
      continue;
    }
    taken[best] = true;
    difference.changed.emplace_back(best, a);
  }
  for (std::size_t b = 0; b < before.groups.size(); ++b)
    if (!taken[b]) difference.removed.push_back(b);
  return difference;
}

}  // namespace fusewright::driver
