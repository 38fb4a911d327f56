#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "links/dynamixel/servos.hpp"

namespace tendril::dynamixel {

/// Winds tendons up until each has a given tension, and finds where their servos are then. A slack
/// tendon is wound up steadily. One with tension goes in steps by the secant of what its last steps
/// changed, and is judged where it stands still: gears that turn have their friction in the
/// current. Tested by: dynamixel_test, dynamixel_drive_test.
class Winding {
 public:
  static constexpr double kSpeed = 0.004;       ///< of a slack tendon [m/s]
  static constexpr double kLargestStep = 2e-4;  ///< of one with tension [m]
  static constexpr double kTolerance = 0.05;    ///< of the tension
  static constexpr double kRest = 0.5;          ///< so long all tensions are to stay [s]
  static constexpr double kMostWound = 0.05;    ///< [m]
  static constexpr double kLongest = 60.0;      ///< [s]

  /// @param tensions  positive, one for each servo [N]
  /// @param timestep  of the steps [s]
  Winding(std::vector<double> tensions, double timestep);

  /// Makes a step: from readings to commands. Readings that are not new count as they were.
  void step(std::span<const ServoReading> readings, std::span<double> commands) noexcept;
  /// Whether all tensions have come and stayed.
  [[nodiscard]] bool is_done() const noexcept { return rest_ >= kRest; }
  /// A tendon that does not come to its tension: wound up too far, or for too long.
  [[nodiscard]] std::optional<std::size_t> loose() const noexcept { return loose_; }
  /// Where the tendons have been since the last one came to its tension, mean, in the unit of the
  /// readings.
  [[nodiscard]] std::vector<double> values() const;

 private:
  struct Point {
    double value, force;  // [m], [N]
  };
  struct Tendon {
    double tension;  // [N]
    double begin = 0.0, command = 0.0, last = 0.0, sum = 0.0;
    double stood = 0.0;               // for so long it has not moved [s]
    std::optional<Point> point = {};  // before the last step of the command
    double stiffness = 0.0;           // by the last two; 0: unknown [N/m]
  };
  /// Moves the command of a tendon. Returns whether it stands at its tension.
  [[nodiscard]] bool move(Tendon& tendon, const ServoReading& reading) const noexcept;

  std::vector<Tendon> tendons_;
  double timestep_, time_ = 0.0, rest_ = 0.0;
  long rested_ = 0;  // steps
  bool has_begun_ = false;
  std::optional<std::size_t> loose_;
};

}  // namespace tendril::dynamixel
