#pragma once

#include <vector>

#include "tendril/model/joint_observations.hpp"

namespace tendril {

class Fields;
struct MobileDescription;

/// Reads the `[[sensor]]`s of a mobile robot whose arm is read. Throws ModelError.
[[nodiscard]] std::vector<RobotSensor> read_mobile_sensors(const Fields& top,
                                                           const MobileDescription& robot);

/// What an estimator of a mobile robot makes of them: x, y and heading of its platform, then the
/// joints of its arm.
/// @param timestep  of the simulation [s]
[[nodiscard]] JointObservations mobile_observations(const MobileDescription& robot,
                                                    double timestep);

}  // namespace tendril
