#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "controllers/settings.hpp"
#include "tendril/memory_layout.hpp"

// What controllers of all kinds of robots share. arm_controller.hpp, snake_controller.hpp and
// mobile_controller.hpp have the interface of each kind.

namespace tendril {

enum class ControllerStatus : std::uint8_t {
  Working = 0,
  Finished = 1,    ///< the task is done and held
  NotReached = 2,  ///< the inverse kinematics has no pose that meets the target; the nearest one is
                   ///< commanded
  Jammed = 3,      ///< the feed is stopped: tip error or feed force at its limit
  InvalidTarget = 4,  ///< the target is not finite; the last command is held
  Fault = 5,          ///< an internal error; nothing is commanded any more
  TargetBehind = 6,   ///< the path cannot continue to the target: it lies behind the head
  PathTooTight = 7,   ///< nor can it here: it would bend more than the body can
};

inline constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

/// What a controller reports about one step.
struct ControllerReport {
  ControllerStatus status = ControllerStatus::Working;
  int iterations = 0;  ///< of the inverse kinematics in this step
  /// Distance of the measured tip from where the task wants it now [m], angle of the measured tip
  /// from the desired direction or orientation [rad]; NaN: not known.
  double tip_error = kUnknown, angle_error = kUnknown;
  double progress = 0.0;  ///< of the task, 0..1
  /// Where the task wants the tip now [m]: base frame of an arm, world frame of a snake.
  Eigen::Vector3d target = Eigen::Vector3d::Zero();
  /// The controller's own quantities, in the order of its table; see `index_of`.
  std::span<double> own;
};

/// A quantity that a controller reports: one row of its table. Rows become sensors of the model,
/// columns of recordings, and rows of the documented table.
struct Quantity {
  const char* name;  ///< of the sensor, without the robot's prefix
  const char* unit;
  const char* meaning;
  /// Where a report has it; null: it is one of the controller's own, in ControllerReport::own.
  double (*read)(const ControllerReport& report) = nullptr;
  int width = 1;  ///< numbers; kPerCoordinate: one for each coordinate or joint of the robot
  const char* summary = "end";     ///< its statistics in the summary of a run: end max min mean rms
  bool smallest_is_worst = false;  ///< of several robots the smallest counts, else the largest
};
inline constexpr int kPerCoordinate = -1;

/// Quantities that a report has a field for. A controller's table lists those that it fills in.
namespace quantity {
inline constexpr Quantity kStatus{
    "status", "", "ControllerStatus as a number",
    [](const ControllerReport& r) { return static_cast<double>(r.status); }, 1, "max end"};
inline constexpr Quantity kIterations{
    "ik_iterations", "", "of the inverse kinematics in this step",
    [](const ControllerReport& r) { return static_cast<double>(r.iterations); }, 1, "max mean"};
inline constexpr Quantity kTipError{
    "tip_error", "m", "distance of the measured tip from where the task wants it now; NaN: unknown",
    [](const ControllerReport& r) { return r.tip_error; }, 1, "end max rms mean"};
inline constexpr Quantity kAngleError{
    "angle_error", "rad",
    "angle of the measured tip from the desired direction or orientation; 0: free; NaN: unknown",
    [](const ControllerReport& r) { return r.angle_error; }, 1, "end max rms mean"};
inline constexpr Quantity kProgress{
    "progress", "", "of the task, 0 to 1",
    [](const ControllerReport& r) { return r.progress; }, 1, "end", true};
}  // namespace quantity

/// Index in ControllerReport::own of the row `name` of a table; the table must have it:
/// `report.own[index_of(kQuantities, "contacts_made")] = 2`.
consteval std::size_t index_of(std::span<const Quantity> table, std::string_view name) {
  std::size_t index = 0;
  for (const Quantity& row : table) {
    if (row.read != nullptr) continue;
    if (row.name == name) return index;
    ++index;
  }
  throw "the table has no such row";  // an error of the compiler
}

/// The quantities of controllers of which one is chosen by a setting: each has its own quantities in
/// the same places as all. Throws std::logic_error if they are not.
[[nodiscard]] std::vector<Quantity> joined_quantities(
    std::initializer_list<std::span<const Quantity>> tables);

/// One of a controller's own quantities, found in its table by the compiler:
/// `double& own(ControllerReport& report, Own<kQuantities> quantity)`, `own(report, "goals") = 2`.
template <const auto& table>
struct Own {
  consteval Own(const char* name) : index(index_of(table, name)) {}  // NOLINT: from a name
  std::size_t index;
};

/// Base of all controllers: the memory between steps.
///
/// All memory is a flat array of doubles that the caller owns (in the plugin: MuJoCo's
/// `plugin_state`), so that saving and restoring the simulation restores the controller. A
/// controller lays it out in its constructor (`memory_`); slots read and write it. `update` is a
/// function of its arguments: it may be called several times for one step, and members that it uses
/// as scratch must not carry anything over. It is called in the step loop: no throw, no allocation,
/// no lock, no print, no clock. Should it throw after all, command what is not finite, or get memory
/// that is not of its layout, then the robot's servos hold their last setpoints and the status is
/// `Fault`. (An exception that leaves a function declared noexcept ends the program.)
class Controller {
 public:
  virtual ~Controller() = default;

  [[nodiscard]] const MemoryLayout& memory_layout() const noexcept { return memory_; }
  [[nodiscard]] int memory_size() const noexcept { return memory_.size(); }
  /// Fills the memory with its start values.
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
