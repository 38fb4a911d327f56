#include "tendril/avoidance/pose_path.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <sstream>

#include "tendril/kinematics/turning.hpp"
#include "tendril/model_error.hpp"
#include "tendril/number_text.hpp"

namespace tendril {
namespace {

constexpr int kDigits = 9;          // after the point, of every number
constexpr double kRounding = 1e-8;  // [rad], [m]: what the digits may push past a limit
constexpr double kLargest = 1e6;    // of any number
constexpr std::string_view kWhitespace = " \t\r\n";

std::vector<std::string> column_names(const ContinuumRobot& robot) {
  std::vector<std::string> names{"waypoint"};
  for (int i = 1; i <= robot.section_count(); ++i) {
    for (const char* name : {"theta_", "phi_", "s_"}) names.push_back(name + std::to_string(i));
  }
  if (robot.base().feed_limit > 0.0) names.emplace_back("h");
  if (robot.base().spin) names.emplace_back("omega0");
  return names;
}

std::string fixed_text(double value) {
  std::array<char, 64> text{};
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), value,
                                          std::chars_format::fixed, kDigits);
  return {text.data(), end};
}

/// Splits at `separators`; empty pieces are dropped when several separators may follow one another.
std::vector<std::string_view> pieces(std::string_view text, std::string_view separators,
                                     bool drop_empty) {
  std::vector<std::string_view> found;
  while (true) {
    const std::size_t end = text.find_first_of(separators);
    const std::string_view piece = text.substr(0, end);
    if (!piece.empty() || !drop_empty) found.push_back(piece);
    if (end == std::string_view::npos) return found;
    text.remove_prefix(end + 1);
  }
}

/// One row of numbers; `column` and the messages count as the reader of the file does.
class Row {
 public:
  Row(std::string_view text, std::size_t line, const std::vector<std::string>& names)
      : names_(names), line_(line) {
    const std::vector<std::string_view> words = pieces(text, ",", false);
    if (words.size() != names.size()) {
      refuse(std::to_string(words.size()) + " columns: must be " + std::to_string(names.size()));
    }
    for (std::size_t i = 0; i < words.size(); ++i) {
      const std::optional<double> value = read_number(words[i]);
      if (!value || std::abs(*value) > kLargest) {
        refuse("column " + names[i] + " = " + std::string(words[i]) +
               ": must be a finite number, at most 1e6");
      }
      values_.push_back(*value);
    }
  }

  [[nodiscard]] double operator[](std::size_t column) const { return values_[column]; }

  /// Refuses unless low <= value <= high up to the rounding; else the value brought inside.
  [[nodiscard]] double within(std::size_t column, double low, double high) const {
    if (values_[column] >= low - kRounding && values_[column] <= high + kRounding) {
      return std::clamp(values_[column], low, high);
    }
    refuse_column(column, "must be in [" + printed(low) + ", " + printed(high) + "]");
  }

  [[noreturn]] void refuse_column(std::size_t column, const std::string& allowed) const {
    refuse("column " + names_[column] + " = " + printed(values_[column]) + ": " + allowed);
  }
  [[noreturn]] void refuse(const std::string& what) const {
    throw ModelError("row " + std::to_string(line_) + ", " + what);
  }

 private:
  static std::string printed(double value) {
    std::ostringstream out;
    out << value;
    return out.str();
  }

  const std::vector<std::string>& names_;
  std::vector<double> values_;
  std::size_t line_;
};

PathPose read_pose(const Row& row, const ContinuumRobot& robot) {
  PathPose pose;
  pose.waypoint = row[0];
  std::size_t column = 1;
  for (int i = 0; i < robot.section_count(); ++i, column += 3) {
    const Section& section = robot.section(i);
    SectionState state;
    state.extension = row.within(column + 2, 0.0, section.variable_length());
    state.theta = row.within(column, 0.0, section.bend_angle_limit_at(state.extension));
    state.phi = row[column + 1];
    pose.states.push_back(state);
  }
  to_untwisted(robot, pose.states);
  if (robot.base().feed_limit > 0.0) {
    pose.base.feed = row.within(column++, 0.0, robot.base().feed_limit);
  }
  if (robot.base().spin) pose.base.spin = row[column];
  return pose;
}

}  // namespace

void interpolate_pose(const ContinuumRobot& robot, SectionStates a, SectionStates b,
                      double fraction, std::span<SectionState> between) noexcept {
  for (std::size_t i = 0; i < between.size(); ++i) {
    const Eigen::Vector2d bend =
        (1.0 - fraction) * bend_vector(a[i]) + fraction * bend_vector(b[i]);
    const double extension = (1.0 - fraction) * a[i].extension + fraction * b[i].extension;
    between[i] = robot.clamped(static_cast<int>(i),
                               state_from_bend_vector(bend.x(), bend.y(), extension,
                                                      fraction < 0.5 ? a[i].phi : b[i].phi));
  }
}

std::string pose_path_header(const ContinuumRobot& robot) {
  std::string header;
  for (const std::string& name : column_names(robot)) header += (header.empty() ? "" : ",") + name;
  return header;
}

std::string pose_path_csv(const ContinuumRobot& robot, const PosePath& path) {
  std::string text = pose_path_header(robot) + '\n';
  for (const PathPose& pose : path) {
    text += fixed_text(pose.waypoint);
    for (const SectionState& state : in_own_frames(robot, pose.states)) {
      for (const double value : {state.theta, state.phi, state.extension})
        text += ',' + fixed_text(value);
    }
    if (robot.base().feed_limit > 0.0) text += ',' + fixed_text(pose.base.feed);
    if (robot.base().spin) text += ',' + fixed_text(pose.base.spin);
    text += '\n';
  }
  return text;
}

PosePath parse_pose_path(std::string_view csv, const ContinuumRobot& robot) {
  const std::vector<std::string> names = column_names(robot);
  const std::vector<std::string_view> lines = pieces(csv, kWhitespace, true);
  const std::string header = pose_path_header(robot);
  if (lines.empty() || lines[0] != header) {
    throw ModelError("row 1, header = " + std::string(lines.empty() ? "" : lines[0]) +
                     ": must be " + header);
  }
  PosePath path;
  for (std::size_t line = 2; line <= lines.size(); ++line) {
    const Row row(lines[line - 1], line, names);
    if (path.empty() && row[0] != 0.0) row.refuse_column(0, "must be 0: the start");
    if (!path.empty() && !(row[0] > path.back().waypoint)) {
      row.refuse_column(0, "must be greater than in the row before");
    }
    if (line == lines.size() && row[0] != std::floor(row[0])) {
      row.refuse_column(0, "must be a whole number: the last row reaches a waypoint");
    }
    path.push_back(read_pose(row, robot));
  }
  if (path.size() < 2) {
    throw ModelError("rows: " + std::to_string(path.size()) +
                     " poses: must be at least a start and a waypoint");
  }
  return path;
}

}  // namespace tendril
