#include "plugin/bind_robot.hpp"

#include "plugin/arm_binding.hpp"
#include "plugin/joint_binding.hpp"
#include "plugin/robot_controllers.hpp"
#include "tendril/model_error.hpp"

namespace tendril {
namespace {

[[noreturn]] void refuse_kind(const InstanceContext& context) {
  const std::string_view kind =
      std::visit([](const auto& d) { return kind_name(ModelDescription(d)); }, context.robot);
  throw ModelError("robot: kind = " + std::string(kind) + ": must be a kind of robot that " +
                   context.kind.name + " controls");
}

struct Binder {
  const InstanceContext& context;
  std::unique_ptr<Controller>& controller;
  ModelScene& scene;

  /// make_controller has made it for a robot of this kind.
  template <class C>
  std::unique_ptr<C> as() const {
    return std::unique_ptr<C>(static_cast<C*>(controller.release()));
  }
  std::unique_ptr<RobotBinding> operator()(const ContinuumDescription& d) const {
    return std::make_unique<ArmBinding>(context, d, as<ArmController>(), scene);
  }
  std::unique_ptr<RobotBinding> operator()(const SnakeDescription& d) const {
    return std::make_unique<SnakeBinding>(context, d, as<SnakeController>(), scene);
  }
  std::unique_ptr<RobotBinding> operator()(const MobileDescription& d) const {
    return std::make_unique<MobileBinding>(context, d, as<MobileController>(), scene);
  }
};

}  // namespace

std::unique_ptr<Controller> make_controller(const InstanceContext& context, SceneQuery& scene) {
  const auto& make = context.kind.make;
  if (const auto* arm = std::get_if<ContinuumDescription>(&context.robot)) {
    if (const auto* make_arm = std::get_if<ControllerKind::MakeArm>(&make))
      return make_arm_controller(context, *arm, *make_arm, scene);
  } else if (const auto* snake = std::get_if<SnakeDescription>(&context.robot)) {
    if (const auto* make_snake = std::get_if<ControllerKind::MakeSnake>(&make))
      return make_snake_controller(context, *snake, *make_snake, scene);
  } else if (const auto* mobile = std::get_if<MobileDescription>(&context.robot)) {
    if (const auto* make_platform = std::get_if<ControllerKind::MakePlatform>(&make))
      return make_platform_controller(context, *mobile, *make_platform, scene);
    if (const auto* make_mobile = std::get_if<ControllerKind::MakeMobile>(&make))
      return make_mobile_controller(context, *mobile, *make_mobile, scene);
  }
  refuse_kind(context);
}

std::unique_ptr<RobotBinding> bind_robot(const InstanceContext& context,
                                         std::unique_ptr<Controller> controller,
                                         ModelScene& scene) {
  return std::visit(Binder{context, controller, scene}, context.robot);
}

int coordinate_count(const RobotDescription& robot) {
  struct Counter {
    int operator()(const ContinuumDescription& d) const {
      return d.kinematics().coordinate_count();
    }
    int operator()(const SnakeDescription& d) const { return d.joints; }
    int operator()(const MobileDescription& d) const {
      return 3 + (d.mounted ? 0 : d.kinematics().joint_count());
    }
  };
  return std::visit(Counter{}, robot);
}

int own_memory_size(const RobotDescription& robot, const Controller& controller) {
  if (const auto* arm = std::get_if<ContinuumDescription>(&robot))
    return ArmBinding::Memory(*arm, static_cast<const ArmController&>(controller)).layout.size();
  const auto* snake = std::get_if<SnakeDescription>(&robot);
  return snake ? SnakeBinding::Memory(*snake).layout.size() : 0;
}

int fault_memory_size(const InstanceContext& context) {
  const int n = coordinate_count(context.robot);
  const auto size = [](const MeasurementFaults& faults) {
    return faults.empty() ? 0 : faults.layout().size();
  };
  if (const auto* arm = std::get_if<ContinuumDescription>(&context.robot))
    return size(measurement_faults(context, sized_measurement(*arm)));
  if (std::holds_alternative<SnakeDescription>(context.robot))
    return size(measurement_faults(context, SnakeMeasurement(n)));
  return size(measurement_faults(context, MobileMeasurement(n - 3)));
}

}  // namespace tendril
