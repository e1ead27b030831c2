#include "fusewright/cost/device.hpp"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/main/paths.hpp"
#include "tests/region/make_region.hpp"

using namespace fusewright;

namespace {

std::string folder() { return (tests::source_dir() / "backends/devices").string(); }

cost::Device device(const std::string& name) {
  auto loaded = cost::load_device(folder() + "/" + name + ".json");
  REQUIRE(loaded.has_value());
  return *std::move(loaded);
}

double seconds(const tests::RegionMaker& m, const cost::Device& d) {
  const auto schedule = schedule::fit(m.region, schedule::Template::kLoop, d.shape);
  REQUIRE(schedule.has_value());
  return cost::kernel_cost(m.region, *schedule, d).seconds;
}

}  // namespace

TEST_CASE("every device file that comes with the program loads", "[cost]") {
  const auto names = cost::device_names(folder());
  CHECK(names.size() >= 4);
  for (const std::string& name : names) CHECK(device(name).name == name);
}

TEST_CASE("a printed device is the file of one that is the same", "[cost]") {
  const auto path = std::filesystem::temp_directory_path() / "fusewright-printed-device.json";
  for (const std::string& name : cost::device_names(folder())) {
    const std::string printed = cost::print_device(device(name));
    std::ofstream(path) << printed;
    const auto loaded = cost::load_device(path.string());
    INFO(printed);
    REQUIRE(loaded.has_value());
    CHECK(cost::print_device(*loaded) == printed);
    CHECK(loaded->shape.registers == device(name).shape.registers);
    CHECK(loaded->memory.size() == device(name).memory.size());
  }
  std::filesystem::remove(path);
}

TEST_CASE("a broken device file is refused by name", "[cost]") {
  const auto path = std::filesystem::temp_directory_path() / "fusewright-broken-device.json";
  for (const char* text : {"", "{", "{}", "[1]", R"({"name": "x", "target": 3})"}) {
    std::ofstream(path) << text;
    const auto loaded = cost::load_device(path.string());
    REQUIRE_FALSE(loaded.has_value());
    CHECK(print_error(loaded.error()).find("fusewright-broken-device.json") != std::string::npos);
  }
  std::filesystem::remove(path);
  CHECK_FALSE(cost::load_device("/nowhere/none.json").has_value());
}

TEST_CASE("cost grows with bytes, with work, with what is computed again", "[cost]") {
  const cost::Device d = device("x86-avx2");
  using Ints = std::vector<std::int64_t>;
  const auto chain = [&](std::int64_t n, int length) {
    tests::RegionMaker m;
    auto v = m.capture({n});
    for (int i = 0; i < length; ++i) v = m.op("tanh", {v}, {n});
    m.region.outputs = {v};
    return seconds(m, d);
  };
  CHECK(chain(1 << 22, 1) > 3 * chain(1 << 20, 1));
  CHECK(chain(1 << 20, 8) > 2 * chain(1 << 20, 2));
  tests::RegionMaker again;
  const auto v = again.capture({1024});
  again.region.outputs = {again.op("broadcast", {again.op("exp", {v}, {1024})}, {4096, 1024}, {{"dims", Ints{1}}})};
  tests::RegionMaker once;
  once.region.outputs = {once.op("broadcast", {once.capture({1024})}, {4096, 1024}, {{"dims", Ints{1}}})};
  CHECK(seconds(again, d) > 1.5 * seconds(once, d));
}

TEST_CASE("too many values alive, and too little to share out, cost extra", "[cost]") {
  const cost::Device d = device("x86-avx2");
  tests::RegionMaker m;
  m.region.outputs = {m.op("tanh", {m.capture({1 << 20})}, {1 << 20})};
  auto schedule = schedule::fit(m.region, schedule::Template::kLoop, d.shape);
  REQUIRE(schedule.has_value());
  const double plain = cost::kernel_cost(m.region, *schedule, d).seconds;
  schedule->resources.live_values = 40;
  const cost::KernelCost crowded = cost::kernel_cost(m.region, *schedule, d);
  CHECK(crowded.seconds > plain);
  CHECK(crowded.explanation.find("40 values alive") != std::string::npos);
  schedule->resources.live_values = 2;
  schedule->resources.parallelism = 1;
  const cost::KernelCost single = cost::kernel_cost(m.region, *schedule, d);
  CHECK(single.seconds > plain);
  CHECK(single.explanation.find("50 % of the machine used") != std::string::npos);
}

TEST_CASE("work that is done sooner than other cores join stays on one", "[cost]") {
  cost::Device d = device("x86-avx2");
  d.handoff_seconds = 1e-5;
  const auto loop = [&](std::int64_t n) {
    tests::RegionMaker m;
    m.region.outputs = {m.op("tanh", {m.capture({n})}, {n})};
    const auto schedule = schedule::fit(m.region, schedule::Template::kLoop, d.shape);
    REQUIRE(schedule.has_value());
    return cost::kernel_cost(m.region, *schedule, d);
  };
  CHECK(loop(1 << 13).explanation.find("50 % of the machine used") != std::string::npos);
  CHECK(loop(1 << 13).launch == d.launch_seconds);
  const cost::KernelCost large = loop(1 << 22);
  CHECK(large.explanation.find("of the machine used") == std::string::npos);
  CHECK(large.launch == d.launch_seconds + d.handoff_seconds);
}

TEST_CASE("one number costs nothing, however it is spread and however many there are", "[cost]") {
  const cost::Device d = device("x86-avx2");
  const auto sum = [&](int numbers) {
    tests::RegionMaker m;
    region::ValueId x = m.capture({1 << 20});
    std::vector<region::ValueId> spread;
    for (int i = 0; i < numbers; ++i) {
      spread.push_back(m.op("broadcast", {m.scalar()}, {1 << 20}, {{"dims", std::vector<std::int64_t>{}}}));
    }
    for (int i = 0; i < 40; ++i) x = m.op("add", {x, numbers > 0 ? spread[static_cast<std::size_t>(i)] : x}, {1 << 20});
    m.region.outputs = {x};
    return m;
  };
  CHECK(seconds(sum(40), d) == seconds(sum(0), d));
}
