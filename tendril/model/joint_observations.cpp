#include "tendril/model/joint_observations.hpp"

#include <algorithm>
#include <cmath>

#include "tendril/model/reading_variance.hpp"
#include "tendril/standard_arithmetic.hpp"

namespace tendril {

JointObservations joint_observations(std::span<const RobotSensor> sensors,
                                     std::span<const std::string> joints, double timestep) {
  constexpr double kLeastDeviation = 1e-5;  // [rad], [m]
  JointObservations all;
  all.encoders.resize(joints.size());
  for (const RobotSensor& table : sensors) {
    for (const EngineSensor& one : table.sensors) {
      JointObservations::Use& use = all.uses.emplace_back();
      use.width = one.width;
      if (one.type != "jointpos") continue;
      const auto joint = std::ranges::find(joints, one.attributes.front().second);
      if (joint == joints.end()) continue;
      use.joint = static_cast<int>(joint - joints.begin());
      all.encoders[static_cast<std::size_t>(use.joint)] = {
          hypotenuse(std::sqrt(reading_variance(one)), kLeastDeviation),
          table.delay + (one.is_late ? timestep : 0.0)};
    }
  }
  return all;
}

}  // namespace tendril
