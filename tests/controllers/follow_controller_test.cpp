#include "controllers/arm/follow_controller.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <numbers>
#include <string>
#include <vector>

#include "tendril/model_error.hpp"
#include "tendril/path/least_deviation.hpp"
#include "tests/controllers/kinematic_arm.hpp"
#include "tests/support/allocation_counter.hpp"
#include "tests/support/reference_robots.hpp"

using namespace tendril;
using namespace tendril::test;
using Eigen::Vector3d;
using Eigen::VectorXd;
using Texts = std::vector<std::pair<std::string, std::string>>;

namespace {

constexpr double kTimestep = 0.002;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The fit leaves the tip this close to the path where the sections cannot follow it exactly.
constexpr double kTipTolerance = 0.5e-3;

constexpr const char* kBentPath = "0 0 0  0 0 0.45  -0.2 0 0.45";

ContinuumRobot fed_robot(double feed_limit = 0.3) {
  const SectionParameters section{.length = 0.1, .bend_angle_limit = 100 * kDegree};
  return ContinuumRobot({section, section, section}, {.feed_limit = feed_limit});
}

constexpr double kBodyRadius = 0.008;  // [m]

FollowController make(const ContinuumRobot& robot, Texts texts,
                      double feed_force_limit = kInfinity) {
  const Settings settings(FollowController::settings(), std::move(texts));
  return FollowController({.robot = robot,
                           .settings = settings,
                           .timestep = kTimestep,
                           .feed_force_limit = feed_force_limit,
                           .body_radius = kBodyRadius});
}

Texts bent_path(Texts more = {}) {
  more.emplace_back("waypoints", kBentPath);
  more.emplace_back("corner_radius", "0.12");
  more.emplace_back("start_delay", "0.02");
  more.emplace_back("integral_gain", "0");
  return more;
}

/// End of the feed on the bent path: its length less the arm's 0.3 m.
const double kBentFeed = (0.45 - 0.12) + 0.12 * std::numbers::pi / 2 + (0.2 - 0.12) - 0.3;

}  // namespace

TEST_CASE("follow: feeds the arm along the path to its end", "[controllers]") {
  const ContinuumRobot robot = fed_robot();
  FollowController controller = make(robot, bent_path({{"speed", "0.2"}}));
  KinematicArm arm(robot, kTimestep);
  ControllerRun run(controller, robot);
  double last_feed = 0.0, last_progress = 0.0, last_rate = 0.0;
  int steps = 0;
  while (run.report.status == ControllerStatus::Working && steps < 5000) {
    run.step(arm);
    ++steps;
    REQUIRE(run.command.base.feed >= last_feed);
    REQUIRE(run.command.base.feed - last_feed <= 0.2 * kTimestep * (1 + 1e-9));
    REQUIRE(run.command.feed_rate - last_rate <= 0.2 * kTimestep * (1 + 1e-9));  // acceleration
    REQUIRE(run.command.feed_rate * kTimestep == Approx(run.command.base.feed - last_feed));
    REQUIRE(run.report.progress >= last_progress);
    REQUIRE(run.report.progress <= 1.0);
    REQUIRE((arm.measurement.X_BE.translation() - run.report.target).norm() < kTipTolerance);
    last_feed = run.command.base.feed;
    last_progress = run.report.progress;
    last_rate = run.command.feed_rate;
    if (arm.measurement.time < 0.02) CHECK(last_feed == 0.0);
  }
  CHECK(run.report.status == ControllerStatus::Finished);
  CHECK(last_progress == Approx(1.0).margin(1e-9));
  CHECK(last_feed == Approx(kBentFeed).margin(1e-5));  // the arc is sampled
  CHECK((arm.measurement.X_BE.translation() - Vector3d(-0.2, 0, 0.45)).norm() < kTipTolerance);
  run.step(arm);
  CHECK(run.command.base.feed == last_feed);
  CHECK(run.command.feed_rate == 0.0);
}

TEST_CASE("follow: sections that bend in one plane follow a path in it, and never leave it",
          "[controllers]") {
  const auto section = static_cast<std::size_t>(GENERATE(0, 1, 2));
  const int across = GENERATE(0, 1);
  std::vector<SectionParameters> sections(3, {.length = 0.1, .bend_angle_limit = 100 * kDegree});
  sections[section].bend_plane = across == 1 ? BendPlane::XZ : BendPlane::YZ;
  const ContinuumRobot robot(sections, {.feed_limit = 0.3});
  const int fixed = robot.coordinate_index(static_cast<int>(section)) + across;
  // The plane of the path is the one that this section bends in.
  const char* const path = across == 1 ? kBentPath : "0 0 0  0 0 0.45  0 -0.2 0.45";
  const Settings settings(
      FollowController::settings(),
      {{"waypoints", path}, {"corner_radius", "0.12"}, {"start_delay", "0.02"}, {"speed", "0.2"}});
  FollowController controller(
      {.robot = robot, .settings = settings, .timestep = kTimestep, .body_radius = kBodyRadius});
  KinematicArm arm(robot, kTimestep);
  arm.measurement.uneven_deflection.setConstant(1e-4);  // also across the plane
  ControllerRun run(controller, robot);
  for (int k = 0; k < 5000 && run.report.status == ControllerStatus::Working; ++k) {
    run.step(arm);
    REQUIRE(std::abs(run.command.q[fixed]) < 1e-12);
    REQUIRE((arm.measurement.X_BE.translation() - run.report.target).norm() < 4 * kTipTolerance);
  }
  CHECK(run.report.status == ControllerStatus::Finished);
}

TEST_CASE("follow: where a section would bend too fast the whole motion slows down",
          "[controllers]") {
  const ContinuumRobot robot = fed_robot();
  struct Case {
    const char *speed, *rate_limit;
  };
  const auto c = GENERATE(values<Case>({{"0.2", "0.8"}, {"10", "5"}}));
  CAPTURE(c.speed, c.rate_limit);
  const double rate_limit = std::stod(c.rate_limit);
  FollowController controller =
      make(robot,
           bent_path({{"speed", c.speed}, {"rate_limit", c.rate_limit}, {"acceleration", "1000"}}));
  KinematicArm arm(robot, kTimestep);
  ControllerRun run(controller, robot);
  VectorXd last = arm.measurement.q;
  double slowest = 1.0, fastest_bend = 0.0;
  while (run.report.status == ControllerStatus::Working && arm.measurement.time < 12.0) {
    run.step(arm);
    fastest_bend =
        std::max(fastest_bend, largest_change(robot, run.command.q, last, 0.05) / kTimestep);
    if (run.report.progress > 0.1 && run.report.progress < 0.95)
      slowest = std::min(slowest, run.command.feed_rate);
    // Slowed down, not clipped: the tip remains on the path.
    REQUIRE((arm.measurement.X_BE.translation() - run.report.target).norm() < kTipTolerance);
    last = run.command.q;
  }
  CHECK(run.report.status == ControllerStatus::Finished);
  CHECK(fastest_bend <= rate_limit * (1 + 1e-9));
  CHECK(slowest < 0.8 * std::stod(c.speed));
}

TEST_CASE("follow: a blocked tip stops the feed for good", "[controllers]") {
  const ContinuumRobot robot = fed_robot();
  FollowController controller =
      make(robot, bent_path({{"jam_time", "0.04"}, {"jam_retries", "0"}}));
  KinematicArm arm(robot, kTimestep);
  ControllerRun run(controller, robot);
  for (int i = 0; i < 200; ++i) run.step(arm);
  REQUIRE(run.command.base.feed > 0.005);
  // From here on the arm does not move any more; the plan continues until the error has grown.
  double blocked_since = -1.0;
  while (run.report.status == ControllerStatus::Working && arm.measurement.time < 3.0) {
    run.update(arm.measurement);
    run.advance();
    arm.pass_time();
    if (run.report.tip_error > 0.005 && blocked_since < 0.0) blocked_since = arm.measurement.time;
  }
  REQUIRE(run.report.status == ControllerStatus::Jammed);
  CHECK(arm.measurement.time - blocked_since == Approx(0.04).margin(2.1 * kTimestep));
  CHECK(run.command.base.feed == arm.measurement.base.feed);  // no servo force is stored up
  CHECK(run.command.feed_rate == 0.0);

  const double stopped = run.command.base.feed;
  for (int i = 0; i < 100; ++i) run.step(arm);  // free again
  CHECK(run.report.status == ControllerStatus::Jammed);
  CHECK(run.command.base.feed == stopped);
}

TEST_CASE("follow: the feed waits for an arm that sags, which is no jam, but not indefinitely",
          "[controllers]") {
  const ContinuumRobot robot = fed_robot();
  const bool rises = GENERATE(true, false);
  FollowController controller = make(robot, bent_path());
  KinematicArm arm(robot, kTimestep);
  ControllerRun run(controller, robot);
  double fed_from = -1.0, jammed_from = -1.0;
  while (arm.measurement.time < 8.0 && jammed_from < 0.0) {
    ArmMeasurement sagging = arm.measurement;  // 20 mm at first
    const double sag = rises ? 0.02 * std::exp(-arm.measurement.time) : 0.02;
    sagging.X_BE.translation().y() -= sag;
    run.update(sagging);
    const bool fed = run.command.base.feed > 0.0;
    if (fed && fed_from < 0.0) {
      fed_from = arm.measurement.time;
      CHECK(sag <= 0.0025);  // half of jam_tip_error
    }
    if (run.report.status == ControllerStatus::Jammed) jammed_from = arm.measurement.time;
    run.advance();
    arm.move_to(run.command.q, run.command.base);
    arm.pass_time();
    if (run.report.status == ControllerStatus::Finished) break;
  }
  if (rises) {
    // Near the path from then on, and still within a quarter of the limit for 0.25 s.
    const double near_from = std::log(0.02 / 0.0025);
    CHECK(fed_from >= near_from + 0.25 - 0.01);
    CHECK(fed_from <= near_from + 0.5);
    CHECK(jammed_from < 0.0);
  } else {
    CHECK(jammed_from == Approx(0.02 + 5.0 + 0.05).margin(0.01));
    CHECK(fed_from < 0.0);
  }
}

TEST_CASE("follow: from a jam the arm is drawn back and tries next to it, three times",
          "[controllers]") {
  const bool grows = GENERATE(false, true);
  const SectionParameters telescope{.variable_length = 0.15, .bend_angle_limit = 2.0};
  const ContinuumRobot robot =
      grows ? ContinuumRobot({telescope, telescope, telescope}) : fed_robot();
  FollowController controller =
      make(robot, {{"waypoints", "0 0 0  0 0 0.45"}, {"start_delay", "0"}, {"integral_gain", "0"}});
  // A wall with its edge on the path: it pushes the tip to the y side and lets it pass from there
  // on.
  const double edge = GENERATE(0.003, 0.007, 1.0);
  constexpr double kWall = 0.36, kFree = 1e-6;  // height of the tip at the wall [m]
  CAPTURE(edge);
  KinematicArm arm(robot, kTimestep);
  ControllerRun run(controller, robot);
  const auto extension = [](const VectorXd& q) { return q[2] + q[5] + q[8]; };
  double highest = 0.0, drawn_back = 0.0;  // advance at the wall
  for (int i = 0; i < 20'000 && run.report.status == ControllerStatus::Working; ++i) {
    run.update(arm.measurement);
    run.advance();
    KinematicArm moved = arm;
    moved.move_to(run.command.q, run.command.base);
    moved.pass_time();
    const Vector3d tip = moved.measurement.X_BE.translation();
    moved.measurement.contacts.clear();
    moved.measurement.feed_force = 0.0;
    const bool above = arm.measurement.X_BE.translation().z() > kWall + 0.01;
    const double advance = run.command.base.feed + (grows ? extension(run.command.q) : 0.0);
    if (!above && tip.z() > kWall + kFree && tip.y() < edge) {  // blocked
      highest = std::max(highest, advance);
      moved = arm;
      moved.pass_time();
      const Vector3d at = arm.measurement.X_BE.translation();
      moved.measurement.contacts = {
          {.position = at, .normal = Vector3d(0.0, 0.6, -0.8), .force = 5.0, .arc_length = 0.445}};
      moved.measurement.X_BE.translation().z() -= 0.006;  // the body gives way until that is a jam
    }
    arm = moved;
    drawn_back = std::max(drawn_back, highest - advance);
  }
  const double jams = run.report.own[index_of(FollowController::kQuantities, "jams")];
  CHECK(drawn_back > 1.9 * kBodyRadius);
  if (edge < 0.004) {  // half a radius aside suffices
    CHECK(jams == 1.0);
    CHECK(run.report.status == ControllerStatus::Finished);
    CHECK(run.report.progress == Approx(1.0));
    CHECK(run.report.tip_error > 0.0025);  // of the path that was asked for
  } else if (edge < 0.008) {
    CHECK(jams == 2.0);
    CHECK(run.report.status == ControllerStatus::NotReached);  // too far off its path
    CHECK(run.report.tip_error > 0.005);
  } else {
    CHECK(jams == 3.0);
    CHECK(run.report.status == ControllerStatus::Jammed);
    CHECK(run.report.progress < (grows ? 0.85 : 0.5));  // the wall is at 0.8, and 0.4 of the feed
  }
}

TEST_CASE("follow: reports the least deviation that is possible", "[controllers]") {
  const ContinuumRobot robot = fed_robot();
  KinematicArm arm(robot, kTimestep);
  const auto least = [&](const Texts& texts) {
    FollowController controller = make(robot, texts);
    ControllerRun run(controller, robot);
    run.step(arm);
    return run.report.own[index_of(FollowController::kQuantities, "least_deviation")];
  };
  CHECK(least({{"waypoints", "0 0 0  0 0 0.5"}}) < 1e-9);
  const Path path =
      rounded_path(std::vector<Vector3d>{{0, 0, 0}, {0, 0, 0.45}, {-0.2, 0, 0.45}}, 0.12);
  const double bound =
      least_deviation(robot, path, Advance(robot, Growth::None), kBentFeed).distance;
  CHECK(bound > 0.001);
  CHECK(least(bent_path()) == Approx(bound));
  CHECK(std::isnan(least({{"target", "target"}})));
}

TEST_CASE("follow: a tip that is off at the end of the path is no jam, a feed that is blocked is",
          "[controllers]") {
  const ContinuumRobot robot = fed_robot();
  FollowController controller =
      make(robot, bent_path({{"speed", "0.2"}, {"jam_time", "0.05"}}), 30.0);
  KinematicArm arm(robot, kTimestep);
  ControllerRun run(controller, robot);
  while (run.report.status == ControllerStatus::Working) run.step(arm);
  REQUIRE(run.report.status == ControllerStatus::Finished);
  const double feed = run.command.base.feed;
  for (int k = 0; k < 100; ++k) {
    KinematicArm pushed = arm;
    pushed.measurement.X_BE.translation().x() -= 0.008;
    run.step(pushed);
    arm.pass_time();
    REQUIRE(run.report.status == ControllerStatus::NotReached);
    REQUIRE(run.command.base.feed == feed);
  }
  run.step(arm);
  CHECK(run.report.status == ControllerStatus::Finished);
  arm.measurement.feed_force = 31.0;
  for (int k = 0; k < 100; ++k) run.step(arm);
  CHECK(run.command.base.feed < feed);
}

TEST_CASE("follow: feed force at its limit stops the feed, a short push does not",
          "[controllers]") {
  const ContinuumRobot robot = fed_robot();
  FollowController controller =
      make(robot, bent_path({{"jam_time", "0.05"}, {"jam_retries", "0"}}), 30.0);
  KinematicArm arm(robot, kTimestep);
  ControllerRun run(controller, robot);
  for (int i = 0; i < 100; ++i) run.step(arm);
  arm.measurement.feed_force = -29.9;  // 0.98 of 30 N and more
  for (int i = 0; i < 20; ++i) run.step(arm);
  CHECK(run.report.status == ControllerStatus::Working);
  arm.measurement.feed_force = 10.0;
  run.step(arm);
  arm.measurement.feed_force = 29.5;
  for (int i = 0; i < 20; ++i) run.step(arm);
  CHECK(run.report.status == ControllerStatus::Working);
  for (int i = 0; i < 10; ++i) run.step(arm);
  CHECK(run.report.status == ControllerStatus::Jammed);
}

TEST_CASE("follow: telescopic sections grow into the arcs of the path, and stay there",
          "[controllers]") {
  constexpr double kCurvature[] = {4.0, -7.0, 2.0}, kLength[] = {0.2, 0.15, 0.25};
  std::vector<SectionParameters> sections;
  std::string arcs;
  for (int i = 0; i < 3; ++i) {
    sections.push_back({.variable_length = kLength[i], .bend_angle_limit = 2.0});
    arcs += std::to_string(kCurvature[i]) + " " + std::to_string(kLength[i]) + " ";
  }
  const ContinuumRobot robot(sections);
  FollowController controller = make(robot, {{"arcs", arcs},
                                             {"start_delay", "0.02"},
                                             {"speed", "0.2"},
                                             {"rate_limit", "20"},
                                             {"integral_gain", "0"}});
  KinematicArm arm(robot, kTimestep);  // half grown
  ControllerRun run(controller, robot);
  VectorXd last = arm.measurement.q;
  bool retracted = false;
  while (run.report.status == ControllerStatus::Working && arm.measurement.time < 12.0) {
    run.step(arm);
    const VectorXd& q = run.command.q;
    int moving = 0;
    for (int i = 0; i < 3; ++i) {
      const double s = q[3 * i + 2], change = std::abs(s - last[3 * i + 2]);
      if (change > 1e-12) ++moving;
      REQUIRE(change <= 0.2 * kTimestep * (1 + 1e-9));
      // A telescope of constant curvature in an arc of the same curvature.
      if (retracted && s > 0.02) REQUIRE(q[3 * i] / s == Approx(kCurvature[i]).epsilon(1e-3));
    }
    if (retracted) REQUIRE(moving <= 2);  // 2: the last of one and the first of the next
    if (moving == 0) retracted = true;
    last = q;
  }
  CHECK(run.report.status == ControllerStatus::Finished);
  for (int i = 0; i < 3; ++i) {
    CHECK(last[3 * i + 2] == Approx(kLength[i]).margin(1e-4));  // the path is a polyline
    CHECK(last[3 * i] == Approx(kCurvature[i] * kLength[i]).margin(1e-3));
  }
}

TEST_CASE("follow: sections with a constant part grow from the tip, the base stays",
          "[controllers]") {
  const SectionParameters section{
      .length = 0.06, .variable_length = 0.06, .bend_angle_limit = 100 * kDegree};
  const ContinuumRobot robot({section, section, section});
  FollowController controller = make(robot, {{"waypoints", "0 0 0  0 0 0.3  -0.1 0 0.3577"},
                                             {"corner_radius", "0.15"},
                                             {"start_delay", "0.02"},
                                             {"integral_gain", "0"}});
  KinematicArm arm(robot, kTimestep);
  ControllerRun run(controller, robot);
  while (run.report.status == ControllerStatus::Working && arm.measurement.time < 20.0) {
    run.step(arm);
    REQUIRE(run.command.base.feed == 0.0);
    REQUIRE(run.command.feed_rate == 0.0);
    if (arm.measurement.time < 2.0) continue;  // retracts

    REQUIRE(run.report.tip_error < kTipTolerance);
    for (int i = 0; i + 1 < 3; ++i)
      if (run.command.q[3 * i + 2] > 1e-9) REQUIRE(run.command.q[3 * i + 5] > 0.06 - 1e-9);
  }
  CHECK(run.report.status == ControllerStatus::Finished);
}

TEST_CASE("follow: every path that the arm cannot follow is refused with the reason",
          "[controllers]") {
  struct Case {
    std::string name;
    Texts texts;
    std::string message;
  };
  const auto with = [](const char* waypoints, const char* radius) {
    return Texts{{"waypoints", waypoints}, {"corner_radius", radius}};
  };
  const auto c = GENERATE_COPY(values<Case>({
      {"nothing to follow",
       {},
       "waypoints: missing: must be given, or arcs, or a centerline, or poses, or a target whose "
       "trail "
       "is followed"},
      {"one point", with("0 0 0", "0.1"),
       "waypoints: 3 numbers: must be at least two points of three coordinates"},
      {"a coordinate short", with("0 0 0 0 0 0.5 1 1", "0.1"),
       "waypoints: 8 numbers: must be at least two points of three coordinates"},
      {"not a number", with("0 0 0 0 0 x", "0.1"),
       "waypoints = x: must be finite numbers separated by spaces"},
      {"repeated points", with("0 0 0  0 0 0.5  0 0 0.5", "0.1"),
       "waypoints: path: waypoint 3: (0, 0, 0.5) m, must lie apart from waypoint 2"},
      {"repeated points after a first one ahead of the base",
       with("0 0 0.1  0 0 0.5  0 0 0.5", "0.1"),
       "waypoints: path: waypoint 3: (0, 0, 0.5) m, must lie apart from waypoint 2"},
      {"turns back", with("0 0 0  0 0 0.5  0 0 0.1", "0.1"),
       "waypoints: path: waypoint 2: the path turns back on itself here, must turn by less than "
       "pi"},
      {"off the feed axis", with("0.01 0 0  0 0 0.5", "0.1"),
       "waypoints: point 1 must lie on the feed axis: x = y = 0, z >= 0 in the arm's base frame"},
      {"behind the base", with("0 0 -0.1  0 0 0.5", "0.1"),
       "waypoints: point 1 must lie on the feed axis: x = y = 0, z >= 0 in the arm's base frame"},
      {"leaves the feed axis while the base is fed", with("0 0 0  0 0 0.2  0.6 0 0.3", "0.1"),
       "waypoints: the path leaves the feed axis at "},
      {"shorter than the arm", with("0 0 0  0 0 0.25", "0.1"),
       "waypoints: path length = 250 mm: must exceed the arm's length of 300 mm"},
      {"turns further than a section bends",
       with("0 0 0  0 0 0.45  -0.11 0 0.45  -0.11 0 0.2", "0.055"),
       "waypoints: the path turns by "},
      {"tighter than a section bends", with("0 0 0  0 0 0.45  -0.2 0 0.45", "0.03"),
       "waypoints: the path bends with a radius of "},
      {"a sharp corner", with("0 0 0  0 0 0.45  -0.2 0 0.45", "0"),
       "waypoints: the path bends with a radius of "},
      {"corner radius", with(kBentPath, "-0.1"), "corner_radius = -0.1: must be >= 0"},
      {"arcs and waypoints",
       {{"waypoints", kBentPath}, {"arcs", "0 1"}},
       "arcs and waypoints: must be one of them: only one path can be followed"},
      {"half an arc",
       {{"arcs", "0 1 2"}},
       "arcs: 3 numbers: must be pairs of curvature and length"},
      {"an arc without length", {{"arcs", "0 1 2 0"}}, "arcs: length 2 = 0: must be > 0"},
      {"tight arcs", {{"arcs", "0 0.5 40 0.05"}}, "arcs: the path bends with a radius of "},
      {"growth of fixed sections",
       {{"arcs", "0 1"}, {"growth", "tip"}},
       "growth = tip: needs a section with a variable_length"},
      {"arc longer than its segment", with(kBentPath, "0.3"),
       "waypoints: path: waypoint 2: corner_radius = 0.3 m needs 0.3 m of the segment from "
       "waypoint 2 "
       "to "
       "3, must be at most its length 0.2 m"},
  }));
  DYNAMIC_SECTION(c.name) {
    CHECK_THROWS_AS(make(fed_robot(), c.texts), ModelError);
    CHECK_THROWS_WITH(make(fed_robot(), c.texts), Catch::StartsWith(c.message));
  }
}

TEST_CASE("follow: a robot without a feed is refused", "[controllers]") {
  CHECK_THROWS_WITH(
      make(fed_robot(0.0), bent_path()),
      "robot: base.feed = 0: must be > 0, or sections must grow: the arm advances along "
      "the path");
}

TEST_CASE("follow: refused settings name the setting and its range", "[controllers]") {
  struct Case {
    std::string name, text, message;
  };
  const auto c = GENERATE_COPY(values<Case>({
      {"speed", "-1", "speed = -1: must be in (0, 10]"},
      {"speed", "nan", "speed = nan: must be in (0, 10]"},
      {"speed", "0.05 m/s", "speed = 0.05 m/s: must be in (0, 10]"},
      {"acceleration", "0", "acceleration = 0: must be in (0, 1000]"},
      {"rate_limit", "0", "rate_limit = 0: must be in (0, 1000]"},
      {"start_delay", "-1", "start_delay = -1: must be >= 0"},
      {"jam_tip_error", "0", "jam_tip_error = 0: must be > 0"},
      {"jam_feed_force", "0", "jam_feed_force = 0: must be > 0"},
      {"jam_time", "-1", "jam_time = -1: must be >= 0"},
      {"trail_spacing", "0", "trail_spacing = 0: must be in [0.0001, 1]"},
      {"fit", "best", "fit = best: must be one of tip, body"},
      {"sensor_delay", "-1", "sensor_delay = -1: must be in [0, 10]"},
  }));
  DYNAMIC_SECTION(c.name << " = " << c.text) {
    CHECK_THROWS_WITH(make(fed_robot(), {{c.name, c.text}, {"waypoints", "0 0 0 0 0 0.5"}}),
                      c.message);
  }
}

TEST_CASE("follow: a straight path needs no corner radius, and may begin ahead of the base",
          "[controllers]") {
  CHECK_NOTHROW(make(fed_robot(), {{"waypoints", "0 0 0  0 0 0.5"}}));
  CHECK_NOTHROW(make(fed_robot(), {{"waypoints", "0 0 0.1  0 0 0.5"}}));
}

TEST_CASE("follow: the trail of a target is followed, and does not grow without bound",
          "[controllers]") {
  const ContinuumRobot robot = fed_robot(0.05);
  FollowController controller = make(robot, {{"target", "target"},
                                             {"start_delay", "0"},
                                             {"speed", "1"},
                                             {"acceleration", "1000"},
                                             {"integral_gain", "0"}});
  KinematicArm arm(robot, kTimestep);
  ControllerRun run(controller, robot);
  const std::size_t trail = run.memory.size() - (1 + 4 * (13 + 3));  // 0.05 / 0.004, and three
  const auto target_at = [](double s) {  // ahead of the tip, along an arc of 150 mm
    constexpr double R = 0.15;
    return Vector3d(R - R * std::cos(s / R), 0, 0.3 + R * std::sin(s / R));
  };

  arm.move_target(target_at(0.0));
  for (int i = 0; i < 10; ++i) run.step(arm);
  CHECK(run.memory[trail] == 2.0);  // the arm's own line
  CHECK(run.command.base.feed == 0.0);

  // 22 mm of trail: five new points 4.4 mm apart, and the feed goes as far.
  for (double s = 0.0; s <= 0.02201; s += 0.0011) {
    arm.move_target(target_at(s));
    for (int i = 0; i < 20; ++i) run.step(arm);
  }
  CHECK(run.memory[trail] == 7.0);
  CHECK(run.command.base.feed == Approx(0.022).margin(5e-5));
  CHECK(run.report.status == ControllerStatus::Working);
  CHECK((arm.measurement.X_BE.translation() - target_at(0.022)).norm() < kTipTolerance);

  // Far more than the feed can use.
  for (double s = 0.022; s < 0.3; s += 0.001) {
    arm.move_target(target_at(s));
    for (int i = 0; i < 5; ++i) run.step(arm);
  }
  CHECK(run.memory[trail] == 16.0);
  CHECK(run.command.base.feed == Approx(0.05));
  CHECK(run.report.progress == Approx(1.0));
}

TEST_CASE("follow: the memory is everything that a controller knows", "[controllers]") {
  const ContinuumRobot robot = fed_robot();
  const Texts texts = bent_path({{"speed", "0.2"}, {"sensor_delay", "0.01"}});
  FollowController one = make(robot, texts), other = make(robot, texts);
  KinematicArm arm(robot, kTimestep);
  ControllerRun run(one, robot), continued(other, robot);
  for (int i = 0; i < 500; ++i) run.step(arm);
  continued.memory = run.memory;
  for (int i = 0; i < 50; ++i) {
    run.update(arm.measurement);
    const std::vector<double> next = run.next;
    run.update(arm.measurement);  // pure: again, the same
    continued.update(arm.measurement);
    REQUIRE(run.next == next);
    REQUIRE(continued.next == next);
    REQUIRE(run.command.q == continued.command.q);
    REQUIRE(run.command.base.feed == continued.command.base.feed);
    continued.advance();
    run.step(arm);
  }
}

TEST_CASE("follow: allocates nothing in a step", "[controllers]") {
  const ContinuumRobot robot = fed_robot();
  const bool trail = GENERATE(false, true);
  FollowController controller =
      make(robot, trail ? Texts{{"target", "t"}, {"start_delay", "0"}}
                        : bent_path({{"fit", "body"}, {"sensor_delay", "0.01"}}));
  KinematicArm arm(robot, kTimestep);
  arm.move_target({0.02, 0, 0.35});
  arm.measurement.time = 1.0;
  ControllerRun run(controller, robot);
  std::vector<Vector3d> points(20);
  AllocationCounter counter;
  controller.update(arm.measurement, run.memory, run.next, run.command, run.report);
  CHECK(controller.path(run.next, points) == 20);
  CHECK(counter.count() == 0);
}
