#include <fmt/format.h>

#include <algorithm>

#include "src/prove/smt_terms.hpp"

/// Operators that fold many elements to one, and the padding that they share.
namespace fusewright::prove {

using graph::Graph;
using graph::Node;
using ops::Shape;
using Ints = std::vector<std::int64_t>;

namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

const Ints& list(const Node& node, const char* name) { return node.attrs.get<Ints>(name); }

}  // namespace

TermReader::Term TermReader::folded(const std::string& name, const std::vector<Sums::Index>& over,
                                    const std::vector<z3::expr>& body, const z3::sort& sort) {
  if (theory_ == Theory::kReals && name == "sum" && sort.is_real()) {
    z3::expr product = body[0];
    for (std::size_t i = 1; i < body.size(); ++i) product = product * body[i];
    return sums_.sum(over, product);
  }
  std::vector<z3::expr> arguments;
  for (const Sums::Index& i : over) arguments.push_back(i.extent);
  arguments.insert(arguments.end(), body.begin(), body.end());
  return uninterpreted(name, arguments, sort);
}

TermReader::Term TermReader::reduced(const Graph& graph, const Node& node, const std::string& op, const Index& index,
                                     int depth) {
  const Shape& from = graph.type(node.operands[0]).shape;
  const Ints& axes = list(node, "axes");
  if (index.at.size() != node.types[0].shape.size()) return std::nullopt;
  Index below;
  std::vector<Sums::Index> over;
  std::size_t next = 0;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (std::ranges::find(axes, static_cast<std::int64_t>(i)) == axes.end()) {
      below.at.push_back(index.at[next++]);
      continue;
    }
    below.at.push_back(bounded(fmt::format("k{}_{}", depth, over.size()), from[i]));
    over.push_back({below.at.back(), extent(from[i])});
  }
  const Term body = read(graph, node.operands[0], below, depth + 1);
  if (!body) return std::nullopt;
  if (over.empty()) return body;
  return folded(op == "reduce_sum" ? "sum" : op, over, {*body}, body->get_sort());
}

TermReader::Term TermReader::dot(const Graph& graph, const Node& node, const Index& index, int depth) {
  if (theory_ == Theory::kArithmetic || index.at.size() != node.types[0].shape.size()) return std::nullopt;
  const Ints* batch[2] = {&list(node, "lhs_batch"), &list(node, "rhs_batch")};
  const Ints* contract[2] = {&list(node, "lhs_contract"), &list(node, "rhs_contract")};
  std::vector<Sums::Index> over;
  std::vector<z3::expr> sides;
  std::size_t next = batch[0]->size();
  for (std::size_t s = 0; s < 2; ++s) {
    const Shape& from = graph.type(node.operands[s]).shape;
    Index below;
    below.at.assign(from.size(), c_.int_val(0));
    for (std::size_t i = 0; i < from.size(); ++i) {
      const auto axis = static_cast<std::int64_t>(i);
      const auto b = std::ranges::find(*batch[s], axis), k = std::ranges::find(*contract[s], axis);
      if (b != batch[s]->end()) {
        below.at[i] = index.at[static_cast<std::size_t>(b - batch[s]->begin())];
      } else if (k == contract[s]->end()) {
        below.at[i] = index.at[next++];
      } else {
        below.at[i] = bounded(fmt::format("k{}_{}", depth, k - contract[s]->begin()), from[i]);
      }
    }
    for (std::size_t j = 0; s == 0 && j < contract[0]->size(); ++j) {
      const std::size_t axis = at((*contract[0])[j]);
      over.push_back({below.at[axis], extent(from[axis])});
    }
    const Term side = read(graph, node.operands[s], below, depth + 1);
    if (!side) return std::nullopt;
    sides.push_back(*side);
  }
  const bool real = theory_ == Theory::kReals && sides[0].is_real() && sides[1].is_real();
  const std::string name = fmt::format("dot {}", ops::name(node.types[0].dtype));
  return folded(real ? "sum" : name, over, sides, sort_of(node.types[0].dtype));
}

/// The element of an input that one place of a window lies over, along one axis: the number of the place is given.
void TermReader::under_window(Window& window, const z3::expr& place, const Dim& input, std::int64_t dilation) {
  window.inside = window.inside && place >= 0 && place <= (extent(input) - 1) * c_.int_val(dilation);
  if (dilation != 1) window.inside = window.inside && z3::mod(place, c_.int_val(dilation)) == 0;
  window.element = dilation == 1 ? place.simplify() : place / c_.int_val(dilation);
}

/// sum over (i, k) of patch * w[o, i, k], where the patch is the input's element that the window's place k lies over,
/// or nothing outside of it.
TermReader::Term TermReader::conv(const Graph& graph, const Node& node, const Index& index, int depth) {
  if (theory_ == Theory::kArithmetic || index.at.size() != node.types[0].shape.size()) return std::nullopt;
  const Ints &lhs = list(node, "lhs_spec"), &rhs = list(node, "rhs_spec"), &out = list(node, "out_spec");
  const Shape &x = graph.type(node.operands[0]).shape, &w = graph.type(node.operands[1]).shape;
  const auto groups = node.attrs.get<std::int64_t>("groups"),
             batch_groups = node.attrs.get<std::int64_t>("batch_groups");
  const z3::expr o = index.at[at(out[1])], n = index.at[at(out[0])];
  // Which of some groups of features it is in: a function of which nothing else need be known.
  const auto group = [&](std::int64_t count) {
    return *uninterpreted("group", {o, extent(w[at(rhs[0])]), c_.int_val(count)}, c_.int_sort());
  };
  std::vector<Sums::Index> over;
  Index input, weights;
  weights.at.assign(w.size(), o);
  const auto bind = [&](std::size_t axis) {
    weights.at[axis] = bounded(fmt::format("k{}_{}", depth, over.size()), w[axis]);
    over.push_back({weights.at[axis], extent(w[axis])});
    return weights.at[axis];
  };
  const z3::expr i = bind(at(rhs[1]));
  input.at.assign(x.size(), i);
  if (groups > 1) input.at[at(lhs[1])] = group(groups) * extent(w[at(rhs[1])]) + i;
  input.at[at(lhs[0])] = batch_groups == 1 ? n : group(batch_groups) * extent(node.types[0].shape[at(out[0])]) + n;
  Window window{c_.bool_val(true), i};
  for (std::size_t s = 2; s < lhs.size(); ++s) {
    z3::expr k = bind(at(rhs[s]));
    if (list(node, "reversal")[s - 2] != 0) k = extent(w[at(rhs[s])]) - 1 - k;
    const z3::expr place = index.at[at(out[s])] * c_.int_val(list(node, "strides")[s - 2]) +
                           k * c_.int_val(list(node, "rhs_dilation")[s - 2]) - c_.int_val(list(node, "pad_low")[s - 2]);
    under_window(window, place, x[at(lhs[s])], list(node, "lhs_dilation")[s - 2]);
    input.at[at(lhs[s])] = window.element;
  }
  const Term patch = read(graph, node.operands[0], input, depth + 1);
  const Term weight = read(graph, node.operands[1], weights, depth + 1);
  if (!patch || !weight) return std::nullopt;
  const z3::expr inside = window.inside.simplify();
  const ops::DType dtype = node.types[0].dtype;
  if (theory_ == Theory::kReals && patch->is_real() && weight->is_real())
    return folded("sum", over, {z3::ite(inside, c_.real_val(1), c_.real_val(0)), *patch, *weight}, sort_of(dtype));
  return folded(fmt::format("conv {}", ops::name(dtype)), over, {inside, *patch, *weight}, sort_of(dtype));
}

/// A fold over the places of a window that lie over the input.
TermReader::Term TermReader::windows(const Graph& graph, const Node& node, const std::string& op, const Index& index,
                                     int depth) {
  if (theory_ == Theory::kArithmetic || index.at.size() != node.types[0].shape.size()) return std::nullopt;
  const Shape& x = graph.type(node.operands[0]).shape;
  Index input;
  std::vector<Sums::Index> over;
  Window window{c_.bool_val(true), c_.int_val(0)};
  for (std::size_t i = 0; i < x.size(); ++i) {
    const Dim size(list(node, "window")[i]);
    z3::expr k = c_.int_val(0);
    if (size != Dim(1)) {
      k = bounded(fmt::format("k{}_{}", depth, over.size()), size);
      over.push_back({k, extent(size)});
    }
    const z3::expr place = index.at[i] * c_.int_val(list(node, "strides")[i]) +
                           k * c_.int_val(list(node, "window_dilation")[i]) - c_.int_val(list(node, "pad_low")[i]);
    under_window(window, place, x[i], list(node, "base_dilation")[i]);
    input.at.push_back(window.element);
  }
  const Term body = read(graph, node.operands[0], input, depth + 1);
  if (!body) return std::nullopt;
  const z3::expr inside = window.inside.simplify();
  if (theory_ == Theory::kReals && body->is_real() && op == "reduce_window_sum")
    return folded("sum", over, {z3::ite(inside, c_.real_val(1), c_.real_val(0)), *body}, body->get_sort());
  return folded(op, over, {inside, *body}, body->get_sort());
}

/// The element itself, or the value around and between elements.
TermReader::Term TermReader::padded(const Graph& graph, const Node& node, const Index& index, int depth) {
  if (index.at.size() != node.types[0].shape.size()) return std::nullopt;
  const Shape& x = graph.type(node.operands[0]).shape;
  Index below;
  Window window{c_.bool_val(true), c_.int_val(0)};
  for (std::size_t i = 0; i < x.size(); ++i) {
    const z3::expr place = index.at[i] - c_.int_val(list(node, "low")[i]);
    under_window(window, place, x[i], list(node, "interior")[i] + 1);
    below.at.push_back(window.element);
  }
  const Term element = read(graph, node.operands[0], below, depth);
  const Term around = read(graph, node.operands[1], {}, depth);
  if (!element || !around) return std::nullopt;
  return z3::ite(window.inside.simplify(), *element, *around);
}

}  // namespace fusewright::prove
