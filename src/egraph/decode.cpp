#include <algorithm>

#include "fusewright/egraph/ematch.hpp"

namespace fusewright::egraph {

using match::Instr;

namespace {

/// Reads the records of one pattern back, one root after the other.
class Decoder {
 public:
  Decoder(const EGraph& egraph, const match::Program& program, bool with_relied, Decoded& out)
      : egraph_(egraph), program_(program), with_relied_(with_relied), out_(out) {}

  /// What stands below one root, whose registers and nodes begin there.
  void read(std::span<const std::uint32_t> code, std::span<const MatchWord> record, std::size_t registers,
            std::size_t nodes) {
    registers_ = std::span(out_.registers).subspan(registers);
    nodes_ = std::span(out_.nodes).subspan(nodes);
    swaps_ = 0;
    for (const std::uint32_t at : code) {
      const Instr& instr = program_.trie[at].instr;
      const MatchWord* words = record.data() + program_.trie[at].word;
      switch (instr.kind) {
        case Instr::Kind::kNode: node(instr, words); break;
        case Instr::Kind::kOperand: operand(instr, words); break;
        case Instr::Kind::kSame: equal(registers_[instr.a], registers_[instr.b]); break;
        case Instr::Kind::kLiteral:
          if (with_relied_) out_.relied.push_back({registers_[instr.a], {}});
          break;
        case Instr::Kind::kFit:
        case Instr::Kind::kAttrIs:
        case Instr::Kind::kAttrSame:
        case Instr::Kind::kYield:
        case Instr::Kind::kPart: break;
      }
    }
  }
  void equal(EClassId a, EClassId b) {
    if (with_relied_ && a != b) out_.relied.push_back({a, b});
  }

 private:
  void node(const Instr& instr, const MatchWord* words) {
    const ENodeId n = words[0].node();
    EClassId top = term(n);
    if (instr.pack && !words[1].none()) {
      const ENodeId result = words[1].node();
      equal(egraph_.original_operands(result)[0], term(n));
      top = term(result);
    }
    if (instr.b == 0) {
      registers_[instr.a] = top;
    } else {
      equal(registers_[instr.a], top);
    }
    nodes_[instr.b] = n;
    if (instr.b < 32) {
      swaps_ = (swaps_ & ~(1U << instr.b)) | (words[0].swapped() ? 1U << instr.b : 0);
    } else {
      many_.resize(program_.nodes, 0);
      many_[instr.b] = words[0].swapped() ? 1 : 0;
    }
  }

  void operand(const Instr& instr, const MatchWord* words) {
    const auto operands = egraph_.original_operands(nodes_[instr.a]);
    const bool swapped = instr.a < 32 ? (swaps_ >> instr.a & 1) != 0 : many_[instr.a] != 0;
    const std::size_t position = swapped && instr.b < 2 ? 1U - instr.b : instr.b;
    EClassId c = position < operands.size() ? operands[position] : egraph_.none();
    for (std::size_t k = 0; instr.peel && k < 2 && !words[k].none(); ++k) {
      equal(c, term(words[k].node()));
      out_.peeled = true;
      c = egraph_.original_operands(words[k].node())[0];
    }
    registers_[instr.c] = c;
  }

  const EGraph& egraph_;
  const match::Program& program_;
  bool with_relied_;
  Decoded& out_;
  std::span<EClassId> registers_;
  std::span<ENodeId> nodes_;
  std::uint32_t swaps_ = 0;         // of the nodes so far
  std::vector<std::uint8_t> many_;  // of patterns with more than 32 nodes
};

}  // namespace

void decode(const EGraph& egraph, const match::Program& program, PatternId id, std::span<const MatchWord> record,
            bool with_relied, Decoded& out) {
  const match::PatternInfo& pattern = program.patterns[id.index];
  out.registers.assign(program.registers, egraph.none());
  out.nodes.resize(program.nodes);
  out.relied.clear();
  out.peeled = false;
  Decoder decoder(egraph, program, with_relied, out);
  if (pattern.roots.empty()) decoder.read(pattern.code, record, 0, 0);
  for (const match::Root& root : pattern.roots) {
    const match::Part& part = program.parts[root.part];
    decoder.read(part.code, record.subspan(root.first_word, part.words), root.first_register, root.first_node);
    for (const auto& [own, before] : root.shared)
      decoder.equal(out.registers[root.first_register + std::size_t{own}], out.registers[before]);
  }
  out.root = out.registers[0];
}

bool is_root(const match::PatternInfo& pattern, const Decoded& match, EClassId term) {
  return match.root == term || std::ranges::any_of(pattern.roots, [&](const match::Root& root) {
           return match.registers[root.first_register] == term;
         });
}

}  // namespace fusewright::egraph
