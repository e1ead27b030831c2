#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "fusewright/rule/check.hpp"
#include "fusewright/rule/parse.hpp"
#include "src/lsp/outline.hpp"

namespace fusewright::lsp {

/// One rule file: what is on disk, or what an editor has of it.
struct File {
  std::string path;
  SourcePtr source;
  Outline outline;
  std::set<std::string, std::less<>> words;  ///< all of its tokens that are words
  rule::Parsed parsed;
};
using FilePtr = std::shared_ptr<const File>;

/// What is known of one file and of those that it is checked with.
struct Analysis {
  std::vector<FilePtr> files;                  ///< of the unit and of what it builds on, the file itself first
  std::shared_ptr<const rule::RuleSet> rules;  ///< the last without errors; of the library, before there are any
  std::map<std::string, std::vector<rule::Finding>> found;  ///< by path, of the unit's files
};

/// The rule files, and what is wrong with them. Everything is kept until it changes.
class Workspace {
 public:
  explicit Workspace(std::vector<std::string> rules);

  void open(const std::string& path, std::string text);
  void close(const std::string& path);
  /// The text that an editor has; null when it has not opened the file.
  FilePtr opened(const std::string& path) const;
  /// The file and those that it is checked with, checked.
  const Analysis& analyse(const std::string& path);

 private:
  struct Cached {
    FilePtr file;
    std::int64_t size = -1, changed = 0;  ///< on disk; of an open file nothing
  };
  struct Unit {
    std::vector<FilePtr> base, files;
    std::vector<std::uint32_t> layers;  ///< of base
    std::vector<Diagnostic> errors;     ///< of includes
  };

  FilePtr file(const std::string& path);
  FilePtr read(const std::string& path, std::string text) const;
  std::vector<std::string> files_under(const std::string& path) const;
  Unit unit_of(const std::string& path);
  void add_with_includes(const std::string& path, Unit& unit);
  void add_siblings(const std::string& path, Unit& unit);
  void check(const Unit& unit, Analysis& into);
  std::shared_ptr<const rule::RuleSet> library(const Unit& unit);
  std::vector<rule::ast::File> trees_of(const Unit& unit) const;

  std::vector<std::string> rules_;
  ops::OpTable builtin_ = ops::OpTable::builtin();
  std::shared_ptr<const rule::RuleSet> library_;
  std::map<std::string, FilePtr> open_;
  std::map<std::string, Cached> cache_;
  struct Known {
    std::vector<const File*> key;
    std::vector<FilePtr> held;  ///< so that the key's addresses stay theirs
    Analysis analysis;
  };
  std::map<std::string, Known> known_;
};

}  // namespace fusewright::lsp
