#include <regex>

#include "fusewright/rule/lint.hpp"
#include "tests/rule/helpers.hpp"

using namespace fusewright;
using namespace fusewright::rule;
using namespace fusewright::rule::testing;

// Every message that the checker can print stands in a case of tests/fail or tests/lint, word for word.

namespace {

/// What cases of rule files cannot show, and where it is shown.
const std::set<std::string> kShownElsewhere = {
    "' replaces the one of ",                                          // a note: check_test.cpp
    "cannot read the folder ",                                         // of the command line: hostile_test.cpp
    " has no rule files (.fuse)",                                      // likewise
    "the folder ",                                                     // likewise
    "a rule file above 64 MiB",                                        // parse_test.cpp
    ": formatting would change what the file says; it is left alone",  // must never be seen
    "' takes any number of operands, so it is expanded when a model is loaded and never recognised",  // notes:
    "' is expanded, but not recognised in a model: ",                                                 // check_test.cpp
};

/// The text of a string literal that starts at `at`, which is moved behind it.
std::string literal(const std::string& text, std::size_t& at) {
  std::string out;
  for (++at; text[at] != '"'; ++at) {
    if (text[at] == '\\') ++at;
    out += text[at];
  }
  ++at;
  return out;
}

/// The literals of a call whose arguments start at `at`; those that stand side by side are one.
std::vector<std::string> literals_of_call(const std::string& text, std::size_t at) {
  std::vector<std::string> out;
  int depth = 1;
  bool joined = false;
  while (at < text.size() && depth > 0) {
    const char c = text[at];
    if (c == '"') {
      const std::string part = literal(text, at);
      if (joined)
        out.back() += part;
      else
        out.push_back(part);
      joined = true;
      continue;
    }
    if (c == '\'') at += text[at + 1] == '\\' ? 2 : 1;  // a character, not the start of a text
    if (c == '(' || c == '{') ++depth;
    if (c == ')' || c == '}') --depth;
    if (c != ' ' && c != '\n') joined = false;
    ++at;
  }
  return out;
}

std::vector<std::string> messages_in(const std::string& text) {
  static const std::regex kCall(
      R"(\b(error|unknown|unreadable|fail|warning|mismatch)\(|push_back\(\{Severity::kError|FW_EXPECTED\()"
      R"(|(expected<[^>]*>+ =))");
  std::vector<std::string> out;
  for (std::sregex_iterator it(text.begin(), text.end(), kCall), end; it != end; ++it) {
    const auto at = static_cast<std::size_t>(it->position() + it->length());
    for (std::string& part : literals_of_call(text, at)) {
      out.push_back(std::move(part));
      if ((*it)[2].matched) break;  // of an initialiser only the value
    }
  }
  return out;
}

}  // namespace

TEST_CASE("every message of the checker has a case with its exact text", "[rule]") {
  std::string cases;
  for (const std::string folder : {"tests/fail", "tests/lint"}) {
    for (const auto& path : files_in(folder)) {
      std::istringstream lines(read_text(path));
      for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("#|")) cases += line + "\n";
      }
    }
  }
  int messages = 0;
  for (const auto& entry : std::filesystem::directory_iterator(source_path("src/rule"))) {
    if (entry.path().extension() != ".cpp") continue;
    for (const std::string& message : messages_in(read_text(entry.path().string()))) {
      // Short pieces are names between the words of a message.
      if (message.size() < 8 || kShownElsewhere.contains(message)) continue;
      ++messages;
      INFO(entry.path().filename().string() << ": no case shows: " << message);
      CHECK(cases.find(message) != std::string::npos);
    }
  }
  CHECK(messages > 150);
}
