#include "tendril/avoidance/avoidance.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include "tendril/contact/planar_arc.hpp"

namespace tendril {
namespace {

using Eigen::Vector3d;

constexpr int kMaxObstacles = 60;      // passed in one direction
constexpr int kHalvings = 40;          // of a bracket of bends
constexpr double kSweep = 0.02;        // [rad], step where there is no tangency to go to
constexpr double kBeyondTouch = 1e-6;  // [m] by which the radius is inflated for the far end
constexpr double kSame = 1e-12;        // [m] a smaller difference counts as none

/// One section whose bend is sought.
class Sweep {
 public:
  Sweep(const Section& section, const SectionFrame& frame, const Obstacles& obstacles,
        double safety_distance, std::span<BodyArc> arcs) noexcept
      : section_(section),
        frame_(frame),
        obstacles_(obstacles),
        safety_distance_(safety_distance),
        arcs_(arcs) {}

  void bend(double theta, double length) noexcept {
    place_section_arcs(section_, frame_.start, frame_.tangent, frame_.side, theta, length, arcs_);
  }
  [[nodiscard]] bool is_free(double theta, double length) noexcept {
    bend(theta, length);
    return obstacles_.nearest(arcs_, {.below = safety_distance_ - kTouchDistance}).obstacle < 0;
  }

  /// The first free bend on side g of `theta`, at constant length.
  [[nodiscard]] std::optional<double> first_free(double theta, double length, double limit,
                                                 int g) noexcept {
    for (int i = 0; i < kMaxObstacles; ++i) {
      if (is_free(theta, length)) return theta;
      const Clearance deepest = obstacles_.nearest(arcs_);
      const auto past = far_end(deepest.obstacle, theta, length, limit, g);
      if (!past) return std::nullopt;
      double colliding = theta, free = *past;
      for (int k = 0; k < kHalvings; ++k) {
        const double middle = 0.5 * (colliding + free);
        (clears(deepest.obstacle, middle, length) ? free : colliding) = middle;
      }
      theta = free;
      if (std::abs(theta) > limit) return std::nullopt;
    }
    return std::nullopt;
  }

 private:
  [[nodiscard]] bool clears(int obstacle, double theta, double length) noexcept {
    bend(theta, length);
    return obstacles_.nearest_of(obstacle, arcs_, {.below = safety_distance_}).obstacle < 0;
  }

  /// A bend on side g of `theta` that clears the obstacle.
  [[nodiscard]] std::optional<double> far_end(int obstacle, double theta, double length,
                                              double limit, int g) noexcept {
    const auto sphere = obstacles_.sphere(obstacle);
    if (sphere && arcs_.size() == 1) {
      bend(theta, length);
      auto disc = disc_in_plane(arcs_[0], sphere->center, sphere->radius + safety_distance_);
      if (!disc) return std::nullopt;
      disc->radius += kBeyondTouch;
      const auto curvature = tangency_curvature({}, {disc->x, disc->z}, disc->radius,
                                                g > 0 ? BodySide::Negative : BodySide::Positive);
      if (!curvature || !(g * (*curvature * length - theta) > 0.0)) return std::nullopt;
      return *curvature * length;
    }
    for (double past = theta + g * kSweep; std::abs(past) <= limit + kSweep; past += g * kSweep) {
      if (clears(obstacle, past, length)) return past;
    }
    return std::nullopt;
  }

  const Section& section_;
  const SectionFrame& frame_;
  const Obstacles& obstacles_;
  double safety_distance_;
  std::span<BodyArc> arcs_;
};

}  // namespace

std::optional<PlaneDisc> disc_in_plane(const BodyArc& arc, const Vector3d& center,
                                       double inflated_radius) noexcept {
  const Vector3d d = center - arc.start;
  const double y = d.dot(arc.tangent.cross(arc.side));
  const double squared = inflated_radius * inflated_radius - y * y;
  if (!(squared > 0.0) && !(squared == 0.0 && inflated_radius == 0.0)) return std::nullopt;
  return PlaneDisc{d.dot(arc.side), d.dot(arc.tangent), std::sqrt(squared)};
}

PlaneBend avoid(const Section& section, const SectionFrame& frame, const PlaneBend& desired,
                const Vector3d& goal, const Obstacles& obstacles, double safety_distance,
                std::span<BodyArc> arcs) noexcept {
  assert(arcs.size() == section.length_weights().size());
  Sweep sweep(section, frame, obstacles, safety_distance, arcs);
  const double length = section.length() + desired.extension;
  if (sweep.is_free(desired.theta, length))
    return {desired.theta, desired.extension, AvoidStatus::Free};

  const double limit = section.bend_angle_limit_at(desired.extension);
  PlaneBend best{desired.theta, desired.extension, AvoidStatus::Blocked};
  double best_miss = std::numeric_limits<double>::infinity(), best_change = best_miss;
  for (const int g : {+1, -1}) {
    const auto theta = sweep.first_free(desired.theta, length, limit, g);
    if (!theta) continue;
    PlaneBend candidate{*theta, desired.extension, AvoidStatus::Corrected};
    if (section.is_extensible() && arcs.size() == 1 && length > 0.0) {
      // The same curvature with the length that brings the end nearest to the goal.
      const double curvature = *theta / length;
      sweep.bend(curvature * section.max_length(), section.max_length());
      const double slope = section.bend_angle_limit() / section.variable_length();
      const double room = slope - std::abs(curvature);
      const double shortest = room > 0.0 ? slope * section.length() / room : section.max_length();
      const double fitted = std::clamp(nearest_arc_length(arcs[0], goal),
                                       std::clamp(shortest, section.length(), section.max_length()),
                                       section.max_length());
      const double extension =
          std::clamp(fitted - section.length(), 0.0, section.variable_length());
      const double bend = curvature * fitted;
      if (std::abs(bend) <= section.bend_angle_limit_at(extension) + 1e-12 &&
          sweep.is_free(bend, fitted))
        candidate = {bend, extension, AvoidStatus::Corrected};
    }
    sweep.bend(candidate.theta, section.length() + candidate.extension);
    const double miss = (arcs.back().end() - goal).norm();
    const double change = std::abs(*theta - desired.theta);
    const bool is_better =
        miss < best_miss - kSame ||
        (miss < best_miss + kSame && (change < best_change - kSame ||
                                      (change < best_change + kSame &&
                                       std::abs(candidate.theta) < std::abs(best.theta) - kSame)));
    if (is_better) {
      best = candidate;
      best_miss = miss;
      best_change = change;
    }
  }
  return best;
}

}  // namespace tendril
