#pragma once

#include <Eigen/Geometry>
#include <cstdint>
#include <span>
#include <string>

#include "tendril/snake/curve.hpp"
#include "tendril/snake/snake_chain.hpp"

namespace tendril {

/// Method that finds the next point, once it is known to be near.
enum class RootMethod : std::uint8_t {
  Newton,         ///< [Torus] (24), inside a bracket, with bisection where it would leave that
  FalsePosition,  ///< [Torus] (25) with halved weights (Illinois), always inside a bracket
  Bisection,      ///< of the bracket, as [Andersson] does for the sphere
};

enum class MarchStatus : std::uint8_t {
  Ok,
  PathTooShort,   ///< the curve ends before the module does
  TooTight,       ///< the curve leaves the torus where a pitch joint would have to bend past pi/2
  JointLimit,     ///< a joint would have to bend past its limit
  NoConvergence,  ///< no point within the rounding: the curve jumps, or doubles back wildly
  InvalidCurve,   ///< the curve is not finite or stationary (R' = 0)
  InvalidStart,   ///< a start parameter outside the curve, or a frame that is not finite
};
[[nodiscard]] const char* to_string(MarchStatus status) noexcept;

/// The end point of two connected bars: a point of the curve on the outer half of a torus.
struct TorusPoint {
  MarchStatus status = MarchStatus::NoConvergence;
  double s = 0.0;      ///< where on the curve
  CurvePoint point;    ///< R(s)
  double gap = 0.0;    ///< distance from the torus [m], at rounding level if Ok
  int iterations = 0;  ///< evaluations of the curve
};

/// The first point after `start` = R(s) in `direction` (+1, -1) at which the curve leaves the
/// convex hull K of the torus about p = R(s): the disc of radius `inner` perpendicular to the unit
/// vector u, thickened by `outer`:
///
///     G(D) = |D - nearest point of the disc| - outer = 0,  D = R(s) - p,   G < 0 inside
///
/// On the outer half of the torus G = 0 is [Torus] (22). G changes by at most the distance
/// traveled, so steps of |G| / |R'| never jump over the exit; near it the method takes over.
/// Verified afterwards: |G| within the rounding, and on the outer half (else TooTight).
///
/// Differs: [Torus] (22) is only defined for |u.D| < outer, has an infinite slope at its edge, and
/// its first guess is no bracket. docs/theory/snakes.md, "The next point".
/// With inner = 0 the torus is a sphere, and u counts for nothing: the next universal joint
/// [Andersson].
/// Precondition: inner >= 0, outer > 0.
[[nodiscard]] TorusPoint next_on_torus(CurveRef curve, double s, const CurvePoint& start,
                                       const Eigen::Vector3d& u, double inner, double outer,
                                       int direction, RootMethod method) noexcept;

/// Points that a march from the base puts on the curve.
enum class MarchTarget : std::uint8_t {
  EvenJoints,  ///< B_0, B_2, ... exactly; the odd points lie a^2 kappa / 2 off it, or further
               ///< where the curvature changes along a few links
  AllJoints,   ///< as near as possible: even points half that distance away on the other side. Only
               ///< B_0 and the head are exact. docs/theory/snakes.md, "Balanced march". Universal
               ///< joints are all on the curve, with either
};

struct MarchOptions {
  RootMethod method = RootMethod::Newton;
  MarchTarget target = MarchTarget::EvenJoints;  ///< of march_from_base; the other one ignores it
};

/// Memory that a march writes to; the caller owns it.
struct MarchMemory {
  std::span<double> angles;      ///< N joint angles [rad]
  std::span<double> parameters;  ///< n + 1: where B_0, B_2, ... B_N lie on the curve
};

/// Result of a march. If it failed, angles and parameters of the modules not reached are unchanged.
struct MarchResult {
  MarchStatus status = MarchStatus::InvalidStart;
  Eigen::Isometry3d X_WB = Eigen::Isometry3d::Identity();  ///< body 0
  int iterations = 0;            ///< evaluations of the curve, all modules
  int largest_iterations = 0;    ///< of one module
  int module = 0;                ///< from 1 at the base: where the march failed, or 0
  int joint = 0;                 ///< from 1 at the base: which joint failed, or 0
  double angle = 0.0;            ///< what that joint would have needed [rad]
  double limit = 0.0;            ///< and its limit [rad]
  double curvature = 0.0;        ///< largest curvature of the curve along the failed module [1/m]
  double curvature_limit = 0.0;  ///< what the chain can follow there in steady arcs [1/m]
  [[nodiscard]] bool ok() const noexcept { return status == MarchStatus::Ok; }
};

/// The result in words: `module 5: joint 9 would need 1.71 rad, limit 1.57 rad (curvature 31.2 1/m,
/// the chain follows 14.3 1/m)`.
[[nodiscard]] std::string describe(const MarchResult& result);

/// Fits the chain to the curve from the base on: B_0 = R(s_start) and the orientation of body 0 are
/// given, B_2, B_4, ... B_N lie on the rest of the curve, towards end(). The odd points lie about
/// a^2 kappa / 2 off it (options.target can distribute that distance among all joints, then
/// `parameters` are those of the curve's points off the even ones). noexcept, allocates nothing.
/// Source: [Torus] (23)-(27), universal joints [Andersson]; docs/theory/snakes.md, "March from the
/// base".
MarchResult march_from_base(const SnakeChain& chain, CurveRef curve, double s_start,
                            const Eigen::Matrix3d& R_WB, MarchMemory out,
                            const MarchOptions& options = {}) noexcept;

/// Fits the chain to the curve from the head on: B_N = R(s_head), the other even points lie on the
/// curve behind, towards begin(); the base pose follows. Of `R_WH`, the frame of an imaginary body
/// N + 1 that follows the head through one more yaw joint, only z counts: the head's roll.
/// Without a rear link phi_1 = 0 and body 0 is aligned with body 1; with one its rear end lies on
/// the curve as viewed along the axis of joint 1.
/// Universal joints: z of the head is as near to z of R_WH as the last link's direction allows;
/// without a rear link phi_1 = phi_2 = 0, with one its rear end lies on the curve.
/// noexcept, allocates nothing. docs/theory/snakes.md, "March from the head", "Universal joints".
MarchResult march_from_head(const SnakeChain& chain, CurveRef curve, double s_head,
                            const Eigen::Matrix3d& R_WH, MarchMemory out,
                            const MarchOptions& options = {}) noexcept;

}  // namespace tendril
