#include "controllers/arm/follow_poses_controller.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "controllers/arm/driven_part.hpp"
#include "controllers/interface/arm_memory.hpp"
#include "tendril/kinematics/forward_kinematics.hpp"
#include "tendril/model_error.hpp"
#include "tendril/path/smooth_step.hpp"

namespace tendril {
namespace {

constexpr OwnQuantities<FollowPosesController::kQuantities> own;

constexpr int kTipsPerStep = 8;  // points shown between two poses

PosePath read_poses(const Settings& settings, const ContinuumRobot& robot) {
  for (const char* other : {"waypoints", "arcs", "centerline", "target"}) {
    if (settings.has(other)) {
      throw ModelError(
          fmt::format("poses and {}: must be one of them: only one path can be followed", other));
    }
  }
  try {
    return parse_pose_path(settings.text("poses"), robot);
  } catch (const ModelError& error) {
    throw ModelError(fmt::format("poses: {}", error.what()));
  }
}

}  // namespace

std::span<const SettingInfo> FollowPosesController::settings() {
  static constexpr SettingInfo kSettings[] = {
      setting::text(
          "poses", "",
          "a path of poses, the text of the table that `tendril plan --path` writes; in a "
          "robot file `poses = { file = \"path.csv\" }`"),
      setting::number(
          "waypoint_time", "s", "0.5", {0.0, 1e4, true},
          "poses: time from waypoint to waypoint; longer where `rate_limit` requires it"),
      setting::number("hold_time", "s", "0.5", {0.0, 1e4},
                      "poses: time of the hold at the first pose and at each waypoint"),
  };
  return kSettings;
}

FollowPosesController::FollowPosesController(const ArmContext& context)
    : robot_(context.robot),
      schedule_(robot_, read_poses(context.settings, robot_),
                {.waypoint_time = context.settings.number("waypoint_time"),
                 .hold_time = context.settings.number("hold_time"),
                 .rate_limit = context.settings.number("rate_limit")}),
      start_delay_(context.settings.number("start_delay")),
      rate_limit_(context.settings.number("rate_limit")),
      jam_(context.settings, context.feed_force_limit),
      integral_(robot_, read_tip_integral(context.settings, context.timestep), context.timestep),
      start_(memory_.vector(robot_.coordinate_count())),
      jam_memory_(memory_.part(jam_.layout())),
      integral_memory_(memory_.part(integral_.layout())),
      states_(static_cast<std::size_t>(robot_.section_count())),
      q_(robot_.coordinate_count()),
      q_rate_(robot_.coordinate_count()) {
  require_driven(context);
  const PosePath& path = schedule_.path();
  for (std::size_t i = 0; i + 1 < path.size(); ++i) {
    for (int k = i == 0 ? 0 : 1; k <= kTipsPerStep; ++k) {
      const double fraction = static_cast<double>(k) / kTipsPerStep;
      interpolate_pose(robot_, path[i].states, path[i + 1].states, fraction, states_);
      const BaseState base = base_between(path[i].base, path[i + 1].base, fraction);
      tips_.push_back(tip_pose(robot_, states_, base).translation());
    }
  }
}

PoseSchedule::Sample FollowPosesController::planned(
    double time, std::span<const double> memory, Eigen::Ref<Eigen::VectorXd> q,
    Eigen::Ref<Eigen::VectorXd> q_rate) const noexcept {
  PoseSchedule::Sample sample = schedule_.at(time, q, q_rate);
  if (time >= 0.0) return sample;
  const double duration = start_time_(memory);
  const SmoothStep smooth = smooth_step(1.0 + time / duration);
  const auto start = start_(memory);
  const double start_feed = start_feed_(memory), start_spin = start_spin_(memory);
  const double feed = sample.feed - start_feed;
  q_rate = (smooth.rate / duration) * (q - start);
  q = start + smooth.value * (q - start);
  sample.feed = start_feed + smooth.value * feed;
  sample.feed_rate = smooth.rate / duration * feed;
  sample.spin = start_spin + smooth.value * (sample.spin - start_spin);
  return sample;
}

Eigen::Vector3d FollowPosesController::planned_tip(const Eigen::VectorXd& q,
                                                   const BaseState& base) noexcept {
  // Straight sections keep the direction that they have here: nothing may be left of an earlier
  // call.
  std::copy(robot_.straight().begin(), robot_.straight().end(), states_.begin());
  from_coordinates(robot_, q, states_);
  return tip_pose(robot_, states_, base).translation();
}

void FollowPosesController::update(const ArmMeasurement& measurement,
                                   std::span<const double> memory, std::span<double> next_memory,
                                   ArmCommand& command, ControllerReport& report) noexcept {
  const double h = measurement.timestep;
  double time = time_(memory);
  if (!started_(memory)) {
    // Moving to the first pose takes start_delay, or longer if the rate limit requires it.
    start_(next_memory) = measurement.q;
    start_feed_(next_memory) = measurement.base.feed;
    start_spin_(next_memory) = measurement.base.spin;
    const PoseSchedule::Sample first = schedule_.at(0.0, q_, q_rate_);
    const double length = std::max({largest_change(robot_, q_, measurement.q, kPoseLengthScale),
                                    std::abs(first.feed - measurement.base.feed) / kPoseLengthScale,
                                    std::abs(first.spin - measurement.base.spin)});
    const double duration = std::max(start_delay_, kSmoothPeakRate * length / rate_limit_);
    start_time_(next_memory) = duration;
    started_(next_memory) = true;
    time = -duration;
  }

  // 1. Planned pose now, and the error of the measured tip.
  PoseSchedule::Sample now = planned(time, next_memory, q_, q_rate_);
  const Eigen::Vector3d desired_tip = planned_tip(q_, {.feed = now.feed, .spin = now.spin});
  Eigen::Matrix<double, 6, 1> error = Eigen::Matrix<double, 6, 1>::Zero();
  error.head<3>() = desired_tip - measurement.X_BE.translation();
  report.tip_error = error.head<3>().norm();

  // 2. Jam: tip error or feed force above its limit for the time `jam_time`.
  const bool jammed =
      jam_.step(time >= 0.0, report.tip_error, measurement.feed_force, h, jam_memory_(memory),
                jam_memory_(next_memory)) != JamDetector::State::Free;

  // 3. One step of the schedule. A jam stops it.
  const double next_time = jammed ? time : std::min(time + h, schedule_.duration());
  if (schedule_.hold_ends(time, next_time)) waypoint_error_(next_memory) = report.tip_error;
  time_(next_memory) = next_time;
  now = planned(next_time, next_memory, command.q, command.q_rate);
  if (next_time == time) {
    command.q_rate.setZero();
    now.feed_rate = 0.0;
  }
  command.plan = command.q;
  command.base = {.feed = now.feed, .spin = now.spin};
  command.feed_rate = now.feed_rate;

  // 4. Correct on the measured tip.
  integral_.update(measurement, error, jammed, integral_memory_(memory),
                   integral_memory_(next_memory), command.q);
  integral_.compensate_gravity_deflection(measurement, command.q);

  report.status = jammed                              ? ControllerStatus::Jammed
                  : next_time >= schedule_.duration() ? ControllerStatus::Finished
                                                      : ControllerStatus::Working;
  // The other quantities of `tendril.follow` are those of paths.
  std::fill(report.own.begin(), report.own.end(), kUnknown);
  own(report, "waypoint_error") = waypoint_error_(next_memory);
  report.progress = std::clamp(next_time / schedule_.duration(), 0.0, 1.0);
  report.target = desired_tip;
}

int FollowPosesController::path(std::span<const double> /*memory*/,
                                std::span<Eigen::Vector3d> points) const noexcept {
  // With fewer points than corners of the polyline some corners are skipped.
  const std::size_t count = std::min(points.size(), tips_.size());
  for (std::size_t i = 0; i < count; ++i) {
    points[i] = count > 1 ? tips_[i * (tips_.size() - 1) / (count - 1)] : tips_[0];
  }
  return static_cast<int>(count);
}

}  // namespace tendril
