#pragma once

#include <limits>
#include <span>
#include <vector>

#include "tendril/contact/planar_arc.hpp"
#include "tendril/rod/elastic_correction.hpp"

namespace tendril {

/// One row of a list of commands to a body of one extensible section that is fed in along a plan.
struct InsertionRow {
  double time = 0.0;         ///< [s]
  double path_length = 0.0;  ///< arc length of the plan that the tip has reached [m]
  double length = 0.0;       ///< L, of the body past the entry [m]
  double curvature = 0.0;    ///< k, of the actuation of the whole body [1/m], signed
};

struct InsertionOptions {           ///< every field has a working default
  double body_radius = 0.01;        ///< r [m], >= 0
  double largest_step = 2e-3;       ///< advance per row [m], > 0; also at most r/5 if r > 0
  double largest_turn = 0.0174533;  ///< change of the path's heading per row [rad], > 0
  double ramp = 5e-3;         ///< length over which the actuation changes past a contact [m], >= 0
  double start_length = 0.0;  ///< inserted before the first row [m], >= 0
  double speed = 0.05;        ///< of the feed, dL/dt [m/s], > 0
  double acceleration = 0.2;  ///< of the feed [m/s^2], > 0
  double curvature_rate =
      std::numeric_limits<double>::infinity();  ///< of the actuation [1/(m s)], > 0
};

// `plan` is a chain of arcs, each of which starts where the one before ends. Both functions throw
// ModelError `insertion options: field = value unit, must be ...` and
// `insertion path: arc 2: length = 0 m, must be > 0` (from 0). Their rows begin at `start_length`
// and hit every joint of the plan. They are timed as fast as speed, acceleration and curvature_rate
// allow, stationary at both ends; between rows the advance has constant acceleration.

/// Commands for obstacles that hold what lies behind them: on arc j the whole body is actuated with
/// its curvature; past the contact at its end the actuation changes linearly over `ramp`. An
/// elastic body needs `elastic_insertion`. Source: [FABRIKx] sec. 2.5.
[[nodiscard]] std::vector<InsertionRow> extensible_insertion(std::span<const PlanarArc> plan,
                                                             const InsertionOptions& options = {});

/// The same for an elastic body: the actuation k and length L of `ElasticCorrection::follow`, as
/// functions of the path length. `states` must begin at the end of the first arc, rise in path
/// length and have one curvature each (ModelError otherwise).
[[nodiscard]] std::vector<InsertionRow> elastic_insertion(std::span<const PlanarArc> plan,
                                                          std::span<const CorrectedState> states,
                                                          const InsertionOptions& options = {});

}  // namespace tendril
