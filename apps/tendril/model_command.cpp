#include <fmt/format.h>

#include <iostream>
#include <memory>

#include "apps/host/engine/scene.hpp"
#include "apps/host/experiment/run.hpp"
#include "apps/host/file_kind.hpp"
#include "apps/tendril/commands.hpp"

namespace tendril {
namespace {

struct ModelArguments {
  std::string file;
  std::string out;
};

void print_model(const ModelArguments& arguments) {
  host::require_kind(arguments.file, "model", {host::FileKind::Robot, host::FileKind::Tube});
  const host::ModelText model = host::model_file_mjcf(arguments.file);
  for (const std::string& notice : model.notices)
    std::cerr << "tendril: notice: " << notice << '\n';
  if (!arguments.out.empty()) {
    host::write_text_file(arguments.out, model.mjcf);
  } else if (!(std::cout << model.mjcf).flush()) {
    throw host::OutputError("stdout: could not be written");
  }
}

}  // namespace

void add_model_command(CommandLine& line) {
  const Command command = line.command("model", "Prints the MJCF of a robot or tube file");
  const auto arguments = std::make_shared<ModelArguments>();
  command.option("file", arguments->file, "robot or tube file (.toml)").required();
  command.option("-o,--output", arguments->out, "file to write instead of stdout");
  command.footer("Example: tendril model models/arm_3x10.toml -o arm.xml");
  command.action([arguments] {
    print_model(*arguments);
    return 0;
  });
}

}  // namespace tendril
