#include <fmt/format.h>

#include <algorithm>
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

Result<std::map<std::string, TensorHandle>> read_inputs(const std::vector<std::pair<std::string, std::string>>& files) {
  std::map<std::string, TensorHandle> given;
  for (const auto& [name, path] : files) {
    FW_TRY(Tensor tensor, read_tensor(path));
    given[name] = std::make_shared<const Tensor>(std::move(tensor));
  }
  return given;
}

Result<std::map<std::int64_t, TensorHandle>> read_data(const std::string& folder) {
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error))
    return fail(fmt::format("--data {}: {}", folder,
                            std::filesystem::exists(folder, error) ? "is not a folder" : "no such folder"));
  std::map<std::int64_t, TensorHandle> given;
  // Gaps are allowed: an input without a file gets its default or is made up.
  constexpr std::size_t kMost = 100'000, kLongestGap = 1000;
  std::size_t missing = 0;
  for (std::size_t n = 0; n < kMost && missing < kLongestGap; ++n) {
    const std::string path = numbered(folder, "input", n);
    missing = path.empty() ? missing + 1 : 0;
    if (path.empty()) continue;
    FW_TRY(Tensor tensor, read_tensor(path));
    given[static_cast<std::int64_t>(n)] = std::make_shared<const Tensor>(std::move(tensor));
  }
  if (given.empty() && numbered(folder, "output", 0).empty())
    return fail(fmt::format("--data {}: the folder has no input_N or output_N (.npy or .pb)", folder));
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

Result<std::vector<Tensor>> bind_inputs(const graph::Graph& graph, const CompileOptions& options) {
  const std::vector<std::int64_t>& skipped = graph.skipped_inputs;
  std::size_t in_file = skipped.size();
  for (const graph::Port& port : graph.inputs) in_file += port.fallback ? 0 : 1;
  const bool data_for_all = options.data.size() == in_file;

  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    const graph::Port& port = graph.inputs[i];
    const std::int64_t position = port.number >= 0 ? port.number : static_cast<std::int64_t>(i);
    // Inputs with an initialiser are not counted, also where they became constants.
    const std::int64_t number =
        position - (std::lower_bound(skipped.begin(), skipped.end(), position) - skipped.begin());
    TensorHandle given;
    if (data_for_all || !port.fallback)
      if (const auto at = options.data.find(data_for_all ? position : number); at != options.data.end())
        given = at->second;
    if (const auto at = options.inputs.find(std::to_string(number)); at != options.inputs.end() && !port.fallback)
      given = at->second;
    if (const auto at = options.inputs.find(port.name); at != options.inputs.end()) given = at->second;
    if (given == nullptr && port.fallback) given = *port.fallback;
    if (given == nullptr) {
      Result<Tensor> made = interpret::make_input(port.type, options.seed, i);
      if (!made) return std::unexpected(with_context(std::move(made).error(), fmt::format("input '{}'", port.name)));
      inputs.push_back(*std::move(made));
      continue;
    }
    if (given->type() != port.type)
      return fail(fmt::format("input '{}' is {}, but {} was given", port.name, ops::to_string(port.type),
                              ops::to_string(given->type())));
    inputs.push_back(*given);
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
