#include "tendril/system/serial_port.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <system_error>
#include <utility>

namespace tendril::system {
namespace {

constexpr std::pair<int, speed_t> kSpeeds[] = {
    {9600, B9600},       {57600, B57600},     {115200, B115200},  {1000000, B1000000},
    {2000000, B2000000}, {3000000, B3000000}, {4000000, B4000000}};

speed_t speed_of(int baud) {
  const auto* const found = std::find_if(std::begin(kSpeeds), std::end(kSpeeds),
                                         [&](const auto& row) { return row.first == baud; });
  assert(found != std::end(kSpeeds));
  return found->second;
}

bool set_raw(int file, speed_t speed) {
  termios settings{};
  if (tcgetattr(file, &settings) != 0) return false;
  cfmakeraw(&settings);
  settings.c_cflag |= CLOCAL | CREAD;
  return cfsetispeed(&settings, speed) == 0 && cfsetospeed(&settings, speed) == 0 &&
         tcsetattr(file, TCSANOW, &settings) == 0;
}

/// The result of `read` or `write` where nothing can be transferred at present is 0.
std::ptrdiff_t transferred(ssize_t count) {
  if (count > 0) return count;
  return count < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -1;
}

}  // namespace

SerialPort::SerialPort(const std::string& port, int baud)
    : file_(open(port.c_str(), O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)) {
  if (!file_.is_open() || !set_raw(file_.get(), speed_of(baud)))
    throw std::system_error(errno, std::generic_category(), port);
  ioctl(file_.get(), TIOCEXCL);
}

bool SerialPort::wait(Direction direction, Clock::time_point until) const noexcept {
  const auto left = std::max(until - Clock::now(), Clock::duration::zero());
  const auto seconds = std::chrono::floor<std::chrono::seconds>(left);
  const timespec time{.tv_sec = seconds.count(),
                      .tv_nsec = std::chrono::nanoseconds(left - seconds).count()};
  const short events = direction == Direction::In ? POLLIN : POLLOUT;
  pollfd request{.fd = file_.get(), .events = events, .revents = 0};
  return ppoll(&request, 1, &time, nullptr) > 0;
}

std::ptrdiff_t SerialPort::read(std::span<std::uint8_t> bytes) const noexcept {
  return transferred(::read(file_.get(), bytes.data(), bytes.size()));
}

std::ptrdiff_t SerialPort::write(std::span<const std::uint8_t> bytes) const noexcept {
  return transferred(::write(file_.get(), bytes.data(), bytes.size()));
}

void SerialPort::drop_input() const noexcept { tcflush(file_.get(), TCIFLUSH); }

}  // namespace tendril::system
