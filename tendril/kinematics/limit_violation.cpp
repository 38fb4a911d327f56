#include "tendril/kinematics/limit_violation.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace tendril {
namespace {

template <class... Numbers>
std::string text_of(const char* format, Numbers... numbers) {
  char text[160];
  std::snprintf(text, sizeof text, format, numbers...);
  return text;
}

std::string violation_of(const ContinuumRobot& robot, int i, const SectionState& state,
                         double tolerance) {
  const Section& section = robot.section(i);
  const SectionState inside = robot.clamped(i, state);
  if (std::abs(state.extension - inside.extension) > tolerance)
    return text_of("section %d: s = %.6g m, must be in [0, %.6g]", i + 1, state.extension,
                   section.variable_length());
  if (std::abs(state.theta - inside.theta) <= tolerance) return "";
  const double limit = section.bend_angle_limit_at(inside.extension);
  std::string text =
      text_of("section %d: theta = %.6g rad, must be in [0, %.6g]", i + 1, state.theta, limit);
  if (section.is_extensible())
    text += text_of(" at s = %.6g m of %.6g m", inside.extension, section.variable_length());
  return text;
}

}  // namespace

std::string limit_violation(const ContinuumRobot& robot, SectionStates states,
                            const BaseState& base, double tolerance) {
  const double feed_limit = robot.base().feed_limit;
  if (std::abs(base.feed - std::clamp(base.feed, 0.0, feed_limit)) > tolerance)
    return text_of("base: feed = %.6g m, must be in [0, %.6g]", base.feed, feed_limit);
  for (int i = 0; i < robot.section_count(); ++i) {
    std::string text = violation_of(robot, i, states[static_cast<std::size_t>(i)], tolerance);
    if (!text.empty()) return text;
  }
  return "";
}

}  // namespace tendril
