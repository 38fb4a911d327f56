#include "apps/tendril/command_line.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "simulation/experiment/input_files.hpp"
#include "tendril/model_error.hpp"
#include "tendril/renamed.hpp"

namespace tendril {
namespace {

namespace fs = std::filesystem;

std::vector<std::string>& arguments() {
  static std::vector<std::string> words;
  return words;
}

/// Reports an unknown command; CLI11 would only report a missing one.
void refuse_unknown_command(const CLI::App& app, int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return;
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (command->check_name(argv[1])) return;
    names.push_back(command->get_name());
  }
  throw ModelError(std::string(argv[1]) + ": unknown command" + meant_text(argv[1], names) +
                   ": must be one of " + CLI::detail::join(names, ", "));
}

/// ` (did you mean --seed?)` for the first unknown option of the command that was given.
std::string meant_option(const CLI::App& program) {
  const CLI::App* command = &program;
  while (!command->get_subcommands().empty()) command = command->get_subcommands().front();
  std::vector<std::string> names;
  for (const CLI::App* app = command; app != nullptr; app = app->get_parent())
    for (const CLI::Option* option : app->get_options())
      for (const std::string& name : option->get_lnames()) names.push_back(name);
  for (const std::string& word : program.remaining(true)) {
    if (!word.starts_with("--")) continue;
    const std::string meant = meant_text(word.substr(2, word.find('=') - 2), names);
    const std::size_t name = meant.rfind(' ') + 1;  // without dashes
    return meant.empty() ? meant : meant.substr(0, name) + "--" + meant.substr(name);
  }
  return {};
}

/// Refuses `--option=`: CLI11 would take the next argument as its value.
void refuse_missing_value(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word.starts_with("--") && word.size() > 3 && word.find('=') == word.size() - 1)
      throw ModelError(std::string(word.substr(0, word.size() - 1)) + ": must not be empty");
  }
}

/// Refuses an empty text, which would count as not given.
CLI::Validator not_empty() {
  return {[](std::string& text) { return text.empty() ? "must not be empty" : std::string(); }, "",
          "not empty"};
}

/// The options that name what a command writes.
std::set<const CLI::Option*>& outputs() {
  static std::set<const CLI::Option*> options;
  return options;
}

/// Whether a path is this existing file, or lies in this existing folder.
bool is_within(const fs::path& path, const fs::path& other) {
  std::error_code error;
  const fs::path whole = fs::weakly_canonical(path, error), place = fs::canonical(other, error);
  if (error) return false;
  if (!fs::is_directory(place, error)) return whole == place || fs::equivalent(path, other, error);
  return whole != place &&
         std::mismatch(place.begin(), place.end(), whole.begin(), whole.end()).first == place.end();
}

/// The options of a command and of those above it that the user has given.
std::vector<const CLI::Option*> given_options(const CLI::App& command) {
  std::vector<const CLI::Option*> given;
  for (const CLI::App* app = &command; app != nullptr; app = app->get_parent())
    for (const CLI::Option* option : app->get_options())
      if (option->count() > 0) given.push_back(option);
  return given;
}

/// Refuses an output that is this input, lies in it, or is a file that it names.
void refuse_input_as_output(const CLI::Option& out, const fs::path& input) {
  const std::string& name = out.results().back();
  const auto refuse = [&](const char* what) {
    throw ModelError(out.get_name() + ": " + name + ": is " + what + ": must be another file");
  };
  if (is_within(name, input)) refuse("an input of this command, or lies in one");
  std::error_code error;
  if (!fs::is_regular_file(input, error)) return;
  for (const fs::path& file : simulation::named_files(input))
    if (fs::equivalent(name, file, error)) refuse("a file that an input of this command names");
}

/// Refuses an output that is an input of the command.
void refuse_inputs_as_outputs(const CLI::App& command) {
  const std::vector<const CLI::Option*> given = given_options(command);
  for (const CLI::Option* out : given) {
    if (!outputs().contains(out)) continue;
    for (const CLI::Option* in : given) {
      if (outputs().contains(in)) continue;
      for (const std::string& name : in->results()) refuse_input_as_output(*out, name);
    }
  }
}

}  // namespace

Option Option::required() const {
  option_->required();
  return *this;
}

Option Option::excludes(Option other) const {
  option_->excludes(other.option_);
  return *this;
}

Option Option::needs(Option other) const {
  option_->needs(other.option_);
  return *this;
}

Option Option::range(int low, int high) const {
  option_->check(CLI::Range(low, high));
  return *this;
}

Option Option::not_negative() const {
  option_->check(CLI::NonNegativeNumber);
  return *this;
}

Option Option::output() const {
  outputs().insert(option_);
  return *this;
}

Option Command::flag(const std::string& name, bool& value, const std::string& text) const {
  return Option(*app_->add_flag(name, value, text));
}

Option Command::option(const std::string& name, std::string& value, const std::string& text) const {
  return Option(*app_->add_option(name, value, text)->check(not_empty()));
}

Option Command::option(const std::string& name, double& value, const std::string& text) const {
  return Option(*app_->add_option(name, value, text));
}

Option Command::option(const std::string& name, int& value, const std::string& text) const {
  return Option(*app_->add_option(name, value, text));
}

Option Command::option(const std::string& name, std::int64_t& value,
                       const std::string& text) const {
  return Option(*app_->add_option(name, value, text));
}

Option Command::option(const std::string& name, std::optional<int>& value,
                       const std::string& text) const {
  return Option(*app_->add_option(name, value, text));
}

Option Command::option(const std::string& name, std::optional<double>& value,
                       const std::string& text) const {
  return Option(*app_->add_option(name, value, text));
}

Option Command::option(const std::string& name, std::optional<std::int64_t>& value,
                       const std::string& text) const {
  return Option(*app_->add_option(name, value, text));
}

Option Command::option(const std::string& name, std::vector<std::string>& values,
                       const std::string& text) const {
  CLI::Option* const option = app_->add_option(name, values, text);
  if (!option->get_positional()) option->allow_extra_args(false);
  return Option(*option);
}

Command Command::command(const std::string& name, const std::string& text) const {
  app_->require_subcommand(1);
  return {*app_->add_subcommand(name, text), *exit_code_};
}

void Command::footer(const std::string& text) const { app_->footer(text); }

void Command::action(std::function<int()> run) const {
  app_->callback([run = std::move(run), app = app_, code = exit_code_] {
    refuse_inputs_as_outputs(*app);
    *code = run();
  });
}

CommandLine::CommandLine(const std::string& name, const std::string& text,
                         const std::string& version)
    : app_(std::make_unique<CLI::App>(text, name)) {
  app_->set_version_flag("--version", version);
  app_->require_subcommand(1);
  app_->fallthrough();
}

CommandLine::~CommandLine() = default;

Command CommandLine::command(const std::string& name, const std::string& text) {
  return {*app_->add_subcommand(name, text), exit_code_};
}

void CommandLine::option(const std::string& name, std::function<void(const std::string&)> take,
                         const std::string& text) const {
  app_->add_option_function<std::vector<std::string>>(
          name,
          [take = std::move(take)](const std::vector<std::string>& values) {
            for (const std::string& value : values) take(value);
          },
          text)
      ->allow_extra_args(false);
}

void CommandLine::footer(const std::string& text) const { app_->footer(text); }

int CommandLine::run(int argc, char** argv) {
  arguments().assign(argv, argv + argc);
  refuse_unknown_command(*app_, argc, argv);
  refuse_missing_value(argc, argv);
  try {
    app_->parse(argc, argv);
  } catch (const CLI::Success& help_or_version) {
    return app_->exit(help_or_version);
  } catch (const CLI::ExtrasError& error) {
    throw ModelError(error.what() + meant_option(*app_));
  } catch (const CLI::ParseError& error) {
    throw ModelError(error.what());
  }
  return exit_code_;
}

std::string command_line_text() { return CLI::detail::join(arguments(), " "); }

}  // namespace tendril
