#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "fusewright/prove/verdict.hpp"

namespace fusewright::prove {

/// A table with one line for each rule, then counterexamples and what is undecided, then the totals.
std::string to_text(const std::vector<Verdict>& verdicts);

/// The same piece by piece, for verdicts that are printed as they come. `widest` is the length of the longest name.
std::string table_head(std::size_t widest);
std::string table_line(const Verdict& verdict, std::size_t widest);
std::string table_end(const std::vector<Verdict>& verdicts);

nlohmann::ordered_json to_json(const std::vector<Verdict>& verdicts);

}  // namespace fusewright::prove
