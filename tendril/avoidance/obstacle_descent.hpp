#pragma once

#include <vector>

#include "tendril/geometry/body_clearance.hpp"
#include "tendril/ik/tip_descent.hpp"

namespace tendril {

inline constexpr std::size_t kMaxContactRows = 24;

/// One descent of bounded Levenberg-Marquardt towards a tip target and away from obstacles: the
/// engine of ObstacleSolver, not a solver by itself. Besides the rows of the tip there is one row
/// for every pair of an arc of the body and an obstacle that are nearer than the margin, at the
/// arc's point that is nearest to the obstacle (of more than kMaxContactRows pairs, the nearest):
///
///     w (margin - clearance),   with the gradient  w n . dp/dq  at the point held fixed on the arc
///
/// which is the exact one: where the nearest point slides along the arc the distance does not
/// change. docs/theory/obstacles.md, "Descent around obstacles".
class ObstacleDescent : public TipDescent<ObstacleDescent, 6 + kMaxContactRows> {
 public:
  explicit ObstacleDescent(const ContinuumRobot& robot);

  /// Obstacles to keep away from; null: none. Rows push while the backbone is nearer than
  /// `safety_distance` + `margin` [m]; a pose counts as free when it is not nearer than
  /// `safety_distance`. The obstacles must live as long as they are used.
  void around(const Obstacles* obstacles, double safety_distance, double margin) noexcept;

  /// Descends until the target is met with the body free (Converged), nothing helps any more, or
  /// `iterations` has reached `max_iterations`. Counts one iteration per pose evaluated after the
  /// start.
  [[nodiscard]] DescentEnd run(int& iterations, int max_iterations) noexcept;

 private:
  friend class TipDescent<ObstacleDescent, 6 + kMaxContactRows>;

  struct Contact {
    std::size_t section;
    double fraction, excess;  // margin - clearance > 0 [m]
    Eigen::Vector3d point, normal;
  };

  [[nodiscard]] double evaluate() noexcept;
  [[nodiscard]] bool is_met() const noexcept {
    return is_within_tolerance(tip_residual()) && depth_ <= 0.0;
  }
  void differentiate() noexcept;
  void step(double damping) noexcept;

  void place_arcs(std::size_t i) noexcept;
  void keep_contact(const Contact& contact) noexcept;
  void set_contact_row(std::size_t row, const Contact& contact) noexcept;

  ContinuumRobot robot_;
  std::vector<std::size_t> first_arc_;  // of each section, and their number
  std::vector<BodyArc> arcs_;
  std::vector<Velocities> velocities_;
  const Obstacles* obstacles_ = nullptr;
  double safety_distance_ = 0.0, margin_ = 0.0;
  std::array<Contact, kMaxContactRows> contacts_;
  std::size_t contact_count_ = 0;
  std::size_t step_rows_ = 3;  // of the pose that the step starts from
  double depth_ = 0.0;  // deepest entry into the space to keep clear of, 0 or negative: none [m]
};

}  // namespace tendril
