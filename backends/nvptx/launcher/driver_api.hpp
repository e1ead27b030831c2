#pragma once

#include <dlfcn.h>

#include <cstddef>
#include <string>
#include <type_traits>

namespace fusewright::cuda {

/// The part of the CUDA driver's interface that is used, loaded at run time: nothing of a toolkit is needed to build.
/// Source: CUDA driver API reference (handles are pointers, device addresses 64-bit integers, results 0 for success).
struct Driver {
  using Address = unsigned long long;
  using Handle = void*;

  int (*init)(unsigned) = nullptr;
  int (*device_count)(int*) = nullptr;
  int (*device_get)(int*, int) = nullptr;
  int (*device_name)(char*, int, int) = nullptr;
  int (*device_attribute)(int*, int, int) = nullptr;
  int (*primary_context)(Handle*, int) = nullptr;
  int (*set_context)(Handle) = nullptr;
  int (*load_module)(Handle*, const void*, unsigned, int*, void**) = nullptr;
  int (*unload_module)(Handle) = nullptr;
  int (*get_function)(Handle*, Handle, const char*) = nullptr;
  int (*function_attribute)(int*, int, Handle) = nullptr;
  int (*launch)(Handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Handle, void**,
                void**) = nullptr;
  int (*allocate)(Address*, std::size_t) = nullptr;
  int (*release)(Address) = nullptr;
  int (*to_device)(Address, const void*, std::size_t) = nullptr;
  int (*to_host)(void*, Address, std::size_t) = nullptr;
  int (*synchronize)() = nullptr;
  int (*create_event)(Handle*, unsigned) = nullptr;
  int (*record_event)(Handle, Handle) = nullptr;
  int (*wait_event)(Handle) = nullptr;
  int (*elapsed)(float*, Handle, Handle) = nullptr;
  int (*error_text)(int, const char**) = nullptr;

  static constexpr int kComputeMajor = 75, kComputeMinor = 76;  // device attributes
  static constexpr int kSharedBytes = 1, kRegisters = 4;        // function attributes
  static constexpr int kErrorLog = 5, kErrorLogBytes = 6;       // options of load_module

  /// Loads the driver and starts it. @returns what is wrong, empty if nothing.
  std::string load() {
    void* library = dlopen("libcuda.so.1", RTLD_NOW);
    if (library == nullptr) return "no CUDA device: libcuda.so.1 not found";
    std::string missing;
    const auto find = [&](auto& function, const char* name) {
      void* address = dlsym(library, name);
      if (address == nullptr) missing = name;
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(address);
    };
    find(init, "cuInit");
    find(device_count, "cuDeviceGetCount");
    find(device_get, "cuDeviceGet");
    find(device_name, "cuDeviceGetName");
    find(device_attribute, "cuDeviceGetAttribute");
    find(primary_context, "cuDevicePrimaryCtxRetain");
    find(set_context, "cuCtxSetCurrent");
    find(load_module, "cuModuleLoadDataEx");
    find(unload_module, "cuModuleUnload");
    find(get_function, "cuModuleGetFunction");
    find(function_attribute, "cuFuncGetAttribute");
    find(launch, "cuLaunchKernel");
    find(allocate, "cuMemAlloc_v2");
    find(release, "cuMemFree_v2");
    find(to_device, "cuMemcpyHtoD_v2");
    find(to_host, "cuMemcpyDtoH_v2");
    find(synchronize, "cuCtxSynchronize");
    find(create_event, "cuEventCreate");
    find(record_event, "cuEventRecord");
    find(wait_event, "cuEventSynchronize");
    find(elapsed, "cuEventElapsedTime");
    find(error_text, "cuGetErrorString");
    if (!missing.empty()) return "no CUDA device: libcuda.so.1 has no " + missing;
    if (const int code = init(0); code != 0) return "no CUDA device: " + text(code);
    int count = 0;
    if (device_count(&count) != 0 || count == 0) return "no CUDA device: the driver finds none";
    return {};
  }

  std::string text(int code) const {
    const char* words = nullptr;
    if (error_text != nullptr && error_text(code, &words) == 0 && words != nullptr) return words;
    return "CUDA error " + std::to_string(code);
  }

  /// Makes the first device's context current. @returns what is wrong, empty if nothing.
  std::string open(int* compute_capability, std::string* name) {
    int device = 0, major = 0, minor = 0;
    Handle context = nullptr;
    char words[256] = "";
    int code = device_get(&device, 0);
    if (code == 0) code = device_name(words, sizeof words, device);
    if (code == 0) code = device_attribute(&major, kComputeMajor, device);
    if (code == 0) code = device_attribute(&minor, kComputeMinor, device);
    if (code == 0) code = primary_context(&context, device);
    if (code == 0) code = set_context(context);
    *compute_capability = 10 * major + minor;
    *name = words;
    return code == 0 ? std::string() : "CUDA device 0: " + text(code);
  }

  /// @returns what is wrong with the PTX text, empty if nothing.
  std::string load_ptx(const char* ptx, Handle* module) const {
    char log[4096] = "";
    int options[] = {kErrorLog, kErrorLogBytes};
    void* values[] = {log, reinterpret_cast<void*>(sizeof log)};
    const int code = load_module(module, ptx, 2, options, values);
    return code == 0 ? std::string() : text(code) + ": " + log;
  }
};

}  // namespace fusewright::cuda
