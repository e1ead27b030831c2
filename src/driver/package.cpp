#include "fusewright/driver/package.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "backends/nvptx/nvptx.hpp"
#include "backends/x86/x86.hpp"
#include "fusewright/driver/session.hpp"
#include "fusewright/interpret/evaluate.hpp"
#include "fusewright/support/file.hpp"

namespace fusewright::driver {

using Json = nlohmann::ordered_json;
using kernel::Buffer;
using kernel::Kernel;
using ops::Tensor;

namespace {

/// Writes files of one folder and counts their bytes.
class Folder {
 public:
  explicit Folder(std::string path) : path_(std::move(path)) {}

  Status make(const std::string& name) {
    std::error_code error;
    std::filesystem::create_directories(path_ + "/" + name, error);
    if (error) return fail(fmt::format("{}/{}: {}", path_, name, error.message()));
    return {};
  }
  Status remove(const std::string& name) {
    std::error_code error;
    std::filesystem::remove(path_ + "/" + name, error);
    if (error) return fail(fmt::format("{}/{}: {}", path_, name, error.message()));
    return {};
  }
  Status write(const std::string& name, const void* bytes, std::size_t size) {
    FW_TRY_STATUS(write_file(path_ + "/" + name, {{static_cast<const char*>(bytes), size}}));
    bytes_ += static_cast<std::int64_t>(size);
    return {};
  }
  Status write(const std::string& name, const std::string& text) { return write(name, text.data(), text.size()); }
  std::int64_t bytes() const { return bytes_; }

 private:
  std::string path_;
  std::int64_t bytes_ = 0;
};

std::size_t bytes_of(const Buffer& b) { return static_cast<std::size_t>(b.elements * ops::byte_width(b.dtype)); }

/// The reference evaluator in the place of compiled kernels. It keeps the bounds of the kernel that ran last.
class Reference final : public kernel::Executable {
 public:
  explicit Reference(const Compilation& c) : c_(c) {}

  Status run(std::size_t index, const std::vector<void*>& buffers, int) override {
    const plan::Group& group = c_.plan->groups[index];
    std::vector<Tensor> in;
    for (std::size_t i = 0; i < group.inputs.size(); ++i) {
      const ops::Type& type = c_.plan->graph.type(group.inputs[i]);
      FW_TRY(Tensor t, ops::make_tensor(type.dtype, ops::static_dims(type.shape)));
      if (t.elements() > 0)
        std::memcpy(t.mutable_data(), buffers[i], static_cast<std::size_t>(t.elements() * ops::byte_width(type.dtype)));
      in.push_back(std::move(t));
    }
    FW_TRY(last, interpret::evaluate_with_bounds(group_graph(*c_.plan, group), in));
    for (std::size_t o = 0; o < last.size(); ++o)
      if (last[o].value.elements() > 0)
        std::memcpy(buffers[in.size() + o], last[o].value.data(),
                    static_cast<std::size_t>(last[o].value.elements() * ops::byte_width(last[o].value.dtype)));
    return {};
  }

  std::vector<interpret::Bounded> last;

 private:
  const Compilation& c_;
};

/// What each kernel must answer, rounded up to f32.
std::vector<float> radii(const interpret::Bounded& bounded) {
  std::vector<float> out(static_cast<std::size_t>(bounded.value.elements()));
  for (std::size_t i = 0; i < out.size(); ++i) {
    const double r = bounded.radius_at(static_cast<std::int64_t>(i));
    const auto f = static_cast<float>(r);
    out[i] = f < r ? std::nextafter(f, std::numeric_limits<float>::infinity()) : f;
  }
  return out;
}

class Packer {
 public:
  Packer(const Compilation& c, const CodeTarget& target, const std::string& folder)
      : c_(c), target_(target), folder_(folder) {}

  Result<std::int64_t> run(const std::vector<Tensor>& inputs, bool with_data) {
    FW_TRY_STATUS(folder_.make("kernels"));
    FW_TRY_STATUS(folder_.remove("manifest.json"));  // written last, it says that all the rest is there
    for (std::size_t g = 0; g < c_.kernels.size(); ++g) kernels_.push_back(describe(g));
    FW_TRY_STATUS(target_.nvptx ? ptx() : objects());
    if (with_data) FW_TRY_STATUS(data(inputs));
    Json manifest;
    manifest["format"] = "fusewright kernels 1";
    manifest["target"] = target_.name;
    manifest["family"] = target_.nvptx ? "nvptx" : "x86";
    manifest["kernels"] = std::move(kernels_);
    FW_TRY_STATUS(folder_.write("manifest.json", manifest.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"));
    return folder_.bytes();
  }

 private:
  std::string file(std::size_t g, const char* ending) const {
    return fmt::format("kernels/{:03}_{}{}", g, c_.kernels[g].name, ending);
  }

  Json describe(std::size_t g) const {
    const Kernel& kernel = c_.kernels[g];
    const plan::Group& group = c_.plan->groups[g];
    Json json;
    json["name"] = group.name;
    json["file"] = file(g, target_.nvptx ? ".ptx" : ".o");
    json["bytes"] = group.bytes;
    json["flops"] = group.flops;
    json["launches"] = Json::array();
    for (const kernel::Launch& launch : kernel.launches) {
      Json l;
      l["entry"] = launch.name;
      if (target_.nvptx)
        l["grid"] = launch.grid, l["threads"] = launch.threads;
      else
        l["iterations"] = launch.parallel;
      json["launches"].push_back(std::move(l));
    }
    json["arguments"] = Json::array();
    std::vector<plan::Value> values = group.inputs;
    values.insert(values.end(), group.outputs.begin(), group.outputs.end());
    std::size_t next = 0;
    for (const Buffer& b : kernel.buffers) {
      if (b.space != kernel::Space::kGlobal) continue;
      static constexpr const char* kRoles[] = {"input", "output", "temporary", "packed"};
      Json a;
      a["name"] = b.name;
      a["role"] = kRoles[static_cast<int>(b.role)];
      a["dtype"] = ops::name(b.dtype);
      a["elements"] = b.elements;
      a["bytes"] = bytes_of(b);
      if (next < values.size())
        a["tensor"] = fmt::format("{}:{}", c_.plan->graph[values[next].node].name, values[next].result);
      json["arguments"].push_back(std::move(a));
      ++next;
    }
    return json;
  }

  Status ptx() {
    for (std::size_t g = 0; g < c_.kernels.size(); ++g) {
      FW_TRY(const backend_nvptx::Ptx ptx, backend_nvptx::emit_ptx(c_.kernels[g], target_.machine));
      FW_TRY_STATUS(folder_.write(file(g, ".ptx"), ptx.text));
    }
    return {};
  }

  Status objects() {
    backend_x86::Options options;
    options.cpu = target_.machine;
    FW_TRY(const std::vector<backend_x86::Object> objects, backend_x86::emit_objects(c_.kernels, options));
    for (std::size_t g = 0; g < objects.size(); ++g) {
      FW_TRY_STATUS(folder_.write(file(g, ".o"), objects[g].bytes));
      kernels_[g]["scratch_bytes"] = objects[g].scratch_bytes;
    }
    return {};
  }

  Status data(const std::vector<Tensor>& inputs) {
    FW_TRY_STATUS(folder_.make("data"));
    auto reference = std::make_unique<Reference>(c_);
    const Reference& bounds = *reference;
    FW_TRY(runtime::Instance instance, runtime::Instance::make(c_.plan, c_.kernels, std::move(reference)));
    const auto observe = [&](std::size_t g, std::span<const Tensor> in, std::span<const Tensor> out) -> Status {
      std::size_t argument = 0;
      for (const auto& list : {in, out})
        for (const Tensor& t : list) {
          Json& a = kernels_[g]["arguments"][argument];
          const std::string name = fmt::format("data/{:03}_{}", g, a["name"].get<std::string>());
          a["file"] = name + ".bin";
          FW_TRY_STATUS(folder_.write(name + ".bin", t.data(), a["bytes"].get<std::size_t>()));
          ++argument;
          if (argument <= in.size()) continue;
          const std::vector<float> radius = radii(bounds.last[argument - 1 - in.size()]);
          a["bounds"] = name + ".bounds";
          FW_TRY_STATUS(folder_.write(name + ".bounds", radius.data(), radius.size() * sizeof(float)));
        }
      return {};
    };
    FW_TRY(const auto results, instance.run(inputs, 1, nullptr, observe));
    return {};
  }

  const Compilation& c_;
  const CodeTarget& target_;
  Folder folder_;
  Json kernels_ = Json::array();
};

}  // namespace

Result<CodeTarget> parse_target(const std::string& text) {
  struct Row {
    const char* target;
    const char* device;
  };
  static constexpr Row kGpus[] = {
      {"nvptx:sm_80", "a100"}, {"nvptx:sm_90", "h200"}, {"nvptx:sm_100", "b200"}, {"nvptx:sm_120", "rtx-pro-6000"}};
  if (text == "x86" || text.starts_with("x86:")) {
    const std::string cpu = text.size() > 4 ? text.substr(4) : "";
    return CodeTarget{text, false, cpu, "cpu", cpu == "avx2" ? "x86-avx2" : "x86-avx512"};
  }
  std::vector<std::string> known{"x86", "x86:avx2", "x86:avx512"};
  for (const Row& row : kGpus) {
    if (text == row.target) return CodeTarget{text, true, text.substr(6), "cuda", row.device};
    known.emplace_back(row.target);
  }
  return fail(fmt::format("--target: no target '{}' (there are {}, and x86:CPU with a name that LLVM knows)", text,
                          fmt::join(known, ", ")));
}

Result<std::int64_t> write_package(const Compilation& c, const CodeTarget& target, const std::string& folder,
                                   const std::optional<std::vector<Tensor>>& inputs) {
  for (const plan::Group& group : c.plan->groups)
    if (!group.unsupported.empty())
      return fail(ErrorKind::kUnsupported, fmt::format("there is no kernel for '{}': {}",
                                                       c.plan->graph[group.nodes.front()].name, group.unsupported));
  return Packer(c, target, folder).run(inputs.value_or(std::vector<Tensor>{}), inputs.has_value());
}

}  // namespace fusewright::driver
