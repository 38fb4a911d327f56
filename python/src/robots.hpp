#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "controllers/interface/arm_controller.hpp"
#include "controllers/interface/mobile_controller.hpp"
#include "controllers/interface/snake_controller.hpp"
#include "python/src/arrays.hpp"
#include "tendril/kinematics/continuum_robot.hpp"
#include "tendril/mobile/continuum_solver.hpp"
#include "tendril/mobile/robot.hpp"
#include "tendril/model/robot_description.hpp"
#include "tendril/snake/path_march.hpp"
#include "tendril/snake/snake_chain.hpp"

// Robots as Python has them: what the library calculates with, and a name. `python_robot` makes one
// from the description of a file, and from the context of a controller.
namespace tendril::python {

struct PyContinuumRobot {
  using Context = ArmContext;
  static constexpr const char* kName = "ContinuumRobot";
  static void bind(nb::module_& module);

  std::string name;
  std::vector<SectionParameters> sections;
  ContinuumRobot robot;
};
[[nodiscard]] inline PyContinuumRobot python_robot(const ContinuumDescription& arm) {
  return {arm.name, arm.sections, arm.kinematics()};
}
[[nodiscard]] inline PyContinuumRobot python_robot(std::string_view name,
                                                   const ContinuumRobot& robot) {
  PyContinuumRobot arm{std::string(name), {}, robot};
  const auto weights = [](std::span<const double> w) {
    return w.size() < 2 ? std::vector<double>() : std::vector<double>(w.begin(), w.end());
  };
  for (int i = 0; i < robot.section_count(); ++i) {
    const Section& s = robot.section(i);
    arm.sections.push_back({s.length(), s.variable_length(), s.bend_angle_limit(),
                            weights(s.length_weights()), weights(s.angle_weights()),
                            s.turns() ? SectionRotation::Turning : SectionRotation::Bending});
  }
  return arm;
}
[[nodiscard]] inline PyContinuumRobot python_robot(const ArmContext& from) {
  return python_robot(from.name, from.robot);
}

struct PySnake {
  using Context = SnakeContext;
  static constexpr const char* kName = "Snake";
  static void bind(nb::module_& module);

  std::string name;
  SnakeChain chain;
  MarchBase base;
  double feed_limit;  ///< of a carriage [m]
};
[[nodiscard]] inline PySnake python_robot(const SnakeDescription& snake) {
  const MarchBase base = snake.base == SnakeBase::Free    ? MarchBase::Free
                         : snake.base == SnakeBase::Fixed ? MarchBase::Fixed
                                                          : MarchBase::Carriage;
  return {snake.name, snake.kinematics(), base, snake.feed_limit};
}
[[nodiscard]] inline PySnake python_robot(const SnakeContext& from) {
  const std::span<const double> lengths = from.link_lengths;
  const MarchBase base = from.is_free      ? MarchBase::Free
                         : from.is_fixed() ? MarchBase::Fixed
                                           : MarchBase::Carriage;
  return {std::string(from.name),
          SnakeChain({.link_lengths = {lengths.begin() + 1, lengths.end()},
                      .joint_limit = from.joint_limit,
                      .rear_length = lengths.front()}),
          base, from.feed_limit};
}

struct PyMobileRobot {
  using Context = MobileContext;
  static constexpr const char* kName = "MobileRobot";
  static void bind(nb::module_& module);

  std::string name;
  MobileRobot robot;
  std::vector<double> start;  ///< x, y, heading, joints
};
[[nodiscard]] inline PyMobileRobot python_robot(const MobileContext& from) {
  return {std::string(from.name), from.robot, {from.start.begin(), from.start.end()}};
}

/// A continuum arm on a platform.
struct PyMobileArm {
  using Context = PlatformContext;
  static constexpr const char* kName = "MobileArm";
  static void bind(nb::module_& module);

  std::string name;
  PyContinuumRobot arm;
  Eigen::Isometry3d X_PB;
};
[[nodiscard]] inline PyMobileArm python_robot(const PlatformContext& from) {
  return {std::string(from.name), python_robot(from.name, from.robot.arm), from.robot.X_PB};
}
/// A PyMobileRobot or a PyMobileArm.
[[nodiscard]] inline std::variant<PyMobileRobot, PyMobileArm> python_robot(
    const MobileDescription& robot) {
  if (robot.mounted)
    return PyMobileArm{robot.name, python_robot(robot.mounted->robot), robot.mounted->X_PB};
  const MobileStart start = robot.start_pose();
  std::vector<double> state{start.base.x, start.base.y, start.base.heading};
  state.insert(state.end(), start.joints.begin(), start.joints.end());
  return PyMobileRobot{robot.name, robot.kinematics(), std::move(state)};
}

/// Calls `use` with `std::type_identity` of each class of robots.
template <class Use>
void for_each_robot(const Use& use) {
  const auto use_all = [&]<class... Robot>(std::type_identity<Robot>... robots) {
    (use(robots), ...);
  };
  use_all(std::type_identity<PyContinuumRobot>(), std::type_identity<PySnake>(),
          std::type_identity<PyMobileRobot>(), std::type_identity<PyMobileArm>());
}

/// x, y, heading of a platform before other numbers.
inline constexpr std::size_t kPlatform = 3;
[[nodiscard]] inline PlatformPose platform_of(std::span<const double> numbers) noexcept {
  return {.x = numbers[0], .y = numbers[1], .heading = numbers[2]};
}
inline void write_platform(const PlatformPose& pose, double* to) noexcept {
  to[0] = pose.x;
  to[1] = pose.y;
  to[2] = pose.heading;
}

void bind_load_robot(nb::module_& module);
void bind_solver(nb::module_& module);
void bind_plan(nb::module_& module);
void bind_drives(nb::module_& module);
void bind_driver(nb::module_& module);
void bind_estimator(nb::module_& module);
void bind_workspace(nb::module_& module);

/// Annotations of signatures.
#define TENDRIL_ARRAY "numpy.typing.NDArray[numpy.float64]"
#define TENDRIL_LIKE "numpy.typing.ArrayLike"

}  // namespace tendril::python
