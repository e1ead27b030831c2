#include "tests/frontend_hlo/hlo.hpp"
#include "tests/main/mutate.hpp"

using namespace fusewright;
using namespace fusewright::tests;

namespace {

const std::vector<std::string> kSamples = {
    R"(HloModule softmax, entry_computation_layout={(f32[4,8]{1,0})->f32[4,8]{1,0}}

%max (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %m = f32[] maximum(f32[] %a, f32[] %b)
}

ENTRY main {
  x = f32[4,8]{1,0} parameter(0) // the scores
  low = f32[] constant(-inf)
  top = f32[4]{0} reduce(x, low), dimensions={1}, to_apply=%max
  wide = f32[4,8] broadcast(top), dimensions={0}
  subtract.1 = f32[4,8] subtract(x, wide)
  ROOT e = f32[4,8] exponential(f32[4,8] subtract.1), metadata={op_name="a/b" source_line=3}
}
)",
    R"(HloModule conv
ENTRY main {
  x = f32[1,8,8,3] parameter(0)
  w = f32[3,3,3,4] parameter(1)
  c = f32[1,4,4,4] convolution(x, w), window={size=3x3 stride=2x2 pad=0_1x0_1}, dim_labels=b01f_01io->b01f
  z = f32[] constant(0)
  p = f32[1,6,6,4] pad(c, z), padding=0_0x1_1_0x1_1x0_0
  s = f32[1,2,6,2] slice(p), slice={[0:1], [0:4:2], [0:6], [1:3]}
  t = f32[6,2,2,1] transpose(s), dimensions={2,1,3,0}
  r = f32[24] reshape(t)
  k = f32[24] constant({1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24})
  cat = f32[48] concatenate(r, k), dimensions={0}
  ROOT out = (f32[24], f32[48]) tuple(r, cat)
}
)",
    R"(HloModule control
cond { p = (s32[], f32[4]) parameter(0) i = s32[] get-tuple-element(p), index=0 n = s32[] constant(5) ROOT l = pred[] compare(i, n), direction=LT }
body {
  p = (s32[], f32[4]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  v = f32[4] get-tuple-element(p), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
  d = f32[4] add(v, v)
  ROOT t = (s32[], f32[4]) tuple(j, d)
}
f { x = f32[4] parameter(0) ROOT y = f32[4] negate(x) }
ENTRY main {
  z = s32[] constant(0)
  v = f32[4] parameter(0)
  t = (s32[], f32[4]) tuple(z, v)
  w = (s32[], f32[4]) while(t), condition=cond, body=body
  g = f32[4] get-tuple-element(w), index=1
  c = f32[4] call(g), to_apply=f
  p = pred[] parameter(1)
  ROOT r = f32[4] conditional(p, c, g), true_computation=f, false_computation=f
}
)",
    R"(HloModule indexing
add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }
ENTRY main {
  table = f32[10,4] parameter(0)
  ids = s32[3] parameter(1)
  g = f32[3,4] gather(table, ids), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,4}
  s = f32[10,4] scatter(table, ids, g), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add
  i = s32[] constant(2)
  z = s32[] constant(0)
  d = f32[2,4] dynamic-slice(s, i, z), dynamic_slice_sizes={2,4}
  m = f32[2,2] dot(d, d), lhs_contracting_dims={1}, rhs_contracting_dims={1}
  o = s32[2,2] iota(), iota_dimension=1
  q = f32[2,2] convert(o)
  y = f16[2,2]{1,0} convert(m)
  e = pred[2,2] compare(q, m), direction=GE, type=FLOAT
  ROOT r = f32[2,2] select(e, q, m)
}
)"};

}  // namespace

TEST_CASE("an HLO text that is nearly right is a graph that holds together, or an error with its place", "[hlo]") {
  for (const std::string& sample : kSamples) import_text(sample);
  Mutator mutate(kSamples, 20);
  int imported = 0;
  for (int i = 0; i < 20000; ++i) {
    const std::string text = mutate(kSamples[mutate.below(kSamples.size())]);
    INFO("text " << i << ":\n" << text);
    const auto graphs = frontend_hlo::import_hlo(hlo_source(text), builtin_table());
    if (!graphs) {
      const Error& error = graphs.error();
      const bool placed = !error.diagnostics.empty() && error.diagnostics[0].span.valid();
      if (!placed || error.kind == ErrorKind::kCheckFailed) FAIL(print_error(error));
      continue;
    }
    for (const graph::Graph& graph : *graphs) {
      const Status status = graph::verify(graph);
      if (!status) FAIL(print_error(status.error()));
      (void)frontend_hlo::export_hlo(graph, {});
    }
    ++imported;
  }
  CHECK(imported > 150);  // the samples themselves are right
}
