#include <catch2/catch.hpp>

#include "backends/x86/x86.hpp"
#include "fusewright/driver/session.hpp"
#include "fusewright/extract/extract.hpp"
#include "fusewright/interpret/inputs.hpp"
#include "fusewright/kernel/lower.hpp"
#include "fusewright/rule/check.hpp"
#include "fusewright/rule/parse.hpp"

// Graphs that other compilers' fusions took for what they only resemble, each beside its true twin. The results must be
// right, and a rule that is for the true one must leave the other alone.

using namespace fusewright;

namespace {

std::shared_ptr<const rule::RuleSet> library() {
  static const auto rules = driver::load_rules({}, true);
  REQUIRE(rules.has_value());
  return *rules;
}

struct Twin {
  std::string name;
  std::string body;  ///< of an example: inputs, lets and `match`
  std::vector<std::string> fires, spares;
  bool approximate = false;  ///< approximate rules are allowed too
};

/// The graph of an example, its `const` inputs constants.
graph::Graph graph_of(const Twin& twin) {
  const std::string text = "fuse twin {\n  match elementwise+\n  test one {\n" + twin.body +
                           "\n}\n  reject { x: f32[2]  match reduce_sum(x, axes = [0]) }\n}\n";
  const auto file = rule::parse_rules(std::make_shared<const SourceText>(SourceText{twin.name, text}));
  INFO((file ? "" : print_error(file.error())));
  REQUIRE(file.has_value());
  const auto rules = rule::check_rules({*file}, *library()->table);
  INFO((rules ? "" : print_error(rules.error())));
  REQUIRE(rules.has_value());
  graph::Graph graph = graph::make_graph(library()->table, twin.name);
  graph::Builder builder(graph, graph.entry);
  const rule::TestCase& test = rules->tests.front();
  ops::Env env;
  std::uint64_t number = 0;
  for (const rule::TestInput& input : test.inputs) {
    graph::Value value;
    if (input.constant) {
      auto weight = interpret::random_weight(input.type, 1, number++);
      REQUIRE(weight.has_value());
      value = builder.constant(*std::move(weight));
    } else {
      value = builder.parameter(input.type, input.name);
    }
    env[input.name] = graph::Builder::pack(value);
  }
  const auto terms = rule::elaborate_test(*library()->table, test, env, builder);
  INFO((terms ? "" : print_error(terms.error())));
  REQUIRE(terms.has_value());
  std::vector<graph::Value> results;
  for (const ops::TermValue term : *terms) results.push_back(graph::Builder::unpack(term));
  builder.set_results(std::move(results));
  return graph;
}

bool fired(const saturate::Trace& trace, const std::string& name) {
  for (const saturate::RuleTrace& rule : trace.rules)
    if (rule.name == name) return rule.applied + rule.unchanged > 0;
  for (const saturate::Asleep& rule : saturate::asleep(*library(), trace))  // an operator of its pattern does not occur
    if (library()->rewrites[rule.rule.index].name == name) return false;
  FAIL("no rule is called " << name);
  return false;
}

/// Plans with the library, runs every kernel, and holds them and the whole against the reference evaluator.
void check_twin(const Twin& twin) {
  driver::Compilation c;
  c.imported = graph_of(twin);
  c.rules = library();
  const auto device = cost::load_device(driver::devices_folder() + "/" + driver::backends().front().device + ".json");
  REQUIRE(device.has_value());
  c.device = *device;
  saturate::Options options;
  options.allowed.add(rule::ExactnessClass::kReassociating);
  if (twin.approximate) options.allowed.add(rule::ExactnessClass::kApproximate);
  auto saturated = saturate::saturate(c.imported, c.rules, options);
  REQUIRE(saturated.has_value());
  c.saturated = *std::move(saturated);
  for (const std::string& name : twin.fires) {
    INFO(name << " should fire");
    CHECK(fired(c.saturated->trace, name));
  }
  for (const std::string& name : twin.spares) {
    INFO(name << " should not fire");
    CHECK_FALSE(fired(c.saturated->trace, name));
  }
  auto plan = extract::extract(
      {c.imported, c.saturated->imported, c.saturated->program, c.rules->rewrites, *c.rules, c.device}, {});
  INFO((plan ? "" : print_error(plan.error())));
  REQUIRE(plan.has_value());
  c.plan = std::make_shared<const plan::Plan>(*std::move(plan));
  for (const plan::Group& group : c.plan->groups) {
    auto kernel =
        kernel::lower(group.region, group.schedule, c.device.shape, group.name, plan::known_at_load(*c.plan, group));
    INFO((kernel ? "" : print_error(kernel.error())));
    REQUIRE(kernel.has_value());
    c.kernels.push_back(*std::move(kernel));
  }
  backend_x86::Options off;
  off.cache = "off";
  auto executable = backend_x86::compile_x86(c.kernels, off);
  REQUIRE(executable.has_value());
  auto instance = runtime::Instance::make(c.plan, c.kernels, *std::move(executable));
  REQUIRE(instance.has_value());
  driver::CompileOptions seeded;
  seeded.seed = 11;
  const auto inputs = driver::bind_inputs(c.imported, seeded);
  REQUIRE(inputs.has_value());
  const auto report = driver::check_run(c, *instance, *inputs, 1, nullptr, nullptr);
  INFO((report ? (report->failures.empty() ? "" : report->failures.front()) : print_error(report.error())));
  REQUIRE(report.has_value());
  CHECK(report->ok);
}

void check_all(const std::vector<Twin>& twins) {
  for (const Twin& twin : twins) {
    INFO(twin.name);
    check_twin(twin);
  }
}

// Centred and divided by the deviation, along the last axis of a square; `axis`: of the mean's place.
std::string normal(const std::string& place, const std::string& tail) {
  return "x: f32[8, 8]  s: f32[8]  b: f32[8]  r: f32[8, 1]  w: f32[3, 8, 8]\n"
         "let d = x - (reduce_sum(x, axes = [1]) / 8) along " +
         place +
         "\n"
         "let n = d / sqrt(reduce_sum(d * d, axes = [1]) / 8 + 0.00001) along " +
         place + "\nmatch " + tail;
}

}  // namespace

TEST_CASE("what only resembles a layer normalisation is none", "[driver]") {
  const std::vector<std::string> name = {"recognise-layer-norm"};
  constexpr bool approximate = true;
  check_all({
      {"layer norm", normal("0", "n * s + b, r + w"), name, {}, approximate},
      {"keepdims = false: statistics of rows along columns", normal("1", "n * s + b, r + w"), {}, name, approximate},
      {"the factor enlarges", normal("0", "n * w + b, r * s"), {}, name, approximate},
      {"kept axes",
       "x: f32[8, 8]  s: f32[8]  b: f32[8]\nlet d = x - reshape(reduce_sum(x, axes = [1]) / 8, [8, 1])\n"
       "match d / sqrt(reshape(reduce_sum(d * d, axes = [1]) / 8, [8, 1]) + 0.00001) * s + b",
       name,
       {},
       approximate},
      {"kept axes of columns, statistics of rows",
       "x: f32[8, 8]  s: f32[8]  b: f32[8]\nlet d = x - reshape(reduce_sum(x, axes = [1]) / 8, [1, 8])\n"
       "match d / sqrt(reshape(reduce_sum(d * d, axes = [1]) / 8, [1, 8]) + 0.00001) * s + b",
       {},
       name,
       approximate},
      {"the factor has an axis more, of extent one",
       "x: f32[8, 8]  s: f32[1, 1, 8]  b: f32[8]\nlet d = x - (reduce_sum(x, axes = [1]) / 8) along 0\n"
       "match d / sqrt(reduce_sum(d * d, axes = [1]) / 8 + 0.00001) along 0 * s + b",
       {},
       {},
       approximate},
      {"the factor has all axes",
       "x: f32[8, 8]  s: f32[8, 8]  b: f32[8]\nlet d = x - (reduce_sum(x, axes = [1]) / 8) along 0\n"
       "match d / sqrt(reduce_sum(d * d, axes = [1]) / 8 + 0.00001) along 0 * s + b",
       {},
       name,
       approximate},
      {"the factor lies along the rows", normal("0", "n * r + b, w + s"), {}, name, approximate},
      {"the factor is the value itself", normal("0", "n * n + b, r + w + s"), {}, name, approximate},
      {"the mean over another axis",
       "x: f32[8, 8]  s: f32[8]\nlet d = x - (reduce_sum(x, axes = [0]) / 8) along 1\n"
       "match d / sqrt(reduce_sum(d * d, axes = [1]) / 8 + 0.00001) along 0 * s",
       {},
       name,
       approximate},
      {"half of the count",
       "x: f32[8, 8]  s: f32[8]\nlet d = x - (reduce_sum(x, axes = [1]) / 4) along 0\n"
       "match d / sqrt(reduce_sum(d * d, axes = [1]) / 8 + 0.00001) along 0 * s",
       {},
       name,
       approximate},
      {"rank one: factor and data could change places",
       "x: f32[8]  s: f32[8]\nlet d = x - reduce_sum(x, axes = [0]) / 8\n"
       "match s * (d / sqrt(reduce_sum(d * d, axes = [0]) / 8 + 0.00001))",
       {},
       {},
       approximate},
      {"the mean is a result as well",
       normal("0", "n * s + b, reduce_sum(x, axes = [1]) / 8, r + w"),
       name,
       {},
       approximate},
      {"the normal value is a result and has another reader",
       normal("0", "n * s + b, n, exp(n) + r, w"),
       name,
       {},
       approximate},
  });
}

TEST_CASE("a bias along the rows, or one that widens, is added as it stands", "[driver]") {
  const std::string product = "let p = dot(x, w, lhs_contract = [1], rhs_contract = [0])\n";
  check_all({
      {"columns", "x: f32[8, 8]  w: f32[8, 8]  b: f32[8]\n" + product + "match p + b", {}, {}},
      {"rows", "x: f32[8, 8]  w: f32[8, 8]  b: f32[8]\n" + product + "match p + b along 0", {}, {}},
      {"rows and constants",
       "x: f32[8, 8]  w: const f32[8, 8]  b: const f32[8]\n" + product + "match (p + b along 0) * b along 0",
       {},
       {"dot-scale-fold", "dot-shift-scale-fold"}},
      {"widens", "x: f32[1, 8]  w: f32[8, 8]  b: f32[5, 8]\n" + product + "match p + b", {}, {}},
      {"scale after bias",
       "x: f32[8, 8]  w: const f32[8, 8]  b: const f32[8]\n" + product + "match (p + b) * 2",
       {},
       {"dot-number-fold"}},
  });
}

TEST_CASE("a batch normalisation is folded along the axis of its outputs, and only where it is known", "[driver]") {
  const std::string constants = "  g: const f32[4]  b: const f32[4]  m: const f32[4]  v: const f32[4]\n";
  const std::string transposed = ", groups = 2, lhs_dilation = [2, 2], pad_low = [1, 1], pad_high = [1, 1])";
  check_all({
      {"convolution",
       "x: f32[1, 4, 6, 6]  w: const f32[4, 4, 3, 3]" + constants + "match batch_norm(conv(x, w), g, b, m, v)",
       {"conv-mean-scale-fold"},
       {}},
      {"grouped and transposed",
       "x: f32[1, 4, 6, 6]  w: const f32[4, 2, 3, 3]" + constants + "match batch_norm(conv(x, w" + transposed +
           ", g, b, m, v)",
       {"conv-mean-scale-fold"},
       {}},
      {"runtime factor",
       "x: f32[1, 4, 6, 6]  w: const f32[4, 4, 3, 3]  g: f32[4]  b: const f32[4]  m: const f32[4]  v: const f32[4]\n"
       "match batch_norm(conv(x, w), g, b, m, v)",
       {},
       {"conv-mean-scale-fold", "conv-scale-fold"}},
      {"the factor lies along the width",
       "x: f32[1, 4, 6, 6]  w: const f32[4, 4, 3, 3]  g: const f32[4]\nmatch conv(x, w) * g",
       {},
       {"conv-scale-fold"}},
      {"the convolution is a result as well",
       "x: f32[1, 4, 6, 6]  w: const f32[4, 4, 3, 3]" + constants +
           "let c = conv(x, w)\nmatch batch_norm(c, g, b, m, v), c",
       {"conv-mean-scale-fold"},
       {}},
  });
}

TEST_CASE("padding goes into a window only where it is the window's own", "[driver]") {
  const std::string pads = ", low = [0, 0, 1, 1], high = [0, 0, 1, 1], interior = [0, 0, 0, 0])";
  const std::string ones = "window = [1, 1, 3, 3], pad_low = [0, 0, 1, 1], pad_high = [0, 0, 1, 1]";
  const std::string sum =
      "x: f32[1, 2, 6, 6]\nlet p = pad(x, 0" + pads + "\nlet s = reduce_window_sum(p, " + ones + ")\n";
  check_all({
      {"an average that counts all padding", sum + "match s / 9", {"pad-into-window-sum"}, {}},
      {"one that does not count its own",
       sum + "let n = reduce_window_sum(broadcast_to(literal(1, f32), shape(p)), " + ones + ")\nmatch s / n",
       {"pad-into-window-sum"},
       {}},
      {"a pad of ones",
       "x: f32[1, 2, 6, 6]\nmatch reduce_window_sum(pad(x, 1" + pads + ", " + ones + ")",
       {},
       {"pad-into-window-sum"}},
      {"zeros in front of a maximum",
       "x: f32[1, 2, 6, 6]\nmatch reduce_window_max(pad(x, 0" + pads + ", " + ones + ")",
       {},
       {"pad-into-window-max"}},
      {"a convolution",
       "x: f32[1, 2, 6, 6]  w: f32[4, 2, 3, 3]\nmatch conv(pad(x, 0" + pads + ", w)",
       {"pad-into-conv"},
       {}},
      {"a cut in front of padding",
       "x: f32[1, 2, 6, 6]  w: f32[4, 2, 3, 3]\n"
       "let p = pad(x, 0, low = [0, 0, -1, -1], high = [0, 0, -1, 0], interior = [0, 0, 0, 0])\n"
       "match conv(p, w, pad_low = [1, 1], pad_high = [1, 1])",
       {},
       {"pad-into-conv"}},
      {"a shift in front of padding",
       "x: f32[1, 2, 6, 6]  w: const f32[4, 2, 3, 3]  b: const f32[2]\n"
       "match conv(x + b along 1, w, pad_low = [1, 1], pad_high = [1, 1])",
       {},
       {}},
  });
}

TEST_CASE("casts that round, bounds below zero and values that others read stay as they are", "[driver]") {
  const std::vector<std::string> casts = {"convert-there-and-back", "convert-of-convert"};
  check_all({
      {"f32 to bf16 to f32", "x: f32[64]\nmatch f32(bf16(x)) - x", {}, casts},
      {"f64 to f32 to f16", "x: f64[64]\nmatch f16(f32(x))", {}, casts},
      {"f32 to s32 to f32", "x: f32[64]\nmatch f32(s32(x * 10))", {}, casts},
      {"f16 to f32 to f16", "x: f16[64]\nmatch f16(f32(x)) * 2", {"convert-there-and-back"}, {}},
      {"the narrow value is a result", "x: f32[64]\nlet h = f16(x)\nmatch f32(h) + x, h", {}, casts},
      {"clip from below zero", "x: f32[64]\nmatch min(max(max(x, 0), -1), 0.5)", {}, {"max-twice"}},
      {"clip to below zero", "x: f32[64]\nmatch min(max(max(x, 0), -1), -0.5)", {}, {"max-twice"}},
      {"the inner value of a GELU is a result",
       "x: f32[64]\nlet e = erf(x * 0.70710678)\nmatch 0.5 * x * (1 + e), e",
       {"recognise-gelu"},
       {}},
      {"the exponent of a softmax has another reader",
       "x: f32[8, 64]\nlet e = exp(x - reduce_max(x, axes = [1]) along 0)\n"
       "match e / reduce_sum(e, axes = [1]) along 0, reduce_max(e, axes = [0])",
       {"recognise-softmax"},
       {}},
      {"before the activation as well",
       "x: f32[1, 4, 6, 6]  w: f32[4, 4, 3, 3]\nlet c = conv(x, w)\nmatch relu(c), c",
       {},
       {}},
      {"a softmax of a scaled value",
       "x: f32[8, 64]\nlet z = x * 1e20\nlet e = exp(z - reduce_max(z, axes = [1]) along 0)\nmatch e / reduce_sum(e, "
       "axes = [1]) along 0",
       {"recognise-softmax"},
       {}},
      {"a sum of products that cancels", "x: f32[64]  y: f32[64]\nmatch x * y - y * x", {}, {}},
  });
}
