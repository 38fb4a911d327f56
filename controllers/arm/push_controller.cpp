#include "controllers/arm/push_controller.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "controllers/arm/driven_part.hpp"
#include "controllers/arm/manipulation.hpp"

namespace tendril {
namespace {

using Eigen::Rotation2Dd;
using Eigen::Vector2d;
using Eigen::Vector3d;

constexpr OwnQuantities<PushController::kQuantities> own;

constexpr double kSteering = 3.0;        // turn of the tip's heading, over the bearing of the block
constexpr double kMaxHeading = 1.0;      // [rad], from the line to the target
constexpr double kBehindBearing = 0.03;  // bearing of a block that the tip is behind [rad]
constexpr double kSlipBearing = 0.7;     // and of one that has slipped off [rad]
constexpr double kMaxLead = 0.02;        // of the plan before a tip that is held back, at most [m]
constexpr double kArrivalDistance = 2e-3;  // [m]: the tip is where it is planned
constexpr double kApproachTime = 0.5;  // in which the block would come to the target: slower there
constexpr double kLeastSpeed = 0.1;    // of the speed
constexpr double kLeastProgress = 1e-3;  // [m]: progress of a block

}  // namespace

std::span<const SettingInfo> PushController::settings() {
  static constexpr SettingInfo kOwnSettings[] = {
      setting::obstacle_names("block", "geom that is pushed to the target; it must be given"),
      setting::number("tolerance", "m", "0.005", kPositive,
                      "distance of the block from the target, at which it is there"),
      setting::number("clearance", "m", "0.015", kPositive,
                      "of the tip from the block, where it passes round it"),
      setting::number("speed", "m/s", "0.03", kPositive, "of the planned tip"),
      setting::number("push_time", "s", "20", kPositive,
                      "status 10 when the block has come no nearer for this time")};
  static const std::vector<SettingInfo> kAll = manipulation_settings(kOwnSettings);
  return kAll;
}

PushController::PushController(const ArmContext& context)
    : reach_(context, nullptr),
      tolerance_(context.settings.number("tolerance")),
      speed_(context.settings.number("speed")),
      push_time_(context.settings.number("push_time")),
      size_(measure_object(context, "block")),
      reach_memory_(memory_.part(reach_.memory_layout())) {
  require_driven(context);
  circle_ = size_ + context.body_radius + context.settings.number("clearance");
}

PushController::View PushController::view(const ArmMeasurement& measurement) const noexcept {
  const Eigen::Isometry3d X_GB = measurement.X_BG.inverse();
  View view;
  view.tip = X_GB * measurement.X_BE.translation();
  view.block = (X_GB * measurement.obstacles->pose(0).translation()).head<2>();
  view.distance = view.block.norm();
  view.direction = view.distance > 0.0 ? Vector2d(-view.block / view.distance) : Vector2d::UnitX();
  const Vector2d to_block = view.block - view.tip.head<2>();
  view.bearing = std::atan2(view.direction.x() * to_block.y() - view.direction.y() * to_block.x(),
                            view.direction.dot(to_block));
  return view;
}

/// Begins and ends pushes.
void PushController::choose(const View& view, std::span<const double> memory,
                            std::span<double> next) const noexcept {
  const double away = (view.block - view.tip.head<2>()).norm();
  if (pushing_(memory)) {
    const bool slipped = std::abs(view.bearing) > kSlipBearing || away > circle_ + kArrivalDistance;
    pushing_(next) = !slipped && view.distance > 0.5 * tolerance_;
  } else if (!done_(memory)) {
    pushing_(next) = std::abs(view.bearing) < kBehindBearing && away < circle_ + kArrivalDistance &&
                     std::abs(view.tip.z()) < kArrivalDistance &&
                     (view.tip - Vector3d(point_(memory))).norm() < kArrivalDistance;
    if (pushing_(next)) pushes_(next) = std::min(pushes_(memory) + 1, kMaxPushes);
  }
  const double there = done_(memory) ? 2.0 * tolerance_ : tolerance_;
  done_(next) = !pushing_(next) && view.distance <= there;
  if (pushing_(memory) && !pushing_(next)) point_(next) = view.tip;
}

/// Out of the circle, into the plane, along the circle to the point behind the block.
Vector3d PushController::travel(const View& view, Vector3d point, double step) const noexcept {
  Vector2d from = point.head<2>() - view.block;
  const double radius = from.norm();
  from = radius > 0.0 ? Vector2d(from / radius) : Vector2d(-view.direction);
  const double out = circle_ - radius;
  if (out > kArrivalDistance) {
    point.head<2>() += std::min(step, out) * from;
  } else if (std::abs(point.z()) > 0.0) {
    point.z() -= std::clamp(point.z(), -step, step);
  } else {
    const double turn = std::atan2(view.direction.x() * from.y() - view.direction.y() * from.x(),
                                   view.direction.dot(from));
    const double left =
        turn > 0.0 ? std::numbers::pi - turn : -std::numbers::pi - turn;  // the shorter of both
    const double angle = std::clamp(left, -step / circle_, step / circle_);
    const double to = std::max(radius - step, circle_);
    point.head<2>() = view.block + to * (Rotation2Dd(angle) * from);
  }
  return point;
}

/// Along the line to the target, and towards where the block is driven back to it.
Vector3d PushController::push(const View& view, Vector3d point, double step) const noexcept {
  const double turn = std::clamp(kSteering * view.bearing, -kMaxHeading, kMaxHeading);
  const Vector2d heading = Rotation2Dd(turn) * view.direction;
  const double slow = std::clamp(view.distance / (kApproachTime * speed_), kLeastSpeed, 1.0);
  Vector2d lead = point.head<2>() + slow * step * heading - view.tip.head<2>();
  if (lead.norm() > kMaxLead) lead *= kMaxLead / lead.norm();
  point.head<2>() = view.tip.head<2>() + lead;
  return point;
}

/// Measures the time without progress.
void PushController::judge(const View& view, double timestep, std::span<const double> memory,
                           std::span<double> next) const noexcept {
  const bool nearer = view.distance < nearest_(next) - kLeastProgress;
  const bool moved_away = view.distance > nearest_(next) + size_;
  idle_(next) = done_(next) ? 0.0 : std::min(idle_(memory) + timestep, 2.0 * push_time_);
  if (!nearer && !moved_away) return;
  nearest_(next) = view.distance;
  idle_(next) = 0.0;
}

void PushController::update(const ArmMeasurement& measurement, std::span<const double> memory,
                            std::span<double> next, ArmCommand& command,
                            ControllerReport& report) noexcept {
  Eigen::Isometry3d X_BP = measurement.X_BG;  // of the plan
  double distance = kUnknown;
  if (measurement.has_target && X_BP.matrix().allFinite()) {
    const View at = view(measurement);
    distance = at.distance;
    if (!started_(memory)) {
      started_(next) = true;
      point_(next) = at.tip;
      begin_(next) = nearest_(next) = at.distance;
    }
    choose(at, memory, next);
    const double step = speed_ * measurement.timestep;
    point_(next) = pushing_(next) ? push(at, point_(next), step) : travel(at, point_(next), step);
    judge(at, measurement.timestep, memory, next);
    X_BP.translation() = measurement.X_BG * Vector3d(point_(next));
  }
  const auto motion = reach_.move(X_BP, Vector3d::Zero(), measurement, reach_memory_(memory),
                                  reach_memory_(next), command);
  if (!motion) {
    report.status = ControllerStatus::InvalidTarget;
    return;
  }
  reach_.describe(*motion, X_BP, measurement, report);
  reach_.correct(*motion, measurement, reach_memory_(memory), reach_memory_(next), command);
  if (report.status == ControllerStatus::Working) {
    if (done_(next)) report.status = ControllerStatus::Finished;
    if (idle_(next) > push_time_) report.status = ControllerStatus::NoProgress;
  }
  const double begin = std::max<double>(begin_(next), tolerance_);
  report.progress = done_(next) ? 1.0 : std::clamp(1.0 - distance / begin, 0.0, 1.0);
  own(report, "block_error") = distance;
  own(report, "pushes") = pushes_(next);
}

}  // namespace tendril
