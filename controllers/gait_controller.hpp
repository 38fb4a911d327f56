#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "controllers/snake_controller.hpp"
#include "tendril/snake/gait.hpp"

namespace tendril {

/// A free snake moves by gaits: as told, by a schedule, from goal to goal, or up and down a pole.
///
/// Every change, the start from the measured pose included, fades from one gait to the next while
/// both run on one phase. Goals are steered to with the centre of mass and the heading (tail to
/// head), both averaged over a period of the gait: the body swings too much for anything else.
/// Sidewinding moves to the side; when the goal is on the other one, the side is changed rather
/// than the body rotated. Source: docs/derivations-snake-gaits.md. Held by: gait_controller_test,
/// scenes/snake_*.
class GaitController final : public SnakeController {
 public:
  [[nodiscard]] static std::span<const SettingInfo> settings();

  /// Throws ModelError naming the setting.
  explicit GaitController(const SnakeContext& context);

  [[nodiscard]] int memory_size() const noexcept override;
  void reset(std::span<double> memory) const noexcept override;
  void update(const SnakeMeasurement& measurement, std::span<const double> memory,
              std::span<double> next_memory, SnakeCommand& command,
              SnakeReport& report) noexcept override;

 private:
  struct Stage {
    double time;  ///< begins [s]
    Gait gait;
  };
  /// What the body does now, averaged over the last period.
  struct Motion {
    double heading = 0.0;  ///< [rad]
    double speed = 0.0;    ///< [m/s]
  };

  [[nodiscard]] Gait read_gait(const Settings& settings, GaitKind kind) const;
  void read_schedule(const Settings& settings);
  void read_goals(const Settings& settings);
  void read_pole(const SnakeContext& context);
  void begin(const SnakeMeasurement& measurement, std::span<double> next) const noexcept;
  void fade(std::span<double> next, double time) const noexcept;
  [[nodiscard]] Motion average(const SnakeMeasurement& measurement,
                               std::span<double> next) const noexcept;
  /// Both return the factor of the gait's frequency.
  double steer(const SnakeMeasurement& measurement, const Motion& motion, std::span<double> next,
               SnakeReport& report) const noexcept;
  double climb(std::span<double> next, double time, SnakeReport& report) const noexcept;
  double keep_speed(const Motion& motion, std::span<double> next, double h) const noexcept;

  int joints_;
  double joint_limit_;
  std::vector<Stage> stages_;  ///< one at least; the first begins at 0
  double fade_time_, ramp_time_;
  double steering_, speed_;
  std::vector<Eigen::Vector2d> goals_;
  bool follows_target_;
  double goal_tolerance_;
  std::vector<double> heights_;
  double hold_time_;

  std::vector<double> from_, to_;  // scratch: angles of the two gaits
};

}  // namespace tendril
