#include <fmt/format.h>

#include "fusewright/prove/instance.hpp"

namespace fusewright::prove {

const Sources& SourceCache::sources(ops::OpId op, const ops::Type& wanted, std::uint32_t result, std::size_t operands,
                                    const Space& space) {
  std::string key = std::to_string(op.index) + ' ' + std::to_string(result) + ' ' + std::to_string(operands) + ' ' +
                    to_string(wanted);
  for (const std::int64_t extent : space.extents) key += ' ' + std::to_string(extent);
  key += ":" + std::to_string(space.max_rank);
  if (space.narrow) key += " narrow";
  if (space.plain) key += " plain";
  for (const double number : space.constants) key += fmt::format(" {}", number);
  for (const ops::DType dtype : space.named) key += ' ' + std::string(ops::name(dtype));
  const auto [at, fresh] = found_.try_emplace(std::move(key));
  if (fresh) at->second = sources_of(table_, op, wanted, result, operands, space, &uses_);
  if (fresh) ways_ += at->second.ways.size();
  return at->second;
}

void SourceCache::trim() {
  std::size_t uses = 0;
  for (const auto& [key, known] : uses_) uses += known.ways.size();
  if (uses > kMostWays) uses_.clear();
  if (ways_ <= kMostWays) return;
  found_.clear();
  ways_ = 0;
}

}  // namespace fusewright::prove
