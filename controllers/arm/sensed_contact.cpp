#include "controllers/arm/sensed_contact.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "controllers/interface/arm_memory.hpp"

namespace tendril {
namespace {

using Eigen::Vector3d;

// In parts of the weight W and the mass of the arm, so that they fit arms of any size.
constexpr double kGravity = 9.81;         // of that weight, whatever gravity is [m/s^2]
constexpr double kModelForce = 0.03;      // of W: what inertia and shape leave out
constexpr double kPayload = 0.3;          // of the mass
constexpr double kForceNoise = 1.0;       // of W [1/sqrt(s)]
constexpr double kVelocityTime = 0.05;    // of the tip's mean velocity [s]
constexpr double kSlidingSpeed = 0.004;   // [m/s]: slower, its direction is noise
constexpr double kAcross = 0.5;           // cosine: less is along the surface
constexpr double kLearnedLength = 0.003;  // of a slide that renews the normal [m]
constexpr double kFirstTime = 0.1;        // in which the force gives the normal [s]

ContactEstimatorOptions options_of(const ElasticArm& arm, double force_deviation,
                                   double moment_deviation, double timestep) {
  const auto& masses = arm.masses();
  const double mass =
      std::accumulate(masses.begin(), masses.end(), 0.0,
                      [](double sum, const auto& point) { return sum + point.mass; });
  const double weight = kGravity * mass;
  const double length = straight_length(arm.robot());
  return {.timestep = timestep,
          .force_deviation = force_deviation,
          .moment_deviation = moment_deviation,
          .model_force = kModelForce * weight,
          .model_moment = kModelForce * weight * length / 2.0,
          .payload_deviation = kPayload * mass,
          .start_force = weight,
          .force_noise = kForceNoise * weight};
}

}  // namespace

SensedContact::Memory::Memory()
    : estimator(layout.part(ContactEstimatorMemory(1).layout)),
      touches(layout.flag()),
      touched_time(layout.number()),
      velocity(layout.matrix<Vector3d>()),
      normal(layout.matrix<Vector3d>()) {}

SensedContact::SensedContact(const ElasticArm& arm, double force_deviation, double moment_deviation,
                             double timestep)
    : timestep_(timestep),
      estimator_(arm, {BodyPlace{}}, options_of(arm, force_deviation, moment_deviation, timestep)),
      memory_() {}

void SensedContact::start(std::span<double> memory) const noexcept {
  memory_.layout.reset(memory);
  estimator_.start(memory_.estimator(memory));
}

void SensedContact::step(std::span<double> memory, const Eigen::Ref<const Eigen::VectorXd>& q,
                         const BaseState& base, const Vector3d& force,
                         const Vector3d& moment) noexcept {
  estimator_.step(memory_.estimator(memory), q, base, force, moment);
}

std::optional<SensedContact::Touch> SensedContact::feel(
    std::span<double> memory, const Vector3d& tip_velocity) const noexcept {
  auto velocity = memory_.velocity(memory), normal = memory_.normal(memory);
  velocity += std::min(1.0, timestep_ / kVelocityTime) * (tip_velocity - velocity);
  const ContactEstimate contact =
      estimator_.estimate(std::span<const double>(memory_.estimator(memory)));
  const double size = contact.force.norm();
  const bool touched = memory_.touches(memory);
  memory_.touches(memory) = contact.probability > 0.5 && size > 0.0;
  if (!memory_.touches(memory)) return std::nullopt;
  if (!touched) {
    memory_.touched_time(memory) = 0.0;
    normal = contact.force / size;
  }
  const double time = memory_.touched_time(memory), speed = velocity.norm();
  memory_.touched_time(memory) = std::min(time + timestep_, kFirstTime);
  const bool slides = speed > kSlidingSpeed && std::abs(normal.dot(velocity)) < kAcross * speed;
  Vector3d across = contact.force / size;
  if (slides) across -= velocity * velocity.dot(across) / (speed * speed);
  double part = slides ? speed * timestep_ / kLearnedLength : 0.0;
  if (time < kFirstTime) part = std::max(part, timestep_ / (time + timestep_));
  const Vector3d next = normal + std::min(part, 1.0) * (across - normal);
  if (next.norm() > 0.0) normal = next.normalized();
  return Touch{normal, std::max(0.0, normal.dot(contact.force))};
}

}  // namespace tendril
