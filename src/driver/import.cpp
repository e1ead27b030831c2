#include "import.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "fusewright/frontend/hlo/import.hpp"
#include "fusewright/frontend/onnx/import.hpp"
#include "fusewright/interpret/inputs.hpp"

namespace fusewright::driver {

namespace {

std::uint64_t hash_name(const std::string& name) {
  std::uint64_t h = 0;
  for (const char c : name) h = hash_mix(h, static_cast<unsigned char>(c));
  return h;
}

// The frontends take the same options, each as a type of its own.
template <class ImportOptions>
ImportOptions import_options(const CompileOptions& options) {
  ImportOptions out;
  out.shapes = options.shapes;
  out.dims = options.dims;
  out.inputs = options.inputs;
  out.freeze = options.freeze;
  if (options.random_weights) {
    out.replace_weight = [seed = options.seed](const std::string& name,
                                               const ops::Type& type) -> std::optional<ops::Tensor> {
      Result<ops::Tensor> weight = interpret::random_weight(type, seed, hash_name(name));
      if (!weight) return std::nullopt;
      return *std::move(weight);
    };
  }
  return out;
}

Result<Import> read_hlo(const CompileOptions& options) {
  namespace hlo = frontend_hlo;
  FW_TRY(const SourcePtr text, hlo::read_hlo_file(options.model));
  FW_TRY(std::vector<hlo::Module> parsed, hlo::parse_hlo(text));
  return [&options, modules = std::make_shared<const std::vector<hlo::Module>>(std::move(parsed))](
             std::shared_ptr<const ops::OpTable> table) -> Result<graph::Graph> {
    auto import = import_options<hlo::ImportOptions>(options);
    for (const auto& [n, tensor] : options.data) import.inputs.emplace(std::to_string(n), tensor);
    FW_TRY(std::vector<graph::Graph> graphs, hlo::import_hlo(*modules, std::move(table), import));
    if (graphs.size() != 1)
      return fail(fmt::format("{}: holds {} modules; one is expected", options.model, graphs.size()));
    return std::move(graphs.front());
  };
}

Result<Import> read_onnx(const CompileOptions& options) {
  namespace onnx = frontend_onnx;
  FW_TRY(std::shared_ptr<onnx::ModelFile> file, onnx::read_onnx(options.model));
  return [&options, file = std::move(file)](std::shared_ptr<const ops::OpTable> table) {
    auto import = import_options<onnx::ImportOptions>(options);
    import.data = options.data;
    return onnx::import_onnx(file, std::move(table), import);
  };
}

struct Frontend {
  std::string_view suffix;
  Result<Import> (*read)(const CompileOptions&);
};
constexpr Frontend kFrontends[] = {{".onnx", read_onnx}, {".hlo", read_hlo}, {".txt", read_hlo}};

}  // namespace

Result<Import> read_model(const CompileOptions& options) {
  std::error_code error;
  const auto status = std::filesystem::status(options.model, error);
  if (!std::filesystem::exists(status)) return fail(fmt::format("{}: no such file", options.model));
  if (std::filesystem::is_directory(status))
    return fail(fmt::format("{}: is a folder, not a model file", options.model));
  for (const Frontend& frontend : kFrontends)
    if (options.model.ends_with(frontend.suffix)) return frontend.read(options);
  return fail(fmt::format("{}: not a model file by its name (.onnx, or .hlo and .txt for HLO text)", options.model));
}

}  // namespace fusewright::driver
