#pragma once

#include <catch2/catch.hpp>

#include "backends/x86/x86.hpp"
#include "fusewright/driver/session.hpp"
#include "fusewright/extract/fusion.hpp"
#include "fusewright/interpret/inputs.hpp"
#include "fusewright/kernel/lower.hpp"

namespace fusewright {

using graph::Value;
using ops::DType;
using ops::Type;
using Ints = std::vector<std::int64_t>;

inline std::shared_ptr<const rule::RuleSet> library() {
  static const auto rules = driver::load_rules({}, true);
  REQUIRE(rules.has_value());
  return *rules;
}

inline const driver::Backend& backend(const std::string& name) {
  const auto found = driver::find_backend(name);
  REQUIRE(found.has_value());
  return **found;
}

inline cost::Device device_of(const std::string& backend_name) {
  const auto loaded = cost::load_device(driver::devices_folder() + "/" + backend(backend_name).device + ".json");
  REQUIRE(loaded.has_value());
  return *loaded;
}

/// A graph with typed parameters, and a shorthand for one operator with one result.
struct Model {
  graph::Graph graph = graph::make_graph(library()->table, "model");
  graph::Builder builder{graph, graph.entry};

  Value in(DType dtype, Ints dims) {
    return builder.parameter(Type::tensor(dtype, ops::Shape(dims.begin(), dims.end())),
                             "x" + std::to_string(graph.inputs.size()));
  }
  Value weight(DType dtype, Ints dims) {
    const Type type = Type::tensor(dtype, ops::Shape(dims.begin(), dims.end()));
    auto made = interpret::random_weight(type, 5, weights++);
    REQUIRE(made.has_value());
    return builder.constant(*std::move(made));
  }
  std::uint64_t weights = 0;
  Value op(const std::string& name, std::vector<Value> operands, const ops::Attrs& attrs = {}) {
    const Result<Value> made = builder.add(name, std::move(operands), attrs);
    INFO(name << " " << (made ? "" : print_error(made.error())));
    REQUIRE(made.has_value());
    return *made;
  }
  Value align(Value v, Ints dims) {
    const Result<Value> made = builder.align_to(v, ops::Shape(dims.begin(), dims.end()));
    REQUIRE(made.has_value());
    return *made;
  }
};

struct Running {
  std::string backend = "cpu";
  bool fuse = true;
  bool prepack = true;  ///< constants are laid out at load, or by every run
};

/// Plans and lowers the model with these results.
inline driver::Compilation planned(Model& model, std::vector<Value> results, const Running& how) {
  model.builder.set_results(std::move(results));
  extract::FusionOptions options;
  options.fuse = how.fuse;
  driver::Compilation c;
  c.imported = model.graph;
  c.device = device_of(how.backend);
  Result<plan::Plan> plan = extract::plan_fusion(model.graph, *library(), c.device, options);
  INFO((plan ? "" : print_error(plan.error())));
  REQUIRE(plan.has_value());
  c.plan = std::make_shared<const plan::Plan>(*std::move(plan));
  for (const plan::Group& group : c.plan->groups) {
    INFO(group.unsupported << region::print(group.region));
    REQUIRE(group.unsupported.empty());
    std::vector<bool> constants = how.prepack ? plan::known_at_load(*c.plan, group) : std::vector<bool>();
    Result<kernel::Kernel> kernel =
        kernel::lower(group.region, group.schedule, c.device.shape, group.name, std::move(constants));
    INFO((kernel ? "" : print_error(kernel.error())));
    REQUIRE(kernel.has_value());
    c.kernels.push_back(*std::move(kernel));
  }
  return c;
}

/// Runs it with one thread and two, and holds every group against the reference evaluator. Objects are not cached.
inline void check_right(const driver::Compilation& c, const Running& how) {
  backend_x86::Options off;
  off.cache = "off";
  Result<std::unique_ptr<kernel::Executable>> executable =
      how.backend == "cpu" ? backend_x86::compile_x86(c.kernels, off) : backend(how.backend).compile(c.kernels);
  REQUIRE(executable.has_value());
  Result<runtime::Instance> instance = runtime::Instance::make(c.plan, c.kernels, *std::move(executable));
  REQUIRE(instance.has_value());
  driver::CompileOptions seeded;
  seeded.seed = 7;
  const auto inputs = driver::bind_inputs(c.imported, seeded);
  REQUIRE(inputs.has_value());
  std::vector<ops::Tensor> first;
  const auto report = driver::check_run(c, *instance, *inputs, 1, &first, nullptr);
  INFO((report ? (report->failures.empty() ? "" : report->failures.front()) : print_error(report.error())));
  for (const kernel::Kernel& k : c.kernels) UNSCOPED_INFO(kernel::print(k));
  REQUIRE(report.has_value());
  CHECK(report->ok);
  const auto again = instance->run(*inputs, 2);
  REQUIRE(again.has_value());
  for (std::size_t o = 0; o < again->size(); ++o)
    CHECK(std::equal((*again)[o].data(), (*again)[o].data() + (*again)[o].bytes(), first[o].data()));
}

inline std::size_t groups_when_right(Model& model, std::vector<Value> results, const Running& how) {
  const driver::Compilation c = planned(model, std::move(results), how);
  check_right(c, how);
  return c.plan->groups.size();
}

inline std::size_t fused(Model& model, std::vector<Value> results, const std::string& on = "cpu") {
  return groups_when_right(model, std::move(results), {on});
}
inline void alone(Model& model, std::vector<Value> results, const std::string& on = "cpu") {
  groups_when_right(model, std::move(results), {on, false});
}

}  // namespace fusewright
