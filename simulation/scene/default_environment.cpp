#include "simulation/scene/default_environment.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <numeric>
#include <string>
#include <variant>
#include <vector>

#include "tendril/kinematics/forward_kinematics.hpp"

namespace tendril::simulation {
namespace {

constexpr double kTargetSize = 0.025;  // radius of a target relative to the robot's reach

/// Adds the mocap body named as target by the controller, unless it exists.
void add_target(mjSpec& spec, const ControllerConfig& controller, const double (&position)[3],
                double radius) {
  const std::string* const target = controller.find("target");
  if (target == nullptr || mjs_findBody(&spec, target->c_str()) != nullptr) return;
  mjsBody* const body = mjs_addBody(mjs_findBody(&spec, "world"), nullptr);
  mjs_setName(body->element, target->c_str());
  body->mocap = 1;
  std::copy_n(position, 3, body->pos);
  mjsGeom* const sphere = mjs_addGeom(body, nullptr);
  sphere->type = mjGEOM_SPHERE;
  sphere->size[0] = radius;
  sphere->contype = sphere->conaffinity = 0;
  const float color[4] = {0.9f, 0.3f, 0.2f, 0.5f};
  std::copy_n(color, 4, sphere->rgba);
}

/// Returns the tip's position when all sections are bent by a quarter of their limit.
Eigen::Vector3d gently_bent_tip(const ContinuumRobot& robot) {
  std::vector<SectionState> states(robot.straight().begin(), robot.straight().end());
  for (std::size_t i = 0; i < states.size(); ++i)
    states[i].theta =
        0.25 * robot.section(static_cast<int>(i)).bend_angle_limit_at(states[i].extension);
  return tip_pose(robot, states).translation();
}

/// A target that can be reached, for an arm at the world's origin.
void add_environment(mjSpec& spec, const ContinuumDescription& robot) {
  const ContinuumRobot kinematics = robot.kinematics();
  const double reach = kinematics.max_length() + robot.base.feed_limit;
  const Eigen::Vector3d tip = gently_bent_tip(kinematics);
  add_target(spec, robot.controller, {tip.x(), tip.y(), tip.z()}, kTargetSize * reach);
}

void add_floor(mjSpec& spec, const char* name) {
  mjsGeom* const floor = mjs_addGeom(mjs_findBody(&spec, "world"), nullptr);
  mjs_setName(floor->element, name);
  floor->type = mjGEOM_PLANE;
  floor->size[0] = floor->size[1] = 0.0;  // without end
  floor->size[2] = 1.0;
}

/// Target and, for a free snake, the floor.
void add_environment(mjSpec& spec, const SnakeDescription& snake) {
  const double length =
      std::accumulate(snake.link_lengths.begin(), snake.link_lengths.end(), snake.feed_limit);
  add_target(spec, snake.controller, {2.0 * length, length, 0.0}, kTargetSize * length);
  if (snake.base != SnakeBase::Free && !snake.scales) return;
  add_floor(spec, snake.scales ? snake.scales->floor.c_str() : "floor");
}

/// Target and floor for a mobile robot.
void add_environment(mjSpec& spec, const MobileDescription& robot) {
  const double arm = robot.mounted ? rest_length(robot.mounted->robot) : robot.kinematics().reach();
  const double reach = arm + robot.parameters.platform_length;
  add_target(spec, robot.controller, {2.0 * reach, 0.0, 2.0 * robot.parameters.platform_height},
             kTargetSize * reach);
  add_floor(spec, "floor");
}

void add_environment(mjSpec& /*spec*/, const TubeDescription& /*tube*/) {}

}  // namespace

void add_default_environment(mjSpec& spec, const ModelDescription& model) {
  std::visit([&](const auto& description) { add_environment(spec, description); }, model);
}

}  // namespace tendril::simulation
