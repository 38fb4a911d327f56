#include "tendril/ik/published/fabrikc_solver.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "tendril/kinematics/forward_kinematics.hpp"

namespace tendril {
namespace {

using Eigen::Vector3d;

constexpr double kLargestBend = std::numbers::pi - 1e-6;  // [rad], the links are still finite
constexpr double kSmallTangent = 0.01;    // tan(theta/2), below it the arc's link uses its series
constexpr double kStraight = 1e-8;        // [rad], below it the links are their limits
constexpr double kLimitRounding = 1e-12;  // on the cosine of a bend that counts as inside

/// tan(h)/h from t = tan(h) >= 0 by its square; the series is exact to rounding where it is used.
double tangent_ratio(double t_squared) noexcept {
  if (t_squared < kSmallTangent * kSmallTangent)
    return 1.0 + t_squared * (1.0 / 3.0 - t_squared * (4.0 / 45.0 - t_squared * (44.0 / 945.0)));
  const double t = std::sqrt(t_squared);
  return t / std::atan(t);
}

}  // namespace

FabrikcSolver::FabrikcSolver(const ContinuumRobot& robot, const FabrikcOptions& options)
    : ReachingSolver(robot, options),
      links_(states_.size()),
      bounds_(states_.size()),
      bends_(states_.size()) {
  require_solver_options("fabrikc options", options);
}

void FabrikcSolver::load() noexcept {
  for (int i = 0; i < robot_.section_count(); ++i) {
    const Section& section = robot_.section(i);
    const double limit = section.bend_angle_limit_at(states_[i].extension);
    Bounds& bounds = bounds_[i];
    bounds.length = section.length() + states_[i].extension;
    bounds.limit = Cone(std::min(limit, std::numbers::pi));
    bounds.reach = Cone(options_.limit_bend_inside ? std::min(limit, kLargestBend) : kLargestBend);
  }
}

void FabrikcSolver::place() noexcept {
  Eigen::Isometry3d X_BS = base_pose(base_state_);
  for (std::size_t i = 0; i < links_.size(); ++i) {
    SectionState state = states_[i];
    state.theta = std::min(state.theta, kLargestBend);
    const Vector3d Z = X_BS.linear().col(2);
    X_BS = X_BS * section_end_pose(robot_.section(static_cast<int>(i)), state);
    Link& link = links_[i];
    link.tangent = X_BS.linear().col(2);
    link.end = X_BS.translation();
    set_links(i, Z, link.tangent);
    link.vertex = link.end - link.second * link.tangent;  // (2)
  }
}

/// Tip to base, steps 1 to 6: the last vertex on the line of the goal's direction, each tangent
/// aimed at the vertex of the section before. The lengths of the links are those of the last pass.
void FabrikcSolver::forward_reach() noexcept {
  const Link& last = links_.back();
  Vector3d E = goal_.position;
  Vector3d Z = goal_.has_direction ? goal_.direction
                                   : direction_of(goal_.position - last.vertex, last.tangent);
  for (std::size_t i = links_.size(); i-- > 0;) {
    Link& link = links_[i];
    const Vector3d V = E - link.second * Z;  // (2)
    const Vector3d Z_start =
        i == 0 ? Vector3d(Vector3d::UnitZ())
               : bounds_[i].reach.nearest(Z, direction_of(V - links_[i - 1].vertex, Z));
    set_links(i, Z_start, Z);
    link.vertex = E - link.second * Z;
    E = link.vertex - link.first * Z_start;
    Z = Z_start;
  }
}

/// Base to tip, steps 7 to 12: true sections, each end tangent aimed at the next vertex, the last
/// one along the goal's direction. Returns the largest distance by which a section end moved.
double FabrikcSolver::backward_reach() noexcept {
  Vector3d E(0.0, 0.0, base_state_.feed);
  Vector3d Z = Vector3d::UnitZ();
  double moved_squared = 0.0;
  inside_limits_ = true;
  const std::size_t last = links_.size() - 1;
  for (std::size_t i = 0; i <= last; ++i) {
    Link& link = links_[i];
    const Vector3d V = E + link.first * Z;  // (3)
    const Vector3d aim = i < last              ? direction_of(links_[i + 1].vertex - V, Z)
                         : goal_.has_direction ? goal_.direction
                                               : direction_of(goal_.position - V, Z);
    const Vector3d Z_end = bounds_[i].reach.nearest(Z, aim);
    if (Z.dot(Z_end) < bounds_[i].limit.cosine - kLimitRounding) inside_limits_ = false;
    set_links(i, Z, Z_end);
    link.vertex = E + link.first * Z;
    E = link.vertex + link.second * Z_end;
    moved_squared = std::max(moved_squared, (E - link.end).squaredNorm());
    link.end = E;
    link.tangent = Z_end;
    Z = Z_end;
  }
  return std::sqrt(moved_squared);
}

/// The tangent links of section i between the unit tangents Z_start and Z_end. Sum and difference
/// of the tangents give tan(theta/2) with all its digits, near 0 and near pi. One arc: (4).
void FabrikcSolver::set_links(std::size_t i, const Vector3d& Z_start,
                              const Vector3d& Z_end) noexcept {
  Link& link = links_[i];
  const double S = bounds_[i].length;
  const double t_squared = (Z_end - Z_start).squaredNorm() / (Z_end + Z_start).squaredNorm();
  const Section& section = robot_.section(static_cast<int>(i));
  if (section.length_weights().size() == 1) {
    link.first = link.second = 0.5 * S * tangent_ratio(t_squared);
    return;
  }
  const double t = std::sqrt(t_squared);
  const double theta = 2.0 * std::atan(t);
  if (theta < kStraight) {
    link.second = S * section.small_bend_chord_ratio();
    link.first = S - link.second;
    return;
  }
  // S X / sin(theta) and S (Z - X cot(theta)), docs/theory/kinematics.md, "Tangent links".
  const PlanarPoint end = section.end_point(theta);
  const double sin_theta = 2.0 * t / (1.0 + t_squared);
  const double cos_theta = (1.0 - t) * (1.0 + t) / (1.0 + t_squared);
  link.second = S * end.x / sin_theta;
  link.first = S * end.z - link.second * cos_theta;
}

/// Step 13: the pose with these tangents at the section ends.
void FabrikcSolver::set_states(const std::vector<Vector3d>& tangents) noexcept {
  Vector3d Z = Vector3d::UnitZ();
  for (std::size_t i = 0; i < tangents.size(); ++i) {
    const Vector3d& Z_end = tangents[i];
    bends_[i] = {std::atan2(Z.cross(Z_end).norm(), Z.dot(Z_end)), Z_end};
    Z = Z_end;
  }
  set_bends(robot_, base_state_, bends_, states_);
}

}  // namespace tendril
