#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "apps/tendril/commands.hpp"
#include "apps/tendril/terminal.hpp"
#include "simulation/files/file_kind.hpp"
#include "simulation/files/output_error.hpp"
#include "simulation/rollout/run.hpp"
#include "simulation/scene/body_report.hpp"
#include "simulation/scene/scene.hpp"
#include "tendril/model/names.hpp"
#include "tendril/model/robot_description.hpp"
#include "tendril/model_error.hpp"

namespace tendril {
namespace {

struct ModelArguments {
  std::string file;
  std::string out;
  std::string integrator;
  bool report = false, plain = false;

  [[nodiscard]] std::optional<Integrator> wanted_integrator() const {
    if (integrator.empty()) return std::nullopt;
    if (integrator == "discrete") return Integrator::Discrete;
    if (integrator == "implicitfast") return Integrator::ImplicitFast;
    throw ModelError(fmt::format("--integrator: {}: must be discrete or implicitfast", integrator));
  }
};

void print_report(const ModelArguments& arguments) {
  simulation::require_kind(arguments.file, "model", {simulation::FileKind::Robot});
  const RobotDescription robot = load_robot(arguments.file);
  const auto* const arm = std::get_if<ContinuumDescription>(&robot);
  if (arm == nullptr) {
    throw ModelError(fmt::format("--report: {}: must be a continuum robot (kind = \"continuum\")",
                                 arguments.file));
  }
  const std::string text = simulation::body_report_text(arm->name, simulation::report_body(*arm));
  if (!arguments.out.empty())
    simulation::write_text_file(arguments.out, text);
  else
    print_data(text);
}

/// Refuses to replace a scene, or what else a person may have written.
void require_own_model(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  std::string begin(std::string_view(kMadeFrom).size(), '\0');
  stream.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  begin.resize(static_cast<std::size_t>(stream.gcount()));
  if (begin.empty() || begin == kMadeFrom || !std::filesystem::is_regular_file(file)) return;
  throw simulation::OutputError(
      fmt::format("--output: {}: exists, and tendril model has not written it: must be another "
                  "file, or removed",
                  file.string()));
}

void print_model(const ModelArguments& arguments) {
  using simulation::FileKind;
  if (arguments.plain)
    simulation::require_kind(arguments.file, "model --plain",
                             {FileKind::Robot, FileKind::Tube, FileKind::Shell, FileKind::Scene});
  else
    simulation::require_kind(arguments.file, "model",
                             {FileKind::Robot, FileKind::Tube, FileKind::Shell});
  const simulation::ModelText model =
      arguments.plain ? simulation::plain_mjcf(arguments.file, arguments.wanted_integrator())
                      : simulation::model_file_mjcf(arguments.file);
  for (const std::string& text : model.notices) print_notice(text);
  if (!arguments.out.empty()) {
    require_own_model(arguments.out);
    simulation::write_text_file(arguments.out, model.mjcf);
  } else {
    print_data(model.mjcf);
  }
}

}  // namespace

void add_model_command(CommandLine& line) {
  const Command command = line.command(
      "model", "Prints the MJCF of a robot, tube or shell file, or what a robot amounts to");
  const auto arguments = std::make_shared<ModelArguments>();
  command
      .option("file", arguments->file,
              "robot, tube or shell file (.toml); with --plain also a scene (.xml)")
      .required();
  command.option("-o,--output", arguments->out, "file to write instead of stdout").output();
  const Option plain = command.flag("--plain", arguments->plain,
                                    "without controllers, for MuJoCo programs without Tendril's "
                                    "library; a scene has its robots as "
                                    "bodies, numbers of six digits, and meshes named as before");
  command
      .option("--integrator", arguments->integrator,
              "of a plain model, discrete or implicitfast, and the one that its damping is for; "
              "MuJoCo before 3.13 knows the second alone [that of the file]")
      .needs(plain);
  command
      .flag(
          "--report", arguments->report,
          "instead of the MJCF, what the numbers of a continuum robot amount to: stiffness at the "
          "tip, natural frequencies, sag, bends that are held, a stable timestep")
      .excludes(plain);
  command.footer(
      "Example: tendril model models/arm_3x10.toml -o arm.xml\n"
      "         tendril model --plain scenes/reach/reach.xml -o reach_plain.xml");
  command.action([arguments] {
    if (arguments->report)
      print_report(*arguments);
    else
      print_model(*arguments);
    return 0;
  });
}

}  // namespace tendril
