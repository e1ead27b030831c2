#include "fusewright/driver/compile.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "fusewright/extract/extract.hpp"
#include "fusewright/frontend/hlo/import.hpp"
#include "fusewright/kernel/lower.hpp"
#include "fusewright/support/beside.hpp"
#include "fusewright/support/clock.hpp"
#include "import.hpp"

namespace fusewright::driver {

namespace {

/// Names the phases, and parts of them, and times them.
class Phases {
 public:
  Phases(const CompileOptions& options, Compilation& into) : options_(options), into_(into) {}

  void begin(const std::string& name) {
    end();
    name_ = name;
    start_ = Clock::now();
    if (options_.progress) options_.progress(name);
  }
  void begin_part(const std::string& name) {
    end_part();
    part_ = name;
    part_start_ = Clock::now();
  }
  void end() {
    end_part();
    if (!name_.empty()) into_.phases.emplace_back(name_, seconds_since(start_));
    name_.clear();
  }

 private:
  void end_part() {
    if (!part_.empty()) into_.parts.emplace_back(part_, seconds_since(part_start_));
    part_.clear();
  }

  const CompileOptions& options_;
  Compilation& into_;
  std::string name_, part_;
  Clock::time_point start_, part_start_;
};

Result<cost::Device> device_for(const CompileOptions& options, const Backend& backend) {
  const std::string& name = options.device_file.empty() ? backend.device : options.device_file;
  if (name.find('/') != std::string::npos || name.ends_with(".json")) return cost::load_device(name);
  const std::vector<std::string> names = cost::device_names(devices_folder());
  if (!names.empty() && std::find(names.begin(), names.end(), name) == names.end()) {
    const std::string near = nearest(name, names);
    return fail(fmt::format("--device-file: no description '{}' (there are {}, and any file named .json){}", name,
                            fmt::join(names, ", "), near.empty() ? "" : fmt::format("; did you mean '{}'?", near)));
  }
  return cost::load_device(devices_folder() + "/" + name + ".json");
}

/// Audits plan for any machine; kernels are of the backend's family.
Status check_family(const CompileOptions& options) {
  FW_TRY(const Backend* backend, find_backend(options.device));
  FW_TRY(const cost::Device device, device_for(options, *backend));
  const bool gpu = device.shape.family == schedule::Target::Family::kGpu;
  if (gpu == (backend->family == kernel::TargetFamily::kGpu)) return {};
  return fail(fmt::format("--device-file: '{}' describes a {}, the kernels are for a {}", device.name,
                          gpu ? "GPU" : "CPU", gpu ? "CPU" : "GPU"));
}

Result<plan::Plan> choose_plan(const CompileOptions& options, Compilation& c, Phases& phases) {
  if (!options.fuse) {
    phases.begin("plan");
    return extract::plan_unfused(c.imported, c.device);
  }
  phases.begin("saturate");
  saturate::Options limits;
  limits.allowed = options.exactness;
  limits.target = c.device.target.substr(0, c.device.target.find(':'));
  limits.limits = options.limits;
  limits.cancel = options.cancel;
  FW_TRY(c.saturated, saturate::saturate(c.imported, c.rules, limits));
  for (const saturate::StopReason& reason : c.saturated->trace.stop_reasons)
    if (reason.kind != saturate::StopReason::Kind::kSaturated) c.stop_reasons.push_back(saturate::to_string(reason));

  phases.begin("extract");
  extract::FusionOptions fusion;
  fusion.seconds = options.limits.seconds;
  fusion.cancelled = options.cancel;
  fusion.allowed = options.exactness;
  fusion.memory = options.memory;
  fusion.progress = [&phases](const std::string& part) { phases.begin_part(part); };
  return extract::extract(
      {c.imported, c.saturated->imported, c.saturated->program, c.rules->rewrites, *c.rules, c.device}, fusion);
}

Result<Compilation> begin(const CompileOptions& options) {
  Compilation c;
  FW_TRY(const Backend* backend, find_backend(options.device));
  FW_TRY(c.device, device_for(options, *backend));
  return c;
}

/// Plans what was read.
Status finish(const CompileOptions& options, Compilation& c, Phases& phases) {
  FW_TRY(plan::Plan plan, choose_plan(options, c, phases));
  for (const std::string& reason : plan.extraction.stop_reasons) c.stop_reasons.push_back(reason);
  c.plan = std::make_shared<const plan::Plan>(std::move(plan));
  phases.end();
  return {};
}

Result<std::vector<kernel::Kernel>> lower_groups(const Compilation& c, bool prepack) {
  std::vector<kernel::Kernel> kernels;
  for (const plan::Group& group : c.plan->groups) {
    if (!group.unsupported.empty()) {
      kernels.emplace_back();  // the runtime names it
      continue;
    }
    std::vector<bool> constants = prepack ? plan::known_at_load(*c.plan, group) : std::vector<bool>();
    Result<kernel::Kernel> kernel =
        kernel::lower(group.region, group.schedule, c.device.shape, group.name, std::move(constants));
    if (!kernel) return std::unexpected(with_context(kernel.error(), "group " + group.name));
    kernels.push_back(*std::move(kernel));
  }
  return kernels;
}

}  // namespace

Result<Compilation> plan(const CompileOptions& options) {
  FW_TRY(Compilation c, begin(options));
  Phases phases(options, c);
  phases.begin("rules");
  auto model = beside([&] { return read_model(options); });
  FW_TRY(c.rules, load_rules(options.rules, options.builtin_rules));

  phases.begin("import");
  FW_TRY(const Import import, model.get());
  FW_TRY(c.imported, import(c.rules->table));

  FW_TRY_STATUS(finish(options, c, phases));
  return c;
}

Result<Compilation> plan_imported(const CompileOptions& options, std::shared_ptr<const rule::RuleSet> rules,
                                  graph::Graph imported) {
  FW_TRY(Compilation c, begin(options));
  Phases phases(options, c);
  c.rules = std::move(rules);
  c.imported = std::move(imported);
  FW_TRY_STATUS(finish(options, c, phases));
  return c;
}

namespace {

Status lower(const CompileOptions& options, Compilation& c) {
  FW_TRY_STATUS(frontend_hlo::check_constants_known(c.imported));
  Phases phases(options, c);
  phases.begin("lower");
  FW_TRY(c.kernels, lower_groups(c, options.prepack));
  phases.end();
  return {};
}

}  // namespace

Result<Compilation> compile(const CompileOptions& options) {
  FW_TRY_STATUS(check_family(options));
  FW_TRY(Compilation c, plan(options));
  FW_TRY_STATUS(lower(options, c));
  return c;
}

Result<Compilation> compile_imported(const CompileOptions& options, std::shared_ptr<const rule::RuleSet> rules,
                                     graph::Graph imported) {
  FW_TRY_STATUS(check_family(options));
  FW_TRY(Compilation c, plan_imported(options, std::move(rules), std::move(imported)));
  FW_TRY_STATUS(lower(options, c));
  return c;
}

}  // namespace fusewright::driver
