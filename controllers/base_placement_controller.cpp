#include "controllers/base_placement_controller.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "tendril/model_error.hpp"

namespace tendril {
namespace {

constexpr const char* kTasks[] = {"position", "direction"};

/// Places in the memory; the arm's states follow behind the last one.
enum Slot : std::size_t {
  kStarted = 0,
  kPlan = 1,      // x, y, heading
  kVelocity = 4,  // of the plan
  kGoal = 7,      // x, y, heading
  kTarget = 10,   // position and z axis of the target that the goal is for
  kReason = 16,   // MobileStatus of that solution
  kArrived = 17,  // at the target and at rest
  kArrivalTime = 18,
  kArrivals = 19,
  kSettledError = 20,
  kSettledAngle = 21,
  kTravel = 22,
  kStates = 23
};
constexpr std::size_t kNumbersOfState = 3;
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

double read_margin(const Settings& settings) {
  return settings.number("keep_out_margin", 0.02, {.low = 0.0, .high = 10.0});
}

/// The robot with an arm that is shorter by a part of its length.
MobileContinuum shortened(const MobileContinuum& robot, double part) {
  std::vector<SectionParameters> sections;
  for (int i = 0; i < robot.arm.section_count(); ++i) {
    const Section& section = robot.arm.section(i);
    const auto lengths = section.length_weights(), angles = section.angle_weights();
    sections.push_back({.length = (1.0 - part) * section.length(),
                        .variable_length = (1.0 - part) * section.variable_length(),
                        .bend_angle_limit = section.bend_angle_limit(),
                        .length_weights = {lengths.begin(), lengths.end()},
                        .angle_weights = {angles.begin(), angles.end()}});
  }
  return {.arm = ContinuumRobot(std::move(sections), robot.arm.base()), .X_PB = robot.X_PB};
}

/// The largest speed from which braking in steps of `h` ends within `distance`.
double braking_speed(double distance, double acceleration, double h) noexcept {
  const double half = 0.5 * acceleration * h;
  return std::sqrt(half * half + 2.0 * acceleration * distance) - half;
}

}  // namespace

std::span<const SettingInfo> BasePlacementController::settings() {
  static constexpr SettingInfo kAll[] = {
      {"target", "", "target", "mocap body that the arm's tip shall meet"},
      {"task", "", "position",
       "position, or direction: position and the tip's z axis along the target's; as the arm's "
       "own"},
      {"reserve", "", "0.1",
       "part of the arm's length that the choice of a place does not count on"},
      {"nearest", "m", "0",
       "the platform backs away from a target that is nearer than this to the arm's base"},
      {"keep_out", "m, rad", "",
       "boxes on the floor that the platform must not touch: x, y, length, width, heading of each"},
      {"keep_out_margin", "m", "0.02", "kept from them"},
      {"tolerance", "m", "0.002", "tip error within which the target counts as reached"},
      {"angle_tolerance", "rad", "0.0175", "the same of the direction"},
      {"settle_time", "s", "2", "after an arrival, before settled errors are recorded"},
  };
  return kAll;
}

BasePlacementController::BasePlacementController(const BasePlacementContext& context)
    : limits_(context.limits),
      task_(context.settings.choice("task", kTasks, 0) == 0 ? TipTask::Position
                                                            : TipTask::PositionAndDirection),
      tolerance_(context.settings.number("tolerance", 0.002, {.low = 0.0, .open_low = true})),
      angle_tolerance_(
          context.settings.number("angle_tolerance", 0.0175, {.low = 0.0, .open_low = true})),
      settle_time_(context.settings.number("settle_time", 2.0, {.low = 0.0})),
      nearest_(context.settings.number("nearest", 0.0, {.low = 0.0, .high = 1e3})),
      h_(context.timestep),
      keep_out_(context.platform_length + 2.0 * read_margin(context.settings),
                context.platform_width + 2.0 * read_margin(context.settings),
                read_boxes(context.settings)),
      shorter_(shortened(context.robot,
                         context.settings.number("reserve", 0.1, {.low = 0.0, .high = 0.9}))),
      whole_(context.robot),
      states_(static_cast<std::size_t>(context.robot.arm.section_count())) {}

int BasePlacementController::memory_size() const noexcept {
  return static_cast<int>(kStates + kNumbersOfState * states_.size());
}

void BasePlacementController::reset(std::span<double> memory) const noexcept {
  std::fill(memory.begin(), memory.end(), 0.0);
  const auto straight = whole_.robot().arm.straight();
  for (std::size_t i = 0; i < states_.size(); ++i)
    memory[kStates + kNumbersOfState * i + 2] = straight[i].extension;
}

void BasePlacementController::update(const MobileMeasurement& measurement,
                                     std::span<const double> memory, std::span<double> next,
                                     MobileCommand& command, MobileReport& report) noexcept {
  if (memory[kStarted] == 0.0) {
    const PlatformPose& base = measurement.base;
    for (const Slot slot : {kPlan, kGoal}) {
      next[slot] = base.x;
      next[slot + 1] = base.y;
      next[slot + 2] = base.heading;
    }
    next[kStarted] = 1.0;
  }
  const TipTarget target{.X_BG = measurement.X_WG, .task = task_};
  const bool valid = measurement.has_target && is_finite(target);
  bool target_moved = true;
  if (valid) {
    target_moved = choose(target, next, report);
  } else {
    std::copy_n(next.begin() + kPlan, 3, next.begin() + kGoal);  // stops
    std::fill_n(next.begin() + kTarget, 6, 0.0);                 // a place is chosen anew after it
    report.status = ControllerStatus::InvalidTarget;
    report.reason = MobileStatus::InvalidTarget;
  }
  move(next, report);
  if (valid) judge(measurement, target, target_moved, next, report);
  command.base = {next[kPlan], next[kPlan + 1], next[kPlan + 2]};
  command.base_rate = {next[kVelocity], next[kVelocity + 1], next[kVelocity + 2]};
  report.base_travel = next[kTravel];
  report.arrivals = static_cast<int>(next[kArrivals]);
  report.settled_error = next[kSettledError];
  report.settled_angle_error = next[kSettledAngle];
}

/// A place for the platform, when the target is another than that of the present goal; returns
/// whether it is.
bool BasePlacementController::choose(const TipTarget& target, std::span<double> next,
                                     MobileReport& report) noexcept {
  const Eigen::Vector3d p = target.position(), z = target.direction();
  const double key[] = {p.x(), p.y(), p.z(), z.x(), z.y(), z.z()};
  const bool known = std::equal(std::begin(key), std::end(key), next.begin() + kTarget);
  if (!known) {
    std::copy(std::begin(key), std::end(key), next.begin() + kTarget);
    for (std::size_t i = 0; i < states_.size(); ++i) {
      const double* s = next.data() + kStates + kNumbersOfState * i;
      states_[i] = {.theta = s[0], .phi = s[1], .extension = s[2]};
    }
    next[kReason] = static_cast<double>(look_for(target, next, report));
  }
  report.reason = static_cast<MobileStatus>(static_cast<int>(next[kReason]));
  if (report.reason != MobileStatus::Converged) report.status = ControllerStatus::NotReached;
  return !known;
}

/// The place for the shorter arm, backed away from if it is too near; taken if the whole arm meets
/// the target from there. If it does not, the place for the whole arm.
MobileStatus BasePlacementController::look_for(const TipTarget& target, std::span<double> next,
                                               MobileReport& report) noexcept {
  const PlatformPose goal{next[kGoal], next[kGoal + 1], next[kGoal + 2]};
  const PlatformRule stay{.frozen = true};
  const MobileContinuumResult place = shorter_.solve(target, goal, states_, keep_out_.rule());
  report.iterations = place.iterations;
  if (place.converged()) {
    for (const PlatformPose& base : {backed_away(target.position(), place.base), place.base}) {
      if (!keep_out_.allows(base)) continue;
      const MobileContinuumResult there = whole_.solve(target, base, states_, stay);
      report.iterations += there.iterations;
      if (!there.converged()) continue;
      adopt(there, next);
      return there.status;
    }
  }
  const MobileContinuumResult last = whole_.solve(target, goal, states_, keep_out_.rule());
  report.iterations += last.iterations;
  if (last.converged()) adopt(last, next);
  return last.status;
}

void BasePlacementController::adopt(const MobileContinuumResult& result,
                                    std::span<double> next) const noexcept {
  next[kGoal] = result.base.x;
  next[kGoal + 1] = result.base.y;
  next[kGoal + 2] = result.base.heading;
  for (std::size_t i = 0; i < states_.size(); ++i) {
    double* s = next.data() + kStates + kNumbersOfState * i;
    s[0] = result.states[i].theta;
    s[1] = result.states[i].phi;
    s[2] = result.states[i].extension;
  }
}

/// The place, moved away from the target until the arm's base is `nearest` from it.
PlatformPose BasePlacementController::backed_away(const Eigen::Vector3d& target,
                                                  const PlatformPose& base) const noexcept {
  const Eigen::Vector3d from = arm_base_pose(whole_.robot(), base).translation() - target;
  const double across = from.head<2>().norm();
  const double desired = nearest_ * nearest_ - from.z() * from.z();
  if (!(across > 0.0) || desired <= across * across) return base;
  const Eigen::Vector2d shift = (std::sqrt(desired) / across - 1.0) * from.head<2>();
  return {base.x + shift.x(), base.y + shift.y(), base.heading};
}

/// One step of the plan towards the goal: position and heading each brake in time for it.
void BasePlacementController::move(std::span<double> next, MobileReport& report) const noexcept {
  const Eigen::Vector2d p(next[kPlan], next[kPlan + 1]), v(next[kVelocity], next[kVelocity + 1]);
  const Eigen::Vector2d way = Eigen::Vector2d(next[kGoal], next[kGoal + 1]) - p;
  const double distance = way.norm();
  const double speed = std::min({limits_.platform_speed, distance / h_,
                                 braking_speed(distance, limits_.platform_acceleration, h_)});
  Eigen::Vector2d desired = Eigen::Vector2d::Zero();
  if (distance > 0.0) desired = speed / distance * way;
  const double step = limits_.platform_acceleration * h_;
  const Eigen::Vector2d change = desired - v;
  Eigen::Vector2d velocity =
      change.norm() <= step ? desired : Eigen::Vector2d(v + step * change.normalized());

  const double turn = std::remainder(next[kGoal + 2] - next[kPlan + 2], 2.0 * std::numbers::pi);
  const double turn_speed =
      std::copysign(std::min({limits_.turn_speed, std::abs(turn) / h_,
                              braking_speed(std::abs(turn), limits_.turn_acceleration, h_)}),
                    turn);
  const double turn_step = limits_.turn_acceleration * h_;
  double rate = next[kVelocity + 2];
  rate += std::clamp(turn_speed - rate, -turn_step, turn_step);

  // Where braking from the next place on would end must be allowed, else it brakes now.
  const Eigen::Vector2d end =
      p + (h_ + 0.5 * velocity.norm() / limits_.platform_acceleration) * velocity;
  const double end_heading =
      next[kPlan + 2] + (h_ + 0.5 * std::abs(rate) / limits_.turn_acceleration) * rate;
  const PlatformPose stopped{end.x(), end.y(), end_heading};
  const PlatformPose here{p.x(), p.y(), next[kPlan + 2]};
  if (!keep_out_.allows(stopped) && keep_out_.allows(here)) {
    const double now = v.norm();
    velocity = now <= step ? Eigen::Vector2d(Eigen::Vector2d::Zero())
                           : Eigen::Vector2d((1.0 - step / now) * v);
    const double turning = next[kVelocity + 2];
    rate = turning - std::clamp(turning, -turn_step, turn_step);
    // The goal is given up: it becomes where this braking ends.
    const Eigen::Vector2d left = 0.5 * velocity.norm() / limits_.platform_acceleration * velocity;
    next[kGoal] = p.x() + h_ * velocity.x() + left.x();
    next[kGoal + 1] = p.y() + h_ * velocity.y() + left.y();
    next[kGoal + 2] =
        next[kPlan + 2] + (h_ + 0.5 * std::abs(rate) / limits_.turn_acceleration) * rate;
    next[kReason] = static_cast<double>(MobileStatus::BaseBlocked);
    report.status = ControllerStatus::NotReached;
    report.reason = MobileStatus::BaseBlocked;
  }
  next[kVelocity] = velocity.x();
  next[kVelocity + 1] = velocity.y();
  next[kVelocity + 2] = rate;
  next[kPlan] += h_ * velocity.x();
  next[kPlan + 1] += h_ * velocity.y();
  next[kPlan + 2] += h_ * rate;
  next[kTravel] += h_ * velocity.norm();
}

/// An arrival: the target rests, the platform does so at its goal, and the tip is near.
void BasePlacementController::judge(const MobileMeasurement& measurement, const TipTarget& target,
                                    bool target_moved, std::span<double> next,
                                    MobileReport& report) const noexcept {
  report.tip_error = position_error(measurement.X_WE, target);
  report.angle_error = angle_error(measurement.X_WE, target);
  const bool at_rest =
      std::abs(next[kVelocity]) + std::abs(next[kVelocity + 1]) + std::abs(next[kVelocity + 2]) <
      kAtRest;
  const bool near = report.tip_error <= tolerance_ && report.angle_error <= angle_tolerance_;
  const Eigen::Vector2d left(next[kGoal] - next[kPlan], next[kGoal + 1] - next[kPlan + 1]);
  const bool there = at_rest && near && left.norm() < tolerance_;
  if (target_moved) next[kArrived] = 0.0;
  if (there && !target_moved && next[kArrived] == 0.0) {
    next[kArrived] = 1.0;
    next[kArrivalTime] = measurement.time;
    next[kArrivals] += 1.0;
  }
  if (next[kArrived] != 0.0 && measurement.time >= next[kArrivalTime] + settle_time_) {
    next[kSettledError] = std::max(next[kSettledError], report.tip_error);
    next[kSettledAngle] = std::max(next[kSettledAngle], report.angle_error);
  }
  if (next[kArrived] != 0.0 && report.status == ControllerStatus::Working)
    report.status = ControllerStatus::Finished;
}

}  // namespace tendril
