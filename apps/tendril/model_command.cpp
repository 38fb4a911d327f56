#include "apps/tendril/model_command.hpp"

#include <fmt/format.h>

#include <iostream>
#include <memory>

#include "apps/host/experiment/experiment.hpp"
#include "apps/host/experiment/run.hpp"
#include "tendril/robot_file/model_file.hpp"

namespace tendril {
namespace {

struct ModelArguments {
  std::string file;
  std::string out;
};

void print_model(const ModelArguments& arguments) {
  const std::string mjcf = model_file_mjcf(host::read_text_file(arguments.file), arguments.file);
  if (!arguments.out.empty()) {
    host::write_text_file(arguments.out, mjcf);
  } else if (!(std::cout << mjcf).flush()) {
    throw host::OutputError("stdout: could not be written");
  }
}

}  // namespace

CLI::App* add_model_command(CLI::App& app, int& exit_code) {
  CLI::App* const command = app.add_subcommand("model", "Prints the MJCF of a robot or tube file");
  const auto arguments = std::make_shared<ModelArguments>();
  command->add_option("file", arguments->file, "robot or tube file (.toml)")->required();
  command->add_option("-o,--output", arguments->out, "file to write instead of stdout");
  command->footer("Example: tendril model models/arm_3x10.toml -o arm.xml");
  command->callback([arguments, &exit_code] {
    print_model(*arguments);
    exit_code = 0;
  });
  return command;
}

}  // namespace tendril
