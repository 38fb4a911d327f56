#include <CLI/CLI.hpp>
#include <csignal>
#include <iostream>
#include <string>
#include <vector>

#include "apps/host/engine/scene.hpp"
#include "apps/host/experiment/run.hpp"
#include "apps/tendril/doctor_command.hpp"
#include "apps/tendril/fk_command.hpp"
#include "apps/tendril/ik_command.hpp"
#include "apps/tendril/model_command.hpp"
#include "apps/tendril/plan_command.hpp"
#include "apps/tendril/rollout_command.hpp"
#include "apps/tendril/run_command.hpp"
#include "apps/tendril/tables_command.hpp"
#include "apps/tendril/view_command.hpp"
#include "tendril/model_error.hpp"

namespace {

constexpr int kExitUsage = 2;
constexpr int kExitInputOutput = 4;

/// Prints `tendril: <message>` as one line, whatever the message holds.
int fail(std::string message, int exit_code) {
  for (char& c : message) {
    if (c == '\n' || c == '\r') c = ' ';
  }
  while (!message.empty() && message.back() == ' ') message.pop_back();
  std::cerr << "tendril: " << message << '\n';
  return exit_code;
}

/// CLI11 would only say that a command is missing.
void refuse_unknown_command(const CLI::App& app, int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return;
  std::string names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (command->check_name(argv[1])) return;
    names += (names.empty() ? "" : ", ") + command->get_name();
  }
  throw tendril::ModelError(std::string(argv[1]) + ": unknown command: must be one of " + names);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Continuum robots in MuJoCo: runs and shows scenes, prints models, reads recordings.",
      "tendril");
  app.set_version_flag("--version", std::string("tendril ") + tendril::host::version());
  app.require_subcommand(1);
  app.fallthrough();  // --plugin may stand behind the command
  app.add_option_function<std::vector<std::string>>(
         "--plugin",
         [](const std::vector<std::string>& files) {
           for (const std::string& file : files) tendril::host::add_plugin_library(file);
         },
         "a plugin library of your own (.so) to load, e.g. with a controller; may be repeated")
      ->allow_extra_args(false);
  app.footer(
      "Example: tendril run scenes/tube_insertion/tube_insertion.toml\nHelp on a command: tendril "
      "run --help");
  std::signal(SIGXFSZ,
              SIG_IGN);  // a file-size limit is an error of the write, not the end of the program
  int exit_code = 0;
  tendril::set_command_line(argc, argv);
  tendril::add_run_command(app, exit_code);
  tendril::add_view_command(app, exit_code);
  tendril::add_model_command(app, exit_code);
  tendril::add_ik_command(app, exit_code);
  tendril::add_fk_command(app, exit_code);
  tendril::add_plan_command(app, exit_code);
  tendril::add_rollout_command(app, exit_code);
  tendril::add_tables_command(app, exit_code);
  tendril::add_doctor_command(app, exit_code);
  try {
    refuse_unknown_command(app, argc, argv);
    app.parse(argc, argv);
  } catch (const CLI::Success& help_or_version) {
    return app.exit(help_or_version);
  } catch (const CLI::ParseError& error) {
    return fail(error.what(), kExitUsage);
  } catch (const tendril::ModelError& error) {
    return fail(error.what(), kExitUsage);
  } catch (const std::exception& error) {  // RolloutError, OutputError, files, memory
    return fail(error.what(), kExitInputOutput);
  }
  return exit_code;
}
