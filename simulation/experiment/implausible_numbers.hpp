#pragma once

#include <Eigen/Core>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "simulation/scene/robot_scale.hpp"
#include "tendril/notice.hpp"

namespace tendril::simulation {

/// What a number is compared with.
enum class Scale {
  One,       ///< nothing of the scene
  Duration,  ///< of the run
  Length,    ///< of the robot
  Speed,     ///< one length of the robot in a second
  Mass,      ///< of the robot
  Weight,    ///< of the robot, on Earth
  Moment,    ///< that weight at the robot's length
  Angle,     ///< the largest of the robot's sections or joints
  Rate       ///< that angle in a second
};

/// A number of an experiment, and the range in which it is believed.
struct Believed {
  const char* object;  ///< table or part of the experiment
  const char* key;
  const char* unit;
  Scale scale;
  double most;       ///< times the scale, of robots that stay where they are
  double most_away;  ///< of robots that travel, or of bodies that no robot follows
  const char* instead;
};

/// Returns the row of a number; there must be one.
[[nodiscard]] const Believed& believed(std::string_view object, std::string_view key);

/// Sizes with which the numbers of one table are compared.
struct Sizes {
  RobotScale robot;
  double duration = 0.0;
  bool is_fixed = false;  ///< what the number is of, with the robot

  /// Returns the size and how it is called; 0: it is not known.
  [[nodiscard]] std::pair<double, std::string> of(Scale scale) const;
};

/// Returns a number, or a list of a few, as messages have it.
[[nodiscard]] std::string text_of(std::span<const double> values);
/// Returns the largest size of several numbers.
[[nodiscard]] double largest(std::span<const double> values);

/// Numbers that are out of scale, one per line.
struct ImplausibleNumbers {
  std::string where;  ///< place of what is looked at, before each line
  Sizes sizes;        ///< with which its numbers are compared
  std::vector<std::string> lines;

  void say(NoticeCode code, const std::string& what);
  /// Adds a line for what begins when the run has ended.
  void begins(const char* object, const char* key, double start);
  /// Adds a line if the size of the values is above what is plausible; tells whether it is.
  bool flag(const Believed& row, std::string_view key, std::span<const double> values, double size);
  bool flag(const Believed& row, std::string_view key, std::span<const double> values);
  bool flag(const char* object, const char* key, double value);
  bool flag(const char* object, const char* key, const Eigen::Vector3d& value);
};

}  // namespace tendril::simulation
