#include "fusewright/rule/check.hpp"

#include <algorithm>
#include <iterator>
#include <span>

#include "fusewright/rule/lint.hpp"
#include "fusewright/rule/needs.hpp"
#include "fusewright/support/beside.hpp"
#include "src/rule/checker.hpp"

namespace fusewright::rule {

namespace {

/// All declarations of all files, by kind.
struct Declarations {
  std::vector<const ast::OpDecl*> ops;
  std::vector<std::string> op_docs;
  std::vector<const ast::ClassDecl*> classes;
  struct Rule {
    const ast::RuleDecl* decl;
    std::string doc;
    std::string ruleset;
  };
  std::vector<Rule> rules;
};

/// The highest layer in which each name is declared; what has the same name below it is replaced.
class Layers {
 public:
  Layers(const std::vector<ast::File>& files, Reports& reports) : reports_(reports) {
    for (const auto& file : files) {
      for (const auto& item : file.items) {
        const auto [kind, name] = declared(item);
        if (name == nullptr) continue;
        auto& top = top_[{kind, name->text}];
        if (file.layer >= top.layer) top = {file.layer, name->span};
      }
    }
  }

  /// Notes what is replaced.
  bool keeps(const ast::File& file, const ast::Item& item) {
    const auto [kind, name] = declared(item);
    if (name == nullptr) return true;
    const auto& top = top_.at({kind, name->text});
    if (file.layer == top.layer) return true;
    const LineColumn place = line_column(name->span);
    reports_.note(top.span,
                  "'" + name->text + "' replaces the one of " + file.source->name + ":" + std::to_string(place.line));
    return false;
  }

 private:
  struct Top {
    std::uint32_t layer = 0;
    Span span;
  };
  static std::pair<int, const ast::Name*> declared(const ast::Item& item) {
    if (const auto* op = std::get_if<ast::OpDecl>(&item.what)) return {0, &op->name};
    if (const auto* opclass = std::get_if<ast::ClassDecl>(&item.what)) return {1, &opclass->name};
    if (const auto* rule = std::get_if<ast::RuleDecl>(&item.what)) return {2, &rule->name};
    return {3, nullptr};
  }

  Reports& reports_;
  std::map<std::pair<int, std::string>, Top> top_;
};

Declarations collect(const std::vector<ast::File>& files, Reports& reports) {
  Declarations all;
  Layers layers(files, reports);
  for (const auto& file : files) {
    std::string rest_of_file;
    std::vector<std::pair<std::string, std::uint32_t>> blocks;  // name, items left
    for (const auto& item : file.items) {
      while (!blocks.empty() && blocks.back().second == 0) blocks.pop_back();
      for (auto& [name, left] : blocks) --left;
      const std::string& ruleset = blocks.empty() ? rest_of_file : blocks.back().first;
      if (const auto* set = std::get_if<ast::Ruleset>(&item.what)) {
        if (set->block)
          blocks.emplace_back(set->name.text, set->items);
        else
          rest_of_file = set->name.text;
      }
      if (!layers.keeps(file, item)) continue;
      if (const auto* op = std::get_if<ast::OpDecl>(&item.what)) {
        all.ops.push_back(op);
        all.op_docs.push_back(item.doc);
      } else if (const auto* opclass = std::get_if<ast::ClassDecl>(&item.what)) {
        all.classes.push_back(opclass);
      } else if (const auto* rule = std::get_if<ast::RuleDecl>(&item.what)) {
        all.rules.push_back({rule, item.doc, ruleset});
      }
    }
  }
  std::sort(all.rules.begin(), all.rules.end(), [](const auto& a, const auto& b) {
    const auto key = [](const auto& rule) {
      const ast::Name& name = rule.decl->name;
      return std::tie(name.text, name.span.source->name, name.span.begin);
    };
    return key(a) < key(b);
  });
  return all;
}

/// Rules of both kinds, the generated ones too, share one space of names: it is what audits refer to.
class RuleNames {
 public:
  explicit RuleNames(Reports& reports) : reports_(reports) {}

  bool add(const std::string& name, const Span& span) {
    const auto [at, fresh] = places_.emplace(name, span);
    if (!fresh) {
      reports_.error(span, "there are two rules called '" + name + "'", {}, {{at->second, "the other one is here"}});
    }
    return fresh;
  }

 private:
  Reports& reports_;
  std::map<std::string, Span> places_;
};

void check_kebab(const ast::Name& name, Reports& reports) {
  const bool fits = std::all_of(name.text.begin(), name.text.end(),
                                [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; });
  if (!fits) reports.warning("rule-name", name.span, "names of rules are written in kebab-case: conv-bn-fold");
}

void check_allows(const ast::File& file, Reports& reports) {
  std::vector<std::string> known;
  for (const LintInfo& lint : lints()) known.emplace_back(lint.name);
  for (const auto& item : file.items) {
    for (const auto& [lint, reason] : item.allows) {
      if (std::find(known.begin(), known.end(), lint.text) == known.end())
        reports.error(lint.span, "there is no lint '" + lint.text + "'", did_you_mean(lint.text, known));
      if (reason.find_first_not_of(" \t") == std::string::npos)
        reports.error(lint.span, "allowing '" + lint.text + "' needs a reason");
    }
  }
}

void note_unread(const std::vector<ast::File>& files, Reports& reports) {
  for (const auto& file : files) reports.unread(file.unread_names, file.unread_include);
}

/// Some of the rules, and what there is to say of them.
struct Checked {
  std::vector<RewriteRule> rewrites;
  std::vector<FuseRule> fuses;
  std::vector<TestCase> tests;
  Reports reports;
};

Checked check_some(std::span<const Declarations::Rule> rules, const std::vector<ast::File>& files,
                   const ops::OpTable& table, const Classes& classes) {
  Checked out;
  note_unread(files, out.reports);
  const RuleContext context{table, classes, out.reports};
  for (const auto& [decl, doc, ruleset] : rules) {
    check_kebab(decl->name, out.reports);
    const auto described = [&](auto rule) {
      rule.doc = doc;
      rule.ruleset = ruleset;
      std::ranges::move(check_tests(*decl, rule.guards, context), std::back_inserter(out.tests));
      return rule;
    };
    if (decl->fuse)
      out.fuses.push_back(described(check_fuse(*decl, context)));
    else
      out.rewrites.push_back(described(check_rewrite(*decl, context)));
  }
  return out;
}

}  // namespace

Result<RuleSet> check_rules(const std::vector<ast::File>& files, const ops::OpTable& base,
                            std::vector<Diagnostic> errors) {
  Reports reports;
  for (auto& d : errors) reports.error(d.span, std::move(d.message), std::move(d.suggestion), std::move(d.notes));
  note_unread(files, reports);
  for (const auto& file : files) check_allows(file, reports);
  Declarations all = collect(files, reports);
  auto table = std::make_shared<const ops::OpTable>(declare_ops(all.ops, all.op_docs, base, reports));
  Classes classes = builtin_classes(*table);
  declare_classes(all.classes, *table, reports, classes);

  RuleNames names(reports);
  std::erase_if(all.rules, [&](const auto& rule) { return !names.add(rule.decl->name.text, rule.decl->name.span); });
  const std::span<const Declarations::Rule> rules(all.rules);
  auto second = beside([&] { return check_some(rules.subspan(rules.size() / 2), files, *table, classes); });
  RuleSet set;
  const auto take = [&](Checked part) {
    std::ranges::move(part.rewrites, std::back_inserter(set.rewrites));
    std::ranges::move(part.fuses, std::back_inserter(set.fuses));
    std::ranges::move(part.tests, std::back_inserter(set.tests));
    reports.add(std::move(part.reports));
  };
  take(check_some(rules.first(rules.size() / 2), files, *table, classes));
  take(second.get());
  const RuleContext context{*table, classes, reports};
  for (std::size_t i = base.size(); i < table->size(); ++i) {
    if ((*table)[OpId(i)].body == nullptr || reports.error_count() > 0) continue;
    for (auto& rule : generate_rewrites(OpId(i), context)) {
      if (names.add(rule.name, rule.span)) set.rewrites.push_back(std::move(rule));
    }
  }
  if (reports.error_count() > 0) return std::unexpected(Error{ErrorKind::kInput, reports.take_errors()});

  std::sort(set.rewrites.begin(), set.rewrites.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  set.needs = std::make_shared<const Needs>(*table, set.rewrites);
  set.table = std::move(table);
  set.classes = std::move(classes.sets);
  set.findings = reports.take_findings();
  for (const auto& file : files) {
    set.sources.push_back(file.source);
    for (const auto& item : file.items) {
      for (const auto& allow : item.allows)
        set.allowances.push_back({allow.lint.text, allow.reason, allow.lint.span, item.extent});
    }
  }
  std::sort(set.sources.begin(), set.sources.end(), [](const auto& a, const auto& b) { return a->name < b->name; });
  return set;
}

}  // namespace fusewright::rule
