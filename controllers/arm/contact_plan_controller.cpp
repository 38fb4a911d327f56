#include "controllers/arm/contact_plan_controller.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "controllers/arm/driven_part.hpp"
#include "controllers/interface/arm_memory.hpp"
#include "tendril/model_error.hpp"

namespace tendril {
namespace {

using Eigen::Vector2d;
using Eigen::Vector3d;

constexpr OwnQuantities<ContactPlanController::kQuantities> own;

/// The correction has settled after this many of its time constants, 1/gain.
constexpr double kSettleTimeConstants = 5.0;

void require_constant_lengths(const ContinuumRobot& robot) {
  for (int i = 0; i < robot.section_count(); ++i) {
    if (!robot.section(i).is_extensible()) continue;
    throw ModelError(fmt::format(
        "section {}: variable_length = {:g} m: must be 0: only the feed changes the arm's length",
        i + 1, robot.section(i).variable_length()));
  }
}

ContactPlanOptions read_options(const ArmContext& context) {
  ContactPlanOptions options = ContactPlanOptions::from(context.settings);
  if (options.period < context.timestep) {
    throw ModelError(fmt::format("period = {}: must be at least the time step",
                                 context.settings.text("period")));
  }
  const bool clamped = context.guide_length <= 0.0;
  if (clamped) options.inserted = true;
  require_constant_lengths(context.robot);
  if (!context.sees_contacts && options.feedback == ContactPlanOptions::Feedback::Contact)
    throw ModelError(fmt::format(
        "measured = sensors: {} works by the contacts of the body, of which no sensor tells: must "
        "be {}",
        options.elastic ? "feedback = contact" : "elastic = false",
        options.elastic ? "model or none" : "true, or feedback = none"));
  if (clamped && context.robot.base().feed_limit > 0.0)
    throw ModelError("base.feed: must be 0 without base.guide_length: the arm is clamped");
  return options;
}

}  // namespace

ContactPlanController::ContactPlanController(const ArmContext& context)
    : robot_(context.robot),
      arm_length_(straight_length(robot_)),
      options_(read_options(context)),
      sees_contacts_(context.sees_contacts),
      candidates_(context, options_),
      monitor_(context, options_, candidates_.frame()),
      correction_(robot_, options_, candidates_.frame()) {
  require_driven(context, Planes::Refused);
  context.scene.measure_target("target");
  const CandidatePlan& first = candidates_.first();
  const CandidatePlan::Row& start = options_.inserted ? first.list.back() : first.list.front();
  stage_ = memory_.choice(Stage::Settle, Stage::Stopped,
                          options_.inserted ? Stage::Correct : Stage::Settle);
  stage_time_ = memory_.number();
  list_time_ = memory_.number(options_.inserted ? start.time : 0.0);
  candidate_ = memory_.index(0, candidates_.size() - 1);
  failure_ = memory_.choice(PlanFailure::None, PlanFailure::Time);
  monitor_.add_timers(memory_);
  correction_.add_memory(start, memory_);
  monitor_.add_contacts(candidates_.max_contacts(), memory_);
  correction_.add_model(first, memory_);
  if (!sees_contacts_) correction_.add_contacts(candidates_.max_contacts(), memory_);
}

void ContactPlanController::reset(std::span<double> memory) const noexcept {
  memory_.reset(memory);
  correction_.reset_model(candidates_.first(), memory);
}

void ContactPlanController::update(const ArmMeasurement& measurement,
                                   std::span<const double> memory, std::span<double> next_memory,
                                   ArmCommand& command, ControllerReport& report) noexcept {
  const std::span<const MeasuredContact> seen =
      sees_contacts_ ? measurement.contacts
                     : correction_.modelled_contacts(present(memory), memory);
  const Motion motion = move(measurement, seen, memory, next_memory, report);
  command_arm(motion.desired, command);
  report_motion(measurement, motion, memory, report);

  PlanMonitor::Contacts contacts =
      monitor_.count_contacts(present(memory), seen, motion.path_length, memory, next_memory);
  if (!sees_contacts_ && options_.feedback != ContactPlanOptions::Feedback::Model)
    contacts.missing = 0;  // nothing tells of them
  const PlanFailure failure = monitor_.failure(measurement,
                                               {.stage = stage_(memory),
                                                .tip_error = report.tip_error,
                                                .missing = contacts.missing,
                                                .contacts = seen},
                                               memory, next_memory);
  if (failure != PlanFailure::None) abandon(failure, memory, next_memory);

  own(report, "contacts_expected") = contacts.expected;
  own(report, "contacts_made") = contacts.made;
  own(report, "contacts_lost") = contacts.lost;
  own(report, "candidate") = candidate_(memory) + 1;
  own(report, "failure_reason") = static_cast<double>(PlanFailure(failure_(next_memory)));
  report.status = status(report.tip_error, failure, memory);
}

void ContactPlanController::enter(Stage stage, std::span<double> next) const noexcept {
  stage_(next) = stage;
  stage_time_(next) = 0.0;
}

ContactPlanController::Motion ContactPlanController::move(const ArmMeasurement& measurement,
                                                          std::span<const MeasuredContact> contacts,
                                                          std::span<const double> memory,
                                                          std::span<double> next,
                                                          ControllerReport& report) noexcept {
  CandidatePlan& plan = candidates_[candidate_(memory)];
  stage_time_(next) = stage_time_(memory) + measurement.timestep;
  switch (stage_(memory)) {
    case Stage::Settle:
      return settle(plan, memory, next);
    case Stage::Feed:
      return feed(plan, measurement, memory, next, report);
    case Stage::Correct:
      return correct(plan, measurement, contacts, memory, next, report);
    case Stage::Withdraw:
      return withdraw(plan, measurement.timestep, memory, next);
    case Stage::Stopped:
      break;
  }
  return rest(plan, memory);
}

/// Waits at the start of the list until the arm has come to rest.
ContactPlanController::Motion ContactPlanController::settle(const CandidatePlan& plan,
                                                            std::span<const double> memory,
                                                            std::span<double> next) const noexcept {
  if (stage_time_(memory) >= options_.start_delay) enter(Stage::Feed, next);
  const double path_length = plan.list.front().path_length;
  return {plan.actuation_at(0.0), path_length, plan.planned_tip(path_length)};
}

/// Follows the command list, corrected once the tip has left the first arc.
ContactPlanController::Motion ContactPlanController::feed(CandidatePlan& plan,
                                                          const ArmMeasurement& measurement,
                                                          std::span<const double> memory,
                                                          std::span<double> next,
                                                          ControllerReport& report) noexcept {
  const double list_time = list_time_(memory) + measurement.timestep;
  list_time_(next) = list_time;
  const double path_length = plan.path_length_at(list_time);
  const Vector2d tip = plan.planned_tip(path_length);
  const TipCorrection::Aim aim{
      .tip = tip,
      .gain = path_length > plan.tip_path.front().length ? options_.feed_gain : 0.0,
      .list = plan.actuation_at(list_time + options_.period)};
  const TipCorrection::Step step = correction_.step(plan, measurement, aim, memory, next);
  report.iterations = step.iterations;
  if (list_time >= plan.list.back().time) enter(Stage::Correct, next);
  return {step.actuation, path_length, tip};
}

/// Corrects the actuation at the end of the list until the tip is at the target.
ContactPlanController::Motion ContactPlanController::correct(
    CandidatePlan& plan, const ArmMeasurement& measurement,
    std::span<const MeasuredContact> contacts, std::span<const double> memory,
    std::span<double> next, ControllerReport& report) noexcept {
  const double path_length = plan.list.back().path_length;
  const Vector2d tip = measurement.has_target
                           ? candidates_.frame().to_plan(measurement.X_BG.translation())
                           : plan.planned_tip(path_length);
  const TipCorrection::Aim aim{.tip = tip,
                               .gain = correction_.stable_gain(measurement, contacts, memory),
                               .list = std::nullopt};
  const TipCorrection::Step step = correction_.step(plan, measurement, aim, memory, next);
  report.iterations = step.iterations;
  return {step.actuation, path_length, tip};
}

/// Follows the list backwards; at its start the next plan begins, or the arm stops.
ContactPlanController::Motion ContactPlanController::withdraw(
    const CandidatePlan& plan, double timestep, std::span<const double> memory,
    std::span<double> next) const noexcept {
  const double list_time = std::max(0.0, list_time_(memory) - timestep);
  list_time_(next) = list_time;
  const double path_length = plan.path_length_at(list_time);
  const PlanActuation desired =
      correction_.withdrawn(plan.actuation_at(list_time), stage_time_(memory), memory);
  if (list_time <= 0.0) {
    if (const int following = candidate_(memory) + 1; following < candidates_.size()) {
      begin(following, memory, next);
    } else {
      enter(Stage::Stopped, next);
      correction_.keep(desired, next);
    }
  }
  return {desired, path_length, plan.planned_tip(path_length)};
}

/// Holds the last actuation.
ContactPlanController::Motion ContactPlanController::rest(
    const CandidatePlan& plan, std::span<const double> memory) const noexcept {
  const double path_length = plan.path_length_at(list_time_(memory));
  return {correction_.last(memory), path_length, plan.planned_tip(path_length)};
}

/// Leaves a plan that has failed, back along its list to try the next one, if there is one.
void ContactPlanController::abandon(PlanFailure failure, std::span<const double> memory,
                                    std::span<double> next) const noexcept {
  failure_(next) = failure;
  const bool is_last = candidate_(memory) + 1 == candidates_.size();
  const bool keeps_correcting =
      is_last && stage_(memory) == Stage::Correct && failure != PlanFailure::Force;
  if (is_last && failure == PlanFailure::Jammed) {
    stage_(next) = Stage::Stopped;
  } else if (!options_.inserted && !keeps_correcting) {
    enter(Stage::Withdraw, next);
    correction_.begin_withdrawal(present(memory).actuation_at(list_time_(memory)), next);
  }
}

/// Begins a plan at the start of its list, with the obstacles where they were found.
void ContactPlanController::begin(int candidate, std::span<const double> memory,
                                  std::span<double> next) const noexcept {
  memory_.reset(next);
  candidate_(next) = candidate;
  failure_(next) = PlanFailure(failure_(memory));
  correction_.begin(candidates_[candidate], memory, next);
}

void ContactPlanController::command_arm(const PlanActuation& desired,
                                        ArmCommand& command) const noexcept {
  for (int i = 0; i < robot_.section_count(); ++i) {
    const int u = robot_.coordinate_index(i);
    command.q[u] = desired.curvature * robot_.section(i).length();
    command.q_rate[u] = desired.curvature_rate * robot_.section(i).length();
  }
  command.has_plan = false;  // contacts give the body a shape that sections do not have
  command.base.feed = std::clamp(desired.length + candidates_.frame().guide_length - arm_length_,
                                 0.0, robot_.base().feed_limit);
  command.feed_rate = desired.length_rate;
}

void ContactPlanController::report_motion(const ArmMeasurement& measurement, const Motion& motion,
                                          std::span<const double> memory,
                                          ControllerReport& report) const noexcept {
  report.target = candidates_.frame().to_base(motion.tip);
  report.tip_error = (report.target - measurement.X_BE.translation()).norm();
  report.progress = motion.path_length / present(memory).list.back().path_length;
  report.deviation =
      report.tip_error / std::max(motion.desired.length, TipCorrection::kLengthScale);
  report.arrived = stage_(memory) == Stage::Correct &&
                   stage_time_(memory) * options_.gain > kSettleTimeConstants;
}

ControllerStatus ContactPlanController::status(double tip_error, PlanFailure failure,
                                               std::span<const double> memory) const noexcept {
  const Stage stage = stage_(memory);
  if (stage == Stage::Stopped && failure_(memory) == PlanFailure::Jammed)
    return ControllerStatus::Jammed;
  if (stage == Stage::Correct && tip_error <= options_.tolerance) return ControllerStatus::Finished;
  const bool withdraws = stage == Stage::Withdraw || stage == Stage::Stopped;
  return failure != PlanFailure::None || withdraws ? ControllerStatus::NoProgress
                                                   : ControllerStatus::Working;
}

int ContactPlanController::path(std::span<const double> memory,
                                std::span<Vector3d> points) const noexcept {
  const CandidatePlan& plan = present(memory);
  const double length = plan.list.back().path_length;
  const auto count = points.size();
  for (std::size_t i = 0; i < count; ++i) {
    const double path_length = length * static_cast<double>(i) / static_cast<double>(count - 1);
    points[i] = candidates_.frame().to_base(plan.planned_tip(path_length));
  }
  return static_cast<int>(count);
}

}  // namespace tendril
