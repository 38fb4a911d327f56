#pragma once

// Controllers in Python: what an update sees, and their registration as plugins of MuJoCo.

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "controllers/interface/arm_controller.hpp"
#include "controllers/interface/mobile_controller.hpp"
#include "controllers/interface/snake_controller.hpp"
#include "python/src/arrays.hpp"

namespace tendril::python {

/// Numbers at a fixed place, and the NumPy array that shows them. The numbers live as long as the
/// array.
class FixedArray {
 public:
  enum class Access { Read, Write };
  FixedArray(const Shape& shape, Access access);

  [[nodiscard]] double* data() const noexcept { return numbers_; }
  [[nodiscard]] std::span<double> numbers() const noexcept { return {numbers_, size_}; }
  [[nodiscard]] const nb::object& array() const noexcept { return array_; }
  /// Copies a vector, a matrix by rows, or a pose.
  template <class M>
  void operator=(const Eigen::MatrixBase<M>& matrix) const noexcept {
    using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    Eigen::Map<RowMajor>(numbers_, matrix.rows(), matrix.cols()) = matrix;
  }
  void operator=(const Eigen::Isometry3d& X) const noexcept { write_pose(X, numbers_); }
  void operator=(const PlatformPose& pose) const noexcept {
    numbers_[0] = pose.x;
    numbers_[1] = pose.y;
    numbers_[2] = pose.heading;
  }
  [[nodiscard]] Eigen::Map<const Eigen::VectorXd> vector() const noexcept {
    return {numbers_, static_cast<Eigen::Index>(size_)};
  }

 private:
  double* numbers_;
  std::size_t size_;
  nb::object array_;
};

/// What a measurement has beyond the state of the robot.
struct Senses {
  bool contacts = false;
  const Obstacles* obstacles = nullptr;  ///< to be copied; null: none
  int tendons = 0;                       ///< and chambers
};

struct PyArmMeasurement {
  PyArmMeasurement(int n, const Senses& senses);
  void set(const ArmMeasurement& from);

  double time = 0.0, timestep = 0.0, feed = 0.0, spin = 0.0, feed_force = 0.0;
  bool has_target = false, senses_contacts;
  FixedArray q, q_rate, moment, gravity_moment, tendon_length, tendon_tension, tip, target,
      tip_jacobian, gravity_deflection, tip_response;
  std::vector<MeasuredContact> contacts;
  std::optional<Obstacles> obstacles;
};
struct PyArmCommand {
  PyArmCommand(int n, const Senses& senses);
  void set(const ArmCommand& from);
  void get(ArmCommand& to) const noexcept;

  FixedArray q, q_rate, moment, tension, plan;
  bool has_plan = true;
  double feed = 0.0, spin = 0.0, feed_rate = 0.0;
};

struct PySnakeMeasurement {
  PySnakeMeasurement(int n, const Senses& senses);
  void set(const SnakeMeasurement& from);

  double time = 0.0, timestep = 0.0, feed = 0.0, upright = 0.0;
  bool has_target = false;
  FixedArray q, q_rate, torque, gravity_torque, tail, tip, center_of_mass, target;
};
struct PySnakeCommand {
  PySnakeCommand(int n, const Senses& senses);
  void set(const SnakeCommand& from);
  void get(SnakeCommand& to) const noexcept;

  FixedArray q, q_rate, torque;
  double feed = 0.0, feed_rate = 0.0, gravity_factor = 0.0;
};

struct PyMobileMeasurement {
  PyMobileMeasurement(int n, const Senses& senses);
  void set(const MobileMeasurement& from);

  double time = 0.0, timestep = 0.0;
  bool has_target = false;
  FixedArray base, base_velocity, q, q_velocity, gravity_torque, tip, target;
  std::optional<Obstacles> obstacles;
};
struct PyMobileCommand {
  PyMobileCommand(int n, const Senses& senses);
  void set(const MobileCommand& from);
  void get(MobileCommand& to) const noexcept;

  FixedArray base, base_rate, q, q_rate, torque;
};

struct PyControllerReport {
  explicit PyControllerReport(std::vector<std::string> own_names);
  /// To the defaults.
  void clear();
  void get(ControllerReport& to) const noexcept;
  /// Place of an own quantity. Throws nb::key_error.
  [[nodiscard]] double& own(const std::string& name);

  ControllerReport report;
  FixedArray target;
  std::vector<std::string> own_names;
  std::vector<double> own_values;
};

/// What a controller is made with, whatever its robot.
struct PyContext {
  nb::object robot, settings;
  double timestep = 0.0;
};
struct PyArmContext : PyContext {
  double feed_force_limit, guide_length, guide_clearance, body_radius, bending_stiffness;
  std::optional<Obstacles> obstacles;
  int moving_obstacles;
  std::vector<BodySpring> springs;
  int tendon_count;
};
struct PySnakeContext : PyContext {
  double radius, feed_limit;
  bool is_free;
};
struct PyMobileContext : PyContext {
  MobileSpeedLimits limits;
  std::optional<Obstacles> obstacles;
  std::vector<BodyCapsule> capsules;
};
struct PyPlatformContext : PyContext {
  MobileSpeedLimits limits;
  double platform_length, platform_width, platform_height, arm_radius;
  std::optional<Obstacles> obstacles;
};

/// Moves obstacles to where others are. Precondition: the same shapes in the same order.
void follow(const Obstacles& from, Obstacles& to) noexcept;
void bind_obstacles(nb::module_& module);

/// The classes above.
void bind_controller_views(nb::module_& module);
/// `register_controller`, from which tendril/controllers.py makes `tendril.controller`.
void bind_controllers(nb::module_& module);

}  // namespace tendril::python
