#include <string>

#include "fusewright/match/program.hpp"

namespace fusewright::match {
namespace {

std::string print_ops(const ops::OpTable& table, const rule::OpSet& set) {
  std::string text;
  for (const ops::OpId op : set.ops) text += (text.empty() ? "" : "|") + table[op].name;
  return text;
}

/// "pattern 3 = part 0 and part 1 where r2 of it is r1".
std::string print_roots(const Program& program, std::size_t pattern) {
  const std::vector<Root>& roots = program.patterns[pattern].roots;
  std::string text;
  for (const Root& root : roots) {
    text +=
        (text.empty() ? "pattern " + std::to_string(pattern) + " = part " : " and part ") + std::to_string(root.part);
    for (std::size_t i = 0; i < root.shared.size(); ++i) {
      text += (i == 0 ? " where r" : ", r") + std::to_string(root.shared[i].first) + " of it is r" +
              std::to_string(root.shared[i].second);
    }
    for (const Root::SameAttr& same : root.attrs) {
      const AttrPair& pair = program.attr_pairs[same.pair];
      text += ", n" + std::to_string(same.node) + "." + pair.first + " of it is n" + std::to_string(same.before) + "." +
              pair.second;
    }
  }
  return text.empty() ? text : text + "\n";
}

}  // namespace

std::string print_instr(const ops::OpTable& table, const Program& program, const Instr& i) {
  const auto reg = [](std::uint16_t r) { return "r" + std::to_string(r); };
  const auto node = [](std::uint16_t n) { return "n" + std::to_string(n); };
  switch (i.kind) {
    case Instr::Kind::kNode:
      return node(i.b) + " = " + print_ops(table, program.op_sets[i.data]) + " in " + reg(i.a) +
             (i.result != 0 ? " result " + std::to_string(i.result) : "") + (i.swap ? " either way" : "");
    case Instr::Kind::kOperand:
      return reg(i.c) + " = operand " + std::to_string(i.b) + " of " + node(i.a) + (i.optional ? " optional" : "") +
             (i.peel ? " peel" : "");
    case Instr::Kind::kFit: return "fit " + node(i.a);
    case Instr::Kind::kSame: return reg(i.a) + " is " + reg(i.b);
    case Instr::Kind::kLiteral: {
      const rule::LiteralPattern& literal = program.literals[i.data];
      return reg(i.a) + " is " + (literal.approximate ? "~" : "") +
             (literal.any ? "number" : ops::to_string(ops::AttrValue(literal.value)));
    }
    case Instr::Kind::kAttrIs:
      return node(i.a) + "." + program.attr_tests[i.data].attr + " is " +
             ops::to_string(program.attr_tests[i.data].value);
    case Instr::Kind::kAttrSame:
      return node(i.a) + "." + program.attr_pairs[i.data].first + " is " + node(i.b) + "." +
             program.attr_pairs[i.data].second;
    case Instr::Kind::kYield: return "pattern " + std::to_string(i.data);
    case Instr::Kind::kPart: return "part " + std::to_string(i.data);
  }
  return {};
}

std::string print_program(const ops::OpTable& table, const Program& program) {
  std::string text;
  for (const std::uint32_t root : program.roots) {
    std::size_t indent = 0;
    std::uint32_t at = root;
    while (true) {
      text += std::string(indent * 2, ' ') + print_instr(table, program, program.trie[at].instr) + "\n";
      if (program.trie[at].first_child != TrieNode::kNone) {
        at = program.trie[at].first_child;
        ++indent;
        continue;
      }
      while (at != root && program.trie[at].next_sibling == TrieNode::kNone) {
        at = program.trie[at].parent;
        --indent;
      }
      if (at == root) break;
      at = program.trie[at].next_sibling;
    }
  }
  for (std::size_t i = 0; i < program.patterns.size(); ++i) text += print_roots(program, i);
  return text;
}

}  // namespace fusewright::match
