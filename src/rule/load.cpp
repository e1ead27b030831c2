#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "fusewright/rule/check.hpp"
#include "fusewright/rule/parse.hpp"
#include "src/rule/checker.hpp"

namespace fusewright::rule {

namespace fs = std::filesystem;

namespace {

/// Reads files and what they include, each once.
class Loader {
 public:
  void add_path(const std::string& path) {
    ++layer_;
    std::error_code ec;
    if (!fs::is_directory(path, ec)) {
      add_file(path, {});
      return;
    }
    std::vector<std::string> found;
    for (fs::recursive_directory_iterator it(path, ec), end; !ec && it != end; it.increment(ec)) {
      if (it->path().extension() == ".fuse" && it->is_regular_file(ec)) found.push_back(it->path().generic_string());
    }
    unread_ |= ec || found.empty();
    if (ec)
      reports_.error({}, "cannot read the folder " + path + ": " + ec.message());
    else if (found.empty())
      reports_.error({}, "the folder " + path + " has no rule files (.fuse)");
    std::sort(found.begin(), found.end());
    for (const auto& file : found) add_file(file, {});
  }

  /// @param from  the include that asked for it, or nothing.
  void add_file(const std::string& path, const Span& from) {
    std::error_code ec;
    const std::string id = fs::weakly_canonical(path, ec).generic_string();
    if (std::find(open_.begin(), open_.end(), id) != open_.end()) {
      std::string chain;
      for (auto it = std::find(open_.begin(), open_.end(), id); it != open_.end(); ++it)
        chain += fs::path(*it).filename().string() + " -> ";
      reports_.error(from, "files include each other in a circle: " + chain + fs::path(id).filename().string());
      return;
    }
    if (!seen_.insert(id).second) return;
    std::ifstream in;
    if (fs::is_regular_file(path, ec)) in.open(path, std::ios::binary);  // devices need not end
    std::ostringstream text;
    if (in.is_open()) text << in.rdbuf();
    if (!in.is_open() || in.bad()) {
      reports_.error(from, "cannot read the rule file " + path);
      unread_ = true;
      return;
    }
    auto [file, errors] = parse_declarations(std::make_shared<const SourceText>(SourceText{path, text.str()}));
    for (auto& d : errors) reports_.error(d.span, std::move(d.message), std::move(d.suggestion), std::move(d.notes));
    file.layer = layer_;
    open_.push_back(id);
    for (const auto& item : file.items) {
      const auto* include = std::get_if<ast::Include>(&item.what);
      if (include != nullptr) add_file((fs::path(path).parent_path() / include->path).generic_string(), item.span);
    }
    open_.pop_back();
    files_.push_back(std::move(file));
  }

  Result<RuleSet> check(const ops::OpTable& base) {
    std::sort(files_.begin(), files_.end(),
              [](const auto& a, const auto& b) { return a.source->name < b.source->name; });
    if (unread_ && !files_.empty()) files_[0].unread_include = true;
    return check_rules(files_, base, reports_.take_errors());
  }

 private:
  Reports reports_;
  std::uint32_t layer_ = 0;
  bool unread_ = false;  ///< there is a file of which nothing is known
  std::set<std::string> seen_;
  std::vector<std::string> open_;
  std::vector<ast::File> files_;
};

}  // namespace

Result<RuleSet> load_rules(const std::vector<std::string>& paths, const ops::OpTable& base) {
  Loader loader;
  for (const auto& path : paths) loader.add_path(path);
  return loader.check(base);
}

}  // namespace fusewright::rule
