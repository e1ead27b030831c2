#include "src/rule/checker.hpp"

namespace fusewright::rule {

using ops::Expr;

namespace {
constexpr std::size_t kMostParts = 4096;  // some dozens come of what people write
}

void LetChecks::bind(const ast::Name& name, const Expr& value, bool taken) {
  std::size_t size = parts(value);
  // Else the name meant nothing where it was used, which is reported.
  const bool meant = is_constant_name(name.text);
  if (const auto before = read_.find(name.text); before != read_.end() && !taken && meant)
    reports_.error(name.span, "'" + name.text + "' is used before it is bound", {},
                   {{before->second, "it is used here"}});
  if (size > kMostParts) {
    reports_.error(name.span, "'" + name.text + "' has more than " + std::to_string(kMostParts) +
                                  " parts, with the lets that it uses put in");
    size = 1;  // reported once
  }
  parts_[name.text] = size;
}

std::size_t LetChecks::parts(const Expr& expr) {
  if (expr.kind == Expr::Kind::kName) {
    read_.emplace(expr.text, expr.span);
    const auto let = parts_.find(expr.text);
    return let == parts_.end() ? 1 : let->second;
  }
  std::size_t sum = 1;
  for (const auto& arg : expr.args) {
    if (arg != nullptr) sum += parts(*arg);
  }
  for (const auto& [key, value] : expr.named) sum += parts(*value);
  return sum;
}

}  // namespace fusewright::rule
