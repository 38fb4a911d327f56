#include "binding/sensed_mobile.hpp"

#include <algorithm>
#include <cmath>

#include "tendril/model_error.hpp"

namespace tendril {

using Eigen::Vector3d;

namespace {

// Deviation of an acceleration, of its limit: robots accelerate for a part of the time.
constexpr double kAccelerating = 1.0 / 3.0;
constexpr int kPlane = 2, kPlatform = 3;  // joints: x, y; and heading

void require_encoders(const SensedMobile::Parameters& parameters) {
  for (std::size_t j = 0; j < parameters.joints.size(); ++j)
    if (!parameters.observations.encoders[j])
      throw ModelError("measured = sensors: the robot file has no " +
                       (j < kPlatform ? std::string("platform_pose")
                                      : "joint_encoder of " + parameters.joints[j]) +
                       ": must be \"truth\"");
}

}  // namespace

SensedMobile::Memory::Memory(int joints) : began(layout.flag()) {
  const auto filter = [&](int count) {
    return layout.part(JointFilter(std::vector(static_cast<std::size_t>(count), 1.0)).layout());
  };
  platform = filter(kPlane);
  heading = filter(1);
  arm = filter(joints - kPlatform);
}

SensedMobile::SensedMobile(Parameters parameters)
    : parameters_((require_encoders(parameters), std::move(parameters))),
      memory_(static_cast<int>(parameters_.joints.size())),
      values_(parameters_.joints.size()) {
  const auto add = [&](int first, int end, double acceleration, Block memory) {
    std::vector<double> deviations;
    for (int j = first; j < end; ++j)
      deviations.push_back(
          parameters_.observations.encoders[static_cast<std::size_t>(j)]->deviation);
    groups_.push_back(
        {JointFilter(std::move(deviations), {.timestep = parameters_.timestep,
                                             .acceleration = kAccelerating * acceleration}),
         first, memory});
    for (int j = first; j < end; ++j)
      to_now_.push_back(JointFilter::transition(
          parameters_.observations.encoders[static_cast<std::size_t>(j)]->delay,
          groups_.back().filter.options()));
  };
  const MobileSpeedLimits& limits = parameters_.limits;
  add(0, kPlane, limits.platform_acceleration, memory_.platform);
  add(kPlane, kPlatform, limits.turn_acceleration, memory_.heading);
  add(kPlatform, static_cast<int>(values_.size()), limits.joint_acceleration, memory_.arm);
  state_.joints.resize(values_.size());
}

void SensedMobile::read_positions(std::span<const double> readings, std::span<const bool> arrived,
                                  std::span<JointState> states) noexcept {
  parameters_.observations.collect(readings, arrived, values_);
  for (std::size_t j = 0; j < values_.size(); ++j)
    if (std::isfinite(values_[j])) states[j].position = values_[j];
}

void SensedMobile::sense(std::span<const double> readings, std::span<const bool> arrived,
                         std::span<double> next, const Eigen::Isometry3d& X_WB,
                         std::span<JointState> states, Eigen::Isometry3d& X_BE) noexcept {
  const auto part = [](const Group& group) {
    return std::pair{static_cast<std::size_t>(group.first),
                     static_cast<std::size_t>(group.filter.count())};
  };
  const auto values = std::span(values_);
  if (!memory_.began(next)) {
    memory_.began(next) = true;
    for (std::size_t j = 0; j < values.size(); ++j) values[j] = states[j].position;
    for (const Group& group : groups_) {
      const auto [first, count] = part(group);
      group.filter.start(group.memory(next), values.subspan(first, count));
    }
  }
  parameters_.observations.collect(readings, arrived, values_);
  for (const Group& group : groups_) {
    const auto [first, count] = part(group);
    (void)group.filter.step(group.memory(next), values.subspan(first, count));
    for (std::size_t k = 0; k < count; ++k) {
      const Vector3d x =
          to_now_[first + k] * group.filter.state(group.memory(next), static_cast<int>(k));
      states[first + k].position = x[0];
      states[first + k].velocity = x[1];
    }
  }
  if (!parameters_.chain) return;
  std::ranges::copy(states, state_.joints.begin());
  state_.p_WB = X_WB.translation();
  state_.R_WB = X_WB.linear();
  parameters_.chain->place(state_);
  std::ranges::copy(state_.joints, states.begin());
  X_BE.linear().noalias() = X_WB.linear().transpose() * state_.R_WE;
  X_BE.translation().noalias() = X_WB.linear().transpose() * (state_.p_WE - X_WB.translation());
}

}  // namespace tendril
