#include "fusewright/support/diagnostic.hpp"

#include <algorithm>
#include <cctype>
#include <numeric>

#include "fusewright/support/result.hpp"

namespace fusewright {

LineColumn line_column(const Span& span) {
  LineColumn at{1, 1};
  if (!span.valid()) return at;
  const std::string& text = span.source->text;
  const std::size_t stop = std::min<std::size_t>(span.begin, text.size());
  for (std::size_t i = 0; i < stop; ++i) {
    if (text[i] == '\n') {
      ++at.line;
      at.column = 1;
    } else {
      ++at.column;
    }
  }
  return at;
}

namespace {

constexpr std::size_t kLongestLineShown = 200;
constexpr std::size_t kLongestShown = 2000;

bool is_control(char c) { return (static_cast<unsigned char>(c) < ' ' && c != '\n' && c != '\t') || c == '\x7f'; }

// Names out of binary files may be of any length and hold what a terminal would obey.
std::string shown(const std::string& text) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const char c : text) {
    if (is_control(c))
      out += {'\\', 'x', kDigits[c >> 4 & 7], kDigits[c & 15]};
    else
      out += c;
  }
  if (out.size() > kLongestShown) out.replace(kLongestShown / 2, out.size() - kLongestShown, " ... ");
  return out;
}

void append_place(std::string& out, const Span& span) {
  if (!span.valid()) return;
  out += span.source->name;
  if (span.source->text.empty()) {
    out += ": ";
    return;
  }
  const LineColumn at = line_column(span);
  out += ':' + std::to_string(at.line) + ':' + std::to_string(at.column) + ": ";
}

// The line of the span with a caret below it; a very long line (a constant, say) is cut around the place.
void append_excerpt(std::string& out, const Span& span) {
  if (!span.valid() || span.source->text.empty()) return;
  const std::string& text = span.source->text;
  const std::size_t begin = std::min<std::size_t>(span.begin, text.size());
  const std::size_t before = begin == 0 ? std::string::npos : text.rfind('\n', begin - 1);
  std::size_t first = before == std::string::npos ? 0 : before + 1;
  std::size_t last = text.find('\n', begin);
  if (last == std::string::npos) last = text.size();
  if (begin - first > kLongestLineShown / 2) first = begin - kLongestLineShown / 2;
  last = std::min(last, first + kLongestLineShown);
  std::string line = text.substr(first, last - first);
  std::string caret;
  for (std::size_t i = first; i < begin; ++i) caret += text[i] == '\t' ? '\t' : ' ';
  const std::size_t end = std::clamp<std::size_t>(span.end, begin, last);
  caret += '^';
  if (end > begin + 1) caret.append(end - begin - 1, '~');
  std::replace_if(line.begin(), line.end(), is_control, ' ');
  out += "  " + line + "\n  " + caret + "\n";
}

}  // namespace

std::string print_diagnostic(const Diagnostic& diagnostic) {
  std::string out;
  append_place(out, diagnostic.span);
  switch (diagnostic.severity) {
    case Severity::kNote: out += "note: "; break;
    case Severity::kWarning: out += "warning: "; break;
    case Severity::kError: out += "error: "; break;
  }
  out += shown(diagnostic.message) + '\n';
  append_excerpt(out, diagnostic.span);
  if (!diagnostic.suggestion.empty()) out += "  " + shown(diagnostic.suggestion) + '\n';
  for (const Note& note : diagnostic.notes) {
    append_place(out, note.span);
    out += "note: " + shown(note.message) + '\n';
    append_excerpt(out, note.span);
  }
  return out;
}

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  constexpr std::size_t kLongest = 200;  // bytes: nobody slips in writing a longer name, and the table is square
  std::string best;
  if (word.size() > kLongest) return best;
  const auto same_letter = [](char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
  };
  for (const std::string& candidate : candidates)
    if (std::ranges::equal(word, candidate, same_letter)) return candidate;
  std::size_t best_distance = std::max<std::size_t>(1, word.size() / 3) + 1;
  std::vector<std::size_t> row, above, above_that;  // of the table of edit distances; two letters swapped are one edit
  for (const std::string& candidate : candidates) {
    if (candidate.size() > kLongest + word.size()) continue;
    row.resize(candidate.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < word.size(); ++i) {
      above_that = std::move(above);
      above = row;
      row[0] = i + 1;
      for (std::size_t j = 0; j < candidate.size(); ++j) {
        const std::size_t substitute = above[j] + (word[i] == candidate[j] ? 0 : 1);
        row[j + 1] = std::min({substitute, row[j] + 1, above[j + 1] + 1});
        if (i > 0 && j > 0 && word[i] == candidate[j - 1] && word[i - 1] == candidate[j])
          row[j + 1] = std::min(row[j + 1], above_that[j - 1] + 1);
      }
    }
    if (row.back() < best_distance) {
      best_distance = row.back();
      best = candidate;
    }
  }
  return best;
}

std::unexpected<Error> fail(ErrorKind kind, std::string message, Span span) {
  Error error;
  error.kind = kind;
  error.diagnostics.push_back({Severity::kError, std::move(span), std::move(message), {}, {}});
  return std::unexpected(std::move(error));
}

Error with_context(Error error, const std::string& context, Span span) {
  for (Diagnostic& diagnostic : error.diagnostics) {
    diagnostic.message = context + ": " + diagnostic.message;
    if (!diagnostic.span.valid()) diagnostic.span = span;
  }
  return error;
}

Error with_place(Error error, const Span& span) {
  for (Diagnostic& diagnostic : error.diagnostics)
    if (!diagnostic.span.valid()) diagnostic.span = span;
  return error;
}

std::string print_error(const Error& error) {
  constexpr std::size_t kMostShown = 50;
  std::string out;
  const std::size_t shown = std::min(error.diagnostics.size(), kMostShown);
  for (std::size_t i = 0; i < shown; ++i) out += print_diagnostic(error.diagnostics[i]);
  if (const std::size_t left = error.diagnostics.size() - shown; left > 0)
    out += "and " + std::to_string(left) + " more errors\n";
  return out;
}

}  // namespace fusewright
