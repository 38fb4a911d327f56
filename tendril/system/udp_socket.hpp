#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace tendril::system {

/// Exchanges datagrams with one address. Calls do not wait.
class UdpSocket {
 public:
  /// Throws std::runtime_error with the reason.
  UdpSocket(const std::string& host, const std::string& port);
  ~UdpSocket();
  UdpSocket(const UdpSocket&) = delete;
  UdpSocket& operator=(const UdpSocket&) = delete;

  /// Sends a datagram; false if the system does not take it whole.
  [[nodiscard]] bool send(std::span<const std::byte> bytes) noexcept;

  /// Receives a datagram.
  /// @return  its size, at most that of `bytes`; nothing if none has arrived
  [[nodiscard]] std::optional<std::size_t> receive(std::span<std::byte> bytes) noexcept;

 private:
  std::uintptr_t socket_;
};

}  // namespace tendril::system
