#include "tendril/avoidance/obstacle_solver.hpp"

#include <catch2/catch.hpp>
#include <limits>
#include <numbers>

#include "tendril/avoidance/clutter.hpp"
#include "tendril/ik/fabrikx_solver.hpp"
#include "tendril/kinematics/forward_kinematics.hpp"
#include "tendril/model_error.hpp"
#include "tests/avoidance/obstacle_scenes.hpp"
#include "tests/support/allocation_counter.hpp"
#include "tests/support/kinematics_oracle.hpp"
#include "tests/support/random.hpp"
#include "tests/support/tolerances.hpp"

using Eigen::Isometry3d;
using Eigen::Vector3d;
using namespace tendril;
using namespace tendril::test;
using std::numbers::pi;

namespace {

/// Least clearance of points of the neutral line, `count` on every section.
double sampled_clearance(const ContinuumRobot& robot, SectionStates states,
                         const Obstacles& obstacles, const BaseState& base = {}, int count = 50) {
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < robot.section_count(); ++i) {
    for (int k = 0; k <= count; ++k) {
      const Isometry3d X = backbone_pose(robot, states, base, i, static_cast<double>(k) / count);
      least = std::min(least, obstacles.nearest(Vector3d(X.translation())).distance);
    }
  }
  return least;
}

/// The result says of its pose what independent kinematics and sampling say.
void check_honest(const ObstacleSolver& solver, const ObstacleResult& result,
                  const TipTarget& target, const Obstacles& obstacles, const BaseState& base = {}) {
  constexpr double kCloser = 1e-9;
  const ObstacleOptions& options = solver.options();
  CHECK(solver.robot().within_limits(result.states));
  CHECK(result.iterations <= options.max_iterations);
  const Isometry3d X_BE = oracle_tip_pose(solver.robot(), result.states, base);
  CHECK(result.position_error == Approx(position_error(X_BE, target)).margin(1e-10));
  CHECK(result.angle_error == Approx(angle_error(X_BE, target)).margin(1e-10));
  const double sampled =
      sampled_clearance(solver.robot(), result.states, obstacles, base) - options.body_radius;
  CHECK(result.clearance <= sampled + kCloser);
  const bool met = result.position_error <= options.position_tolerance &&
                   result.angle_error <= options.angle_tolerance;
  if (result.status == ObstacleStatus::Reached) {
    CHECK(met);
    CHECK(sampled >= options.margin - kTouchDistance - kCloser);
  }
  if (result.status == ObstacleStatus::ReachedButColliding) CHECK(met);
  if (result.status == ObstacleStatus::NotReached) CHECK_FALSE(met);
}

ObstacleOptions tube_options(TipTask task, double margin) {
  return {.position_tolerance = 1e-4,
          .angle_tolerance = task == TipTask::Position ? 1e-3 : 0.1,
          .body_radius = kTubeBodyRadius,
          .margin = margin};
}

/// Waypoints reached free of collision, each from the pose before.
int waypoints_reached(ObstacleSolver& solver, std::span<const TipTarget> path,
                      const Obstacles& obstacles) {
  std::vector<SectionState> from = tube_start();
  int reached = 0;
  for (const TipTarget& waypoint : path) {
    const ObstacleResult result = solver.solve(waypoint, from, obstacles);
    reached += result.reached();
    from.assign(result.states.begin(), result.states.end());
  }
  return reached;
}

void check_path_is_free(ObstacleSolver& solver, const WaypointPath& path,
                        std::span<const TipTarget> waypoints, const Obstacles& obstacles) {
  const double needed = solver.options().body_radius + solver.options().margin;
  for (std::size_t i = 0; i + 1 < path.poses.size(); ++i) {
    for (int k = 0; k < 20; k += 2) {
      std::vector<SectionState> between(path.poses[i].size());
      for (std::size_t j = 0; j < between.size(); ++j) {
        const SectionState &a = path.poses[i][j], &b = path.poses[i + 1][j];
        const double share = k / 20.0;
        const Eigen::Vector2d bend = (1.0 - share) * bend_vector(a) + share * bend_vector(b);
        between[j] = state_from_bend_vector(bend.x(), bend.y(),
                                            (1.0 - share) * a.extension + share * b.extension);
      }
      REQUIRE(sampled_clearance(solver.robot(), between, obstacles, {}, 25) >=
              needed - 1.01 * kTouchDistance);
    }
  }
  for (std::size_t i = 0; i < waypoints.size(); ++i) {
    REQUIRE(path.pose_of_waypoint[i] >= 0);
    const auto& pose = path.poses[static_cast<std::size_t>(path.pose_of_waypoint[i])];
    const Isometry3d X_BE = oracle_tip_pose(solver.robot(), pose, {});
    CHECK(position_error(X_BE, waypoints[i]) <= solver.options().position_tolerance + 1e-10);
    CHECK(angle_error(X_BE, waypoints[i]) <= solver.options().angle_tolerance + 1e-10);
  }
}

}  // namespace

TEST_CASE("obstacle solver: sections that bend in one plane do so among obstacles", "[avoidance]") {
  Random random(21);
  int reached = 0;
  for (int r = 0; r < 20; ++r) {
    CAPTURE(r);
    const ContinuumRobot robot = random_robot_with_planes(random, 4);
    const double length = robot.max_length();
    ObstacleSolver solver(robot, {.max_iterations = 8000, .body_radius = 0.01 * length});
    // The target is the tip of a pose that is free.
    std::vector<Obstacle> spheres;
    for (int k = 0; k < 5; ++k)
      spheres.push_back(
          sphere_at(length * Vector3d(random.uniform(-0.6, 0.6), random.uniform(-0.6, 0.6),
                                      random.uniform(0.1, 0.8)),
                    0.05 * length));
    const Obstacles obstacles(spheres);
    std::vector<SectionState> pose = random_states(random, robot);
    for (int k = 0; k < 1000 && !solver.is_free(pose, obstacles); ++k)
      pose = random_states(random, robot);
    REQUIRE(solver.is_free(pose, obstacles));
    const ObstacleResult result =
        solver.solve({.X_BG = oracle_tip_pose(robot, pose)}, robot.straight(), obstacles);
    CHECK(robot.within_limits(result.states));
    reached += result.reached();
  }
  CHECK(reached >= 19);
}

TEST_CASE("obstacle solver: thirteen of thirteen points of the tubes, the path between them too",
          "[avoidance]") {
  const PlanarTube tube = GENERATE(PlanarTube{0.050, 0.200, 0.020}, PlanarTube{0.040, 0.220, 0.011},
                                   PlanarTube{0.080, 0.200, 0.011});
  const TipTask task = GENERATE(TipTask::Position, TipTask::PositionAndDirection);
  const double margin = GENERATE(0.0, 0.001);
  CAPTURE(tube.x0, static_cast<int>(task), margin);
  const ContinuumRobot robot = tube_robot(BendPlane::XZ);
  ObstacleSolver solver(robot, tube_options(task, margin));
  const auto walls = tube_walls(tube);
  const Obstacles obstacles(walls);
  const auto waypoints = tube_path(tube, task);
  CHECK(waypoints_reached(solver, waypoints, obstacles) == 13);
  const WaypointPath path = path_through(solver, waypoints, tube_start(), obstacles);
  CHECK(path.reached == 13);
  CHECK(path.is_continuous);
  check_path_is_free(solver, path, waypoints, obstacles);
  for (const auto& pose : path.poses) {
    for (const SectionState& state : pose) CHECK(std::abs(std::sin(state.phi)) < 1e-12);
  }

  // The order in which the discs are listed does not matter.
  const Obstacles reversed(std::vector<Obstacle>(walls.rbegin(), walls.rend()));
  const WaypointPath again = path_through(solver, waypoints, tube_start(), reversed);
  REQUIRE(again.poses.size() == path.poses.size());
  for (std::size_t i = 0; i < path.poses.size(); ++i) {
    for (std::size_t k = 0; k < 3; ++k) {
      CHECK(again.poses[i][k].theta == path.poses[i][k].theta);
      CHECK(again.poses[i][k].extension == path.poses[i][k].extension);
    }
  }
}

TEST_CASE("obstacle solver: the grid of 351 tubes", "[avoidance][slow]") {
  // Measured: 347 by position, 255 with direction. Some of them cannot be solved.
  const auto [task, floor] =
      GENERATE(std::pair(TipTask::Position, 340), std::pair(TipTask::PositionAndDirection, 245));
  const ContinuumRobot robot = tube_robot(BendPlane::XZ);
  ObstacleSolver solver(robot, tube_options(task, 0.0));
  int solved = 0, scenes = 0;
  for (const double h : {0.008, 0.011, 0.015}) {
    for (int i = 0; i <= 12; ++i) {
      for (int k = 0; k <= 8; ++k) {
        const PlanarTube tube{0.01 * i, 0.16 + 0.01 * k, h};
        const Obstacles obstacles(tube_walls(tube));
        ++scenes;
        solved += waypoints_reached(solver, tube_path(tube, task), obstacles) == 13;
      }
    }
  }
  CHECK(scenes == 351);
  CHECK(solved >= floor);
}

TEST_CASE("obstacle solver: a tube tilted out of the plane of the first bend", "[avoidance]") {
  const bool meshed = GENERATE(true, false);
  const TipTask task = GENERATE(TipTask::Position, TipTask::PositionAndDirection);
  const double margin = GENERATE(0.0, 0.001);
  CAPTURE(meshed, static_cast<int>(task), margin);
  constexpr double kInner = 0.011, kLength = 0.1, kTilt = 20.0 * pi / 180.0, kSphere = 0.004;
  Isometry3d X_BT = Isometry3d::Identity();  // T: mouth of the tube, its axis along z
  X_BT.linear() = Eigen::AngleAxisd(-kTilt, Vector3d::UnitX()).toRotationMatrix();
  X_BT.translation() = Vector3d(0.05, 0.0, 0.2);
  std::vector<Obstacle> list;
  if (meshed) {
    Obstacle tube{tube_mesh(kInner, kInner + 2.0 * kSphere, kLength, 32)};
    tube.X_BO = X_BT * Eigen::Translation3d(0.0, 0.0, 0.5 * kLength);
    list.push_back(tube);
  } else {
    for (int j = 0; j <= 20; ++j) {
      for (int i = 0; i < 24; ++i) {
        const double a = 2.0 * pi * i / 24.0, rho = kInner + kSphere;
        const Vector3d p_T(rho * std::cos(a), rho * std::sin(a), kSphere + 0.0046 * j);
        list.push_back(sphere_at(X_BT * p_T, kSphere));
      }
    }
  }
  const Obstacles obstacles(list);
  std::vector<TipTarget> waypoints;
  for (int i = 0; i < 13; ++i) {
    TipTarget target{.X_BG = X_BT, .task = task};
    const double depth = i < 3 ? -0.06 + 0.02 * i : 0.09 * (i - 3) / 9.0;
    const double aside = i < 3 ? -0.03 + 0.01 * i : 0.0;
    target.X_BG.translation() = X_BT * Vector3d(aside, 0.0, depth);
    waypoints.push_back(target);
  }
  const ContinuumRobot robot = tube_robot();
  ObstacleSolver solver(robot, tube_options(task, margin));
  const WaypointPath path = path_through(solver, waypoints, tube_start(), obstacles);
  CHECK(path.reached == 13);
  CHECK(path.is_continuous);
  if (path.reached == 13) check_path_is_free(solver, path, waypoints, obstacles);
}

TEST_CASE("obstacle solver: inverse kinematics in clutter", "[avoidance]") {
  // Measured over 2000 problems a class: all of them.
  const int sections = GENERATE(3, 6);
  const int spheres = GENERATE(5, 10, 20, 40);
  const double body_radius = GENERATE(0.0, 0.02);
  CAPTURE(sections, spheres, body_radius);
  constexpr int kProblems = 25;
  const ContinuumRobot robot = clutter_robot(sections);
  ObstacleSolver solver(robot, {.body_radius = body_radius});
  int reached = 0;
  for (int i = 0; i < kProblems; ++i) {
    const ClutterProblem problem =
        clutter_problem(robot, {sections, spheres, body_radius}, static_cast<std::uint64_t>(i));
    CHECK(sampled_clearance(robot, problem.witness, problem.obstacles) >= body_radius);
    const ObstacleResult result = solver.solve(problem.target, robot.straight(), problem.obstacles);
    check_honest(solver, result, problem.target, problem.obstacles);
    reached += result.reached();
  }
  CHECK(reached == kProblems);
}

TEST_CASE("obstacle solver: other shapes and sections, honest whatever comes", "[avoidance]") {
  const auto seed = GENERATE(range(0u, 30u));
  CAPTURE(seed);
  Random random(seed);
  const ContinuumRobot robot = random_robot(random, 2 + static_cast<int>(seed) % 3);
  const double L = robot.max_length();
  std::vector<Obstacle> list;
  const std::vector<Shape> kinds{capsule(0.1 * L, 0.03 * L), box({0.1 * L, 0.05 * L, 0.03 * L}),
                                 box_mesh({0.08 * L, 0.08 * L, 0.04 * L}), sphere(0.08 * L)};
  for (const Shape& kind : kinds) {
    Obstacle obstacle{kind};
    obstacle.X_BO.linear() =
        Eigen::AngleAxisd(random.angle(), random.unit_vector()).toRotationMatrix();
    obstacle.X_BO.translation() = 0.45 * L * random.unit_vector();
    list.push_back(obstacle);
  }
  list.push_back(half_space_at({0.0, 0.0, -0.05 * L}, Vector3d::UnitZ()));
  const Obstacles obstacles(list);
  const BaseState base{.feed = 0.01, .spin = 0.5};
  ObstacleSolver solver(robot, {.max_iterations = 600, .body_radius = 0.005});
  TipTarget target{.X_BG = oracle_tip_pose(robot, random_states(random, robot), base),
                   .task = seed % 2 == 0 ? TipTask::Position : TipTask::PositionAndDirection};
  if (seed % 5 == 0) target.X_BG.translation() *= 3.0;
  const auto start = random_states(random, robot);
  AllocationCounter counter;
  const ObstacleResult result = solver.solve(target, start, obstacles, base);
  CHECK(counter.count() == 0);
  check_honest(solver, result, target, obstacles, base);
}

TEST_CASE("obstacle solver: base and target in obstacles, bad arguments", "[avoidance]") {
  const ContinuumRobot robot = tube_robot();
  ObstacleSolver solver(robot, {.body_radius = 0.005, .margin = 0.001});
  TipTarget target;
  target.X_BG.translation() = Vector3d(0.05, 0.0, 0.2);

  const Obstacles on_base({sphere_at({0.0, 0.01, 0.0}, 0.02)});
  CHECK(solver.solve(target, tube_start(), on_base).status == ObstacleStatus::BaseInObstacle);
  const BaseState fed{.feed = 0.03};
  CHECK(solver.solve(target, tube_start(), on_base, fed).status == ObstacleStatus::Reached);

  const Obstacles on_target(
      {sphere_at({0.05, 0.0, 0.21}, 0.02), sphere_at({0.06, 0.0, 0.2}, 0.015)});
  const ObstacleResult covered = solver.solve(target, tube_start(), on_target);
  CHECK(covered.status == ObstacleStatus::TargetInObstacle);
  CHECK(on_target.nearest(covered.nearest_free_point).distance ==
        Approx(0.006).margin(2.0 * kTouchDistance));
  target.X_BG.translation() = covered.nearest_free_point;
  CHECK(solver.solve(target, tube_start(), on_target).reached());

  // What touches is free.
  ObstacleSolver bare(robot, {});
  const ObstacleResult touching = [&] {
    TipTarget ahead;
    ahead.X_BG.translation() = Vector3d(0.0, 0.0, 0.15);
    return bare.solve(ahead, tube_start(), Obstacles({sphere_at({0.05, 0.0, 0.1}, 0.05)}));
  }();
  CHECK(touching.reached());
  CHECK(touching.iterations == 0);
  CHECK_FALSE(touching.jumped);
  // A point on a straight body of no thickness is touched, not entered.
  TipTarget ahead;
  ahead.X_BG.translation() = Vector3d(0.0, 0.0, 0.15);
  CHECK(bare.solve(ahead, tube_start(), Obstacles({sphere_at({0.0, 0.0, 0.1}, 0.0)})).reached());

  const double nan = std::numeric_limits<double>::quiet_NaN();
  target.X_BG.translation().x() = nan;
  CHECK(bare.solve(target, tube_start(), on_base).status == ObstacleStatus::InvalidTarget);
  std::vector<SectionState> start = tube_start();
  start[1].theta = nan;
  CHECK(bare.solve(ahead, start, on_base).status == ObstacleStatus::InvalidStart);
  start.pop_back();
  CHECK(bare.solve(ahead, start, on_base).status == ObstacleStatus::InvalidStart);

  CHECK_THROWS_WITH(ObstacleSolver(robot, {.max_iterations = 0}),
                    "obstacle options: max_iterations = 0, must be >= 1");
  CHECK_THROWS_WITH(ObstacleSolver(robot, {.body_radius = -0.1}),
                    "obstacle options: body_radius = -0.1 m, must be >= 0");
  CHECK_THROWS_AS(ObstacleSolver(robot, {.margin = nan}), ModelError);
  CHECK_THROWS_AS(ObstacleSolver(robot, {.max_restarts = -1}), ModelError);
}

TEST_CASE("obstacle solver: a target behind a closed wall is not reached, within the budget",
          "[avoidance]") {
  const ContinuumRobot robot = tube_robot();
  ObstacleSolver solver(robot, {.max_iterations = 500, .body_radius = 0.005});
  const Obstacles obstacles({half_space_at({0.0, 0.0, 0.2}, -Vector3d::UnitZ())});
  TipTarget behind_wall;
  behind_wall.X_BG.translation() = Vector3d(0.0, 0.0, 0.3);
  CHECK(solver.solve(behind_wall, tube_start(), obstacles).status ==
        ObstacleStatus::TargetInObstacle);

  // A sphere around the base with the target outside: a shell of spheres that no body passes.
  std::vector<Obstacle> shell;
  for (int i = 0; i < 600; ++i) {
    const double z = 1.0 - 2.0 * (i + 0.5) / 600.0, a = i * pi * (3.0 - std::sqrt(5.0));
    const double rho = std::sqrt(1.0 - z * z);
    shell.push_back(sphere_at(0.2 * Vector3d(rho * std::cos(a), rho * std::sin(a), z), 0.02));
  }
  const Obstacles closed(shell);
  const ObstacleResult result = solver.solve(behind_wall, tube_start(), closed);
  CHECK((result.status == ObstacleStatus::NotReached ||
         result.status == ObstacleStatus::ReachedButColliding));
  check_honest(solver, result, behind_wall, closed);
}

TEST_CASE("obstacle solver: the solution depends on the arguments only and a start is kept to",
          "[avoidance]") {
  const ContinuumRobot robot = clutter_robot(4);
  ObstacleSolver used(robot, {.body_radius = 0.02});
  for (std::uint64_t i = 0; i < 20; ++i) {
    const ClutterProblem problem = clutter_problem(robot, {4, 20, 0.02}, i);
    ObstacleSolver fresh(robot, {.body_radius = 0.02});
    const ObstacleResult a = used.solve(problem.target, robot.straight(), problem.obstacles);
    const ObstacleResult b = fresh.solve(problem.target, robot.straight(), problem.obstacles);
    CHECK(a.iterations == b.iterations);
    for (std::size_t k = 0; k < a.states.size(); ++k) {
      CHECK(a.states[k].theta == b.states[k].theta);
      CHECK(a.states[k].phi == b.states[k].phi);
      CHECK(a.states[k].extension == b.states[k].extension);
    }
    const std::vector<SectionState> before(b.states.begin(), b.states.end());
    const ObstacleResult again = used.solve(problem.target, before, problem.obstacles);
    CHECK(again.iterations == 0);
    CHECK(again.reached());

    // Obstacles that move a little move the arm a little.
    Obstacles moving = problem.obstacles;
    for (int k = 0; k < moving.count(); ++k) {
      Isometry3d X = moving.pose(k);
      X.translation().x() += 1e-4;
      moving.set_pose(k, X);
    }
    const ObstacleResult moved = used.solve(problem.target, before, moving);
    if (!moved.reached() || moved.jumped) continue;
    for (std::size_t k = 0; k < before.size(); ++k)
      CHECK((bend_vector(moved.states[k]) - bend_vector(before[k])).norm() < 0.1);
  }
}

TEST_CASE("obstacle solver: Algorithm 2.4 alone is honest, and solves no more than all methods",
          "[avoidance]") {
  const ContinuumRobot robot = clutter_robot(3);
  const ClutterClass kind{.sections = 3, .spheres = 10, .body_radius = 0.02};
  const ObstacleOptions all{.body_radius = kind.body_radius};
  ObstacleOptions alone = all;
  alone.method = ObstacleMethod::Reach;
  alone.max_iterations = 300;
  ObstacleSolver reach(robot, alone), solver(robot, all);
  constexpr int kProblems = 200;
  int reached = 0, iterations_of_failures = 0;
  for (unsigned k = 0; k < kProblems; ++k) {
    CAPTURE(k);
    const ClutterProblem problem = clutter_problem(robot, kind, k);
    const AllocationCounter counter;
    const ObstacleResult result = reach.solve(problem.target, robot.straight(), problem.obstacles);
    CHECK(counter.count() == 0);
    check_honest(reach, result, problem.target, problem.obstacles);
    CHECK_FALSE(result.jumped);
    if (!result.reached()) {
      iterations_of_failures = std::max(iterations_of_failures, result.iterations);
      continue;
    }
    ++reached;
    CHECK(solver.solve(problem.target, robot.straight(), problem.obstacles).reached());
    const std::vector<SectionState> found(result.states.begin(), result.states.end());
    CHECK(reach.solve(problem.target, found, problem.obstacles).iterations == 0);
  }
  CAPTURE(reached);
  CHECK(reached > 80);  // measured 98
  CHECK(reached < kProblems);
  CHECK(iterations_of_failures == alone.max_iterations);
}

TEST_CASE("obstacle solver: without obstacles Algorithm 2.4 is FABRIKx", "[avoidance]") {
  const int sections = GENERATE(1, 3, 6);
  const ContinuumRobot robot = clutter_robot(sections);
  constexpr int kIterations = 30;
  ObstacleSolver reach(robot, {.method = ObstacleMethod::Reach, .max_iterations = kIterations});
  FabrikxSolver fabrikx(robot, {.max_iterations = kIterations, .rotation_period = 0});
  for (unsigned seed = 0; seed < 50; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const std::vector<SectionState> start = random_states(random, robot);
    const TipTarget target{.X_BG = oracle_tip_pose(robot, random_states(random, robot)),
                           .task = TipTask::PositionAndDirection};
    const IkResult expected = fabrikx.solve(target, start);
    const ObstacleResult result = reach.solve(target, start, Obstacles());
    CHECK(result.reached() == expected.converged());
    if (!result.reached()) continue;
    CHECK(result.iterations == expected.iterations);
    for (std::size_t i = 0; i < start.size(); ++i)
      CHECK((bend_vector(result.states[i]) - bend_vector(expected.states[i])).norm() < 1e-6);
  }
}

TEST_CASE("avoiding reach: FABRIKx with corrected sections goes around a sphere", "[avoidance]") {
  const ContinuumRobot robot = tube_robot();
  const Obstacles obstacles({sphere_at({0.02, 0.0, 0.12}, 0.02)});
  TipTarget target;
  target.X_BG.translation() = Vector3d(0.05, 0.0, 0.22);
  AvoidingReach reach(robot);
  reach.aim(target, obstacles, kTubeBodyRadius);
  std::vector<SectionState> states = tube_start();
  reach.place(states, {});
  int iterations = 0;
  while (reach.position_error() > 1e-5 && iterations < 100) {
    reach.iterate();
    ++iterations;
  }
  reach.states(states);
  CHECK(iterations < 100);
  CHECK(robot.within_limits(states, 1e-9));
  CHECK(position_error(oracle_tip_pose(robot, states, {}), target) < 1.01e-5);
  CHECK(sampled_clearance(robot, states, obstacles) >= kTubeBodyRadius - 2.0 * kTouchDistance);
}
