#include "src/rule/lint_trials.hpp"

#include <algorithm>

#include "src/rule/lint_forms.hpp"
#include "src/rule/make_expr.hpp"
#include "src/rule/type_builder.hpp"

namespace fusewright::rule {

namespace {

constexpr std::size_t kRounds = 6;  // more than there are axes that a round could take away

/// Names as tensors of one type. What is asked of the values is answered for any values: such may be constant, and are
/// not all zero or one.
class Sample final : public TypeBuilder {
 public:
  Sample(const ops::OpTable& table, const std::set<std::string>& names, const ops::Type& type)
      : TypeBuilder(table), table_(table) {
    for (const std::string& name : names) set(name, type);
  }

  void set(const std::string& name, const ops::Type& type) { env_[name] = add(type); }
  ops::Type of(const std::string& name) { return type(std::get<ops::TermValue>(env_.at(name))); }

  /// Nothing where it is not known.
  std::optional<bool> holds(const ExprPtr& condition) {
    if (!all_known(*condition) || asks_of_number(*condition)) return std::nullopt;
    asked_ = false;
    const auto value = ops::elaborate(table_, *condition, env_, *this);
    if (asked_) return std::nullopt;
    const auto* attr = value ? std::get_if<ops::AttrValue>(&*value) : nullptr;
    const bool* truth = attr == nullptr ? nullptr : std::get_if<bool>(attr);
    return truth != nullptr && *truth;  // what cannot be worked out does not hold
  }

  std::optional<ops::Type> type_of(const Term& term) {
    const ExprPtr expr = expr_of(table_, term);
    if (!all_known(*expr)) return std::nullopt;
    const auto value = ops::elaborate(table_, *expr, env_, *this);
    const auto* tensor = value ? std::get_if<ops::TermValue>(&*value) : nullptr;
    return tensor == nullptr ? std::nullopt : std::optional(type(*tensor));
  }

  Result<ops::AttrValue> query(const std::string& function, const std::vector<ops::TermValue>& args,
                               const Span& span) override {
    const bool given = std::ranges::all_of(args, [&](const ops::TermValue& arg) {
      return std::ranges::any_of(env_, [&](const auto& entry) {
        const auto* tensor = std::get_if<ops::TermValue>(&entry.second);
        return tensor != nullptr && *tensor == arg;
      });
    });
    if (given && function == "constant") return ops::AttrValue(true);
    if (given && is_one_of(function, {"is_zero", "is_one", "splat"})) return ops::AttrValue(false);
    asked_ = true;
    return TypeBuilder::query(function, args, span);
  }

 private:
  /// `is_float(1)`: a number has the type of what stands beside it.
  static bool asks_of_number(const ops::Expr& expr) {
    using Kind = ops::Expr::Kind;
    const bool number = !expr.args.empty() && expr.args[0] != nullptr &&
                        (expr.args[0]->kind == Kind::kInt || expr.args[0]->kind == Kind::kFloat);
    static const std::set<std::string> kAsk = {
        "rank", "shape", "dim", "size", "dtype", "bits", "is_float", "is_integer", "broadcast_shape", "broadcasts_to"};
    if (expr.kind == Kind::kCall && number && kAsk.contains(expr.text)) return true;
    return std::ranges::any_of(expr.args, [](const auto& arg) { return arg != nullptr && asks_of_number(*arg); });
  }
  bool all_known(const ops::Expr& expr) const {
    std::set<std::string> names;
    collect_names(expr, names);
    return std::ranges::all_of(names, [&](const std::string& name) {
      return env_.contains(name) || ops::dtype_from_name(name).has_value() ||
             is_one_of(name, {"inf", "nan", "pi", "e"});
    });
  }

  const ops::OpTable& table_;
  ops::Env env_;
  bool asked_ = false;  ///< what is not answered
};

void collect_integers(const ops::Expr& expr, std::set<std::int64_t>& out) {
  if (expr.kind == ops::Expr::Kind::kInt && expr.integer > 0 && expr.integer < 100) out.insert(expr.integer);
  for (const auto& arg : expr.args)
    if (arg != nullptr) collect_integers(*arg, out);
}

/// Types that are tried: extents that differ, and those that conditions name.
std::vector<ops::Type> types_for(const std::vector<ExprPtr>& conditions) {
  std::vector<ops::Shape> shapes = {
      {}, {Dim(6)}, {Dim(2), Dim(3)}, {Dim(2), Dim(3), Dim(4)}, {Dim(2), Dim(3), Dim(4), Dim(5)}};
  std::set<std::int64_t> numbers;
  for (const ExprPtr& condition : conditions) collect_integers(*condition, numbers);
  for (const std::int64_t number : numbers)
    for (std::size_t rank = 1; rank <= 3; ++rank) shapes.emplace_back(rank, Dim(number));
  std::vector<ops::Type> types;
  for (const ops::DType dtype : {ops::DType::kF32, ops::DType::kF16, ops::DType::kS32, ops::DType::kPred})
    for (const ops::Shape& shape : shapes) types.push_back(ops::Type::tensor(dtype, shape));
  return types;
}

std::set<std::string> variables_in(const Term& term) {
  if (term.kind == Term::Kind::kVariable) return {term.text};
  std::set<std::string> names;
  for (const Term& arg : term.args) names.merge(variables_in(arg));
  return names;
}

/// Whether only movements stand between a term and a name in it: then it is something new by its shape alone, for what
/// moves elements moves them back at some time.
bool only_moves(const ops::OpTable& table, const Term& term) {
  if (term.kind == Term::Kind::kOpaque && !is_one_of(term.function, {"unsqueeze", "squeeze", "broadcast_to"}))
    return term.args.empty();
  return std::ranges::all_of(term.ops, [&](OpId op) { return table[op].op_class == ops::OpClass::kMovement; }) &&
         std::ranges::all_of(term.args, [&](const Term& arg) { return only_moves(table, arg); });
}

}  // namespace

std::optional<bool> Trials::goes_on(const Round& round, const std::string& name, const Reduce& reduce) const {
  std::set<std::string> names;
  for (const auto& [own, value] : round.values) {
    names.insert(own);
    names.merge(variables_in(value));
  }
  const Term& grown = round.values.at(name);
  const bool moves = only_moves(table_, grown);
  bool tried = false;
  for (const ops::Type& type : types_for(round.conditions)) {
    Sample sample(table_, names, type);
    const auto holds = [&](const ExprPtr& condition) { return sample.holds(condition).value_or(false); };
    const auto may_hold = [&](const ExprPtr& condition) { return sample.holds(condition).value_or(true); };
    std::vector<ops::Type> seen = {type};
    bool on = true;
    for (std::size_t i = 0; i < kRounds && on; ++i) {
      std::map<std::string, ops::Type> next;
      for (const auto& [own, value] : round.values)
        if (const auto made = sample.type_of(value)) next.emplace(own, *made);
      on = next.size() == round.values.size();
      tried = tried || on;
      on = on && std::ranges::all_of(round.conditions, holds) &&
           reduce(grown, may_hold).kind != Term::Kind::kVariable &&
           !(moves && std::ranges::find(seen, next.at(name)) != seen.end());
      for (const auto& [own, made] : next) sample.set(own, made);
      if (on) seen.push_back(next.at(name));
    }
    if (on) return true;
  }
  return tried ? std::optional(false) : std::nullopt;
}

bool Trials::may_hold(const std::vector<ExprPtr>& conditions, std::size_t first) const {
  std::set<std::string> names;
  for (const ExprPtr& condition : conditions) collect_names(*condition, names);
  std::erase_if(names, [](const std::string& name) { return ops::dtype_from_name(name).has_value(); });
  bool tried = false;
  for (const ops::Type& type : types_for(conditions)) {
    Sample sample(table_, names, type);
    const auto holds = [&](const ExprPtr& condition) { return sample.holds(condition).value_or(true); };
    if (!std::all_of(conditions.begin(), conditions.begin() + static_cast<std::ptrdiff_t>(first), holds)) continue;
    tried = true;
    if (std::ranges::all_of(conditions, holds)) return true;
  }
  return !tried;
}

}  // namespace fusewright::rule
