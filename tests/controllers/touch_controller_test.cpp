#include "controllers/arm/touch_controller.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>
#include <utility>
#include <vector>

#include "controllers/arm/contact_response.hpp"
#include "tests/controllers/kinematic_arm.hpp"
#include "tests/support/allocation_counter.hpp"
#include "tests/support/random.hpp"
#include "tests/support/reference_robots.hpp"

using namespace tendril;
using namespace tendril::test;
using Eigen::Vector3d;
using Texts = Settings::Texts;

namespace {

constexpr double kTimestep = 0.002;
constexpr double kStiffness = 100.0;  // of the wall [N/m]
constexpr double kForce = 0.5;        // desired [N]
constexpr double kAtTip = 0.301;      // arc length, of plain_robot [m]

/// An arm without physics before a soft wall, with a controller.
struct Touching {
  explicit Touching(Texts texts = {}, std::span<const BodySpring> springs = {},
                    const Actuation& actuation = kMovesAll,
                    const ContinuumRobot& touching_robot = plain_robot())
      : robot(touching_robot),
        settings(TouchController::settings(), std::move(texts)),
        controller({.robot = robot,
                    .settings = settings,
                    .timestep = kTimestep,
                    .springs = springs,
                    .actuation = actuation}),
        arm(robot, kTimestep),
        run(controller, robot) {
    // The tip of this arm is where it is commanded, and the wall gives way. An arm of this
    // compliance at a rigid wall has the same force.
    X_BW = tip_pose(robot, std::vector<SectionState>{{0.7, 0.3, 0}, {0.9, -0.4, 0}, {0.5, 1.0, 0}});
    arm.measurement.has_target = true;
    arm.measurement.X_BG = X_BW;
    move_target({0.0, 0.0, 0.003});
  }
  [[nodiscard]] Vector3d normal() const { return -X_BW.linear().col(2); }
  [[nodiscard]] double force() const {
    if (stuck_force > 0.0) return stuck_force;
    const Vector3d from = arm.measurement.X_BE.translation() - X_BW.translation();
    return wall ? std::max(0.0, -kStiffness * normal().dot(from)) : 0.0;
  }
  void step() {
    arm.measurement.contacts.clear();
    if (force() > 0.0)
      arm.measurement.contacts.push_back(
          {.normal = normal(), .force = force(), .arc_length = kAtTip, .is_fixed = true});
    arm.measurement.tip_response.leftCols(arm.measurement.q.size()) =
        arm.measurement.tip_jacobian.leftCols(arm.measurement.q.size()) /
        (1.0 + ContactResponse::kStiffness / kStiffness);
    run.step(arm);
  }
  void steps(double time) {
    for (double t = 0.0; t < time; t += kTimestep) step();
  }
  /// Moves the target by this, seen from the wall: its z axis points into the wall.
  void move_target(const Vector3d& p) { arm.measurement.X_BG.translation() = X_BW * p; }

  ContinuumRobot robot;
  Settings settings;
  TouchController controller;
  KinematicArm arm;
  ControllerRun run;
  Eigen::Isometry3d X_BW;
  bool wall = true;
  double stuck_force = 0.0;
};

constexpr std::size_t kTipForce = index_of(TouchController::kQuantities, "tip_force");
constexpr std::size_t kForceError = index_of(TouchController::kQuantities, "force_error");

}  // namespace

TEST_CASE(
    "touch: the force settles however deep the target is, and the tip follows it along the "
    "wall",
    "[controllers]") {
  const double depth = GENERATE(0.001, 0.005, 0.02);
  CAPTURE(depth);
  Touching touching;
  touching.move_target({0.0, 0.0, depth});
  touching.steps(4.0);
  CHECK(touching.force() == Approx(kForce).epsilon(0.01));
  CHECK(touching.run.report.own[kTipForce] == Approx(kForce).epsilon(0.01));
  CHECK(touching.run.report.own[kForceError] == Approx(0.0).margin(0.005));
  CHECK(touching.run.report.status == ControllerStatus::Working);
  for (int i = 1; i <= 500; ++i) {  // at 0.02 m/s
    touching.move_target({0.02 * kTimestep * i, 0.0, depth});
    touching.step();
    REQUIRE(touching.force() == Approx(kForce).epsilon(0.1));
    REQUIRE(touching.run.report.tip_error < 0.002);
  }
}

TEST_CASE("touch: a section that bends in one plane takes part, one that gives way is refused",
          "[controllers]") {
  std::vector<SectionParameters> sections;
  for (int i = 0; i < 3; ++i) sections.push_back(plain_robot().section(i).parameters());
  sections[1].bend_plane = BendPlane::XZ;
  Actuation actuation;
  actuation.directions = Eigen::MatrixXd::Zero(6, 5);
  for (const auto& [row, column] : {std::pair{0, 0}, {1, 1}, {2, 2}, {4, 3}, {5, 4}})
    actuation.directions(row, column) = 1.0;
  actuation.low = Eigen::VectorXd::Constant(5, -2.0);
  actuation.high = Eigen::VectorXd::Constant(5, 2.0);
  actuation.driven = actuation.directions * actuation.directions.transpose();
  actuation.rest = actuation.compliance = Eigen::VectorXd::Zero(6);
  actuation.independent = {true, true, true, false, true, true};
  std::vector<BodySpring> springs;
  for (const bool driven : actuation.independent)
    springs.push_back({.stiffness = 0.5, .driven = driven});
  Touching touching({}, springs, actuation, ContinuumRobot(sections));
  touching.move_target({0.0, 0.0, 0.005});
  for (double t = 0.0; t < 4.0; t += kTimestep) {
    touching.step();
    REQUIRE(touching.run.command.q[3] == 0.0);
  }
  CHECK(touching.force() == Approx(kForce).epsilon(0.01));
  CHECK(touching.run.report.status == ControllerStatus::Working);

  // It gives way across the plane.
  actuation.compliance[3] = 2.0;
  CHECK_THROWS_WITH(Touching({}, springs, actuation),
                    Catch::StartsWith("robot: section 2 is not bent in every direction "
                                      "(bend_servo = false): this controller commands"));
}

TEST_CASE("touch: the tip approaches at the given speed", "[controllers]") {
  Touching touching(Texts{{"speed", "0.02"}, {"approach_distance", "0.03"}});
  touching.wall = false;
  double fastest = 0.0;
  for (int i = 0; i < 2000; ++i) {
    const Vector3d before = touching.arm.measurement.X_BE.translation();
    touching.step();
    const Vector3d after = touching.arm.measurement.X_BE.translation();
    if (i > 500)  // it has come to the approach distance
      fastest = std::max(fastest, (after - before).norm() / kTimestep);
  }
  CHECK(fastest < 0.022);
  CHECK(touching.run.report.tip_error < 1e-4);
}

TEST_CASE(
    "touch: a target where nothing is touched gives the status no contact, and the tip waits "
    "there",
    "[controllers]") {
  Touching touching(Texts{{"force_time", "1"}});
  touching.wall = false;
  touching.steps(1.5);
  CHECK(touching.run.report.status == ControllerStatus::Working);
  touching.steps(4.0);
  CHECK(touching.run.report.status == ControllerStatus::NoContact);
  CHECK(touching.run.report.own[kForceError] == -kForce);
  CHECK(touching.run.report.tip_error < 1e-4);
  // The wall comes: it is touched.
  touching.wall = true;
  touching.move_target({0.0, 0.0, 0.003});
  touching.steps(2.0);
  CHECK(touching.run.report.status == ControllerStatus::Working);
  CHECK(touching.force() == Approx(kForce).epsilon(0.02));
}

TEST_CASE("touch: a force that is not reached gives the status no progress", "[controllers]") {
  Touching touching(Texts{{"force_time", "0.5"}});
  touching.steps(3.0);
  REQUIRE(touching.run.report.status == ControllerStatus::Working);
  touching.stuck_force = 2.0 * kForce;  // whatever is commanded
  touching.steps(0.4);
  CHECK(touching.run.report.status == ControllerStatus::Working);
  touching.steps(0.3);
  CHECK(touching.run.report.status == ControllerStatus::NoProgress);
}

TEST_CASE("touch: a target that is not finite changes nothing", "[controllers]") {
  Touching touching;
  touching.steps(3.0);
  const Eigen::Isometry3d X_BG = touching.arm.measurement.X_BG;
  touching.arm.measurement.X_BG.translation().x() = std::numeric_limits<double>::quiet_NaN();
  touching.step();
  CHECK(touching.run.report.status == ControllerStatus::InvalidTarget);
  touching.arm.measurement.X_BG = X_BG;
  touching.steps(3.0);
  CHECK(touching.run.report.status == ControllerStatus::Working);
  CHECK(touching.force() == Approx(kForce).epsilon(0.02));
}

TEST_CASE("touch: allocates nothing in a step", "[controllers]") {
  Touching touching;
  touching.steps(3.0);
  REQUIRE(touching.force() > 0.0);
  AllocationCounter counter;
  touching.controller.update(touching.arm.measurement, touching.run.memory, touching.run.next,
                             touching.run.command, touching.run.report);
  CHECK(counter.count() == 0);
}
