#include "controllers/arm/driven_part.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "controllers/arm/tip_integral.hpp"
#include "tendril/model_error.hpp"

namespace tendril {
namespace {

/// Directions, of two, in which drives bend a section both ways.
int driven_directions(const ArmContext& context, int section) {
  const auto k = static_cast<std::size_t>(context.robot.coordinate_index(section));
  if (k >= context.springs.size()) return 2;
  return (context.springs[k].driven ? 1 : 0) + (context.springs[k + 1].driven ? 1 : 0);
}

}  // namespace

int first_steered(const ArmContext& context) {
  int first = context.robot.section_count();
  while (first > 0 && driven_directions(context, first - 1) == 2) --first;
  return first;
}

void require_driven(const ArmContext& context) {
  for (int i = 0; i < context.robot.section_count(); ++i) {
    const int directions = driven_directions(context, i);
    if (directions == 2) continue;
    throw ModelError(fmt::format(
        "robot: section {} is {} (bend_servo = false): this controller commands every section; "
        "tendril.reach, {}and controllers of one's own take {} ones",
        i + 1, directions == 0 ? "passive" : "not bent in every direction",
        directions == 0 ? "tendril.steer " : "", directions == 0 ? "passive" : "such"));
  }
}

int first_past_shaft(const ArmContext& context) {
  const int count = context.robot.section_count(), first = first_steered(context);
  if (first == count)
    throw ModelError(fmt::format(
        "robot: section {} is {} (bend_servo = false): the last section must be driven in every "
        "direction: this controller bends the tip, and a passive shaft follows",
        count,
        driven_directions(context, count - 1) == 0 ? "passive" : "not bent in every direction"));
  for (int i = 0; i < first; ++i)
    if (driven_directions(context, i) > 0)
      throw ModelError(
          fmt::format("robot: section {} is driven and section {} not (bend_servo = false): for "
                      "this controller "
                      "all sections before a passive one must be passive",
                      i + 1, first));
  return first;
}

BodyPose::BodyPose(const Actuation& actuation, double rate)
    : rate_(rate),
      driven_(actuation.driven),
      body_(Eigen::MatrixXd::Identity(driven_.rows(), driven_.cols()) - driven_),
      rest_(actuation.rest),
      compliance_(actuation.compliance),
      pose_(layout_.vector(static_cast<int>(rest_.size()))),
      free_(rest_),
      measured_(rest_) {}

void BodyPose::update(const ArmMeasurement& measurement, std::span<const double> memory,
                      std::span<double> next_memory) noexcept {
  free_ = rest_ + compliance_.cwiseProduct(measurement.gravity_moment);
  measured_.noalias() = body_.lazyProduct(measurement.q);
  measured_.noalias() += driven_.lazyProduct(free_);
  const double rate =
      std::min(rate_, TipIntegral::kStabilityFraction * measurement.fundamental_mode_damping);
  const double fraction = known_(memory) ? std::min(1.0, rate * measurement.timestep) : 1.0;
  pose_(next_memory) += fraction * (measured_ - pose_(memory));
  known_(next_memory) = true;
}

}  // namespace tendril
