#include "bound.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <queue>
#include <set>

#include "fusewright/egraph/index.hpp"
#include "fusewright/ops/tensor.hpp"

namespace fusewright::extract {

namespace {

using graph::Value;

/// One way to compute a value.
struct Form {
  double seconds = 0;    ///< arithmetic that every kernel with it does
  bool partial = false;  ///< may read only some elements of an operand
  std::vector<std::uint32_t> operands;
};

/// Values and the forms that each can take; a plan picks one for each value that it needs.
struct Forms {
  std::vector<std::vector<Form>> values;
  std::vector<std::uint32_t> results;
  std::vector<double> bytes_read;     ///< by value: of parameters and constants, which lie in memory
  std::vector<double> bytes_written;  ///< by value: of everything else
};

double bytes_of(const ops::Type& type) {
  if (!type.is_tensor() || !ops::is_static(type.shape)) return 0;
  return static_cast<double>(ops::byte_size(type));
}

region::RegionValue value_of(const ops::Type& type) {
  region::RegionValue value;
  value.dtype = type.dtype;
  for (const Dim& dim : type.shape) value.dims.push_back(dim.constant().value_or(0));
  return value;
}

bool is_source(const ops::OpInfo& info) { return info.name == "parameter" || info.name == "constant"; }

// What the cost model charges every kernel that computes this operator; nothing for what has no kernel.
double arithmetic(const ops::OpTable& table, ops::OpId op, const ops::Attrs& attrs,
                  const std::vector<ops::Type>& operands, const ops::Type& type, const cost::Device& device) {
  const ops::OpInfo& info = table[op];
  const ops::Type& first = type.is_tensor() || type.elements.empty() ? type : type.elements.front();
  const auto has_kernel = [](const ops::Type& t) { return t.is_tensor() && ops::is_static(t.shape); };
  if (is_source(info) || info.op_class == ops::OpClass::kControl || info.op_class == ops::OpClass::kEffect ||
      !has_kernel(first) || !std::all_of(operands.begin(), operands.end(), has_kernel))
    return 0;
  region::Region region;
  region::RegionValue value = value_of(first);
  for (const ops::Type& operand : operands) {
    region::RegionValue capture = value_of(operand);
    capture.kind = region::RegionValue::Kind::kCapture;
    capture.capture = region.captures++;
    value.operands.emplace_back(static_cast<std::uint32_t>(region.values.size()));
    region.values.push_back(std::move(capture));
  }
  value.op = op;
  value.op_class = info.op_class;
  value.scalar_op = info.scalar;
  value.op_name = info.name;
  value.attrs = attrs;
  region.outputs.emplace_back(static_cast<std::uint32_t>(region.values.size()));
  region.values.push_back(std::move(value));
  return cost::arithmetic_seconds(region, device);
}

// Elementwise operators, reductions over whole axes, products and moves of all elements need every element of what they
// read; of anything else a kernel may read a part.
bool reads_partly(const ops::OpInfo& info) {
  switch (info.op_class) {
    case ops::OpClass::kElementwise:
    case ops::OpClass::kReduction:
    case ops::OpClass::kContraction:
    case ops::OpClass::kSort:
    case ops::OpClass::kScan:
    case ops::OpClass::kSource: return false;
    case ops::OpClass::kMovement:
      return info.name != "broadcast" && info.name != "reshape" && info.name != "transpose" && info.name != "concat" &&
             info.name != "reverse";
    default: return true;
  }
}

// The same of a composite operator: whatever its body may be made of, in any branch.
bool body_reads_partly(const ops::OpTable& table, const ops::OpInfo& composite) {
  std::vector<const ops::OpInfo*> bodies{&composite};
  std::set<std::string> seen{composite.name};
  while (!bodies.empty()) {
    const ops::OpBody& body = *bodies.back()->body;
    bodies.pop_back();
    std::vector<const ops::Expr*> stack;
    const auto push = [&](const ops::ExprPtr& e) {
      if (e) stack.push_back(e.get());
    };
    for (const auto& [name, value] : body.lets) push(value);
    for (const ops::ExprPtr& result : body.results) push(result);
    while (!stack.empty()) {
      const ops::Expr& e = *stack.back();
      stack.pop_back();
      for (const ops::ExprPtr& arg : e.args) push(arg);
      for (const auto& [name, arg] : e.named) push(arg);
      const ops::OpId op = e.kind == ops::Expr::Kind::kCall ? table.find(e.text) : ops::OpId();
      if (!op.valid() || !seen.insert(e.text).second) continue;
      if (table[op].body != nullptr)
        bodies.push_back(&table[op]);
      else if (reads_partly(table[op]))
        return true;
    }
  }
  return false;
}

/// The bound itself. Values that every plan needs are found as those that all forms of a needed value have beneath
/// them. The rest of a plan falls into segments, each between one such value and the next ones below; what a segment
/// costs at least is the cheapest of its forms with the dearest of what that form reads. A value that several segments
/// may share is counted in each for its part.
class Bound {
 public:
  Bound(Forms forms, const cost::Device& device) : forms_(std::move(forms)), device_(device) {
    sort();
    find_required();
  }

  double seconds() {
    if (order_.empty()) return 0;
    return device_.launch_seconds + std::max(arithmetic(), memory());
  }

 private:
  static constexpr std::size_t kNearest = 64;  // of what is required beneath a value, so many are kept
  static constexpr int kPasses = 3;            // forms that read values behind them in the order need more than one
  static constexpr std::size_t kMostVisits = 20'000'000;

  // Operands first, as far as cycles allow: by the least height of any form.
  void sort() {
    constexpr auto kUnknown = std::numeric_limits<std::uint32_t>::max();
    const std::size_t count = forms_.values.size();
    place_.assign(count, kUnknown);
    struct Open {
      std::uint32_t value;
      std::size_t missing;  // operands that have no place yet
    };
    std::vector<Open> open;                          // all forms
    std::vector<std::uint32_t> first(count + 1, 0);  // by value: of the uses of it
    for (const std::vector<Form>& forms : forms_.values)
      for (const Form& form : forms)
        for (const std::uint32_t o : form.operands) ++first[o + 1];
    for (std::size_t v = 0; v < count; ++v) first[v + 1] += first[v];
    std::vector<std::uint32_t> users(first.back()), next(first.begin(), first.end() - 1);  // numbers of forms
    std::queue<std::uint32_t> ready;
    for (std::uint32_t v = 0; v < count; ++v) {
      bool leaf = false;
      for (const Form& form : forms_.values[v]) {
        for (const std::uint32_t o : form.operands) users[next[o]++] = static_cast<std::uint32_t>(open.size());
        leaf = leaf || form.operands.empty();
        open.push_back({v, form.operands.size()});
      }
      if (leaf) ready.push(v);
    }
    while (!ready.empty()) {
      const std::uint32_t v = ready.front();
      ready.pop();
      if (place_[v] != kUnknown) continue;
      place_[v] = static_cast<std::uint32_t>(order_.size());
      order_.push_back(v);
      for (std::uint32_t i = first[v]; i < first[v + 1]; ++i)
        if (--open[users[i]].missing == 0) ready.push(open[users[i]].value);
    }
  }

  using Set = std::vector<std::uint32_t>;  // places of values, the last in the order first

  // What any way to make the value has beneath it, of the forms whose operands are known.
  std::optional<Set> common_beneath(std::uint32_t v, const std::vector<std::optional<Set>>& beneath) {
    std::optional<Set> common = beneath[v];
    for (const Form& form : forms_.values[v]) {
      if (!std::ranges::all_of(form.operands, [&](auto o) { return beneath[o].has_value(); })) continue;
      all_.assign(1, place_[v]);
      for (const std::uint32_t o : form.operands) {
        joined_.clear();
        std::ranges::set_union(all_, *beneath[o], std::back_inserter(joined_), std::greater<>());
        if (joined_.size() > kNearest) joined_.resize(kNearest);
        std::swap(all_, joined_);
      }
      if (!common) {
        common = all_;
        continue;
      }
      joined_.clear();
      std::ranges::set_intersection(*common, all_, std::back_inserter(joined_), std::greater<>());
      common->assign(joined_.begin(), joined_.end());
    }
    return common;
  }

  // The largest sets for which every form has beneath it what its value has: what holds for all ways to compute a value
  // that do not go in a circle. They start as everything, so that a form that only leads back to its value takes
  // nothing. A value is looked at again only where an operand has changed since.
  void find_required() {
    std::vector<std::optional<Set>> beneath(forms_.values.size());
    std::vector<std::uint64_t> seen_at(forms_.values.size(), 0), changed_at(forms_.values.size(), 1);
    std::uint64_t now = 1;
    for (bool changed = true; changed;) {
      changed = false;
      for (const std::uint32_t v : order_) {
        const bool stale = std::ranges::any_of(forms_.values[v], [&](const Form& form) {
          return form.operands.empty()
                     ? seen_at[v] == 0
                     : std::ranges::any_of(form.operands, [&](auto o) { return changed_at[o] > seen_at[v]; });
        });
        if (!stale) continue;
        seen_at[v] = ++now;
        std::optional<Set> common = common_beneath(v, beneath);
        if (beneath[v] == common) continue;
        beneath[v] = std::move(common);
        changed_at[v] = now;
        changed = true;
      }
    }
    drop_circles(beneath);
    required_.assign(forms_.values.size(), false);
    std::vector<std::uint32_t> stack = forms_.results;
    while (!stack.empty()) {
      const std::uint32_t v = stack.back();
      stack.pop_back();
      if (required_[v] || !beneath[v]) continue;
      required_[v] = true;
      for (const std::uint32_t place : *beneath[v]) stack.push_back(order_[place]);
    }
  }

  // A form that reads what itself needs the value is never how the value is computed.
  void drop_circles(const std::vector<std::optional<Set>>& beneath) {
    for (const std::uint32_t v : order_)
      std::erase_if(forms_.values[v], [&](const Form& form) {
        return std::ranges::any_of(form.operands, [&](std::uint32_t o) {
          return !beneath[o] ||
                 (place_[o] >= place_[v] && std::ranges::binary_search(*beneath[o], place_[v], std::greater<>()));
        });
      });
  }

  // By value that not every plan needs: how many segments it may belong to. Nothing when there is too much to walk.
  std::vector<double> shares() const {
    std::vector<double> segments(forms_.values.size(), 0);
    std::vector<std::uint32_t> seen(forms_.values.size(), std::numeric_limits<std::uint32_t>::max());
    std::size_t visits = 0;
    for (const std::uint32_t from : order_) {
      if (!required_[from]) continue;
      std::vector<std::uint32_t> stack{from};
      while (!stack.empty()) {
        const std::uint32_t v = stack.back();
        stack.pop_back();
        for (const Form& form : forms_.values[v])
          for (const std::uint32_t o : form.operands) {
            if (++visits > kMostVisits) return {};
            if (required_[o] || seen[o] == from) continue;
            seen[o] = from;
            segments[o] += 1;
            stack.push_back(o);
          }
      }
    }
    return segments;
  }

  double arithmetic() const {
    const std::vector<double> segments = shares();
    std::vector<double> least(forms_.values.size(), 0);
    for (int pass = 0; pass < kPasses; ++pass)
      for (const std::uint32_t v : order_) {
        if (!required_[v] && (segments.empty() || segments[v] == 0)) continue;
        double best = std::numeric_limits<double>::infinity();
        for (const Form& form : forms_.values[v]) {
          double below = 0;
          for (const std::uint32_t o : form.operands)
            if (!required_[o]) below = std::max(below, least[o]);
          best = std::min(best, form.seconds / (required_[v] ? 1 : segments[v]) + below);
        }
        least[v] = best;
      }
    double sum = 0;
    for (const std::uint32_t v : order_)
      if (required_[v]) sum += least[v];
    return sum;
  }

  // Parameters and weights that every plan reads, where nothing above them can read a part, come from the last level of
  // memory; results go to the fastest.
  double memory() const {
    std::vector<bool> partly(forms_.values.size(), false);
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t i = order_.size(); i-- > 0;) {
        const std::uint32_t v = order_[i];
        for (const Form& form : forms_.values[v])
          if (form.partial || partly[v])
            for (const std::uint32_t o : form.operands) {
              changed = changed || !partly[o];
              partly[o] = true;
            }
      }
    }
    double read = 0, written = 0, fastest = 0;
    for (const std::uint32_t v : order_)
      if (required_[v] && !partly[v]) read += forms_.bytes_read[v];
    std::vector<std::uint32_t> results = forms_.results;
    std::sort(results.begin(), results.end());
    results.erase(std::unique(results.begin(), results.end()), results.end());
    for (const std::uint32_t v : results) written += forms_.bytes_written[v];
    for (const cost::MemoryLevel& level : device_.memory) fastest = std::max(fastest, level.bytes_per_second);
    return read / device_.memory.back().bytes_per_second + written / fastest;
  }

  Forms forms_;
  const cost::Device& device_;
  std::vector<std::uint32_t> order_, place_;
  std::vector<bool> required_;
  Set all_, joined_;  // of the form at hand
};

}  // namespace

double lower_bound(const graph::Graph& graph, const cost::Device& device) {
  Forms forms;
  forms.values.resize(graph.nodes.size());
  forms.bytes_read.resize(graph.nodes.size());
  forms.bytes_written.resize(graph.nodes.size());
  std::vector<bool> constant(graph.nodes.size(), false);
  for (const graph::NodeId id : graph.entry_computation().nodes) {
    const graph::Node& node = graph[id];
    const ops::OpInfo& info = graph.info(id);
    Form form;
    std::vector<ops::Type> types;
    bool folded = info.name == "constant" || info.name == "iota" || !node.operands.empty();
    for (const Value v : node.operands) {
      if (!v.valid()) continue;
      form.operands.push_back(v.node.index);
      types.push_back(graph.type(v));
      folded = folded && constant[v.node.index];
    }
    constant[id.index] = folded;
    double bytes = 0;
    for (const ops::Type& type : node.types) bytes += bytes_of(type);
    (is_source(info) || folded ? forms.bytes_read : forms.bytes_written)[id.index] = bytes;
    if (folded) {
      form.operands.clear();  // made at load
    } else {
      form.partial = reads_partly(info);
      form.seconds = arithmetic(*graph.table, node.op, node.attrs, types, node.types.front(), device);
    }
    forms.values[id.index].push_back(std::move(form));
  }
  for (const Value v : graph.entry_computation().results) forms.results.push_back(v.node.index);
  return Bound(std::move(forms), device).seconds();
}

double lower_bound(const egraph::Imported& imported, const cost::Device& device) {
  const egraph::EGraph& egraph = imported.egraph;
  egraph::Index index;
  index.refresh(egraph);
  Forms forms;
  forms.values.resize(egraph.node_count());
  forms.bytes_read.resize(egraph.node_count());
  forms.bytes_written.resize(egraph.node_count());
  std::map<ops::OpId, bool> known;
  const auto partly_named = [&](ops::OpId op) {
    const auto [at, fresh] = known.try_emplace(op, false);
    if (fresh) at->second = body_reads_partly(egraph.table(), egraph.table()[op]);
    return at->second;
  };
  for (const egraph::EClassId c : index.classes()) {
    auto& out = forms.values[c.index];
    const bool constant = egraph.fact(c).constant();
    bool source = constant;
    const auto nodes = index.nodes(c);
    // An operator that is only a name for others has no kernel: it is taken apart wherever its class has another form,
    // and so are the results of one that has several.
    const auto named = [&](egraph::ENodeId n) {
      return egraph[n].op != egraph.result_op() && egraph.table()[egraph[n].op].body != nullptr;
    };
    const auto all = [&](egraph::EClassId of, const auto& is) {
      return std::ranges::all_of(index.nodes(of), [&](const auto& entry) { return is(entry.node); });
    };
    const auto is_name = [&](egraph::ENodeId n) {
      return named(n) || (egraph[n].op == egraph.result_op() && all(egraph.find(egraph.operands(n)[0]), named));
    };
    const bool only_names = all(c, is_name);
    for (const auto& [op, n] : nodes) {
      if (is_name(n) && !only_names) continue;
      Form form;
      if (!constant)
        for (const egraph::EClassId operand : egraph.operands(n))
          if (operand != egraph.none()) form.operands.push_back(egraph.find(operand).index);
      if (op != egraph.result_op() && !constant) {
        const ops::OpInfo& info = egraph.table()[op];
        source = source || info.name == "parameter";
        form.partial = named(n) ? partly_named(op) : reads_partly(info);
        std::vector<ops::Type> types;
        for (const egraph::EClassId operand : egraph.operands(n))
          if (operand != egraph.none()) types.push_back(egraph.type(operand));
        if (!named(n)) form.seconds = arithmetic(egraph.table(), op, egraph.attrs(n), types, egraph.type(c), device);
      }
      out.push_back(std::move(form));
    }
    (source ? forms.bytes_read : forms.bytes_written)[c.index] = bytes_of(egraph.type(c));
  }
  for (const egraph::EClassId c : imported.results) forms.results.push_back(egraph.find(c).index);
  return Bound(std::move(forms), device).seconds();
}

void set_bound(plan::Plan& plan, double seconds) {
  plan::Extraction& e = plan.extraction;
  e.bound = std::min(seconds, e.cost);
  e.gap = e.cost > 0 ? (e.cost - e.bound) / e.cost : 0;
}

}  // namespace fusewright::extract
