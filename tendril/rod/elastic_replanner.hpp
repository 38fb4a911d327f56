#pragma once

#include <Eigen/Core>
#include <limits>
#include <span>
#include <vector>

#include "tendril/memory_layout.hpp"
#include "tendril/rod/contact_state.hpp"
#include "tendril/rod/elastic_correction.hpp"

namespace tendril {

struct ElasticReplannerOptions {     ///< every field has a working default
  double max_advance = 0.01;         ///< of the tip in one step [m], > 0
  double position_tolerance = 1e-5;  ///< of the tip [m], > 0
  double curvature_limit = 60.0;     ///< of the actuation [1/m], > 0
  double min_length = 0.02;          ///< of the body past the base [m], > 0
  int max_evaluations = 30;          ///< shapes of the body evaluated in one step, >= 4
};

enum class ReplanStatus {
  AtTarget,     ///< the predicted tip is within tolerance
  Moving,       ///< it came nearer; more steps are needed
  Held,         ///< no step was found that brings it nearer; the next one tries a shorter step
  Settling,     ///< not in equilibrium yet: k and L as before, more steps are needed
  InvalidInput  ///< memory not set or not valid, or arguments not finite or out of range; nothing
                ///< is changed
};
[[nodiscard]] const char* to_string(ReplanStatus status) noexcept;

/// Result of a step. Predictions are those of the equilibrium, unless Settling.
struct Replan {
  ReplanStatus status = ReplanStatus::InvalidInput;
  double curvature = 0.0;   ///< k, of the whole body past the base [1/m]
  double length = 0.0;      ///< L [m]
  PlanarPose tip;           ///< predicted
  double exit_angle = 0.0;  ///< in the clearance of the guide [rad]
  double tip_error = std::numeric_limits<double>::infinity();  ///< predicted, to the target [m]
  double contact_force = 0.0;  ///< sum of the magnitudes over all contacts [N]
  /// Rates of the tip with k [m per 1/m] and L [m per m], loaded contacts kept; zero if Settling.
  Eigen::Matrix2d jacobian = Eigen::Matrix2d::Zero();
  int evaluations = 0;                     ///< shapes evaluated
  std::span<const ContactState> contacts;  ///< by planned contact; until the next call
};

/// Keeps the tip of an elastic body, fed in among obstacles, at a target: the correction of a plan
/// (`ElasticCorrection`) as a step of bounded work, for control loops. Unknowns are the actuation
/// curvature k and the length L. A step brings the body to equilibrium where it is, then takes one
/// Newton step towards the target, at most `max_advance`; a target further away, or an obstacle
/// that has moved, is met over some steps.
///
/// What is stored between steps (k, L, shape, contact forces, shifts of the obstacles) is in a span
/// that the caller owns, of `layout().size()` numbers; every call is a function of it and of its
/// arguments alone, throws and allocates nothing. `memory` and `next` may be the same span. Copying
/// the span saves the state. Whatever it holds, nothing is read or written outside it.
/// docs/guide/elastic.md. Extension, not in the sources.
class ElasticReplanner {
 public:
  /// Throws ModelError as ElasticRod and for options outside their ranges.
  ElasticReplanner(PlanarScene scene, const PlanarPose& base,
                   std::span<const PlannedContact> contacts, const ElasticRodOptions& rod = {},
                   const ElasticReplannerOptions& options = {});

  [[nodiscard]] const MemoryLayout& layout() const noexcept { return layout_; }
  [[nodiscard]] std::size_t memory_size() const noexcept {
    return static_cast<std::size_t>(layout_.size());
  }

  /// Sets the memory: a body without contacts, an arc from the base; obstacles as in the scene.
  /// Arguments outside their ranges leave a memory that is not set.
  void reset(double curvature, double length, std::span<double> memory) const noexcept;
  /// Sets the memory to a state of `ElasticCorrection` with the same base and element length.
  /// Obstacles as in the scene.
  void reset(const CorrectedState& state, std::span<double> memory) const noexcept;

  /// Sets where an obstacle is, relative to where the scene has it [m]: the next steps bring the
  /// body to equilibrium there. Planned contacts move with it. Not finite, or no such obstacle:
  /// ignored.
  void set_obstacle_shift(int obstacle, const Eigen::Vector2d& shift,
                          std::span<double> memory) const noexcept;
  [[nodiscard]] Eigen::Vector2d obstacle_shift(int obstacle,
                                               std::span<const double> memory) const noexcept;

  /// One step of the tip towards `target` [m].
  Replan step(std::span<const double> memory, const Eigen::Vector2d& target,
              std::span<double> next) noexcept;
  /// The equilibrium for actuation `curvature` and `length`, set by others; the status is AtTarget
  /// (at its own tip) or Settling.
  Replan settle(std::span<const double> memory, double curvature, double length,
                std::span<double> next) noexcept;

  /// Obstacle of the scene that planned contact `index` lies on; -1: there is none.
  [[nodiscard]] int obstacle_of_contact(int index) const noexcept {
    return contact_obstacle_[static_cast<std::size_t>(index)];
  }
  [[nodiscard]] std::span<const PlannedContact> contacts() const noexcept { return contacts_; }
  [[nodiscard]] const ElasticReplannerOptions& options() const noexcept { return options_; }
  /// The body as the last call left it.
  [[nodiscard]] const ElasticRod& rod() const noexcept { return rod_; }

 private:
  bool load(std::span<const double> memory) noexcept;
  void store(std::span<double> memory) noexcept;
  void store_shape(std::span<const double> curvatures, std::span<const RodMultiplier> multipliers,
                   std::span<double> memory) const noexcept;
  [[nodiscard]] bool is_valid(double curvature, double length) const noexcept;
  RodSolution equilibrium(double curvature, double length, int evaluations) noexcept;
  void predict(const RodSolution& solution, Replan& result) noexcept;

  ElasticRod rod_;
  std::vector<PlannedContact> contacts_;
  ElasticReplannerOptions options_;
  std::vector<int> contact_obstacle_;
  std::vector<ContactState> states_;
  std::vector<RodMultiplier> multipliers_;
  double curvature_ = 0.0, length_ = 0.0, trust_ = 1.0;

  MemoryLayout layout_;
  Slot<bool> is_set_;
  Slot<double> curvature_slot_, length_slot_, exit_angle_slot_, trust_slot_;
  Slot<int> element_count_;
  Block elements_, obstacles_, forces_;  // of the multipliers; force 0: none
  MatrixSlot<Eigen::Matrix2Xd> shifts_;  // of the obstacles
  Block curvatures_;                     // of the elements
};

}  // namespace tendril
