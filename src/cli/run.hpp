#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "fusewright/driver/session.hpp"
#include "options.hpp"

namespace fusewright::cli {

/// Of `run` and `bench`.
struct RunArguments {
  ModelArguments model;
  ProfileArguments profile;
  std::string output, labels;
  std::optional<double> rtol, atol;
  bool check = false;
  int repeats = 0;
  bool bench = false;
};

/// What a run or benchmark found.
struct RunReport {
  std::vector<ops::Tensor> outputs;
  std::vector<runtime::GroupRun> groups;
  std::vector<std::int64_t> registers, shared_bytes;  ///< by group; -1 where not known
  std::optional<driver::CheckReport> check;
  std::optional<double> accuracy;
  std::vector<std::string> wrong;  ///< stored outputs that were not met
  std::vector<double> seconds;     ///< of each repeat
  double seconds_compile = 0;
  std::int64_t peak_bytes = 0;

  double seconds_median() const;
  double seconds_min() const;
};

nlohmann::ordered_json to_json(const RunArguments& args, const driver::Compilation& c, const RunReport& report);
void print_text(const RunArguments& args, const driver::Compilation& c, const RunReport& report);

}  // namespace fusewright::cli
