#include "controllers/arm/steer_controller.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "controllers/arm/driven_part.hpp"
#include "controllers/arm/path_settings.hpp"
#include "controllers/interface/arm_memory.hpp"
#include "controllers/interface/feed_settings.hpp"
#include "tendril/model_error.hpp"

namespace tendril {
namespace {

using Eigen::Vector2d;
using Eigen::Vector3d;

constexpr OwnQuantities<SteerController::kQuantities> own;

constexpr double kRetreat = 0.5;     // of the steered length: by which a jammed arm is drawn back
constexpr int kRetreats = 4;         // longer and longer ones at a place, before it is a short one
constexpr double kSearchTurn = 1.0;  // of a wire, this way and that, after each jam [rad]
constexpr double kWallSpacing = 1e-3;  // [m]
constexpr double kLumen = 1.5;         // of the path's distance from the wall: the tip is on it
constexpr double kNear = 0.5;          // of the steered length, if that distance is unknown
constexpr double kMaxLag = 0.5;  // of the bends behind the path, at which the feed waits [rad]
constexpr double kPressed =
    0.9;  // of the force limit, at which the feed has all but stopped: a jam
constexpr double kTurnGain = 4.0;    // [1/s]
constexpr double kLeastAimed = 0.2;  // of the feed's speed, while a wire turns
constexpr double kMissed = 0.5;      // of the steered length: fed without progress along the path
constexpr double kAimed = 0.02;      // sine of the angle to the path that needs no turn

int first_section(const ArmContext& context) {
  const int first = first_steered(context);
  if (first < context.robot.section_count()) return first;
  const BodySpring* const tip =
      context.springs.data() + context.robot.coordinate_index(context.robot.section_count() - 1);
  if (!context.robot.base().spin || (tip[0].rest == 0.0 && tip[1].rest == 0.0))
    throw ModelError(
        "robot: the last section is passive: a tip is steered by drives of its sections, or by "
        "base.spin = true and a natural_bend of the last section");
  return context.robot.section_count() - 1;
}

TipIntegralOptions correction(const ArmContext& context, int first) {
  TipIntegralOptions options = read_tip_integral(context.settings, context.timestep);
  options.corrected = sections_from(context.robot, first);
  return options;
}

}  // namespace

std::span<const SettingInfo> SteerController::settings() {
  static constexpr SettingInfo kSettings[] = {
      setting::speed("0.03"),
      setting::acceleration("0.2"),
      setting::rate_limit("1.5", "largest bend rate of a section, and turn rate of the base"),
      setting::number("tip_force_limit", "N", "1", kPositive,
                      "force on the tip that would stop the feed, which slows down in proportion; "
                      "0.9 of it is a jam"),
      setting::start_delay("0.5"),
      setting::integer(
          "jam_retries", "20", 0, 100,
          "times that the arm is drawn back and fed again, after a jam or a missed turn of "
          "the path: by half the length of its tip, by more at each attempt at a "
          "place. A wire meanwhile turns to either side"),
  };
  static const std::vector<SettingInfo> kAll =
      joined({path_settings(), kSettings, JamDetector::kForceSettings, tip_integral_settings()});
  return kAll;
}

SteerController::SteerController(const ArmContext& context)
    : robot_(context.robot),
      steered_(robot_, first_section(context), context.settings.number("rate_limit")),
      turns_(first_steered(context) == robot_.section_count()),
      steered_length_(steered_.length()),
      arm_length_(straight_length(robot_)),
      body_radius_(context.body_radius),
      start_delay_(context.settings.number("start_delay")),
      speed_(context.settings.number("speed")),
      acceleration_(context.settings.number("acceleration")),
      rate_limit_(context.settings.number("rate_limit")),
      force_limit_(context.settings.number("tip_force_limit")),
      retries_(context.settings.integer("jam_retries")),
      tip_contacts_(context),
      jam_(context.settings, context.feed_force_limit, kPressed * force_limit_),
      path_(read_path(context.settings)),
      wall_distances_(read_wall_distances(context.settings, path_, kWallSpacing)),
      integral_(robot_, correction(context, first_section(context)), context.timestep),
      steered_memory_(memory_.part(steered_.layout())),
      integral_memory_(memory_.part(integral_.layout())) {
  if (path_.length() <= arm_length_)
    throw ModelError(
        fmt::format("{}: path length = {:.4g} m: must exceed the arm's length of {:.4g} m",
                    path_key(context.settings), path_.length(), arm_length_));
  if (robot_.base().feed_limit <= 0.0)
    throw ModelError("robot: base.feed = 0: must be > 0: the arm is fed along the path");
}

/// Tells whether a tip near `head` is in the lumen of the path, not in another branch.
bool SteerController::is_on_path(double head, const Vector3d& tip) const noexcept {
  const double off = (tip - path_.position(head)).norm();
  if (wall_distances_.empty()) return off < kNear * steered_length_;
  return off < kLumen * wall_distances_[static_cast<std::size_t>(head / kWallSpacing)];
}

void SteerController::update(const ArmMeasurement& measurement, std::span<const double> memory,
                             std::span<double> next, ArmCommand& command,
                             ControllerReport& report) noexcept {
  const Vector3d tip = measurement.X_BE.translation();
  const double last = started_(memory) ? double(head_(memory)) : arm_length_;
  const double near = nearest_on(path_, tip, last);
  const double head = is_on_path(near, tip) ? near : last;
  head_(next) = head;
  started_(next) = true;
  steered_.locate(measurement);
  const double tip_force = tip_contacts_.force(measurement);
  const double aimed = turns_ ? turn(measurement, head, memory, next, command)
                              : bend(measurement, head, tip_force, memory, next, command);
  const bool jammed = advance(measurement, head, tip_force, aimed, memory, next, command);

  report.iterations = turns_ ? 0 : SteeredTip::kFitSteps;
  report.target = path_.position(head);
  report.tip_error = (report.target - tip).norm();
  report.progress = head / path_.length();
  const bool is_at_end = feed_(next) >= robot_.base().feed_limit;
  report.status = is_there(head, tip) ? ControllerStatus::Finished
                  : jammed            ? ControllerStatus::Jammed
                  : is_at_end         ? ControllerStatus::NotReached
                                      : ControllerStatus::Working;
  own(report, "tip_force") = tip_force;
  own(report, "jams") = jams_(next);
}

/// Fits the steered part to the path ahead of where it begins; while the arm is drawn back, its
/// bend yields to the force on the tip. Returns the fraction of the feed's speed that the bend
/// which is still to come allows.
double SteerController::bend(const ArmMeasurement& measurement, double head, double tip_force,
                             std::span<const double> memory, std::span<double> next,
                             ArmCommand& command) noexcept {
  // Not the tip's place less its length: a bent tip would bend farther and farther.
  const double start = nearest_on(path_, steered_.start().translation(), head - steered_length_);
  const double lag = steered_.bend([&](double s) { return path_.position(start + s); },
                                   retreating_(memory) ? yield(tip_force) : 1.0, measurement,
                                   steered_memory_(memory), steered_memory_(next), command);

  const Vector3d off = path_.position(head) - measurement.X_BE.translation();
  Eigen::Matrix<double, 6, 1> error = Eigen::Matrix<double, 6, 1>::Zero();
  error.head<3>() = tip_contacts_.correctable(measurement, off);
  integral_.update(measurement, error, false, integral_memory_(memory), integral_memory_(next),
                   command.q);
  integral_.compensate_gravity_deflection(measurement, command.q);
  return std::clamp(1.0 - lag / kMaxLag, 0.0, 1.0);
}

/// Turns the base until the arc at the tip bends towards the path ahead of it. Returns which
/// fraction of the feed's speed the angle that is left allows.
double SteerController::turn(const ArmMeasurement& measurement, double head,
                             std::span<const double> memory, std::span<double> next,
                             ArmCommand& command) const noexcept {
  const double h = measurement.timestep;
  double aimed = 1.0;
  command.q = measurement.q;
  command.has_plan = false;
  const Vector3d ahead = steered_.start().inverse() * path_.position(head + steered_length_);
  const Vector2d bent = measurement.q.tail(steered_.sections().coordinate_count()).head<2>();
  // After a jam other directions are tried, farther and farther to either side.
  const int tries = head < jam_at_(memory) + steered_length_ ? int(tries_(memory)) : 0;
  const double aside = kSearchTurn * ((tries + 1) / 2) * (tries % 2 == 1 ? 1.0 : -1.0);
  const Vector2d wanted = Eigen::Rotation2Dd(aside) * Vector2d(ahead.head<2>());
  double spin = spin_(memory);
  if (wanted.norm() > kAimed * ahead.norm() && bent.norm() > 0.0) {
    const double angle =
        std::atan2(bent.x() * wanted.y() - bent.y() * wanted.x(), bent.dot(wanted));
    spin += h * std::clamp(kTurnGain * angle, -rate_limit_, rate_limit_);
    aimed = std::max(kLeastAimed, std::cos(angle));
  }
  spin_(next) = spin;
  command.base.spin = spin;
  return aimed;
}

/// One step of the feed. Returns whether the arm is jammed for good.
bool SteerController::advance(const ArmMeasurement& measurement, double head, double tip_force,
                              double aimed, std::span<const double> memory, std::span<double> next,
                              ArmCommand& command) const noexcept {
  const double h = measurement.timestep, feed = feed_(memory);
  const bool begun = measurement.time >= start_delay_;
  const bool advances = head > farthest_(memory);
  // Drawn back past a branch, the tip can fall into it, and so advance.
  const bool is_back = feed <= retreat_to_(memory) || (advances && feed_speed_(memory) < 0.0);
  const bool retreating = retreating_(memory) && !is_back;
  retreating_(next) = retreating;
  const JamDetector::State jam = jam_.step(begun && !retreating, tip_force, measurement.feed_force,
                                           h, jam_memory_(memory), jam_memory_(next));
  farthest_(next) = advances ? head : double(farthest_(memory));
  feed_there_(next) = advances ? feed : double(feed_there_(memory));
  const bool missed = begun && !retreating && feed > feed_there_(next) + kMissed * steered_length_;
  bool jammed = jam != JamDetector::State::Free;
  if ((jam == JamDetector::State::Begins || missed) && jams_(memory) < retries_) {
    jams_(next) = jams_(memory) + 1;
    const bool is_same_place = farthest_(next) < jam_at_(memory) + steered_length_;
    tries_(next) = is_same_place ? tries_(memory) + 1 : 1;
    jam_at_(next) = farthest_(next);
    const int length = 1 + (tries_(next) - 1) % kRetreats;
    const double from = std::min({measurement.base.feed, feed, double(feed_there_(next))});
    retreat_to_(next) = std::max(0.0, from - length * kRetreat * steered_length_);
    retreating_(next) = true;
    jam_.release(jam_memory_(next));
    jammed = false;
  }
  const double slow = yield(tip_force);
  const double goal = !begun || is_there(head, measurement.X_BE.translation()) || jammed ? 0.0
                      : retreating ? -std::max(kLeastAimed, slow) * speed_
                                   : slow * aimed * speed_;
  const double step = acceleration_ * h, last = feed_speed_(memory);
  const double rate = jammed ? 0.0 : std::clamp(goal, last - step, last + step);
  feed_speed_(next) = rate;
  feed_(next) = std::clamp(feed + rate * h, 0.0, robot_.base().feed_limit);
  command.base.feed = feed_(next);
  command.feed_rate = rate;
  return jammed;
}

int SteerController::path(std::span<const double> /*memory*/,
                          std::span<Vector3d> points) const noexcept {
  const auto count = points.size();
  for (std::size_t i = 0; i < count; ++i)
    points[i] =
        path_.position(path_.length() * static_cast<double>(i) / static_cast<double>(count - 1));
  return static_cast<int>(count);
}

}  // namespace tendril
