#pragma once

// Read elastic_arm.hpp first.

#include <Eigen/Core>
#include <span>
#include <vector>

#include "tendril/estimation/elastic_arm.hpp"
#include "tendril/memory_layout.hpp"

namespace tendril {

/// Deviations of the readings, and what is assumed of contacts before any reading.
struct ContactEstimatorOptions {
  double timestep = 0.005;          ///< [s], > 0
  double force_deviation = 0.02;    ///< of a reading of the force on the base [N], > 0
  double moment_deviation = 0.002;  ///< of its moment [N m], > 0
  /// Of what the model leaves out of the wrench, such as inertia, and for how long it lasts.
  double model_force = 0.0, model_moment = 0.0;  ///< [N], [N m], >= 0
  double model_time = 0.05;                      ///< [s], >= 0
  double payload_deviation = 0.05;               ///< of the mass beyond the known one [kg], >= 0
  double start_force = 1.0;   ///< of a force that begins, each component [N], > 0
  double force_noise = 1.0;   ///< random walk of the force [N/sqrt(s)], >= 0
  double contact_rate = 0.1;  ///< contacts that begin, and that end, in a second [1/s], > 0
  double sliding = 0.02;      ///< random walk of the place [m/sqrt(s)], >= 0
};

/// What touches an arm at one time; base frame.
struct ContactEstimate {
  double probability = 0.0;  ///< that something does
  /// If it does: distance along the straight arm from its start, and its deviation, with that of
  /// a place between two of the list [m].
  double place = 0.0, place_deviation = 0.0;
  int most_probable = 0;                                       ///< index of one of the places
  Eigen::Vector3d force = Eigen::Vector3d::Zero();             ///< if it does [N]
  Eigen::Matrix3d force_covariance = Eigen::Matrix3d::Zero();  ///< [N^2]
  double payload = 0.0, payload_deviation = 0.0;  ///< mass at the tip beyond the known one [kg]
};

/// Memory of a ContactEstimator between steps.
struct ContactEstimatorMemory {
  explicit ContactEstimatorMemory(std::size_t places);

  /// A Gaussian of y = (f, m), and the probability of its hypothesis.
  struct Hypothesis {
    Slot<double> probability;
    MatrixSlot<Eigen::Vector4d> mean;
    MatrixSlot<Eigen::Matrix4d> covariance;
  };
  MemoryLayout layout;
  std::vector<Hypothesis> hypotheses;  ///< the first: nothing touches
};

/// Recursive estimate of one contact from the wrench on the base: its place, its force, and the
/// payload at the tip, which weighs on the base too. Without contact, and with one at each of K
/// places p_k, the wrench is linear in y = (f, m):
///
///     F = sum_j m_j g + f + m g,    M = sum_j p_j x m_j g + p_k x f + p_tip x m g
///
/// so that K + 1 Kalman filters of four numbers are exact, and their likelihoods are those of the
/// places. Contacts begin with any force at any place, end, and slide to the next places in the
/// list: an interacting multiple model [Blom]. An error of the model that lasts for a time tau
/// counts as white noise of the same density.
///
/// Source: docs/theory/estimation.md, "Contact". Tested by: contact_estimator_test.
class ContactEstimator {
 public:
  /// Throws ModelError naming the place or option outside its range.
  /// @param places  where contacts may be, each next to the one before; at least one
  ContactEstimator(const ElasticArm& arm, std::vector<BodyPlace> places,
                   const ContactEstimatorOptions& options = {});

  /// Places in the middles of `count` equal parts of the arm, from its start on.
  [[nodiscard]] static std::vector<BodyPlace> along(const ContinuumRobot& robot, int count);

  /// Of the memory between steps, which the caller owns, copies and restores.
  [[nodiscard]] const MemoryLayout& layout() const noexcept { return memory_.layout; }
  [[nodiscard]] std::span<const BodyPlace> places() const noexcept { return places_; }

  /// Starts without contact.
  void start(std::span<double> memory) const noexcept;
  /// Advances by one timestep, with the shape and the readings at its end.
  /// @param force,moment  of the arm on its base, about the origin of the base frame [N], [N m];
  ///                      components that are not finite are missing
  void step(std::span<double> memory, const Eigen::Ref<const Eigen::VectorXd>& q,
            const BaseState& base, const Eigen::Vector3d& force,
            const Eigen::Vector3d& moment) noexcept;
  /// Writes the probability of each place, of the contact if there is one.
  void probabilities(std::span<const double> memory, std::span<double> out) const noexcept;
  [[nodiscard]] ContactEstimate estimate(std::span<const double> memory) const noexcept;

 private:
  using Vector4 = Eigen::Vector4d;
  struct Gaussian {
    double weight = 0.0;
    Vector4 mean = Vector4::Zero();
    Eigen::Matrix4d covariance = Eigen::Matrix4d::Zero();
  };
  [[nodiscard]] Gaussian read(std::span<const double> memory, std::size_t h) const noexcept;
  /// The Gaussian of the mean and covariance of several.
  [[nodiscard]] static Gaussian mixed(std::span<const Gaussian> parts) noexcept;
  void predict(std::span<const double> memory) noexcept;
  void correct(Gaussian& hypothesis, const Eigen::Vector3d& contact, const Eigen::Vector3d& force,
               const Eigen::Vector3d& moment) const noexcept;

  ContinuumRobot robot_;
  std::vector<ElasticArm::MassPoint> masses_;
  Eigen::Vector3d gravity_;
  std::vector<BodyPlace> places_;
  std::vector<double> distances_;  // along the straight arm [m]
  double spacing_;                 // mean distance of neighbors [m]
  ContactEstimatorOptions options_;
  double force_variance_, moment_variance_;
  ContactEstimatorMemory memory_;
  // Scratch.
  std::vector<SectionState> states_;
  std::vector<Gaussian> hypotheses_;
  Eigen::Vector3d tip_ = Eigen::Vector3d::Zero();
};

}  // namespace tendril
