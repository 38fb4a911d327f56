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

/// The binding of a kind of robot.
template <class Description>
struct BindingTo;
template <>
struct BindingTo<ContinuumDescription> {
  using Type = ArmBinding;
};
template <>
struct BindingTo<SnakeDescription> {
  using Type = SnakeBinding;
};
template <>
struct BindingTo<MobileDescription> {
  using Type = MobileBinding;
};

/// Calls `use` with the description of a robot and, as an empty value, the type of its binding.
template <class Use>
auto visit_robot(const RobotDescription& robot, const Use& use) {
  return std::visit(
      [&]<class D>(const D& description) {
        return use(description, std::type_identity<typename BindingTo<D>::Type>());
      },
      robot);
}

}  // namespace

std::unique_ptr<Controller> make_controller(const InstanceContext& context, SceneQuery& scene) {
  return std::visit(
      [&](const auto& robot, const auto& make) -> std::unique_ptr<Controller> {
        if constexpr (requires { make_controller(context, robot, make, scene); })
          return make_controller(context, robot, make, scene);
        else
          refuse_kind(context);
      },
      context.robot, context.kind.make);
}

std::unique_ptr<RobotBinding> bind_robot(const InstanceContext& context,
                                         std::unique_ptr<Controller> controller,
                                         ModelScene& scene) {
  return visit_robot(
      context.robot,
      [&]<class Binding>(const auto& robot,
                         std::type_identity<Binding>) -> std::unique_ptr<RobotBinding> {
        // make_controller has made it for a robot of this kind.
        using Interface = typename Binding::Interface;
        return std::make_unique<Binding>(
            context, robot,
            std::unique_ptr<Interface>(static_cast<Interface*>(controller.release())), scene);
      });
}

int coordinate_count(const RobotDescription& robot) {
  return visit_robot(robot, []<class Binding>(const auto& d, std::type_identity<Binding>) {
    return Binding::coordinate_count(d);
  });
}

int own_memory_size(const RobotDescription& robot, const Controller& controller) {
  return visit_robot(robot, [&]<class Binding>(const auto& d, std::type_identity<Binding>) {
    using Interface = typename Binding::Interface;
    return Binding::memory_size(d, static_cast<const Interface&>(controller));
  });
}

int fault_memory_size(const InstanceContext& context) {
  return visit_robot(context.robot, [&]<class Binding>(const auto& d, std::type_identity<Binding>) {
    using Measurement = typename Binding::Interface::Measurement;
    const MeasurementFaults faults = measurement_faults(context, Measurement(Binding::sizes(d)));
    return faults.empty() ? 0 : faults.layout().size();
  });
}

bool measures(const RobotDescription& robot, FaultChannel channel) {
  return visit_robot(robot, [&]<class Binding>(const auto& d, std::type_identity<Binding>) {
    using Measurement = typename Binding::Interface::Measurement;
    return has_channel(Measurement(Binding::sizes(d)), channel);
  });
}

}  // namespace tendril
