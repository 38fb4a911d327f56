#include "tendril/kinematics/tendon_map.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <numbers>
#include <optional>

#include "tendril/kinematics/forward_kinematics.hpp"
#include "tendril/kinematics/tension_distribution.hpp"
#include "tendril/model_error.hpp"
#include "tests/support/allocation_counter.hpp"
#include "tests/support/random.hpp"
#include "tests/support/tolerances.hpp"

using namespace tendril;
using namespace tendril::test;
using Eigen::Vector3d;
using Eigen::VectorXd;

namespace {

VectorXd random_vector(Random& random, Eigen::Index size, double low, double high) {
  VectorXd x(size);
  for (double& value : x) value = random.uniform(low, high);
  return x;
}

VectorXd random_coordinates(Random& random, const ContinuumRobot& robot) {
  VectorXd q(robot.coordinate_count());
  for (int i = 0; i < robot.section_count(); ++i) {
    const int k = robot.coordinate_index(i);
    q[k] = random.uniform(-1.0, 1.0);
    q[k + 1] = random.uniform(-1.0, 1.0);
    if (robot.section(i).is_extensible())
      q[k + 2] = random.uniform(0.0, 1.0) * robot.section(i).variable_length();
  }
  return q;
}

std::vector<SectionState> states_of(const ContinuumRobot& robot, const VectorXd& q) {
  std::vector<SectionState> states;
  for (int i = 0; i < robot.section_count(); ++i) {
    const int k = robot.coordinate_index(i);
    const double extension = robot.section(i).is_extensible() ? q[k + 2] : 0.0;
    states.push_back(state_from_bend_vector(q[k], q[k + 1], extension));
  }
  return states;
}

double rest_length(const Section& section) {
  return section.length() + section.variable_length() / 2.0;
}

/// Length of the tendon by following the backbone: the path of its points along the backbone's
/// tangent, which leaves out only what a taper adds by being oblique.
double followed_length(const ContinuumRobot& robot, const std::vector<SectionState>& states,
                       const TendonRoute& tendon) {
  constexpr int kPieces = 4000;  // of each sub-section
  const Vector3d side(std::cos(tendon.angle), std::sin(tendon.angle), 0.0);
  double way = 0.0, start = 0.0, length = 0.0;
  for (int i = tendon.first_section; i <= tendon.section; ++i) way += rest_length(robot.section(i));
  for (int i = tendon.first_section; i <= tendon.section; ++i) {
    double from = 0.0;
    for (const double weight : robot.section(i).length_weights()) {
      // The middle of a sub-section represents all of it: it is an arc.
      const double distance =
          tendon.distance_at((start + (from + weight / 2.0) * rest_length(robot.section(i))) / way);
      const auto point = [&](int k) {
        return backbone_pose(robot, states, {}, i, std::min(1.0, from + weight * k / kPieces));
      };
      Eigen::Isometry3d last = point(0);
      for (int k = 1; k <= kPieces; ++k) {
        const Eigen::Isometry3d next = point(k);
        length += (next * (distance * side) - last * (distance * side)).norm();
        last = next;
      }
      from += weight;
    }
    start += rest_length(robot.section(i));
  }
  return length;
}

std::vector<TendonRoute> random_tendons(Random& random, int sections, int count) {
  std::vector<TendonRoute> tendons;
  for (int t = 0; t < count; ++t) {
    tendons.push_back({random.integer(0, sections - 1), random.angle(),
                       random.uniform(0.004, 0.012), random.uniform(0.004, 0.012)});
    if (t % 2 != 0) tendons.back().first_section = tendons.back().section;
  }
  return tendons;
}

}  // namespace

TEST_CASE("tendon map: lengths are those of curves along the backbone", "[kinematics][tendons]") {
  const auto seed = GENERATE(range(0u, 6u));
  CAPTURE(seed);
  Random random(seed);
  const ContinuumRobot robot = random_robot(random, random.integer(1, 3));
  const std::vector<TendonRoute> tendons = random_tendons(random, robot.section_count(), 3);
  const TendonMap map(robot, tendons);
  const VectorXd q = random_coordinates(random, robot);
  VectorXd lengths;
  map.lengths(q, lengths);
  const std::vector<SectionState> straight(robot.straight().begin(), robot.straight().end());
  for (std::size_t t = 0; t < tendons.size(); ++t) {
    CAPTURE(t);
    const double followed = followed_length(robot, states_of(robot, q), tendons[t]) -
                            followed_length(robot, straight, tendons[t]);
    constexpr double kChords = 1e-9;  // [m], chords for arcs
    CHECK(lengths[static_cast<Eigen::Index>(t)] == Approx(followed).margin(kChords));
  }
}

TEST_CASE("tendon map: a taper counts with its mean over the section", "[kinematics][tendons]") {
  const ContinuumRobot robot({{.length = 0.1}, {.length = 0.3}});
  const TendonMap map(robot, std::vector<TendonRoute>{{1, 0.0, 0.012, 0.004}});
  // At 0.05 m and 0.25 m of 0.4 m.
  CHECK(map.jacobian()(0, 0) == Approx(-0.011).epsilon(kAlgebraTolerance));
  CHECK(map.jacobian()(0, 2) == Approx(-0.007).epsilon(kAlgebraTolerance));
}

TEST_CASE("tendon map: a helix counts as it does on the straight robot", "[kinematics][tendons]") {
  const auto seed = GENERATE(range(0u, 10u));
  CAPTURE(seed);
  Random random(seed);
  const ContinuumRobot robot(
      {{.length = random.uniform(0.05, 0.2)}, {.length = random.uniform(0.05, 0.2)}});
  const TendonRoute route{.section = 1,
                          .angle = random.angle(),
                          .base_distance = random.uniform(0.004, 0.012),
                          .end_distance = random.uniform(0.004, 0.012),
                          .turn = random.uniform(-8.0, 8.0)};
  const TendonMap map(robot, std::vector{route});
  double way = 0.0;
  for (int i = 0; i < 2; ++i) way += robot.section(i).length();
  // Of points that follow the curve next to bent sections.
  const auto length = [&](const VectorXd& q) {
    constexpr int kPieces = 2000;
    const std::vector<SectionState> states = states_of(robot, q);
    double sum = 0.0, start = 0.0;
    for (int i = 0; i < 2; ++i) {
      Vector3d last;
      for (int k = 0; k <= kPieces; ++k) {
        const double part = static_cast<double>(k) / kPieces;
        const double fraction = (start + part * robot.section(i).length()) / way;
        const double r =
            route.base_distance + (route.end_distance - route.base_distance) * fraction;
        const double a = route.angle + route.turn * fraction;
        const Vector3d point = backbone_pose(robot, states, {}, i, part) *
                               Vector3d(r * std::cos(a), r * std::sin(a), 0.0);
        if (k > 0) sum += (point - last).norm();
        last = point;
      }
      start += robot.section(i).length();
    }
    return sum;
  };
  for (Eigen::Index k = 0; k < 4; ++k) {
    constexpr double kStep = 1e-3;
    const VectorXd step = kStep * VectorXd::Unit(4, k);
    CHECK(map.jacobian()(0, k) ==
          Approx((length(step) - length(-step)) / (2.0 * kStep)).margin(1e-7));
  }
}

TEST_CASE("tendon map: moments do the work of the tensions", "[kinematics][tendons]") {
  const auto seed = GENERATE(range(0u, 100u));
  CAPTURE(seed);
  Random random(seed);
  const ContinuumRobot robot = random_robot(random, random.integer(1, 5));
  const int count = random.integer(1, 12);
  const TendonMap map(robot, random_tendons(random, robot.section_count(), count));
  const VectorXd q = random_coordinates(random, robot), move = random_coordinates(random, robot);
  const VectorXd tension = random_vector(random, count, 0.0, 20.0);
  VectorXd before, after, moments;
  map.lengths(q, before);
  map.lengths(q + move, after);
  map.moments(tension, moments);
  // A tension's work is positive where its tendon gets shorter.
  CHECK(moments.dot(move) == Approx(-tension.dot(after - before)).margin(kAlgebraTolerance));
}

TEST_CASE("tendon map: coordinates and lengths are inverse to each other",
          "[kinematics][tendons]") {
  const auto seed = GENERATE(range(0u, 50u));
  CAPTURE(seed);
  Random random(seed);
  const int sections = random.integer(1, 4);
  const ContinuumRobot robot = random_robot(random, sections);
  std::vector<TendonRoute> tendons;
  for (int i = 0; i < sections; ++i) {
    for (int k = 0; k < 4; ++k)
      tendons.push_back(
          {i, 1.5 * k + random.uniform(-0.2, 0.2), random.uniform(0.006, 0.012), 0.008});
  }
  const TendonMap map(robot, tendons);
  const VectorXd q = random_coordinates(random, robot);
  VectorXd lengths, back;
  map.lengths(q, lengths);
  map.coordinates(lengths, back);
  CHECK((back - q).norm() < 1e-9);
}

TEST_CASE("tendon map: wrong routes are refused by name", "[kinematics][tendons]") {
  const ContinuumRobot robot({{.length = 0.1}});
  const auto make = [&](const TendonRoute& route) { TendonMap(robot, std::vector{route}); };
  CHECK_THROWS_AS(make({1, 0.0, 0.01, 0.01}), ModelError);
  CHECK_THROWS_AS(make({-1, 0.0, 0.01, 0.01}), ModelError);
  CHECK_THROWS_AS(make({0, 0.0, 0.0, 0.01}), ModelError);
  CHECK_THROWS_AS(make({0, 0.0, 0.01, -0.01}), ModelError);
  CHECK_THROWS_AS(make({0, NAN, 0.01, 0.01}), ModelError);
  CHECK_THROWS_AS(make({0, 0.0, 0.01, 0.01, 1}), ModelError);
  CHECK_THROWS_AS(make({0, 0.0, 0.01, 0.01, -1}), ModelError);
}

// ---- tension distribution

namespace {

/// The least norm by trying every set of tendons at their limits; nothing where there are none.
std::optional<VectorXd> enumerated(const Eigen::MatrixXd& P, const VectorXd& m, const VectorXd& low,
                                   const VectorXd& high) {
  std::optional<VectorXd> best;
  const Eigen::Index n = P.cols();
  int sets = 1;
  for (Eigen::Index t = 0; t < n; ++t) sets *= 3;
  for (int set = 0; set < sets; ++set) {
    VectorXd tension = VectorXd::Zero(n);
    Eigen::MatrixXd F = P;
    std::vector<Eigen::Index> free;
    int digits = set;
    for (Eigen::Index t = 0; t < n; ++t, digits /= 3) {
      if (digits % 3 == 0) {
        free.push_back(t);
      } else {
        F.col(t).setZero();
        tension[t] = digits % 3 == 1 ? low[t] : high[t];
      }
    }
    const VectorXd rest = m - P * tension;
    tension += F.completeOrthogonalDecomposition().solve(rest);
    constexpr double kInsideDistance = 1e-9;
    if ((P * tension - m).norm() > 1e-9 || ((low - tension).array() > kInsideDistance).any() ||
        ((tension - high).array() > kInsideDistance).any())
      continue;
    if (!best || tension.norm() < best->norm()) best = tension;
  }
  return best;
}

struct Drive {
  Eigen::MatrixXd P;
  VectorXd low, high;
};

enum class Drives { Tendons, Chambers };

/// Sections with three tendons or chambers each, in separate places.
Drive random_drive(Random& random, int sections, Drives what = Drives::Tendons) {
  const ContinuumRobot robot(
      std::vector<SectionParameters>(static_cast<std::size_t>(sections), {.length = 0.1}));
  std::vector<TendonRoute> tendons;
  for (int i = 0; i < sections; ++i) {
    for (int k = 0; k < 3; ++k) {
      const double distance = random.uniform(0.006, 0.012);
      tendons.push_back(
          {i, 2.0 * std::numbers::pi * k / 3.0 + random.uniform(-0.5, 0.5), distance, distance});
    }
  }
  Drive drive{-TendonMap(robot, tendons).jacobian().transpose(), VectorXd(3 * sections),
              VectorXd(3 * sections)};
  for (double& low : drive.low) low = random.uniform(0.0, 3.0);
  for (Eigen::Index t = 0; t < drive.high.size(); ++t)
    drive.high[t] = drive.low[t] + random.uniform(5.0, 40.0);
  if (what == Drives::Chambers) {
    drive.low.swap(drive.high);
    drive.low *= -1.0;
    drive.high *= -1.0;
    // Some can be evacuated.
    for (double& high : drive.high) high += random.uniform(0.0, 6.0);
  }
  return drive;
}

}  // namespace

TEST_CASE("tension distribution: least norm, without slack, within the limits",
          "[kinematics][tendons]") {
  const auto seed = GENERATE(range(0u, 150u));
  CAPTURE(seed);
  Random random(seed);
  const Drives what = seed % 3 != 0 ? Drives::Tendons : Drives::Chambers;
  const Drive drive = random_drive(random, random.integer(1, 2), what);
  TensionDistribution distribution(drive.P, drive.low, drive.high);
  const VectorXd m = random_vector(random, drive.P.rows(), -0.15, 0.15);
  VectorXd tensions;
  const TensionDistribution::Result result = distribution.distribute(m, tensions);
  CHECK(((tensions - drive.low).array() >= 0.0).all());
  CHECK(((drive.high - tensions).array() >= 0.0).all());
  CHECK(result.iterations < TensionDistribution::kMaxIterations);
  CHECK(result.error == Approx((drive.P * tensions - m).norm()).margin(1e-12));
  const std::optional<VectorXd> best = enumerated(drive.P, m, drive.low, drive.high);
  CHECK(result.reached == best.has_value());
  // What the unique dual misses grows with the multipliers, and these with the range of the limits.
  const double tolerance =
      what == Drives::Tendons ? 1e-5 : 1e-6 * (drive.high - drive.low).maxCoeff();
  if (best) CHECK((tensions - *best).norm() < tolerance);
}

TEST_CASE("tension distribution: moments that exceed the tendons are met as nearly as they can be",
          "[kinematics][tendons]") {
  const auto seed = GENERATE(range(0u, 100u));
  CAPTURE(seed);
  Random random(seed);
  const Drive drive = random_drive(random, random.integer(1, 4),
                                   seed % 3 != 0 ? Drives::Tendons : Drives::Chambers);
  TensionDistribution distribution(drive.P, drive.low, drive.high);
  const VectorXd m = random_vector(random, drive.P.rows(), -5.0, 5.0);
  VectorXd tensions;
  const TensionDistribution::Result result = distribution.distribute(m, tensions);
  CHECK_FALSE(result.reached);
  CHECK(result.iterations < TensionDistribution::kMaxIterations);
  // Karush, Kuhn, Tucker: no tension can change to lower the error.
  const VectorXd gradient = drive.P.transpose() * (drive.P * tensions - m);
  for (Eigen::Index t = 0; t < tensions.size(); ++t) {
    constexpr double kStationary = 1e-6;
    if (tensions[t] > drive.low[t]) CHECK(gradient[t] < kStationary);
    if (tensions[t] < drive.high[t]) CHECK(gradient[t] > -kStationary);
  }
}

TEST_CASE("tension distribution: one section with three tendons in closed form",
          "[kinematics][tendons]") {
  constexpr double kDistance = 0.01, kLow = 1.0, kMoment = 0.05;
  const ContinuumRobot robot({{.length = 0.1}});
  std::vector<TendonRoute> tendons;
  for (int k = 0; k < 3; ++k)
    tendons.push_back({0, 2.0 * std::numbers::pi * k / 3.0, kDistance, kDistance});
  TensionDistribution distribution(-TendonMap(robot, tendons).jacobian().transpose(),
                                   VectorXd::Constant(3, kLow), VectorXd::Constant(3, 50.0));
  VectorXd tensions;
  // Towards the first tendon it pulls M/r more than the other two, which are as slack as they may.
  CHECK(distribution.distribute(Eigen::Vector2d(kMoment, 0.0), tensions).reached);
  CHECK(tensions.isApprox(Vector3d(kLow + kMoment / kDistance, kLow, kLow), 1e-6));
  // Away from it the other two pull alike.
  CHECK(distribution.distribute(Eigen::Vector2d(-kMoment, 0.0), tensions).reached);
  CHECK(tensions.isApprox(Vector3d(kLow, kLow + kMoment / kDistance, kLow + kMoment / kDistance),
                          1e-6));
  // Nothing is asked for: as slack as they may.
  CHECK(distribution.distribute(Eigen::Vector2d::Zero(), tensions).reached);
  CHECK(tensions.isApprox(Vector3d::Constant(kLow), 1e-6));
}

TEST_CASE("tension distribution: nothing is allocated, the same input gives the same bits",
          "[kinematics][tendons]") {
  Random random(1);
  const Drive drive = random_drive(random, 3);
  TensionDistribution distribution(drive.P, drive.low, drive.high);
  const VectorXd m = random_vector(random, 6, -0.1, 0.1),
                 other = random_vector(random, 6, -3.0, 3.0);
  VectorXd tensions(9), again(9);
  distribution.distribute(m, tensions);
  AllocationCounter counter;
  distribution.distribute(other, again);
  distribution.distribute(m, again);
  CHECK(counter.count() == 0);
  CHECK(tensions == again);
}
