#pragma once

#include <Eigen/Core>
#include <Eigen/Geometry>
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "controllers/controller_kind.hpp"
#include "controllers/interface/controller_view.hpp"
#include "drive/robot_ports.hpp"
#include "tendril/model/robot_description.hpp"
#include "tendril/model_error.hpp"

namespace tendril {

/// The controller of a robot on the robot's own computer: readings in, commands of the actuators
/// out, once in a step. It runs the controller of the robot file with the estimator, the servo law
/// and the memory that the plugin runs (`measured = "sensors"`), and needs no engine.
/// Tested by: drive_test, against the plugin.
class RobotDriver {
 public:
  virtual ~RobotDriver();
  RobotDriver(const RobotDriver&) = delete;
  RobotDriver& operator=(const RobotDriver&) = delete;

  /// Names of readings and commands, in the order of `step`.
  [[nodiscard]] const RobotPorts& ports() const noexcept { return ports_; }
  [[nodiscard]] const ControllerKind& kind() const noexcept { return *kind_; }
  [[nodiscard]] double timestep() const noexcept { return timestep_; }
  /// Text of the robot file.
  [[nodiscard]] virtual const std::string& text() const noexcept = 0;
  [[nodiscard]] virtual std::span<const RobotSensor> sensors() const noexcept = 0;
  /// Whether the controller follows a target.
  [[nodiscard]] bool has_target() const noexcept { return !target_name_.empty(); }
  /// Name of the body that is the target, as the robot file says.
  [[nodiscard]] const std::string& target_name() const noexcept { return target_name_; }

  /// Back to before the first step.
  void reset() noexcept;

  /// Makes a step: writes one command for each actuator. On entry the commands are those in force.
  /// Returns whether they are new: they are not after a fault of the controller, which lasts until
  /// a reset.
  /// @param time      [s], from any start
  /// @param readings  the newest of all channels, one after the other
  /// @param arrived   whether a sensor's has come since the last step
  /// @param target    in the frame of Places; used if the controller has one, and must then be
  /// there
  bool step(double time, std::span<const double> readings, std::span<const bool> arrived,
            const Eigen::Isometry3d* target, std::span<double> commands) noexcept;
  /// Keeps what the actuators were really given after a step, if that is not what it wrote.
  void keep(std::span<const double> commands) noexcept;

  /// Of the last step.
  [[nodiscard]] const ControllerReport& report() const noexcept { return report_; }
  [[nodiscard]] virtual ControllerView view() const noexcept = 0;
  /// What a controller that failed threw; empty: none did.
  [[nodiscard]] const std::string& fault() const noexcept { return fault_; }
  /// Coordinates u, v (and s) of an arm's sections, angles of a snake's joints [rad], [m].
  [[nodiscard]] virtual const Eigen::VectorXd& q() const noexcept = 0;

  /// Where the driver knows the robot: in the frame of a base that stands, else in the world.
  struct Places {
    Eigen::Isometry3d tip, target;
    std::optional<Eigen::Isometry3d> base;  ///< nothing: it stands
  };
  [[nodiscard]] virtual Places places() const noexcept = 0;
  /// Names of the joints of the robot's model.
  [[nodiscard]] virtual std::vector<std::string> joints() const = 0;
  /// Position and speed of each of them, as the last step has found them [rad], [m].
  virtual void joint_states(std::span<std::array<double, 2>> out) const noexcept = 0;

 protected:
  struct Input {
    double time;
    std::span<const double> readings;
    std::span<const bool> arrived;
    const Eigen::Isometry3d* target;
  };

  /// Throws ModelError for a robot file without a controller of the library, or with settings that
  /// it does not have.
  RobotDriver(const ControllerConfig& config, double timestep);
  /// To be called at the end of construction, when all else is there.
  void start(RobotPorts ports, int own_size);

  [[nodiscard]] const Settings& settings() const noexcept { return *settings_; }
  /// A robot knows nothing of its scene but where its target is.
  [[nodiscard]] SceneQuery& scene() noexcept;

  [[nodiscard]] virtual const Controller& controller() const noexcept = 0;
  /// Writes the robot's own memory of the start, and forgets the measurement.
  virtual void reset_own(std::span<double> own) noexcept = 0;
  /// Makes the measurement.
  virtual void see(const Input& input, std::span<const double> own,
                   std::span<double> next_own) noexcept = 0;
  /// Calls the controller, on whose entry the command sets nothing. Returns whether what it
  /// commands is finite. Passes on its exceptions.
  virtual bool update(std::span<const double> memory, std::span<double> next_memory,
                      ControllerReport& report) = 0;
  virtual void setpoints(std::span<double> next_own, std::span<double> commands) noexcept = 0;
  virtual void keep_own(std::span<const double> commands, std::span<double> own) noexcept = 0;

 private:
  class Scene;
  [[nodiscard]] std::span<double> of_controller(std::vector<double>& memory) const noexcept;
  [[nodiscard]] std::span<double> own(std::vector<double>& memory) const noexcept;

  const ControllerKind* kind_;
  double timestep_;
  std::vector<SettingInfo> rows_;
  std::optional<Settings> settings_;
  std::unique_ptr<Scene> scene_;
  std::string target_name_, fault_;
  RobotPorts ports_;
  std::vector<double> memory_, next_;  // of the controller, then the robot's own
  std::vector<double> own_values_;
  ControllerReport report_;
};

/// A driver with its controller C, and what that reads and sets.
template <class C>
class DriverOf : public RobotDriver {
 public:
  using Measurement = typename C::Measurement;
  using Command = typename C::Command;

  [[nodiscard]] ControllerView view() const noexcept final {
    return SeenAndSet<Measurement, Command>{&measurement_, &command_};
  }
  [[nodiscard]] const Measurement& seen() const noexcept { return measurement_; }
  [[nodiscard]] const Command& command() const noexcept { return command_; }
  [[nodiscard]] const Eigen::VectorXd& q() const noexcept final { return measurement_.q; }

 protected:
  DriverOf(const ControllerConfig& config, double timestep, const RobotSizes& sizes)
      : RobotDriver(config, timestep), measurement_(sizes), command_(sizes) {
    measurement_.timestep = timestep;
  }
  /// Takes the controller that a kind of controllers has made; null: it controls other robots.
  void take(std::unique_ptr<C> made) {
    controller_ = std::move(made);
    if (controller_ == nullptr) refuse_kind(C::Context::kKind);
  }
  [[nodiscard]] const Controller& controller() const noexcept final { return *controller_; }
  bool update(std::span<const double> memory, std::span<double> next_memory,
              ControllerReport& report) final {
    forget(command_, controller_->commands(), measurement_);
    controller_->update(measurement_, memory, next_memory, command_, report);
    return is_finite(command_);
  }

  std::unique_ptr<C> controller_;
  Measurement measurement_;
  Command command_;

 private:
  [[noreturn]] void refuse_kind(const std::string& robot) const {
    throw ModelError("robot: kind = " + robot + ": must be a kind of robot that " + kind().name +
                     " controls");
  }
};

/// The driver of a robot file. Throws ModelError, also for a controller that needs a scene or works
/// by contacts of which no sensor tells.
[[nodiscard]] std::unique_ptr<RobotDriver> make_driver(RobotDescription robot,
                                                       const ComputerOptions& options);

}  // namespace tendril
