#include <algorithm>
#include <catch2/catch.hpp>
#include <string>

#include "tendril/mobile/any_solver.hpp"
#include "tendril/model_error.hpp"
#include "tests/mobile/mobile_cases.hpp"
#include "tests/support/random.hpp"

using namespace tendril;
using namespace tendril::test;

TEST_CASE("any mobile solver: every listed name gives a solver that meets targets", "[mobile]") {
  const MobileRobot robot(youbot());
  Random random(7);
  const RandomPose start = random_pose(random, robot), goal = random_pose(random, robot);
  const ToolTarget target{.X_WG = tool_pose(robot, goal.base, goal.joints)};
  for (const MobileSolverInfo& info : mobile_solver_infos()) {
    CAPTURE(info.name);
    AnyMobileSolver solver = make_mobile_solver(info.name, robot);
    AnyMobileSolver copy = solver;
    const MobileResult result = solver.solve(target, start.base, start.joints);
    CHECK(result.converged());
    const MobileResult again = copy.solve(target, start.base, start.joints);
    CHECK(std::equal(result.joints.begin(), result.joints.end(), again.joints.begin(),
                     again.joints.end()));
    CHECK(result.joints.data() != again.joints.data());
  }
}

TEST_CASE("any mobile solver: options reach the solver", "[mobile]") {
  const MobileRobot robot(youbot());
  const MobileContinuum arm{.arm = ContinuumRobot({{.length = 0.1}, {.length = 0.1}})};
  for (const MobileSolverInfo& info : mobile_solver_infos()) {
    CHECK_THROWS_AS(make_mobile_solver(info.name, robot, {.position_tolerance = 0.0}), ModelError);
    CHECK_THROWS_AS(make_mobile_solver(info.name, robot, {.max_restarts = 1}), ModelError);
  }
  const MobileContinuumOptions options = make_mobile_solver("auto", arm,
                                                            {.max_iterations = 70,
                                                             .position_tolerance = 1e-3,
                                                             .angle_tolerance = 0.1,
                                                             .max_restarts = 2})
                                             .options();
  CHECK(options.arm.max_iterations == 70);
  CHECK(options.arm.position_tolerance == 1e-3);
  CHECK(options.arm.angle_tolerance == 0.1);
  CHECK(options.arm.max_restarts == 2);
}

TEST_CASE("any mobile solver: an unknown name is refused with those that there are", "[mobile]") {
  using Catch::Matchers::Contains;
  CHECK_THROWS_WITH(make_mobile_solver("chord", MobileRobot(youbot())),
                    Contains("solver = \"chord\"") && Contains("auto, fabrik, closed_form"));
  CHECK_THROWS_WITH(
      make_mobile_solver(
          "fabrik", MobileContinuum{.arm = ContinuumRobot({{.length = 0.1}, {.length = 0.1}})}),
      Contains("must be auto"));
}
