#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "apps/tendril/commands.hpp"
#include "apps/tendril/robot_table.hpp"
#include "apps/tendril/terminal.hpp"
#include "simulation/files/file_kind.hpp"
#include "simulation/rollout/run.hpp"
#include "tendril/ik/any_solver.hpp"
#include "tendril/ik/batch.hpp"
#include "tendril/ik/driven_solver.hpp"
#include "tendril/kinematics/turning.hpp"
#include "tendril/mobile/any_solver.hpp"
#include "tendril/model/continuum/drive_values.hpp"
#include "tendril/model/continuum/tendon_statics.hpp"
#include "tendril/model/robot_description.hpp"
#include "tendril/model_error.hpp"

namespace tendril {
namespace {

constexpr int kExitNotConverged = 1;
constexpr std::size_t kBlock = 4096;            // rows solved at a time
constexpr double kDirectionLengthSlack = 1e-3;  // directions may be printed with few digits
constexpr double kFarthestTarget = 1e9;         // m; squares of distances remain finite
constexpr double kFarFromReach = 10.0;  // a whole table of targets so far off is in other units
constexpr const char* kTargetColumns = "x,y,z[,zx,zy,zz[,roll]]";
constexpr std::size_t kFirstOfDirection = 3, kRoll = 6;  // of kTipColumns
constexpr int kPoseCoordinates = 6;

using Clock = std::chrono::steady_clock;

struct IkArguments {
  std::string robot;
  std::string targets;
  std::string out;
  std::string solver = solver_infos().front().name;
  std::optional<int> max_iterations;
  SolverOptions options;
  int threads = 0;
  bool strict = false;
  bool no_time = false;
  bool roll = false;
  bool drives = false;
  bool json = false;
  bool quiet = false;
};

/// Mean and maximum of numbers >= 0.
class Spread {
 public:
  void add(double value) {
    ++count_;
    sum_ += value;
    worst_ = std::max(worst_, value);
  }
  [[nodiscard]] double mean() const {
    return count_ > 0 ? sum_ / static_cast<double>(count_) : 0.0;
  }
  [[nodiscard]] double worst() const { return worst_; }

 private:
  long count_ = 0;
  double sum_ = 0.0, worst_ = 0.0;
};

struct Summary {
  long rows = 0, converged = 0;
  std::map<std::string, long> failures;  ///< rows by status, without the converged ones
  Spread position_error, angle_error;    ///< of all rows [m], [rad]
  Spread time_us;                        ///< of the solves
  long not_held = 0;       ///< rows whose tensions and pressures do not hold the state
  double wall_time = 0.0;  ///< reading and writing included [s]
  double nearest = std::numeric_limits<double>::infinity();  ///< target, from the arm's base [m]
  double reach = std::numeric_limits<double>::infinity();    ///< of the arm [m]

  /// @param result  BatchResult or MobileResult
  /// @param time    of the solve [s]
  template <class Result>
  void add(const Result& result, double time) {
    ++rows;
    if (result.converged()) {
      ++converged;
    } else {
      ++failures[to_string(result.status)];
    }
    position_error.add(result.position_error);
    angle_error.add(result.angle_error);
    time_us.add(1e6 * time);
  }
};

bool has_direction(const simulation::CsvReader& reader) {
  const bool any = reader.has(kFirstOfDirection) || reader.has(kFirstOfDirection + 1) ||
                   reader.has(kFirstOfDirection + 2);
  for (std::size_t k = kFirstOfDirection; k < kRoll && any; ++k) {
    if (!reader.has(k))
      reader.refuse(fmt::format("column {}: is missing: the columns must be {}", kTipColumns[k],
                                kTargetColumns));
  }
  return any;
}

/// Refuses a task with roll that no solution can have, or that this solver does not take.
void require_roll(const simulation::CsvReader& reader, const std::string& solver,
                  const ContinuumRobot& robot) {
  if (!reader.has(kFirstOfDirection) || !reader.has(kRoll))
    reader.refuse("--roll: the columns must be x,y,z,zx,zy,zz,roll");
  if (!solver_info(solver).meets_roll)
    throw ModelError(
        fmt::format("--roll: solver = \"{}\" meets no roll, must be auto or levenberg", solver));
  const BaseParameters& base = robot.base();
  const int coordinates =
      robot.coordinate_count() + (base.feed_limit > 0.0 ? 1 : 0) + (base.spin ? 1 : 0);
  if (coordinates < kPoseCoordinates)
    throw ModelError(
        fmt::format("--roll: the robot has {} coordinates, must be at least {}: a pose "
                    "with its roll has as many",
                    coordinates, kPoseCoordinates));
}

TipTarget target_of(std::span<const double> row, TipTask task,
                    const simulation::CsvReader& reader) {
  TipTarget target;
  target.X_BG.translation() = Eigen::Vector3d(row[0], row[1], row[2]);
  if (target.position().lpNorm<Eigen::Infinity>() > kFarthestTarget)
    reader.refuse(fmt::format("columns x,y,z: {}, {}, {}: must be within {} m", row[0], row[1],
                              row[2], kFarthestTarget));
  if (task == TipTask::Position) return target;
  const Eigen::Vector3d direction(row[3], row[4], row[5]);
  const double length = direction.norm();
  if (!(std::abs(length - 1.0) <= kDirectionLengthSlack))
    reader.refuse(fmt::format("columns zx,zy,zz: {}, {}, {}: must have length 1 (within {})",
                              row[3], row[4], row[5], kDirectionLengthSlack));
  target.task = task;
  const Eigen::Vector3d z = direction / length;
  if (task == TipTask::Pose) {
    target.X_BG.linear() = frame_with_roll(z, row[kRoll]);
    return target;
  }
  const Eigen::Vector3d x = z.unitOrthogonal();  // the spin about z is free
  target.X_BG.linear() << x, z.cross(x), z;
  return target;
}

void write_columns(simulation::CsvWriter& writer,
                   const std::vector<simulation::CsvColumn>& columns) {
  for (const char* const name : kResultColumns) writer.field(std::string_view(name));
  for (const simulation::CsvColumn& column : columns) writer.field(std::string_view(column.name));
}

void write_header(simulation::CsvWriter& writer, const ContinuumRobot& robot,
                  const std::optional<DriveValues>& drives) {
  write_columns(writer, state_columns(robot));
  if (drives) {
    for (const DriveValues::Drive& drive : drives->drives())
      writer.field(std::string_view(drive_column(drive)));
  }
  writer.end_row();
}

DriveValues drives_of(const ContinuumDescription& robot, const std::string& file) {
  DriveValues drives(robot);
  if (drives.drives().empty())
    throw ModelError(fmt::format(
        "--drives: {}: nothing drives the arm, must have servos, tendons or chambers", file));
  return drives;
}

/// The fields of kResultColumns; `result` and `time` as for `Summary::add`.
template <class Result>
void write_result(simulation::CsvWriter& writer, const Result& result, double time,
                  bool with_time) {
  writer.field(std::string_view(to_string(result.status)));
  writer.field(static_cast<long>(result.iterations));
  writer.field(result.position_error);
  writer.field(result.angle_error);
  if (with_time) {
    writer.field(1e6 * time, 3);
  } else {
    writer.field(std::string_view());
  }
}

/// The solver asked for; of an arm that is not driven everywhere the one that knows what its drives
/// do. One whose sections bend in one plane may have others.
AnySolver solver_of(const ContinuumDescription& description, const IkArguments& arguments) {
  const Actuation driven = actuation(description);
  const bool is_default = arguments.solver == solver_infos().front().name && !arguments.roll;
  const std::optional<int> undriven = section_driven_in_part(description);
  if (driven.moves_all() || (!undriven && !is_default))
    return make_solver(arguments.solver, description.kinematics(), arguments.options);
  if (!is_default)
    throw ModelError(fmt::format(
        "{}: section {} is not driven in every direction: {}", arguments.robot, *undriven + 1,
        arguments.roll ? "--roll cannot be met"
                       : fmt::format("--solver must be {}", solver_infos().front().name)));
  const SolverOptions& options = arguments.options;
  DrivenOptions own{.position_tolerance = options.position_tolerance,
                    .angle_tolerance = options.angle_tolerance};
  if (options.max_iterations != 0) own.max_iterations = options.max_iterations;
  return AnySolver(DrivenSolver(description.kinematics(), driven, own));
}

/// Solves the table block by block in constant memory.
Summary solve_table(const ContinuumDescription& description, const IkArguments& arguments) {
  const Clock::time_point begin = Clock::now();
  const AnySolver solver = solver_of(description, arguments);
  const ContinuumRobot& robot = solver.robot();
  simulation::CsvLayout layout{.columns = {}, .ignored = {}, .allowed = kTargetColumns};
  for (std::size_t k = 0; k < kTipColumns.size(); ++k)
    layout.columns.push_back({kTipColumns[k], k < 3});
  simulation::CsvReader reader(arguments.targets, layout);
  const TipTask task = arguments.roll          ? TipTask::Pose
                       : has_direction(reader) ? TipTask::PositionAndDirection
                                               : TipTask::Position;
  if (arguments.roll) require_roll(reader, arguments.solver, robot);
  simulation::CsvWriter writer(arguments.out);
  std::optional<DriveValues> drives;
  if (arguments.drives) drives = drives_of(description, arguments.robot);
  write_header(writer, robot, drives);

  TableProgress progress(arguments.quiet, arguments.out);
  std::vector<double> values(drives ? drives->drives().size() : 0);
  const auto sections = static_cast<std::size_t>(robot.section_count());
  std::vector<double> row(layout.columns.size());
  std::vector<TipTarget> targets;
  std::vector<BatchResult> results;
  std::vector<SectionState> states;
  Summary summary;
  summary.reach = description.kinematics().max_length() + description.base.feed_limit;
  for (bool more = true; more;) {
    targets.clear();
    while (targets.size() < kBlock && (more = reader.read(row)))
      targets.push_back(target_of(row, task, reader));
    results.resize(targets.size());
    states.resize(targets.size() * sections);
    solve_batch(solver, targets, results, states,
                {.threads = arguments.threads, .measure_time = !arguments.no_time});
    for (std::size_t k = 0; k < results.size(); ++k) {
      summary.add(results[k], results[k].time);
      summary.nearest = std::min(summary.nearest, targets[k].position().norm());
      write_result(writer, results[k], results[k].time, !arguments.no_time);
      const SectionStates found = SectionStates(states).subspan(k * sections, sections);
      write_state(writer, robot, found, results[k].base);
      if (drives && !drives->values(found, results[k].base, values)) ++summary.not_held;
      for (const double value : values) writer.field(value);
      writer.end_row();
    }
    writer.flush();
    progress.show(reader, summary.rows);
  }
  progress.finish();
  writer.finish();
  summary.wall_time = std::chrono::duration<double>(Clock::now() - begin).count();
  return summary;
}

// ---- mobile robots ------------------------------------------------------------------------------

/// The result with a pose: if the solver has none, the start and its errors.
MobileResult with_pose(MobileResult result, const MobileRobot& robot, const ToolTarget& target,
                       const MobileStart& start) {
  const bool has_pose = static_cast<int>(result.joints.size()) == robot.joint_count() &&
                        std::isfinite(result.position_error) && std::isfinite(result.angle_error);
  if (has_pose) return result;
  result.base = start.base;
  result.joints = start.joints;
  const Eigen::Isometry3d X_WE = tool_pose(robot, start.base, start.joints);
  result.position_error = (X_WE.translation() - target.X_WG.translation()).norm();
  result.angle_error = rotation_angle(X_WE.linear(), target.X_WG.linear());
  return result;
}

/// Solves the table row by row, each from the robot's start.
Summary solve_table(const MobileDescription& description, const IkArguments& arguments) {
  for (const auto& [given, flag] :
       {std::pair(arguments.drives, "--drives"), {arguments.roll, "--roll"}})
    if (given)
      throw ModelError(fmt::format("{}: {}: is a mobile robot, must be a continuum robot", flag,
                                   arguments.robot));
  const Clock::time_point begin = Clock::now();
  const MobileRobot robot = description.kinematics();
  const MobileStart start = description.start_pose();
  AnyMobileSolver solver = make_mobile_solver(arguments.solver, robot, arguments.options);
  simulation::CsvLayout layout{.columns = {}, .ignored = {}, .allowed = "x,y,z,roll,pitch,yaw"};
  for (const char* const name : kToolColumns) layout.columns.push_back({name, true});
  simulation::CsvReader reader(arguments.targets, layout);
  simulation::CsvWriter writer(arguments.out);
  write_columns(writer, pose_columns(robot));
  writer.end_row();

  TableProgress progress(arguments.quiet, arguments.out);
  std::vector<double> row(layout.columns.size());
  Summary summary;
  while (reader.read(row)) {
    const ToolTarget target = tool_target({row[0], row[1], row[2]}, row[3], row[4], row[5]);
    if (target.X_WG.translation().lpNorm<Eigen::Infinity>() > kFarthestTarget)
      reader.refuse(fmt::format("columns x,y,z: {}, {}, {}: must be within {} m", row[0], row[1],
                                row[2], kFarthestTarget));
    const Clock::time_point before = Clock::now();
    const MobileResult solved = solver.solve(target, start.base, start.joints);
    const double time = std::chrono::duration<double>(Clock::now() - before).count();
    const MobileResult result = with_pose(solved, robot, target, start);
    summary.add(result, time);
    write_result(writer, result, time, !arguments.no_time);
    for (const double value : {result.base.x, result.base.y, result.base.heading})
      writer.field(value);
    for (const double angle : result.joints) writer.field(angle);
    writer.end_row();
    if (static_cast<std::size_t>(summary.rows) % kBlock != 0) continue;
    writer.flush();
    progress.show(reader, summary.rows);
  }
  progress.finish();
  writer.finish();
  summary.wall_time = std::chrono::duration<double>(Clock::now() - begin).count();
  return summary;
}

std::string summary_text(const Summary& summary, const IkArguments& arguments) {
  std::string text = summary.rows > 0 && summary.converged == 0 ? "no target was reached: " : "";
  text += fmt::format("{} of {} rows converged", summary.converged, summary.rows);
  if (summary.rows == 0) return text;
  if (summary.nearest > kFarFromReach * summary.reach) {
    text += fmt::format(
        " (the nearest target is {:.3g} m away, the arm reaches {:.3g} m: are the targets in m?)",
        summary.nearest, summary.reach);
  }
  text += fmt::format(" ({:.6g} %)", 100.0 * static_cast<double>(summary.converged) /
                                         static_cast<double>(summary.rows));
  for (const auto& [status, count] : summary.failures)
    text += fmt::format(", {} {}", count, status);
  text += fmt::format("; position error mean {:.2g} m, worst {:.2g} m",
                      summary.position_error.mean(), summary.position_error.worst());
  text += fmt::format("; angle error mean {:.2g} rad, worst {:.2g} rad", summary.angle_error.mean(),
                      summary.angle_error.worst());
  if (summary.not_held > 0)
    text += fmt::format("; {} rows that tensions or pressures within their limits do not hold",
                        summary.not_held);
  text += fmt::format("; {:.3g} s", summary.wall_time);
  if (!arguments.no_time)
    text += fmt::format(", {:.3g} us a solve, worst {:.3g} us", summary.time_us.mean(),
                        summary.time_us.worst());
  return text;
}

std::string summary_json(const Summary& summary, const IkArguments& arguments) {
  using Json = nlohmann::ordered_json;
  const auto spread = [](const Spread& values) {
    return Json{{"mean", values.mean()}, {"worst", values.worst()}};
  };
  Json json;
  json["solver"] = arguments.solver;
  json["rows"] = summary.rows;
  json["converged"] = summary.converged;
  json["rate"] =
      summary.rows > 0
          ? Json(static_cast<double>(summary.converged) / static_cast<double>(summary.rows))
          : Json(nullptr);
  json["failures"] = summary.failures;
  json["position_error"] = spread(summary.position_error);
  json["angle_error"] = spread(summary.angle_error);
  json["time_us"] = arguments.no_time ? Json(nullptr) : spread(summary.time_us);
  if (arguments.drives) json["not_held"] = summary.not_held;
  json["wall_time"] = summary.wall_time;
  return json.dump(2) + '\n';
}

int run(IkArguments arguments) {
  if (arguments.json && (arguments.out.empty() || arguments.out == "-"))
    throw ModelError("--json: must be given with -o FILE: stdout holds the rows otherwise");
  if (arguments.max_iterations) {
    if (*arguments.max_iterations < 1)
      throw ModelError(
          fmt::format("--max-iterations: {}: must be >= 1", *arguments.max_iterations));
    arguments.options.max_iterations = *arguments.max_iterations;
  }
  if (arguments.threads < 0)
    throw ModelError(fmt::format("--threads: {}: must be >= 0", arguments.threads));
  simulation::require_kind(arguments.robot, "ik", {simulation::FileKind::Robot});
  simulation::require_kind(arguments.targets, "ik ROBOT", {simulation::FileKind::Table});
  Summary summary;
  visit_kinematics(arguments.robot,
                   [&](const auto& description) { summary = solve_table(description, arguments); });
  if (arguments.json) print_data(summary_json(summary, arguments));
  if (!arguments.quiet)
    write_shown(stderr, "tendril ik: " + summary_text(summary, arguments) + '\n');
  return arguments.strict && summary.converged < summary.rows ? kExitNotConverged : 0;
}

std::string solver_list() {
  std::string text;
  auto group = SolverGroup::Recommended;
  for (const SolverInfo& info : solver_infos()) {
    if (info.group != group) text += "Published methods, for comparison:\n";
    group = info.group;
    text += fmt::format("  {:<24} {}\n", info.name, info.summary);
  }
  text += "Solvers for a mobile robot:\n";
  for (const MobileSolverInfo& info : mobile_solver_infos())
    text += fmt::format("  {:<24} {}\n", info.name, info.summary);
  return text;
}

}  // namespace

void add_ik_command(CommandLine& line) {
  const Command command = line.command(
      "ik", "Inverse kinematics: section states or poses for a table of tip or tool targets");
  const auto arguments = std::make_shared<IkArguments>();
  command.option("robot", arguments->robot, "robot file (.toml)").required();
  command
      .option("targets", arguments->targets,
              "CSV file (-: stdin) with the columns x,y,z[,zx,zy,zz]: position in m and unit "
              "direction of the tip in the robot's base frame; mobile robot: x,y,z,roll,pitch,yaw "
              "of the tool")
      .required();
  command.option("-o,--output", arguments->out, "CSV file to write instead of stdout").output();
  command.option("--solver", arguments->solver,
                 fmt::format("one of the solvers below [{}]", arguments->solver));
  command.option("--position-tolerance", arguments->options.position_tolerance,
                 fmt::format("m [{:g}]", arguments->options.position_tolerance));
  command.option("--angle-tolerance", arguments->options.angle_tolerance,
                 fmt::format("rad [{:g}]", arguments->options.angle_tolerance));
  command.option("--max-iterations", arguments->max_iterations,
                 "budget per row [that of the solver]");
  command.option("--threads", arguments->threads, "0: one per core [0]; mobile robots use one");
  command.flag("--roll", arguments->roll,
               "meet the column roll too: the turn about the direction, rad, against the least "
               "rotation of the base's z axis to it, as tendril fk gives it. Without this flag the "
               "column is ignored");
  command.flag("--drives", arguments->drives,
               "more columns: what to send to each drive for these states, \"drive NAME [unit]\"; "
               "lengths or tensions of tendons, pressures, angles of servos");
  command.flag("--strict", arguments->strict, "exit with 1 unless every row converged");
  command.flag("--no-time", arguments->no_time,
               "leave the column time_us empty: identical output in every run");
  command.flag("--json", arguments->json, "print the summary as JSON on stdout (with -o)");
  command.flag("--quiet", arguments->quiet, "no progress bar, no summary on stderr");
  command.footer(
      "Solvers:\n" + solver_list() +
      "Example: tendril ik models/arm_3x10.toml models/arm_3x10_targets.csv -o states.csv\n"
      "Exit codes: 0 done, 1 with --strict some rows did not converge, 2 bad input, 4 "
      "input/output");
  command.action([arguments] { return run(*arguments); });
}

}  // namespace tendril
