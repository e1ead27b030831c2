#include <algorithm>
#include <set>

#include "fusewright/rule/lint.hpp"
#include "src/lsp/features.hpp"
#include "src/lsp/words.hpp"

namespace fusewright::lsp {

namespace {

// Of the protocol's CompletionItemKind.
constexpr int kFunction = 3, kField = 5, kVariable = 6, kClass = 7, kProperty = 10, kEnumMember = 20, kKeyword = 14,
              kOperator = 24, kTypeParameter = 25;

/// What may stand at a place, nearest first.
class Completer {
 public:
  Completer(const Subject& subject, std::size_t offset) : s_(subject), o_(subject.outline()), offset_(offset) {
    at_ = o_.tokens_before(offset);
    // The word that is being typed is no part of what stands in front.
    if (at_ > 0 && o_.tokens[at_ - 1].end >= offset && o_.is_word(at_ - 1)) --at_;
    const std::string_view before = o_.word(at_ - 1);
    const bool text = before.starts_with('"'), closed = before.size() > 1 && before.ends_with('"');
    inside_text_ = text && (!closed || o_.tokens[at_ - 1].end > offset);
  }

  Json run() {
    const std::string_view before = o_.word(at_ - 1);
    const std::vector<std::size_t> open = o_.open_brackets(at_);
    if (inside_text_) return std::move(items_);
    if (before == ".") {
      fields();
    } else if (!open.empty() && in_head(open.front())) {
      // one of a few words
    } else if (open.empty() && !in_formula()) {
      in_file(before);
    } else if (!open.empty() && o_.word(open.front()) == "{" && starts_clause(open.front())) {
      clauses();
    } else {
      in_term(before, open);
    }
    return std::move(items_);
  }

 private:
  void add(std::string_view label, int kind, std::string_view detail, std::string_view doc = {},
           std::string_view insert = {}) {
    if (!seen_.insert(std::string(label)).second) return;
    Json item = {{"label", label}, {"kind", kind}};
    if (!detail.empty()) item["detail"] = detail;
    if (!doc.empty()) item["documentation"] = {{"kind", "markdown"}, {"value", doc}};
    if (!insert.empty()) item["insertText"] = insert;
    const std::string number = std::to_string(items_.size());
    item["sortText"] = std::string(6 - std::min<std::size_t>(6, number.size()), '0') + number;
    items_.push_back(std::move(item));
  }
  void add_words(const std::vector<Word>& words, int kind) {
    for (const Word& word : words) add(word.name, kind, "", word.meaning);
  }
  void add_keywords(std::initializer_list<std::string_view> words) {
    for (const std::string_view word : words) add(word, kKeyword, "", meaning_in(keywords(), word).value_or(""));
  }

  const Declaration* declaration() const { return at_ > 0 ? o_.declaration_at(at_ - 1) : nullptr; }

  /// Behind `=` of an `op` or `opclass`.
  bool in_formula() const {
    const Declaration* d = declaration();
    if (d == nullptr || (d->kind != Declaration::Kind::kOp && d->kind != Declaration::Kind::kOpclass)) return false;
    for (std::size_t i = d->tokens.begin; i < at_; ++i)
      if (o_.word(i) == "=" && o_.open_brackets(i).empty()) return !complete() || !own_line();
    return false;
  }

  void in_file(std::string_view before) {
    const Declaration* d = declaration();
    const bool head = d != nullptr && (d->kind == Declaration::Kind::kRewrite || d->kind == Declaration::Kind::kFuse) &&
                      before != "}" && at_ > d->token;
    if (head) {
      if (before == "requires") return add_keywords({"target"});
      add_keywords({"exactness", "kernel", "requires"});
      return;
    }
    if (d != nullptr && at_ == d->token) return;  // a name is given here
    add_keywords({"rewrite", "fuse", "op", "opclass", "ruleset", "include", "allow"});
  }

  /// exactness(...), kernel(...), requires target(...).
  bool in_head(std::size_t open) {
    const std::string_view head = open > 0 ? o_.word(open - 1) : std::string_view();
    if (head == "exactness") return add_words(exactness_classes(), kEnumMember), true;
    if (head == "kernel") return add_words(templates(), kEnumMember), true;
    if (head == "target") return add_words(targets(), kEnumMember), true;
    if (head != "allow") return false;
    for (const rule::LintInfo& lint : rule::lints()) add(lint.name, kEnumMember, "lint", lint.meaning);
    return true;
  }

  bool in_example() const {
    const Declaration* d = declaration();
    return d != nullptr && std::any_of(d->examples.begin(), d->examples.end(),
                                       [&](const Example& e) { return e.body.begin <= at_ && (at_ <= e.body.end); });
  }

  /// Whether a clause may begin: first in its block, or first on a line behind something complete.
  bool starts_clause(std::size_t open) const { return at_ == open + 1 || (complete() && own_line()); }
  bool complete() const {
    const std::string_view before = o_.word(at_ - 1);
    if (o_.is_word(at_ - 1)) return !rule::is_reserved(before);
    const auto kind = o_.tokens[at_ - 1].kind;
    return kind != rule::Token::Kind::kMark || before == ")" || before == "]" || before == "}" || before == "*" ||
           before == "?";
  }
  bool own_line() const {
    const std::size_t end = o_.tokens[at_ - 1].end;
    return o_.text.substr(end, offset_ - std::min<std::size_t>(end, offset_)).find('\n') != std::string::npos;
  }

  void clauses() {
    const Declaration* d = declaration();
    if (in_example()) {
      add_keywords({"match", "to", "let", "kernels"});
    } else if (d != nullptr && d->kind == Declaration::Kind::kOp) {
      add_keywords({"let", "to"});
      for (const Binding& b : d->bindings)
        if (b.kind == Binding::Kind::kResult) add(b.name, kVariable, "result", {}, b.name + " = ");
    } else if (d != nullptr && d->kind == Declaration::Kind::kFuse) {
      add_keywords({"match", "where", "no_duplicate", "test", "reject"});
    } else {
      add_keywords({"match", "where", "let", "to", "test", "reject"});
    }
  }

  void fields() {
    std::string owner;
    if (at_ >= 2) {
      if (const Binding* node = binding_at(o_, at_ - 2)) owner = node->what;
      int depth = 0;
      for (std::size_t i = at_ - 2; o_.word(at_ - 2) == ")" && i > 0; --i) {
        depth += o_.word(i) == ")" ? 1 : o_.word(i) == "(" ? -1 : 0;
        if (depth > 0) continue;
        owner = o_.word(i - 1);
        break;
      }
    }
    const ops::OpId id = s_.table.find(owner);
    if (!id.valid()) return;
    if (o_.word(at_ - 2) == ")")
      for (const std::string& result : s_.table[id].results) add(result, kField, "result of " + owner);
    else
      attributes(owner, "");
  }

  void attributes(const std::string& owner, std::string_view behind) {
    const ops::OpId id = s_.table.find(owner);
    if (!id.valid()) return;
    for (const ops::AttrSpec& attr : s_.table[id].attrs) {
      const std::string detail =
          std::string(ops::name(attr.kind)) + (attr.fallback ? " = " + ops::to_string(*attr.fallback) : "");
      add(attr.name, kProperty, detail, "Attribute of `" + owner + "`.", attr.name + std::string(behind));
    }
  }

  void in_term(std::string_view before, const std::vector<std::size_t>& open) {
    if (before == "as" || before == "let" || before == "test" || before == "reject") return;  // a name is given here
    if ((before == ":" || before == "const") && !open.empty() && o_.word(open.front()) == "{") {
      if (before == ":") add_keywords({"const"});
      return dtypes("[");
    }
    const bool operands = !open.empty() && o_.word(open.front()) == "(";
    const Declaration* d = declaration();
    if (before == ":" && operands && d != nullptr && d->kind == Declaration::Kind::kOp) {
      for (int i = 0; i <= static_cast<int>(ops::AttrKind::kTensor); ++i)
        add(ops::name(static_cast<ops::AttrKind>(i)), kTypeParameter, "kind of an attribute");
      return;
    }
    if (operands && (before == "(" || before == "," || before == ";")) attributes(o_.applied_at(at_), " = ");
    for (const Binding* b : bindings_around(o_, at_ > 0 ? at_ - 1 : 0))
      if (b->token != at_ || o_.tokens[at_].begin >= offset_)  // but for the word that is being typed
        add(b->name, kVariable, std::string(name(b->kind)) + (b->what.empty() ? "" : ": " + b->what));
    const bool chain = in_chain() && !operands;
    if (chain) classes();
    operators();
    if (chain) return;
    for (const Word& word : functions()) add(word.name, kFunction, function_signature(word.name), word.meaning);
    for (const Word& word : axis_roles()) add(word.name, kFunction, function_signature(word.name), word.meaning);
    classes();
    dtypes("");
    add_keywords({"fold", "if", "else", "and", "or", "not", "in", "along", "as", "true", "false", "inf"});
  }

  /// Whether this is the `match` of a fuse rule.
  bool in_chain() const {
    const Declaration* d = declaration();
    if (d != nullptr && d->kind == Declaration::Kind::kOpclass) return true;
    if (d == nullptr || d->kind != Declaration::Kind::kFuse || in_example()) return false;
    for (std::size_t i = at_; i-- > d->tokens.begin;) {
      const std::string_view word = o_.word(i);
      if (word == "match") return true;
      if (word == "where" || word == "}" || word == "no_duplicate") return false;
    }
    return false;
  }

  void operators() {
    for (const FilePtr& file : s_.analysis.files)
      for (const Declaration& d : file->outline.declarations)
        if (d.kind == Declaration::Kind::kOp && !d.name.empty()) add(d.name, kOperator, d.signature, d.doc);
    for (std::size_t i = 0; i < s_.table.size(); ++i) {
      const ops::OpInfo& op = s_.table[ops::OpId(i)];
      add(op.name, kOperator, signature(op), op.documentation.empty() ? built_in_meaning(op) : op.documentation);
    }
  }
  void classes() {
    for (const FilePtr& file : s_.analysis.files)
      for (const Declaration& d : file->outline.declarations)
        if (d.kind == Declaration::Kind::kOpclass && !d.name.empty()) add(d.name, kClass, d.signature, d.doc);
    if (s_.analysis.rules != nullptr)
      for (const auto& [name, set] : s_.analysis.rules->classes)
        add(name, kClass, "class of " + std::to_string(set.ops.size()) + " operators");
  }
  void dtypes(const std::string& behind) {
    for (int i = 0; i <= static_cast<int>(ops::DType::kC128); ++i) {
      const std::string dtype(ops::name(static_cast<ops::DType>(i)));
      add(dtype, kTypeParameter, "dtype", {}, behind.empty() ? std::string() : dtype + behind);
    }
  }

  const Subject& s_;
  const Outline& o_;
  std::size_t offset_;
  std::size_t at_ = 0;  ///< tokens in front of the place
  bool inside_text_ = false;
  Json items_ = Json::array();
  std::set<std::string> seen_;
};

}  // namespace

Json completion(const Subject& subject, std::size_t offset) {
  if (subject.outline().in_comment(offset)) return Json::array();
  return Completer(subject, offset).run();
}

}  // namespace fusewright::lsp
