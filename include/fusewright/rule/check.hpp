#pragma once

#include <map>
#include <string>
#include <vector>

#include "fusewright/rule/ast.hpp"
#include "fusewright/rule/rule.hpp"

namespace fusewright::rule {

/// Resolves and checks parsed files as one rule set on top of `base`. Every error in all files is reported, each with
/// its place; duplicate names show both. The outcome does not depend on the order of the files, but for their layers:
/// what a file of a higher one declares replaces what has the same name below. Generates for every composite operator
/// `expand-NAME` (op to body) and, where its body can be read as a pattern, `recognise-NAME` (body to op), both
/// bit-exact. `errors` are those of reading the files: with any, the outcome is them and what is wrong with the rest.
Result<RuleSet> check_rules(const std::vector<ast::File>& files, const ops::OpTable& base,
                            std::vector<Diagnostic> errors = {});

/// Parses and checks rule files: each path is a `.fuse` file, or a folder searched for them with its subfolders. Files
/// that are included come along once. An operator, class or rule of a later path replaces one of the same name of an
/// earlier path, with a note: so a user's file may redefine what the library has. Errors: of all files together.
Result<RuleSet> load_rules(const std::vector<std::string>& paths, const ops::OpTable& base);

/// The expressions of a test on its inputs (`inputs` holds each by name), for instance as nodes of a graph.
/// Returns the outputs, then the expected values.
Result<std::vector<ops::TermValue>> elaborate_test(const ops::OpTable& table, const TestCase& test,
                                                   const ops::Env& inputs, ops::TermBuilder& builder);

/// Types in an example, by its names and by the places of the operators that are applied in it.
struct ExampleTypes {
  std::map<std::string, ops::Type> names;
  /// By the bytes that an application is written in, begin and end.
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<ops::Type>> results;
};
/// Of a sound example, as those of a RuleSet are; what stands behind an error has no entry.
ExampleTypes example_types(const ops::OpTable& table, const TestCase& test);

/// Guard functions that ops::elaborate passes on to TermBuilder::query; arguments are tensors.
/// On the e-graph: constant(x, ...): known when the model is loaded; same(x, y): one value; splat(x): a constant of one
/// number, value(x): that number, is_zero(x), is_one(x). On the plan (fuse only, there besides `constant`):
/// single_use(x), graph_output(x), side_output(x).
const std::vector<std::string>& term_queries();
const std::vector<std::string>& plan_queries();

}  // namespace fusewright::rule
