#include <algorithm>

#include "src/rule/checker.hpp"

namespace fusewright::rule {

namespace {

std::vector<Diagnostic> sorted(std::vector<Diagnostic> diagnostics) {
  const auto key = [](const Diagnostic& d) {
    return std::tuple(d.span.valid() ? d.span.source->name : std::string(), d.span.begin, d.message);
  };
  std::sort(diagnostics.begin(), diagnostics.end(), [&](const auto& a, const auto& b) { return key(a) < key(b); });
  return diagnostics;
}

}  // namespace

bool Reports::fresh(const Span& span, const std::string& message) {
  return seen_.emplace(span.valid() ? span.source->name : "", span.begin, message).second;
}

void Reports::error(const Span& span, std::string message, std::string suggestion, std::vector<Note> notes) {
  if (!fresh(span, message)) return;
  errors_.push_back({Severity::kError, span, std::move(message), std::move(notes), std::move(suggestion)});
}

void Reports::warning(const Span& span, std::string message, std::vector<Note> notes) {
  if (!fresh(span, message)) return;
  warnings_.push_back({Severity::kWarning, span, std::move(message), std::move(notes), {}});
}

void Reports::note(const Span& span, std::string message) {
  if (!fresh(span, message)) return;
  warnings_.push_back({Severity::kNote, span, std::move(message), {}, {}});
}

std::vector<Diagnostic> Reports::take_errors() { return sorted(std::move(errors_)); }
std::vector<Diagnostic> Reports::take_warnings() { return sorted(std::move(warnings_)); }

std::string did_you_mean(const std::string& word, const std::vector<std::string>& candidates) {
  const std::string near = nearest(word, candidates);
  return near.empty() || near == word ? "" : "did you mean '" + near + "'?";
}

}  // namespace fusewright::rule
