#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace tendril {

/// What an option must hold beyond its type.
class Option {
 public:
  explicit Option(CLI::Option& option) : option_(&option) {}

  Option required() const;
  Option excludes(Option other) const;  ///< the two may not be given together
  Option range(int low, int high) const;
  Option not_negative() const;

 private:
  CLI::Option* option_;
};

/// A command of the program, such as `tendril run`. Names are as they are typed, `-o,--output`; a
/// name without dashes is a positional argument. Values are written when the command line is parsed
/// and must live until then.
class Command {
 public:
  Option flag(const std::string& name, bool& value, const std::string& text) const;
  Option option(const std::string& name, std::string& value, const std::string& text) const;
  Option option(const std::string& name, double& value, const std::string& text) const;
  Option option(const std::string& name, int& value, const std::string& text) const;
  Option option(const std::string& name, std::int64_t& value, const std::string& text) const;
  Option option(const std::string& name, std::optional<int>& value, const std::string& text) const;
  Option option(const std::string& name, std::optional<std::int64_t>& value,
                const std::string& text) const;
  /// A positional argument takes all that follow; an option one, and may be repeated.
  Option option(const std::string& name, std::vector<std::string>& values,
                const std::string& text) const;

  /// A command below this one, one of which must then be given.
  [[nodiscard]] Command command(const std::string& name, const std::string& text) const;

  /// What `--help` shows last: examples and exit codes.
  void footer(const std::string& text) const;

  /// What the command does; returns the program's exit code.
  void action(std::function<int()> run) const;

 private:
  friend class CommandLine;
  Command(CLI::App& app, int& exit_code) : app_(&app), exit_code_(&exit_code) {}

  CLI::App* app_;
  int* exit_code_;
};

/// The command line of a program with commands.
class CommandLine {
 public:
  CommandLine(const std::string& name, const std::string& text, const std::string& version);
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  [[nodiscard]] Command command(const std::string& name, const std::string& text);

  /// An option of the program, before or behind the command; `take` gets the values in the order in
  /// which they stand.
  void option(const std::string& name, std::function<void(const std::string&)> take,
              const std::string& text) const;
  void footer(const std::string& text) const;

  /// Parses the arguments and runs the command, or prints help or version. Returns the exit code.
  /// Throws ModelError for a command line that says neither, and whatever the command throws.
  [[nodiscard]] int run(int argc, char** argv);

 private:
  std::unique_ptr<CLI::App> app_;
  int exit_code_ = 0;
};

/// The arguments with which the program was started, as one string.
[[nodiscard]] std::string command_line_text();

}  // namespace tendril
