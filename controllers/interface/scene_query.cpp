#include "controllers/interface/scene_query.hpp"

#include <string>

#include "tendril/model_error.hpp"

namespace tendril {
namespace {

const Obstacles kNoObstacles;

[[noreturn]] void refuse(const char* setting, const char* what) {
  throw ModelError(std::string(setting) + ": must be " + what +
                   " of the scene; there is nothing in it");
}

}  // namespace

Eigen::Vector3d SceneQuery::standing_target(const char* setting) {
  refuse(setting, "a body or a site");
}

MeasuredObstacles SceneQuery::measure_obstacles(const char* /*setting*/, double /*margin*/) {
  return {kNoObstacles};
}

Obstacles SceneQuery::standing_obstacles(const char* /*setting*/) { return {}; }

std::vector<Solid> SceneQuery::solids(const char* /*setting*/) { return {}; }

const SerialChain& SceneQuery::carrier() {
  throw ModelError("robot: must be carried by joints of the scene; there is nothing in it");
}

Solid SceneQuery::geom(const char* setting) { refuse(setting, "a geom"); }

Eigen::Vector3d SceneQuery::position(const char* setting) { refuse(setting, "a mocap body"); }

const Obstacles& obstacles_or_none(const Obstacles* measured) noexcept {
  return measured ? *measured : kNoObstacles;
}

SceneQuery& empty_scene() noexcept {
  static SceneQuery nothing;
  return nothing;
}

}  // namespace tendril
