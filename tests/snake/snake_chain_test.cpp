#include "tendril/snake/snake_chain.hpp"

#include <catch2/catch.hpp>
#include <limits>

#include "tendril/model_error.hpp"
#include "tests/snake/snake_cases.hpp"
#include "tests/support/random.hpp"
#include "tests/support/tolerances.hpp"

using Eigen::AngleAxisd;
using Eigen::Isometry3d;
using Eigen::Matrix3d;
using Eigen::Vector3d;
using namespace tendril;
using namespace tendril::test;
using std::numbers::pi;

namespace {

Isometry3d random_pose(Random& random) {
  Isometry3d X = Isometry3d::Identity();
  X.linear() = AngleAxisd(random.angle(), random.unit_vector()).toRotationMatrix();
  X.translation() = random.unit_vector();
  return X;
}

std::vector<double> random_angles(Random& random, const SnakeChain& chain, double largest) {
  std::vector<double> angles;
  for (int j = 0; j < chain.joint_count(); ++j) angles.push_back(random.uniform(-largest, largest));
  return angles;
}

}  // namespace

TEST_CASE("snake chain: bodies turn about z and -y in turn, a link apart", "[snake]") {
  const auto seed = GENERATE(range(0u, 50u));
  CAPTURE(seed);
  Random random(seed);
  const SnakeChain chain = random_chain(random, random.integer(1, 8), 0.03, 0.12);
  const Isometry3d X_WB = random_pose(random);
  const std::vector<double> angles = random_angles(random, chain, 1.5);
  std::vector<Isometry3d> X_WL(angles.size() + 1);
  std::vector<Vector3d> p_WL(angles.size() + 1);
  snake_frames(chain, X_WB, angles, X_WL);
  snake_points(chain, X_WB, angles, p_WL);

  Isometry3d X = X_WB;
  double worst = 0.0;
  for (int j = 0; j <= chain.joint_count(); ++j) {
    const auto i = static_cast<std::size_t>(j);
    if (j > 0) {
      const Vector3d axis = j % 2 == 1 ? Vector3d(0, 0, 1) : Vector3d(0, -1, 0);
      X = X * AngleAxisd(angles[i - 1], axis) *
          Eigen::Translation3d(chain.link_length(j), 0.0, 0.0);
    }
    worst = std::max({worst, (X.matrix() - X_WL[i].matrix()).lpNorm<Eigen::Infinity>(),
                      (X.translation() - p_WL[i]).norm()});
  }
  CHECK(worst < kAlgebraTolerance);
}

TEST_CASE("snake chain: positive angles turn the nose left and up", "[snake]") {
  const SnakeChain chain = SnakeChain::uniform(1, 0.07);
  std::vector<Vector3d> p(3);
  snake_points(chain, Isometry3d::Identity(), std::vector{0.3, 0.0}, p);
  CHECK(p[2].y() == Approx(0.14 * std::sin(0.3)));
  CHECK(p[2].z() == 0.0);
  snake_points(chain, Isometry3d::Identity(), std::vector{0.0, 0.3}, p);
  CHECK(p[2].z() == Approx(0.07 * std::sin(0.3)));
  CHECK(p[2].y() == 0.0);
}

TEST_CASE("snake chain: the angles of a module come back from its end point", "[snake]") {
  // The pitch joint up to a hair from a right angle, where an arcsine has lost half its digits.
  constexpr double kAngleTolerance = 1e-12;  // [rad]
  Random random(1);
  double worst = 0.0, gap = 0.0;
  for (int i = 0; i < 20000; ++i) {
    const SnakeChain chain = random_chain(random, 1, 0.02, 0.2);
    const double yaw = random.uniform(-1.57, 1.57), pitch = random.uniform(-1.57, 1.57);
    std::vector<Vector3d> p(3);
    snake_points(chain, Isometry3d::Identity(), std::vector{yaw, pitch}, p);
    const ModuleAngles found = module_angles(p[2], chain.link_length(1), chain.link_length(2));
    worst = std::max({worst, std::abs(found.yaw - yaw), std::abs(found.pitch - pitch)});
    gap = std::max(gap, std::abs(found.gap));
  }
  CHECK(worst < kAngleTolerance);
  CHECK(gap < kAlgebraTolerance);
}

TEST_CASE("snake chain: all angles of random chains come back from the even points", "[snake]") {
  // 1e5 chains: bench/snake_bench, angles_from_even_points.
  constexpr double kAngleTolerance = 1e-12;  // [rad]
  Random random(2);
  double worst = 0.0, gap = 0.0;
  for (int i = 0; i < 3000; ++i) {
    const SnakeChain chain = random_chain(random, random.integer(1, 8), 0.05, 0.1);
    const Isometry3d X_WB = random_pose(random);
    const std::vector<double> angles = random_angles(random, chain, 1.4);
    std::vector<Vector3d> p(angles.size() + 1), even;
    snake_points(chain, X_WB, angles, p);
    for (std::size_t j = 0; j < p.size(); j += 2) even.push_back(p[j]);
    std::vector<double> found(angles.size());
    gap = std::max(gap, angles_from_even_points(chain, X_WB.linear(), even, found));
    for (std::size_t j = 0; j < angles.size(); ++j)
      worst = std::max(worst, std::abs(found[j] - angles[j]));
  }
  CHECK(worst < kAngleTolerance);
  CHECK(gap < kAlgebraTolerance);
}

TEST_CASE("snake chain: a module reaches its torus and says how far points are off", "[snake]") {
  CHECK(module_angles({0.2, 0.0, 0.0}, 0.1, 0.07).gap == Approx(0.03));
  CHECK(module_angles({0.1, 0.0, 0.09}, 0.1, 0.07).gap == Approx(0.02));
  CHECK(module_angles({0.05, 0.0, 0.0}, 0.1, 0.07).gap == Approx(-0.07));
}

TEST_CASE("snake chain: limits are per joint", "[snake]") {
  const SnakeChain chain({.link_lengths = {0.1, 0.1}, .joint_limits = {0.5, 1.0}});
  CHECK(chain.within_limits(std::vector{0.5, -1.0}));
  CHECK_FALSE(chain.within_limits(std::vector{0.6, 0.0}));
  CHECK_FALSE(chain.within_limits(std::vector{0.0, -1.1}));
  CHECK_FALSE(chain.within_limits(std::vector{0.0, std::numeric_limits<double>::quiet_NaN()}));
}

TEST_CASE("snake chain: one module and 500 modules are chains", "[snake]") {
  CHECK(SnakeChain::uniform(1, 0.07).length() == Approx(0.14));
  const SnakeChain chain = SnakeChain::uniform(500, 0.07);
  CHECK(chain.joint_count() == 1000);
  std::vector<Vector3d> p(1001);
  snake_points(chain, Isometry3d::Identity(), std::vector<double>(1000, 0.0), p);
  CHECK(p.back().isApprox(Vector3d(70.0, 0.0, 0.0), kAlgebraTolerance));
}

TEST_CASE("snake chain: bad parameters are named", "[snake]") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK_THROWS_WITH(SnakeChain({.link_lengths = {}}),
                    "snake: number of links = 0, must be even and >= 2");
  CHECK_THROWS_WITH(SnakeChain({.link_lengths = {0.1, 0.1, 0.1}}),
                    "snake: number of links = 3, must be even and >= 2");
  CHECK_THROWS_WITH(SnakeChain({.link_lengths = {0.1, -0.1}}),
                    "snake: link 2: length = -0.1 m, must be > 0");
  CHECK_THROWS_WITH(
      SnakeChain({.link_lengths = {0.0, 0.1, 0.1, 0.1}}),
      "snake: link 3: length = 0.1 m, must be 0, as that of link 1: universal joints");
  CHECK_THROWS_AS(SnakeChain({.link_lengths = {0.1, 0.1, 0.0, 0.1}}), ModelError);
  CHECK_THROWS_AS(SnakeChain({.link_lengths = {0.0, 0.0}}), ModelError);
  CHECK_THROWS_WITH(SnakeChain({.link_lengths = {nan, 0.1}}),
                    "snake: link 1: length = nan m, must be > 0");
  CHECK_THROWS_WITH(SnakeChain({.link_lengths = {0.1, 0.1}, .joint_limit = 1.6}),
                    "snake: joint_limit = 1.6 rad, must be in (0, pi/2]");
  CHECK_THROWS_WITH(SnakeChain({.link_lengths = {0.1, 0.1}, .joint_limits = {1.0, 0.0}}),
                    "snake: joint 2: limit = 0 rad, must be in (0, pi/2]");
  CHECK_THROWS_WITH(SnakeChain({.link_lengths = {0.1, 0.1}, .joint_limits = {1.0}}),
                    "snake: number of joint_limits = 1, must be 0 or the number of links, 2");
  CHECK_THROWS_WITH(SnakeChain({.link_lengths = {0.1, 0.1}, .rear_length = -1.0}),
                    "snake: rear_length = -1 m, must be >= 0");
  CHECK_THROWS_WITH(SnakeChain::uniform(0, 0.1), "snake: number of modules = 0, must be >= 1");
}
