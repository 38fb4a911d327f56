#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <numbers>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "apps/tendril/commands.hpp"
#include "apps/tendril/interrupt.hpp"
#include "apps/tendril/progress.hpp"
#include "apps/tendril/python_module.hpp"
#include "apps/tendril/robot_table.hpp"
#include "apps/tendril/terminal.hpp"
#include "simulation/files/file_kind.hpp"
#include "simulation/rollout/run.hpp"
#include "tendril/ik/workspace.hpp"
#include "tendril/kinematics/section_workspace.hpp"
#include "tendril/model/continuum/tendon_statics.hpp"
#include "tendril/model/robot_description.hpp"
#include "tendril/model_error.hpp"

namespace tendril {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kDegree = std::numbers::pi / 180.0;
constexpr double kMicroseconds = 1e6;

struct WorkspaceArguments {
  std::string robot, out, png;
  std::string solver = solver_infos().front().name;
  std::optional<int> max_iterations;
  std::int64_t seed = 1;
  WorkspaceOptions options;
  bool no_time = false, json = false, quiet = false;
};

/// A robot, its sections alone and as a whole.
struct Study {
  const ContinuumDescription& description;
  ContinuumRobot robot;
  std::vector<SectionWorkspace> sections;
  Workspace whole;
};

// ---- numbers of the whole set ---------------------------------------------------------------

long count(const Workspace& whole, bool WorkspaceCell::*flag) {
  return std::count_if(whole.cells.begin(), whole.cells.end(),
                       [&](const WorkspaceCell& cell) { return cell.*flag; });
}

/// Quantile of a number of the cells that the solver reached.
double quantile(const Workspace& whole, double WorkspaceCell::*value, double part) {
  std::vector<double> values;
  for (const WorkspaceCell& cell : whole.cells) {
    if (cell.converged) values.push_back(cell.*value);
  }
  if (values.empty()) return 0.0;
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(std::ceil(part * static_cast<double>(values.size() - 1)))];
}

double mean_dexterity(const Workspace& whole) {
  double sum = 0.0;
  for (const WorkspaceCell& cell : whole.cells) sum += cell.dexterity;
  return sum / static_cast<double>(whole.cells.size());
}

const WorkspaceCell& best(const Workspace& whole, double WorkspaceCell::*value) {
  return *std::max_element(
      whole.cells.begin(), whole.cells.end(),
      [&](const WorkspaceCell& a, const WorkspaceCell& b) { return a.*value < b.*value; });
}

double rho_of(const WorkspaceCell& cell) { return std::hypot(cell.tip.x(), cell.tip.y()); }

/// Ends of the reached tips: least and largest rho, then z [m].
std::array<double, 4> extent_of(const Workspace& whole) {
  std::array<double, 4> ends{HUGE_VAL, -HUGE_VAL, HUGE_VAL, -HUGE_VAL};
  for (const WorkspaceCell& cell : whole.cells) {
    ends = {std::min(ends[0], rho_of(cell)), std::max(ends[1], rho_of(cell)),
            std::min(ends[2], cell.tip.z()), std::max(ends[3], cell.tip.z())};
  }
  return ends;
}

// ---- text ---------------------------------------------------------------------------------------

std::string kind_of(const Section& section) {
  if (!section.is_extensible()) return fmt::format("fixed, {:g} m", section.length());
  if (section.length() == 0.0) return fmt::format("telescopic, to {:g} m", section.max_length());
  return fmt::format("variable, {:g} to {:g} m", section.length(), section.max_length());
}

/// Index after the sections that are like section `first` and follow it.
std::size_t after_alike(const std::vector<SectionParameters>& sections, std::size_t first) {
  const auto numbers = [](const SectionParameters& s) {
    return std::tie(s.length, s.variable_length, s.bend_angle_limit, s.length_weights,
                    s.angle_weights);
  };
  std::size_t next = first + 1;
  while (next < sections.size() && numbers(sections[next]) == numbers(sections[first])) ++next;
  return next;
}

std::string section_text(const Section& section, const SectionWorkspace& alone,
                         const std::string& name) {
  std::string text = fmt::format(
      "{}: {}, bends to {:.1f} deg; k {:.4f} straight, {:.4f} at the "
      "limit; ",
      name, kind_of(section), section.bend_angle_limit() / kDegree, alone.bends.front().ratio,
      alone.bends.back().ratio);
  if (const auto critical = critical_bend_angle(section)) {
    text += fmt::format("critical bend {:.2f} deg, chord {:.2f} deg; ", *critical / kDegree,
                        section.invertible_chord_angle() / kDegree);
  } else {
    text += "no critical bend; ";
  }
  if (!section.is_extensible()) return text + fmt::format("surface {:.4g} m^2\n", alone.surface);
  return text + fmt::format("area {:.4g} m^2, volume {:.4g} m^3\n", alone.area, alone.volume);
}

std::string whole_text(const Study& study, const WorkspaceArguments& arguments) {
  const Workspace& whole = study.whole;
  const std::array<double, 4> ends = extent_of(whole);
  std::string text = fmt::format(
      "the tip reaches {} cells of {:.3g} m: distance from the axis {:.4g} to {:.4g} m, z {:.4g} "
      "to "
      "{:.4g} m; area {:.4g} m^2, volume {:.4g} m^3\n",
      whole.cells.size(), whole.grid.edge, ends[0], ends[1], ends[2], ends[3], whole.area,
      whole.volume);
  long solver_only = 0, samples_only = 0;
  for (const WorkspaceCell& cell : whole.cells) {
    solver_only += cell.sampled ? 0 : 1;
    samples_only += cell.solved ? 0 : 1;
  }
  text += fmt::format("{} cells by {} alone, {} by random poses alone\n", solver_only,
                      arguments.solver, samples_only);
  if (arguments.options.directions > 0) {
    const WorkspaceCell& most = best(whole, &WorkspaceCell::dexterity);
    text += fmt::format(
        "dexterity, the part of {} directions that the tip can have: mean {:.3f}, largest {:.3f} "
        "at "
        "distance {:.4g} m, z {:.4g} m\n",
        arguments.options.directions, mean_dexterity(whole), most.dexterity, rho_of(most),
        most.tip.z());
  }
  if (arguments.no_time || count(whole, &WorkspaceCell::converged) == 0) return text;
  const WorkspaceCell& slowest = best(whole, &WorkspaceCell::time);
  return text + fmt::format(
                    "time of a solve: median {:.3g} us, 99 % below {:.3g} us, longest {:.3g} "
                    "us at distance {:.4g} m, z {:.4g} m\n",
                    kMicroseconds * quantile(whole, &WorkspaceCell::time, 0.5),
                    kMicroseconds * quantile(whole, &WorkspaceCell::time, 0.99),
                    kMicroseconds * slowest.time, rho_of(slowest), slowest.tip.z());
}

std::string study_text(const Study& study, const WorkspaceArguments& arguments) {
  std::string text =
      fmt::format("{}: {} section{}, {:.4g} m, feed {:g} m\n", study.description.name,
                  study.sections.size(), study.sections.size() == 1 ? "" : "s",
                  study.robot.max_length(), study.robot.base().feed_limit);
  if (!study.description.kinematics().bends_in_any_plane())
    text += fmt::format(
        "{}: the set is that of the arm bending in all directions\n",
        study.description.is_planar() ? "the file says planar" : "sections bend in one plane");
  for (std::size_t first = 0; first < study.sections.size();) {
    const std::size_t next = after_alike(study.description.sections, first);
    text += section_text(study.robot.section(static_cast<int>(first)), study.sections[first],
                         next == first + 1 ? fmt::format("section {}", next)
                                           : fmt::format("sections {} to {}", first + 1, next));
    first = next;
  }
  return text + whole_text(study, arguments);
}

// ---- JSON ---------------------------------------------------------------------------------------

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json section_json(const Section& section, const SectionWorkspace& alone) {
  const auto critical = critical_bend_angle(section);
  Json json = {
      {"constant_length", section.length()},
      {"variable_length", section.variable_length()},
      {"bend_limit", section.bend_angle_limit()},
      {"length_weights", section.length_weights()},
      {"angle_weights", section.angle_weights()},
      {"critical_bend", critical ? Json(*critical) : Json(nullptr)},
      {"critical_chord_angle", critical ? Json(section.invertible_chord_angle()) : Json(nullptr)},
      {"surface", alone.surface},
      {"area", alone.area},
      {"volume", alone.volume},
      {"bends", Json::array()},
      {"outline", Json::array()}};
  for (const BentSection& bend : alone.bends)
    json["bends"].push_back({{"theta", bend.theta},
                             {"chord_angle", bend.chord_angle},
                             {"k", number(bend.ratio)},
                             {"x", bend.end.x()},
                             {"z", bend.end.y()}});
  for (const Eigen::Vector2d& point : alone.outline)
    json["outline"].push_back({point.x(), point.y()});
  return json;
}

Json cell_json(const Workspace& whole, const WorkspaceCell& cell,
               const WorkspaceArguments& arguments) {
  Json json = {{"row", cell.cell.row - whole.first_row},
               {"column", cell.cell.column},
               {"sampled", cell.sampled},
               {"solved", cell.solved},
               {"converged", cell.converged},
               {"center", cell.center}};
  if (arguments.options.directions > 0) json["dexterity"] = cell.dexterity;
  if (cell.converged) json["iterations"] = cell.iterations;
  if (cell.converged && !arguments.no_time) json["time_us"] = kMicroseconds * cell.time;
  return json;
}

Json study_json(const Study& study, const WorkspaceArguments& arguments) {
  const Workspace& whole = study.whole;
  const std::array<double, 4> ends = extent_of(whole);
  Json json = {{"robot", study.description.name},
               {"file", arguments.robot},
               {"length", study.robot.max_length()},
               {"feed", study.robot.base().feed_limit},
               {"solver", arguments.solver},
               {"samples", arguments.options.samples},
               {"directions", arguments.options.directions},
               {"seed", arguments.options.seed},
               {"sections", Json::array()},
               {"cell_edge", whole.grid.edge},
               {"lowest_z", whole.grid.lowest_z + whole.first_row * whole.grid.edge},
               {"rows", whole.rows},
               {"columns", whole.columns},
               {"rho", {ends[0], ends[1]}},
               {"z", {ends[2], ends[3]}},
               {"area", whole.area},
               {"volume", whole.volume}};
  if (arguments.options.directions > 0)
    json["dexterity"] = {{"mean", mean_dexterity(whole)},
                         {"largest", best(whole, &WorkspaceCell::dexterity).dexterity}};
  if (!arguments.no_time)
    json["time_us"] = {{"median", kMicroseconds * quantile(whole, &WorkspaceCell::time, 0.5)},
                       {"p99", kMicroseconds * quantile(whole, &WorkspaceCell::time, 0.99)},
                       {"worst", kMicroseconds * quantile(whole, &WorkspaceCell::time, 1.0)}};
  json["cells"] = Json::array();
  for (std::size_t i = 0; i < study.sections.size(); ++i)
    json["sections"].push_back(
        section_json(study.robot.section(static_cast<int>(i)), study.sections[i]));
  for (const WorkspaceCell& cell : whole.cells)
    json["cells"].push_back(cell_json(whole, cell, arguments));
  return json;
}

// ---- table of cells -----------------------------------------------------------------------------

/// A row for every reached cell: its center, then a pose with the tip in it, which `tendril fk`
/// reads.
void write_cells(const Study& study, const WorkspaceArguments& arguments) {
  if (arguments.out.empty()) return;
  simulation::CsvWriter writer(arguments.out);
  for (const char* const name : kWorkspaceColumns) writer.field(std::string_view(name));
  for (const simulation::CsvColumn& column : state_columns(study.robot))
    writer.field(std::string_view(column.name));
  writer.end_row();
  const auto blank = [&] { writer.field(std::string_view()); };
  for (const WorkspaceCell& cell : study.whole.cells) {
    writer.field(study.whole.grid.rho(cell.cell.column));
    writer.field(study.whole.grid.z(cell.cell.row));
    for (const bool flag : {cell.sampled, cell.solved, cell.converged})
      writer.field(static_cast<long>(flag));
    arguments.options.directions > 0 ? writer.field(cell.dexterity) : blank();
    cell.converged ? writer.field(static_cast<long>(cell.iterations)) : blank();
    cell.converged && !arguments.no_time ? writer.field(kMicroseconds * cell.time, 3) : blank();
    write_state(writer, study.robot, cell.states, cell.base);
    writer.end_row();
  }
  writer.finish();
}

// ---- command ------------------------------------------------------------------------------------

/// The options of the library from those of the command line.
WorkspaceOptions options_of(const WorkspaceArguments& arguments) {
  WorkspaceOptions options = arguments.options;
  if (arguments.max_iterations) {
    if (*arguments.max_iterations < 1)
      throw ModelError(
          fmt::format("--max-iterations: {}: must be >= 1", *arguments.max_iterations));
    options.solving.max_iterations = *arguments.max_iterations;
  }
  options.solver = arguments.solver;
  options.seed = static_cast<std::uint64_t>(arguments.seed);
  options.measure_time = !arguments.no_time;
  return options;
}

/// The same arm, whose sections all bend in every plane: its workspace is a body of revolution.
ContinuumDescription in_all_planes(ContinuumDescription arm) {
  for (SectionParameters& section : arm.sections) section.bend_plane = BendPlane::Any;
  return arm;
}

int run(const WorkspaceArguments& arguments) {
  simulation::require_kind(arguments.robot, "workspace", {simulation::FileKind::Robot});
  const RobotDescription description = load_robot(arguments.robot);
  const ContinuumDescription& arm = continuum_of(description, arguments.robot, "workspace");
  if (const std::optional<int> section = section_driven_in_part(arm))
    throw ModelError(fmt::format(
        "{}: section {} is not driven in every direction: must be, for a workspace: it is that of "
        "all poses",
        arguments.robot, *section + 1));
  Study study{
      .description = arm, .robot = in_all_planes(arm).kinematics(), .sections = {}, .whole = {}};
  for (int i = 0; i < study.robot.section_count(); ++i)
    study.sections.push_back(section_workspace(study.robot.section(i)));
  {
    ProgressBar bar(arguments.quiet);
    const InterruptRequest interrupt;
    WorkspaceOptions options = options_of(arguments);
    options.stop = &interrupt.flag();
    options.on_progress = [&](const char* what, double part) { bar.show(what, part); };
    study.whole = workspace_of(study.robot, options);
  }
  if (study.whole.interrupted) {
    complain("workspace: interrupted; nothing is written");
    return kExitInterrupted;
  }
  write_cells(study, arguments);
  if (arguments.json || !arguments.png.empty()) {
    const std::string json = study_json(study, arguments).dump() + '\n';
    if (!arguments.png.empty()) {
      if (const auto problem =
              run_module("tendril.report.workspace", {"--png", arguments.png}, json))
        throw simulation::OutputError("workspace: " + *problem);
    }
    if (arguments.json) print_data(json);
  }
  if (!arguments.json) print_text(study_text(study, arguments));
  return 0;
}

}  // namespace

void add_workspace_command(CommandLine& line) {
  const Command command = line.command(
      "workspace",
      "Positions that a continuum robot's tip reaches, with dexterity and solve time over them; "
      "curves, bodies of revolution, k(theta) and critical bend of its sections");
  const auto arguments = std::make_shared<WorkspaceArguments>();
  WorkspaceOptions& options = arguments->options;
  command.option("robot", arguments->robot, "robot file (.toml)").required();
  command.option("--png", arguments->png, "file for a picture, PNG (needs Python)").output();
  command
      .option("-o,--output", arguments->out,
              "CSV file with a row for each reached cell, and a pose with the tip in it")
      .output();
  command.flag("--json", arguments->json, "print JSON: every section and cell");
  command.option("--cells", options.cells,
                 fmt::format("along the longer side of the set [{}]", options.cells));
  command.option("--samples", options.samples,
                 fmt::format("random poses that begin the search [{}]", options.samples));
  command.option(
      "--directions", options.directions,
      fmt::format("of the tip, tried in every cell; 0: no dexterity [{}]", options.directions));
  command.option("--solver", arguments->solver,
                 fmt::format("one of those of tendril ik [{}]", arguments->solver));
  command.option("--position-tolerance", options.solving.position_tolerance,
                 fmt::format("m [{:g}]", options.solving.position_tolerance));
  command.option("--angle-tolerance", options.solving.angle_tolerance,
                 fmt::format("rad [{:g}]", options.solving.angle_tolerance));
  command.option("--max-iterations", arguments->max_iterations,
                 fmt::format("budget of a solve [that of the solver; {} with a direction]",
                             kDirectionIterations));
  command.option("--seed", arguments->seed, "of the random poses [1]").not_negative();
  command.option("--threads", options.threads, "0: one per core [0]");
  command.flag("--no-time", arguments->no_time,
               "do not measure the time of solves: identical output in every run");
  command.flag("--quiet", arguments->quiet, "no progress bar");
  command.footer(
      "Example: tendril workspace models/arm_3x10.toml --png workspace.png -o cells.csv\n"
      "Exit codes: 0 done, 2 bad input, 4 input/output, 130 interrupted");
  command.action([arguments] { return run(*arguments); });
}

}  // namespace tendril
