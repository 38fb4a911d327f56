#pragma once

#include "tendril/model/continuum/part.hpp"

namespace tendril {

namespace names {
inline constexpr const char* kTipCamera = "tip_camera";
inline constexpr const char* kTipLight = "tip_light";
}  // namespace names

/// A camera that looks forward from the front of the tip, its image upright towards the tip's y
/// axis, and a light around it. Neither weighs anything.
struct TipCamera final : ArmPart {
  double view_angle = 1.5;  ///< vertical field of view [rad]; key `camera_angle` of [tip]

  void write(ArmDocument& arm) const override;
  [[nodiscard]] PartLoad load(double tip_radius) const override;
};

}  // namespace tendril
