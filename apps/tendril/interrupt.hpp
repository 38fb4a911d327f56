#pragma once

#include <atomic>

#include "tendril/system/interrupt.hpp"

namespace tendril {

using system::kExitInterrupted;

/// While it lives, Ctrl-C, SIGTERM and SIGHUP ask the command to stop instead of ending the
/// program. One at a time.
class InterruptRequest {
 public:
  InterruptRequest();
  ~InterruptRequest();
  InterruptRequest(const InterruptRequest&) = delete;
  InterruptRequest& operator=(const InterruptRequest&) = delete;

  /// Calls a function, in a signal handler, when a command has not stopped one second after a
  /// signal: code that the command calls does not come back.
  static void when_ignored(system::Handler stop) noexcept;

  /// Tells whether one of the signals has come, since the start of the program.
  [[nodiscard]] static const std::atomic<bool>& flag() noexcept;
  [[nodiscard]] static bool is_set() noexcept { return flag().load(); }
  /// Forgets them: the command has done what they asked for.
  static void clear() noexcept;
};

}  // namespace tendril
