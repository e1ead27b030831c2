#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>

#include "backends/nvptx/launcher/driver_api.hpp"
#include "backends/nvptx/nvptx.hpp"
#include "fusewright/support/check.hpp"

namespace fusewright::backend_nvptx {

using cuda::Driver;
using kernel::Buffer;
using kernel::Kernel;

namespace {

/// One kernel in the driver.
struct Loaded {
  std::vector<Driver::Handle> functions;  ///< one for each launch
  std::int64_t registers = 0, shared_bytes = 0;
};

/// Device memory that grows with what is asked of it; one piece for each place in the argument list.
class DeviceMemory {
 public:
  explicit DeviceMemory(const Driver& driver) : driver_(driver) {}
  ~DeviceMemory() {
    for (const Piece& p : pieces_) driver_.release(p.address);
  }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  Result<Driver::Address> piece(std::size_t index, std::size_t bytes) {
    if (pieces_.size() <= index) pieces_.resize(index + 1);
    Piece& p = pieces_[index];
    if (p.bytes < bytes) {
      if (p.bytes != 0) driver_.release(p.address);
      p = {};
      if (const int code = driver_.allocate(&p.address, bytes); code != 0)
        return fail(ErrorKind::kResource, fmt::format("{} bytes of device memory: {}", bytes, driver_.text(code)));
      p.bytes = bytes;
    }
    return p.address;
  }

 private:
  struct Piece {
    Driver::Address address = 0;
    std::size_t bytes = 0;
  };
  const Driver& driver_;
  std::vector<Piece> pieces_;
};

class CudaExecutable final : public kernel::Executable {
 public:
  CudaExecutable(const Driver& driver, std::vector<Kernel> kernels)
      : driver_(driver), kernels_(std::move(kernels)), memory_(driver_) {}
  ~CudaExecutable() override {
    for (const Driver::Handle module : modules_) driver_.unload_module(module);
  }

  Status load(const std::string& sm) {
    std::map<std::uint64_t, std::size_t> same;
    for (std::size_t i = 0; i < kernels_.size(); ++i) {
      const auto [at, added] = same.try_emplace(kernel::hash(kernels_[i]), i);
      if (!added) {
        loaded_.push_back(loaded_[at->second]);
        continue;
      }
      FW_TRY(const Ptx ptx, emit_ptx(kernels_[i], sm));
      Driver::Handle module = nullptr;
      if (const std::string wrong = driver_.load_ptx(ptx.text.c_str(), &module); !wrong.empty())
        return fail(ErrorKind::kUnsupported,
                    fmt::format("kernel {}: the CUDA driver refuses its PTX: {}", kernels_[i].name, wrong));
      modules_.push_back(module);
      Loaded& l = loaded_.emplace_back();
      for (const std::string& entry : ptx.entries) {
        Driver::Handle function = nullptr;
        FW_TRY_STATUS(good(driver_.get_function(&function, module, entry.c_str()), kernels_[i], "get function"));
        l.functions.push_back(function);
        int value = 0;
        if (driver_.function_attribute(&value, Driver::kRegisters, function) == 0)
          l.registers = std::max<std::int64_t>(l.registers, value);
        if (driver_.function_attribute(&value, Driver::kSharedBytes, function) == 0)
          l.shared_bytes = std::max<std::int64_t>(l.shared_bytes, value);
      }
    }
    return {};
  }

  Status run(std::size_t index, const std::vector<void*>& buffers, int) override {
    const std::lock_guard lock(running_);
    const Kernel& kernel = kernels_[index];
    std::vector<const Buffer*> globals;
    for (const Buffer& b : kernel.buffers)
      if (b.space == kernel::Space::kGlobal) globals.push_back(&b);
    FW_CHECK(globals.size() == buffers.size());
    std::vector<Driver::Address> addresses;
    for (std::size_t b = 0; b < buffers.size(); ++b) {
      const auto bytes = bytes_of(*globals[b]);
      FW_TRY(const Driver::Address address, memory_.piece(b, std::max<std::size_t>(bytes, 1)));
      addresses.push_back(address);
      if (globals[b]->role == Buffer::Role::kInput && bytes > 0)
        FW_TRY_STATUS(good(driver_.to_device(address, buffers[b], bytes), kernel, "copy to device"));
    }
    std::vector<void*> arguments;
    for (Driver::Address& address : addresses) arguments.push_back(&address);
    for (std::size_t l = 0; l < kernel.launches.size(); ++l) {
      const kernel::Launch& launch = kernel.launches[l];
      const auto number = [](std::int64_t n) { return static_cast<unsigned>(n); };
      FW_TRY_STATUS(good(
          driver_.launch(loaded_[index].functions[l], number(launch.grid[0]), number(launch.grid[1]),
                         number(launch.grid[2]), number(launch.threads), 1, 1, 0, nullptr, arguments.data(), nullptr),
          kernel, "launch"));
    }
    FW_TRY_STATUS(good(driver_.synchronize(), kernel, "run"));
    for (std::size_t b = 0; b < buffers.size(); ++b)
      if (globals[b]->role == Buffer::Role::kOutput && globals[b]->elements > 0)
        FW_TRY_STATUS(good(driver_.to_host(buffers[b], addresses[b], bytes_of(*globals[b])), kernel, "copy to host"));
    return {};
  }
  std::int64_t registers(std::size_t index) const override { return loaded_[index].registers; }
  std::int64_t shared_bytes(std::size_t index) const override { return loaded_[index].shared_bytes; }

 private:
  static std::size_t bytes_of(const Buffer& b) {
    return static_cast<std::size_t>(b.elements * ops::byte_width(b.dtype));
  }
  Status good(int code, const Kernel& kernel, const char* doing) const {
    if (code == 0) return {};
    return fail(ErrorKind::kResource, fmt::format("kernel {}, {}: {}", kernel.name, doing, driver_.text(code)));
  }

  Driver driver_;
  std::vector<Kernel> kernels_;
  std::vector<Loaded> loaded_;
  std::vector<Driver::Handle> modules_;
  DeviceMemory memory_;
  std::mutex running_;
};

}  // namespace

Result<std::unique_ptr<kernel::Executable>> compile_cuda(const std::vector<Kernel>& kernels) {
  Driver driver;
  if (const std::string wrong = driver.load(); !wrong.empty()) return fail(ErrorKind::kUnsupported, wrong);
  int capability = 0;
  std::string name;
  if (const std::string wrong = driver.open(&capability, &name); !wrong.empty())
    return fail(ErrorKind::kUnsupported, wrong);
  std::string sm;  // the newest that the device runs
  for (const std::string& known : architectures())
    if (std::stoi(known.substr(3)) <= capability) sm = known;
  if (sm.empty())
    return fail(ErrorKind::kUnsupported,
                fmt::format("{} has compute capability {}.{}; 8.0 is needed", name, capability / 10, capability % 10));
  auto executable = std::make_unique<CudaExecutable>(driver, kernels);
  FW_TRY_STATUS(executable->load(sm));
  return executable;
}

}  // namespace fusewright::backend_nvptx
