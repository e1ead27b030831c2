#pragma once

#include <fstream>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "fusewright/prove/prove.hpp"

namespace fusewright::prove {

/// The verdicts on broken rules in a file, one JSON object a line, each written as soon as it is known: a run that was
/// interrupted goes on where it was.
class MutantJournal {
 public:
  /// What an earlier run of the same rules with the same budget has left in the file; one of other rules, or a line
  /// that was cut off, is overwritten. Errors: a file that cannot be written.
  static Result<MutantJournal> open(const std::string& path, const rule::RuleSet& rules, const Budget& budget);

  /// Null for a mutant that is not there.
  const Verdict* find(const std::string& mutant) const;
  /// From any thread. Errors: it cannot be written.
  Status add(const std::string& mutant, const Verdict& verdict);

 private:
  std::string path_;
  std::map<std::string, Verdict> known_;
  std::ofstream out_;
  std::unique_ptr<std::mutex> lock_ = std::make_unique<std::mutex>();
};

}  // namespace fusewright::prove
