#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <set>

#include <fmt/format.h>

#include "fusewright/frontend/onnx/import.hpp"
#include "fusewright/frontend/onnx/tensor_io.hpp"
#include "fusewright/interpret/evaluate.hpp"
#include "tests/frontend_onnx/table.hpp"
#include "tests/main/paths.hpp"

namespace fusewright::frontend_onnx {
namespace {

namespace fs = std::filesystem;

/// What the conformance tests use and is not supported, with the reason. Everything else must import.
const std::map<std::string, std::string>& unsupported_parts() {
  static const std::string training = "training is not supported",
                           sequences = "values are tensors, no sequences or optionals", random = "results are random",
                           extent = "the result's extent follows from data",
                           narrow = "no arithmetic on this element type", text = "there are no strings",
                           outside = "no operator of the standard domain",
                           absent = "not built from the primitive operators yet";
  static const std::map<std::string, std::string> parts = {
      {"Dropout", training},
      {"ai.onnx.preview.training.Adagrad", training},
      {"ai.onnx.preview.training.Adam", training},
      {"ai.onnx.preview.training.Gradient", training},
      {"Bernoulli", random},
      {"RandomUniformLike", random},
      {"NonMaxSuppression", extent},
      {"Unique", extent},
      {"Optional", sequences},
      {"OptionalGetElement", sequences},
      {"OptionalHasElement", sequences},
      {"SequenceConstruct", sequences},
      {"SequenceEmpty", sequences},
      {"SplitToSequence", sequences},
      {"sequence", sequences},
      {"optional", sequences},
      {"element type string", text},
      {"element type float8e8m0", narrow},
      {"ImageDecoder", outside},
      {"TfIdfVectorizer", text},
      {"ai.onnx.ml.Binarizer", outside},
      {"ai.onnx.ml.TreeEnsemble", outside},
      {"ai.onnx.preview.FlexAttention", outside},
      {"Det", absent},
  };
  return parts;
}
struct Outcome {
  enum class Kind { kPassed, kUnsupported, kFailed } kind = Kind::kFailed;
  std::string what;  ///< the operator that is not supported, or what went wrong
};

struct Tolerance {
  double rtol, atol;
};
Tolerance tolerance(ops::DType dtype) {
  switch (dtype) {
    case ops::DType::kF16: return {1e-2, 1e-3};
    case ops::DType::kBF16: return {4e-2, 1e-2};
    case ops::DType::kF32:
    case ops::DType::kF64: return {1e-3, 1e-5};
    default: return {0, 0};
  }
}

std::string compare(const ops::Tensor& found, const ops::Tensor& wanted) {
  if (found.dtype != wanted.dtype || found.dims != wanted.dims) {
    return ops::to_string(found.type()) + " where " + ops::to_string(wanted.type()) + " is stored";
  }
  const auto [rtol, atol] = tolerance(wanted.dtype);
  for (std::int64_t i = 0; i < wanted.elements(); ++i) {
    if (ops::is_integer(wanted.dtype)) {
      if (ops::get_int(found, i) == ops::get_int(wanted, i)) continue;
      return fmt::format("element {} is {}, not {}", i, ops::get_int(found, i), ops::get_int(wanted, i));
    }
    const double a = ops::get_double(found, i), b = ops::get_double(wanted, i);
    if (a == b || (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= atol + rtol * std::abs(b)) continue;
    return fmt::format("element {} is {}, not {}", i, a, b);
  }
  return "";
}

// What a message says is not supported: an element type, a kind of value, or the operator of its innermost "node 'x'
// (Foo): ...".
std::string unsupported_part(const std::string& message) {
  if (const std::size_t type = message.find("element type "); type != std::string::npos) {
    return message.substr(type, message.find(' ', type + 13) - type);
  }
  for (const char* kind : {"sequence", "optional"}) {
    if (message.find(std::string("is a ") + kind) != std::string::npos ||
        message.find(std::string("is an ") + kind) != std::string::npos)
      return kind;
  }
  const std::size_t node = message.rfind("node '");
  if (node == std::string::npos) return message;
  const std::size_t open = message.find(" (", node);
  return message.substr(open + 2, message.find(')', open) - open - 2);
}

std::vector<ops::Tensor> read_set(const fs::path& folder, const std::string& stem) {
  std::vector<ops::Tensor> tensors;
  for (int i = 0;; ++i) {
    const fs::path path = folder / fmt::format("{}_{}.pb", stem, i);
    if (!fs::exists(path)) break;
    auto tensor = read_tensor_pb(path.string());
    if (!tensor) break;
    tensors.push_back(*std::move(tensor));
  }
  return tensors;
}

Outcome run_case(const fs::path& folder) {
  const auto inputs = read_set(folder / "test_data_set_0", "input");
  const auto outputs = read_set(folder / "test_data_set_0", "output");
  ImportOptions options;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    options.inputs[std::to_string(i)] = std::make_shared<const ops::Tensor>(inputs[i]);
  }
  auto graph = import_onnx((folder / "model.onnx").string(), test_table(), options);
  // Inputs that are no tensors cannot be read; the model says so itself.
  if (!graph && graph.error().kind == ErrorKind::kInput) {
    ImportOptions none;
    none.dims["*"] = 1;
    auto again = import_onnx((folder / "model.onnx").string(), test_table(), none);
    if (!again && again.error().kind == ErrorKind::kUnsupported && inputs.empty()) graph = std::move(again);
  }
  if (!graph) {
    const std::string text = print_error(graph.error());
    if (graph.error().kind == ErrorKind::kUnsupported) return {Outcome::Kind::kUnsupported, unsupported_part(text)};
    return {Outcome::Kind::kFailed, text};
  }
  if (auto status = graph::verify(*graph); !status)
    return {Outcome::Kind::kFailed, "verify: " + print_error(status.error())};
  std::vector<ops::Tensor> arguments;
  std::size_t next = 0;
  for (const graph::Port& port : graph->inputs) {
    if (port.fallback)
      arguments.push_back(**port.fallback);
    else if (next < inputs.size())
      arguments.push_back(inputs[next++]);
    else
      return {Outcome::Kind::kFailed, "too few inputs are stored"};
  }
  auto results = interpret::evaluate(*graph, arguments);
  if (!results) return {Outcome::Kind::kFailed, "evaluate: " + print_error(results.error())};
  if (results->size() < outputs.size()) return {Outcome::Kind::kFailed, "too few results"};
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::string difference = compare((*results)[i], outputs[i]);
    if (!difference.empty()) return {Outcome::Kind::kFailed, fmt::format("output {}: {}", i, difference)};
  }
  return {Outcome::Kind::kPassed, ""};
}

}  // namespace

TEST_CASE("models of the ONNX conformance suite give their stored outputs", "[onnx]") {
  const auto corpora = tests::corpora_dir();
  if (!corpora) {
    WARN("no corpora folder: the conformance suite is skipped");
    return;
  }
  const char* only = std::getenv("FUSEWRIGHT_CONFORMANCE_ONLY");  // part of a test's name
  std::vector<fs::path> folders;
  for (const char* part : {"node", "pytorch-converted", "pytorch-operator", "simple"}) {
    for (const auto& entry : fs::directory_iterator(*corpora / "onnx-backend" / part)) {
      const std::string name = entry.path().filename().string();
      if (fs::exists(entry.path() / "model.onnx") && (only == nullptr || name.find(only) != std::string::npos)) {
        folders.push_back(entry.path());
      }
    }
  }
  std::sort(folders.begin(), folders.end());
  int passed = 0;
  std::map<std::string, std::vector<std::string>> unsupported;
  std::vector<std::string> failed;
  for (const fs::path& folder : folders) {
    const std::string name = folder.filename().string();
    const Outcome outcome = run_case(folder);
    switch (outcome.kind) {
      case Outcome::Kind::kPassed: ++passed; break;
      case Outcome::Kind::kUnsupported: unsupported[outcome.what].push_back(name); break;
      case Outcome::Kind::kFailed: failed.push_back(name + ": " + outcome.what);
    }
  }
  std::string report = fmt::format("{} of {} conformance tests pass\n", passed, folders.size());
  for (const auto& [op, names] : unsupported) {
    report += fmt::format("  not supported: {} ({}, such as {})\n", op, names.size(), names.front());
    if (only == nullptr && !unsupported_parts().contains(op))
      failed.push_back(op + " is not in the list of what is not supported");
  }
  for (const std::string& line : failed) report += "  FAILED " + line + "\n";
  std::cout << report;
  CHECK(failed.empty());
  if (only == nullptr) CHECK(passed >= 920);
}

}  // namespace fusewright::frontend_onnx
