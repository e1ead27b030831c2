#include "src/prove/rounds.hpp"

#include <algorithm>

#include "fusewright/interpret/inputs.hpp"

namespace fusewright::prove {

using ops::Tensor;

namespace {

constexpr std::int64_t kFewElements = 8;  // of all operands; up to here every special value visits every operand
constexpr std::int64_t kAllCombined = 3;  // of all operands; up to here special values meet in every combination
constexpr std::int64_t kRandomRows = 16;
constexpr std::int64_t kManyRows = 4096;

void append(std::vector<Special>& to, const std::vector<Special>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

/// Leaves whose elements are the rows of a table, filled row by row.
class Table {
 public:
  static Result<Table> make(const Leaves& leaves, std::int64_t rows) {
    Table table;
    for (std::size_t l = 0; l < leaves.types.size(); ++l) {
      const ops::DType dtype = leaves.types[l].dtype;
      FW_TRY(Tensor random, interpret::make_input(ops::Type::tensor(dtype, {kRandomRows}), 100, l));
      FW_TRY(Tensor column, ops::make_tensor(dtype, {rows}));
      for (std::int64_t i = 0; i < rows; ++i)
        put(column, i, {ops::get_double(random, i % kRandomRows), ops::get_int(random, i % kRandomRows)});
      table.columns_.push_back(std::move(column));
    }
    table.next_ = kRandomRows;
    return table;
  }
  /// A row for every combination of these values in these leaves.
  void add(const std::vector<std::size_t>& leaves, const std::vector<const std::vector<Special>*>& values) {
    std::int64_t count = 1;
    for (const auto* list : values) count *= static_cast<std::int64_t>(list->size());
    for (std::int64_t i = 0; i < count; ++i, ++next_) {
      std::int64_t rest = i;
      for (std::size_t k = 0; k < leaves.size(); ++k) {
        const auto size = static_cast<std::int64_t>(values[k]->size());
        put(columns_[leaves[k]], next_, (*values[k])[static_cast<std::size_t>(rest % size)]);
        rest /= size;
      }
    }
  }
  Values columns() && { return std::move(columns_); }

 private:
  Values columns_;
  std::int64_t next_ = 0;
};

/// Calls `visit` with every one, two and three of `count` leaves.
template <class Visit>
void each_few(std::size_t count, const Visit& visit) {
  for (std::size_t a = 0; a < count; ++a) visit(std::vector{a});
  for (std::size_t a = 0; a < count; ++a)
    for (std::size_t b = a + 1; b < count; ++b) visit(std::vector{a, b});
  for (std::size_t a = 0; a < count; ++a)
    for (std::size_t b = a + 1; b < count; ++b)
      for (std::size_t c = b + 1; c < count; ++c) visit(std::vector{a, b, c});
}

}  // namespace

Leaves::Leaves(const graph::Graph& graph, const std::vector<ops::TensorHandle>& weights) {
  for (const graph::Port& port : graph.inputs) types.push_back(port.type);
  parameters = types.size();
  for (const ops::TensorHandle& w : weights) types.push_back(w->type());
  for (const ops::Type& type : types) elements += ops::element_count(type.shape).value_or(0);
}

Result<Values> random_values(const Leaves& leaves, std::uint64_t seed) {
  Values out;
  for (std::size_t i = 0; i < leaves.types.size(); ++i) {
    FW_TRY(Tensor t, interpret::make_input(leaves.types[i], seed, i));
    out.push_back(std::move(t));
  }
  return out;
}

Rounds::Rounds(const Leaves& leaves, const rule::Exactness& exactness, const std::set<double>& magnitudes,
               bool thorough)
    : leaves_(leaves), thorough_(thorough) {
  for (std::size_t l = 0; l < leaves.types.size(); ++l) {
    const Specials s = special_values(leaves.types[l].dtype, exactness, l >= leaves.parameters, magnitudes);
    specials_.push_back(s.finite);
    append(specials_.back(), s.beyond);
    finite_.push_back(static_cast<std::int64_t>(specials_.back().size()));
    append(specials_.back(), s.infinite);
    extremes_.push_back(leaves.elements <= kFewElements ? s.extreme : std::vector<Special>());
    combined_.push_back(s.fewest);
  }
}

Result<std::optional<Values>> Rounds::next() {
  if (random_ < (leaves_.elements <= kFewElements ? 3U : 1U)) {
    FW_TRY(Values v, random_values(leaves_, 100 + random_++));
    return std::optional(std::move(v));
  }
  FW_TRY(std::optional<Values> special, specials());
  if (special || !thorough_) return special;
  FW_TRY(std::optional<Values> extreme, extremes());
  if (extreme) return extreme;
  return combined();
}

/// As many special values of one operand as it has elements; then the next ones.
Result<std::optional<Values>> Rounds::specials() {
  for (; leaf_ < leaves_.types.size(); ++leaf_, offset_ = 0) {
    const auto elements = ops::element_count(leaves_.types[leaf_].shape).value_or(0);
    const auto count = static_cast<std::int64_t>(specials_[leaf_].size());
    if (elements == 0 || offset_ >= count) continue;
    FW_TRY(Values v, random_values(leaves_, 7));
    for (std::int64_t i = 0; i < elements; ++i)
      put(v[leaf_], i, specials_[leaf_][static_cast<std::size_t>((offset_ + i) % count)]);
    // Beside many elements one round of numbers, and one of infinities where that had none.
    const std::int64_t begin = offset_, end = begin + std::min(elements, count);
    if (leaves_.elements <= kFewElements)
      offset_ = end;
    else
      offset_ = begin == 0 && end <= finite_[leaf_] ? finite_[leaf_] : count;
    return std::optional(std::move(v));
  }
  return std::nullopt;
}

/// One in every element of an operand.
Result<std::optional<Values>> Rounds::extremes() {
  std::size_t at = extreme_++;
  for (std::size_t l = 0; l < extremes_.size(); ++l) {
    if (at >= extremes_[l].size()) {
      at -= extremes_[l].size();
      continue;
    }
    FW_TRY(Values v, random_values(leaves_, 7));
    for (std::int64_t i = 0; i < v[l].elements(); ++i) put(v[l], i, extremes_[l][at]);
    return std::optional(std::move(v));
  }
  return std::nullopt;
}

Result<std::optional<Values>> Rounds::combined() {
  if (leaves_.elements < 2 || leaves_.elements > kAllCombined) return std::nullopt;
  FW_TRY(Values v, random_values(leaves_, 7));
  std::size_t rest = combination_++;
  for (std::size_t l = 0; l < v.size(); ++l)
    for (std::int64_t i = 0; i < v[l].elements(); ++i) {
      put(v[l], i, combined_[l][rest % combined_[l].size()]);
      rest /= combined_[l].size();
    }
  return rest == 0 ? std::optional(std::move(v)) : std::nullopt;
}

Result<Values> rounds_at_once(const Leaves& leaves, const rule::Exactness& exactness,
                              const std::set<double>& magnitudes) {
  // What is tried of a leaf beside none, one and two others.
  std::vector<std::vector<Special>> alone, pairs, threes, fewest;
  for (std::size_t l = 0; l < leaves.types.size(); ++l) {
    Specials s = special_values(leaves.types[l].dtype, exactness, l >= leaves.parameters, magnitudes);
    pairs.push_back(s.finite);
    append(pairs.back(), s.infinite);
    append(pairs.back(), s.near);
    alone.push_back(pairs.back());
    append(alone.back(), s.many);
    append(alone.back(), s.beyond);
    append(alone.back(), s.extreme);
    threes.push_back(std::move(s.telling));
    fewest.push_back(std::move(s.fewest));
  }
  const auto rows_of = [&](bool all) {
    std::int64_t rows = kRandomRows;
    each_few(leaves.types.size(), [&](const std::vector<std::size_t>& few) {
      std::int64_t count = 1;
      for (const std::size_t l : few)
        count *= static_cast<std::int64_t>((few.size() == 1   ? alone
                                            : few.size() == 2 ? pairs
                                            : all             ? threes
                                                              : fewest)[l]
                                               .size());
      rows += count;
    });
    return rows;
  };
  const bool all = rows_of(true) <= kManyRows;
  FW_TRY(Table table, Table::make(leaves, rows_of(all)));
  each_few(leaves.types.size(), [&](const std::vector<std::size_t>& few) {
    std::vector<const std::vector<Special>*> values;
    for (const std::size_t l : few)
      values.push_back(&(few.size() == 1 ? alone : few.size() == 2 ? pairs : all ? threes : fewest)[l]);
    table.add(few, values);
  });
  return std::move(table).columns();
}

}  // namespace fusewright::prove
