#include "tendril/estimation/grip_estimator.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>
#include <vector>

#include "tendril/kinematics/coordinates.hpp"
#include "tendril/kinematics/forward_kinematics.hpp"
#include "tendril/model_error.hpp"
#include "tests/support/allocation_counter.hpp"
#include "tests/support/random.hpp"

using Eigen::Isometry3d;
using Eigen::Vector3d;
using Eigen::VectorXd;
using namespace tendril;
using namespace tendril::test;

namespace {

constexpr double kPost = 0.03, kBody = 0.01, kReach = kPost + 2.0 * kBody;

/// An arm of five sections on a circle around a post, nearly; the last one leaves it.
struct WoundArm {
  explicit WoundArm(unsigned seed) : random(seed) {
    std::vector<SectionParameters> sections(5);
    for (SectionParameters& section : sections) section.length = random.uniform(0.06, 0.1);
    robot = ContinuumRobot(sections);
    q = VectorXd::Zero(robot.coordinate_count());
    const double radius = kPost + kBody;
    for (int i = 0; i < 5; ++i) {
      const double turn = robot.section(i).length() / radius;
      q.segment<2>(2 * i) << (i < 4 ? turn : 0.2 * turn), random.uniform(-0.15, 0.15);
    }
    axis = {Vector3d(radius, 0.0, 0.0), Vector3d::UnitY()};
  }

  Isometry3d pose(const VectorXd& at, int section, double fraction) const {
    std::vector<SectionState> states(robot.straight().begin(), robot.straight().end());
    from_coordinates(robot, at, states);
    return backbone_pose(robot, states, base, section, fraction);
  }
  /// Load of a force at the surface that faces away from `normal`, or at the backbone without one:
  /// work for differences of the coordinates.
  VectorXd load(int section, double fraction, const Vector3d& normal, const Vector3d& force) const {
    const Isometry3d X = pose(q, section, fraction);
    const Vector3d on_body = -kBody * (X.linear().transpose() * normal);
    VectorXd out(q.size());
    constexpr double h = 1e-6;
    for (Eigen::Index k = 0; k < q.size(); ++k) {
      VectorXd up = q, down = q;
      up[k] += h;
      down[k] -= h;
      out[k] = force.dot(pose(up, section, fraction) * on_body -
                         pose(down, section, fraction) * on_body) /
               (2.0 * h);
    }
    return out;
  }
  Vector3d normal(int section, double fraction) const {
    const Vector3d p = pose(q, section, fraction).translation() - axis.point;
    return (p - axis.direction * axis.direction.dot(p)).normalized();
  }
  double distance(int section, double fraction) const {
    const Vector3d p = pose(q, section, fraction).translation() - axis.point;
    return (p - axis.direction * axis.direction.dot(p)).norm();
  }

  Random random;
  ContinuumRobot robot{{SectionParameters{.length = 0.1}}};
  VectorXd q;
  BaseState base{0.05, 0.0};
  GripAxis axis;
};

struct Running {
  Running(const WoundArm& wound, const GripEstimatorOptions& options)
      : arm(wound),
        stiffnesses(std::size_t(arm.q.size()), 0.5),
        estimator(arm.robot, stiffnesses, options),
        memory(std::size_t(estimator.layout().size())) {
    estimator.layout().reset(memory);
  }
  GripEstimate after(int steps, const VectorXd& load) {
    for (int i = 0; i < steps; ++i) estimator.step(memory, arm.q, arm.base, load, arm.axis, kReach);
    return estimator.estimate(memory);
  }
  const WoundArm& arm;
  std::vector<double> stiffnesses;
  GripEstimator estimator;
  std::vector<double> memory;
};

}  // namespace

TEST_CASE("grip estimator: without friction it is the non-negative least squares", "[estimation]") {
  const auto seed = GENERATE(range(0u, 6u));
  CAPTURE(seed);
  WoundArm arm(seed);
  VectorXd load = VectorXd::Zero(arm.q.size());
  for (int i = 0; i < 4; ++i) {
    const int section = arm.random.integer(0, 3);
    const double fraction = arm.random.uniform(0.0, 1.0);
    const Vector3d normal = arm.normal(section, fraction);
    load += arm.load(section, fraction, normal, arm.random.uniform(0.5, 4.0) * normal);
  }
  const Vector3d tip(0.3, -0.2, 0.1);
  load += arm.load(4, 1.0, Vector3d::Zero(), tip);
  Running run(arm, {.body_radius = kBody, .friction = 0.0, .filter_time = 0.0});
  const GripEstimate estimate = run.after(3000, load);

  // By columns of differences and cyclic descent.
  std::vector<VectorXd> columns;
  double longest = 0.0;
  for (int point = 0; point < 50; ++point) {
    const int section = point / 10;
    const double fraction = (point % 10 + 0.5) / 10.0;
    if (arm.distance(section, fraction) > kReach) continue;
    const Vector3d normal = arm.normal(section, fraction);
    columns.push_back(arm.load(section, fraction, normal, normal) / std::sqrt(0.5));
    longest = std::max(longest, columns.back().squaredNorm());
  }
  const std::size_t normals = columns.size();
  for (int k = 0; k < 3; ++k)
    columns.push_back(arm.load(4, 1.0, Vector3d::Zero(), Vector3d::Unit(k)) / std::sqrt(0.5));
  const double rho = 3e-4 * longest;
  std::vector<double> f(columns.size(), 0.0);
  VectorXd left = load / std::sqrt(0.5);
  for (int sweep = 0; sweep < 100000; ++sweep) {
    for (std::size_t i = 0; i < f.size(); ++i) {
      const double step = (columns[i].dot(left) - rho * f[i]) / (columns[i].squaredNorm() + rho);
      const double next = i < normals ? std::max(0.0, f[i] + step) : f[i] + step;
      left -= (next - f[i]) * columns[i];
      f[i] = next;
    }
  }
  const double sum = std::accumulate(f.begin(), f.begin() + std::ptrdiff_t(normals), 0.0);
  const Vector3d at_tip(f[normals], f[normals + 1], f[normals + 2]);
  CAPTURE(sum, at_tip.transpose(), normals);
  CHECK(estimate.force == Approx(sum).epsilon(0.01));
  CHECK((estimate.tip_force - at_tip).norm() < 0.01);
}

TEST_CASE("grip estimator: it finds drawn forces with friction", "[estimation]") {
  constexpr int kSeeds = 100;
  std::vector<double> errors;
  double bias = 0.0;
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    WoundArm arm(seed);
    double sum = 0.0;
    VectorXd load = VectorXd::Zero(arm.q.size());
    const int count = arm.random.integer(1, 6);
    for (int i = 0; i < count; ++i) {
      const int section = arm.random.integer(0, 3);
      const double fraction = arm.random.uniform(0.0, 1.0);
      const Vector3d normal = arm.normal(section, fraction);
      const Vector3d any = arm.random.unit_vector();
      const double size = arm.random.uniform(0.5, 5.0);
      const Vector3d friction =
          arm.random.uniform(0.0, 0.4) * size * (any - normal * normal.dot(any)).normalized();
      sum += size;
      load += arm.load(section, fraction, normal, size * normal + friction);
    }
    const Vector3d tip = arm.random.uniform(0.0, 1.0) * arm.random.unit_vector();
    load += arm.load(4, 1.0, Vector3d::Zero(), tip);
    Running run(arm, {.body_radius = kBody});
    const GripEstimate estimate = run.after(1000, load);
    errors.push_back(std::abs(estimate.force / sum - 1.0));
    bias += (estimate.force / sum - 1.0) / kSeeds;
  }
  std::ranges::sort(errors);
  CAPTURE(errors[50], errors[90], bias);
  CHECK(errors[50] < 0.25);
  CHECK(errors[90] < 0.6);
  CHECK(std::abs(bias) < 0.15);
}

TEST_CASE("grip estimator: away from the post all is the tip's, and forces scale with the load",
          "[estimation]") {
  WoundArm arm(3);
  const VectorXd load = arm.load(4, 1.0, Vector3d::Zero(), Vector3d(0.5, 1.0, -0.7));
  WoundArm away = arm;
  away.axis.point = {1.0, 0.0, 0.0};
  Running free(away, {.body_radius = kBody, .filter_time = 0.0});
  const GripEstimate tip = free.after(2000, load);
  CHECK(tip.force == 0.0);
  CHECK((tip.tip_force - Vector3d(0.5, 1.0, -0.7)).norm() < 1e-3);

  Running one(arm, {.body_radius = kBody}), three(arm, {.body_radius = kBody});
  const VectorXd held = arm.load(1, 0.4, arm.normal(1, 0.4), 2.0 * arm.normal(1, 0.4));
  const GripEstimate a = one.after(400, held), b = three.after(400, 3.0 * held);
  CHECK(b.force == Approx(3.0 * a.force).epsilon(1e-6));
  CHECK(one.after(1, VectorXd::Zero(held.size())).force < a.force);
  CHECK(one.after(2000, VectorXd::Zero(held.size())).force < 1e-3 * a.force);
}

TEST_CASE("grip estimator: its memory is all that it keeps, and it allocates nothing",
          "[estimation]") {
  WoundArm arm(5);
  const VectorXd held = arm.load(2, 0.3, arm.normal(2, 0.3), 3.0 * arm.normal(2, 0.3));
  Running run(arm, {.body_radius = kBody});
  run.after(20, held);
  const std::vector<double> kept = run.memory;
  run.after(20, held);
  Running other(arm, {.body_radius = kBody});
  other.memory = kept;
  other.after(20, held);
  CHECK(other.memory == run.memory);
  const AllocationCounter counter;
  run.after(5, held);
  CHECK(counter.count() == 0);
}

TEST_CASE("grip estimator: refusals name what is wrong", "[estimation]") {
  const WoundArm arm(1);
  std::vector<double> stiffnesses(std::size_t(arm.q.size()), 0.5);
  CHECK_THROWS_WITH(GripEstimator(arm.robot, stiffnesses, {.friction = -1.0}),
                    Catch::Contains("grip estimator: friction = -1"));
  CHECK_THROWS_WITH(GripEstimator(arm.robot, stiffnesses, {.timestep = 0.0}),
                    Catch::Contains("timestep = 0"));
  CHECK_THROWS_WITH(GripEstimator(arm.robot, std::vector<double>(3, 1.0)),
                    Catch::Contains("stiffnesses: 3, must be 10"));
  stiffnesses[4] = 0.0;
  CHECK_THROWS_WITH(GripEstimator(arm.robot, stiffnesses),
                    Catch::Contains("coordinate 5: stiffness = 0"));
}
