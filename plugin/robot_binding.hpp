#pragma once

#include <mujoco/mujoco.h>

#include <Eigen/Core>
#include <algorithm>
#include <concepts>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "controllers/arm/servo.hpp"
#include "controllers/interface/controller.hpp"
#include "controllers/interface/measurement_faults.hpp"
#include "controllers/watch/following_watch.hpp"
#include "plugin/instance_context.hpp"
#include "plugin/remote_control.hpp"
#include "tendril/model/fault_file.hpp"

namespace tendril {

/// The faults of the setting `measurement_faults` that are meant for this robot. Throws ModelError.
[[nodiscard]] MeasurementFaultList faults_of(const InstanceContext& context);
template <class Measurement>
[[nodiscard]] MeasurementFaults measurement_faults(const InstanceContext& context,
                                                   const Measurement& measurement) {
  const MeasurementFaultList list = faults_of(context);
  return {list.faults, measurement, context.model->opt.timestep, list.seed};
}

/// Binding to one robot of one model: reads its measurement and writes the setpoints of its servos.
/// Instance contains the part common to all kinds of robots. Masses, servos and gravity are those
/// of the model at construction; the state of the joints is read from mjData.
class RobotBinding {
 public:
  virtual ~RobotBinding() = default;

  [[nodiscard]] virtual const Controller& controller() const noexcept = 0;
  /// Releases the controller for the next instance of the same configuration.
  [[nodiscard]] virtual std::unique_ptr<Controller> release_controller() noexcept = 0;
  /// Layout of the binding's own memory between steps.
  [[nodiscard]] const MemoryLayout& layout() const noexcept { return layout_; }
  /// Actuators driven by it.
  [[nodiscard]] std::span<const int> actuators() const noexcept { return actuators_; }

  /// Reads the measurement. Returns false if the state is not finite: the simulation has diverged.
  [[nodiscard]] virtual bool measure(const mjModel* m, const mjData* d,
                                     std::span<const double> own) noexcept = 0;
  /// Memory of the faults between the measurement and the controller; size 0 without any.
  [[nodiscard]] virtual const MemoryLayout* fault_layout() const noexcept = 0;
  /// Memory of the controller and of the faults, now and after this step.
  struct UpdateMemory {
    std::span<const double> controller;
    std::span<double> next_controller;
    std::span<const double> faults;
    std::span<double> next_faults;
  };
  /// What the robot's computer has read in this step (SensorReadings), and the new memory of the
  /// binding.
  struct Sensed {
    std::span<const double> readings;
    std::span<const bool> arrived;
    std::span<double> next_own;
  };
  /// Calls the controller with the measurement. What is reported of the tip's errors is true
  /// although the controller may see a faulty measurement. Passes on its exceptions.
  virtual void update(const UpdateMemory& memory, const Sensed& sensed,
                      ControllerReport& report) = 0;
  /// True places of the tip and the target in this step.
  [[nodiscard]] virtual TipAndTarget tip_and_target() const noexcept = 0;
  /// A tip within `following_tolerance` of this length has arrived [m].
  [[nodiscard]] virtual double length_scale() const noexcept {
    return FollowingWatch::kLengthScale;
  }
  [[nodiscard]] virtual bool command_is_finite() const noexcept = 0;
  /// Writes the servos' setpoints, one per actuator, and to `next_own` the new memory of the
  /// binding.
  virtual void setpoints(std::span<double> next_own, std::span<double> setpoints) noexcept = 0;
  /// Numbers of ArmLoop::DriveReading; -1: no remote controller can drive the robot.
  [[nodiscard]] virtual int drive_reading_count() const noexcept { return -1; }
  /// Lets a remote controller drive the robot in this step: writes the setpoints.
  virtual void exchange(const mjData* /*d*/, RemoteControl& /*remote*/, const Sensed& /*sensed*/,
                        std::span<double> /*drives*/, std::span<double> /*setpoints*/,
                        ControllerReport& /*report*/) noexcept {}
  /// Sets what of the model's friction depends on the state.
  virtual void limit_friction(mjData* /*d*/, std::span<const double> /*own*/) noexcept {}
  /// Keeps what is only known at the end of a step: the forces of its contacts.
  virtual void end_step(const mjModel* /*m*/, const mjData* /*d*/,
                        std::span<double> /*next_own*/) const noexcept {}
  /// Following error of the present command (FollowingWatch). A contact of a body holds back the
  /// joints that move it; `last_touched` is the last of the robot's bodies that touch anything, in
  /// the order of the chain.
  [[nodiscard]] virtual FollowingError following_error(int last_touched) const noexcept = 0;
  /// Sets the command to what a controller finds that sets nothing; also after its failure.
  virtual void forget_command() noexcept = 0;

  /// Values of the common quantities after the status, in order.
  virtual void common_values(const ControllerReport& report, double* out) const noexcept = 0;
  virtual void draw(const mjData* d, std::span<const double> memory, const ControllerReport& report,
                    mjvScene* scene) const = 0;
  /// `source` is of the same configuration.
  virtual void copy_scratch(const RobotBinding& source) noexcept = 0;

 protected:
  MemoryLayout layout_;
  std::vector<int> actuators_;
};

/// A binding with its controller C, of arms, snakes or mobile robots, and what that reads and sets.
template <class C, class Measurement, class Command>
class BindingOf : public RobotBinding {
 public:
  [[nodiscard]] const Controller& controller() const noexcept final { return *controller_; }
  [[nodiscard]] std::unique_ptr<Controller> release_controller() noexcept final {
    return std::move(controller_);
  }
  [[nodiscard]] const MemoryLayout* fault_layout() const noexcept final {
    return seen_ && !seen_->faults.empty() ? &seen_->faults.layout() : nullptr;
  }
  [[nodiscard]] TipAndTarget tip_and_target() const noexcept final {
    return measurement_.tip_and_target();
  }
  void update(const UpdateMemory& memory, const Sensed& sensed, ControllerReport& report) final {
    forget_command();
    if (!seen_) {
      controller_->update(measurement_, memory.controller, memory.next_controller, command_,
                          report);
      return;
    }
    Seen& s = *seen_;
    s.measurement = measurement_;
    bool differs = sense(sensed, s.measurement);
    if (!s.faults.empty())
      differs |= s.faults.apply(s.measurement, memory.faults, memory.next_faults);
    if (differs) {
      const Truth truth = see_truth(memory.controller, sensed, report.own.size());
      forget_command();
      controller_->update(s.measurement, memory.controller, memory.next_controller, command_,
                          report);
      truth.correct(report);
    } else {
      controller_->update(s.measurement, memory.controller, memory.next_controller, command_,
                          report);
    }
  }

 protected:
  /// The `measurement` has the right sizes.
  /// @param is_sensed  the controller sees what `sense` makes of the readings
  BindingOf(const InstanceContext& context, std::unique_ptr<C> controller, Measurement measurement,
            bool is_sensed = false)
      : controller_(std::move(controller)),
        measurement_(std::move(measurement)),
        command_(static_cast<int>(measurement_.q.size())) {
    MeasurementFaults faults = measurement_faults(context, measurement_);
    if (faults.empty() && !is_sensed) return;
    const auto size = static_cast<std::size_t>(controller_->memory_size());
    seen_.emplace(Seen{std::move(faults), measurement_, command_, std::vector<double>(size), {}});
    seen_->own.reserve(context.kind.quantities.size());
  }

  /// Replaces what sensors do not measure in a true measurement by what follows from the readings.
  /// Returns whether it did.
  virtual bool sense(const Sensed& /*sensed*/, Measurement& /*seen*/) noexcept { return false; }

  /// New memory of a controller that has seen the truth all along, where its own quantities are
  /// those of the body and not its beliefs; empty: they are beliefs.
  [[nodiscard]] virtual std::span<double> true_memory(std::span<double> /*next_own*/) noexcept {
    return {};
  }

  /// Returns the measurement that the controller saw.
  [[nodiscard]] const Measurement& seen() const noexcept {
    return seen_ ? seen_->measurement : measurement_;
  }
  /// Takes over what is known of a remote controller. Returns whether it has commanded anything.
  bool take_known(const RemoteControl::Known& known, ControllerReport& report) noexcept {
    if (known.report != nullptr) {
      const std::span<double> own = report.own;
      report = *known.report;
      std::copy_n(report.own.begin(), std::min(own.size(), report.own.size()), own.begin());
      report.own = own;
    }
    report.status = known.status;
    const auto* const view = std::get_if<SeenAndSet<Measurement, Command>>(&known.view);
    if (view == nullptr) return false;
    command_ = *view->command;
    if (seen_) seen_->measurement = *view->seen;
    return true;
  }
  /// Replaces what a remote controller reports of errors by what that of the plugin says of the
  /// truth, if it keeps a memory of it.
  void judge(const Sensed& sensed, ControllerReport& report) noexcept {
    if (!seen_ || true_memory(sensed.next_own).empty()) return;
    std::swap(command_, seen_->command);
    forget_command();
    try {
      see_truth({}, sensed, report.own.size()).correct(report);
    } catch (...) {  // it cannot tell
      Truth{.report = {}, .is_apart = false}.correct(report);
    }
    std::swap(command_, seen_->command);
  }
  void copy_seen(const BindingOf& source) noexcept {
    if (seen_) seen_->measurement = source.seen();
  }

  std::unique_ptr<C> controller_;
  // Scratch of the last step.
  Measurement measurement_;
  Command command_;

 private:
  /// What the controller sees, if that is not the truth.
  struct Seen {
    MeasurementFaults faults;
    Measurement measurement;
    Command command;  // scratch
    std::vector<double> memory, own;
  };
  /// What the controller says when it sees the truth: where the tip should be is its knowledge.
  struct Truth {
    ControllerReport report;
    bool is_apart;  // it has seen the truth all along

    void correct(ControllerReport& other) const noexcept {
      other.tip_error = report.tip_error;
      other.angle_error = report.angle_error;
      other.deviation = report.deviation;
      other.path_excess = report.path_excess;
      if (is_apart) std::ranges::copy(report.own, other.own.begin());
    }
  };
  Truth see_truth(std::span<const double> memory, const Sensed& sensed, std::size_t own_size) {
    Seen& s = *seen_;
    s.own.assign(own_size, 0.0);
    const std::span<double> all_along = true_memory(sensed.next_own);
    const bool is_apart = !all_along.empty();
    const std::span<const double> from = is_apart ? all_along : memory;
    s.memory.assign(from.begin(), from.end());
    Truth truth{.report = {.own = s.own}, .is_apart = is_apart};
    if (is_apart)
      controller_->update(measurement_, s.memory, all_along, command_, truth.report);
    else
      controller_->update(measurement_, memory, s.memory, command_, truth.report);
    return truth;
  }
  std::optional<Seen> seen_;
};

// ---- common to all bindings

/// Tells whether the controller sees its sensors instead of the truth.
[[nodiscard]] bool sees_sensors(const InstanceContext& context);

using ConstVector3 = Eigen::Map<const Eigen::Vector3d>;
using ConstMatrix3 = Eigen::Map<const Eigen::Matrix<double, 3, 3, Eigen::RowMajor>>;

/// Indices of a joint in mjData.
struct JointAddress {
  int joint = -1, qpos = -1, dof = -1, body = -1;

  void read(const mjData* d, JointState& state) const noexcept;
};
[[nodiscard]] JointAddress joint_address(const mjModel* m, int joint) noexcept;
/// Throws ModelError if the robot has no such joint.
[[nodiscard]] JointAddress joint_address(const InstanceContext& context, const std::string& name);
/// Throws ModelError if the robot has a joint besides these whose name differs from that of one of
/// them in its numbers only: the model has more links than the robot of the setting `robot`.
void require_no_more_joints(const InstanceContext& context, std::vector<int> joints);
template <std::derived_from<JointAddress> Joint>
void require_no_more_joints(const InstanceContext& context, const std::vector<Joint>& joints) {
  std::vector<int> ids;
  for (const JointAddress& joint : joints) ids.push_back(joint.joint);
  require_no_more_joints(context, std::move(ids));
}
/// Pose of a mocap body in the frame of the body `base`.
void read_mocap_pose(const mjData* d, int mocap, int base, Eigen::Isometry3d& X_BM) noexcept;

/// Orientation of a body in the world; nothing if joints move it.
[[nodiscard]] std::optional<Eigen::Matrix3d> standing_orientation(const mjModel* m, int body);

/// Whether joints move it without turning it against gravity, as those of a platform do.
[[nodiscard]] bool stays_upright(const mjModel* m, int body);

/// Tells whether a body is another one or hangs on it.
[[nodiscard]] bool is_below(const mjModel* m, int body, int root) noexcept;
/// Mass of a body and all that hang on it, by the weight that they have in a medium [kg].
[[nodiscard]] double weighing_mass(const mjModel* m, int body) noexcept;
/// The servo of an actuator; `passive_damping`: of the joint or tendon on which it acts.
[[nodiscard]] Servo servo_of(const mjModel* m, int actuator, double passive_damping);
/// Tells whether the actuator is enabled and its gain and force range let it give a force.
[[nodiscard]] bool can_be_driven(const mjModel* m, int actuator) noexcept;
/// Gravity to be compensated by the setpoints [m/s^2]: zero if `compensation` is false or gravity
/// is disabled. Throws ModelError if it is not finite.
[[nodiscard]] Eigen::Vector3d compensated_gravity(const mjModel* m, bool compensation);

}  // namespace tendril
