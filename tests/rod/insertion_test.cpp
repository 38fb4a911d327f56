#include "tendril/rod/insertion.hpp"

#include <catch2/catch.hpp>
#include <limits>
#include <numbers>

#include "tendril/model_error.hpp"
#include "tests/rod/elastic_cases.hpp"
#include "tests/support/random.hpp"
#include "tests/support/tolerances.hpp"

using Eigen::Isometry3d;
using Eigen::Vector3d;
using namespace tendril;
using namespace tendril::test;
using std::numbers::pi;

namespace {

constexpr double kExact = 1e-9;  // [m, rad]: what the exact kinds of insertion are held to

std::vector<SpatialArc> random_arcs(Random& random) {
  std::vector<SpatialArc> arcs(static_cast<std::size_t>(random.integer(1, 5)));
  for (SpatialArc& arc : arcs)
    arc = {.curvature = random.uniform(-8.0, 8.0),
           .direction = random.angle(),
           .length = random.uniform(0.05, 0.3)};
  return arcs;
}

Isometry3d random_entry(Random& random) {
  Isometry3d X = Isometry3d::Identity();
  X.linear() = Eigen::AngleAxisd(random.angle(), random.unit_vector()).toRotationMatrix();
  X.translation() = random.unit_vector();
  return X;
}

/// The path's pose by integrating its frame in small steps: dR = R [omega], dp = R z.
Isometry3d integrated_pose(const std::vector<SpatialArc>& arcs, Isometry3d X, double length) {
  constexpr int kSteps = 400;
  for (const SpatialArc& arc : arcs) {
    const double part = std::min(arc.length, length), ds = part / kSteps;
    if (part <= 0.0) break;
    const Vector3d axis(-std::sin(arc.direction), std::cos(arc.direction), 0.0);
    for (int i = 0; i < kSteps; ++i) {
      const Eigen::Matrix3d half =
          Eigen::AngleAxisd(0.5 * arc.curvature * ds, axis).toRotationMatrix();
      X.translation() += ds * (X.linear() * half).col(2);
      X.linear() = X.linear() * half * half;
    }
    length -= part;
  }
  return X;
}

/// The shape that section commands make: points every `fraction` of every section, at their arc
/// length.
struct BodyPoint {
  double arc_length;
  Isometry3d pose;
};
std::vector<BodyPoint> body_points(const Isometry3d& entry, const InsertionStep& step) {
  std::vector<BodyPoint> points;
  Isometry3d X = entry;
  double begin = 0.0;
  for (const SectionCommand& section : step.sections) {
    if (section.length <= 0.0) continue;
    const Section unit({.length = section.length, .bend_angle_limit = 2.0 * pi});
    const SectionState state{.theta = section.theta, .phi = section.phi};
    for (int i = 1; i <= 4; ++i)
      points.push_back(
          {begin + 0.25 * i * section.length, X * section_pose_at(unit, state, 0.25 * i)});
    X = X * section_end_pose(unit, state);
    begin += section.length;
  }
  return points;
}

double worst_deviation(const InsertionPath& path, const InsertionStep& step) {
  double worst = 0.0;
  for (const BodyPoint& point : body_points(path.entry(), step))
    worst = std::max(
        worst, (point.pose.translation() - path.pose_at(point.arc_length).translation()).norm());
  return worst;
}

void check_rows(const InsertionPath& path, const InsertionList& list,
                const InsertionOptions& options = {}) {
  REQUIRE(list.status == InsertionStatus::Ready);
  REQUIRE(list.steps.size() >= 2);
  CHECK(list.steps.front().path_length == options.start_length);
  CHECK(list.steps.back().path_length == Approx(path.length()).margin(kExact));
  const double advance = std::min(options.largest_step, options.body_radius / 5.0);
  for (std::size_t i = 0; i + 1 < list.steps.size(); ++i) {
    const InsertionStep &a = list.steps[i], &b = list.steps[i + 1];
    const double step = b.path_length - a.path_length;
    if (!(step > 0.0 && step <= advance + kExact)) FAIL("row " << i << ": advance " << step);
    const Vector3d from = a.X_WE.linear().col(2), to = b.X_WE.linear().col(2);
    const double turn = std::atan2(from.cross(to).norm(), from.dot(to));
    if (turn > 2.0 * options.largest_turn) FAIL("row " << i << ": turn " << turn);
    if (a.sections.size() != b.sections.size()) FAIL("row " << i << ": number of sections");
    if (!(b.time > a.time)) FAIL("row " << i << ": time");
  }
}

InsertionPath case_path(const ElasticCase& c) { return InsertionPath(c.plan()); }

}  // namespace

TEST_CASE("insertion: the path is the integral of its curvature", "[planning][insertion]") {
  const auto seed = GENERATE(range(0u, 20u));
  CAPTURE(seed);
  Random random(seed);
  const std::vector<SpatialArc> arcs = random_arcs(random);
  const Isometry3d entry = random_entry(random);
  const InsertionPath path(arcs, entry);
  const double s = random.uniform(0.0, path.length());
  // Midpoint rule, (k ds)^2/24 of the length.
  CHECK(path.pose_at(s).isApprox(integrated_pose(arcs, entry, s), 1e-6));
}

TEST_CASE("insertion: a planar plan lies in the xz-plane", "[planning][insertion]") {
  for (const ElasticCase& c : elastic_cases()) {
    const std::vector<PlanarArc> plan = c.plan();
    const InsertionPath path(plan);
    double begin = 0.0;
    for (const PlanarArc& arc : plan) {
      const PlanarPose flat = arc.pose_at(0.37 * arc.length);
      const Isometry3d X = path.pose_at(begin + 0.37 * arc.length);
      CHECK((X.translation() - Vector3d(flat.position.x(), 0.0, flat.position.y())).norm() <
            kExact);
      CHECK((X.linear().col(2) - Vector3d(std::sin(flat.heading), 0.0, std::cos(flat.heading)))
                .norm() < kExact);
      begin += arc.length;
    }
  }
}

TEST_CASE("insertion: one extensible section follows the plan stage by stage",
          "[planning][insertion]") {
  for (const ElasticCase& c : elastic_cases()) {
    DYNAMIC_SECTION(c.name) {
      const std::vector<PlanarArc> plan = c.plan();
      const InsertionPath path(plan);
      const InsertionOptions options{.scene = &c.scene, .contacts = c.contacts};
      const InsertionList list = extensible_insertion(path, options);
      check_rows(path, list, options);
      for (const InsertionStep& row : list.steps) {
        const auto stage = static_cast<std::size_t>(row.stage);
        // In the first stage the section's own arc is the prediction.
        if (stage == 0 && row.inserted_length > 0.0) {
          REQUIRE(worst_deviation(path, row) < kExact);
          REQUIRE(row.actuation_curvature == Approx(plan[0].curvature));
        }
        // Never ramped before the contact, done within the ramp behind it.
        const double past = row.path_length - path.arc_start(row.stage);
        if (past >= options.ramp) REQUIRE(row.actuation_curvature == Approx(plan[stage].curvature));
        REQUIRE(row.contacts.size() == stage);
        for (std::size_t i = 0; i < stage; ++i) {
          REQUIRE(row.contacts[i].side == c.contacts[i].side);
          REQUIRE(row.contacts[i].arc_length == Approx(path.arc_end(static_cast<int>(i))));
        }
        REQUIRE(row.sections.size() == 1);
        REQUIRE(row.sections[0].theta ==
                Approx(std::abs(row.actuation_curvature) * row.inserted_length).margin(kExact));
        REQUIRE(row.clearance > -1e-6);
      }
      CHECK(std::abs(list.steps.back().clearance) < 1e-6);  // it leans on something
      CHECK((list.steps.back().X_WE.translation() - Vector3d(c.target.x(), 0.0, c.target.y()))
                .norm() < kExact);
    }
  }
}

TEST_CASE("insertion: the elastic list meets the corrected states", "[planning][insertion]") {
  const ElasticCase c = elastic_cases()[3];
  const std::vector<PlanarArc> plan = c.plan();
  ElasticCorrection correction(c.scene, {}, {.element_length = 0.01});
  const std::vector<CorrectedState> states = correction.follow(plan, c.contacts);
  const InsertionPath path(plan);
  const InsertionList list = elastic_insertion(path, states);
  check_rows(path, list);
  CHECK(list.steps.back().inserted_length == Approx(states.back().length));
  CHECK(list.steps.back().actuation_curvature == Approx(states.back().curvatures[0]));
  // Fed at rest, the body's tip stays with the plan between the states too.
  std::vector<InsertionCommand> commands;
  ElasticRod rod(c.scene, {}, {.element_length = 0.01});
  double worst = 0.0;
  for (const InsertionStep& row : list.steps) {
    if (row.inserted_length <= 0.0) continue;
    const RodSolution solution = rod.solve(row.actuation_curvature, row.inserted_length);
    REQUIRE(solution.converged());
    const Vector3d desired = path.pose_at(row.path_length).translation();
    worst =
        std::max(worst, (solution.tip.position - Eigen::Vector2d(desired.x(), desired.z())).norm());
  }
  CHECK(worst < 5e-4);
  CHECK_THROWS_AS(elastic_insertion(path, {}), ModelError);
}

TEST_CASE("insertion: sections that grow one after the other are exact", "[planning][insertion]") {
  const auto seed = GENERATE(range(0u, 10u));
  CAPTURE(seed);
  Random random(seed);
  const InsertionPath path(random_arcs(random), random_entry(random));
  // Sections shorter than most arcs, so that these are split.
  const std::vector<double> longest(20, 0.08);
  const InsertionList list = growing_sections_insertion(path, longest);
  check_rows(path, list);
  for (const InsertionStep& row : list.steps) {
    REQUIRE(worst_deviation(path, row) < kExact);
    double sum = 0.0;
    for (const SectionCommand& section : row.sections) {
      REQUIRE(section.length <= 0.08 + kExact);
      sum += section.length;
    }
    REQUIRE(sum == Approx(row.inserted_length).margin(kExact));
    const auto points = body_points(path.entry(), row);
    if (!points.empty()) REQUIRE(points.back().pose.isApprox(row.X_WE, kExact));
  }
  CHECK(growing_sections_insertion(path, std::vector<double>{0.01}).status ==
        InsertionStatus::BeyondLimits);
}

TEST_CASE("insertion: a robot that grows at its tip is exact and does not move what is laid",
          "[planning][insertion]") {
  const auto seed = GENERATE(range(0u, 10u));
  CAPTURE(seed);
  Random random(seed);
  const InsertionPath path(random_arcs(random), random_entry(random));
  const InsertionList list = everting_insertion(path, 8.0);
  check_rows(path, list);
  for (std::size_t i = 0; i < list.steps.size(); ++i) {
    const InsertionStep& row = list.steps[i];
    REQUIRE(worst_deviation(path, row) < kExact);
    if (i == 0) continue;
    const auto stage = static_cast<std::size_t>(row.stage);
    REQUIRE(row.actuation_curvature == path.arcs()[stage].curvature);
    for (std::size_t j = 0; j < stage; ++j)
      REQUIRE(row.sections[j].length == Approx(path.arcs()[j].length));
  }
  CHECK(everting_insertion(path, 1e-3).status == InsertionStatus::BeyondLimits);
}

TEST_CASE("insertion: shaft-fed sections deviate by the published amounts",
          "[planning][insertion]") {
  // [mm], K = 3, 6, 12, 24 sections that together are as long as the path.
  const std::vector<std::vector<double>> published{{128, 33, 8.4, 2.1},
                                                   {223, 62, 16, 3.9},
                                                   {64, 16, 4.1, 1.0},
                                                   {32, 9.9, 2.6, 0.6},
                                                   {59, 15, 3.2, 1.0}};
  const std::vector<ElasticCase> cases = elastic_cases();
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const InsertionPath path = case_path(cases[i]);
    for (int j = 0, count = 3; count <= 24; ++j, count *= 2) {
      DYNAMIC_SECTION(cases[i].name << ", " << count << " sections") {
        const ShaftRobot robot{.section_count = count, .section_length = path.length() / count};
        const InsertionList list = shaft_insertion(path, robot, SectionFit::Tangents, 1.0);
        check_rows(path, list);
        CHECK(list.deviation ==
              Approx(1e-3 * published[i][static_cast<std::size_t>(j)]).epsilon(0.10));
        CHECK(shaft_insertion(path, robot, SectionFit::Tangents, 0.5 * list.deviation).status ==
              InsertionStatus::OutsideCorridor);
        // Section ends point along the path, and the reported deviation is that of the body.
        for (const InsertionStep& row : list.steps) {
          double begin = 0.0;
          Isometry3d X = path.entry();
          for (const SectionCommand& section : row.sections) {
            X = X * arc_pose({section.length > 0.0 ? section.theta / section.length : 0.0,
                              section.phi, section.length},
                             section.length);
            begin += section.length;
            REQUIRE((X.linear().col(2) - path.pose_at(begin).linear().col(2)).norm() < kExact);
          }
          REQUIRE(begin == Approx(row.inserted_length).margin(kExact));
          REQUIRE(worst_deviation(path, row) <= row.deviation + kExact);
        }
      }
    }
  }
}

TEST_CASE("insertion: fitted to the path, shaft-fed sections deviate less",
          "[planning][insertion]") {
  for (const ElasticCase& c : elastic_cases()) {
    DYNAMIC_SECTION(c.name) {
      const InsertionPath path = case_path(c);
      const ShaftRobot robot{.section_count = 6, .section_length = path.length() / 6.0};
      const InsertionOptions options{.body_radius = 0.0, .largest_step = 0.01};
      const InsertionList plain = shaft_insertion(path, robot, SectionFit::Tangents, 1.0, options);
      const InsertionList fitted =
          shaft_insertion(path, robot, SectionFit::LeastSquares, 1.0, options);
      CHECK(fitted.deviation < 0.5 * plain.deviation);
    }
  }
}

TEST_CASE("insertion: in space shaft-fed sections point along the path without twist",
          "[planning][insertion]") {
  const auto seed = GENERATE(range(0u, 5u));
  CAPTURE(seed);
  Random random(seed);
  std::vector<SpatialArc> arcs = random_arcs(random);
  arcs.push_back({.curvature = 5.0, .direction = 2.0, .length = 0.2});
  const InsertionPath path(arcs, random_entry(random));
  double last = std::numeric_limits<double>::infinity();
  for (const int count : {10, 20, 40}) {
    const InsertionList list =
        shaft_insertion(path, {.section_count = count, .section_length = path.length() / count},
                        SectionFit::Tangents, 1.0);
    REQUIRE(list.status == InsertionStatus::Ready);
    const auto points = body_points(path.entry(), list.steps.back());
    CHECK(
        (points.back().pose.linear().col(2) - path.pose_at(path.length()).linear().col(2)).norm() <
        kExact);
    CHECK(list.deviation < last);
    last = list.deviation;
  }
}

TEST_CASE("insertion: withdrawal is the insertion backwards", "[planning][insertion]") {
  const ElasticCase c = elastic_cases()[1];
  const InsertionPath path = case_path(c);
  const InsertionList in = extensible_insertion(path, {.contacts = c.contacts});
  const InsertionList out = withdrawal(in);
  REQUIRE(out.steps.size() == in.steps.size());
  CHECK(out.steps.front().time == 0.0);
  CHECK(out.duration() == Approx(in.duration()));
  CHECK(out.steps.front().contacts.size() == 2);
  CHECK(out.steps.back().contacts.empty());
  for (std::size_t i = 0; i < in.steps.size(); ++i) {
    const InsertionStep &there = in.steps[i], &back = out.steps[in.steps.size() - 1 - i];
    REQUIRE(there.inserted_length == back.inserted_length);
    REQUIRE(there.time + back.time == Approx(in.duration()));
  }
}

TEST_CASE("insertion: time scaling holds speed, acceleration and rates", "[planning][insertion]") {
  const ElasticCase c = elastic_cases()[3];
  const InsertionPath path = case_path(c);
  const InsertionOptions options{
      .speed = 0.08, .acceleration = 0.3, .bend_rate = 0.2, .curvature_rate = 5.0};
  const InsertionList list = everting_insertion(path, 20.0, options);
  const InsertionList staged = extensible_insertion(path, options);
  for (const InsertionList* rows : {&list, &staged}) {
    double speed_before = 0.0, duration_before = 0.0;
    for (std::size_t i = 0; i + 1 < rows->steps.size(); ++i) {
      const InsertionStep &a = rows->steps[i], &b = rows->steps[i + 1];
      const double dt = b.time - a.time;
      const double speed = (b.inserted_length - a.inserted_length) / dt;
      REQUIRE(speed <= options.speed * (1.0 + kExact));
      REQUIRE(std::abs(b.actuation_curvature - a.actuation_curvature) / dt <=
              options.curvature_rate * (1.0 + kExact) + (rows == &list ? 1e3 : 0.0));
      for (std::size_t s = 0; s < a.sections.size(); ++s)
        REQUIRE(std::abs(b.sections[s].theta - a.sections[s].theta) / dt <=
                options.bend_rate * (1.0 + kExact));
      if (i > 0)
        REQUIRE(std::abs(speed - speed_before) / (0.5 * (dt + duration_before)) <=
                options.acceleration * (1.0 + 1e-6));
      speed_before = speed;
      duration_before = dt;
    }
  }
  // Without rates to hold, the time is that of a trapezoid of speed, with corners on rows.
  const InsertionOptions plain{.speed = 0.05, .acceleration = 0.2};
  CHECK(everting_insertion(path, 20.0, plain).duration() ==
        Approx(path.length() / 0.05 + 0.05 / 0.2).epsilon(1e-3));
}

TEST_CASE("insertion: between rows commands are linear and hold phi of straight sections",
          "[planning][insertion]") {
  InsertionList list;
  list.steps.resize(3);
  list.steps[0].sections = {{.theta = 0.0, .phi = 1.0, .length = 0.1}};
  list.steps[1].sections = {{.theta = 0.2, .phi = 3.0, .length = 0.2}};
  list.steps[2].sections = {{.theta = 0.4, .phi = -3.0, .length = 0.2}};
  list.steps[1].time = 1.0;
  list.steps[2].time = 2.0;
  CHECK(command_at(list, -1.0).sections[0].length == 0.1);
  CHECK(command_at(list, 9.0).sections[0].theta == 0.4);
  const SectionCommand first = command_at(list, 0.5).sections[0];
  CHECK(first.theta == Approx(0.1));
  CHECK(first.phi == 1.0);
  CHECK(first.length == Approx(0.15));
  // The shorter way from 3 to -3 leads through pi.
  const SectionCommand second = command_at(list, 1.5).sections[0];
  CHECK(second.theta == Approx(0.3));
  CHECK(std::abs(second.phi) == Approx(pi));
}

TEST_CASE("insertion: bad input is named", "[planning][insertion]") {
  CHECK_THROWS_WITH(InsertionPath(std::vector<SpatialArc>{}), "insertion path: has no arcs");
  CHECK_THROWS_WITH(InsertionPath(std::vector<SpatialArc>{{1.0, 0.0, 0.0}}),
                    "insertion path: arc 0: length = 0, must be finite and > 0");
  CHECK_THROWS_AS(InsertionPath(std::vector<SpatialArc>{{std::nan(""), 0.0, 1.0}}), ModelError);
  const std::vector<PlanarArc> torn{{{}, 1.0, 0.1}, {{{0.5, 0.5}, 0.0}, 1.0, 0.1}};
  CHECK_THROWS_AS(InsertionPath(torn), ModelError);
  const InsertionPath path(std::vector<SpatialArc>{{1.0, 0.0, 0.3}});
  CHECK_THROWS_WITH(everting_insertion(path, 2.0, {.speed = 0.0}),
                    "insertion options: speed = 0, must be finite and > 0");
  CHECK_THROWS_AS(everting_insertion(path, 2.0, {.start_length = 0.3}), ModelError);
  CHECK_THROWS_AS(shaft_insertion(path, {.section_count = 0}, SectionFit::Tangents, 1.0),
                  ModelError);
  CHECK(
      shaft_insertion(path, {.section_count = 2, .section_length = 0.1}, SectionFit::Tangents, 1.0)
          .status == InsertionStatus::BeyondLimits);
}
