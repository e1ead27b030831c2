#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "program.hpp"

using namespace fusewright::tests;
using nlohmann::json;

namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

json audit(const std::string& arguments) {
  const Ran ran = run("audit " + arguments + " --json");
  INFO(ran.err);
  REQUIRE(ran.code == 0);
  return ran.json();
}

const std::string kDigits = example("digits/model.onnx") + " --dim batch=8";

json group_with(const json& report, const std::string& node) {
  for (const json& group : report["groups"])
    for (const json& name : group["nodes"])
      if (name == node) return group;
  FAIL("no group has " << node);
  return {};
}

}  // namespace

TEST_CASE("the audit says of every tensor that leaves a kernel why it does", "[cli][audit]") {
  for (const std::string& model : {kDigits, example("encoder/model.hlo"), example("elementwise.hlo")}) {
    const json report = audit(model);
    std::size_t outputs = 0;
    for (const json& group : report["groups"]) {
      CHECK(group["bytes_before"].get<std::int64_t>() >= 0);
      REQUIRE_FALSE(group["cuts"].empty());
      for (const json& cut : group["cuts"]) {
        CHECK_FALSE(cut["reason"].get<std::string>().empty());
        if (cut["why"] == "cost") CHECK(cut["seconds_fused"].get<double>() > 0);
        outputs += cut["why"] == "output" ? 1 : 0;
      }
    }
    CHECK(outputs == 1);
  }
}

TEST_CASE("a kernel's nodes are those that it computes, though constants are shared", "[cli][audit]") {
  const json report = audit(kDigits);
  const json top = group_with(report, "top_conv");
  CHECK(top["nodes"] == json({"top_bn", "top_conv", "top_relu"}));
  CHECK(top["name"].get<std::string>().starts_with("conv_bias_relu"));
}

TEST_CASE("an operator that the model has by name is listed by it", "[cli][audit]") {
  std::set<std::string> ops;
  for (const json& found : group_with(audit(kDigits), "top_conv")["recognised"]) ops.insert(found["op"]);
  CHECK(ops == std::set<std::string>{"batch_norm", "relu"});
}

TEST_CASE("a group is shown in depth: schedule, cost, and rules that replay", "[cli][audit]") {
  const json top = group_with(audit(kDigits), "top_conv");
  const std::string name = top["name"];
  const json group = audit(kDigits + " --group " + name);
  CHECK(group == audit(kDigits + " --group " + std::to_string(top["id"].get<int>())));
  CHECK(group["cost"]["seconds"] == group["seconds_estimated"]);
  CHECK(group["schedule"]["template"] == "conv");
  CHECK(group["derivation"]["replays"] == true);
  CHECK(group["derivation"]["applications"].get<int>() > 0);
  bool folded = false;
  for (const json& node : group["derivation"]["nodes"])
    for (const json& rule : node["rules"]) folded = folded || rule == "conv-mean-scale-fold";
  CHECK(folded);
  const Ran text = run("audit " + kDigits + " --group " + name);
  CHECK(has(text.out, "replayed from the model's nodes alone"));
  CHECK(has(text.out, "fusion.fuse:"));
}

TEST_CASE("a node is followed to its kernel, and every fuse rule says why it goes no further", "[cli][audit]") {
  const json why = audit(kDigits + " --why global_pool");
  CHECK(why["op"] == "GlobalAveragePool");
  REQUIRE_FALSE(why["computed"].empty());
  REQUIRE_FALSE(why["cuts"].empty());
  for (const json& cut : why["cuts"]) {
    CHECK(cut["attempts"].size() >= 10);
    for (const json& attempt : cut["attempts"]) CHECK_FALSE(attempt["reason"].get<std::string>().empty());
  }
  CHECK(std::any_of(why["rules"].begin(), why["rules"].end(),
                    [](const json& rule) { return rule["rule"] == "expand-reduce-mean"; }));
  const json inside = audit(example("elementwise.hlo") + " --why add");
  CHECK(inside["cuts"].empty());
  CHECK(inside["line"].get<int>() > 0);
}

TEST_CASE("audits of a group and of a node are the same each time, also without fusion", "[cli][audit]") {
  for (const std::string& arguments :
       {kDigits + " --group 0", kDigits + " --why top_conv --json", kDigits + " --no-fuse --json",
        kDigits + " --no-fuse --group 3 --json", kDigits + " --no-fuse --why stem_bn", kDigits + " --device sim"}) {
    INFO(arguments);
    const Ran first = run("audit " + arguments + " --threads 1"), second = run("audit " + arguments);
    CHECK(first.code == 0);
    CHECK(first.out == second.out);
  }
}

TEST_CASE("kernels of one form are told apart by what guards ask of their operands", "[cli][audit]") {
  const Scratch scratch;
  // Both pairs are one region; only the second one's operand has another reader.
  const std::string model = scratch.write("twins.hlo", R"(HloModule m

ENTRY e {
 x0 = f32[8,16] parameter(0)
 x1 = f32[8,16] parameter(1)
 w = f32[16,16] parameter(2)
 d0 = f32[8,16] dot(x0, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
 d1 = f32[8,16] dot(x1, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
 e0 = f32[8,16] exponential(d0)
 e1 = f32[8,16] exponential(d1)
 t1 = f32[8,16] tanh(x1)
 ROOT all = (f32[8,16], f32[8,16], f32[8,16]) tuple(e0, e1, t1)
}
)");
  const std::string rules = scratch.write("never.fuse", R"(
fuse dot-then-exp {
  match dot(x, w) |> exp
  where single_use(x), shape(x)[0] == 9
}
)");
  const auto reason = [&](const std::string& node) {
    const json cuts = group_with(audit(model + " --no-builtin-rules --rules " + rules), node)["cuts"];
    REQUIRE(cuts.size() == 1);
    return cuts[0]["reason"].get<std::string>();
  };
  CHECK(has(reason("d0"), "`shape(x)[0] == 9` does not hold"));
  CHECK(has(reason("d1"), "`single_use(x)` does not hold"));
}

TEST_CASE("the bound counts what a composite operator reads and computes", "[cli][audit]") {
  const Scratch scratch;
  const std::string model = scratch.write("layer_norm.hlo", R"(HloModule m

sum { a = f32[] parameter(0)
 b = f32[] parameter(1)
 ROOT c = f32[] add(a, b) }

ENTRY e {
 x = f32[1024,512] parameter(0)
 zero = f32[] constant(0)
 count = f32[] constant(512)
 counts = f32[1024] broadcast(count), dimensions={}
 s = f32[1024] reduce(x, zero), dimensions={1}, to_apply=sum
 mean = f32[1024] divide(s, counts)
 means = f32[1024,512] broadcast(mean), dimensions={0}
 d = f32[1024,512] subtract(x, means)
 square = f32[1024,512] multiply(d, d)
 s2 = f32[1024] reduce(square, zero), dimensions={1}, to_apply=sum
 variance = f32[1024] divide(s2, counts)
 small = f32[] constant(1e-5)
 smalls = f32[1024] broadcast(small), dimensions={}
 more = f32[1024] add(variance, smalls)
 scale = f32[1024] rsqrt(more)
 scales = f32[1024,512] broadcast(scale), dimensions={0}
 ROOT y = f32[1024,512] multiply(d, scales)
}
)");
  const json report = audit(model + " --device-file x86-avx2");  // not for the machine that it runs on
  CHECK(report["kernels"] == 1);
  CHECK(report["extraction"]["gap"].get<double>() < 0.1);
}
