#include "tendril/ik/descent.hpp"

#include <algorithm>
#include <cmath>

namespace tendril {
namespace {

using Eigen::Vector3d;

// Damping in units of the squared length scale; from and to which it is steered.
constexpr double kFirstDamping = 1e-2, kLeastDamping = 1e-12, kMostDamping = 1e4;
constexpr double kGrow = 8.0, kShrink = 0.1;
constexpr double kAtLimit = 1e-9;  // parts of a limit: so near it counts as on it
constexpr int kSlowSteps = 5;      // a descent rests when so many steps in a row gain less than ...
constexpr double kLeastProgressToMeet = 1e-3, kLeastProgressToApproach = 1e-9;  // ... of the cost
constexpr double kLeastShare = 1e-2;   // of the way to a preferred pose in one step
constexpr double kLeastRelief = 1e-4;  // of the squared distance from it, gained in one step
constexpr int kCorrections = 6;        // iterations to meet the target again after such a step
constexpr double kOpposite = 1e-12;    // of (2 cos(angle / 2))^2
constexpr double kUndeterminedBend = 1e-12;  // [rad], below it a bend has no direction

}  // namespace

Descent::Descent(const ContinuumRobot& robot, bool free_feed)
    : coordinates_(static_cast<std::size_t>(robot.section_count())),
      previous_(coordinates_.size()),
      preferred_(coordinates_.size()),
      before_(coordinates_.size()),
      marked_(coordinates_.size()),
      straight_phi_(coordinates_.size()),
      frames_(coordinates_.size()),
      columns_(coordinates_.size()),
      free_(coordinates_.size()),
      reduced_(3 * coordinates_.size() + 1),
      length_scale_(robot.max_length() / robot.section_count() / 2.0),
      feed_limit_(free_feed ? robot.base().feed_limit : 0.0) {
  for (int i = 0; i < robot.section_count(); ++i) {
    const Section& section = robot.section(i);
    maps_.push_back({.bend = BendFunctions(section),
                     .length = section.length(),
                     .variable_length = section.variable_length(),
                     .bend_angle_limit = section.bend_angle_limit()});
  }
}

void Descent::aim(const TipTarget& target, double position_tolerance,
                  double angle_tolerance) noexcept {
  rows_ = target.task == TipTask::Position ? 3 : 5;
  goal_ = target.position();
  goal_direction_ = target.direction();
  position_tolerance_ = position_tolerance;
  angle_tolerance_ = angle_tolerance;
}

void Descent::place(SectionStates states, const BaseState& base) noexcept {
  base_ = base;
  if (feed_limit_ > 0.0) base_.feed = std::clamp(base.feed, 0.0, feed_limit_);
  for (std::size_t i = 0; i < coordinates_.size(); ++i) {
    const SectionState& state = states[i];
    const double s = std::clamp(state.extension, 0.0, maps_[i].variable_length);
    const double theta = std::clamp(state.theta, 0.0, maps_[i].limit_at(s));
    coordinates_[i] = {0.0, 0.0, s};
    if (theta > 0.0)
      coordinates_[i] = {theta * std::cos(state.phi), theta * std::sin(state.phi), s};
    straight_phi_[i] = state.phi;
  }
}

void Descent::mark() noexcept {
  marked_ = coordinates_;
  marked_feed_ = base_.feed;
}

bool Descent::is_beyond(double limit) const noexcept {
  if (std::abs(base_.feed - marked_feed_) > limit * length_scale_) return true;
  for (std::size_t i = 0; i < coordinates_.size(); ++i) {
    const double du = coordinates_[i].u - marked_[i].u, dv = coordinates_[i].v - marked_[i].v;
    if (du * du + dv * dv > limit * limit) return true;
    if (std::abs(coordinates_[i].s - marked_[i].s) > limit * length_scale_) return true;
  }
  return false;
}

void Descent::states(std::span<SectionState> states) const noexcept {
  for (std::size_t i = 0; i < coordinates_.size(); ++i) {
    const Coordinates& q = coordinates_[i];
    const double theta = std::min(std::sqrt(q.u * q.u + q.v * q.v), maps_[i].limit_at(q.s));
    states[i] = {theta, theta < kUndeterminedBend ? straight_phi_[i] : std::atan2(q.v, q.u), q.s};
  }
}

/// Tip pose, residual and cost of coordinates_.
double Descent::evaluate() noexcept {
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
  residual_[0] = miss.x();
  residual_[1] = miss.y();
  residual_[2] = miss.z();
  double cost = miss.squaredNorm();
  if (rows_ == 5) {
    tip_x_ = x;
    tip_y_ = y;
    const double gx = x.dot(goal_direction_), gy = y.dot(goal_direction_),
                 gz = z.dot(goal_direction_);
    // 4 tan(angle / 4): the angle up to its fifth power, without trigonometry, growing up to pi.
    const double twice = std::max(0.0, 2.0 * (1.0 + gz));  // (2 cos(angle / 2))^2
    if (twice > kOpposite) {
      const double factor = 8.0 / (twice + 2.0 * std::sqrt(twice));
      residual_[3] = length_scale_ * factor * gx;
      residual_[4] = length_scale_ * factor * gy;
    } else {
      residual_[3] = 4.0 * length_scale_;  // opposite: any turn helps
      residual_[4] = 0.0;
    }
    cost += residual_[3] * residual_[3] + residual_[4] * residual_[4];
  }
  return cost;
}

double Descent::position_error() const noexcept { return (goal_ - tip_).norm(); }

double Descent::angle_error() const noexcept {
  if (rows_ == 3) return 0.0;
  const double gx = tip_x_.dot(goal_direction_), gy = tip_y_.dot(goal_direction_);
  return std::atan2(std::sqrt(gx * gx + gy * gy), tip_x_.cross(tip_y_).dot(goal_direction_));
}

bool Descent::within_tolerance() const noexcept {
  constexpr double kSafe = 1.0 - 1e-9;  // so that another way to compute the errors agrees
  const auto squared = [](double x) { return x * x; };
  const double miss = squared(residual_[0]) + squared(residual_[1]) + squared(residual_[2]);
  if (miss > kSafe * squared(position_tolerance_)) return false;
  return rows_ == 3 || squared(residual_[3]) + squared(residual_[4]) <=
                           kSafe * squared(length_scale_ * angle_tolerance_);
}

/// Columns of the tip map, the directions that are free at the limits, and the Gram matrix.
void Descent::differentiate(Limits limits) noexcept {
  reduced_count_ = 0;
  for (std::size_t i = 0; i < coordinates_.size(); ++i) {
    const auto& [u, v, s] = coordinates_[i];
    const Frame& f = frames_[i];
    const BendValues& b = f.bend;
    const double S = maps_[i].length + s;
    const Vector3d arm = tip_ - f.end;
    const Vector3d axis = u * f.y - v * f.x;
    const Vector3d turn_u = b.sine * f.y - (b.versine * v) * f.z + (b.residue * u) * axis;
    const Vector3d turn_v = (b.versine * u) * f.z - b.sine * f.x + (b.residue * v) * axis;
    const Vector3d stretch = (2.0 * S) * (b.dx * f.radial + b.dz * f.z);
    const Vector3d move_u = (S * b.x) * f.x + u * stretch + turn_u.cross(arm);
    const Vector3d move_v = (S * b.x) * f.y + v * stretch + turn_v.cross(arm);
    auto& [column_u, column_v, column_s] = columns_[i];
    column_u = {move_u.x(), move_u.y(), move_u.z(), 0.0, 0.0};
    column_v = {move_v.x(), move_v.y(), move_v.z(), 0.0, 0.0};
    if (rows_ == 5) {
      column_u[3] = length_scale_ * turn_u.dot(tip_y_);
      column_u[4] = -length_scale_ * turn_u.dot(tip_x_);
      column_v[3] = length_scale_ * turn_v.dot(tip_y_);
      column_v[4] = -length_scale_ * turn_v.dot(tip_x_);
    }
    if (maps_[i].variable_length > 0.0) {
      const Vector3d reach = b.x * f.radial + b.z * f.z;
      column_s = {reach.x(), reach.y(), reach.z(), 0.0, 0.0};
    }
    if (limits == Limits::Active) {
      release(i);
      continue;
    }
    free_[i].count = 0;
    add(i, {1.0, 0.0, 0.0});
    add(i, {0.0, 1.0, 0.0});
    if (maps_[i].variable_length > 0.0) add(i, {0.0, 0.0, length_scale_});
  }
  const bool at_start = base_.feed <= 0.0 && residual_[2] < 0.0;
  const bool at_end = base_.feed >= feed_limit_ && residual_[2] > 0.0;
  feed_moves_ = feed_limit_ > 0.0 && (limits == Limits::Ignored || (!at_start && !at_end));
  if (feed_moves_) reduced_[reduced_count_++] = {0.0, 0.0, length_scale_, 0.0, 0.0};
  if (rows_ == 5) {
    multiply<5>();
  } else {
    multiply<3>();
  }
}

/// gram_ = J J^T of the free directions.
template <std::size_t rows>
void Descent::multiply() noexcept {
  std::array<double, rows*(rows + 1) / 2> sum{};
  for (std::size_t k = 0; k < reduced_count_; ++k) {
    const Row& column = reduced_[k];
    std::size_t entry = 0;
    for (std::size_t r = 0; r < rows; ++r) {
      for (std::size_t c = 0; c <= r; ++c) sum[entry++] += column[r] * column[c];
    }
  }
  std::copy(sum.begin(), sum.end(), gram_.begin());
}

double Descent::pull(std::size_t i, const Coordinates& direction) const noexcept {
  double sum = 0.0;
  for (std::size_t r = 0; r < static_cast<std::size_t>(rows_); ++r) {
    sum += residual_[r] * (direction.u * columns_[i][0][r] + direction.v * columns_[i][1][r] +
                           (direction.s != 0.0 ? direction.s * columns_[i][2][r] : 0.0));
  }
  return sum;
}

void Descent::add(std::size_t i, const Coordinates& direction) noexcept {
  free_[i].directions[static_cast<std::size_t>(free_[i].count++)] = direction;
  Row column{};
  for (std::size_t r = 0; r < kRows; ++r) {
    column[r] = direction.u * columns_[i][0][r] + direction.v * columns_[i][1][r];
    if (direction.s != 0.0) column[r] += direction.s * columns_[i][2][r];
  }
  reduced_[reduced_count_++] = column;
}

/// The directions in which section i may move: all but those that its limits stop.
void Descent::release(std::size_t i) noexcept {
  const auto& [u, v, s] = coordinates_[i];
  const SectionMap& map = maps_[i];
  free_[i].count = 0;
  const bool extensible = map.variable_length > 0.0;
  const double slope = extensible ? map.bend_angle_limit / map.variable_length : 0.0;
  const double limit = extensible ? slope * s : map.bend_angle_limit;
  const double squared = u * u + v * v;
  bool at_bend_limit = squared >= limit * limit * (1.0 - 2.0 * kAtLimit);
  Coordinates radial, tangential;
  if (at_bend_limit) {
    const double theta = std::sqrt(squared);
    radial = theta > 0.0 ? Coordinates{u / theta, v / theta, 0.0}
                         : Coordinates{std::cos(straight_phi_[i]), std::sin(straight_phi_[i]), 0.0};
    tangential = {-radial.v, radial.u, 0.0};
    at_bend_limit = pull(i, radial) > 0.0;
  }
  const bool can_bend = limit > 1e-9;
  if (can_bend) {
    if (at_bend_limit) {
      add(i, tangential);
    } else {
      free_[i].directions[0] = {1.0, 0.0, 0.0};
      free_[i].directions[1] = {0.0, 1.0, 0.0};
      free_[i].count = 2;
      reduced_[reduced_count_++] = columns_[i][0];
      reduced_[reduced_count_++] = columns_[i][1];
    }
  }
  if (!extensible) return;
  // Along the cone of limits a longer section may bend more.
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

/// (J J^T + damping I)^-1 residual, by L D L^T.
template <std::size_t rows>
Descent::Row Descent::solve(double damping, const Row& residual) const noexcept {
  std::array<std::array<double, rows>, rows> A;
  std::size_t entry = 0;
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c <= r; ++c) A[r][c] = gram_[entry++];
    A[r][r] += damping;
  }
  Row y = residual;
  std::array<double, rows> inverse;
  for (std::size_t c = 0; c < rows; ++c) {
    inverse[c] = 1.0 / A[c][c];
    for (std::size_t r = c + 1; r < rows; ++r) {
      const double factor = A[r][c] * inverse[c];
      for (std::size_t k = c + 1; k <= r; ++k) A[r][k] -= factor * A[k][c];
      y[r] -= factor * y[c];
    }
    // Column c below the pivot is now L D.
  }
  for (std::size_t r = rows; r-- > 0;) {
    double value = y[r];
    for (std::size_t k = r + 1; k < rows; ++k) value -= A[k][r] * y[k];
    y[r] = value * inverse[r];
  }
  return y;
}

void Descent::clamp(std::size_t i) noexcept {
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
void Descent::step(const Row& y) noexcept {
  std::size_t column = 0;
  for (std::size_t i = 0; i < coordinates_.size(); ++i) {
    Coordinates& q = coordinates_[i];
    q = previous_[i];
    for (int k = 0; k < free_[i].count; ++k) {
      const Row& J = reduced_[column++];
      double amount = J[0] * y[0] + J[1] * y[1] + J[2] * y[2];
      if (rows_ == 5) amount += J[3] * y[3] + J[4] * y[4];
      const Coordinates& direction = free_[i].directions[static_cast<std::size_t>(k)];
      q.u += amount * direction.u;
      q.v += amount * direction.v;
      q.s += amount * direction.s;
    }
    clamp(i);
  }
  if (feed_moves_) {
    base_.feed =
        std::clamp(previous_feed_ + length_scale_ * length_scale_ * y[2], 0.0, feed_limit_);
  }
}

Descent::End Descent::run(Patience patience, int& iterations, int max_iterations) noexcept {
  const double unit = length_scale_ * length_scale_;
  const double least_progress =
      patience == Patience::Meet ? kLeastProgressToMeet : kLeastProgressToApproach;
  cost_ = evaluate();
  double damping = std::clamp(cost_ / unit, kLeastDamping, kFirstDamping);
  int slow = 0;
  while (true) {
    if (within_tolerance()) return End::Converged;
    if (slow >= kSlowSteps) return End::AtRest;
    differentiate(Limits::Active);
    if (reduced_count_ == 0) return End::AtRest;
    previous_ = coordinates_;
    previous_feed_ = base_.feed;
    const Row residual = residual_;
    bool improved = false;
    while (!improved) {
      const bool spent = iterations >= max_iterations;
      if (spent || damping > kMostDamping) {
        coordinates_ = previous_;
        base_.feed = previous_feed_;
        cost_ = evaluate();
        return spent ? End::BudgetSpent : End::AtRest;
      }
      step(rows_ == 5 ? solve<5>(damping * unit, residual) : solve<3>(damping * unit, residual));
      ++iterations;
      const double new_cost = evaluate();
      if (new_cost < cost_) {
        improved = true;
        slow = new_cost > (1.0 - least_progress) * cost_ ? slow + 1 : 0;
        cost_ = new_cost;
        damping = std::max(kLeastDamping, damping * kShrink);
      } else {
        damping *= kGrow;
      }
    }
  }
}

double Descent::distance_to_preferred() const noexcept {
  const auto squared = [](double x) { return x * x; };
  double sum = 0.0;
  for (std::size_t i = 0; i < coordinates_.size(); ++i) {
    sum +=
        squared(coordinates_[i].u - preferred_[i].u) + squared(coordinates_[i].v - preferred_[i].v);
    if (prefer_lengths_) sum += squared((coordinates_[i].s - preferred_[i].s) / length_scale_);
  }
  if (prefer_lengths_ && feed_limit_ > 0.0)
    sum += squared((base_.feed - preferred_feed_) / length_scale_);
  return sum;
}

/// coordinates_ = previous_ + a share of the way to the preferred pose, less what of it would move
/// the tip: a + J^T (J J^T)^-1 (residual - J a). All directions are free.
void Descent::step_to_preferred(double share) noexcept {
  const auto way = [&](std::size_t i, int k) {
    const Coordinates &from = previous_[i], &to = preferred_[i];
    if (k == 0) return share * (to.u - from.u);
    if (k == 1) return share * (to.v - from.v);
    return prefer_lengths_ ? share * (to.s - from.s) / length_scale_ : 0.0;
  };
  const double feed_way =
      prefer_lengths_ ? share * (preferred_feed_ - previous_feed_) / length_scale_ : 0.0;
  Row residual = residual_;
  std::size_t column = 0;
  const auto subtract = [&](double amount) {
    const Row& J = reduced_[column++];
    for (std::size_t r = 0; r < static_cast<std::size_t>(rows_); ++r) residual[r] -= amount * J[r];
  };
  for (std::size_t i = 0; i < coordinates_.size(); ++i) {
    for (int k = 0; k < free_[i].count; ++k) subtract(way(i, k));
  }
  if (feed_moves_) subtract(feed_way);
  const double damping = kLeastDamping * length_scale_ * length_scale_;
  step(rows_ == 5 ? solve<5>(damping, residual) : solve<3>(damping, residual));
  for (std::size_t i = 0; i < coordinates_.size(); ++i) {
    coordinates_[i].u += way(i, 0);
    coordinates_[i].v += way(i, 1);
    if (free_[i].count == 3) coordinates_[i].s += length_scale_ * way(i, 2);
    clamp(i);
  }
  if (feed_moves_) base_.feed = std::clamp(base_.feed + length_scale_ * feed_way, 0.0, feed_limit_);
}

void Descent::relax(SectionStates preferred, const BaseState& preferred_base, bool lengths,
                    int& iterations, int max_iterations) noexcept {
  for (std::size_t i = 0; i < preferred_.size(); ++i) {
    const Eigen::Vector2d bend = bend_vector(preferred[i]);
    preferred_[i] = {bend.x(), bend.y(), preferred[i].extension};
  }
  preferred_feed_ = preferred_base.feed;
  prefer_lengths_ = lengths;
  double share = 1.0;
  double distance = distance_to_preferred();
  while (share >= kLeastShare && iterations < max_iterations) {
    before_ = coordinates_;
    const double met_feed = base_.feed;
    differentiate(Limits::Ignored);
    previous_ = coordinates_;
    previous_feed_ = base_.feed;
    step_to_preferred(share);
    ++iterations;
    const End end =
        run(Patience::Meet, iterations, std::min(max_iterations, iterations + kCorrections));
    const double now = distance_to_preferred();
    if (end == End::Converged && now < distance * (1.0 - kLeastRelief)) {
      distance = now;
      share = std::min(1.0, 2.0 * share);
      continue;
    }
    coordinates_ = before_;
    base_.feed = met_feed;
    cost_ = evaluate();
    share /= 4.0;
  }
}

}  // namespace tendril
