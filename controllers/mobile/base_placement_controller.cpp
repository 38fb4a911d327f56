#include "controllers/mobile/base_placement_controller.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "controllers/interface/arm_memory.hpp"
#include "controllers/interface/obstacle_settings.hpp"
#include "tendril/model_error.hpp"

namespace tendril {
namespace {

constexpr double kRetarget =
    5e-3;  // [m], rad: motion of the target after which a search begins again
constexpr double kAtRest = 1e-9;  // [m/s], [rad/s]: of the plan, which stops exactly

std::vector<FloorBox> read_boxes(const Settings& settings) {
  constexpr std::size_t kNumbers = 5;
  const std::vector<double> numbers = settings.numbers("keep_out");
  if (numbers.size() % kNumbers != 0) {
    throw ModelError(
        "keep_out: must be x, y, length, width and heading of each box: a multiple of 5 numbers");
  }
  std::vector<FloorBox> boxes;
  for (std::size_t i = 0; i < numbers.size(); i += kNumbers) {
    boxes.push_back({.x = numbers[i],
                     .y = numbers[i + 1],
                     .length = numbers[i + 2],
                     .width = numbers[i + 3],
                     .heading = numbers[i + 4]});
  }
  return boxes;
}

constexpr OwnQuantities<BasePlacementController::kQuantities> own;

PlatformPose to_pose(const Eigen::Vector3d& numbers) noexcept {
  return {numbers.x(), numbers.y(), numbers.z()};
}
Eigen::Vector3d to_numbers(const PlatformPose& pose) noexcept {
  return {pose.x, pose.y, pose.heading};
}

/// The robot with its arm shortened by a fraction of its length.
MobileContinuum shortened(const MobileContinuum& robot, double fraction) {
  std::vector<SectionParameters> sections;
  for (int i = 0; i < robot.arm.section_count(); ++i) {
    SectionParameters section = robot.arm.section(i).parameters();
    section.length *= 1.0 - fraction;
    section.variable_length *= 1.0 - fraction;
    sections.push_back(std::move(section));
  }
  return {.arm = ContinuumRobot(std::move(sections), robot.arm.base()), .X_PB = robot.X_PB};
}

std::optional<BasePoseSearch> make_base_pose_search(const PlatformContext& context) {
  const double margin = context.settings.number("obstacle_margin");
  if (!context.settings.flag("avoidance")) return std::nullopt;
  if (context.settings.has("keep_out"))
    throw ModelError("keep_out: must be empty with avoidance: boxes of the scene are obstacles");
  return BasePoseSearch(context.robot, context.scene.measure_obstacles("obstacles").obstacles,
                        {.platform_length = context.platform_length,
                         .platform_width = context.platform_width,
                         .platform_height = context.platform_height,
                         .arm_radius = context.arm_radius,
                         .margin = margin,
                         .limits = context.limits,
                         .timestep = context.timestep});
}

/// The largest speed from which braking in steps of `h` ends within `distance`.
double braking_speed(double distance, double acceleration, double h) noexcept {
  const double half = 0.5 * acceleration * h;
  return std::sqrt(half * half + 2.0 * acceleration * distance) - half;
}

}  // namespace

std::span<const SettingInfo> BasePlacementController::settings() {
  static constexpr SettingInfo kAll[] = {
      setting::body_name("target", "target", "mocap body that the arm's tip reaches for"),
      setting::choice("task", "position direction",
                      "position, or direction: position and the tip's z axis along the target's; "
                      "the same as the "
                      "arm's own task"),
      setting::number("reserve", "", "0.1", {0.0, 0.9},
                      "fraction of the arm's length kept in reserve when a base pose is chosen"),
      setting::number("nearest", "m", "0", {0.0, 1e3},
                      "the platform backs away from a target that is nearer than this to the arm's "
                      "base"),
      setting::numbers("keep_out", "m, rad",
                       "boxes on the floor that the platform must not touch: x, y, length, width, "
                       "heading of each"),
      setting::number("keep_out_margin", "m", "0.02", {0.0, 10.0},
                      "least distance from these boxes"),
      setting::flag("avoidance", false,
                    "choose base poses and drive among the scene's obstacles; without `keep_out` "
                    "and `nearest`"),
      setting::obstacles(),
      setting::obstacle_margin("0.02", "least clearance of platform and arm from obstacles"),
      setting::number("tolerance", "m", "0.002", kPositive,
                      "tip error within which the target counts as reached"),
      setting::number("angle_tolerance", "rad", "0.0175", kPositive, "the same for the direction"),
      setting::number("settle_time", "s", "2", kNotNegative,
                      "time from an arrival until settled errors are recorded"),
  };
  return kAll;
}

BasePlacementController::BasePlacementController(const PlatformContext& context)
    : limits_(context.limits),
      task_(context.settings.choice<TipTask>("task")),
      tolerance_(context.settings.number("tolerance")),
      angle_tolerance_(context.settings.number("angle_tolerance")),
      settle_time_(context.settings.number("settle_time")),
      nearest_(context.settings.number("nearest")),
      h_(context.timestep),
      keep_out_(context.platform_length + 2.0 * context.settings.number("keep_out_margin"),
                context.platform_width + 2.0 * context.settings.number("keep_out_margin"),
                read_boxes(context.settings)),
      base_pose_(make_base_pose_search(context)),
      shorter_(shortened(context.robot, context.settings.number("reserve"))),
      full_(context.robot),
      states_memory_(add_states(memory_, context.robot.arm)),
      states_(static_cast<std::size_t>(context.robot.arm.section_count())) {
  context.scene.measure_target("target");
  if (base_pose_) base_pose_memory_ = memory_.part(base_pose_->layout());
}

void BasePlacementController::update(const MobileMeasurement& measurement,
                                     std::span<const double> memory, std::span<double> next,
                                     MobileCommand& command, ControllerReport& report) noexcept {
  if (!started_(memory)) {
    plan_(next) = to_numbers(measurement.base);
    goal_(next) = plan_(next);
    if (base_pose_) base_pose_->start(measurement.base, base_pose_memory_(next));
    started_(next) = true;
  }
  const TipTarget target{.X_BG = measurement.X_WG, .task = task_};
  const bool valid = measurement.has_target && is_finite(target);
  bool target_moved = true;
  if (base_pose_) {
    drive_among(measurement, target, valid, next, report);
  } else if (valid) {
    target_moved = choose(target, next, report);
  } else {
    goal_(next) = plan_(next);  // stop
    target_(next).setZero();    // forces a new base pose once the target is valid again
    report.status = ControllerStatus::InvalidTarget;
    own(report, "ik_status") = static_cast<double>(MobileStatus::InvalidTarget);
  }
  if (!base_pose_) {
    move(next, report);
    const Eigen::Vector2d left = (goal_(next) - plan_(next)).head<2>();
    if (valid) {
      evaluate(measurement, target, target_moved, left.norm() < tolerance_, next, report);
    }
  }
  command.base = to_pose(plan_(next));
  command.base_rate = to_pose(velocity_(next));
  own(report, "base_travel") = travel_(next);
  own(report, "targets_reached") = targets_reached_(next);
  own(report, "settled_error") = settled_error_(next);
  own(report, "settled_angle") = settled_angle_(next);
}

/// One step among the obstacles of the scene.
void BasePlacementController::drive_among(const MobileMeasurement& measurement,
                                          const TipTarget& target, bool valid,
                                          std::span<double> next,
                                          ControllerReport& report) noexcept {
  const std::span<double> search = base_pose_memory_(next);
  const Obstacles& obstacles = obstacles_or_none(measurement.obstacles);
  Eigen::Matrix<double, 6, 1> key;
  key << target.position(), target.direction();
  const Eigen::Matrix<double, 6, 1> known = target_(next);
  bool target_moved = true;
  if (valid) {
    target_moved = key != known;
    if (target_moved && (!base_pose_->is_searching(search) || (key - known).norm() > kRetarget)) {
      target_(next) = key;
      base_pose_->begin(search);
    }
    report.iterations = base_pose_->step(target, obstacles, search);
    const bool failed = base_pose_->has_failed(search);
    if (failed) report.status = ControllerStatus::NotReached;
    own(report, "ik_status") =
        static_cast<double>(failed ? MobileStatus::BaseBlocked : MobileStatus::Converged);
  } else {
    base_pose_->brake(search);
    target_(next).setZero();  // forces a search once the target is valid again
    report.status = ControllerStatus::InvalidTarget;
    own(report, "ik_status") = static_cast<double>(MobileStatus::InvalidTarget);
  }
  travel_(next) += (base_pose_->pose(search) - plan_(next)).head<2>().norm();
  plan_(next) = base_pose_->pose(search);
  velocity_(next) = base_pose_->rate(search);
  if (!valid) return;
  const bool at_goal = base_pose_->mode(search) == BasePoseSearch::Mode::There;
  evaluate(measurement, target, target_moved, at_goal, next, report);
}

/// Chooses a base pose if the target differs from that of the present goal; returns whether it
/// does.
bool BasePlacementController::choose(const TipTarget& target, std::span<double> next,
                                     ControllerReport& report) noexcept {
  Eigen::Matrix<double, 6, 1> key;
  key << target.position(), target.direction();
  const bool known = key == target_(next);
  if (!known) {
    target_(next) = key;
    load_states(states_memory_(next), states_);
    reason_(next) = find_base_pose(target, next, report);
  }
  const MobileStatus reason = reason_(next);
  own(report, "ik_status") = static_cast<double>(reason);
  if (reason != MobileStatus::Converged) report.status = ControllerStatus::NotReached;
  return !known;
}

/// The base pose for the shortened arm, moved away from the target if it is too near. It is taken
/// if the whole arm reaches the target from there; otherwise the base pose for the whole arm is
/// used.
MobileStatus BasePlacementController::find_base_pose(const TipTarget& target,
                                                     std::span<double> next,
                                                     ControllerReport& report) noexcept {
  const PlatformPose goal = to_pose(goal_(next));
  const PlatformRule stay{.frozen = true};
  const MobileContinuumResult placement = shorter_.solve(target, goal, states_, keep_out_.rule());
  report.iterations = placement.iterations;
  if (placement.converged()) {
    for (const PlatformPose& base :
         {backed_away(target.position(), placement.base), placement.base}) {
      if (!keep_out_.allows(base)) continue;
      const MobileContinuumResult there = full_.solve(target, base, states_, stay);
      report.iterations += there.iterations;
      if (!there.converged()) continue;
      adopt(there, next);
      return there.status;
    }
  }
  const MobileContinuumResult last = full_.solve(target, goal, states_, keep_out_.rule());
  report.iterations += last.iterations;
  if (last.converged()) adopt(last, next);
  return last.status;
}

void BasePlacementController::adopt(const MobileContinuumResult& result,
                                    std::span<double> next) const noexcept {
  goal_(next) = to_numbers(result.base);
  store_states(result.states, states_memory_(next));
}

/// The base pose moved away from the target until the arm's base is at the distance `nearest`.
PlatformPose BasePlacementController::backed_away(const Eigen::Vector3d& target,
                                                  const PlatformPose& base) const noexcept {
  const Eigen::Vector3d from = arm_base_pose(full_.robot(), base).translation() - target;
  const double across = from.head<2>().norm();
  const double desired = nearest_ * nearest_ - from.z() * from.z();
  if (!(across > 0.0) || desired <= across * across) return base;
  const Eigen::Vector2d shift = (std::sqrt(desired) / across - 1.0) * from.head<2>();
  return {base.x + shift.x(), base.y + shift.y(), base.heading};
}

/// One step of the plan towards the goal; position and heading are braked independently.
void BasePlacementController::move(std::span<double> next,
                                   ControllerReport& report) const noexcept {
  auto plan = plan_(next), rates = velocity_(next), goal = goal_(next);
  const Eigen::Vector2d p = plan.head<2>(), v = rates.head<2>();
  const double heading = plan.z(), heading_rate = rates.z();
  const Eigen::Vector2d remaining = goal.head<2>() - p;
  const double distance = remaining.norm();
  const double speed = std::min({limits_.platform_speed, distance / h_,
                                 braking_speed(distance, limits_.platform_acceleration, h_)});
  Eigen::Vector2d desired = Eigen::Vector2d::Zero();
  if (distance > 0.0) desired = speed / distance * remaining;
  const double step = limits_.platform_acceleration * h_;
  const Eigen::Vector2d change = desired - v;
  Eigen::Vector2d velocity =
      change.norm() <= step ? desired : Eigen::Vector2d(v + step * change.normalized());

  const double rotation = std::remainder(goal.z() - heading, 2.0 * std::numbers::pi);
  const double turn_speed =
      std::copysign(std::min({limits_.turn_speed, std::abs(rotation) / h_,
                              braking_speed(std::abs(rotation), limits_.turn_acceleration, h_)}),
                    rotation);
  const double turn_step = limits_.turn_acceleration * h_;
  double rate = heading_rate;
  rate += std::clamp(turn_speed - rate, -turn_step, turn_step);

  // If braking from the next pose would end at a forbidden base pose, brake now.
  const Eigen::Vector2d end =
      p + (h_ + 0.5 * velocity.norm() / limits_.platform_acceleration) * velocity;
  const double end_heading =
      heading + (h_ + 0.5 * std::abs(rate) / limits_.turn_acceleration) * rate;
  if (!keep_out_.allows({end.x(), end.y(), end_heading}) &&
      keep_out_.allows({p.x(), p.y(), heading})) {
    const double now = v.norm();
    velocity = now <= step ? Eigen::Vector2d(Eigen::Vector2d::Zero())
                           : Eigen::Vector2d((1.0 - step / now) * v);
    rate = heading_rate - std::clamp(heading_rate, -turn_step, turn_step);
    // The goal is abandoned and replaced by the point where this braking ends.
    const Eigen::Vector2d left = 0.5 * velocity.norm() / limits_.platform_acceleration * velocity;
    goal.head<2>() = p + h_ * velocity + left;
    goal.z() = heading + (h_ + 0.5 * std::abs(rate) / limits_.turn_acceleration) * rate;
    reason_(next) = MobileStatus::BaseBlocked;
    report.status = ControllerStatus::NotReached;
    own(report, "ik_status") = static_cast<double>(MobileStatus::BaseBlocked);
  }
  rates << velocity, rate;
  plan.head<2>() += h_ * velocity;
  plan.z() += h_ * rate;
  travel_(next) += h_ * velocity.norm();
}

/// An arrival: target and platform are at rest, the platform is at its goal, and the tip error is
/// within the tolerances.
void BasePlacementController::evaluate(const MobileMeasurement& measurement,
                                       const TipTarget& target, bool target_moved, bool at_goal,
                                       std::span<double> next,
                                       ControllerReport& report) const noexcept {
  report.tip_error = position_error(measurement.X_WE, target);
  report.angle_error = angle_error(measurement.X_WE, target);
  const bool at_rest = velocity_(next).cwiseAbs().sum() < kAtRest;
  const bool near = report.tip_error <= tolerance_ && report.angle_error <= angle_tolerance_;
  const bool there = at_rest && near && at_goal;
  if (target_moved) arrived_(next) = false;
  if (there && !target_moved && !arrived_(next)) {
    arrived_(next) = true;
    arrival_time_(next) = measurement.time;
    targets_reached_(next) += 1;
  }
  if (arrived_(next) && measurement.time >= arrival_time_(next) + settle_time_) {
    settled_error_(next) = std::max<double>(settled_error_(next), report.tip_error);
    settled_angle_(next) = std::max<double>(settled_angle_(next), report.angle_error);
  }
  report.arrived = arrived_(next);
  if (arrived_(next) && report.status == ControllerStatus::Working)
    report.status = ControllerStatus::Finished;
}

}  // namespace tendril
