#include "tendril/ik/tip_map.hpp"

#include <numbers>

#include "tendril/standard_arithmetic.hpp"

namespace tendril {
namespace {

using Eigen::Vector3d;

constexpr double kOpposite = 1e-12;  // of (2 cos(angle / 2))^2

double squared(double x) noexcept { return x * x; }

}  // namespace

TipMap::TipMap(const ContinuumRobot& robot, const Options& options)
    : coordinates_(static_cast<std::size_t>(robot.section_count())),
      straight_phi_(coordinates_.size()),
      frames_(coordinates_.size()),
      feed_limit_(options.free_feed ? robot.base().feed_limit : 0.0),
      length_scale_(robot.max_length() / robot.section_count() / 2.0),
      free_spin_(options.free_spin && robot.base().spin),
      last_turning_(robot.last_turning()) {
  for (int i = 0; i < robot.section_count(); ++i) {
    const Section& section = robot.section(i);
    maps_.push_back({.bend = BendFunctions(section),
                     .length = section.length(),
                     .variable_length = section.variable_length(),
                     .bend_angle_limit = section.bend_angle_limit(),
                     .limit_slope = section.is_extensible()
                                        ? section.bend_angle_limit() / section.variable_length()
                                        : 0.0,
                     .bends_u = section.bends_u(),
                     .bends_v = section.bends_v()});
  }
}

void TipMap::aim(const TipTarget& target, double position_tolerance,
                 double angle_tolerance) noexcept {
  has_direction_ = target.task != TipTask::Position;
  has_roll_ = target.task == TipTask::Pose;
  goal_x_ = target.X_BG.linear().col(0);
  goal_ = target.position();
  goal_direction_ = target.direction();
  position_tolerance_ = position_tolerance;
  angle_tolerance_ = angle_tolerance;
}

void TipMap::place(SectionStates states, const BaseState& base) noexcept {
  base_ = base;
  if (feed_limit_ > 0.0) base_.feed = std::clamp(base.feed, 0.0, feed_limit_);
  for (std::size_t i = 0; i < coordinates_.size(); ++i) {
    const SectionState& state = states[i];
    const double s = std::clamp(state.extension, 0.0, maps_[i].variable_length);
    const double theta = std::clamp(state.theta, 0.0, maps_[i].limit_at(s));
    Coordinates& q = coordinates_[i];
    q = {0.0, 0.0, s};
    if (theta > 0.0) {
      if (maps_[i].bends_u) q.u = theta * std::cos(state.phi);
      if (maps_[i].bends_v) q.v = theta * std::sin(state.phi);
    }
    straight_phi_[i] = state.phi;
  }
}

void TipMap::states(std::span<SectionState> states) const noexcept {
  for (std::size_t i = 0; i < coordinates_.size(); ++i) {
    const Coordinates& q = coordinates_[i];
    const double theta = std::min(std::sqrt(q.u * q.u + q.v * q.v), maps_[i].limit_at(q.s));
    states[i] = {theta, theta < kUndeterminedBend ? straight_phi_[i] : std::atan2(q.v, q.u), q.s};
  }
}

double TipMap::evaluate_tip(TipRows residual) noexcept {
  Vector3d x = Vector3d::UnitX(), y = Vector3d::UnitY(), z = Vector3d::UnitZ();
  Vector3d p(0.0, 0.0, base_.feed);
  if (base_.spin != 0.0) {
    const double c = std::cos(base_.spin), s = std::sin(base_.spin);
    x = {c, s, 0.0};
    y = {-s, c, 0.0};
  }
  for (std::size_t i = 0; i < coordinates_.size(); ++i) {
    const auto& [u, v, s] = coordinates_[i];
    const double t = u * u + v * v;
    Frame& frame = frames_[i];
    frame.bend = maps_[i].bend.at(t);
    const BendValues& bend = frame.bend;
    frame.x = x;
    frame.y = y;
    frame.z = z;
    frame.radial = u * x + v * y;
    p += (maps_[i].length + s) * (bend.x * frame.radial + bend.z * z);
    frame.end = p;
    x -= (bend.versine * u) * frame.radial + (bend.sine * u) * z;
    y -= (bend.versine * v) * frame.radial + (bend.sine * v) * z;
    z = bend.sine * frame.radial + (1.0 - bend.versine * t) * z;
  }
  tip_ = p;
  const Vector3d miss = goal_ - p;
  residual[0] = miss.x();
  residual[1] = miss.y();
  residual[2] = miss.z();
  double cost = miss.squaredNorm();
  if (has_direction_) {
    tip_x_ = x;
    tip_y_ = y;
    const double gx = x.dot(goal_direction_), gy = y.dot(goal_direction_),
                 gz = z.dot(goal_direction_);
    // 4 tan(angle / 4): the angle up to its fifth power, without trigonometry, growing up to pi.
    const double twice = std::max(0.0, 2.0 * (1.0 + gz));  // (2 cos(angle / 2))^2
    if (twice > kOpposite) {
      const double factor = 8.0 / (twice + 2.0 * std::sqrt(twice));
      residual[3] = length_scale_ * factor * gx;
      residual[4] = length_scale_ * factor * gy;
    } else {
      residual[3] = 4.0 * length_scale_;  // opposite: any rotation helps
      residual[4] = 0.0;
    }
    cost += residual[3] * residual[3] + residual[4] * residual[4];
  }
  if (has_roll_) {
    roll_left_ = evaluate_roll(x, y, z);
    residual[5] = length_scale_ * roll_left_;
    cost += residual[5] * residual[5];
  }
  return cost;
}

/// Turn that is left about the desired direction, after the least rotation of the tip to it [rad].
double TipMap::evaluate_roll(const Vector3d& x, const Vector3d& y, const Vector3d& z) noexcept {
  const auto left = [&](double cosine, double sine) {
    const Vector3d turned = cosine * x + sine * y;
    const double factor = std::max(1.0 + z.dot(goal_direction_), kOpposite);
    const Vector3d there = turned - turned.dot(goal_direction_) / factor * (z + goal_direction_);
    return std::atan2(there.cross(goal_x_).dot(goal_direction_), there.dot(goal_x_));
  };
  if (last_turning_ < 0) return left(1.0, 0.0);
  const auto i = static_cast<std::size_t>(last_turning_);
  const auto& [u, v, s] = coordinates_[i];
  const double theta = std::sqrt(u * u + v * v);
  if (theta >= kUndeterminedBend) return left(u / theta, v / theta);
  // A straight section turns as it is desired.
  const double more = left(std::cos(straight_phi_[i]), std::sin(straight_phi_[i]));
  straight_phi_[i] = std::remainder(straight_phi_[i] + more, 2.0 * std::numbers::pi);
  return 0.0;
}

double TipMap::position_error() const noexcept { return (goal_ - tip_).norm(); }

double TipMap::angle_error() const noexcept {
  if (!has_direction_) return 0.0;
  const double gx = tip_x_.dot(goal_direction_), gy = tip_y_.dot(goal_direction_);
  const double off =
      std::atan2(std::sqrt(gx * gx + gy * gy), tip_x_.cross(tip_y_).dot(goal_direction_));
  if (!has_roll_) return off;
  // The two rotations are about axes at a right angle.
  const double sine = std::sin(off / 2.0), cosine = std::cos(off / 2.0);
  return 2.0 * std::atan2(hypotenuse(sine, cosine * std::sin(roll_left_ / 2.0)),
                          std::abs(cosine * std::cos(roll_left_ / 2.0)));
}

bool TipMap::is_within_tolerance(ConstTipRows residual) const noexcept {
  constexpr double kSafe = 1.0 - 1e-9;  // so that the errors computed in another order agree
  const double miss = squared(residual[0]) + squared(residual[1]) + squared(residual[2]);
  if (miss > kSafe * squared(position_tolerance_)) return false;
  if (!has_direction_) return true;
  const double turn = squared(residual[3]) + squared(residual[4]);
  return turn + (has_roll_ ? squared(residual[5]) : 0.0) <=
         kSafe * squared(length_scale_ * angle_tolerance_);
}

}  // namespace tendril
