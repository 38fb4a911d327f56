#include "controllers/reach_controller.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>

#include "controllers/arm_memory.hpp"
#include "tendril/ik/auto_solver.hpp"
#include "tendril/kinematics/forward_kinematics.hpp"
#include "tendril/model_error.hpp"

namespace tendril {
namespace {

constexpr const char* kTasks[] = {"position", "direction"};

constexpr std::size_t kFailedSize = 4;  // flag, target position
constexpr double kSearchDistance =
    1e-3;  // [m]: the target must move so far before poses elsewhere are tried again
constexpr int kSearchIterations = 200;  // budget of one such search
constexpr int kSearchRestarts = 20;
const Obstacles kNone;  // where a measurement has none

SolverOptions solver_options(const Settings& settings) {
  return {.max_iterations =
              static_cast<int>(settings.number("max_iterations", 50, {.low = 1, .high = 10000})),
          .position_tolerance = settings.number("position_tolerance", 1e-6,
                                                {.low = 0.0, .high = 0.1, .open_low = true}),
          .angle_tolerance = settings.number("angle_tolerance", 1e-4,
                                             {.low = 0.0, .high = 1.0, .open_low = true})};
}

/// Name of the solver asked for; the default comes first.
const char* solver_name(const Settings& settings) {
  std::vector<const char*> names;
  for (const SolverInfo& info : solver_infos()) names.push_back(info.name);
  return names[static_cast<std::size_t>(settings.choice("solver", names, 0))];
}

bool is_default(const char* name) { return std::string_view(name) == solver_infos().front().name; }

AnySolver default_solver(const ContinuumRobot& robot, const SolverOptions& options,
                         int extra_iterations, int restarts) {
  return AnySolver(AutoSolver(robot, {.max_iterations = options.max_iterations + extra_iterations,
                                      .position_tolerance = options.position_tolerance,
                                      .angle_tolerance = options.angle_tolerance,
                                      .max_restarts = restarts}));
}

AnySolver make_tracker(const ContinuumRobot& robot, const Settings& settings) {
  const char* name = solver_name(settings);
  const SolverOptions options = solver_options(settings);
  return is_default(name) ? default_solver(robot, options, 0, 0)
                          : make_solver(name, robot, options);
}

std::optional<AnySolver> make_searcher(const ContinuumRobot& robot, const Settings& settings) {
  if (!is_default(solver_name(settings))) return std::nullopt;
  return default_solver(robot, solver_options(settings), kSearchIterations, kSearchRestarts);
}

std::optional<ReactivePlanner> make_reactive_planner(const ControllerContext& context,
                                                     double rate_limit) {
  const Settings& settings = context.settings;
  const double margin = settings.number("obstacle_margin", 0.002, {.low = 0.0, .high = 1.0});
  if (!settings.boolean("avoidance", false)) return std::nullopt;
  if (const char* name = solver_name(settings); !is_default(name))
    throw ModelError(std::string("solver = ") + name + ": must be " + solver_infos().front().name +
                     " with avoidance");
  const SolverOptions options = solver_options(settings);
  return ReactivePlanner(context.robot, context.obstacles ? *context.obstacles : Obstacles(),
                         context.obstacles ? context.moving_obstacles : 0,
                         {.position_tolerance = options.position_tolerance,
                          .angle_tolerance = options.angle_tolerance,
                          .max_iterations = options.max_iterations,
                          .body_radius = context.body_radius,
                          .margin = margin,
                          .rate_limit = rate_limit,
                          .timestep = context.timestep});
}

TipIntegralOptions with_direction(TipIntegralOptions options, TipTask task) {
  options.direction = task == TipTask::PositionAndDirection;
  return options;
}

/// Rotation vector that turns direction `from` into `to` [rad].
Eigen::Vector3d turn_between(const Eigen::Vector3d& from, const Eigen::Vector3d& to) noexcept {
  const Eigen::Vector3d axis = from.cross(to);
  const double sine = axis.norm();
  return sine < 1e-12 ? Eigen::Vector3d::Zero()
                      : Eigen::Vector3d(axis * (std::atan2(sine, from.dot(to)) / sine));
}

}  // namespace

std::span<const SettingInfo> ReachController::settings() {
  static constexpr SettingInfo kOwn[] = {
      {"target", "", "target", "mocap body that the tip follows"},
      {"task", "", "position",
       "position, or direction: position and the tip's z axis along the target's"},
      {"rate_limit", "rad/s", "5",
       "fastest change of a section command (5 cm of length count as 1 rad)"},
      {"solver", "", "auto",
       "inverse kinematics: auto, or another of the library's solvers (listed by `tendril ik "
       "--help`), which then is all that runs"},
      {"max_iterations", "", "50",
       "budget of the inverse kinematics in one step; the next step goes on from there"},
      {"position_tolerance", "m", "1e-6", "of the inverse kinematics"},
      {"angle_tolerance", "rad", "1e-4", "of the inverse kinematics"},
      {"avoidance", "", "false", "keep the whole arm away from obstacles"},
      {"obstacles", "", "",
       "geoms, or bodies with all they carry, that are the obstacles, separated by spaces; "
       "default: all that the arm can touch"},
      {"obstacle_margin", "m", "0.002", "kept between the arm's body and obstacles"},
  };
  static const std::vector<SettingInfo> kAll = joined(kOwn, tip_integral_settings());
  return kAll;
}

ReachController::ReachController(const ControllerContext& context)
    : task_(context.settings.choice("task", kTasks, 0) == 0 ? TipTask::Position
                                                            : TipTask::PositionAndDirection),
      rate_limit_(context.settings.number("rate_limit", 5.0,
                                          {.low = 0.0, .high = 1000.0, .open_low = true})),
      tracker_(make_tracker(context.robot, context.settings)),
      searcher_(make_searcher(context.robot, context.settings)),
      avoiding_(make_reactive_planner(context, rate_limit_)),
      integral_(context.robot,
                with_direction(read_tip_integral(context.settings, context.timestep), task_),
                context.timestep),
      states_(static_cast<std::size_t>(context.robot.section_count())),
      q_solution_(context.robot.coordinate_count()) {}

int ReachController::plan_memory_size() const noexcept {
  if (avoiding_) return avoiding_->memory_size();
  return 3 * robot().section_count() + robot().coordinate_count() + static_cast<int>(kFailedSize);
}

int ReachController::memory_size() const noexcept {
  return plan_memory_size() + integral_.memory_size();
}

void ReachController::reset(std::span<double> memory) const noexcept {
  const auto plan = static_cast<std::size_t>(plan_memory_size());
  integral_.reset(memory.subspan(plan));
  if (avoiding_) {
    avoiding_->reset(memory.first(plan));
    return;
  }
  const auto solution = static_cast<std::size_t>(3 * robot().section_count());
  store_states(robot().straight(), memory);
  Eigen::Map<Eigen::VectorXd> q(memory.data() + solution, robot().coordinate_count());
  to_coordinates(robot(), robot().straight(), q);
  const auto failed = memory.subspan(plan - kFailedSize, kFailedSize);
  std::fill(failed.begin(), failed.end(), 0.0);
}

Eigen::Map<const Eigen::VectorXd> ReachController::plan_in(
    std::span<const double> memory) const noexcept {
  if (avoiding_) return avoiding_->pose(memory);
  return {memory.data() + 3 * robot().section_count(), robot().coordinate_count()};
}

IkResult ReachController::inverse_kinematics(const TipTarget& target, const BaseState& base,
                                             std::span<const double> failed,
                                             std::span<double> next_failed) noexcept {
  const IkResult near = tracker_.solve(target, states_, base);
  next_failed[0] = 0.0;
  if (near.converged() || !searcher_) return near;
  const Eigen::Vector3d p = target.position();
  const bool tried =
      failed[0] != 0.0 &&
      (p - Eigen::Vector3d(failed[1], failed[2], failed[3])).norm() < kSearchDistance;
  if (!tried) {
    IkResult elsewhere = searcher_->solve(target, near.states, base);
    elsewhere.iterations += near.iterations;
    if (elsewhere.converged()) return elsewhere;
    std::copy_n(p.data(), 3, next_failed.begin() + 1);
  }
  next_failed[0] = 1.0;
  return near;
}

ReachController::Plan ReachController::lead(const TipTarget& target,
                                            const ArmMeasurement& measurement,
                                            std::span<const double> memory,
                                            std::span<double> next_memory) noexcept {
  const auto plan = static_cast<std::size_t>(plan_memory_size());
  if (avoiding_) {
    const ReactivePlanner::Step step = avoiding_->step(
        target, measurement.base, measurement.obstacles ? *measurement.obstacles : kNone,
        memory.first(plan), next_memory.first(plan));
    return {step.reached, !step.there, step.iterations, step.scale};
  }
  // 1. Inverse kinematics from the last solution.
  const auto solution = static_cast<std::size_t>(3 * robot().section_count());
  const Eigen::Map<const Eigen::VectorXd> q_last = plan_in(memory);
  Eigen::Map<Eigen::VectorXd> q_next(next_memory.data() + solution, robot().coordinate_count());
  load_states(memory, states_);
  const IkResult ik =
      inverse_kinematics(target, measurement.base, memory.subspan(plan - kFailedSize, kFailedSize),
                         next_memory.subspan(plan - kFailedSize, kFailedSize));
  store_states(ik.states, next_memory);
  to_coordinates(robot(), ik.states, q_solution_);

  // 2. Lead the commands there: the whole step is scaled, no section alone.
  const double change = largest_change(robot(), q_solution_, q_last, TipIntegral::kLengthScale);
  const double scale = std::min(1.0, rate_limit_ * measurement.timestep / std::max(change, 1e-12));
  q_next = q_last + scale * (q_solution_ - q_last);
  return {ik.converged(), scale < 1.0, ik.iterations, scale};
}

void ReachController::update(const ArmMeasurement& measurement, std::span<const double> memory,
                             std::span<double> next_memory, ArmCommand& command,
                             ControllerReport& report) noexcept {
  const auto plan_size = static_cast<std::size_t>(plan_memory_size());
  const Eigen::Map<const Eigen::VectorXd> q_last = plan_in(memory);

  const TipTarget target{measurement.X_BG, task_};
  if (!measurement.has_target || !is_finite(target)) {
    command.q = q_last;
    command.plan = q_last;
    report.status = ControllerStatus::InvalidTarget;
    return;
  }

  const Plan plan = lead(target, measurement, memory, next_memory);
  const Eigen::Map<const Eigen::VectorXd> q_next = plan_in(next_memory);
  command.q = q_next;
  command.plan = q_next;
  command.q_rate = (q_next - q_last) / measurement.timestep;

  // Correct on the measured tip: where the plan has the tip now, against where it is.
  load_states(next_memory, states_);
  from_coordinates(robot(), q_next, states_);
  const Eigen::Isometry3d X_BP = tip_pose(robot(), states_, measurement.base);
  Eigen::Matrix<double, 6, 1> error;
  error.head<3>() = X_BP.translation() - measurement.X_BE.translation();
  error.tail<3>() = turn_between(measurement.X_BE.linear().col(2), X_BP.linear().col(2));
  // On the way to a far target the arm lags; nothing to learn from that.
  integral_.update(measurement, error, plan.on_its_way, memory.subspan(plan_size),
                   next_memory.subspan(plan_size), command.q);
  integral_.compensate_sag(measurement, command.q);

  report.status = plan.reached ? ControllerStatus::Working : ControllerStatus::NotReached;
  report.iterations = plan.iterations;
  report.target = target.position();
  report.tip_error = position_error(measurement.X_BE, target);
  report.angle_error = angle_error(measurement.X_BE, target);
  report.progress = plan.scale;
}

}  // namespace tendril
