#include "apps/host/experiment/motion.hpp"

#include <fmt/format.h>

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "tendril/model_error.hpp"
#include "tendril/path/smooth_step.hpp"

namespace tendril::host {
namespace {

constexpr double kLargest = 1e6;  // m, s, Hz: beyond this it is a mistake

using Field = Eigen::Vector3d Motion::*;
using Number = double Motion::*;

struct VectorField {
  const char* name;
  Field member;
};
constexpr VectorField kVectors[] = {{"amplitude", &Motion::amplitude},
                                    {"frequency", &Motion::frequency},
                                    {"phase", &Motion::phase},
                                    {"normal", &Motion::normal}};
struct NumberField {
  const char* name;
  Number member;
};
constexpr NumberField kNumbers[] = {{"start", &Motion::start},
                                    {"radius", &Motion::radius},
                                    {"speed", &Motion::speed},
                                    {"start_after", &Motion::start_after}};

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
    const double angle = turn(time);
    return middle + radius * (std::cos(angle) * e1 + std::sin(angle) * e2);
  }
  const Leg now = leg(time);
  return points[now.from] + now.part * (points[now.to] - points[now.from]);
}

Eigen::Quaterniond Motion::orientation(double time, const Eigen::Quaterniond& home) const noexcept {
  if (turns) return Eigen::AngleAxisd(turn(time), normal.normalized()) * home;
  if (orientations.empty()) return home;
  const Leg now = leg(time);
  return orientations[now.from].slerp(now.part, orientations[now.to]);
}

double Motion::turn(double time) const noexcept {
  return speed / radius * std::max(0.0, time - start_after);
}

Motion::Leg Motion::leg(double time) const noexcept {
  const auto next = std::upper_bound(times.begin(), times.end(), time);
  if (next == times.begin()) return {0, 0, 0.0};
  const auto i = static_cast<std::size_t>(next - times.begin());
  if (next == times.end() || interpolation == Interpolation::Step) return {i - 1, i - 1, 0.0};
  const double s = (time - times[i - 1]) / (times[i] - times[i - 1]);
  return {i - 1, i, interpolation == Interpolation::Smooth ? smooth_step(s).value : s};
}

bool Motion::apply(const Setting& setting) {
  const std::string key = setting.key.substr(std::string("motion.").size());
  const std::size_t dot = key.rfind('.');
  if (dot == std::string::npos) refuse(setting, "must be motion.<body>.<field>");
  if (!matches(key.substr(0, dot), body)) return false;
  const std::string field = key.substr(dot + 1);
  const auto vector = [&] {
    const auto n = setting_numbers(setting, 3, 3, "must be three finite numbers");
    return Eigen::Vector3d(n[0], n[1], n[2]);
  };
  bool known = false;
  if (field == "center") {
    center = vector();
    known = true;
  }
  for (const VectorField& f : kVectors) {
    if (field != f.name) continue;
    this->*f.member = vector();
    known = true;
  }
  for (const NumberField& f : kNumbers) {
    if (field != f.name) continue;
    this->*f.member = setting_number(setting, -kLargest, kLargest, "must be a finite number");
    known = true;
  }
  if (!known) {
    refuse(setting,
           "the field must be center, amplitude, frequency, phase, start, radius, normal, speed or "
           "start_after");
  }
  if (const std::string why = problem(); !why.empty()) refuse(setting, why);
  return true;
}

std::string Motion::problem() const {
  for (const VectorField& f : kVectors) {
    if (!((this->*f.member).array().abs() <= kLargest).all()) {
      return fmt::format("{}: must be finite", f.name);
    }
  }
  for (const NumberField& f : kNumbers) {
    if (!(std::abs(this->*f.member) <= kLargest)) {
      return fmt::format("{}: {}: must be finite", f.name, this->*f.member);
    }
  }
  if (kind == MotionKind::Circle) {
    if (!(radius > 0.0)) return fmt::format("radius: {}: must be > 0", radius);
    if (!(normal.norm() > 1e-9)) return "normal: must not be zero";
  }
  if (kind == MotionKind::Waypoints) {
    if (points.empty()) return "points: must have at least one point";
    if (times.size() != points.size()) {
      return fmt::format("times: {} of them: must be as many as points ({})", times.size(),
                         points.size());
    }
    if (!orientations.empty() && orientations.size() != points.size()) {
      return fmt::format("angles_deg: {} of them: must be as many as points ({})",
                         orientations.size(), points.size());
    }
    for (std::size_t i = 1; i < times.size(); ++i) {
      if (!(times[i] > times[i - 1])) {
        return fmt::format("times: {} after {}: must increase", times[i], times[i - 1]);
      }
    }
  }
  return {};
}

MotionSet::MotionSet(const mjModel& model, std::span<const Motion> motions) {
  for (const Motion& motion : motions) {
    const int body = mj_name2id(&model, mjOBJ_BODY, motion.body.c_str());
    if (body < 0) {
      throw ModelError(
          fmt::format("motion: body: {}: must be a mocap body of the scene; there is no such body",
                      motion.body));
    }
    const int mocap = model.body_mocapid[body];
    if (mocap < 0) {
      throw ModelError(fmt::format(
          "motion: body: {}: must be a mocap body of the scene; add mocap=\"true\" to it",
          motion.body));
    }
    if (std::any_of(bound_.begin(), bound_.end(),
                    [&](const Bound& b) { return b.mocap == mocap; })) {
      throw ModelError(
          fmt::format("motion: body: {}: is moved twice, one motion per body", motion.body));
    }
    const mjtNum* q = model.body_quat + 4 * body;
    bound_.push_back({motion, mocap, Eigen::Vector3d(model.body_pos + 3 * body),
                      Eigen::Quaterniond(q[0], q[1], q[2], q[3])});
  }
}

void MotionSet::apply(mjData& data, double time) const noexcept {
  for (const Bound& b : bound_) {
    Eigen::Map<Eigen::Vector3d>(data.mocap_pos + 3 * b.mocap) = b.motion.position(time, b.home);
    if (!b.motion.moves_orientation()) continue;
    const Eigen::Quaterniond q = b.motion.orientation(time, b.home_orientation);
    mjtNum* out = data.mocap_quat + 4 * b.mocap;
    out[0] = q.w();
    out[1] = q.x();
    out[2] = q.y();
    out[3] = q.z();
  }
}

}  // namespace tendril::host
