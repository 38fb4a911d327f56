#include "tendril/system/udp_socket.hpp"

#define WIN32_LEAN_AND_MEAN
#if !defined(NOMINMAX)
#define NOMINMAX
#endif
#include <winsock2.h>
#include <ws2tcpip.h>

#include <stdexcept>
#include <system_error>

namespace tendril::system {
namespace {

constexpr int kMostErrors = 1000;  // of earlier datagrams, in one call

std::string reason(int error) { return std::system_category().message(error); }

/// The library of sockets, for the rest of the process.
void start_sockets() {
  static const int error = [] {
    WSADATA ignored{};
    return WSAStartup(MAKEWORD(2, 2), &ignored);
  }();
  if (error != 0) throw std::runtime_error(reason(error));
}

}  // namespace

UdpSocket::UdpSocket(const std::string& host, const std::string& port) {
  start_sockets();
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (const int error = getaddrinfo(host.c_str(), port.c_str(), &hints, &found); error != 0)
    throw std::runtime_error(reason(error));
  SOCKET result = INVALID_SOCKET;
  int last = 0;
  for (const addrinfo* a = found; a != nullptr && result == INVALID_SOCKET; a = a->ai_next) {
    const SOCKET made = socket(a->ai_family, a->ai_socktype, a->ai_protocol);
    u_long on = 1;
    if (made != INVALID_SOCKET && ioctlsocket(made, static_cast<long>(FIONBIO), &on) == 0 &&
        connect(made, a->ai_addr, static_cast<int>(a->ai_addrlen)) == 0) {
      result = made;
      break;
    }
    last = WSAGetLastError();
    if (made != INVALID_SOCKET) closesocket(made);
  }
  freeaddrinfo(found);
  if (result == INVALID_SOCKET) throw std::runtime_error(reason(last));
  socket_ = result;
}

UdpSocket::~UdpSocket() { closesocket(socket_); }

bool UdpSocket::send(std::span<const std::byte> bytes) noexcept {
  const auto size = static_cast<int>(bytes.size());
  return ::send(socket_, reinterpret_cast<const char*>(bytes.data()), size, 0) == size;
}

std::optional<std::size_t> UdpSocket::receive(std::span<std::byte> bytes) noexcept {
  for (int errors = 0; errors < kMostErrors; ++errors) {
    const int size =
        recv(socket_, reinterpret_cast<char*>(bytes.data()), static_cast<int>(bytes.size()), 0);
    if (size >= 0) return static_cast<std::size_t>(size);
    const int error = WSAGetLastError();
    if (error == WSAEMSGSIZE) return bytes.size();  // a longer one: its end is lost
    if (error != WSAEINTR && error != WSAECONNRESET) break;
  }
  return std::nullopt;
}

}  // namespace tendril::system
