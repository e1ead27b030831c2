#pragma once

#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "fusewright/support/result.hpp"

namespace fusewright::cli {

enum class Colour { kRed, kGreen, kYellow, kCyan, kBold };
/// The text in colour, where the stream is a terminal and NO_COLOR is not set.
std::string paint(std::FILE* stream, Colour colour, std::string_view text);

/// Prints the error to stderr and, for commands with `--json`, as one object to stdout; gives the exit code of its
/// kind.
int report(const Error& error, bool json);
/// Place, message, notes and suggestion of each.
nlohmann::ordered_json to_json(const std::vector<Diagnostic>& diagnostics);
/// One value and a line break on stdout; what is no UTF-8 in names and paths is replaced, as JSON has no form for it.
void print_json(const nlohmann::ordered_json& json, int indent = 2);
/// Prints a warning, as print_diagnostic gives it, to stderr.
void print_warning(const std::string& text);

/// A closed stream would hand its number to the next file that is opened, which would then be printed into.
void open_standard_streams();
/// Errors: kResource, what was printed to stdout did not arrive.
Status finish_output();

/// A line on the terminal that names the phase of work that takes longer than a second, with the seconds gone by;
/// silent where stderr is not a terminal. The line is cleared by an empty phase, and when the last copy is gone.
std::function<void(const std::string& phase)> progress_line();

}  // namespace fusewright::cli
