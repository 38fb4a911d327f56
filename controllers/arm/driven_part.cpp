#include "controllers/arm/driven_part.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "controllers/arm/tip_integral.hpp"
#include "tendril/model_error.hpp"

namespace tendril {
namespace {

/// The bend of a section: its directions, and those of them in which drives bend it both ways.
struct Bend {
  int directions = 0, driven = 0;
  [[nodiscard]] bool is_driven() const noexcept { return driven == directions; }
};

Bend bend_of(const ArmContext& context, int section) {
  const auto k = static_cast<std::size_t>(context.robot.coordinate_index(section));
  const auto is_driven = [&](std::size_t at) {
    return at >= context.springs.size() || context.springs[at].driven;
  };
  Bend bend;
  for (const auto& [exists, at] : {std::pair(context.robot.section(section).bends_u(), k),
                                   std::pair(context.robot.section(section).bends_v(), k + 1)}) {
    bend.directions += exists;
    bend.driven += exists && is_driven(at);
  }
  return bend;
}

/// Names what the drives of a section do not do, and the key that says so.
const char* lack_of(const Bend& bend) {
  return bend.driven == 0 ? "passive (bend_servo = false)"
                          : "not bent in every direction (bend_servo = false)";
}

/// Throws naming the first section, from `first` on, that bends in one plane, unless the whole arm
/// is planar.
void refuse_planes(const ArmContext& context, int first, const char* why) {
  if (context.robot.is_planar()) return;
  for (int i = first; i < context.robot.section_count(); ++i)
    if (context.robot.section(i).bend_plane() != BendPlane::Any)
      throw ModelError(
          fmt::format("robot: section {} is bent in one plane (bend_plane): {}, or "
                      "the arm must be planar",
                      i + 1, why));
}

}  // namespace

bool gives_way(const ArmContext& context) {
  for (int i = 0; i < context.robot.section_count(); ++i)
    if (!bend_of(context, i).is_driven()) return true;
  return false;
}

int first_steered(const ArmContext& context) {
  int first = context.robot.section_count();
  while (first > 0 && bend_of(context, first - 1).is_driven()) --first;
  if (first > 0) refuse_planes(context, first, "a tip is steered in every direction");
  return first;
}

void require_driven(const ArmContext& context, Planes planes) {
  for (int i = 0; i < context.robot.section_count(); ++i) {
    const Bend bend = bend_of(context, i);
    if (bend.is_driven()) continue;
    const bool is_passive = bend.driven == 0;
    throw ModelError(fmt::format(
        "robot: section {} is {}: this controller commands every section; tendril.reach, {}and "
        "controllers of one's own take {} ones",
        i + 1, lack_of(bend), is_passive ? "tendril.steer " : "", is_passive ? "passive" : "such"));
  }
  if (planes == Planes::Refused)
    refuse_planes(context, 0, "for this controller sections must bend in every direction");
}

int first_past_shaft(const ArmContext& context) {
  const int count = context.robot.section_count(), first = first_steered(context);
  if (first == count)
    throw ModelError(fmt::format(
        "robot: section {} is {}: the last section must be driven in every direction: this "
        "controller bends the tip, and a passive shaft follows",
        count, lack_of(bend_of(context, count - 1))));
  for (int i = 0; i < first; ++i) {
    const Bend bend = bend_of(context, i);
    if (bend.is_driven())
      throw ModelError(
          fmt::format("robot: section {} is driven and section {} not (bend_servo = false): for "
                      "this controller all sections before a passive one must be passive",
                      i + 1, first));
    if (bend.driven > 0)
      throw ModelError(
          fmt::format("robot: section {} is {}: for this controller a section must be passive or "
                      "driven in every direction",
                      i + 1, lack_of(bend)));
  }
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
