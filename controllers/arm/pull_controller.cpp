#include "controllers/arm/pull_controller.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "controllers/arm/driven_part.hpp"
#include "controllers/arm/manipulation.hpp"
#include "controllers/interface/arm_memory.hpp"
#include "tendril/kinematics/forward_kinematics.hpp"

namespace tendril {
namespace {

using Eigen::Vector3d;

constexpr OwnQuantities<PullController::kQuantities> own;

constexpr double kSmoothing = 0.05;     // of load and compliance [s]
constexpr double kLagTime = 0.2;        // of the plan of a taut end behind tip and target [s]
constexpr double kAcrossRatio = 0.3;    // of an error across the load to that along it, at most
constexpr double kMinAcross = 2e-4;     // but always allowed [m]
constexpr double kSlackRatio = 0.5;     // of the force: below, the end is no longer taut
constexpr double kForceBand = 0.25;     // of the force: a larger error is one of the status
constexpr double kRestDistance = 2e-3;  // by which a tip at rest comes no nearer to its target [m]

}  // namespace

std::span<const SettingInfo> PullController::settings() {
  static constexpr SettingInfo kOwnSettings[] = {
      setting::obstacle_names("end", "geom that the tip holds and pulls; it must be given"),
      setting::number("force", "N", "2", kPositive, "largest force that the tip pulls with"),
      setting::number("hold_distance", "m", "0.07", kPositive,
                      "of the end from the tip: farther, it is not held"),
      setting::number("speed", "m/s", "0.02", kPositive,
                      "largest speed of the planned tip while the end is held"),
      setting::number("tolerance", "m", "0.005", kPositive,
                      "distance of the tip from the target, at which the end is there"),
      setting::number("force_time", "s", "2", kPositive,
                      "status 11 when a taut end, and 10 when one without the force has not moved "
                      "for this time")};
  static const std::vector<SettingInfo> kAll = manipulation_settings(kOwnSettings);
  return kAll;
}

PullController::PullController(const ArmContext& context)
    : reach_(context, nullptr),
      load_(context),
      robot_(context.robot),
      states_(context.robot.straight().begin(), context.robot.straight().end()),
      force_(context.settings.number("force")),
      speed_(context.settings.number("speed")),
      tolerance_(context.settings.number("tolerance")),
      force_time_(context.settings.number("force_time")),
      hold_distance_(context.settings.number("hold_distance")),
      gain_(context.settings.number("integral_gain")),
      command_(memory_.matrix<Eigen::VectorXd>(straight_coordinates(context.robot))),
      reach_memory_(memory_.part(reach_.memory_layout())) {
  require_driven(context);
  static_cast<void>(measure_object(context, "end"));
}

/// Takes in the load of this step.
void PullController::feel(const ArmMeasurement& measurement, std::span<const double> memory,
                          std::span<double> next) noexcept {
  const Vector3d end = measurement.obstacles->pose(0).translation();
  const Vector3d tip = measurement.X_BE.translation();
  held_(next) = (end - tip).norm() <= hold_distance_;
  const double part = measurement.timestep / kSmoothing;
  const Vector3d load = held_(next) ? load_.force(measurement, end) : Vector3d(Vector3d::Zero());
  load_memory_(next) = load_memory_(memory) + part * (load - load_memory_(memory));
  const double force = load_memory_(next).norm();
  pulled_(next) = held_(next) ? (pulled_(memory) && held_(memory)) || force > kForceBand * force_
                              : pulled_(memory);
  if (!(force > kForceBand * force_)) return;
  from_coordinates(robot_, command_(memory), states_);
  const Vector3d moved = measurement.X_BE.translation() - measurement.gravity_deflection -
                         tip_pose(robot_, states_, measurement.base).translation();
  const double now = std::max(0.0, moved.dot(load_memory_(next))) / (force * force);
  compliance_(next) = compliance_(memory) + part * (now - compliance_(memory));
}

/// Begins and ends the regulation of the force.
void PullController::choose(const ArmMeasurement& measurement, std::span<const double> memory,
                            std::span<double> next) const noexcept {
  const double force = load_memory_(next).norm();
  const Vector3d to_target = measurement.X_BG.translation() - measurement.X_BE.translation();
  const double beyond = force > 0.0 ? -to_target.dot(load_memory_(next)) / force : 0.0;
  const bool exceeds = force > force_;
  taut_(next) =
      held_(next) && (taut_(memory) ? force > kSlackRatio * force_ && (exceeds || beyond > 0.0)
                                    : exceeds && beyond > -tolerance_);
}

/// Moves the point where the plan has the tip to the target: at a bounded speed while the end is
/// held, and along the load of a taut one with the tip.
Vector3d PullController::lead(const ArmMeasurement& measurement, std::span<const double> memory,
                              std::span<double> next) const noexcept {
  const Vector3d target = measurement.X_BG.translation();
  Vector3d point = started_(memory) ? Vector3d(point_(memory)) : target;
  const double step = speed_ * measurement.timestep;
  Vector3d way = target - point;
  if (taut_(next)) {
    const Vector3d n = load_memory_(next).normalized();
    way += n.dot(measurement.X_BE.translation() - target) * n;
    way *= measurement.timestep / kLagTime;
  }
  point += held_(next) || pulled_(next) ? limited(way, step) : way;
  started_(next) = true;
  point_(next) = point;
  return point;
}

/// The step of the tip along the load that gives the force [m].
Vector3d PullController::force_step(std::span<const double> next) const noexcept {
  const Vector3d load = load_memory_(next);
  const double force = load.norm(), most = speed_ / std::max(gain_, 1e-3);
  const double step = std::clamp(compliance_(next) * (force_ - force), -most, most);
  return -step / force * load;
}

ControllerStatus PullController::judge(const ArmMeasurement& measurement,
                                       std::span<const double> memory,
                                       std::span<double> next) const noexcept {
  const Vector3d tip = measurement.X_BE.translation();
  const double distance = (tip - measurement.X_BG.translation()).norm();
  const double way = started_(memory) ? reached_(memory) - distance : distance;
  // A slower tip rests, too: the place that it has come to follows it.
  const double creep = kRestDistance / force_time_ * measurement.timestep;
  reached_(next) =
      std::abs(way) > kRestDistance ? distance : reached_(memory) - std::clamp(way, -creep, creep);
  idle_(next) =
      way > kRestDistance ? 0.0 : std::min(idle_(memory) + measurement.timestep, 2.0 * force_time_);
  if (pulled_(next) && !held_(next)) return ControllerStatus::NoContact;
  if (held_(next) && distance <= tolerance_) return ControllerStatus::Finished;
  if (taut_(next)) {
    if (idle_(next) <= force_time_) return ControllerStatus::Working;
    const bool has_force = std::abs(load_memory_(next).norm() - force_) <= kForceBand * force_;
    return has_force ? ControllerStatus::Blocked : ControllerStatus::NoProgress;
  }
  return ControllerStatus::Working;
}

void PullController::update(const ArmMeasurement& measurement, std::span<const double> memory,
                            std::span<double> next, ArmCommand& command,
                            ControllerReport& report) noexcept {
  Eigen::Isometry3d X_BP = measurement.X_BG;  // of the plan
  const bool has_target = measurement.has_target && X_BP.matrix().allFinite();
  if (has_target) {
    feel(measurement, memory, next);
    choose(measurement, memory, next);
    X_BP.translation() = lead(measurement, memory, next);
  }
  auto motion = reach_.move(X_BP, Vector3d::Zero(), measurement, reach_memory_(memory),
                            reach_memory_(next), command);
  if (!motion) {
    report.status = ControllerStatus::InvalidTarget;
    return;
  }
  if (taut_(next)) {
    const Vector3d n = load_memory_(next).normalized(), along = force_step(next);
    Eigen::Ref<Vector3d> error = motion->error.head<3>();
    error -= n.dot(error) * n;
    error = along + limited(error, std::max(kAcrossRatio * along.norm(), kMinAcross));
    X_BP.translation() = measurement.X_BE.translation() + error;
  }
  reach_.describe(*motion, X_BP, measurement, report);
  report.arrived = report.arrived || held_(next);  // the plan is where the tip is to be
  if (held_(next)) motion->frozen = false;         // the plan moves slowly, and its lag is known
  const ControllerStatus of_pull = judge(measurement, memory, next);
  if (report.status == ControllerStatus::Working) report.status = of_pull;
  reach_.correct(*motion, measurement, reach_memory_(memory), reach_memory_(next), command);
  command_(next) = command.q;
  own(report, "pull_force") = load_memory_(next).norm();
  own(report, "place_error") =
      (measurement.X_BG.translation() - measurement.X_BE.translation()).norm();
  own(report, "taut") = taut_(next) ? 1.0 : 0.0;
}

}  // namespace tendril
