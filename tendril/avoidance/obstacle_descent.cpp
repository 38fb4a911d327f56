#include "tendril/avoidance/obstacle_descent.hpp"

#include <algorithm>
#include <cmath>

namespace tendril {
namespace {

using Eigen::Vector3d;

constexpr double kFirstDamping = 1e-2, kLeastDamping = 1e-10, kMostDamping = 1e4;
constexpr double kGrow = 8.0, kShrink = 0.1;
constexpr double kAtLimit = 1e-9;  // parts of a limit: so near it counts as on it
constexpr int kSlowSteps = 5;      // a descent rests when so many steps in a row gain less than ...
constexpr double kLeastProgress = 1e-2;      // ... of the cost
constexpr double kContactWeight = 3.0;       // of a clearance against the tip's position
constexpr double kOpposite = 1e-12;          // of (2 cos(angle / 2))^2
constexpr double kUndeterminedBend = 1e-12;  // [rad]
constexpr ArcSearch kSearch{.tolerance = 1e-4, .most_steps = 40};  // shapes without closed form

}  // namespace

ObstacleDescent::ObstacleDescent(const ContinuumRobot& robot, bool planar)
    : robot_(robot),
      planar_(planar),
      coordinates_(static_cast<std::size_t>(robot.section_count())),
      previous_(coordinates_.size()),
      straight_phi_(coordinates_.size()),
      frames_(coordinates_.size()),
      moves_(coordinates_.size()),
      columns_(coordinates_.size()),
      free_(coordinates_.size()),
      reduced_(3 * coordinates_.size()),
      length_scale_(robot.max_length() / robot.section_count() / 2.0) {
  for (int i = 0; i < robot.section_count(); ++i) {
    const Section& section = robot.section(i);
    const auto W = section.length_weights();
    maps_.push_back({.bend = BendFunctions(section),
                     .length = section.length(),
                     .variable_length = section.variable_length(),
                     .bend_angle_limit = section.bend_angle_limit(),
                     .first_arc = arcs_.size(),
                     .arc_count = W.size()});
    arcs_.resize(arcs_.size() + W.size(), BodyArc{.section = i});
  }
}

void ObstacleDescent::aim(const TipTarget& target, double position_tolerance,
                          double angle_tolerance) noexcept {
  tip_rows_ = target.task == TipTask::Position ? 3 : 5;
  goal_ = target.position();
  goal_direction_ = target.direction();
  position_tolerance_ = position_tolerance;
  angle_tolerance_ = angle_tolerance;
}

void ObstacleDescent::around(const Obstacles* obstacles, double safety_distance,
                             double margin) noexcept {
  obstacles_ = obstacles;
  safety_distance_ = safety_distance;
  margin_ = margin;
}

void ObstacleDescent::place(SectionStates states, const BaseState& base) noexcept {
  base_ = base;
  for (std::size_t i = 0; i < coordinates_.size(); ++i) {
    const SectionState state = robot_.clamped(static_cast<int>(i), states[i]);
    const Eigen::Vector2d bend = bend_vector(state);
    coordinates_[i] = {bend.x(), planar_ ? 0.0 : bend.y(), state.extension};
    straight_phi_[i] = state.phi;
  }
}

void ObstacleDescent::states(std::span<SectionState> states) const noexcept {
  for (std::size_t i = 0; i < coordinates_.size(); ++i) {
    const Coordinates& q = coordinates_[i];
    const double theta = std::min(std::sqrt(q.u * q.u + q.v * q.v), maps_[i].limit_at(q.s));
    states[i] = {theta, theta < kUndeterminedBend ? straight_phi_[i] : std::atan2(q.v, q.u), q.s};
  }
}

/// The arcs of section i from its frame.
void ObstacleDescent::place_arcs(std::size_t i) noexcept {
  const Coordinates& q = coordinates_[i];
  const SectionMap& map = maps_[i];
  const Frame& frame = frames_[i];
  const double theta = std::sqrt(q.u * q.u + q.v * q.v), length = map.length + q.s;
  const Vector3d side = theta > kUndeterminedBend ? Vector3d(frame.radial / theta) : frame.x;
  place_section_arcs(robot_.section(static_cast<int>(i)), frame.start, frame.z, side, theta, length,
                     std::span(arcs_).subspan(map.first_arc, map.arc_count));
}

void ObstacleDescent::keep_contact(const Contact& contact) noexcept {
  if (contact_count_ < kContacts) {
    contacts_[contact_count_++] = contact;
    return;
  }
  auto least =
      std::min_element(contacts_.begin(), contacts_.end(),
                       [](const Contact& a, const Contact& b) { return a.excess < b.excess; });
  if (least->excess < contact.excess) *least = contact;
}

/// Tip pose, contacts, residual and cost of coordinates_.
double ObstacleDescent::evaluate() noexcept {
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
    frame.start = p;
    frame.radial = u * x + v * y;
    p += (maps_[i].length + s) * (bend.x * frame.radial + bend.z * z);
    frame.end = p;
    x -= (bend.versine * u) * frame.radial + (bend.sine * u) * z;
    y -= (bend.versine * v) * frame.radial + (bend.sine * v) * z;
    z = bend.sine * frame.radial + (1.0 - bend.versine * t) * z;
  }
  tip_ = p;
  const Vector3d miss = goal_ - p;
  for (std::size_t r = 0; r < 3; ++r) residual_[r] = miss[static_cast<Eigen::Index>(r)];
  double cost = miss.squaredNorm();
  if (tip_rows_ == 5) {
    tip_x_ = x;
    tip_y_ = y;
    const double gx = x.dot(goal_direction_), gy = y.dot(goal_direction_),
                 gz = z.dot(goal_direction_);
    // 4 tan(angle / 4), as in Descent.
    const double twice = std::max(0.0, 2.0 * (1.0 + gz));
    if (twice > kOpposite) {
      const double factor = 8.0 / (twice + 2.0 * std::sqrt(twice));
      residual_[3] = length_scale_ * factor * gx;
      residual_[4] = length_scale_ * factor * gy;
    } else {
      residual_[3] = 4.0 * length_scale_;
      residual_[4] = 0.0;
    }
    cost += residual_[3] * residual_[3] + residual_[4] * residual_[4];
  }

  contact_count_ = 0;
  depth_ = -margin_;
  if (obstacles_ != nullptr) {
    const double near = safety_distance_ + margin_;
    for (std::size_t i = 0; i < coordinates_.size(); ++i) {
      place_arcs(i);
      for (std::size_t j = maps_[i].first_arc; j < maps_[i].first_arc + maps_[i].arc_count; ++j) {
        obstacles_->for_each_nearer(arcs_[j], near, kSearch, [&](const Clearance& c) {
          const double excess = near - c.distance;
          cost += kContactWeight * kContactWeight * excess * excess;
          depth_ = std::max(depth_, safety_distance_ - c.distance);
          keep_contact({i, arcs_[j].fraction(c.arc_length), excess, c.point, c.normal});
        });
      }
    }
  }
  for (std::size_t k = 0; k < contact_count_; ++k)
    residual_[tip_rows_ + k] = kContactWeight * contacts_[k].excess;
  rows_ = tip_rows_ + contact_count_;
  return cost;
}

double ObstacleDescent::position_error() const noexcept { return (goal_ - tip_).norm(); }

double ObstacleDescent::angle_error() const noexcept {
  if (tip_rows_ == 3) return 0.0;
  const double gx = tip_x_.dot(goal_direction_), gy = tip_y_.dot(goal_direction_);
  return std::atan2(std::sqrt(gx * gx + gy * gy), tip_x_.cross(tip_y_).dot(goal_direction_));
}

bool ObstacleDescent::tip_within_tolerance() const noexcept {
  constexpr double kSafe = 1.0 - 1e-9;  // so that another way to compute the errors agrees
  const auto squared = [](double x) { return x * x; };
  const double miss = squared(residual_[0]) + squared(residual_[1]) + squared(residual_[2]);
  if (miss > kSafe * squared(position_tolerance_)) return false;
  return tip_rows_ == 3 || squared(residual_[3]) + squared(residual_[4]) <=
                               kSafe * squared(length_scale_ * angle_tolerance_);
}

/// Columns of the tip and of the contacts, and the directions that are free at the limits.
void ObstacleDescent::differentiate() noexcept {
  reduced_count_ = 0;
  for (std::size_t i = 0; i < coordinates_.size(); ++i) {
    const auto& [u, v, s] = coordinates_[i];
    const Frame& f = frames_[i];
    const BendValues& b = f.bend;
    const double S = maps_[i].length + s;
    const Vector3d arm = tip_ - f.end;
    const Vector3d axis = u * f.y - v * f.x;
    Moves& m = moves_[i];
    m.turn_u = b.sine * f.y - (b.versine * v) * f.z + (b.residue * u) * axis;
    m.turn_v = (b.versine * u) * f.z - b.sine * f.x + (b.residue * v) * axis;
    const Vector3d stretch = (2.0 * S) * (b.dx * f.radial + b.dz * f.z);
    m.move_u = (S * b.x) * f.x + u * stretch;
    m.move_v = (S * b.x) * f.y + v * stretch;
    m.move_s = b.x * f.radial + b.z * f.z;
    const Vector3d tip_u = m.move_u + m.turn_u.cross(arm), tip_v = m.move_v + m.turn_v.cross(arm);
    auto& [column_u, column_v, column_s] = columns_[i];
    for (std::size_t r = 0; r < 3; ++r) {
      const auto k = static_cast<Eigen::Index>(r);
      column_u[r] = tip_u[k];
      column_v[r] = tip_v[k];
      column_s[r] = m.move_s[k];
    }
    if (tip_rows_ == 5) {
      column_u[3] = length_scale_ * m.turn_u.dot(tip_y_);
      column_u[4] = -length_scale_ * m.turn_u.dot(tip_x_);
      column_v[3] = length_scale_ * m.turn_v.dot(tip_y_);
      column_v[4] = -length_scale_ * m.turn_v.dot(tip_x_);
      column_s[3] = column_s[4] = 0.0;
    }
  }
  for (std::size_t k = 0; k < contact_count_; ++k) contact_row(tip_rows_ + k, contacts_[k]);
  for (std::size_t i = 0; i < coordinates_.size(); ++i) release(i);
  for (std::size_t r = 0; r < rows_; ++r) {
    for (std::size_t c = 0; c <= r; ++c) gram_[r][c] = 0.0;
  }
  for (std::size_t k = 0; k < reduced_count_; ++k) {
    const Column& column = reduced_[k];
    for (std::size_t r = 0; r < rows_; ++r) {
      for (std::size_t c = 0; c <= r; ++c) gram_[r][c] += column[r] * column[c];
    }
  }
}

/// d(clearance)/dq at a point of the body that keeps its fraction of its section.
void ObstacleDescent::contact_row(std::size_t row, const Contact& contact) noexcept {
  const Vector3d g = kContactWeight * contact.normal;
  for (std::size_t i = 0; i < coordinates_.size(); ++i) {
    auto& [column_u, column_v, column_s] = columns_[i];
    if (i > contact.section) {
      column_u[row] = column_v[row] = column_s[row] = 0.0;
    } else if (i < contact.section) {
      const Moves& m = moves_[i];
      const Vector3d torque = (contact.point - frames_[i].end).cross(g);
      column_u[row] = g.dot(m.move_u) + m.turn_u.dot(torque);
      column_v[row] = g.dot(m.move_v) + m.turn_v.dot(torque);
      column_s[row] = g.dot(m.move_s);
    } else {
      const Frame& f = frames_[i];
      const Coordinates& q = coordinates_[i];
      const double theta = std::sqrt(q.u * q.u + q.v * q.v), S = maps_[i].length + q.s;
      const PlanarPoint point =
          robot_.section(static_cast<int>(i)).point_at(theta, contact.fraction);
      const bool straight = theta < kUndeterminedBend;
      const double cp = straight ? 1.0 : q.u / theta, sp = straight ? 0.0 : q.v / theta;
      const double ge = g.dot(cp * f.x + sp * f.y), gn = g.dot(cp * f.y - sp * f.x),
                   gz = g.dot(f.z);
      const double radial = S * (point.dx * ge + point.dz * gz);
      const double across = S * (straight ? point.dx : point.x / theta) * gn;
      column_u[row] = cp * radial - sp * across;
      column_v[row] = sp * radial + cp * across;
      column_s[row] = point.x * ge + point.z * gz;
    }
  }
}

double ObstacleDescent::pull(std::size_t i, const Coordinates& direction) const noexcept {
  double sum = 0.0;
  for (std::size_t r = 0; r < rows_; ++r) {
    sum += residual_[r] * (direction.u * columns_[i][0][r] + direction.v * columns_[i][1][r] +
                           direction.s * columns_[i][2][r]);
  }
  return sum;
}

void ObstacleDescent::add(std::size_t i, const Coordinates& direction) noexcept {
  free_[i].directions[static_cast<std::size_t>(free_[i].count++)] = direction;
  Column& column = reduced_[reduced_count_++];
  for (std::size_t r = 0; r < rows_; ++r) {
    column[r] = direction.u * columns_[i][0][r] + direction.v * columns_[i][1][r] +
                direction.s * columns_[i][2][r];
  }
}

/// The directions in which section i may move: all but those that its limits stop. As in Descent.
void ObstacleDescent::release(std::size_t i) noexcept {
  const auto& [u, v, s] = coordinates_[i];
  const SectionMap& map = maps_[i];
  free_[i].count = 0;
  const bool extensible = map.variable_length > 0.0;
  const double slope = extensible ? map.bend_angle_limit / map.variable_length : 0.0;
  const double limit = map.limit_at(s);
  const double squared = u * u + v * v;
  bool at_bend_limit = squared >= limit * limit * (1.0 - 2.0 * kAtLimit);
  Coordinates radial;
  if (at_bend_limit) {
    const double theta = std::sqrt(squared);
    radial = theta > 0.0 ? Coordinates{u / theta, v / theta, 0.0}
                         : Coordinates{std::cos(straight_phi_[i]),
                                       planar_ ? 0.0 : std::sin(straight_phi_[i]), 0.0};
    at_bend_limit = pull(i, radial) > 0.0;
  }
  if (limit > 1e-9) {
    if (at_bend_limit) {
      if (!planar_) add(i, {-radial.v, radial.u, 0.0});
    } else {
      add(i, {1.0, 0.0, 0.0});
      if (!planar_) add(i, {0.0, 1.0, 0.0});
    }
  }
  if (!extensible) return;
  Coordinates lengthen{0.0, 0.0, length_scale_};
  if (at_bend_limit) {
    lengthen.u = length_scale_ * slope * radial.u;
    lengthen.v = length_scale_ * slope * radial.v;
  }
  const bool at_shortest = s <= kAtLimit * map.variable_length;
  const bool at_longest = s >= (1.0 - kAtLimit) * map.variable_length;
  if (at_shortest || at_longest) {
    const double length_pull = pull(i, lengthen);
    if ((at_shortest && length_pull < 0.0) || (at_longest && length_pull > 0.0)) return;
  }
  add(i, lengthen);
}

/// y = (J J^T + damping I)^-1 residual, by L L^T without roots.
void ObstacleDescent::solve(double damping, const Column& residual, Column& y) noexcept {
  std::array<double, kRows> inverse;
  for (std::size_t r = 0; r < rows_; ++r) {
    for (std::size_t c = 0; c <= r; ++c) factor_[r][c] = gram_[r][c];
    factor_[r][r] += damping;
    y[r] = residual[r];
  }
  for (std::size_t c = 0; c < rows_; ++c) {
    inverse[c] = 1.0 / factor_[c][c];
    for (std::size_t r = c + 1; r < rows_; ++r) {
      const double factor = factor_[r][c] * inverse[c];
      for (std::size_t k = c + 1; k <= r; ++k) factor_[r][k] -= factor * factor_[k][c];
      y[r] -= factor * y[c];
    }
  }
  for (std::size_t r = rows_; r-- > 0;) {
    double value = y[r];
    for (std::size_t k = r + 1; k < rows_; ++k) value -= factor_[k][r] * y[k];
    y[r] = value * inverse[r];
  }
}

void ObstacleDescent::clamp(std::size_t i) noexcept {
  Coordinates& q = coordinates_[i];
  const SectionMap& map = maps_[i];
  if (map.variable_length > 0.0) q.s = std::clamp(q.s, 0.0, map.variable_length);
  const double limit = map.limit_at(q.s);
  const double squared = q.u * q.u + q.v * q.v;
  if (squared > limit * limit) {
    const double scale = limit / std::sqrt(squared);
    q.u *= scale;
    q.v *= scale;
  }
}

/// coordinates_ = previous_ + J^T y, inside the limits.
void ObstacleDescent::step(const Column& y) noexcept {
  std::size_t column = 0;
  for (std::size_t i = 0; i < coordinates_.size(); ++i) {
    Coordinates& q = coordinates_[i];
    q = previous_[i];
    for (int k = 0; k < free_[i].count; ++k) {
      const Column& J = reduced_[column++];
      double amount = 0.0;
      for (std::size_t r = 0; r < step_rows_; ++r) amount += J[r] * y[r];
      const Coordinates& direction = free_[i].directions[static_cast<std::size_t>(k)];
      q.u += amount * direction.u;
      q.v += amount * direction.v;
      q.s += amount * direction.s;
    }
    clamp(i);
  }
}

ObstacleDescent::End ObstacleDescent::run(int& iterations, int max_iterations) noexcept {
  const double unit = length_scale_ * length_scale_;
  cost_ = evaluate();
  double damping = std::clamp(cost_ / unit, kLeastDamping, kFirstDamping);
  int slow = 0;
  const auto at_rest = [&] { return tip_within_tolerance() ? End::Colliding : End::AtRest; };
  while (true) {
    if (tip_within_tolerance() && depth_ <= 0.0) return End::Free;
    if (slow >= kSlowSteps) return at_rest();
    differentiate();
    if (reduced_count_ == 0) return at_rest();
    previous_ = coordinates_;
    step_rows_ = rows_;
    const Column residual = residual_;
    bool improved = false;
    while (!improved) {
      const bool spent = iterations >= max_iterations;
      if (spent || damping > kMostDamping) {
        coordinates_ = previous_;
        cost_ = evaluate();
        return spent ? End::BudgetSpent : at_rest();
      }
      Column y;
      rows_ = step_rows_;
      solve(damping * unit, residual, y);
      step(y);
      ++iterations;
      const double new_cost = evaluate();
      if (new_cost < cost_) {
        improved = true;
        slow = new_cost > (1.0 - kLeastProgress) * cost_ ? slow + 1 : 0;
        cost_ = new_cost;
        damping = std::max(kLeastDamping, damping * kShrink);
      } else {
        damping *= kGrow;
      }
    }
  }
}

}  // namespace tendril
