#include "help.hpp"

#include <fmt/format.h>

#include "fusewright/audit/text.hpp"

namespace fusewright::cli {

namespace {

using audit::wrapped;

class HelpFormatter final : public CLI::Formatter {
 public:
  std::string make_option(const CLI::Option* option, bool positional) const override {
    std::string left = "  " + option->get_name(positional, true);
    if (positional) left = "  " + option->get_type_name();
    const std::string type = option->get_type_name();  // with its checks behind a colon
    if (!positional && option->get_expected_max() > 0) left += ' ' + type.substr(0, type.find(':'));
    std::string help = option->get_description();
    if (const std::string value = option->get_default_str(); !value.empty())
      help += fmt::format(" (default {})", value);
    return row(left, help);
  }
  std::string make_group(std::string group, bool positional, std::vector<const CLI::Option*> options) const override {
    std::string out = group + ":\n";
    for (const CLI::Option* option : options) out += make_option(option, positional);
    return positional ? out + '\n' : out;
  }
  std::string make_subcommand(const CLI::App* command) const override {
    return row("  " + command->get_name(), command->get_description());
  }
  std::string make_description(const CLI::App* app) const override {
    return wrapped(app->get_description(), 0) + "\n\n";
  }
  std::string make_usage(const CLI::App* app, std::string name) const override {
    if (!app->get_subcommands({}).empty()) return fmt::format("Usage: {} COMMAND [OPTIONS]\n\n", name);
    std::string positionals;
    for (const CLI::Option* option : app->get_options([](const CLI::Option* o) { return o->get_positional(); }))
      positionals += ' ' + option->get_type_name();
    return fmt::format("Usage: {}{} [OPTIONS]\n\n", name, positionals);
  }

 private:
  static std::string row(std::string left, const std::string& help) {
    constexpr std::size_t kIndent = 22;
    if (left.size() + 2 <= kIndent)
      left.resize(kIndent, ' ');
    else
      left += '\n' + std::string(kIndent, ' ');
    return left + wrapped(help, kIndent) + '\n';
  }
};

}  // namespace

std::shared_ptr<CLI::Formatter> help_formatter() { return std::make_shared<HelpFormatter>(); }

std::string did_you_mean(const std::string& word, const std::vector<std::string>& candidates) {
  const std::string near = nearest(word, candidates);
  return near.empty() ? "" : fmt::format("; did you mean '{}'?", near);
}

Error usage_error(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<CLI::App*> given = app.get_subcommands();
  const CLI::App& command = given.empty() ? app : *given.front();
  std::string message = error.what();
  const std::vector<std::string> extras = app.remaining(true);
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr && !extras.empty()) {
    const std::string word = extras.front().substr(0, extras.front().find('='));
    std::vector<std::string> names;
    for (const CLI::Option* option : command.get_options())
      if (!option->get_positional()) names.push_back(option->get_name());
    const bool known = std::find(names.begin(), names.end(), word) != names.end();  // it stands behind a `--`
    message = word.starts_with('-') && !known ? fmt::format("no option '{}'{}", word, did_you_mean(word, names))
                                              : fmt::format("unexpected argument '{}'", extras.front());
  }
  for (const CLI::Option* option : command.get_options())
    if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr && option->get_items_expected_max() == 1 &&
        option->count() > 1)
      message = fmt::format("{} is given {} times", option->get_name(), option->count());
  const std::string name = given.empty() ? app.get_name() : app.get_name() + ' ' + command.get_name();
  return fail(fmt::format("{} (`{} --help` lists what there is)", message, name)).error();
}

Status check_command(const CLI::App& app, int argc, char** argv) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  if (argc < 2) return fail(fmt::format("a command is missing (there are {})", fmt::join(names, ", ")));
  const std::string given = argv[1];
  if (given.starts_with('-')) {
    const std::vector<std::string> options{"-h", "--help", "--version"};
    if (std::find(options.begin(), options.end(), given) != options.end()) return {};
    return fail(fmt::format("a command is missing before '{}' (there are {}){}", given, fmt::join(names, ", "),
                            did_you_mean(given, options)));
  }
  if (std::find(names.begin(), names.end(), given) != names.end()) return {};
  return fail(
      fmt::format("no command '{}' (there are {}){}", given, fmt::join(names, ", "), did_you_mean(given, names)));
}

}  // namespace fusewright::cli
