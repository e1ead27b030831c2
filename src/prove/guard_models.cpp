#include "src/prove/guard_models.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "src/prove/guard_reader.hpp"

namespace fusewright::prove {

namespace {

constexpr unsigned kWork = 300'000;  // of one question, in the solver's own units
constexpr int kFewModels = 4;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

void limit(z3::solver& solver) {
  z3::params limits(solver.ctx());
  limits.set("rlimit", kWork);
  solver.set(limits);
}

double number_of(const z3::expr& value) {
  constexpr int kDigits = 20;
  std::string digits = value.get_decimal_string(kDigits);  // "0.333?" where there are more
  if (!digits.empty() && digits.back() == '?') digits.pop_back();
  return std::strtod(digits.c_str(), nullptr);
}

/// All guards of one variant that are understood.
z3::expr holds(GuardReader& reader, z3::context& context, const rule::RewriteRule& rule) {
  z3::expr all = context.bool_val(true);
  for (const rule::Guard& guard : rule.guards)
    if (const auto read = reader.read(*guard.expr)) all = all && *read;
  return all && reader.sense();
}

void add_new(std::vector<double>& to, double number) {
  if (std::ranges::find(to, number) == to.end()) to.push_back(number);
}

z3::expr exactly(z3::context& context, double number) {
  return context.real_val(fmt::format("{:.80f}", number).c_str());
}

/// The number that a solver gave for a constant, or next to it where it rounds to a bound that the guards refuse.
double held(z3::solver& solver, const z3::expr& unknown, double number) {
  const auto single = static_cast<float>(number);
  for (const double near : {number, static_cast<double>(std::nextafter(single, -kInfinity)),
                            static_cast<double>(std::nextafter(single, kInfinity))}) {
    solver.push();
    solver.add(unknown == exactly(solver.ctx(), near));
    const bool holds = solver.check() == z3::sat;
    solver.pop();
    if (holds) return near;
  }
  return number;
}

/// Values of one constant or attribute, and of all others with them: all where there are few, else one.
/// @returns whether there are no more.
bool add_values(z3::solver& solver, const GuardReader& reader, const z3::expr& unknown,
                const std::vector<double>& tried, GuardNumbers& out) {
  for (const double number : tried)
    if (std::isfinite(number)) solver.add(unknown != exactly(solver.ctx(), number));
  std::vector<GuardNumbers> models;
  z3::check_result found = solver.check();
  for (int k = 0; k < kFewModels && found == z3::sat; ++k, found = solver.check()) {
    const z3::model model = solver.get_model();
    GuardNumbers& numbers = models.emplace_back();
    for (const auto& [name, constant] : reader.constants()) {
      const double number = number_of(model.eval(constant, true));
      numbers.constants[name] = {z3::eq(constant, unknown) ? held(solver, unknown, number) : number};
    }
    for (const auto& [name, attribute] : reader.attributes())
      numbers.attributes.push_back(number_of(model.eval(attribute, true)));
    solver.add(unknown != model.eval(unknown, true));
  }
  if (found != z3::unsat && models.size() > 1) models.resize(1);
  for (const GuardNumbers& numbers : models) {
    for (const auto& [name, number] : numbers.constants) add_new(out.constants[name], number[0]);
    for (const double attribute : numbers.attributes) add_new(out.attributes, attribute);
  }
  return found == z3::unsat;
}

}  // namespace

GuardNumbers numbers_by_guards(const ops::OpTable& table, const rule::RewriteRule& rule,
                               const std::vector<double>& tried) {
  GuardNumbers out;
  try {
    z3::context context;
    GuardReader reader(context, table, rule.variants.at(0));
    const z3::expr guards = holds(reader, context, rule);
    const auto add = [&](const std::string* name, const z3::expr& unknown) {
      z3::solver solver(context);
      limit(solver);
      solver.add(guards);
      const bool all = add_values(solver, reader, unknown, tried, out);
      if (all && name != nullptr && !reader.narrowed()) out.settled.insert(*name);
    };
    for (const auto& [name, constant] : reader.constants()) add(&name, constant);
    for (const auto& [name, attribute] : reader.attributes()) add(nullptr, attribute);
  } catch (const z3::exception&) {  // too hard a question: the table is what there is
  }
  return out;
}

GuardSizes sizes_by_guards(const ops::OpTable& table, const rule::RewriteRule& rule) {
  constexpr std::int64_t kRanks[] = {4, 5, 6, 7};
  constexpr int kExtents[] = {3, 4, 5, 6, 7, 8, 9, 10, 12, 16, 24, 32, 48, 64, 128, 256, 512, 1024};
  constexpr int kFewExtents = 3;
  GuardSizes out;
  try {
    z3::context context;
    GuardReader reader(context, table, rule.variants.at(0));
    const z3::expr guards = holds(reader, context, rule);
    if (reader.ranks().empty()) return out;
    for (const std::int64_t most_rank : kRanks)
      for (const int most : kExtents) {
        z3::solver solver(context);
        limit(solver);
        solver.add(guards);
        for (const auto& [name, rank] : reader.ranks()) solver.add(rank <= static_cast<int>(most_rank));
        for (const z3::expr& extent : reader.extents()) solver.add(extent >= 1 && extent <= most);
        std::set<std::int64_t> found;
        for (int k = 0; k < kFewModels && solver.check() == z3::sat; ++k) {
          const z3::model model = solver.get_model();
          z3::expr again = context.bool_val(true);
          for (const z3::expr& extent : reader.extents()) {
            const z3::expr value = model.eval(extent, true);
            const std::int64_t number = value.get_numeral_int64();
            if (number > 1 && found.size() < kFewExtents) found.insert(number);
            again = again && extent == value;
          }
          out.rank = most_rank;
          solver.add(!again);
        }
        if (out.rank == 0) continue;
        out.extents.assign(found.begin(), found.end());
        return out;
      }
  } catch (const z3::exception&) {  // too hard a question
  }
  return out;
}

}  // namespace fusewright::prove
