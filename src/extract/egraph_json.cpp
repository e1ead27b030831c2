#include "fusewright/extract/egraph_json.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <unordered_map>

namespace fusewright::extract {

namespace {

using Json = nlohmann::ordered_json;

class Reader {
 public:
  Reader(const std::string& name, std::string text)
      : source_(std::make_shared<SourceText>(SourceText{name, std::move(text)})) {}

  Result<NamedProblem> run() {
    FW_TRY(const Json json, parse());
    if (!json.is_object()) return fail("an object with 'nodes' and 'root_eclasses' is expected", whole());
    const auto nodes = json.find("nodes");
    if (nodes == json.end() || !nodes->is_object()) return fail("there is no object 'nodes'", whole());
    const auto roots = json.find("root_eclasses");
    if (roots == json.end() || !roots->is_array()) return fail("there is no list 'root_eclasses'", whole());
    for (const auto& [name, node] : nodes->items()) FW_TRY_STATUS(add_node(name, node));
    for (const auto& [name, node] : nodes->items()) FW_TRY_STATUS(add_children(name, node));
    if (roots->empty()) return fail("'root_eclasses' is empty: nothing is asked for", place("root_eclasses"));
    for (const Json& root : *roots) {
      if (!root.is_string()) return fail("a root is the name of a class", place("root_eclasses"));
      const auto at = class_of_.find(root.get<std::string>());
      if (at == class_of_.end())
        return fail(fmt::format("root class '{}' has no nodes", root.get<std::string>()), place("root_eclasses"));
      out_.problem.roots.push_back(at->second);
    }
    if (const auto root = underivable_root(out_.problem))
      return fail(fmt::format("root class '{}' has no derivation without a cycle", out_.classes[*root]),
                  place("root_eclasses"));
    return std::move(out_);
  }

 private:
  Result<Json> parse() const {
    try {
      return Json::parse(source_->text);
    } catch (const Json::parse_error& error) {
      const auto at = static_cast<std::uint32_t>(std::min(error.byte > 0 ? error.byte - 1 : 0, source_->text.size()));
      return fail("this is no JSON", Span{source_, at, at + 1});
    } catch (const Json::exception&) {  // a number beyond the range
      return fail("this is no JSON that can be read: a number is out of range", whole());
    }
  }

  Status add_node(const std::string& name, const Json& node) {
    const auto bad = [&](const std::string& what) {
      return fail(fmt::format("node '{}': {}", name, what), place(name));
    };
    if (!node.is_object()) return bad("an object is expected");
    const auto cost = node.find("cost");
    if (cost == node.end()) return bad("there is no 'cost'");
    if (!cost->is_number()) return bad("its cost is no number");
    const double value = cost->get<double>();
    if (!std::isfinite(value) || value < 0)
      return bad(fmt::format("its cost is {}; costs are finite and not negative", value));
    const auto eclass = node.find("eclass");
    if (eclass == node.end() || !eclass->is_string()) return bad("there is no text 'eclass'");
    const auto [at, added] =
        class_of_.emplace(eclass->get<std::string>(), static_cast<std::uint32_t>(out_.classes.size()));
    if (added) {
      out_.classes.push_back(at->first);
      out_.nodes.emplace_back();
      out_.problem.classes.emplace_back();
    }
    const std::uint32_t c = at->second;
    node_at_.emplace(name, std::pair{c, out_.nodes[c].size()});
    out_.nodes[c].push_back(name);
    out_.problem.classes[c].push_back({value, {}});
    return {};
  }

  Status add_children(const std::string& name, const Json& node) {
    const auto bad = [&](const std::string& what) {
      return fail(fmt::format("node '{}': {}", name, what), place(name));
    };
    const auto children = node.find("children");
    if (children == node.end()) return {};
    if (!children->is_array()) return bad("'children' is no list");
    const auto [c, i] = node_at_.at(name);
    for (const Json& child : *children) {
      if (!child.is_string()) return bad("a child is the name of a node");
      const auto at = node_at_.find(child.get<std::string>());
      if (at == node_at_.end())
        return bad(fmt::format("there is no node '{}' for its child", child.get<std::string>()));
      out_.problem.classes[c][i].children.push_back(at->second.first);
    }
    return {};
  }

  // Where a member of this name begins.
  Span place(const std::string& name) const {
    const std::string& text = source_->text;
    const std::string key = Json(name).dump(-1, ' ', false, Json::error_handler_t::replace);
    for (std::size_t at = text.find(key); at != std::string::npos; at = text.find(key, at + 1)) {
      const std::size_t after = text.find_first_not_of(" \t\r\n", at + key.size());
      if (after != std::string::npos && text[after] == ':')
        return {source_, static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(at + key.size())};
    }
    return whole();
  }
  Span whole() const { return {source_, 0, 0}; }

  SourcePtr source_;
  NamedProblem out_;
  std::unordered_map<std::string, std::uint32_t> class_of_;
  std::unordered_map<std::string, std::pair<std::uint32_t, std::size_t>> node_at_;
};

}  // namespace

Result<NamedProblem> read_egraph_json(const std::string& name, std::string text) {
  return Reader(name, std::move(text)).run();
}

}  // namespace fusewright::extract
