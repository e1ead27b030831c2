#include "fusewright/match/program.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "fusewright/support/check.hpp"

namespace fusewright::match {

using rule::PatternNode;

/// What was entered into the program so far, by content: rule sets are large, and each entry is asked for often.
struct Known {
  using TrieKey = std::tuple<std::uint32_t, std::uint64_t, std::uint64_t>;  // parent, instruction

  std::map<std::vector<ops::OpId>, std::uint32_t> op_sets;
  std::map<TrieKey, std::uint32_t> trie;
  std::map<std::uint32_t, std::uint32_t> parts;  // by the trie node in front of the kPart
  std::vector<std::uint32_t> last_child;         // by trie node
};

namespace {

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

// Stand for the parents of roots: of whole patterns, and of parts, which share nothing with them.
constexpr std::uint32_t kRootOfPatterns = TrieNode::kNone;
constexpr std::uint32_t kRootOfParts = TrieNode::kNone - 1;

Known::TrieKey trie_key(std::uint32_t parent, const Instr& i) {
  const std::uint64_t flags = (i.swap ? 1U : 0U) | (i.peel ? 2U : 0U) | (i.optional ? 4U : 0U) | (i.pack ? 8U : 0U);
  return {parent, static_cast<std::uint64_t>(i.kind) << 52 | flags << 48 | std::uint64_t{i.a} << 32 | i.data,
          std::uint64_t{i.b} << 32 | std::uint64_t{i.c} << 16 | i.result};
}

/// A straight line of instructions for what stands below one root.
struct Line {
  std::vector<Instr> code;
  std::uint16_t registers = 0, nodes = 0, depth = 1;
  Root root;  // how it hangs together with the lines before it
};

/// Writes one variant, a line for each root. Instructions count registers and nodes of their own line, bindings those
/// of all.
class VariantCompiler {
 public:
  /// @param body  whether the pattern is the body of an operator.
  VariantCompiler(const ops::OpTable& table, Program& program, Known& known, const rule::RewriteVariant& variant,
                  bool body)
      : table_(table), program_(program), known_(known), variant_(variant), body_(body) {}

  Status run() {
    for (const std::uint32_t root : variant_.roots) {
      lines_.emplace_back();
      line_ = &lines_.back();
      line_->root.first_register = registers();
      line_->root.first_node = nodes();
      registers_before_ = registers();
      nodes_before_ = nodes();
      here_.clear();
      FW_TRY_STATUS(below(root));
      if (lines_.size() > 1 && line_->root.shared.empty()) {
        return fail("the root shares no value with those before it", variant_.nodes[root].span);
      }
    }
    for (const std::string& name : variant_.absent) bindings_[name] = {name, Binding::Kind::kNothing, 0, {}};
    return {};
  }

  const std::vector<std::pair<std::string, std::uint16_t>>& named_nodes() const { return named_nodes_; }
  const std::vector<Line>& lines() const { return lines_; }
  std::uint16_t registers() const { return total(&Line::registers); }
  std::uint16_t nodes() const { return total(&Line::nodes); }
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

  std::uint16_t total(std::uint16_t Line::* count) const {
    std::uint16_t sum = 0;
    for (const Line& line : lines_) sum = static_cast<std::uint16_t>(sum + line.*count);
    return sum;
  }

  Status below(std::uint32_t root) {
    struct Pending {
      std::uint32_t pattern;
      std::uint16_t reg;
      std::uint16_t depth;
    };
    // A stack, children pushed last first: the code is in the order in which the pattern is read.
    std::vector<Pending> pending{{root, 0, 1}};
    line_->registers = 1;
    while (!pending.empty()) {
      const Pending next = pending.back();
      pending.pop_back();
      const PatternNode& pattern = variant_.nodes[next.pattern];
      const Loaded loaded = node(pattern, next.reg);
      const auto depth = static_cast<std::uint16_t>(next.depth + (loaded.peel ? 2 : 0));
      line_->depth = std::max(line_->depth, depth);
      for (std::size_t j = 0; j < pattern.operands.size(); ++j) {
        leaf(variant_.nodes[pattern.operands[j]], static_cast<std::uint16_t>(loaded.first + j));
      }
      for (std::size_t j = pattern.operands.size(); j-- > 0;) {
        if (variant_.nodes[pattern.operands[j]].kind != PatternNode::Kind::kApply) continue;
        pending.push_back(
            {pattern.operands[j], static_cast<std::uint16_t>(loaded.first + j), static_cast<std::uint16_t>(depth + 1)});
      }
      if (line_->code.size() > kMaxInstructions) return fail("the pattern is too large", pattern.span);
    }
    return {};
  }

  /// The node itself, its attributes, its operands.
  Loaded node(const PatternNode& pattern, std::uint16_t reg) {
    const std::uint16_t me = line_->nodes++;
    const auto count = static_cast<std::uint16_t>(pattern.operands.size());
    Instr choose{.kind = Instr::Kind::kNode, .a = reg, .b = me, .c = count};
    choose.result = static_cast<std::uint16_t>(pattern.result);
    const auto [set, fresh] =
        known_.op_sets.try_emplace(pattern.ops.ops, static_cast<std::uint32_t>(program_.op_sets.size()));
    if (fresh) program_.op_sets.push_back(pattern.ops);
    choose.data = set->second;
    choose.pack = std::ranges::any_of(pattern.ops.ops, [&](ops::OpId op) { return table_[op].results.size() > 1; });
    choose.swap = count >= 2 && !(is_free(pattern.operands[0]) && is_free(pattern.operands[1]));
    line_->code.push_back(choose);
    if (!pattern.name.empty()) {
      bind_value(pattern.name, reg);
      named_nodes_.emplace_back(pattern.name, static_cast<std::uint16_t>(nodes_before_ + me));
    }
    for (const rule::AttrPattern& attr : pattern.attrs) attribute(attr, me);

    const bool elementwise = std::ranges::any_of(
        pattern.ops.ops, [&](ops::OpId op) { return table_[op].op_class == ops::OpClass::kElementwise; });
    Loaded loaded{line_->registers, false};
    std::uint32_t shaping = 0;
    for (std::uint16_t j = 0; j < count; ++j) {
      const PatternNode& operand = variant_.nodes[pattern.operands[j]];
      Instr load{.kind = Instr::Kind::kOperand, .optional = operand.optional, .a = me, .b = j, .c = line_->registers++};
      load.peel = elementwise && count >= 2 &&
                  (operand.kind == PatternNode::Kind::kApply || operand.kind == PatternNode::Kind::kVariable) &&
                  !follows(operand);
      loaded.peel |= load.peel;
      line_->code.push_back(load);
      if (!follows(operand) && j < 32) shaping |= 1U << j;
    }
    if (loaded.peel)
      line_->code.push_back({.kind = Instr::Kind::kFit, .a = me, .b = loaded.first, .c = count, .data = shaping});
    return loaded;
  }

  /// Whether an operand takes the shape of what stands beside it, and gives none: a number; in a body, `s along axes`.
  bool follows(const PatternNode& operand) const {
    if (operand.kind == PatternNode::Kind::kLiteral) return true;
    return body_ && operand.kind == PatternNode::Kind::kApply && table_[operand.ops.ops[0]].name == "broadcast";
  }

  void attribute(const rule::AttrPattern& attr, std::uint16_t node) {
    if (attr.bind.empty()) {
      const AttrTest test{attr.attr, *attr.value};
      const auto same = [](const AttrTest& a, const AttrTest& b) {
        return a.attr == b.attr && ops::equal(a.value, b.value);
      };
      line_->code.push_back({.kind = Instr::Kind::kAttrIs, .a = node, .data = pooled(program_.attr_tests, test, same)});
      return;
    }
    const auto whole = static_cast<std::uint16_t>(nodes_before_ + node);
    const auto [it, fresh] =
        bindings_.try_emplace(attr.bind, Binding{attr.bind, Binding::Kind::kAttr, whole, attr.attr});
    if (fresh) return;
    const AttrPair attrs{attr.attr, it->second.attr};
    const std::uint32_t pair = pooled(program_.attr_pairs, attrs, std::equal_to<>());
    const std::uint16_t first = it->second.index;
    if (first < nodes_before_) {
      line_->root.attrs.push_back({pair, node, first});
      return;
    }
    const auto own = static_cast<std::uint16_t>(first - nodes_before_);
    line_->code.push_back({.kind = Instr::Kind::kAttrSame, .a = node, .b = own, .data = pair});
  }

  void leaf(const PatternNode& pattern, std::uint16_t reg) {
    if (pattern.kind == PatternNode::Kind::kVariable) bind_value(pattern.name, reg);
    if (pattern.kind != PatternNode::Kind::kLiteral) return;
    line_->code.push_back(
        {.kind = Instr::Kind::kLiteral, .a = reg, .data = pooled(program_.literals, pattern.literal, same_literal)});
    const std::string& name = pattern.literal.bind;
    const auto whole = static_cast<std::uint16_t>(registers_before_ + reg);
    if (!name.empty()) bindings_.try_emplace(name, Binding{name, Binding::Kind::kNumber, whole, {}});
  }

  void bind_value(const std::string& name, std::uint16_t reg) {
    if (const auto [own, first_here] = here_.try_emplace(name, reg); !first_here) {
      line_->code.push_back({.kind = Instr::Kind::kSame, .a = reg, .b = own->second});
      return;
    }
    const auto whole = static_cast<std::uint16_t>(registers_before_ + reg);
    const auto [it, fresh] = bindings_.try_emplace(name, Binding{name, Binding::Kind::kValue, whole, {}});
    if (!fresh) line_->root.shared.emplace_back(reg, it->second.index);
  }

  /// A wildcard matches whichever way round.
  bool is_free(std::uint32_t pattern) const {
    return variant_.nodes[pattern].kind == PatternNode::Kind::kWildcard && !variant_.nodes[pattern].optional;
  }

  const ops::OpTable& table_;
  Program& program_;
  Known& known_;
  const rule::RewriteVariant& variant_;
  const bool body_;
  std::vector<Line> lines_;
  Line* line_ = nullptr;  // the last of them
  std::uint16_t registers_before_ = 0, nodes_before_ = 0;
  std::map<std::string, std::uint16_t> here_;  // register of the line by name
  std::map<std::string, Binding> bindings_;
  std::vector<std::pair<std::string, std::uint16_t>> named_nodes_;
};

/// Enters instructions into the trie. @returns their nodes; `words` gets the length of a record.
std::vector<std::uint32_t> insert(Program& program, Known& known, const Line& line, std::uint32_t root,
                                  std::uint32_t& words) {
  std::vector<std::uint32_t> path;
  std::uint32_t parent = root;
  for (const Instr& instr : line.code) {
    const auto at = static_cast<std::uint32_t>(program.trie.size());
    const auto [found, fresh] = known.trie.try_emplace(trie_key(parent, instr), at);
    if (fresh) {
      const bool top = parent == root;
      program.trie.push_back({.instr = instr, .parent = top ? TrieNode::kNone : parent, .word = words});
      known.last_child.push_back(TrieNode::kNone);
      if (top) {
        program.trie.back().joined = root == kRootOfParts;
        program.roots.push_back(at);
      } else {
        const std::uint32_t before = std::exchange(known.last_child[parent], at);
        (before == TrieNode::kNone ? program.trie[parent].first_child : program.trie[before].next_sibling) = at;
      }
    }
    words += record_words(instr);
    path.push_back(found->second);
    parent = found->second;
  }
  TrieNode& top = program.trie[path.front()];
  top.depth = std::max(top.depth, line.depth);
  return path;
}

/// The part that a line is, which other roots may be already.
std::uint32_t part_of(Program& program, Known& known, Line line) {
  std::uint32_t words = 0;
  const std::uint32_t last = insert(program, known, line, kRootOfParts, words).back();
  const auto [found, fresh] = known.parts.try_emplace(last, static_cast<std::uint32_t>(program.parts.size()));
  if (!fresh) return found->second;
  line.code.push_back({.kind = Instr::Kind::kPart, .data = found->second});
  words = 0;
  std::vector<std::uint32_t> code = insert(program, known, line, kRootOfParts, words);
  program.parts.push_back({std::move(code), words, line.registers, line.nodes});
  return found->second;
}

/// Roots of one part that share the same of their registers with each other, and nothing else: any order of them is a
/// match if one is.
bool are_alike(const Program& program, const std::vector<Root>& roots) {
  return std::ranges::all_of(roots, [&](const Root& root) {
    const Part& part = program.parts[root.part];
    return root.part == roots[0].part &&
           std::ranges::all_of(root.shared,
                               [&](const auto& same) { return same.first == same.second % part.registers; }) &&
           std::ranges::all_of(root.attrs, [&](const Root::SameAttr& same) {
             const AttrPair& pair = program.attr_pairs[same.pair];
             return same.node == same.before % part.nodes && pair.first == pair.second;
           });
  });
}

void insert_pattern(Program& program, Known& known, PatternInfo pattern, const VariantCompiler& variant) {
  if (variant.lines().size() == 1) {
    Line line = variant.lines()[0];
    line.code.push_back({.kind = Instr::Kind::kYield, .data = static_cast<std::uint32_t>(program.patterns.size())});
    pattern.code = insert(program, known, line, kRootOfPatterns, pattern.words);
  } else {
    for (const Line& line : variant.lines()) {
      Root root = line.root;
      root.part = part_of(program, known, line);
      root.first_code = static_cast<std::uint32_t>(pattern.code.size());
      root.first_word = pattern.words;
      const Part& part = program.parts[root.part];
      pattern.code.insert(pattern.code.end(), part.code.begin(), part.code.end());
      pattern.words += part.words;
      pattern.roots.push_back(std::move(root));
    }
    pattern.alike = are_alike(program, pattern.roots);
  }
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

Compiler::Compiler(const ops::OpTable& table, Program& program)
    : table_(table), program_(program), known_(std::make_unique<Known>()) {}

Compiler::~Compiler() = default;

Status Compiler::add(const rule::RewriteRule& rewrite, RuleId id, std::uint32_t index) {
  const rule::RewriteVariant& variant = rewrite.variants[index];
  for (const std::uint32_t root : variant.roots) {
    if (variant.nodes[root].kind == PatternNode::Kind::kApply) continue;
    return fail("the pattern of rewrite '" + rewrite.name + "' is not an operator, so it would match everything",
                variant.nodes[root].span);
  }
  const bool recognises = rewrite.origin == rule::RewriteRule::Origin::kRecognise;
  VariantCompiler compiler(table_, program_, *known_, variant, recognises);
  FW_TRY_STATUS(compiler.run());
  PatternInfo pattern;
  pattern.rule = id;
  pattern.variant = index;
  pattern.bindings = compiler.bindings();
  pattern.named_nodes = compiler.named_nodes();
  insert_pattern(program_, *known_, std::move(pattern), compiler);
  return {};
}

Result<Program> compile_program(const ops::OpTable& table, const std::vector<rule::RewriteRule>& rewrites,
                                const std::vector<RuleId>& selected) {
  Program program;
  Compiler compiler(table, program);
  for (const RuleId id : selected) {
    for (std::uint32_t v = 0; v < rewrites[id.index].variants.size(); ++v)
      FW_TRY_STATUS(compiler.add(rewrites[id.index], id, v));
  }
  return program;
}

}  // namespace fusewright::match
