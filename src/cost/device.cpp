#include "fusewright/cost/device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

namespace fusewright::cost {

namespace {

using Json = nlohmann::json;

schedule::Target read_shape(const Json& json) {
  schedule::Target target;
  target.family = json.at("family") == "gpu" ? schedule::Target::Family::kGpu : schedule::Target::Family::kCpu;
  target.vector_bits = json.value("vector_bits", target.vector_bits);
  target.vector_registers = json.value("vector_registers", target.vector_registers);
  target.l1_bytes = json.value("l1_bytes", target.l1_bytes);
  target.l2_bytes = json.value("l2_bytes", target.l2_bytes);
  target.cores = json.value("cores", target.cores);
  target.warp = json.value("warp", target.warp);
  target.max_threads = json.value("max_threads", target.max_threads);
  target.registers = json.value("registers", target.registers);
  target.shared_bytes = json.value("shared_bytes", target.shared_bytes);
  return target;
}

Device read_device(const Json& json) {
  Device device;
  device.name = json.at("name");
  device.target = json.at("target");
  device.shape = read_shape(json.at("shape"));
  device.launch_seconds = json.at("launch_seconds");
  device.handoff_seconds = json.value("handoff_seconds", device.handoff_seconds);
  for (const Json& level : json.at("memory"))
    device.memory.push_back({level.at("name"), level.at("bytes"), level.at("bytes_per_second")});
  device.unit_rate = json.at("unit_rate");
  device.contraction_flops = json.at("contraction_flops");
  for (const auto& [dtype, factor] : json.at("dtype_factor").items()) device.dtype_factor.emplace_back(dtype, factor);
  device.parallelism_for_peak = json.at("parallelism_for_peak");
  return device;
}

Status check_device(const Device& device, const std::string& path) {
  const auto bad = [&](const char* what) { return fail(fmt::format("device file {}: {}", path, what)); };
  if (device.memory.empty()) return bad("'memory' lists no level");
  for (const MemoryLevel& level : device.memory)
    if (!(level.bytes_per_second > 0) || level.bytes < 0)
      return bad("'bytes_per_second' of a memory level must be positive");
  if (!(device.unit_rate > 0) || !(device.contraction_flops > 0)) return bad("rates must be positive");
  if (!(device.launch_seconds >= 0)) return bad("'launch_seconds' must not be negative");
  if (!(device.handoff_seconds >= 0)) return bad("'handoff_seconds' must not be negative");
  const schedule::Target& shape = device.shape;
  if (device.parallelism_for_peak < 1 || shape.cores < 1)
    return bad("'cores' and 'parallelism_for_peak' must be positive");
  if ((shape.family == schedule::Target::Family::kGpu) != device.target.starts_with("nvptx:"))
    return bad("'target' must be nvptx:sm_NN where 'family' is gpu, x86 where it is cpu");
  if (shape.vector_bits < 64 || shape.vector_bits > 2048 || !std::has_single_bit(unsigned(shape.vector_bits)))
    return bad("'vector_bits' must be a power of two from 64 to 2048");
  if (shape.vector_registers < 8 || shape.vector_registers > 1024) return bad("'vector_registers' must be 8 to 1024");
  if (shape.warp != 32 || shape.max_threads < 32 || shape.max_threads > 1024)
    return bad("'warp' must be 32, 'max_threads' 32 to 1024");
  for (const std::int64_t size : {shape.l1_bytes, shape.l2_bytes, shape.registers, shape.shared_bytes})
    if (size < 1024 || size > std::int64_t{1} << 40) return bad("sizes in 'shape' must be 1024 to 2^40");
  for (const auto& [dtype, factor] : device.dtype_factor) {
    if (!ops::dtype_from_name(dtype)) return bad("'dtype_factor' names an unknown dtype");
    if (!(factor > 0)) return bad("'dtype_factor' must be positive");
  }
  return {};
}

}  // namespace

Result<Device> load_device(const std::string& path) {
  std::error_code error;
  std::ifstream file;
  if (std::filesystem::is_regular_file(path, error)) file.open(path);
  if (!file.is_open()) return fail(fmt::format("cannot read device file {}", path));
  try {
    Device device = read_device(Json::parse(file));
    FW_TRY_STATUS(check_device(device, path));
    return device;
  } catch (const Json::parse_error& error) {
    return fail(fmt::format("device file {} is not valid JSON, near byte {}", path, error.byte));
  } catch (const Json::exception& error) {
    const std::string_view what = error.what();  // "[json.exception.type_error.302] type must be number, but is string"
    return fail(fmt::format("device file {}: {}", path, what.substr(std::min(what.size(), what.find("] ") + 2))));
  }
}

std::string print_device(const Device& device) {
  // Four digits say all that a measurement knows.
  const auto figure = [](double value) { return std::strtod(fmt::format("{:.4g}", value).c_str(), nullptr); };
  const schedule::Target& shape = device.shape;
  nlohmann::ordered_json json = {{"name", device.name}, {"target", device.target}};
  if (shape.family == schedule::Target::Family::kGpu)
    json["shape"] = {{"family", "gpu"},
                     {"cores", shape.cores},
                     {"warp", shape.warp},
                     {"max_threads", shape.max_threads},
                     {"registers", shape.registers},
                     {"shared_bytes", shape.shared_bytes},
                     {"l2_bytes", shape.l2_bytes}};
  else
    json["shape"] = {{"family", "cpu"},
                     {"vector_bits", shape.vector_bits},
                     {"vector_registers", shape.vector_registers},
                     {"l1_bytes", shape.l1_bytes},
                     {"l2_bytes", shape.l2_bytes},
                     {"cores", shape.cores}};
  json["launch_seconds"] = figure(device.launch_seconds);
  json["handoff_seconds"] = figure(device.handoff_seconds);
  for (const MemoryLevel& level : device.memory)
    json["memory"].push_back(
        {{"name", level.name}, {"bytes", level.bytes}, {"bytes_per_second", figure(level.bytes_per_second)}});
  json["unit_rate"] = figure(device.unit_rate);
  json["contraction_flops"] = figure(device.contraction_flops);
  json["dtype_factor"] = nlohmann::ordered_json::object();
  for (const auto& [dtype, factor] : device.dtype_factor) json["dtype_factor"][dtype] = figure(factor);
  json["parallelism_for_peak"] = device.parallelism_for_peak;
  return json.dump(2) + "\n";
}

std::vector<std::string> device_names(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error))
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace fusewright::cost
