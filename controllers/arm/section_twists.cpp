#include "controllers/arm/section_twists.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tendril {
namespace {

/// Of the damping of the twist's swing, the rate of the means: they do not excite it.
constexpr double kRateFraction = 0.5;

}  // namespace

SectionTwists::SectionTwists(std::vector<TwistingSection> sections)
    : sections_(std::move(sections)),
      damping_time_(std::numeric_limits<double>::infinity()),
      measured_(sections_.size()),
      by_gravity_(sections_.size()) {
  for (const TwistingSection& section : sections_)
    for (const TwistingSection::Hinge& hinge : section.hinges)
      damping_time_ = std::min(damping_time_, hinge.damping / hinge.stiffness);
}

std::vector<Eigen::Index> SectionTwists::bends() const {
  std::vector<Eigen::Index> bends;
  for (const TwistingSection& section : sections_) bends.push_back(section.bend);
  return bends;
}

TwistState SectionTwists::make_state() const {
  std::size_t count = 0;
  for (const TwistingSection& section : sections_) count += section.hinges.size();
  return {.hinges = std::vector<JointState>(count), .inertias = std::vector<double>(count)};
}

void SectionTwists::twist(double timestep, std::span<double> means, Eigen::Ref<Eigen::VectorXd> q,
                          Eigen::Ref<Eigen::VectorXd> q_rate) const noexcept {
  const double rate = kRateFraction * damping_time_ * swing_frequency_ * swing_frequency_;
  const double part = std::min(1.0, rate * timestep);
  for (std::size_t i = 0; i < sections_.size(); ++i) {
    means[i] += part * (measured_[i] - by_gravity_[i] - means[i]);
    const double angle = by_gravity_[i] + means[i];
    const double c = std::cos(angle), s = std::sin(angle);
    const Eigen::Index k = sections_[i].bend;
    TurnedFrames::rotate(c, -s, q[k], q[k + 1]);
    TurnedFrames::rotate(c, -s, q_rate[k], q_rate[k + 1]);
  }
}

}  // namespace tendril
