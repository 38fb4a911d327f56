#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "python/src/robots.hpp"
#include "tendril/contact/contact_plan.hpp"
#include "tendril/kinematics/turning.hpp"
#include "tendril/model/toml_fields.hpp"
#include "tendril/model_error.hpp"
#include "tendril/plan_file/path_plan.hpp"
#include "tendril/plan_file/plan_file.hpp"
#include "tendril/plan_file/plan_json.hpp"
#include "tendril/plan_file/plan_result.hpp"

namespace tendril::python {
namespace {

struct PyPlan {
  std::filesystem::path file;
  PlanFile plan;
  PlanResult result;
  nb::object content;
};

struct PySolution {
  std::shared_ptr<const PyPlan> plan;
  std::size_t index;
  [[nodiscard]] const ContactPath& path() const { return plan->result.paths[index]; }
};

struct PyPathPlan {
  PathPlan plan;
  PathPlanResult result;
  nb::object content;
};

nb::object parsed(const std::string& json) {
  return nb::module_::import_("json").attr("loads")(json);
}

void write(nb::handle file, const std::string& text) {
  nb::module_::import_("pathlib").attr("Path")(file).attr("write_text")(text);
}

std::shared_ptr<PyPlan> plan(const std::filesystem::path& file) {
  const auto plan = std::make_shared<PyPlan>();
  plan->file = file;
  std::string json;
  {
    const nb::gil_scoped_release unlocked;
    const std::string toml = read_text_file(file);
    if (is_path_plan(toml))
      throw ModelError(file.string() + ": robot: is a path among obstacles: tendril.plan_path");
    plan->plan = parse_plan(toml, file.string());
    plan->result = solve_plan(plan->plan);
    json = plan_json(plan->plan, plan->result);
  }
  plan->content = parsed(json);
  return plan;
}

std::unique_ptr<PyPathPlan> plan_path(const std::filesystem::path& file) {
  auto plan = std::make_unique<PyPathPlan>();
  std::string json;
  {
    const nb::gil_scoped_release unlocked;
    const std::string toml = read_text_file(file);
    if (!is_path_plan(toml))
      throw ModelError(file.string() + ": robot: is missing: plans with contact: tendril.plan");
    plan->plan = parse_path_plan(toml, file.string());
    plan->result = solve_path_plan(plan->plan);
    json = path_plan_json(plan->plan, plan->result);
  }
  plan->content = parsed(json);
  return plan;
}

std::vector<PySolution> solutions(const std::shared_ptr<PyPlan>& plan) {
  std::vector<PySolution> all;
  for (std::size_t i = 0; i < plan->result.paths.size(); ++i) all.push_back({plan, i});
  return all;
}

void save_solution(const PySolution& solution, nb::handle file) {
  if (solution.plan->plan.grasp)
    throw ModelError("save: tendril.contact_plan executes paths to a target, no grasps");
  write(file, "# tendril plan " + solution.plan->file.filename().string() + " --solution " +
                  std::to_string(solution.index + 1) + "\n" +
                  contact_plan_text(executable_plan(solution.plan->plan, solution.path())));
}

nb::object path_states(const PyPathPlan& plan) {
  const std::size_t sections = plan.plan.start.size();
  Output states(Shape{plan.result.path.size()}, Axes{sections, 3});
  auto* to = reinterpret_cast<SectionState*>(states.data());
  const ContinuumRobot robot = plan.plan.robot.kinematics();
  for (const auto& pose : plan.result.path) {
    const std::vector<SectionState> states_of_pose = in_own_frames(robot, pose.states);
    to = std::copy(states_of_pose.begin(), states_of_pose.end(), to);
  }
  return states.take();
}

void save_path(const PyPathPlan& plan, nb::handle file) {
  if (plan.result.reached == 0) throw ModelError("save: no waypoint was reached: there is no path");
  write(file, pose_path_csv(plan.plan.robot.kinematics(), plan.result.path));
}

#define TENDRIL_CONTENT nb::sig("def content(self) -> dict[str, typing.Any]")

}  // namespace

void bind_plan(nb::module_& module) {
  nb::class_<PySolution>(module, "PlanSolution",
                         "A path to the target, or around the object, of arcs that brace against "
                         "obstacles.")
      .def_prop_ro(
          "length", [](const PySolution& s) { return s.path().length; }, "m.")
      .def_prop_ro(
          "max_curvature", [](const PySolution& s) { return s.path().max_curvature; }, "1/m.")
      .def_prop_ro(
          "min_clearance", [](const PySolution& s) { return s.path().min_clearance; },
          "m; infinite without obstacles.")
      .def_prop_ro(
          "arcs",
          [](const PySolution& s) {
            return nb::object(s.plan->content["solutions"][s.index]["arcs"]);
          },
          nb::sig("def arcs(self) -> list[dict[str, typing.Any]]"),
          "`curvature`, 1/m, `length`, m, `contact` (-1: none, the last arc), `side`, ... of each "
          "arc.")
      .def(
          "save", &save_solution, nb::arg("file"),
          nb::sig("def save(self, file: str | os.PathLike[str]) -> None"),
          "Writes the plan for the controller `tendril.contact_plan`, as `tendril plan --plan`.\n\n"
          ":raises ModelError: a grasp\n:raises OSError: the file cannot be written");

  nb::class_<PyPlan>(module, "Plan", "Paths that reach a target in contact with obstacles.")
      .def_prop_ro(
          "status", [](const PyPlan& p) { return to_string(p.result.status); },
          "Such as \"solved\" (docs/guide/plan_contact.md).")
      .def_prop_ro("solutions", &solutions, "In the planner's order.")
      .def_ro("content", &PyPlan::content, TENDRIL_CONTENT, "Content of `tendril plan --json`.");
  module.def("plan", &plan, nb::arg("file"),
             nb::sig("def plan(file: str | os.PathLike[str]) -> Plan"),
             "All paths of a planar plan file that reach its target in contact with obstacles, or "
             "grasp its object.\n\n"
             ":param file: TOML (docs/guide/plan_contact.md)\n"
             ":raises ModelError: a file that cannot be read, or is no such plan\n\n"
             "Source: docs/guide/plan_contact.md.");

  nb::class_<PyPathPlan>(module, "PathPlan",
                         "A path of an arm's tip through waypoints among "
                         "obstacles.")
      .def_prop_ro(
          "reached", [](const PyPathPlan& p) { return p.result.reached; }, "Waypoints reached.")
      .def_prop_ro(
          "waypoint_count", [](const PyPathPlan& p) { return p.result.waypoints.size(); },
          "Waypoints of the file.")
      .def_prop_ro(
          "min_clearance", [](const PyPathPlan& p) { return p.result.min_clearance; },
          "Along the whole path, m; infinite without obstacles.")
      .def_prop_ro("states", &path_states, nb::sig("def states(self) -> " TENDRIL_ARRAY),
                   "(poses, sections, 3): from the start to the last waypoint reached.")
      .def_ro("content", &PyPathPlan::content, TENDRIL_CONTENT, "Content of `tendril plan --json`.")
      .def("save", &save_path, nb::arg("file"),
           nb::sig("def save(self, file: str | os.PathLike[str]) -> None"),
           "Writes the table of poses that `tendril.follow` executes, as `tendril plan --path`.\n\n"
           ":raises ModelError: no waypoint was reached\n"
           ":raises OSError: the file cannot be written");
  module.def(
      "plan_path", &plan_path, nb::arg("file"),
      nb::sig("def plan_path(file: str | os.PathLike[str]) -> PathPlan"),
      "The path of a plan file with a robot, waypoints and obstacles.\n\n"
      ":param file: TOML (docs/guide/plan_paths.md)\n"
      ":raises ModelError: a file that cannot be read, or is no such plan; a start pose that is "
      "not free\n\n"
      "Source: docs/guide/plan_paths.md.");
}

}  // namespace tendril::python
