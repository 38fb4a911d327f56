#include "controllers/arm/whole_body_controller.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "controllers/arm/driven_part.hpp"
#include "controllers/arm/path_settings.hpp"
#include "controllers/interface/feed_settings.hpp"
#include "controllers/interface/messages.hpp"
#include "tendril/kinematics/forward_kinematics.hpp"
#include "tendril/model_error.hpp"

namespace tendril {
namespace {

using Eigen::Isometry3d;
using Eigen::Vector3d;

constexpr OwnQuantities<WholeBodyController::kQuantities> own;

constexpr int kFitSteps = 2;         // Gauss-Newton steps of the warm-started fit in one step
constexpr double kPlanned = 1e-3;    // of a planned tip that is where it should be [m]
constexpr double kThere = 1e-6;      // [m]
constexpr double kJointLimit = 0.1;  // of the integral on a joint [rad], [m]
constexpr double kStability = 0.25;  // of the gain of that integral, times the servo's lag

}  // namespace

std::span<const SettingInfo> WholeBodyController::settings() {
  static constexpr SettingInfo kSettings[] = {
      setting::body_name("target", "",
                         "mocap body to which the tip goes when there are no waypoints, arcs or "
                         "centerline"),
      setting::speed("0.05", "of the tip along its path, or to its target"),
      setting::acceleration("0.2", "of the tip"),
      setting::rate_limit("3", "largest bend rate of a section; the tip slows down to keep it"),
      setting::number("joint_speed", "rad/s, m/s", "1", kPositive,
                      "largest speed of a joint that carries the arm; the tip slows down to keep "
                      "it"),
      setting::start_delay("0.5", "time for the arm to come to rest before it moves"),
      setting::number("jam_tip_error", "m", "0.005", kPositive,
                      "tip error at which the tip stops; before, it slows down in proportion"),
      setting::number("jam_time", "s", "0.5", kNotNegative,
                      "time at this error after which it is a jam, as long as it lasts")};
  static const std::vector<SettingInfo> kAll =
      joined({path_settings(), kSettings, tip_integral_settings()});
  return kAll;
}

WholeBodyController::WholeBodyController(const ArmContext& context)
    : robot_(context.robot),
      limits_(FeedDrive::Limits::from(context.settings)),
      joint_speed_(context.settings.number("joint_speed")),
      start_delay_(context.settings.number("start_delay")),
      arm_length_(straight_length(robot_)),
      jam_tip_error_(context.settings.number("jam_tip_error")),
      jam_time_(context.settings.number("jam_time")),
      fit_(robot_, context.scene.carrier(), {.iterations = kFitSteps}),
      integral_(robot_, read_tip_integral(context.settings, context.timestep), context.timestep),
      joint_gain_(context.settings.number("integral_gain")),
      compensates_(context.settings.flag("deflection_compensation")),
      joints_memory_(memory_.vector(fit_.chain().joint_count())),
      joint_integral_(memory_.vector(fit_.chain().joint_count())),
      X_RP_(memory_.matrix(Eigen::MatrixXd(Eigen::MatrixXd::Identity(3, 4)))),
      states_(static_cast<std::size_t>(robot_.section_count())),
      last_states_(states_.size()),
      joints_(fit_.chain().joint_count()),
      last_joints_(fit_.chain().joint_count()),
      q_(robot_.coordinate_count()),
      last_q_(robot_.coordinate_count()),
      deflections_(3, robot_.section_count()) {
  require_driven(context);
  if (robot_.base().feed_limit > 0.0 || robot_.base().spin)
    throw ModelError(
        "robot: base.feed and base.spin: must be 0 and false: joints carry the base, and move it");
  const Settings& settings = context.settings;
  if (gives_path(settings)) {
    if (settings.has("target"))
      throw ModelError(fmt::format("{} and target: must be one of them: the tip goes one way",
                                   path_key(settings)));
    path_ = read_path(settings);
    if (path_->length() <= arm_length_)
      throw ModelError(
          fmt::format("{}: path length = {}: must exceed the arm's length of {}, "
                      "along which it begins",
                      path_key(settings), millimeters(path_->length()), millimeters(arm_length_)));
  } else if (!settings.has("target")) {
    throw ModelError(
        "target: missing: must be given, or waypoints, arcs or a centerline of a path");
  }
  context.scene.measure_target("target");
}

Isometry3d WholeBodyController::path_frame(std::span<const double> memory) const noexcept {
  Isometry3d X_RP = Isometry3d::Identity();
  X_RP.affine() = X_RP_(memory);
  return X_RP;
}

/// Directions of straight sections must not depend on earlier steps.
void WholeBodyController::measured_states(const ArmMeasurement& measurement,
                                          std::span<SectionState> states) const noexcept {
  std::copy(robot_.straight().begin(), robot_.straight().end(), states.begin());
  from_coordinates(robot_, measurement.q, states);
}

/// The plan begins where the robot is. The path begins at its base.
void WholeBodyController::begin(const ArmMeasurement& measurement,
                                std::span<double> next) noexcept {
  joints_ = measurement.carrier;
  measured_states(measurement, states_);
  for (int i = 0; i < robot_.section_count(); ++i)
    states_[static_cast<std::size_t>(i)] = robot_.clamped(i, states_[static_cast<std::size_t>(i)]);
  const Isometry3d X_RB = fit_.chain().pose(joints_);
  X_RP_(next) = X_RB.affine();
  goal_(next) = X_RB * tip_pose(robot_, states_).translation();
  started_(next) = true;
}

void WholeBodyController::update(const ArmMeasurement& measurement, std::span<const double> memory,
                                 std::span<double> next, ArmCommand& command,
                                 ControllerReport& report) noexcept {
  const double h = measurement.timestep;
  const Isometry3d X_RB = fit_.chain().pose(measurement.carrier);
  const Vector3d tip = X_RB * measurement.X_BE.translation();
  if (started_(memory)) {
    joints_ = joints_memory_(memory);
    load_states(states_memory_(memory), states_);
  } else {
    begin(measurement, next);
  }
  last_joints_ = joints_;
  last_states_ = states_;
  to_coordinates(robot_, last_states_, last_q_);

  if (compensates_) {
    for (int i = 0; i < robot_.section_count(); ++i) {
      const int k = robot_.coordinate_index(i);
      deflections_.col(i) =
          measurement.uneven_deflection.col(k) + measurement.uneven_deflection.col(k + 1);
    }
    fit_.set_deflection(deflections_);
  }
  const double tip_error = (tip - goal_(next)).norm();
  const Plan plan =
      path_ ? follow(measurement, tip_error, memory, next) : reach(measurement, X_RB, memory, next);
  goal_(next) = plan.goal;
  joints_memory_(next) = joints_;
  store_states(states_, states_memory_(next));
  const bool blocked = tip_error >= jam_tip_error_ && measurement.time >= start_delay_;
  blocked_time_(next) = blocked ? blocked_time_(memory) + h : 0.0;

  command.q = q_;
  command.plan = q_;
  command.q_rate = (q_ - last_q_) / h;
  command.carrier_rate = (joints_ - last_joints_) / h;
  // The integral of each joint removes friction, and the weight of what is not the robot's.
  const double gain = std::min(joint_gain_, kStability / (measurement.carrier_lag + h));
  joint_integral_(next) =
      (joint_integral_(memory) + h * gain * (last_joints_ - measurement.carrier))
          .cwiseMax(-kJointLimit)
          .cwiseMin(kJointLimit);
  command.carrier = joints_ + joint_integral_(next);
  Eigen::Matrix<double, 6, 1> error = Eigen::Matrix<double, 6, 1>::Zero();
  error.head<3>() = X_RB.linear().transpose() * (plan.goal - tip);
  integral_.update(measurement, error, blocked, integral_memory_(memory), integral_memory_(next),
                   command.q);

  const bool jammed = blocked_time_(next) > jam_time_;
  const bool planned = plan.error <= kPlanned;
  const bool off = path_ && plan.at_end && (plan.desired - tip).norm() >= jam_tip_error_;
  report.iterations = kFitSteps;
  report.target = X_RB.inverse() * plan.desired;
  report.tip_error = (plan.desired - tip).norm();
  report.arrived = plan.at_end && planned;
  own(report, "plan_error") = plan.error;
  own(report, "body_deviation") = kUnknown;
  if (path_) {
    const double end = path_->length() - arm_length_;
    report.progress = advance_(next) / end;
    measured_states(measurement, last_states_);
    const Isometry3d X_RP = path_frame(next);
    const auto curve = [&](double s) -> Vector3d { return X_RP * path_->position(s); };
    own(report, "body_deviation") =
        fit_.deviation(curve, arm_length_ + advance_(next), arm_length_, X_RB, last_states_);
  } else {
    report.progress = plan.at_end ? 1.0 : 0.0;
  }
  report.status = !plan.is_valid         ? ControllerStatus::InvalidTarget
                  : jammed               ? ControllerStatus::Jammed
                  : !planned || off      ? ControllerStatus::NotReached
                  : path_ && plan.at_end ? ControllerStatus::Finished
                                         : ControllerStatus::Working;
}

/// Scales the step of joints and sections until they keep their speeds; returns its fraction.
double WholeBodyController::limit_rates(double h) noexcept {
  to_coordinates(robot_, states_, q_);
  const double joints = (joints_ - last_joints_).cwiseAbs().maxCoeff() / (joint_speed_ * h);
  const double bends =
      largest_change(robot_, q_, last_q_, TipIntegral::kLengthScale) / (limits_.rate_limit * h);
  const double ratio = std::max(joints, bends);
  if (ratio <= 1.0) return 1.0;
  joints_ = last_joints_ + (joints_ - last_joints_) / ratio;
  q_ = last_q_ + (q_ - last_q_) / ratio;
  from_coordinates(robot_, q_, states_);
  return 1.0 / ratio;
}

WholeBodyController::Plan WholeBodyController::follow(const ArmMeasurement& measurement,
                                                      double tip_error,
                                                      std::span<const double> memory,
                                                      std::span<double> next) noexcept {
  const double h = measurement.timestep, last = advance_(memory);
  const double end = path_->length() - arm_length_;
  const double yield = std::clamp(1.0 - tip_error / jam_tip_error_, 0.0, 1.0);
  const bool begun = measurement.time >= start_delay_;
  double v = begun ? limits_.next_speed(speed_(memory), end - last, h, yield) : 0.0;
  const Isometry3d X_RP = path_frame(next);
  const auto curve = [&](double s) -> Vector3d { return X_RP * path_->position(s); };
  const auto fit = [&](double advance) {
    return fit_.follow(curve, arm_length_ + advance, arm_length_, joints_, states_);
  };
  const bool rests = begun && end - last <= kThere;  // redundant joints need not move on
  const double error =
      rests ? fit_.tip_distance(curve(arm_length_ + end), joints_, states_) : fit(last + v * h);
  const double fraction = limit_rates(h);
  if (error > kPlanned) {  // where it cannot go it waits
    v = 0.0;
  } else {
    v *= fraction;
  }
  advance_(next) = last + v * h;
  speed_(next) = v;
  const Vector3d goal = curve(arm_length_ + advance_(next));
  return {.goal = goal, .desired = goal, .error = error, .at_end = end - advance_(next) <= kThere};
}

WholeBodyController::Plan WholeBodyController::reach(const ArmMeasurement& measurement,
                                                     const Isometry3d& X_RB,
                                                     std::span<const double> memory,
                                                     std::span<double> next) noexcept {
  const double h = measurement.timestep;
  const Vector3d from = goal_(next);
  Vector3d target = X_RB * measurement.X_BG.translation();
  const bool is_valid = measurement.has_target && target.allFinite();
  const bool moves = is_valid && measurement.time >= start_delay_;
  if (!moves) target = from;
  // The target's own velocity; a jump has none.
  Vector3d velocity = (target - target_(memory)) / h;
  if (!moves || velocity.norm() > limits_.speed) velocity.setZero();
  const Vector3d change = velocity - target_velocity_(memory);
  const double largest = limits_.acceleration * h;
  const Vector3d with_it =
      target_velocity_(memory) + change * std::min(1.0, largest / std::max(change.norm(), largest));
  target_(next) = target;
  target_velocity_(next) = with_it;

  const Vector3d missing = target - (from + with_it * h);
  const double remaining = missing.norm();
  const double v = limits_.next_speed(speed_(memory), remaining, h);
  Vector3d step = with_it * h;
  if (remaining > 0.0) step += missing * (v * h / remaining);
  step *= std::min(1.0, limits_.speed * h / std::max(step.norm(), limits_.speed * h));
  const double error = fit_.reach(from + step, joints_, states_);
  const double fraction = limit_rates(h);
  const bool waits = error > kPlanned;  // where it cannot go
  speed_(next) = waits ? 0.0 : v * fraction;
  return {.goal = waits ? from : Vector3d(from + fraction * step),
          .desired = target,
          .error = error,
          .at_end = moves && remaining <= kThere,
          .is_valid = is_valid};
}

int WholeBodyController::path(std::span<const double> memory,
                              std::span<Vector3d> points) const noexcept {
  if (!path_ || !started_(memory)) return 0;
  const Isometry3d X_BP = fit_.chain().pose(joints_memory_(memory)).inverse() * path_frame(memory);
  const auto count = points.size();
  for (std::size_t i = 0; i < count; ++i)
    points[i] = X_BP * path_->position(path_->length() * static_cast<double>(i) /
                                       static_cast<double>(count - 1));
  return static_cast<int>(count);
}

}  // namespace tendril
