#include "tendril/ik/any_solver.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include "tendril/ik/published/jacobian_solver.hpp"
#include "tendril/model_error.hpp"
#include "tests/support/kinematics_oracle.hpp"
#include "tests/support/random.hpp"
#include "tests/support/reference_robots.hpp"

using namespace tendril;
using namespace tendril::test;

static_assert(IkSolver<AnySolver>);
static_assert(std::is_nothrow_move_constructible_v<AnySolver>);

namespace {

/// Arcs of fixed length: the one kind of robot that every method serves.
ContinuumRobot served_robot(const SolverInfo& info) {
  return info.single_section ? one_arc_robot() : plain_robot();
}

TipTarget reachable_target(Random& random, const ContinuumRobot& robot) {
  return {.X_BG = oracle_tip_pose(robot, random_states(random, robot)),
          .task = TipTask::PositionAndDirection};
}

}  // namespace

TEST_CASE("any solver: names are unique and every one makes a solver of the robot", "[ik]") {
  std::set<std::string> names;
  for (const SolverInfo& info : solver_infos()) {
    CAPTURE(info.name);
    const ContinuumRobot robot = served_robot(info);
    CHECK(names.insert(info.name).second);
    CHECK(std::string(info.summary).find('\n') == std::string::npos);
    CHECK_FALSE(std::string(info.summary).empty());
    const AnySolver solver = make_solver(info.name, robot);
    CHECK(solver.robot().section_count() == robot.section_count());
    CHECK(solver.robot().max_length() == robot.max_length());
  }
}

TEST_CASE("any solver: the default is first, recommended solvers come before published ones",
          "[ik]") {
  const std::span<const SolverInfo> infos = solver_infos();
  CHECK(infos.front().name == std::string("auto"));
  CHECK(infos.front().group == SolverGroup::Recommended);
  CHECK(infos.back().group == SolverGroup::Published);
  CHECK(std::is_sorted(infos.begin(), infos.end(),
                       [](const SolverInfo& a, const SolverInfo& b) { return a.group < b.group; }));
}

TEST_CASE("any solver: another name is refused with the list of names", "[ik]") {
  for (const std::string name : {"simplex", "", "Fabrikx", "fabrikx "}) {
    std::string expected = "solver = \"" + name + "\", must be one of ";
    for (const SolverInfo& info : solver_infos())
      expected += (&info == &solver_infos().front() ? "" : ", ") + std::string(info.name);
    if (name.find("abrikx") != name.npos) expected += " (did you mean fabrikx?)";
    CHECK_THROWS_AS(make_solver(name, plain_robot()), ModelError);
    CHECK_THROWS_WITH(make_solver(name, plain_robot()), expected);
  }
}

TEST_CASE("any solver: options reach the solver", "[ik]") {
  for (const SolverInfo& info : solver_infos()) {
    CAPTURE(info.name);
    const ContinuumRobot robot = served_robot(info);
    using Catch::Matchers::Contains;
    CHECK_THROWS_WITH(make_solver(info.name, robot, {.max_iterations = -1}),
                      Contains("max_iterations = -1, must be >= 1"));
    CHECK_THROWS_WITH(make_solver(info.name, robot, {.position_tolerance = 0.0}),
                      Contains("position_tolerance = 0 m, must be > 0"));
    CHECK_THROWS_WITH(make_solver(info.name, robot, {.angle_tolerance = -2.0}),
                      Contains("angle_tolerance = -2 rad, must be > 0"));
    CHECK_NOTHROW(make_solver(info.name, robot, {.max_restarts = 0}));
    // The start is off by 1 mm and 0.01 rad.
    std::vector<SectionState> start{{0.5, 0.0, 0.0}, {0.5, 1.0, 0.0}, {0.5, 2.0, 0.0}};
    start.resize(static_cast<std::size_t>(robot.section_count()));
    TipTarget target{.X_BG = oracle_tip_pose(robot, start), .task = TipTask::PositionAndDirection};
    target.X_BG.translation().x() += 1e-3;
    target.X_BG.rotate(Eigen::AngleAxisd(0.01, Eigen::Vector3d::UnitX()));
    const auto iterations = [&](const SolverOptions& options) {
      AnySolver solver = make_solver(info.name, robot, options);
      return solver.solve(target, start).iterations;
    };
    CHECK(iterations({.position_tolerance = 1.1e-3, .angle_tolerance = 0.011}) == 0);
    CHECK(iterations({.position_tolerance = 0.9e-3, .angle_tolerance = 0.011}) > 0);
    CHECK(iterations({.position_tolerance = 1.1e-3, .angle_tolerance = 0.009}) > 0);
    CHECK(iterations({.max_iterations = 1, .position_tolerance = 1e-9}) == 1);
  }
}

TEST_CASE("any solver: maps of sections reach FABRIKx, the other solvers refuse them", "[ik]") {
  const SectionMap none{.forward = [](double, double) { return SectionEnd{.x = 1.0}; }};
  for (const SolverInfo& info : solver_infos()) {
    CAPTURE(info.name);
    const ContinuumRobot robot = served_robot(info);
    const std::string name = info.name;
    const bool takes =
        name == "fabrikx" || name == "fabrikx-iterative" || name == "fabrikx-polynomial";
    CHECK_THROWS_WITH(make_solver(info.name, robot, {.section_maps = {none, none, none}}),
                      Catch::Matchers::StartsWith(takes ? "section 1: forward(0, 0): x = 1 m, must"
                                                        : "section_maps: must be none: only "));
  }
}

TEST_CASE("any solver: solutions as the solver that it holds", "[ik]") {
  const ContinuumRobot robot = mixed_robot();
  const JacobianOptions options{.max_iterations = 100, .coordinates = JacobianCoordinates::Polar};
  JacobianSolver plain(robot, options);
  AnySolver any{JacobianSolver(robot, options)};
  AnySolver named = make_solver("jacobian-polar", robot, {.max_iterations = 100});
  for (unsigned seed = 0; seed < 20; ++seed) {
    Random random(seed);
    const TipTarget target = reachable_target(random, robot);
    const BaseState base{.feed = 0.01, .spin = 0.5};
    const IkResult expected = plain.solve(target, robot.straight(), base);
    for (AnySolver* solver : {&any, &named}) {
      const IkResult result = solver->solve(target, robot.straight(), base);
      CHECK(result.status == expected.status);
      CHECK(result.iterations == expected.iterations);
      CHECK(result.position_error == expected.position_error);
      CHECK(result.angle_error == expected.angle_error);
      CHECK(result.base.spin == 0.5);
      CHECK(result.states.data() != expected.states.data());
    }
  }
}

TEST_CASE("any solver: copies are independent, and outlive what they were copied from", "[ik]") {
  for (const SolverInfo& info : solver_infos()) {
    CAPTURE(info.name);
    Random random(3);
    const ContinuumRobot robot = served_robot(info);
    const TipTarget target = reachable_target(random, robot);
    const TipTarget other = reachable_target(random, robot);
    std::optional<AnySolver> original = make_solver(info.name, robot, {.max_iterations = 50});
    const IkResult solution = original->solve(target, robot.straight());
    const std::vector<SectionState> kept(solution.states.begin(), solution.states.end());
    AnySolver copy = *original;
    (void)copy.solve(other, robot.straight());
    for (std::size_t i = 0; i < kept.size(); ++i) {  // the original's solution is still there
      CHECK(solution.states[i].theta == kept[i].theta);
      CHECK(solution.states[i].phi == kept[i].phi);
    }
    AnySolver assigned = make_solver("fabrikx", mixed_robot());
    assigned = copy;
    AnySolver moved = std::move(copy);
    original.reset();
    for (AnySolver* solver : {&assigned, &moved}) {
      const IkResult again = solver->solve(target, solver->robot().straight());
      for (std::size_t i = 0; i < kept.size(); ++i) {
        CHECK(again.states[i].theta == kept[i].theta);
        CHECK(again.states[i].phi == kept[i].phi);
      }
    }
  }
}

TEST_CASE("any solver: sections that bend in one plane do so, or the solver refuses them", "[ik]") {
  Random random(5);
  int missed = 0, tried = 0;
  for (int r = 0; r < 20; ++r) {
    const ContinuumRobot robot = random_robot_with_planes(random, 3 + r % 4);
    for (const SolverInfo& info : solver_infos()) {
      CAPTURE(r, info.name);
      if (!info.keeps_planes) {
        CHECK_THROWS_WITH(make_solver(info.name, robot),
                          Catch::EndsWith("for sections that bend in one plane"));
        continue;
      }
      AnySolver solver = make_solver(info.name, robot);
      for (int k = 0; k < 10; ++k, ++tried) {
        TipTarget target = reachable_target(random, robot);
        target.task = TipTask::Position;
        const IkResult result = solver.solve(target, robot.straight());
        CHECK(robot.within_limits(result.states));
        CHECK(position_error(oracle_tip_pose(robot, result.states), target) ==
              Approx(result.position_error).margin(1e-9));
        missed += !result.converged();
      }
    }
  }
  CHECK(tried == 400);
  CHECK(missed <= 4);
}
