#include <catch2/catch.hpp>

#include "fusewright/interpret/evaluate.hpp"
#include "fusewright/interpret/inputs.hpp"
#include "fusewright/prove/space.hpp"

namespace fusewright::prove {
namespace {

using Ints = std::vector<std::int64_t>;

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

double element(const ops::Tensor& t, const Ints& index) {
  std::int64_t linear = 0;
  for (std::size_t i = 0; i < index.size(); ++i) linear = linear * t.dims[i] + index[i];
  return ops::get_double(t, linear);
}

/// Whole numbers, so that no sum is rounded.
ops::Tensor whole(const ops::Type& type, std::uint64_t index) {
  ops::Tensor t = *interpret::make_input(ops::Type::tensor(ops::DType::kS32, type.shape), 3, index);
  ops::Tensor out = *ops::make_tensor(type.dtype, t.dims);
  for (std::int64_t i = 0; i < t.elements(); ++i) ops::set_double(out, i, static_cast<double>(ops::get_int(t, i)) - 3);
  return out;
}

/// The sum that proofs take a convolution for, at one index of the result; one spatial axis.
double by_lemma(const ops::Attrs& a, const ops::Tensor& x, const ops::Tensor& w, const Ints& index,
                const ops::Shape& shape) {
  const auto list = [&](const char* name) -> const Ints& { return a.get<Ints>(name); };
  const Ints &lhs = list("lhs_spec"), &rhs = list("rhs_spec"), &out = list("out_spec");
  const std::int64_t o = index[at(out[1])], features = w.dims[at(rhs[0])];
  const auto group = [&](const char* name) { return o / (features / a.get<std::int64_t>(name)); };
  double sum = 0;
  for (std::int64_t i = 0; i < w.dims[at(rhs[1])]; ++i)
    for (std::int64_t k = 0; k < w.dims[at(rhs[2])]; ++k) {
      Ints weight(3), input(3);
      weight[at(rhs[0])] = o, weight[at(rhs[1])] = i, weight[at(rhs[2])] = k;
      const std::int64_t turned = list("reversal")[0] != 0 ? w.dims[at(rhs[2])] - 1 - k : k;
      const std::int64_t place =
          index[at(out[2])] * list("strides")[0] + turned * list("rhs_dilation")[0] - list("pad_low")[0];
      const std::int64_t dilation = list("lhs_dilation")[0];
      if (place < 0 || place > (x.dims[at(lhs[2])] - 1) * dilation || place % dilation != 0) continue;
      input[at(lhs[0])] = group("batch_groups") * shape[at(out[0])].value() + index[at(out[0])];
      input[at(lhs[1])] = group("groups") * w.dims[at(rhs[1])] + i;
      input[at(lhs[2])] = place / dilation;
      if (a.get<std::int64_t>("batch_groups") == 1) input[at(lhs[0])] = index[at(out[0])];
      if (a.get<std::int64_t>("groups") == 1) input[at(lhs[1])] = i;
      sum += element(x, input) * element(w, weight);
    }
  return sum;
}

}  // namespace

TEST_CASE("every convolution of the table is the sum that proofs take it for", "[prove]") {
  const ops::OpTable table = ops::OpTable::builtin();
  const ops::OpId conv = table.require("conv");
  std::size_t tried = 0;
  for (const ops::Shape& shape : {ops::Shape{2, 2, 2}, {1, 2, 3}, {2, 1, 1}}) {
    const Sources sources = sources_of(table, conv, ops::Type::tensor(ops::DType::kF32, shape), 0, 2, {});
    CHECK(sources.all);
    for (const Source& source : sources.ways) {
      const std::vector<ops::Tensor> operands = {whole(source.operands[0], 0), whole(source.operands[1], 1)};
      const auto result = interpret::evaluate_node(table, conv, operands, source.attrs);
      REQUIRE(result);
      ++tried;
      Ints index(3);
      for (std::int64_t linear = 0; linear < (*result)[0].elements(); ++linear) {
        std::int64_t rest = linear;
        for (std::size_t d = 3; d-- > 0;) {
          index[d] = rest % shape[d].value();
          rest /= shape[d].value();
        }
        if (by_lemma(source.attrs, operands[0], operands[1], index, shape) != ops::get_double((*result)[0], linear)) {
          INFO(ops::to_string(source.operands[0]) << ops::to_string(source.operands[1]));
          FAIL("element " << linear);
        }
      }
    }
  }
  CHECK(tried > 1000);
}

}  // namespace fusewright::prove
