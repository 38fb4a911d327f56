#include "tendril/kinematics/continuum_robot.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <utility>

#include "tendril/model_error.hpp"

namespace tendril {
namespace {

/// Bend across the plane of a section that bends in one [rad].
double off_plane(const Section& section, const SectionState& state) noexcept {
  const Eigen::Vector2d bend = bend_vector(state);
  return std::max(section.bends_u() ? 0.0 : std::abs(bend.x()),
                  section.bends_v() ? 0.0 : std::abs(bend.y()));
}

}  // namespace

ContinuumRobot::ContinuumRobot(const std::vector<SectionParameters>& sections,
                               const BaseParameters& base)
    : base_(base) {
  if (sections.empty() || sections.size() > static_cast<std::size_t>(kMaxSections))
    throw ModelError("robot: number of sections = " + std::to_string(sections.size()) +
                     ", must be in [1, " + std::to_string(kMaxSections) + "]");
  if (!std::isfinite(base.feed_limit) || base.feed_limit < 0.0) {
    char number[32];
    std::snprintf(number, sizeof number, "%.9g", base.feed_limit);
    throw ModelError(std::string("base: feed_limit = ") + number + " m, must be finite and >= 0");
  }
  sections_.reserve(sections.size());
  for (const SectionParameters& parameters : sections)
    add(Section(parameters, static_cast<int>(sections_.size()) + 1));
}

void ContinuumRobot::add(Section section) {
  coordinate_index_.push_back(coordinate_count_);
  coordinate_count_ += section.coordinate_count();
  max_length_ += section.max_length();
  if (section.turns()) last_turning_ = static_cast<int>(sections_.size());
  straight_.push_back({.theta = 0.0, .phi = 0.0, .extension = section.variable_length() / 2.0});
  sections_.push_back(std::move(section));
}

ContinuumRobot ContinuumRobot::on_rail() const {
  if (!(base_.feed_limit > 0.0)) return *this;
  ContinuumRobot robot({{.variable_length = base_.feed_limit, .bend_angle_limit = kRailBend}},
                       {.spin = base_.spin});
  robot.straight_.front().extension = 0.0;
  robot.rail_count_ = 1;
  for (const Section& section : sections_) robot.add(section);
  return robot;
}

ContinuumRobot::ContinuumRobot(std::initializer_list<SectionParameters> sections)
    : ContinuumRobot(std::vector<SectionParameters>(sections)) {}

SectionState ContinuumRobot::clamped(int i, SectionState state) const noexcept {
  const Section& s = section(i);
  state.extension = std::clamp(state.extension, 0.0, s.variable_length());  // (2.24)
  state.theta =
      std::clamp(state.theta, 0.0, s.bend_angle_limit_at(state.extension));  // (2.25), (2.26)
  if (s.bend_plane() == BendPlane::Any) return state;
  const Eigen::Vector2d bend = bend_vector(state);
  return state_from_bend_vector(s.bends_u() ? bend.x() : 0.0, s.bends_v() ? bend.y() : 0.0,
                                state.extension, state.phi);
}

bool ContinuumRobot::is_planar() const noexcept {
  return std::all_of(sections_.begin() + rail_count_, sections_.end(),
                     [](const Section& section) { return section.bend_plane() == BendPlane::XZ; });
}

bool ContinuumRobot::bends_in_any_plane() const noexcept {
  return std::all_of(sections_.begin(), sections_.end(),
                     [](const Section& section) { return section.bend_plane() == BendPlane::Any; });
}

bool ContinuumRobot::within_limits(SectionStates states, double tolerance) const noexcept {
  if (states.size() != sections_.size()) return false;
  for (std::size_t i = 0; i < states.size(); ++i) {
    const Section& s = sections_[i];
    const SectionState& state = states[i];
    const double reach = std::clamp(state.extension, 0.0, s.variable_length());
    const bool inside = std::isfinite(state.phi) &&                            //
                        state.extension >= -tolerance &&                       //
                        state.extension <= s.variable_length() + tolerance &&  //
                        state.theta >= -tolerance &&                           //
                        off_plane(s, state) <= tolerance &&                    //
                        state.theta <= s.bend_angle_limit_at(reach) + tolerance;
    if (!inside) return false;  // NaN compares false and ends here too
  }
  return true;
}

}  // namespace tendril
