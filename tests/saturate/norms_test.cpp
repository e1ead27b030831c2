#include <set>

#include "tests/saturate/helpers.hpp"

// Normalisations as exporters write them: whatever the form, the operator of that name is found in the class of the
// result.

namespace fusewright::saturate {
namespace {

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
  const auto kept = [&](const std::string& text) { return form.keepdims ? "reshape(" + text + ", [4, 8, 1])" : text; };
  const auto wide = [&](const char* name) {
    return form.keepdims ? std::string(name) : std::string(name) + " along [0, 1]";
  };
  m.let("m", kept("reduce_sum(x, axes = [2])") + " " + form.mean);
  m.let("d", centred ? "x - " + wide("m") : "x * 1");
  m.let("v", kept("reduce_sum(" + form.square + ", axes = [2])") + " " + form.mean + " + 0.00001");
  m.let("r", form.root);
  std::string tail = form.tail;
  if (const std::size_t at = tail.find("ROOT"); at != std::string::npos) tail.replace(at, 4, wide("r"));
  m.let("n", tail);
  return m.eval(form.affine);
}

/// The values of attribute `root` with which the operator is found: how the deviation divides.
std::set<std::int64_t> roots(const Form& form, const std::string& name, bool approximate = false, bool centred = true) {
  Model m(library());
  const Value result = layer(m, form, centred);
  Options options = default_exactness();
  if (approximate) options.allowed.add(rule::ExactnessClass::kApproximate);
  const Saturated s = must_saturate(m.finish({result}), library(), options);
  CHECK(s.trace.saturated());
  std::set<std::int64_t> found;
  for (const ENodeId n : operators(s, result, name)) found.insert(s.graph().attrs(n).get<std::int64_t>("root"));
  return found;
}

using Roots = std::set<std::int64_t>;
const Roots kDivisor = {0}, kInverse = {1}, kRsqrt = {2}, kAll = {0, 1, 2};

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
    CHECK(roots(form, "layer_norm") == kDivisor);
    form.tail = "d * ROOT";
    form.root = "1 / sqrt(v)";
    CHECK(roots(form, "layer_norm") == kInverse);
    form.root = "rsqrt(v)";
    CHECK(roots(form, "layer_norm") == kRsqrt);
  }
  for (const bool keepdims : {true, false})
    CHECK(roots({.keepdims = keepdims, .affine = "n * 1"}, "normalized") == kDivisor);
  // Beside a scale, the inverse has its place by its kept axis alone.
  CHECK(roots({.tail = "d * (ROOT * g)", .root = "rsqrt(v)", .affine = "n + b"}, "layer_norm") == kRsqrt);
}

TEST_CASE("a root mean square normalisation is recognised by each of its roots", "[saturate]") {
  for (const bool keepdims : {true, false}) {
    Form form{.keepdims = keepdims, .affine = "g * n"};
    CHECK(roots(form, "rms_norm", false, false) == kDivisor);
    form.tail = "d * ROOT";
    form.root = "1 / sqrt(v)";
    CHECK(roots(form, "rms_norm", false, false) == kInverse);
    form.root = "rsqrt(v)";
    CHECK(roots(form, "rms_norm", false, false) == kRsqrt);
  }
}

TEST_CASE("one factor and one shift are the normalisation that they come from", "[saturate]") {
  for (const bool keepdims : {true, false}) {
    const std::string mean = keepdims ? "m" : "m along [0, 1]";
    Form form{.keepdims = keepdims,
              .tail = keepdims ? "broadcast_to(ROOT, [4, 8, 32]) * g" : "broadcast(r, [0, 1], [4, 8, 32]) * g",
              .root = "1 / sqrt(v)"};
    form.affine = "x * n + (b - " + mean + " * n)";
    CHECK(roots(form, "layer_norm_by_shift") == kInverse);
    form.root = "rsqrt(v)";
    CHECK(roots(form, "layer_norm_by_shift") == kRsqrt);
    // Keras takes the mean's sign first.
    form.affine = "x * n + (b + -" + mean + " * n)";
    CHECK(roots(form, "layer_norm_by_shift") == kRsqrt);
    form.affine = "x * n + (b * n - " + mean + " * n)";
    CHECK(roots(form, "layer_norm_by_shift").empty());
  }
}

TEST_CASE("a variance by the mean of squares is told from one by the squares of what is centred", "[saturate]") {
  Form form{.tail = "d * (ROOT * g)",
            .root = "rsqrt(max(reshape(reduce_sum(x * x, axes = [2]), [4, 8, 1]) / 32 - m * m, 0) + 0.00001)"};
  form.affine = "n + b";
  CHECK(roots(form, "layer_norm") == kRsqrt);
  form.root = "rsqrt(max(reshape(reduce_sum(x * x, axes = [2]), [4, 8, 1]) / 32 - m, 0) + 0.00001)";
  CHECK(roots(form, "layer_norm").empty());
}

TEST_CASE("all ways to the root are one where approximations are allowed", "[saturate]") {
  for (const bool keepdims : {true, false}) {
    for (const std::string& root : {"1 / sqrt(v)", "pow(v, -0.5)", "rsqrt(v)"}) {
      INFO(keepdims << " " << root);
      CHECK(roots({.keepdims = keepdims, .tail = "d * ROOT", .root = root}, "layer_norm", true) == kAll);
    }
    CHECK(roots({.keepdims = keepdims, .root = "pow(v, 0.5)"}, "layer_norm", true) == kAll);
    CHECK(roots({.keepdims = keepdims, .root = "pow(v, 0.5)"}, "layer_norm").empty());
    CHECK(roots({.keepdims = keepdims, .affine = "n * g"}, "rms_norm", true, false) == kAll);
  }
}

TEST_CASE("what is near a layer normalisation is none in either form of its axes", "[saturate]") {
  for (const bool keepdims : {true, false}) {
    const auto none = [&](const Form& form) { CHECK(roots(form, "layer_norm", true).empty()); };
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
  m.let("s", "reduce_sum(x * x, axes = [1, 2]) / 128 + 0.00001");
  const Value product = m.eval("x * rsqrt(s) along 0 * g"), quotient = m.eval("x / sqrt(s) along 0 * g");
  m.let("d", "x - (reduce_sum(x, axes = [2, 0]) / 64) along 1");
  m.let("v", "reduce_sum(d * d, axes = [0, 2]) / 64");
  const Value batch = m.eval("d / sqrt(v + 0.00001) along 1 * c along 1 + b along 1");
  const Saturated s = must_saturate(m.finish({product, quotient, batch}), library(), default_exactness());
  CHECK(has_operator(s, product, "rms_norm"));
  CHECK(has_operator(s, quotient, "rms_norm"));
  CHECK(has_operator(s, batch, "batch_norm_of_itself"));
  CHECK_FALSE(has_operator(s, batch, "layer_norm"));
  check_replays(s);
}

TEST_CASE("normalisations of everything, and of the channels of images, are recognised", "[saturate]") {
  Model m(library());
  m.input("x", f32({2, 8, 6, 6}));
  m.input("g", f32({2, 8, 6, 6}));
  m.input("c", f32({8}));
  m.let("d", "x - reshape(reduce_sum(x, axes = [0, 1, 2, 3]) / 576, [1, 1, 1, 1])");
  m.let("v", "reshape(reduce_sum(d * d, axes = [0, 1, 2, 3]) / 576, [1, 1, 1, 1])");
  const Value everything = m.eval("d / sqrt(v + 0.00001) * g + g");
  const Value root = m.eval("x * rsqrt(reduce_sum(x * x, axes = [0, 1, 2, 3]) / 576 + 0.00001) * g");
  m.let("e", "x - reshape(reduce_sum(x, axes = [1]) / 8, [2, 1, 6, 6])");
  m.let("w", "reshape(reduce_sum(e * e, axes = [1]) / 8, [2, 1, 6, 6])");
  const Value channels = m.eval("e / sqrt(w + 0.00001) * reshape(c, [8, 1, 1]) + reshape(c, [8, 1, 1])");
  const Value width = m.eval("e / sqrt(w + 0.00001) * slice(c, [0], [6], [1]) + slice(c, [0], [6], [1])");
  const Saturated s = must_saturate(m.finish({everything, root, channels, width}), library(), default_exactness());
  CHECK(has_operator(s, everything, "layer_norm"));
  CHECK(has_operator(s, root, "rms_norm"));
  CHECK(has_operator(s, channels, "layer_norm_of_channels"));
  CHECK_FALSE(has_operator(s, channels, "layer_norm"));
  CHECK_FALSE(has_operator(s, width, "layer_norm_of_channels"));
  check_replays(s);
}

TEST_CASE("groups of channels that lie last are recognised, scaled among the groups or behind", "[saturate]") {
  Model m(library());
  m.input("x", f32({2, 6, 6, 8}));
  m.input("g", f32({8}));
  m.input("h", f32({4, 2}));
  m.let("y", "reshape(x, [2, 6, 6, 4, 2])");
  m.let("m", "reduce_sum(y, axes = [1, 2, 4]) / 72");
  m.let("d", "y - m along [0, 3]");
  m.let("r", "1 / sqrt(reduce_sum(d * d, axes = [1, 2, 4]) / 72 + 0.001)");
  const Value behind = m.eval("reshape(d * r along [0, 3], [2, 6, 6, 8]) * g + g");
  m.let("f", "broadcast(r, [0, 3], [2, 6, 6, 4, 2]) * h");
  const Value among = m.eval("reshape(y * f + (h - m along [0, 3] * f), [2, 6, 6, 8])");
  m.let("o", "reduce_sum(y, axes = [1, 2, 3]) / 144");
  m.let("e", "y - o along [0, 4]");
  m.let("q", "1 / sqrt(reduce_sum(e * e, axes = [1, 2, 3]) / 144 + 0.001)");
  const Value others = m.eval("reshape(e * q along [0, 4], [2, 6, 6, 8]) * g + g");
  const Saturated s = must_saturate(m.finish({behind, among, others}), library(), default_exactness());
  CHECK(has_operator(s, behind, "group_norm_channels_last"));
  CHECK(has_operator(s, among, "group_norm_channels_last_by_shift"));
  CHECK_FALSE(has_operator(s, others, "group_norm_channels_last"));
  check_replays(s);
}

TEST_CASE("batch normalisation is recognised in Flax's and in TensorFlow's form", "[saturate]") {
  Model m(library());
  m.input("x", f32({4, 6, 8}));
  for (const char* name : {"g", "b", "mean", "v"}) m.input(name, f32({8}));
  m.let("s", "rsqrt(v + 0.001) * g");
  const Value flax = m.eval("(x - mean) * s + b"), tensorflow = m.eval("x * s + (b - mean * s)");
  const Value other = m.eval("x * s + (b - mean * g)");
  const Saturated s = must_saturate(m.finish({flax, tensorflow, other}), library(), default_exactness());
  CHECK(has_operator(s, flax, "batch_norm_by_rsqrt"));
  CHECK(has_operator(s, tensorflow, "batch_norm_by_shift"));
  CHECK_FALSE(has_operator(s, other, "batch_norm_by_shift"));
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
  const Saturated s = must_saturate(m.finish({group}), library(), default_exactness());
  CHECK(has_operator(s, group, "group_norm"));
}

TEST_CASE("instance and group normalisations are recognised where they are spelled out", "[saturate]") {
  Model m(library());
  m.input("x", f32({2, 8, 6, 6}));
  m.constant("g", *ops::make_tensor(ops::DType::kF32, {8, 1, 1}));
  m.constant("b", *ops::make_tensor(ops::DType::kF32, {8, 1, 1}));
  m.let("d", "x - reshape(reduce_sum(x, axes = [2, 3]) / 36, [2, 8, 1, 1])");
  m.let("v", "reshape(reduce_sum(d * d, axes = [2, 3]) / 36, [2, 8, 1, 1])");
  const Value instance = m.eval("d / sqrt(v + 0.00001) * g + b");
  m.let("y", "reshape(x, [2, 4, 72])");
  m.let("e", "y - reshape(reduce_sum(y, axes = [2]) / 72, [2, 4, 1])");
  m.let("w", "reshape(reduce_sum(e * e, axes = [2]) / 72, [2, 4, 1])");
  m.let("z", "reshape(e / sqrt(w + 0.00001), [2, 8, 6, 6])");
  const Value group = m.eval("z * g + b");
  const Saturated s = must_saturate(m.finish({instance, group}), library(), default_exactness());
  CHECK(has_operator(s, instance, "instance_norm"));
  CHECK(has_operator(s, group, "group_norm"));
  CHECK_FALSE(has_operator(s, instance, "group_norm"));
  check_replays(s);
}

}  // namespace fusewright::saturate
