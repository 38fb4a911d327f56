// The chain of links, driven by its native servos and settled without gravity, against the
// constant-curvature kinematics of tendril::core.

#include <catch2/catch.hpp>
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "tendril/kinematics/forward_kinematics.hpp"
#include "tests/mjcf/compiled_model.hpp"

using namespace tendril;
using namespace tendril::test;

namespace {

constexpr double kDegree = std::numbers::pi / 180.0;

// Twice to three times the servo's time constant of rest motion is left after this: 20 time
// constants of kv/kp = 0.05 s, taken in large steps that the implicit integrator damps.
constexpr double kSettlingTime = 1.5;  // [s]
constexpr double kRestSpeed = 1e-5;    // [rad/s]

/// Strong damping of the links' own vibrations: the tests look at the rest shape.
const std::string kDamped = "damping_time = 0.1\n";

std::string section_text(double length, int links, const std::string& more = "") {
  return "[[section]]\nconstant_length = " + std::to_string(length) +
         "\nbend_limit = 3.1415926\nlinks = " + std::to_string(links) + "\n" + kDamped + more;
}

/// Settles the robot on `states` in 0 g; the pose of `tip`.
Simulation settled(const RobotDescription& robot, SectionStates states,
                   const BaseState& base = {}) {
  Simulation simulation(continuum_mjcf(robot));
  simulation.set_gravity(Eigen::Vector3d::Zero());
  simulation.model->opt.timestep = 0.01;
  simulation.command(robot, states, base);
  simulation.run(kSettlingTime);
  CHECK(simulation.speed() < kRestSpeed);
  return simulation;
}

struct Deviation {
  double position = 0.0;   ///< part of the arm's length
  double direction = 0.0;  ///< angle of the tip directions [rad]
  double turn = 0.0;       ///< angle of the whole rotation between the tips, twist included [rad]
};

Deviation deviation(const RobotDescription& robot, SectionStates states) {
  const Simulation simulation = settled(robot, states);
  const ContinuumRobot kinematics = robot.kinematics();
  const Eigen::Isometry3d X_BE = tip_pose(kinematics, states);
  const Eigen::Isometry3d X_BT = simulation.site_pose(names::kTip);
  const Eigen::Vector3d z = X_BE.linear().col(2);
  const Eigen::Vector3d z_T = X_BT.linear().col(2);
  double length = 0.0;
  for (int i = 0; i < kinematics.section_count(); ++i) {
    length += kinematics.section(i).length() + states[static_cast<std::size_t>(i)].extension;
  }
  Deviation result;
  result.position = (X_BT.translation() - X_BE.translation()).norm() / length;
  result.direction = std::atan2(z.cross(z_T).norm(), z.dot(z_T));
  result.turn =
      Eigen::AngleAxisd(Eigen::Matrix3d(X_BE.linear().transpose() * X_BT.linear())).angle();
  return result;
}

}  // namespace

TEST_CASE("arc fidelity: a settled section is the constant-curvature arc", "[mjcf]") {
  struct Case {
    const char* name;
    int links;
    double bend;       // [rad]
    double tolerance;  // part of the length; the bars for 0 g
  };
  const auto c = GENERATE(values<Case>({{"N = 10, 60 deg", 10, 60 * kDegree, 1.5e-3},
                                        {"N = 10, 90 deg", 10, 90 * kDegree, 1.5e-3},
                                        {"N = 20, 60 deg", 20, 60 * kDegree, 3e-4},
                                        {"N = 20, 90 deg", 20, 90 * kDegree, 3e-4}}));
  const std::string compliance = GENERATE("section", "link");
  const double phi = GENERATE(0.0, 90 * kDegree, 200 * kDegree);
  CAPTURE(c.name, compliance, phi);
  const RobotDescription robot =
      parse_robot("compliance = \"" + compliance + "\"\n" + section_text(0.1, c.links), "arm.toml");
  const std::vector<SectionState> states{{.theta = c.bend, .phi = phi}};
  const Deviation d = deviation(robot, states);
  CAPTURE(d.position, d.direction, d.turn);
  CHECK(d.position < c.tolerance);
  CHECK(d.direction < 0.02);
  CHECK(d.turn < 0.02);
}
