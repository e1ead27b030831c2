#include <nlohmann/json.hpp>
#include <regex>

#include "fusewright/rule/tokens.hpp"
#include "tests/rule/helpers.hpp"

using namespace fusewright;
using namespace fusewright::rule;
using namespace fusewright::rule::testing;

namespace {

using Words = std::set<std::string>;

/// What stands in the brackets of `\b(a|b|c)\b`.
Words alternatives(const nlohmann::json& grammar, const std::string& part) {
  const std::string match = grammar["repository"][part]["match"];
  const std::size_t open = match.find('('), close = match.find(')');
  Words words;
  std::istringstream list(match.substr(open + 1, close - open - 1));
  for (std::string word; std::getline(list, word, '|');) words.insert(word);
  return words;
}

/// The texts that a regular expression finds in the grammar of the language.
Words in_grammar(const std::string& pattern) {
  const std::string text = read_text(source_path("grammar/fuse_grammar.hpp"));
  const std::regex regex(pattern);
  Words words;
  for (std::sregex_iterator at(text.begin(), text.end(), regex), end; at != end; ++at) words.insert((*at)[1]);
  return words;
}

}  // namespace

TEST_CASE("the editors' grammar knows the words of the language and no others", "[rule]") {
  const auto editors = nlohmann::json::parse(read_text(source_path("grammar/editors/fuse.tmLanguage.json")));
  const Words keywords = in_grammar("FW_WORD\\(\\w+, \"(\\w+)\"\\)");
  REQUIRE(keywords.size() > 30);
  CHECK(alternatives(editors, "keyword") == keywords);

  Words reserved = in_grammar("TAO_PEGTL_STRING\\(\"(\\w+)\"\\)");
  reserved.insert("_");
  for (const std::string& word : reserved) CHECK(is_reserved(word));
  for (const std::string& word : keywords) CHECK(is_reserved(word) == reserved.contains(word));
  Words constants;
  for (const std::string& word : reserved)
    if (!keywords.contains(word)) constants.insert(word);
  CHECK(alternatives(editors, "constant") == constants);

  for (const std::string& dtype : alternatives(editors, "dtype")) CHECK(ops::dtype_from_name(dtype));
  for (int i = 0; i <= static_cast<int>(ops::DType::kC128); ++i)
    CHECK(alternatives(editors, "dtype").contains(std::string(ops::name(static_cast<ops::DType>(i)))));
}

TEST_CASE("the editors' grammar is made of expressions that compile", "[rule]") {
  const auto editors = nlohmann::json::parse(read_text(source_path("grammar/editors/fuse.tmLanguage.json")));
  for (const auto& include : editors["patterns"]) {
    const std::string part = include["include"].get<std::string>().substr(1);
    REQUIRE(editors["repository"].contains(part));
  }
  for (const auto& [name, part] : editors["repository"].items()) {
    std::vector<nlohmann::json> patterns{part};
    if (part.contains("patterns")) patterns = part["patterns"].get<std::vector<nlohmann::json>>();
    for (const auto& pattern : patterns) {
      INFO(name << ": " << pattern["match"]);
      CHECK_NOTHROW(std::regex(pattern["match"].get<std::string>()));
    }
  }
}
