#pragma once

#include <Eigen/Core>
#include <span>

#include "controllers/interface/arm_controller.hpp"

// What an arm's drives move, and what its body does. One place for all controllers.
namespace tendril {

/// The first section, from 0, of those up to the tip that all are driven; the number of sections if
/// the last one is not. Throws ModelError naming one of them that bends in one plane, where a
/// section before is not driven and the arm is not planar.
[[nodiscard]] int first_steered(const ArmContext& context);

/// Tells whether a bend that some section has is not driven both ways: what the body does there is
/// not commanded.
[[nodiscard]] bool gives_way(const ArmContext& context);

/// Sections that bend in one plane, of an arm that is not planar.
enum class Planes { Refused, Allowed };

/// Throws ModelError naming a section that is not driven in all directions that it has: for
/// controllers that command all of them.
void require_driven(const ArmContext& context, Planes planes = Planes::Allowed);

/// The first section, from 0, of the driven ones at the tip, of an arm whose sections before are
/// all passive; 0 if there are none. Throws ModelError naming the section that is neither.
[[nodiscard]] int first_past_shaft(const ArmContext& context);

/// The part of an arm's pose that no drive holds, q0 of its Actuation, as measured:
///
///     q0 = (1 - D) q + D (rest + compliance gravity_moment)
///
/// The second term, of bends that tendons hold, is where they would be without tensions. q0 passes
/// a filter, since the body moves when the drives do. Source: docs/theory/control.md, "Arms that
/// are driven in part".
class BodyPose {
 public:
  /// @param rate  of the filter [1/s]; less where the arm's fundamental mode is less damped
  BodyPose(const Actuation& actuation, double rate);

  [[nodiscard]] const MemoryLayout& layout() const noexcept { return layout_; }

  /// One step.
  void update(const ArmMeasurement& measurement, std::span<const double> memory,
              std::span<double> next_memory) noexcept;
  /// q0 after the last step.
  [[nodiscard]] Eigen::Map<const Eigen::VectorXd> in(
      std::span<const double> memory) const noexcept {
    return pose_(memory);
  }

 private:
  double rate_;
  Eigen::MatrixXd driven_, body_;  // D, 1 - D
  Eigen::VectorXd rest_, compliance_;
  MemoryLayout layout_;
  Slot<bool> known_ = layout_.flag();
  MatrixSlot<Eigen::VectorXd> pose_;
  Eigen::VectorXd free_, measured_;  // scratch
};

}  // namespace tendril
