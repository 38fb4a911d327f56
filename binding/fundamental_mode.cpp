#include "binding/fundamental_mode.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "controllers/arm/move_timing.hpp"

namespace tendril {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

/// Stiffness and damping of the joints, one against the other.
struct Impedance {
  MatrixXd K, C;
};

/// Adds the impedance of joints and servos, each on its own or on the sum of a coordinate.
void add_coordinates(const Mechanism& m, const ArmModel& model, Impedance& out) {
  auto& [K, C] = out;
  const ArmMechanics& arm = model.mechanics;
  Eigen::Index i = 0;
  for (const ArmCoordinate& coordinate : arm.coordinates()) {
    const auto count = static_cast<Eigen::Index>(coordinate.joints.size());
    if (coordinate.servo >= 0) {  // on the sum of the joints
      const auto index = static_cast<std::size_t>(coordinate.servo);
      const Servo& servo = arm.servos()[index];
      double stiffness = servo.stiffness, damping = servo.damping;
      const int tendon = m.actuators[static_cast<std::size_t>(model.actuators[index])].tendon;
      if (tendon >= 0) {
        stiffness += m.tendons[static_cast<std::size_t>(tendon)].stiffness;
        damping += m.tendons[static_cast<std::size_t>(tendon)].damping;
      }
      K.block(i, i, count, count).array() += stiffness;
      C.block(i, i, count, count).array() += damping;
    }
    for (const ArmJoint& joint : coordinate.joints) {
      K(i, i) += joint.stiffness;
      C(i, i) += m.joint_damping(model.joints[static_cast<std::size_t>(i)]);
      if (joint.servo >= 0) {
        const Servo& servo = arm.servos()[static_cast<std::size_t>(joint.servo)];
        K(i, i) += servo.stiffness;
        C(i, i) += servo.damping;
      }
      ++i;
    }
  }
}

/// Adds the impedance of tendons and chambers.
void add_tendons(const ArmMechanics& arm, Impedance& out) {
  auto& [K, C] = out;
  const TendonDrive& drive = arm.tendon_drive();
  if (arm.tendons_feed_back()) {
    Eigen::Index i = 0;
    for (const ArmCoordinate& coordinate : arm.coordinates()) {
      const auto count = static_cast<Eigen::Index>(coordinate.joints.size());
      const auto index = static_cast<Eigen::Index>(&coordinate - arm.coordinates().data());
      for (const TendonDrive::Bend& bend : drive.bends()) {
        if (bend.coordinate != index) continue;
        K.block(i, i, count, count).array() += bend.body.stiffness;
        C.block(i, i, count, count).array() += bend.body.damping;
      }
      i += count;
    }
  }
  for (const ArmTendon& tendon : drive.tendons()) {
    if (!tendon.takes_length) continue;
    const Eigen::Map<const VectorXd> row(tendon.joints.data(), K.rows());
    K += tendon.stiffness * row * row.transpose();
    C += tendon.damping * row * row.transpose();
  }
}

}  // namespace

FundamentalMode fundamental_mode(const Mechanism& mechanism, const ArmModel& model) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr int kIterations = 200;
  constexpr double kTolerance = 1e-9;  // relative, of omega^2
  const auto n = static_cast<Eigen::Index>(model.joints.size());
  if (n == 0) return {kInfinity, kInfinity};
  Impedance impedance{MatrixXd::Zero(n, n), MatrixXd::Zero(n, n)};
  add_coordinates(mechanism, model, impedance);
  add_tendons(model.mechanics, impedance);
  const auto& [K, C] = impedance;
  // Inverse iteration.
  const MatrixXd M = mechanism.inertia(model.joints);
  const Eigen::LLT<MatrixXd> factor(K);
  if (factor.info() != Eigen::Success) return {kInfinity, kInfinity};
  VectorXd x = VectorXd::Ones(n);
  double last = 0.0;
  for (int k = 0; k < kIterations; ++k) {
    const VectorXd y = M * x;
    x = factor.solve(y);
    x /= x.norm();
    const double value = x.dot(K * x) / x.dot(M * x);
    if (std::abs(value - last) <= kTolerance * value) break;
    last = value;
  }
  const double mass = x.dot(M * x);
  const double squared = x.dot(K * x) / mass, damping = x.dot(C * x) / mass;
  if (!(squared > 0.0) || !std::isfinite(squared) || !(damping >= 0.0))
    return {kInfinity, kInfinity};
  return {std::sqrt(squared), damping};
}

double twist_damping(const Mechanism& mechanism, const ArmModel& model) {
  const std::vector<ArmChain::Mass> masses = model.chain(mechanism).masses();
  // Along the straight arm.
  const auto distance_of = [&](int joint) {
    double distance = 0.0;
    for (int body = mechanism.joints[static_cast<std::size_t>(joint)].body; body > 0;) {
      const Mechanism::Body& of = mechanism.bodies[static_cast<std::size_t>(body)];
      distance += of.position.z();
      body = of.parent;
    }
    return distance;
  };
  double squares = 0.0;  // sum of the squares of the hinges' periods, over (2 pi)^2
  double damping_time = std::numeric_limits<double>::infinity();
  auto joint = model.twists.begin();
  for (const TwistingSection& section : model.mechanics.twists().sections()) {
    for (const TwistingSection::Hinge& hinge : section.hinges) {
      const double distance = distance_of(*joint++);
      for (const ArmChain::Mass& mass : masses) {
        const double arm = std::max(0.0, mass.distance - distance);
        squares += mass.mass * arm * arm / hinge.stiffness;
      }
      damping_time = std::min(damping_time, hinge.damping / hinge.stiffness);
    }
  }
  return damping_time / squares;
}

double swing_period(const FundamentalMode& mode) noexcept {
  constexpr double kLeft = 0.03;  // of the swing, after a move of that time
  const double period = 2.0 * std::numbers::pi / mode.frequency;
  const double decay = -2.0 * std::log(kLeft) / mode.damping;  // to that part
  return std::isfinite(period) && decay > MoveTiming::kPeriods * period ? period : 0.0;
}

}  // namespace tendril
