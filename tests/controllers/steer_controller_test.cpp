#include "controllers/arm/steer_controller.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <numbers>
#include <string>
#include <type_traits>
#include <vector>

#include "controllers/arm/follow_controller.hpp"
#include "tendril/model_error.hpp"
#include "tests/controllers/kinematic_arm.hpp"
#include "tests/support/allocation_counter.hpp"

using namespace tendril;
using namespace tendril::test;
using Eigen::Vector3d;
using Eigen::VectorXd;
using Texts = std::vector<std::pair<std::string, std::string>>;

namespace {

constexpr double kTimestep = 0.002;
constexpr double kShaft = 0.3, kTip = 0.1, kStraight = 0.5, kRadius = 0.15;  // [m]

/// A passive shaft and a tip.
ContinuumRobot scope(bool spin = false) {
  return ContinuumRobot(
      {{.length = kShaft, .bend_angle_limit = 6.0}, {.length = kTip, .bend_angle_limit = 2.5}},
      {.feed_limit = 0.6, .spin = spin});
}

/// @param tip  what its second section is
template <class Controller>
Controller make(const ContinuumRobot& robot, const BodySpring& tip, Texts texts) {
  const Settings settings(Controller::settings(), std::move(texts));
  const BodySpring shaft{.stiffness = 0.1, .driven = false};
  const std::vector<BodySpring> springs{shaft, shaft, tip, tip};
  return Controller({.robot = robot,
                     .settings = settings,
                     .timestep = kTimestep,
                     .feed_force_limit = 10.0,
                     .body_radius = 0.005,
                     .springs = springs});
}

const BodySpring kDriven{.stiffness = 0.1};

/// Straight, then an arc.
Texts bent_path(Texts more = {}) {
  more.emplace_back(
      "arcs", "0 " + std::to_string(kStraight) + " " + std::to_string(1.0 / kRadius) + " 0.3");
  more.emplace_back("start_delay", "0.1");
  more.emplace_back("integral_gain", "0");
  return more;
}

}  // namespace

TEST_CASE("steer: the tip lies on the path ahead of a shaft that takes no commands",
          "[controllers]") {
  const ContinuumRobot robot = scope();
  auto controller = make<SteerController>(robot, kDriven, bent_path({{"speed", "0.05"}}));
  KinematicArm arm(robot, kTimestep);
  // The shaft lies at the wall and is a little bent: the tip is steered from where it begins.
  VectorXd q = VectorXd::Zero(4);
  q[1] = GENERATE(0.0, 0.05);
  arm.move_to(q, {});
  ControllerRun run(controller, robot);
  while (run.command.base.feed < kStraight - kShaft && arm.measurement.time < 20.0) {
    run.step(arm);
    REQUIRE(run.command.q.head<2>() == q.head<2>());  // the shaft stays as it is
    REQUIRE(run.command.base.feed <= 0.05 * arm.measurement.time);
    if (arm.measurement.time > 1.0) REQUIRE(run.report.tip_error < 1.5e-3);
  }
  CHECK(run.report.progress > 0.6);
  // On the arc, whose radius the tip has.
  if (q[1] == 0.0) CHECK(run.command.q[2] == Approx(kTip / kRadius).epsilon(0.02));
}

TEST_CASE("steer: a wire turns at its base until its bent tip points along the path",
          "[controllers]") {
  const ContinuumRobot robot = scope(true);
  const BodySpring bent{.stiffness = 0.1, .rest = 0.5, .driven = false};
  auto controller = make<SteerController>(robot, bent,
                                          {{"waypoints", "0 0 0  0 0 0.45  0.3 0.3 0.6"},
                                           {"corner_radius", "0.1"},
                                           {"start_delay", "1000"}});
  KinematicArm arm(robot, kTimestep);
  VectorXd q = VectorXd::Zero(4);
  q[2] = -0.5;  // away from the path
  arm.move_to(q, {});
  ControllerRun run(controller, robot);
  for (int i = 0; i < 2500; ++i) run.step(arm);
  const Vector3d towards = arm.measurement.X_BE.linear().col(2);
  CHECK(std::atan2(towards.y(), towards.x()) == Approx(std::numbers::pi / 4).margin(0.02));
  CHECK(run.command.q == q);
  CHECK(run.command.base.feed == 0.0);
}

TEST_CASE("steer: a jam draws the arm back, and stops it in the end", "[controllers]") {
  const ContinuumRobot robot = scope();
  auto controller = make<SteerController>(robot, kDriven,
                                          bent_path({{"jam_retries", "2"}, {"jam_time", "0.01"}}));
  KinematicArm arm(robot, kTimestep);
  ControllerRun run(controller, robot);
  while (run.command.base.feed < 0.1) run.step(arm);
  int retreats = 0;
  double last = run.command.base.feed;
  bool back = false;
  while (run.report.status == ControllerStatus::Working && arm.measurement.time < 60.0) {
    arm.measurement.feed_force = run.command.base.feed >= 0.1 ? 10.0 : 0.0;  // a wall
    run.step(arm);
    const bool moves_back = run.command.base.feed < last;
    if (moves_back && !back) ++retreats;
    back = moves_back;
    last = run.command.base.feed;
  }
  CHECK(run.report.status == ControllerStatus::Jammed);
  CHECK(retreats == 2);
  CHECK(run.command.feed_rate == 0.0);
}

TEST_CASE("steer: force on the tip slows the feed", "[controllers]") {
  const ContinuumRobot robot = scope();
  auto controller = make<SteerController>(
      robot, kDriven, bent_path({{"tip_force_limit", "2"}, {"jam_time", "100"}}));
  KinematicArm arm(robot, kTimestep);
  ControllerRun run(controller, robot);
  for (const auto& [force, speed] : {std::pair{0.0, 0.03}, {1.0, 0.015}, {2.0, 0.0}, {9.0, 0.0}}) {
    arm.measurement.contacts.assign(
        1, {.normal = Vector3d::UnitX(), .force = force, .arc_length = kShaft + kTip - 0.002});
    for (int i = 0; i < 400; ++i) run.step(arm);
    CHECK(run.command.feed_rate == Approx(speed).margin(1e-9));
  }
}

TEST_CASE("steer: the feed waits for the bends that the rate limit allows", "[controllers]") {
  const ContinuumRobot robot = scope();
  constexpr double kRate = 0.2;  // [rad/s]; the path asks for speed / kRadius = 0.67
  auto controller = make<SteerController>(
      robot, kDriven, bent_path({{"speed", "0.1"}, {"rate_limit", std::to_string(kRate)}}));
  KinematicArm arm(robot, kTimestep);
  ControllerRun run(controller, robot);
  while (run.command.base.feed < kStraight - kShaft - 0.01 && arm.measurement.time < 30.0)
    run.step(arm);
  // A tip that enters an arc of radius R bends by v / R in a unit of time. It is not quite there
  // yet.
  CHECK(run.command.feed_rate == Approx(kRate * kRadius).epsilon(0.3));
}

TEST_CASE("steer: a tip in another branch makes no progress, and is drawn back farther and farther",
          "[controllers]") {
  const ContinuumRobot robot = scope(true);
  const BodySpring bent{.stiffness = 0.1, .rest = 0.5, .driven = false};
  const std::string table =
      "branch,x,y,z,radius\ntrunk,0,0,100,8\ntrunk,0,0,700,8\nleft,0,0,700,5\n"
      "left,150,0,700,5\nright,0,0,700,5\nright,0,0,1100,5\n";
  auto controller = make<SteerController>(robot, bent,
                                          {{"centerline", table},
                                           {"scale", "0.001"},
                                           {"branch", "left"},
                                           {"jam_retries", "3"},
                                           {"speed", "0.1"},
                                           {"start_delay", "0"}});
  KinematicArm arm(robot, kTimestep);
  VectorXd q = VectorXd::Zero(4);
  q[2] = 1e-3;  // straight on, into the right branch
  arm.move_to(q, {});
  ControllerRun run(controller, robot);
  std::vector<double> drawn_back;
  double from = 0.0, last = 0.0;
  bool back = false;
  while (run.report.status == ControllerStatus::Working && arm.measurement.time < 60.0) {
    run.step(arm);
    const double feed = run.command.base.feed;
    if (feed < last && !back) from = last;
    if (feed > last && back) drawn_back.push_back(from - last);
    back = feed == last ? back : feed < last;
    last = feed;
    REQUIRE(run.report.progress * 0.85 < 0.71);
  }
  CHECK(run.report.status == ControllerStatus::NotReached);
  REQUIRE(drawn_back.size() == 3);
  CHECK(drawn_back[1] > drawn_back[0] + 0.02);
  CHECK(drawn_back[2] > drawn_back[1] + 0.02);
}

TEST_CASE("steer: what cannot be steered is refused with the reason", "[controllers]") {
  const BodySpring straight{.stiffness = 0.1, .driven = false};
  const BodySpring bent{.stiffness = 0.1, .rest = 0.5, .driven = false};
  const auto message = Catch::StartsWith("robot: the last section is passive: ");
  CHECK_THROWS_WITH(make<SteerController>(scope(true), straight, bent_path()), message);
  CHECK_THROWS_WITH(make<SteerController>(scope(false), bent, bent_path()), message);
  CHECK_THROWS_WITH(make<SteerController>(scope(), kDriven, {{"arcs", "0 0.3"}}),
                    "arcs: path length = 0.3 m: must exceed the arm's length of 0.4 m");
}

TEST_CASE("follow: a driven tip reaches the end of the path behind a shaft that takes up feed",
          "[controllers]") {
  const ContinuumRobot robot = scope();
  // The tip enters the arc, the shaft ends where it begins.
  auto controller = make<FollowController>(
      robot, kDriven,
      {{"arcs", "0 " + std::to_string(kStraight) + " " + std::to_string(1.0 / kRadius) + " 0.1"},
       {"speed", "0.05"},
       {"start_delay", "0.1"}});
  KinematicArm arm(robot, kTimestep);
  // Along the wall a part of the feed is lost.
  const double lost = GENERATE(0.0, 0.05);
  ControllerRun run(controller, robot);
  double last = 0.0;
  while (run.report.status == ControllerStatus::Working && arm.measurement.time < 20.0) {
    run.update(arm.measurement);
    run.advance();
    REQUIRE(run.command.q.head<2>() == arm.measurement.q.head<2>());  // no command
    REQUIRE_FALSE(run.command.has_plan);
    REQUIRE(run.command.base.feed - last ==
            Approx(run.command.feed_rate * kTimestep).margin(1e-12));
    REQUIRE(run.report.tip_error < 2e-3);
    last = run.command.base.feed;
    arm.move_to(run.command.q, {.feed = (1.0 - lost) * last});
    arm.pass_time();
  }
  CHECK(run.report.status == ControllerStatus::Finished);
  CHECK(run.report.progress == Approx(1.0).margin(1e-9));
  CHECK(last == Approx((kStraight - kShaft) / (1.0 - lost)).margin(1.5e-3));
  // The end of the arc, by its geometry.
  const double angle = kTip / kRadius;
  const Vector3d end(kRadius * (1.0 - std::cos(angle)), 0.0, kStraight + kRadius * std::sin(angle));
  for (int i = 0; i < 1000; ++i) {
    run.update(arm.measurement);
    run.advance();
    arm.move_to(run.command.q, {.feed = (1.0 - lost) * run.command.base.feed});
    arm.pass_time();
  }
  CHECK((arm.measurement.X_BE.translation() - end).norm() < 2e-4);
}

TEST_CASE("follow: a jam behind a passive shaft is retried, and stops the feed in the end",
          "[controllers]") {
  const ContinuumRobot robot = scope();
  auto controller = make<FollowController>(robot, kDriven,
                                           bent_path({{"jam_retries", "2"}, {"jam_time", "0.01"}}));
  KinematicArm arm(robot, kTimestep);
  ControllerRun run(controller, robot);
  int retreats = 0;
  bool back = false;
  while (run.report.status == ControllerStatus::Working && arm.measurement.time < 60.0) {
    arm.measurement.feed_force = run.command.base.feed >= 0.1 ? 10.0 : 0.0;  // a wall
    run.step(arm);
    if (run.command.feed_rate < 0.0 && !back) ++retreats;
    back = run.command.feed_rate < 0.0;
  }
  CHECK(run.report.status == ControllerStatus::Jammed);
  CHECK(retreats == 2);
  CHECK(run.command.feed_rate == Approx(0.0).margin(1e-9));
}

TEST_CASE("follow: what does not end in driven sections behind a passive shaft is refused",
          "[controllers]") {
  const BodySpring passive{.stiffness = 0.1, .driven = false};
  CHECK_THROWS_WITH(make<FollowController>(scope(), passive, bent_path()),
                    Catch::StartsWith("robot: section 2 is passive (bend_servo = false): the last "
                                      "section must be driven"));
  CHECK_THROWS_WITH(make<FollowController>(scope(), kDriven, {{"target", "target"}}),
                    Catch::StartsWith("robot: section 1 is passive (bend_servo = false): a passive "
                                      "shaft is fed along waypoints, arcs or a centerline"));
  const SectionParameters section{.length = 0.1, .bend_angle_limit = 2.0};
  const ContinuumRobot three({section, section, section}, {.feed_limit = 0.6});
  const Settings settings(FollowController::settings(), bent_path());
  const std::vector<BodySpring> springs{kDriven, kDriven, passive, passive, kDriven, kDriven};
  CHECK_THROWS_WITH(FollowController({.robot = three,
                                      .settings = settings,
                                      .timestep = kTimestep,
                                      .body_radius = 0.005,
                                      .springs = springs}),
                    Catch::StartsWith("robot: section 1 is driven and section 2 not"));
}

TEST_CASE("follow, steer: behind a passive shaft a section that bends in one plane is refused",
          "[controllers]") {
  const BendPlane tip = GENERATE(BendPlane::XZ, BendPlane::YZ);
  const BendPlane shaft = GENERATE(BendPlane::Any, BendPlane::XZ);
  const bool is_planar = tip == BendPlane::XZ && shaft == BendPlane::XZ;
  const ContinuumRobot robot({{.length = 0.3, .bend_angle_limit = 6.0, .bend_plane = shaft},
                              {.length = 0.1, .bend_angle_limit = 2.5, .bend_plane = tip}},
                             {.feed_limit = 0.4});
  const auto check = [&](const auto& construct) {
    if (is_planar) {
      CHECK_NOTHROW(construct());
    } else {
      CHECK_THROWS_WITH(construct(),
                        Catch::StartsWith("robot: section 2 is bent in one plane (bend_plane): "));
    }
  };
  check([&] { make<FollowController>(robot, kDriven, bent_path()); });
  check([&] { make<SteerController>(robot, kDriven, bent_path()); });
}

TEST_CASE("steer: the path is the route through a table of branches", "[controllers]") {
  const std::string table =
      "branch,x,y,z,radius\ntrunk,0,0,100,8\ntrunk,0,0,500,8\nleft,0,0,500,5\nleft,60,0,580,5\n"
      "right,0,0,500,5\nright,-60,0,580,5\n";
  const Texts left{{"centerline", table}, {"scale", "0.001"}, {"branch", "left"}};
  const auto made = [](Texts texts, const std::pair<std::string, std::string>& more) {
    texts.push_back(more);
    return make<SteerController>(scope(), kDriven, std::move(texts));
  };
  const auto ends = [](const SteerController& controller) {
    std::vector<Vector3d> points(5);
    REQUIRE(controller.path({}, points) == 5);
    return std::pair(points.front(), points.back());
  };
  const auto [start, end] = ends(make<SteerController>(scope(), kDriven, left));
  CHECK(start.norm() < 1e-12);
  CHECK((end - Vector3d(0.06, 0, 0.58)).norm() < 1e-9);
  const auto near = ends(made(left, {"path_end", "0.03 0 0.54"})).second;
  CHECK((near - Vector3d(0.03, 0, 0.54)).norm() < 1e-3);

  CHECK_THROWS_WITH(made(left, {"waypoints", "0 0 0 0 0 1"}),
                    "centerline and waypoints: must be one of them: only one path can be followed");
  CHECK_THROWS_WITH(made(left, {"path_end", "0 0"}),
                    "path_end: 2 numbers: must be three coordinates");
  CHECK_THROWS_WITH(
      make<SteerController>(scope(), kDriven, {{"centerline", table}, {"branch", "up"}}),
      "branch = up: must be one of trunk, left, right");
  CHECK_THROWS_WITH(make<SteerController>(scope(), kDriven, {{"centerline", "branch,x,y,z\n"}}),
                    Catch::StartsWith("centerline: row 1, column radius: is missing"));
  CHECK_THROWS_WITH(make<SteerController>(scope(), kDriven,
                                          {{"centerline",
                                            "branch,x,y,z,radius\na,1,0,0,1\n"
                                            "a,1,0,9,1\n"},
                                           {"branch", "a"}}),
                    Catch::StartsWith("centerline: the first point of the first branch must lie "
                                      "on the feed axis"));
}

TEMPLATE_TEST_CASE("steer, follow: allocate nothing in a step", "[controllers]", SteerController,
                   FollowController) {
  const ContinuumRobot robot = scope();
  auto controller = make<TestType>(robot, kDriven, bent_path());
  KinematicArm arm(robot, kTimestep);
  ControllerRun run(controller, robot);
  for (int i = 0; i < 100; ++i) run.step(arm);
  std::vector<Vector3d> points(20);
  AllocationCounter counter;
  controller.update(arm.measurement, run.memory, run.next, run.command, run.report);
  CHECK(controller.path(run.next, points) == 20);
  CHECK(counter.count() == 0);
}
