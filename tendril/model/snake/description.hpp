#pragma once

// Read robot_description.hpp first.

#include <Eigen/Core>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tendril/model/controller_config.hpp"
#include "tendril/model/medium.hpp"
#include "tendril/model/robot_kind.hpp"
#include "tendril/model/sensor.hpp"
#include "tendril/snake/snake_chain.hpp"

namespace tendril {

/// Most joints of a snake: keeps the model below the 496 nested bodies that MJCF text may have.
inline constexpr int kMaxSnakeJoints = 400;

enum class SnakeBase {
  Free,      ///< link 0, the tail, moves freely
  Fixed,     ///< body 0 stands still
  Carriage,  ///< link 0 is a carriage that is fed along x
};

enum class SnakeJoint {
  Hinge,      ///< one axis a joint, neighboring joints a link apart
  Universal,  ///< joints 2k-1 and 2k at one point
};

enum class LinkShape { Capsule, Box };

/// Sideways friction unlike lengthwise, as scales give it. Only on a plane and for capsules: there
/// the engine lays the first tangent along the link.
struct SnakeScales {
  std::string floor;   ///< name of the plane geom in the scene, as written (no prefix)
  double along = 0.1;  ///< friction along the link, > 0
  double across = 0.7;
};

/// The wave `amplitude sin(phase - 2 pi waves j / joints)` of one family of joints.
struct StartWave {
  double amplitude = 0.0;  ///< [rad]
  double waves = 0.0;
  double phase = 0.0;  ///< [rad]

  /// Returns the angle of a joint, from 1 [rad].
  [[nodiscard]] double at(int joint, int joints) const noexcept;
};

/// The keyframe `start`.
struct SnakeStart {
  StartWave yaw, pitch;        ///< of odd and even joints
  std::vector<double> angles;  ///< added to the waves, one per joint, or empty [rad]
  /// Free base: x and y of the mean of the links' middles, and z of the lowest point, in the world
  /// [m].
  Eigen::Vector3d position = Eigen::Vector3d::Zero();
  double roll = 0.0, pitch_angle = 0.0, heading = 0.0;  ///< of link 0: Rz Ry Rx [rad]
  double feed = 0.0;                                    ///< carriage [m]
  /// Free base: instead of the waves and of roll and pitch_angle, a helix whose links' middles lie
  /// on a cylinder of this radius about the vertical line through `position`, tail down; 0: none
  /// [m].
  double coil_radius = 0.0;
  double coil_waves = 0.0;  ///< of the helix on the body, as a gait's
};

/// What the head carries: a sphere whose middle is the site `tip` and that touches nothing.
struct HeadPayload {
  double mass = 0.0;     ///< [kg]
  double radius = 0.01;  ///< [m]
};

/// A robot file of kind = "snake", parsed and validated. The names are the keys of the file
/// (docs/reference/robot_file.md).
struct SnakeDescription {
  std::string name = "snake";
  SnakeBase base = SnakeBase::Free;
  int joints = 16;  ///< even
  SnakeJoint joint = SnakeJoint::Hinge;
  /// a_0 .. a_joints; a_0 is the tail link of a free snake, otherwise 0; a_1, a_3, ... are 0 with
  /// universal joints [m].
  std::vector<double> link_lengths;
  LinkShape shape = LinkShape::Capsule;
  double radius = 0.025;                    ///< of a capsule; half the height of a box [m]
  double half_width = 0.025;                ///< of a box [m]
  double link_mass = 0.15;                  ///< [kg]
  double joint_limit = 1.5707963267948966;  ///< [rad], in (0, pi/2]
  bool joint_motors = false;                ///< instead of the servos: commands are torques
  double gain = 20.0;                       ///< kp of the position servos [N m/rad]
  double damping_ratio = 1.0;               ///< of the servos
  double torque_limit = 6.0;                ///< [N m]
  double joint_damping = 0.05;              ///< [N m s/rad]
  double armature = 0.003;                  ///< [kg m^2]
  double friction = 0.7;
  bool self_collision = true;
  std::optional<HeadPayload> payload;
  std::optional<SnakeScales> scales;
  std::optional<Medium> medium;
  double feed_limit = 0.0;        ///< carriage: length of the slide [m]
  double carriage_mass = 20.0;    ///< [kg]
  double feed_gain = 2e5;         ///< [N/m]
  double feed_force_limit = 1e4;  ///< [N]
  std::optional<SnakeStart> start;
  std::vector<RobotSensor> sensors;
  ControllerConfig controller;
  std::string text;  ///< the TOML it was read from

  /// Links after body 0: as many as joints, or half as many with universal joints.
  [[nodiscard]] int link_count() const noexcept {
    return joint == SnakeJoint::Universal ? joints / 2 : joints;
  }
  /// Length of link k, 0 .. link_count() [m].
  [[nodiscard]] double link_length(int k) const {
    return link_lengths[static_cast<std::size_t>(joint == SnakeJoint::Universal ? 2 * k : k)];
  }
  /// Body 0 of the chain is link 0 (free), the base or the carriage; its base point is where joint
  /// 1 is.
  [[nodiscard]] SnakeChain kinematics() const;

  static constexpr const char* kKind = "snake";
  static constexpr const char* kWhat = "a snake";
  [[nodiscard]] static SnakeDescription read(const FileContents& file);
  void write(MjcfDocument& mjcf, std::span<const std::string> sensors) const;
  [[nodiscard]] EngineNeeds engine_needs() const;
  [[nodiscard]] Surroundings surroundings() const;
};

}  // namespace tendril
