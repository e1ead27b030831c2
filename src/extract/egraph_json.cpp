#include "fusewright/extract/egraph_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_map>
#include <utility>

namespace fusewright::extract {

namespace {

using Json = nlohmann::json;

/// What the parser comes by, one piece after the other: files are large, and members that mean nothing here may be as
/// deep as they like. Every function returns whether to go on.
class Reader : public nlohmann::json_sax<Json> {
 public:
  Reader(const std::string& name, std::string text)
      : source_(std::make_shared<SourceText>(SourceText{name, std::move(text)})) {}

  Result<NamedProblem> run() {
    if (!Json::sax_parse(source_->text, this)) return std::unexpected(*std::move(error_));
    if (!has_nodes_) return fail("there is no object 'nodes'", whole());
    if (!has_roots_) return fail("there is no list 'root_eclasses'", whole());
    FW_TRY_STATUS(resolve_children());
    FW_TRY_STATUS(resolve_roots());
    return std::move(out_);
  }

  bool start_object(std::size_t) override {
    switch (place_) {
      case Place::kOutside: place_ = Place::kFile; return true;
      case Place::kNodesValue: place_ = Place::kNodes; return true;
      case Place::kNodeValue:
        place_ = Place::kNode;
        node_ = {};
        return true;
      default: return place_ == Place::kIgnored ? deeper() : other();
    }
  }
  bool end_object() override {
    switch (place_) {
      case Place::kNode: return end_node();
      case Place::kNodes: place_ = Place::kFile; return true;
      case Place::kFile: place_ = Place::kOutside; return true;
      default: return shallower();
    }
  }
  bool start_array(std::size_t) override {
    switch (place_) {
      case Place::kRootsValue: place_ = Place::kRoots; return true;
      case Place::kChildrenValue: place_ = Place::kChildren; return true;
      default: return place_ == Place::kIgnored ? deeper() : other();
    }
  }
  bool end_array() override {
    switch (place_) {
      case Place::kRoots: place_ = Place::kFile; return true;
      case Place::kChildren: place_ = Place::kNode; return true;
      default: return shallower();
    }
  }

  bool key(string_t& name) override {
    if (place_ == Place::kFile) {
      if (name == "nodes") return only(has_nodes_, name) && goes_to(Place::kNodesValue);
      if (name == "root_eclasses") return only(has_roots_, name) && goes_to(Place::kRootsValue);
      return ignores(Place::kFile);
    }
    if (place_ == Place::kNodes) {
      node_name_ = std::move(name);
      return goes_to(Place::kNodeValue);
    }
    if (place_ == Place::kNode) {
      if (name == "cost") return goes_to(Place::kCostValue);
      if (name == "eclass") return goes_to(Place::kClassValue);
      if (name == "children") return goes_to(Place::kChildrenValue);
      return ignores(Place::kNode);
    }
    return true;  // deep in what is left alone
  }

  bool string(string_t& text) override {
    switch (place_) {
      case Place::kClassValue: node_.eclass = std::move(text); return goes_to(Place::kNode);
      case Place::kChildren: node_.children.push_back(std::move(text)); return true;
      case Place::kRoots: roots_.push_back(std::move(text)); return true;
      default: return other();
    }
  }
  bool number_float(double value, const string_t&) override {
    if (place_ != Place::kCostValue) return other();
    node_.cost = value;
    return goes_to(Place::kNode);
  }
  bool number_integer(std::int64_t value) override { return number_float(static_cast<double>(value), {}); }
  bool number_unsigned(std::uint64_t value) override { return number_float(static_cast<double>(value), {}); }
  bool null() override { return other(); }
  bool boolean(bool) override { return other(); }
  bool binary(binary_t&) override { return other(); }

  bool parse_error(std::size_t byte, const std::string&, const nlohmann::detail::exception& error) override {
    const auto at = static_cast<std::uint32_t>(std::min(byte > 0 ? byte - 1 : 0, source_->text.size()));
    constexpr int kNumberOverflow = 406;
    const std::string_view what = error.what();
    const std::size_t reason = what.find(" - ");
    std::string message = "this is no JSON";
    if (error.id == kNumberOverflow)
      message = "a number is out of range";
    else if (reason != std::string_view::npos)
      message += ": " + std::string(what.substr(reason + 3, what.find("; last read") - reason - 3));
    return stop(message, Span{source_, at, at + 1});
  }

 private:
  /// Where the parser stands: in an object or list, or before the value of one of its members.
  enum class Place : std::uint8_t {
    kOutside,
    kFile,
    kNodesValue,
    kNodes,
    kNodeValue,
    kNode,
    kCostValue,
    kClassValue,
    kChildrenValue,
    kChildren,
    kRootsValue,
    kRoots,
    kIgnored,
  };
  struct Node {
    std::optional<double> cost;
    std::optional<std::string> eclass;
    std::vector<std::string> children;  // names of nodes
  };
  struct Where {
    std::uint32_t eclass;
    std::size_t number;
  };

  bool goes_to(Place place) {
    place_ = place;
    return true;
  }
  bool ignores(Place place) {
    behind_ = place;
    depth_ = 0;
    return goes_to(Place::kIgnored);
  }
  bool deeper() {
    ++depth_;
    return true;
  }
  bool shallower() {
    if (--depth_ == 0) place_ = behind_;
    return true;
  }
  bool stop(std::string message, Span span) {
    error_ = fail(std::move(message), std::move(span)).error();
    return false;
  }
  bool bad(const std::string& what) { return stop(fmt::format("node '{}': {}", node_name_, what), place(node_name_)); }
  bool only(bool& seen, const std::string& name) {
    if (std::exchange(seen, true)) return stop(fmt::format("'{}' is there twice", name), place(name));
    return true;
  }

  /// A value that is not what is expected here, or that is left alone.
  bool other() {
    switch (place_) {
      case Place::kIgnored:
        if (depth_ == 0) place_ = behind_;
        return true;
      case Place::kOutside: return stop("an object with 'nodes' and 'root_eclasses' is expected", whole());
      case Place::kNodesValue: return stop("there is no object 'nodes'", whole());
      case Place::kRootsValue: return stop("there is no list 'root_eclasses'", whole());
      case Place::kNodeValue: return bad("an object is expected");
      case Place::kCostValue: return bad("its cost is no number");
      case Place::kClassValue: return bad("there is no text 'eclass'");
      case Place::kChildrenValue: return bad("'children' is no list");
      case Place::kChildren: return bad("a child is the name of a node");
      case Place::kRoots: return stop("a root is the name of a class", place("root_eclasses"));
      case Place::kFile:
      case Place::kNodes:
      case Place::kNode: break;
    }
    return true;
  }

  bool end_node() {
    place_ = Place::kNodes;
    if (!node_.cost) return bad("there is no 'cost'");
    if (!std::isfinite(*node_.cost) || *node_.cost < 0)
      return bad(fmt::format("its cost is {}; costs are finite and not negative", *node_.cost));
    if (!node_.eclass) return bad("there is no text 'eclass'");
    const auto [at, added] = class_of_.emplace(*node_.eclass, static_cast<std::uint32_t>(out_.classes.size()));
    if (added) {
      out_.classes.push_back(at->first);
      out_.nodes.emplace_back();
      out_.problem.classes.emplace_back();
    }
    const std::uint32_t c = at->second;
    if (!node_at_.emplace(node_name_, Where{c, out_.nodes[c].size()}).second) return bad("it is there twice");
    if (!node_.children.empty()) children_.emplace_back(node_name_, std::move(node_.children));
    out_.nodes[c].push_back(node_name_);
    out_.problem.classes[c].push_back({*node_.cost, {}});
    return true;
  }

  Status resolve_children() {
    for (const auto& [name, children] : children_) {
      const Where own = node_at_.at(name);
      for (const std::string& child : children) {
        const auto at = node_at_.find(child);
        if (at == node_at_.end())
          return fail(fmt::format("node '{}': there is no node '{}' for its child", name, child), place(name));
        out_.problem.classes[own.eclass][own.number].children.push_back(at->second.eclass);
      }
    }
    return {};
  }

  Status resolve_roots() {
    if (roots_.empty()) return fail("'root_eclasses' is empty: nothing is asked for", place("root_eclasses"));
    for (const std::string& root : roots_) {
      const auto at = class_of_.find(root);
      if (at == class_of_.end()) return fail(fmt::format("root class '{}' has no nodes", root), place("root_eclasses"));
      out_.problem.roots.push_back(at->second);
    }
    if (const auto root = underivable_root(out_.problem))
      return fail(fmt::format("root class '{}' has no derivation without a cycle", out_.classes[*root]),
                  place("root_eclasses"));
    return {};
  }

  // Where a member of this name begins; the last one of this name where there are several.
  Span place(const std::string& name) const {
    const std::string& text = source_->text;
    const std::string key = Json(name).dump(-1, ' ', false, Json::error_handler_t::replace);
    for (std::size_t at = text.rfind(key); at != std::string::npos; at = at > 0 ? text.rfind(key, at - 1) : at) {
      const std::size_t after = text.find_first_not_of(" \t\r\n", at + key.size());
      if (after != std::string::npos && text[after] == ':')
        return {source_, static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(at + key.size())};
      if (at == 0) break;
    }
    return whole();
  }
  Span whole() const { return {source_, 0, 0}; }

  SourcePtr source_;
  Place place_ = Place::kOutside;
  Place behind_ = Place::kOutside;  // of what is left alone
  std::size_t depth_ = 0;           // in it
  bool has_nodes_ = false, has_roots_ = false;
  std::string node_name_;
  Node node_;
  std::vector<std::pair<std::string, std::vector<std::string>>> children_;  // by name of their node
  std::vector<std::string> roots_;
  NamedProblem out_;
  std::unordered_map<std::string, std::uint32_t> class_of_;
  std::unordered_map<std::string, Where> node_at_;
  std::optional<Error> error_;
};

}  // namespace

Result<NamedProblem> read_egraph_json(const std::string& name, std::string text) {
  return Reader(name, std::move(text)).run();
}

}  // namespace fusewright::extract
