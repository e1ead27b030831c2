#include "fusewright/driver/calibrate.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>

#include "fusewright/driver/session.hpp"
#include "fusewright/support/clock.hpp"

namespace fusewright::driver {

namespace {

using graph::Value;
using ops::DType;

// --- What the system says ----------------------------------------------------------------------------

struct Cache {
  int level = 0;
  std::int64_t bytes = 0;  ///< of one
  int shared_by = 1;       ///< hardware threads
};

std::optional<std::string> first_line(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  return line;
}

/// "32K", "1M"
std::int64_t parse_size(const std::string& text) {
  std::size_t end = 0;
  std::int64_t size = 0;
  for (; end < text.size() && text[end] >= '0' && text[end] <= '9'; ++end) size = 10 * size + (text[end] - '0');
  const char unit = end < text.size() ? text[end] : ' ';
  return unit == 'K' ? size << 10 : unit == 'M' ? size << 20 : unit == 'G' ? size << 30 : size;
}

/// "0-3,8": four and one
int count_list(const std::string& text) {
  int count = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    int from = 0, to = 0;
    const int read = std::sscanf(text.substr(at, end - at).c_str(), "%d-%d", &from, &to);
    count += read == 2 ? to - from + 1 : read == 1 ? 1 : 0;
    at = end + 1;
  }
  return std::max(1, count);
}

/// Data caches of the first core, nearest first.
Result<std::vector<Cache>> caches() {
  const std::filesystem::path folder = "/sys/devices/system/cpu/cpu0/cache";
  std::vector<Cache> found;
  for (int i = 0;; ++i) {
    const auto index = folder / fmt::format("index{}", i);
    const auto level = first_line(index / "level"), type = first_line(index / "type"),
               size = first_line(index / "size");
    if (!level || !type || !size) break;
    const auto shared = first_line(index / "shared_cpu_list");
    if (*type != "Instruction")
      found.push_back({static_cast<int>(parse_size(*level)), parse_size(*size), count_list(shared.value_or("0"))});
  }
  std::ranges::sort(found, {}, &Cache::level);
  if (found.size() < 2 || found[0].bytes < 1024 || found[1].bytes < 1024)
    return fail(ErrorKind::kUnsupported, fmt::format("{} does not list this machine's caches", folder.string()));
  return found;
}

// --- What is measured --------------------------------------------------------------------------------

/// A graph of one kernel, or of one for each operator, ready to run.
class Probe {
 public:
  using Body = std::function<Result<Value>(graph::Builder&, const std::vector<Value>&)>;

  static Result<Probe> make(const std::shared_ptr<const rule::RuleSet>& rules, const std::vector<ops::Type>& inputs,
                            const Body& body, bool fuse = true) {
    graph::Graph graph = graph::make_graph(rules->table, "probe");
    graph::Builder builder(graph, graph.entry);
    std::vector<Value> values;
    for (std::size_t i = 0; i < inputs.size(); ++i)
      values.push_back(builder.parameter(inputs[i], fmt::format("x{}", i)));
    FW_TRY(const Value result, body(builder, values));
    builder.set_results({result});
    CompileOptions options;
    options.fuse = fuse;
    FW_TRY(Compilation c, compile_imported(options, rules, std::move(graph)));
    if (fuse && c.plan->groups.size() != 1)
      return fail(fmt::format("a measurement is {} kernels, not one", c.plan->groups.size()));
    Probe probe;
    FW_TRY(const Backend* backend, find_backend("cpu"));
    FW_TRY(auto executable, backend->compile(c.kernels));
    FW_TRY(probe.inputs_, bind_inputs(c.imported, options));
    FW_TRY(auto instance, runtime::Instance::make(c.plan, c.kernels, std::move(executable)));
    probe.instance_ = std::make_unique<runtime::Instance>(std::move(instance));
    cost::Device one = c.device;
    one.unit_rate = one.contraction_flops = 1;
    one.dtype_factor.clear();
    probe.kernels_ = c.plan->groups.size();
    probe.work_ = cost::arithmetic_seconds(c.plan->groups[0].region, one);
    return probe;
  }

  /// Seconds of a kernel in the fastest run.
  Result<double> best(int threads, double budget) {
    double best = 1e9, total = 0;
    for (int i = 0; i < 3 || (total < budget && i < 100'000); ++i) {
      std::vector<runtime::GroupRun> groups;
      const auto start = Clock::now();
      FW_TRY_STATUS(instance_->run(inputs_, threads, &groups));
      const double whole = seconds_since(start);
      total += whole;
      if (i > 0) best = std::min(best, kernels_ == 1 ? groups[0].seconds : whole / static_cast<double>(kernels_));
    }
    return std::max(best, 1e-9);
  }

  double work() const { return work_; }  ///< operations, or multiply-adds counted twice

 private:
  std::unique_ptr<runtime::Instance> instance_;
  std::vector<ops::Tensor> inputs_;
  std::size_t kernels_ = 0;
  double work_ = 0;
};

class Calibration {
 public:
  Calibration(const CalibrateOptions& options, std::shared_ptr<const rule::RuleSet> rules)
      : options_(options), rules_(std::move(rules)) {}

  Result<cost::Device> run() {
    FW_TRY_STATUS(shape());
    FW_TRY_STATUS(launches());
    FW_TRY_STATUS(bandwidths());
    FW_TRY_STATUS(rates());
    return std::move(device_);
  }

 private:
  void begin(const std::string& figure) const {
    if (options_.progress) options_.progress(figure);
  }

  Status shape() {
    const bool wide = __builtin_cpu_supports("avx512f") != 0;
    const int hardware = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
    threads_ = options_.threads > 0 ? options_.threads : hardware;
    FW_TRY(const std::vector<Cache> found, caches());
    device_.name = !options_.name.empty() ? options_.name : wide ? "x86-avx512" : "x86-avx2";
    device_.target = "x86";
    device_.shape.family = schedule::Target::Family::kCpu;
    device_.shape.vector_bits = wide ? 512 : 256;
    device_.shape.vector_registers = wide ? 32 : 16;
    device_.shape.l1_bytes = found[0].bytes;
    device_.shape.l2_bytes = found[1].bytes;
    device_.shape.cores = threads_;
    device_.parallelism_for_peak = threads_;
    for (std::size_t i = 1; i < found.size(); ++i) {
      const std::int64_t copies = std::max(1, threads_ / found[i].shared_by);
      device_.memory.push_back({fmt::format("l{}", found[i].level), found[i].bytes * copies, 0});
    }
    device_.memory.push_back({"dram", 0, 0});
    return {};
  }

  Result<Probe> copy(std::int64_t elements) const {
    return Probe::make(rules_, {ops::Type::tensor(DType::kF32, {elements})},
                       [](graph::Builder& b, const std::vector<Value>& x) { return b.add("neg", {x[0]}); });
  }

  /// Two operands in registers, multiplied and added in turn.
  Result<Probe> chain(std::int64_t elements) const {
    const ops::Type type = ops::Type::tensor(DType::kF32, {elements});
    return Probe::make(rules_, {type, type}, [](graph::Builder& b, const std::vector<Value>& x) -> Result<Value> {
      Value t = x[0];
      for (int i = 0; i < 32; ++i) {
        FW_TRY(t, b.add("mul", {t, x[1]}));
        FW_TRY(t, b.add("add", {t, x[1]}));
      }
      return t;
    });
  }

  Result<Probe> product(std::int64_t n, DType dtype) const {
    const ops::Type type = ops::Type::tensor(dtype, {n, n});
    return Probe::make(rules_, {type, type}, [](graph::Builder& b, const std::vector<Value>& x) {
      using Ints = std::vector<std::int64_t>;
      return b.add("dot", {x[0], x[1]}, {{"lhs_contract", Ints{1}}, {"rhs_contract", Ints{0}}});
    });
  }

  Status launches() {
    begin("launch");
    // Many kernels with next to nothing to do: what the runtime needs for each.
    const auto many = [](graph::Builder& b, const std::vector<Value>& x) -> Result<Value> {
      Value t = x[0];
      for (int i = 0; i < 100; ++i) {
        FW_TRY(t, b.add("neg", {t}));
      }
      return t;
    };
    FW_TRY(Probe least, Probe::make(rules_, {ops::Type::tensor(DType::kF32, {16})}, many, false));
    FW_TRY(device_.launch_seconds, least.best(threads_, options_.seconds));
    if (threads_ == 1) return {};
    // Work that is worth handing out: what it takes longer than its share.
    FW_TRY(Probe some, chain(std::int64_t{16384} * threads_));
    FW_TRY(const double alone, some.best(1, options_.seconds));
    FW_TRY(const double together, some.best(threads_, options_.seconds));
    device_.handoff_seconds = std::max(0.0, together - alone / threads_);
    return {};
  }

  Status bandwidths() {
    std::int64_t below = device_.shape.l1_bytes * threads_;
    for (cost::MemoryLevel& level : device_.memory) {
      begin(level.name);
      // Both tensors fit this level and not the one below; the last level is larger than all caches.
      std::int64_t bytes = level.bytes > 0 ? std::max(level.bytes / 2, std::min(2 * below, 3 * level.bytes / 4))
                                           : std::max<std::int64_t>(4 * below, std::int64_t{256} << 20);
      const std::int64_t physical = std::int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
      bytes = std::min(bytes, physical / 4);
      FW_TRY(Probe probe, copy(bytes / 8));
      FW_TRY(double seconds, probe.best(threads_, options_.seconds));
      seconds = std::max(seconds - device_.launch_seconds - device_.handoff_seconds, seconds / 4);
      level.bytes_per_second = static_cast<double>(bytes) / seconds;
      below = std::max(below, level.bytes);
    }
    // A cache that other machines share may look slower than what lies behind it; a level is never slower.
    for (std::size_t i = device_.memory.size() - 1; i-- > 0;)
      device_.memory[i].bytes_per_second =
          std::max(device_.memory[i].bytes_per_second, device_.memory[i + 1].bytes_per_second);
    return {};
  }

  Status rates() {
    begin("simple operations");
    FW_TRY(Probe simple, chain(device_.shape.l2_bytes / 32 * threads_));
    FW_TRY(const double seconds, simple.best(threads_, options_.seconds));
    device_.unit_rate = simple.work() / seconds;
    for (const DType dtype : {DType::kF32, DType::kF64, DType::kF16, DType::kBF16, DType::kS64, DType::kU64}) {
      begin(fmt::format("products of {}", ops::name(dtype)));
      FW_TRY(Probe probe, product(dtype == DType::kF32 ? 1024 : 512, dtype));
      FW_TRY(const double best, probe.best(threads_, options_.seconds));
      const double rate = probe.work() / best;
      if (dtype == DType::kF32)
        device_.contraction_flops = rate;
      else
        device_.dtype_factor.emplace_back(ops::name(dtype), rate / device_.contraction_flops);
    }
    return {};
  }

  const CalibrateOptions& options_;
  std::shared_ptr<const rule::RuleSet> rules_;
  cost::Device device_;
  int threads_ = 1;
};

}  // namespace

Result<cost::Device> calibrate(const CalibrateOptions& options) {
  FW_TRY(auto rules, load_rules({}, true));
  return Calibration(options, std::move(rules)).run();
}

}  // namespace fusewright::driver
