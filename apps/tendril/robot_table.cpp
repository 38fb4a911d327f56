#include "apps/tendril/robot_table.hpp"

#include <fmt/format.h>

#include "tendril/kinematics/turning.hpp"
#include "tendril/system/file_descriptor.hpp"

namespace tendril {
namespace {

constexpr std::chrono::milliseconds kBetweenFrames{100};
constexpr std::chrono::milliseconds kBeforeFirstFrame{500};

bool is_terminal(const std::string& out) {
  return (out.empty() || out == "-") && system::is_terminal(system::Stream::Output);
}

}  // namespace

const ContinuumDescription& continuum_of(const RobotDescription& robot, const std::string& file,
                                         const char* command) {
  if (const auto* const arm = std::get_if<ContinuumDescription>(&robot)) return *arm;
  throw ModelError(std::visit(
      [&]<class D>(const D&) {
        return fmt::format("{}: is {}, must be a continuum robot for tendril {}", file, D::kWhat,
                           command);
      },
      robot));
}

std::vector<simulation::CsvColumn> state_columns(const ContinuumRobot& robot) {
  std::vector<simulation::CsvColumn> columns;
  for (int i = 0; i < robot.section_count(); ++i) {
    columns.push_back({fmt::format("theta_{}", i + 1), true});
    columns.push_back({fmt::format("phi_{}", i + 1), true});
    columns.push_back({fmt::format("s_{}", i + 1), robot.section(i).is_extensible()});
  }
  if (robot.base().feed_limit > 0.0) columns.push_back({"h", false});
  if (robot.base().spin) columns.push_back({"omega0", false});
  return columns;
}

std::string drive_column(const DriveValues::Drive& drive) {
  return fmt::format("drive {} [{}]", drive.name, drive.unit);
}

std::vector<simulation::CsvColumn> pose_columns(const MobileRobot& robot) {
  std::vector<simulation::CsvColumn> columns{
      {"base_x", true}, {"base_y", true}, {"base_heading", true}};
  for (int j = 1; j <= robot.joint_count(); ++j) columns.push_back({fmt::format("q_{}", j), true});
  return columns;
}

void write_state(simulation::CsvWriter& table, const ContinuumRobot& robot, SectionStates states,
                 const BaseState& base) {
  for (const SectionState& state : in_own_frames(robot, states)) {
    table.field(state.theta);
    table.field(state.phi);
    table.field(state.extension);
  }
  if (robot.base().feed_limit > 0.0) table.field(base.feed);
  if (robot.base().spin) table.field(base.spin);
}

void read_state(std::span<const double> row, const ContinuumRobot& robot,
                std::span<SectionState> states, BaseState& base) {
  std::size_t next = 0;
  for (SectionState& state : states) {
    state = {.theta = row[next], .phi = row[next + 1], .extension = row[next + 2]};
    next += 3;
  }
  to_untwisted(robot, states);
  if (robot.base().feed_limit > 0.0) base.feed = row[next++];
  if (robot.base().spin) base.spin = row[next];
}

TableProgress::TableProgress(bool quiet, const std::string& out)
    : bar_(quiet || is_terminal(out)),
      next_(std::chrono::steady_clock::now() + kBeforeFirstFrame) {}

void TableProgress::show(const simulation::CsvReader& reader, long rows) {
  const std::optional<double> part = reader.part();
  const auto now = std::chrono::steady_clock::now();
  if (!part || now < next_) return;
  next_ = now + kBetweenFrames;
  bar_.show(fmt::format("{} rows", rows), *part);
}

}  // namespace tendril
