#include "controllers/arm/coil_controller.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "controllers/arm/driven_part.hpp"
#include "controllers/interface/arm_memory.hpp"
#include "controllers/interface/feed_settings.hpp"
#include "controllers/interface/messages.hpp"
#include "tendril/kinematics/forward_kinematics.hpp"
#include "tendril/model_error.hpp"
#include "tendril/path/smooth_step.hpp"

namespace tendril {
namespace {

constexpr OwnQuantities<CoilController::kQuantities> own;

constexpr double kPlanStep = 0.002;  // [m] of feed, in planning the pose at the end of feeding

// Path. Sections of constant curvature deviate from a helix by up to 6 mm.
constexpr double kMinGap = 0.007;            // between body and loose winding, and the post [m]
constexpr double kGapWidth = 0.009;          // the same where the winding is free to choose it [m]
constexpr double kMaxGap = 0.02;             // [m]
constexpr double kBraceLength = 0.1;         // over which the path approaches the helix [m]
constexpr double kMaxBraceLength = 0.2;      // [m]
constexpr double kLeadInBendFraction = 0.8;  // of the bend limit
constexpr double kMinExitLength = 0.02;      // [m]

// Tightening.
constexpr double kTightenStep = 2.5e-4;    // [m]
constexpr double kInsideDistance = 0.008;  // of the tightest winding from the post's surface [m]
constexpr double kFittedDistance = 0.003;  // of a fitted winding from one that touches [m]
constexpr double kMaxNarrowing = 0.004;    // of an ellipsoid along the winding [m]
constexpr double kMaxRetreat = 0.03;       // of the base, from the tightest winding on [m]
constexpr double kApproachRate = 0.008;    // of tightening while nothing touches [m/s]
constexpr double kContactRate = 0.0015;    // the same in contact, without force [m/s]
constexpr double kContactForceFraction = 0.05;  // of the force, from which it counts as contact
// The same by the moments of the actuators, whose noise is a small force.
constexpr double kSensedForceFraction = 0.1;
constexpr double kForceFilterTime = 0.1;  // of the mean force [s]
constexpr double kForceTolerance = 0.3;   // relative
constexpr double kHeldTime = 0.3;         // with a force within two thirds of the tolerance [s]
constexpr double kLostTime = 1.0;         // for which it may be outside later [s]
constexpr double kWrapFraction = 0.95;    // of the winding that has to be measured
constexpr int kPointsPerSection = 10;     // at which it is measured
constexpr double kStillSlack = 0.002;     // of a contact's distance from a stationary post [m]

Eigen::Vector3d read_vector(const Settings& settings, const char* name) {
  if (!settings.has(name)) return Eigen::Vector3d::Zero();
  const std::vector<double> numbers = settings.numbers(name);
  if (numbers.size() != 3) {
    throw ModelError(
        fmt::format("{}: {} numbers: must be three coordinates", name, numbers.size()));
  }
  return {numbers[0], numbers[1], numbers[2]};
}

[[noreturn]] void refuse_post(const ArmContext& context, const std::string& reason) {
  throw ModelError(fmt::format("post = {}: {}", context.settings.text("post"), reason));
}

/// The cylinder along the longest axis of a box, through its edges, or of an ellipsoid, around its
/// widest section and as long as it is nearly as wide.
Post enclosing_post(const Solid& geom) {
  Eigen::Index along = 0;
  const double longest = geom.size.maxCoeff(&along);
  Eigen::Matrix3d R = Eigen::Matrix3d::Zero();  // z along it
  for (Eigen::Index i = 0; i < 3; ++i) R((along + 1 + i) % 3, i) = 1.0;
  const Eigen::Vector3d size = R.transpose() * geom.size;
  Post post{.X_BO = geom.X_BO, .radius = size.head<2>().norm(), .half_length = longest};
  post.X_BO.rotate(R);
  if (geom.kind == Solid::Kind::Ellipsoid) {
    post.radius = size.head<2>().maxCoeff();
    const double narrow = std::max(0.0, 1.0 - kMaxNarrowing / post.radius);
    post.half_length = longest * std::sqrt(1.0 - narrow * narrow);
  }
  return post;
}

Post read_post(const ArmContext& context) {
  if (!context.settings.has("post"))
    throw ModelError("post: missing: must be a cylinder, capsule, box or ellipsoid of the scene");
  const Solid geom = context.scene.geom("post");
  switch (geom.kind) {
    case Solid::Kind::Cylinder:
    case Solid::Kind::Capsule:
      return {.X_BO = geom.X_BO, .radius = geom.size.x(), .half_length = geom.size.y()};
    case Solid::Kind::Box:
    case Solid::Kind::Ellipsoid:
      return enclosing_post(geom);
    default:
      refuse_post(context, "must be a cylinder, a capsule, a box or an ellipsoid");
  }
}

/// Returns the smallest radius with which all sections can bend [m].
double least_bend_radius(const ContinuumRobot& robot) {
  double radius = 0.0;
  for (int i = 0; i < robot.section_count(); ++i) {
    const double extension = robot.straight()[static_cast<std::size_t>(i)].extension;
    const Section& section = robot.section(i);
    radius =
        std::max(radius, (section.length() + extension) / section.bend_angle_limit_at(extension));
  }
  return radius;
}

TipIntegralOptions press_options(const ArmContext& context) {
  TipIntegralOptions options = read_tip_integral(context.settings, context.timestep);
  const int sections = context.robot.section_count();
  options.gain = context.settings.number("press_gain");
  options.damping = context.settings.number("press_damping");
  options.correction_limit = context.settings.number("press_limit");
  const int pressing = context.settings.integer("press_sections");
  if (context.settings.has("press_sections") && pressing > sections)
    throw ModelError(fmt::format("press_sections = {}: must be in [1, {}], the arm's sections",
                                 pressing, sections));
  options.corrected = sections_from(context.robot, std::max(0, sections - pressing));
  return options;
}

}  // namespace

std::span<const SettingInfo> CoilController::settings() {
  static constexpr SettingInfo kOwnSettings[] = {
      setting::geom_name(
          "post", "",
          "cylinder, capsule, box or ellipsoid of the scene, by its name there, to coil around "
          "along its longest axis; it must be given"),
      setting::number("winding", "rad", "5.24", {0.0, 60.0, true}, "angle of the winding"),
      setting::number("force", "N", "5", {0.0, 1000.0, true},
                      "sum of the contact forces on the post with which it is held, within 30 %"),
      setting::number("exit_length", "m", "0.15", {0.0, 100.0, true},
                      "straight end of the path past the winding; shorter if the feed is"),
      setting::number("tighten_time", "s", "15", {0.01, 1000.0},
                      "status 10 when force and winding are not reached after this"),
      setting::numbers("press", "m",
                       "displacement of the tip's goal, in the arm's base frame, from the end of "
                       "the path tightened to "
                       "the post; default: it does not press"),
      setting::number("press_time", "s", "2", {0.01, 1000.0}, "duration of that displacement"),
      setting::integer("press_sections", "2", 1, 1000,
                       "number of sections, counted from the tip, that press"),
      setting::number("press_gain", "1/s", "5", {0.0, 100.0},
                      "gain of their integral action on the measured tip"),
      setting::number("press_damping", "m", "0.02", {0.0, 1.0, true},
                      "damping of their inverse of the tip Jacobian"),
      setting::number("press_limit", "rad", "0.3", {0.0, 3.0, true},
                      "largest correction of their commands"),
      setting::number(
          "withdraw", "m", "0", kNotNegative,
          "distance by which the base then moves back, with the post in its coil: for one that "
          "follows; not with press"),
      setting::number("withdraw_time", "s", "4", {0.01, 1000.0}, "duration of that motion"),
      setting::speed("0.08"),
      setting::acceleration("0.2"),
      setting::rate_limit("3"),
      setting::start_delay("1"),
  };
  static const std::vector<SettingInfo> kAll = joined({kOwnSettings, tip_integral_settings()});
  return kAll;
}

CoilController::CoilController(const ArmContext& context)
    : robot_(context.robot),
      post_(read_post(context)),
      body_radius_(context.body_radius),
      arm_length_(straight_length(robot_)),
      start_delay_(context.settings.number("start_delay")),
      winding_(context.settings.number("winding")),
      force_(context.settings.number("force")),
      tighten_time_(context.settings.number("tighten_time")),
      press_time_(context.settings.number("press_time")),
      press_(read_vector(context.settings, "press")),
      withdraw_(context.settings.number("withdraw")),
      withdraw_time_(context.settings.number("withdraw_time")),
      drive_(robot_, Advance(robot_, Growth::None), FeedDrive::Limits::from(context.settings)),
      integral_(robot_, read_tip_integral(context.settings, context.timestep), context.timestep),
      press_integral_(robot_, press_options(context), context.timestep),
      states_memory_(add_states(memory_, robot_)),
      integral_memory_(memory_.part(integral_.layout())),
      press_memory_(memory_.part(press_integral_.layout())),
      states_(static_cast<std::size_t>(robot_.section_count())),
      candidate_(states_.size()),
      q_last_(robot_.coordinate_count()) {
  require_driven(context, Planes::Refused);
  if (!context.sees_contacts) use_moments(context);
  plan_path(context);
  plan_tightening();
  if (withdraw_ <= 0.0) return;
  if (!press_.isZero(0.0)) throw ModelError("withdraw: must not be given together with press");
  if (const double least = tighten_feed_.back(); withdraw_ > least)
    throw ModelError(fmt::format("withdraw = {}: must be at most {}, the feed around the post",
                                 millimeters(withdraw_), millimeters(least)));
}

/// Plans the loose winding: on the side of the post where the feed axis is, rising along the post
/// as the arm advances.
void CoilController::plan_path(const ArmContext& context) {
  const double feed_limit = robot_.base().feed_limit;
  if (feed_limit <= 0.0)
    throw ModelError("robot: base.feed = 0: must be > 0: the arm is fed around the post");
  Winding& winding = loose_winding_;
  const Eigen::Vector3d axis = post_.X_BO.linear().col(2);
  winding.cylinder_point = post_.X_BO.translation();
  winding.cylinder_axis = axis.z() < 0.0 ? Eigen::Vector3d(-axis) : axis;
  winding.cylinder_radius = post_.radius;
  winding.angle = winding_;
  winding.exit_length = context.settings.number("exit_length");
  const double touching = post_.radius + body_radius_;
  winding.radius = touching + kGapWidth;
  choose_radius(context);
  const double length = winding_path(winding, 0.0, brace_length_).length();
  const double excess = length - arm_length_ - feed_limit;
  if (excess > 0.0) winding.exit_length -= std::min(excess, winding.exit_length - kMinExitLength);
  loose_ = winding_path(winding, 0.0, brace_length_);
  feed_end_ = loose_.length() - arm_length_;
  if (feed_end_ <= 0.0 || feed_end_ > feed_limit) {
    refuse_post(context,
                fmt::format("the path around it is {} long: must be between the arm's length of {} "
                            "and {}, with base.feed",
                            millimeters(loose_.length()), millimeters(arm_length_),
                            millimeters(arm_length_ + feed_limit)));
  }
  require_long_post(context);
}

/// Chooses the radius of the loose winding, and the length over which the path approaches it.
void CoilController::choose_radius(const ArmContext& context) {
  Winding& winding = loose_winding_;
  const double touching = post_.radius + body_radius_;
  const WindingPlace place = [&] {
    try {
      return winding_place(winding);
    } catch (const ModelError& error) {
      refuse_post(context, error.what());
    }
  }();
  brace_length_ = kBraceLength;
  if (place.distance >= touching + kMinGap && place.distance <= touching + kMaxGap) {
    winding.radius = place.distance;  // the feed axis touches it
    return;
  }
  const double room = place.lead_in - arm_length_;  // from the straight arm's tip on
  brace_length_ = std::min(room, kMaxBraceLength);
  const double allowed = room > 0.0 ? brace_length_ * brace_length_ * kLeadInBendFraction /
                                          (6.0 * least_bend_radius(robot_))
                                    : 0.0;
  if (std::abs(place.distance - winding.radius) <= allowed) return;
  refuse_post(context,
              fmt::format("its axis passes the feed axis at {}, {} past the straight arm's tip: "
                          "must be between {} and {} there, so that the arm can bend to its side",
                          millimeters(place.distance), millimeters(room),
                          millimeters(std::max(0.0, winding.radius - allowed)),
                          millimeters(winding.radius + allowed)));
}

void CoilController::require_long_post(const ArmContext& context) const {
  const double near = loose_winding_.radius + 1e-3;
  for (double s = 0.0; s < loose_.length(); s += kPlanStep) {
    const Eigen::Vector3d p = post_.X_BO.inverse() * loose_.position(s);
    if (p.head<2>().norm() < near && std::abs(p.z()) > post_.half_length) {
      refuse_post(context,
                  fmt::format("the winding leaves it at {} from its middle: it is {} long "
                              "on either side",
                              millimeters(std::abs(p.z())), millimeters(post_.half_length)));
    }
  }
}

/// Prepares to find the force on the post without a sensor of contacts.
void CoilController::use_moments(const ArmContext& context) {
  if (!context.settings.flag("gravity_compensation"))
    throw ModelError(
        "gravity_compensation = false: with measured = sensors tendril.coil needs the moment of "
        "gravity, must be true");
  springs_.assign(context.springs.begin(), context.springs.end());
  std::vector<double> stiffnesses;
  for (const BodySpring& spring : springs_) stiffnesses.push_back(spring.stiffness);
  grip_.emplace(robot_, stiffnesses,
                GripEstimatorOptions{.timestep = context.timestep, .body_radius = body_radius_});
  grip_memory_ = memory_.part(grip_->layout());
  load_.setZero(robot_.coordinate_count());
}

/// Plans the poses from the end of feeding on, by kinematics alone.
void CoilController::plan_tightening() {
  const auto loose = [&](double s) { return loose_.position(s); };
  ShapeFit feeding(robot_, {.iterations = FeedDrive::kFitSteps});
  std::copy(robot_.straight().begin(), robot_.straight().end(), states_.begin());
  for (double feed = 0.0; feed < feed_end_; feed += kPlanStep)
    feeding.fit(loose, {.feed = feed, .spin = 0.0}, states_);
  feeding.fit(loose, {.feed = feed_end_, .spin = 0.0}, states_);
  const double radius = loose_winding_.radius;
  const double least = std::max(post_.radius + body_radius_ - kInsideDistance, 0.5 * post_.radius);
  ShapeFit fit(robot_, {.iterations = FeedDrive::kFitSteps});
  Eigen::VectorXd q(robot_.coordinate_count());
  to_coordinates(robot_, states_, q);
  tighten_q_.push_back(q);
  tighten_feed_.push_back(feed_end_);
  for (int k = 1; radius - k * kTightenStep > least; ++k) {
    tight_ = winding_path(loose_winding_, radius - k * kTightenStep, brace_length_);
    const double feed = tight_.length() - arm_length_;
    if (feed < 0.0) break;
    fit.fit([&](double s) { return tight_.position(s); }, {.feed = feed, .spin = 0.0}, states_);
    to_coordinates(robot_, states_, q);
    tighten_q_.push_back(q);
    tighten_feed_.push_back(feed);
    if (radius - k * kTightenStep >= post_.radius + body_radius_ + kFittedDistance)
      tight_tip_ = tip_pose(robot_, states_, {.feed = feed, .spin = 0.0}).translation();
  }
  for (double back = kTightenStep; back < kMaxRetreat && tighten_feed_.back() > kTightenStep;
       back += kTightenStep) {
    tighten_q_.push_back(q);
    tighten_feed_.push_back(tighten_feed_.back() - kTightenStep);
  }
}

void CoilController::tightened(double distance, double rate, ArmCommand& command) const noexcept {
  const auto last = static_cast<double>(tighten_q_.size() - 2);
  const double at = std::clamp(distance / kTightenStep, 0.0, last + 1.0);
  const double whole = std::min(std::floor(at), last);
  const auto k = static_cast<std::size_t>(whole);
  const double fraction = at - whole;
  command.q = tighten_q_[k] + fraction * (tighten_q_[k + 1] - tighten_q_[k]);
  command.q_rate = rate / kTightenStep * (tighten_q_[k + 1] - tighten_q_[k]);
  command.base.feed = tighten_feed_[k] + fraction * (tighten_feed_[k + 1] - tighten_feed_[k]);
  command.feed_rate = rate / kTightenStep * (tighten_feed_[k + 1] - tighten_feed_[k]);
}

double CoilController::withdrawn_at(std::span<const double> memory) const noexcept {
  const Stage stage = stage_(memory);
  if (stage == Stage::Hold) return withdraw_;
  return stage == Stage::Press ? withdraw_ * smooth_step(stage_time_(memory) / withdraw_time_).value
                               : 0.0;
}

/// Returns the position of its middle; it follows the coil.
Eigen::Vector3d CoilController::post_position(double withdrawn) const noexcept {
  return post_.X_BO.translation() - withdrawn * Eigen::Vector3d::UnitZ();
}

double CoilController::post_force(const ArmMeasurement& measurement,
                                  double withdrawn) const noexcept {
  // A post that follows the coil need not be where it is expected.
  const double slack = withdraw_ > 0.0 ? body_radius_ : kStillSlack;
  double force = 0.0;
  for (const MeasuredContact& contact : measurement.contacts) {
    const Eigen::Vector3d p = contact.position - post_position(withdrawn);
    const Eigen::Vector3d axis = post_.X_BO.linear().col(2);
    if (!contact.is_guide && (p - axis * axis.dot(p)).norm() < post_.radius + body_radius_ + slack)
      force += contact.force;
  }
  return force;
}

double CoilController::sensed_force(const ArmMeasurement& measurement, double withdrawn,
                                    std::span<double> next) noexcept {
  for (Eigen::Index k = 0; k < load_.size(); ++k)
    load_[k] = springs_[static_cast<std::size_t>(k)].moment(measurement.q[k], measurement.q_rate[k],
                                                            measurement.gravity_moment[k]) -
               measurement.moment[k];
  const std::span<double> own = grip_memory_(next);
  grip_->step(own, measurement.q, measurement.base, load_,
              {post_position(withdrawn), post_.X_BO.linear().col(2)}, near());
  return grip_->estimate(own).force;
}

double CoilController::wrap_angle(const ArmMeasurement& measurement, double withdrawn) noexcept {
  std::copy(robot_.straight().begin(), robot_.straight().end(), candidate_.begin());
  from_coordinates(robot_, measurement.q, candidate_);
  const Eigen::Vector3d start(0.0, 0.0, measurement.base.feed);
  const auto lateral = [&](const Eigen::Vector3d& p_B) -> Eigen::Vector2d {
    const Eigen::Vector3d p = p_B - post_position(withdrawn);
    return {post_.X_BO.linear().col(0).dot(p), post_.X_BO.linear().col(1).dot(p)};
  };
  double angle = 0.0;
  Eigen::Vector2d before = lateral(start);
  for (int i = 0; i < robot_.section_count(); ++i) {
    for (int k = 1; k <= kPointsPerSection; ++k) {
      const Eigen::Vector2d p = lateral(backbone_pose(robot_, candidate_, measurement.base, i,
                                                      static_cast<double>(k) / kPointsPerSection)
                                            .translation());
      if ((0.5 * (before + p)).norm() < near()) {
        angle += std::atan2(before.x() * p.y() - before.y() * p.x(), before.dot(p));
      }
      before = p;
    }
  }
  return std::abs(angle);
}

void CoilController::update(const ArmMeasurement& measurement, std::span<const double> memory,
                            std::span<double> next_memory, ArmCommand& command,
                            ControllerReport& report) noexcept {
  const Grip grip = measure_grip(measurement, memory, next_memory);
  const Action action = act(measurement, grip, memory, next_memory, command);
  command.plan = command.q;
  const Eigen::Vector3d goal = tip_goal(action, command);
  const Eigen::Vector3d error = goal - measurement.X_BE.translation();
  correct(measurement, error, action, memory, next_memory, command);

  const Stage stage = stage_(memory);
  report.status = action.no_progress     ? ControllerStatus::NoProgress
                  : stage == Stage::Hold ? ControllerStatus::Finished
                                         : ControllerStatus::Working;
  // The post holds the arm away from where it is commanded.
  report.arrived = stage == Stage::Feed || (stage == Stage::Hold && action.pressing);
  report.iterations = stage == Stage::Feed ? FeedDrive::kFitSteps : 0;
  report.tip_error = error.norm();
  report.deviation = action.feeding || action.pressing ? report.tip_error / arm_length_ : kUnknown;
  report.progress = action.progress;
  report.target = goal;
  own(report, "post_force") = grip.force;
  own(report, "wrap_angle") = grip.wrap_angle;
}

/// Measures how the arm holds the post.
CoilController::Grip CoilController::measure_grip(const ArmMeasurement& measurement,
                                                  std::span<const double> memory,
                                                  std::span<double> next) noexcept {
  const double h = measurement.timestep, withdrawn = withdrawn_at(memory);
  const double last = mean_force_(memory);
  const double mean =
      grip_ ? sensed_force(measurement, withdrawn, next)
            : last + h / (kForceFilterTime + h) * (post_force(measurement, withdrawn) - last);
  mean_force_(next) = mean;
  const double angle = wrap_angle(measurement, withdrawn);
  return {.force = mean,
          .excess = (mean - force_) / force_,
          .wrap_angle = angle,
          .is_wound = angle >= kWrapFraction * winding_};
}

void CoilController::enter(Stage stage, std::span<double> next) const noexcept {
  stage_(next) = stage;
  stage_time_(next) = 0.0;
}

/// Commands the motion of the present stage.
CoilController::Action CoilController::act(const ArmMeasurement& measurement, const Grip& grip,
                                           std::span<const double> memory, std::span<double> next,
                                           ArmCommand& command) noexcept {
  stage_time_(next) = stage_time_(memory) + measurement.timestep;
  switch (stage_(memory)) {
    case Stage::Settle:
      return settle(memory, next, command);
    case Stage::Feed:
      return feed(measurement.timestep, memory, next, command);
    case Stage::Tighten:
      return tighten(measurement.timestep, grip, memory, next, command);
    case Stage::Press:
    case Stage::Hold:
      break;
  }
  return press(measurement.timestep, grip, memory, next, command);
}

/// Waits until the arm has come to rest.
CoilController::Action CoilController::settle(std::span<const double> memory,
                                              std::span<double> next,
                                              ArmCommand& command) noexcept {
  load_states(states_memory_(memory), states_);
  to_coordinates(robot_, states_, command.q);
  if (stage_time_(memory) >= start_delay_) enter(Stage::Feed, next);
  return {.feeding = true};
}

/// One step along the loose winding, slowed down until every section keeps its rate limit.
CoilController::Action CoilController::feed(double h, std::span<const double> memory,
                                            std::span<double> next, ArmCommand& command) noexcept {
  load_states(states_memory_(memory), states_);
  to_coordinates(robot_, states_, q_last_);
  const auto loose = [&](double s) { return loose_.position(s); };
  const FeedDrive::Step step = drive_.step(loose, feed_(memory), speed_(memory), feed_end_, h,
                                           states_, candidate_, command.q);
  feed_(next) = step.advance;
  speed_(next) = step.speed;
  store_states(candidate_, states_memory_(next));
  command.q_rate = (command.q - q_last_) / h;
  command.base = step.base;
  command.feed_rate = step.speed;
  if (step.advance >= feed_end_) enter(Stage::Tighten, next);
  return {.feeding = true, .progress = 0.5 * step.advance / feed_end_};
}

/// One step of tightening towards the force.
void CoilController::tighten_to_force(double h, const Grip& grip, std::span<const double> memory,
                                      std::span<double> next, ArmCommand& command) const noexcept {
  const double most = kTightenStep * static_cast<double>(tighten_q_.size() - 1);
  const double contact = grip_ ? kSensedForceFraction : kContactForceFraction;
  const double rate = grip.force < contact * force_
                          ? kApproachRate
                          : kContactRate * std::clamp(-grip.excess, -1.0, 1.0);
  const double before = tightened_(memory);
  const double after = std::clamp(before + rate * h, 0.0, most);
  tightened_(next) = after;
  tightened(after, (after - before) / h, command);
}

/// Tightens the winding until the post is held.
CoilController::Action CoilController::tighten(double h, const Grip& grip,
                                               std::span<const double> memory,
                                               std::span<double> next,
                                               ArmCommand& command) const noexcept {
  tighten_to_force(h, grip, memory, next, command);
  const bool held = grip.is_wound && std::abs(grip.excess) <= 2.0 / 3.0 * kForceTolerance;
  held_time_(next) = held ? held_time_(memory) + h : 0.0;
  if (held_time_(next) >= kHeldTime) enter(Stage::Press, next);
  return {.no_progress = stage_time_(memory) > tighten_time_,
          .progress = 0.5 + 0.25 * std::clamp(grip.force / force_, 0.0, 1.0)};
}

/// Presses with the tip, moves back with the post, or holds it; then holds what was reached.
CoilController::Action CoilController::press(double h, const Grip& grip,
                                             std::span<const double> memory, std::span<double> next,
                                             ArmCommand& command) const noexcept {
  const bool is_end = stage_(memory) == Stage::Hold;
  const bool pressing = !press_.isZero(0.0);
  if (pressing) {
    tightened(tightened_(memory), 0.0, command);
  } else {
    tighten_to_force(h, grip, memory, next, command);
  }
  const double time = stage_time_(memory);
  const double duration = pressing ? press_time_ : withdraw_ > 0.0 ? withdraw_time_ : 0.0;
  const double passed = is_end || duration == 0.0 ? 1.0 : std::min(time / duration, 1.0);
  const SmoothStep motion = smooth_step(passed);
  command.base.feed -= motion.value * withdraw_;
  if (withdraw_ > 0.0) command.feed_rate -= motion.rate * withdraw_ / withdraw_time_;
  if (!is_end && time >= duration) enter(Stage::Hold, next);
  // A pressing tip changes the force on the post.
  const bool held =
      grip.is_wound && (pressing ? grip.force > 0.0 : std::abs(grip.excess) <= kForceTolerance);
  const double lost = held ? 0.0 : lost_time_(memory) + h;
  lost_time_(next) = std::min(lost, 2.0 * kLostTime);
  return {.pressing = pressing,
          .no_progress = lost > kLostTime,
          .progress = 0.75 + 0.25 * motion.value,
          .goal = tight_tip_ + motion.value * press_};
}

/// Returns the desired tip position.
Eigen::Vector3d CoilController::tip_goal(const Action& action, const ArmCommand& command) noexcept {
  if (action.pressing) return action.goal;
  if (action.feeding) return loose_.position(command.base.feed + arm_length_);
  std::copy(robot_.straight().begin(), robot_.straight().end(), candidate_.begin());
  from_coordinates(robot_, command.q, candidate_);
  return tip_pose(robot_, candidate_, command.base).translation();
}

/// Corrections act on all sections while feeding and are then held; while pressing they act on the
/// last sections.
void CoilController::correct(const ArmMeasurement& measurement, const Eigen::Vector3d& tip_error,
                             const Action& action, std::span<const double> memory,
                             std::span<double> next, ArmCommand& command) noexcept {
  Eigen::Matrix<double, 6, 1> error = Eigen::Matrix<double, 6, 1>::Zero();
  error.head<3>() = tip_error;
  integral_.update(measurement, error, !action.feeding, integral_memory_(memory),
                   integral_memory_(next), command.q);
  press_integral_.update(measurement, error, !action.pressing, press_memory_(memory),
                         press_memory_(next), command.q);
  integral_.compensate_gravity_deflection(measurement, command.q);
}

int CoilController::path(std::span<const double> memory,
                         std::span<Eigen::Vector3d> points) const noexcept {
  const bool tight = stage_(memory) >= Stage::Tighten;
  const Path& curve = tight ? tight_ : loose_;
  const auto count = points.size();
  const double back = withdrawn_at(memory);
  for (std::size_t i = 0; i < count; ++i) {
    const double fraction = static_cast<double>(i) / static_cast<double>(count - 1);
    points[i] =
        curve.position(back + (curve.length() - back) * fraction) - back * Eigen::Vector3d::UnitZ();
  }
  return static_cast<int>(count);
}

}  // namespace tendril
