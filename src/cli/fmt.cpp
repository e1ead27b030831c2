#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

#include "commands.hpp"
#include "fusewright/rule/format.hpp"
#include "fusewright/support/file.hpp"
#include "terminal.hpp"

namespace fusewright::cli {

namespace {

namespace fs = std::filesystem;

struct FormatArguments {
  std::vector<std::string> paths;
  bool check = false, to_stdout = false, json = false;
};

/// What came of one file.
struct Formatted {
  std::string path;
  bool changed = false;
  std::optional<Error> error;
};

Result<std::string> read_text(const std::string& path) {
  if (path == "-") return std::string(std::istreambuf_iterator<char>(std::cin), {});
  std::error_code error;
  std::ifstream in;
  if (fs::is_regular_file(path, error)) in.open(path, std::ios::binary);
  if (!in.is_open()) return fail(fmt::format("cannot read the rule file {}", path));
  std::string text(std::istreambuf_iterator<char>(in), {});
  if (in.bad()) return fail(fmt::format("cannot read the rule file {}", path));
  return text;
}

/// In its place, with its permissions; where the path is a link, behind it.
Status replace(const std::string& path, const std::string& text) {
  std::error_code error;
  const std::string file = fs::canonical(path, error).string();
  const fs::perms permissions = fs::status(file, error).permissions();
  if (error || access(file.c_str(), W_OK) != 0) return fail(fmt::format("cannot write '{}'", path));
  FW_TRY_STATUS(write_file(file, {text}));
  fs::permissions(file, permissions, error);
  return {};
}

Result<bool> format_file(const FormatArguments& args, const std::string& path) {
  FW_TRY(std::string text, read_text(path));
  const auto source = std::make_shared<const SourceText>(SourceText{path == "-" ? "<stdin>" : path, std::move(text)});
  FW_TRY(const std::string formatted, rule::format_rules(source));
  const bool changed = formatted != source->text;
  if (args.check) return changed;
  if (args.to_stdout || path == "-")
    std::fwrite(formatted.data(), 1, formatted.size(), stdout);
  else if (changed)
    FW_TRY_STATUS(replace(path, formatted));
  return changed;
}

/// The rule files that the paths name, each folder's sorted.
Result<std::vector<std::string>> files_of(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    std::error_code error;
    if (path == "-" || !fs::is_directory(path, error)) {
      files.push_back(path);
      continue;
    }
    const auto first = static_cast<std::ptrdiff_t>(files.size());
    for (fs::recursive_directory_iterator it(path, error), end; !error && it != end; it.increment(error))
      if (it->path().extension() == ".fuse" && it->is_regular_file(error)) files.push_back(it->path().generic_string());
    if (error) return fail(fmt::format("cannot read the folder {}: {}", path, error.message()));
    if (first == std::ssize(files)) return fail(fmt::format("the folder {} has no rule files (.fuse)", path));
    std::sort(files.begin() + first, files.end());
  }
  return files;
}

void print_json(const std::vector<Formatted>& results) {
  nlohmann::ordered_json files = nlohmann::ordered_json::array();
  for (const Formatted& r : results) {
    nlohmann::ordered_json file = {{"file", r.path}, {"changed", r.changed}};
    if (r.error) file["diagnostics"] = to_json(r.error->diagnostics);
    files.push_back(std::move(file));
  }
  cli::print_json({{"files", std::move(files)}});
}

Result<int> format(const FormatArguments& args) {
  FW_TRY(const std::vector<std::string> files, files_of(args.paths));
  std::vector<Formatted> results;
  int exit = kOk;
  for (const std::string& path : files) {
    Result<bool> changed = format_file(args, path);
    results.push_back({path, changed.value_or(false), {}});
    if (!changed) {
      exit = std::max(exit, report(changed.error(), false));
      results.back().error = std::move(changed).error();
    } else if (*changed && args.check) {
      exit = std::max<int>(exit, kWrong);
      if (!args.json) fmt::print("{}: not formatted\n", path);
    }
  }
  if (args.json) print_json(results);
  return exit;
}

}  // namespace

void add_fmt(CLI::App& app, Outcome& outcome) {
  auto args = std::make_shared<FormatArguments>();
  CLI::App& command = add_command(app, outcome, "fmt", "Lay out rule files in the one way",
                                  "  fusewright fmt my-rules/\n"
                                  "  fusewright fmt my-rules/ --check    # names what is not formatted\n"
                                  "  fusewright fmt - < mish.fuse\n"
                                  "\nA file with a syntax error is left alone.\n",
                                  args, format);
  command.add_option("paths", args->paths, "rule files or folders, or - for stdin to stdout")
      ->required()
      ->type_name("PATHS...");
  command.add_flag("--check", args->check, "write nothing, name the files that are not formatted and exit with 1");
  command.add_flag("--stdout", args->to_stdout, "print the result, leave the files")->excludes("--check");
  command.add_flag("--json", args->json, "print one JSON object (docs/JSON.md)")->excludes("--stdout");
}

}  // namespace fusewright::cli
