#include "controllers/arm/contact_plan_controller.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "controllers/interface/arm_memory.hpp"
#include "tendril/model_error.hpp"
#include "tendril/rod/insertion.hpp"

namespace tendril {
namespace {

using Eigen::Matrix2d;
using Eigen::Vector2d;
using Eigen::Vector3d;

/// A change of the length by this much is weighted as a change of the curvature by 1/m.
constexpr double kLengthScale = 0.05;  // [m per 1/m]

/// Fraction of the feed speed above which the tip error is taken as that of steady feeding.
constexpr double kFullSpeedError = 0.8;

/// Fractions of the tolerance: the correction pauses when the tip is at rest with an error below
/// the first, and resumes when the error exceeds the second.
constexpr double kHoldThreshold = 0.6, kReleaseThreshold = 0.9;
/// A tip is at rest when it moves by less than this part of the tolerance in a second.
constexpr double kRestRate = 0.2;

/// The gain of the correction is at most this part of the damping of the free end's slowest swing.
constexpr double kPartOfDamping = 0.7;

/// A tip that swings to the other side of the target by more than this part of the last swing does
/// not come to rest: the gains are halved, down to the least part of them.
constexpr double kOscillationDecay = 0.7, kMinGainScale = 1.0 / 16.0;

/// The correction has settled after this many of its time constants, 1/gain.
constexpr double kSettleTimes = 5.0;

constexpr double kClampedLengthTolerance = 1e-3;  // [m]

constexpr int kMaxPlans = 12;           // of the scene, that are corrected for elasticity
constexpr double kWithdrawTime = 1.0;   // in which a way's corrections vanish on the way back [s]
constexpr double kProgressRatio = 0.8;  // an error below this part of the last one is progress
constexpr double kPatienceInAll = 3.0;  // away from the target, whatever the progress
constexpr double kMinPressingForce =
    0.2;  // a contact that the elastic model presses so hard is there [N]
constexpr double kPressedTime = 0.2, kOffCourseTime = 1.0, kMissingTime = 3.0;  // [s]
constexpr double kMissingPart = 0.5;  // of tracking_tolerance, at which a missing contact counts

}  // namespace

FedArm fed_arm(const ContinuumRobot& robot, double guide_length, double body_radius) {
  const double length = straight_length(robot);
  FedArm arm{.body_radius = body_radius,
             .guide_length = guide_length,
             .start_length = std::max(0.0, length - guide_length),
             .max_length = robot.base().feed_limit + length - guide_length,
             .max_curvature = std::numeric_limits<double>::infinity()};
  for (int i = 0; i < robot.section_count(); ++i) {
    const Section& section = robot.section(i);
    arm.max_curvature =
        std::min(arm.max_curvature, section.bend_angle_limit_at(0.0) / section.length());
  }
  return arm;
}

std::span<const SettingInfo> ContactPlanController::settings() {
  static constexpr SettingInfo kSettings[] = {
      setting::body_name(
          "target", "",
          "mocap body of the scene to reach with the tip; without `plan` the ways there "
          "are planned among the geoms of the scene when it is loaded"),
      setting::obstacle_names(
          "obstacles",
          "without `plan`: geoms or bodies of the scene, separated by spaces; default: all "
          "that the arm can touch"),
      setting::integer("max_contacts", "3", 0, 8, "without `plan`: of a way"),
      setting::integer("max_candidates", "3", 1, 16, "that are tried, one after the other"),
      setting::text("plan", "", "text of the plan, as `tendril plan --plan FILE` writes it"),
      setting::flag("elastic", true,
                    "correct the plan for an elastic body; false: the planned curvatures, one arc "
                    "after the other"),
      setting::flag("inserted", false,
                    "the body already lies along the plan when the simulation starts (keyframe "
                    "`start`)"),
      setting::choice(
          "feedback", "auto none contact model",
          "how the measured tip corrects curvature and length: none; contact: by the Jacobian of "
          "the measured arm in contact; model: by an elastic model of the arm, whose obstacles "
          "are moved to the measured contacts; auto: model if elastic, else contact"),
      setting::number(
          "passing_clearance", "m", "0.008", {0.0, 1.0},
          "if elastic: largest clearance at which the tip passes the planned contacts; less where "
          "there is less room; the body behind it then rests on them"),
      setting::number("guide_clearance", "m", "0.0005", {0.0, 1.0},
                      "clearance between body and guide in the elastic model, on each side"),
      setting::number("locate_gain", "", "0.2", {0.0, 1.0},
                      "fraction of the distance to a measured contact by which the model's "
                      "obstacle is moved in "
                      "one step"),
      setting::number("speed", "m/s", "0.05", {0.0, 10.0, true}, "of the feed"),
      setting::number("acceleration", "m/s^2", "0.03", {0.0, 1000.0, true}, "of the feed"),
      setting::number("curvature_rate", "1/(m s)", "10", {0.0, 1e6, true},
                      "largest rate of the actuation curvature; the feed slows down to keep it"),
      setting::number("ramp", "m", "0.05", {0.0, 100.0},
                      "if not elastic: length over which the actuation changes past a contact"),
      setting::number("start_delay", "s", "0.5", kNotNegative,
                      "time for the arm to come to rest before it is fed"),
      setting::number("gain", "1/s", "1", {0.0, 100.0},
                      "Ki of the correction; less where the free end swings too slowly for it"),
      setting::number("feed_gain", "1/s", "0.5", {0.0, 100.0},
                      "the same while feeding, with feedback = model"),
      setting::number(
          "rate_time", "s", "0.8", {0.0, 100.0},
          "gain of rate damping, with feedback = model: the curvature opposes the tip's velocity "
          "times this"),
      setting::number("rate_filter", "s", "0.85", {0.0, 100.0, true},
                      "time constant of the filter of that velocity; must exceed rate_time"),
      setting::number("rate_damping_limit", "1/m", "0.3", {0.0, 1000.0},
                      "largest curvature added by rate damping"),
      setting::number("damping", "m", "0.002", {0.0, 1.0, true},
                      "lambda of the damped inverse of the correction's Jacobian"),
      setting::number("period", "s", "0.05", {0.0, 100.0, true},
                      "time between two steps of the correction, at least one time step"),
      setting::number("error_limit", "m", "0.03", {0.0, 100.0, true},
                      "tip errors are limited to this norm"),
      setting::number(
          "step_limit", "", "0.02", {0.0, 100.0, true},
          "largest step of the correction, in units of 1/m (curvature) and 0.05 m (length)"),
      setting::number("tolerance", "m", "0.001", {0.0, 100.0, true},
                      "tip error at which the task is finished"),
      setting::number("contact_distance", "m", "0.01", {0.0, 100.0, true},
                      "largest distance of a measured contact from a planned one for the latter to "
                      "count as made"),
      setting::number("jam_feed_force", "N", "", {0.0, 1e9, true},
                      "feed force at which the feed stops permanently; default: 0.98 of the feed "
                      "servo's limit"),
      setting::number("jam_time", "s", "0.2", {0.0, 1000.0}, "minimum duration of that force"),
      setting::number(
          "tracking_tolerance", "m", "0.06", {0.0, 100.0, true},
          "distance of the tip from where it should be at which a way has failed, after "
          "1 s"),
      setting::number("force_limit", "N", "30", {0.0, 1e9, true},
                      "sum of the contact forces at which a way has failed, after 0.2 s"),
      setting::number(
          "stall_timeout", "s", "10", {0.0, 1e6, true},
          "a way has failed when the tip, at its end, comes no nearer to the target for so "
          "long, or is not there after three times as long"),
  };
  return kSettings;
}

ContactPlanController::ContactPlanController(const ArmContext& context)
    : robot_(context.robot),
      arm_length_(straight_length(robot_)),
      guide_length_(context.guide_length),
      body_radius_(context.body_radius) {
  const Settings& settings = context.settings;
  context.scene.measure_target("target");
  elastic_ = settings.flag("elastic");
  clamped_ = guide_length_ <= 0.0;
  inserted_ = settings.flag("inserted") || clamped_;
  feedback_ = settings.choice<Feedback>("feedback");
  if (feedback_ == Feedback::Auto) feedback_ = elastic_ ? Feedback::Model : Feedback::Contact;
  if (feedback_ == Feedback::Model && !elastic_) {
    throw ModelError("feedback = model: needs elastic = true");
  }
  passing_clearance_ = settings.number("passing_clearance");
  guide_clearance_ = settings.number("guide_clearance");
  locate_gain_ = settings.number("locate_gain");
  speed_ = settings.number("speed");
  acceleration_ = settings.number("acceleration");
  curvature_rate_ = settings.number("curvature_rate");
  ramp_ = settings.number("ramp");
  start_delay_ = settings.number("start_delay");
  gain_ = settings.number("gain");
  feed_gain_ = settings.number("feed_gain");
  rate_time_ = settings.number("rate_time");
  rate_filter_ = settings.number("rate_filter");
  if (!(rate_filter_ > rate_time_)) {
    throw ModelError("rate_filter = " + std::string(settings.text("rate_filter")) +
                     ": must be > rate_time = " + std::string(settings.text("rate_time")));
  }
  rate_damping_limit_ = settings.number("rate_damping_limit");
  damping_ = settings.number("damping");
  period_ = settings.number("period");
  if (period_ < context.timestep) {
    throw ModelError("period = " + std::string(settings.text("period")) +
                     ": must be at least the time step");
  }
  error_limit_ = settings.number("error_limit");
  step_limit_ = settings.number("step_limit");
  tolerance_ = settings.number("tolerance");
  contact_distance_ = settings.number("contact_distance");
  jam_feed_force_ =
      settings.optional_number("jam_feed_force").value_or(0.98 * context.feed_force_limit);
  jam_time_ = settings.number("jam_time");
  tracking_tolerance_ = settings.number("tracking_tolerance");
  force_limit_ = settings.number("force_limit");
  stall_timeout_ = settings.number("stall_timeout");

  for (int i = 0; i < robot_.section_count(); ++i) {
    if (robot_.section(i).is_extensible()) {
      std::ostringstream text;
      text << "section " << i + 1 << ": variable_length = " << robot_.section(i).variable_length()
           << " m: must be 0: only the feed changes the arm's length";
      throw ModelError(text.str());
    }
  }
  plan_candidates(context, plans_of(context));
  add_memory();
  if (clamped_) {
    const double length = ways_.front().list.back().length;
    if (robot_.base().feed_limit > 0.0) {
      throw ModelError("base.feed: must be 0 without base.guide_length: the arm is clamped");
    }
    if (std::abs(arm_length_ - length) > kClampedLengthTolerance) {
      std::ostringstream text;
      text << "plan: needs a length of " << length << " m: must be that of the clamped arm, "
           << arm_length_ << " m";
      throw ModelError(text.str());
    }
  }
}

/// Largest length of the arm beyond its guide [m].
double ContactPlanController::longest() const noexcept {
  return robot_.base().feed_limit + arm_length_ - guide_length_;
}

/// The plan that is given, or those that lead to the target among the geoms of the scene.
std::vector<ContactPlan> ContactPlanController::plans_of(const ArmContext& context) const {
  const Settings& settings = context.settings;
  const int max_contacts = settings.integer("max_contacts");
  if (settings.has("plan")) {
    ContactPlan plan = parse_contact_plan(settings.text("plan"), "plan");
    if (std::abs(plan.body_radius - body_radius_) > 1e-6) {
      std::ostringstream text;
      text << "plan: body_radius = " << plan.body_radius << " m: must be that of the arm, "
           << body_radius_ << " m";
      throw ModelError(text.str());
    }
    return {std::move(plan)};
  }
  if (!settings.has("target")) {
    throw ModelError(
        "plan: missing: must be the text of a plan, plan = { file = \"NAME\" }, or target = "
        "\"NAME\" "
        "of a mocap body, to which a way is then planned");
  }
  if (inserted_ || !elastic_) {
    throw ModelError(std::string(clamped_    ? "base.guide_length: must be > 0"
                                 : !elastic_ ? "elastic: must be true"
                                             : "inserted: must be false") +
                     " for an arm that plans its way itself; a plan can be given");
  }
  const ContactProblem problem =
      contact_problem(context.scene.solids("obstacles"), context.scene.position("target"),
                      fed_arm(robot_, guide_length_, body_radius_), max_contacts);
  std::vector<ContactPlan> plans = contact_plans(problem, kMaxPlans);
  if (plans.empty()) {
    throw ModelError("target = " + std::string(settings.text("target")) +
                     ": no way leads there with at most " + std::to_string(max_contacts) +
                     " contacts");
  }
  return plans;
}

/// The command lists of the insertion.
void ContactPlanController::plan_candidates(const ArmContext& context,
                                            const std::vector<ContactPlan>& plans) {
  const bool plans_itself = !context.settings.has("plan");
  base_ = plans.front().base;
  InsertionOptions options;
  options.body_radius = body_radius_;
  options.ramp = ramp_;
  options.speed = speed_;
  options.acceleration = acceleration_;
  options.curvature_rate = curvature_rate_;
  options.start_length = inserted_ ? 0.0 : std::max(0.0, arm_length_ - guide_length_);
  const auto add = [&](const ContactPlan& plan, const std::vector<PlanarArc>& tip_path,
                       const std::vector<InsertionRow>& list) -> Way& {
    Way way{.plan = plan, .tip_path = tip_path, .list = {}, .replanner = {}, .start_state = {}};
    for (const InsertionRow& row : list)
      way.list.push_back({row.time, row.length, row.curvature, row.path_length, 0});
    ways_.push_back(std::move(way));
    return ways_.back();
  };
  if (elastic_) {
    CorrectedPlansOptions correction;
    correction.rod.bending_stiffness = context.bending_stiffness;
    correction.rod.body_radius = body_radius_;
    correction.rod.guide_clearance = clamped_ ? 0.0 : guide_clearance_;
    correction.passing_clearance = inserted_ ? 0.0 : passing_clearance_;
    correction.max_candidates = inserted_ ? 1 : context.settings.integer("max_candidates");
    if (plans_itself) correction.max_length = longest();
    const CorrectedPlans corrected = corrected_plans(plans, correction);
    if (corrected.ways.empty() && corrected.last == CorrectionStatus::InvalidInput)
      throw ModelError(
          "passing_clearance = " + std::string(context.settings.text("passing_clearance")) +
          ": must leave room for a path past every contact");
    if (corrected.ways.empty()) {
      throw ModelError(std::string(plans_itself ? "target" : "plan") +
                       ": elastic correction: " + to_string(corrected.last) +
                       ": must lead to the target; elastic = false executes a plan as it is");
    }
    for (const ElasticPlan& found : corrected.ways) {
      Way& way =
          add(found.plan, found.tip_path, elastic_insertion(found.tip_path, found.states, options));
      for (Row& row : way.list) {
        const auto state = std::lower_bound(
            found.states.begin(), found.states.end(), row.path_length,
            [](const CorrectedState& s, double length) { return s.path_length < length; });
        if (state == found.states.end()) continue;
        for (std::size_t i = 0; i < state->contacts.size(); ++i)
          if (state->contacts[i].loaded && state->contacts[i].force >= kMinPressingForce)
            row.pressing |= 1U << i;
      }
      way.start_state = inserted_ ? found.states.back() : found.states.front();
      if (feedback_ == Feedback::Model) {
        way.replanner.emplace(found.plan.scene, base_, found.plan.contacts, corrected.rod,
                              ElasticReplannerOptions{});
      }
    }
  } else {
    add(plans.front(), plans.front().arcs, extensible_insertion(plans.front().arcs, options));
  }
  if (clamped_) return;
  for (const Way& way : ways_) {
    for (const Row& row : way.list) {
      if (row.length <= longest()) continue;
      std::ostringstream text;
      text << "plan: needs a length of " << row.length << " m: must be at most " << longest()
           << " m, base.feed and the arm's length less base.guide_length";
      throw ModelError(text.str());
    }
  }
}

void ContactPlanController::add_memory() {
  const Way& first = ways_.front();
  const Row& row = inserted_ ? first.list.back() : first.list.front();
  stage_ =
      memory_.choice(Stage::Settle, Stage::Stopped, inserted_ ? Stage::Correct : Stage::Settle);
  stage_time_ = memory_.number();
  list_time_ = memory_.number(inserted_ ? first.list.back().time : 0.0);
  candidate_index_ = memory_.index(0, static_cast<int>(ways_.size()) - 1);
  failure_ = memory_.choice(Failure::None, Failure::Time);
  for (Slot<double>* slot : {&blocked_, &pressed_, &off_course_, &missing_, &stays_, &away_,
                             &last_error_, &last_oscillation_})
    *slot = memory_.number();
  clock_ = memory_.number();
  old_curvature_ = memory_.number(row.curvature);
  old_length_ = memory_.number(row.length);
  new_curvature_ = memory_.number(row.curvature);
  new_length_ = memory_.number(row.length);
  old_curvature_rate_ = memory_.number();
  old_length_rate_ = memory_.number();
  for (auto* slot : {&added_, &shift_, &error_, &error_rate_, &oscillation_, &oscillation_target_})
    *slot = memory_.matrix<Vector2d>();
  gain_scale_ = memory_.number(1.0);
  held_ = memory_.flag();
  std::size_t contacts = 0;
  for (const Way& way : ways_) contacts = std::max(contacts, way.plan.contacts.size());
  for (std::size_t i = 0; i < contacts; ++i) made_.push_back(memory_.flag());
  if (first.replanner) model_ = memory_.part(first.replanner->layout());
}

void ContactPlanController::reset(std::span<double> memory) const noexcept {
  memory_.reset(memory);
  const Way& first = ways_.front();
  if (first.replanner) first.replanner->reset(first.start_state, model_(memory));
}

/// The rows before and after `time` and the fraction of the interval between them; beyond the ends
/// both are the last row or the first.
ContactPlanController::ListPosition ContactPlanController::Way::position_at(
    double time) const noexcept {
  const auto after = std::upper_bound(list.begin(), list.end(), time,
                                      [](double t, const Row& row) { return t < row.time; });
  if (after == list.begin()) return {list.front(), list.front(), 0.0};
  if (after == list.end()) return {list.back(), list.back(), 0.0};
  const Row& before = *(after - 1);
  return {before, *after, (time - before.time) / (after->time - before.time)};
}

ContactPlanController::Actuation ContactPlanController::Way::actuation_at(
    double time) const noexcept {
  const auto [a, b, fraction] = position_at(time);
  const double span = b.time - a.time;
  if (span <= 0.0) return {a.curvature, a.length, 0.0, 0.0};
  return {std::lerp(a.curvature, b.curvature, fraction), std::lerp(a.length, b.length, fraction),
          (b.curvature - a.curvature) / span, (b.length - a.length) / span};
}

double ContactPlanController::Way::path_length_at(double time) const noexcept {
  const auto [a, b, fraction] = position_at(time);
  return std::lerp(a.path_length, b.path_length, fraction);
}

Vector2d ContactPlanController::Way::planned_tip(double path_length) const noexcept {
  for (const PlanarArc& arc : tip_path) {
    if (path_length <= arc.length) return arc.pose_at(path_length).position;
    path_length -= arc.length;
  }
  return plan.target();
}

Vector3d ContactPlanController::to_base(const Vector2d& point) const noexcept {
  const Vector2d local = base_.to_local(point);
  return {local.x(), 0.0, guide_length_ + local.y()};
}

Vector2d ContactPlanController::to_plan(const Vector3d& p_B) const noexcept {
  return base_.to_world({p_B.x(), p_B.z() - guide_length_});
}

/// The gain of the correction stays below the damping 2 zeta omega of the free end's slowest swing,
/// above which an integral excites it. That of a cantilever falls with the fourth power of its
/// length.
double ContactPlanController::stable_gain(const ArmMeasurement& measurement,
                                          double length) const noexcept {
  double free = clamped_ ? arm_length_ : std::max(length, kLengthScale);
  for (const MeasuredContact& contact : measurement.contacts)
    if (!contact.is_guide) free = std::min(free, arm_length_ - contact.arc_length);
  const double ratio = arm_length_ / std::max(free, kLengthScale);
  return std::min(
      gain_, kPartOfDamping * measurement.fundamental_mode_damping * ratio * ratio * ratio * ratio);
}

/// Derivative of the tip position with respect to curvature [1/m] and length [kLengthScale] of the
/// measured arm, with its present contacts kept.
Matrix2d ContactPlanController::measured_jacobian(
    const ArmMeasurement& measurement) const noexcept {
  const auto& response = measurement.tip_response;
  const auto in_plan = [&](Eigen::Index column) {
    const double c = std::cos(base_.heading), s = std::sin(base_.heading);
    const double x = response(0, column), z = response(2, column);
    return Vector2d(c * x + s * z, c * z - s * x);
  };
  Matrix2d J = Matrix2d::Zero();
  for (int i = 0; i < robot_.section_count(); ++i) {
    J.col(0) += robot_.section(i).length() * in_plan(robot_.coordinate_index(i));
  }
  if (!clamped_) J.col(1) = kLengthScale * in_plan(response.cols() - 1);
  return J;
}

/// J^T (J J^T + lambda^2 I)^-1 move, limited to `step_limit`.
Vector2d ContactPlanController::damped_step(const Matrix2d& J,
                                            const Vector2d& move) const noexcept {
  const Matrix2d JJ = J * J.transpose() + damping_ * damping_ * Matrix2d::Identity();
  Vector2d step = J.transpose() * (JJ.inverse() * move);
  if (step.norm() > step_limit_) step *= step_limit_ / step.norm();
  return step;
}

/// Factor of the gains. Friction and contacts that the model has otherwise than the arm can keep
/// the tip swinging round the target; a weaker correction lets it come to rest.
double ContactPlanController::reduce_gain(const Vector2d& target, const Vector2d& error,
                                          std::span<const double> memory,
                                          std::span<double> next_memory) const noexcept {
  const Vector2d swing = oscillation_(memory);
  double factor = gain_scale_(memory);
  if ((target - oscillation_target_(memory)).norm() > tolerance_) {  // it is the target that moves
    oscillation_target_(next_memory) = target;
    oscillation_(next_memory) = error;
    last_oscillation_(next_memory) = 0.0;
    factor = 1.0;
  } else if (error.dot(swing) < 0.0) {
    const double size = swing.norm(), last = last_oscillation_(memory);
    if (last > 0.0 && size > tolerance_ && size > kOscillationDecay * last)
      factor = std::max(kMinGainScale, 0.5 * factor);
    last_oscillation_(next_memory) = size;
    oscillation_(next_memory) = error;
  } else if (error.squaredNorm() > swing.squaredNorm()) {
    oscillation_(next_memory) = error;
  }
  gain_scale_(next_memory) = factor;
  return factor;
}

/// Rate damping: a change of curvature that opposes the rate of the tip error [m/s] in the
/// direction in which the curvature moves the tip.
/// @param tip_rate  derivative of the tip position with respect to the curvature [m per 1/m]
double ContactPlanController::rate_damping_curvature(const Vector2d& tip_rate,
                                                     const Vector2d& error_rate) const noexcept {
  const double square = tip_rate.squaredNorm();
  if (square < damping_ * damping_) return 0.0;
  return std::clamp(rate_time_ * tip_rate.dot(error_rate) / square, -rate_damping_limit_,
                    rate_damping_limit_);
}

/// Moves the obstacles of the model to the measured contacts.
void ContactPlanController::locate_obstacles(const Way& way, const ArmMeasurement& measurement,
                                             std::span<double> model) const noexcept {
  for (const MeasuredContact& contact : measurement.contacts) {
    if (contact.is_guide) continue;
    const Vector2d point = to_plan(contact.position);
    int nearest = -1;
    double gap = contact_distance_;
    Vector2d normal;
    for (int i = 0; i < way.plan.scene.size(); ++i) {
      Vector2d gradient;
      const double distance = way.plan.scene.obstacle_distance(
          i, point - way.replanner->obstacle_shift(i, model), &gradient);
      if (std::abs(distance) > std::abs(gap)) continue;
      nearest = i;
      gap = distance;
      normal = gradient;
    }
    if (nearest < 0) continue;
    const Vector2d shift =
        way.replanner->obstacle_shift(nearest, model) + locate_gain_ * gap * normal;
    way.replanner->set_obstacle_shift(nearest, shift, model);
  }
}

/// One step of the integral action in every `period_`; the actuation is interpolated linearly in
/// between.
/// @param now   desired tip position [m]
/// @param list  while feeding: the actuation of the command list one period later
ContactPlanController::Actuation ContactPlanController::correct(
    Way& way, const ArmMeasurement& measurement, const Vector2d& now,
    const std::optional<Actuation>& list, double gain, std::span<const double> memory,
    std::span<double> next_memory, ControllerReport& report) noexcept {
  double clock = clock_(memory) + measurement.timestep;
  if (clock >= period_) {
    clock = 0.0;
    Vector2d error = now - to_plan(measurement.X_BE.translation());
    const double forget = std::exp(-period_ / rate_filter_);
    const Vector2d error_rate =
        forget * error_rate_(memory) + (1.0 - forget) / period_ * (error - error_(memory));
    error_rate_(next_memory) = error_rate;
    error_(next_memory) = error;
    // Where curvature and length move the tip in nearly the same direction, integrating the
    // residual error would drift along the combination to which the tip is insensitive.
    const bool rests =
        error.norm() <= kHoldThreshold * tolerance_ && error_rate.norm() <= kRestRate * tolerance_;
    const bool held =
        !list && (rests || (held_(memory) && error.norm() <= kReleaseThreshold * tolerance_));
    held_(next_memory) = held;
    const double gain_scale = list ? 1.0 : reduce_gain(now, error, memory, next_memory);
    gain *= gain_scale;
    double rate_damping = 0.0;  // of the curvature [1/m]
    if (error.norm() > error_limit_) error *= error_limit_ / error.norm();
    // Curvature in 1/m, length in kLengthScale.
    const Vector2d present(new_curvature_(memory), new_length_(memory) / kLengthScale);
    const double pace = list ? list->length_rate / speed_ : 0.0;
    Vector2d added = added_(memory), desired = present;
    if (feedback_ == Feedback::Contact && !list) {
      if (!held) desired += damped_step(measured_jacobian(measurement), gain * period_ * error);
    } else if (feedback_ == Feedback::Model) {
      const auto model = model_(next_memory);
      if (!held) locate_obstacles(way, measurement, model);
      if (list) {
        // The model is updated too; its Jacobian maps the error to the term added to the list.
        const Replan at =
            way.replanner->settle(model, new_curvature_(memory), new_length_(memory), model);
        report.iterations = at.evaluations;
        Matrix2d J = at.jacobian;
        J.col(1) *= kLengthScale;
        // The added term compensates the lag of a damped body, which is proportional to its speed.
        if (pace >= kFullSpeedError) added += damped_step(J, gain * period_ * error);
        shift_(next_memory) = at.tip.position - now;
      } else {
        // The target of the model is shifted by the integrated tip error.
        Vector2d shift = shift_(memory);
        if (!held) shift += gain * period_ * error;
        const Replan replan = way.replanner->step(model, now + shift, model);
        report.iterations = replan.evaluations;
        if (replan.status != ReplanStatus::InvalidInput) {
          shift_(next_memory) = shift;
          desired = {replan.curvature, replan.length / kLengthScale};
          rate_damping = gain_scale * rate_damping_curvature(replan.jacobian.col(0), error_rate);
        }
      }
    }
    if (list) desired = Vector2d(list->curvature, list->length / kLengthScale) + pace * added;
    added_(next_memory) = added;
    old_curvature_rate_(next_memory) = (new_curvature_(memory) - old_curvature_(memory)) / period_;
    old_length_rate_(next_memory) = (new_length_(memory) - old_length_(memory)) / period_;
    old_curvature_(next_memory) = new_curvature_(memory);
    old_length_(next_memory) = new_length_(memory);
    new_curvature_(next_memory) = desired.x() + rate_damping;
    new_length_(next_memory) =
        clamped_ ? arm_length_ : std::clamp(kLengthScale * desired.y(), 0.0, longest());
  }
  clock_(next_memory) = clock;
  const double fraction = clock / period_;
  const double k0 = old_curvature_(next_memory), k1 = new_curvature_(next_memory);
  const double L0 = old_length_(next_memory), L1 = new_length_(next_memory);
  // The rates have no steps: servos that are fed them forward would answer with impulses.
  return {std::lerp(k0, k1, fraction), std::lerp(L0, L1, fraction),
          std::lerp(old_curvature_rate_(next_memory), (k1 - k0) / period_, fraction),
          std::lerp(old_length_rate_(next_memory), (L1 - L0) / period_, fraction)};
}

/// Counts the expected contacts of the plan that are measured, and those that were lost. Returns
/// how many are missing that press in the elastic model.
int ContactPlanController::watch_contacts(const Way& way, const ArmMeasurement& measurement,
                                          double path_length, std::span<const double> memory,
                                          std::span<double> next_memory,
                                          ControllerReport& report) const noexcept {
  double& expected = report.own[index_of(kQuantities, "contacts_expected")];
  double& made = report.own[index_of(kQuantities, "contacts_made")];
  double& lost = report.own[index_of(kQuantities, "contacts_lost")];
  const auto row =
      std::lower_bound(way.list.begin(), way.list.end(), path_length,
                       [](const Row& r, double length) { return r.path_length < length; });
  const unsigned pressing = row == way.list.end() ? way.list.back().pressing : row->pressing;
  int missing = 0;
  double passed = 0.0;
  for (std::size_t i = 0; i < way.plan.contacts.size(); ++i) {
    passed += way.tip_path[i].length;
    if (path_length < passed) break;
    expected += 1.0;
    const Vector3d center = to_base(way.plan.contacts[i].center);
    const double reach = way.plan.contacts[i].radius - body_radius_ + contact_distance_;
    const bool touches = std::any_of(
        measurement.contacts.begin(), measurement.contacts.end(), [&](const MeasuredContact& c) {
          return !c.is_guide &&
                 std::hypot(c.position.x() - center.x(), c.position.z() - center.z()) <= reach;
        });
    if (touches) {
      made += 1.0;
      made_[i](next_memory) = true;
    } else {
      if (made_[i](memory)) lost += 1.0;
      if ((pressing >> i & 1U) != 0) ++missing;
    }
  }
  return missing;
}

/// Whether the way has failed, and why.
ContactPlanController::Failure ContactPlanController::watch_path(
    const ArmMeasurement& measurement, Stage stage, double tip_error, int missing,
    std::span<const double> memory, std::span<double> next_memory) const noexcept {
  const double h = measurement.timestep;
  const auto lasts = [&](const Slot<double>& slot, bool holds, double most) {
    slot(next_memory) = holds ? slot(memory) + h : 0.0;
    return slot(next_memory) > most;
  };
  double force = 0.0;
  for (const MeasuredContact& contact : measurement.contacts)
    if (!contact.is_guide) force += contact.force;
  const bool jammed = lasts(blocked_, measurement.feed_force >= jam_feed_force_, jam_time_);
  const bool pressed = lasts(pressed_, force > force_limit_, kPressedTime);
  const bool off = lasts(off_course_, tip_error > tracking_tolerance_, kOffCourseTime);
  const bool lost =
      lasts(missing_, missing > 0 && tip_error > kMissingPart * tracking_tolerance_, kMissingTime);
  const bool corrects = stage == Stage::Correct;
  const bool is_away = corrects && tip_error > tolerance_;
  const bool comes_nearer = tip_error <= kProgressRatio * last_error_(memory);
  last_error_(next_memory) =
      !is_away || comes_nearer ? tip_error : std::max(tip_error, last_error_(memory));
  const bool stays = lasts(stays_, is_away && !comes_nearer, stall_timeout_);
  const bool late = lasts(away_, is_away, kPatienceInAll * stall_timeout_) || stays;
  if (stage != Stage::Feed && !corrects) return Failure::None;
  if (stage == Stage::Feed && jammed) return Failure::Jammed;
  return pressed ? Failure::Force
         : off   ? Failure::OffCourse
         : lost  ? Failure::ContactMissing
         : late  ? Failure::Time
                 : Failure::None;
}

/// After a failure: back along the list to try the next way, if there is one.
void ContactPlanController::leave_path(Failure failure, Stage stage, std::span<const double> memory,
                                       std::span<double> next_memory) const noexcept {
  failure_(next_memory) = failure;
  const Way& way = ways_[static_cast<std::size_t>(candidate_index_(memory))];
  const bool is_last = candidate_index_(memory) + 1 == static_cast<int>(ways_.size());
  if (is_last && failure == Failure::Jammed) {
    stage_(next_memory) = Stage::Stopped;
  } else if (!inserted_ && !(is_last && stage == Stage::Correct && failure != Failure::Force)) {
    stage_(next_memory) = Stage::Withdraw;
    stage_time_(next_memory) = 0.0;
    const Actuation list = way.actuation_at(list_time_(memory));
    added_(next_memory) = Vector2d(new_curvature_(next_memory) - list.curvature,
                                   (new_length_(next_memory) - list.length) / kLengthScale);
  }
}

/// From the start of a way's list, with the obstacles where they were found.
void ContactPlanController::begin_path(int index, std::span<const double> memory,
                                       std::span<double> next_memory) const noexcept {
  const Way& way = ways_[static_cast<std::size_t>(index)];
  const Failure failure = failure_(memory);
  memory_.reset(next_memory);
  candidate_index_(next_memory) = index;
  failure_(next_memory) = failure;
  const Row& row = way.list.front();
  for (const Slot<double>* slot : {&old_curvature_, &new_curvature_})
    (*slot)(next_memory) = row.curvature;
  for (const Slot<double>* slot : {&old_length_, &new_length_}) (*slot)(next_memory) = row.length;
  for (const Slot<double>* slot : {&old_curvature_rate_, &old_length_rate_})
    (*slot)(next_memory) = 0.0;
  if (!way.replanner) return;
  way.replanner->reset(way.start_state, model_(next_memory));
  for (int i = 0; i < way.plan.scene.size(); ++i)
    way.replanner->set_obstacle_shift(i, way.replanner->obstacle_shift(i, model_(memory)),
                                      model_(next_memory));
}

void ContactPlanController::update(const ArmMeasurement& measurement,
                                   std::span<const double> memory, std::span<double> next_memory,
                                   ArmCommand& command, ControllerReport& report) noexcept {
  const Stage stage = stage_(memory);
  Way& way = ways_[static_cast<std::size_t>(candidate_index_(memory))];
  const double time = stage_time_(memory);
  stage_time_(next_memory) = time + measurement.timestep;
  const auto enter = [&](Stage next) {
    stage_(next_memory) = next;
    stage_time_(next_memory) = 0.0;
  };

  Actuation desired;
  double path_length = way.list.back().path_length;
  Vector2d tip = way.planned_tip(path_length);
  switch (stage) {
    case Stage::Settle:
      desired = way.actuation_at(0.0);
      path_length = way.list.front().path_length;
      if (time >= start_delay_) enter(Stage::Feed);
      break;
    case Stage::Feed: {
      const double list_time = list_time_(memory) + measurement.timestep;
      list_time_(next_memory) = list_time;
      path_length = way.path_length_at(list_time);
      desired = correct(way, measurement, way.planned_tip(path_length),
                        way.actuation_at(list_time + period_),
                        path_length > way.tip_path.front().length ? feed_gain_ : 0.0, memory,
                        next_memory, report);
      if (list_time >= way.list.back().time) enter(Stage::Correct);
      break;
    }
    case Stage::Correct:
      if (measurement.has_target) tip = to_plan(measurement.X_BG.translation());
      desired = correct(way, measurement, tip, std::nullopt,
                        stable_gain(measurement, new_length_(memory)), memory, next_memory, report);
      break;
    case Stage::Withdraw: {
      const double list_time = std::max(0.0, list_time_(memory) - measurement.timestep);
      list_time_(next_memory) = list_time;
      path_length = way.path_length_at(list_time);
      desired = way.actuation_at(list_time);
      const Vector2d added = std::exp(-time / kWithdrawTime) * added_(memory);
      desired.curvature += added.x();
      desired.length = std::max(0.0, desired.length + kLengthScale * added.y());
      desired.curvature_rate = -desired.curvature_rate - added.x() / kWithdrawTime;
      desired.length_rate = -desired.length_rate - kLengthScale * added.y() / kWithdrawTime;
      if (list_time > 0.0) break;
      if (const int next = candidate_index_(memory) + 1; next < static_cast<int>(ways_.size()))
        begin_path(next, memory, next_memory);
      else
        enter(Stage::Stopped);
      break;
    }
    case Stage::Stopped:
      desired = {new_curvature_(memory), new_length_(memory), 0.0, 0.0};
      path_length = way.path_length_at(list_time_(memory));
      break;
  }
  if (stage == Stage::Withdraw && stage_(next_memory) == Stage::Stopped) {
    new_curvature_(next_memory) = desired.curvature;
    new_length_(next_memory) = desired.length;
  }

  for (int i = 0; i < robot_.section_count(); ++i) {
    const int u = robot_.coordinate_index(i);
    command.q[u] = desired.curvature * robot_.section(i).length();
    command.q_rate[u] = desired.curvature_rate * robot_.section(i).length();
  }
  command.has_plan = false;  // contacts give the body a shape that sections do not have
  command.base.feed =
      std::clamp(desired.length + guide_length_ - arm_length_, 0.0, robot_.base().feed_limit);
  command.feed_rate = desired.length_rate;

  const int missing = watch_contacts(way, measurement, path_length, memory, next_memory, report);
  if (stage != Stage::Correct) tip = way.planned_tip(path_length);
  report.target = to_base(tip);
  report.tip_error = (report.target - measurement.X_BE.translation()).norm();
  report.progress = path_length / way.list.back().path_length;
  report.deviation = report.tip_error / std::max(desired.length, kLengthScale);
  report.arrived = stage == Stage::Correct && time * gain_ > kSettleTimes;
  const Failure failure =
      watch_path(measurement, stage, report.tip_error, missing, memory, next_memory);
  if (failure != Failure::None) leave_path(failure, stage, memory, next_memory);

  report.own[index_of(kQuantities, "candidate")] = candidate_index_(memory) + 1;
  report.own[index_of(kQuantities, "failure_reason")] =
      static_cast<double>(static_cast<Failure>(failure_(next_memory)));
  if (stage == Stage::Stopped && failure_(memory) == Failure::Jammed) {
    report.status = ControllerStatus::Jammed;
  } else if (stage == Stage::Correct && report.tip_error <= tolerance_) {
    report.status = ControllerStatus::Finished;
  } else if (failure != Failure::None || stage == Stage::Withdraw || stage == Stage::Stopped) {
    report.status = ControllerStatus::NoProgress;
  }
}

int ContactPlanController::path(std::span<const double> memory,
                                std::span<Vector3d> points) const noexcept {
  const Way& way = ways_[static_cast<std::size_t>(candidate_index_(memory))];
  const double length = way.list.back().path_length;
  const auto count = points.size();
  for (std::size_t i = 0; i < count; ++i) {
    points[i] =
        to_base(way.planned_tip(length * static_cast<double>(i) / static_cast<double>(count - 1)));
  }
  return static_cast<int>(count);
}

}  // namespace tendril
