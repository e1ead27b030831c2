#pragma once

#include <string>
#include <vector>

#include "fusewright/driver/compile.hpp"
#include "fusewright/interpret/error_model.hpp"
#include "fusewright/runtime/instance.hpp"

namespace fusewright::driver {

/// The tensors of `--input NAME|INDEX=FILE`, by name or number; the last one given counts. Errors name the file.
Result<std::map<std::string, ops::TensorHandle>> read_inputs(
    const std::vector<std::pair<std::string, std::string>>& files);

/// The tensors input_0, input_1, ... of a data folder, each .pb or .npy; some may be missing.
Result<std::map<std::int64_t, ops::TensorHandle>> read_data(const std::string& folder);

/// One tensor for each entry parameter: by `options.inputs`, else `options.data`, else its default, else made from the
/// seed. Names and numbers are those of the frontends' import options, which refuse any that no input has.
/// Errors: a given tensor of another dtype or shape.
Result<std::vector<ops::Tensor>> bind_inputs(const graph::Graph& graph, const CompileOptions& options);

/// The tensors output_0, output_1, ... of a data folder; empty where there are none.
Result<std::vector<ops::Tensor>> read_expected(const std::string& folder);

/// The groups' kernels against the reference evaluator.
struct CheckReport {
  bool ok = true;
  std::string worst_group;  ///< whose error is largest relative to its bound
  double max_error = 0;     ///< absolute, at that group's worst element
  double bound = 0;         ///< what it may be there
  double end_to_end_error =
      0;  ///< greatest absolute difference of an output from the reference evaluation of the imported model
  /// Elements of the outputs that are infinite or NaN on one side only, and may be: the model as imported overflows or
  /// underflows on the way to them, where rules may give what it would without.
  std::int64_t not_compared = 0;
  std::vector<std::string> failures;  ///< one line for each wrong group
};

/// Holds a run's outputs against those that another implementation stored, from the same inputs: each element within
/// twice its error bound, and none further off than rounding is seen to move the outputs of a model without jumps.
/// (Over many layers the bound alone allows nearly anything; see interpret::evaluate_perturbed.)
/// @returns one line for each output that is wrong.
Result<std::vector<std::string>> wrong_outputs(const graph::Graph& imported, std::span<const ops::Tensor> inputs,
                                               std::span<const ops::Tensor> outputs,
                                               std::span<const ops::Tensor> stored);

/// Runs the plan once and checks every group on the inputs that it received, element by element with its error bound;
/// and the outputs against the model as imported, so that a false rule is found as well.
Result<CheckReport> check_run(const Compilation& compilation, runtime::Instance& instance,
                              std::span<const ops::Tensor> inputs, int threads, std::vector<ops::Tensor>* outputs,
                              std::vector<runtime::GroupRun>* groups);

/// One group as a graph of its own: its inputs are parameters, in order.
graph::Graph group_graph(const plan::Plan& plan, const plan::Group& group);

/// Share of rows whose greatest element along the last axis stands where the label says.
Result<double> accuracy(const ops::Tensor& scores, const ops::Tensor& labels);

}  // namespace fusewright::driver
