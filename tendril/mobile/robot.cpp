#include "tendril/mobile/robot.hpp"

#include <numbers>
#include <sstream>
#include <string>

#include "tendril/range.hpp"

namespace tendril {
namespace {

constexpr double kLargestAngle = 4.0 * std::numbers::pi;

void check(const std::string& object, const JointLimits& limits) {
  const Range range{.low = -kLargestAngle, .high = kLargestAngle};
  require(object, "min", limits.min, range, "rad");
  require(object, "max", limits.max, range, "rad");
  if (limits.min > limits.max) {
    std::ostringstream above;
    above << "<= max = " << limits.max << " rad";
    refuse(object, "min", limits.min, above.str(), "rad");
  }
}

}  // namespace

MobileRobot::MobileRobot(const MobileRobotParameters& parameters) : parameters_(parameters) {
  constexpr char kName[] = "mobile robot";
  constexpr double kQuarter = 0.5 * std::numbers::pi;
  require(kName, "mount_x", parameters.mount_x, kFinite, "m");
  require(kName, "mount_y", parameters.mount_y, kFinite, "m");
  require(kName, "shoulder_height", parameters.shoulder_height, kFinite, "m");
  require(kName, "shoulder_offset", parameters.shoulder_offset, kNotNegative, "m");
  require(kName, "tool_tilt", parameters.tool_tilt, {.low = -kQuarter, .high = kQuarter}, "rad");
  require(kName, "platform_length", parameters.platform_length, kPositive, "m");
  require(kName, "platform_width", parameters.platform_width, kPositive, "m");
  require(kName, "platform_height", parameters.platform_height, kPositive, "m");
  require(kName, "link count", static_cast<double>(parameters.links.size()),
          {.low = 2.0, .high = kMaxLinks});
  check("yaw joint", parameters.yaw);
  check("roll joint", parameters.roll);
  for (std::size_t i = 0; i < parameters.links.size(); ++i) {
    const std::string name = "arm link " + std::to_string(i + 1);
    require(name, "length", parameters.links[i].length, kPositive, "m");
    check(name, parameters.links[i].limits);
    if (i + 1 < parameters.links.size()) wrist_reach_ += parameters.links[i].length;
  }
  if (!parameters.priorities.empty() && parameters.priorities.size() != parameters.links.size())
    refuse(kName, "priorities count", static_cast<double>(parameters.priorities.size()),
           "0 or the number of links");
  for (const double k : parameters.priorities)
    require(kName, "priorities", k, {.low = 0.0, .high = kMaxPriority, .open_low = true});
}

const JointLimits& MobileRobot::joint_limits(int joint) const noexcept {
  if (joint == 0) return parameters_.yaw;
  if (joint == joint_count() - 1) return parameters_.roll;
  return link(joint - 1).limits;
}

MobileRobotParameters youbot() {
  constexpr double kDegree = std::numbers::pi / 180.0;
  const auto degrees = [](double min, double max) {
    return JointLimits{.min = min * kDegree, .max = max * kDegree};
  };
  return {.mount_x = 0.167,
          .mount_y = 0.0,
          .shoulder_height = 0.245,
          .shoulder_offset = 0.033,
          .yaw = degrees(-169.0, 169.0),
          .links = {{.length = 0.155, .limits = degrees(-65.0, 90.0)},
                    {.length = 0.135, .limits = degrees(-151.0, 146.0)},
                    {.length = 0.2175, .limits = degrees(-102.5, 102.5)}},
          .roll = degrees(-167.5, 167.5),
          .tool_tilt = 0.0,
          .platform_length = 0.58,
          .platform_width = 0.38,
          .platform_height = 0.14};
}

}  // namespace tendril
