#pragma once

#include <cstdint>
#include <type_traits>

#include "tendril/ik/tip_map.hpp"

namespace tendril {

/// End of a descent.
enum class DescentEnd : std::uint8_t {
  Converged,    ///< the target is met
  Stalled,      ///< no step helps, or several in a row gained little
  BudgetSpent,  ///< the iterations are used up
};

/// Limits of what counts as too little.
struct DescentRule {
  double least_damping;   ///< in units of the squared length scale
  double least_progress;  ///< of the cost in a step; several steps in a row below it are a stall
};

/// One descent of bounded Levenberg-Marquardt in the smooth coordinates u, v, s: damping, active
/// set of the limits, reduced Jacobian and normal equations. The system is solved in the space of
/// the rows, 3, 5 or 6 of the tip and those that the derived class adds, whatever the number of
/// sections. docs/theory/ik.md, "Bounded Levenberg-Marquardt".
///
/// `Derived` has, accessible to this class:
///
///     double evaluate();          // frames and residual_ of coordinates_; returns the cost [m^2]
///     bool is_met() const;        // whether the pose evaluated last meets the target
///     void differentiate();       // columns, free directions and normal matrix of that pose
///     void step(double damping);  // coordinates_ = previous_ and the step with this damping [m^2]
///
/// @tparam kRows  most rows of the residual
template <class Derived, std::size_t kRows>
class TipDescent : public TipMap {
 public:
  /// Squared residual of the current pose [m^2].
  [[nodiscard]] double cost() const noexcept { return cost_; }

  /// Computes only the errors and the cost of the pose placed.
  void measure() noexcept { cost_ = derived().evaluate(); }

 protected:
  using Row = std::array<double, kRows>;  // one number per row of the residual

  // The functions below take the number of rows in use as `rows`: a std::size_t, or FixedRows where
  // it is known at compile time, which unrolls the loops.
  template <std::size_t count>
  using FixedRows = std::integral_constant<std::size_t, count>;

  struct FreeDirections {  // that a section may move in: (du, dv, ds)
    int count = 0;
    std::array<Coordinates, 3> directions;
  };

  TipDescent(const ContinuumRobot& robot, const Options& options)
      : TipMap(robot, options),
        previous_(coordinates_.size()),
        columns_(coordinates_.size()),
        free_(coordinates_.size()),
        reduced_(3 * coordinates_.size() + 2) {}

  /// Descends until the target is met, nothing helps any more, or `iterations` has reached
  /// `max_iterations`. Counts one iteration per pose evaluated after the start.
  [[nodiscard]] DescentEnd descend(const DescentRule& rule, int& iterations,
                                   int max_iterations) noexcept {
    const double unit = length_scale_ * length_scale_;
    cost_ = derived().evaluate();
    double damping = std::clamp(cost_ / unit, rule.least_damping, kFirstDamping);
    int slow = 0;
    while (true) {
      if (derived().is_met()) return DescentEnd::Converged;
      if (slow >= kSlowSteps) return DescentEnd::Stalled;
      derived().differentiate();
      if (reduced_count_ == 0) return DescentEnd::Stalled;
      previous_ = coordinates_;
      previous_base_ = base_;
      previous_residual_ = residual_;
      bool improved = false;
      while (!improved) {
        const bool spent = iterations >= max_iterations;
        if (spent || damping > kMaxDamping) {
          coordinates_ = previous_;
          base_ = previous_base_;
          cost_ = derived().evaluate();
          return spent ? DescentEnd::BudgetSpent : DescentEnd::Stalled;
        }
        derived().step(damping * unit);
        ++iterations;
        const double new_cost = derived().evaluate();
        if (new_cost < cost_) {
          improved = true;
          slow = new_cost > (1.0 - rule.least_progress) * cost_ ? slow + 1 : 0;
          cost_ = new_cost;
          damping = std::max(rule.least_damping, damping * kShrink);
        } else {
          damping *= kGrow;
        }
      }
    }
  }

  [[nodiscard]] TipRows tip_residual() noexcept {
    return std::span(residual_).template first<kTipRows>();
  }
  [[nodiscard]] ConstTipRows tip_residual() const noexcept {
    return std::span(residual_).template first<kTipRows>();
  }

  // ---- parts of `differentiate`, in their order ----

  void clear_directions() noexcept { reduced_count_ = 0; }

  /// The rows of the tip in the columns of section i.
  void set_tip_columns(std::size_t i, const Velocities& velocities) noexcept {
    const Eigen::Vector3d arm = tip_ - frames_[i].end;
    const Eigen::Vector3d tip_u = velocities.translation_u + velocities.rotation_u.cross(arm);
    const Eigen::Vector3d tip_v = velocities.translation_v + velocities.rotation_v.cross(arm);
    const Eigen::Vector3d& tip_s = velocities.translation_s;
    auto& [column_u, column_v, column_s] = columns_[i];
    std::copy_n(tip_u.data(), 3, column_u.begin());
    std::copy_n(tip_v.data(), 3, column_v.begin());
    std::copy_n(tip_s.data(), 3, column_s.begin());
    if (!has_direction_) return;
    column_u[3] = length_scale_ * velocities.rotation_u.dot(tip_y_);
    column_u[4] = -length_scale_ * velocities.rotation_u.dot(tip_x_);
    column_v[3] = length_scale_ * velocities.rotation_v.dot(tip_y_);
    column_v[4] = -length_scale_ * velocities.rotation_v.dot(tip_x_);
    column_s[3] = column_s[4] = column_s[5] = 0.0;
    if (!has_roll_) return;
    const Eigen::Vector3d axis = roll_axis();
    const Eigen::Vector2d twist = twist_rate(i);
    column_u[5] = length_scale_ * (velocities.rotation_u.dot(axis) + twist.x());
    column_v[5] = length_scale_ * (velocities.rotation_v.dot(axis) + twist.y());
  }

  /// All directions of section i, as if it had no limits.
  void add_all_directions(std::size_t i, auto rows) noexcept {
    free_[i].count = 0;
    add_bends(i, rows);
    if (maps_[i].is_extensible()) add_direction(i, {0.0, 0.0, length_scale_}, rows);
  }

  /// The directions in which section i may move: all but those that its limits stop.
  void add_free_directions(std::size_t i, auto rows) noexcept {
    const auto& [u, v, s] = coordinates_[i];
    const SectionMap& map = maps_[i];
    free_[i].count = 0;
    const double limit = map.is_extensible() ? map.limit_slope * s : map.bend_angle_limit;
    const double squared = u * u + v * v;
    bool at_bend_limit = squared >= limit * limit * (1.0 - 2.0 * kAtLimit);
    Coordinates radial;
    if (at_bend_limit) {
      const double theta = std::sqrt(squared);
      radial = theta > 0.0 ? Coordinates{u / theta, v / theta, 0.0}
                           : Coordinates{map.bends_u ? std::cos(straight_phi_[i]) : 0.0,
                                         map.bends_v ? std::sin(straight_phi_[i]) : 0.0, 0.0};
      at_bend_limit = gain(i, radial, rows) > 0.0;
    }
    if (limit > kNoBend) {
      if (!at_bend_limit) {
        add_bends(i, rows);
      } else if (map.bends_in_any_plane()) {
        add_direction(i, {-radial.v, radial.u, 0.0}, rows);
      }
    }
    if (!map.is_extensible()) return;
    // Along the cone of limits a longer section may bend more.
    Coordinates lengthen{0.0, 0.0, length_scale_};
    if (at_bend_limit) {
      lengthen.u = length_scale_ * map.limit_slope * radial.u;
      lengthen.v = length_scale_ * map.limit_slope * radial.v;
    }
    const bool at_shortest = s <= kAtLimit * map.variable_length;
    const bool at_longest = s >= (1.0 - kAtLimit) * map.variable_length;
    if (at_shortest || at_longest) {
      const double length_gain = gain(i, lengthen, rows);
      if ((at_shortest && length_gain < 0.0) || (at_longest && length_gain > 0.0)) return;
    }
    add_direction(i, lengthen, rows);
  }

  void add_feed(bool is_free) noexcept {
    feed_moves_ = is_free;
    if (is_free) reduced_[reduced_count_++] = {0.0, 0.0, length_scale_};
  }

  /// The spin, for a target with a roll.
  void add_spin() noexcept {
    spin_moves_ = has_roll_ && free_spin_;
    if (!spin_moves_) return;
    Row& column = reduced_[reduced_count_++];
    column = {-tip_.y(),
              tip_.x(),
              0.0,
              length_scale_ * tip_y_.z(),
              -length_scale_ * tip_x_.z(),
              length_scale_ * roll_axis().z()};
  }

  /// normal_ = J J^T of the free directions.
  void multiply(auto rows) noexcept {
    constexpr std::size_t most = most_of<decltype(rows)>();
    std::array<double, most*(most + 1) / 2> sum;
    const std::size_t size = rows * (rows + 1) / 2;
    std::fill_n(sum.begin(), size, 0.0);
    for (std::size_t k = 0; k < reduced_count_; ++k) {
      const Row& column = reduced_[k];
      std::size_t entry = 0;
      for (std::size_t r = 0; r < rows; ++r) {
        for (std::size_t c = 0; c <= r; ++c) sum[entry++] += column[r] * column[c];
      }
    }
    std::copy_n(sum.begin(), size, normal_.begin());
  }

  // ---- parts of `step` ----

  /// (J J^T + damping I)^-1 residual, by L D L^T.
  [[nodiscard]] Row solve(double damping, const Row& residual, auto rows) const noexcept {
    constexpr std::size_t most = most_of<decltype(rows)>();
    std::array<std::array<double, most>, most> A;
    std::size_t entry = 0;
    for (std::size_t r = 0; r < rows; ++r) {
      for (std::size_t c = 0; c <= r; ++c) A[r][c] = normal_[entry++];
      A[r][r] += damping;
    }
    Row y = residual;
    std::array<double, most> inverse;
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

  /// coordinates_ = previous_ + J^T y, inside the limits.
  void move(const Row& y, auto rows) noexcept {
    std::size_t column = 0;
    for (std::size_t i = 0; i < coordinates_.size(); ++i) {
      Coordinates& q = coordinates_[i];
      q = previous_[i];
      const FreeDirections& free = free_[i];
      for (int k = 0; k < free.count; ++k) {
        const double amount = dot(reduced_[column++], y, rows);
        q.u += amount * free.directions[k].u;
        q.v += amount * free.directions[k].v;
        q.s += amount * free.directions[k].s;
      }
      clamp(i);
    }
    if (feed_moves_) {
      base_.feed =
          std::clamp(previous_base_.feed + length_scale_ * length_scale_ * y[2], 0.0, feed_limit_);
      ++column;
    }
    if (spin_moves_) base_.spin = previous_base_.spin + dot(reduced_[column], y, rows);
  }

  std::vector<Coordinates> previous_;        // that the step starts from
  std::vector<std::array<Row, 3>> columns_;  // of u, v, s of each section
  std::vector<FreeDirections> free_;
  std::vector<Row> reduced_;  // one column per free direction
  std::size_t reduced_count_ = 0;
  BaseState previous_base_;
  bool feed_moves_ = false, spin_moves_ = false;  // the last columns of reduced_ are theirs
  Row residual_{}, previous_residual_{};
  double cost_ = 0.0;

 private:
  // Damping in units of the squared length scale.
  static constexpr double kFirstDamping = 1e-2, kMaxDamping = 1e4, kGrow = 8.0, kShrink = 0.1;
  static constexpr int kSlowSteps = 5;      // in a row that gain little: a stall
  static constexpr double kAtLimit = 1e-9;  // ratio of a limit: this near counts as on it
  static constexpr double kNoBend = 1e-9;   // [rad], a smaller limit leaves no bend

  template <class Rows>
  static constexpr std::size_t most_of() noexcept {
    if constexpr (std::is_same_v<Rows, std::size_t>) {
      return kRows;
    } else {
      return Rows::value;
    }
  }

  [[nodiscard]] Derived& derived() noexcept { return static_cast<Derived&>(*this); }

  /// Half the rate at which the cost falls along a direction of section i.
  [[nodiscard]] double gain(std::size_t i, const Coordinates& direction, auto rows) const noexcept {
    const auto& [column_u, column_v, column_s] = columns_[i];
    double sum = 0.0;
    for (std::size_t r = 0; r < rows; ++r) {
      sum += residual_[r] * (direction.u * column_u[r] + direction.v * column_v[r] +
                             (direction.s != 0.0 ? direction.s * column_s[r] : 0.0));
    }
    return sum;
  }

  void add_direction(std::size_t i, const Coordinates& direction, auto rows) noexcept {
    const auto& [column_u, column_v, column_s] = columns_[i];
    Row& column = reduced_[reduced_count_++];
    for (std::size_t r = 0; r < rows; ++r) {
      column[r] = direction.u * column_u[r] + direction.v * column_v[r];
      if (direction.s != 0.0) column[r] += direction.s * column_s[r];
    }
    free_[i].directions[free_[i].count++] = direction;
  }

  /// The directions u and v of section i, as far as it has them.
  void add_bends(std::size_t i, auto rows) noexcept {
    FreeDirections& free = free_[i];
    free.count = 0;
    const auto add = [&](std::size_t k, const Coordinates& direction) {
      free.directions[free.count++] = direction;
      Row& column = reduced_[reduced_count_++];
      for (std::size_t r = 0; r < rows; ++r) column[r] = columns_[i][k][r];
    };
    if (maps_[i].bends_u) add(0, {1.0, 0.0, 0.0});
    if (maps_[i].bends_v) add(1, {0.0, 1.0, 0.0});
  }

  [[nodiscard]] static double dot(const Row& a, const Row& b, auto rows) noexcept {
    if constexpr (std::is_same_v<decltype(rows), std::size_t>) {
      double sum = 0.0;
      for (std::size_t r = 0; r < rows; ++r) sum += a[r] * b[r];
      return sum;
    } else {
      double sum = a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
      if constexpr (rows >= 5) sum += a[3] * b[3] + a[4] * b[4];
      if constexpr (rows == 6) sum += a[5] * b[5];
      return sum;
    }
  }

  std::array<double, kRows*(kRows + 1) / 2> normal_{};  // J J^T, lower triangle row by row
};

}  // namespace tendril
