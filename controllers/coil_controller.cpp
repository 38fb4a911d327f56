#include "controllers/coil_controller.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "controllers/arm_memory.hpp"
#include "tendril/kinematics/forward_kinematics.hpp"
#include "tendril/model_error.hpp"

namespace tendril {
namespace {

// Memory layout.
enum Slot : std::size_t { kStage, kStageTime, kFeed, kSpeed, kStates };

constexpr int kFitSteps = 2;         // Gauss-Newton steps of the warm-started fit in one step
constexpr double kPlanStep = 0.002;  // [m] of feed, when the end poses are planned
constexpr int kTightenSteps = 20;    // from the loose to the tight winding, when planned
constexpr int kSlowDowns = 4;        // tries to find a feed step that keeps the rate limit

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
  winding.cylinder_radius =
      settings.number("cylinder_radius", 0.03, {.low = 0.0, .open_low = true});
  winding.angle = settings.number("winding", 5.24, {.low = 0.0, .high = 60.0, .open_low = true});
  winding.exit_length =
      settings.number("exit_length", 0.15, {.low = 0.0, .high = 100.0, .open_low = true});
  return winding;
}

/// The winding drawn in to where the body's middle line is `tight_radius` from the post's axis.
Path read_tight_path(const Settings& settings, const Winding& winding) {
  const double loose = winding_radius(winding);
  const double radius =
      settings.number("tight_radius", loose, {.low = winding.cylinder_radius, .open_low = true});
  if (radius > loose) {
    std::ostringstream text;
    text << "tight_radius = " << radius << ": must be at most " << loose
         << " m, the distance of the post's axis from the feed axis";
    throw ModelError(text.str());
  }
  return winding_path(winding, radius);
}

TipIntegralOptions press_options(const ControllerContext& context) {
  TipIntegralOptions options = read_tip_integral(context.settings, context.timestep);
  const int sections = context.robot.section_count();
  options.gain = context.settings.number("press_gain", 5.0, {.low = 0.0, .high = 100.0});
  options.damping =
      context.settings.number("press_damping", 0.02, {.low = 0.0, .high = 1.0, .open_low = true});
  options.correction_limit =
      context.settings.number("press_limit", 0.3, {.low = 0.0, .high = 3.0, .open_low = true});
  options.first_section = sections - static_cast<int>(context.settings.number(
                                         "press_sections", std::min(2, sections),
                                         {.low = 1.0, .high = static_cast<double>(sections)}));
  return options;
}

double straight_length(const ContinuumRobot& robot) {
  double length = 0.0;
  for (int i = 0; i < robot.section_count(); ++i)
    length += robot.section(i).length() + robot.straight()[static_cast<std::size_t>(i)].extension;
  return length;
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
      {"cylinder_point", "m", "", "a point of the post's axis, in the arm's base frame"},
      {"cylinder_axis", "", "", "direction of the post's axis along which the winding rises"},
      {"cylinder_radius", "m", "0.03", "of the post"},
      {"winding", "rad", "5.24", "angle of the winding"},
      {"exit_length", "m", "0.15", "straight end of the path beyond the winding"},
      {"tight_radius", "m", "",
       "distance of the body's middle line from the post's axis when drawn tight; default: not "
       "drawn tight"},
      {"pull_back", "m", "0.03", "by how much the base goes back while the arm is drawn tight"},
      {"tighten_time", "s", "1.5", "duration of drawing tight"},
      {"press", "m", "0 0 0", "by how much the tip's goal moves then, in the arm's base frame"},
      {"press_time", "s", "2", "duration of that move"},
      {"press_sections", "", "2", "so many last sections press"},
      {"press_gain", "1/s", "5", "gain of their integral action on the measured tip"},
      {"press_damping", "m", "0.02", "damping of their inverse of the tip Jacobian"},
      {"press_limit", "rad", "0.3", "largest correction of their commands"},
      {"speed", "m/s", "0.08", "of the feed along the path"},
      {"acceleration", "m/s^2", "0.2", "of the feed"},
      {"rate_limit", "rad/s", "3",
       "fastest bend change of a section while feeding; the feed slows down to keep it"},
      {"start_delay", "s", "1", "the arm comes to rest for this time before it is fed"},
  };
  static const std::vector<SettingInfo> kAll = joined(kOwn, tip_integral_settings());
  return kAll;
}

CoilController::CoilController(const ControllerContext& context)
    : robot_(context.robot),
      arm_length_(straight_length(robot_)),
      speed_(context.settings.number("speed", 0.08, {.low = 0.0, .high = 10.0, .open_low = true})),
      acceleration_(context.settings.number("acceleration", 0.2,
                                            {.low = 0.0, .high = 1000.0, .open_low = true})),
      rate_limit_(context.settings.number("rate_limit", 3.0,
                                          {.low = 0.0, .high = 1000.0, .open_low = true})),
      start_delay_(context.settings.number("start_delay", 1.0, {.low = 0.0})),
      tighten_time_(context.settings.number("tighten_time", 1.5, {.low = 0.01, .high = 1000.0})),
      press_time_(context.settings.number("press_time", 2.0, {.low = 0.01, .high = 1000.0})),
      press_(read_vector(context.settings, "press", Eigen::Vector3d::Zero())),
      loose_(winding_path(read_winding(context.settings))),
      tight_(read_tight_path(context.settings, read_winding(context.settings))),
      feed_end_(loose_.length() - arm_length_),
      tight_feed_(0.0),
      fit_(robot_, {.iterations = kFitSteps}),
      integral_(robot_, read_tip_integral(context.settings, context.timestep), context.timestep),
      press_integral_(robot_, press_options(context), context.timestep),
      q_loose_(robot_.coordinate_count()),
      q_tight_(robot_.coordinate_count()),
      states_(static_cast<std::size_t>(robot_.section_count())),
      candidate_(states_.size()),
      q_last_(robot_.coordinate_count()),
      q_candidate_(robot_.coordinate_count()) {
  const double feed_limit = robot_.base().feed_limit;
  if (feed_end_ <= 0.0 || feed_end_ > feed_limit) {
    std::ostringstream text;
    text << "path length = " << loose_.length() << " m: must exceed the arm's length of "
         << arm_length_ << " m by more than 0 and at most base.feed = " << feed_limit << " m";
    throw ModelError(text.str());
  }
  plan_tight_pose(context.settings.number("pull_back", 0.03, {.low = 0.0, .high = feed_end_}));
}

/// Feeds the arm along the loose winding and draws it tight, without physics: the two end poses.
void CoilController::plan_tight_pose(double pull_back) {
  const auto loose = [&](double s) { return loose_.position(s); };
  std::copy(robot_.straight().begin(), robot_.straight().end(), states_.begin());
  for (double feed = 0.0; feed < feed_end_; feed += kPlanStep)
    fit_.fit(loose, {.feed = feed, .spin = 0.0}, states_);
  fit_.fit(loose, {.feed = feed_end_, .spin = 0.0}, states_);
  to_coordinates(robot_, states_, q_loose_);
  tight_feed_ = feed_end_ - pull_back;
  for (int k = 1; k <= kTightenSteps; ++k) {
    const double share = static_cast<double>(k) / kTightenSteps;
    const auto between = [&](double s) -> Eigen::Vector3d {
      return (1.0 - share) * loose_.position(s) + share * tight_.position(s);
    };
    fit_.fit(between, {.feed = feed_end_ - share * pull_back, .spin = 0.0}, states_);
  }
  to_coordinates(robot_, states_, q_tight_);
  tight_tip_ = tip_pose(robot_, states_, {.feed = tight_feed_, .spin = 0.0}).translation();
}

int CoilController::memory_size() const noexcept {
  return static_cast<int>(kStates) + 3 * robot_.section_count() + integral_.memory_size() +
         press_integral_.memory_size();
}

void CoilController::reset(std::span<double> memory) const noexcept {
  std::fill(memory.begin(), memory.end(), 0.0);
  store_states(robot_.straight(), memory.subspan(kStates));
}

/// One step along the loose winding, slowed down until no section bends faster than its limit.
void CoilController::feed(const ArmMeasurement& measurement, std::span<const double> memory,
                          std::span<double> next_memory, ArmCommand& command) noexcept {
  const double h = measurement.timestep;
  const double feed_last = memory[kFeed];
  load_states(memory.subspan(kStates), states_);
  to_coordinates(robot_, states_, q_last_);
  const double remaining = feed_end_ - feed_last;
  double speed = std::min({speed_, memory[kSpeed] + acceleration_ * h,
                           std::sqrt(2.0 * acceleration_ * remaining), remaining / h});
  BaseState base{.feed = feed_last, .spin = 0.0};
  double ratio = 0.0;
  const auto loose = [&](double s) { return loose_.position(s); };
  for (int attempt = 0; attempt < kSlowDowns; ++attempt) {
    base.feed = feed_last + speed * h;
    std::copy(states_.begin(), states_.end(), candidate_.begin());
    fit_.fit(loose, base, candidate_);
    to_coordinates(robot_, candidate_, q_candidate_);
    ratio = largest_change(robot_, q_candidate_, q_last_, TipIntegral::kLengthScale) /
            (rate_limit_ * h);
    if (ratio <= 1.0) break;
    if (attempt + 1 < kSlowDowns) speed *= 0.9 / ratio;
  }
  if (ratio > 1.0) {  // the fit itself is still on its way: go a part of it, the feed alike
    speed /= ratio;
    base.feed = feed_last + speed * h;
    q_candidate_ = q_last_ + (q_candidate_ - q_last_) / ratio;
    from_coordinates(robot_, q_candidate_, candidate_);
  }
  next_memory[kFeed] = base.feed;
  next_memory[kSpeed] = speed;
  store_states(candidate_, next_memory.subspan(kStates));
  command.q = q_candidate_;
  command.q_rate = (q_candidate_ - q_last_) / h;
  command.base = base;
  command.feed_rate = speed;
}

void CoilController::update(const ArmMeasurement& measurement, std::span<const double> memory,
                            std::span<double> next_memory, ArmCommand& command,
                            ControllerReport& report) noexcept {
  const auto integral_size = static_cast<std::size_t>(integral_.memory_size());
  const std::size_t integral_at = kStates + 3 * states_.size();
  const auto integral_memory = memory.subspan(integral_at, integral_size);
  const auto next_integral_memory = next_memory.subspan(integral_at, integral_size);
  const auto press_memory = memory.subspan(integral_at + integral_size);
  const auto next_press_memory = next_memory.subspan(integral_at + integral_size);

  const auto stage = static_cast<Stage>(static_cast<int>(memory[kStage]));
  const double time = memory[kStageTime];
  next_memory[kStageTime] = time + measurement.timestep;
  const auto next_stage = [&](Stage next) {
    next_memory[kStage] = static_cast<double>(next);
    next_memory[kStageTime] = 0.0;
  };
  Eigen::Vector3d goal = Eigen::Vector3d::Zero();  // of the tip
  bool feeding = true;                             // the first tip integral acts
  bool pressing = false;
  double progress = 0.0;

  switch (stage) {
    case Stage::Settle:
      load_states(memory.subspan(kStates), states_);
      to_coordinates(robot_, states_, command.q);
      if (time >= start_delay_) next_stage(Stage::Feed);
      break;
    case Stage::Feed:
      feed(measurement, memory, next_memory, command);
      report.iterations = kFitSteps;
      progress = 0.5 * command.base.feed / feed_end_;
      if (command.base.feed >= feed_end_) next_stage(Stage::Tighten);
      break;
    case Stage::Tighten: {
      const Smooth share = smooth(time / tighten_time_);
      command.q = q_loose_ + share.value * (q_tight_ - q_loose_);
      command.q_rate = share.rate / tighten_time_ * (q_tight_ - q_loose_);
      command.base.feed = feed_end_ + share.value * (tight_feed_ - feed_end_);
      command.feed_rate = share.rate / tighten_time_ * (tight_feed_ - feed_end_);
      next_memory[kFeed] = command.base.feed;
      feeding = false;
      progress = 0.5 + 0.25 * share.value;
      if (time >= tighten_time_) next_stage(Stage::Press);
      break;
    }
    case Stage::Press:
    case Stage::Hold: {
      command.q = q_tight_;
      command.base.feed = tight_feed_;
      feeding = false;
      pressing = true;
      const double share = stage == Stage::Hold ? 1.0 : smooth(time / press_time_).value;
      goal = tight_tip_ + share * press_;
      progress = 0.75 + 0.25 * share;
      if (stage == Stage::Press && time >= press_time_) next_stage(Stage::Hold);
      break;
    }
  }
  command.plan = command.q;
  if (!pressing) {
    from_coordinates(robot_, command.q, candidate_);
    goal = feeding ? loose_.position(command.base.feed + arm_length_)
                   : tip_pose(robot_, candidate_, command.base).translation();
  }

  // Corrections: while feeding on all sections, then held; while pressing on the last ones.
  Eigen::Matrix<double, 6, 1> error = Eigen::Matrix<double, 6, 1>::Zero();
  error.head<3>() = goal - measurement.X_BE.translation();
  integral_.update(measurement, error, !feeding, integral_memory, next_integral_memory, command.q);
  press_integral_.update(measurement, error, !pressing, press_memory, next_press_memory, command.q);
  integral_.compensate_sag(measurement, command.q);

  report.status = stage == Stage::Hold ? ControllerStatus::Finished : ControllerStatus::Working;
  report.tip_error = error.head<3>().norm();
  report.progress = progress;
  report.target = goal;
}

int CoilController::path(std::span<const double> memory,
                         std::span<Eigen::Vector3d> points) const noexcept {
  const bool tight = static_cast<int>(memory[kStage]) >= static_cast<int>(Stage::Tighten);
  const Path& curve = tight ? tight_ : loose_;
  const auto count = points.size();
  for (std::size_t i = 0; i < count; ++i)
    points[i] =
        curve.position(curve.length() * static_cast<double>(i) / static_cast<double>(count - 1));
  return static_cast<int>(count);
}

}  // namespace tendril
