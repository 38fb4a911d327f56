#pragma once

#include "binding/arm_model.hpp"

namespace tendril {

/// The arm's natural mode of lowest frequency around the pose that the model is written in, with
/// its base held and its servos at rest: K x = omega^2 M x.
struct FundamentalMode {
  double frequency;  ///< omega [rad/s]
  double damping;    ///< 2 zeta omega: x' C x / x' M x [1/s]
};

/// Its period if it takes longer to decay than MoveTiming takes not to excite it; else 0 [s].
[[nodiscard]] double swing_period(const FundamentalMode& mode) noexcept;

/// A lower bound of the damping 2 zeta omega of the swing of the links' twist, in any shape: by
/// Dunkerley's frequency, with all masses as far from the axes as in the straight arm; infinite if
/// nothing twists [1/s].
[[nodiscard]] double twist_damping(const Mechanism& mechanism, const ArmModel& model);

/// No motion is known, and both are infinite, where a joint is held by nothing.
[[nodiscard]] FundamentalMode fundamental_mode(const Mechanism& mechanism, const ArmModel& model);

}  // namespace tendril
