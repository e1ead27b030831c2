#include "fusewright/match/program.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "fusewright/support/check.hpp"

namespace fusewright::match {
namespace {

using rule::PatternNode;

constexpr std::size_t kMaxInstructions = 4096;

/// Index of `value` in `pool`, which gets it where it is new.
template <class T, class Same>
std::uint32_t pooled(std::vector<T>& pool, const T& value, Same&& same) {
  const auto it = std::ranges::find_if(pool, [&](const T& other) { return same(other, value); });
  if (it != pool.end()) return static_cast<std::uint32_t>(it - pool.begin());
  pool.push_back(value);
  return static_cast<std::uint32_t>(pool.size() - 1);
}

bool same_literal(const rule::LiteralPattern& a, const rule::LiteralPattern& b) {
  return a.any == b.any && a.value == b.value && a.tolerance == b.tolerance && a.approximate == b.approximate;
}

/// What was entered into the program so far, by content: rule sets are large, and each entry is asked for often.
struct Known {
  using TrieKey = std::tuple<std::uint32_t, std::uint64_t, std::uint64_t>;  // parent, instruction

  std::map<std::vector<ops::OpId>, std::uint32_t> op_sets;
  std::map<TrieKey, std::uint32_t> trie;
};

Known::TrieKey trie_key(std::uint32_t parent, const Instr& i) {
  const std::uint64_t flags = (i.swap ? 1U : 0U) | (i.peel ? 2U : 0U) | (i.optional ? 4U : 0U) | (i.pack ? 8U : 0U);
  return {parent, static_cast<std::uint64_t>(i.kind) << 52 | flags << 48 | std::uint64_t{i.a} << 32 | i.data,
          std::uint64_t{i.b} << 32 | std::uint64_t{i.c} << 16 | i.result};
}

/// Writes one variant as a straight line of instructions.
class VariantCompiler {
 public:
  VariantCompiler(const ops::OpTable& table, Program& program, Known& known, const rule::RewriteVariant& variant)
      : table_(table), program_(program), known_(known), variant_(variant) {}

  Status run() {
    struct Pending {
      std::uint32_t pattern;
      std::uint16_t reg;
      std::uint16_t depth;
    };
    // A stack, children pushed last first: the code is in the order in which the pattern is read.
    std::vector<Pending> pending{{variant_.roots[0], 0, 1}};
    registers_ = 1;
    while (!pending.empty()) {
      const Pending next = pending.back();
      pending.pop_back();
      const PatternNode& pattern = variant_.nodes[next.pattern];
      const Loaded loaded = node(pattern, next.reg);
      const auto below = static_cast<std::uint16_t>(next.depth + (loaded.peel ? 2 : 0));
      depth_ = std::max(depth_, below);
      for (std::size_t j = 0; j < pattern.operands.size(); ++j) {
        leaf(variant_.nodes[pattern.operands[j]], static_cast<std::uint16_t>(loaded.first + j));
      }
      for (std::size_t j = pattern.operands.size(); j-- > 0;) {
        if (variant_.nodes[pattern.operands[j]].kind != PatternNode::Kind::kApply) continue;
        pending.push_back(
            {pattern.operands[j], static_cast<std::uint16_t>(loaded.first + j), static_cast<std::uint16_t>(below + 1)});
      }
      if (code_.size() > kMaxInstructions) return fail("the pattern is too large", pattern.span);
    }
    for (const std::string& name : variant_.absent) bindings_[name] = {name, Binding::Kind::kNothing, 0, {}};
    return {};
  }

  const std::vector<std::pair<std::string, std::uint16_t>>& named_nodes() const { return named_nodes_; }
  const std::vector<Instr>& code() const { return code_; }
  std::uint16_t registers() const { return registers_; }
  std::uint16_t nodes() const { return nodes_; }
  std::uint16_t depth() const { return depth_; }
  std::vector<Binding> bindings() const {
    std::vector<Binding> all;
    for (const auto& [name, binding] : bindings_) all.push_back(binding);
    return all;
  }

 private:
  struct Loaded {
    std::uint16_t first = 0;  // register of operand 0
    bool peel = false;
  };

  /// The node itself, its attributes, its operands.
  Loaded node(const PatternNode& pattern, std::uint16_t reg) {
    const std::uint16_t me = nodes_++;
    const auto count = static_cast<std::uint16_t>(pattern.operands.size());
    Instr choose{.kind = Instr::Kind::kNode, .a = reg, .b = me, .c = count};
    choose.result = static_cast<std::uint16_t>(pattern.result);
    const auto [set, fresh] =
        known_.op_sets.try_emplace(pattern.ops.ops, static_cast<std::uint32_t>(program_.op_sets.size()));
    if (fresh) program_.op_sets.push_back(pattern.ops);
    choose.data = set->second;
    choose.pack = std::ranges::any_of(pattern.ops.ops, [&](ops::OpId op) { return table_[op].results.size() > 1; });
    choose.swap = count >= 2 && !(is_free(pattern.operands[0]) && is_free(pattern.operands[1]));
    code_.push_back(choose);
    if (!pattern.name.empty()) {
      bind_value(pattern.name, reg);
      named_nodes_.emplace_back(pattern.name, me);
    }
    for (const rule::AttrPattern& attr : pattern.attrs) attribute(attr, me);

    const bool elementwise = std::ranges::any_of(
        pattern.ops.ops, [&](ops::OpId op) { return table_[op].op_class == ops::OpClass::kElementwise; });
    Loaded loaded{registers_, false};
    for (std::uint16_t j = 0; j < count; ++j) {
      const PatternNode& operand = variant_.nodes[pattern.operands[j]];
      Instr load{.kind = Instr::Kind::kOperand, .optional = operand.optional, .a = me, .b = j, .c = registers_++};
      load.peel = elementwise && count >= 2 &&
                  (operand.kind == PatternNode::Kind::kApply || operand.kind == PatternNode::Kind::kVariable);
      loaded.peel |= load.peel;
      code_.push_back(load);
    }
    if (loaded.peel) code_.push_back({.kind = Instr::Kind::kFit, .a = me, .b = loaded.first, .c = count});
    return loaded;
  }

  void attribute(const rule::AttrPattern& attr, std::uint16_t node) {
    if (attr.bind.empty()) {
      const AttrTest test{attr.attr, *attr.value};
      const auto same = [](const AttrTest& a, const AttrTest& b) {
        return a.attr == b.attr && ops::equal(a.value, b.value);
      };
      code_.push_back({.kind = Instr::Kind::kAttrIs, .a = node, .data = pooled(program_.attr_tests, test, same)});
      return;
    }
    const auto [it, fresh] =
        bindings_.try_emplace(attr.bind, Binding{attr.bind, Binding::Kind::kAttr, node, attr.attr});
    if (fresh) return;
    const AttrPair pair{attr.attr, it->second.attr};
    code_.push_back({.kind = Instr::Kind::kAttrSame,
                     .a = node,
                     .b = it->second.index,
                     .data = pooled(program_.attr_pairs, pair, std::equal_to<>())});
  }

  void leaf(const PatternNode& pattern, std::uint16_t reg) {
    if (pattern.kind == PatternNode::Kind::kVariable) bind_value(pattern.name, reg);
    if (pattern.kind != PatternNode::Kind::kLiteral) return;
    code_.push_back(
        {.kind = Instr::Kind::kLiteral, .a = reg, .data = pooled(program_.literals, pattern.literal, same_literal)});
    const std::string& name = pattern.literal.bind;
    if (!name.empty()) bindings_.try_emplace(name, Binding{name, Binding::Kind::kNumber, reg, {}});
  }

  void bind_value(const std::string& name, std::uint16_t reg) {
    const auto [it, fresh] = bindings_.try_emplace(name, Binding{name, Binding::Kind::kValue, reg, {}});
    if (!fresh) code_.push_back({.kind = Instr::Kind::kSame, .a = reg, .b = it->second.index});
  }

  /// A wildcard matches whichever way round.
  bool is_free(std::uint32_t pattern) const {
    return variant_.nodes[pattern].kind == PatternNode::Kind::kWildcard && !variant_.nodes[pattern].optional;
  }

  const ops::OpTable& table_;
  Program& program_;
  Known& known_;
  const rule::RewriteVariant& variant_;
  std::vector<Instr> code_;
  std::map<std::string, Binding> bindings_;
  std::vector<std::pair<std::string, std::uint16_t>> named_nodes_;
  std::uint16_t registers_ = 0, nodes_ = 0, depth_ = 1;
};

void insert(Program& program, Known& known, PatternInfo pattern, const VariantCompiler& variant,
            std::vector<std::uint32_t>& last_child) {
  std::vector<Instr> code = variant.code();
  code.push_back({.kind = Instr::Kind::kYield, .data = static_cast<std::uint32_t>(program.patterns.size())});
  std::uint32_t parent = TrieNode::kNone;
  for (const Instr& instr : code) {
    pattern.words += record_words(instr);
    const auto at = static_cast<std::uint32_t>(program.trie.size());
    const auto [found, fresh] = known.trie.try_emplace(trie_key(parent, instr), at);
    if (fresh) {
      program.trie.push_back({.instr = instr, .parent = parent, .word = pattern.words - record_words(instr)});
      last_child.push_back(TrieNode::kNone);
      if (parent == TrieNode::kNone) {
        program.roots.push_back(at);
      } else {
        const std::uint32_t before = std::exchange(last_child[parent], at);
        (before == TrieNode::kNone ? program.trie[parent].first_child : program.trie[before].next_sibling) = at;
      }
    }
    pattern.code.push_back(found->second);
    parent = found->second;
  }
  TrieNode& root = program.trie[pattern.code.front()];
  root.depth = std::max(root.depth, variant.depth());
  program.registers = std::max(program.registers, variant.registers());
  program.nodes = std::max(program.nodes, variant.nodes());
  program.patterns.push_back(std::move(pattern));
}

}  // namespace

std::uint32_t record_words(const Instr& instr) {
  if (instr.kind == Instr::Kind::kNode) return instr.pack ? 2 : 1;
  if (instr.kind == Instr::Kind::kOperand && instr.peel) return 2;
  return 0;
}

Result<Program> compile_program(const ops::OpTable& table, const std::vector<rule::RewriteRule>& rewrites,
                                const std::vector<RuleId>& selected) {
  Program program;
  Known known;
  std::vector<std::uint32_t> last_child;  // by trie node
  for (const RuleId id : selected) {
    const rule::RewriteRule& rewrite = rewrites[id.index];
    for (std::size_t v = 0; v < rewrite.variants.size(); ++v) {
      const rule::RewriteVariant& variant = rewrite.variants[v];
      FW_CHECK(variant.roots.size() == 1) << rewrite.name;
      const PatternNode& root = variant.nodes[variant.roots[0]];
      if (root.kind != PatternNode::Kind::kApply) {
        return fail("the pattern of rewrite '" + rewrite.name + "' is not an operator, so it would match everything",
                    root.span);
      }
      VariantCompiler compiler(table, program, known, variant);
      FW_TRY_STATUS(compiler.run());
      PatternInfo pattern;
      pattern.rule = id;
      pattern.variant = static_cast<std::uint32_t>(v);
      pattern.bindings = compiler.bindings();
      pattern.named_nodes = compiler.named_nodes();
      insert(program, known, std::move(pattern), compiler, last_child);
    }
  }
  return program;
}

}  // namespace fusewright::match
