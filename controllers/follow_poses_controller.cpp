#include "controllers/follow_poses_controller.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "controllers/arm_memory.hpp"
#include "tendril/kinematics/forward_kinematics.hpp"
#include "tendril/model_error.hpp"
#include "tendril/path/smooth_step.hpp"

namespace tendril {
namespace {

// Memory layout.
enum Slot : std::size_t {
  kTime,
  kBlockedTime,
  kJammed,
  kStarted,
  kWaypointError,
  kStartTime,
  kStartFeed,
  kStartSpin,
  kStart
};

constexpr int kTipsPerStep = 8;  // points that are drawn between two poses

PosePath read_poses(const Settings& settings, const ContinuumRobot& robot) {
  for (const char* other : {"waypoints", "target"}) {
    if (settings.has(other)) {
      throw ModelError("poses and " + std::string(other) +
                       ": must be one of them: what is to be followed");
    }
  }
  try {
    return parse_pose_path(settings.text("poses"), robot);
  } catch (const ModelError& error) {
    throw ModelError(std::string("poses: ") + error.what());
  }
}

PoseTiming read_timing(const Settings& settings) {
  return {.waypoint_time =
              settings.number("waypoint_time", 0.5, {.low = 0.0, .high = 1e4, .open_low = true}),
          .hold_time = settings.number("hold_time", 0.5, {.low = 0.0, .high = 1e4}),
          .rate_limit =
              settings.number("rate_limit", 3.0, {.low = 0.0, .high = 1000.0, .open_low = true})};
}

}  // namespace

std::span<const SettingInfo> FollowPosesController::settings() {
  static constexpr SettingInfo kSettings[] = {
      {"poses", "", "",
       "a path of poses as `tendril plan --path` writes it, the table itself; in a robot file "
       "`poses = { file = \"path.csv\" }`"},
      {"waypoint_time", "s", "0.5",
       "poses: from waypoint to waypoint; longer where `rate_limit` asks for it"},
      {"hold_time", "s", "0.5", "poses: at the first pose and at each waypoint"},
  };
  return kSettings;
}

FollowPosesController::FollowPosesController(const ControllerContext& context)
    : robot_(context.robot),
      schedule_(robot_, read_poses(context.settings, robot_), read_timing(context.settings)),
      start_delay_(context.settings.number("start_delay", 1.0, {.low = 0.0})),
      rate_limit_(read_timing(context.settings).rate_limit),
      jam_tip_error_(
          context.settings.number("jam_tip_error", 0.005, {.low = 0.0, .open_low = true})),
      jam_feed_force_(context.settings.number("jam_feed_force", 0.98 * context.feed_force_limit,
                                              {.low = 0.0, .open_low = true})),
      jam_time_(context.settings.number("jam_time", 0.05, {.low = 0.0})),
      integral_(robot_, read_tip_integral(context.settings, context.timestep), context.timestep),
      states_(static_cast<std::size_t>(robot_.section_count())),
      q_(robot_.coordinate_count()),
      q_rate_(robot_.coordinate_count()) {
  const PosePath& path = schedule_.path();
  for (std::size_t i = 0; i + 1 < path.size(); ++i) {
    for (int k = i == 0 ? 0 : 1; k <= kTipsPerStep; ++k) {
      const double share = static_cast<double>(k) / kTipsPerStep;
      interpolate_pose(robot_, path[i].states, path[i + 1].states, share, states_);
      const BaseState &a = path[i].base, &b = path[i + 1].base;
      const BaseState base{.feed = a.feed + share * (b.feed - a.feed),
                           .spin = a.spin + share * (b.spin - a.spin)};
      tips_.push_back(tip_pose(robot_, states_, base).translation());
    }
  }
}

int FollowPosesController::memory_size() const noexcept {
  return static_cast<int>(kStart) + robot_.coordinate_count() + integral_.memory_size();
}

void FollowPosesController::reset(std::span<double> memory) const noexcept {
  std::fill(memory.begin(), memory.end(), 0.0);
}

PoseSchedule::Sample FollowPosesController::planned(
    double time, std::span<const double> memory, Eigen::Ref<Eigen::VectorXd> q,
    Eigen::Ref<Eigen::VectorXd> q_rate) const noexcept {
  PoseSchedule::Sample sample = schedule_.at(time, q, q_rate);
  if (time >= 0.0) return sample;
  const double duration = memory[kStartTime];
  const SmoothStep smooth = smooth_step(1.0 + time / duration);
  const Eigen::Map<const Eigen::VectorXd> start(&memory[kStart], q.size());
  const double feed = sample.feed - memory[kStartFeed];
  q_rate = (smooth.rate / duration) * (q - start);
  q = start + smooth.value * (q - start);
  sample.feed = memory[kStartFeed] + smooth.value * feed;
  sample.feed_rate = smooth.rate / duration * feed;
  sample.spin = memory[kStartSpin] + smooth.value * (sample.spin - memory[kStartSpin]);
  return sample;
}

Eigen::Vector3d FollowPosesController::planned_tip(const Eigen::VectorXd& q,
                                                   const BaseState& base) noexcept {
  from_coordinates(robot_, q, states_);
  return tip_pose(robot_, states_, base).translation();
}

void FollowPosesController::update(const ArmMeasurement& measurement,
                                   std::span<const double> memory, std::span<double> next_memory,
                                   ArmCommand& command, ControllerReport& report) noexcept {
  const double h = measurement.timestep;
  const auto n = static_cast<std::size_t>(robot_.coordinate_count());
  double time = memory[kTime];
  if (memory[kStarted] == 0.0) {
    // The way to the first pose takes start_delay, or as long as the rate limit asks for.
    Eigen::Map<Eigen::VectorXd>(&next_memory[kStart], robot_.coordinate_count()) = measurement.q;
    next_memory[kStartFeed] = measurement.base.feed;
    next_memory[kStartSpin] = measurement.base.spin;
    const PoseSchedule::Sample first = schedule_.at(0.0, q_, q_rate_);
    const double length = std::max({largest_change(robot_, q_, measurement.q, kPoseLengthScale),
                                    std::abs(first.feed - measurement.base.feed) / kPoseLengthScale,
                                    std::abs(first.spin - measurement.base.spin)});
    next_memory[kStartTime] = std::max(start_delay_, kSmoothPeakRate * length / rate_limit_);
    next_memory[kStarted] = 1.0;
    time = -next_memory[kStartTime];
  }

  // 1. Where the plan has the arm now, and how far the measured tip is from that.
  PoseSchedule::Sample now = planned(time, next_memory, q_, q_rate_);
  const Eigen::Vector3d desired_tip = planned_tip(q_, {.feed = now.feed, .spin = now.spin});
  Eigen::Matrix<double, 6, 1> error = Eigen::Matrix<double, 6, 1>::Zero();
  error.head<3>() = desired_tip - measurement.X_BE.translation();
  report.tip_error = error.head<3>().norm();

  // 2. Jam: tip error or feed force beyond what a free way needs, for some time.
  bool jammed = memory[kJammed] != 0.0;
  const bool blocked = time >= 0.0 && (report.tip_error > jam_tip_error_ ||
                                       std::abs(measurement.feed_force) >= jam_feed_force_);
  next_memory[kBlockedTime] = blocked ? memory[kBlockedTime] + h : 0.0;
  if (!jammed && next_memory[kBlockedTime] > jam_time_) {
    jammed = true;
    next_memory[kJammed] = 1.0;
  }

  // 3. One step of the schedule. A jam stops it.
  const double next_time = jammed ? time : std::min(time + h, schedule_.duration());
  if (schedule_.hold_ends(time, next_time)) next_memory[kWaypointError] = report.tip_error;
  next_memory[kTime] = next_time;
  now = planned(next_time, next_memory, command.q, command.q_rate);
  if (next_time == time) {
    command.q_rate.setZero();
    now.feed_rate = 0.0;
  }
  command.plan = command.q;
  command.base = {.feed = now.feed, .spin = now.spin};
  command.feed_rate = now.feed_rate;

  // 4. Correct on the measured tip.
  const auto integral_size = static_cast<std::size_t>(integral_.memory_size());
  integral_.update(measurement, error, jammed, memory.subspan(kStart + n, integral_size),
                   next_memory.subspan(kStart + n, integral_size), command.q);
  integral_.compensate_sag(measurement, command.q);

  report.status = jammed                              ? ControllerStatus::Jammed
                  : next_time >= schedule_.duration() ? ControllerStatus::Finished
                                                      : ControllerStatus::Working;
  report.waypoint_error = next_memory[kWaypointError];
  report.progress = std::clamp(next_time / schedule_.duration(), 0.0, 1.0);
  report.target = desired_tip;
}

int FollowPosesController::path(std::span<const double> /*memory*/,
                                std::span<Eigen::Vector3d> points) const noexcept {
  // All corners of the polyline cannot be kept where there are fewer points to draw.
  const std::size_t count = std::min(points.size(), tips_.size());
  for (std::size_t i = 0; i < count; ++i) {
    points[i] = count > 1 ? tips_[i * (tips_.size() - 1) / (count - 1)] : tips_[0];
  }
  return static_cast<int>(count);
}

}  // namespace tendril
