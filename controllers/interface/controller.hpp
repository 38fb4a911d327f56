#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "controllers/interface/controller_status.hpp"
#include "controllers/interface/settings.hpp"
#include "tendril/memory_layout.hpp"

// The common parts of controllers of all kinds of robots. arm_controller.hpp, snake_controller.hpp
// and mobile_controller.hpp declare the interface of each kind.

namespace tendril {

/// Kind of commands of a controller.
enum class CommandKind : std::uint8_t {
  Setpoints,  ///< coordinates or joint angles, which servos hold; tendons and chambers too
  Moments,    ///< moments and forces on the coordinates of an arm; torques of a snake's joints
  Tensions,   ///< of every tendon and chamber of an arm
};

inline constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

/// Where the tip and the target body of a measurement are, in the frame of
/// `ControllerReport::target`.
struct TipAndTarget {
  Eigen::Vector3d tip, target;  ///< [m]
  double
      angle;  ///< between their directions or orientations [rad]; NaN: the kind of robot has none
  bool has_target;
};

/// Report of a controller about one step.
struct ControllerReport {
  ControllerStatus status = ControllerStatus::Working;
  int iterations = 0;  ///< of the inverse kinematics in this step
  /// Distance of the measured tip from its desired position now [m]; angle between the measured tip
  /// and the desired direction or orientation [rad]. NaN: unknown.
  double tip_error = kUnknown, angle_error = kUnknown;
  double progress = 0.0;  ///< of the task, 0..1
  /// The command has the tip where it is desired now: the rest of tip_error is the body's.
  bool arrived = false;
  /// Distance of the measured tip from where the plan has it now, over the length of the body that
  /// bends: an error of the body's angles that no contact excuses [rad]; NaN: unknown.
  double deviation = kUnknown;
  /// Distance of the body from its path over the largest one that its task allows; above 1 it does
  /// not follow. NaN: unknown.
  double path_excess = kUnknown;
  /// Desired tip position now [m]: base frame for an arm, world frame for the others. Zero: none.
  Eigen::Vector3d target = Eigen::Vector3d::Zero();
  /// What a controller from outside the library reported as tip_error and angle_error, in the place
  /// of which the plugin has put what it measured (ArrivalWatch); set by the plugin.
  double reported_tip_error = kUnknown, reported_angle_error = kUnknown;
  /// The controller's own quantities, in the order of its table; see `index_of`.
  std::span<double> own;
};

/// A quantity that a controller reports: one row of its table. Rows become sensors of the model,
/// columns of recordings, and rows of the documented table.
struct Quantity {
  const char* name;  ///< of the sensor, without the robot's prefix
  const char* unit;
  const char* meaning;
  int width = 1;  ///< of the vector; kPerCoordinate: one entry per coordinate or joint of the robot
  const char* summary = "end";     ///< its statistics in the summary of a run: end max min mean rms
  bool smallest_is_worst = false;  ///< over several robots the smallest is shown, else the largest
  /// Field of the report; Own: it is in ControllerReport::own.
  enum class Field {
    Own,
    Status,
    Iterations,
    TipError,
    AngleError,
    Progress,
    ReportedTipError,
    ReportedAngleError
  };
  Field field = Field::Own;

  [[nodiscard]] constexpr bool is_own() const noexcept { return field == Field::Own; }
  /// Value of a quantity that is not the controller's own.
  [[nodiscard]] double of(const ControllerReport& report) const noexcept;
};
inline constexpr int kPerCoordinate = -1;

/// Quantities for which a report has a field. A controller's table lists those that it fills in.
namespace quantity {
inline constexpr Quantity kStatus{.name = "status",
                                  .unit = "",
                                  .meaning = "ControllerStatus as a number",
                                  .summary = "max end",
                                  .field = Quantity::Field::Status};
inline constexpr Quantity kIterations{.name = "ik_iterations",
                                      .unit = "",
                                      .meaning = "of the inverse kinematics in this step",
                                      .summary = "max mean",
                                      .field = Quantity::Field::Iterations};
inline constexpr Quantity kTipError{
    .name = "tip_error",
    .unit = "m",
    .meaning = "distance of the measured tip from its desired position now; NaN: unknown",
    .summary = "end max rms mean",
    .field = Quantity::Field::TipError};
inline constexpr Quantity kAngleError{
    .name = "angle_error",
    .unit = "rad",
    .meaning =
        "angle between measured and desired direction or orientation; 0: not prescribed; "
        "NaN: unknown",
    .summary = "end max rms mean",
    .field = Quantity::Field::AngleError};
inline constexpr Quantity kProgress{.name = "progress",
                                    .unit = "",
                                    .meaning = "of the task, 0 to 1",
                                    .smallest_is_worst = true,
                                    .field = Quantity::Field::Progress};
inline constexpr Quantity kReportedTipError{
    .name = "reported_tip_error",
    .unit = "m",
    .meaning = "`tip_error` as reported by a controller from outside the library",
    .field = Quantity::Field::ReportedTipError};
inline constexpr Quantity kReportedAngleError{
    .name = "reported_angle_error",
    .unit = "rad",
    .meaning = "`angle_error` as reported by a controller from outside the library",
    .field = Quantity::Field::ReportedAngleError};
}  // namespace quantity

/// Index in ControllerReport::own of the row `name` of a table; the table must have it:
/// `report.own[index_of(kQuantities, "contacts_made")] = 2`.
consteval std::size_t index_of(std::span<const Quantity> table, std::string_view name) {
  std::size_t index = 0;
  for (const Quantity& row : table) {
    if (!row.is_own()) continue;
    if (row.name == name) return index;
    ++index;
  }
  throw "the table has no such row";  // a compile-time error
}

/// The union of the quantities of several controllers, one of which is selected by a setting. Own
/// quantities must have the same index in every table; throws std::logic_error otherwise.
[[nodiscard]] std::vector<Quantity> joined_quantities(
    std::initializer_list<std::span<const Quantity>> tables);

/// Access to a controller's own quantities, looked up in its table at compile time:
/// `constexpr OwnQuantities<kQuantities> own;`, `own(report, "goals") = 2`.
template <const auto& table>
struct OwnQuantities {
  struct Name {
    consteval Name(const char* name) : index(index_of(table, name)) {}  // NOLINT: from a name
    std::size_t index;
  };
  [[nodiscard]] double& operator()(ControllerReport& report, Name name) const noexcept {
    return report.own[name.index];
  }
};

/// Base of all controllers: the memory between steps.
///
/// All memory is a flat array of doubles that the caller owns (in the plugin: MuJoCo's
/// `plugin_state`), so that saving and restoring the simulation restores the controller. A
/// controller defines the layout in its constructor (`memory_`); slots read and write it. `update`
/// is a pure function of its arguments: it may be called several times for one step, and members
/// used as scratch must not carry state from call to call. It is called in the simulation step and
/// must not throw, allocate, lock, print or read the clock. If it throws nevertheless, commands
/// values that are not finite, or gets memory that does not match its layout, the robot's servos
/// hold their last setpoints and the status is `Fault`. (An exception that leaves a function
/// declared noexcept terminates the program.)
class Controller {
 public:
  virtual ~Controller() = default;

  [[nodiscard]] const MemoryLayout& memory_layout() const noexcept { return memory_; }
  [[nodiscard]] int memory_size() const noexcept { return memory_.size(); }
  /// Sets the memory to its initial values.
  virtual void reset(std::span<double> memory) const noexcept { memory_.reset(memory); }

 protected:
  Controller() = default;
  Controller(const Controller&) = default;
  Controller(Controller&&) = default;
  Controller& operator=(const Controller&) = default;
  Controller& operator=(Controller&&) = default;

  MemoryLayout memory_;
};

}  // namespace tendril
