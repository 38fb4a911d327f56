#include "tendril/system/udp_socket.hpp"

#include <fcntl.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace tendril::system {
namespace {

constexpr int kMostErrors = 1000;  // of earlier datagrams, in one call

/// A socket that does not wait; -1: errno.
int make_socket(const addrinfo& address) {
#if defined(__APPLE__)
  const int made = socket(address.ai_family, address.ai_socktype, address.ai_protocol);
  const int on = 1;
  if (made >= 0 &&
      (fcntl(made, F_SETFL, O_NONBLOCK) != 0 || fcntl(made, F_SETFD, FD_CLOEXEC) != 0 ||
       setsockopt(made, SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof on) != 0)) {
    close(made);
    return -1;
  }
  return made;
#else
  return socket(address.ai_family, address.ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC,
                address.ai_protocol);
#endif
}

}  // namespace

UdpSocket::UdpSocket(const std::string& host, const std::string& port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (const int error = getaddrinfo(host.c_str(), port.c_str(), &hints, &found); error != 0)
    throw std::runtime_error(gai_strerror(error));
  int result = -1, last = 0;
  for (const addrinfo* a = found; a != nullptr && result < 0; a = a->ai_next) {
    const int made = make_socket(*a);
    if (made >= 0 && connect(made, a->ai_addr, a->ai_addrlen) == 0) {
      result = made;
      break;
    }
    last = errno;
    if (made >= 0) close(made);
  }
  freeaddrinfo(found);
  if (result < 0) throw std::runtime_error(std::strerror(last));
  socket_ = static_cast<std::uintptr_t>(result);
}

UdpSocket::~UdpSocket() { close(static_cast<int>(socket_)); }

bool UdpSocket::send(std::span<const std::byte> bytes) noexcept {
#if defined(__APPLE__)
  constexpr int kFlags = 0;
#else
  constexpr int kFlags = MSG_NOSIGNAL;
#endif
  return ::send(static_cast<int>(socket_), bytes.data(), bytes.size(), kFlags) ==
         static_cast<ssize_t>(bytes.size());
}

std::optional<std::size_t> UdpSocket::receive(std::span<std::byte> bytes) noexcept {
  for (int errors = 0; errors < kMostErrors; ++errors) {
    const ssize_t size = recv(static_cast<int>(socket_), bytes.data(), bytes.size(), 0);
    if (size >= 0) return static_cast<std::size_t>(size);
    if (errno != EINTR && errno != ECONNREFUSED) break;
  }
  return std::nullopt;
}

}  // namespace tendril::system
