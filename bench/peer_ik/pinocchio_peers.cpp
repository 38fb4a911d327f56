#include <Eigen/Cholesky>
#include <algorithm>
#include <memory>
#include <pinocchio/multibody.hpp>
#include <pinocchio/spatial.hpp>
// These need the headers above.
#include <pinocchio/algorithm/frames.hpp>
#include <pinocchio/algorithm/jacobian.hpp>

#include "link_chain.hpp"

namespace tendril {
namespace {

using Eigen::MatrixXd;
using Eigen::Vector3d;
using Eigen::VectorXd;

enum class Limits { None, Clamped };

struct ClikOptions {
  bool roll = false;    ///< the target includes the roll: 6 equations, logarithm of the pose
  bool shared = false;  ///< the hinges of a section share its bend: two unknowns per section
  Limits limits = Limits::None;
  double step = 1.0;  ///< fraction of the Newton step that is taken
  double damping = 1e-6;
  int max_iterations = 1000;
};

/// Closed-loop inverse kinematics by damped least squares, q += -step J^T (J J^T + damping)^-1 e,
/// as in Pinocchio's documentation ("Inverse kinematics (CLIK)"), from which the default
/// damping and budget are taken too. Kinematics and Jacobian are Pinocchio's, the error is in the
/// tip's frame.
class Clik {
 public:
  Clik(const LinkChain& chain, TipTask task, const ClikOptions& options)
      : chain_(chain), task_(task), options_(options) {
    pinocchio::JointIndex parent = 0;
    for (int j = 0; j < chain.joints(); ++j) {
      const pinocchio::SE3 offset = along_z(chain.hinge_offset(j));
      const std::string name = "hinge" + std::to_string(j);
      parent = chain.about_x(j) ? model_.addJoint(parent, pinocchio::JointModelRX(), offset, name)
                                : model_.addJoint(parent, pinocchio::JointModelRY(), offset, name);
    }
    tip_ = model_.addFrame(
        pinocchio::Frame("tip", parent, along_z(0.5 * chain.link_length()), pinocchio::OP_FRAME));
    data_ = std::make_unique<pinocchio::Data>(model_);
    J_tip_.setZero(6, chain.joints());
    sharing_.setZero(chain.joints(), 2 * chain.sections);
    for (int j = 0; j < chain.joints(); ++j)
      sharing_(j, 2 * chain.section_of(j) + (chain.about_x(j) ? 0 : 1)) = 1.0 / chain.links;
    unknowns_ = options.shared ? 2 * chain.sections : chain.joints();
    rows_ = task == TipTask::Position ? 3 : options.roll ? 6 : 5;
    J_.setZero(rows_, unknowns_);
    error_.setZero(rows_);
    JJt_.setZero(rows_, rows_);
    x_.setZero(2 * chain.sections);
  }

  void solve(const TipTarget& target, VectorXd& angles) {
    const pinocchio::SE3 goal(target.X_BG.linear(), target.X_BG.translation());
    x_.noalias() = chain_.links * (sharing_.transpose() * angles);
    for (int i = 0; i < options_.max_iterations; ++i) {
      if (options_.shared) angles.noalias() = sharing_ * x_;
      pinocchio::computeJointJacobians(model_, *data_, angles);
      pinocchio::updateFramePlacement(model_, *data_, tip_);
      const pinocchio::SE3 E_G = data_->oMf[tip_].actInv(goal);
      if (reached(E_G)) return;
      J_tip_.setZero();
      pinocchio::getFrameJacobian(model_, *data_, tip_, pinocchio::LOCAL, J_tip_);
      linearize(E_G);
      JJt_.noalias() = J_ * J_.transpose();
      JJt_.diagonal().array() += options_.damping;
      const VectorXd weights = JJt_.ldlt().solve(error_);
      if (options_.shared)
        x_.noalias() += options_.step * (J_.transpose() * weights);
      else
        angles.noalias() += options_.step * (J_.transpose() * weights);
      if (options_.limits == Limits::Clamped) clamp(angles);
    }
    if (options_.shared) angles.noalias() = sharing_ * x_;
  }

 private:
  static pinocchio::SE3 along_z(double length) {
    return {Eigen::Matrix3d::Identity(), Vector3d(0, 0, length)};
  }

  [[nodiscard]] bool reached(const pinocchio::SE3& E_G) const {
    if (E_G.translation().norm() > kPositionTolerance) return false;
    if (task_ == TipTask::Position) return true;
    const Vector3d z = E_G.rotation().col(2);
    return std::atan2(std::hypot(z.x(), z.y()), z.z()) <= kAngleTolerance &&
           (!options_.roll || pinocchio::log3(E_G.rotation()).norm() <= kAngleTolerance);
  }

  /// error_: remaining error; J_: its negative derivative with respect to the unknowns.
  void linearize(const pinocchio::SE3& E_G) {
    if (rows_ == 6) {
      error_ = pinocchio::log6(E_G).toVector();
      pinocchio::Data::Matrix6 Jlog;
      pinocchio::Jlog6(E_G.inverse(), Jlog);
      J_tip_ = Jlog * J_tip_;
    } else {
      error_.head<3>() = E_G.translation();
      if (rows_ == 5) {  // the rotation about x and y that aligns the tip's z axis with the goal's
        const Vector3d z = E_G.rotation().col(2);
        const double sine = std::hypot(z.x(), z.y());
        const double scale = sine > 1e-12 ? std::atan2(sine, z.z()) / sine : 1.0;
        error_.tail<2>() << -scale * z.y(), scale * z.x();
      }
    }
    if (options_.shared)
      J_.noalias() = J_tip_.topRows(rows_) * sharing_;
    else
      J_ = J_tip_.topRows(rows_);
  }

  void clamp(VectorXd& angles) {
    if (!options_.shared) {
      angles = angles.cwiseMax(-chain_.hinge_limit()).cwiseMin(chain_.hinge_limit());
      return;
    }
    for (int s = 0; s < chain_.sections; ++s) {
      const double bend = x_.segment<2>(2 * s).norm();
      if (bend > chain_.bend_limit) x_.segment<2>(2 * s) *= chain_.bend_limit / bend;
    }
  }

  LinkChain chain_;
  TipTask task_;
  ClikOptions options_;
  pinocchio::Model model_;
  std::unique_ptr<pinocchio::Data> data_;
  pinocchio::FrameIndex tip_ = 0;
  int unknowns_ = 0, rows_ = 0;
  pinocchio::Data::Matrix6x J_tip_;
  MatrixXd sharing_, J_, JJt_;
  VectorXd error_, x_;  // x_: bend of the sections about x and y, where they are the unknowns
};

Peer peer(std::string name, const LinkChain& chain, TipTask task, const ClikOptions& options) {
  auto solver = std::make_shared<Clik>(chain, task, options);
  return {std::move(name),
          [solver](const TipTarget& target, VectorXd& angles) { solver->solve(target, angles); }};
}

}  // namespace

std::vector<Peer> pinocchio_peers(const LinkChain& chain, TipTask task) {
  const bool roll = task == TipTask::PositionAndDirection;
  return {
      peer("pinocchio_documented", chain, task, {.roll = roll, .step = 0.1}),
      peer("pinocchio_full_step", chain, task, {}),
      peer("pinocchio_clamped", chain, task, {.limits = Limits::Clamped}),
      peer("pinocchio_shared", chain, task, {.shared = true, .limits = Limits::Clamped}),
  };
}

}  // namespace tendril
