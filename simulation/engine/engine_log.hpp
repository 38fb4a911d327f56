#pragma once

#include <csetjmp>
#include <string>
#include <utility>
#include <vector>

#include "tendril/standard_arithmetic.hpp"

namespace tendril::simulation {

/// Redirects the engine's messages of this thread while it lives: they are neither printed nor
/// written to MUJOCO_LOG.TXT. Warnings are kept for `take_engine_warnings`. A fatal error inside
/// `guarded` is returned as text; one outside prints one line and ends the process with exit
/// code 3. What comes from other threads goes to the handler that was there before.
class EngineLog {
 public:
  EngineLog();
  ~EngineLog();
  EngineLog(const EngineLog&) = delete;
  EngineLog& operator=(const EngineLog&) = delete;
};

/// Redirects those of all threads, from now on: for programs that nobody shares. Nothing within an
/// EngineLog of this thread.
void install_engine_log();

/// Returns the warnings since the last call, at most 100; of this thread within an EngineLog, else
/// of those outside.
[[nodiscard]] std::vector<std::string> take_engine_warnings();

namespace detail {
/// Sets the jump target for a fatal engine error of this thread; null: none. Returns the previous
/// one.
std::jmp_buf* exchange_error_jump(std::jmp_buf* jump) noexcept;
/// Text of the last fatal error of this thread.
[[nodiscard]] const char* engine_error_text() noexcept;
}  // namespace detail

/// Calls the engine with standard arithmetic; returns the text of its fatal error, empty if there
/// was none. `call` must consist of plain engine calls: a fatal error leaves it by longjmp, without
/// running destructors.
template <class Call>
[[nodiscard]] std::string guarded(Call&& call) {
  const StandardArithmetic standard;
  std::jmp_buf jump;
  std::jmp_buf* const before = detail::exchange_error_jump(&jump);
  if (setjmp(jump) != 0) {
    detail::exchange_error_jump(before);
    return detail::engine_error_text();
  }
  std::forward<Call>(call)();
  detail::exchange_error_jump(before);
  return {};
}

}  // namespace tendril::simulation
