#pragma once

#include <vector>

#include "tendril/mobile/platform_rule.hpp"
#include "tendril/mobile/result.hpp"
#include "tendril/mobile/support.hpp"

namespace tendril {

/// Cost of a pose, relative to the start: base_weight |travel| + sum weight_j |dq_j|.
struct MobileCost {
  double base_weight = 4.0;             ///< [1/m], >= 0
  std::vector<double> joint_weights{};  ///< [1/rad], >= 0, one for each joint; empty: 1 each
};

struct ClosedFormOptions {           ///< every field has a working default
  double step = 1e-3;                ///< of the shoulder-wrist abscissa [m], > 0
  double position_tolerance = 1e-4;  ///< [m], > 0; also of the position of a frozen base
  double angle_tolerance = 1e-3;     ///< [rad], > 0
  bool check_floor = true;           ///< no hinge, and not the tool, under the floor
  MobileCost cost{};
};

/// The cheapest pose of a robot with three in-plane links, in closed form: orientation and tool
/// position give the wrist; the abscissa from shoulder to wrist is swept, and for each the two
/// elbow postures follow from the triangle shoulder, elbow, wrist. A golden-section search refines
/// the best.
///
///     cos q3 = (r^2 - d2^2 - d3^2) / (2 d2 d3),  r^2 = dx^2 + dz^2
///     q2 = atan2(dx, dz) - atan2(d3 sin q3, d2 + d3 cos q3),  q4 = b - q2 - q3
///
/// The abscissas at which a joint meets a limit or the elbow is straight are interval ends of the
/// sweep, and every interval is searched: UnreachableLimits is a proof, not a guess.
/// Source: the geometric method that [Mobile] compares with, worked out in
/// docs/theory/mobile.md, "The closed form". Tested by: mobile_closed_form_test.
class MobileClosedForm {
 public:
  /// Throws ModelError unless the robot has three in-plane links and the options are in range.
  explicit MobileClosedForm(const MobileRobot& robot, const ClosedFormOptions& options = {});

  /// `base` and `joints` are the start that the cost is measured from. Allocates and throws
  /// nothing.
  [[nodiscard]] MobileResult solve(const ToolTarget& target, const PlatformPose& base,
                                   JointAngles joints, const PlatformRule& rule = {}) noexcept;

  /// The cost of a pose, measured from a start.
  [[nodiscard]] double cost(const PlatformPose& from, JointAngles from_joints,
                            const PlatformPose& to, JointAngles to_joints) const noexcept;

  /// The cheapest pose in one plane, for solvers that have found the plane. False if there is none.
  /// Adds the number of postures evaluated to `postures`.
  [[nodiscard]] bool best_in_plane(const mobile::PlaneCase& plane, const mobile::Problem& problem,
                                   PlatformPose& base, std::span<double> joints, double& cost,
                                   int& postures) const noexcept;

  [[nodiscard]] const MobileRobot& robot() const noexcept { return robot_; }
  [[nodiscard]] const ClosedFormOptions& options() const noexcept { return options_; }

 private:
  /// The cheapest posture of a sweep, and the abscissas apart from its own.
  struct Cheapest {
    double cost, dx = 0.0, low = 0.0, high = 0.0;
    int elbow = 1;
  };
  [[nodiscard]] Cheapest sweep(const mobile::PlaneCase& plane, const mobile::Problem& problem,
                               std::span<const double> ends, int& postures) const noexcept;
  void refine(const mobile::PlaneCase& plane, const mobile::Problem& problem, Cheapest& best,
              int& postures) const noexcept;
  [[nodiscard]] double posture(const mobile::PlaneCase& plane, const mobile::Problem& problem,
                               double dx, int elbow, std::span<double> joints) const noexcept;

  MobileRobot robot_;
  ClosedFormOptions options_;
  std::vector<double> start_, joints_, best_;
};

}  // namespace tendril
