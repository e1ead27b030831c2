#include "src/lsp/workspace.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "fusewright/rule/lint.hpp"

namespace fusewright::lsp {

namespace fs = std::filesystem;

namespace {

std::string joined(const std::string& file, const std::string& included) {
  return (fs::path(file).parent_path() / included).lexically_normal().generic_string();
}

bool is_under(const std::string& path, const std::string& folder) {
  return path == folder || (path.starts_with(folder) && (folder.ends_with('/') || path[folder.size()] == '/'));
}

/// The operators and classes that a file declares, which other files may use.
std::set<std::string, std::less<>> declared_names(const File& file) {
  std::set<std::string, std::less<>> names;
  for (const Declaration& d : file.outline.declarations)
    if (d.kind == Declaration::Kind::kOp || d.kind == Declaration::Kind::kOpclass) names.insert(d.name);
  return names;
}

}  // namespace

Workspace::Workspace(std::vector<std::string> rules) {
  for (const std::string& path : rules) {
    std::error_code error;
    const fs::path whole = fs::absolute(path, error);
    rules_.push_back((error ? fs::path(path) : whole).lexically_normal().generic_string());
    if (rules_.back().size() > 1 && rules_.back().ends_with('/')) rules_.back().pop_back();
  }
}

void Workspace::open(const std::string& path, std::string text) { open_[path] = read(path, std::move(text)); }

void Workspace::close(const std::string& path) {
  open_.erase(path);
  known_.erase(path);
}

FilePtr Workspace::opened(const std::string& path) const {
  const auto at = open_.find(path);
  return at == open_.end() ? nullptr : at->second;
}

FilePtr Workspace::read(const std::string& path, std::string text) const {
  auto file = std::make_shared<File>();
  file->path = path;
  file->source = std::make_shared<const SourceText>(SourceText{path, text});
  file->outline = outline_of(std::move(text), [&](std::string_view name) { return builtin_.find(name).valid(); });
  for (std::size_t i = 0; i < file->outline.tokens.size(); ++i)
    if (file->outline.is_word(i)) file->words.emplace(file->outline.word(i));
  file->parsed = rule::parse_declarations(file->source);
  return file;
}

/// Null where it cannot be read.
FilePtr Workspace::file(const std::string& path) {
  if (FilePtr open = opened(path)) return open;
  struct stat status{};
  if (stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return nullptr;
  const std::int64_t changed = status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec;
  Cached& cached = cache_[path];
  if (cached.file != nullptr && cached.size == status.st_size && cached.changed == changed) return cached.file;
  std::ifstream in(path, std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(in), {});
  if (!in.is_open() || in.bad()) return nullptr;
  cached = {read(path, std::move(text)), status.st_size, changed};
  return cached.file;
}

std::vector<std::string> Workspace::files_under(const std::string& path) const {
  std::error_code error;
  std::set<std::string> found;
  if (fs::is_directory(path, error)) {
    for (fs::recursive_directory_iterator it(path, error), end; !error && it != end; it.increment(error))
      if (it->path().extension() == ".fuse" && it->is_regular_file(error)) found.insert(it->path().generic_string());
    for (const auto& [open, unused] : open_)
      if (is_under(open, path)) found.insert(open);
  } else {
    found.insert(path);
  }
  return {found.begin(), found.end()};
}

/// The file at the end of the includes, each once, in the order met; a circle is an error where it closes.
void Workspace::add_with_includes(const std::string& path, Unit& unit) {
  struct Open {
    FilePtr file;
    std::size_t next = 0;
  };
  std::vector<Open> open;
  const auto enter = [&](const std::string& name) {
    const auto has = [&](const auto& files) {
      return std::any_of(files.begin(), files.end(), [&](const FilePtr& f) { return f->path == name; });
    };
    if (has(unit.files) || has(unit.base)) return true;
    FilePtr found = file(name);
    if (found == nullptr) return false;
    unit.files.push_back(found);
    open.push_back({std::move(found), 0});
    return true;
  };
  enter(path);
  while (!open.empty()) {
    if (open.back().next == open.back().file->parsed.file.items.size()) {
      open.pop_back();
      continue;
    }
    const File& from = *open.back().file;
    const rule::ast::Item& item = from.parsed.file.items[open.back().next++];
    const auto* include = std::get_if<rule::ast::Include>(&item.what);
    if (include == nullptr) continue;
    const std::string target = joined(from.path, include->path);
    std::string circle;
    for (const Open& o : open)
      if (!circle.empty() || o.file->path == target) circle += fs::path(o.file->path).filename().string() + " -> ";
    if (!circle.empty())
      unit.errors.push_back({Severity::kError,
                             item.span,
                             "files include each other in a circle: " + circle + fs::path(target).filename().string(),
                             {},
                             {}});
    else if (!enter(target))
      unit.errors.push_back({Severity::kError, item.span, "cannot read the rule file " + target, {}, {}});
  }
}

/// Files beside this one that declare an operator or class that the unit uses and nobody else declares.
void Workspace::add_siblings(const std::string& path, Unit& unit) {
  constexpr std::size_t kMostSiblings = 1000;
  const std::string folder = fs::path(path).parent_path().generic_string();
  std::set<std::string> paths;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end && paths.size() < kMostSiblings;
       it.increment(error))
    if (it->path().extension() == ".fuse") paths.insert(it->path().generic_string());
  for (const auto& [open, unused] : open_)
    if (fs::path(open).parent_path().generic_string() == folder) paths.insert(open);

  std::set<std::string, std::less<>> known;
  const auto learn = [&](const std::vector<FilePtr>& files) {
    for (const FilePtr& f : files) known.merge(declared_names(*f));
  };
  learn(unit.base);
  for (bool grew = true; grew;) {
    grew = false;
    learn(unit.files);
    for (const std::string& sibling : paths) {
      const FilePtr other = file(sibling);
      if (other == nullptr || std::find(unit.files.begin(), unit.files.end(), other) != unit.files.end()) continue;
      const auto names = declared_names(*other);
      const bool needed = std::any_of(names.begin(), names.end(), [&](const std::string& name) {
        return !known.contains(name) && !builtin_.find(name).valid() &&
               std::any_of(unit.files.begin(), unit.files.end(),
                           [&](const FilePtr& f) { return f->words.contains(name); });
      });
      if (!needed) continue;
      add_with_includes(sibling, unit);
      learn(unit.files);
      grew = true;
    }
  }
}

Workspace::Unit Workspace::unit_of(const std::string& path) {
  Unit unit;
  bool in_base = false;
  for (std::size_t layer = 0; layer < rules_.size(); ++layer) {
    in_base = in_base || is_under(path, rules_[layer]);
    for (const std::string& name : files_under(rules_[layer])) {
      const bool twice =
          std::any_of(unit.base.begin(), unit.base.end(), [&](const FilePtr& f) { return f->path == name; });
      if (FilePtr found = twice ? nullptr : file(name)) {
        unit.base.push_back(std::move(found));
        unit.layers.push_back(static_cast<std::uint32_t>(layer + 1));
      }
    }
  }
  if (in_base) return unit;
  add_with_includes(path, unit);
  add_siblings(path, unit);
  return unit;
}

/// The rules that the unit builds on.
std::shared_ptr<const rule::RuleSet> Workspace::library(const Unit& unit) {
  if (library_ == nullptr) {
    auto set = rule::check_rules(trees_of({unit.base, {}, unit.layers, {}}), builtin_);
    if (set) library_ = std::make_shared<const rule::RuleSet>(*std::move(set));
  }
  return library_;
}

std::vector<rule::ast::File> Workspace::trees_of(const Unit& unit) const {
  std::vector<rule::ast::File> trees;
  for (std::size_t i = 0; i < unit.base.size(); ++i) {
    trees.push_back(unit.base[i]->parsed.file);
    trees.back().layer = unit.layers[i];
  }
  for (const FilePtr& file : unit.files) {
    trees.push_back(file->parsed.file);
    trees.back().layer = static_cast<std::uint32_t>(rules_.size() + 1);
  }
  std::sort(trees.begin(), trees.end(), [](const auto& a, const auto& b) { return a.source->name < b.source->name; });
  return trees;
}

void Workspace::check(const Unit& unit, Analysis& into) {
  std::vector<Diagnostic> errors = unit.errors;
  for (const auto* files : {&unit.base, &unit.files})
    for (const FilePtr& file : *files)
      errors.insert(errors.end(), file->parsed.errors.begin(), file->parsed.errors.end());
  std::vector<rule::ast::File> trees = trees_of(unit);
  if (!unit.errors.empty() && !trees.empty()) trees.front().unread_include = true;
  into.found.clear();
  auto set = rule::check_rules(trees, builtin_, std::move(errors));
  if (!set) {
    for (Diagnostic& d : set.error().diagnostics)
      into.found[d.span.valid() ? d.span.source->name : ""].push_back({std::move(d), {}});
    if (into.rules == nullptr) into.rules = library(unit);
    return;
  }
  for (rule::Finding& finding : rule::lint_rules(*set)) {
    const Span& span = finding.diagnostic.span;
    const bool asked =
        unit.files.empty() || std::any_of(unit.files.begin(), unit.files.end(), [&](const FilePtr& file) {
          return span.valid() && file->path == span.source->name;
        });
    if (asked) into.found[span.valid() ? span.source->name : ""].push_back(std::move(finding));
  }
  into.rules = std::make_shared<const rule::RuleSet>(*std::move(set));
}

const Analysis& Workspace::analyse(const std::string& path) {
  Unit unit = unit_of(path);
  Known& known = known_[path];
  std::vector<FilePtr> held = unit.base;
  held.insert(held.end(), unit.files.begin(), unit.files.end());
  std::vector<const File*> key;
  for (const FilePtr& f : held) key.push_back(f.get());
  if (key == known.key && !key.empty()) return known.analysis;
  known.key = std::move(key);
  known.held = held;
  check(unit, known.analysis);
  const auto own = std::find_if(held.begin(), held.end(), [&](const FilePtr& f) { return f->path == path; });
  if (own != held.end()) std::rotate(held.begin(), own, own + 1);
  known.analysis.files = std::move(held);
  return known.analysis;
}

}  // namespace fusewright::lsp
