#include "controllers/coil_controller.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tendril/model_error.hpp"
#include "tests/controllers/kinematic_arm.hpp"
#include "tests/support/allocation_counter.hpp"
#include "tests/support/reference_robots.hpp"

using namespace tendril;
using namespace tendril::test;
using Eigen::Vector3d;
using Texts = std::vector<std::pair<std::string, std::string>>;

namespace {

constexpr double kTimestep = 0.004;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kPostRadius = 0.03, kTightRadius = 0.04;

ContinuumRobot long_arm(double feed_limit = 0.6) {
  const SectionParameters section{.length = 0.1, .bend_angle_limit = 2.4};
  return ContinuumRobot(std::vector<SectionParameters>(6, section), {.feed_limit = feed_limit});
}

/// Round the leaning post of scenes/wrap_button.
Texts around_post(Texts more = {}) {
  for (const auto& [name, value] : Texts{{"cylinder_point", "0.16 0.047 0.645"},
                                         {"cylinder_axis", "-0.9063 0 0.4226"},
                                         {"cylinder_radius", "0.03"},
                                         {"winding", "5.3"},
                                         {"tight_radius", "0.04"},
                                         {"press", "0.01 0 0"},
                                         {"start_delay", "0.1"}}) {
    bool given = false;
    for (const auto& [other, text] : more) given = given || other == name;
    if (!given) more.emplace_back(name, value);
  }
  return more;
}

CoilController make(const ContinuumRobot& robot, Texts texts) {
  const Settings settings(CoilController::settings(), std::move(texts));
  return CoilController({robot, settings, kTimestep, kInfinity});
}

double distance_from_post(const Vector3d& p) {
  const Vector3d axis = Vector3d(-0.9063, 0, 0.4226).normalized();
  return (p - Vector3d(0.16, 0.047, 0.645)).cross(axis).norm();
}

}  // namespace

TEST_CASE("wind: feeds clear of the post, draws tight, presses and holds", "[controllers]") {
  // Sections of constant curvature miss a helix of 47 mm by this much.
  constexpr double kDeviation = 0.006, kTipDeviation = 0.002;
  const ContinuumRobot robot = long_arm();
  CoilController controller = make(robot, around_post());
  KinematicArm arm(robot, kTimestep);
  ControllerRun run(controller, robot);
  double last_progress = 0.0, nearest = 1.0;
  Vector3d pressed_from = Vector3d::Zero();
  int steps = 0;
  while (run.report.status == ControllerStatus::Working && steps < 6000) {
    run.step(arm);
    ++steps;
    REQUIRE(run.command.q.allFinite());
    REQUIRE(run.command.base.feed >= 0.0);
    REQUIRE(run.command.base.feed <= robot.base().feed_limit);
    REQUIRE(run.report.progress >= last_progress - 1e-12);
    last_progress = run.report.progress;
    if (last_progress > 0.0 && last_progress < 0.5) {
      REQUIRE(run.report.tip_error < kTipDeviation);
      nearest = std::min(nearest, distance_from_post(arm.measurement.X_BE.translation()));
    }
    if (last_progress < 0.751) pressed_from = arm.measurement.X_BE.translation();
  }
  CHECK(run.report.status == ControllerStatus::Finished);
  CHECK(nearest > kPostRadius + 0.008);
  for (int k = 0; k < 500; ++k) run.step(arm);  // the last sections come to rest
  const Vector3d pressed = arm.measurement.X_BE.translation() - pressed_from;
  CHECK((pressed - Vector3d(0.01, 0, 0)).norm() < 0.002);
  std::vector<SectionState> states(6);
  from_coordinates(robot, run.command.plan, states);
  for (int i = 2; i < 4; ++i) {  // sections that lie on the winding
    for (const double fraction : {0.0, 0.5, 1.0}) {
      const Vector3d p = backbone_pose(robot, states, run.command.base, i, fraction).translation();
      CHECK(distance_from_post(p) == Approx(kTightRadius).margin(kDeviation));
    }
  }
}

TEST_CASE("wind: an update is a pure function of its arguments and allocates nothing",
          "[controllers]") {
  const ContinuumRobot robot = long_arm();
  CoilController controller = make(robot, around_post({{"speed", "1"}}));
  KinematicArm arm(robot, kTimestep);
  ControllerRun run(controller, robot);
  for (int k = 0; k < 1500; ++k) {
    run.update(arm.measurement);
    const Eigen::VectorXd q = run.command.q;
    const std::vector<double> next = run.next;
    AllocationCounter counter;
    run.update(arm.measurement);
    if (k % 100 == 0) REQUIRE(counter.count() == 0);
    REQUIRE(run.command.q == q);
    REQUIRE(run.next == next);
    run.step(arm);
  }
}

TEST_CASE("wind: settings out of range are refused by name", "[controllers]") {
  const ContinuumRobot robot = long_arm();
  const auto refused = [&](Texts texts, const char* name) {
    CHECK_THROWS_WITH(make(robot, around_post(std::move(texts))), Catch::Contains(name));
  };
  refused({{"cylinder_radius", "0"}}, "cylinder_radius");
  refused({{"cylinder_axis", "1 2"}}, "cylinder_axis");
  refused({{"tight_radius", "0.06"}}, "tight_radius");
  refused({{"pull_back", "-1"}}, "pull_back");
  refused({{"press_sections", "7"}}, "press_sections");
  refused({{"exit_length", "2"}}, "path length");
  const Settings without_post(CoilController::settings());
  CHECK_THROWS_WITH(CoilController({robot, without_post, kTimestep, kInfinity}),
                    Catch::Contains("cylinder_point"));
  CHECK_THROWS_WITH(make(long_arm(0.1), around_post()), Catch::Contains("path length"));
}
