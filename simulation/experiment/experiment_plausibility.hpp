#pragma once

#include <span>
#include <string>
#include <vector>

#include "simulation/experiment/experiment.hpp"
#include "simulation/scene/scene.hpp"

namespace tendril::simulation {

/// An experiment as it runs: with the settings and draws of a seed.
struct AppliedExperiment {
  const Experiment& experiment;
  const Scene& scene;
  std::span<const Motion> motions;
  std::span<const Fault> faults;
  std::span<const Setting> settings;
  double duration;  ///< [s]
};

/// Lists what an experiment says that is unlikely to be meant, one line each: what begins after the
/// end of the run, and numbers out of scale with the run or with the robots of the scene, such as
/// `e.toml:4: motion of target: speed = 50 m/s, 250 lengths of the robot (0.2 m) in a second: is
/// the unit m/s, not mm/s?`. The ranges are relative: an arm of 2 mm and one of 10 m, in water or
/// in space, have the same. None of the lines is an error.
[[nodiscard]] std::vector<std::string> experiment_plausibility(const AppliedExperiment& applied);

}  // namespace tendril::simulation
