#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "apps/tendril/commands.hpp"
#include "apps/tendril/progress.hpp"
#include "apps/tendril/python_module.hpp"
#include "apps/tendril/terminal.hpp"
#include "simulation/families/families.hpp"
#include "simulation/files/file_kind.hpp"
#include "simulation/plan/scene_plan.hpp"
#include "simulation/rollout/run.hpp"
#include "tendril/model/toml_fields.hpp"
#include "tendril/model_error.hpp"
#include "tendril/plan_file/path_plan.hpp"
#include "tendril/plan_file/plan_file.hpp"
#include "tendril/plan_file/plan_json.hpp"
#include "tendril/plan_file/plan_result.hpp"
#include "tendril/plan_file/spatial_plan.hpp"

namespace tendril {
namespace {

constexpr int kExitNoSolution = 1;
constexpr double kSmallestSpacing = 1e-5;  // m; limits tables to a million rows

struct PlanArguments {
  std::string file;
  std::string svg, png, path, plan, robot;
  std::string refused = "near";
  int solution = 1;
  double spacing = 0.005;
  simulation::ScenePlanOptions scene;
  std::int64_t seed = -1;
  bool contact = false;
  bool json = false;
  bool strict = false;
};

bool draws(const PlanArguments& arguments) {
  return !arguments.svg.empty() || !arguments.png.empty();
}

bool needs_json(const PlanArguments& arguments) { return arguments.json || draws(arguments); }

/// Makes the requested drawings of a plan given as JSON.
void draw(const PlanArguments& arguments, const std::string& json) {
  if (!draws(arguments)) return;
  std::vector<std::string> options{"--refused", arguments.refused};
  if (!arguments.svg.empty()) options.insert(options.end(), {"--svg", arguments.svg});
  if (!arguments.png.empty()) options.insert(options.end(), {"--png", arguments.png});
  if (const auto problem = run_module("tendril.report.drawing", options, json))
    throw simulation::OutputError("drawing: " + *problem);
}

/// Says on stderr that a plan was not found; the exit code shows it with --strict only.
void notice(const PlanArguments& arguments, NoticeCode code, const std::string& text) {
  tendril::notice(code, arguments.file + ": " + text);
}

/// A path of an elastic arm in space that may press against obstacles.
int run_spatial_plan(const PlanArguments& arguments, const PathPlan& plan) {
  const SpatialPlanResult solution =
      while_waiting("plan", [&] { return solve_spatial_plan(plan); });
  const std::string json =
      needs_json(arguments) ? spatial_plan_json(plan, solution) : std::string();
  draw(arguments, json);
  if (arguments.json)
    print_data(json);
  else
    print_text(spatial_plan_text(plan, solution));
  if (!arguments.path.empty())
    simulation::write_text_file(arguments.path, spatial_plan_csv(solution));
  if (!solution.path.reached())
    notice(arguments, "contact-plan-not-found",
           fmt::format("{}: 0 solutions", to_string(solution.path.status)));
  return arguments.strict && !solution.path.reached() ? kExitNoSolution : 0;
}

/// Paths of a robot's tip among obstacles.
int run_path_plan(const PlanArguments& arguments, const PathPlan& plan) {
  for (const auto& [option, file] :
       {std::pair("--plan", &arguments.plan), std::pair("--robot", &arguments.robot)})
    if (!file->empty())
      throw ModelError(fmt::format(
          "{}: for paths with contacts; --path writes the poses of this file's kind", option));
  if (arguments.contact) return run_spatial_plan(arguments, plan);
  const PathPlanResult solution = while_waiting("plan", [&] { return solve_path_plan(plan); });
  const std::string json = needs_json(arguments) ? path_plan_json(plan, solution) : std::string();
  draw(arguments, json);
  if (arguments.json)
    print_data(json);
  else
    print_text(path_plan_text(plan, solution));
  if (!arguments.path.empty()) {
    if (solution.reached == 0)
      throw ModelError("--path: no waypoint was reached: there is no path");
    simulation::write_text_file(arguments.path,
                                pose_path_csv(plan.robot.kinematics(), solution.path));
  }
  const bool is_whole = solution.reached == static_cast<int>(solution.waypoints.size());
  if (!is_whole)
    notice(arguments, "path-not-complete",
           fmt::format("{} of {} waypoints reached", solution.reached, solution.waypoints.size()));
  return arguments.strict && !is_whole ? kExitNoSolution : 0;
}

/// Writes the files that a solution was asked for.
void write_solution(const PlanArguments& arguments, const PlanFile& plan,
                    const PlanResult& solution) {
  if (arguments.path.empty() && arguments.plan.empty() && arguments.robot.empty()) return;
  const auto index = static_cast<std::size_t>(arguments.solution) - 1;
  if (index >= solution.paths.size())
    throw ModelError(fmt::format("--solution: {}: must be at most the number of solutions, {}",
                                 arguments.solution, solution.paths.size()));
  const ContactPath& path = solution.paths[index];
  if (!arguments.path.empty())
    simulation::write_text_file(arguments.path, path_csv(path, arguments.spacing));
  // `shown` of the command in the first line of the file.
  const auto write = [&](const char* option, const std::string& file, const char* shown,
                         const auto& text) {
    if (file.empty()) return;
    if (plan.grasp)
      throw ModelError(fmt::format("{}: of paths to a target, not of grasps", option));
    simulation::write_text_file(
        file, fmt::format("# tendril plan {} --solution {}{}\n",
                          std::filesystem::path(arguments.file).filename().string(),
                          arguments.solution, shown) +
                  text());
  };
  write("--plan", arguments.plan, "",
        [&] { return contact_plan_text(executable_plan(plan, path)); });
  write("--robot", arguments.robot, " --robot FILE",
        [&] { return planned_robot_toml(plan, path); });
}

/// Paths in contact with obstacles.
int run_contact_plan(const PlanArguments& arguments, const PlanFile& plan) {
  if (arguments.contact)
    throw ModelError(arguments.file +
                     ": --contact: for arms in space; this plan, in a plane, has contacts anyway");
  const PlanResult solution = while_waiting("plan", [&] { return solve_plan(plan); });
  const std::string json = needs_json(arguments) ? plan_json(plan, solution) : std::string();
  draw(arguments, json);
  if (arguments.json)
    print_data(json);
  else
    print_text(plan_text(plan, solution));
  write_solution(arguments, plan, solution);
  if (solution.paths.empty())
    notice(arguments, "contact-plan-not-found",
           fmt::format("{}: 0 solutions", to_string(solution.status)));
  return arguments.strict && solution.paths.empty() ? kExitNoSolution : 0;
}

/// The plan of a scene at its start.
std::variant<PathPlan, PlanFile> plan_of_scene(const PlanArguments& arguments) {
  if (!(arguments.scene.margin >= 0.0 && arguments.scene.margin <= 1e3))
    throw ModelError(
        fmt::format("--margin: {}: must be a distance in [0, 1000] m", arguments.scene.margin));
  simulation::Experiment experiment = simulation::load_experiment(arguments.file);
  simulation::RunChanges changes;
  if (arguments.seed >= 0) changes.seed = static_cast<std::uint64_t>(arguments.seed);
  const std::uint64_t seed = changes.seed.value_or(experiment.seed);
  experiment = simulation::with_scene(std::move(experiment), seed,
                                      fmt::format("out/{}-seed{}/scene", experiment.name, seed));
  const simulation::PreparedRun run = simulation::prepare_run(experiment, changes);
  std::vector<std::string> notices = run.scene.notices;
  auto plan = while_waiting("plan", [&] {
    return simulation::plan_of_scene(run.scene, *run.data, arguments.scene,
                                     experiment.scene.string(), notices);
  });
  for (const std::string& text : notices) print_notice(text);
  return plan;
}

int run(const PlanArguments& arguments) {
  if (arguments.refused != "none" && arguments.refused != "near" && arguments.refused != "all")
    throw ModelError(
        fmt::format("--refused: {}: must be one of: none, near, all", arguments.refused));
  if (!(arguments.spacing >= kSmallestSpacing && arguments.spacing <= 1e9))
    throw ModelError(fmt::format("--spacing: {}: must be in [{:g}, 1e9] m", arguments.spacing,
                                 kSmallestSpacing));
  if (arguments.solution < 1)
    throw ModelError(fmt::format("--solution: {}: must be >= 1", arguments.solution));

  using Kind = simulation::FileKind;
  simulation::require_kind(arguments.file, "plan", {Kind::Plan, Kind::Experiment, Kind::Scene});
  if (const Kind kind = simulation::file_kind(arguments.file);
      kind == Kind::Experiment || kind == Kind::Scene) {
    const auto plan = plan_of_scene(arguments);
    if (const auto* const contacts = std::get_if<PlanFile>(&plan))
      return run_contact_plan(arguments, *contacts);
    return run_path_plan(arguments, std::get<PathPlan>(plan));
  }
  if (arguments.seed >= 0 || !arguments.scene.robot.empty() || !arguments.scene.target.empty() ||
      !arguments.scene.obstacles.empty() || arguments.scene.margin != 0.0)
    throw ModelError(fmt::format(
        "{}: --prefix, --target, --obstacles, --margin and --seed are for scenes and experiments",
        arguments.file));
  const std::string toml = read_text_file(arguments.file);
  if (is_path_plan(toml)) return run_path_plan(arguments, parse_path_plan(toml, arguments.file));
  return run_contact_plan(arguments, parse_plan(toml, arguments.file));
}

}  // namespace

void add_plan_command(CommandLine& line) {
  const Command command = line.command(
      "plan",
      "Plans the path of an arm to its target among the geoms of a scene, or through waypoints "
      "among obstacles; or all planar paths that reach a target in contact with the obstacles of a "
      "file, or with the geoms of a scene, or grasp one");
  const auto arguments = std::make_shared<PlanArguments>();
  command.option("file", arguments->file, "scene (.xml), experiment (.toml) or plan file (.toml)")
      .required();
  command.option("--prefix", arguments->scene.robot,
                 "of a scene with several arms: prefix of the arm's names");
  command.option("--target", arguments->scene.target,
                 "of a scene: body or site for the tip [that of the arm's controller]");
  command.option("--obstacles", arguments->scene.obstacles,
                 "of a scene: geoms, or bodies with their subtrees, separated by spaces [all that "
                 "the arm can touch]");
  command.option("--margin", arguments->scene.margin, "of a scene: kept to every geom, m [0]");
  command.option("--seed", arguments->seed,
                 "of an experiment's [vary], or family [that of the file]");
  command.flag("--contact", arguments->contact,
               "of an elastic arm in space: it may press against obstacles on its path");
  command.flag("--json", arguments->json, "print the solution as JSON");
  command.option("--svg", arguments->svg, "file for a drawing, SVG (needs Python)").output();
  command.option("--png", arguments->png, "file for the drawing, PNG (needs Python)").output();
  command.option("--refused", arguments->refused,
                 "refused arcs in the drawing: none, near, all [near]");
  command
      .option("--path", arguments->path,
              "CSV file for the robot's poses, or for the backbone of a solution")
      .output();
  command
      .option("--plan", arguments->plan,
              "file for a solution with its contacts and obstacles, executed by the controller "
              "tendril.contact_plan")
      .output();
  command
      .option("--robot", arguments->robot,
              "robot file (.toml) for an arm of telescopic sections that lie in the arcs of a "
              "solution, and grow one after the other")
      .output();
  command.option("--solution", arguments->solution,
                 "number of the solution for --path, --plan and --robot, from 1 [1]");
  command.option("--spacing", arguments->spacing,
                 "largest distance between points of the backbone, m [0.005]");
  command.flag("--strict", arguments->strict,
               "exit with 1 if there is no solution or a waypoint was not reached");
  command.footer(
      "Example: tendril plan scenes/reach_clutter/reach_clutter.toml --margin 0.005 --png "
      "plan.png\n"
      "         tendril plan scenes/plans/case_1.toml --svg case_1.svg --path case_1.csv\n"
      "         tendril plan scenes/plans/case_2.toml --robot arm.toml\n"
      "         tendril plan scenes/tube_narrow/plan.toml --png plan.png --path poses.csv\n"
      "Exit codes: 0 done, 1 with --strict there is no solution, 2 bad input, 4 input/output");
  command.action([arguments] { return run(*arguments); });
}

}  // namespace tendril
