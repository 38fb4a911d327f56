#include "plugin/bind_robot.hpp"

#include <algorithm>
#include <array>

#include "tendril/model_error.hpp"

namespace tendril {

// Of the kinds of robots, each in the file of its binding.
const RobotBinder& arm_binder() noexcept;
const RobotBinder& snake_binder() noexcept;
const RobotBinder& mobile_binder() noexcept;

namespace {

constexpr std::array kBinders{&arm_binder, &snake_binder, &mobile_binder};
static_assert(kBinders.size() == std::variant_size_v<RobotDescription>);

const RobotBinder& binder_of(const RobotDescription& robot) {
  return (*std::ranges::find_if(kBinders, [&](auto* binder) { return binder().binds(robot); }))();
}

}  // namespace

std::unique_ptr<Controller> make_controller(const InstanceContext& context, SceneQuery& scene) {
  if (auto controller = binder_of(context.robot).make_controller(context, scene)) return controller;
  const std::string_view kind =
      std::visit([](const auto& d) { return kind_name(ModelDescription(d)); }, context.robot);
  throw ModelError("robot: kind = " + std::string(kind) + ": must be a kind of robot that " +
                   context.kind.name + " controls");
}

std::unique_ptr<RobotBinding> bind_robot(const InstanceContext& context,
                                         std::unique_ptr<Controller> controller,
                                         ModelScene& scene) {
  return binder_of(context.robot).bind(context, std::move(controller), scene);
}

int coordinate_count(const RobotDescription& robot) {
  return binder_of(robot).coordinate_count(robot);
}

int own_memory_size(const InstanceContext& context, const Controller& controller) {
  return binder_of(context.robot).own_memory_size(context, controller);
}

int fault_memory_size(const InstanceContext& context) {
  return binder_of(context.robot).fault_memory_size(context);
}

bool measures(const RobotDescription& robot, FaultChannel channel) {
  return binder_of(robot).measures(robot, channel);
}

}  // namespace tendril
