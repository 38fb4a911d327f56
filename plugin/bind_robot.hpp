#pragma once

#include <memory>

#include "plugin/model_scene.hpp"
#include "plugin/robot_binding.hpp"

namespace tendril {

/// What the plugin does with robots of one kind, by the functions below.
struct RobotBinder {
  bool (*binds)(const RobotDescription&);
  /// Null: the instance is no controller of such robots.
  std::unique_ptr<Controller> (*make_controller)(const InstanceContext&, SceneQuery&);
  std::unique_ptr<RobotBinding> (*bind)(const InstanceContext&, std::unique_ptr<Controller>,
                                        ModelScene&);
  int (*own_memory_size)(const InstanceContext&, const Controller&);
  int (*fault_memory_size)(const InstanceContext&);
  bool (*measures)(const RobotDescription&, FaultChannel);
  int (*coordinate_count)(const RobotDescription&);
};

/// The controller of an instance before it is bound, for the size of its memory while the model is
/// being compiled. Throws ModelError, also for a robot of another kind than it controls.
[[nodiscard]] std::unique_ptr<Controller> make_controller(const InstanceContext& context,
                                                          SceneQuery& scene);

/// Binds the robot with a `controller` from `make_controller`, and what was asked of the `scene`
/// for it. Throws ModelError naming the element of the model that is missing or wrong.
[[nodiscard]] std::unique_ptr<RobotBinding> bind_robot(const InstanceContext& context,
                                                       std::unique_ptr<Controller> controller,
                                                       ModelScene& scene);

/// Size of the binding's own memory for this robot, and of the faults of its measurement.
[[nodiscard]] int own_memory_size(const InstanceContext& context, const Controller& controller);
[[nodiscard]] int fault_memory_size(const InstanceContext& context);
/// Tells whether controllers of the robot measure the channel of a fault.
[[nodiscard]] bool measures(const RobotDescription& robot, FaultChannel channel);
/// Size of the quantities `command` and `measured`.
[[nodiscard]] int coordinate_count(const RobotDescription& robot);

/// From the class of the binding, a RobotBinding with the types `Description` and `Interface` and
/// the static functions that are called here.
template <class Binding, class Robot = typename Binding::Description,
          class Interface = typename Binding::Interface>
inline constexpr RobotBinder kBinder{
    .binds = [](const RobotDescription& robot) { return std::holds_alternative<Robot>(robot); },
    .make_controller = [](const InstanceContext& context,
                          SceneQuery& scene) -> std::unique_ptr<Controller> {
      return Binding::make_controller(context, std::get<Robot>(context.robot), scene);
    },
    .bind = [](const InstanceContext& context, std::unique_ptr<Controller> controller,
               ModelScene& scene) -> std::unique_ptr<RobotBinding> {
      return std::make_unique<Binding>(
          context, std::get<Robot>(context.robot),
          std::unique_ptr<Interface>(static_cast<Interface*>(controller.release())), scene);
    },
    .own_memory_size =
        [](const InstanceContext& context, const Controller& controller) {
          return Binding::memory_size(context, std::get<Robot>(context.robot),
                                      static_cast<const Interface&>(controller));
        },
    .fault_memory_size =
        [](const InstanceContext& context) {
          const typename Interface::Measurement measurement(
              Binding::sizes(std::get<Robot>(context.robot)));
          const MeasurementFaults faults = measurement_faults(context, measurement);
          return faults.empty() ? 0 : faults.layout().size();
        },
    .measures =
        [](const RobotDescription& robot, FaultChannel channel) {
          return has_channel(
              typename Interface::Measurement(Binding::sizes(std::get<Robot>(robot))), channel);
        },
    .coordinate_count =
        [](const RobotDescription& robot) {
          return Binding::coordinate_count(std::get<Robot>(robot));
        },
};

}  // namespace tendril
