#include "controllers/contact_plan_controller.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <sstream>

#include "tendril/model_error.hpp"
#include "tendril/rod/insertion.hpp"

namespace tendril {
namespace {

using Eigen::Matrix2d;
using Eigen::Vector2d;
using Eigen::Vector3d;

// Memory layout; from kMade on one number for each planned contact, then the model's memory.
enum Slot : std::size_t {
  kStage,
  kStageTime,
  kListTime,
  kBlocked,  // time with too much feed force [s]
  kClock,    // since the correction's last step [s]
  kOldCurvature,
  kOldLength,
  kNewCurvature,
  kNewLength,
  kAddedCurvature,  // to the list's, while feeding [1/m]
  kAddedLength,     // [kLengthScale]
  kShiftX,          // of the model's target from the plan's [m]
  kShiftZ,
  kErrorX,  // of the tip, at the correction's last step [m]
  kErrorZ,
  kRateX,  // of that error, filtered [m/s]
  kRateZ,
  kHeld,  // the correction pauses
  kMade
};

/// A change of length by so much counts as one of the curvature by 1/m.
constexpr double kLengthScale = 0.05;  // [m per 1/m]

/// Part of the feed's speed from which the error of the tip counts as that of steady feeding.
constexpr double kFullPace = 0.8;

/// Parts of the tolerance: the correction pauses when the tip has come to rest so near, and goes on
/// when it is further away than that.
constexpr double kHoldBelow = 0.6, kReleaseAbove = 0.9;

constexpr double kClampedLengthTolerance = 1e-3;  // [m]

double straight_length(const ContinuumRobot& robot) {
  double length = 0.0;
  for (int i = 0; i < robot.section_count(); ++i) length += robot.section(i).length();
  return length;
}

ContactPlan read_plan(const Settings& settings) {
  if (!settings.has("plan")) {
    throw ModelError("plan: missing: must be the text of a plan, plan = { file = \"NAME\" }");
  }
  return parse_contact_plan(settings.text("plan"), "plan");
}

}  // namespace

std::span<const SettingInfo> ContactPlanController::settings() {
  static constexpr SettingInfo kSettings[] = {
      {"plan", "", "", "text of the plan, as `tendril plan --plan FILE` writes it"},
      {"elastic", "", "true",
       "correct the plan for an elastic body; false: the planned curvatures, stage by stage"},
      {"inserted", "", "false",
       "the body lies along the plan already when the simulation starts (keyframe `start`)"},
      {"feedback", "", "model",
       "how the measured tip corrects curvature and length: none; contact: by the Jacobian of the "
       "measured arm in contact; model: by an elastic model of the arm, whose obstacles move to "
       "where they are felt. Without elastic the default is contact"},
      {"passing_clearance", "m", "0.008",
       "distance at which the tip passes the planned contacts, if elastic: the body comes to lie "
       "on "
       "them behind it"},
      {"guide_clearance", "m", "0.0005", "of the elastic model, on each side"},
      {"locate_gain", "", "0.2",
       "part of the distance by which the model's obstacle moves to a contact in one step"},
      {"speed", "m/s", "0.05", "of the feed"},
      {"acceleration", "m/s^2", "0.03", "of the feed"},
      {"curvature_rate", "1/(m s)", "10", "fastest change of the actuation; the feed slows down"},
      {"ramp", "m", "0.05",
       "length over which the actuation changes past a contact, if not elastic"},
      {"start_delay", "s", "0.5", "the arm comes to rest for this time before it is fed"},
      {"gain", "1/s", "1", "Ki of the correction"},
      {"feed_gain", "1/s", "0.5", "the same while feeding, with feedback = model"},
      {"rate_time", "s", "0.4",
       "damps the arm's swing, with feedback = model: the curvature acts against the tip's speed "
       "times this"},
      {"rate_filter", "s", "0.5", "time constant of that speed's filter; must exceed rate_time"},
      {"rate_damping_limit", "1/m", "0.3", "most that this adds to the curvature"},
      {"damping", "m", "0.002", "lambda of the damped inverse of its Jacobian"},
      {"period", "s", "0.05", "between two steps of the correction"},
      {"error_limit", "m", "0.03", "the tip error is shortened to this length"},
      {"step_limit", "", "0.02", "largest step of the correction, in 1/m and 0.05 m"},
      {"tolerance", "m", "0.001", "tip error at which the task is done"},
      {"contact_distance", "m", "0.01",
       "a planned contact is made if one is measured so near to it"},
      {"jam_feed_force", "N", "",
       "feed force at which the feed stops for good; default: 0.98 of the feed servo's limit"},
      {"jam_time", "s", "0.2", "how long it must last"},
  };
  return kSettings;
}

ContactPlanController::ContactPlanController(const ControllerContext& context)
    : robot_(context.robot),
      plan_(read_plan(context.settings)),
      arm_length_(straight_length(robot_)),
      guide_length_(context.guide_length),
      body_radius_(context.body_radius) {
  const Settings& settings = context.settings;
  const auto positive = [&](const char* name, double value, double high) {
    return settings.number(name, value, {.low = 0.0, .high = high, .open_low = true});
  };
  elastic_ = settings.boolean("elastic", true);
  clamped_ = guide_length_ <= 0.0;
  inserted_ = clamped_ || settings.boolean("inserted", false);
  constexpr const char* kFeedbacks[] = {"none", "contact", "model"};
  feedback_ = static_cast<Feedback>(settings.choice("feedback", kFeedbacks, elastic_ ? 2 : 1));
  if (feedback_ == Feedback::Model && !elastic_) {
    throw ModelError("feedback = model: needs elastic = true");
  }
  passing_clearance_ = settings.number("passing_clearance", 0.008, {.low = 0.0, .high = 1.0});
  guide_clearance_ = settings.number("guide_clearance", 0.0005, {.low = 0.0, .high = 1.0});
  locate_gain_ = settings.number("locate_gain", 0.2, {.low = 0.0, .high = 1.0});
  speed_ = positive("speed", 0.05, 10.0);
  acceleration_ = positive("acceleration", 0.03, 1000.0);
  curvature_rate_ = positive("curvature_rate", 10.0, 1e6);
  ramp_ = settings.number("ramp", 0.05, {.low = 0.0, .high = 100.0});
  start_delay_ = settings.number("start_delay", 0.5, {.low = 0.0});
  gain_ = settings.number("gain", 1.0, {.low = 0.0, .high = 100.0});
  feed_gain_ = settings.number("feed_gain", 0.5, {.low = 0.0, .high = 100.0});
  rate_time_ = settings.number("rate_time", 0.4, {.low = 0.0, .high = 100.0});
  rate_filter_ = positive("rate_filter", 0.5, 100.0);
  rate_damping_limit_ = settings.number("rate_damping_limit", 0.3, {.low = 0.0, .high = 1000.0});
  damping_ = positive("damping", 0.002, 1.0);
  period_ = settings.number("period", 0.05, {.low = context.timestep, .high = 100.0});
  error_limit_ = positive("error_limit", 0.03, 100.0);
  step_limit_ = positive("step_limit", 0.02, 100.0);
  tolerance_ = positive("tolerance", 0.001, 100.0);
  contact_distance_ = positive("contact_distance", 0.01, 100.0);
  jam_feed_force_ = positive("jam_feed_force", 0.98 * context.feed_force_limit, 1e9);
  jam_time_ = settings.number("jam_time", 0.2, {.low = 0.0, .high = 1000.0});

  for (int i = 0; i < robot_.section_count(); ++i) {
    if (robot_.section(i).is_extensible()) {
      std::ostringstream text;
      text << "section " << i + 1 << ": variable_length = " << robot_.section(i).variable_length()
           << " m: must be 0, the arm is lengthened by its feed";
      throw ModelError(text.str());
    }
  }
  if (std::abs(plan_.body_radius - body_radius_) > 1e-6) {
    std::ostringstream text;
    text << "plan: body_radius = " << plan_.body_radius << " m: must be that of the arm, "
         << body_radius_ << " m";
    throw ModelError(text.str());
  }
  plan_list(context);
  if (clamped_) {
    const double length = list_.back().length;
    if (robot_.base().feed_limit > 0.0) {
      throw ModelError("base.feed: must be 0 without base.guide_length: the arm is clamped");
    }
    if (std::abs(arm_length_ - length) > kClampedLengthTolerance) {
      std::ostringstream text;
      text << "plan: needs a length of " << length << " m: must be that of the clamped arm, "
           << arm_length_ << " m";
      throw ModelError(text.str());
    }
    return;
  }
  const double longest = robot_.base().feed_limit + arm_length_ - guide_length_;
  for (const Row& row : list_) {
    if (row.length <= longest) continue;
    std::ostringstream text;
    text << "plan: needs a length of " << row.length << " m: must be at most " << longest
         << " m, base.feed and the arm's length less base.guide_length";
    throw ModelError(text.str());
  }
}

/// The way of the tip: the plan's arcs, but past every contact at a distance.
void ContactPlanController::lay_tip_path() {
  std::vector<PlanarArc> arcs;
  PlanarPose pose = plan_.base;
  const auto refuse = [&](const char* where) {
    std::ostringstream text;
    text << "passing_clearance = " << passing_clearance_ << " m: must leave room for an arc "
         << where;
    throw ModelError(text.str());
  };
  for (const PlannedContact& contact : plan_.contacts) {
    const auto curvature =
        tangency_curvature(pose, contact.centre, contact.radius + passing_clearance_, contact.side);
    if (!curvature) refuse("past every contact");
    PlanarArc arc{pose, *curvature, 2.0 * std::numbers::pi / std::max(std::abs(*curvature), 1.0)};
    arc.length = arc.nearest_parameter(contact.centre);
    if (arc.length <= 0.0) refuse("past every contact");
    arcs.push_back(arc);
    pose = arc.end();
  }
  const auto last = chord_arc(pose, plan_.target());
  if (!last) refuse("to the target");
  arcs.push_back(*last);
  tip_path_ = std::move(arcs);
}

/// The list of commands along the insertion.
void ContactPlanController::plan_list(const ControllerContext& context) {
  tip_path_ = plan_.arcs;
  if (elastic_ && !inserted_) lay_tip_path();
  InsertionOptions options;
  options.body_radius = body_radius_;
  options.ramp = ramp_;
  options.speed = speed_;
  options.acceleration = acceleration_;
  options.curvature_rate = curvature_rate_;
  options.start_length = inserted_ ? 0.0 : std::max(0.0, arm_length_ - guide_length_);
  std::vector<InsertionRow> list;
  if (elastic_) {
    double length = 0.0;
    for (const PlanarArc& arc : tip_path_) length += arc.length;
    ElasticRodOptions rod;
    rod.bending_stiffness = context.bending_stiffness;
    rod.body_radius = body_radius_;
    rod.max_length = 1.2 * length;
    rod.element_length = length / 150.0;
    rod.guide_clearance = clamped_ ? 0.0 : guide_clearance_;
    ElasticCorrection correction(plan_.scene, plan_.base, rod, {.path_step = 0.01});
    const std::vector<CorrectedState> states = correction.follow(tip_path_, plan_.contacts);
    if (states.empty() || !states.back().corrected()) {
      throw ModelError(
          std::string("plan: elastic correction: ") +
          to_string(states.empty() ? CorrectionStatus::InvalidInput : states.back().status) +
          ": must lead to the target; elastic = false executes the plan as it is");
    }
    list = elastic_insertion(tip_path_, states, options);
    start_state_ = inserted_ ? states.back() : states.front();
    if (feedback_ == Feedback::Model) {
      replanner_.emplace(plan_.scene, plan_.base, plan_.contacts, rod, ElasticReplannerOptions{});
    }
  } else {
    list = extensible_insertion(tip_path_, options);
  }
  for (const InsertionRow& row : list) {
    list_.push_back({row.time, row.length, row.curvature, row.path_length});
  }
}

int ContactPlanController::memory_size() const noexcept {
  return static_cast<int>(kMade + plan_.contacts.size() +
                          (replanner_ ? replanner_->memory_size() : 0));
}

void ContactPlanController::reset(std::span<double> memory) const noexcept {
  std::fill(memory.begin(), memory.end(), 0.0);
  if (inserted_) {
    memory[kStage] = static_cast<double>(Stage::Correct);
    memory[kListTime] = list_.back().time;
  }
  const Row& row = inserted_ ? list_.back() : list_.front();
  memory[kOldCurvature] = memory[kNewCurvature] = row.curvature;
  memory[kOldLength] = memory[kNewLength] = row.length;
  if (replanner_) replanner_->reset(start_state_, memory.subspan(kMade + plan_.contacts.size()));
}

/// The rows between which `time` lies, and the share of the way to the second; twice the same row
/// beyond the ends.
ContactPlanController::Place ContactPlanController::place_at(double time) const noexcept {
  const auto after = std::upper_bound(list_.begin(), list_.end(), time,
                                      [](double t, const Row& row) { return t < row.time; });
  if (after == list_.begin()) return {list_.front(), list_.front(), 0.0};
  if (after == list_.end()) return {list_.back(), list_.back(), 0.0};
  const Row& before = *(after - 1);
  return {before, *after, (time - before.time) / (after->time - before.time)};
}

ContactPlanController::Actuation ContactPlanController::actuation_at(double time) const noexcept {
  const auto [a, b, share] = place_at(time);
  const double span = b.time - a.time;
  if (span <= 0.0) return {a.curvature, a.length, 0.0, 0.0};
  return {std::lerp(a.curvature, b.curvature, share), std::lerp(a.length, b.length, share),
          (b.curvature - a.curvature) / span, (b.length - a.length) / span};
}

double ContactPlanController::path_length_at(double time) const noexcept {
  const auto [a, b, share] = place_at(time);
  return std::lerp(a.path_length, b.path_length, share);
}

Vector2d ContactPlanController::planned_tip(double path_length) const noexcept {
  for (const PlanarArc& arc : tip_path_) {
    if (path_length <= arc.length) return arc.pose_at(path_length).position;
    path_length -= arc.length;
  }
  return plan_.target();
}

Vector3d ContactPlanController::to_base(const Vector2d& point) const noexcept {
  const Vector2d local = plan_.base.to_local(point);
  return {local.x(), 0.0, guide_length_ + local.y()};
}

Vector2d ContactPlanController::to_plan(const Vector3d& p_B) const noexcept {
  return plan_.base.to_world({p_B.x(), p_B.z() - guide_length_});
}

/// Of the tip with curvature (1/m) and length (kLengthScale), contacts kept, from the measured arm.
Matrix2d ContactPlanController::measured_jacobian(
    const ArmMeasurement& measurement) const noexcept {
  const auto& response = measurement.tip_response;
  const auto in_plan = [&](Eigen::Index column) {
    const double c = std::cos(plan_.base.heading), s = std::sin(plan_.base.heading);
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

/// J^T (J J^T + lambda^2 I)^-1 move, shortened to the largest step.
Vector2d ContactPlanController::damped_step(const Matrix2d& J,
                                            const Vector2d& move) const noexcept {
  const Matrix2d JJ = J * J.transpose() + damping_ * damping_ * Matrix2d::Identity();
  Vector2d step = J.transpose() * (JJ.inverse() * move);
  if (step.norm() > step_limit_) step *= step_limit_ / step.norm();
  return step;
}

/// Damps the swing of the arm: a change of curvature against the rate of the tip error, where the
/// curvature moves the tip. `tip_rate`: of the tip with the curvature [m per 1/m].
double ContactPlanController::rate_damping_curvature(const Vector2d& tip_rate,
                                                     const Vector2d& error_rate) const noexcept {
  const double square = tip_rate.squaredNorm();
  if (square < damping_ * damping_) return 0.0;
  return std::clamp(rate_time_ * tip_rate.dot(error_rate) / square, -rate_damping_limit_,
                    rate_damping_limit_);
}

/// Moves the model's obstacles to where the arm feels them.
void ContactPlanController::locate_obstacles(const ArmMeasurement& measurement,
                                             std::span<double> model) const noexcept {
  for (const MeasuredContact& contact : measurement.contacts) {
    if (contact.is_guide) continue;
    const Vector2d point = to_plan(contact.position);
    int nearest = -1;
    double gap = contact_distance_;
    Vector2d normal;
    for (int i = 0; i < plan_.scene.size(); ++i) {
      Vector2d gradient;
      const double distance =
          plan_.scene.obstacle_distance(i, point - replanner_->obstacle_shift(i, model), &gradient);
      if (std::abs(distance) > std::abs(gap)) continue;
      nearest = i;
      gap = distance;
      normal = gradient;
    }
    if (nearest < 0) continue;
    const Vector2d shift = replanner_->obstacle_shift(nearest, model) + locate_gain_ * gap * normal;
    replanner_->set_obstacle_shift(nearest, shift, model);
  }
}

/// One step of the integral action every `period_`, with the tip to be at `now`; in between the
/// actuation moves evenly. `list`: what the list asks for a period later, while feeding.
ContactPlanController::Actuation ContactPlanController::correct(
    const ArmMeasurement& measurement, const Vector2d& now, const std::optional<Actuation>& list,
    double gain, std::span<const double> memory, std::span<double> next_memory,
    ControllerReport& report) noexcept {
  double clock = memory[kClock] + measurement.timestep;
  if (clock >= period_) {
    clock = 0.0;
    Vector2d error = now - to_plan(measurement.X_BE.translation());
    const double forget = std::exp(-period_ / rate_filter_);
    const Vector2d error_rate =
        forget * Vector2d(memory[kRateX], memory[kRateZ]) +
        (1.0 - forget) / period_ * (error - Vector2d(memory[kErrorX], memory[kErrorZ]));
    next_memory[kRateX] = error_rate.x();
    next_memory[kRateZ] = error_rate.y();
    next_memory[kErrorX] = error.x();
    next_memory[kErrorZ] = error.y();
    // Where curvature and length move the tip nearly alike, an integral of what is left of the
    // error would drift away along the one that the tip hardly feels.
    const bool rests = error.norm() <= kHoldBelow * tolerance_ && error_rate.norm() <= tolerance_;
    const bool held =
        !list && (rests || (memory[kHeld] != 0.0 && error.norm() <= kReleaseAbove * tolerance_));
    next_memory[kHeld] = held ? 1.0 : 0.0;
    double rate_damping = 0.0;  // of the curvature [1/m]
    if (error.norm() > error_limit_) error *= error_limit_ / error.norm();
    // Curvature in 1/m, length in kLengthScale.
    const Vector2d present(memory[kNewCurvature], memory[kNewLength] / kLengthScale);
    const double pace = list ? list->length_rate / speed_ : 0.0;
    Vector2d added(memory[kAddedCurvature], memory[kAddedLength]), desired = present;
    if (feedback_ == Feedback::Contact && !list) {
      if (!held) desired += damped_step(measured_jacobian(measurement), gain * period_ * error);
    } else if (feedback_ == Feedback::Model) {
      const auto model = next_memory.subspan(kMade + plan_.contacts.size());
      if (!held) locate_obstacles(measurement, model);
      if (list) {
        // The model goes along; its Jacobian turns the error into what is added to the list.
        const Replan at =
            replanner_->settle(model, memory[kNewCurvature], memory[kNewLength], model);
        report.iterations = at.evaluations;
        Matrix2d J = at.jacobian;
        J.col(1) *= kLengthScale;
        // What is added makes up for the lag of a damped body, which goes with its pace.
        if (pace >= kFullPace) added += damped_step(J, gain * period_ * error);
        const Vector2d shift = at.tip.position - now;
        next_memory[kShiftX] = shift.x();
        next_memory[kShiftZ] = shift.y();
      } else {
        // The model's tip is led beyond the target by what the measured one is short of it.
        Vector2d shift(memory[kShiftX], memory[kShiftZ]);
        if (!held) shift += gain * period_ * error;
        const Replan replan = replanner_->step(model, now + shift, model);
        report.iterations = replan.evaluations;
        if (replan.status != ReplanStatus::InvalidInput) {
          next_memory[kShiftX] = shift.x();
          next_memory[kShiftZ] = shift.y();
          desired = {replan.curvature, replan.length / kLengthScale};
          rate_damping = rate_damping_curvature(replan.jacobian.col(0), error_rate);
        }
      }
    }
    if (list) desired = Vector2d(list->curvature, list->length / kLengthScale) + pace * added;
    const double longest = robot_.base().feed_limit + arm_length_ - guide_length_;
    next_memory[kAddedCurvature] = added.x();
    next_memory[kAddedLength] = added.y();
    next_memory[kOldCurvature] = memory[kNewCurvature];
    next_memory[kOldLength] = memory[kNewLength];
    next_memory[kNewCurvature] = desired.x() + rate_damping;
    next_memory[kNewLength] =
        clamped_ ? arm_length_ : std::clamp(kLengthScale * desired.y(), 0.0, longest);
  }
  next_memory[kClock] = clock;
  const double share = clock / period_;
  const double k0 = next_memory[kOldCurvature], k1 = next_memory[kNewCurvature];
  const double L0 = next_memory[kOldLength], L1 = next_memory[kNewLength];
  return {std::lerp(k0, k1, share), std::lerp(L0, L1, share), (k1 - k0) / period_,
          (L1 - L0) / period_};
}

/// Which of the contacts that the plan has by now are there.
void ContactPlanController::watch_contacts(const ArmMeasurement& measurement, double path_length,
                                           std::span<const double> memory,
                                           std::span<double> next_memory,
                                           ControllerReport& report) const noexcept {
  double passed = 0.0;
  for (std::size_t i = 0; i < plan_.contacts.size(); ++i) {
    passed += tip_path_[i].length;
    if (path_length < passed) break;
    ++report.contacts_expected;
    const Vector3d centre = to_base(plan_.contacts[i].centre);
    const double reach = plan_.contacts[i].radius - body_radius_ + contact_distance_;
    const bool touches = std::any_of(
        measurement.contacts.begin(), measurement.contacts.end(), [&](const MeasuredContact& c) {
          return !c.is_guide &&
                 std::hypot(c.position.x() - centre.x(), c.position.z() - centre.z()) <= reach;
        });
    if (touches) {
      ++report.contacts_made;
      next_memory[kMade + i] = 1.0;
    } else if (memory[kMade + i] != 0.0) {
      ++report.contacts_lost;
    }
  }
}

void ContactPlanController::update(const ArmMeasurement& measurement,
                                   std::span<const double> memory, std::span<double> next_memory,
                                   ArmCommand& command, ControllerReport& report) noexcept {
  const auto stage = static_cast<Stage>(static_cast<int>(memory[kStage]));
  const double time = memory[kStageTime];
  next_memory[kStageTime] = time + measurement.timestep;
  const auto go_on = [&](Stage next) {
    next_memory[kStage] = static_cast<double>(next);
    next_memory[kStageTime] = 0.0;
  };
  const bool blocked = measurement.feed_force >= jam_feed_force_;
  next_memory[kBlocked] = blocked ? memory[kBlocked] + measurement.timestep : 0.0;

  Actuation desired;
  double path_length = list_.back().path_length;
  switch (stage) {
    case Stage::Settle:
      desired = actuation_at(0.0);
      path_length = list_.front().path_length;
      if (time >= start_delay_) go_on(Stage::Feed);
      break;
    case Stage::Feed: {
      const double list_time = memory[kListTime] + measurement.timestep;
      next_memory[kListTime] = list_time;
      path_length = path_length_at(list_time);
      desired = correct(measurement, planned_tip(path_length), actuation_at(list_time + period_),
                        path_length > tip_path_.front().length ? feed_gain_ : 0.0, memory,
                        next_memory, report);
      if (memory[kBlocked] > jam_time_) {
        go_on(Stage::Jammed);
      } else if (list_time >= list_.back().time) {
        go_on(Stage::Correct);
      }
      break;
    }
    case Stage::Correct:
      desired =
          correct(measurement, plan_.target(), std::nullopt, gain_, memory, next_memory, report);
      break;
    case Stage::Jammed:
      desired = {memory[kNewCurvature], memory[kNewLength], 0.0, 0.0};
      path_length = path_length_at(memory[kListTime]);
      break;
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

  watch_contacts(measurement, path_length, memory, next_memory, report);
  report.target = to_base(planned_tip(path_length));
  report.tip_error = (report.target - measurement.X_BE.translation()).norm();
  report.progress = path_length / list_.back().path_length;
  if (stage == Stage::Jammed) {
    report.status = ControllerStatus::Jammed;
  } else if (stage == Stage::Correct && report.tip_error <= tolerance_) {
    report.status = ControllerStatus::Finished;
  }
}

int ContactPlanController::path(std::span<const double> /*memory*/,
                                std::span<Vector3d> points) const noexcept {
  const double length = list_.back().path_length;
  const auto count = points.size();
  for (std::size_t i = 0; i < count; ++i) {
    points[i] =
        to_base(planned_tip(length * static_cast<double>(i) / static_cast<double>(count - 1)));
  }
  return static_cast<int>(count);
}

}  // namespace tendril
