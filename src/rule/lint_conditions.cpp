#include "src/rule/lint_conditions.hpp"

#include <algorithm>
#include <cmath>

namespace fusewright::rule {

using ops::Expr;
using Kind = Expr::Kind;

namespace {

constexpr std::size_t kMostRounds = 6;     // in which what was learned is put into what was said
constexpr std::size_t kMostSplits = 64;    // of cases that are told apart
constexpr std::size_t kMostSaid = 200;     // conditions, those that follow included; others are not looked at
constexpr std::size_t kMostWork = 20'000;  // statements that are gone through; then nothing more follows
constexpr std::size_t kLongest = 16;       // of lists whose elements are looked at one by one
constexpr std::size_t kMostCases = 64;     // of lists that something is looked for in

std::optional<DTypeSet> dtype_constant(const Expr& expr) {
  const auto dtype = expr.kind == Kind::kName ? ops::dtype_from_name(expr.text) : std::nullopt;
  if (!dtype) return std::nullopt;
  return DTypeSet().set(static_cast<std::size_t>(*dtype));
}

bool holds_between(double a, const std::string& op, double b) {
  if (op == "==") return a == b;
  if (op == "!=") return a != b;
  if (op == "<") return a < b;
  if (op == "<=") return a <= b;
  return op == ">" ? a > b : a >= b;
}

/// The comparison that holds where `op` does not, and the one with its sides changed.
std::string opposite(const std::string& op) {
  if (op == "==") return "!=";
  if (op == "!=") return "==";
  if (op == "<") return ">=";
  if (op == ">=") return "<";
  return op == ">" ? "<=" : ">";
}
std::string turned(const std::string& op) {
  if (op == "<" || op == "<=") return op == "<" ? ">" : ">=";
  if (op == ">" || op == ">=") return op == ">" ? "<" : "<=";
  return op;
}

/// Texts, truths, lists of whole numbers: two of them are equal only if they are written alike.
bool is_constant(const Expr& expr) {
  if (expr.kind == Kind::kString || expr.kind == Kind::kBool) return true;
  return expr.kind == Kind::kList && std::ranges::all_of(expr.args, [](const ExprPtr& item) {
           return item->kind == Kind::kInt || item->kind == Kind::kString;
         });
}

bool is_list_of_one(const Expr& expr) { return expr.kind == Kind::kList && expr.args.size() == 1; }

}  // namespace

Conditions::Conditions(const Facts& facts) : facts_(facts), work_left_(std::make_shared<std::size_t>(kMostWork)) {
  for (const auto& [key, set] : facts.dtypes) {
    const auto [at, fresh] = dtypes_.emplace(key, set);
    if (!fresh) at->second &= set;
  }
  for (const auto& [key, range] : facts.numbers) {
    numbers_.add(key, {}, {range.high});
    numbers_.add({}, key, {-range.low});
  }
  for (const Relation& relation : facts.relations) numbers_.add(relation.a, relation.b, {relation.most});
}

// --- Statements --------------------------------------------------------------------------------------------

bool Conditions::add(const Expr& expr, bool holds) { return state(expr, holds) && settle(); }

namespace {

/// Parts of an expression that some operands have no answer to, by their texts.
void collect_partial(const Expr& expr, std::set<std::string>& out) {
  static const std::set<std::string> kTotal = {"rank",     "shape", "dtype", "bits",    "is_float", "is_integer",
                                               "constant", "same",  "splat", "is_zero", "is_one",   "present",
                                               "len",      "min",   "max",   "abs",     "size"};
  const bool total = expr.kind == Kind::kCall     ? kTotal.contains(expr.text)
                     : expr.kind == Kind::kBinary ? !is_one_of(expr.text, {"/", "//", "%", "**"})
                                                  : expr.kind != Kind::kIndex && expr.kind != Kind::kConditional;
  if (!total) out.insert(text_of(expr));
  for (const auto& arg : expr.args)
    if (arg != nullptr) collect_partial(*arg, out);
}

}  // namespace

bool Conditions::implies(const Expr& expr) const {
  std::set<std::string> asked, answered;
  collect_partial(*plain(expr, facts_, {}), asked);
  for (const auto& [statement, holds] : statements_) collect_partial(*plain(*statement, facts_, {}), answered);
  if (!std::ranges::includes(answered, asked)) return false;
  Conditions other = *this;
  other.work_left_ = std::make_shared<std::size_t>(kMostWork);
  return !other.add(expr, false);
}

/// Takes down what a condition says by itself; what follows from it and others is left to `settle`.
bool Conditions::state(const Expr& written, bool holds) {
  if (statements_.size() >= kMostSaid) return true;
  if (written.kind == Kind::kUnary && written.text == "not") return state(*written.args[0], !holds);
  if (written.kind == Kind::kBinary && (written.text == "and" || written.text == "or")) {
    std::vector<Statement> parts = {{written.args[0], holds}, {written.args[1], holds}};
    return (written.text == "and") == holds ? state_all(std::move(parts)) : either(std::move(parts));
  }
  const ExprPtr shared = plain(written, facts_, known_);
  const Expr& expr = *shared;
  if (expr.kind == Kind::kBool) return (expr.integer != 0) == holds;
  // The same condition, word for word, must not be stated both ways.
  const auto [stated, fresh] = stated_.emplace(text_of(expr), holds);
  if (!fresh) return stated->second == holds;
  statements_.emplace_back(shared, holds);
  if (expr.kind == Kind::kCall) return predicate(expr, holds);
  if (expr.kind != Kind::kBinary) return true;
  if (expr.text == "in" || expr.text == "not in")
    return membership(expr.args[0], expr.args[1], holds == (expr.text == "in"));
  if (!is_one_of(expr.text, {"==", "!=", "<", "<=", ">", ">="})) return true;
  const std::string op = holds ? expr.text : opposite(expr.text);
  if (op == "==") equal_elements(expr.args[0], expr.args[1]);
  return comparison(op, *expr.args[0], *expr.args[1]);
}

bool Conditions::state_all(std::vector<Statement> statements) {
  return std::ranges::all_of(statements, [&](const Statement& s) { return state(*s.first, s.second); });
}

bool Conditions::either(std::vector<Statement> alternatives) {
  choices_.push_back(std::move(alternatives));
  return true;
}

/// States what follows until nothing new does.
bool Conditions::propagate() {
  const std::size_t work = statements_.size() + 1;
  if (*work_left_ < work) return true;
  *work_left_ -= work;
  for (std::size_t round = 0; round < kMostRounds; ++round) {
    while (!open_.empty())
      if (!state_all(std::exchange(open_, {}))) return false;
    if (!numbers_fit()) return false;
    const bool news = learn();
    if (!news && open_.empty()) return true;
    if (news && !state_all(std::vector(statements_))) return false;
  }
  return true;
}

/// Leaves of each choice what is possible by itself; then tries all of them together.
bool Conditions::settle() {
  if (!propagate()) return false;
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t i = 0; i < choices_.size() && !changed; ++i) {
      std::erase_if(choices_[i], [&](const Statement& alternative) {
        Conditions with = *this;
        return !with.state(*alternative.first, alternative.second) || !with.propagate();
      });
      if (choices_[i].empty()) return false;
      if (choices_[i].size() > 1) continue;
      const Statement only = choices_[i][0];
      choices_.erase(choices_.begin() + static_cast<std::ptrdiff_t>(i));
      if (!state(*only.first, only.second) || !propagate()) return false;
      changed = true;
    }
  }
  std::size_t splits = kMostSplits;
  return choices_.size() < 2 || possible(splits);
}

/// Whether one of each choice can hold together; also where that takes too long to tell.
bool Conditions::possible(std::size_t& splits) const {
  if (choices_.empty() || splits == 0) return true;
  for (const Statement& alternative : choices_.back()) {
    if (splits == 0) return true;
    --splits;
    Conditions with = *this;
    with.choices_.pop_back();
    if (with.state(*alternative.first, alternative.second) && with.propagate() && with.possible(splits)) return true;
  }
  return false;
}

/// What follows from a question about constants, or whether two values are one.
bool Conditions::implications(const Expr& expr, bool holds) {
  if (!holds) return true;
  if (expr.text == "same" && expr.args.size() == 2 && expr.named.empty()) {
    for (const char* function : {"shape", "dtype"})
      open_.emplace_back(binary("==", call(function, {expr.args[0]}), call(function, {expr.args[1]})), true);
    return true;
  }
  if (!is_one_of(expr.text, {"constant", "splat", "is_zero", "is_one"})) return true;
  const bool number = expr.text == "is_zero" || expr.text == "is_one";
  return std::ranges::all_of(expr.args, [&](const ExprPtr& arg) {
    open_.emplace_back(call("constant", {arg}), true);
    if (expr.text != "constant") open_.emplace_back(call("splat", {arg}), true);
    if (!number) return true;
    const double value = expr.text == "is_one" ? 1 : 0;
    const std::string key = "value(" + text_of(*arg) + ")";
    return numbers_.add(key, {}, {value}) && numbers_.add({}, key, {-value});
  });
}

bool Conditions::predicate(const Expr& expr, bool holds) {
  if (!implications(expr, holds)) return false;
  if (!is_call(expr, "is_float", 1) && !is_call(expr, "is_integer", 1)) return true;
  const DTypeSet set = dtypes_where(expr.text == "is_float" ? ops::is_float : ops::is_integer);
  if (const auto constant = dtype_constant(*expr.args[0])) return (*constant & set).any() == holds;
  return narrow("dtype(" + text_of(*expr.args[0]) + ")", holds ? set : ~set);
}

bool Conditions::membership(const ExprPtr& item, const ExprPtr& list, bool holds) {
  if (list->kind != Kind::kList) {
    const auto elements = facts_.elements.find(text_of(*list));
    if (!holds || elements == facts_.elements.end()) return true;
    open_.emplace_back(binary(">", call("len", {list}), integer(0)), true);
    const auto number = linear(*item);
    if (!number) return true;
    Linear least = *number;
    least.constant = elements->second.least - least.constant;
    for (auto& [key, factor] : least.terms) factor = -factor;
    return order(least, false);
  }
  if (list->args.size() > kMostCases) return true;
  DTypeSet dtypes;
  std::vector<Statement> cases;
  for (const ExprPtr& other : list->args) {
    if (const auto dtype = dtype_constant(*other)) dtypes |= *dtype;
    cases.emplace_back(binary("==", item, other), holds);
  }
  if (!holds) return state_all(std::move(cases));
  if (cases.empty()) return false;
  const bool of_dtypes =
      std::ranges::all_of(list->args, [](const ExprPtr& e) { return dtype_constant(*e).has_value(); });
  if (of_dtypes && !dtype_constant(*item)) return narrow(text_of(*item), dtypes);
  return either(std::move(cases));
}

bool Conditions::comparison(const std::string& op, const Expr& left, const Expr& right) {
  const bool elements = is_list_of_one(left) && is_list_of_one(right);
  const Expr &a = elements ? *left.args[0] : left, &b = elements ? *right.args[0] : right;
  if (text_of(a) == text_of(b)) return op == "==" || op == "<=" || op == ">=";
  if (const auto fits = dtype_test(op, a, b)) return *fits;
  if (const auto fits = dtype_test(turned(op), b, a)) return *fits;
  const bool ordered = op != "==" && op != "!=";
  const auto x = linear(a), y = linear(b);
  if (!x || !y || !(ordered || x->number || y->number))
    return ordered || equality(std::make_shared<const Expr>(left), std::make_shared<const Expr>(right), op == "==");
  Linear difference = *x, negative;  // a - b and b - a
  difference.whole = x->whole && y->whole;
  difference.constant -= y->constant;
  for (const auto& [key, factor] : y->terms) difference.terms[key] -= factor;
  std::erase_if(difference.terms, [](const auto& term) { return term.second == 0; });
  negative = difference;
  negative.constant = -difference.constant;
  for (auto& [key, factor] : negative.terms) factor = -factor;
  if (op == "==") {
    if (difference.whole) equations_.push_back(difference);
    return order(difference, false) && order(negative, false);
  }
  if (op == "!=") {
    not_zero_.push_back(difference);
    return true;
  }
  return op == "<" || op == "<=" ? order(difference, op == "<") : order(negative, op == ">");
}

/// `dtype(x)` or `bits(x)` against a constant, as a set of dtypes; nothing for other comparisons.
std::optional<bool> Conditions::dtype_test(const std::string& op, const Expr& a, const Expr& b) {
  if (const auto set = dtype_constant(b); set && (op == "==" || op == "!=")) {
    if (const auto other = dtype_constant(a)) return (*set == *other) == (op == "==");
    return narrow(text_of(a), op == "==" ? *set : ~*set);
  }
  if (!is_call(a, "bits", 1) || b.kind != Kind::kInt) return std::nullopt;
  const auto fits = [&](ops::DType dtype) {
    return holds_between(ops::bit_width(dtype), op, static_cast<double>(b.integer));
  };
  return narrow("dtype(" + text_of(*a.args[0]) + ")", dtypes_where(fits));
}

std::string Conditions::root(const std::string& text) const {
  std::string at = text;
  for (auto next = equal_.find(at); next != equal_.end(); next = equal_.find(at)) at = next->second;
  return at;
}

bool Conditions::narrow(const std::string& tensor, const DTypeSet& set) {
  const auto [at, fresh] = dtypes_.emplace(root(tensor), set);
  if (!fresh) at->second &= set;
  return at->second.any();
}

bool Conditions::unite(const std::string& a, const std::string& b) {
  const std::string from = root(a), to = root(b);
  if (from == to) return true;
  equal_[from] = to;
  if (const auto set = dtypes_.extract(from); !set.empty() && !narrow(to, set.mapped())) return false;
  if (const auto constant = constants_.extract(from); !constant.empty()) {
    if (text_of(*constants_.emplace(to, constant.mapped()).first->second) != text_of(*constant.mapped())) return false;
  }
  return true;
}

/// Of dtypes, lists and texts.
bool Conditions::equality(const ExprPtr& a, const ExprPtr& b, bool equal) {
  const std::string x = text_of(*a), y = text_of(*b);
  if (is_constant(*a) && is_constant(*b)) return (x == y) == equal;
  for (const ExprPtr& expr : {a, b}) {
    if (is_constant(*expr)) constants_.emplace(root(text_of(*expr)), expr);
  }
  if (equal && !unite(x, y)) return false;
  if (!equal) different_.emplace_back(x, y);
  return std::none_of(different_.begin(), different_.end(), [&](const auto& pair) {
    const std::string left = root(pair.first), right = root(pair.second);
    if (left == right) return true;
    const auto one = dtypes_.find(left), other = dtypes_.find(right);
    return one != dtypes_.end() && other != dtypes_.end() && one->second.count() == 1 && one->second == other->second;
  });
}

bool Conditions::surely_list(const Expr& expr) const {
  return is_call(expr, "shape", 1) || expr.kind == Kind::kSlice || facts_.elements.contains(text_of(expr));
}

/// Lists that are equal are so element by element.
void Conditions::equal_elements(const ExprPtr& a, const ExprPtr& b) {
  for (const auto& [list, other] : {std::pair(a, b), std::pair(b, a)}) {
    if (list->kind != Kind::kList || other->kind == Kind::kList) continue;
    open_.emplace_back(binary("==", call("len", {other}), integer(static_cast<std::int64_t>(list->args.size()))), true);
    for (std::size_t i = 0; i < list->args.size() && i < kLongest; ++i)
      open_.emplace_back(binary("==", item_of(other, static_cast<std::int64_t>(i)), list->args[i]), true);
  }
  if (a->kind == Kind::kList && b->kind == Kind::kList && a->args.size() == b->args.size() &&
      a->args.size() <= kLongest) {
    for (std::size_t i = 0; i < a->args.size(); ++i) open_.emplace_back(binary("==", a->args[i], b->args[i]), true);
  }
  if (!surely_list(*a) || !surely_list(*b)) return;
  open_.emplace_back(binary("==", call("len", {a}), call("len", {b})), true);
  equal_lists_.emplace_back(a, b);
}

namespace {

/// A list as a whole one from some place on.
struct Part {
  ExprPtr list;
  std::int64_t first = 0;
  std::optional<std::int64_t> last;
};
std::optional<Part> part_of(const ExprPtr& list) {
  if (list->kind != Kind::kSlice) return Part{list, 0, {}};
  Part part{list->args[0], 0, {}};
  for (const std::size_t i : {1U, 2U})
    if (list->args[i] != nullptr && (list->args[i]->kind != Kind::kInt || list->args[i]->integer < 0))
      return std::nullopt;
  if (list->args[1] != nullptr) part.first = list->args[1]->integer;
  if (list->args[2] != nullptr) part.last = list->args[2]->integer;
  return part;
}

/// Which element of a list an expression is.
std::optional<std::int64_t> place_in(const Expr& expr, const Expr& list) {
  const bool dim = is_call(expr, "dim", 2);
  if ((!dim && expr.kind != Kind::kIndex) || expr.args[1]->kind != Kind::kInt || expr.args[1]->integer < 0)
    return std::nullopt;
  const std::string text = dim ? "shape(" + text_of(*expr.args[0]) + ")" : text_of(*expr.args[0]);
  return text == text_of(list) ? std::optional(expr.args[1]->integer) : std::nullopt;
}

}  // namespace

/// Puts down which expressions are constants, and which elements are equal; whether there is a constant more.
bool Conditions::learn() {
  const std::size_t before = known_.size();
  std::set<std::string> numbers;
  for (const auto& [key, expr] : seen_) numbers.insert(key);
  for (const auto& [key, range] : facts_.numbers) numbers.insert(key);
  std::map<std::string, Interval> ranges = numbers_.ranges();
  for (const std::string& key : numbers) {
    const Interval range = ranges[key];
    if (range.low == range.high && std::abs(range.low) < 1e9 && range.low == std::floor(range.low))
      known_.emplace(key, integer(static_cast<std::int64_t>(range.low)));
  }
  for (const auto& [text, other] : equal_)
    if (const auto at = constants_.find(root(text)); at != constants_.end()) known_.emplace(text, at->second);
  for (const auto& [text, constant] : constants_) known_.emplace(text, constant);
  std::erase_if(known_, [](const auto& entry) { return entry.second->args.size() > kMostCases; });
  for (const auto& [a, b] : equal_lists_) {
    if (statements_.size() + open_.size() >= kMostSaid) break;
    for (const auto& [one, other] : {std::pair(part_of(a), part_of(b)), std::pair(part_of(b), part_of(a))}) {
      if (!one || !other) continue;
      for (const auto& [key, expr] : seen_) {
        const auto at = place_in(*expr, *one->list);
        if (!at || *at < one->first || (one->last && *at >= *one->last)) continue;
        const ExprPtr equal = binary("==", expr, item_of(other->list, *at - one->first + other->first));
        if (!stated_.contains(text_of(*plain(*equal, facts_, {})))) open_.emplace_back(plain(*equal, facts_, {}), true);
      }
    }
  }
  return known_.size() > before;
}

}  // namespace fusewright::rule
