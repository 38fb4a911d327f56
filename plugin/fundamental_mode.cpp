#include "plugin/fundamental_mode.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Geometry>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "controllers/arm/move_timing.hpp"

namespace tendril {
namespace {

using Eigen::Matrix3d;
using Eigen::MatrixXd;
using Eigen::Vector3d;
using Eigen::VectorXd;
using Matrix6 = Eigen::Matrix<double, 6, 6>;
using Vector6 = Eigen::Matrix<double, 6, 1>;

Eigen::Quaterniond quaternion(const mjtNum* q) { return {q[0], q[1], q[2], q[3]}; }

Matrix3d cross_matrix(const Vector3d& p) {
  Matrix3d X;
  X << 0, -p.z(), p.y(), p.z(), 0, -p.x(), -p.y(), p.x(), 0;
  return X;
}

/// The joints' inertia by composite rigid bodies (Featherstone 2008, table 6.2), in the frame of
/// the base: rotation first, then translation of its origin. All joints are on one chain.
MatrixXd inertia(const mjModel* m, int base_body, std::span<const JointAddress> joints) {
  std::vector<Eigen::Isometry3d> X_BL{Eigen::Isometry3d::Identity()};  // from the base's body on
  std::vector<Matrix6> composite{Matrix6::Zero()};
  int end = base_body + 1;
  for (; end < m->nbody && m->body_parentid[end] >= base_body; ++end) {
    const auto parent = static_cast<std::size_t>(m->body_parentid[end] - base_body);
    Eigen::Isometry3d X = X_BL[parent] * Eigen::Translation3d(ConstVector3(m->body_pos + 3 * end)) *
                          quaternion(m->body_quat + 4 * end).normalized();
    const Vector3d c = X * ConstVector3(m->body_ipos + 3 * end);
    const Matrix3d R = X.linear() * quaternion(m->body_iquat + 4 * end).toRotationMatrix();
    const double mass = m->body_mass[end];
    const Matrix3d cx = cross_matrix(c);
    Matrix6 I;
    I << R * ConstVector3(m->body_inertia + 3 * end).asDiagonal() * R.transpose() - mass * cx * cx,
        mass * cx, -mass * cx, mass * Matrix3d::Identity();
    X_BL.push_back(X);
    composite.push_back(I);
  }
  for (int body = end - 1; body > base_body; --body) {
    composite[static_cast<std::size_t>(m->body_parentid[body] - base_body)] +=
        composite[static_cast<std::size_t>(body - base_body)];
  }

  std::vector<Vector6> rate(joints.size());
  for (std::size_t i = 0; i < joints.size(); ++i) {
    const Eigen::Isometry3d& X = X_BL[static_cast<std::size_t>(joints[i].body - base_body)];
    const Vector3d axis = X.linear() * ConstVector3(m->jnt_axis + 3 * joints[i].joint);
    const Vector3d anchor = X * ConstVector3(m->jnt_pos + 3 * joints[i].joint);
    if (m->jnt_type[joints[i].joint] == mjJNT_SLIDE)
      rate[i] << Vector3d::Zero(), axis;
    else
      rate[i] << axis, anchor.cross(axis);
  }
  const auto n = static_cast<Eigen::Index>(joints.size());
  MatrixXd M(n, n);
  for (std::size_t i = 0; i < joints.size(); ++i) {
    const Vector6 momentum =
        composite[static_cast<std::size_t>(joints[i].body - base_body)] * rate[i];
    for (std::size_t j = 0; j < joints.size(); ++j) {
      if (joints[j].dof > joints[i].dof) continue;  // nearer to the tip
      const auto a = static_cast<Eigen::Index>(i), b = static_cast<Eigen::Index>(j);
      M(a, b) = M(b, a) = rate[j].dot(momentum);
    }
    const auto k = static_cast<Eigen::Index>(i);
    M(k, k) += m->dof_armature[joints[i].dof];
  }
  return M;
}

/// Stiffness and damping of the joints, one against the other.
struct Impedance {
  MatrixXd K, C;
};

/// Adds the impedance of joints and servos, each on its own or on the sum of a coordinate.
void add_coordinates(const mjModel* m, std::span<const JointAddress> joints,
                     const ArmMechanics& arm, std::span<const int> actuators, Impedance& out) {
  auto& [K, C] = out;
  Eigen::Index i = 0;
  for (const ArmCoordinate& coordinate : arm.coordinates()) {
    const auto count = static_cast<Eigen::Index>(coordinate.joints.size());
    if (coordinate.servo >= 0) {  // on the sum of the joints
      const Servo& servo = arm.servos()[static_cast<std::size_t>(coordinate.servo)];
      const int tendon =
          m->actuator_trnid[2 * actuators[static_cast<std::size_t>(coordinate.servo)]];
      K.block(i, i, count, count).array() += servo.stiffness + m->tendon_stiffness[tendon];
      C.block(i, i, count, count).array() += servo.damping + m->tendon_damping[tendon];
    }
    for (const ArmJoint& joint : coordinate.joints) {
      K(i, i) += joint.stiffness;
      C(i, i) += joint_damping(m, joints[static_cast<std::size_t>(i)]);
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

FundamentalMode fundamental_mode(const mjModel* m, int base_body,
                                 std::span<const JointAddress> joints, const ArmMechanics& arm,
                                 std::span<const int> actuators) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr int kIterations = 200;
  constexpr double kTolerance = 1e-9;  // relative, of omega^2
  const auto n = static_cast<Eigen::Index>(joints.size());
  if (n == 0) return {kInfinity, kInfinity};
  Impedance impedance{MatrixXd::Zero(n, n), MatrixXd::Zero(n, n)};
  add_coordinates(m, joints, arm, actuators, impedance);
  add_tendons(arm, impedance);
  const auto& [K, C] = impedance;
  // Inverse iteration.
  const MatrixXd M = inertia(m, base_body, joints);
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

double swing_period(const FundamentalMode& mode) noexcept {
  constexpr double kLeft = 0.03;  // of the swing, after a move of that time
  const double period = 2.0 * std::numbers::pi / mode.frequency;
  const double decay = -2.0 * std::log(kLeft) / mode.damping;  // to that part
  return std::isfinite(period) && decay > MoveTiming::kPeriods * period ? period : 0.0;
}

}  // namespace tendril
