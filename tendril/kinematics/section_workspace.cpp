#include "tendril/kinematics/section_workspace.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <string>
#include <utility>

#include "tendril/kinematics/wrap_angle.hpp"
#include "tendril/model_error.hpp"

namespace tendril {
namespace {

using std::numbers::pi;

constexpr double kFollowStep = pi / 360.0;  // of the bend [rad]
constexpr double kVanishedChord = 1e-9;     // per unit length: its direction is undetermined
constexpr double kTurnTolerance = 1e-6;     // of a chord angle at pi [rad]
constexpr int kFineBends = 4001;            // of the measures
constexpr int kRays = 512;                  // of the measures, between two ends of a branch

/// Bends between which the chord turns one way, by its unsigned angle from the axis.
struct Branch {
  std::vector<double> angle, theta;  // angle ascending

  [[nodiscard]] bool covers(double at) const { return at > angle.front() && at < angle.back(); }
  [[nodiscard]] double bend_at(double at) const {
    const auto above = std::upper_bound(angle.begin(), angle.end(), at);
    const auto i = static_cast<std::size_t>(std::distance(angle.begin(), above));
    const double part = (at - angle[i - 1]) / (angle[i] - angle[i - 1]);
    return theta[i - 1] + part * (theta[i] - theta[i - 1]);
  }
};

/// Angle of the chord from the axis in [0, pi], whichever side it is on.
double unsigned_angle(const Section& section, double theta) {
  return std::abs(wrap_angle(chord(section, theta).angle));
}

std::vector<Branch> branches_of(const Section& section) {
  std::vector<Branch> branches(1);
  int turning = 0;
  double last_theta = 0.0, last_angle = 0.0;
  branches.back() = {{0.0}, {0.0}};
  for (int k = 1; k < kFineBends; ++k) {
    const double theta = section.bend_angle_limit() * k / (kFineBends - 1);
    const double angle = unsigned_angle(section, theta);
    if (angle == last_angle) continue;
    const int turn = angle > last_angle ? 1 : -1;
    if (turning != 0 && turn != turning) branches.push_back({{last_angle}, {last_theta}});
    turning = turn;
    branches.back().angle.push_back(angle);
    branches.back().theta.push_back(theta);
    last_theta = theta;
    last_angle = angle;
  }
  for (Branch& branch : branches) {
    if (branch.angle.front() < branch.angle.back()) continue;
    std::reverse(branch.angle.begin(), branch.angle.end());
    std::reverse(branch.theta.begin(), branch.theta.end());
  }
  return branches;
}

/// Distances from the base that the end reaches along a ray, without overlap.
using Reach = std::vector<std::pair<double, double>>;

Reach reach_along(const Section& section, const std::vector<Branch>& branches, double angle) {
  Reach all;
  for (const Branch& branch : branches) {
    if (!branch.covers(angle)) continue;
    const double theta = branch.bend_at(angle);
    const double ratio = chord(section, theta).ratio;
    const double shortest =
        section.length() + section.variable_length() * theta / section.bend_angle_limit();
    all.emplace_back(ratio * shortest, ratio * section.max_length());
  }
  std::sort(all.begin(), all.end());
  Reach apart;
  for (const auto& [from, to] : all) {
    if (!apart.empty() && from <= apart.back().second) {
      apart.back().second = std::max(apart.back().second, to);
    } else {
      apart.emplace_back(from, to);
    }
  }
  return apart;
}

/// Adds area and volume by rays from the base, in polar coordinates.
void measure_body(const Section& section, SectionWorkspace& workspace) {
  const std::vector<Branch> branches = branches_of(section);
  std::vector<double> ends;
  for (const Branch& branch : branches)
    ends.insert(ends.end(), {branch.angle.front(), branch.angle.back()});
  std::sort(ends.begin(), ends.end());
  for (std::size_t i = 1; i < ends.size(); ++i) {
    const double step = (ends[i] - ends[i - 1]) / kRays;
    for (int k = 0; k < kRays && step > 0.0; ++k) {
      const double angle = ends[i - 1] + (k + 0.5) * step;
      for (const auto& [from, to] : reach_along(section, branches, angle)) {
        workspace.area += step * (to * to - from * from) / 2.0;
        workspace.volume +=
            step * 2.0 * pi * std::sin(angle) * (to * to * to - from * from * from) / 3.0;
      }
    }
  }
}

/// Surface of revolution of the curve of a fixed length, by its chords. (Guldin)
double surface_of(const Section& section) {
  double surface = 0.0;
  Eigen::Vector2d last(0.0, section.length());
  for (int k = 1; k < kFineBends; ++k) {
    const PlanarPoint point = section.end_point(section.bend_angle_limit() * k / (kFineBends - 1));
    const Eigen::Vector2d end = section.length() * Eigen::Vector2d(point.x, point.z);
    surface += pi * (std::abs(last.x()) + std::abs(end.x())) * (end - last).norm();
    last = end;
  }
  return surface;
}

}  // namespace

double followed_chord_angle(const Section& section, double theta) noexcept {
  const double invertible = std::min(theta, section.invertible_bend_angle());
  double angle = chord(section, invertible).angle;
  const int steps = static_cast<int>(std::ceil((theta - invertible) / kFollowStep));
  for (int k = 1; k <= steps; ++k) {
    const Chord next = chord(section, invertible + (theta - invertible) * k / steps);
    if (next.ratio > kVanishedChord) angle += wrap_angle(next.angle - angle);
  }
  return angle;
}

double bend_ratio(const Section& section, double theta) noexcept {
  if (theta == 0.0) return 1.0 / section.small_bend_chord_ratio();
  const double angle = followed_chord_angle(section, theta);
  return angle == 0.0 ? std::numeric_limits<double>::infinity() : theta / angle;
}

std::optional<double> critical_bend_angle(const Section& section) noexcept {
  const double end = section.invertible_bend_angle();
  if (end >= section.bend_angle_limit() || section.invertible_chord_angle() > pi - kTurnTolerance)
    return std::nullopt;
  return end;
}

SectionWorkspace section_workspace(const Section& section, int count) {
  if (count < 2) throw ModelError("workspace: bends = " + std::to_string(count) + ", must be >= 2");
  SectionWorkspace workspace;
  const auto end_at = [&](double theta, double length) -> Eigen::Vector2d {
    const PlanarPoint point = section.end_point(theta);
    return length * Eigen::Vector2d(point.x, point.z);
  };
  for (int k = 0; k < count; ++k) {
    const double theta = section.bend_angle_limit() * k / (count - 1);
    workspace.bends.push_back({.theta = theta,
                               .chord_angle = followed_chord_angle(section, theta),
                               .ratio = bend_ratio(section, theta),
                               .end = end_at(theta, section.max_length())});
    workspace.outline.push_back(workspace.bends.back().end);
  }
  if (!section.is_extensible()) {
    workspace.surface = surface_of(section);
    return workspace;
  }
  for (int k = count - 2; k >= 0; --k) {
    const double part = static_cast<double>(k) / (count - 1);
    workspace.outline.push_back(end_at(section.bend_angle_limit() * part,
                                       section.length() + section.variable_length() * part));
  }
  workspace.outline.push_back(workspace.outline.front());
  measure_body(section, workspace);
  return workspace;
}

}  // namespace tendril
