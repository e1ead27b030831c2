#include "fusewright/saturate/recording.hpp"

#include "fusewright/support/ids.hpp"

namespace fusewright::saturate {

using egraph::EClassId;
using ops::TermValue;
using Step = Recording::Step;

namespace {
constexpr std::size_t kMostRecordings = std::size_t{1} << 16;
}

void Recorder::begin(std::span<const EClassId> registers) {
  recording_ = {};
  recording_.registers = registers.size();
  values_.assign(registers.begin(), registers.end());
}

Step& Recorder::step(Step::Kind kind, std::span<const TermValue> operands) {
  Step& step = recording_.steps.emplace_back();
  step.kind = kind;
  step.first = static_cast<std::uint32_t>(recording_.operands.size());
  step.count = static_cast<std::uint32_t>(operands.size());
  for (const TermValue v : operands) recording_.operands.push_back(static_cast<std::uint32_t>(v.id));
  return step;
}

TermValue Recorder::given(EClassId term) {
  step(Step::Kind::kGiven, {}).term = term;
  values_.push_back(term);
  return {values_.size() - 1};
}

Result<std::vector<TermValue>> Recorder::apply(ops::OpId op, const std::vector<std::optional<TermValue>>& operands,
                                               const ops::Attrs& attrs, const Span& span) {
  // Operands left out at the end are not written, so that equal nodes have equal operand lists.
  std::size_t count = operands.size();
  while (count > 0 && !operands[count - 1]) --count;
  operands_.clear();
  types_.clear();
  for (std::size_t i = 0; i < count; ++i) {
    operands_.push_back(operands[i] ? term(*operands[i]) : egraph_.none());
    types_.push_back(egraph_.type_id(operands_.back()));
  }
  FW_TRY(const egraph::Inferred* inferred, builder_.infer(op, egraph_.intern(attrs), types_, span));
  Step& made = step(Step::Kind::kApply, {});
  made.op = op;
  made.inferred = inferred;
  made.count = static_cast<std::uint32_t>(count);
  for (std::size_t i = 0; i < count; ++i)
    recording_.operands.push_back(operands[i] ? static_cast<std::uint32_t>(operands[i]->id) : Recording::kLeftOut);
  builder_.add(op, operands_, *inferred, results_);
  std::vector<TermValue> values;
  for (const EClassId c : results_) {
    values.push_back({values_.size()});
    values_.push_back(c);
  }
  return values;
}

Result<ops::AttrValue> Recorder::query(const std::string& function, const std::vector<TermValue>& args,
                                       const Span& span) {
  std::vector<TermValue> terms;
  for (const TermValue v : args) terms.push_back(egraph::TermBuilder::pack(term(v)));
  Result<ops::AttrValue> answer = builder_.query(function, terms, span);
  step(Step::Kind::kQuery, args).question = static_cast<std::uint32_t>(recording_.questions.size());
  recording_.questions.push_back({function, answer ? std::optional(*answer) : std::nullopt});
  return answer;
}

Result<TermValue> Recorder::fold(TermValue value, const Span& span) {
  const Result<TermValue> folded = builder_.fold(egraph::TermBuilder::pack(term(value)), span);
  step(Step::Kind::kFold, std::span(&value, 1)).question = static_cast<std::uint32_t>(recording_.questions.size());
  recording_.questions.push_back({"fold", folded ? std::optional<ops::AttrValue>(true) : std::nullopt});
  if (!folded) return folded;
  return value;
}

bool Recorder::answers_alike(const Recording& recording, const Step& step) {
  const Recording::Question& question = recording.questions[step.question];
  std::vector<TermValue> terms;
  for (std::uint32_t i = 0; i < step.count; ++i)
    terms.push_back(egraph::TermBuilder::pack(values_[recording.operands[step.first + i]]));
  if (step.kind == Step::Kind::kFold) return builder_.fold(terms[0], {}).has_value() == question.answer.has_value();
  const Result<ops::AttrValue> answer = builder_.query(question.function, terms, {});
  return answer.has_value() == question.answer.has_value() && (!answer || ops::equal(*answer, *question.answer));
}

bool Recorder::play(const Recording& recording, std::span<const EClassId> registers) {
  values_.assign(registers.begin(), registers.end());
  values_.resize(recording.registers);
  for (const Step& step : recording.steps) {
    switch (step.kind) {
      case Step::Kind::kGiven: values_.push_back(step.term); break;
      case Step::Kind::kQuery:
      case Step::Kind::kFold:
        if (!answers_alike(recording, step)) return false;
        break;
      case Step::Kind::kApply:
        operands_.clear();
        for (std::uint32_t i = 0; i < step.count; ++i) {
          const std::uint32_t value = recording.operands[step.first + i];
          operands_.push_back(value == Recording::kLeftOut ? egraph_.none() : values_[value]);
        }
        builder_.add(step.op, operands_, *step.inferred, results_);
        values_.insert(values_.end(), results_.begin(), results_.end());
        break;
    }
  }
  return true;
}

std::size_t Recordings::Hash::operator()(const Key& key) const {
  std::uint64_t hash = key.size();
  for (const std::uint32_t word : key) hash = hash_mix(hash, word);
  return hash;
}

const Recording* Recordings::find(const Key& key) const {
  const auto at = known_.find(key);
  return at == known_.end() ? nullptr : &at->second;
}

void Recordings::keep(const Key& key, const Recording& recording) {
  if (known_.size() < kMostRecordings) known_.insert_or_assign(key, recording);
}

}  // namespace fusewright::saturate
