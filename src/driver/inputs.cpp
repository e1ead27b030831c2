#include <fmt/format.h>

#include <filesystem>

#include "fusewright/driver/session.hpp"
#include "fusewright/frontend/onnx/tensor_io.hpp"
#include "fusewright/interpret/inputs.hpp"

namespace fusewright::driver {

using ops::Tensor;
using ops::TensorHandle;

namespace {

Result<Tensor> read_tensor(const std::string& path) {
  return path.ends_with(".pb") ? frontend_onnx::read_tensor_pb(path) : ops::read_npy(path);
}

// `<stem>_N.pb` or `<stem>_N.npy`; empty when there is neither.
std::string numbered(const std::string& folder, const std::string& stem, std::size_t n) {
  std::error_code error;
  for (const char* suffix : {".pb", ".npy"}) {
    const std::string path = fmt::format("{}/{}_{}{}", folder, stem, n, suffix);
    if (std::filesystem::exists(path, error)) return path;
  }
  return {};
}

}  // namespace

Result<std::map<std::string, TensorHandle>> read_inputs(const InputOptions& options) {
  std::map<std::string, TensorHandle> given;
  std::error_code error;
  if (!options.data.empty()) {
    if (!std::filesystem::is_directory(options.data, error))
      return fail(fmt::format("{}: no such folder", options.data));
    // Gaps are allowed: an input without a file gets its default or is made up.
    constexpr std::size_t kMost = 100'000;
    std::size_t missing = 0;
    for (std::size_t n = 0; n < kMost && missing < 1000; ++n) {
      const std::string path = numbered(options.data, "input", n);
      missing = path.empty() ? missing + 1 : 0;
      if (path.empty()) continue;
      FW_TRY(Tensor tensor, read_tensor(path));
      given[std::to_string(n)] = std::make_shared<const Tensor>(std::move(tensor));
    }
  }
  for (const auto& [name, path] : options.files) {
    FW_TRY(Tensor tensor, read_tensor(path));
    given[name] = std::make_shared<const Tensor>(std::move(tensor));
  }
  return given;
}

Result<std::vector<Tensor>> read_expected(const std::string& folder) {
  std::vector<Tensor> expected;
  for (std::size_t n = 0;; ++n) {
    const std::string path = numbered(folder, "output", n);
    if (path.empty()) return expected;
    FW_TRY(Tensor tensor, read_tensor(path));
    expected.push_back(std::move(tensor));
  }
}

Result<std::vector<Tensor>> bind_inputs(const graph::Graph& graph, const std::map<std::string, TensorHandle>& given,
                                        std::uint64_t seed) {
  // A number counts the inputs that have no default of their own; parameters that were frozen keep their number.
  std::vector<std::string> numbers(graph.inputs.size());
  std::size_t next = 0;
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    if (graph.inputs[i].number >= 0)
      numbers[i] = std::to_string(graph.inputs[i].number);
    else if (!graph.inputs[i].fallback)
      numbers[i] = std::to_string(next++);
  }
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    const graph::Port& port = graph.inputs[i];
    auto at = given.find(port.name);
    if (at == given.end() && !numbers[i].empty()) at = given.find(numbers[i]);
    if (at != given.end()) {
      if (at->second->type() != port.type)
        return fail(fmt::format("input '{}' is {}, but {} was given", port.name, ops::to_string(port.type),
                                ops::to_string(at->second->type())));
      inputs.push_back(*at->second);
    } else if (port.fallback) {
      inputs.push_back(**port.fallback);
    } else {
      Result<Tensor> made = interpret::make_input(port.type, seed, i);
      if (!made) return std::unexpected(with_context(std::move(made).error(), fmt::format("input '{}'", port.name)));
      inputs.push_back(*std::move(made));
    }
  }
  return inputs;
}

Result<double> accuracy(const Tensor& scores, const Tensor& labels) {
  if (scores.dims.empty()) return fail("--labels: output 0 has no axis to take the greatest element along");
  const std::int64_t classes = scores.dims.back();
  const std::int64_t rows = classes == 0 ? 0 : scores.elements() / classes;
  if (ops::is_float(labels.dtype)) return fail("--labels: the labels must be integers");
  if (labels.elements() != rows) return fail(fmt::format("--labels: {} labels for {} rows", labels.elements(), rows));
  std::int64_t right = 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    std::int64_t best = 0;
    for (std::int64_t c = 1; c < classes; ++c)
      if (ops::get_double(scores, row * classes + c) > ops::get_double(scores, row * classes + best)) best = c;
    right += best == ops::get_int(labels, row) ? 1 : 0;
  }
  return rows == 0 ? 0.0 : static_cast<double>(right) / static_cast<double>(rows);
}

}  // namespace fusewright::driver
