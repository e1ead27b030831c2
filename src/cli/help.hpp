#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "fusewright/support/result.hpp"

namespace fusewright::cli {

/// Help in 80 columns: options by group, each description wrapped beside its option.
std::shared_ptr<CLI::Formatter> help_formatter();

/// "; did you mean 'nodes'?", or nothing where no candidate is near.
std::string did_you_mean(const std::string& word, const std::vector<std::string>& candidates);

/// A command line that does not parse, with the nearest option where one is near.
Error usage_error(const CLI::App& app, const CLI::ParseError& error);
/// Errors: a first argument that names no command, or none at all.
Status check_command(const CLI::App& app, int argc, char** argv);

}  // namespace fusewright::cli
