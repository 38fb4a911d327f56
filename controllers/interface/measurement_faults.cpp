#include "controllers/interface/measurement_faults.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "tendril/model_error.hpp"

namespace tendril {
namespace {

template <class Array>
std::span<double> span_of(Array&& numbers) noexcept {
  return {numbers.data(), static_cast<std::size_t>(numbers.size())};
}

std::span<double> position_of(Eigen::Isometry3d& X) noexcept {
  return {X.translation().data(), 3};  // a column of the matrix
}

/// Steps of `time` [s], to the nearest.
double steps_of(double time, double timestep) { return std::round(time / timestep); }

/// Counter of the first draw of a step.
std::uint64_t first_draw(int step) noexcept {
  constexpr std::uint64_t kDrawsPerStep = 65536;
  return kDrawsPerStep * static_cast<std::uint64_t>(step);
}

}  // namespace

std::span<double> channel_numbers(ArmMeasurement& m, FaultChannel channel) noexcept {
  switch (channel) {
    case FaultChannel::Q:
      return span_of(m.q);
    case FaultChannel::Feed:
      return {&m.base.feed, 1};
    case FaultChannel::Tip:
      return position_of(m.X_BE);
    case FaultChannel::Target:
      return position_of(m.X_BG);
    case FaultChannel::Force:
      return {&m.feed_force, 1};
    case FaultChannel::QRate:
      return span_of(m.q_rate);
    case FaultChannel::Moment:
      return span_of(m.moment);
    case FaultChannel::GravityMoment:
      return span_of(m.gravity_moment);
    case FaultChannel::TendonLength:
      return span_of(m.tendon_length);
    case FaultChannel::TendonTension:
      return span_of(m.tendon_tension);
    default:
      return {};
  }
}

std::span<double> channel_numbers(SnakeMeasurement& m, FaultChannel channel) noexcept {
  switch (channel) {
    case FaultChannel::Q:
      return span_of(m.q);
    case FaultChannel::Feed:
      return {&m.feed, 1};
    case FaultChannel::Tip:
      return position_of(m.X_WE);
    case FaultChannel::Target:
      return span_of(m.p_WG);
    case FaultChannel::QRate:
      return span_of(m.q_rate);
    case FaultChannel::Torque:
      return span_of(m.torque);
    case FaultChannel::GravityTorque:
      return span_of(m.gravity_torque);
    default:
      return {};
  }
}

std::span<double> channel_numbers(MobileMeasurement& m, FaultChannel channel) noexcept {
  static_assert(sizeof(PlatformPose) == 3 * sizeof(double));
  switch (channel) {
    case FaultChannel::Q:
      return span_of(m.q);
    case FaultChannel::Base:
      return {&m.base.x, 3};
    case FaultChannel::Tip:
      return position_of(m.X_WE);
    case FaultChannel::Target:
      return position_of(m.X_WG);
    case FaultChannel::QRate:
      return span_of(m.q_velocity);
    case FaultChannel::GravityTorque:
      return span_of(m.gravity_torque);
    case FaultChannel::BaseVelocity:
      return {&m.base_velocity.x, 3};
    default:
      return {};
  }
}

void MeasurementFaults::add(const Fault& fault, std::size_t width, double timestep,
                            std::uint64_t seed) {
  const auto refuse = [&](const std::string& what) {
    throw ModelError(fault.origin + ": fault " + fault.name + ": " + what);
  };
  Entry entry{fault, RandomDraws(seed, "fault." + fault.name), fault.strength, 0, 0.0, 1.0, {}, {},
              {}};
  if (entry.strength.size() == 1) entry.strength.assign(width, fault.strength.front());
  if (!fault.strength.empty() && entry.strength.size() != width) {
    refuse("has a list of " + std::to_string(fault.strength.size()) + " numbers: must have 1 or " +
           std::to_string(width) + ", as many as the channel");
  }
  const auto remember = [&](double samples) {
    const double numbers = samples * static_cast<double>(width);
    if (!(numbers <= static_cast<double>(kMaxMemory))) {
      refuse("would have to remember " + std::to_string(numbers) + " numbers: must be at most " +
             std::to_string(kMaxMemory));
    }
    entry.sample = layout_.numbers(static_cast<std::size_t>(numbers));
  };
  switch (fault.kind) {
    case FaultKind::Noise:
      if (fault.correlation_time > 0.0) {
        entry.keep = std::exp(-timestep / fault.correlation_time);
        entry.renew = std::sqrt(1.0 - entry.keep * entry.keep);
        entry.began = layout_.flag();
        remember(1);
      }
      break;
    case FaultKind::Rate:
      entry.steps = static_cast<int>(std::clamp(steps_of(fault.period, timestep), 1.0, 2e9));
      remember(1);
      break;
    case FaultKind::Dropout:
      entry.steps = static_cast<int>(std::clamp(steps_of(fault.duration, timestep), 1.0, 2e9));
      entry.remaining = layout_.counter();
      remember(1);
      break;
    case FaultKind::Freeze:
      remember(1);
      break;
    case FaultKind::Delay:
      remember(steps_of(fault.time, timestep));
      entry.steps = static_cast<int>(steps_of(fault.time, timestep));
      break;
    default:
      break;
  }
  faults_.push_back(std::move(entry));
}

void MeasurementFaults::sort() {
  const auto stage = [](const Entry& entry) {
    return entry.fault.kind < FaultKind::Quantize ? FaultKind::Noise : entry.fault.kind;
  };
  std::stable_sort(faults_.begin(), faults_.end(), [&](const Entry& a, const Entry& b) {
    return std::pair(a.fault.channel, stage(a)) < std::pair(b.fault.channel, stage(b));
  });
}

bool MeasurementFaults::drops_out(const Entry& entry, const Step& step) noexcept {
  int left = 0;
  if (entry.fault.is_active(step.time)) {
    left = entry.remaining(step.memory);
    const std::uint64_t last = first_draw(step.number + 1) - 1;
    if (left == 0 && entry.draws.uniform(last) < entry.fault.probability) left = entry.steps;
  }
  entry.remaining(step.next) = std::max(0, left - 1);
  return left > 0;
}

bool MeasurementFaults::apply(const Entry& entry, const Step& step, std::span<double> x) noexcept {
  const Fault& fault = entry.fault;
  const bool active = fault.is_active(step.time);
  bool differs = false;
  const auto see = [&](std::size_t i, double value) {
    differs |= value != x[i];
    x[i] = value;
  };
  const auto remember = [&] { std::copy(x.begin(), x.end(), entry.sample(step.next).begin()); };
  switch (fault.kind) {
    case FaultKind::Noise: {
      if (!active) break;
      const std::uint64_t first = first_draw(step.number);
      const bool is_white = entry.keep == 0.0;
      for (std::size_t i = 0; i < x.size(); ++i) {
        if (entry.strength[i] == 0.0) continue;
        double noise = entry.strength[i] * entry.draws.normal(first + RandomDraws::kPerNormal * i);
        if (!is_white) {
          if (entry.began(step.memory))
            noise = entry.keep * entry.sample(step.memory)[i] + entry.renew * noise;
          entry.sample(step.next)[i] = noise;
        }
        see(i, x[i] + noise);
      }
      if (!is_white) entry.began(step.next) = true;
      break;
    }
    case FaultKind::Bias:
      for (std::size_t i = 0; active && i < x.size(); ++i)
        if (entry.strength[i] != 0.0) see(i, x[i] + entry.strength[i]);
      break;
    case FaultKind::Scale:
      for (std::size_t i = 0; active && i < x.size(); ++i) see(i, entry.strength[i] * x[i]);
      break;
    case FaultKind::Drift:
      for (std::size_t i = 0; active && i < x.size(); ++i)
        if (entry.strength[i] != 0.0) see(i, x[i] + entry.strength[i] * (step.time - fault.start));
      break;
    case FaultKind::Quantize:
      for (std::size_t i = 0; active && i < x.size(); ++i)
        see(i, entry.strength[i] * std::floor(x[i] / entry.strength[i] + 0.5));
      break;
    case FaultKind::Rate:
      if (step.number % entry.steps == 0) {
        remember();
      } else if (active) {
        for (std::size_t i = 0; i < x.size(); ++i) see(i, entry.sample(step.memory)[i]);
      }
      break;
    case FaultKind::Dropout:
      if (step.number == 0) remember();
      if (drops_out(entry, step)) {
        const std::span<const double> held = entry.sample(std::span<const double>(step.next));
        for (std::size_t i = 0; i < x.size(); ++i) see(i, fault.gives_zero ? 0.0 : held[i]);
      } else {
        remember();
      }
      break;
    case FaultKind::Freeze:
      if (step.time < fault.start || step.number == 0) {
        remember();
      } else if (active) {
        for (std::size_t i = 0; i < x.size(); ++i) see(i, entry.sample(step.memory)[i]);
      }
      break;
    case FaultKind::Delay: {
      if (entry.steps == 0) break;
      const std::size_t place = static_cast<std::size_t>(step.number % entry.steps) * x.size();
      const std::size_t old = step.number < entry.steps ? 0 : place;
      const std::span<const double> before = entry.sample(step.memory);
      for (std::size_t i = 0; i < x.size(); ++i) {
        const double now = x[i];
        if (active && step.number > 0) see(i, before[old + i]);
        entry.sample(step.next)[place + i] = now;
      }
      break;
    }
    default:
      break;
  }
  return differs;
}

bool MeasurementFaults::apply_to_rotation(const Entry& entry, const Step& step,
                                          Eigen::Isometry3d& X) noexcept {
  const Eigen::AngleAxisd turn(Eigen::Quaterniond(X.linear()));
  Eigen::Vector3d vector = turn.angle() * turn.axis();
  if (!apply(entry, step, {vector.data(), 3})) return false;
  const double angle = vector.norm();
  X.linear() = angle > 0.0 ? Eigen::AngleAxisd(angle, vector / angle).toRotationMatrix()
                           : Eigen::Matrix3d(Eigen::Matrix3d::Identity());
  return true;
}

}  // namespace tendril
