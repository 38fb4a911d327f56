#include "controllers/arm/contact_response.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <numeric>

namespace tendril {

using Eigen::Vector3d;

ContactResponse::ContactResponse(const ArmMechanics& arm)
    : has_feed_(arm.has_feed()), guide_length_(arm.options().guide_length) {
  add_joints(arm);
  add_tendons(arm);
  const auto n = static_cast<Eigen::Index>(arm.coordinates().size());
  const auto size = static_cast<Eigen::Index>(joints_.size());
  const auto rows = static_cast<Eigen::Index>(tendons_.size()) + kMaxMeasuredContacts;
  normals_ = scaled_ = Eigen::MatrixXd::Zero(size, rows);
  small_ = Eigen::MatrixXd::Zero(rows, rows);
  rhs_ = Eigen::MatrixXd::Zero(rows, n + 1);
  solution_ = Eigen::MatrixXd::Zero(size, n + 1);
  compliance_ = feed_normal_ = Eigen::VectorXd::Zero(rows);
  contacts_.reserve(kMaxMeasuredContacts + 1);
}

/// Adds the joints of all coordinates, from the base on.
void ContactResponse::add_joints(const ArmMechanics& arm) {
  struct Entry {
    Joint joint;
    double chain_position;
  };
  std::vector<Entry> entries;
  const int n = static_cast<int>(arm.coordinates().size());
  for (int k = 0; k < n; ++k) {
    const ArmCoordinate& coordinate = arm.coordinates()[static_cast<std::size_t>(k)];
    for (const ArmJoint& joint : coordinate.joints) {
      if (coordinate.has_tendons || coordinate.is_motor || coordinate.is_passive) {
        const double moved =
            coordinate.is_passive ? 0.0 : coordinate.sign * joint.fraction * joint.stiffness;
        entries.push_back(
            {{k, coordinate.is_slide, joint.start, joint.length, moved, joint.stiffness},
             joint.chain_position});
        continue;
      }
      const Servo& servo =
          arm.servos()[static_cast<std::size_t>(joint.servo >= 0 ? joint.servo : coordinate.servo)];
      const double own_servo = joint.servo >= 0 ? servo.stiffness : 0.0;
      const double gain = joint.servo >= 0 ? coordinate.sign * joint.fraction * servo.gain
                                           : coordinate.sign * servo.gain;
      entries.push_back(
          {{k, coordinate.is_slide, joint.start, joint.length, gain, joint.stiffness + own_servo},
           joint.chain_position});
    }
  }
  chain_.resize(entries.size());
  std::iota(chain_.begin(), chain_.end(), 0);
  std::sort(chain_.begin(), chain_.end(), [&](int a, int b) {
    return entries[static_cast<std::size_t>(a)].chain_position <
           entries[static_cast<std::size_t>(b)].chain_position;
  });
  for (const int i : chain_) joints_.push_back(entries[static_cast<std::size_t>(i)].joint);
}

/// Adds the servos and tendons that act on several joints.
void ContactResponse::add_tendons(const ArmMechanics& arm) {
  const int n = static_cast<int>(arm.coordinates().size());
  for (int k = 0; k < n; ++k) {
    const int servo = arm.coordinates()[static_cast<std::size_t>(k)].servo;
    if (servo < 0) continue;
    add_section_tendon(k, arm.servos()[static_cast<std::size_t>(servo)].stiffness, false);
  }
  const TendonDrive& drive = arm.tendon_drive();
  if (arm.tendons_feed_back()) {
    for (const TendonDrive::Bend& bend : drive.bends())
      add_section_tendon(static_cast<int>(bend.coordinate), bend.body.stiffness, true);
  }
  for (const ArmTendon& pulled : drive.tendons()) {
    if (!pulled.takes_length) continue;
    Tendon tendon{{}, {}, pulled.stiffness, true};
    for (std::size_t i = 0; i < chain_.size(); ++i) {
      const double coefficient = pulled.joints[static_cast<std::size_t>(chain_[i])];
      if (coefficient == 0.0) continue;
      tendon.joints.push_back(static_cast<int>(i));
      tendon.coefficients.push_back(coefficient);
    }
    tendons_.push_back(std::move(tendon));
  }
}

void ContactResponse::add_section_tendon(int coordinate, double servo_gain, bool holds_command) {
  Tendon tendon{{}, {}, servo_gain, holds_command};
  for (std::size_t i = 0; i < joints_.size(); ++i) {
    if (joints_[i].coordinate != coordinate) continue;
    tendon.joints.push_back(static_cast<int>(i));
    tendon.coefficients.push_back(1.0);
  }
  if (tendon.servo_gain > 0.0) tendons_.push_back(std::move(tendon));
}

void ContactResponse::add(const Contact& contact) noexcept {
  const auto after = std::upper_bound(
      contacts_.begin(), contacts_.end(), contact.arc_length,
      [](double arc_length, const Contact& other) { return arc_length < other.arc_length; });
  contacts_.insert(after, contact);
  if (contacts_.size() > kMaxMeasuredContacts) contacts_.pop_back();
}

void ContactResponse::add_row(double compliance) noexcept {
  normals_.col(rows_).setZero();
  compliance_[rows_] = compliance;
  feed_normal_[rows_] = 0.0;
  ++rows_;
}

void ContactResponse::add_contact_rows(const ArmMechanics::State& state,
                                       ArmMeasurement& out) noexcept {
  out.contacts.clear();
  for (const Contact& contact : contacts_) {
    MeasuredContact measured;
    measured.position.noalias() = state.R_WB.transpose() * (contact.position - state.p_WB);
    measured.normal.noalias() = state.R_WB.transpose() * contact.normal;
    measured.depth = contact.depth;
    measured.force = contact.force;
    measured.arc_length = contact.arc_length;
    measured.is_guide = contact.is_guide;
    measured.is_fixed = contact.is_fixed;
    out.contacts.push_back(measured);

    add_row(1.0 / kStiffness);
    for (int i = 0; i < contact.joints; ++i) {
      const JointState& joint = at(state, i);
      normals_(i, rows_ - 1) =
          joints_[static_cast<std::size_t>(i)].is_slide
              ? contact.normal.dot(joint.axis)
              : contact.normal.dot(joint.axis.cross(contact.position - joint.anchor));
    }
    if (has_feed_) feed_normal_[rows_ - 1] = contact.normal.dot(state.feed.axis);
  }
}

void ContactResponse::measure(const ArmMechanics::State& state, std::span<const double> command,
                              bool response, ArmMeasurement& out) noexcept {
  rows_ = 0;
  for (const Tendon& tendon : tendons_) {
    add_row(1.0 / tendon.servo_gain);
    for (std::size_t i = 0; i < tendon.joints.size(); ++i)
      normals_(tendon.joints[i], rows_ - 1) = tendon.coefficients[i];
  }
  add_contact_rows(state, out);
  if (!response) return;

  // dq without contacts and tendons, then their correction by the Woodbury formula.
  const Eigen::Index n = solution_.cols() - 1;
  solution_.setZero();
  const auto joint_count = static_cast<Eigen::Index>(joints_.size());
  for (Eigen::Index i = 0; i < joint_count; ++i) {
    const Joint& joint = joints_[static_cast<std::size_t>(i)];
    const Exposure exposure =
        guide_exposure(guide_length_, out.base.feed, joint.start, joint.length);
    const double force_rate = joint.gain * command[static_cast<std::size_t>(joint.coordinate)];
    solution_(i, joint.coordinate) = exposure.fraction * joint.gain / joint.stiffness;
    solution_(i, n) = exposure.rate * force_rate / joint.stiffness;
    scaled_.row(i).head(rows_) = normals_.row(i).head(rows_) / joint.stiffness;
  }
  if (rows_ > 0) {
    auto small = small_.topLeftCorner(rows_, rows_);
    auto rhs = rhs_.topRows(rows_);
    small.noalias() = normals_.leftCols(rows_).transpose() * scaled_.leftCols(rows_);
    small.diagonal() += compliance_.head(rows_);
    rhs.noalias() = normals_.leftCols(rows_).transpose() * solution_;
    rhs.col(n) += feed_normal_.head(rows_);
    for (std::size_t t = 0; t < tendons_.size(); ++t)
      if (tendons_[t].holds_command) rhs.row(static_cast<Eigen::Index>(t)).setZero();
    // In place: LLT of a block of allocated memory.
    Eigen::Ref<Eigen::MatrixXd> block(small);
    Eigen::LLT<Eigen::Ref<Eigen::MatrixXd>> factor(block);
    factor.solveInPlace(rhs);
    solution_.noalias() -= scaled_.leftCols(rows_) * rhs;
  }

  const auto& R_WB = state.R_WB;
  out.tip_response.setZero();
  for (Eigen::Index i = 0; i < joint_count; ++i) {
    const JointState& joint = at(state, i);
    Eigen::Matrix<double, 6, 1> rate;
    if (joints_[static_cast<std::size_t>(i)].is_slide) {
      rate << R_WB.transpose() * joint.axis, Vector3d::Zero();
    } else {
      rate << R_WB.transpose() * joint.axis.cross(state.p_WE - joint.anchor),
          R_WB.transpose() * joint.axis;
    }
    out.tip_response.noalias() += rate * solution_.row(i);
  }
  if (has_feed_) out.tip_response.col(n).head<3>().noalias() += R_WB.transpose() * state.feed.axis;
}

}  // namespace tendril
