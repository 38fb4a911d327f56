#pragma once

#include "simulation/rollout/run.hpp"
#include "tests/support/temporary_folder.hpp"

namespace tendril::test {

inline constexpr const char* kPendulum = R"(<mujoco model="pendulum"><option timestep="0.01"/>
  <custom><tuple name="robot"><element objtype="body" objname="base"/></tuple></custom>
  <worldbody><geom name="floor" type="plane" size="1 1 0.1"/>
    <body name="base" pos="0 0 0.3"><joint name="swing" axis="0 1 0"/>
      <geom type="capsule" fromto="0 0 0 0.4 0 0" size="0.02" mass="1"/></body>
    <body name="target" mocap="true"><geom size="0.01" contype="0" conaffinity="0"/></body></worldbody>
  <sensor><jointpos name="arm_tip_error" joint="swing"/></sensor></mujoco>)";

inline constexpr const char* kPendulumExperiment = R"(scene = "pendulum.xml"
duration = 1.0
[[motion]]
body = "target"
kind = "lissajous"
amplitude = [0.1, 0, 0]
frequency = [1, 0, 0]
)";

/// A pendulum that swings down onto the floor while its target moves along x.
inline simulation::Experiment pendulum_in(const TemporaryFolder& folder) {
  folder.write("pendulum.xml", kPendulum);
  return simulation::load_experiment(folder.write("pendulum.toml", kPendulumExperiment));
}

/// Runs it for a second and returns the recording, of 101 rows.
inline std::filesystem::path recorded_pendulum(const TemporaryFolder& folder) {
  simulation::RunOptions options;
  options.recording = folder.path() / "rollout.h5";
  static_cast<void>(simulation::run_experiment(pendulum_in(folder), options));
  return options.recording;
}

}  // namespace tendril::test
