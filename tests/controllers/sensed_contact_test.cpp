#include "controllers/arm/sensed_contact.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "tests/support/allocation_counter.hpp"
#include "tests/support/elastic_arms.hpp"

using Eigen::Vector3d;
using namespace tendril;
using namespace tendril::test;

namespace {

constexpr double kTimestep = 0.002;
constexpr double kForceNoise = 0.02, kMomentNoise = 0.001;  // of readings [N], [N m]

/// An arm at rest whose tip something pushes, with a payload.
struct PushedTip {
  explicit PushedTip(unsigned seed)
      : random(seed),
        arm(random_elastic_arm(random, 3)),
        contact(arm, kForceNoise, kMomentNoise, kTimestep),
        memory(std::size_t(SensedContact::Memory().layout.size())) {
    contact.start(memory);
    Eigen::Matrix<double, 6, Eigen::Dynamic> jacobian(6, arm.coordinate_count());
    for (const ElasticArm::MassPoint& point : arm.masses()) {
      const Vector3d weight = point.mass * arm.parameters().gravity;
      known_force += weight;
      known_moment += arm.pose(arm.rest(), {}, point.place, jacobian).translation().cross(weight);
    }
    tip = arm.pose(arm.rest(), {}, {}, jacobian).translation();
    payload = 0.01 * arm.parameters().gravity;
  }

  std::optional<SensedContact::Touch> step(const Vector3d& force, const Vector3d& velocity) {
    const Vector3d at_tip = force + payload;
    contact.step(memory, arm.rest(), {},
                 known_force + at_tip + kForceNoise * normal_vector(random, 3),
                 known_moment + tip.cross(at_tip) + kMomentNoise * normal_vector(random, 3));
    return contact.feel(memory, velocity + 0.001 * normal_vector(random, 3));
  }
  std::optional<SensedContact::Touch> steps(double time, const Vector3d& force,
                                            const Vector3d& velocity = Vector3d::Zero()) {
    std::optional<SensedContact::Touch> touch;
    for (double t = 0.0; t < time; t += kTimestep) touch = step(force, velocity);
    return touch;
  }

  Random random;
  ElasticArm arm;
  SensedContact contact;
  std::vector<double> memory;
  Vector3d known_force = Vector3d::Zero(), known_moment = Vector3d::Zero(), tip, payload;
};

double angle(const Vector3d& a, const Vector3d& b) {
  return std::atan2(a.cross(b).norm(), a.dot(b));
}

}  // namespace

TEST_CASE("sensed contact: friction is told from the normal force where the tip slides",
          "[controllers]") {
  const auto seed = GENERATE(range(0u, 10u));
  CAPTURE(seed);
  PushedTip pushed(seed);
  const Vector3d normal = pushed.random.unit_vector();
  const Vector3d along = normal.cross(pushed.random.unit_vector()).normalized();
  constexpr double kForce = 0.6, kFriction = 0.5, kSpeed = 0.02;
  CHECK_FALSE(pushed.steps(1.0, Vector3d::Zero()));  // the payload is no contact
  const Vector3d rubbing = kForce * (normal - kFriction * along);
  const auto sliding = pushed.steps(1.0, rubbing, kSpeed * along);
  REQUIRE(sliding);
  CHECK(angle(sliding->normal, normal) < 0.1);
  CHECK(sliding->force == Approx(kForce).epsilon(0.1));
  // The tip stops; friction stays, and turns: the normal is what it was.
  const Vector3d across = normal.cross(along);
  const auto stopped = pushed.steps(1.0, kForce * (normal + kFriction * across));
  REQUIRE(stopped);
  CHECK(angle(stopped->normal, normal) < 0.1);
  CHECK(stopped->force == Approx(kForce).epsilon(0.1));
  CHECK_FALSE(pushed.steps(0.5, Vector3d::Zero()));
}

TEST_CASE("sensed contact: of a tip that does not slide, the force gives the normal",
          "[controllers]") {
  PushedTip pushed(3);
  (void)pushed.steps(1.0, Vector3d::Zero());
  const Vector3d force = 0.8 * pushed.random.unit_vector();
  // It has arrived along the normal.
  const auto touch = pushed.steps(0.5, force, -0.03 * force.normalized());
  REQUIRE(touch);
  CHECK(angle(touch->normal, force) < 0.1);
  CHECK(touch->force == Approx(force.norm()).epsilon(0.1));
}

TEST_CASE("sensed contact: a step allocates nothing", "[controllers]") {
  PushedTip pushed(5);
  (void)pushed.steps(0.5, Vector3d::UnitX());
  const Vector3d force = pushed.known_force, moment = pushed.known_moment;
  AllocationCounter counter;
  pushed.contact.step(pushed.memory, pushed.arm.rest(), {}, force, moment);
  (void)pushed.contact.feel(pushed.memory, Vector3d::Zero());
  CHECK(counter.count() == 0);
}
