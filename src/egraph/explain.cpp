#include "fusewright/egraph/explain.hpp"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "fusewright/support/check.hpp"

namespace fusewright::egraph {
namespace {

/// Collects everything that a proof rests on. Each obligation is met once; a work list, because chains are long.
class Explainer {
 public:
  /// @param whole_terms  false: of the terms only those that applications made, for who asks for applications alone;
  ///                     and of a term that a step of a chain gives, not which application was the first to make it
  /// @param constants  false: how constants came about is not asked; they are shared by all that use them
  Explainer(const EGraph& egraph, const match::Program& program, bool whole_terms = true, bool constants = true)
      : egraph_(egraph), program_(program), whole_terms_(whole_terms), constants_(constants) {}

  std::vector<ProofStep> equal(EClassId a, EClassId b) {
    need_term(a);
    need_term(b);
    std::vector<ProofStep> chain = path(a, b);
    need_steps(chain);
    work();
    return chain;
  }
  void exists(ENodeId n) {
    need_term(term(n));
    work();
  }
  Explanation finish(std::vector<ProofStep> chain) {
    Explanation out{std::move(chain), {applications_.begin(), applications_.end()}, {terms_.begin(), terms_.end()}};
    std::ranges::sort(out.applications);
    std::ranges::sort(out.terms);
    return out;
  }

 private:
  /// The only way between two terms in the proof forest.
  std::vector<ProofStep> path(EClassId a, EClassId b) const {
    const auto depth = [this](EClassId t) {
      std::size_t links = 0;
      for (; egraph_.proof_parent(t) != t; t = egraph_.proof_parent(t)) ++links;
      return links;
    };
    std::size_t below_a = depth(a), below_b = depth(b);
    std::vector<ProofStep> steps, back;
    while (a != b) {
      FW_CHECK(below_a + below_b > 0) << "two terms that are not equal";
      if (below_a >= below_b) {
        steps.push_back({a, egraph_.proof_parent(a), egraph_.proof_reason(a), true});
        a = egraph_.proof_parent(a);
        --below_a;
      } else {
        back.push_back({egraph_.proof_parent(b), b, egraph_.proof_reason(b), true});
        b = egraph_.proof_parent(b);
        --below_b;
      }
    }
    steps.insert(steps.end(), back.rbegin(), back.rend());
    for (ProofStep& step : steps) {
      if (step.reason.kind != Reason::Kind::kApplication) continue;
      decode(egraph_, program_, egraph_[step.reason.application].pattern, egraph_.matched(step.reason.application),
             false, scratch_);
      step.forward = is_root(program_.patterns[egraph_[step.reason.application].pattern.index], scratch_, step.from);
    }
    return steps;
  }

  bool asked(EClassId t) const { return constants_ || t == egraph_.none() || !egraph_.fact(t).constant(); }
  void need_equal(EClassId a, EClassId b) {
    if (a == b || !asked(a)) return;
    need_term(a);
    need_term(b);
    const auto [low, high] = std::minmax(a.index, b.index);
    if (pairs_.insert(std::uint64_t{low} << 32 | high).second) open_pairs_.emplace_back(a, b);
  }
  void need_term(EClassId t) {
    if (t != egraph_.none() && asked(t) && terms_.insert(founder(t)).second) open_terms_.push_back(founder(t));
  }
  void need_made(ENodeId n) {
    if (egraph_.made_by(n).valid()) need_application(egraph_.made_by(n));
    for (const EClassId operand : egraph_.original_operands(n)) need_term(operand);
  }
  void need_application(ApplicationId id) {
    if (applications_.insert(id).second) open_applications_.push_back(id);
  }
  void need_fact(EClassId t) {
    need_term(t);
    if (asked(t) && facts_.insert(t).second) open_facts_.push_back(t);
  }
  void need_note(const Note& note) {
    if (note.b.valid()) {
      if (egraph_.find(note.a) == egraph_.find(note.b)) need_equal(note.a, note.b);
    } else {
      need_fact(note.a);
    }
  }

  void need_steps(const std::vector<ProofStep>& steps) {
    for (const ProofStep& step : steps) {
      need_term(step.from);
      need_term(step.to);
      if (step.reason.kind == Reason::Kind::kApplication) given_.insert(founder(step.forward ? step.to : step.from));
      switch (step.reason.kind) {
        case Reason::Kind::kGiven: break;
        case Reason::Kind::kApplication: need_application(step.reason.application); break;
        case Reason::Kind::kCongruence: need_operands(step, false); break;
        case Reason::Kind::kCongruenceSwapped: need_operands(step, true); break;
      }
    }
  }
  void need_operands(const ProofStep& step, bool swapped) {
    const auto from = egraph_.original_operands(founder(step.from));
    const auto to = egraph_.original_operands(founder(step.to));
    for (std::size_t i = 0; i < from.size(); ++i) need_equal(from[i], to[swapped && i < 2 ? 1 - i : i]);
  }

  void work() {
    while (true) {
      if (!open_terms_.empty()) {
        const ENodeId n = open_terms_.back();
        open_terms_.pop_back();
        if (whole_terms_)
          need_made(n);
        else if (egraph_.made_by(n).valid())  // a node of the model is made of nodes of the model
          open_made_.push_back(n);
      } else if (!open_applications_.empty()) {
        const ApplicationId id = open_applications_.back();
        open_applications_.pop_back();
        decode(egraph_, program_, egraph_[id].pattern, egraph_.matched(id), true, scratch_);
        for (const MatchWord word : egraph_.matched(id)) {
          if (!word.none()) need_term(term(word.node()));
        }
        for (const Note& note : scratch_.relied) need_note(note);
        for (const Note& note : egraph_.notes(id)) need_note(note);
      } else if (!open_facts_.empty()) {
        const EClassId t = open_facts_.back();
        open_facts_.pop_back();
        if (egraph_.fact(t) == Fact()) continue;
        const ENodeId witness = egraph_.witness(t);
        need_equal(t, term(witness));
        for (const EClassId operand : egraph_.original_operands(witness)) need_fact(operand);
      } else if (!open_pairs_.empty()) {
        const auto [a, b] = open_pairs_.back();
        open_pairs_.pop_back();
        need_steps(path(a, b));
      } else if (!open_made_.empty()) {
        const ENodeId n = open_made_.back();
        open_made_.pop_back();
        if (!given_.contains(n)) need_made(n);
      } else {
        return;
      }
    }
  }

  const EGraph& egraph_;
  const match::Program& program_;
  const bool whole_terms_, constants_;
  std::unordered_set<std::uint64_t> pairs_;
  std::unordered_set<ENodeId> terms_, given_;
  std::unordered_set<ApplicationId> applications_;
  std::unordered_set<EClassId> facts_;
  std::vector<std::pair<EClassId, EClassId>> open_pairs_;
  std::vector<ENodeId> open_terms_, open_made_;
  std::vector<ApplicationId> open_applications_;
  std::vector<EClassId> open_facts_;
  mutable Decoded scratch_;
};

/// Builds the needed part of an e-graph again.
class Replayer {
 public:
  Replayer(const EGraph& egraph, const match::Program& program, const ApplyMatch& apply)
      : old_(egraph), program_(program), apply_(apply), new_(egraph.table_pointer()) {}

  Status run(const Explanation& explanation, EClassId a, EClassId b) {
    std::size_t next = 0;
    for (const ENodeId n : explanation.terms) {
      const ApplicationId made_by = old_.made_by(n);
      while (made_by.valid() && next < explanation.applications.size() && explanation.applications[next] <= made_by) {
        FW_TRY_STATUS(apply(explanation.applications[next++]));
      }
      FW_TRY_STATUS(make(n));
    }
    while (next < explanation.applications.size()) FW_TRY_STATUS(apply(explanation.applications[next++]));
    if (new_.find(at(a)) == new_.find(at(b))) return {};
    return fail(ErrorKind::kCheckFailed, "replay does not make the two terms equal");
  }

 private:
  EClassId at(EClassId t) const { return t == old_.none() ? new_.none() : terms_.at(t); }

  Status make(ENodeId n) {
    const ENode& node = old_[n];
    operands_.clear();
    for (const EClassId operand : old_.original_operands(n)) operands_.push_back(at(operand));
    const TypeId type = new_.intern(old_.type(term(n)));
    const bool result = node.op == old_.result_op();
    const bool internal = result || node.op.index >= old_.table().size();
    AttrsId attrs = node.attrs;
    if (!internal) {
      const auto known = attrs_.find(node.attrs);
      attrs = known != attrs_.end() ? known->second : attrs_of(n);
    }
    if (!old_.made_by(n).valid()) {
      terms_[term(n)] = term(new_.add(result ? new_.result_op() : node.op, attrs, operands_, type));
      return {};
    }
    const ENodeId found = new_.lookup(result ? new_.result_op() : node.op, attrs, operands_, type);
    if (!found.valid()) return failed(old_.made_by(n), "does not make a node that it made before");
    terms_[term(n)] = term(found);
    return {};
  }

  /// Equal attributes must stay equal; those of nodes with an identity differ from all others.
  AttrsId attrs_of(ENodeId n) {
    const ops::Attrs& attrs = old_.attrs(n);
    const AttrsId id = old_.is_distinct(old_[n].attrs) ? new_.intern_distinct(attrs) : new_.intern(attrs);
    attrs_.emplace(old_[n].attrs, id);
    return id;
  }

  Status apply(ApplicationId id) {
    decode(old_, program_, old_[id].pattern, old_.matched(id), true, match_);
    for (const Note& note : match_.relied) {
      if (note.b.valid() && new_.find(at(note.a)) != new_.find(at(note.b))) {
        return failed(id, "relies on an equality that does not hold");
      }
    }
    match_.root = at(match_.root);
    for (EClassId& reg : match_.registers) reg = terms_.contains(reg) || reg == old_.none() ? at(reg) : new_.none();
    for (ENodeId& n : match_.nodes) {
      if (n.valid() && terms_.contains(term(n))) n = founder(at(term(n)));
    }
    if (!apply_(new_, old_[id].pattern, match_)) return failed(id, "is refused");
    new_.rebuild();
    return {};
  }

  std::unexpected<Error> failed(ApplicationId id, const std::string& what) const {
    return fail(ErrorKind::kCheckFailed, "application " + std::to_string(id.index) + " of pattern " +
                                             std::to_string(old_[id].pattern.index) + " " + what + " when replayed");
  }

  const EGraph& old_;
  const match::Program& program_;
  const ApplyMatch& apply_;
  EGraph new_;
  std::unordered_map<EClassId, EClassId> terms_;
  std::unordered_map<AttrsId, AttrsId> attrs_;
  std::vector<EClassId> operands_;
  Decoded match_;
};

}  // namespace

Explanation explain(const EGraph& egraph, const match::Program& program, EClassId a, EClassId b) {
  FW_CHECK(egraph.records() && egraph.find(a) == egraph.find(b)) << "nothing to explain";
  Explainer explainer(egraph, program);
  std::vector<ProofStep> chain = explainer.equal(a, b);
  return explainer.finish(std::move(chain));
}

Explanation explain_node(const EGraph& egraph, const match::Program& program, ENodeId node) {
  FW_CHECK(egraph.records()) << "nothing to explain";
  Explainer explainer(egraph, program);
  explainer.exists(node);
  return explainer.finish({});
}

std::vector<ApplicationId> applications_between(const EGraph& egraph, const match::Program& program, EClassId a,
                                                EClassId b) {
  FW_CHECK(egraph.records() && egraph.find(a) == egraph.find(b)) << "nothing to explain";
  Explainer explainer(egraph, program, false, egraph.fact(a).constant());
  return explainer.finish(explainer.equal(a, b)).applications;
}

Status replay(const EGraph& egraph, const match::Program& program, const Explanation& explanation, EClassId a,
              EClassId b, const ApplyMatch& apply) {
  return Replayer(egraph, program, apply).run(explanation, a, b);
}

}  // namespace fusewright::egraph
