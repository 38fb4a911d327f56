#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "apps/tendril/commands.hpp"
#include "apps/tendril/python_module.hpp"
#include "tendril/model_error.hpp"
#include "tendril/system/process.hpp"

namespace tendril {

namespace {

constexpr struct {
  const char* name;
  const char* text;
} kPythonCommands[] = {
#include "python_commands.inc"  // of python/tendril/commands.txt
};

}  // namespace

void add_python_commands(CommandLine& line) {
  for (const auto& [name, text] : kPythonCommands) {
    const Command command = line.command(name, text);
    command.action([name = std::string(name)]() -> int {
      throw ModelError(name + ": must be the first argument");
    });
  }
}

bool is_python_command(int argc, char** argv) {
  const bool named = argc > 1 && std::any_of(std::begin(kPythonCommands), std::end(kPythonCommands),
                                             [&](const auto& command) {
                                               return std::string_view(argv[1]) == command.name;
                                             });
  return named || std::any_of(argv, argv + argc, [](const char* word) {
           const std::string_view text(word);
           return text == "--python" || text.starts_with("--python=");
         });
}

void run_python_command(int argc, char** argv) {
  std::vector<std::string> words = module_command("tendril");
  const std::string python = words.front();
  system::set_environment("TENDRIL_PROGRAM", system::program_file().string());
  give_plugin_to_python();
  words.insert(words.end(), argv + 1, argv + argc);
  try {
    system::continue_as(words);
  } catch (const std::system_error& error) {
    throw std::runtime_error(fmt::format(
        "{}: {}: install Python 3.11 with numpy and h5py, or name one with TENDRIL_PYTHON", python,
        error.code().message()));
  }
}

}  // namespace tendril
