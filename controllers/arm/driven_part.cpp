#include "controllers/arm/driven_part.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "controllers/arm/tip_integral.hpp"
#include "tendril/model_error.hpp"

namespace tendril {
namespace {

/// The bend of a section: of its two directions those that it has joints for, and those in which
/// drives bend it both ways.
struct Bend {
  int directions = 2, driven = 2;
  [[nodiscard]] bool is_in_plane() const noexcept { return directions == 1; }
  [[nodiscard]] bool gives_way() const noexcept { return driven < directions; }
};

Bend bend_of(const ArmContext& context, int section) {
  Bend bend;
  const Actuation& actuation = context.actuation;
  const Eigen::Index k = context.robot.coordinate_index(section);
  for (const Eigen::Index at : {k, k + 1}) {
    if (static_cast<std::size_t>(at) >= context.springs.size()) continue;
    if (!context.springs[static_cast<std::size_t>(at)].driven) --bend.driven;
    if (!actuation.moves_all() && !actuation.has_joints(at)) --bend.directions;
  }
  return bend;
}

/// Names what the drives of a section do not do, and the key that says so.
std::string lack_of(const Bend& bend) {
  if (bend.driven == 0) return "passive (bend_servo = false)";
  return bend.is_in_plane() ? "bent in one plane (bend_plane)"
                            : "not bent in every direction (bend_servo = false)";
}

}  // namespace

bool gives_way(const ArmContext& context) {
  for (int i = 0; i < context.robot.section_count(); ++i)
    if (bend_of(context, i).gives_way()) return true;
  return false;
}

bool bends_in_plane(const ArmContext& context, int section) {
  return bend_of(context, section).is_in_plane();
}

std::vector<int> fixed_bends(const ArmContext& context) {
  std::vector<int> columns;
  if (context.actuation.moves_all()) return columns;
  for (int i = 0; i < context.robot.section_count(); ++i)
    for (int k = 0; k < 2; ++k)
      if (!context.actuation.has_joints(context.robot.coordinate_index(i) + k))
        columns.push_back(2 * i + k);
  return columns;
}

int first_steered(const ArmContext& context) {
  int first = context.robot.section_count();
  while (first > 0 && bend_of(context, first - 1).driven == 2) --first;
  return first;
}

void require_driven(const ArmContext& context, Planes planes) {
  for (int i = 0; i < context.robot.section_count(); ++i) {
    const Bend bend = bend_of(context, i);
    if (bend.driven == 2 || (planes == Planes::Allowed && !bend.gives_way())) continue;
    const bool is_passive = bend.driven == 0;
    throw ModelError(fmt::format(
        "robot: section {} is {}: this controller commands every section; tendril.reach, {}and "
        "controllers of one's own take {} ones",
        i + 1, lack_of(bend), is_passive ? "tendril.steer " : "", is_passive ? "passive" : "such"));
  }
}

int first_past_shaft(const ArmContext& context) {
  const int count = context.robot.section_count();
  int first = count;
  while (first > 0 && !bend_of(context, first - 1).gives_way()) --first;
  if (first == count)
    throw ModelError(fmt::format(
        "robot: section {} is {}: the last section must be driven in every direction: this "
        "controller bends the tip, and a passive shaft follows",
        count, lack_of(bend_of(context, count - 1))));
  if (first == 0) return first;
  for (int i = count - 1; i >= 0; --i) {
    const Bend bend = bend_of(context, i);
    if (bend.driven == 0 || (bend.driven == 2 && i >= first)) continue;
    if (bend.driven == 2)
      throw ModelError(
          fmt::format("robot: section {} is driven and section {} not (bend_servo = false): for "
                      "this controller all sections before a passive one must be passive",
                      i + 1, first));
    throw ModelError(
        fmt::format("robot: section {} is {}: for this controller a section of an arm with passive "
                    "ones must be passive or driven in every direction",
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
