#include "tendril/mobile/mobile_robot.hpp"

#include <cmath>
#include <numbers>
#include <sstream>
#include <string>

#include "tendril/model_error.hpp"

namespace tendril {
namespace {

constexpr double kLargestAngle = 4.0 * std::numbers::pi;

[[noreturn]] void refuse(const std::string& object, const std::string& field, double value,
                         const std::string& unit, const std::string& allowed) {
  std::ostringstream text;
  text << object << ": " << field << " = " << value << unit << ", must be " << allowed;
  throw ModelError(text.str());
}

void require_finite(const std::string& field, double value, const char* unit = " m") {
  if (!std::isfinite(value)) refuse("mobile robot", field, value, unit, "finite");
}

void require_positive(const std::string& object, const std::string& field, double value) {
  if (!(std::isfinite(value) && value > 0.0)) refuse(object, field, value, " m", "finite and > 0");
}

void require_limits(const std::string& object, const JointLimits& limits) {
  for (const auto& [name, value] : {std::pair{"min", limits.min}, std::pair{"max", limits.max}}) {
    if (!(std::abs(value) <= kLargestAngle))
      refuse(object, name, value, " rad", "in [-4 pi, 4 pi]");
  }
  if (limits.min > limits.max) {
    std::ostringstream above;
    above << "<= max = " << limits.max << " rad";
    refuse(object, "min", limits.min, " rad", above.str());
  }
}

}  // namespace

MobileRobot::MobileRobot(const MobileRobotParameters& parameters) : parameters_(parameters) {
  require_finite("mount_x", parameters.mount_x);
  require_finite("mount_y", parameters.mount_y);
  require_finite("shoulder_height", parameters.shoulder_height);
  if (!(std::isfinite(parameters.shoulder_offset) && parameters.shoulder_offset >= 0.0)) {
    refuse("mobile robot", "shoulder_offset", parameters.shoulder_offset, " m", "finite and >= 0");
  }
  if (!(std::abs(parameters.tool_tilt) <= 0.5 * std::numbers::pi))
    refuse("mobile robot", "tool_tilt", parameters.tool_tilt, " rad", "in [-pi/2, pi/2]");
  require_positive("mobile robot", "platform_length", parameters.platform_length);
  require_positive("mobile robot", "platform_width", parameters.platform_width);
  require_positive("mobile robot", "platform_height", parameters.platform_height);
  if (parameters.links.size() < 2 || parameters.links.size() > kMaxLinks) {
    refuse("mobile robot", "link count", static_cast<double>(parameters.links.size()), "",
           "in [2, " + std::to_string(kMaxLinks) + "]");
  }
  require_limits("yaw joint", parameters.yaw);
  require_limits("roll joint", parameters.roll);
  for (std::size_t i = 0; i < parameters.links.size(); ++i) {
    const std::string name = "arm link " + std::to_string(i + 1);
    require_positive(name, "length", parameters.links[i].length);
    require_limits(name, parameters.links[i].limits);
    if (i + 1 < parameters.links.size()) wrist_reach_ += parameters.links[i].length;
  }
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
