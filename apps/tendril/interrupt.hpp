#pragma once

#include <atomic>

namespace tendril {

inline constexpr int kExitInterrupted = 130;

/// While it lives, Ctrl-C, SIGTERM and SIGHUP ask the command to stop instead of ending the
/// program. One at a time.
class InterruptRequest {
 public:
  InterruptRequest();
  ~InterruptRequest();
  InterruptRequest(const InterruptRequest&) = delete;
  InterruptRequest& operator=(const InterruptRequest&) = delete;

  /// Tells whether one of the signals has come, since the start of the program.
  [[nodiscard]] static const std::atomic<bool>& flag() noexcept;
  [[nodiscard]] static bool is_set() noexcept { return flag().load(); }
};

}  // namespace tendril
