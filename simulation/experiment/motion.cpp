#include "simulation/experiment/motion.hpp"

#include <fmt/format.h>

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "tendril/model/toml_fields.hpp"
#include "tendril/model_error.hpp"
#include "tendril/path/smooth_step.hpp"
#include "tendril/renamed.hpp"

namespace tendril::simulation {
namespace {

constexpr Range kNotNegativeMotion{0.0, kMotionRange.high};
constexpr MotionVector kVectors[] = {
    {"amplitude", MotionKind::Lissajous, &Motion::amplitude, kMotionRange},
    {"frequency", MotionKind::Lissajous, &Motion::frequency, kMotionRange},
    {"phase", MotionKind::Lissajous, &Motion::phase, kMotionRange},
    {"normal", MotionKind::Circle, &Motion::normal, kMotionRange}};
constexpr MotionNumber kNumbers[] = {
    {"start", MotionKind::Lissajous, &Motion::start, kNotNegativeMotion},
    {"radius", MotionKind::Circle, &Motion::radius, {0.0, kMotionRange.high, true}},
    {"speed", MotionKind::Circle, &Motion::speed, kMotionRange},
    {"start_after", MotionKind::Circle, &Motion::start_after, kNotNegativeMotion}};

}  // namespace

Eigen::Vector3d Motion::position(double time, const Eigen::Vector3d& home) const noexcept {
  const Eigen::Vector3d middle = center.value_or(home);
  if (kind == MotionKind::Lissajous) {
    const double t = std::max(0.0, time - start);
    const Eigen::Array3d angle = 2.0 * std::numbers::pi * frequency.array() * t + phase.array();
    return middle + (amplitude.array() * angle.sin()).matrix();
  }
  if (kind == MotionKind::Circle) {
    const Eigen::Vector3d n = normal.normalized();
    const Eigen::Vector3d towards =
        std::abs(n.x()) > 1.0 - 1e-9 ? Eigen::Vector3d::UnitY() : Eigen::Vector3d::UnitX();
    const Eigen::Vector3d e1 = (towards - towards.dot(n) * n).normalized();
    const Eigen::Vector3d e2 = n.cross(e1);
    const double angle = circle_angle(time);
    return middle + radius * (std::cos(angle) * e1 + std::sin(angle) * e2);
  }
  if (points.empty()) return middle;  // of an actuator
  const Segment now = segment(time);
  return points[now.from] + now.fraction * (points[now.to] - points[now.from]);
}

Eigen::Quaterniond Motion::orientation(double time, const Eigen::Quaterniond& home) const noexcept {
  if (turns) return Eigen::AngleAxisd(circle_angle(time), normal.normalized()) * home;
  if (orientations.empty()) return home;
  const Segment now = segment(time);
  return orientations[now.from].slerp(now.fraction, orientations[now.to]);
}

double Motion::control(double time) const noexcept {
  const Segment now = segment(time);
  return values[now.from] + now.fraction * (values[now.to] - values[now.from]);
}

double Motion::circle_angle(double time) const noexcept {
  return speed / radius * std::max(0.0, time - start_after);
}

Motion::Segment Motion::segment(double time) const noexcept {
  const auto next = std::upper_bound(times.begin(), times.end(), time);
  if (next == times.begin()) return {0, 0, 0.0};
  const auto i = static_cast<std::size_t>(next - times.begin());
  if (next == times.end() || interpolation == Interpolation::Step) return {i - 1, i - 1, 0.0};
  const double s = (time - times[i - 1]) / (times[i] - times[i - 1]);
  return {i - 1, i, interpolation == Interpolation::Smooth ? smooth_step(s).value : s};
}

std::span<const MotionNumber> motion_numbers() noexcept { return kNumbers; }
std::span<const MotionVector> motion_vectors() noexcept { return kVectors; }

bool Motion::apply(const Setting& setting) {
  const std::string key = setting.key.substr(std::string("motion.").size());
  const std::size_t dot = key.rfind('.');
  if (dot == std::string::npos) refuse(setting, "must be motion.<body>.<field>");
  if (!matches(key.substr(0, dot), actuator.empty() ? body : actuator)) return false;
  const std::string field = key.substr(dot + 1);
  const auto vector = [&](const Range& range, std::span<const double> present) {
    const auto n =
        setting_numbers(resolved(setting, present), 3, 3, "must be three finite numbers");
    for (const double number : n) {
      if (!range.contains(number)) refuse(setting, "each must be " + to_string(range));
    }
    return Eigen::Vector3d(n[0], n[1], n[2]);
  };
  const auto row = [&](const auto& rows) {
    return std::find_if(std::begin(rows), std::end(rows),
                        [&](const auto& r) { return field == r.name; });
  };
  if (field == "center") {
    if (kind == MotionKind::Waypoints) return false;
    center = vector(kMotionRange, center ? std::span<const double>(center->data(), 3)
                                         : std::span<const double>());
  } else if (const auto* v = row(kVectors); v != std::end(kVectors)) {
    if (v->kind != kind) return false;
    this->*v->member = vector(v->range, {(this->*v->member).data(), 3});
  } else if (const auto* n = row(kNumbers); n != std::end(kNumbers)) {
    if (n->kind != kind) return false;
    this->*n->member = setting_number(resolved(setting, {&(this->*n->member), 1}), n->range);
  } else {
    std::vector<std::string_view> names{"center"};
    for (const MotionVector& r : kVectors) names.push_back(r.name);
    for (const MotionNumber& r : kNumbers) names.push_back(r.name);
    refuse(setting,
           fmt::format("the field must be one of: {}{}", joined(names), meant_text(field, names)));
  }
  if (const auto why = problem()) refuse(setting, why->field + " " + why->reason);
  return true;
}

std::optional<Motion::Problem> Motion::problem() const {
  for (const MotionVector& row : kVectors) {
    for (const double number : this->*row.member) {
      if (!row.range.contains(number)) return {{row.name, "each must be " + to_string(row.range)}};
    }
  }
  for (const MotionNumber& row : kNumbers) {
    if (row.member == &Motion::radius && kind != MotionKind::Circle) continue;
    if (!row.range.contains(this->*row.member))
      return {{row.name, "must be " + to_string(row.range)}};
  }
  if (kind == MotionKind::Circle && !(normal.norm() > 1e-9))
    return {{"normal", "must not be zero"}};
  if (kind == MotionKind::Waypoints) {
    const char* const what = actuator.empty() ? "points" : "values";
    const std::size_t count = actuator.empty() ? points.size() : values.size();
    if (count == 0) return {{what, "must not be empty"}};
    if (times.size() != count) {
      return {{"times", fmt::format("has {} numbers, must have as many as there are {}, {}",
                                    times.size(), what, count)}};
    }
    if (!orientations.empty() && orientations.size() != points.size()) {
      return {
          {"angles_deg", fmt::format("has {} entries, must have as many as there are points, {}",
                                     orientations.size(), points.size())}};
    }
    for (std::size_t i = 1; i < times.size(); ++i) {
      if (!(times[i] > times[i - 1]))
        return {{"times", fmt::format("{} after {}: must increase", times[i], times[i - 1])}};
    }
  }
  return std::nullopt;
}

}  // namespace tendril::simulation
