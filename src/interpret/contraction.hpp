#pragma once

#include "src/interpret/node.hpp"

namespace fusewright::interpret {

/// A dot or a convolution as matrix products, one for each batch: out(b, m, n) = sum over k of lhs(b, m, k) * rhs(b, k,
/// n). All maps are offsets in elements. The depth k runs over features (outer) and taps (inner); a row's taps depend
/// on its place, because of padding and dilation: an offset of -1 is a tap that meets nothing. A dot has one tap, at
/// offset 0.
struct Contraction {
  std::int64_t batches = 1, rows = 1, depth = 1, columns = 1;
  std::vector<std::int64_t> lhs_batch, lhs_row, lhs_feature;
  std::vector<std::int64_t> taps;  ///< of each place, one after the other
  std::int64_t places = 1;         ///< row m is at place m % places
  std::int64_t tap_count = 1;
  std::vector<std::int64_t> rhs_batch, rhs_depth, rhs_column;
  std::vector<std::int64_t> out_batch, out_row, out_column;
};

Contraction plan_dot(const NodeCall& call);
Contraction plan_conv(const NodeCall& call);

inline constexpr std::int64_t kPanel = 4;      ///< columns that are computed together
inline constexpr std::int64_t kRowBlock = 16;  ///< rows that are gathered together

/// lhs(b, m, 0 .. depth), zeros where a tap meets nothing.
template <class T>
void gather_row(const Contraction& plan, const T* lhs, std::int64_t batch, std::int64_t row, T* out) {
  const std::int64_t base =
      plan.lhs_batch[static_cast<std::size_t>(batch)] + plan.lhs_row[static_cast<std::size_t>(row)];
  const std::int64_t* taps = plan.taps.data() + row % plan.places * plan.tap_count;
  for (const std::int64_t feature : plan.lhs_feature)
    for (std::int64_t tap = 0; tap < plan.tap_count; ++tap)
      *out++ = taps[tap] < 0 ? T(0) : lhs[base + feature + taps[tap]];
}

/// The right-hand sides in panels of kPanel columns, zeros behind the last: [batch][panel][k][column of the panel].
template <class T>
std::vector<T> pack_panels(const Contraction& plan, const std::vector<T>& rhs) {
  const std::int64_t panels = (plan.columns + kPanel - 1) / kPanel;
  std::vector<T> out(static_cast<std::size_t>(plan.batches * panels * plan.depth * kPanel), T(0));
  T* to = out.data();
  for (std::int64_t batch = 0; batch < plan.batches; ++batch)
    for (std::int64_t panel = 0; panel < panels; ++panel)
      for (std::int64_t k = 0; k < plan.depth; ++k, to += kPanel)
        for (std::int64_t j = 0; j < std::min(kPanel, plan.columns - panel * kPanel); ++j)
          to[j] = rhs[static_cast<std::size_t>(plan.rhs_batch[static_cast<std::size_t>(batch)] +
                                               plan.rhs_depth[static_cast<std::size_t>(k)] +
                                               plan.rhs_column[static_cast<std::size_t>(panel * kPanel + j)])];
  return out;
}

}  // namespace fusewright::interpret
