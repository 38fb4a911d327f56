#include "controllers/arm/tip_integral.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "tendril/kinematics/cholesky.hpp"
#include "tendril/model_error.hpp"

namespace tendril {

TipIntegral::TipIntegral(const ContinuumRobot& robot, const TipIntegralOptions& options,
                         double timestep)
    : options_(options),
      n_(robot.coordinate_count()),
      delay_steps_(static_cast<int>(std::lround(options.delay / timestep))),
      correction_(layout_.vector(n_)),
      oldest_(layout_.index(0, std::max(0, delay_steps_ - 1))),
      ring_(layout_.matrix<Eigen::MatrixXd>(6, delay_steps_)),
      scale_(Eigen::VectorXd::Ones(n_)),
      J_(6, n_),
      step_(n_),
      projected_(n_) {
  for (int i = 0; i < robot.section_count(); ++i) {
    const Section& section = robot.section(i);
    if (!section.bends_u()) missing_.push_back(robot.coordinate_index(i));
    if (!section.bends_v()) missing_.push_back(robot.coordinate_index(i) + 1);
    if (section.is_extensible()) {
      const int coordinate = robot.coordinate_index(i) + 2;
      scale_[coordinate] = kLengthScale;
      if (options.within_lengths)
        lengths_.push_back({.coordinate = coordinate,
                            .low = section.retracted(),
                            .high = section.variable_length()});
    }
  }
}

void TipIntegral::damped_step(const ArmMeasurement& measurement, int rows,
                              const Eigen::Matrix<double, 6, 1>& e) noexcept {
  const bool has_projector = options_.corrected.size() > 0;
  if (has_projector)
    J_.noalias() = measurement.tip_jacobian.leftCols(n_).lazyProduct(options_.corrected);
  else
    J_ = measurement.tip_jacobian.leftCols(n_);
  for (const int k : missing_) J_.col(k).setZero();
  J_ *= scale_.asDiagonal();
  J_.bottomRows<3>() *= kDirectionArm;
  const double lambda2 = options_.damping * options_.damping;
  if (rows == 3) {
    Eigen::Matrix3d A;
    A.noalias() = J_.topRows<3>() * J_.topRows<3>().transpose();
    A.diagonal().array() += lambda2;
    const Eigen::Vector3d y = cholesky_solve(A, e.head<3>());
    step_.noalias() = J_.topRows<3>().transpose() * y;
  } else {
    Eigen::Matrix<double, 6, 6> A;
    A.noalias() = J_ * J_.transpose();
    A.diagonal().array() += lambda2;
    const Eigen::Matrix<double, 6, 1> y = cholesky_solve(A, e);
    step_.noalias() = J_.transpose() * y;
  }
  step_.array() *= scale_.array();
  if (!has_projector) return;
  projected_.noalias() = options_.corrected.lazyProduct(step_);
  step_.swap(projected_);
}

Eigen::Vector3d TipIntegral::update(const ArmMeasurement& measurement,
                                    const Eigen::Matrix<double, 6, 1>& error, bool frozen,
                                    std::span<const double> memory, std::span<double> next_memory,
                                    Eigen::VectorXd& q) noexcept {
  // The error known now is that of the time `delay` ago: reference and measurement of the same
  // instant. Without the swing of the twist, which the integral would excite.
  Eigen::Matrix<double, 6, 1> e = error;
  Eigen::Matrix<double, 6, 1> swing = measurement.twist_swing;
  const Eigen::Vector3d z = measurement.X_BE.linear().col(2);
  swing.tail<3>() -= z.dot(swing.tail<3>()) * z;
  e += swing;
  if (delay_steps_ > 0) {
    const int oldest = oldest_(memory);
    ring_(next_memory).col(oldest).swap(e);
    oldest_(next_memory) = (oldest + 1) % delay_steps_;
  }
  const Eigen::Vector3d known = e.head<3>();
  e += swing;  // once more: the loop damps it
  e.tail<3>() *= kDirectionArm;
  const double distance = e.head<3>().norm();
  if (distance > options_.error_limit) e.head<3>() *= options_.error_limit / distance;
  const double angle = e.tail<3>().norm();
  if (angle > options_.error_limit) e.tail<3>() *= options_.error_limit / angle;

  auto next_correction = correction_(next_memory);
  if (!frozen && options_.gain > 0.0) {
    damped_step(measurement, options_.direction ? 6 : 3, e);
    const double gain =
        options_.supported
            ? options_.gain
            : std::min(options_.gain, kStabilityFraction * measurement.fundamental_mode_damping);
    step_ *= gain * measurement.timestep;
    // Scaled as a whole to keep the direction of the correction.
    const double largest = (step_.array() / scale_.array()).abs().maxCoeff();
    const double allowed = options_.rate_limit * measurement.timestep;
    if (largest > allowed) step_ *= allowed / largest;
    for (int i = 0; i < n_; ++i) {
      const double limit = options_.correction_limit * scale_[i];
      next_correction[i] = std::clamp(correction_(memory)[i] + step_[i], -limit, limit);
    }
  }
  // A length at the end of its range takes no correction past it, which would only be stored up.
  for (const LengthRange& range : lengths_) {
    double& correction = next_correction[range.coordinate];
    correction = std::clamp(correction, std::min(0.0, range.low - q[range.coordinate]),
                            std::max(0.0, range.high - q[range.coordinate]));
  }
  q += next_correction;
  return known;
}

void TipIntegral::compensate_gravity_deflection(const ArmMeasurement& measurement,
                                                Eigen::VectorXd& q) noexcept {
  if (!options_.deflection_compensation || measurement.gravity_deflection.squaredNorm() == 0.0)
    return;
  Eigen::Matrix<double, 6, 1> e = Eigen::Matrix<double, 6, 1>::Zero();
  e.head<3>() = -measurement.gravity_deflection;
  damped_step(measurement, 3, e);
  q += step_;
}

Eigen::MatrixXd sections_from(const ContinuumRobot& robot, int first) {
  Eigen::MatrixXd projector =
      Eigen::MatrixXd::Identity(robot.coordinate_count(), robot.coordinate_count());
  projector.diagonal().head(robot.coordinate_index(first)).setZero();
  return projector;
}

std::span<const SettingInfo> tip_integral_settings() noexcept {
  static constexpr SettingInfo kSettings[] = {
      setting::number(
          "integral_gain", "1/s", "5", {.low = 0.0, .high = 100.0},
          "gain of the integral action on the measured tip; 0: open loop; at most half of what "
          "the damping of the arm's fundamental mode allows"),
      setting::number("integral_damping", "m", "0.01", {0.0, 1.0, true},
                      "damping of the inverse of the tip Jacobian; 0.02 suits arms in contact"),
      setting::number("integral_limit", "rad", "0.3", {0.0, 3.0, true},
                      "largest correction of a section command"),
      setting::number(
          "sensor_delay", "s", "0", {0.0, 10.0},
          "age of the tip measurement, at most 1000 time steps: the controller gets the "
          "tip with this delay"),
      setting::flag(
          "deflection_compensation", true,
          "predict the uneven gravitational deflection within the sections and compensate it"),
  };
  return kSettings;
}

TipIntegralOptions read_tip_integral(const Settings& settings, double timestep) {
  const double delay = settings.number("sensor_delay");
  if (delay > 1000 * timestep)
    throw ModelError("sensor_delay = " + std::string(settings.text("sensor_delay")) +
                     ": must be at most 1000 time steps");
  return {.gain = settings.number("integral_gain"),
          .damping = settings.number("integral_damping"),
          .correction_limit = settings.number("integral_limit"),
          .delay = delay,
          .deflection_compensation = settings.flag("deflection_compensation")};
}

}  // namespace tendril
