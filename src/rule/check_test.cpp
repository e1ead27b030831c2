#include "fusewright/rule/check.hpp"
#include "src/rule/checker.hpp"
#include "src/rule/make_expr.hpp"
#include "src/rule/type_builder.hpp"

namespace fusewright::rule {

namespace {

/// Also keeps the types of what is written, by its place.
class ExampleBuilder final : public TypeBuilder {
 public:
  using TypeBuilder::TypeBuilder;

  Result<std::vector<ops::TermValue>> apply(OpId op, const std::vector<std::optional<ops::TermValue>>& operands,
                                            const ops::Attrs& attrs, const Span& span) override {
    FW_TRY(const std::vector<ops::TermValue> values, TypeBuilder::apply(op, operands, attrs, span));
    std::vector<ops::Type>& results = results_[{span.begin, span.end}];
    results.clear();  // what is applied last there is what is written, behind the broadcasts it needs
    for (const ops::TermValue value : values) results.push_back(type(value));
    return values;
  }

  const decltype(ExampleTypes::results)& results() const { return results_; }

 private:
  decltype(ExampleTypes::results) results_;
};

std::string without_blanks(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c != ' ' && c != '\t' && c != '\n' && c != '\r') out += c;
  }
  return out;
}

class TestChecker {
 public:
  TestChecker(const ast::TestDecl& decl, const RuleContext& context, TestCase& test)
      : decl_(decl), c_(context), test_(test) {}

  void run() {
    for (const auto& input : decl_.inputs) {
      bind(input.name, "an input", kTensors);
      test_.inputs.push_back({input.name.text, input.type, input.constant, input.name.span});
    }
    for (const auto& input : decl_.inputs) bind_extents(input);
    const std::size_t errors = c_.reports.error_count();
    ExprContext context{c_.table, c_.reports, ExprPlace::kTest, scope_, {}, {}, false, {}};
    for (const auto& let : decl_.lets) {
      test_.lets.emplace_back(let.name.text, lower_expr(let.value, context));
      bind(let.name, "a value", context.kinds);
    }
    for (const auto& expr : decl_.outputs)
      test_.outputs.push_back(lower_expr(expr, context, kTensors, "what an example tries"));
    for (const auto& expr : decl_.expected)
      test_.expected.push_back(lower_expr(expr, context, kTensors, "what an example expects"));
    if (test_.outputs.empty()) c_.reports.error(decl_.span, "the example has no 'match' with the term to try");
    if (!test_.expected.empty() && test_.expected.size() != test_.outputs.size()) {
      c_.reports.error(decl_.span, "'match' and 'to' of an example must be equally many");
    }
    for (const auto& input : decl_.inputs) {
      if (!context.used.contains(input.name.text)) {
        c_.reports.warning("unused-name", input.name.span, "the input '" + input.name.text + "' is never used");
      }
    }
    if (c_.reports.error_count() == errors) check_types();
  }

 private:
  void bind(const ast::Name& name, const std::string& what, KindSet kinds) {
    const auto [at, fresh] =
        scope_.try_emplace(name.text, Binding{Binding::Kind::kTensor, name.span, {}, false, false, kinds});
    if (!fresh) {
      c_.reports.error(name.span, what + " '" + name.text + "' has a name that is taken", {},
                       {{at->second.span, "it is taken here"}});
    }
  }

  /// A name of an extent, where no input has it, stands for the extent of the first input that has it.
  void bind_extents(const ast::TestDecl::Input& input) {
    for (std::size_t axis = 0; axis < input.type.shape.size(); ++axis) {
      const Dim& dim = input.type.shape[axis];
      if (dim.is_constant()) continue;
      ops::Expr number = leaf(ops::Expr::Kind::kInt, input.name.span),
                at = leaf(ops::Expr::Kind::kList, input.name.span),
                extent = leaf(ops::Expr::Kind::kCall, input.name.span, "permute");
      number.integer = static_cast<std::int64_t>(axis);
      at.args = {share(std::move(number))};
      extent.args = {named(input.name.text, input.name.span), share(std::move(at))};
      scope_.try_emplace(
          dim.to_string(),
          Binding{Binding::Kind::kAttr, input.name.span, {}, false, true, kNumbers, share(std::move(extent))});
    }
  }

  void check_types() {
    ExampleBuilder builder(c_.table);
    ops::Env env;
    for (const auto& input : test_.inputs) env[input.name] = builder.add(input.type);
    auto values = elaborate_test(c_.table, test_, env, builder);
    if (!values) {
      for (const auto& d : values.error().diagnostics) {
        c_.reports.error(d.span.valid() ? d.span : decl_.span, d.message, d.suggestion, d.notes);
      }
      return;
    }
    const std::size_t count = test_.outputs.size();
    for (std::size_t i = 0; i < test_.expected.size(); ++i) {
      const ops::Type& is = builder.type((*values)[i]);
      const ops::Type& expected = builder.type((*values)[count + i]);
      if (is == expected) continue;
      c_.reports.error(test_.expected[i]->span,
                       "the example's term is " + ops::to_string(is) + ", this is " + ops::to_string(expected));
    }
  }

  const ast::TestDecl& decl_;
  const RuleContext& c_;
  TestCase& test_;
  Scope scope_;
};

}  // namespace

Result<std::vector<ops::TermValue>> elaborate_test(const ops::OpTable& table, const TestCase& test,
                                                   const ops::Env& inputs, ops::TermBuilder& builder) {
  ops::Env env = inputs;
  for (const auto& [name, value] : test.lets) {
    FW_TRY(env[name], ops::elaborate(table, *value, env, builder));
  }
  std::vector<ops::TermValue> out;
  for (const auto* exprs : {&test.outputs, &test.expected}) {
    for (const auto& expr : *exprs) {
      FW_TRY(const ops::EnvValue value, ops::elaborate(table, *expr, env, builder));
      if (!std::holds_alternative<ops::TermValue>(value)) return fail("this is no tensor", expr->span);
      out.push_back(std::get<ops::TermValue>(value));
    }
  }
  return out;
}

ExampleTypes example_types(const ops::OpTable& table, const TestCase& test) {
  ExampleTypes out;
  ExampleBuilder builder(table);
  ops::Env env;
  for (const auto& input : test.inputs) {
    env[input.name] = builder.add(input.type);
    out.names[input.name] = input.type;
  }
  const auto value = [&](const ExprPtr& expr) { return ops::elaborate(table, *expr, env, builder); };
  for (const auto& [name, expr] : test.lets) {
    const auto known = value(expr);
    if (!known) break;
    env[name] = *known;
    if (const auto* tensor = std::get_if<ops::TermValue>(&*known)) out.names[name] = builder.type(*tensor);
  }
  for (const auto* exprs : {&test.outputs, &test.expected})
    for (const auto& expr : *exprs) (void)value(expr);
  out.results = builder.results();
  return out;
}

namespace {

/// What an example of this kind, of a rule of this kind, does not say.
void check_clauses(const ast::RuleDecl& rule, const ast::TestDecl& test, Reports& reports) {
  if (test.reject && !test.expected.empty())
    reports.error(test.expected[0]->span, "a reject shows what the rule leaves alone, so it has no 'to'");
  if (!test.kernels) return;
  if (!rule.fuse)
    reports.error(test.span, "only an example of a fuse rule has 'kernels'");
  else if (test.reject)
    reports.error(test.span, "a reject shows what the rule makes no kernel of, so it has no 'kernels'");
  else if (*test.kernels < 1)
    reports.error(test.span, "a test shows a kernel of the rule, so there is one at least");
}

}  // namespace

std::vector<TestCase> check_tests(const ast::RuleDecl& decl, const std::vector<Guard>& guards,
                                  const RuleContext& context) {
  std::vector<TestCase> out;
  std::map<std::string, Span> names;
  for (const auto& test : decl.tests) {
    TestCase result;
    result.rule = decl.name.text;
    result.name = test.name.text.empty() ? decl.name.text + "/" + std::to_string(out.size() + 1) : test.name.text;
    result.span = test.span;
    result.extent = test.extent;
    result.reject = test.reject;
    result.kernels = test.kernels;
    if (const auto [other, fresh] = names.emplace(result.name, test.name.span); !fresh) {
      context.reports.error(test.name.span, "two examples of this rule are called '" + result.name + "'", {},
                            {{other->second, "the other one is here"}});
    }
    TestChecker(test, context, result).run();
    check_clauses(decl, test, context.reports);
    if (test.because != nullptr) {
      const std::string wanted = without_blanks(make_guard(test.because, test.because->span).text);
      for (std::uint32_t i = 0; i < guards.size() && !result.because; ++i) {
        if (without_blanks(guards[i].text) == wanted) result.because = i;
      }
      std::string known;
      for (const auto& guard : guards) known += (known.empty() ? "" : "; ") + guard.text;
      if (!test.reject) {
        context.reports.error(test.because->span, "only a reject has a reason");
      } else if (!result.because) {
        context.reports.error(test.because->span, "the rule has no such guard",
                              known.empty() ? "it has none at all" : "its guards are: " + known);
      }
    }
    out.push_back(std::move(result));
  }
  return out;
}

}  // namespace fusewright::rule
