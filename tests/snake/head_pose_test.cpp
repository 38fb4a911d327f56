#include "tendril/snake/head_pose.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "tests/snake/snake_cases.hpp"
#include "tests/support/allocation_counter.hpp"

using Eigen::AngleAxisd;
using Eigen::Isometry3d;
using Eigen::Vector3d;
using namespace tendril;
using namespace tendril::test;

namespace {

constexpr double kReached = 1e-8;  // [m], [rad]

/// Pose of the head by Eigen's rotations.
Isometry3d head_of(const SnakeChain& chain, const Isometry3d& X_WB,
                   const std::vector<double>& angles) {
  Isometry3d X = X_WB;
  for (int j = 1; j <= chain.joint_count(); ++j) {
    X.rotate(AngleAxisd(angles[static_cast<std::size_t>(j - 1)],
                        j % 2 == 1 ? Vector3d(0, 0, 1) : Vector3d(0, -1, 0)));
    X.translate(Vector3d(chain.link_length(j), 0, 0));
  }
  return X;
}

SnakeChain chain_of(bool universal, double limit) {
  std::vector<double> lengths(16, 0.06);
  for (std::size_t j = 0; universal && j < 16; ++j) lengths[j] = j % 2 == 0 ? 0.0 : 0.12;
  return SnakeChain({.link_lengths = lengths, .joint_limit = limit});
}

}  // namespace

TEST_CASE("head pose: the leading link gets position and orientation, the body hardly moves",
          "[snake]") {
  const bool universal = GENERATE(false, true);
  const SnakeChain chain = chain_of(universal, 1.5);
  HeadPose head(chain);
  int converged = 0;
  for (unsigned seed = 0; seed < 30; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    Isometry3d X_WB = Isometry3d::Identity();
    X_WB.translation() = random.unit_vector();
    X_WB.linear() = AngleAxisd(random.uniform(-3.0, 3.0), random.unit_vector()).matrix();
    std::vector<double> angles(16);
    for (double& angle : angles) angle = random.uniform(-0.6, 0.6);
    Isometry3d X_WH = head_of(chain, X_WB, angles);
    X_WH.translation() += 0.01 * random.unit_vector();
    // The roll of a slender body takes large bends; the other two rotations do not.
    const Vector3d axis = Vector3d(0.2, 1.0, 1.0).cwiseProduct(random.unit_vector()).normalized();
    X_WH.rotate(AngleAxisd(random.uniform(-0.4, 0.4), axis));
    const std::vector<double> before = angles;
    const AllocationCounter counter;
    const HeadPoseResult result = head.reach(X_WB, X_WH, angles);
    CHECK(counter.count() == 0);
    CHECK(chain.within_limits(angles));
    if (!result.converged) continue;
    ++converged;
    CHECK(head_of(chain, X_WB, angles).isApprox(X_WH, kReached));
    double first = 0.0, last = 0.0;
    for (std::size_t j = 0; j < 4; ++j) {
      first = std::max(first, std::abs(angles[j] - before[j]));
      last = std::max(last, std::abs(angles[15 - j] - before[15 - j]));
    }
    CHECK(first < 0.5 * last);
  }
  CHECK(converged >= 28);  // 30 with hinges, 29 with universal joints
}

TEST_CASE("head pose: limits hold, and a pose out of reach is reported with its errors",
          "[snake]") {
  const SnakeChain chain = chain_of(false, 0.3);
  HeadPose head(chain);
  std::vector<double> angles(16, 0.0);
  Isometry3d X_WH = head_of(chain, Isometry3d::Identity(), angles);
  X_WH.translation().x() -= 0.03;
  X_WH.rotate(AngleAxisd(0.4, Vector3d::UnitY()));
  const HeadPoseResult near = head.reach(Isometry3d::Identity(), X_WH, angles);
  CHECK(near.converged);
  CHECK(chain.within_limits(angles));
  X_WH.translation().x() += 1.0;
  const HeadPoseResult far = head.reach(Isometry3d::Identity(), X_WH, angles);
  CHECK_FALSE(far.converged);
  CHECK(chain.within_limits(angles));
  const Isometry3d X = head_of(chain, Isometry3d::Identity(), angles);
  CHECK(far.position_error == Approx((X.translation() - X_WH.translation()).norm()));
  CHECK(far.position_error > 0.9);
}
