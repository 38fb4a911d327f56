#include "tendril/estimation/grip_estimator.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "tendril/kinematics/coordinates.hpp"
#include "tendril/kinematics/forward_kinematics.hpp"
#include "tendril/kinematics/jacobian.hpp"
#include "tendril/model_error.hpp"
#include "tendril/range.hpp"

namespace tendril {
namespace {

using Eigen::Vector3d;
using Eigen::VectorXd;

constexpr int kPointsPerSection = 10;
constexpr int kIterations = 40;        // of each step
constexpr double kForceWeight = 3e-4;  // rho, in squares of the longest column of a normal

const GripEstimatorOptions& checked(const GripEstimatorOptions& options) {
  const char* const object = "grip estimator";
  require(object, "timestep", options.timestep, kPositive, "s");
  require(object, "body_radius", options.body_radius, kNotNegative, "m");
  require(object, "friction", options.friction, kNotNegative, "");
  require(object, "filter_time", options.filter_time, kNotNegative, "s");
  return options;
}

/// The nearest force of the cone: the first component is the normal one.
void project(Eigen::Ref<Vector3d> force, double friction) noexcept {
  const double normal = force[0], tangential = force.tail<2>().norm();
  if (tangential <= friction * normal) return;
  const double kept = std::max(0.0, (normal + friction * tangential) / (1.0 + friction * friction));
  force[0] = kept;
  force.tail<2>() *= friction * kept / tangential;
}

}  // namespace

GripEstimator::GripEstimator(ContinuumRobot robot, std::span<const double> stiffnesses,
                             const GripEstimatorOptions& options)
    : robot_(std::move(robot)),
      options_(checked(options)),
      states_(robot_.straight().begin(), robot_.straight().end()) {
  const Eigen::Index n = robot_.coordinate_count();
  if (static_cast<Eigen::Index>(stiffnesses.size()) != n)
    throw ModelError("grip estimator: stiffnesses: " + std::to_string(stiffnesses.size()) +
                     ", must be " + std::to_string(n));
  weights_.resize(n);
  for (Eigen::Index k = 0; k < n; ++k) {
    const double stiffness = stiffnesses[static_cast<std::size_t>(k)];
    require("grip estimator: coordinate " + std::to_string(k + 1), "stiffness", stiffness,
            kPositive, "N m/rad");
    weights_[k] = 1.0 / std::sqrt(stiffness);
  }
  const Eigen::Index points = kPointsPerSection * robot_.section_count(), forces = 3 * points + 3;
  load_ = layout_.vector(static_cast<int>(n));
  forces_ = layout_.vector(static_cast<int>(forces));
  points_.reserve(static_cast<std::size_t>(points));
  jacobian_.setZero(6, n);
  columns_.setZero(n, forces);
  products_.setZero(n, n);
  target_ = residual_ = VectorXd::Zero(n);
  f_ = next_ = ahead_ = gradient_ = VectorXd::Zero(forces);
}

/// Columns of the points near the axis, then of the tip.
void GripEstimator::add_columns(const Eigen::Ref<const VectorXd>& q, const BaseState& base,
                                const GripAxis& axis, double reach) noexcept {
  points_.clear();
  std::ranges::copy(robot_.straight(), states_.begin());
  from_coordinates(robot_, q, states_);
  const auto away = [&](const Vector3d& position) -> Vector3d {
    const Vector3d p = position - axis.point;
    return p - axis.direction * axis.direction.dot(p);
  };
  for (int point = 0; point < kPointsPerSection * robot_.section_count(); ++point) {
    const int section = point / kPointsPerSection;
    const double fraction = (point % kPointsPerSection + 0.5) / kPointsPerSection;
    const Vector3d from =
        away(backbone_pose(robot_, states_, base, section, fraction).translation());
    const double distance = from.norm();
    if (distance > reach || distance == 0.0) continue;
    const Vector3d normal = from / distance;
    const Vector3d tangent =
        backbone_jacobian(robot_, states_, base, section, fraction, jacobian_).linear().col(2);
    const Vector3d along = tangent - normal * normal.dot(tangent);
    Eigen::Matrix3d directions;
    directions.col(0) = normal;
    directions.col(1) = along.norm() > 0.0 ? Vector3d(along.normalized()) : axis.direction;
    directions.col(2) = normal.cross(directions.col(1));
    auto columns = columns_.middleCols<3>(3 * static_cast<Eigen::Index>(points_.size()));
    for (int k = 0; k < 3; ++k) {
      const Vector3d force = directions.col(k),
                     moment = -options_.body_radius * normal.cross(force);
      columns.col(k).noalias() = jacobian_.topRows<3>().transpose() * force;
      columns.col(k).noalias() += jacobian_.bottomRows<3>().transpose() * moment;
      columns.col(k).array() *= weights_.array();
    }
    points_.push_back(point);
  }
  backbone_jacobian(robot_, states_, base, robot_.section_count() - 1, 1.0, jacobian_);
  auto tip = columns_.middleCols<3>(3 * static_cast<Eigen::Index>(points_.size()));
  tip.noalias() = weights_.asDiagonal() * jacobian_.topRows<3>().transpose();
}

/// Moves the forces f_ towards the least squares of the weighted load target_.
void GripEstimator::descend() noexcept {
  const auto points = static_cast<Eigen::Index>(points_.size()), count = 3 * points + 3;
  const auto A = columns_.leftCols(count);
  double longest = 0.0;
  for (Eigen::Index i = 0; i < points; ++i) longest = std::max(longest, A.col(3 * i).squaredNorm());
  const double rho = kForceWeight * longest;
  products_.noalias() = A * A.transpose();
  // A row sum bounds the largest eigenvalue.
  const double bound = products_.cwiseAbs().rowwise().sum().maxCoeff() + rho;
  auto f = f_.head(count), next = next_.head(count), ahead = ahead_.head(count),
       gradient = gradient_.head(count);
  ahead = f;
  double t = 1.0;
  for (int iteration = 0; iteration < kIterations; ++iteration) {
    residual_.noalias() = A * ahead;
    residual_ -= target_;
    gradient.noalias() = A.transpose() * residual_;
    gradient += rho * ahead;
    next = ahead - gradient / bound;
    for (Eigen::Index i = 0; i < points; ++i) project(next.segment<3>(3 * i), options_.friction);
    // Starts anew where the momentum points uphill.
    const bool uphill = (ahead - next).dot(next - f) > 0.0;
    const double t_next = uphill ? 1.0 : (1.0 + std::sqrt(1.0 + 4.0 * t * t)) / 2.0;
    const double momentum = uphill ? 0.0 : (t - 1.0) / t_next;
    ahead = next + momentum * (next - f);
    f = next;
    t = t_next;
  }
}

void GripEstimator::step(std::span<double> memory, const Eigen::Ref<const VectorXd>& q,
                         const BaseState& base, const Eigen::Ref<const VectorXd>& load,
                         const GripAxis& axis, double reach) noexcept {
  auto mean = load_(memory), forces = forces_(memory);
  mean += options_.timestep / (options_.filter_time + options_.timestep) * (load - mean);
  add_columns(q, base, axis, reach);
  target_ = weights_.cwiseProduct(mean);
  const auto points = static_cast<Eigen::Index>(points_.size());
  for (Eigen::Index i = 0; i < points; ++i)
    f_.segment<3>(3 * i) = forces.segment<3>(3 * points_[static_cast<std::size_t>(i)]);
  f_.segment<3>(3 * points) = forces.tail<3>();
  descend();
  forces.setZero();
  for (Eigen::Index i = 0; i < points; ++i)
    forces.segment<3>(3 * points_[static_cast<std::size_t>(i)]) = f_.segment<3>(3 * i);
  forces.tail<3>() = f_.segment<3>(3 * points);
}

GripEstimate GripEstimator::estimate(std::span<const double> memory) const noexcept {
  const auto forces = forces_(memory);
  GripEstimate out;
  for (Eigen::Index i = 0; i + 3 < forces.size(); i += 3) out.force += forces[i];
  out.tip_force = forces.tail<3>();
  return out;
}

}  // namespace tendril
