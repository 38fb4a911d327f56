#include "tendril/kinematics/section_workspace.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <numbers>
#include <set>

#include "tendril/model_error.hpp"
#include "tests/support/kinematics_oracle.hpp"
#include "tests/support/random.hpp"
#include "tests/support/reference_robots.hpp"
#include "tests/support/tolerances.hpp"

using namespace tendril;
using namespace tendril::test;
using std::numbers::pi;

namespace {

constexpr double kCurveTolerance = 1e-6;  // relative: 4000 chords for a curve
constexpr double kBodyTolerance = 2e-4;   // relative: midpoint rule of the oracle, rays of the code
constexpr double kRasterTolerance = 0.015;  // relative: cells at the border count in whole

Section weighted(std::vector<double> W, std::vector<double> w, double limit) {
  return Section(
      {.length = 0.1, .bend_angle_limit = limit, .length_weights = W, .angle_weights = w});
}

/// End in the bend plane, by the product of matrices.
Eigen::Vector2d oracle_end(const Section& section, double theta, double extension) {
  const Eigen::Vector3d p =
      oracle_section_pose(section, {.theta = theta, .extension = extension}).translation();
  return {p.x(), p.z()};
}

}  // namespace

TEST_CASE("section workspace: one arc ends where the closed form says", "[kinematics]") {
  // [FABRIKx] (1.4)-(1.11): x = S (1 - cos theta) / theta, z = S sin(theta) / theta
  const Section section({.length = 0.03, .variable_length = 0.05, .bend_angle_limit = 5.0});
  const SectionWorkspace set = section_workspace(section, 51);
  REQUIRE(set.bends.size() == 51);
  for (std::size_t k = 1; k < set.bends.size(); ++k) {
    const BentSection& bend = set.bends[k];
    CHECK(bend.theta == Approx(0.1 * static_cast<double>(k)));
    CHECK(bend.end.x() == Approx(0.08 * (1 - std::cos(bend.theta)) / bend.theta).margin(1e-15));
    CHECK(bend.end.y() == Approx(0.08 * std::sin(bend.theta) / bend.theta).margin(1e-15));
    CHECK(bend.chord_angle == Approx(bend.theta / 2));
    CHECK(bend.ratio == Approx(2.0));
  }
  CHECK(set.bends[0].end == Eigen::Vector2d(0.0, 0.08));
  // the boundary: largest length, then largest bend down to the constant part, then the axis
  for (std::size_t k = 51; k + 1 < set.outline.size(); ++k) {
    const double s = 0.05 * (1.0 - static_cast<double>(k - 50) / 50.0);
    CHECK((set.outline[k] - oracle_end(section, section.bend_angle_limit_at(s), s)).norm() < 1e-12);
  }
  CHECK(set.outline.back() == set.outline.front());
}

TEST_CASE("section workspace: a fixed length turns a curve into Guldin's surface", "[kinematics]") {
  const double limit = GENERATE(0.3, 2.0, 2 * pi);
  const Section section({.length = 0.1, .bend_angle_limit = limit});
  // Simpson's rule for 2 pi int x sqrt(x'^2 + z'^2) dtheta of the closed form
  const auto integrand = [](double t) {
    const double x = 0.1 * (1 - std::cos(t)) / t;
    const double dx = 0.1 * (std::sin(t) / t - (1 - std::cos(t)) / (t * t));
    const double dz = 0.1 * (std::cos(t) / t - std::sin(t) / (t * t));
    return 2 * pi * x * std::hypot(dx, dz);
  };
  constexpr int kIntervals = 2000;
  double surface = 0.0;
  for (int k = 0; k < kIntervals; ++k) {
    const double h = limit / kIntervals, t = k * h;
    surface +=
        h / 6 * ((k == 0 ? 0.0 : integrand(t)) + 4 * integrand(t + h / 2) + integrand(t + h));
  }
  const SectionWorkspace set = section_workspace(section);
  CHECK(set.surface == Approx(surface).epsilon(kCurveTolerance));
  CHECK(set.area == 0.0);
  CHECK(set.volume == 0.0);
  CHECK(set.outline.size() == set.bends.size());
}

TEST_CASE("section workspace: area and volume are integrals of the map's determinant",
          "[kinematics]") {
  const auto seed = GENERATE(range(0u, 12u));
  CAPTURE(seed);
  Random random(seed);
  SectionParameters parameters = random_section_parameters(random);
  parameters.variable_length = random.uniform(0.02, 0.05);
  const Section section(parameters);
  REQUIRE(section.invertible_bend_angle() == section.bend_angle_limit());  // no point counts twice
  constexpr int kSteps = 150;
  double area = 0.0, volume = 0.0;
  for (int i = 0; i < kSteps; ++i) {
    const double s = section.variable_length() * (i + 0.5) / kSteps;
    const double limit = section.bend_angle_limit_at(s);
    for (int j = 0; j < kSteps; ++j) {
      const double theta = limit * (j + 0.5) / kSteps, h = 1e-6;
      const Eigen::Vector2d dt =
          (oracle_end(section, theta + h, s) - oracle_end(section, theta - h, s)) / (2 * h);
      const Eigen::Vector2d ds = oracle_end(section, theta, s) / (section.length() + s);
      const double piece = std::abs(dt.x() * ds.y() - dt.y() * ds.x()) * (limit / kSteps) *
                           (section.variable_length() / kSteps);
      area += piece;
      volume += 2 * pi * oracle_end(section, theta, s).x() * piece;
    }
  }
  const SectionWorkspace set = section_workspace(section);
  CHECK(set.area == Approx(area).epsilon(kBodyTolerance));
  CHECK(set.volume == Approx(volume).epsilon(kBodyTolerance));
  CHECK(set.surface == 0.0);
}

TEST_CASE("section workspace: points that two bends reach count once", "[kinematics]") {
  const Section section({.length = 0.04,
                         .variable_length = 0.06,
                         .bend_angle_limit = 2 * pi,
                         .length_weights = {1, 2, 4},
                         .angle_weights = {1, 2, 10}});
  REQUIRE(critical_bend_angle(section).has_value());
  constexpr double kEdge = 5e-4;
  std::set<std::pair<int, int>> cells;
  for (int i = 0; i <= 1000; ++i) {
    const double s = section.variable_length() * i / 1000.0;
    for (int j = 0; j <= 1000; ++j) {
      const PlanarPoint end = section.end_point(section.bend_angle_limit_at(s) * j / 1000.0);
      const double S = section.length() + s;
      cells.emplace(std::floor(std::abs(S * end.x) / kEdge), std::floor(S * end.z / kEdge));
    }
  }
  double volume = 0.0;
  for (const auto& [column, row] : cells) volume += 2 * pi * (column + 0.5) * std::pow(kEdge, 3);
  const SectionWorkspace set = section_workspace(section);
  const double area = static_cast<double>(cells.size()) * kEdge * kEdge;
  CHECK(set.area < area);
  CHECK(set.area == Approx(area).epsilon(3 * kRasterTolerance));
  CHECK(set.volume == Approx(volume).epsilon(3 * kRasterTolerance));
}

TEST_CASE("section workspace: k and critical bend of published sections", "[kinematics]") {
  struct Case {
    const char* name;
    std::vector<double> W, w;
    double k_30, critical_deg, chord_deg;  // [deg]; 0: none
  };
  // [FABRIKx] table 2.1 with figure 2.2, and figure 2.3
  const auto c =
      GENERATE(values<Case>({{"table 2.1, 1", {1, 2, 4}, {3, 2, 1}, 1.3317, 0, 0},
                             {"table 2.1, 2", {1, 2, 4}, {1, 2, 3}, 1.8660, 0, 0},
                             {"table 2.1, 3", {4, 2, 1}, {3, 1, 1}, 1.9996, 0, 0},
                             {"figure 2.3", {1, 2, 4}, {1, 2, 10}, 2.4966, 253.31, 80.907}}));
  DYNAMIC_SECTION(c.name) {
    CHECK(bend_ratio(weighted(c.W, c.w, 2 * pi), 30 * kDegree) == Approx(c.k_30).margin(5e-5));
    const Section section = weighted(c.W, c.w, 2 * pi);
    const auto critical = critical_bend_angle(section);
    REQUIRE(critical.has_value() == (c.critical_deg > 0));
    if (!critical) return;
    CHECK(*critical / kDegree == Approx(c.critical_deg).margin(5e-3));
    CHECK(followed_chord_angle(section, *critical) / kDegree == Approx(c.chord_deg).margin(5e-4));
    CHECK_FALSE(critical_bend_angle(weighted(c.W, c.w, 250 * kDegree)).has_value());
    // no other bend has as large a chord angle
    for (double theta = 0.01; theta < 2 * pi; theta += 0.01) {
      const Eigen::Vector2d end = oracle_end(section, theta, 0.0);
      CHECK(std::atan2(end.x(), end.y()) <= followed_chord_angle(section, *critical));
    }
  }
}

TEST_CASE("section workspace: the chord angle is followed past a half turn", "[kinematics]") {
  const auto seed = GENERATE(range(0u, 20u));
  CAPTURE(seed);
  Random random(seed);
  std::vector<double> W, w;
  for (int j = 0; j < 4; ++j) {
    W.push_back(random.uniform(1.0, 10.0));
    w.push_back(random.uniform(1.0, 10.0) * (j == 0 ? 8.0 : 1.0));  // bends near its base
  }
  const Section section = weighted(W, w, 2 * pi);
  double before = 0.0;
  for (int k = 1; k < 600; ++k) {
    const double theta = 2 * pi * k / 600;
    const double angle = followed_chord_angle(section, theta);
    CHECK(std::abs(angle - before) < 0.1);
    const Eigen::Vector2d end = oracle_end(section, theta, 0.0);
    CHECK(std::sin(angle) == Approx(end.x() / end.norm()).margin(1e-9));
    CHECK(std::cos(angle) == Approx(end.y() / end.norm()).margin(1e-9));
    CHECK(bend_ratio(section, theta) == Approx(theta / angle));
    before = angle;
  }
  CHECK(bend_ratio(section, 0.0) == Approx(bend_ratio(section, 1e-5)));
}

TEST_CASE("section workspace: equal sub-sections change nothing", "[kinematics]") {
  const SectionParameters plain{.length = 0.02, .variable_length = 0.08, .bend_angle_limit = 4.0};
  SectionParameters split = plain;
  split.length_weights = split.angle_weights = {1, 1, 1};
  const SectionWorkspace a = section_workspace(Section(plain)),
                         b = section_workspace(Section(split));
  CHECK(a.area == Approx(b.area));
  CHECK(a.volume == Approx(b.volume));
  CHECK_FALSE(critical_bend_angle(Section(split)).has_value());
  CHECK(bend_ratio(Section(split), 3.0) == Approx(2.0));
  CHECK_THROWS_WITH(section_workspace(Section(plain), 1), "workspace: bends = 1, must be >= 2");
}
