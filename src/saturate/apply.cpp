#include "fusewright/saturate/apply.hpp"

#include <algorithm>
#include <memory>
#include <set>

#include "fusewright/support/check.hpp"

namespace fusewright::saturate {

using egraph::Decoded;
using egraph::EClassId;
using egraph::MatchWord;
using egraph::Reason;
using ops::EnvValue;
using ops::Expr;

namespace {

/// Names of which an expression wants attributes: `c.groups`, `..c`. Recursion as deep as the rule's text.
void attribute_owners(const Expr& expr, std::set<std::string>& names) {
  if (expr.kind == Expr::Kind::kResult && expr.args[0]->kind == Expr::Kind::kName) names.insert(expr.args[0]->text);
  for (const ops::ExprPtr& arg : expr.args) {
    if (arg != nullptr) attribute_owners(*arg, names);
  }
  for (const auto& [name, value] : expr.named) {
    if (name == "..")
      names.insert(value->text);
    else
      attribute_owners(*value, names);
  }
}

/// What root `i` of a pattern stands for.
EClassId root_of(const match::PatternInfo& pattern, const Decoded& match, std::size_t i) {
  return i == 0 ? match.root : match.registers[pattern.roots[i].first_register];
}

std::optional<bool> truth(const EnvValue& value) {
  const auto* attr = std::get_if<ops::AttrValue>(&value);
  if (attr == nullptr) return std::nullopt;
  if (const auto* flag = std::get_if<bool>(attr)) return *flag;
  if (const auto* number = std::get_if<std::int64_t>(attr); number != nullptr && (*number == 0 || *number == 1)) {
    return *number == 1;
  }
  return std::nullopt;
}

}  // namespace

Applier::Applier(EGraph& egraph, const std::vector<rule::RewriteRule>& rewrites, const match::Program& program)
    : egraph_(egraph),
      rewrites_(rewrites),
      program_(program),
      builder_(egraph),
      runner_(egraph, builder_),
      recorder_(egraph, builder_) {}

void Applier::prepare(PatternId id) {
  if (prepared_.size() < program_.patterns.size()) prepared_.resize(program_.patterns.size());
  Prepared& prepared = prepared_[id.index];
  if (prepared.ready) return;
  prepared.ready = true;
  const match::PatternInfo& pattern = program_.patterns[id.index];
  const rule::RewriteRule& rule = rewrites_[pattern.rule.index];
  const rule::RewriteVariant& variant = rule.variants[pattern.variant];
  std::set<std::string> owners;
  for (std::uint32_t i = 0; i < variant.steps.size(); ++i) {
    const rule::Step& step = variant.steps[i];
    const Expr& expr = step.kind == rule::Step::Kind::kGuard ? *rule.guards[step.guard].expr : *step.value;
    attribute_owners(expr, owners);
    if (step.kind != rule::Step::Kind::kGuard) continue;
    if (auto quick = compile_guard(pattern, expr)) {
      quick->guard = step.guard;
      prepared.quick.push_back(i);
      prepared.guards.push_back(*std::move(quick));
    }
  }
  if (variant.to.size() == 1) prepared.rhs = compile_rhs(egraph_, pattern, *variant.to[0]);
  for (const ops::ExprPtr& to : variant.to) attribute_owners(*to, owners);
  prepared.needs_env = prepared.quick.size() != variant.steps.size();
  for (std::uint16_t i = 0; i < pattern.named_nodes.size(); ++i) {
    if (owners.contains(pattern.named_nodes[i].first)) prepared.attr_nodes.push_back(i);
  }
}

ops::Env Applier::environment(PatternId id, const Decoded& match) const {
  const match::PatternInfo& pattern = program_.patterns[id.index];
  ops::Env env;
  for (const match::Binding& binding : pattern.bindings) {
    EnvValue value;
    switch (binding.kind) {
      case match::Binding::Kind::kNothing: break;
      case match::Binding::Kind::kValue:
        if (match.registers[binding.index] != egraph_.none()) {
          value = ops::TermValue{binding.index};
        }
        break;
      case match::Binding::Kind::kAttr:
        if (const auto* attr = egraph_.attrs(match.nodes[binding.index]).find(binding.attr)) value = *attr;
        break;
      case match::Binding::Kind::kNumber: {
        const egraph::Splat& splat = egraph_.facts().splat_of(egraph_.fact(match.registers[binding.index]));
        value = ops::is_float(splat.dtype) ? ops::AttrValue(splat.number) : ops::AttrValue(splat.integer);
        break;
      }
    }
    env.emplace(binding.name, std::move(value));
  }
  for (const std::uint16_t i : prepared_[id.index].attr_nodes) {
    const auto& [name, node] = pattern.named_nodes[i];
    for (const auto& [attr, value] : egraph_.attrs(match.nodes[node]).entries()) env.emplace(name + "." + attr, value);
  }
  return env;
}

/// All that expressions can see of a match but through questions to the e-graph.
void Applier::set_key(PatternId id, const Decoded& match) {
  const match::PatternInfo& pattern = program_.patterns[id.index];
  key_.assign({id.index, match.peeled ? 1U : 0U, egraph_.type_id(match.root).index});
  for (std::size_t i = 1; i < pattern.roots.size(); ++i)
    key_.push_back(egraph_.type_id(root_of(pattern, match, i)).index);
  for (const match::Binding& binding : pattern.bindings) {
    switch (binding.kind) {
      case match::Binding::Kind::kNothing: break;
      case match::Binding::Kind::kValue:
      case match::Binding::Kind::kNumber: {
        const EClassId c = match.registers[binding.index];
        key_.push_back(egraph_.type_id(c).index);
        key_.push_back(egraph_.fact(c).word);
        break;
      }
      case match::Binding::Kind::kAttr: key_.push_back(egraph_[match.nodes[binding.index]].attrs.index); break;
    }
  }
  for (const std::uint16_t i : prepared_[id.index].attr_nodes)
    key_.push_back(egraph_[match.nodes[pattern.named_nodes[i].second]].attrs.index);
}

Outcome Applier::failed(Error error) {
  error_ = std::make_shared<const Error>(std::move(error));
  return {Outcome::Kind::kError};
}

void Applier::read_ahead(PatternId pattern, std::span<const MatchWord> records, std::size_t count) {
  prepare(pattern);
  const std::size_t words = program_.patterns[pattern.index].words;
  for (const MatchWord word : records.first(words * count)) {
    if (!word.none()) egraph_.prefetch(word.node());
  }
  for (const MatchWord word : records.first(words * count)) {
    if (!word.none()) egraph_.prefetch_operands(word.node());
  }
  const Prepared& prepared = prepared_[pattern.index];
  std::array<RhsRunner::Places, kBatch> places = {};
  const bool foreseen = prepared.rhs && !prepared.needs_env;
  for (std::size_t k = 0; k < count; ++k) {
    egraph::decode(egraph_, program_, pattern, records.subspan(k * words, words), false, batch_[k]);
    egraph_.prefetch_class(batch_[k].root);
    if (foreseen) runner_.prefetch(*prepared.rhs, batch_[k], places[k]);
  }
  for (std::size_t k = 0; foreseen && k < count; ++k) runner_.prefetch(*prepared.rhs, batch_[k], places[k]);
}

namespace {

bool recognises(const rule::RewriteRule& rule) { return rule.origin == rule::RewriteRule::Origin::kRecognise; }

}  // namespace

Outcome Applier::apply(PatternId pattern, std::span<const MatchWord> record) {
  egraph::decode(egraph_, program_, pattern, record, false, decoded_);
  return apply(pattern, record, decoded_);
}

Outcome Applier::apply(PatternId pattern, std::span<const MatchWord> record, const Decoded& match) {
  prepare(pattern);
  application_ = egraph_.begin_application(pattern, record);
  Outcome outcome = run(pattern, match);
  const bool changed = egraph_.end_application();
  if (outcome.kind == Outcome::Kind::kUnchanged && changed) outcome.kind = Outcome::Kind::kChanged;
  // A term of a body's form is the operator only where that takes these operands and gives a value of the term's type.
  const bool refused =
      outcome.kind == Outcome::Kind::kError && recognises(rewrites_[program_.patterns[pattern.index].rule.index]);
  return refused ? Outcome{} : outcome;
}

Outcome Applier::run(PatternId id, const Decoded& match) {
  Prepared& prepared = prepared_[id.index];
  for (const QuickGuard& guard : prepared.guards) {
    for (const std::uint16_t reg : guard.registers) egraph_.note(match.registers[reg]);
    if (!holds(egraph_, guard, match)) return {Outcome::Kind::kGuard, guard.guard};
  }
  const match::PatternInfo& pattern = program_.patterns[id.index];
  const rule::RewriteRule& rule = rewrites_[pattern.rule.index];
  const rule::RewriteVariant& variant = rule.variants[pattern.variant];
  if (!prepared.needs_env && prepared.rhs) {
    const auto term = runner_.run(*prepared.rhs, match);
    const bool fits = term && egraph_.type_id(*term) == egraph_.type_id(match.root);
    if (fits) return unite(rule, match.root, *term, variant.to[0]->span);
  }

  set_key(id, match);
  const Recording* known = recordings_.find(key_);
  if (known == nullptr || !recorder_.play(*known, match.registers)) {
    recorder_.begin(match.registers);
    evaluate(id, match);
    known = &recorder_.recording();
    recordings_.keep(key_, *known);
  }
  switch (known->end) {
    case Recording::End::kGuard: return {Outcome::Kind::kGuard, known->guard};
    case Recording::End::kError: error_ = known->error; return {Outcome::Kind::kError};
    case Recording::End::kMade: break;
  }
  Outcome outcome;
  for (std::size_t i = 0; i < known->made.size() && outcome.kind != Outcome::Kind::kError; ++i) {
    outcome = unite(rule, root_of(pattern, match, i), recorder_.term({known->made[i]}), variant.to[i]->span);
  }
  return outcome;
}

/// Guards, `let`s and right-hand sides by their text, on record.
void Applier::evaluate(PatternId id, const Decoded& match) {
  const match::PatternInfo& pattern = program_.patterns[id.index];
  const rule::RewriteRule& rule = rewrites_[pattern.rule.index];
  const rule::RewriteVariant& variant = rule.variants[pattern.variant];
  Recording& recording = recorder_.recording();
  const auto fails = [&](Error error) {
    recording.end = Recording::End::kError;
    recording.error = std::make_shared<const Error>(std::move(error));
  };
  ops::Env env = environment(id, match);
  const Result<std::optional<std::uint32_t>> refused = take_steps(prepared_[id.index], rule, variant, env);
  if (!refused) return fails(refused.error());
  if (*refused) {
    recording.end = Recording::End::kGuard;
    recording.guard = **refused;
    return;
  }
  // All values before the first union: what one root becomes must not depend on another's.
  for (std::size_t i = 0; i < variant.to.size(); ++i) {
    const Expr& to = *variant.to[i];
    Result<EnvValue> value = ops::elaborate(egraph_.table(), to, env, recorder_);
    if (!value) return fails(std::move(value).error());
    Result<ops::TermValue> result =
        as_tensor(*value, root_of(pattern, match, i), match.peeled && !recognises(rule), to.span);
    if (!result) return fails(std::move(result).error());
    recording.made.push_back(static_cast<std::uint32_t>(result->id));
  }
}

/// Guards and `let`s that need an environment. @returns the guard that does not hold, or that extents without a number
/// leave open, if any.
Result<std::optional<std::uint32_t>> Applier::take_steps(const Prepared& prepared, const rule::RewriteRule& rule,
                                                         const rule::RewriteVariant& variant, ops::Env& env) {
  for (std::uint32_t i = 0; i < variant.steps.size(); ++i) {
    if (std::ranges::find(prepared.quick, i) != prepared.quick.end()) continue;
    const rule::Step& step = variant.steps[i];
    const bool guards = step.kind == rule::Step::Kind::kGuard;
    const Expr& expr = guards ? *rule.guards[step.guard].expr : *step.value;
    Result<EnvValue> evaluated = ops::elaborate(egraph_.table(), expr, env, recorder_);
    if (!evaluated && guards && evaluated.error().kind == ErrorKind::kUnsupported) return std::optional(step.guard);
    FW_TRY(EnvValue value, std::move(evaluated));
    if (!guards) {
      env.insert_or_assign(step.name, std::move(value));
      continue;
    }
    const auto holds = truth(value);
    if (!holds) return fail("the guard '" + rule.guards[step.guard].text + "' is neither true nor false", expr.span);
    if (!*holds) return std::optional(step.guard);
  }
  return std::optional<std::uint32_t>();
}

/// A number stands for a constant of the root's type; where a pattern looked through a broadcast, a tensor for its own.
Result<ops::TermValue> Applier::as_tensor(const EnvValue& value, EClassId root, bool peeled, const Span& span) {
  const ops::Type wanted = egraph_.type(root);
  if (!std::holds_alternative<ops::TermValue>(value)) {
    const auto* attr = std::get_if<ops::AttrValue>(&value);
    if (attr == nullptr) return fail("the right-hand side stands for nothing", span);
    const auto number = runner_.number_term(*attr, egraph_.type_id(root));
    if (!number) return fail(ops::to_string(*attr) + " is no " + ops::to_string(wanted), span);
    return recorder_.given(*number);
  }
  const auto term = std::get<ops::TermValue>(value);
  const ops::Type& type = recorder_.type(term);
  if (peeled && type.is_tensor() && wanted.is_tensor() && type.dtype == wanted.dtype && type.shape != wanted.shape)
    return ops::align_to(egraph_.table(), term, wanted.shape, recorder_);
  return term;
}

/// Who first made the constant of this class known.
std::string Applier::maker(EClassId c) const {
  const egraph::ApplicationId by = egraph_.records() ? egraph_.made_by(egraph_.witness(c)) : egraph::ApplicationId();
  if (!by.valid()) return "the model";
  if (by == application_) return "this rewrite";
  return "rewrite '" + rewrites_[program_.patterns[egraph_[by].pattern.index].rule.index].name + "'";
}

Outcome Applier::unite(const rule::RewriteRule& rule, EClassId root, EClassId result, const Span& span) {
  if (egraph_.type_id(root) != egraph_.type_id(result)) {
    return failed(fail("rewrite '" + rule.name + "' makes " + ops::to_string(egraph_.type(result)) + " of " +
                           ops::to_string(egraph_.type(root)),
                       span)
                      .error());
  }
  const auto reason = application_.valid() ? Reason{Reason::Kind::kApplication, application_} : Reason{};
  if (egraph_.unite(root, result, reason) == EGraph::Union::kRefused) {
    auto failure = fail("rewrite '" + rule.name + "' makes two different constants equal", span);
    failure.error().diagnostics[0].notes = {{{}, "the value on the left was made by " + maker(root)},
                                            {{}, "the value on the right was made by " + maker(result)}};
    return failed(std::move(failure).error());
  }
  return {Outcome::Kind::kUnchanged};
}

egraph::ApplyMatch replayer(const std::vector<rule::RewriteRule>& rewrites, const match::Program& program) {
  struct State {
    const EGraph* egraph = nullptr;
    std::unique_ptr<Applier> applier;
  };
  return [&rewrites, &program, state = std::make_shared<State>()](EGraph& egraph, PatternId pattern,
                                                                  const Decoded& match) {
    if (state->egraph != &egraph || egraph.application_count() == 0) {
      state->egraph = &egraph;
      state->applier = std::make_unique<Applier>(egraph, rewrites, program);
    }
    const Outcome outcome = state->applier->apply(pattern, {}, match);
    return outcome.kind == Outcome::Kind::kChanged || outcome.kind == Outcome::Kind::kUnchanged;
  };
}

}  // namespace fusewright::saturate
