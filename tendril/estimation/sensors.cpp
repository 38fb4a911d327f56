#include "tendril/estimation/sensors.hpp"

#include <algorithm>
#include <string>

#include "tendril/kinematics/rotation.hpp"
#include "tendril/range.hpp"

namespace tendril {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;
using Eigen::VectorXd;

Matrix3d skew(const Vector3d& a) noexcept {
  Matrix3d matrix;
  matrix << 0, -a.z(), a.y(), a.z(), 0, -a.x(), -a.y(), a.x(), 0;
  return matrix;
}

}  // namespace

ArmSensors::ArmSensors(const ElasticArm& arm, std::vector<Sensor> sensors)
    : sensors_(std::move(sensors)),
      tendon_count_(arm.tendon_count()),
      q_(arm.coordinate_count()),
      lengths_(arm.tendon_count()),
      jacobian_(6, arm.coordinate_count()),
      by_q_(3, arm.coordinate_count()) {
  const double last = arm.robot().section_count() - 1.0;
  for (int s = 0; s < count(); ++s) {
    Sensor& sensor = sensors_[static_cast<std::size_t>(s)];
    const std::string object = "sensor " + std::to_string(s + 1);
    require(object, "deviation", sensor.deviation, kPositive);
    require(object, "delay", sensor.delay, kNotNegative, "s");
    require(object, "place.section", sensor.place.section, {-1.0, last});
    require(object, "place.fraction", sensor.place.fraction, {0.0, 1.0});
    if (sensor.place.section < 0) sensor.place.section = static_cast<int>(last);
    if (sensor.kind == SensorKind::TendonLength)
      require("elastic arm", "number of tendons", tendon_count_, {.low = 1.0});
    largest_row_count_ = std::max(largest_row_count_, row_count(s));
  }
  const Eigen::Index rows = std::max(largest_row_count_, 3);
  expected_.setZero(rows);
  by_x_.setZero(rows, arm.state_size());
}

int reading_size(SensorKind kind, int n, int t) noexcept {
  switch (kind) {
    case SensorKind::Coordinates:
      return n;
    case SensorKind::TendonLength:
      return t;
    case SensorKind::Curvature:
      return 2;
    default:
      return 3;
  }
}

int ArmSensors::reading_size(int s) const noexcept {
  return tendril::reading_size((*this)[s].kind, static_cast<int>(q_.size()), tendon_count_);
}

int ArmSensors::row_count(int s) const noexcept {
  return (*this)[s].kind == SensorKind::Direction ? 2 : reading_size(s);
}

std::span<const double> ArmSensors::needed(int s, int r,
                                           std::span<const double> numbers) const noexcept {
  const SensorKind kind = (*this)[s].kind;
  const bool needs_all = kind == SensorKind::Direction || kind == SensorKind::Rotation;
  return needs_all ? numbers.first(3) : numbers.subspan(static_cast<std::size_t>(r), 1);
}

void ArmSensors::expect(int s, ElasticArm& arm, const VectorXd& x, const ArmInput& input) noexcept {
  const Sensor& sensor = (*this)[s];
  const Eigen::Index n = arm.coordinate_count(), t = tendon_count_;
  by_x_.setZero();
  switch (sensor.kind) {
    case SensorKind::Coordinates: {
      const VectorXd& exposure = arm.exposure(input.base);
      expected_.head(n) = exposure.cwiseProduct(x.head(n));
      by_x_.topLeftCorner(n, n).diagonal() = exposure;
      return;
    }
    case SensorKind::TendonLength: {
      const auto& compliances = arm.parameters().tendon_compliances;
      q_ = x.head(n);
      arm.tendons().lengths(q_, lengths_);
      expected_.head(t) = lengths_;
      by_x_.topLeftCorner(t, n) = arm.tendons().jacobian();
      for (Eigen::Index k = 0; k < t; ++k) {
        const double stretch = compliances[static_cast<std::size_t>(k)] * input.tension[k];
        expected_[k] -= stretch * (1.0 + x[2 * n + 3 + k]);
        by_x_(k, 2 * n + 3 + k) = -stretch;
      }
      return;
    }
    case SensorKind::Position:
      expected_.head<3>() = arm.position(x, input.base, sensor.place, by_q_, by_force_);
      by_x_.topLeftCorner(3, n) = by_q_;
      by_x_.block<3, 3>(0, 2 * n) = by_force_;
      if (!arm.has_offset(sensor.place)) return;
      expected_.head<3>() += x.tail<3>();
      by_x_.topRightCorner<3, 3>().setIdentity();
      return;
    case SensorKind::Direction:
      R_BP_ = arm.pose(x.head(n), input.base, sensor.place, jacobian_).linear();
      expected_.head<3>() = R_BP_.col(2);
      by_x_.topLeftCorner(3, n) = jacobian_.bottomRows<3>();
      return;
    case SensorKind::Rotation:
      R_BP_ = arm.pose(x.head(n), input.base, sensor.place, jacobian_).linear();
      expected_.head<3>() = rotation_vector(R_BP_);
      arm.rotation_jacobian(x.head(n), input.base, sensor.place, by_q_);
      by_x_.topLeftCorner(3, n) = by_q_;
      return;
    case SensorKind::Curvature:
      expected_.head<2>() = arm.curvature(x, input.base, sensor.place, by_q_, by_force_);
      by_x_.topLeftCorner(2, n) = by_q_.topRows<2>();
      by_x_.block<2, 3>(0, 2 * n) = by_force_.topRows<2>();
      return;
    case SensorKind::BaseForce:
    case SensorKind::BaseMoment:
      return expect_wrench(sensor, arm, x, input.base);
  }
}

void ArmSensors::expect_wrench(const Sensor& sensor, ElasticArm& arm, const VectorXd& x,
                               const BaseState& base) noexcept {
  const Eigen::Index n = arm.coordinate_count();
  const bool is_moment = sensor.kind == SensorKind::BaseMoment;
  expected_.setZero();
  Matrix3d by_own_force = Matrix3d::Identity();  // of the force that was added last
  const auto add = [&](const BodyPlace& place, const Vector3d& force) {
    if (!is_moment) {
      expected_.head<3>() += force;
      return;
    }
    const Vector3d p = arm.position(x, base, place, by_q_, by_force_);
    expected_.head<3>() += p.cross(force);
    by_x_.topLeftCorner(3, n).noalias() -= skew(force) * by_q_;
    by_x_.block<3, 3>(0, 2 * n) -= skew(force) * by_force_;
    by_own_force = skew(p);
  };
  for (const ElasticArm::MassPoint& point : arm.masses())
    add(point.place, point.mass * arm.parameters().gravity);
  add(arm.parameters().force_place, x.segment<3>(2 * n));
  by_x_.block<3, 3>(0, 2 * n) += by_own_force;
}

void ArmSensors::read(int s, ElasticArm& arm, const VectorXd& x, const ArmInput& input,
                      Eigen::Ref<VectorXd> reading) noexcept {
  expect(s, arm, x, input);
  reading = expected_.head(reading_size(s));
}

void ArmSensors::residual(int s, ElasticArm& arm, const VectorXd& x, const ArmInput& input,
                          const Eigen::Ref<const VectorXd>& reading, Eigen::Ref<VectorXd> residual,
                          Eigen::Ref<Eigen::MatrixXd> jacobian) noexcept {
  expect(s, arm, x, input);
  const int rows = row_count(s);
  switch ((*this)[s].kind) {
    case SensorKind::Direction:
      residual = R_BP_.leftCols<2>().transpose() * reading;
      jacobian.topRows<2>().noalias() = R_BP_.leftCols<2>().transpose() * by_x_.topRows<3>();
      return;
    case SensorKind::Rotation:
      residual = rotation_vector(rotation_by(reading) * R_BP_.transpose());
      break;
    default:
      residual = reading - expected_.head(rows);
  }
  jacobian.topRows(rows) = by_x_.topRows(rows);
}

}  // namespace tendril
