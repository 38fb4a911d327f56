#include <fmt/format.h>

#include <memory>

#include "apps/tendril/commands.hpp"
#include "apps/tendril/robot_table.hpp"
#include "apps/tendril/terminal.hpp"
#include "simulation/files/file_kind.hpp"
#include "tendril/kinematics/forward_kinematics.hpp"
#include "tendril/kinematics/limit_violation.hpp"
#include "tendril/kinematics/turning.hpp"
#include "tendril/model/robot_description.hpp"

namespace tendril {
namespace {

constexpr long kRowsBetweenFrames = 4096;

struct FkArguments {
  std::string robot;
  std::string states;
  std::string out;
  bool quiet = false;
};

simulation::CsvLayout layout_of(const ContinuumDescription& description) {
  const ContinuumRobot robot = description.kinematics();
  simulation::CsvLayout layout{.columns = state_columns(robot),
                               .ignored = {kResultColumns.begin(), kResultColumns.end()},
                               .allowed = "theta_1,phi_1,s_1"};
  const DriveValues values(description);
  for (const DriveValues::Drive& drive : values.drives())
    layout.ignored.push_back(drive_column(drive));
  layout.ignored.insert(layout.ignored.end(), kWorkspaceColumns.begin(), kWorkspaceColumns.end());
  if (robot.section_count() > 1) layout.allowed += ",theta_2,...";
  const std::string last = "s_" + std::to_string(robot.section_count());
  if (robot.section_count() > 2) layout.allowed += "," + last;
  if (robot.base().feed_limit > 0.0) layout.allowed += "[,h]";
  if (robot.base().spin) layout.allowed += "[,omega0]";
  return layout;
}

/// Tool poses of a mobile robot.
void run(const FkArguments& arguments, const MobileDescription& description) {
  const MobileRobot robot = description.kinematics();
  const simulation::CsvLayout layout{
      .columns = pose_columns(robot),
      .ignored = {kResultColumns.begin(), kResultColumns.end()},
      .allowed = fmt::format("base_x,base_y,base_heading,q_1,...,q_{}", robot.joint_count())};
  simulation::CsvReader reader(arguments.states, layout);
  simulation::CsvWriter writer(arguments.out);
  for (const char* const name : kToolColumns) writer.field(std::string_view(name));
  writer.end_row();

  TableProgress progress(arguments.quiet, arguments.out);
  std::vector<double> row(layout.columns.size());
  for (long count = 1; reader.read(row); ++count) {
    const PlatformPose base{.x = row[0], .y = row[1], .heading = row[2]};
    const Eigen::Isometry3d X_WE = tool_pose(robot, base, JointAngles(row).subspan(3));
    const Eigen::Vector3d p = X_WE.translation(), angles = tool_angles(X_WE.linear());
    if (!p.allFinite() || !angles.allFinite())
      reader.refuse("columns " + layout.allowed + ": the tool pose is not finite");
    for (const double value : p) writer.field(value);
    for (const double value : angles) writer.field(value);
    writer.end_row();
    if (count % kRowsBetweenFrames == 0) progress.show(reader, count);
  }
  progress.finish();
  writer.finish();
}

/// Rows with states outside the limits.
class LimitCheck {
 public:
  /// @param violation  of the last row; empty: none
  void take(const simulation::CsvReader& reader, const std::string& violation) {
    if (violation.empty()) return;
    if (rows_++ == 0) first_ = reader.place() + ", " + violation;
  }
  /// Prints one notice for all rows.
  void report() const {
    if (rows_ == 0) return;
    const std::string more = rows_ == 1 ? "" : fmt::format("; {} such rows", rows_);
    notice("states-outside-limits", first_ + more);
  }

 private:
  long rows_ = 0;
  std::string first_;
};

/// Tip poses of a continuum robot.
void run(const FkArguments& arguments, const ContinuumDescription& description) {
  const ContinuumRobot robot = description.kinematics();
  const simulation::CsvLayout layout = layout_of(description);
  simulation::CsvReader reader(arguments.states, layout);
  simulation::CsvWriter writer(arguments.out);
  for (const char* const name : kTipColumns) writer.field(std::string_view(name));
  writer.end_row();

  TableProgress progress(arguments.quiet, arguments.out);
  std::vector<double> row(layout.columns.size());
  std::vector<SectionState> states(static_cast<std::size_t>(robot.section_count()));
  BaseState base;
  LimitCheck limits;
  for (long count = 1; reader.read(row); ++count) {
    read_state(row, robot, states, base);
    limits.take(reader, limit_violation(robot, states, base));
    const Eigen::Isometry3d X_BE = tip_pose(robot, states, base);
    const Eigen::Vector3d p = X_BE.translation();
    const Eigen::Vector3d z = X_BE.linear().col(2);
    if (!p.allFinite() || !z.allFinite())
      reader.refuse("columns " + layout.allowed + ": the tip pose is not finite");
    for (const double value : p) writer.field(value);
    for (const double value : z) writer.field(value);
    writer.field(roll_angle(X_BE.linear()));
    writer.end_row();
    if (count % kRowsBetweenFrames == 0) progress.show(reader, count);
  }
  progress.finish();
  writer.finish();
  if (!arguments.quiet) limits.report();
}

}  // namespace

void add_fk_command(CommandLine& line) {
  const Command command = line.command("fk", "Tip or tool poses of a table of states");
  const auto arguments = std::make_shared<FkArguments>();
  command.option("robot", arguments->robot, "robot file (.toml)").required();
  command
      .option(
          "states", arguments->states,
          "CSV file (-: stdin) with the columns theta_1,phi_1,s_1,theta_2,...[,h,omega0]: "
          "rad and m; s may be omitted for sections of fixed length; the output of "
          "tendril ik and workspace is accepted; mobile robot: base_x,base_y,base_heading,q_1,...")
      .required();
  command
      .option("-o,--output", arguments->out,
              "CSV file to write instead of stdout: x,y,z,zx,zy,zz,roll; mobile robot: "
              "x,y,z,roll,pitch,yaw")
      .output();
  command.flag("--quiet", arguments->quiet, "no progress bar, no notices");
  command.footer(
      "Example: tendril ik models/arm_3x10.toml models/arm_3x10_targets.csv | tendril fk "
      "models/arm_3x10.toml -\n"
      "Exit codes: 0 done, 2 bad input, 4 input/output");
  command.action([arguments] {
    simulation::require_kind(arguments->robot, "fk", {simulation::FileKind::Robot});
    simulation::require_kind(arguments->states, "fk ROBOT", {simulation::FileKind::Table});
    visit_kinematics(arguments->robot,
                     [&](const auto& description) { run(*arguments, description); });
    return 0;
  });
}

}  // namespace tendril
