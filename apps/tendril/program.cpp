#include "apps/tendril/program.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <new>
#include <string>
#include <string_view>

#include "apps/tendril/commands.hpp"
#include "apps/tendril/interrupt.hpp"
#include "apps/tendril/message_kinds.hpp"
#include "simulation/rollout/run.hpp"
#include "simulation/scene/scene.hpp"
#include "tendril/model_error.hpp"
#include "tendril/system/file_descriptor.hpp"
#include "tendril/system/library.hpp"
#include "tendril/visible_text.hpp"

namespace {

using tendril::kExitInputOutput, tendril::kExitUsage;

int run(int argc, char** argv) {
  tendril::CommandLine line(
      "tendril",
      "Continuum robots in MuJoCo: runs and shows scenes, prints models, reads recordings.",
      fmt::format("tendril {}, MuJoCo {}", tendril::simulation::version(), mj_versionString()));
  line.option(
      "--plugin", [](const std::string& file) { tendril::simulation::add_plugin_library(file); },
      "additional plugin library (.so) to load, e.g. with a controller; may be repeated");
  line.option(
      "--python", [](const std::string& /*loaded by then*/) {},
      "Python file with controllers (tendril.controller), to load; may be repeated");
  line.footer(
      "Example: tendril run scenes/tube_insertion/tube_insertion.toml\nHelp on a command: tendril "
      "run --help");
  tendril::add_run_command(line);
  tendril::add_python_commands(line);
  tendril::add_view_command(line);
  tendril::add_render_command(line);
  tendril::add_model_command(line);
  tendril::add_new_command(line);
  tendril::add_generate_command(line);
  tendril::add_ik_command(line);
  tendril::add_fk_command(line);
  tendril::add_workspace_command(line);
  tendril::add_march_command(line);
  tendril::add_plan_command(line);
  tendril::add_drive_command(line);
  tendril::add_servos_command(line);
  tendril::add_rollout_command(line);
  tendril::add_tables_command(line);
  tendril::add_explain_command(line);
  tendril::add_doctor_command(line);
  return line.run(argc, argv);
}

/// Prints `tendril: <message> [code]` as one line. Does not allocate, because memory may be
/// exhausted.
int fail(std::string_view message, int exit_code) {
  const auto is_blank = [](char c) { return c == ' ' || c == '\n' || c == '\r'; };
  while (!message.empty() && is_blank(message.back())) message.remove_suffix(1);
  std::fputs("tendril: ", stderr);
  tendril::write_visible(message, [&](std::string_view part) {
    for (const char c : part) std::fputc(is_blank(c) ? ' ' : c, stderr);
  });
  const std::string_view code = tendril::error_kind_of(message, exit_code).code;
  std::fprintf(stderr, " [%.*s]\n", static_cast<int>(code.size()), code.data());
  return exit_code;
}

std::terminate_handler abort_with_message = std::abort;

/// Ends the program like `main` if memory is exhausted where no exception may pass.
[[noreturn]] void on_terminate() {
  try {
    if (std::current_exception() != nullptr) std::rethrow_exception(std::current_exception());
  } catch (const std::bad_alloc& error) {
    std::_Exit(fail(error.what(), kExitInputOutput));
  } catch (...) {
    // A bug.
  }
  abort_with_message();
  std::abort();
}

/// Tells whether everything printed has reached stdout.
bool written() {
  std::cout.flush();
  return std::fflush(stdout) == 0 && std::ferror(stdout) == 0 && std::cout.good();
}

}  // namespace

int tendril_main(int argc, char** argv, int in_python) {
  abort_with_message = std::set_terminate(on_terminate);
  tendril::system::prepare_streams();
  if (in_python != 0) {  // a controller in Python that never returns is interrupted
    if (void* const interrupt = tendril::system::symbol_in_process("PyErr_SetInterrupt"))
      tendril::InterruptRequest::when_ignored(
          reinterpret_cast<tendril::system::Handler>(interrupt));
  }
  try {
    if (in_python == 0 && tendril::is_python_command(argc, argv))
      tendril::run_python_command(argc, argv);
    const int exit_code = run(argc, argv);
    if (!written()) return fail("stdout: could not be written", kExitInputOutput);
    return exit_code;
  } catch (const tendril::ModelError& error) {
    return fail(error.what(), kExitUsage);
  } catch (const std::exception& error) {  // RolloutError, OutputError, files, memory
    return fail(error.what(), kExitInputOutput);
  }
}
