#pragma once

#include <Eigen/Core>
#include <Eigen/Geometry>
#include <vector>

#include "controllers/arm/arm_mechanics.hpp"

namespace tendril {

/// The rigid bodies of an arm as a tree. Finds the state of its joints in space from their
/// positions, as the physics engine does.
class ArmChain {
 public:
  /// What the position of a joint is.
  enum class Role { Coordinate, Feed, Spin, Turn, Twist, Other };
  struct Joint {
    Role role = Role::Other;  ///< Other: stays at `zero`
    int index = 0;            ///< in the joints, the turns or the hinges of ArmMechanics::State
    bool is_slide = false;
    Eigen::Vector3d axis = Eigen::Vector3d::UnitZ();   ///< unit, body frame
    Eigen::Vector3d anchor = Eigen::Vector3d::Zero();  ///< body frame [m]
    double zero = 0.0;  ///< position at which the body is at X_PB [rad], [m]
  };
  struct Body {
    int parent = -1;  ///< before it in the list
    Eigen::Isometry3d X_PB = Eigen::Isometry3d::Identity();
    std::vector<Joint> joints;                         ///< that move it, in their order
    double mass = 0.0;                                 ///< by its weight [kg]
    Eigen::Vector3d center = Eigen::Vector3d::Zero();  ///< of mass, body frame [m]
  };

  ArmChain() = default;
  /// @param bodies  the first is the base, without joints; others follow their parents
  /// @param tip     body of the tip frame E
  ArmChain(std::vector<Body> bodies, int tip, const Eigen::Isometry3d& X_TE);

  /// Completes a state whose base pose p_WB, R_WB and positions and velocities of joints, feed and
  /// spin are set: axes, anchors, centers of mass, and the tip.
  void place(ArmMechanics::State& state) noexcept;

  /// A body's mass by where it is along the straight arm: distance of its center from the base [m].
  struct Mass {
    double distance, mass;
    bool moves;  ///< joints of coordinates move it
  };
  [[nodiscard]] std::vector<Mass> masses() const;

 private:
  [[nodiscard]] static JointState* joint_of(ArmMechanics::State& state,
                                            const Joint& joint) noexcept;

  std::vector<Body> bodies_;
  int tip_ = 0;
  Eigen::Isometry3d X_TE_ = Eigen::Isometry3d::Identity();
  // Scratch: poses, and masses and moments of mass of the bodies with all that hang on them.
  std::vector<Eigen::Isometry3d> X_WB_;
  std::vector<double> mass_;
  std::vector<Eigen::Vector3d> moment_;
};

}  // namespace tendril
