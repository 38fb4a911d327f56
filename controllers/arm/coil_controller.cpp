#include "controllers/arm/coil_controller.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "controllers/interface/arm_memory.hpp"
#include "tendril/kinematics/forward_kinematics.hpp"
#include "tendril/model_error.hpp"

namespace tendril {
namespace {

constexpr OwnQuantities<CoilController::kQuantities> kOwn;

constexpr double kPlanStep = 0.002;  // [m] of feed, in planning the pose at the end of feeding

// The path.
constexpr double kMinGap = 0.007;    // between body and loose winding and the post [m]: sections
constexpr double kGapWidth = 0.009;  // of constant curvature deviate from a helix by up to 6 mm
constexpr double kLargestGap = 0.02;
constexpr double kBraceOffset = 0.1;  // length over which the path leans to the helix [m]
constexpr double kLongestLean = 0.2;
constexpr double kBendUse = 0.8;        // of the bend limit, by the lead-in
constexpr double kShortestExit = 0.02;  // [m]

// Tightening.
constexpr double kDrawStep = 2.5e-4;  // [m]
constexpr double kInsideDistance =
    0.008;                       // of the post's surface, to which the winding is drawn [m]
constexpr double kRest = 0.003;  // from the backbone to where it would touch everywhere [m]: there
                                 // a fitted winding is about to
constexpr double kBack = 0.03;   // by which the base moves back from there [m]
constexpr double kApproach = 0.008;          // rate of drawing while nothing touches [m/s]
constexpr double kTightenDistance = 0.0015;  // the same in contact, without force [m/s]
constexpr double kTouchDistance = 0.05;      // of the force: contact
constexpr double kForceTime = 0.1;           // of the mean force [s]
constexpr double kTolerance = 0.3;           // of the force
constexpr double kHeldTime = 0.3;            // for which the force was within two thirds of it [s]
constexpr double kLostTime = 1.0;            // for which it may be outside later [s]
constexpr double kWrapFraction = 0.95;       // of the winding that has to be measured
constexpr int kPointsPerSection = 10;        // at which it is measured

Eigen::Vector3d read_vector(const Settings& settings, const char* name) {
  if (!settings.has(name)) return Eigen::Vector3d::Zero();
  const std::vector<double> numbers = settings.numbers(name);
  if (numbers.size() != 3) {
    throw ModelError(std::string(name) + ": " + std::to_string(numbers.size()) +
                     " numbers: must be three coordinates");
  }
  return {numbers[0], numbers[1], numbers[2]};
}

[[noreturn]] void refuse_post(const ArmContext& context, const std::string& reason) {
  throw ModelError("post = " + std::string(context.settings.text("post")) + ": " + reason);
}

Post read_post(const ArmContext& context) {
  if (!context.settings.has("post"))
    throw ModelError("post: missing: must be a cylinder or capsule of the scene");
  const Solid geom = context.scene.geom("post");
  if (geom.kind != Solid::Kind::Cylinder && geom.kind != Solid::Kind::Capsule)
    refuse_post(context, "must be a cylinder or a capsule");
  return {.X_BO = geom.X_BO, .radius = geom.size.x(), .half_length = geom.size.y()};
}

std::string millimeters(double meters) {
  std::ostringstream text;
  text.precision(4);
  text << meters * 1e3 << " mm";
  return text.str();
}

/// The smallest radius with which all sections can bend [m].
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
    throw ModelError("press_sections = " + std::to_string(pressing) + ": must be in [1, " +
                     std::to_string(sections) + "], the arm's sections");
  options.first_section = std::max(0, sections - pressing);
  return options;
}

/// 0 to 1 with rates 0 at both ends.
double smooth(double x) noexcept {
  x = std::clamp(x, 0.0, 1.0);
  return x * x * x * (10.0 - x * (15.0 - 6.0 * x));
}
/// Its derivative.
double smooth_rate(double x) noexcept { return 30.0 * x * x * (1.0 - x) * (1.0 - x); }

}  // namespace

std::span<const SettingInfo> CoilController::settings() {
  static constexpr SettingInfo kOwnSettings[] = {
      setting::geom_name(
          "post", "",
          "cylinder or capsule of the scene, by its name there, to coil around; it must be "
          "given"),
      setting::number("winding", "rad", "5.24", {0.0, 60.0, true}, "angle of the winding"),
      setting::number("force", "N", "5", {0.0, 1000.0, true},
                      "sum of the contact forces on the post with which it is held, within 30 %"),
      setting::number("exit_length", "m", "0.15", {0.0, 100.0, true},
                      "straight end of the path beyond the winding; shorter if the feed is"),
      setting::number("tighten_time", "s", "15", {0.01, 1000.0},
                      "status 10 when force and winding are not reached after this"),
      setting::numbers("press", "m",
                       "displacement of the tip's goal, in the arm's base frame, from the end of "
                       "the path drawn to "
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
          "comes along; not with press"),
      setting::number("withdraw_time", "s", "4", {0.01, 1000.0}, "duration of that motion"),
      setting::number("speed", "m/s", "0.08", {0.0, 10.0, true}, "of the feed along the path"),
      setting::number("acceleration", "m/s^2", "0.2", {0.0, 1000.0, true}, "of the feed"),
      setting::number(
          "rate_limit", "rad/s", "3", {0.0, 1000.0, true},
          "largest bend rate of a section while feeding; the feed slows down to keep it"),
      setting::number("start_delay", "s", "1", kNotNegative,
                      "time for the arm to come to rest before it is fed"),
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
      drive_(robot_, {.speed = context.settings.number("speed"),
                      .acceleration = context.settings.number("acceleration"),
                      .rate_limit = context.settings.number("rate_limit")}),
      integral_(robot_, read_tip_integral(context.settings, context.timestep), context.timestep),
      press_integral_(robot_, press_options(context), context.timestep),
      states_memory_(add_states(memory_, robot_)),
      integral_memory_(memory_.part(integral_.layout())),
      press_memory_(memory_.part(press_integral_.layout())),
      states_(static_cast<std::size_t>(robot_.section_count())),
      candidate_(states_.size()),
      q_last_(robot_.coordinate_count()) {
  plan_path(context);
  plan_tightening();
  if (withdraw_ <= 0.0) return;
  if (!press_.isZero(0.0)) throw ModelError("withdraw: must not be given together with press");
  if (const double least = draw_feed_.back(); withdraw_ > least)
    throw ModelError("withdraw = " + millimeters(withdraw_) + ": must be at most " +
                     millimeters(least) + ", the feed around the post");
}

/// The loose winding: on the side of the post where the feed axis is, rising along the post as the
/// arm goes on.
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
  const WindingPlace place = [&] {
    try {
      return winding_place(winding);
    } catch (const ModelError& error) {
      refuse_post(context, error.what());
    }
  }();
  brace_offset_ = kBraceOffset;
  if (place.distance >= touching + kMinGap && place.distance <= touching + kLargestGap) {
    winding.radius = place.distance;  // no need to lean
  } else {
    const double room = place.lead_in - arm_length_;  // from the straight arm's tip on
    brace_offset_ = std::min(room, kLongestLean);
    const double allowed =
        room > 0.0 ? brace_offset_ * brace_offset_ * kBendUse / (6.0 * least_bend_radius(robot_))
                   : 0.0;
    const double aside = place.distance - winding.radius;
    if (std::abs(aside) > allowed) {
      refuse_post(context, "its axis passes the feed axis at " + millimeters(place.distance) +
                               ", " + millimeters(room) +
                               " beyond the straight arm's tip: must be between " +
                               millimeters(std::max(0.0, winding.radius - allowed)) + " and " +
                               millimeters(winding.radius + allowed) +
                               " there, so that the arm can bend to its side");
    }
  }
  const double length = winding_path(winding, 0.0, brace_offset_).length();
  const double excess = length - arm_length_ - feed_limit;
  if (excess > 0.0) winding.exit_length -= std::min(excess, winding.exit_length - kShortestExit);
  loose_ = winding_path(winding, 0.0, brace_offset_);
  feed_end_ = loose_.length() - arm_length_;
  if (feed_end_ <= 0.0 || feed_end_ > feed_limit) {
    refuse_post(context, "the way around it is " + millimeters(loose_.length()) +
                             " long: must be between the arm's length of " +
                             millimeters(arm_length_) + " and " +
                             millimeters(arm_length_ + feed_limit) + ", with base.feed");
  }
  const double near = winding.radius + 1e-3;
  for (double s = 0.0; s < loose_.length(); s += kPlanStep) {
    const Eigen::Vector3d p = post_.X_BO.inverse() * loose_.position(s);
    if (p.head<2>().norm() < near && std::abs(p.z()) > post_.half_length) {
      refuse_post(context, "the winding leaves it at " + millimeters(std::abs(p.z())) +
                               " from its middle: it is " + millimeters(post_.half_length) +
                               " long on either side");
    }
  }
}

/// The poses from the end of feeding on, computed by kinematics alone.
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
  draw_q_.push_back(q);
  draw_feed_.push_back(feed_end_);
  for (int k = 1; radius - k * kDrawStep > least; ++k) {
    tight_ = winding_path(loose_winding_, radius - k * kDrawStep, brace_offset_);
    const double feed = tight_.length() - arm_length_;
    if (feed < 0.0) break;
    fit.fit([&](double s) { return tight_.position(s); }, {.feed = feed, .spin = 0.0}, states_);
    to_coordinates(robot_, states_, q);
    draw_q_.push_back(q);
    draw_feed_.push_back(feed);
    if (radius - k * kDrawStep >= post_.radius + body_radius_ + kRest)
      tight_tip_ = tip_pose(robot_, states_, {.feed = feed, .spin = 0.0}).translation();
  }
  for (double back = kDrawStep; back < kBack && draw_feed_.back() > kDrawStep; back += kDrawStep) {
    draw_q_.push_back(q);
    draw_feed_.push_back(draw_feed_.back() - kDrawStep);
  }
}

void CoilController::tightened(double draw, double rate, ArmCommand& command) const noexcept {
  const auto last = static_cast<double>(draw_q_.size() - 2);
  const double at = std::clamp(draw / kDrawStep, 0.0, last + 1.0);
  const double whole = std::min(std::floor(at), last);
  const auto k = static_cast<std::size_t>(whole);
  const double part = at - whole;
  command.q = draw_q_[k] + part * (draw_q_[k + 1] - draw_q_[k]);
  command.q_rate = rate / kDrawStep * (draw_q_[k + 1] - draw_q_[k]);
  command.base.feed = draw_feed_[k] + part * (draw_feed_[k + 1] - draw_feed_[k]);
  command.feed_rate = rate / kDrawStep * (draw_feed_[k + 1] - draw_feed_[k]);
}

double CoilController::withdrawn_at(std::span<const double> memory) const noexcept {
  const Stage stage = stage_(memory);
  if (stage == Stage::Hold) return withdraw_;
  return stage == Stage::Press ? withdraw_ * smooth(stage_time_(memory) / withdraw_time_) : 0.0;
}

/// Of its middle; it comes along with the coil.
Eigen::Vector3d CoilController::post_position(double withdrawn) const noexcept {
  return post_.X_BO.translation() - withdrawn * Eigen::Vector3d::UnitZ();
}

double CoilController::post_force(const ArmMeasurement& measurement,
                                  double withdrawn) const noexcept {
  // What comes along need not be where it is expected.
  const double slack = withdraw_ > 0.0 ? body_radius_ : 0.002;  // [m]
  double force = 0.0;
  for (const MeasuredContact& contact : measurement.contacts) {
    const Eigen::Vector3d p = contact.position - post_position(withdrawn);
    const Eigen::Vector3d axis = post_.X_BO.linear().col(2);
    if (!contact.is_guide && (p - axis * axis.dot(p)).norm() < post_.radius + body_radius_ + slack)
      force += contact.force;
  }
  return force;
}

double CoilController::wrap_angle(const ArmMeasurement& measurement, double withdrawn) noexcept {
  const double near = post_.radius + 2.0 * body_radius_;  // a gap as wide as the body's radius
  std::copy(robot_.straight().begin(), robot_.straight().end(), candidate_.begin());
  from_coordinates(robot_, measurement.q, candidate_);
  const Eigen::Vector3d start(0.0, 0.0, measurement.base.feed);
  const auto beside = [&](const Eigen::Vector3d& p_B) -> Eigen::Vector2d {
    const Eigen::Vector3d p = p_B - post_position(withdrawn);
    return {post_.X_BO.linear().col(0).dot(p), post_.X_BO.linear().col(1).dot(p)};
  };
  double angle = 0.0;
  Eigen::Vector2d before = beside(start);
  for (int i = 0; i < robot_.section_count(); ++i) {
    for (int k = 1; k <= kPointsPerSection; ++k) {
      const Eigen::Vector2d p = beside(backbone_pose(robot_, candidate_, measurement.base, i,
                                                     static_cast<double>(k) / kPointsPerSection)
                                           .translation());
      if ((0.5 * (before + p)).norm() < near) {
        angle += std::atan2(before.x() * p.y() - before.y() * p.x(), before.dot(p));
      }
      before = p;
    }
  }
  return std::abs(angle);
}

/// One step along the loose winding, slowed down until every section keeps its rate limit.
void CoilController::feed(const ArmMeasurement& measurement, std::span<const double> memory,
                          std::span<double> next_memory, ArmCommand& command) noexcept {
  const double h = measurement.timestep;
  load_states(states_memory_(memory), states_);
  to_coordinates(robot_, states_, q_last_);
  const auto loose = [&](double s) { return loose_.position(s); };
  const FeedDrive::Step step = drive_.step(loose, feed_(memory), speed_(memory), feed_end_, h,
                                           states_, candidate_, command.q);
  feed_(next_memory) = step.feed;
  speed_(next_memory) = step.speed;
  store_states(candidate_, states_memory_(next_memory));
  command.q_rate = (command.q - q_last_) / h;
  command.base = {.feed = step.feed, .spin = 0.0};
  command.feed_rate = step.speed;
}

void CoilController::update(const ArmMeasurement& measurement, std::span<const double> memory,
                            std::span<double> next_memory, ArmCommand& command,
                            ControllerReport& report) noexcept {
  const Stage stage = stage_(memory);
  const double time = stage_time_(memory);
  stage_time_(next_memory) = time + measurement.timestep;
  const auto next_stage = [&](Stage next) {
    stage_(next_memory) = next;
    stage_time_(next_memory) = 0.0;
  };
  const double withdrawn = withdrawn_at(memory);
  const double force = post_force(measurement, withdrawn);
  const double mean = mean_force_(memory) + measurement.timestep /
                                                (kForceTime + measurement.timestep) *
                                                (force - mean_force_(memory));
  mean_force_(next_memory) = mean;
  const double off = (mean - force_) / force_;  // relative
  const double angle = wrap_angle(measurement, withdrawn);
  const bool wound = angle >= kWrapFraction * winding_;
  const bool is_pressing_task = !press_.isZero(0.0);
  // One step of the way along which the winding is tightened, towards the force.
  const auto draw_tight = [&] {
    const double most = kDrawStep * static_cast<double>(draw_q_.size() - 1);
    const double rate =
        mean < kTouchDistance * force_ ? kApproach : kTightenDistance * std::clamp(-off, -1.0, 1.0);
    const double draw = draw_(memory);
    const double next = std::clamp(draw + rate * measurement.timestep, 0.0, most);
    draw_(next_memory) = next;
    tightened(next, (next - draw) / measurement.timestep, command);
  };

  Eigen::Vector3d goal = Eigen::Vector3d::Zero();  // of the tip
  bool feeding = true;                             // the tip integral of all sections is active
  bool pressing = false, no_progress = false;
  double progress = 0.0;

  switch (stage) {
    case Stage::Settle:
      load_states(states_memory_(memory), states_);
      to_coordinates(robot_, states_, command.q);
      if (time >= start_delay_) next_stage(Stage::Feed);
      break;
    case Stage::Feed:
      feed(measurement, memory, next_memory, command);
      report.iterations = FeedDrive::kFitSteps;
      progress = 0.5 * command.base.feed / feed_end_;
      if (command.base.feed >= feed_end_) next_stage(Stage::Tighten);
      break;
    case Stage::Tighten: {
      draw_tight();
      feeding = false;
      progress = 0.5 + 0.25 * std::clamp(mean / force_, 0.0, 1.0);
      const bool held = wound && std::abs(off) <= 2.0 / 3.0 * kTolerance;
      held_time_(next_memory) = held ? held_time_(memory) + measurement.timestep : 0.0;
      no_progress = time > tighten_time_;
      if (held_time_(next_memory) >= kHeldTime) next_stage(Stage::Press);
      break;
    }
    case Stage::Press:
    case Stage::Hold: {
      feeding = false;
      pressing = is_pressing_task;
      if (pressing)
        tightened(draw_(memory), 0.0, command);
      else
        draw_tight();
      const double duration = pressing ? press_time_ : withdraw_ > 0.0 ? withdraw_time_ : 0.0;
      const double passed =
          stage == Stage::Hold || duration == 0.0 ? 1.0 : std::min(time / duration, 1.0);
      const double fraction = smooth(passed);
      goal = tight_tip_ + fraction * press_;
      command.base.feed -= fraction * withdraw_;
      if (withdraw_ > 0.0) command.feed_rate -= smooth_rate(passed) * withdraw_ / withdraw_time_;
      progress = 0.75 + 0.25 * fraction;
      if (stage == Stage::Press && time >= duration) next_stage(Stage::Hold);
      // What is pressed changes the force on the post.
      const bool held = wound && (pressing ? mean > 0.0 : std::abs(off) <= kTolerance);
      const double lost = held ? 0.0 : lost_time_(memory) + measurement.timestep;
      lost_time_(next_memory) = std::min(lost, 2.0 * kLostTime);
      no_progress = lost > kLostTime;
      break;
    }
  }
  command.plan = command.q;
  if (!pressing) {
    std::copy(robot_.straight().begin(), robot_.straight().end(), candidate_.begin());
    from_coordinates(robot_, command.q, candidate_);
    goal = feeding ? loose_.position(command.base.feed + arm_length_)
                   : tip_pose(robot_, candidate_, command.base).translation();
  }

  // Corrections act on all sections while feeding and are then held; while pressing they act on the
  // last sections.
  Eigen::Matrix<double, 6, 1> error = Eigen::Matrix<double, 6, 1>::Zero();
  error.head<3>() = goal - measurement.X_BE.translation();
  integral_.update(measurement, error, !feeding, integral_memory_(memory),
                   integral_memory_(next_memory), command.q);
  press_integral_.update(measurement, error, !pressing, press_memory_(memory),
                         press_memory_(next_memory), command.q);
  integral_.compensate_gravity_deflection(measurement, command.q);

  report.status = no_progress            ? ControllerStatus::NoProgress
                  : stage == Stage::Hold ? ControllerStatus::Finished
                                         : ControllerStatus::Working;
  // The post holds the arm away from where it is commanded.
  report.arrived = stage == Stage::Feed || (stage == Stage::Hold && pressing);
  report.deviation = feeding || pressing ? error.head<3>().norm() / arm_length_ : kUnknown;
  report.tip_error = error.head<3>().norm();
  report.progress = progress;
  report.target = goal;
  kOwn(report, "post_force") = mean;
  kOwn(report, "wrap_angle") = angle;
}

int CoilController::path(std::span<const double> memory,
                         std::span<Eigen::Vector3d> points) const noexcept {
  const bool tight = stage_(memory) >= Stage::Tighten;
  const Path& curve = tight ? tight_ : loose_;
  const auto count = points.size();
  const double back = withdrawn_at(memory);
  for (std::size_t i = 0; i < count; ++i) {
    const double part = static_cast<double>(i) / static_cast<double>(count - 1);
    points[i] =
        curve.position(back + (curve.length() - back) * part) - back * Eigen::Vector3d::UnitZ();
  }
  return static_cast<int>(count);
}

}  // namespace tendril
