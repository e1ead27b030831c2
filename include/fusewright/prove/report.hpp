#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "fusewright/prove/verdict.hpp"

namespace fusewright::prove {

/// A table with one line for each rule, then counterexamples and what is undecided, then the totals.
std::string to_text(const std::vector<Verdict>& verdicts);
nlohmann::ordered_json to_json(const std::vector<Verdict>& verdicts);

}  // namespace fusewright::prove
