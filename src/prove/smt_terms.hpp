#pragma once

#include <z3++.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "fusewright/graph/graph.hpp"
#include "src/prove/smt_sums.hpp"

namespace fusewright::prove {

/// What values are to the solver.
enum class Theory : std::uint8_t {
  kSymbols,     ///< elements of a sort of which nothing is known
  kReals,       ///< reals; integers too, pred as truth values
  kArithmetic,  ///< IEEE floats, bit-vectors, truth values
};

/// A graph's elements as the solver's terms. Two graphs over the same parameters are read by one reader, so that equal
/// leaves are equal terms.
class TermReader {
 public:
  TermReader(z3::context& context, Theory theory) : c_(context), theory_(theory), sums_(context) {}

  /// The element of the graph's first result at a symbolic index; nullopt where the theory has no term for an operator.
  std::optional<z3::expr> result(const graph::Graph& graph);
  /// What may be assumed: extents are positive, indices in range, denominators not zero.
  std::vector<z3::expr> assumptions() const;

 private:
  struct Index {
    std::vector<z3::expr> at;
    std::optional<z3::expr> linear;  ///< the row-major number, where it is what is known
  };
  using Term = std::optional<z3::expr>;

  /// Where one place of a window lies: whether over an element, and over which one of the axis looked at last.
  struct Window {
    z3::expr inside, element;
  };

  z3::expr extent(const Dim& dim);
  z3::expr linear_of(const Index& index, const ops::Shape& shape);
  std::optional<Index> reshaped(const Index& index, const ops::Shape& to, const ops::Shape& from);
  z3::expr bounded(const std::string& name, const Dim& extent);
  z3::sort sort_of(ops::DType dtype);
  Term number(ops::DType dtype, double value, std::int64_t integer);

  Term read(const graph::Graph& graph, graph::Value value, const Index& index, int depth);
  Term read_first(const graph::Graph& graph, graph::Value value, const Index& index, int depth);
  Term movement(const graph::Graph& graph, const graph::Node& node, const std::string& op, const Index& index,
                int depth);
  Term reduced(const graph::Graph& graph, const graph::Node& node, const std::string& op, const Index& index,
               int depth);
  Term dot(const graph::Graph& graph, const graph::Node& node, const Index& index, int depth);
  Term conv(const graph::Graph& graph, const graph::Node& node, const Index& index, int depth);
  Term windows(const graph::Graph& graph, const graph::Node& node, const std::string& op, const Index& index,
               int depth);
  void under_window(Window& window, const z3::expr& place, const Dim& input, std::int64_t dilation);
  Term padded(const graph::Graph& graph, const graph::Node& node, const Index& index, int depth);
  /// A fold over indices: a sum by its lemmas over the reals, else a function of its extents and of its body.
  Term folded(const std::string& name, const std::vector<Sums::Index>& over, const std::vector<z3::expr>& body,
              const z3::sort& sort);
  Term uninterpreted(const std::string& name, const std::vector<z3::expr>& arguments, const z3::sort& range);
  Term scalar(const ops::OpInfo& op, const graph::Node& node, const std::vector<z3::expr>& x, ops::DType from);
  Term real(ops::ScalarOp op, const std::vector<z3::expr>& x);
  Term ieee(ops::ScalarOp op, const std::vector<z3::expr>& x, ops::DType to);
  Term bits(ops::ScalarOp op, const std::vector<z3::expr>& x, ops::DType dtype);
  Term truth(ops::ScalarOp op, const std::vector<z3::expr>& x);

  z3::context& c_;
  Theory theory_;
  std::vector<z3::expr> assumptions_;
  std::map<std::string, bool> assumed_;
  std::map<std::string, std::string> extents_;  // by the symbol's own name
  Sums sums_;
  /// What was read of the graph: a value that is used twice is read once at one index.
  struct Read {
    Index index;  // holds its terms, so that their ids stay theirs
    Term term;
  };
  std::map<std::vector<unsigned>, Read> read_;
};

}  // namespace fusewright::prove
