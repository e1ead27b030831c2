#include "src/frontend/hlo/resolve.hpp"

#include <string>

#include "src/frontend/hlo/handlers.hpp"
#include "src/frontend/hlo/opcodes.hpp"

namespace fusewright::frontend_hlo {

namespace {

constexpr std::size_t kMostErrors = 20;

class Resolver {
 public:
  explicit Resolver(const Module& module) : module_(module) {}

  Result<Resolution> run() {
    Resolution resolution;
    for (std::size_t i = 0; i < module_.computations.size(); ++i) {
      const Computation& computation = module_.computations[i];
      const auto [at, is_new] = resolution.by_name.emplace(computation.name, static_cast<std::uint32_t>(i));
      if (!is_new)
        report("there are two computations '" + std::string(computation.name) + "'", computation.name,
               module_.computations[at->second].name);
      resolution.computations.push_back(resolve(computation));
    }
    if (!error_.diagnostics.empty()) return std::unexpected(std::move(error_));
    return resolution;
  }

 private:
  bool full() const { return error_.diagnostics.size() >= kMostErrors; }

  void report(std::string message, std::string_view at, std::string_view first = {}, std::string suggestion = {}) {
    if (full()) return;
    Diagnostic diagnostic{Severity::kError, module_.span(at), std::move(message), {}, std::move(suggestion)};
    if (first.data() != nullptr) diagnostic.notes.push_back({module_.span(first), "the first is here"});
    error_.diagnostics.push_back(std::move(diagnostic));
  }

  ResolvedComputation resolve(const Computation& computation) {
    ResolvedComputation out;
    const auto& instructions = computation.instructions;
    std::unordered_map<std::string_view, std::uint32_t> names;
    names.reserve(instructions.size());
    for (std::size_t i = 0; i < instructions.size(); ++i) {
      const Instruction& instruction = instructions[i];
      check_opcode(instruction);
      out.operands.push_back(resolve_operands(computation, i, names));
      const auto [at, is_new] = names.emplace(instruction.name, static_cast<std::uint32_t>(i));
      if (!is_new)
        report("there are two instructions '" + std::string(instruction.name) + "' in '" +
                   std::string(computation.name) + "'",
               instruction.name, instructions[at->second].name);
      if (instruction.is_root && computation.root != i)
        report("'" + std::string(computation.name) + "' has two roots", instructions[computation.root].name,
               instruction.name);
    }
    out.parameters = parameters(computation);
    out.live = needed(computation, out);
    return out;
  }

  void check_opcode(const Instruction& instruction) {
    const std::string_view opcode = instruction.opcode;
    if (find_elementwise(opcode) != nullptr || find_handler(opcode) != nullptr || !unsupported_opcode(opcode).empty())
      return;
    const std::string near = full() ? "" : nearest(opcode, known_opcodes());
    report("unknown opcode '" + std::string(opcode) + "'", opcode, {},
           near.empty() ? "" : "did you mean '" + near + "'?");
  }

  std::vector<std::uint32_t> resolve_operands(const Computation& computation, std::size_t index,
                                              const std::unordered_map<std::string_view, std::uint32_t>& names) {
    std::vector<std::uint32_t> operands;
    for (const Operand& operand : computation.instructions[index].operands) {
      const auto at = names.find(operand.name);
      if (at != names.end()) {
        operands.push_back(at->second);
        continue;
      }
      operands.push_back(0);
      if (!full()) report_unknown(computation, index, operand.name);
    }
    return operands;
  }

  void report_unknown(const Computation& computation, std::size_t index, std::string_view name) {
    std::vector<std::string> candidates;
    for (std::size_t i = 0; i < computation.instructions.size(); ++i) {
      const std::string_view other = computation.instructions[i].name;
      if (i >= index && other == name) {
        report("'" + std::string(name) + "' is used before it is defined", name);
        return;
      }
      if (i < index) candidates.emplace_back(other);
    }
    const std::string near = nearest(name, candidates);
    report("there is no instruction '" + std::string(name) + "' in '" + std::string(computation.name) + "'", name, {},
           near.empty() ? "" : "did you mean '" + near + "'?");
  }

  std::vector<std::uint32_t> parameters(const Computation& computation) {
    std::unordered_map<std::int64_t, std::uint32_t> by_number;
    for (std::size_t i = 0; i < computation.instructions.size(); ++i) {
      const Instruction& instruction = computation.instructions[i];
      if (instruction.opcode != "parameter") continue;
      const auto [at, is_new] = by_number.emplace(instruction.parameter_number, static_cast<std::uint32_t>(i));
      if (!is_new)
        report("there are two parameters " + std::to_string(instruction.parameter_number), instruction.name,
               computation.instructions[at->second].name);
    }
    std::vector<std::uint32_t> positions;
    for (std::size_t number = 0; number < by_number.size(); ++number) {
      const auto at = by_number.find(static_cast<std::int64_t>(number));
      if (at != by_number.end()) {
        positions.push_back(at->second);
        continue;
      }
      report("parameter " + std::to_string(number) + " of '" + std::string(computation.name) + "' is missing, it has " +
                 std::to_string(by_number.size()),
             computation.name);
      break;
    }
    return positions;
  }

  static std::vector<bool> needed(const Computation& computation, const ResolvedComputation& resolved) {
    std::vector<bool> live(computation.instructions.size(), false);
    live[computation.root] = true;
    for (std::size_t i = live.size(); i-- > 0;)
      if (live[i])
        for (const std::uint32_t operand : resolved.operands[i]) live[operand] = true;
    return live;
  }

  const Module& module_;
  Error error_;
};

}  // namespace

Result<Resolution> resolve_names(const Module& module) { return Resolver(module).run(); }

}  // namespace fusewright::frontend_hlo
