#include "apps/host/engine/engine_log.hpp"

#include <mujoco/mujoco.h>

#include <cstdio>
#include <cstdlib>
#include <mutex>

namespace tendril::host {
namespace {

constexpr std::size_t kMostWarnings = 100;
constexpr int kExitDiverged = 3;

thread_local std::jmp_buf* error_jump = nullptr;
thread_local char error_text[1024] = "";

std::mutex warnings_mutex;
std::vector<std::string>& warnings() {
  static std::vector<std::string> list;
  return list;
}

void on_message(const mjLogMessage* message) {
  if (message->level == mjLOG_WARNING) {
    std::string text = message->subject;
    if (message->body != nullptr && message->body[0] != '\0')
      text += std::string(": ") + message->body;
    const std::lock_guard lock(warnings_mutex);
    if (warnings().size() < kMostWarnings) warnings().push_back(std::move(text));
  } else if (message->level == mjLOG_ERROR) {
    std::snprintf(error_text, sizeof error_text, "%s", message->subject);
    if (error_jump != nullptr) std::longjmp(*error_jump, 1);
    std::fprintf(stderr, "tendril: MuJoCo: %s\n", error_text);
    std::_Exit(kExitDiverged);
  }
}

}  // namespace

void install_engine_log() { mju_setLogHandler(on_message); }

std::vector<std::string> take_engine_warnings() {
  const std::lock_guard lock(warnings_mutex);
  return std::exchange(warnings(), {});
}

namespace detail {

std::jmp_buf* exchange_error_jump(std::jmp_buf* jump) noexcept {
  return std::exchange(error_jump, jump);
}

const char* engine_error_text() noexcept {
  return error_text[0] != '\0' ? error_text : "unknown engine error";
}

}  // namespace detail
}  // namespace tendril::host
