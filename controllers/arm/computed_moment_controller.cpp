#include "controllers/arm/computed_moment_controller.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "controllers/arm/driven_part.hpp"
#include "tendril/model_error.hpp"

namespace tendril {
namespace {

constexpr OwnQuantities<ComputedMomentController::kQuantities> own;

/// Throws ModelError for gains that are unstable whatever the inertia is:
/// docs/theory/control.md, "Computed moments".
void require_stable(const ArmContext& context, double stiffness_gain, double damping_gain) {
  for (const BodySpring& spring : context.springs) {
    const double time = spring.damping / spring.stiffness;
    const double below = 2.0 * (1.0 - damping_gain) * time / context.timestep - 1.0;
    if (stiffness_gain > 0.0 && stiffness_gain >= below) {
      throw ModelError(fmt::format(
          "stiffness_gain = {}: must be below {:.3g} with this timestep, damping_gain and "
          "damping_time of the sections",
          context.settings.text("stiffness_gain"), std::max(below, 0.0)));
    }
  }
}

}  // namespace

std::span<const SettingInfo> ComputedMomentController::settings() {
  static constexpr SettingInfo kOwnSettings[] = {
      setting::number("stiffness_gain", "", "4", {0.0, 1000.0},
                      "moment per error of a bend, over the stiffness of the body"),
      setting::number("damping_gain", "", "0.5", {.low = 0.0, .high = 1.0, .open_high = true},
                      "moment per error of its rate, over the damping of the body")};
  static const std::vector<SettingInfo> kAll = joined({kOwnSettings, ReachController::settings()});
  return kAll;
}

ComputedMomentController::ComputedMomentController(const ArmContext& context)
    : reach_(context),
      reach_memory_(memory_.part(reach_.memory_layout())),
      stiffness_gain_(context.settings.number("stiffness_gain")),
      damping_gain_(context.settings.number("damping_gain")),
      springs_(context.springs.begin(), context.springs.end()),
      is_length_(springs_.size()) {
  require_driven(context);
  require_stable(context, stiffness_gain_, damping_gain_);
  for (int i = 0; i < context.robot.section_count(); ++i) {
    if (context.robot.section(i).is_extensible())
      is_length_[static_cast<std::size_t>(context.robot.coordinate_index(i)) + 2] = true;
  }
}

void ComputedMomentController::update(const ArmMeasurement& measurement,
                                      std::span<const double> memory, std::span<double> next_memory,
                                      ArmCommand& command, ControllerReport& report) noexcept {
  reach_.update(measurement, reach_memory_(memory), reach_memory_(next_memory), command, report);
  double largest = 0.0;
  for (std::size_t i = 0; i < springs_.size(); ++i) {
    const BodySpring& body = springs_[i];
    const auto k = static_cast<Eigen::Index>(i);
    const double gain = std::min(stiffness_gain_, body.largest_gain(damping_gain_));
    const double moment =
        body.moment(command.q[k], command.q_rate[k], measurement.gravity_moment[k]) +
        gain * body.stiffness * (command.q[k] - measurement.q[k]) +
        damping_gain_ * body.damping * (command.q_rate[k] - measurement.q_rate[k]);
    command.moment[k] = moment;
    if (!is_length_[i]) largest = std::max(largest, std::abs(moment));
  }
  own(report, "largest_moment") = largest;
}

}  // namespace tendril
