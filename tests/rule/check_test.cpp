#include "tests/rule/helpers.hpp"

using namespace fusewright;
using namespace fusewright::rule;
using namespace fusewright::rule::testing;

TEST_CASE("the rule library loads without a warning", "[rule]") {
  const auto set = load_rules({source_path("rules")}, ops::OpTable::builtin());
  if (!set) FAIL(print_error(set.error()));
  for (const auto& d : set->findings) {
    INFO(print_diagnostic(d.diagnostic));
    CHECK(d.diagnostic.severity == Severity::kNote);
  }
  CHECK(set->rewrites.size() > 40);
  CHECK(set->fuses.size() > 8);
  std::set<std::string> tested, rejected;
  for (const auto& test : set->tests) (test.reject ? rejected : tested).insert(test.rule);
  for (const auto& rule : set->rewrites) {
    if (rule.origin != RewriteRule::Origin::kWritten) continue;
    INFO(rule.name);
    CHECK(tested.contains(rule.name));
    CHECK(rejected.contains(rule.name));
    CHECK_FALSE(rule.doc.empty());
  }
  for (const auto& rule : set->fuses) {
    INFO(rule.name);
    CHECK(tested.contains(rule.name));
    CHECK(rejected.contains(rule.name));
    CHECK_FALSE(rule.doc.empty());
  }
}

TEST_CASE("the order of rule files does not matter", "[rule]") {
  std::vector<std::string> paths = files_in("rules");
  const auto forward = load_rules(paths, ops::OpTable::builtin());
  std::reverse(paths.begin(), paths.end());
  const auto backward = load_rules(paths, ops::OpTable::builtin());
  REQUIRE(forward.has_value());
  REQUIRE(backward.has_value());
  CHECK(forward->table->names() == backward->table->names());
  REQUIRE(forward->rewrites.size() == backward->rewrites.size());
  for (std::size_t i = 0; i < forward->rewrites.size(); ++i) {
    const auto& a = forward->rewrites[i];
    const auto& b = backward->rewrites[i];
    CHECK(a.name == b.name);
    REQUIRE(a.variants.size() == b.variants.size());
    for (std::size_t v = 0; v < a.variants.size(); ++v)
      CHECK(dump(*forward, a.variants[v]) == dump(*backward, b.variants[v]));
  }
}

TEST_CASE("one line makes an operator with a recogniser and an expansion", "[rule]") {
  const RuleSet set = check("op gelu(x) = 0.5 * x * (1 + erf(x * ~0.70710678))");
  const auto& info = (*set.table)[set.table->find("gelu")];
  CHECK(info.op_class == ops::OpClass::kComposite);
  REQUIRE(info.attrs.size() == 1);
  CHECK(info.attrs[0].name == "literal_1");
  const auto& recognise = rewrite(set, "recognise-gelu");
  REQUIRE(recognise.variants.size() == 1);
  CHECK(dump(set, recognise.variants[0]) == "mul(mul(0.5, x), add(1, erf(mul(x, ~0.707107:literal_1))))");
  CHECK(ops::print_expr(*recognise.variants[0].to[0]) == "gelu(x, literal_1 = literal_1)");
  const auto& literal = recognise.variants[0].nodes;
  const auto at =
      std::find_if(literal.begin(), literal.end(), [](const auto& node) { return node.literal.approximate; });
  REQUIRE(at != literal.end());
  CHECK(at->literal.tolerance == Approx(5e-9));
  const auto& expand = rewrite(set, "expand-gelu");
  CHECK(dump(set, expand.variants[0]) == "gelu(x, literal_1 = literal_1)");
  CHECK(ops::print_expr(*expand.variants[0].to[0]) == "0.5 * x * (1 + erf(x * literal_1))");
  CHECK(recognise.exactness.bitexact());
  CHECK(set.classes.at("elementwise").contains(set.table->find("gelu")));
}

TEST_CASE("a body with reductions reads its axis off the pattern and names shared values", "[rule]") {
  const RuleSet set = check(R"(
op softmax(x; axis = -1) {
  let others = axes_except(x, [axis])
  let e = exp(x - reduce_max(x, axes = [axis]) along others)
  to e / reduce_sum(e, axes = [axis]) along others
})");
  const auto& rule = rewrite(set, "recognise-softmax");
  REQUIRE(rule.variants.size() == 1);
  const std::string pattern = dump(set, rule.variants[0]);
  INFO(pattern);
  CHECK(pattern.find("exp(sub(x, broadcast(reduce_max(x") != std::string::npos);
  CHECK(pattern.find(" as e, broadcast(reduce_sum(e,") != std::string::npos);
  CHECK(ops::print_expr(*rule.variants[0].to[0]) == "softmax(x, axis = axis)");
  CHECK_FALSE(set.classes.at("elementwise").contains(set.table->find("softmax")));
}

TEST_CASE("optional operands make one pattern for each combination", "[rule]") {
  const RuleSet set = check("op f(x, b?) = exp(x) + b if present(b) else exp(x)");
  const auto& rule = rewrite(set, "recognise-f");
  REQUIRE(rule.variants.size() == 2);
  CHECK(dump(set, rule.variants[0]) == "add(exp(x), b)");
  CHECK(dump(set, rule.variants[1]) == "exp(x)");
  CHECK(rule.variants[1].absent == std::vector<std::string>{"b"});
}

TEST_CASE("several results each have their expansion, without what they do not need", "[rule]") {
  const RuleSet set =
      check("op f(x) -> (a, b) { let t = top_k(x, k = 2, axis = 0)  let u = exp(x)  a = t.values  b = u }");
  const auto& rule = rewrite(set, "expand-f");
  REQUIRE(rule.variants.size() == 2);
  CHECK(rule.variants[0].steps.empty());
  CHECK(ops::print_expr(*rule.variants[0].to[0]) == "top_k(x, k = 2, axis = 0).values");
  REQUIRE(rule.variants[1].steps.size() == 1);
  CHECK(rule.variants[1].steps[0].name == "u");
  CHECK(rule.variants[1].nodes[rule.variants[1].roots[0]].result == 1);
}

TEST_CASE("choices and optional parts are multiplied out", "[rule]") {
  const RuleSet set =
      check("rewrite r { match ((exp(x) | log(x)) [+ b]?) as y where rank(y) == 2 to abs(x) * (b ?? 1) }");
  const auto& rule = rewrite(set, "r");
  REQUIRE(rule.variants.size() == 4);
  CHECK(dump(set, rule.variants[0]) == "add(exp(x), b) as y");
  CHECK(dump(set, rule.variants[1]) == "add(log(x), b) as y");
  CHECK(dump(set, rule.variants[2]) == "exp(x) as y");
  CHECK(rule.variants[3].absent == std::vector<std::string>{"b"});
  CHECK(rule.guards.size() == 1);
}

TEST_CASE("an operator that the right side applies is told apart, others are matched as a set", "[rule]") {
  const RuleSet set = check(R"(
rewrite applied { match (exp | log)(x) as f where rank(x) > 0 to f(-x) }
rewrite plain { match (exp | log)(x) to x })");
  const auto& applied = rewrite(set, "applied");
  REQUIRE(applied.variants.size() == 2);
  CHECK(ops::print_expr(*applied.variants[0].to[0]) == "exp(-x)");
  CHECK(ops::print_expr(*applied.variants[1].to[0]) == "log(-x)");
  const auto& plain = rewrite(set, "plain");
  REQUIRE(plain.variants.size() == 1);
  CHECK(dump(set, plain.variants[0]) == "exp|log(x)");
}

TEST_CASE("axes are named by role and attributes are taken over from a node", "[rule]") {
  const RuleSet set = check(R"(
rewrite fold exactness(reassociating) {
  match conv(x, w) as c * broadcast(s, dims = [feature(c)])
  where constant(w, s)
  to conv(x, fold(w * s along out_feature(c)), ..c)
})");
  const auto& rule = rewrite(set, "fold");
  CHECK(rule.exactness.has(ExactnessClass::kReassociating));
  REQUIRE(rule.guards.size() == 3);
  CHECK(rule.guards[0].text == "dims == [feature(c)]");
  CHECK(ops::print_expr(*rule.guards[1].expr).find("c.out_spec[1]") != std::string::npos);
  CHECK(rule.guards[2].text == "constant(w, s)");
  CHECK(ops::print_expr(*rule.variants[0].to[0]) == "conv(x, fold(w * s along c.rhs_spec[0]), ..c)");
  const std::string pattern = dump(set, rule.variants[0]);
  for (const char* attr : {"strides = c.strides", "groups = c.groups", "rhs_spec = c.rhs_spec", "dtype = c.dtype"}) {
    INFO(pattern);
    CHECK(pattern.find(attr) != std::string::npos);
  }
}

TEST_CASE("attributes in patterns are constants, bindings, lists or tests", "[rule]") {
  const RuleSet set = check(R"(
rewrite r {
  match concat(reduce_sum(x, axes = [a]), reduce_sum(y, axes = b), transpose(z, perm = [1, 0]), axis = -1)
  where a in b
  to concat(x, y, z, axis = a)
})");
  const auto& rule = rewrite(set, "r");
  REQUIRE(rule.guards.size() == 3);
  CHECK(rule.guards[0].text == "axes == [a]");
  CHECK(rule.guards[1].text == "axis == -1");
  const auto& steps = rule.variants[0].steps;
  REQUIRE(steps.size() == 4);
  CHECK(steps[1].kind == Step::Kind::kLet);
  CHECK(steps[1].name == "a");
  CHECK(dump(set, rule.variants[0]).find("transpose(z, perm = [1,0])") != std::string::npos);
}

TEST_CASE("classes add, subtract and filter", "[rule]") {
  const RuleSet set = check(R"(
opclass two = elementwise - {div, pow} where operands == 2 and not comparison
opclass more = two | one - {exp}
opclass one = {exp, log})");
  CHECK(set.classes.at("two").contains(set.table->find("add")));
  CHECK_FALSE(set.classes.at("two").contains(set.table->find("div")));
  CHECK_FALSE(set.classes.at("two").contains(set.table->find("eq")));
  CHECK(set.classes.at("more").contains(set.table->find("log")));
  CHECK_FALSE(set.classes.at("more").contains(set.table->find("exp")));
}

TEST_CASE("fuse rules keep their segments, bounds and captures", "[rule]") {
  const RuleSet set = check(R"(
fuse f kernel(conv) {
  match {pad}? |> conv(x, w, groups = 1) as c |> (exp | log){1,3} as tail times {2,4} sharing x
  where single_use(c), c.strides == [1, 1]
  no_duplicate c
})");
  REQUIRE(set.fuses.size() == 1);
  const auto& rule = set.fuses[0];
  CHECK(rule.kernel == ops::Template::kConv);
  REQUIRE(rule.roots.size() == 1);
  const auto& root = rule.roots[0];
  CHECK(root.min == 2);
  CHECK(root.max == 4);
  CHECK(root.shared == std::vector<std::string>{"x"});
  REQUIRE(root.segments.size() == 3);
  CHECK(root.segments[0].min == 0);
  CHECK(root.segments[1].captures[1].name == "w");
  CHECK(root.segments[1].attrs.size() == 2);
  CHECK(root.segments[2].max == 3);
  CHECK(root.segments[2].ops.contains(set.table->find("log")));
  CHECK(root.segments[2].ops.contains(set.table->find("broadcast")));  // what aligns operands comes along
  CHECK(root.segments[2].text == "(exp | log){1,3}");
  CHECK(rule.guards.size() == 2);
  CHECK(rule.no_duplicate == std::vector<std::string>{"c"});
}

TEST_CASE("an example finds the guard that must refuse it", "[rule]") {
  const RuleSet set = check(R"(
rewrite r {
  match exp(x)
  where rank(x) == 2, constant(x)
  to exp(x)
  test one { x: const f32[2, n]  match exp(x)  to exp(x) }
  reject because constant( x ) { x: f32[2, 2]  match exp(x) }
})");
  REQUIRE(set.tests.size() == 2);
  CHECK(set.tests[0].name == "one");
  CHECK(set.tests[0].inputs[0].constant);
  CHECK(ops::to_string(set.tests[0].inputs[0].type) == "f32[2,n]");
  CHECK(set.tests[1].reject);
  CHECK(set.tests[1].because == 1U);
}

TEST_CASE("exactness classes join, and lists of them are read", "[rule]") {
  const auto both = parse_exactness("bitexact,reassociating,factoring");
  REQUIRE(both.has_value());
  CHECK(to_string(*both) == "reassociating, factoring");
  CHECK(to_string(Exactness{}) == "bitexact");
  CHECK(Exactness{}.within(*both));
  CHECK_FALSE(both->within(Exactness{}));
  const auto wrong = parse_exactness("reasociating");
  REQUIRE_FALSE(wrong.has_value());
  CHECK(wrong.error().diagnostics[0].suggestion == "did you mean 'reassociating'?");
}

TEST_CASE("a missing folder or file is an error that names it", "[rule]") {
  const auto set = load_rules({"/nowhere/rules.fuse"}, ops::OpTable::builtin());
  REQUIRE_FALSE(set.has_value());
  CHECK(print_error(set.error()).find("/nowhere/rules.fuse") != std::string::npos);
}

TEST_CASE("a later path may redefine what an earlier one declares", "[rule]") {
  const std::string folder = (std::filesystem::temp_directory_path() / "fusewright_rule_layers").string();
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/base.fuse") << "op f(x) = exp(x)\nrewrite r { match f(x) to x }\n";
  std::ofstream(folder + "/mine.fuse") << "op f(x) = log(x)\nrewrite r { match f(x) to -x }\n";
  const auto set = load_rules({folder + "/base.fuse", folder + "/mine.fuse"}, ops::OpTable::builtin());
  if (!set) FAIL(print_error(set.error()));
  CHECK(dump(*set, rewrite(*set, "recognise-f").variants[0]) == "log(x)");
  CHECK(ops::print_expr(*rewrite(*set, "r").variants[0].to[0]) == "-x");
  REQUIRE(set->findings.size() == 2);
  CHECK(set->findings[0].diagnostic.message.find("'f' replaces the one of") == 0);
  std::filesystem::remove_all(folder);
}

TEST_CASE("a composite operator in a segment stands for the operators of its body", "[rule]") {
  const RuleSet set = check(R"(
op softplus(x) = log1p(exp(x))
op mish(x) = x * tanh(softplus(x))
fuse f { match conv(x, w) |> mish(_) as act })");
  const auto& act = set.fuses[0].roots[0].segments[1];
  for (const char* op : {"mish", "mul", "tanh", "log1p", "exp"}) CHECK(act.ops.contains(set.table->find(op)));
  CHECK_FALSE(act.ops.contains(set.table->find("add")));
  CHECK(act.is_closure());
}

TEST_CASE("a normalisation over the last axes is recognised with its axis and epsilon", "[rule]") {
  const RuleSet set = check(R"(
op norm(x; axis = -1, epsilon = 1e-5) {
  let axes = range(axis, rank(x))
  let mean = reduce_sum(x, axes = axes) / size(x, axes)
  let d = x - mean along range(0, axis)
  to d * rsqrt(reduce_sum(d * d, axes = axes) / size(x, axes) + epsilon) along range(0, axis)
})");
  const auto& rule = rewrite(set, "recognise-norm");
  REQUIRE(rule.variants.size() == 1);
  CHECK(ops::print_expr(*rule.variants[0].to[0]) == "norm(x, axis = axis, epsilon = epsilon)");
  std::set<std::string> lets;
  for (const auto& step : rule.variants[0].steps) {
    if (step.kind == Step::Kind::kLet) lets.insert(step.name);
  }
  CHECK(lets == std::set<std::string>{"axis"});
}
