#pragma once

#include <Eigen/Core>
#include <Eigen/Geometry>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tendril/model/robot_description.hpp"

namespace tendril {

/// What a physics engine has of a robot: the bodies from its base on, and the joints, sites,
/// tendons and actuators on them, each in the order of the model. SI units, names without the
/// attach prefix. `id` is the index of an element in the engine's model.
struct Mechanism {
  struct Body {
    std::string name{};
    int parent = -1;                                      ///< before it in the list
    Eigen::Vector3d position = Eigen::Vector3d::Zero();   ///< in its parent [m]
    Eigen::Quaterniond orientation{1.0, 0.0, 0.0, 0.0};   ///< in its parent
    double mass = 0.0;                                    ///< [kg]
    double gravity_compensation = 0.0;                    ///< fraction of its weight
    Eigen::Vector3d center = Eigen::Vector3d::Zero();     ///< of mass, body frame [m]
    Eigen::Vector3d inertia = Eigen::Vector3d::Zero();    ///< principal moments [kg m^2]
    Eigen::Quaterniond inertia_axes{1.0, 0.0, 0.0, 0.0};  ///< in the body
    int id = -1;
  };
  /// A hinge or a slide; also any other joint, which no controller knows.
  struct Joint {
    std::string name{};
    int body = 0;  ///< that it moves
    bool is_slide = false;
    Eigen::Vector3d axis = Eigen::Vector3d::UnitZ();   ///< unit, body frame
    Eigen::Vector3d anchor = Eigen::Vector3d::Zero();  ///< body frame [m]
    double zero = 0.0;       ///< position at which bodies are as written [rad], [m]
    double start = 0.0;      ///< position where the robot file starts it
    double stiffness = 0.0;  ///< [N m/rad], [N/m]
    double rest = 0.0;       ///< where its spring has no force
    double damping = 0.0, armature = 0.0;
    int id = -1;
  };
  struct Site {
    std::string name{};
    int body = 0;
    Eigen::Vector3d position = Eigen::Vector3d::Zero();  ///< body frame [m]
    Eigen::Quaterniond orientation{1.0, 0.0, 0.0, 0.0};
    int id = -1;
  };
  /// Over joints, or from site to site.
  struct Tendon {
    struct Point {
      bool is_joint = false;
      int index = 0;             ///< of the joint or the site
      double coefficient = 0.0;  ///< of a joint
    };
    std::string name{};
    std::vector<Point> path{};
    double length = 0.0;  ///< where bodies are as written [m]
    double stiffness = 0.0, damping = 0.0;
    int id = -1;
  };
  /// force = gain(l) command + bias[0] + bias[1] l + bias[2] l', where l is gear times the length
  /// of its joint or tendon, and gain(l) = gain[0] + gain[1] l if it is affine.
  struct Actuator {
    std::string name{};
    int joint = -1, tendon = -1;  ///< it acts on one of them
    double gear = 1.0;
    std::array<double, 3> gain{1.0, 0.0, 0.0}, bias{};
    bool is_affine = false;
    bool is_slow = false;  ///< the command acts through a state of its own, its activation
    std::optional<std::array<double, 2>> force_range{};  ///< [N m], [N]
    std::array<double, 2> command_range{};               ///< both 0: none
    int id = -1;
  };

  std::vector<Body> bodies;  ///< the first is the base
  std::vector<Joint> joints;
  std::vector<Site> sites;
  std::vector<Tendon> tendons;
  std::vector<Actuator> actuators;
  double timestep = 0.002;  ///< [s]
  /// What the integrator adds to damping / stiffness of springs and servos [s]: `discrete`
  /// evaluates them at the end of the step.
  double numerical_damping_time = 0.0;
  std::string prefix, suffix;  ///< of the names in the engine's model, for messages

  /// Index of an element by its name. Throws ModelError if there is none.
  [[nodiscard]] int joint(std::string_view name) const;
  [[nodiscard]] int site(std::string_view name) const;
  [[nodiscard]] int tendon(std::string_view name) const;
  [[nodiscard]] int actuator(std::string_view name) const;
  /// -1: there is none.
  [[nodiscard]] int find_actuator(std::string_view name) const noexcept;

  /// Damping of a joint, with what the integrator adds to that of its spring.
  [[nodiscard]] double joint_damping(int joint) const noexcept;
  /// Mass of a body and all that hang on it, by the weight that they have in a medium [kg].
  [[nodiscard]] double weighing_mass(int body) const noexcept;
  /// Inertia of these joints where bodies are as written, with armature [kg m^2], [kg].
  [[nodiscard]] Eigen::MatrixXd inertia(const std::vector<int>& joints) const;
};

/// The mechanism that an engine makes of the robot's MJCF document (`model_mjcf`). Throws
/// ModelError for a part whose mass only an engine knows. Tested by: mechanism_test, against the
/// engine.
[[nodiscard]] Mechanism robot_mechanism(const RobotDescription& robot);

}  // namespace tendril
