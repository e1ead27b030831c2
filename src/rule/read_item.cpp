#include <algorithm>

#include "src/rule/spelling.hpp"
#include "src/rule/tree.hpp"

namespace fusewright::rule {

namespace g = fuse_grammar;

namespace {

/// `/// text` lines without their marks; blank lines and comments between them are no documentation.
std::string documentation_text(const std::string& lines) {
  std::string result;
  std::size_t at = 0;
  while (at < lines.size()) {
    std::size_t end = lines.find('\n', at);
    if (end == std::string::npos) end = lines.size();
    std::string line = lines.substr(at, end - at);
    at = end + 1;
    if (line.compare(std::min(line.find_first_not_of(" \t"), line.size()), 3, "///") != 0) continue;
    const std::size_t begin = line.find_first_not_of(" \t\r/");
    if (!result.empty()) result += '\n';
    if (begin != std::string::npos) {
      line.erase(line.find_last_not_of(" \t\r") + 1);
      result += line.substr(begin);
    }
  }
  return result;
}

}  // namespace

ast::Let TreeReader::let(const TreeNode& node) { return {name(node.children[0]), expression(node.children[1])}; }

ast::AttrDecl TreeReader::attribute(const TreeNode& node) {
  ast::AttrDecl result;
  for (const TreeNode& child : node.children) {
    if (child.is_type<g::name>())
      result.name = name(child);
    else if (child.is_type<g::optional_mark>())
      result.optional = true;
    else if (child.is_type<g::attribute_kind>())
      result.kind = name_behind_mark(child);
    else
      result.fallback = expression(child.children[0]);
  }
  return result;
}

ast::OpDecl TreeReader::op(const TreeNode& node) {
  ast::OpDecl result;
  for (const TreeNode& child : node.children) {
    if (child.is_type<g::name>()) {
      result.name = name(child);
    } else if (child.is_type<g::parameter>()) {
      ast::Param param{name(child.children[0]), false, false};
      if (child.children.size() > 1) {
        (child.children[1].is_type<g::ellipsis>() ? param.variadic : param.optional) = true;
      }
      result.params.push_back(std::move(param));
    } else if (child.is_type<g::attribute>()) {
      result.attrs.push_back(attribute(child));
    } else if (child.is_type<g::result_name>()) {
      result.results.push_back(name(child.children[0]));
    } else if (child.is_type<g::formula>()) {
      result.has_body = true;
      result.values.push_back({{}, expression(child.children[0])});
    } else {
      result.has_body = true;
      for (const TreeNode& clause : child.children) {
        if (clause.is_type<g::let_clause>()) {
          result.lets.push_back(let(clause));
        } else if (clause.is_type<g::value_clause>()) {
          result.values.push_back(let(clause));
        } else {
          for (auto& value : expressions(clause)) result.values.push_back({{}, std::move(value)});
        }
      }
    }
  }
  return result;
}

ast::ClassDecl TreeReader::opclass(const TreeNode& node) {
  ast::ClassDecl result{name(node.children[0]), class_expression(node.children[1]), nullptr};
  for (std::size_t i = 2; i < node.children.size(); ++i) {
    ast::ExprPtr condition = expression(node.children[i]);
    if (result.where == nullptr) {
      result.where = std::move(condition);
      continue;
    }
    ops::Expr both;
    both.kind = ops::Expr::Kind::kBinary;
    both.text = "and";
    both.span = span(node.children[2], node.children[i]);
    both.args = {result.where, std::move(condition)};
    result.where = std::make_shared<const ops::Expr>(std::move(both));
  }
  return result;
}

void TreeReader::header(const TreeNode& node, ast::RuleDecl& rule) {
  for (const TreeNode& child : node.children) {
    if (child.is_type<g::exactness>()) {
      if (!rule.exactness.empty()) error(span(child), "a second exactness");
      rule.exactness_span = span(child);
      for (const TreeNode& word : child.children) {
        ast::ExactnessWord entry{name(word.children[0]), {}};
        if (word.children.size() > 1) entry.rtol = number(word.children[1]);
        rule.exactness.push_back(std::move(entry));
      }
    } else if (child.is_type<g::kernel>()) {
      if (rule.kernel) error(span(child), "a second kernel template");
      rule.kernel = name(child.children[0]);
    } else {
      for (const TreeNode& target : child.children) rule.targets.push_back(name(target));
    }
  }
}

void TreeReader::clause(const TreeNode& node, ast::RuleDecl& rule) {
  if (node.is_type<g::match_pattern>()) {
    for (const TreeNode& child : node.children) {
      ast::Root root;
      root.span = span(child);
      root.pattern = pattern(child);
      rule.roots.push_back(std::move(root));
    }
  } else if (node.is_type<g::match_chain>()) {
    rule.roots.push_back(chain(node.children[0]));
  } else if (node.is_type<g::where_clause>()) {
    for (auto& guard : expressions(node)) rule.clauses.push_back({std::move(guard), {}});
  } else if (node.is_type<g::let_clause>()) {
    rule.clauses.push_back({nullptr, let(node)});
  } else if (node.is_type<g::to_clause>()) {
    if (!rule.to.empty()) error(span(node), "a second 'to'");
    rule.to_span = span(node);
    rule.to = expressions(node);
  } else if (node.is_type<g::no_duplicate_clause>()) {
    for (const TreeNode& child : node.children) rule.no_duplicate.push_back(name(child));
  } else {
    rule.tests.push_back(test(node));
  }
}

ast::RuleDecl TreeReader::rule(const TreeNode& node, bool fuse) {
  ast::RuleDecl result;
  result.fuse = fuse;
  result.name = name(node.children[0]);
  header(node.children[1], result);
  for (std::size_t i = 2; i < node.children.size(); ++i) clause(node.children[i], result);
  return result;
}

ast::TestDecl::Input TreeReader::input(const TreeNode& node) {
  ast::TestDecl::Input result;
  result.name = name(node.children[0]);
  result.constant = node.children.size() > 2;
  const TreeNode& type = node.children.back();
  Span dtype_span = span(type);
  const std::size_t bracket = source_->text.find('[', dtype_span.begin);
  dtype_span.end = static_cast<std::uint32_t>(bracket);
  while (!scan_.significant[dtype_span.end - 1]) --dtype_span.end;
  const std::string word = source_->text.substr(dtype_span.begin, dtype_span.end - dtype_span.begin);
  const auto dtype = ops::dtype_from_name(word);
  if (!dtype) error(dtype_span, "'" + word + "' is not a dtype", dtype_meant(word));
  ops::Shape shape;
  for (const TreeNode& dim : type.children) {
    if (dim.is_type<g::integer>())
      shape.emplace_back(integer(dim));
    else
      shape.push_back(Dim::symbol(text(dim)));
  }
  result.type = ops::Type::tensor(dtype.value_or(ops::DType::kF32), std::move(shape));
  return result;
}

ast::TestDecl TreeReader::test(const TreeNode& node) {
  ast::TestDecl result;
  result.span = span(node.children[0]);
  result.extent = span(node.children.front(), node.children.back());
  for (const TreeNode& child : node.children) {
    if (child.is_type<g::reject_mark>())
      result.reject = true;
    else if (child.is_type<g::kebab_name>())
      result.name = name(child);
    else if (child.is_type<g::because>())
      result.because = expression(child.children[0]);
    else if (child.is_type<g::let_clause>())
      result.lets.push_back(let(child));
    else if (child.is_type<g::input>())
      result.inputs.push_back(input(child));
    else if (child.is_type<g::kernels_clause>())
      result.kernels = integer(child.children[0]);
    else if (child.is_type<g::match_outputs>())
      result.outputs = expressions(child);
    else if (child.is_type<g::to_clause>())
      result.expected = expressions(child);
  }
  return result;
}

ast::Item TreeReader::item(const TreeNode& node) {
  incomplete_ = false;
  ast::Item result;
  result.extent = span(node.children.front(), node.children.back());
  for (const TreeNode& child : node.children) {
    if (child.is_type<g::documentation>()) {
      result.doc = documentation_text(text(child));
      continue;
    }
    if (child.is_type<g::allow>()) {
      result.allows.push_back({name(child.children[0]), quoted(child.children[1])});
      continue;
    }
    result.span = child.children.empty() ? span(child) : span(child.children[0]);
    if (child.is_type<g::include>())
      result.what = ast::Include{quoted(child.children[0])};
    else if (child.is_type<g::ruleset>())
      result.what = ast::Ruleset{name(child.children[0]), child.children.size() > 1, 0};
    else if (child.is_type<g::op>())
      result.what = op(child);
    else if (child.is_type<g::opclass>())
      result.what = opclass(child);
    else
      result.what = rule(child, child.is_type<g::fuse>());
  }
  return result;
}

}  // namespace fusewright::rule
