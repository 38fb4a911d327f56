#include "tendril/path/advance.hpp"

#include <algorithm>

namespace tendril {

Advance::Advance(const ContinuumRobot& robot, Growth growth) : robot_(robot), order_(growth) {
  for (int i = 0; i < robot_.section_count(); ++i) {
    const Section& section = robot_.section(i);
    start_length_ += section.length();
    if (order_ == Growth::None) {
      start_length_ += robot_.straight()[static_cast<std::size_t>(i)].extension;
    } else {
      start_length_ += section.retracted();
      growth_ += section.variable_length() - section.retracted();
    }
  }
}

double Advance::limit() const noexcept { return robot_.base().feed_limit + growth_; }

BaseState Advance::base(double advance) const noexcept {
  return {.feed = std::min(advance, robot_.base().feed_limit), .spin = 0.0};
}

BaseState Advance::apply(double advance, std::span<SectionState> states) const noexcept {
  const BaseState base_there = base(advance);
  double growth = advance - base_there.feed;
  const int count = robot_.section_count();
  for (int k = 0; k < count; ++k) {
    const int i = order_ == Growth::FromTip ? count - 1 - k : k;
    SectionState& state = states[static_cast<std::size_t>(i)];
    if (order_ == Growth::None) {
      state.extension = robot_.straight()[static_cast<std::size_t>(i)].extension;
      continue;
    }
    const Section& section = robot_.section(i);
    const double grown = std::clamp(growth, 0.0, section.variable_length() - section.retracted());
    growth -= grown;
    state.extension = section.retracted() + grown;
    state = robot_.clamped(i, state);
  }
  return base_there;
}

double Advance::measured(const BaseState& base,
                         const Eigen::Ref<const Eigen::VectorXd>& q) const noexcept {
  double advance = base.feed;
  if (order_ == Growth::None) return advance;
  for (int i = 0; i < robot_.section_count(); ++i)
    if (robot_.section(i).is_extensible())
      advance += q[robot_.coordinate_index(i) + 2] - robot_.section(i).retracted();
  return advance;
}

}  // namespace tendril
