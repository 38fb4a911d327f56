#pragma once

#include <vector>

#include "tendril/ik/auto_solver.hpp"
#include "tendril/mobile/platform_rule.hpp"
#include "tendril/mobile/result.hpp"

namespace tendril {

/// A continuum arm on a mobile platform.
struct MobileContinuum {
  ContinuumRobot arm;
  /// The arm's base frame in the platform's (on the floor, x forward, z up), as it is mounted [m].
  Eigen::Isometry3d X_PB = Eigen::Isometry3d::Identity();
};

struct MobileContinuumOptions {  ///< every field has a working default
  AutoOptions arm{};             ///< of the default solver; `feed_base` for an arm whose base feeds
  int quick_iterations = 150;    ///< of the arm at each base pose that the search tries, >= 1
  int max_shifts = 12;           ///< base shifts by the arm's remaining error, >= 0
  /// Number of steps back, >= 0: after success, the base moves back towards its start by halves as
  /// long as the arm still meets the target.
  int return_steps = 8;
  bool check_floor = true;  ///< refuse targets under the floor; the arm itself is not checked
};

/// The pose of platform and arm; errors by forward kinematics in the world.
struct MobileContinuumResult {
  MobileStatus status = MobileStatus::InvalidTarget;
  double position_error = 0.0;  ///< [m]
  double angle_error = 0.0;     ///< [rad]; 0 when the direction is free
  PlatformPose base{};
  BaseState arm_base{};         ///< feed and spin of the arm's base
  SectionStates states{};       ///< inside the limits; valid until the solver's next call
  double base_travel = 0.0;     ///< between the platform's origins, start to solution [m]
  double heading_change = 0.0;  ///< [rad]
  int iterations = 0;           ///< of the arm's solver, all base poses together
  int base_shifts = 0;          ///< by the arm's remaining error
  int base_poses = 0;           ///< that the arm was tried from
  [[nodiscard]] bool converged() const noexcept { return status == MobileStatus::Converged; }
};

/// Pose of a continuum arm and of its platform: the default solver for the arm, from a base pose
/// that a search finds.
///
/// 1. The arm is solved at the present base pose.
/// 2. While it falls short, the platform shifts by the horizontal component of the remaining error,
///    as the base of [Mobile] does.
/// 3. Then base poses around the target are tried, those with the least travel first, with the
///    present heading and rotated so that the mounted arm leans towards the target.
/// 4. The platform moves back towards its start as far as the target is still met.
///
/// Options are validated in the constructor (ModelError); `solve` allocates and throws nothing and
/// its result depends on its arguments only. Not in the sources: the union of [FABRIKx]'s base
/// shift and [Mobile]'s.
class MobileContinuumSolver {
 public:
  explicit MobileContinuumSolver(const MobileContinuum& robot,
                                 const MobileContinuumOptions& options = {});

  /// Reaches for `target`, a tip pose in the world (X_BG of the target is X_WG here), from the
  /// platform pose `base`, the arm's `states` and `arm_base`. A forbidden shift is clipped; a
  /// frozen base does not move. BaseBlocked: met if every base pose were allowed. Stalled: no base
  /// pose was found, which is no proof.
  [[nodiscard]] MobileContinuumResult solve(const TipTarget& target, const PlatformPose& base,
                                            SectionStates states, const PlatformRule& rule = {},
                                            const BaseState& arm_base = {}) noexcept;

  [[nodiscard]] const MobileContinuum& robot() const noexcept { return robot_; }
  [[nodiscard]] const MobileContinuumOptions& options() const noexcept { return options_; }

 private:
  struct Candidate {
    PlatformPose base;
    double travel;
  };
  [[nodiscard]] bool search(const TipTarget& target, const PlatformPose& start,
                            const PlatformRule& rule, const BaseState& arm_base,
                            MobileContinuumResult& result) noexcept;
  [[nodiscard]] bool try_from(AutoSolver& solver, const TipTarget& target, const PlatformPose& base,
                              SectionStates from, const BaseState& arm_base,
                              MobileContinuumResult& result) noexcept;
  void list_candidates(const TipTarget& target, const PlatformPose& start,
                       const PlatformRule& rule) noexcept;
  void move_back(const TipTarget& target, const PlatformPose& start, const PlatformRule& rule,
                 const BaseState& arm_base, MobileContinuumResult& result) noexcept;

  MobileContinuum robot_;
  MobileContinuumOptions options_;
  AutoSolver thorough_, quick_;
  std::vector<SectionState> start_, states_, best_, kept_;
  std::vector<Candidate> candidates_;
  double last_score_ = 0.0;                              // of the last base pose tried
  Eigen::Vector3d shortfall_ = Eigen::Vector3d::Zero();  // target less tip, of the same
};

/// Pose of the arm's base frame in the world.
[[nodiscard]] Eigen::Isometry3d arm_base_pose(const MobileContinuum& robot,
                                              const PlatformPose& base) noexcept;

}  // namespace tendril
