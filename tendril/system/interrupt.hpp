#pragma once

#include <filesystem>

namespace tendril::system {

// An interrupt is Ctrl-C, SIGTERM or SIGHUP; on Windows, Ctrl-C, Ctrl-Break or the end of the
// console. Handlers are called in a signal handler; on Windows, in a thread of their own.

inline constexpr int kExitInterrupted = 130;

using Handler = void (*)();

/// Calls a function at interrupts, also at those that the program was started to ignore. Null: an
/// interrupt ends the program.
void on_interrupt(Handler handler) noexcept;

/// Calls a function after some seconds, once, instead of the one of an earlier call. Null: none.
/// May be called by a handler.
void call_later(unsigned seconds, Handler handler) noexcept;

/// Lets an interrupt remove this file and end the program with kExitInterrupted; an empty name: no
/// longer. Ignored interrupts remain ignored.
void remove_at_interrupt(const std::filesystem::path& file) noexcept;

}  // namespace tendril::system
