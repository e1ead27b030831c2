#include <fmt/format.h>

#include "fusewright/kernel/ir.hpp"

namespace fusewright::kernel {

namespace {

class Printer {
 public:
  explicit Printer(const Kernel& kernel) : kernel_(kernel) {}

  std::string run() {
    out_ = fmt::format("kernel {}\n", kernel_.name);
    for (const Buffer& b : kernel_.buffers) {
      static constexpr const char* kSpaces[] = {"global", "shared", "local"};
      static constexpr const char* kRoles[] = {"input", "output", "temporary", "packed"};
      out_ +=
          fmt::format("  {} {}[{}] {}{}\n", ops::name(b.dtype), b.name, b.elements, kSpaces[static_cast<int>(b.space)],
                      b.space == Space::kGlobal ? std::string(" ") + kRoles[static_cast<int>(b.role)] : "");
    }
    for (const Launch& launch : kernel_.prepare) {
      out_ += fmt::format("prepare {}\n", launch.name);
      body(launch.body, 1);
    }
    for (const Launch& launch : kernel_.launches) {
      out_ += fmt::format("launch {}\n", launch.name);
      body(launch.body, 1);
    }
    return std::move(out_);
  }

  std::string line(StmtId stmt) {
    body({stmt}, 0);
    return out_.substr(0, out_.find('\n'));
  }

 private:
  // Expressions that templates write are shallow (deep values are named by Let), so recursion is bounded by them.
  std::string expr(ExprId id) const {
    const Expr& e = kernel_[id];
    switch (e.kind) {
      case Expr::Kind::kInt: return std::to_string(e.integer);
      case Expr::Kind::kFloat: return fmt::format("{}", e.number);
      case Expr::Kind::kVar: return variable(e.var);
      case Expr::Kind::kLoad: return fmt::format("{}[{}]", kernel_[e.buffer].name, expr(e.args[0]));
      case Expr::Kind::kFloorDiv: return fmt::format("({} / {})", expr(e.args[0]), e.integer);
      case Expr::Kind::kMod: return fmt::format("({} % {})", expr(e.args[0]), e.integer);
      case Expr::Kind::kShuffleXor: return fmt::format("shuffle_xor({}, {})", expr(e.args[0]), e.integer);
      case Expr::Kind::kOp: break;
    }
    if (e.dtype == DType::kS64 && e.args.size() == 2) {
      if (e.op == ScalarOp::kAdd) return fmt::format("({} + {})", expr(e.args[0]), expr(e.args[1]));
      if (e.op == ScalarOp::kMul) return fmt::format("{} * {}", expr(e.args[0]), expr(e.args[1]));
    }
    std::string out = fmt::format("{}", ops::name(e.op));
    if (e.op == ScalarOp::kConvert || e.op == ScalarOp::kBitcast) out += fmt::format("<{}>", ops::name(e.dtype));
    out += '(';
    for (std::size_t i = 0; i < e.args.size(); ++i) out += (i == 0 ? "" : ", ") + expr(e.args[i]);
    return out + ')';
  }

  std::string variable(VarId id) const { return fmt::format("{}.{}", kernel_.vars[id.index].name, id.index); }

  void body(const std::vector<StmtId>& stmts, std::size_t depth) {
    static constexpr const char* kLoops[] = {"for",    "for unrolled", "for vector", "for parallel",
                                             "grid x", "grid y",       "grid z",     "thread x"};
    const std::string indent(2 * depth, ' ');
    for (const StmtId id : stmts) {
      const Stmt& s = kernel_[id];
      switch (s.kind) {
        case Stmt::Kind::kFor:
          out_ +=
              fmt::format("{}{} {} < {}\n", indent, kLoops[static_cast<int>(s.loop)], variable(s.var), expr(s.extent));
          body(s.body, depth + 1);
          break;
        case Stmt::Kind::kLet:
          out_ += fmt::format("{}{} {} = {}\n", indent, ops::name(kernel_.vars[s.var.index].dtype), variable(s.var),
                              expr(s.value));
          break;
        case Stmt::Kind::kStore:
          out_ += fmt::format("{}{}[{}] = {}\n", indent, kernel_[s.buffer].name, expr(s.index), expr(s.value));
          break;
        case Stmt::Kind::kIf:
          out_ += fmt::format("{}if {}\n", indent, expr(s.condition));
          body(s.body, depth + 1);
          if (!s.orelse.empty()) {
            out_ += indent + "else\n";
            body(s.orelse, depth + 1);
          }
          break;
        case Stmt::Kind::kBarrier: out_ += indent + "barrier\n"; break;
      }
    }
  }

  const Kernel& kernel_;
  std::string out_;
};

}  // namespace

std::string print(const Kernel& kernel) { return Printer(kernel).run(); }
std::string print(const Kernel& kernel, StmtId stmt) { return Printer(kernel).line(stmt); }

}  // namespace fusewright::kernel
