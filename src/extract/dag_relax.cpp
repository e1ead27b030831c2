#include "dag_relax.hpp"

#ifdef FUSEWRIGHT_HAVE_CBC

#include <algorithm>
#include <coin/ClpSimplex.hpp>

#include "dag_cuts.hpp"

namespace fusewright::extract::dag {

namespace {

constexpr double kSafety = 1e-7;  // of a bound: what the simplex method may be off by

/// A row of the program: `low` <= sum of value times column.
struct Row {
  std::vector<int> column;
  std::vector<double> value;
  double low = 0, high = COIN_DBL_MAX;
};

/// Columns: whether each node is chosen, then whether each class is made.
class Program {
 public:
  explicit Program(const Net& net) : net_(net) {
    simplex_.setLogLevel(0);
    simplex_.resize(0, static_cast<int>(net.nodes() + net.classes()));
    for (Id n = 0; n < net.nodes(); ++n) set_column(n, net.cost[n], 0);
    for (Id c = 0; c < net.classes(); ++c) set_column(of_class(c), 0, c == 0 ? 1 : 0);
    std::vector<Row> rows;
    for (Id c = 0; c < net.classes(); ++c) add_class(c, rows);
    add(rows);
  }

  void add_cuts(std::span<const Cut> cuts) {
    std::vector<Row> rows;
    for (const Cut& cut : cuts) {
      Row row;
      for (const Id n : cut.nodes) put(row, static_cast<int>(n), 1);
      put(row, of_class(cut.target), -1);
      rows.push_back(std::move(row));
    }
    add(rows);
  }
  ClpSimplex& simplex() { return simplex_; }
  std::vector<double> values() const {
    return {simplex_.primalColumnSolution(), simplex_.primalColumnSolution() + net_.nodes()};
  }

 private:
  int of_class(Id c) const { return static_cast<int>(net_.nodes() + c); }
  void set_column(Id column, double cost, double lower) {
    simplex_.setObjectiveCoefficient(static_cast<int>(column), cost);
    simplex_.setColumnBounds(static_cast<int>(column), lower, 1);
  }
  static void put(Row& row, int column, double value) {
    row.column.push_back(column);
    row.value.push_back(value);
  }

  // A class that is made has one node, and nodes that read a class count together, for only one of them is chosen.
  void add_class(Id c, std::vector<Row>& rows) {
    Row one;
    one.high = 0;
    std::vector<std::pair<Id, Id>> reads;
    for (Id n = net_.node_begin[c]; n < net_.node_begin[c + 1]; ++n) {
      put(one, static_cast<int>(n), 1);
      for (const Id d : net_.children(n)) reads.emplace_back(d, n);
    }
    put(one, of_class(c), -1);
    rows.push_back(std::move(one));
    std::sort(reads.begin(), reads.end());
    for (std::size_t i = 0; i < reads.size();) {
      Row row;
      const Id d = reads[i].first;
      for (; i < reads.size() && reads[i].first == d; ++i) put(row, static_cast<int>(reads[i].second), -1);
      put(row, of_class(d), 1);
      rows.push_back(std::move(row));
    }
  }
  void add(const std::vector<Row>& rows) {
    if (rows.empty()) return;
    std::vector<double> low, high, value;
    std::vector<CoinBigIndex> start{0};
    std::vector<int> column;
    for (const Row& row : rows) {
      low.push_back(row.low);
      high.push_back(row.high);
      column.insert(column.end(), row.column.begin(), row.column.end());
      value.insert(value.end(), row.value.begin(), row.value.end());
      start.push_back(static_cast<CoinBigIndex>(column.size()));
    }
    simplex_.addRows(static_cast<int>(rows.size()), low.data(), high.data(), start.data(), column.data(), value.data());
  }

  const Net& net_;
  ClpSimplex simplex_;
};

}  // namespace

Relaxation relax(const Net& net, double below, const Limit& limit) {
  Relaxation out;
  Program program(net);
  ClpSimplex& simplex = program.simplex();
  constexpr int kRounds = 400;
  constexpr std::size_t kMost = 60;
  int idle = 0;
  for (int round = 0; round < kRounds && !limit.reached(); ++round) {
    simplex.setMaximumSeconds(limit.left());
    simplex.dual();
    if (simplex.status() != 0) break;  // out of time
    const double bound = simplex.objectiveValue() * (1 - kSafety);
    idle = bound > out.bound + 5e-3 * (below - out.bound) ? 0 : idle + 1;
    out.bound = std::max(out.bound, bound);
    out.value = program.values();
    out.reduced.assign(simplex.dualColumnSolution(), simplex.dualColumnSolution() + net.nodes());
    constexpr int kPatience = 8;
    if (out.bound >= below || idle > kPatience) break;
    const std::vector<Cut> more = violated_cuts(net, out.value, kMost, limit);
    if (more.empty()) break;
    program.add_cuts(more);
  }
  return out;
}

}  // namespace fusewright::extract::dag

#else

namespace fusewright::extract::dag {

Relaxation relax(const Net&, double, const Limit&) { return {}; }

}  // namespace fusewright::extract::dag

#endif
