#include "tests/main/paths.hpp"
#include "tests/saturate/helpers.hpp"

// Normalisations as exporters write them: whatever the form, the operator of that name is found in the class of the
// result.

namespace fusewright::saturate {
namespace {

std::shared_ptr<const rule::RuleSet> library() {
  static const std::shared_ptr<const rule::RuleSet> rules = [] {
    auto loaded = rule::load_rules({(tests::source_dir() / "rules").string()}, ops::OpTable::builtin());
    if (!loaded) FAIL(print_error(loaded.error()));
    return std::make_shared<const rule::RuleSet>(*std::move(loaded));
  }();
  return rules;
}

struct Form {
  bool keepdims = true;
  std::string mean = "/ 32";  // of a sum of 32 elements
  std::string square = "d * d";
  std::string tail = "d / ROOT";  // ROOT, INVERSE: of the variance, over the whole rows
  std::string root = "sqrt(v)";
  std::string affine = "n * g + b";
};

/// x[4, 8, 32], normalised over its last axis.
Value layer(Model& m, const Form& form, bool centred = true) {
  m.input("x", f32({4, 8, 32}));
  m.input("g", f32({32}));
  m.input("b", f32({32}));
  const auto let = [&](const char* name, const std::string& text) { m.env[name] = Builder::pack(m.eval(text)); };
  const auto kept = [&](const std::string& text) { return form.keepdims ? "reshape(" + text + ", [4, 8, 1])" : text; };
  const auto wide = [&](const char* name) {
    return form.keepdims ? std::string(name) : std::string(name) + " along [0, 1]";
  };
  let("m", kept("reduce_sum(x, axes = [2])") + " " + form.mean);
  let("d", centred ? "x - " + wide("m") : "x * 1");
  let("v", kept("reduce_sum(" + form.square + ", axes = [2])") + " " + form.mean + " + 0.00001");
  let("r", form.root);
  std::string tail = form.tail;
  tail.replace(tail.find("ROOT"), 4, wide("r"));
  let("n", tail);
  return m.eval(form.affine);
}

bool recognised(const Form& form, const std::string& name, bool approximate = false, bool centred = true) {
  Model m(library());
  const Value result = layer(m, form, centred);
  Options options;
  options.allowed = *rule::parse_exactness("bitexact,reassociating");
  if (approximate) options.allowed.add(rule::ExactnessClass::kApproximate);
  const Saturated s = must_saturate(m.finish({result}), library(), options);
  CHECK(s.trace.saturated());
  return has_operator(s, result, name);
}

}  // namespace

TEST_CASE("a layer normalisation is recognised with and without kept axes, however its parts are written",
          "[saturate]") {
  std::vector<Form> forms;
  for (const bool keepdims : {true, false}) {
    forms.push_back({.keepdims = keepdims});
    forms.push_back({.keepdims = keepdims, .mean = "* 0.03125"});
    forms.push_back({.keepdims = keepdims, .square = "pow(d, 2)"});
    forms.push_back({.keepdims = keepdims, .affine = "b + g * n"});
    forms.push_back({.keepdims = keepdims, .affine = "n * g"});
  }
  for (Form& form : forms) {
    INFO(form.keepdims << " " << form.mean << " " << form.square << " " << form.affine);
    CHECK(recognised(form, "layer_norm_by_root"));
    form.tail = "d * ROOT";
    form.root = "rsqrt(v)";
    CHECK(recognised(form, "layer_norm"));
    CHECK_FALSE(recognised(form, "layer_norm_by_root"));
  }
  for (const bool keepdims : {true, false}) {
    CHECK(recognised({.keepdims = keepdims, .affine = "n * 1"}, "normalized"));
  }
  // Beside a scale, the inverse has its place by its kept axis alone.
  CHECK(recognised({.tail = "d * (ROOT * g)", .root = "rsqrt(v)", .affine = "n + b"}, "layer_norm"));
}

TEST_CASE("other ways to the root are the same operator where approximations are allowed", "[saturate]") {
  for (const bool keepdims : {true, false}) {
    for (const std::string& root : {"1 / sqrt(v)", "pow(v, -0.5)", "rsqrt(v)"}) {
      const Form form{.keepdims = keepdims, .tail = "d * ROOT", .root = root};
      INFO(keepdims << " " << root);
      CHECK(recognised(form, "layer_norm", true));
      CHECK(recognised(form, "layer_norm_by_root", true));
    }
    CHECK(recognised({.keepdims = keepdims, .root = "pow(v, 0.5)"}, "layer_norm_by_root", true));
    CHECK_FALSE(recognised({.keepdims = keepdims, .root = "pow(v, 0.5)"}, "layer_norm_by_root"));
    CHECK(recognised({.keepdims = keepdims, .affine = "n * g"}, "rms_norm", true, false));
    CHECK(recognised({.keepdims = keepdims, .affine = "g * n"}, "rms_norm_by_root", false, false));
  }
}

TEST_CASE("what is near a layer normalisation is none in either form of its axes", "[saturate]") {
  for (const bool keepdims : {true, false}) {
    const auto none = [&](const Form& form) {
      CHECK_FALSE(recognised(form, "layer_norm_by_root", true));
      CHECK_FALSE(recognised(form, "layer_norm", true));
    };
    none({.keepdims = keepdims, .mean = "/ 31"});
    none({.keepdims = keepdims, .square = "d * x"});
    none({.keepdims = keepdims, .root = "sqrt(m)"});
    none({.keepdims = keepdims, .affine = "n * x + b"});
  }
}

TEST_CASE("normalisations over several axes, and over all but one, are recognised", "[saturate]") {
  Model m(library());
  m.input("x", f32({4, 8, 16}));
  m.input("g", f32({8, 16}));
  m.input("c", f32({8}));
  m.input("b", f32({8}));
  const auto let = [&](const char* name, const std::string& text) { m.env[name] = Builder::pack(m.eval(text)); };
  let("s", "reduce_sum(x * x, axes = [1, 2]) / 128 + 0.00001");
  const Value product = m.eval("x * rsqrt(s) along 0 * g"), quotient = m.eval("x / sqrt(s) along 0 * g");
  let("d", "x - (reduce_sum(x, axes = [2, 0]) / 64) along 1");
  let("v", "reduce_sum(d * d, axes = [0, 2]) / 64");
  const Value batch = m.eval("d / sqrt(v + 0.00001) along 1 * c along 1 + b along 1");
  Options options;
  options.allowed = *rule::parse_exactness("bitexact,reassociating");
  const Saturated s = must_saturate(m.finish({product, quotient, batch}), library(), options);
  CHECK(has_operator(s, product, "rms_norm"));
  CHECK(has_operator(s, quotient, "rms_norm_by_root"));
  CHECK(has_operator(s, batch, "batch_norm_of_itself"));
  CHECK_FALSE(has_operator(s, batch, "layer_norm_by_root"));
  check_replays(s);
}

TEST_CASE("groups that keep their axes are recognised", "[saturate]") {
  Model m(library());
  m.input("x", f32({2, 8, 6, 6}));
  m.input("g", f32({8}));
  m.input("b", f32({8}));
  const Value group = m.eval(
      "reshape(instance_norm(reshape(x, [2, 4, 2, 36]), literal(1, f32, [4]), literal(0, f32, [4])), [2, 8, 6, 6]) "
      "* g along 1 + b along 1");
  Options options;
  options.allowed = *rule::parse_exactness("bitexact,reassociating");
  const Saturated s = must_saturate(m.finish({group}), library(), options);
  CHECK(has_operator(s, group, "group_norm"));
}

TEST_CASE("instance and group normalisations are recognised where they are spelled out", "[saturate]") {
  Model m(library());
  m.input("x", f32({2, 8, 6, 6}));
  m.constant("g", *ops::make_tensor(ops::DType::kF32, {8, 1, 1}));
  m.constant("b", *ops::make_tensor(ops::DType::kF32, {8, 1, 1}));
  const auto let = [&](const char* name, const std::string& text) { m.env[name] = Builder::pack(m.eval(text)); };
  let("d", "x - reshape(reduce_sum(x, axes = [2, 3]) / 36, [2, 8, 1, 1])");
  let("v", "reshape(reduce_sum(d * d, axes = [2, 3]) / 36, [2, 8, 1, 1])");
  const Value instance = m.eval("d / sqrt(v + 0.00001) * g + b");
  let("y", "reshape(x, [2, 4, 72])");
  let("e", "y - reshape(reduce_sum(y, axes = [2]) / 72, [2, 4, 1])");
  let("w", "reshape(reduce_sum(e * e, axes = [2]) / 72, [2, 4, 1])");
  let("z", "reshape(e / sqrt(w + 0.00001), [2, 8, 6, 6])");
  const Value group = m.eval("z * g + b");
  const Saturated s = must_saturate(m.finish({instance, group}), library(), [] {
    Options options;
    options.allowed = *rule::parse_exactness("bitexact,reassociating");
    return options;
  }());
  CHECK(has_operator(s, instance, "instance_norm"));
  CHECK(has_operator(s, group, "group_norm"));
  CHECK_FALSE(has_operator(s, instance, "group_norm"));
  check_replays(s);
}

}  // namespace fusewright::saturate
