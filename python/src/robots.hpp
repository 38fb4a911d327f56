#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "python/src/arrays.hpp"
#include "tendril/kinematics/continuum_robot.hpp"
#include "tendril/mobile/continuum_solver.hpp"
#include "tendril/mobile/robot.hpp"
#include "tendril/snake/snake_chain.hpp"

// Robots as Python has them: what the library calculates with, and a name.
namespace tendril::python {

struct PyContinuumRobot {
  std::string name;
  std::vector<SectionParameters> sections;
  ContinuumRobot robot;
};

struct PySnake {
  std::string name;
  SnakeChain chain;
};

struct PyMobileRobot {
  std::string name;
  MobileRobot robot;
  std::vector<double> start;  ///< x, y, heading, joints
};

/// A continuum arm on a platform.
struct PyMobileArm {
  std::string name;
  PyContinuumRobot arm;
  Eigen::Isometry3d X_PB;
};

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

void bind_continuum(nb::module_& module);
void bind_snake(nb::module_& module);
void bind_mobile(nb::module_& module);
void bind_load_robot(nb::module_& module);
void bind_solver(nb::module_& module);
void bind_plan(nb::module_& module);

/// Annotations of signatures.
#define TENDRIL_ARRAY "numpy.typing.NDArray[numpy.float64]"
#define TENDRIL_LIKE "numpy.typing.ArrayLike"

}  // namespace tendril::python
