#pragma once

// Read elastic_arm.hpp first.

#include <Eigen/Core>
#include <cstdint>
#include <span>
#include <vector>

#include "tendril/estimation/elastic_arm.hpp"

namespace tendril {

/// Quantities that sensors of a continuum arm measure; base frame. Size of a reading, unit.
enum class SensorKind : std::uint8_t {
  Coordinates,   ///< q, where motors turn with it: n, [rad], [m]
  TendonLength,  ///< all tendons' changes from the straight arm where they are wound up: t, [m]
  Position,      ///< of a place: 3, [m]
  Direction,     ///< unit tangent of a place: 3
  Rotation,      ///< of a place's frame, as a rotation vector: 3, [rad]
  Curvature,     ///< of a place towards x and y of its frame: 2, [1/m]
  BaseForce,     ///< of the arm on its base, weight included: 3, [N]
  BaseMoment,    ///< the same about the origin of the base frame: 3, [N m]
};

/// One sensor. A tracker of position and direction is two sensors.
struct Sensor {
  SensorKind kind = SensorKind::Position;
  double deviation = 0.0;  ///< standard deviation of each component, > 0; [rad] of a direction
  BodyPlace place{};       ///< of a marker, tracker or grating
  double delay = 0.0;      ///< age of its readings when they arrive [s], >= 0
};

/// Numbers in a reading of a sensor of an arm with n coordinates and t tendons.
[[nodiscard]] int reading_size(SensorKind kind, int n, int t) noexcept;

/// The common measurement model: what each sensor reads at a state x (ElasticArm) and input, and
/// its derivative. At rest: inertia does not count in the force on the base.
///
///     coordinates    e q                                   e: ElasticArm::exposure
///     lengths    (dl/dq) (q - straight) - c T (1 + eta)    the tendon stretches by c T
///     positions and curvatures     ElasticArm::position, of the tip with b; ElasticArm::curvature
///     force      sum_j m_j g + f,   moment   sum_j p_j x m_j g + p x f
///
/// Source: docs/theory/estimation.md, "Sensors". Tested by: sensors_test.
class ArmSensors {
 public:
  /// Throws ModelError naming the sensor, from 1, and the field outside its range.
  ArmSensors(const ElasticArm& arm, std::vector<Sensor> sensors);

  [[nodiscard]] int count() const noexcept { return static_cast<int>(sensors_.size()); }
  [[nodiscard]] const Sensor& operator[](int s) const noexcept {
    return sensors_[static_cast<std::size_t>(s)];
  }
  /// Numbers of a reading, and independent ones among them: 2 of a direction.
  [[nodiscard]] int reading_size(int s) const noexcept;
  [[nodiscard]] int row_count(int s) const noexcept;
  /// The numbers of a reading, or of marks for them, that row r of its residual needs: one, of a
  /// direction and of a rotation all.
  [[nodiscard]] std::span<const double> needed(int s, int r,
                                               std::span<const double> numbers) const noexcept;
  [[nodiscard]] int largest_row_count() const noexcept { return largest_row_count_; }

  /// Writes what sensor s reads without noise.
  void read(int s, ElasticArm& arm, const Eigen::VectorXd& x, const ArmInput& input,
            Eigen::Ref<Eigen::VectorXd> reading) noexcept;
  /// Writes the residual of a reading, "reading minus expected", row_count(s), and the derivative
  /// of the expected one with respect to x: row_count(s) x state_size(), in the first rows. A
  /// direction's residual is across the expected direction, a rotation's is the rotation vector
  /// from the expected one, base frame.
  void residual(int s, ElasticArm& arm, const Eigen::VectorXd& x, const ArmInput& input,
                const Eigen::Ref<const Eigen::VectorXd>& reading,
                Eigen::Ref<Eigen::VectorXd> residual,
                Eigen::Ref<Eigen::MatrixXd> jacobian) noexcept;

 private:
  void expect(int s, ElasticArm& arm, const Eigen::VectorXd& x, const ArmInput& input) noexcept;
  void expect_wrench(const Sensor& sensor, ElasticArm& arm, const Eigen::VectorXd& x,
                     const BaseState& base) noexcept;

  std::vector<Sensor> sensors_;
  int tendon_count_, largest_row_count_ = 0;
  Eigen::VectorXd expected_;  // of the last `expect`: what is read,
  Eigen::MatrixXd by_x_;      // its derivative
  Eigen::Matrix3d R_BP_;      // and the frame of the place
  Eigen::VectorXd q_, lengths_;
  Eigen::Matrix<double, 6, Eigen::Dynamic> jacobian_;
  Eigen::Matrix<double, 3, Eigen::Dynamic> by_q_;
  Eigen::Matrix3d by_force_;
};

}  // namespace tendril
