#include "controllers/arm/manipulation.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>

#include "controllers/arm/reach_controller.hpp"
#include "tendril/model_error.hpp"

namespace tendril {
namespace {

constexpr std::string_view kNotTaken[] = {"avoidance", "obstacles", "obstacle_margin",
                                          "wait_for_base"};

}  // namespace

std::vector<SettingInfo> manipulation_settings(std::span<const SettingInfo> own) {
  std::vector<SettingInfo> all = joined({own, ReachController::settings()});
  std::erase_if(all, [](const SettingInfo& row) {
    return std::find(std::begin(kNotTaken), std::end(kNotTaken), row.name) != std::end(kNotTaken);
  });
  for (SettingInfo& row : all)
    if (row.name == std::string_view("integral_limit")) row.default_value = "1";
  return all;
}

double measure_object(const ArmContext& context, const char* setting) {
  const MeasuredObstacles object = context.scene.measure_obstacles(setting, 0.0);
  if (object.obstacles.count() != 1 || object.moving_count != 1)
    throw ModelError(std::string(setting) + " = " + std::string(context.settings.text(setting)) +
                     ": must be one geom of the scene, of a body that moves");
  return object.obstacles.extent(0);
}

}  // namespace tendril
