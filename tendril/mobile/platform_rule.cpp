#include "tendril/mobile/platform_rule.hpp"

#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "tendril/range.hpp"

namespace tendril {
namespace {

struct Axis {
  double x, y;
};

}  // namespace

FloorPlan::FloorPlan(double length, double width, std::vector<FloorBox> boxes)
    : half_length_(0.5 * length), half_width_(0.5 * width), boxes_(std::move(boxes)) {
  require("floor plan", "length", length, kPositive, "m");
  require("floor plan", "width", width, kPositive, "m");
  for (std::size_t i = 0; i < boxes_.size(); ++i) {
    const FloorBox& box = boxes_[i];
    const std::string name = "floor box " + std::to_string(i + 1);
    require(name, "x", box.x, kFinite, "m");
    require(name, "y", box.y, kFinite, "m");
    require(name, "heading", box.heading, kFinite, "rad");
    require(name, "length", box.length, kNotNegative, "m");
    require(name, "width", box.width, kNotNegative, "m");
  }
}

bool FloorPlan::allows(const PlatformPose& pose) const noexcept {
  const Axis own{std::cos(pose.heading), std::sin(pose.heading)};
  for (const FloorBox& box : boxes_) {
    const Axis other{std::cos(box.heading), std::sin(box.heading)};
    const double dx = box.x - pose.x, dy = box.y - pose.y;
    bool apart = false;
    for (const Axis& axis : std::array{own, Axis{-own.y, own.x}, other, Axis{-other.y, other.x}}) {
      const auto extent = [&](const Axis& u, double half_length, double half_width) {
        return half_length * std::abs(u.x * axis.x + u.y * axis.y) +
               half_width * std::abs(-u.y * axis.x + u.x * axis.y);
      };
      const double gap = std::abs(dx * axis.x + dy * axis.y) -
                         extent(own, half_length_, half_width_) -
                         extent(other, 0.5 * box.length, 0.5 * box.width);
      apart = apart || gap > 0.0;
    }
    if (!apart) return false;
  }
  return true;
}

PlatformRule FloorPlan::rule() const noexcept {
  return {.allows =
              [](const void* plan, const PlatformPose& pose) noexcept {
                return static_cast<const FloorPlan*>(plan)->allows(pose);
              },
          .context = this};
}

}  // namespace tendril
