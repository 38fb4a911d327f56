#pragma once

#include "tendril/model/continuum/part.hpp"

namespace tendril {

namespace names {
inline constexpr const char* kSuction = "suction";  ///< body, geom and actuator at the tip
}  // namespace names

/// A suction cup at the tip, as wide as the body there. Its actuator takes a fraction of the
/// largest force, in [0, 1].
struct Suction final : ArmPart {
  double force = 0.0;  ///< largest one [N], > 0; key `suction` of [tip]

  void write(ArmDocument& arm) const override;
  [[nodiscard]] PartLoad load(double tip_radius) const override;
  [[nodiscard]] bool has_flat_faces() const override { return true; }
};

}  // namespace tendril
