#include "controllers/mobile/mobile_reach_controller.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <numbers>

#include "tendril/mobile/youbot_targets.hpp"
#include "tendril/model_error.hpp"
#include "tests/controllers/kinematic_mobile.hpp"
#include "tests/controllers/test_scene.hpp"
#include "tests/support/allocation_counter.hpp"

using namespace tendril;
using namespace tendril::test;
using Eigen::Vector3d;
using Texts = std::vector<std::pair<std::string, std::string>>;

namespace {

constexpr double kTimestep = 0.004;
constexpr double kDegree = std::numbers::pi / 180.0;
constexpr double kRounding = 1e-6;
constexpr double kStallTimeout = 20.0;  // [s]

struct Setup {
  explicit Setup(Texts texts = {}, const Obstacles* obstacles = nullptr,
                 const MobileRobotParameters& parameters = youbot())
      : robot(parameters),
        settings(MobileReachController::settings(), std::move(texts)),
        controller({.robot = robot,
                    .limits = limits,
                    .capsules = {},
                    .settings = settings,
                    .timestep = kTimestep,
                    .scene = seen(obstacles)}),
        run(controller, robot, kTimestep, {}, start(robot)) {
    run.measurement.obstacles = obstacles;
  }
  SceneQuery& seen(const Obstacles* obstacles) {
    if (obstacles != nullptr) scene.measured = *obstacles;
    return scene;
  }
  static std::vector<double> start(const MobileRobot& robot) {
    std::vector<double> joints(youbot_start_joints().begin(), youbot_start_joints().end());
    joints.resize(static_cast<std::size_t>(robot.joint_count()), 0.0);
    return joints;
  }
  void aim(const ToolTarget& target) { run.measurement.X_WG = target.X_WG; }
  void check_limits() const {
    CHECK(run.fastest.platform_speed <= limits.platform_speed + kRounding);
    CHECK(run.fastest.turn_speed <= limits.turn_speed + kRounding);
    CHECK(run.fastest.joint_speed <= limits.joint_speed + kRounding);
    CHECK(run.fastest.platform_acceleration <= limits.platform_acceleration + kRounding);
    CHECK(run.fastest.turn_acceleration <= limits.turn_acceleration + kRounding);
    CHECK(run.fastest.joint_acceleration <= limits.joint_acceleration + kRounding);
    CHECK(run.inside);
  }

  TestScene scene;
  MobileRobot robot;
  MobileSpeedLimits limits;
  Settings settings;
  MobileReachController controller;
  KinematicMobile run;
};

/// Returns the side of the tool on which the arm is.
double side(const Eigen::VectorXd& x, const Eigen::Isometry3d& X_WG) {
  const Vector3d axis = X_WG.linear().col(0);
  return axis.x() * std::cos(x[2] + x[3]) + axis.y() * std::sin(x[2] + x[3]);
}

/// A table with four legs.
void add_table(std::vector<Obstacle>& obstacles, double x, double y, double half_x, double half_y,
               double height) {
  const auto add = [&](const Vector3d& center, const Vector3d& half) {
    obstacles.push_back({box(half), Eigen::Isometry3d(Eigen::Translation3d(center))});
  };
  constexpr double kHalfTop = 0.015, kHalfSegment = 0.02, kInset = 0.03;
  add({x, y, height - kHalfTop}, {half_x, half_y, kHalfTop});
  const double half_segment = 0.5 * height - kHalfTop;
  for (const double i : {-1.0, 1.0}) {
    for (const double j : {-1.0, 1.0}) {
      add({x + i * (half_x - kInset), y + j * (half_y - kInset), half_segment},
          {kHalfSegment, kHalfSegment, half_segment});
    }
  }
}

std::vector<Obstacle> clutter() {
  std::vector<Obstacle> obstacles;
  add_table(obstacles, 1.3, 0.0, 0.3, 0.5, 0.30);
  add_table(obstacles, -0.2, 1.4, 0.6, 0.3, 0.25);
  for (const Vector3d& p : {Vector3d(0.6, 0.7, 0.0), Vector3d(0.6, -0.7, 0.0),
                            Vector3d(-0.7, 0.5, 0.0), Vector3d(-0.9, -0.4, 0.0)})
    obstacles.push_back(capsule_between(p, p + Vector3d(0.0, 0.0, 1.0), 0.05));
  return obstacles;
}

/// Least distance of points in the robot's body from obstacles: capsules, and the platform's box.
double sampled_clearance(const MobileRobot& robot, const Eigen::VectorXd& x,
                         const Obstacles& obstacles) {
  constexpr int kAlong = 24;
  std::vector<Eigen::Isometry3d> frames(static_cast<std::size_t>(frame_count(robot)));
  mobile_frames(robot, platform_of(x), joints_of(x), frames);
  double least = 1.0;
  for (const BodyCapsule& capsule : standard_capsules(robot)) {
    for (int i = 0; i <= kAlong; ++i) {
      const Vector3d p = frames[static_cast<std::size_t>(capsule.frame)] *
                         (capsule.start + (capsule.end - capsule.start) * i / kAlong);
      least = std::min(least, obstacles.nearest(p).distance - capsule.radius);
    }
  }
  const MobileRobotParameters& p = robot.parameters();
  for (int i = 0; i <= kAlong; ++i) {
    for (int j = 0; j <= kAlong; ++j) {
      for (const double z : {0.0, 0.5, 1.0}) {
        const Vector3d at(p.platform_length * (i / double(kAlong) - 0.5),
                          p.platform_width * (j / double(kAlong) - 0.5), z * p.platform_height);
        least = std::min(least, obstacles.nearest(frames[0] * at).distance);
      }
    }
  }
  return least;
}

}  // namespace

TEST_CASE("the youBot reaches its twenty targets in turn within its limits", "[mobile]") {
  Setup setup;
  int reached = 0;
  for (const ListedToolTarget& listed : listed_youbot_targets()) {
    setup.aim(tool_target(listed));
    REQUIRE(setup.run.run_to_target(kStallTimeout));
    setup.run.run(0.1);
    CHECK(setup.run.report["targets_reached"] == ++reached);
    CHECK(setup.run.report.tip_error < kRounding);
    CHECK(setup.run.report.angle_error < kRounding);
    CHECK(setup.controller.memory_size() == static_cast<int>(setup.run.memory().size()));
  }
  setup.check_limits();
  // The limits are used: it does not creep.
  CHECK(setup.run.fastest.platform_speed > 0.8 * setup.limits.platform_speed);
  CHECK(setup.run.fastest.joint_speed > 0.8 * setup.limits.joint_speed);
}

TEST_CASE("the setpoints never put the arm into the floor or its own platform", "[mobile]") {
  Setup setup;
  MobileBody body(setup.robot, standard_capsules(setup.robot));
  double least = 1.0;
  for (std::uint64_t i = 0; i < 25; ++i) {
    setup.aim(random_youbot_target(setup.robot, 5, i));
    for (int step = 0; step < 1500; ++step) {
      setup.run.step();
      least = std::min(least, body.own_clearance(joints_of(setup.run.setpoint)));
      if (setup.run.report.status == ControllerStatus::Finished) break;
    }
  }
  CHECK(least > -0.008);  // between two checks of a path the body moves by 10 mm
  setup.check_limits();
}

TEST_CASE("a tool pose on a line 3 m long is followed at 0.2 m/s", "[mobile]") {
  constexpr double kSpeed = 0.2, kRamp = 0.5, kLength = 3.0;  // [m/s], [s], [m]
  struct Line {
    Vector3d start, along;
    double roll, pitch, yaw;
  };
  const Line lines[] = {{{0.6, -1.5, 0.3}, {0.0, 1.0, 0.0}, 0.0, 0.0, 0.0},
                        {{0.6, 0.0, 0.3}, {1.0, 0.0, 0.0}, 0.0, -0.35, 0.0},
                        {{0.6, 0.3, 0.25}, {-1.0, 0.0, 0.0}, 0.3, -0.5, 0.4},
                        {{0.6, -1.5, 0.2}, {0.0, 1.0, 0.0}, 0.0, -90.0 * kDegree, 0.0}};
  for (const Line& line : lines) {
    Setup setup;
    const auto target = [&](double t) {
      // Speed ramps up and down.
      const double whole = kLength / kSpeed + kRamp;
      t = std::clamp(t, 0.0, whole);
      double way = kSpeed * (t - 0.5 * kRamp);
      if (t < kRamp) way = 0.5 * kSpeed / kRamp * t * t;
      if (t > whole - kRamp) way = kLength - 0.5 * kSpeed / kRamp * (whole - t) * (whole - t);
      return tool_target(line.start + way * line.along, line.roll, line.pitch, line.yaw);
    };
    setup.aim(target(0.0));
    REQUIRE(setup.run.run_to_target(kStallTimeout));
    double error = 0.0, angle = 0.0, steady = 0.0;
    const double first_side = side(setup.run.setpoint, setup.run.measurement.X_WG);
    const int steps = static_cast<int>((kLength / kSpeed + kRamp) / kTimestep) + 1;
    for (int i = 0; i < steps; ++i) {
      setup.aim(target((i + 1) * kTimestep));
      setup.run.step();
      error = std::max(error, setup.run.report.tip_error);
      angle = std::max(angle, setup.run.report.angle_error);
      if (i > 2.0 / kTimestep && i < steps - 1.0 / kTimestep)
        steady = std::max(steady, setup.run.report.tip_error);
      CHECK(setup.run.report.status != ControllerStatus::NotReached);
      CHECK(side(setup.run.setpoint, setup.run.measurement.X_WG) * first_side >= -1e-9);
    }
    CAPTURE(line.start.transpose(), line.along.transpose());
    CHECK(error < 0.005);
    CHECK(angle < 1.0 * kDegree);
    CHECK(steady < 0.001);  // a step's way is 0.8 mm: measured before the command
    CHECK(setup.run.report["branch_switches"] == 0);
    setup.run.run(1.0);
    CHECK(setup.run.report.status == ControllerStatus::Finished);
    CHECK(setup.run.report["base_travel"] > 0.8 * kLength);
    setup.check_limits();
  }
}

TEST_CASE("the platform does not move when the arm reaches from where it is", "[mobile]") {
  Setup setup;
  setup.aim(tool_target({0.55, 0.1, 0.3}, 0.0, -0.3, 0.2));
  REQUIRE(setup.run.run_to_target(kStallTimeout));
  const double travel = setup.run.report["base_travel"];
  // Another tool pose of the same arm on the same platform.
  std::vector<double> joints(joints_of(setup.run.setpoint).begin(),
                             joints_of(setup.run.setpoint).end());
  joints[0] += 0.4;
  joints[1] -= 0.3;
  joints[3] += 0.2;
  ToolTarget near;
  near.X_WG = tool_pose(setup.robot, platform_of(setup.run.setpoint), joints);
  setup.aim(near);
  REQUIRE(setup.run.run_to_target(kStallTimeout));
  CHECK(setup.run.report["base_travel"] - travel < 1e-3);
}

TEST_CASE("steady errors of the servos are integrated away", "[mobile]") {
  Setup setup;
  setup.run.droop << 0.002, -0.003, 0.004, 0.01, 0.02, -0.015, 0.02, 0.01;
  setup.aim(tool_target({0.9, 0.0, 0.3}, 0.0, -0.5, 0.3));
  REQUIRE(setup.run.run_to_target(kStallTimeout));
  setup.run.run(3.0);
  CHECK(setup.run.report.tip_error < 1e-5);
  CHECK(setup.run.report.angle_error < 1e-5);
  CHECK(setup.run.report["settled_error"] < 1e-3);
  setup.check_limits();

  Setup without(Texts{{"gain", "0"}});
  without.run.droop = setup.run.droop;
  without.aim(tool_target({0.9, 0.0, 0.3}, 0.0, -0.5, 0.3));
  without.run.run(10.0);
  CHECK(without.run.report.tip_error > 0.005);
}

TEST_CASE("among tables and posts targets are reached without coming near them", "[mobile]") {
  const Obstacles obstacles(clutter());
  Setup setup(Texts{{"avoidance", "true"}}, &obstacles);
  const ToolTarget targets[] = {tool_target({1.1, 0.0, 0.36}, 0.0, -45.0 * kDegree, 0.0),
                                tool_target({1.45, 0.1, 0.36}, 0.0, -20.0 * kDegree, 3.0),
                                tool_target({-0.2, 1.2, 0.32}, 0.0, -30.0 * kDegree, 1.6),
                                tool_target({-0.5, 0.35, 0.4}, 0.0, 0.0, 135.0 * kDegree),
                                tool_target({-0.75, -0.4, 0.5}, 0.0, 20.0 * kDegree, 3.1)};
  double least = 1.0;
  int step = 0;
  for (const ToolTarget& target : targets) {
    setup.aim(target);
    bool reached = false;
    for (int i = 0; i < 10000 && !reached; ++i, ++step) {
      setup.run.step();
      reached = setup.run.report.status == ControllerStatus::Finished;
      if (step % 5 == 0)
        least = std::min(least, sampled_clearance(setup.robot, setup.run.setpoint, obstacles));
    }
    CAPTURE(target.X_WG.translation().transpose());
    CHECK(reached);
  }
  CHECK(setup.run.report["searches"] > 0);
  CHECK(least > 0.02);  // 0.03 are asked for, and 0.75 of it while moving
  setup.check_limits();

  // The same targets without avoidance: it would collide.
  Setup blind;
  double blind_least = 1.0;
  for (const ToolTarget& target : targets) {
    blind.aim(target);
    bool reached = false;
    for (int i = 0; i < 4000 && !reached; ++i) {
      blind.run.step();
      reached = blind.run.report.status == ControllerStatus::Finished;
      if (i % 5 == 0)
        blind_least =
            std::min(blind_least, sampled_clearance(blind.robot, blind.run.setpoint, obstacles));
    }
  }
  CHECK(blind_least < 0.0);
}

TEST_CASE("a post in the platform's way is avoided while the target moves on", "[mobile]") {
  constexpr double kSpeed = 0.2, kLength = 4.0;  // [m/s], [m]
  for (const double x : {0.25, 0.05, 0.62}) {
    const Obstacles obstacles({capsule_between({x, 0.3, 0.0}, {x, 0.3, 1.0}, 0.05)});
    Setup setup({{"avoidance", "true"}}, &obstacles);
    const auto target = [&](double t) {
      return tool_target({0.6, -1.2 + std::min(kSpeed * t, kLength), 0.3}, 0.0, 0.0, 0.0);
    };
    setup.aim(target(0.0));
    REQUIRE(setup.run.run_to_target(kStallTimeout));
    double least = 1.0;
    bool caught_up = false;  // before the target rests
    const int steps = static_cast<int>(kLength / kSpeed / kTimestep);
    for (int i = 0; i < steps; ++i) {
      setup.aim(target((i + 1) * kTimestep));
      setup.run.step();
      least = std::min(least, setup.run.report["clearance"]);
      caught_up = i > steps / 2 && setup.run.report.tip_error < 0.002;
    }
    CAPTURE(x);
    CHECK(caught_up);
    CHECK(least > 0.02);
    CHECK(setup.run.report["searches"] > 0);
    setup.check_limits();
  }
}

TEST_CASE("the robot backs away from a post that comes nearer, and resumes when it is gone",
          "[mobile]") {
  constexpr double kSpeed = 0.2, kFar = 2.0;  // [m/s], [m]
  for (const double direction : {0.3, 1.7, 3.0, 4.4}) {
    CAPTURE(direction);
    Obstacles obstacles({capsule_between({0.0, 0.0, -0.5}, {0.0, 0.0, 0.5}, 0.05),
                         capsule_between({-1.0, 0.5, 0.0}, {-1.0, 0.5, 1.0}, 0.05)});
    const Vector3d d(std::cos(direction), std::sin(direction), 0.0);
    const auto place = [&](const Vector3d& p) {
      obstacles.set_pose(0, Eigen::Isometry3d(Eigen::Translation3d(p)));
    };
    place(kFar * d);
    Setup setup({{"avoidance", "true"}}, &obstacles);
    setup.aim(tool_target({0.6, 0.1, 0.3}, 0.0, 0.0, 0.0));
    REQUIRE(setup.run.run_to_target(kStallTimeout));
    const Vector3d stood(setup.run.setpoint[0], setup.run.setpoint[1], 0.5);
    double least = 1.0;
    const auto drive = [&](const Vector3d& from, const Vector3d& to) {
      const int steps = static_cast<int>((to - from).norm() / kSpeed / kTimestep);
      for (int i = 0; i <= steps; ++i) {
        place(from + (to - from) * i / steps);
        setup.run.step();
        least = std::min(least, sampled_clearance(setup.robot, setup.run.setpoint, obstacles));
      }
    };
    drive(stood + kFar * d, stood);  // to where the robot stood
    CHECK(least > 0.0);
    drive(stood, stood + kFar * d);
    CHECK(least > 0.0);
    CHECK(setup.run.run_to_target(kStallTimeout));
    setup.check_limits();
  }
}

TEST_CASE("what cannot be reached is named, and the robot holds", "[mobile]") {
  struct Case {
    Eigen::Isometry3d X_WG;
    ControllerStatus status;
    MobileStatus reason;
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  Eigen::Isometry3d not_finite = Eigen::Isometry3d::Identity();
  not_finite.translation().y() = nan;
  Eigen::Isometry3d no_rotation = tool_target({0.6, 0.0, 0.3}, 0.0, 0.0, 0.0).X_WG;
  no_rotation.linear() *= 1.1;
  Eigen::Isometry3d mirrored = no_rotation;
  mirrored.linear() = Eigen::Vector3d(1.0, 1.0, -1.0).asDiagonal();
  const Case cases[] = {
      {not_finite, ControllerStatus::InvalidTarget, MobileStatus::InvalidTarget},
      {no_rotation, ControllerStatus::InvalidTarget, MobileStatus::InvalidRotation},
      {mirrored, ControllerStatus::InvalidTarget, MobileStatus::InvalidRotation},
      {tool_target({0.6, 0.0, 0.9}, 0.0, 0.0, 0.0).X_WG, ControllerStatus::NotReached,
       MobileStatus::UnreachableHeight},
      {tool_target({0.6, 0.0, -0.1}, 0.0, 0.0, 0.0).X_WG, ControllerStatus::NotReached,
       MobileStatus::UnderFloor}};
  for (const Case& bad : cases) {
    Setup setup;
    setup.aim(tool_target({0.9, 0.3, 0.3}, 0.0, -0.5, 0.3));
    setup.run.run(0.8);  // on its way
    setup.run.measurement.X_WG = bad.X_WG;
    setup.run.run(2.0);
    CHECK(setup.run.report.status == bad.status);
    CHECK(setup.run.report["ik_status"] == static_cast<double>(bad.reason));
    const Eigen::VectorXd held = setup.run.setpoint;
    setup.run.run(1.0);
    CHECK((setup.run.setpoint - held).norm() < 1e-6);
    setup.aim(tool_target({0.9, 0.3, 0.3}, 0.0, -0.5, 0.3));
    CHECK(setup.run.run_to_target(kStallTimeout));
    setup.check_limits();
  }
}

TEST_CASE("a target that is in obstacles is refused, and reached when they are gone", "[mobile]") {
  std::vector<Obstacle> wall = {sphere_at({0.9, 0.0, 0.3}, 0.3)};
  const Obstacles obstacles(wall);
  Setup setup(Texts{{"avoidance", "true"}}, &obstacles);
  setup.aim(tool_target({0.9, 0.0, 0.3}, 0.0, -0.5, 0.3));
  CHECK_FALSE(setup.run.run_to_target(5.0));
  CHECK(setup.run.report.status == ControllerStatus::NotReached);
  CHECK(setup.run.report["ik_status"] == static_cast<double>(MobileStatus::BaseBlocked));
  Obstacles moved(wall);
  Eigen::Isometry3d away = Eigen::Isometry3d::Identity();
  away.translation().z() = 10.0;
  moved.set_pose(0, away);
  setup.run.measurement.obstacles = &moved;
  CHECK(setup.run.run_to_target(kStallTimeout));
}

TEST_CASE("the same input gives the same bits, and a step allocates nothing", "[mobile]") {
  const Obstacles obstacles(clutter());
  const auto fly = [&](std::vector<double>& memory) {
    Setup setup(Texts{{"avoidance", "true"}}, &obstacles);
    setup.aim(tool_target({1.1, 0.0, 0.36}, 0.0, -45.0 * kDegree, 0.0));
    setup.run.run(3.0);
    setup.aim(tool_target({0.75, 0.85, 0.4}, 0.0, 0.0, -135.0 * kDegree));
    setup.run.run(4.0);
    memory = setup.run.memory();
    return setup.run.setpoint;
  };
  std::vector<double> a, b;
  const Eigen::VectorXd first = fly(a);
  CHECK(fly(b) == first);
  CHECK(a == b);

  Setup setup(Texts{{"avoidance", "true"}}, &obstacles);
  setup.aim(tool_target({0.75, 0.85, 0.4}, 0.0, 0.0, -135.0 * kDegree));
  std::vector<double> memory(static_cast<std::size_t>(setup.controller.memory_size())),
      next(memory.size());
  setup.controller.reset(memory);
  MobileCommand command(5);
  TestReport report(MobileReachController::kQuantities);
  const AllocationCounter counter;
  for (int i = 0; i < 300; ++i) {
    next = memory;
    setup.controller.update(setup.run.measurement, memory, next, command, report);
    memory = next;
  }
  CHECK(counter.count() == 0);
}

TEST_CASE("an arm of five links on the platform reaches targets too", "[mobile]") {
  MobileRobotParameters parameters = youbot();
  parameters.links.assign(5, {.length = 0.1, .limits = {.min = -1.75, .max = 1.75}});
  Setup setup({}, nullptr, parameters);
  const ToolTarget targets[] = {tool_target({0.9, 0.3, 0.4}, 0.0, -0.5, 0.3),
                                tool_target({-0.5, 0.8, 0.3}, 0.3, 0.2, 2.0)};
  for (const ToolTarget& target : targets) {
    setup.aim(target);
    CHECK(setup.run.run_to_target(kStallTimeout));
  }
  setup.check_limits();
}

TEST_CASE("with priorities the pose is that of FABRIK, with others another", "[mobile]") {
  // The platform is far enough from the target to have to move: the priority of the middle link
  // divides the travel.
  const ToolTarget target = tool_target({1.2, 0.5, 0.3}, 0.5, 0.0, 0.35);
  const auto goal_of = [&](const std::vector<double>& priorities) {
    MobileRobotParameters parameters = youbot();
    parameters.priorities = priorities;
    Setup setup({}, nullptr, parameters);
    setup.aim(target);
    CHECK(setup.run.run_to_target(kStallTimeout));
    setup.check_limits();
    MobileFabrikSolver solver{setup.robot, {.planes = PlaneOrder::NearestFirst}};
    const MobileResult found = solver.solve(target, {}, youbot_start_joints());
    Eigen::VectorXd fabrik(configuration_size(setup.robot));
    set_configuration(found.base, found.joints, fabrik);
    constexpr double kTolerances = 3e-3;  // of FABRIK's pose, and of the arrival
    const bool is_fabrik = (setup.run.setpoint - fabrik).cwiseAbs().maxCoeff() < kTolerances;
    CHECK(is_fabrik == !priorities.empty());
    return Eigen::VectorXd(setup.run.setpoint);
  };
  const Eigen::VectorXd cheapest = goal_of({}), plain = goal_of({1.0, 1.0, 1.0});
  const Eigen::VectorXd stiff = goal_of({1.0, 3.0, 1.0});
  constexpr double kOther = 0.01;
  CHECK((cheapest - plain).cwiseAbs().maxCoeff() > kOther);
  CHECK((stiff - plain).cwiseAbs().maxCoeff() > kOther);
}

TEST_CASE("settings out of range are refused by name", "[mobile]") {
  const auto message = [](const Texts& texts) {
    try {
      Setup setup(texts);
    } catch (const ModelError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  for (const auto& [name, value] : Texts{{"tolerance", "0"},
                                         {"angle_tolerance", "-1"},
                                         {"gain", "nan"},
                                         {"speed", "0"},
                                         {"speed", "1.5"},
                                         {"correction_limit", "-0.1"},
                                         {"settle_time", "-1"},
                                         {"platform_weight", "0"},
                                         {"obstacle_margin", "x"}}) {
    CAPTURE(name, value);
    CHECK(message({{name, value}}).rfind(name + " = ", 0) == 0);
  }
}
