#pragma once

#include "tendril/model/continuum/part.hpp"

namespace tendril {

/// A sphere whose middle is the tip and that touches nothing; the names are keys of [tip], `mass`
/// is `payload`.
struct Payload final : ArmPart {
  double mass = 0.0;             ///< [kg], > 0
  double payload_radius = 0.01;  ///< [m], > 0

  void write(ArmDocument& arm) const override;
  [[nodiscard]] PartLoad load(double tip_radius) const override;
};

}  // namespace tendril
