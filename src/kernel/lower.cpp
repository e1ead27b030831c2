#include "fusewright/kernel/lower.hpp"

#include "templates.hpp"

namespace fusewright::kernel {

Result<Kernel> lower(const region::Region& region, const schedule::Schedule& schedule, const schedule::Target& target,
                     std::string name) {
  const LowerInput in{region, schedule, target, std::move(name)};
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
