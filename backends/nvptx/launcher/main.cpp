// Runs the kernels of a package (`fusewright compile --target nvptx:... --reference`) on the first GPU, each alone on
// the data that lies beside it, checks what it answers and times it. Needs the CUDA driver and nothing else. Exit
// codes: 0 all right, 1 a kernel is wrong, 2 no GPU or an unreadable package.

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "driver_api.hpp"

namespace {

using fusewright::cuda::Driver;
using Json = nlohmann::json;

constexpr int kRuns = 20;  // timed, of each kernel

std::vector<char> read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error(path + " cannot be read");
  return {std::istreambuf_iterator<char>(in), {}};
}

template <class T>
T at(const std::vector<char>& bytes, std::size_t index) {
  T value;
  std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
  return value;
}

double from_half(std::uint16_t h) {
  const int exponent = h >> 10 & 31, fraction = h & 1023;
  const double magnitude = exponent == 31  ? (fraction == 0 ? INFINITY : NAN)
                           : exponent == 0 ? std::ldexp(fraction, -24)
                                           : std::ldexp(1024 + fraction, exponent - 25);
  return (h & 0x8000) != 0 ? -magnitude : magnitude;
}

double from_bfloat(std::uint16_t b) {
  const std::uint32_t bits = std::uint32_t{b} << 16;
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

double element(const std::string& dtype, const std::vector<char>& bytes, std::size_t i) {
  if (dtype == "f32") return at<float>(bytes, i);
  if (dtype == "f64") return at<double>(bytes, i);
  if (dtype == "f16") return from_half(at<std::uint16_t>(bytes, i));
  if (dtype == "bf16") return from_bfloat(at<std::uint16_t>(bytes, i));
  if (dtype == "s64") return static_cast<double>(at<std::int64_t>(bytes, i));
  if (dtype == "u64") return static_cast<double>(at<std::uint64_t>(bytes, i));
  if (dtype == "s32") return at<std::int32_t>(bytes, i);
  if (dtype == "u32") return at<std::uint32_t>(bytes, i);
  if (dtype == "s16") return at<std::int16_t>(bytes, i);
  if (dtype == "u16") return at<std::uint16_t>(bytes, i);
  if (dtype == "s8") return at<std::int8_t>(bytes, i);
  return at<std::uint8_t>(bytes, i);  // u8, pred
}

/// Elements that are farther from what is expected than they may be; what the first of them is.
std::size_t wrong_elements(const std::string& dtype, const std::vector<char>& got, const std::vector<char>& expected,
                           const std::vector<char>& bounds, std::size_t elements, std::string& first) {
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < elements; ++i) {
    const double x = element(dtype, got, i), y = element(dtype, expected, i);
    if (x == y || (std::isnan(x) && std::isnan(y)) || std::abs(x - y) <= at<float>(bounds, i)) continue;
    const float bound = at<float>(bounds, i);
    if (std::isinf(bound)) continue;
    if (wrong++ == 0) {
      char text[160];
      std::snprintf(text, sizeof text, "element %zu is %.9g, expected %.9g +- %.3g", i, x, y,
                    static_cast<double>(bound));
      first = text;
    }
  }
  return wrong;
}

class Runner {
 public:
  Runner(const Driver& driver, std::string folder) : driver_(driver), folder_(std::move(folder)) {}

  /// @returns whether every answer is right.
  bool run(const Json& kernel) {
    load(kernel);
    upload(kernel);
    launch(kernel);
    good(driver_.synchronize());
    const std::string wrong = compare(kernel);
    const double seconds = time(kernel);
    std::printf("%-44s %10.2f us %9.1f GB/s  %s\n", kernel["name"].get<std::string>().c_str(), 1e6 * seconds,
                kernel["bytes"].get<double>() / seconds / 1e9, wrong.empty() ? "ok" : ("FAIL: " + wrong).c_str());
    std::fflush(stdout);
    for (const Driver::Address address : memory_) driver_.release(address);
    driver_.unload_module(module_);
    return wrong.empty();
  }

 private:
  void good(int code) const {
    if (code != 0) throw std::runtime_error(driver_.text(code));
  }

  void load(const Json& kernel) {
    std::vector<char> ptx = read(folder_ + "/" + kernel["file"].get<std::string>());
    ptx.push_back('\0');
    if (const std::string wrong = driver_.load_ptx(ptx.data(), &module_); !wrong.empty())
      throw std::runtime_error(wrong);
    functions_.clear();
    for (const Json& launch : kernel["launches"]) {
      functions_.push_back(nullptr);
      good(driver_.get_function(&functions_.back(), module_, launch["entry"].get<std::string>().c_str()));
    }
  }

  void upload(const Json& kernel) {
    memory_.clear();
    for (const Json& argument : kernel["arguments"]) {
      const auto bytes = argument["bytes"].get<std::size_t>();
      memory_.push_back(0);
      good(driver_.allocate(&memory_.back(), bytes == 0 ? 1 : bytes));
      std::vector<char> content(bytes, '\xff');  // outputs start as NaN
      if (argument["role"] == "input") content = read(folder_ + "/" + argument.at("file").get<std::string>());
      if (bytes > 0) good(driver_.to_device(memory_.back(), content.data(), bytes));
    }
  }

  void launch(const Json& kernel) {
    std::vector<void*> arguments;
    for (Driver::Address& address : memory_) arguments.push_back(&address);
    for (std::size_t l = 0; l < functions_.size(); ++l) {
      const Json& launch = kernel["launches"][l];
      const auto grid = launch["grid"].get<std::vector<unsigned>>();
      good(driver_.launch(functions_[l], grid.at(0), grid.at(1), grid.at(2), launch["threads"].get<unsigned>(), 1, 1, 0,
                          nullptr, arguments.data(), nullptr));
    }
  }

  std::string compare(const Json& kernel) {
    for (std::size_t a = 0; a < memory_.size(); ++a) {
      const Json& argument = kernel["arguments"][a];
      if (argument["role"] != "output") continue;
      std::vector<char> got(argument["bytes"].get<std::size_t>());
      if (!got.empty()) good(driver_.to_host(got.data(), memory_[a], got.size()));
      std::string first;
      const std::size_t wrong = wrong_elements(argument["dtype"].get<std::string>(), got,
                                               read(folder_ + "/" + argument.at("file").get<std::string>()),
                                               read(folder_ + "/" + argument.at("bounds").get<std::string>()),
                                               argument["elements"].get<std::size_t>(), first);
      if (wrong > 0)
        return argument["name"].get<std::string>() + ": " + std::to_string(wrong) + " elements wrong, " + first;
    }
    return {};
  }

  double time(const Json& kernel) {
    Driver::Handle begin = nullptr, end = nullptr;
    good(driver_.create_event(&begin, 0));
    good(driver_.create_event(&end, 0));
    good(driver_.record_event(begin, nullptr));
    for (int i = 0; i < kRuns; ++i) launch(kernel);
    good(driver_.record_event(end, nullptr));
    good(driver_.wait_event(end));
    float milliseconds = 0;
    good(driver_.elapsed(&milliseconds, begin, end));
    return static_cast<double>(milliseconds) / 1e3 / kRuns;
  }

  const Driver& driver_;
  std::string folder_;
  Driver::Handle module_ = nullptr;
  std::vector<Driver::Handle> functions_;
  std::vector<Driver::Address> memory_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("usage: launcher PACKAGE...   (folders with a manifest.json)\n", stderr);
    return 2;
  }
  try {
    Driver driver;
    int capability = 0;
    std::string device;
    if (const std::string wrong = driver.load(); !wrong.empty()) throw std::runtime_error(wrong);
    if (const std::string wrong = driver.open(&capability, &device); !wrong.empty()) throw std::runtime_error(wrong);
    std::printf("%s, compute capability %d.%d\n", device.c_str(), capability / 10, capability % 10);
    std::size_t kernels = 0, failed = 0;
    for (int p = 1; p < argc; ++p) {
      const std::vector<char> text = read(std::string(argv[p]) + "/manifest.json");
      const Json manifest = Json::parse(text.begin(), text.end());
      std::printf("%s (%s)\n", argv[p], manifest.at("target").get<std::string>().c_str());
      Runner runner(driver, argv[p]);
      for (const Json& kernel : manifest.at("kernels")) {
        ++kernels;
        if (!runner.run(kernel)) ++failed;
      }
    }
    std::printf("%zu kernels, %zu failed\n", kernels, failed);
    return failed == 0 ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 2;
  }
}
