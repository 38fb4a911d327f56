#include "tendril/rod/insertion.hpp"

#include <catch2/catch.hpp>
#include <limits>

#include "tendril/model_error.hpp"
#include "tests/rod/elastic_cases.hpp"

using namespace tendril;
using namespace tendril::test;
using Eigen::Vector2d;

namespace {

constexpr double kExact = 1e-9;  // [m, 1/m]

/// Point of the plan at arc length s, with its arc.
struct PlanPoint {
  std::size_t arc = 0;
  double past = 0.0;  // the arc's start [m]
  PlanarPose pose;
};
PlanPoint plan_at(const std::vector<PlanarArc>& plan, double s) {
  PlanPoint point;
  while (point.arc + 1 < plan.size() && plan[point.arc].length < s - kExact)
    s -= plan[point.arc++].length;
  point.past = s;
  point.pose = plan[point.arc].pose_at(s);
  return point;
}

void check_rows(const std::vector<PlanarArc>& plan, const std::vector<InsertionRow>& rows,
                const InsertionOptions& options = {}) {
  REQUIRE(rows.size() >= 2);
  CHECK(rows.front().path_length == options.start_length);
  CHECK(rows.back().path_length == Approx(plan_length(plan)).margin(kExact));
  const double advance = std::min(options.largest_step, options.body_radius / 5.0);
  for (std::size_t i = 0; i + 1 < rows.size(); ++i) {
    const InsertionRow &a = rows[i], &b = rows[i + 1];
    const double step = b.path_length - a.path_length;
    if (!(step > 0.0 && step <= advance + kExact)) FAIL("row " << i << ": advance " << step);
    const double turn = std::abs(plan_at(plan, b.path_length).pose.heading -
                                 plan_at(plan, a.path_length).pose.heading);
    if (turn > options.largest_turn + kExact) FAIL("row " << i << ": turn " << turn);
    if (!(b.time > a.time)) FAIL("row " << i << ": time");
  }
  double joint = 0.0;
  for (const PlanarArc& arc : plan) {
    joint += arc.length;
    CHECK(std::any_of(rows.begin(), rows.end(), [&](const InsertionRow& row) {
      return std::abs(row.path_length - joint) < kExact;
    }));
  }
}

}  // namespace

TEST_CASE("insertion: one extensible section follows the plan stage by stage",
          "[planning][insertion]") {
  for (const ElasticCase& c : elastic_cases()) {
    DYNAMIC_SECTION(c.name) {
      const std::vector<PlanarArc> plan = c.plan();
      const InsertionOptions options;
      const std::vector<InsertionRow> rows = extensible_insertion(plan, options);
      check_rows(plan, rows, options);
      for (const InsertionRow& row : rows) {
        REQUIRE(row.length == row.path_length);
        const PlanPoint at = plan_at(plan, row.path_length);
        // Never ramped before the contact, linear past it, done within the ramp behind it.
        const double before = at.arc > 0 ? plan[at.arc - 1].curvature : plan[0].curvature;
        const double ratio = at.arc > 0 ? std::min(1.0, at.past / options.ramp) : 1.0;
        REQUIRE(row.curvature == Approx(std::lerp(before, plan[at.arc].curvature, ratio)));
      }
      // In the first stage the section's own arc ends on the path.
      const PlanarArc section{
          .start = {}, .curvature = rows[5].curvature, .length = rows[5].length};
      CHECK((section.end().position - plan_at(plan, rows[5].path_length).pose.position).norm() <
            kExact);
      CHECK((plan_at(plan, rows.back().path_length).pose.position - c.target).norm() < kExact);
    }
  }
}

TEST_CASE("insertion: the elastic list meets the corrected states", "[planning][insertion]") {
  const ElasticCase c = elastic_cases()[3];
  const std::vector<PlanarArc> plan = c.plan();
  ElasticCorrection correction(c.scene, {}, {.element_length = 0.01});
  const std::vector<CorrectedState> states = correction.follow(plan, c.contacts);
  const std::vector<InsertionRow> rows = elastic_insertion(plan, states);
  check_rows(plan, rows);
  CHECK(rows.back().length == Approx(states.back().length));
  CHECK(rows.back().curvature == Approx(states.back().curvatures[0]));
  // Fed in equilibrium, the body's tip remains with the plan between the states too.
  ElasticRod rod(c.scene, {}, {.element_length = 0.01});
  double worst = 0.0;
  for (const InsertionRow& row : rows) {
    if (row.length <= 0.0) continue;
    const RodSolution solution = rod.solve(row.curvature, row.length);
    REQUIRE(solution.converged());
    const Vector2d desired = plan_at(plan, row.path_length).pose.position;
    worst = std::max(worst, (solution.tip.position - desired).norm());
  }
  CHECK(worst < 5e-4);
  CHECK_THROWS_AS(elastic_insertion(plan, {}), ModelError);
}

TEST_CASE("insertion: time scaling holds speed, acceleration and rate", "[planning][insertion]") {
  const ElasticCase c = elastic_cases()[3];
  const std::vector<PlanarArc> plan = c.plan();
  const InsertionOptions options{.speed = 0.08, .acceleration = 0.3, .curvature_rate = 5.0};
  const std::vector<InsertionRow> rows = extensible_insertion(plan, options);
  double speed_before = 0.0, duration_before = 0.0;
  for (std::size_t i = 0; i + 1 < rows.size(); ++i) {
    const InsertionRow &a = rows[i], &b = rows[i + 1];
    const double dt = b.time - a.time;
    const double speed = (b.length - a.length) / dt;
    REQUIRE(speed <= options.speed * (1.0 + kExact));
    REQUIRE(std::abs(b.curvature - a.curvature) / dt <= options.curvature_rate * (1.0 + kExact));
    if (i > 0)
      REQUIRE(std::abs(speed - speed_before) / (0.5 * (dt + duration_before)) <=
              options.acceleration * (1.0 + 1e-6));
    speed_before = speed;
    duration_before = dt;
  }
  // Without a rate to hold, the time is that of a trapezoid of speed, with corners on rows.
  const InsertionOptions plain{.speed = 0.05, .acceleration = 0.2};
  CHECK(extensible_insertion(plan, plain).back().time ==
        Approx(plan_length(plan) / 0.05 + 0.05 / 0.2).epsilon(1e-3));
}

TEST_CASE("insertion: bad input is named", "[planning][insertion]") {
  const std::vector<PlanarArc> plan{{{}, 1.0, 0.3}};
  CHECK_THROWS_WITH(extensible_insertion({}), "insertion path: has no arcs");
  CHECK_THROWS_WITH(extensible_insertion(std::vector<PlanarArc>{{{}, 1.0, 0.0}}),
                    "insertion path: arc 0: length = 0 m, must be > 0");
  CHECK_THROWS_AS(extensible_insertion(std::vector<PlanarArc>{{{}, std::nan(""), 1.0}}),
                  ModelError);
  const std::vector<PlanarArc> torn{{{}, 1.0, 0.1}, {{{0.5, 0.5}, 0.0}, 1.0, 0.1}};
  CHECK_THROWS_AS(extensible_insertion(torn), ModelError);
  CHECK_THROWS_WITH(extensible_insertion(plan, {.speed = 0.0}),
                    "insertion options: speed = 0 m/s, must be > 0");
  CHECK_THROWS_WITH(extensible_insertion(plan, {.start_length = 0.3}),
                    "insertion options: start_length = 0.3 m, must be less than the path's length");
  CHECK_THROWS_AS(extensible_insertion(plan, {.curvature_rate = 0.0}), ModelError);
}
