#pragma once

#include <vector>

#include "fusewright/region/needs.hpp"
#include "window.hpp"

namespace fusewright::extract {

/// What no kernel that computes some nodes of a window goes below, whatever template it has: told from counts of
/// elements alone.
class Least {
 public:
  Least(const Window& window, const Evaluator& evaluator, const Graph& graph, const cost::Device& device);

  struct Work {
    double arithmetic = 0, reading = 0;  ///< seconds on the whole machine
  };
  /// Of a kernel that stores these; what it reads and does not compute is in memory.
  Work work(UnitSet units, ChoiceSet stored);
  double storing(ChoiceSet stored) const;  ///< seconds on the whole machine
  /// Of a kernel that does this work and stores these, launch included.
  double seconds(const Work& work, ChoiceSet stored) const {
    return cost::least_seconds(work.arithmetic, work.reading + storing(stored), device_);
  }

 private:
  struct Tensor {
    std::int64_t elements = 0, width = 0;
    bool in_cache = true;
  };
  struct Operand {
    std::uint32_t tensor;
    region::Needs needs;
  };
  static Tensor sized(const ops::Type& type);
  void add_operands(std::uint32_t node, const Evaluator& evaluator, const Graph& graph);

  const Window& w_;
  const cost::Device& device_;
  std::vector<Tensor> tensors_;  // results of the window's nodes, then what they read from outside
  std::vector<Value> outside_;
  std::vector<std::vector<Operand>> operands_;  // by node
  std::vector<std::uint32_t> last_;             // by unit: the last of its nodes
  std::vector<double> storing_;                 // by choice
  std::vector<std::int64_t> needed_;            // by tensor: elements, in the kernel that is asked for
  std::vector<std::uint32_t> read_;             // tensors that it reads
};

}  // namespace fusewright::extract
