#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "drive/robot_link.hpp"
#include "drive/robot_ports.hpp"

namespace tendril {

/// Several links to one robot: the first one has its actuators, the others tell what else is
/// measured, such as a tracker's program. A sensor's reading is the newest of any of them. While
/// the first is silent nothing comes; of the others that only their sensors miss.
/// Tested by: combined_link_test.
class CombinedLink final : public RobotLink {
 public:
  struct Part {
    std::string name;  ///< in messages
    std::unique_ptr<RobotLink> link;
  };
  /// @param parts  at least one
  CombinedLink(const RobotPorts& ports, std::vector<Part> parts);

  /// Sends it to all. Returns whether it is on its way to the first.
  bool send(Order order, double time, std::span<const double> commands) noexcept override;
  bool receive(std::span<double> message) noexcept override;
  [[nodiscard]] std::string summary() const override;
  [[nodiscard]] std::string problem() const override;
  [[nodiscard]] bool has_failed() const noexcept override;
  void begin() override;
  void finish() override;

 private:
  struct Source {
    Part part;
    std::vector<double> message;
    std::vector<double> counts;  ///< of each sensor, as it was
    bool is_heard = false;
  };
  void take(Source& source, bool has_actuators) noexcept;

  std::vector<Source> sources_;
  std::vector<std::size_t> widths_;                           ///< of the reading of each sensor
  std::size_t sensor_numbers_ = 0, counts_ = 0, target_ = 0;  ///< ends of parts of a message
  std::vector<double> merged_;
};

}  // namespace tendril
