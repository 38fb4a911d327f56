#include "controllers/coil_controller.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "controllers/arm_memory.hpp"
#include "tendril/kinematics/forward_kinematics.hpp"
#include "tendril/model_error.hpp"

namespace tendril {
namespace {

constexpr double kPlanStep = 0.002;  // [m] of feed, in planning the end poses
constexpr int kTightenSteps = 20;    // from the loose to the tight winding, in planning

Eigen::Vector3d read_vector(const Settings& settings, const char* name,
                            const Eigen::Vector3d& otherwise) {
  if (!settings.has(name)) return otherwise;
  const std::vector<double> numbers = settings.numbers(name);
  if (numbers.size() != 3) {
    throw ModelError(std::string(name) + ": " + std::to_string(numbers.size()) +
                     " numbers: must be three coordinates");
  }
  return {numbers[0], numbers[1], numbers[2]};
}

Winding read_winding(const Settings& settings) {
  for (const char* name : {"cylinder_point", "cylinder_axis"}) {
    if (!settings.has(name)) throw ModelError(std::string(name) + ": missing: must be given");
  }
  Winding winding;
  winding.cylinder_point = read_vector(settings, "cylinder_point", Eigen::Vector3d::Zero());
  winding.cylinder_axis = read_vector(settings, "cylinder_axis", Eigen::Vector3d::Zero());
  winding.cylinder_radius = settings.number("cylinder_radius");
  winding.angle = settings.number("winding");
  winding.exit_length = settings.number("exit_length");
  return winding;
}

/// The winding tightened until the backbone is at `tight_radius` from the cylinder's axis.
Path read_tight_path(const Settings& settings, const Winding& winding) {
  const double loose = winding_radius(winding);
  const double radius = settings.optional_number("tight_radius").value_or(loose);
  if (!(radius > winding.cylinder_radius) || radius > loose) {
    std::ostringstream text;
    text << "tight_radius = " << radius << ": must be in (" << winding.cylinder_radius << ", "
         << loose << "] m: from cylinder_radius to the distance of its axis from the feed axis";
    throw ModelError(text.str());
  }
  return winding_path(winding, radius);
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

/// 0 to 1 with rates 0 at both ends, and its rate per unit of x.
struct Smooth {
  double value, rate;
};
Smooth smooth(double x) noexcept {
  x = std::clamp(x, 0.0, 1.0);
  return {x * x * x * (10.0 - x * (15.0 - 6.0 * x)), 30.0 * x * x * (1.0 - x) * (1.0 - x)};
}

}  // namespace

std::span<const SettingInfo> CoilController::settings() {
  static constexpr SettingInfo kOwn[] = {
      setting::numbers(
          "cylinder_point", "m",
          "a point of the axis of the cylinder to coil around, in the arm's base frame"),
      setting::numbers("cylinder_axis", "", "direction of that axis along which the winding rises"),
      setting::number("cylinder_radius", "m", "0.03", kPositive, "of the cylinder"),
      setting::number("winding", "rad", "5.24", {0.0, 60.0, true}, "angle of the winding"),
      setting::number("exit_length", "m", "0.15", {0.0, 100.0, true},
                      "straight end of the path beyond the winding"),
      setting::number(
          "tight_radius", "m", "", kPositive,
          "distance of the backbone from the cylinder's axis when tightened; default: not "
          "tightened"),
      setting::number("pull_back", "m", "0.03", kNotNegative,
                      "distance by which the base retracts while the arm is tightened"),
      setting::number("tighten_time", "s", "1.5", {0.01, 1000.0}, "duration of tightening"),
      setting::numbers(
          "press", "m",
          "displacement of the tip's goal after tightening, in the arm's base frame; default: 0"),
      setting::number("press_time", "s", "2", {0.01, 1000.0}, "duration of that displacement"),
      setting::integer("press_sections", "2", 1, 1000,
                       "number of sections, counted from the tip, that press"),
      setting::number("press_gain", "1/s", "5", {0.0, 100.0},
                      "gain of their integral action on the measured tip"),
      setting::number("press_damping", "m", "0.02", {0.0, 1.0, true},
                      "damping of their inverse of the tip Jacobian"),
      setting::number("press_limit", "rad", "0.3", {0.0, 3.0, true},
                      "largest correction of their commands"),
      setting::number("speed", "m/s", "0.08", {0.0, 10.0, true}, "of the feed along the path"),
      setting::number("acceleration", "m/s^2", "0.2", {0.0, 1000.0, true}, "of the feed"),
      setting::number(
          "rate_limit", "rad/s", "3", {0.0, 1000.0, true},
          "largest bend rate of a section while feeding; the feed slows down to keep it"),
      setting::number("start_delay", "s", "1", kNotNegative,
                      "time for the arm to come to rest before it is fed"),
  };
  static const std::vector<SettingInfo> kAll = joined({kOwn, tip_integral_settings()});
  return kAll;
}

CoilController::CoilController(const ArmContext& context)
    : robot_(context.robot),
      arm_length_(straight_length(robot_)),
      start_delay_(context.settings.number("start_delay")),
      tighten_time_(context.settings.number("tighten_time")),
      press_time_(context.settings.number("press_time")),
      press_(read_vector(context.settings, "press", Eigen::Vector3d::Zero())),
      loose_(winding_path(read_winding(context.settings))),
      tight_(read_tight_path(context.settings, read_winding(context.settings))),
      feed_end_(loose_.length() - arm_length_),
      tight_feed_(0.0),
      drive_(robot_, {.speed = context.settings.number("speed"),
                      .acceleration = context.settings.number("acceleration"),
                      .rate_limit = context.settings.number("rate_limit")}),
      integral_(robot_, read_tip_integral(context.settings, context.timestep), context.timestep),
      press_integral_(robot_, press_options(context), context.timestep),
      q_loose_(robot_.coordinate_count()),
      q_tight_(robot_.coordinate_count()),
      states_memory_(add_states(memory_, robot_)),
      integral_memory_(memory_.part(integral_.layout())),
      press_memory_(memory_.part(press_integral_.layout())),
      states_(static_cast<std::size_t>(robot_.section_count())),
      candidate_(states_.size()),
      q_last_(robot_.coordinate_count()) {
  const double feed_limit = robot_.base().feed_limit;
  if (feed_end_ <= 0.0 || feed_end_ > feed_limit) {
    std::ostringstream text;
    text << "path length = " << loose_.length() << " m: must exceed the arm's length of "
         << arm_length_ << " m by more than 0 and at most base.feed = " << feed_limit << " m";
    throw ModelError(text.str());
  }
  const double pull_back = context.settings.number("pull_back");
  if (pull_back > feed_end_) {
    std::ostringstream text;
    text << "pull_back = " << pull_back << ": must be in [0, " << feed_end_ << "]";
    throw ModelError(text.str());
  }
  plan_tight_pose(pull_back);
}

/// The poses at the end of feeding and of tightening, computed by kinematics alone.
void CoilController::plan_tight_pose(double pull_back) {
  const auto loose = [&](double s) { return loose_.position(s); };
  ShapeFit fit(robot_, {.iterations = FeedDrive::kFitSteps});
  std::copy(robot_.straight().begin(), robot_.straight().end(), states_.begin());
  for (double feed = 0.0; feed < feed_end_; feed += kPlanStep)
    fit.fit(loose, {.feed = feed, .spin = 0.0}, states_);
  fit.fit(loose, {.feed = feed_end_, .spin = 0.0}, states_);
  to_coordinates(robot_, states_, q_loose_);
  tight_feed_ = feed_end_ - pull_back;
  for (int k = 1; k <= kTightenSteps; ++k) {
    const double fraction = static_cast<double>(k) / kTightenSteps;
    const auto between = [&](double s) -> Eigen::Vector3d {
      return (1.0 - fraction) * loose_.position(s) + fraction * tight_.position(s);
    };
    fit.fit(between, {.feed = feed_end_ - fraction * pull_back, .spin = 0.0}, states_);
  }
  to_coordinates(robot_, states_, q_tight_);
  tight_tip_ = tip_pose(robot_, states_, {.feed = tight_feed_, .spin = 0.0}).translation();
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
  Eigen::Vector3d goal = Eigen::Vector3d::Zero();  // of the tip
  bool feeding = true;                             // the tip integral of all sections is active
  bool pressing = false;
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
      const Smooth fraction = smooth(time / tighten_time_);
      command.q = q_loose_ + fraction.value * (q_tight_ - q_loose_);
      command.q_rate = fraction.rate / tighten_time_ * (q_tight_ - q_loose_);
      command.base.feed = feed_end_ + fraction.value * (tight_feed_ - feed_end_);
      command.feed_rate = fraction.rate / tighten_time_ * (tight_feed_ - feed_end_);
      feed_(next_memory) = command.base.feed;
      feeding = false;
      progress = 0.5 + 0.25 * fraction.value;
      if (time >= tighten_time_) next_stage(Stage::Press);
      break;
    }
    case Stage::Press:
    case Stage::Hold: {
      command.q = q_tight_;
      command.base.feed = tight_feed_;
      feeding = false;
      pressing = true;
      const double fraction = stage == Stage::Hold ? 1.0 : smooth(time / press_time_).value;
      goal = tight_tip_ + fraction * press_;
      progress = 0.75 + 0.25 * fraction;
      if (stage == Stage::Press && time >= press_time_) next_stage(Stage::Hold);
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

  report.status = stage == Stage::Hold ? ControllerStatus::Finished : ControllerStatus::Working;
  report.arrived = stage == Stage::Feed || stage == Stage::Hold;
  report.deviation = error.head<3>().norm() / arm_length_;
  report.tip_error = error.head<3>().norm();
  report.progress = progress;
  report.target = goal;
}

int CoilController::path(std::span<const double> memory,
                         std::span<Eigen::Vector3d> points) const noexcept {
  const bool tight = stage_(memory) >= Stage::Tighten;
  const Path& curve = tight ? tight_ : loose_;
  const auto count = points.size();
  for (std::size_t i = 0; i < count; ++i)
    points[i] =
        curve.position(curve.length() * static_cast<double>(i) / static_cast<double>(count - 1));
  return static_cast<int>(count);
}

}  // namespace tendril
