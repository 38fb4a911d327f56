#include "controllers/arm/reach_controller.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>

#include "controllers/arm/reactive_planner.hpp"
#include "controllers/interface/arm_memory.hpp"
#include "controllers/interface/feed_settings.hpp"
#include "controllers/interface/obstacle_settings.hpp"
#include "tendril/ik/auto_solver.hpp"
#include "tendril/ik/fabrikx_solver.hpp"
#include "tendril/kinematics/forward_kinematics.hpp"
#include "tendril/kinematics/rotation.hpp"
#include "tendril/model_error.hpp"

namespace tendril {
namespace {

constexpr double kSearchDistance =
    1e-3;  // [m]: motion of the target after which other poses are tried again
constexpr double kSearchAngle = 0.02;   // [rad]: likewise, of a target with a roll
constexpr double kSearchBend = 0.05;    // [rad]: likewise, of the body of an arm driven in part
constexpr int kSearchIterations = 200;  // budget of one such search
constexpr double kBodyRate = 5.0;       // of the filter of its body's pose [1/s]
constexpr int kDrivenIterations = 1000, kDrivenRestarts = 50;  // of an arm driven in part
constexpr double kBetter = 0.9;  // of the error: where nothing meets the target, another pose is
constexpr double kMet = 1e-3, kMetAngle = 0.02;  // [m], [rad]: error of a tip that is there
constexpr double kOffTime = 2.0;  // [s]: that corrections may take, until a target is not reached
constexpr int kRollSearchIterations = 4000;
constexpr double kRollGainRatio = 0.3;  // of the tip's integral, which has to follow
constexpr double kLeadGainRatio = 0.1;  // likewise
constexpr double kMaxRollMiss = 1e-3;   // [m], of a tip that is at its target
constexpr double kMaxRollOffset = 0.3, kMaxRollError = 0.03;  // [rad]
constexpr int kSearchRestarts = 20;
constexpr int kRollSearchRestarts = 300;
constexpr int kFabrikxSearchIterations = 300;
constexpr int kRotationPeriod = 25;                        // of FABRIKx, in iterations
constexpr int kRailCoordinates = PosePlanner::kShift + 1;  // before those of the arm
constexpr std::string_view kFabrikx = "fabrikx";

SolverOptions solver_options(const Settings& settings) {
  return {.max_iterations = settings.integer("max_iterations"),
          .position_tolerance = settings.number("position_tolerance"),
          .angle_tolerance = settings.number("angle_tolerance")};
}

/// Solvers for use in the loop, the default first; the published ones are for comparison.
constexpr const char* kSolvers = "auto levenberg fabrikx";
constexpr std::array kSolverNames{"auto", "levenberg", "fabrikx"};

bool is_default(std::string_view name) { return name == solver_infos().front().name; }

/// Returns the name of the requested solver.
std::string solver_name(const Settings& settings) {
  const std::string name(settings.text("solver"));
  for (const SolverInfo& info : solver_infos()) {
    if (name != info.name || info.group != SolverGroup::Published) continue;
    throw ModelError(fmt::format(
        "solver = {}: must be one of {}; published solvers are for comparison, in `tendril ik`",
        name, fmt::join(kSolverNames, ", ")));
  }
  return std::string(kSolverNames[settings.choice<std::size_t>("solver")]);
}

AnySolver default_solver(const ContinuumRobot& robot, const SolverOptions& options,
                         int extra_iterations, int restarts) {
  return AnySolver(AutoSolver(robot, {.max_iterations = options.max_iterations + extra_iterations,
                                      .position_tolerance = options.position_tolerance,
                                      .angle_tolerance = options.angle_tolerance,
                                      .max_restarts = restarts,
                                      .feed_base = robot.base().feed_limit > 0.0}));
}

/// FABRIKx in a loop has few iterations in a step: it rotates the robot more often than published,
/// and keeps the tip's direction where none is desired.
AnySolver fabrikx_solver(const ContinuumRobot& robot, const SolverOptions& options,
                         int extra_iterations) {
  return AnySolver(
      FabrikxSolver(robot, {.max_iterations = options.max_iterations + extra_iterations,
                            .position_tolerance = options.position_tolerance,
                            .angle_tolerance = options.angle_tolerance,
                            .rotation_period = kRotationPeriod,
                            .keep_free_direction = true,
                            .feed_base = robot.base().feed_limit > 0.0}));
}

AnySolver make_tracker(const ContinuumRobot& robot, const Settings& settings) {
  const std::string name = solver_name(settings);
  const SolverOptions options = solver_options(settings);
  if (settings.choice<TipTask>("task") == TipTask::Pose && !solver_info(name).meets_roll)
    throw ModelError(
        fmt::format("solver = {}: meets no roll, must be auto or levenberg with task = "
                    "pose",
                    name));
  if (name == kFabrikx) return fabrikx_solver(robot, options, 0);
  return is_default(name) ? default_solver(robot, options, 0, 0)
                          : make_solver(name, robot, options);
}

/// The solver for targets that the tracker does not reach; none: it searches by itself.
std::optional<AnySolver> make_searcher(const ContinuumRobot& robot, const Settings& settings) {
  const std::string name = solver_name(settings);
  const SolverOptions options = solver_options(settings);
  if (name == kFabrikx) return fabrikx_solver(robot, options, kFabrikxSearchIterations);
  if (!is_default(name)) return std::nullopt;
  return settings.choice<TipTask>("task") == TipTask::Pose
             ? default_solver(robot, options, kRollSearchIterations, kRollSearchRestarts)
             : default_solver(robot, options, kSearchIterations, kSearchRestarts);
}

constexpr const char* kInPart = "of an arm that is not driven in every direction";

std::unique_ptr<PosePlanner> make_reactive_planner(const ArmContext& context) {
  const Settings& settings = context.settings;
  const double margin = settings.number("obstacle_margin");
  if (!settings.flag("avoidance")) return nullptr;
  if (const std::string name = solver_name(settings); !is_default(name))
    throw ModelError(
        fmt::format("solver = {}: must be {} with avoidance", name, kSolverNames.front()));
  if (settings.choice<TipTask>("task") == TipTask::Pose)
    throw ModelError("task = pose: must be position or direction with avoidance");
  if (gives_way(context))
    throw ModelError(fmt::format("avoidance = true: must be false {}", kInPart));
  const SolverOptions options = solver_options(settings);
  const MeasuredObstacles measured = context.scene.measure_obstacles("obstacles", margin);
  return std::make_unique<ReactivePlanner>(
      context.robot.on_rail(), measured.obstacles, measured.moving_count,
      ReactivePlannerOptions{.position_tolerance = options.position_tolerance,
                             .angle_tolerance = options.angle_tolerance,
                             .max_iterations = options.max_iterations,
                             .body_radius = context.body_radius,
                             .margin = margin,
                             .rates = read_rates(settings),
                             .timing = MoveTiming(settings),
                             .timestep = context.timestep,
                             .waits_for_base = settings.flag("wait_for_base")});
}

/// Refuses what an arm that is driven in part cannot do. Returns whether it is such an arm; one
/// whose sections bend in one plane and are driven is not, where a solver keeps to the planes.
bool is_driven_in_part(const ArmContext& context) {
  if (context.actuation.moves_all()) return false;
  const Settings& settings = context.settings;
  const bool has_roll = settings.choice<TipTask>("task") == TipTask::Pose;
  const std::string solver = solver_name(settings);
  if (!gives_way(context)) return !has_roll && is_default(solver);
  if (has_roll)
    throw ModelError(fmt::format("task = pose: must be position or direction {}", kInPart));
  if (!is_default(solver))
    throw ModelError(
        fmt::format("solver = {}: must be {} {}", solver, kSolverNames.front(), kInPart));
  if (context.actuation.directions.cols() == 0)
    throw ModelError(
        "robot: bend_servo = false in every section: nothing bends the arm to its target, one "
        "section at least must have servos, tendons or chambers");
  return true;
}

TipIntegralOptions correction(const ArmContext& context, TipTask task, bool in_part) {
  TipIntegralOptions options = read_tip_integral(context.settings, context.timestep);
  options.direction = task != TipTask::Position;
  options.within_lengths = true;
  if (in_part) options.corrected = context.actuation.projector();
  return options;
}

/// Rotation vector that rotates direction `from` into `to` [rad].
Eigen::Vector3d rotation_vector_between(const Eigen::Vector3d& from,
                                        const Eigen::Vector3d& to) noexcept {
  const Eigen::Vector3d axis = from.cross(to);
  const double sine = axis.norm();
  return sine < 1e-12 ? Eigen::Vector3d::Zero()
                      : Eigen::Vector3d(axis * (std::atan2(sine, from.dot(to)) / sine));
}

/// Of both errors, a direction as the tip integral weighs it [m].
double weighed_error(const IkResult& result) noexcept {
  return result.position_error + TipIntegral::kDirectionArm * result.angle_error;
}

/// Rate below which a command is at rest [rad/s]: then a servo's lag of some 0.07 s moves the tip
/// of an arm of 0.3 m by less than 1 mm.
constexpr double kRestRate = 0.04;

/// Distance of a tip at a wall from its plan, from which it is blocked [m].
constexpr double kBlockedDistance = 1e-3;
/// A tip that lags along the wall by more than this sticks [m]: it is led on, and lifted by a
/// fraction of that.
constexpr double kStickDistance = 1e-3, kLiftRatio = 1.0;
constexpr double kHoldTime = 0.1;  // without correction after a contact: a sliding tip hops [s]

}  // namespace

std::span<const SettingInfo> ReachController::settings() {
  static constexpr SettingInfo kOwnSettings[] = {
      setting::body_name("target", "target", "mocap body that the tip follows"),
      setting::choice(
          "task", "position direction pose",
          "position; direction: position and the tip's z axis along the target's; pose: "
          "all axes along the target's, by the spin of the base, sections that turn, or "
          "redundancy"),
      setting::rate_limit("5", "largest rate of a section command (5 cm of length count as 1 rad)"),
      setting::number("feed_speed", "m/s", "0.1", {0.0, 10.0, true},
                      "largest speed of the base, of a robot with `[base] feed`"),
      setting::choice("solver", kSolvers,
                      "inverse kinematics; one that is not the default runs alone"),
      setting::integer(
          "max_iterations", "50", 1, 10000,
          "budget of the inverse kinematics in one step; the next step continues from the last "
          "solution"),
      setting::number("position_tolerance", "m", "1e-6", {0.0, 0.1, true},
                      "of the inverse kinematics"),
      setting::number("angle_tolerance", "rad", "1e-4", {0.0, 1.0, true},
                      "of the inverse kinematics"),
      setting::flag("avoidance", false, "keep the whole arm away from obstacles"),
      setting::obstacles(),
      setting::obstacle_margin("0.002"),
      setting::flag("wait_for_base", false,
                    "with avoidance, of an arm on a platform: while the platform drives, and where "
                    "nothing reaches the target, the arm keeps its pose"),
  };
  static const std::vector<SettingInfo> kAll =
      joined({kOwnSettings, {&MoveTiming::kSetting, 1}, tip_integral_settings()});
  return kAll;
}

std::optional<ReachController::Part> ReachController::make_part(const ArmContext& context) {
  if (!is_driven_in_part(context)) return std::nullopt;
  const SolverOptions options = solver_options(context.settings);
  const auto solver = [&](int iterations, int restarts) {
    return DrivenSolver(context.robot, context.actuation,
                        {.max_iterations = iterations,
                         .position_tolerance = options.position_tolerance,
                         .angle_tolerance = options.angle_tolerance,
                         .max_restarts = restarts});
  };
  return Part{solver(options.max_iterations, 0), solver(kDrivenIterations, kDrivenRestarts),
              BodyPose(context.actuation, kBodyRate), tendril::gives_way(context)};
}

ReachController::ReachController(const ArmContext& context)
    : ReachController(context, make_reactive_planner(context)) {}

ReachController::ReachController(const ArmContext& context, std::unique_ptr<PosePlanner> planner)
    : task_(context.settings.choice<TipTask>("task")),
      rates_(read_rates(context.settings)),
      timing_(context.settings),
      tracker_(planner ? default_solver(context.robot, solver_options(context.settings), 0, 0)
                       : make_tracker(context.robot, context.settings)),
      searcher_(planner ? std::nullopt : make_searcher(context.robot, context.settings)),
      planner_(std::move(planner)),
      part_(planner_ ? std::nullopt : make_part(context)),
      lead_gain_(kLeadGainRatio * context.settings.number("integral_gain")),
      lead_(context.timestep),
      integral_(context.robot, correction(context, task_, part_.has_value()), context.timestep),
      walls_(context, TipContacts::With::FixedBodies),
      states_(static_cast<std::size_t>(context.robot.section_count())),
      q_solution_(context.robot.coordinate_count()) {
  if (part_) {
    body_memory_ = memory_.part(part_->body.layout());
    failed_body_ = memory_.vector(context.robot.coordinate_count());
    off_time_ = memory_.number();
  }
  static_assert(static_cast<int>(TipTask::Position) == 0);  // the order of the choices
  context.scene.measure_target("target");
  if (planner_) {
    planner_memory_ = memory_.part(planner_->layout());
  } else {
    solution_memory_ = add_states(memory_, robot());
    const Eigen::VectorXd straight = straight_coordinates(robot());
    q_memory_ =
        memory_.matrix<Eigen::VectorXd>(part_ ? context.actuation.driven * straight : straight);
    timing_memory_ = memory_.part(timing_.layout());
    failed_ = memory_.flag();
    failed_target_ = memory_.matrix<Eigen::Vector3d>();
  }
  if (task_ == TipTask::Pose) {
    failed_frame_ = memory_.matrix<Eigen::Matrix3d>();
    roll_offset_ = memory_.number();
    roll_gain_ = context.settings.number("integral_gain");
  }
  if (has_feed() || has_spin()) base_known_ = memory_.flag();
  if (has_feed() && !planner_) {
    feed_solution_ = memory_.number();
    feed_ = memory_.number();
  }
  if (has_spin()) {
    spin_solution_ = memory_.number();
    spin_ = memory_.number();
  }
  lead_memory_ = memory_.part(lead_.layout());
  integral_memory_ = memory_.part(integral_.layout());
  hold_ = memory_.number();
  wall_ = memory_.matrix<Eigen::Vector3d>();
}

Eigen::Map<const Eigen::VectorXd> ReachController::plan_in(
    std::span<const double> memory) const noexcept {
  if (!planner_) return q_memory_(memory);
  const double* const pose = planner_->pose(planner_memory_(memory)).data();
  return {pose + kRailCoordinates * rail_count(), robot().coordinate_count()};
}

double ReachController::planned_feed(std::span<const double> memory) const noexcept {
  return planner_ ? planner_->pose(planner_memory_(memory))[PosePlanner::kShift] : feed_(memory);
}

IkResult ReachController::inverse_kinematics(const TipTarget& target, const BaseState& base,
                                             std::span<const double> memory,
                                             std::span<double> next_memory) noexcept {
  const IkResult near =
      part_ ? part_->tracker.solve(target, states_, base) : tracker_.solve(target, states_, base);
  failed_(next_memory) = false;
  if (near.converged() || !(part_ || searcher_)) return near;
  const Eigen::Vector3d p = target.position();
  bool tried = failed_(memory) && (p - failed_target_(memory)).norm() < kSearchDistance;
  const bool has_roll = task_ == TipTask::Pose;
  if (has_roll)
    tried = tried && rotation_angle(Eigen::Matrix3d(failed_frame_(memory)), target.X_BG.linear()) <
                         kSearchAngle;
  if (part_)
    tried = tried && (part_->body.in(body_memory_(next_memory)) - failed_body_(memory))
                             .lpNorm<Eigen::Infinity>() < kSearchBend;
  if (!tried) {
    IkResult elsewhere = part_ ? part_->searcher.solve(target, near.states, base)
                               : searcher_->solve(target, near.states, base);
    elsewhere.iterations += near.iterations;
    if (elsewhere.converged()) return elsewhere;
    failed_target_(next_memory) = p;
    if (part_) {
      failed_body_(next_memory) = part_->body.in(body_memory_(next_memory));
      failed_(next_memory) = true;
      const bool is_better = weighed_error(elsewhere) < kBetter * weighed_error(near);
      if (gives_way() && is_better) return elsewhere;
    }
    if (has_roll) failed_frame_(next_memory) = target.X_BG.linear();
  }
  failed_(next_memory) = true;
  return near;
}

ReachController::Plan ReachController::advance(const TipTarget& target,
                                               const ArmMeasurement& measurement,
                                               std::span<const double> memory,
                                               std::span<double> next_memory) noexcept {
  if (planner_) {
    const PosePlanner::Step step =
        planner_->step(target, measurement, planner_memory_(memory), planner_memory_(next_memory));
    return {step.reached, !step.there, step.iterations, step.scale};
  }
  // 1. Inverse kinematics from the last solution.
  load_states(solution_memory_(memory), states_);
  BaseState base = measurement.base;
  if (has_feed()) base.feed = feed_solution_(next_memory);
  if (has_spin()) base.spin = spin_solution_(next_memory);
  if (part_) {
    part_->tracker.set_body(part_->body.in(body_memory_(next_memory)));
    part_->searcher.set_body(part_->body.in(body_memory_(next_memory)));
  }
  const IkResult ik = inverse_kinematics(target, base, memory, next_memory);
  store_states(ik.states, solution_memory_(next_memory));
  to_coordinates(robot(), ik.states, q_solution_);
  if (part_) q_solution_ -= part_->body.in(body_memory_(next_memory));

  // 2. Move the commands towards it; the step is scaled as a whole, not section by section.
  const auto q_last = q_memory_(memory);
  double scale = timing_.fraction(
      rates_.fraction(robot(), q_last, q_solution_, measurement.timestep), measurement.swing_period,
      measurement.timestep, timing_memory_(memory), timing_memory_(next_memory));
  const auto limit_rate = [&](double way, double rate) {
    scale = std::min(scale, rate * measurement.timestep / std::max(std::abs(way), 1e-12));
  };
  if (has_feed()) limit_rate(ik.base.feed - feed_(next_memory), rates_.feed_speed);
  if (has_spin()) limit_rate(ik.base.spin - spin_(next_memory), rates_.rate_limit);
  if (has_feed()) {
    feed_solution_(next_memory) = ik.base.feed;
    feed_(next_memory) += scale * (ik.base.feed - feed_(next_memory));
  }
  if (has_spin()) {
    spin_solution_(next_memory) = ik.base.spin;
    spin_(next_memory) += scale * (ik.base.spin - spin_(next_memory));
  }
  q_memory_(next_memory) = q_last + scale * (q_solution_ - q_last);
  return {ik.converged(), scale < 1.0, ik.iterations, scale};
}

/// Integrates the turn about the tip's axis that is left, once the plan has arrived: sections that
/// sag turn their ends, too.
void ReachController::correct_roll(const Eigen::Isometry3d& X_BG, const ArmMeasurement& measurement,
                                   const Plan& plan, std::span<double> next_memory) noexcept {
  const double miss = (measurement.X_BE.translation() - X_BG.translation()).norm();
  if (plan.moving || (plan.reached && miss > kMaxRollMiss)) return;
  const double fraction = std::min(1.0, kRollGainRatio * roll_gain_ * measurement.timestep);
  double turn = -roll_offset_(next_memory);  // back, where the target is out of reach with it
  if (plan.reached) {
    const Eigen::Matrix3d left = measurement.X_BE.linear().transpose() * X_BG.linear();
    turn = std::clamp(std::atan2(left(1, 0) - left(0, 1), left(0, 0) + left(1, 1)), -kMaxRollError,
                      kMaxRollError);  // the arm may still be on its way
  }
  roll_offset_(next_memory) =
      std::clamp(roll_offset_(next_memory) + fraction * turn, -kMaxRollOffset, kMaxRollOffset);
}

/// The planned base; in the first step, where it is.
void ReachController::load_base(std::span<const double> memory, std::span<double> next_memory,
                                BaseState& base) noexcept {
  if (!has_feed() && !has_spin()) return;
  if (!base_known_(memory)) {
    base_known_(next_memory) = true;
    if (has_feed() && !planner_) {
      feed_(next_memory) = base.feed;
      feed_solution_(next_memory) = base.feed;
    }
    if (has_spin()) {
      spin_(next_memory) = base.spin;
      spin_solution_(next_memory) = base.spin;
    }
    return;
  }
  if (has_feed()) base.feed = planned_feed(next_memory);
  if (has_spin()) base.spin = spin_(next_memory);
}

void ReachController::update(const ArmMeasurement& measurement, std::span<const double> memory,
                             std::span<double> next_memory, ArmCommand& command,
                             ControllerReport& report) noexcept {
  const Eigen::Vector3d target = measurement.X_BG.translation();
  Eigen::Vector3d lead = Eigen::Vector3d::Zero();
  if (lead_gain_ > 0.0 && measurement.has_target && target.allFinite())
    lead = lead_.step(target, lead_memory_(memory), lead_memory_(next_memory));
  std::optional<Motion> motion =
      move(measurement.X_BG, lead, measurement, memory, next_memory, command);
  if (!motion) {
    report.status = ControllerStatus::InvalidTarget;
    return;
  }
  const Eigen::Vector3d off = motion->error.head<3>();
  const Eigen::Vector3d along = walls_.correctable(measurement, off);
  if (along != off) {
    hold_(next_memory) = kHoldTime;
    wall_(next_memory) = (along - off).normalized();
  } else {
    hold_(next_memory) = std::max(0.0, hold_(memory) - measurement.timestep);
  }
  const bool blocked = hold_(next_memory) > 0.0;
  if (blocked) {
    const Eigen::Vector3d normal = wall_(next_memory);
    Eigen::Ref<Eigen::Vector3d> error = motion->error.head<3>();
    error -= std::min(0.0, normal.dot(error)) * normal;
    const double lag = error.norm();
    motion->frozen = motion->moving || lag <= kStickDistance;
    error += kLiftRatio * (lag - kStickDistance) * normal;
  }
  const Eigen::Vector3d known = correct(*motion, measurement, memory, next_memory, command);
  if (motion->reached && !motion->frozen && !blocked) {
    const double largest =
        kLeadGainRatio * TipIntegral::kStabilityFraction * measurement.fundamental_mode_damping;
    lead_.adapt(known, std::min(lead_gain_, largest), lead_memory_(next_memory));
  }
  describe(*motion, measurement.X_BG, measurement, report);
  if (motion->reached && !motion->moving && blocked && off.norm() > kBlockedDistance)
    report.status = ControllerStatus::Blocked;
}

std::optional<ReachController::Motion> ReachController::move(
    const Eigen::Isometry3d& X_BG, const Eigen::Vector3d& lead, const ArmMeasurement& measurement,
    std::span<const double> memory, std::span<double> next_memory, ArmCommand& command) noexcept {
  const Eigen::Map<const Eigen::VectorXd> q_last = plan_in(memory);
  if (part_) part_->body.update(measurement, body_memory_(memory), body_memory_(next_memory));
  const auto command_plan = [&](const Eigen::Map<const Eigen::VectorXd>& q) {
    command.q = q;
    if (part_) command.q += part_->body.in(body_memory_(next_memory));
    command.plan = command.q;
  };
  BaseState base = measurement.base;  // as planned
  load_base(memory, next_memory, base);
  const double last_feed = base.feed;
  command.base = {.feed = last_feed, .spin = has_spin() ? base.spin : 0.0};

  TipTarget target{X_BG, task_};
  if (!measurement.has_target || !is_finite(target)) {
    command_plan(q_last);
    return std::nullopt;
  }
  target.X_BG.translation() += lead;
  if (task_ == TipTask::Pose)
    target.X_BG.rotate(Eigen::AngleAxisd(roll_offset_(memory), Eigen::Vector3d::UnitZ()));
  Plan plan = advance(target, measurement, memory, next_memory);
  if (gives_way()) judge({X_BG, task_}, measurement, memory, next_memory, plan);
  const bool is_off = gives_way() && off_time_(next_memory) > 0.0;
  if (task_ == TipTask::Pose) correct_roll(X_BG, measurement, plan, next_memory);
  const Eigen::Map<const Eigen::VectorXd> q_next = plan_in(next_memory);
  command_plan(q_next);
  command.q_rate = (q_next - q_last) / measurement.timestep;
  if (has_feed()) {
    command.base.feed = base.feed = planned_feed(next_memory);
    command.feed_rate = (base.feed - last_feed) / measurement.timestep;
  }
  if (has_spin()) command.base.spin = base.spin = spin_(next_memory);

  load_states(planner_ ? planner_->solution(planner_memory_(next_memory))
                             .subspan(static_cast<std::size_t>(3 * rail_count()))
                       : solution_memory_(std::span<const double>(next_memory)),
              states_);
  from_coordinates(robot(), command.q, states_);
  // A body that gives way is not where the kinematics have it: the tip itself is moved.
  Eigen::Isometry3d X_BP = gives_way() ? X_BG : tip_pose(robot(), states_, base);
  if (gives_way()) X_BP.translation() += lead;
  const bool rests = std::abs(command.feed_rate) <= kRestRate * TipIntegral::kLengthScale &&
                     largest_change(robot(), q_next, q_last, TipIntegral::kLengthScale) <=
                         kRestRate * measurement.timestep;
  Motion motion{.reached = plan.reached,
                .moving = plan.moving,
                .frozen = plan.moving,
                .resting = plan.reached && !plan.moving && rests && !is_off,
                .iterations = plan.iterations,
                .scale = plan.scale,
                .error = {}};
  motion.error << X_BP.translation() - lead - measurement.X_BE.translation(),
      rotation_vector_between(measurement.X_BE.linear().col(2), X_BP.linear().col(2));
  return motion;
}

/// Judges a plan by the measured tip, for an arm that gives way: the nearest planned pose may be
/// the right one, and one that meets the target wrong.
void ReachController::judge(const TipTarget& target, const ArmMeasurement& measurement,
                            std::span<const double> memory, std::span<double> next_memory,
                            Plan& plan) const noexcept {
  const bool is_there = position_error(measurement.X_BE, target) <= kMet &&
                        angle_error(measurement.X_BE, target) <= kMetAngle;
  off_time_(next_memory) =
      is_there || plan.moving ? 0.0 : std::min(kOffTime, off_time_(memory) + measurement.timestep);
  plan.reached = off_time_(next_memory) < kOffTime;
}

Eigen::Vector3d ReachController::correct(const Motion& motion, const ArmMeasurement& measurement,
                                         std::span<const double> memory,
                                         std::span<double> next_memory,
                                         ArmCommand& command) noexcept {
  const Eigen::Vector3d off =
      integral_.update(measurement, motion.error, motion.frozen, integral_memory_(memory),
                       integral_memory_(next_memory), command.q);
  integral_.compensate_gravity_deflection(measurement, command.q);
  if (part_) part_->tracker.limit(command.q);
  return off;
}

void ReachController::describe(const Motion& motion, const Eigen::Isometry3d& X_BG,
                               const ArmMeasurement& measurement,
                               ControllerReport& report) const noexcept {
  const TipTarget target{X_BG, task_};
  report.status = motion.reached ? ControllerStatus::Working : ControllerStatus::NotReached;
  report.iterations = motion.iterations;
  report.target = target.position();
  report.tip_error = position_error(measurement.X_BE, target);
  report.angle_error = angle_error(measurement.X_BE, target);
  report.progress = motion.scale;
  report.deviation = motion.error.head<3>().norm() / straight_length(robot());
  report.arrived = motion.resting;
}

}  // namespace tendril
