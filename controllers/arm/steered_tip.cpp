#include "controllers/arm/steered_tip.hpp"

#include <algorithm>

#include "tendril/kinematics/forward_kinematics.hpp"

namespace tendril {
namespace {

constexpr int kProjections = 3;  // of a point on the path, from where it was

ContinuumRobot part_of(const ContinuumRobot& robot, int first) {
  std::vector<SectionParameters> sections;
  for (int i = first; i < robot.section_count(); ++i)
    sections.push_back(robot.section(i).parameters());
  return ContinuumRobot(sections);
}

}  // namespace

double nearest_on(const Path& path, const Eigen::Vector3d& point, double from) noexcept {
  double s = from;
  for (int i = 0; i < kProjections; ++i)
    s = std::clamp(s + path.tangent(s).dot(point - path.position(s)), 0.0, path.length());
  return s;
}

SteeredTip::SteeredTip(const ContinuumRobot& robot, int first, double rate_limit, FitNorm norm)
    : sections_(part_of(robot, first)),
      length_(straight_length(sections_)),
      rate_limit_(rate_limit),
      fit_(sections_, {.iterations = kFitSteps, .norm = norm}),
      states_(static_cast<std::size_t>(sections_.section_count())),
      q_(sections_.coordinate_count()),
      q_last_(sections_.coordinate_count()) {}

void SteeredTip::locate(const ArmMeasurement& measurement) noexcept {
  q_ = measurement.q.tail(q_.size());
  from_coordinates(sections_, q_, states_);
  X_BS_ = measurement.X_BE * Eigen::AngleAxisd(-measurement.tip_twist, Eigen::Vector3d::UnitZ()) *
          tip_pose(sections_, states_, {}).inverse();
}

/// Commands q_ as far as the rate limit allows, and stores its states.
double SteeredTip::command_bends(const ArmMeasurement& measurement, std::span<double> next,
                                 ArmCommand& command) noexcept {
  const double h = measurement.timestep;
  const double lag = largest_change(sections_, q_, q_last_, TipIntegral::kLengthScale);
  const double ratio = lag / (rate_limit_ * h);
  if (ratio > 1.0) {
    q_ = q_last_ + (q_ - q_last_) / ratio;
    from_coordinates(sections_, q_, states_);
  }
  store_states(states_, states_memory_(next));
  command.q = measurement.q;  // passive sections take no command
  command.q.tail(q_.size()) = q_;
  command.q_rate.tail(q_.size()) = (q_ - q_last_) / h;
  command.has_plan = false;  // passive sections have shapes that constant curvature does not have
  return lag;
}

}  // namespace tendril
