#pragma once

// Read arm_mechanics.hpp and arm_chain.hpp first.

#include <Eigen/Core>
#include <optional>
#include <span>
#include <vector>

#include "controllers/arm/arm_chain.hpp"
#include "controllers/arm/arm_mechanics.hpp"
#include "controllers/arm/sensed_contact.hpp"
#include "tendril/estimation/arm_estimator.hpp"
#include "tendril/estimation/observations.hpp"

namespace tendril {

/// What the computer of an arm knows: the state of its chain and its tip from the readings of its
/// sensors, by an ArmEstimator. It sees nothing else of the body. It knows masses, stiffnesses and
/// servos as modelled, the feed, the spin and the sections' turns by the encoders of their motors,
/// pressures of chambers, and what it commanded.
///
/// Servos and motors become springs and moments of an ElasticArm. Joints share a coordinate by
/// their fractions; the tip is that of the estimate, with its uneven deflection. Links twist as
/// gravity twists them. Both bends of a section that turns are held alike, so its springs are the
/// same in frames that do not turn, and its moments and readings are turned into these.
class SensedArm {
 public:
  struct Options {
    double timestep = 0.0;  ///< [s]
    ContactNeed contacts = ContactNeed::None;
    bool disturbed = false;  ///< ElasticArmParameters::disturbed
  };

  /// Of the estimator, and the moments of the last step.
  struct Memory {
    Memory(int n, int t, const ArmObservations& observations, const Options& options);
    Options options;
    MemoryLayout layout;
    Block estimator;
    Slot<bool> began;
    MatrixSlot<Eigen::VectorXd> moment;    ///< of servos and motors where bends are 0 [N m], [N]
    MatrixSlot<Eigen::VectorXd> tensions;  ///< measured last [N]
    MatrixSlot<Eigen::VectorXd> drums;     ///< read last [m]; of an arm with drum encoders
    Block contact;                         ///< of the SensedContact, if there is one
  };

  /// Throws ModelError for an arm without a sensor of its shape, or with a guide if the controller
  /// works by contacts.
  /// @param observations  with the force and moment on the base if the controller works by the
  /// contacts of the tip
  /// @param q       where it starts
  /// @param gravity world frame [m/s^2]
  /// @param R_WB    orientation of a base that stands; nothing: it moves, slowly, and the state
  /// tells
  SensedArm(const ContinuumRobot& robot, const ArmMechanics& mechanics,
            std::span<const TendonRoute> routes, ArmChain chain, ArmObservations observations,
            const Eigen::Vector3d& gravity, const std::optional<Eigen::Matrix3d>& R_WB,
            const Eigen::VectorXd& q, const Memory& memory);

  [[nodiscard]] const MemoryLayout& layout() const noexcept { return memory_.layout; }
  [[nodiscard]] const ArmEstimator& estimator() const noexcept { return estimator_; }
  [[nodiscard]] const ArmObservations& observations() const noexcept { return observations_; }
  [[nodiscard]] const Eigen::Vector3d& gravity() const noexcept { return gravity_; }
  [[nodiscard]] const Eigen::VectorXd& start() const noexcept { return start_; }

  /// Finds the state of the chain from the readings of this step. The base of `state`, its feed,
  /// spin and turns, and the speeds of these are set; all else is written.
  /// @param readings  of all sensors of the engine, one after the other
  /// @param arrived   one flag for each of these sensors
  /// @param tendon_commands  of the last step; of chambers their pressures now
  /// @param next      a copy of the memory, written
  void sense(std::span<const double> readings, std::span<const bool> arrived,
             std::span<const double> tendon_commands, std::span<double> next,
             ArmMechanics::State& state) noexcept;
  /// Writes the estimate of the memory, with its covariances.
  void estimate(std::span<const double> memory, ArmEstimate& estimate) noexcept {
    estimator_.estimate(memory_.estimator(memory), estimate);
  }
  /// An estimate with its sizes, for `estimate`.
  [[nodiscard]] ArmEstimate empty_estimate() const { return estimator_.empty_estimate(); }
  /// The contact of the tip, after `sense`, once in a step; nothing if the controller needs none.
  /// @param tip_velocity  base frame [m/s]
  [[nodiscard]] std::optional<SensedContact::Touch> touch(const Eigen::Vector3d& tip_velocity,
                                                          std::span<double> next) const noexcept;
  /// Keeps the setpoints of this step.
  /// @param state  of the last `sense`
  void command(const ArmMechanics::State& state, std::span<const double> setpoints,
               std::span<double> next) noexcept;

 private:
  [[nodiscard]] static ElasticArm elastic_arm(const ContinuumRobot& robot,
                                              const ArmMechanics& mechanics,
                                              std::span<const TendonRoute> routes,
                                              const ArmChain& chain, const Eigen::Vector3d& gravity,
                                              bool disturbed);
  void read(std::span<const double> readings, std::span<const bool> arrived,
            std::span<double> next) noexcept;
  void turn_readings() noexcept;
  void set_frames(const ArmMechanics::State& state) noexcept;
  void read_drums(std::span<const double> readings, std::span<const bool> arrived,
                  std::span<double> next) noexcept;
  void spread(ArmMechanics::State& state) noexcept;
  double twist_by_gravity(ArmMechanics::State& state) const noexcept;

  const ArmMechanics& mechanics_;
  ArmChain chain_;
  ArmObservations observations_;
  TendonMap tendons_;
  ArmEstimator estimator_;
  std::optional<SensedContact> contact_;
  int base_force_ = -1, base_moment_ = -1;  // sensors of the estimator
  Memory memory_;
  Eigen::Vector3d gravity_;      // world frame
  bool moving_gravity_ = false;  // the base moves
  Eigen::VectorXd start_;
  // Scratch.
  ArmEstimate estimate_;
  ArmInput input_;
  std::vector<Eigen::VectorXd> values_;  // of each sensor of the estimator; NaN: did not arrive
  std::vector<Reading> arrived_;         // views of these
  Eigen::VectorXd lengths_, speeds_;
  TurnedFrames frames_;            // of the sections, by their turns
  Eigen::VectorXd bent_, turned_;  // coordinates, and their rates by the turns alone
};

}  // namespace tendril
