#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fusewright/graph/graph.hpp"

namespace fusewright::frontend_onnx {

/// What the user says about a model besides its file. Inputs are named by their name in the file, or by a decimal
/// number: the position among the inputs that have no initialiser (from 0). A name that the model has wins over a
/// number. An input with an initialiser can be given by its name: the value given takes the initialiser's place.
struct ImportOptions {
  std::map<std::string, std::vector<std::int64_t>> shapes;  ///< `--shape NAME=1,3,224,224`: all extents of one input
  std::map<std::string, std::int64_t> dims;  ///< `--dim NAME=N`; the name `*` binds all that nothing else binds
  /// `--input NAME=FILE`: the tensors that will be run. Extents of inputs are taken from them, and their values (up to
  /// 64 KiB) where an operator must know one at load (a shape, axes): the graph then holds for inputs of these very
  /// values only.
  std::map<std::string, ops::TensorHandle> inputs;
  /// `--data DIR`: input_N by N, used like `inputs` where those say nothing. When there are as many as the model has
  /// inputs, N counts all of them; else it counts those without an initialiser.
  std::map<std::int64_t, ops::TensorHandle> data;
  /// `--freeze GLOB` (`*` and `?`; `all` is every one that is not given a value): inputs with an initialiser that
  /// become constants. Inputs without one stay inputs.
  std::vector<std::string> freeze;
  /// `--random-weights`: asked for each initialiser and constant-filled weight of float dtype; what it returns (same
  /// dtype and extents) is used in its place. Numbers that stand in the graph itself (nodes of type Constant) are not
  /// asked for.
  std::function<std::optional<ops::Tensor>(const std::string& name, const ops::Type& type)> replace_weight;
};

/// Reads an ONNX model. Every dim is bound to a number, shape arithmetic is evaluated, composite operators
/// (BatchNormalization, Gelu,
/// ...) become nodes of the `op`s that rules/onnx declares, so `table` must hold those. Initialisers are constants,
/// except that from IR version 4 on one that is also an input is an input with `Port::fallback`. Weights stay where
/// they are read to: external files are mapped, never outside of the model's folder.
/// @returns the graph, dead nodes removed, ports in the file's order; `skipped_inputs` counts in the file's list of
/// inputs. Errors: kInput for a missing or broken file (with the node's name), for a dim that nothing binds (naming it
/// and the option); kUnsupported for an operator, attribute or type that is not supported (with node, domain, type and
/// file).
Result<graph::Graph> import_onnx(const std::string& path, std::shared_ptr<const ops::OpTable> table,
                                 const ImportOptions& options = {});

/// The same in two steps, of which the first needs no operators.
struct ModelFile;
Result<std::shared_ptr<ModelFile>> read_onnx(const std::string& path);
Result<graph::Graph> import_onnx(std::shared_ptr<ModelFile> file, std::shared_ptr<const ops::OpTable> table,
                                 const ImportOptions& options = {});

}  // namespace fusewright::frontend_onnx
