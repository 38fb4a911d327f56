#include "links/dynamixel/winding.hpp"

#include <algorithm>
#include <cmath>

namespace tendril::dynamixel {
namespace {
constexpr double kSlack = 0.5;       // of the tension: with less a tendon is slack
constexpr double kStill = 1e-5;      // of a tendon that stands: motion in a step [m]
constexpr double kSettled = 0.3;     // so long it stands before it is judged [s]
constexpr double kNear = 0.8;        // of the tolerance: a tendon that near is left alone
constexpr double kPart = 0.8;        // of the way that the secant tells
constexpr double kFirstStep = 5e-5;  // before there is a secant [m]
}  // namespace

Winding::Winding(std::vector<double> tensions, double timestep) : timestep_(timestep) {
  for (const double tension : tensions) tendons_.push_back({.tension = tension});
}

bool Winding::move(Tendon& tendon, const ServoReading& reading) const noexcept {
  const bool stands = std::abs(reading.value - tendon.last) < kStill;
  tendon.stood = stands ? tendon.stood + timestep_ : 0.0;
  tendon.last = reading.value;
  if (reading.force < kSlack * tendon.tension) {
    tendon.command -= timestep_ * kSpeed;
    tendon.stood = 0.0;
    tendon.point.reset();
    return false;
  }
  if (tendon.stood < kSettled) return false;
  const double error = reading.force - tendon.tension;
  const double tolerance = kTolerance * tendon.tension;
  if (std::abs(error) <= kNear * tolerance) return true;
  if (tendon.point && std::abs(reading.value - tendon.point->value) > kStill) {
    const double secant =
        (tendon.point->force - reading.force) / (reading.value - tendon.point->value);
    if (secant > 0.0) tendon.stiffness = secant;
  }
  const double step =
      tendon.stiffness > 0.0 ? kPart * error / tendon.stiffness : std::copysign(kFirstStep, error);
  tendon.command += std::clamp(step, -kLargestStep, kLargestStep);
  tendon.point = Point{reading.value, reading.force};
  tendon.stood = 0.0;
  return std::abs(error) <= tolerance;
}

void Winding::step(std::span<const ServoReading> readings, std::span<double> commands) noexcept {
  bool is_at_rest = true;
  time_ += timestep_;
  for (std::size_t i = 0; i < tendons_.size(); ++i) {
    Tendon& tendon = tendons_[i];
    if (!has_begun_) tendon.begin = tendon.command = tendon.last = readings[i].value;
    const bool has_come = move(tendon, readings[i]);
    commands[i] = tendon.command;
    is_at_rest = is_at_rest && has_come;
    const bool is_late = time_ > kLongest && !has_come;
    if (is_late || tendon.begin - tendon.command > kMostWound) loose_ = i;
  }
  has_begun_ = true;
  rest_ = is_at_rest ? rest_ + timestep_ : 0.0;
  rested_ = is_at_rest ? rested_ + 1 : 0;
  for (std::size_t i = 0; i < tendons_.size(); ++i)
    tendons_[i].sum = is_at_rest ? tendons_[i].sum + readings[i].value : 0.0;
}

std::vector<double> Winding::values() const {
  std::vector<double> values;
  for (const Tendon& tendon : tendons_)
    values.push_back(tendon.sum / static_cast<double>(std::max(1L, rested_)));
  return values;
}

}  // namespace tendril::dynamixel
