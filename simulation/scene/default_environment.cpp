#include "simulation/scene/default_environment.hpp"

#include <algorithm>
#include <variant>

namespace tendril::simulation {
namespace {

constexpr double kTargetSize = 0.025;  // radius of a target relative to the robot's reach

/// Adds the mocap body named as target by the controller, unless it exists.
void add_target(mjSpec& spec, const ControllerConfig& controller, const Eigen::Vector3d& position,
                double radius) {
  const std::string* const target = controller.find("target");
  if (target == nullptr || mjs_findBody(&spec, target->c_str()) != nullptr) return;
  mjsBody* const body = mjs_addBody(mjs_findBody(&spec, "world"), nullptr);
  mjs_setName(body->element, target->c_str());
  body->mocap = 1;
  std::copy_n(position.data(), 3, body->pos);
  mjsGeom* const sphere = mjs_addGeom(body, nullptr);
  sphere->type = mjGEOM_SPHERE;
  sphere->size[0] = radius;
  sphere->contype = sphere->conaffinity = 0;
  const float color[4] = {0.9f, 0.3f, 0.2f, 0.5f};
  std::copy_n(color, 4, sphere->rgba);
}

void add_floor(mjSpec& spec, const char* name) {
  mjsGeom* const floor = mjs_addGeom(mjs_findBody(&spec, "world"), nullptr);
  mjs_setName(floor->element, name);
  floor->type = mjGEOM_PLANE;
  floor->size[0] = floor->size[1] = 0.0;  // without end
  floor->size[2] = 1.0;
}

}  // namespace

void add_default_environment(mjSpec& spec, const ModelDescription& model) {
  std::visit(
      [&](const auto& description) {
        if constexpr (requires { description.surroundings(); }) {
          const Surroundings around = description.surroundings();
          add_target(spec, description.controller, around.target, kTargetSize * around.reach);
          if (!around.floor.empty()) add_floor(spec, around.floor.c_str());
        }
      },
      model);
}

}  // namespace tendril::simulation
