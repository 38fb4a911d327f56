#include "controllers/arm/touch_controller.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

#include "controllers/arm/contact_response.hpp"
#include "controllers/arm/driven_part.hpp"
#include "controllers/arm/manipulation.hpp"

namespace tendril {
namespace {

using Eigen::Vector3d;

constexpr OwnQuantities<TouchController::kQuantities> own;

constexpr double kSmoothing = 0.02;  // of force, normal and compliance [s]
constexpr double kLossTime = 0.1;    // without force, after which a contact is lost [s]
constexpr double kLagTime = 0.2;     // of the plan behind the tip, along the normal [s]
constexpr double kFar = 2.0;         // of the approach distance: farther, the arm moves there first
constexpr double kForceBand = 0.25;  // of the force: a larger error is one of the status
constexpr double kNoMotion = 1e-18;  // square of a response that is none
constexpr double kArrival = 1e-3;    // [m]: distance of the plan from a target that it has reached

}  // namespace

std::span<const SettingInfo> TouchController::settings() {
  static constexpr SettingInfo kOwnSettings[] = {
      setting::number("force", "N", "0.5", kPositive, "force along the normal of the contact"),
      setting::number("approach_distance", "m", "0.03", kNotNegative,
                      "distance from the target where the tip stops before it approaches; with a "
                      "direction or pose, along the target's z axis"),
      setting::number("speed", "m/s", "0.05", kPositive,
                      "largest speed of the planned tip from there on, and along the surface"),
      setting::number("force_time", "s", "3", kPositive,
                      "status 10 when the force, and 12 when a contact is not reached for this "
                      "time")};
  static const std::vector<SettingInfo> kAll = [] {
    std::vector<SettingInfo> all = joined({kOwnSettings, ReachController::settings()});
    for (SettingInfo& row : all) {  // force and friction deflect the arm more than its weight does
      if (row.name == std::string_view("integral_limit")) row.default_value = "1";
      if (row.name == std::string_view("integral_gain")) row.default_value = "20";
    }
    return all;
  }();
  return kAll;
}

TouchController::TouchController(const ArmContext& context)
    : reach_(context),
      contacts_(context),
      force_(context.settings.number("force")),
      approach_(context.settings.number("approach_distance")),
      speed_(context.settings.number("speed")),
      force_time_(context.settings.number("force_time")),
      gain_(context.settings.number("integral_gain")),
      has_direction_(context.settings.choice<TipTask>("task") != TipTask::Position),
      reach_memory_(memory_.part(reach_.memory_layout())) {
  require_driven(context);
}

/// Compliance of the arm along the normal, at the commands [m/N].
double TouchController::compliance(const ArmMeasurement& measurement,
                                   const Vector3d& normal) const noexcept {
  double product = 0.0, square = 0.0;
  for (Eigen::Index k = 0; k < measurement.q.size(); ++k) {
    const double free = normal.dot(measurement.tip_jacobian.col(k).head<3>());
    const double held = normal.dot(measurement.tip_response.col(k).head<3>());
    product += free * held;
    square += held * held;
  }
  const double ratio = product / std::max(square, kNoMotion);
  return std::max(ratio - 1.0, 0.0) / (ContactResponse::kStiffness * contacts_.count(measurement));
}

/// Takes in the contact of this step.
void TouchController::feel(const ArmMeasurement& measurement, std::span<const double> memory,
                           std::span<double> next) const noexcept {
  const Vector3d push = contacts_.push(measurement);
  const double force = push.norm();
  const double part = measurement.timestep / kSmoothing;
  if (force > 0.0) {
    const Vector3d normal = push / force;
    const bool begins = !touching_(memory);
    normal_(next) =
        begins ? normal : (normal_(memory) + part * (normal - normal_(memory))).eval().normalized();
    const double now = compliance(measurement, normal);
    compliance_(next) = begins ? now : compliance_(memory) + part * (now - compliance_(memory));
  }
  apart_(next) = force > 0.0 ? 0.0 : std::min(apart_(memory) + measurement.timestep, 1.0);
  touching_(next) = force > 0.0 || (touching_(memory) && apart_(next) < kLossTime);
  felt_(next) = felt_(memory) + part * (force - felt_(memory));
}

/// Moves the point where the plan has the tip: to the approach distance from the target as fast as
/// the arm moves, from there at the speed of the approach; in contact along the surface, and with
/// the tip across it.
Vector3d TouchController::lead(const ArmMeasurement& measurement, std::span<const double> memory,
                               std::span<double> next) const noexcept {
  const Vector3d tip = measurement.X_BE.translation();
  const double step = speed_ * measurement.timestep;
  const Vector3d target = measurement.X_BG.translation();
  Vector3d point = started_(memory) ? Vector3d(point_(memory)) : tip;
  Vector3d way = target - point;
  const double distance = way.norm();
  if (!touching_(next) && distance > kFar * approach_) {
    point = target - approach_ * (has_direction_ ? Vector3d(measurement.X_BG.linear().col(2))
                                                 : Vector3d(way / distance));
    way.setZero();
  } else if (!touching_(next) && moving_(memory)) {
    way.setZero();
  } else if (touching_(next)) {
    const Vector3d n = normal_(next);
    way -= n.dot(way) * n;
    const double across = n.dot(tip - point) * measurement.timestep / kLagTime;
    point += std::clamp(across, -step, step) * n;
  }
  point += limited(way, step);
  started_(next) = true;
  point_(next) = point;
  return point;
}

/// The step of the tip along the normal that gives the force [m].
Vector3d TouchController::force_step(std::span<const double> next) const noexcept {
  double step = compliance_(next) * (force_ - felt_(next));
  if (apart_(next) > 0.0) step = std::clamp(step, 0.0, speed_ / std::max(gain_, 1e-3));
  return -step * normal_(next);
}

ControllerStatus TouchController::judge(const ArmMeasurement& measurement,
                                        std::span<const double> memory,
                                        std::span<double> next) const noexcept {
  const bool touches = touching_(next);
  const bool off = touches ? std::abs(felt_(next) - force_) > kForceBand * force_
                           : (measurement.X_BG.translation() - point_(next)).norm() < kArrival;
  off_(next) = off ? std::min(off_(memory) + measurement.timestep, 2.0 * force_time_) : 0.0;
  if (off_(next) <= force_time_) return ControllerStatus::Working;
  return touches ? ControllerStatus::NoProgress : ControllerStatus::NoContact;
}

void TouchController::update(const ArmMeasurement& measurement, std::span<const double> memory,
                             std::span<double> next, ArmCommand& command,
                             ControllerReport& report) noexcept {
  feel(measurement, memory, next);
  Eigen::Isometry3d X_BG = measurement.X_BG;
  if (X_BG.matrix().allFinite()) X_BG.translation() = lead(measurement, memory, next);
  auto motion = reach_.move(X_BG, Eigen::Vector3d::Zero(), measurement, reach_memory_(memory),
                            reach_memory_(next), command);
  if (!motion) {
    report.status = ControllerStatus::InvalidTarget;
    return;
  }
  moving_(next) = motion->moving;
  X_BG = measurement.X_BG;
  if (touching_(next)) {
    const Vector3d n = normal_(next);
    X_BG.translation() += n.dot(measurement.X_BE.translation() - X_BG.translation()) * n;
  }
  reach_.describe(*motion, X_BG, measurement, report);
  const ControllerStatus of_force = judge(measurement, memory, next);
  if (report.status == ControllerStatus::Working) report.status = of_force;

  if (touching_(next)) {
    const Vector3d n = normal_(next);
    motion->error.head<3>() += force_step(next) - n.dot(motion->error.head<3>()) * n;
  }
  reach_.correct(*motion, measurement, reach_memory_(memory), reach_memory_(next), command);
  own(report, "tip_force") = contacts_.force(measurement);
  own(report, "force_error") = contacts_.force(measurement) - force_;
}

}  // namespace tendril
