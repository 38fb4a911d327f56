#pragma once

#include <cstdint>
#include <string>

#include "tendril/snake/curve.hpp"
#include "tendril/snake/snake_chain.hpp"

namespace tendril {

enum class CurveFault : std::uint8_t {
  None,
  NotFinite,   ///< NaN or infinity
  Stationary,  ///< R' = 0, or points that repeat while s increases
  Kink,        ///< the tangent jumps
  TooTight,    ///< bends more along a module than its joints can in any roll
  TooShort,    ///< shorter than the chain
};
[[nodiscard]] const char* to_string(CurveFault fault) noexcept;

/// Report of what is wrong with a curve for a chain, first fault from the start on.
struct CurveReport {
  CurveFault fault = CurveFault::None;
  double s = 0.0;          ///< where (parameter of the curve)
  double distance = 0.0;   ///< arc length from s_start to there [m], for TooShort the whole
  int module = 0;          ///< which module would lie there, from 1 at the base
  double kink = 0.0;       ///< Kink: angle by which the tangent jumps [rad]
  double curvature = 0.0;  ///< TooTight: mean curvature along the module [1/m]
  double limit = 0.0;  ///< TooTight: what the chain can follow at most [1/m]; TooShort: its length
  [[nodiscard]] bool ok() const noexcept { return fault == CurveFault::None; }
};

/// Checks the curve from s_start on, sampled about 16 times a link, over its whole length or
/// `largest_distance` [m] of it: a check before a march, which decides. TooTight is
/// certain: the mean curvature along a module is above sqrt(yaw limit^2 + pitch limit^2) of its
/// joints; between the smaller of the two and this it depends on the roll. For modules after the
/// chain's end, which the head will reach later, the last module's limits count.
/// docs/theory/snakes.md, "Steady arcs". Kinks of less than 0.02 rad are accepted.
/// Allocates nothing.
[[nodiscard]] CurveReport check_curve(const SnakeChain& chain, CurveRef curve, double s_start,
                                      double largest_distance = 1e3) noexcept;

/// Describes a report in words: `module 3: too tight: curvature 41.2 1/m, must be <= 18.9 1/m (at
/// 0.42 m)`.
[[nodiscard]] std::string describe(const CurveReport& report);

}  // namespace tendril
