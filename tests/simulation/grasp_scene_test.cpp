// scenes/wrap_grasp carries out the plan of scenes/plans/grasp_post.toml.

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <numbers>

#include "simulation/experiment/experiment.hpp"
#include "simulation/scene/scene.hpp"
#include "tendril/contact/grasp.hpp"
#include "tendril/model/robot_description.hpp"
#include "tendril/model/toml_fields.hpp"
#include "tendril/plan_file/plan_file.hpp"

using namespace tendril;
using namespace tendril::simulation;

namespace {
constexpr double kWritten = 1e-4;  // the robot file has four digits
}

TEST_CASE("grasp scene: the arm starts in the planned arcs, around the planned post", "[scenes]") {
  const char* file = "scenes/plans/grasp_post.toml";
  const PlanFile plan = parse_plan(read_text_file(file), file);
  GraspPlanner planner(plan.options);
  const GraspResult& result = planner.plan(plan.scene, plan.contacts, plan.base, *plan.grasp);
  REQUIRE(result.status == ContactPlannerStatus::Solved);
  const auto solution =
      std::find_if(result.solutions.begin(), result.solutions.end(),
                   [](const GraspSolution& s) { return s.steps.front().side == 1; });
  REQUIRE(solution != result.solutions.end());

  const ContinuumDescription robot = load_as<ContinuumDescription>("scenes/wrap_grasp/arm.toml");
  REQUIRE(robot.start.has_value());
  REQUIRE(robot.sections.size() == solution->steps.size());
  REQUIRE(robot.start->arcs.size() == solution->steps.size());
  for (std::size_t i = 0; i < robot.sections.size(); ++i) {
    const PlanarArc& arc = solution->steps[i].arc;
    const auto& [curvature, length] = robot.start->arcs[i];
    CAPTURE(i);
    CHECK(curvature == Approx(arc.curvature).margin(kWritten));
    CHECK(length == Approx(arc.length).margin(kWritten));
    CHECK(robot.sections[i].length == Approx(arc.length).margin(kWritten));
    CHECK(robot.physics[i].radius.largest() == plan.options.body_radius);
  }
  // The approach is commanded its bend, the wrap one and a half times what the post lets it have.
  const double approach = solution->steps[0].arc.curvature * solution->steps[0].arc.length;
  CHECK(robot.start->bends[0] == Approx(approach).margin(kWritten));
  CHECK(robot.start->bends[1] == Approx(1.5 * plan.grasp->wrap_angle).margin(kWritten));

  // The plan's z is y of the scene.
  const Scene scene = load_scene("scenes/wrap_grasp/wrap_grasp.xml", {});
  const int post = mj_name2id(scene.model.get(), mjOBJ_GEOM, "post");
  REQUIRE(post >= 0);
  const int body = scene.model->geom_bodyid[post];
  const double* place = scene.model->body_pos + 3 * body;
  const auto expected = plan.scene.distance({place[0], place[1]});
  CHECK(expected == Approx(-scene.model->geom_size[3 * post]));
}
