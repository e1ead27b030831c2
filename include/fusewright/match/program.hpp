#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "fusewright/rule/rule.hpp"
#include "fusewright/support/ids.hpp"

namespace fusewright::match {

/// Index of a rewrite in RuleSet::rewrites.
using RuleId = Id<struct RuleTag>;
/// One variant of one rewrite.
using PatternId = Id<struct PatternTag>;

/// One instruction. It works on class registers (register 0: the value that is matched) and on the list of e-nodes
/// matched so far.
struct Instr {
  enum class Kind : std::uint8_t {
    kNode,  ///< choose a node of the operators `data` (index into op_sets), of at most `c` operands, in class register
            ///< `a`; it becomes matched node `b`. If it is commutative and `swap`, its first two operands are tried
            ///< both ways round
    kOperand,   ///< register `c` = operand `b` of node `a`; none only if `optional`; with `peel` also what lies below
                ///< a canonical broadcast, when the node is elementwise
    kFit,       ///< operands of node `a`, loaded from register `b` on (`c` of them), broadcast to the shape of the node
    kSame,      ///< registers `a` and `b` hold one class
    kLiteral,   ///< register `a` is a constant of one value that fits literal `data`
    kAttrIs,    ///< attribute test `data` holds of node `a`
    kAttrSame,  ///< attribute pair `data` of nodes `a` and `b` are equal
    kYield,     ///< pattern `data` matches
    kPart,      ///< part `data` of patterns of several roots matches
  };
  Kind kind = Kind::kYield;
  bool swap = false, peel = false, optional = false;
  bool pack = false;  ///< kNode: some of the operators have several results
  std::uint16_t a = 0, b = 0, c = 0;
  std::uint16_t result = 0;  ///< kNode: which result of the operator the class must be
  std::uint32_t data = 0;

  bool operator==(const Instr&) const = default;
};

struct AttrTest {
  std::string attr;
  ops::AttrValue value;
};
struct AttrPair {
  std::string first, second;
  bool operator==(const AttrPair&) const = default;
};

/// Instructions with a common beginning are one path: a node runs, then each of its children on what it left behind.
struct TrieNode {
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

  Instr instr;
  std::uint32_t parent = kNone;
  std::uint32_t first_child = kNone;
  std::uint32_t next_sibling = kNone;
  std::uint32_t word = 0;   ///< where its words stand in the match record
  std::uint16_t depth = 0;  ///< of a root: operators below each other that its patterns look at, at most
  bool joined = false;      ///< a root of parts: all their matches are needed in each round, to be joined with new ones
};

/// Where a name of a rule gets its value from once its pattern has matched.
struct Binding {
  enum class Kind : std::uint8_t {
    kValue,    ///< class register `index`; nothing when that operand was left out
    kAttr,     ///< attribute `attr` of matched node `index`
    kNumber,   ///< the one value of the constant in register `index`
    kNothing,  ///< an optional part that this variant leaves out
  };
  std::string name;
  Kind kind = Kind::kValue;
  std::uint16_t index = 0;
  std::string attr;
};

/// What stands below one root of patterns of several: matched by itself, then joined. Roots that are written alike, in
/// whatever rules, are one part.
struct Part {
  std::vector<std::uint32_t> code;  ///< trie nodes from the root to the kPart
  std::uint32_t words = 0;          ///< length of a match record
  std::uint16_t registers = 0, nodes = 0;
};

/// One root of a pattern of several: its registers and nodes follow those of the roots before it, and so do its words.
struct Root {
  /// An attribute of one of its nodes that must equal one of a node before it (of the whole pattern).
  struct SameAttr {
    std::uint32_t pair = 0;  ///< index into attr_pairs
    std::uint16_t node = 0, before = 0;
  };
  std::uint32_t part = 0;
  std::uint32_t first_code = 0, first_word = 0;
  std::uint16_t first_register = 0, first_node = 0;
  /// Registers of the part and those before it (of the whole pattern) that hold the same class: what the hash join goes
  /// by. Of every root but the first there is one at least.
  std::vector<std::pair<std::uint16_t, std::uint16_t>> shared;
  std::vector<SameAttr> attrs;
};

struct PatternInfo {
  RuleId rule;
  std::uint32_t variant = 0;        ///< of the rule
  std::vector<std::uint32_t> code;  ///< trie nodes from the root to the kYield; of several roots, of all their parts
  std::vector<Root> roots;          ///< of a pattern of several roots; else empty
  bool alike = false;               ///< its roots are written alike: a match is a set of values, and is found once
  std::uint32_t words = 0;          ///< length of a match record
  std::vector<Binding> bindings;    ///< by name
  /// Matched nodes that have a name; an expression may ask for their attributes as `name.attr`, or for all of them.
  std::vector<std::pair<std::string, std::uint16_t>> named_nodes;
};

/// Words that an instruction adds to a match record: of a node itself and, with `pack`, its result node; with `peel`
/// the broadcast and the reshape that were looked through.
std::uint32_t record_words(const Instr& instr);

/// All patterns of a set of rewrites as one matcher, anchored at root operators. Plain data.
struct Program {
  std::vector<TrieNode> trie;        ///< parents first
  std::vector<std::uint32_t> roots;  ///< the kNode instructions that patterns begin with
  std::vector<PatternInfo> patterns;
  std::vector<Part> parts;
  std::vector<rule::OpSet> op_sets;
  std::vector<rule::LiteralPattern> literals;
  std::vector<AttrTest> attr_tests;
  std::vector<AttrPair> attr_pairs;
  std::uint16_t registers = 0;  ///< class registers of a pattern, at most
  std::uint16_t nodes = 0;      ///< matched nodes of a pattern, at most
};

struct Known;  // what a compiler has entered

/// Adds patterns to a program, in any order; the numbers of what is in it already stay.
class Compiler {
 public:
  /// @param program  empty; both must outlive the compiler.
  Compiler(const ops::OpTable& table, Program& program);
  ~Compiler();
  Compiler(const Compiler&) = delete;
  Compiler& operator=(const Compiler&) = delete;

  /// Adds one variant of a rewrite.
  /// Errors: a pattern of more than 4,096 instructions, or of a root that shares no value with those before it.
  Status add(const rule::RewriteRule& rewrite, RuleId id, std::uint32_t variant);

 private:
  const ops::OpTable& table_;
  Program& program_;
  std::unique_ptr<Known> known_;
};

/// Compiles all variants of these rewrites. Errors: as of Compiler::add.
Result<Program> compile_program(const ops::OpTable& table, const std::vector<rule::RewriteRule>& rewrites,
                                const std::vector<RuleId>& selected);

std::string print_instr(const ops::OpTable& table, const Program& program, const Instr& instr);
/// One instruction a line, children indented, for tests and people.
std::string print_program(const ops::OpTable& table, const Program& program);

}  // namespace fusewright::match
