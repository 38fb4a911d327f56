#pragma once

#include <Eigen/Core>
#include <span>
#include <vector>

#include "controllers/interface/arm_controller.hpp"
#include "tendril/kinematics/tension_distribution.hpp"

namespace tendril {

/// A tendon and its actuator as simulated: with command c, length l (0: straight arm) and speed l'
///
///     tension = stiffness (l - c) + offset + damping l'   length-controlled, within the limits
///     tension = (gain + gain_slope l) c                   tension-controlled, or a chamber
///
/// A tendon or muscle only pulls; another pressure chamber pushes, its tension is negative.
struct ArmTendon {
  std::vector<double> joints;  ///< dl/dq of every joint of the arm [m], [1]
  bool takes_length = true;
  double stiffness = 0.0;      ///< [N/m]
  double damping = 0.0;        ///< [N s/m]
  double offset = 0.0;         ///< [N]
  double min_tension = 0.0;    ///< the least that is asked for [N]
  double max_tension = 0.0;    ///< [N]
  double limit = 0.0;          ///< least tension that there can be [N]
  double gain = 1.0;           ///< [N] per command: 1, or minus the chamber's area [m^2]
  double gain_slope = 0.0;     ///< of a muscle: [N/m] per command
  double time_constant = 0.0;  ///< with which the tension follows its command [s]

  [[nodiscard]] double gain_at(double length) const noexcept;
  /// With which its actuator holds its length [N/m].
  [[nodiscard]] double holding_stiffness() const noexcept { return takes_length ? stiffness : 0.0; }
  [[nodiscard]] double tension(double command, double length, double speed) const noexcept;
};

/// Map from section commands to the tendons of an arm: the tensions of least norm that hold the
/// commanded bends against the body's stiffness, damping and gravity, or the lengths at which the
/// tendons have these tensions. Source: docs/theory/chain.md, "Tendons between controllers
/// and body". Tested by: tendon_drive_test. Allocates nothing after construction.
class TendonDrive {
 public:
  /// A bend, or the length, of a section that only tendons hold.
  struct Bend {
    Eigen::Index coordinate = 0;
    BodySpring body;         ///< from the straight arm on; the lag is that of its tendons
    bool is_length = false;  ///< where the tensions cannot make all, bends go before lengths
  };

  TendonDrive() = default;
  /// @param jacobian  dl/dq of the coordinates, tendons x coordinates
  TendonDrive(std::vector<ArmTendon> tendons, Eigen::MatrixXd jacobian, std::vector<Bend> bends);

  [[nodiscard]] std::span<const ArmTendon> tendons() const noexcept { return tendons_; }
  [[nodiscard]] std::span<const Bend> bends() const noexcept { return bends_; }
  /// Returns whether the bends' errors are fed back as moments: the tendons are tension-controlled,
  /// have no own stiffness, and follow fast enough that it is stable whatever the body's
  /// inertia. The gain is the body's stiffness, the damping the body's damping.
  [[nodiscard]] bool feeds_back() const noexcept { return feeds_back_; }
  /// Returns the weights of the bends in the least squares of the tensions, and these: their
  /// moments are weighted.
  [[nodiscard]] const Eigen::VectorXd& weights() const noexcept { return weight_; }
  [[nodiscard]] const TensionDistribution& distribution() const noexcept { return distribution_; }

  /// Motion of every coordinate, relative to the straight arm.
  struct Motion {
    Eigen::VectorXd desired, rate;    ///< commanded, with velocity feed-forward or 0
    Eigen::VectorXd position, speed;  ///< measured
    Eigen::VectorXd load;             ///< of gravity [N m], [N]
    explicit Motion(Eigen::Index n = 0);
  };
  struct Length {
    double value = 0.0, speed = 0.0;  ///< [m], [m/s]
  };
  /// Computes the commands of the tendons.
  void commands(const Motion& motion, std::span<const Length> lengths,
                std::span<double> commands) noexcept;
  /// Computes commands that make these moments [N m], [N] on the coordinates, or these tensions
  /// [N]; of tension-controlled tendons, and chambers.
  void commands_of_moments(const Eigen::VectorXd& moments, std::span<const Length> lengths,
                           std::span<double> commands) noexcept;
  void commands_of_tensions(const Eigen::VectorXd& tensions, std::span<const Length> lengths,
                            std::span<double> commands) noexcept;
  /// Returns by how much the tensions of the last `commands` leave the length of the bend off its
  /// command, because the bends come first [m]; 0 for a bend, and for a length that they make.
  [[nodiscard]] double length_given_up(Eigen::Index coordinate) const noexcept;
  /// Returns the force of the tensions of the last `commands` on a coordinate [N m], [N].
  [[nodiscard]] double force_on(Eigen::Index coordinate) const noexcept {
    return force_on(coordinate, tensions_);
  }
  [[nodiscard]] double force_on(Eigen::Index coordinate,
                                const Eigen::VectorXd& tensions) const noexcept {
    return -jacobian_.col(coordinate).dot(tensions);
  }

 private:
  /// Tensions of the least norm that make `moments_`.
  void distribute(std::span<const Length> lengths) noexcept;

  std::vector<ArmTendon> tendons_;
  std::vector<Bend> bends_;
  Eigen::MatrixXd jacobian_;
  TensionDistribution distribution_;
  bool feeds_back_ = false;
  Eigen::VectorXd weight_;  // of each bend, in least squares
  // Scratch.
  Eigen::VectorXd moments_, tensions_, given_up_;
};

}  // namespace tendril
