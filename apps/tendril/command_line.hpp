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

/// Constraints on an option in addition to its type.
class Option {
 public:
  explicit Option(CLI::Option& option) : option_(&option) {}

  Option required() const;
  Option excludes(Option other) const;  ///< the two may not be given together
  Option needs(Option other) const;     ///< the other one must be given too
  Option range(int low, int high) const;
  Option not_negative() const;
  /// The value is a file or folder that the command writes. One that another argument names, or
  /// that lies in a folder that another argument names, is refused.
  Option output() const;

 private:
  CLI::Option* option_;
};

/// A command of the program, such as `tendril run`. Option names are given as typed, `-o,--output`;
/// a name without dashes is a positional argument. Values are written when the command line is
/// parsed; the references must be valid until then.
class Command {
 public:
  Option flag(const std::string& name, bool& value, const std::string& text) const;
  Option option(const std::string& name, std::string& value, const std::string& text) const;
  Option option(const std::string& name, double& value, const std::string& text) const;
  Option option(const std::string& name, int& value, const std::string& text) const;
  Option option(const std::string& name, std::int64_t& value, const std::string& text) const;
  Option option(const std::string& name, std::optional<int>& value, const std::string& text) const;
  Option option(const std::string& name, std::optional<double>& value,
                const std::string& text) const;
  Option option(const std::string& name, std::optional<std::int64_t>& value,
                const std::string& text) const;
  /// A positional argument takes all following values; an option takes one and may be repeated.
  Option option(const std::string& name, std::vector<std::string>& values,
                const std::string& text) const;

  /// Adds a subcommand; one of the subcommands must then be given.
  [[nodiscard]] Command command(const std::string& name, const std::string& text) const;

  /// The last part of `--help`: examples and exit codes.
  void footer(const std::string& text) const;

  /// Sets the function of the command, which returns the exit code of the program.
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

  /// Adds an option of the program, before or after the command; `take` is called with each value
  /// in order.
  void option(const std::string& name, std::function<void(const std::string&)> take,
              const std::string& text) const;
  void footer(const std::string& text) const;

  /// Parses the arguments and runs the command, or prints help or version. Returns the exit code.
  /// Throws ModelError for an invalid command line, and passes on exceptions of the command.
  [[nodiscard]] int run(int argc, char** argv);

 private:
  std::unique_ptr<CLI::App> app_;
  int exit_code_ = 0;
};

/// The arguments with which the program was started, as one string.
[[nodiscard]] std::string command_line_text();

}  // namespace tendril
