#pragma once

#include <vector>

#include "tendril/mobile/robot.hpp"

namespace tendril {

/// Rule for the base poses that are allowed. Non-owning; the default allows every pose.
struct PlatformRule {
  /// Test whether `pose` is allowed; null: every pose. Must not allocate or throw.
  bool (*allows)(const void* context, const PlatformPose& pose) noexcept = nullptr;
  const void* context = nullptr;  ///< argument of `allows`
  bool frozen = false;            ///< the platform must stay where it is; `allows` is not called

  [[nodiscard]] bool operator()(const PlatformPose& pose) const noexcept {
    return allows == nullptr || allows(context, pose);
  }
};

/// A box on the floor that the platform must not touch.
struct FloorBox {
  double x = 0.0, y = 0.0;           ///< center [m]
  double length = 0.0, width = 0.0;  ///< along its own x and y axis [m], >= 0
  double heading = 0.0;              ///< of its x axis [rad]
};

/// Boxes that the platform's own rectangle must not touch, as a PlatformRule:
///
///     const FloorPlan plan(0.58, 0.38, {{.x = 1.0, .length = 0.1, .width = 2.0}});
///     solver.solve(target, start, plan.rule());
class FloorPlan {
 public:
  /// @param length, width  of the platform [m], > 0; a margin may be added to them
  /// Throws ModelError for numbers that are not finite or negative.
  FloorPlan(double length, double width, std::vector<FloorBox> boxes);

  /// Tells whether the platform at `pose` touches no box (separating axes).
  [[nodiscard]] bool allows(const PlatformPose& pose) const noexcept;

  /// Valid as long as the plan.
  [[nodiscard]] PlatformRule rule() const noexcept;

 private:
  double half_length_, half_width_;
  std::vector<FloorBox> boxes_;
};

}  // namespace tendril
