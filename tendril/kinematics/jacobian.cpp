#include "tendril/kinematics/jacobian.hpp"

#include <cassert>
#include <cmath>

namespace tendril {
namespace {

using Eigen::Vector3d;

constexpr double kStraight =
    1e-12;  // [rad], below it the limits of X/theta and (z0 - z1)/theta are used

/// Axes and origin of the running frame; plain vectors, because the walk needs them one by one.
struct Frame {
  Vector3d x, y, z, p;
};

Frame base_frame(const BaseState& base) noexcept {
  const double c = std::cos(base.spin), s = std::sin(base.spin);
  return {{c, s, 0.0}, {-s, c, 0.0}, Vector3d::UnitZ(), {0.0, 0.0, base.feed}};
}

/// Walks `frame` along section `i` to its planar point `point` and writes the section's columns as
/// velocities of the body fixed to that point: rows 3-5 the angular velocity w, rows 0-2 the
/// velocity p' - w x p of its point at the base origin.
void walk_section(const ContinuumRobot& robot, const SectionState& state, int i,
                  const PlanarPoint& point, Frame& frame, JacobianRef& jacobian) noexcept {
  const Section& section = robot.section(i);
  const double S = section.length() + state.extension;
  const double theta = state.theta;
  const double c = point.cos_tangent, s = point.sin_tangent;
  const double one_minus_c = c > 0.0 ? s * s / (1.0 + c) : 1.0 - c;  // its digits, small bends too
  const double cp = std::cos(state.phi), sp = std::sin(state.phi);

  const Vector3d z0 = frame.z;
  const Vector3d e = cp * frame.x + sp * frame.y;  // bend direction
  const Vector3d n = cp * frame.y - sp * frame.x;  // z0 x e
  const Vector3d reach = point.x * e + point.z * z0;

  // The walk: bend about n, no twist.
  const Vector3d e1 = c * e - s * z0;
  frame.z = c * z0 + s * e;
  frame.x = cp * e1 - sp * n;
  frame.y = sp * e1 + cp * n;
  frame.p += S * reach;

  // theta column, and phi column divided by theta. docs/theory/kinematics.md, "Tip Jacobian in u,
  // v, s".
  const bool straight = std::abs(theta) < kStraight;
  const Vector3d v_theta = S * (point.dx * e + point.dz * z0);
  const Vector3d w_theta = point.tangent_ratio * n;
  const Vector3d v_phi = S * (straight ? point.dx : point.x / theta) * n;
  const Vector3d w_phi = straight
                             ? Vector3d(-point.tangent_ratio * e)
                             : Vector3d((one_minus_c * z0 - s * e) / theta);  // (z0 - z1) / theta

  const Vector3d a_theta = v_theta - w_theta.cross(frame.p);
  const Vector3d a_phi = v_phi - w_phi.cross(frame.p);
  const int k = robot.coordinate_index(i);
  jacobian.col(k) << cp * a_theta - sp * a_phi, cp * w_theta - sp * w_phi;
  jacobian.col(k + 1) << sp * a_theta + cp * a_phi, sp * w_theta + cp * w_phi;
  if (section.is_extensible()) jacobian.col(k + 2) << reach, Vector3d::Zero();
}

/// Turns the first `count` columns from body velocities into the velocity of the tip and the rate
/// of its z axis.
Eigen::Isometry3d finish(const Frame& tip, int count, JacobianRef& jacobian) noexcept {
  for (int k = 0; k < count; ++k) {
    const Vector3d w = jacobian.col(k).tail<3>();
    jacobian.col(k).head<3>() += w.cross(tip.p);
    jacobian.col(k).tail<3>() = w.cross(tip.z);
  }
  jacobian.rightCols(jacobian.cols() - count).setZero();
  Eigen::Isometry3d X_BE;
  X_BE.linear().col(0) = tip.x;
  X_BE.linear().col(1) = tip.y;
  X_BE.linear().col(2) = tip.z;
  X_BE.translation() = tip.p;
  return X_BE;
}

}  // namespace

Eigen::Isometry3d tip_jacobian(const ContinuumRobot& robot, SectionStates states,
                               const BaseState& base, JacobianRef jacobian) noexcept {
  assert(static_cast<int>(states.size()) == robot.section_count());
  assert(jacobian.cols() == robot.coordinate_count());
  Frame frame = base_frame(base);
  for (int i = 0; i < robot.section_count(); ++i) {
    const SectionState& state = states[static_cast<std::size_t>(i)];
    walk_section(robot, state, i, robot.section(i).end_point(state.theta), frame, jacobian);
  }
  return finish(frame, robot.coordinate_count(), jacobian);
}

Eigen::Isometry3d backbone_jacobian(const ContinuumRobot& robot, SectionStates states,
                                    const BaseState& base, int i, double fraction,
                                    JacobianRef jacobian) noexcept {
  assert(static_cast<int>(states.size()) == robot.section_count());
  assert(jacobian.cols() == robot.coordinate_count());
  assert(i >= 0 && i < robot.section_count());
  Frame frame = base_frame(base);
  for (int m = 0; m <= i; ++m) {
    const Section& section = robot.section(m);
    const SectionState& state = states[static_cast<std::size_t>(m)];
    const PlanarPoint point =
        m < i ? section.end_point(state.theta) : section.point_at(state.theta, fraction);
    walk_section(robot, state, m, point, frame, jacobian);
  }
  return finish(frame, robot.coordinate_index(i) + robot.section(i).coordinate_count(), jacobian);
}

Eigen::Vector3d bend_jacobian(const ContinuumRobot& robot, SectionStates states,
                              const BaseState& base, int i, double fraction, JacobianRef jacobian,
                              Eigen::Ref<Eigen::MatrixXd> bends) noexcept {
  const Vector3d p = backbone_jacobian(robot, states, base, i, fraction, jacobian).translation();
  for (int j = 0; j <= i; ++j) {
    bends.middleCols<2>(2 * j) = jacobian.topRows<3>().middleCols<2>(robot.coordinate_index(j));
    if (!robot.section(j).bends_u()) bends.col(2 * j).setZero();
    if (!robot.section(j).bends_v()) bends.col(2 * j + 1).setZero();
  }
  return p;
}

}  // namespace tendril
