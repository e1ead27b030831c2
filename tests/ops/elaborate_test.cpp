#include <catch2/catch.hpp>
#include <cmath>
#include <deque>

#include "fusewright/ops/expr.hpp"
#include "tests/ops/make_expr.hpp"

using namespace fusewright;
using namespace fusewright::ops;
using namespace fusewright::tests;

namespace {

using Ints = std::vector<std::int64_t>;

const OpTable& table() {
  static const OpTable kTable = OpTable::builtin();
  return kTable;
}

// Terms are texts: "add(x, broadcast{dims=[], shape=[2]}(1.0))".
class TextBuilder final : public TermBuilder {
 public:
  explicit TextBuilder(const OpTable& ops) : ops_(ops) {}

  TermValue add(std::string text, Type type) {
    terms_.push_back({std::move(text), std::move(type)});
    return {terms_.size() - 1};
  }
  const std::string& text(TermValue value) const { return terms_[value.id].text; }

  Result<std::vector<TermValue>> apply(OpId op, const std::vector<std::optional<TermValue>>& operands,
                                       const Attrs& attrs, const Span&) override {
    std::vector<Type> types;
    std::string text;
    for (const auto& operand : operands) {
      types.push_back(operand ? terms_[operand->id].type : Type());
      text += (text.empty() ? "" : ", ") + (operand ? terms_[operand->id].text : "none");
    }
    FW_TRY(const Attrs complete, ops_.complete_attrs(op, attrs, types));
    CHECK(complete == attrs);
    FW_TRY(const std::vector<Type> results, ops_.infer(op, types, attrs));
    const std::string& name = ops_[op].name;
    std::string printed;
    for (const auto& [key, value] : attrs.entries())
      printed += (printed.empty() ? "" : ", ") + key + "=" + to_string(value);
    if (name == "constant")
      text = to_string(attrs.entries()[0].second);
    else
      text = name + (printed.empty() ? "" : "{" + printed + "}") + "(" + text + ")";
    std::vector<TermValue> values;
    for (std::size_t i = 0; i < results.size(); ++i)
      values.push_back(add(results.size() > 1 ? text + "." + std::to_string(i) : text, results[i]));
    return values;
  }
  const Type& type(TermValue value) override { return terms_[value.id].type; }
  Result<AttrValue> query(const std::string& function, const std::vector<TermValue>& args, const Span& span) override {
    if (function == "constant") return AttrValue(args.size() == 1 && text(args[0]) == "w");
    return TermBuilder::query(function, args, span);
  }
  Result<TermValue> fold(TermValue value, const Span&) override {
    return add("fold(" + text(value) + ")", type(value));
  }

 private:
  struct Term {
    std::string text;
    Type type;
  };
  const OpTable& ops_;
  std::deque<Term> terms_;
};

// x: f32[2,3,4], w: f32[4], s: f32[], i: s32[2,3,4], p: pred[2,3,4], c: f32[2]; axis = -1, alpha = 0.5; b is left out.
struct Fixture {
  OpTable ops = table();
  TextBuilder builder{ops};
  Env env;

  Fixture() {
    const auto bind = [&](const char* name, DType dtype, Shape shape) {
      env[name] = builder.add(name, Type::tensor(dtype, std::move(shape)));
    };
    bind("x", DType::kF32, {2, 3, 4});
    bind("w", DType::kF32, {4});
    bind("s", DType::kF32, {});
    bind("i", DType::kS32, {2, 3, 4});
    bind("p", DType::kPred, {2, 3, 4});
    bind("c", DType::kF32, {2});
    bind("u", DType::kF32, {Dim::symbol("n"), 4});
    env["b"] = std::monostate();
    env["axis"] = AttrValue(std::int64_t{-1});
    env["alpha"] = AttrValue(0.5);
    env["k.groups"] = AttrValue(std::int64_t{3});
  }

  // The value as text; of an error, its message.
  std::string eval(const ExprPtr& expr) {
    const Result<EnvValue> value = elaborate(ops, *expr, env, builder);
    if (!value) return "error: " + value.error().diagnostics[0].message;
    if (const auto* term = std::get_if<TermValue>(&*value)) return builder.text(*term);
    if (const auto* attr = std::get_if<AttrValue>(&*value)) return to_string(*attr);
    return "nothing";
  }
};

std::string eval(const ExprPtr& expr) { return Fixture().eval(expr); }
std::string refusal(const ExprPtr& expr) {
  const std::string text = eval(expr);
  CHECK(text.starts_with("error: "));
  return text;
}

}  // namespace

TEST_CASE("attribute arithmetic is exact and refuses what leaves its range", "[elaborate]") {
  CHECK(eval(bin(num(7), "+", num(3))) == "10");
  CHECK(eval(bin(num(7), "/", num(2))) == "3.5");
  CHECK(eval(bin(num(6), "/", num(2))) == "3");
  CHECK(eval(bin(num(-7), "//", num(2))) == "-4");
  CHECK(eval(bin(num(-7), "%", num(2))) == "1");
  CHECK(eval(bin(num(2), "**", num(10))) == "1024");
  CHECK(eval(bin(num(-1), "**", num(1'000'000'000'000))) == "1");
  CHECK(eval(bin(num(2), "**", num(-1))) == "0.5");
  CHECK(eval(bin(real(0.5), "*", num(3))) == "1.5");
  CHECK(eval(bin(list({num(1)}), "+", list({num(2), num(3)}))) == "[1,2,3]");
  CHECK(eval(bin(list({num(1)}), "*", num(3))) == "[1,1,1]");
  CHECK(eval(bin(num(1), "==", real(1.0))) == "true");
  CHECK(eval(bin(num(9007199254740993), "==", real(9007199254740992.0))) == "false");
  CHECK(eval(bin(num(2), "in", list({num(1), num(2)}))) == "true");
  CHECK(eval(bin(num(2), "not in", list({num(1), num(2)}))) == "false");
  CHECK(eval(unary("-", num(4))) == "-4");
  CHECK(eval(unary("not", boolean(true))) == "false");
  CHECK(eval(call("sqrt", {num(2)})) == to_string(AttrValue(std::sqrt(2.0))));
  CHECK(eval(call("max", {num(2), real(3.5)})) == "3.5");
  CHECK(eval(call("int", {real(-2.7)})) == "-2");
  CHECK(refusal(bin(num(1), "/", num(0))) == "error: division of 1 by 0");
  refusal(bin(num(INT64_MAX), "+", num(1)));
  refusal(bin(num(INT64_MIN), "/", num(-1)));
  refusal(bin(num(10), "**", num(19)));
  refusal(unary("-", num(INT64_MIN)));
  refusal(bin(list({num(1)}), "*", num(1'000'000'000'000)));
  refusal(bin(boolean(true), "+", num(1)));
  refusal(call("range", {num(INT64_MIN), num(INT64_MAX)}));
}

TEST_CASE("conditions decide while elaborating and look only where they must", "[elaborate]") {
  CHECK(eval(choose(boolean(true), num(1), bin(num(1), "/", num(0)))) == "1");
  CHECK(eval(bin(boolean(false), "and", bin(num(1), "/", num(0)))) == "false");
  CHECK(eval(bin(boolean(true), "or", id("nobody"))) == "true");
  CHECK(eval(bin(id("b"), "??", num(0))) == "0");
  CHECK(eval(bin(id("axis"), "??", id("nobody"))) == "-1");
  CHECK(eval(choose(call("present", {id("b")}), id("b"), id("x"))) == "x");
  refusal(choose(num(2), num(1), num(0)));
  CHECK(refusal(bin(id("b"), "+", num(1))) == "error: 'b' is left out");
}

TEST_CASE("lists and shapes are indexed and cut as in Python", "[elaborate]") {
  CHECK(eval(call("shape", {id("x")})) == "[2,3,4]");
  CHECK(eval(index(call("shape", {id("x")}), num(-1))) == "4");
  CHECK(eval(slice(call("shape", {id("x")}), num(1), nullptr)) == "[3,4]");
  CHECK(eval(slice(call("shape", {id("x")}), nullptr, id("axis"))) == "[2,3]");
  CHECK(eval(slice(call("shape", {id("x")}), num(2), num(1))) == "[]");
  CHECK(eval(call("dim", {id("x"), num(1)})) == "3");
  CHECK(eval(call("rank", {id("x")})) == "3");
  CHECK(eval(call("size", {id("x")})) == "24");
  CHECK(eval(call("size", {id("x"), list({num(0), num(-1)})})) == "8");
  CHECK(eval(call("dtype", {id("i")})) == "s32");
  CHECK(eval(bin(call("dtype", {id("x")}), "==", id("f32"))) == "true");
  CHECK(eval(call("axes_except", {id("x"), num(1)})) == "[0,2]");
  CHECK(eval(call("all_axes", {num(3)})) == "[0,1,2]");
  CHECK(eval(call("normalize", {list({num(-1), num(0)}), num(3)})) == "[2,0]");
  CHECK(eval(call("range", {num(2), num(5)})) == "[2,3,4]");
  CHECK(eval(call("reversed", {call("range", {num(3)})})) == "[2,1,0]");
  CHECK(eval(call("invert", {list({num(2), num(0), num(1)})})) == "[1,2,0]");
  CHECK(eval(call("permute", {call("shape", {id("x")}), list({num(2), num(0), num(1)})})) == "[4,2,3]");
  CHECK(eval(call("replace", {call("shape", {id("x")}), num(-1), num(1)})) == "[2,3,1]");
  CHECK(eval(call("broadcasts_to", {id("w"), call("shape", {id("x")})})) == "true");
  CHECK(eval(call("broadcasts_to", {call("shape", {id("x")}), id("w")})) == "false");
  CHECK(eval(call("shape", {id("u")})) == "[n,4]");
  CHECK(eval(index(call("shape", {id("u")}), num(1))) == "4");
  CHECK(refusal(index(call("shape", {id("u")}), num(0))) == "error: dim n is not bound");
  refusal(index(call("shape", {id("x")}), num(3)));
  refusal(call("dim", {id("x"), num(3)}));
  refusal(call("invert", {list({num(0), num(0)})}));
  refusal(call("shape", {num(1)}));
  refusal(call("size", {}));
  refusal(call("size", {id("x"), num(1), num(2)}));
}

TEST_CASE("operators on tensors broadcast by explicit nodes", "[elaborate]") {
  CHECK(eval(bin(id("x"), "+", id("x"))) == "add(x, x)");
  CHECK(eval(bin(id("x"), "*", id("w"))) == "mul(x, broadcast{dims=[2], shape=[2,3,4]}(w))");
  CHECK(eval(bin(id("s"), "-", id("w"))) == "sub(broadcast{dims=[], shape=[4]}(s), w)");
  CHECK(eval(bin(id("s"), "+", num(1))) == "add(s, f32[]{1})");
  CHECK(eval(bin(num(1), "/", id("w"))) == "div(broadcast{dims=[], shape=[4]}(f32[]{1}), w)");
  CHECK(eval(bin(id("w"), "<", id("alpha"))) == "lt(w, broadcast{dims=[], shape=[4]}(f32[]{0.5}))");
  CHECK(eval(bin(id("p"), "and", id("p"))) == "and(p, p)");
  CHECK(eval(unary("-", id("x"))) == "neg(x)");
  CHECK(eval(call("max", {id("w"), num(0)})) == "max(w, broadcast{dims=[], shape=[4]}(f32[]{0}))");
  CHECK(eval(call("select", {id("p"), id("i"), num(0)})) ==
        "select(p, i, broadcast{dims=[], shape=[2,3,4]}(s32[]{0}))");
  CHECK(eval(bin(id("x"), "-", call("unsqueeze", {call("reduce_max", {id("x"), list({num(-1)})}), num(-1)}))) ==
        "sub(x, broadcast{dims=[0,1], "
        "shape=[2,3,4]}(reshape{shape=[2,3]}(reshape{shape=[2,3,1]}(reduce_max{axes=[2]}(x)))))");
  CHECK(eval(bin(id("x"), "+", bin(id("c"), "along", num(0)))) == "add(x, broadcast{dims=[0], shape=[2,3,4]}(c))");
  CHECK(eval(bin(bin(id("w"), "along", num(-1)), "*", id("x"))) == "mul(broadcast{dims=[2], shape=[2,3,4]}(w), x)");
  CHECK(eval(bin(id("x"), "*", bin(num(2), "along", num(0)))) == "mul(x, broadcast{dims=[], shape=[2,3,4]}(f32[]{2}))");
  CHECK(refusal(bin(id("x"), "+", id("c"))) ==
        "error: operands of add: shapes [2,3,4] and [2] do not broadcast: axis 2 is 4 and 2");
  refusal(bin(id("x"), "+", bin(id("c"), "along", num(1))));
  refusal(bin(id("x"), "+", bin(id("c"), "along", num(7))));
  refusal(bin(id("x"), "+", bin(id("c"), "along", list({num(0), num(1)}))));
  refusal(bin(id("c"), "along", num(1)));
  refusal(bin(id("x"), "//", id("x")));
}

TEST_CASE("a number becomes a constant of the dtype beside it only if it is one", "[elaborate]") {
  CHECK(eval(bin(id("i"), "+", real(2.0))) == "add(i, broadcast{dims=[], shape=[2,3,4]}(s32[]{2}))");
  CHECK(refusal(bin(id("i"), "+", real(0.5))) == "error: float 0.5 is no s32");
  refusal(bin(id("i"), "+", num(std::int64_t{1} << 40)));
  CHECK(eval(call("literal", {real(0.1), id("bf16")})) == "bf16[]{0.10009765625}");
  CHECK(eval(call("literal", {num(0), id("f32"), list({num(2)})})) == "broadcast{dims=[], shape=[2]}(f32[]{0})");
  refusal(call("literal", {num(-1), id("u8")}));
  refusal(call("literal", {num(256), id("u8")}));
  refusal(call("select", {id("p"), num(1), num(0)}));
}

TEST_CASE("calls take operands and attributes by position and name", "[elaborate]") {
  CHECK(eval(call("reduce_sum", {id("x")}, {{"axes", list({id("axis")})}})) == "reduce_sum{axes=[2]}(x)");
  CHECK(eval(call("reshape", {id("x"), list({num(6), num(4)})})) == "reshape{shape=[6,4]}(x)");
  CHECK(eval(call("sub", {}, {{"b", id("x")}, {"a", id("x")}})) == "sub(x, x)");
  CHECK(eval(call("f64", {id("s")})) == "convert{dtype=f64}(s)");
  CHECK(eval(call("concat", {id("x"), id("x")}, {{"axis", num(0)}})) == "concat{axis=0}(x, x)");
  CHECK(eval(field(call("top_k", {id("w")}, {{"k", num(2)}, {"axis", num(0)}}), "indices")) ==
        "top_k{axis=0, dtype=s64, k=2, largest=true}(w).1");
  CHECK(eval(field(id("k"), "groups")) == "3");
  CHECK(eval(call("fold", {bin(id("w"), "*", id("w"))})) == "fold(mul(w, w))");
  CHECK(eval(call("constant", {id("w")})) == "true");
  CHECK(eval(call("constant", {id("x")})) == "false");
  CHECK(eval(call("iota", {}, {{"shape", list({num(3)})}, {"dtype", id("s32")}})) ==
        "iota{axis=0, dtype=s32, shape=[3]}()");
  CHECK(eval(call("broadcast_to", {id("w"), call("shape", {id("x")})})) == "broadcast{dims=[2], shape=[2,3,4]}(w)");
  CHECK(eval(call("squeeze", {call("unsqueeze", {id("w"), list({num(0), num(2)})}), list({num(0)})})) ==
        "reshape{shape=[4,1]}(reshape{shape=[1,4,1]}(w))");
  refusal(call("reduce_sum", {id("x")}, {{"axis", num(0)}}));
  refusal(call("reduce_sum", {id("x")}, {{"axes", id("x")}}));
  refusal(call("exp", {id("x"), id("x")}));
  refusal(call("sub", {id("x")}, {{"a", id("x")}}));
  refusal(call("squeeze", {id("x"), num(0)}));
  refusal(field(id("x"), "values"));
  CHECK(refusal(id("alpa")) == "error: nothing is called 'alpa'");
  CHECK(refusal(call("frob", {id("x")})) == "error: there is no operator or function 'frob'");
}

TEST_CASE("an unknown name suggests a near one", "[elaborate]") {
  Fixture f;
  const Result<EnvValue> name = elaborate(f.ops, *id("alhpa"), f.env, f.builder);
  CHECK(name.error().diagnostics[0].suggestion == "did you mean 'alpha'?");
  const Result<EnvValue> op = elaborate(f.ops, *call("reduce_smu", {id("x")}), f.env, f.builder);
  CHECK(op.error().diagnostics[0].suggestion == "did you mean 'reduce_sum'?");
}

TEST_CASE("an expression that nests without end is an error", "[elaborate]") {
  ExprPtr deep = num(1);
  for (int i = 0; i < 5000; ++i) deep = unary("-", deep);
  CHECK(refusal(deep) == "error: the expression nests too deep");
}

TEST_CASE("a composite is one node where it is called, and its body where it is expanded", "[elaborate]") {
  Fixture f;
  // softmax(x; axis) { let e = exp(x - keep(max)); e / keep(sum(e)) }
  const auto keep = [](const char* op, ExprPtr x) {
    return call("unsqueeze", {call(op, {std::move(x)}, {{"axes", list({id("axis")})}}), id("axis")});
  };
  REQUIRE(f.ops.add(composite("softmax", {{"x"}}, {{"axis", AttrKind::kInt, AttrValue(std::int64_t{-1}), false, 0}},
                              {{"e", call("exp", {bin(id("x"), "-", keep("reduce_max", id("x")))})}},
                              {bin(id("e"), "/", keep("reduce_sum", id("e")))})));
  CHECK(f.eval(call("softmax", {id("x")})) == "softmax{axis=2}(x)");
  const TermValue w = std::get<TermValue>(f.env["w"]);
  const OpId softmax = f.ops.find("softmax");
  const Result<std::vector<TermValue>> body =
      elaborate_body(f.ops, softmax, {w}, {{"axis", std::int64_t{0}}}, f.builder);
  REQUIRE(body.has_value());
  const std::string e =
      "exp(sub(w, broadcast{dims=[], shape=[4]}(reshape{shape=[]}(reshape{shape=[1]}(reduce_max{axes=[0]}(w))))))";
  CHECK(f.builder.text((*body)[0]) ==
        "div(" + e + ", broadcast{dims=[], shape=[4]}(reshape{shape=[]}(reshape{shape=[1]}(reduce_sum{axes=[0]}(" + e +
            ")))))");
}

TEST_CASE("composites have optional operands, variadic ones and several results", "[elaborate]") {
  Fixture f;
  REQUIRE(f.ops.add(composite("affine", {{"x"}, {"w"}, {"b", true}}, {}, {},
                              {choose(call("present", {id("b")}), bin(bin(id("x"), "*", id("w")), "+", id("b")),
                                      bin(id("x"), "*", id("w")))})));
  OpInfo both = composite("both", {{"first"}, {"rest", false, true}}, {},
                          {{"t", call("top_k", {id("first")}, {{"k", num(1)}, {"axis", num(0)}})}},
                          {field(id("t"), "values"), call("concat", {id("first"), id("rest")}, {{"axis", num(0)}})});
  both.results = {"best", "all"};
  REQUIRE(f.ops.add(both));
  const TermValue w = std::get<TermValue>(f.env["w"]);
  const auto body = [&](const char* op, std::vector<std::optional<TermValue>> operands) {
    return elaborate_body(f.ops, f.ops.find(op), operands, {}, f.builder).value();
  };
  CHECK(f.builder.text(body("affine", {w, w})[0]) == "mul(w, w)");
  CHECK(f.builder.text(body("affine", {w, w, std::nullopt})[0]) == "mul(w, w)");
  CHECK(f.builder.text(body("affine", {w, w, w})[0]) == "add(mul(w, w), w)");
  const std::vector<TermValue> results = body("both", {w, w, w});
  CHECK(f.builder.text(results[0]) == "top_k{axis=0, dtype=s64, k=1, largest=true}(w).0");
  CHECK(f.builder.text(results[1]) == "concat{axis=0}(w, w, w)");
  CHECK(f.eval(field(call("both", {id("w"), id("w")}), "all")) == "both(w, w).1");
  CHECK(f.eval(call("affine", {id("w"), num(2)})) == "affine(w, f32[]{2})");
}

TEST_CASE("expressions print with no more parentheses than they need", "[print_expr]") {
  CHECK(print_expr(*bin(bin(id("a"), "+", id("b")), "*", id("c"))) == "(a + b) * c");
  CHECK(print_expr(*bin(id("a"), "-", bin(id("b"), "-", id("c")))) == "a - (b - c)");
  CHECK(print_expr(*bin(bin(id("a"), "-", id("b")), "-", id("c"))) == "a - b - c");
  CHECK(print_expr(*bin(id("a"), "**", bin(id("b"), "**", num(2)))) == "a**b**2");
  CHECK(print_expr(*bin(unary("-", id("a")), "**", num(2))) == "(-a)**2");
  CHECK(print_expr(*bin(id("a"), "*", bin(id("b"), "along", num(1)))) == "a * b along 1");
  CHECK(print_expr(*call("f", {id("x"), list({num(1), num(-2)})}, {{"k", real(2)}, {"..", id("c")}})) ==
        "f(x, [1, -2], k = 2.0, ..c)");
  CHECK(print_expr(*slice(call("shape", {id("x")}), num(1), nullptr)) == "shape(x)[1:]");
  CHECK(print_expr(*choose(bin(id("a"), "<", num(1)), id("b"), id("c"))) == "b if a < 1 else c");
  CHECK(print_expr(*unary("not", bin(id("a"), "and", id("b")))) == "not (a and b)");
  CHECK(print_expr(*field(call("top_k", {id("x")}), "values")) == "top_k(x).values");
}
