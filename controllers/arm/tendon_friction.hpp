#pragma once

#include <span>

namespace tendril {

/// Computes the Coulomb friction of a tendon along its route (capstan): over a section bent by
/// theta its tension falls from T to T exp(-mu theta) where it is pulled in, and rises to T exp(mu
/// theta) where it is let out; at rest it is anywhere between them.
///
/// Source: docs/theory/chain.md, "Friction of tendons". Tested by: tendon_friction_test,
/// capstan_test.
///
/// @param coefficient  mu, >= 0
/// @param tension      at the base [N]
/// @param bends        theta of each section that it runs through, from the base on [rad], >= 0
/// @param friction     present drop of the tension in each of them [N]; its sign is the direction
/// @param limits       of the drop, in either direction [N]
void tendon_friction_limits(double coefficient, double tension, std::span<const double> bends,
                            std::span<const double> friction, std::span<double> limits) noexcept;

}  // namespace tendril
