#include "src/lsp/features.hpp"

#include <algorithm>
#include <filesystem>
#include <map>

#include "fusewright/rule/check.hpp"
#include "fusewright/rule/lint.hpp"
#include "src/lsp/words.hpp"

namespace fusewright::lsp {

namespace {

Json location(const Subject& s, const File& file, std::size_t token) {
  const rule::Token& t = file.outline.tokens[token];
  return {{"uri", s.uri(file.path)}, {"range", Lines(file.outline.text).range(t.begin, t.end)}};
}

/// A declaration of that name, and the file that holds it.
struct Declared {
  const File* file = nullptr;
  const Declaration* declaration = nullptr;
};
Declared find_declaration(const Subject& s, std::string_view name, bool rules) {
  for (const FilePtr& file : s.analysis.files) {
    for (const Declaration& d : file->outline.declarations) {
      const bool rule = d.kind == Declaration::Kind::kRewrite || d.kind == Declaration::Kind::kFuse;
      const bool wanted = rules ? rule : d.kind == Declaration::Kind::kOp || d.kind == Declaration::Kind::kOpclass;
      if (wanted && d.name == name && d.token < file->outline.tokens.size()) return {file.get(), &d};
    }
  }
  return {};
}

std::string code(const std::string& text) { return "```fuse\n" + text + "\n```\n"; }

/// What an operator, class, rule, function or word means, in Markdown.
std::string describe_declaration(const Declaration& d) {
  std::string text = code(d.signature);
  if (!d.doc.empty()) text += d.doc + "\n";
  return text;
}

std::string describe_operator(const Subject& s, const std::string& name) {
  const ops::OpId id = s.table.find(name);
  if (!id.valid()) return {};
  const ops::OpInfo& op = s.table[id];
  std::string text = code(signature(op)) + "Built-in operator, " + std::string(ops::name(op.op_class)) + ". ";
  text += built_in_meaning(op) + "\n";
  if (op.commutative) text += "Commutative: patterns match either way round.\n";
  return text;
}

std::string members(const Subject& s, const std::string& name) {
  if (s.analysis.rules == nullptr) return {};
  const auto set = s.analysis.rules->classes.find(name);
  if (set == s.analysis.rules->classes.end()) return {};
  std::string text;
  for (const ops::OpId op : set->second.ops) text += (text.empty() ? "" : " ") + s.table[op].name;
  return std::to_string(set->second.ops.size()) + " operators: `" + text + "`\n";
}

/// `float`, of "by of soft_threshold"; empty where it is not known.
std::string kind_of_attribute(const Subject& s, const std::string& what) {
  const std::size_t of = what.find(" of ");
  if (of == std::string::npos) return {};
  const std::size_t begin = what.starts_with("element of ") ? 11 : 0, end = what.rfind(" of ");
  const ops::OpId id = s.table.find(what.substr(end + 4));
  if (!id.valid()) return {};
  for (const ops::AttrSpec& attr : s.table[id].attrs)
    if (attr.name == what.substr(begin, end - begin))
      return ": " + std::string(begin > 0 ? "int" : ops::name(attr.kind));
  return {};
}

std::string describe_binding(const Subject& s, const Binding& b) {
  switch (b.kind) {
    case Binding::Kind::kTensor: return code(b.name) + "A tensor that the pattern matches.\n";
    case Binding::Kind::kNode:
      return code(b.what + " as " + b.name) + "A node: `" + b.name + ".attr` is its attribute.\n";
    case Binding::Kind::kSegment: return code(b.what + " as " + b.name) + "A segment of the chain.\n";
    case Binding::Kind::kAttribute:
      return b.what.find(" of ") == std::string::npos
                 ? code(b.what) + "An attribute.\n"
                 : code(b.name + kind_of_attribute(s, b.what)) + "Attribute " + b.what + ".\n";
    case Binding::Kind::kOperand: return code(b.what) + "An operand: a tensor.\n";
    case Binding::Kind::kResult: return code(b.name) + "A result.\n";
    case Binding::Kind::kLet: return code(b.what);
    case Binding::Kind::kInput: return code(b.what) + "An input of the example.\n";
  }
  return {};
}

/// The operator that a field belongs to: of `broadcast(x, dims = d)`, of `c.dims`.
std::string owner_of_field(const Outline& o, std::size_t token) {
  if (o.word(token - 1) != ".") return o.applied_at(token);
  if (token < 2) return {};
  if (const Binding* node = binding_at(o, token - 2)) return node->what;
  if (o.word(token - 2) != ")") return {};
  int depth = 0;
  std::size_t i = token - 2;
  do {
    if (o.word(i) == ")") ++depth;
    if (o.word(i) == "(") --depth;
  } while (depth > 0 && i-- > 0);
  return i > 0 && i < o.tokens.size() ? std::string(o.word(i - 1)) : std::string();
}

std::string describe_field(const Subject& s, std::size_t token) {
  const Outline& o = s.outline();
  const std::string owner = owner_of_field(o, token);
  const ops::OpId id = s.table.find(owner);
  const std::string field(o.word(token));
  if (const Declared declared = find_declaration(s, owner, false); declared.declaration != nullptr) {
    for (const Binding& b : declared.declaration->bindings)
      if (b.name == field)
        return code(b.what) + (b.kind == Binding::Kind::kResult ? "Result" : "Attribute") + " of `" + owner + "`.\n";
  }
  if (!id.valid()) return owner.empty() ? std::string() : code(field) + "Of `" + owner + "`.\n";
  for (const ops::AttrSpec& attr : s.table[id].attrs) {
    if (attr.name != field) continue;
    std::string text = field + ": " + std::string(ops::name(attr.kind));
    if (attr.fallback) text += " = " + ops::to_string(*attr.fallback);
    return code(text) + "Attribute of `" + owner + "`" + (attr.optional ? ", may be left out" : "") + ".\n";
  }
  for (const std::string& result : s.table[id].results)
    if (result == field) return code(field) + "Result of `" + owner + "`.\n";
  return {};
}

/// Whether the word stands where an exactness or a template is named.
std::optional<std::string_view> meaning_in_head(const Outline& o, std::size_t token) {
  const auto open = o.open_brackets(token);
  const std::string_view head = open.empty() || open.front() == 0 ? std::string_view() : o.word(open.front() - 1);
  if (head == "exactness") return meaning_in(exactness_classes(), o.word(token));
  if (head == "kernel") return meaning_in(templates(), o.word(token));
  if (head == "target") return meaning_in(targets(), o.word(token));
  if (head != "allow") return std::nullopt;
  for (const rule::LintInfo& lint : rule::lints())
    if (lint.name == o.word(token)) return lint.meaning;
  return std::nullopt;
}

std::string describe(const Subject& s, std::size_t token) {
  const Outline& o = s.outline();
  const std::string word(o.word(token));
  if (const auto meaning = meaning_in_head(o, token)) return code(word) + std::string(*meaning) + "\n";
  if (const Binding* b = binding_at(o, token)) return describe_binding(s, *b);
  if (is_field(o, token)) return describe_field(s, token);
  const Declaration* around = o.declaration_at(token);
  if (around != nullptr && around->token == token) return describe_declaration(*around);
  const bool reserved = rule::is_reserved(word) || word == "because" || word == "exactness" || word == "no_duplicate";
  if (const auto meaning = reserved ? meaning_in(keywords(), word) : std::nullopt)
    return code(word) + std::string(*meaning) + "\n";
  const std::string call = o.word(token + 1) == "(" ? function_signature(word) : "";
  const auto meaning = call.empty() ? std::nullopt : meaning_in(functions(), word);
  if (const Declared found = find_declaration(s, word, false); found.declaration != nullptr)
    return describe_declaration(*found.declaration) + members(s, word);
  std::string text = describe_operator(s, word);
  if (meaning) text += (text.empty() ? "" : "\n---\nAs a function:\n") + code(call) + std::string(*meaning) + "\n";
  if (text.empty() && !members(s, word).empty()) return code("opclass " + word) + "Built-in class, " + members(s, word);
  if (!text.empty()) return text;
  for (const auto* words : {&axis_roles(), &keywords()})
    if (const auto found = meaning_in(*words, word)) return code(word) + std::string(*found) + "\n";
  if (const auto dtype = ops::dtype_from_name(word)) return code(word) + "A dtype.\n";
  return {};
}

/// The types of the example around a place, where the text is the one that the rules were read from.
std::optional<rule::ExampleTypes> types_around(const Subject& s, std::size_t offset) {
  if (s.analysis.rules == nullptr) return std::nullopt;
  for (const rule::TestCase& test : s.analysis.rules->tests)
    if (test.extent.valid() && offset >= test.extent.begin && offset < test.extent.end &&
        test.extent.source->text == s.outline().text)
      return example_types(*s.analysis.rules->table, test);
  return std::nullopt;
}

/// "Here `f32[2,3]`."
std::string here(const std::vector<ops::Type>& types) {
  std::string text;
  for (const ops::Type& type : types) text += (text.empty() ? "" : ", ") + to_string(type);
  return text.empty() ? text : "Here `" + text + "`.\n";
}

/// What the name or the operator at a token is in the example around it.
std::string describe_type(const Subject& s, std::size_t token) {
  const Outline& o = s.outline();
  const auto types = types_around(s, o.tokens[token].begin);
  if (!types) return {};
  const Binding* binding = binding_at(o, token);
  if (binding != nullptr && binding->kind == Binding::Kind::kLet) {
    const auto at = types->names.find(binding->name);
    return at == types->names.end() ? std::string() : here({at->second});
  }
  // Of what begins here the shortest is the application; the others have it as their first operand.
  const auto at = types->results.lower_bound({o.tokens[token].begin, 0});
  return at == types->results.end() || at->first.first != o.tokens[token].begin ? std::string() : here(at->second);
}

/// What a sign between the operands of an example stands for, and the type of its result; empty where it reckons with
/// numbers.
std::string describe_sign(const Subject& s, std::size_t token) {
  static const std::map<std::string_view, const char*> kSigns = {
      {"+", "add"}, {"-", "sub"}, {"*", "mul"}, {"/", "div"}, {"%", "mod"}, {"**", "pow"},
      {"==", "eq"}, {"!=", "ne"}, {"<", "lt"},  {"<=", "le"}, {">", "gt"},  {">=", "ge"}};
  const Outline& o = s.outline();
  const auto sign = kSigns.find(o.word(token));
  const rule::Token& t = o.tokens[token];
  const auto types = sign == kSigns.end() ? std::nullopt : types_around(s, t.begin);
  if (!types) return {};
  // The shortest application around it is its own, unless it stands in the brackets of that one.
  const decltype(types->results)::value_type* shortest = nullptr;
  for (const auto& entry : types->results) {
    const auto [begin, end] = entry.first;
    const bool shorter = shortest == nullptr || end - begin < shortest->first.second - shortest->first.first;
    if (begin <= t.begin && t.end < end && shorter) shortest = &entry;
  }
  if (shortest == nullptr) return {};
  for (const std::size_t open : o.open_brackets(token))
    if (o.tokens[open].begin >= shortest->first.first) return {};
  const bool unary = shortest->first.first == t.begin;
  return describe_operator(s, unary ? "neg" : sign->second) + here(shortest->second);
}

}  // namespace

Json hover(const Subject& s, std::size_t offset) {
  const Outline& o = s.outline();
  const auto token = o.token_at(offset);
  if (!token || o.in_comment(offset)) return nullptr;
  const std::string text =
      o.is_word(*token) ? describe(s, *token) + describe_type(s, *token) : describe_sign(s, *token);
  if (text.empty()) return nullptr;
  const rule::Token& t = o.tokens[*token];
  return {{"contents", {{"kind", "markdown"}, {"value", text}}}, {"range", Lines(o.text).range(t.begin, t.end)}};
}

Json definition(const Subject& s, std::size_t offset) {
  const Outline& o = s.outline();
  const auto token = o.token_at(offset);
  if (!token || o.in_comment(offset)) return nullptr;
  const Declaration* around = o.declaration_at(*token);
  if (around != nullptr && around->kind == Declaration::Kind::kInclude && around->token == *token) {
    const auto target = (std::filesystem::path(s.file().path).parent_path() / around->name).lexically_normal();
    for (const FilePtr& file : s.analysis.files)
      if (file->path == target.generic_string())
        return {{"uri", s.uri(file->path)}, {"range", Lines(file->outline.text).range(0, 0)}};
    return nullptr;
  }
  if (const Binding* b = binding_at(o, *token)) return location(s, s.file(), b->token);
  if (around != nullptr && around->token == *token) return location(s, s.file(), *token);
  std::string name(o.word(*token));
  if (is_field(o, *token)) {  // of an operator that a file declares: its attribute or result there
    const Declared owner = find_declaration(s, owner_of_field(o, *token), false);
    if (owner.declaration == nullptr) return nullptr;
    for (const Binding& b : owner.declaration->bindings)
      if (b.name == name) return location(s, *owner.file, b.token);
    return nullptr;
  }
  for (const bool rules : {false, true})
    if (const Declared found = find_declaration(s, name, rules); found.declaration != nullptr)
      return location(s, *found.file, found.declaration->token);
  return nullptr;
}

Json references(const Subject& s, std::size_t offset, bool with_declaration) {
  const Outline& o = s.outline();
  Json found = Json::array();
  const auto token = o.token_at(offset);
  if (!token || !o.is_word(*token) || o.in_comment(offset)) return found;
  if (const Binding* b = binding_at(o, *token)) {
    for (std::size_t i = 0; i < o.tokens.size(); ++i)
      if (o.word(i) == b->name && binding_at(o, i) == b && (with_declaration || i != b->token))
        found.push_back(location(s, s.file(), i));
    return found;
  }
  const std::string name(o.word(*token));
  const Declaration* around = o.declaration_at(*token);
  const bool own_name = around != nullptr && around->token == *token;
  const bool known = own_name || s.table.find(name).valid() ||
                     find_declaration(s, name, false).declaration != nullptr ||
                     (s.analysis.rules != nullptr && s.analysis.rules->classes.contains(name));
  if (!known || is_field(o, *token)) return found;
  for (const FilePtr& file : s.analysis.files) {
    const Outline& other = file->outline;
    if (!file->words.contains(name)) continue;
    for (std::size_t i = 0; i < other.tokens.size(); ++i) {
      if (other.word(i) != name || !other.is_word(i) || is_field(other, i) || binding_at(other, i) != nullptr) continue;
      const Declaration* d = other.declaration_at(i);
      if (with_declaration || d == nullptr || d->token != i) found.push_back(location(s, *file, i));
    }
  }
  return found;
}

Json document_symbols(const Outline& o) {
  constexpr int kModule = 2, kNamespace = 3, kClass = 5, kFunction = 12, kEvent = 24, kOperator = 25, kMethod = 6;
  const Lines lines(o.text);
  const auto range = [&](Stretch tokens) {
    return lines.range(o.tokens[tokens.begin].begin, o.tokens[std::max(tokens.end, tokens.begin + 1) - 1].end);
  };
  Json symbols = Json::array();
  for (const Declaration& d : o.declarations) {
    if (d.name.empty() || !d.tokens.holds(d.token)) continue;
    const int kind = d.kind == Declaration::Kind::kInclude   ? kModule
                     : d.kind == Declaration::Kind::kRuleset ? kNamespace
                     : d.kind == Declaration::Kind::kOp      ? kOperator
                     : d.kind == Declaration::Kind::kOpclass ? kClass
                     : d.kind == Declaration::Kind::kFuse    ? kEvent
                                                             : kFunction;
    Json symbol = {{"name", d.name},
                   {"detail", name(d.kind)},
                   {"kind", kind},
                   {"range", range(d.tokens)},
                   {"selectionRange", range({d.token, d.token + 1})}};
    for (const Example& e : d.examples) {
      const std::string word = e.reject ? "reject" : "test";
      symbol["children"].push_back({{"name", e.name.empty() ? word : word + " " + e.name},
                                    {"kind", kMethod},
                                    {"range", range(e.tokens)},
                                    {"selectionRange", range({e.token, e.token + 1})}});
    }
    symbols.push_back(std::move(symbol));
  }
  return symbols;
}

}  // namespace fusewright::lsp
