#include "controllers/arm/arm_chain.hpp"

namespace tendril {

using Eigen::Isometry3d;
using Eigen::Vector3d;

ArmChain::ArmChain(std::vector<Body> bodies, int tip, const Isometry3d& X_TE)
    : bodies_(std::move(bodies)),
      tip_(tip),
      X_TE_(X_TE),
      X_WB_(bodies_.size(), Isometry3d::Identity()),
      mass_(bodies_.size()),
      moment_(bodies_.size()) {}

JointState* ArmChain::joint_of(ArmMechanics::State& state, const Joint& joint) noexcept {
  switch (joint.role) {
    case Role::Coordinate:
      return &state.joints[static_cast<std::size_t>(joint.index)];
    case Role::Feed:
      return &state.feed;
    case Role::Spin:
      return &state.spin;
    case Role::Turn:
      return &state.turns[static_cast<std::size_t>(joint.index)];
    case Role::Twist:
      return &state.twists.hinges[static_cast<std::size_t>(joint.index)];
    case Role::Other:
      break;
  }
  return nullptr;
}

void ArmChain::place(ArmMechanics::State& state) noexcept {
  X_WB_.front().translation() = state.p_WB;
  X_WB_.front().linear() = state.R_WB;
  for (std::size_t b = 1; b < bodies_.size(); ++b) {
    const Body& body = bodies_[b];
    Isometry3d& X = X_WB_[b];
    X = X_WB_[static_cast<std::size_t>(body.parent)] * body.X_PB;
    for (const Joint& joint : body.joints) {
      JointState* const at = joint_of(state, joint);
      if (at == nullptr) continue;
      at->anchor = X * joint.anchor;
      at->axis = X.linear() * joint.axis;
      const double moved = at->position - joint.zero;
      if (joint.is_slide) {
        X.translation() += moved * at->axis;
        continue;
      }
      X.linear() = X.linear() * Eigen::AngleAxisd(moved, joint.axis).toRotationMatrix();
      X.translation() = at->anchor - X.linear() * joint.anchor;
    }
  }
  for (std::size_t b = 0; b < bodies_.size(); ++b) {
    mass_[b] = bodies_[b].mass;
    moment_[b] = bodies_[b].mass * (X_WB_[b] * bodies_[b].center);
  }
  for (std::size_t b = bodies_.size() - 1; b > 0; --b) {
    const Body& body = bodies_[b];
    for (const Joint& joint : body.joints)
      if (JointState* const at = joint_of(state, joint); at != nullptr && mass_[b] > 0.0)
        at->center_of_mass = moment_[b] / mass_[b];
    mass_[static_cast<std::size_t>(body.parent)] += mass_[b];
    moment_[static_cast<std::size_t>(body.parent)] += moment_[b];
  }
  const Isometry3d X_WE = X_WB_[static_cast<std::size_t>(tip_)] * X_TE_;
  state.p_WE = X_WE.translation();
  state.R_WE = X_WE.linear();
}

std::vector<ArmChain::Mass> ArmChain::masses() const {
  std::vector<Mass> masses{{0.0, bodies_.front().mass, false}};
  std::vector<bool> moves(bodies_.size(), false);
  std::vector<Isometry3d> X(bodies_.size(), Isometry3d::Identity());
  for (std::size_t b = 1; b < bodies_.size(); ++b) {
    const Body& body = bodies_[b];
    const auto parent = static_cast<std::size_t>(body.parent);
    X[b] = X[parent] * body.X_PB;
    bool moved = moves[parent];
    for (const Joint& joint : body.joints) moved |= joint.role == Role::Coordinate;
    moves[b] = moved;
    if (body.mass > 0.0) masses.push_back({(X[b] * body.center).z(), body.mass, moved});
  }
  return masses;
}

}  // namespace tendril
