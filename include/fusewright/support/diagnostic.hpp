#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace fusewright {

/// One text that was read: a rule file, a model file, a command line. Shared by the spans that point into it.
struct SourceText {
  std::string name;  ///< as the user gave it
  std::string text;  ///< whole contents; empty for binary files
};
using SourcePtr = std::shared_ptr<const SourceText>;

/// A half-open byte range in a source. A span without a source has no place.
struct Span {
  SourcePtr source;
  std::uint32_t begin = 0;
  std::uint32_t end = 0;

  bool valid() const { return source != nullptr; }
};

struct LineColumn {
  std::uint32_t line = 0;    ///< from 1
  std::uint32_t column = 0;  ///< from 1, in bytes
};
LineColumn line_column(const Span& span);

enum class Severity { kNote, kWarning, kError };

struct Note {
  Span span;
  std::string message;
};

/// What a user can get wrong, and where. Messages are in lower case without a full stop.
struct Diagnostic {
  Severity severity = Severity::kError;
  Span span;
  std::string message;
  std::vector<Note> notes;
  std::string suggestion;  ///< e.g. "did you mean 'reduce_sum'?", or empty
};

/// `file:line:column: error: message`, the line with a caret below it, notes and suggestion. Ends in a newline.
std::string print_diagnostic(const Diagnostic& diagnostic);

/// The candidate nearest to `word` by edit distance when it is near enough to be a slip of the pen, else empty.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace fusewright
