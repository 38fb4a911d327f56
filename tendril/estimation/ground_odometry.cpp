#include "tendril/estimation/ground_odometry.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Geometry>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

#include "tendril/model_error.hpp"
#include "tendril/standard_arithmetic.hpp"

namespace tendril {

using Eigen::Matrix2d;
using Eigen::Matrix3d;
using Eigen::Vector2d;
using Eigen::Vector3d;

namespace {

constexpr int kForceIterations = 20;
constexpr int kVelocityIterations = 10;
constexpr double kForceTolerance = 1e-6;  // of the weight
constexpr double kDamping = 1e-3;         // of the plane, where the body does not hold it [m^2]

void require(bool is_valid, const std::string& name, double value, const char* allowed) {
  if (!is_valid)
    throw ModelError("ground odometry: " + name + " = " + std::to_string(value) + ": must be " +
                     allowed);
}

}  // namespace

GroundOdometry::GroundOdometry(GroundBody body, const GroundOdometryOptions& options)
    : body_(std::move(body)),
      options_(options),
      mass_(std::accumulate(body_.link_masses.begin(), body_.link_masses.end(), 0.0)) {
  if (body_.link_masses.size() != body_.link_lengths.size())
    throw ModelError("ground odometry: link_masses: must be one for each link");
  for (std::size_t k = 0; k < body_.link_lengths.size(); ++k) {
    const double length = body_.link_lengths[k], mass = body_.link_masses[k];
    require(length >= 0.0 && std::isfinite(length), "length of link " + std::to_string(k), length,
            ">= 0");
    require(mass >= 0.0 && std::isfinite(mass), "mass of link " + std::to_string(k), mass, ">= 0");
    if (length > 0.0) points_.resize(points_.size() + 2);
  }
  require(mass_ > 0.0, "mass", mass_, "> 0");
  require(body_.radius > 0.0, "radius", body_.radius, "> 0");
  require(body_.friction_along >= 0.0, "friction_along", body_.friction_along, ">= 0");
  require(body_.friction_across > 0.0, "friction_across", body_.friction_across, "> 0");
  require(body_.gravity > 0.0 && std::isfinite(body_.gravity), "gravity", body_.gravity, "> 0");
  require(options.stiffness > 0.0, "stiffness", options.stiffness, "> 0");
  require(options.slip_speed > 0.0, "slip_speed", options.slip_speed, "> 0");
}

void GroundOdometry::start(std::span<double> memory, const Vector2d& velocity) const noexcept {
  layout_.reset(memory);
  center_(memory) = velocity_(memory) = velocity;
}

/// Places the links from the head to the tail.
void GroundOdometry::place(const Motion& motion) noexcept {
  Matrix3d R = motion.R_WH;
  Vector3d rate = motion.rate, end = Vector3d::Zero(), end_velocity = Vector3d::Zero();
  center_of_mass_.setZero();
  center_velocity_.setZero();
  std::size_t next = 0;
  for (std::size_t k = body_.link_lengths.size(); k-- > 0;) {
    const double length = body_.link_lengths[k];
    if (length > 0.0) {
      const Vector3d start = end - length * R.col(0);
      const Vector3d start_velocity = end_velocity - length * rate.cross(R.col(0));
      const Vector3d of_ground = rate.cross(Vector3d(0.0, 0.0, -body_.radius));
      const Vector2d level = R.col(0).head<2>();
      const double size = level.norm();
      const Vector2d along = size > 1e-9 ? Vector2d(level / size) : Vector2d::UnitX();
      points_[next++] = {start, start_velocity + of_ground, along, 0.0};
      points_[next++] = {end, end_velocity + of_ground, along, 0.0};
      const double share = body_.link_masses[k] / mass_;
      center_of_mass_ += 0.5 * share * (start + end);
      center_velocity_ += 0.5 * share * (start_velocity + end_velocity);
      end = start;
      end_velocity = start_velocity;
    }
    if (k == 0) break;
    const double angle = motion.angles[k - 1];
    const Vector3d axis = k % 2 == 1 ? Vector3d::UnitZ() : Vector3d(-Vector3d::UnitY());
    rate -= motion.angle_rates[k - 1] * (R * axis);
    R = R * Eigen::AngleAxisd(-angle, axis).toRotationMatrix();
  }
}

/// Spreads the weight over the ends of the links: Newton's method on the plane.
void GroundOdometry::find_forces(std::span<double> memory) noexcept {
  const double weight = mass_ * body_.gravity, k = options_.stiffness;
  const auto arms = [&](const Point& point) {
    const Vector3d from = point.position - center_of_mass_;
    return Vector3d(1.0, from.x(), from.y());
  };
  Vector3d plane = plane_(memory);
  if (!began_(memory)) {
    double lowest = points_.front().position.z();
    for (const Point& point : points_) lowest = std::min(lowest, point.position.z());
    plane = Vector3d(lowest + weight / (k * static_cast<double>(points_.size())), 0.0, 0.0);
    began_(memory) = true;
  }
  const auto cost = [&](const Vector3d& at) {
    double sum = -weight * at[0];
    for (const Point& point : points_) {
      const double depth = arms(point).dot(at) - point.position.z();
      if (depth > 0.0) sum += 0.5 * k * depth * depth;
    }
    return sum;
  };
  double now = cost(plane);
  for (int i = 0; i < kForceIterations; ++i) {
    Vector3d gradient(-weight, 0.0, 0.0);
    Matrix3d curvature = (k * kDamping) * Matrix3d::Identity();
    for (const Point& point : points_) {
      const Vector3d arm = arms(point);
      const double depth = arm.dot(plane) - point.position.z();
      if (depth <= 0.0) continue;
      gradient += k * depth * arm;
      curvature += k * arm * arm.transpose();
    }
    if (gradient.norm() < kForceTolerance * weight) break;
    const Vector3d step = -curvature.llt().solve(gradient);
    double fraction = 1.0, then = cost(plane + step);
    while (then > now && fraction > 1e-3) {
      fraction *= 0.5;
      then = cost(plane + fraction * step);
    }
    if (!(then <= now)) break;
    plane += fraction * step;
    now = then;
  }
  for (Point& point : points_)
    point.force = k * std::max(0.0, arms(point).dot(plane) - point.position.z());
  plane_(memory) = plane;
}

/// Minimizes by weights that are renewed: |D v| is |D v|^2 over its last size.
Vector2d GroundOdometry::find_velocity(const Vector2d& last_center, const Vector2d& guess,
                                       double time) noexcept {
  const double along = body_.friction_along, across = body_.friction_across;
  const double least = across * options_.slip_speed;
  Vector2d v = guess;
  for (int i = 0; i < kVelocityIterations; ++i) {
    Matrix2d A = (mass_ / time) * Matrix2d::Identity();
    Vector2d b = (mass_ / time) * (last_center - center_velocity_.head<2>());
    for (const Point& point : points_) {
      if (point.force == 0.0) continue;
      const Vector2d aside(-point.along.y(), point.along.x());
      const Vector2d own = point.velocity.head<2>(), slip = own + v;
      const double weight =
          point.force /
          hypotenuse(hypotenuse(along * point.along.dot(slip), across * aside.dot(slip)), least);
      for (const auto& [direction, friction] : {std::pair(point.along, along), {aside, across}}) {
        const Vector2d scaled = weight * friction * friction * direction;
        A += scaled * direction.transpose();
        b -= scaled * direction.dot(own);
      }
    }
    v = A.llt().solve(b);
  }
  return v;
}

GroundOdometry::Result GroundOdometry::step(std::span<double> memory, const Motion& motion,
                                            double time) noexcept {
  place(motion);
  find_forces(memory);
  Result result;
  result.velocity = find_velocity(center_(memory), velocity_(memory), time);
  velocity_(memory) = result.velocity;
  center_(memory) = result.velocity + center_velocity_.head<2>();
  double sum = 0.0, depth = 0.0, force = 0.0;
  for (const Point& point : points_) {
    sum += (point.velocity.head<2>() + result.velocity).squaredNorm();
    depth += point.force * point.force / options_.stiffness;
    force += point.force;
  }
  result.link_speed = std::sqrt(sum / static_cast<double>(points_.size()));
  const Vector3d plane = plane_(memory);
  const double at_head = plane[0] - plane.tail<2>().dot(center_of_mass_.head<2>());
  result.head_height =
      body_.radius - at_head + (force > 0.0 ? depth / force : 0.0);  // the mean depth is softness
  return result;
}

}  // namespace tendril
