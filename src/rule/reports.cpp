#include <algorithm>

#include "src/rule/checker.hpp"

namespace fusewright::rule {

namespace {

auto order(const Diagnostic& d) {
  return std::tuple(d.span.valid() ? d.span.source->name : std::string(), d.span.begin, d.message);
}

}  // namespace

bool Reports::fresh(const Span& span, const std::string& message) {
  return seen_.emplace(span.valid() ? span.source->name : "", span.begin, message).second;
}

void Reports::error(const Span& span, std::string message, std::string suggestion, std::vector<Note> notes) {
  ++error_count_;
  if (!fresh(span, message)) return;
  errors_.push_back({Severity::kError, span, std::move(message), std::move(notes), std::move(suggestion)});
}

void Reports::unknown(const Span& span, const std::string& name, std::string message, std::string suggestion) {
  if (unread_any_ || unread_.contains(name))
    ++error_count_;
  else
    error(span, std::move(message), std::move(suggestion));
}

void Reports::unread(const std::vector<std::string>& names, bool any) {
  unread_.insert(names.begin(), names.end());
  unread_any_ |= any;
}

void Reports::warning(const std::string& lint, const Span& span, std::string message, std::vector<Note> notes) {
  if (!fresh(span, message)) return;
  findings_.push_back({{Severity::kWarning, span, std::move(message), std::move(notes), {}}, lint});
}

void Reports::note(const Span& span, std::string message) {
  if (!fresh(span, message)) return;
  findings_.push_back({{Severity::kNote, span, std::move(message), {}, {}}, {}});
}

void Reports::add(Reports more) {
  error_count_ += more.error_count_;
  for (Diagnostic& d : more.errors_)
    if (fresh(d.span, d.message)) errors_.push_back(std::move(d));
  for (Finding& f : more.findings_)
    if (fresh(f.diagnostic.span, f.diagnostic.message)) findings_.push_back(std::move(f));
}

std::vector<Diagnostic> Reports::take_errors() {
  // Of several at one place, from the variants of a rule or each from the one before, the first says what is wrong.
  std::set<std::tuple<std::string, std::uint32_t, std::uint32_t>> places;
  std::erase_if(errors_, [&](const Diagnostic& d) {
    return d.span.valid() && !places.emplace(d.span.source->name, d.span.begin, d.span.end).second;
  });
  std::sort(errors_.begin(), errors_.end(), [](const auto& a, const auto& b) { return order(a) < order(b); });
  return std::move(errors_);
}

std::vector<Finding> Reports::take_findings() {
  sort_findings(findings_);
  return std::move(findings_);
}

void sort_findings(std::vector<Finding>& findings) {
  std::sort(findings.begin(), findings.end(),
            [](const auto& a, const auto& b) { return order(a.diagnostic) < order(b.diagnostic); });
}

std::string did_you_mean(const std::string& word, const std::vector<std::string>& candidates) {
  if (word.size() < 2) return {};  // any other letter would be near
  const std::string near = nearest(word, candidates);
  return near.empty() || near == word ? "" : "did you mean '" + near + "'?";
}

}  // namespace fusewright::rule
