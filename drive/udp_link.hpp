#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "drive/robot_link.hpp"
#include "drive/robot_ports.hpp"
#include "tendril/system/udp_socket.hpp"

namespace tendril {

/// Messages of a robot and commands to it as UDP datagrams, docs/reference/udp_link.md. A datagram
/// that is damaged, of another robot, or older than one that came before it is counted and dropped.
/// `send` and `receive` wait for nothing and allocate nothing. Tested by: udp_link_test.
class UdpLink final : public RobotLink {
 public:
  /// Opens a socket that talks to the robot's. Throws ModelError naming an address that cannot be
  /// reached.
  /// @param address  "192.168.0.7:7400", "localhost:7400", "[::1]:7400"
  UdpLink(const std::string& address, const RobotPorts& ports);

  bool send(Order order, double time, std::span<const double> commands) noexcept override;
  bool receive(std::span<double> message) noexcept override;
  [[nodiscard]] std::string summary() const override;
  [[nodiscard]] std::string problem() const override;

  struct Counts {
    long received = 0, sent = 0;
    long damaged = 0;    ///< of a wrong size, or whose checksum is not theirs
    long strange = 0;    ///< of a robot with other readings or actuators
    long overtaken = 0;  ///< by a newer one
    long missing = 0;    ///< numbers of messages that were skipped
  };
  [[nodiscard]] const Counts& counts() const noexcept { return counts_; }

  /// Checksum of the names and sizes of readings and of the names of actuators: both sides must
  /// have the same.
  [[nodiscard]] static std::uint32_t signature(const RobotPorts& ports);

 private:
  std::string address_;
  system::UdpSocket socket_;
  std::uint32_t signature_;
  std::uint64_t sent_ = 0, newest_ = 0;
  std::size_t numbers_;
  Counts counts_;
  std::vector<std::byte> out_, in_;
};

}  // namespace tendril
