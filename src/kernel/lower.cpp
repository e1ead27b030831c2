#include "fusewright/kernel/lower.hpp"

#include "elements.hpp"
#include "templates.hpp"

namespace fusewright::kernel {

namespace {

Kernel lower_nothing(const LowerInput& in) {
  KernelBuilder b(in.name, in.family());
  declare_buffers(b, in.region);
  b.launch(in.name, [&] {
    if (in.cpu()) return b.loop(LoopKind::kParallel, "none", 0, [](ExprId) {});
    b.loop(LoopKind::kGridX, "block", 1, [&](ExprId) { b.loop(LoopKind::kThreadX, "thread", 32, [](ExprId) {}); });
  });
  return b.finish();
}

}  // namespace

Result<Kernel> lower(const region::Region& region, const schedule::Schedule& schedule, const schedule::Target& target,
                     std::string name, std::vector<bool> constants) {
  const LowerInput in{region, schedule, target, std::move(name), std::move(constants)};
  if (schedule::computes_nothing(region)) return lower_nothing(in);
  switch (schedule.kind) {
    case schedule::Template::kLoop: return lower_loop(in);
    case schedule::Template::kReduce:
    case schedule::Template::kRow: return lower_rows(in);
    case schedule::Template::kContract:
    case schedule::Template::kConv: return lower_contraction(in);
    case schedule::Template::kWindow: return lower_window(in);
    case schedule::Template::kMove: return lower_loop(in);
    case schedule::Template::kHorizontal: return lower_horizontal(in);
    case schedule::Template::kSort: return lower_lines(in);
    case schedule::Template::kScatter: return lower_scatter(in);
  }
  return fail("template without a lowering");
}

}  // namespace fusewright::kernel
