#include "simulation/engine/engine_log.hpp"

#include <mujoco/mujoco.h>

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string_view>

#include "tendril/visible_text.hpp"

namespace tendril::simulation {
namespace {

constexpr std::size_t kMaxWarnings = 100;
constexpr int kExitDiverged = 3;

thread_local std::jmp_buf* error_jump = nullptr;
thread_local char error_text[4096] = "";

std::mutex mutex;
std::vector<std::string> shared_warnings;  // of threads outside an EngineLog
bool takes_all = false;                    // install_engine_log
int listeners = 0;                         // lives of EngineLog
mjfLogHandler before = nullptr;            // ours

thread_local int depth = 0;
thread_local std::vector<std::string> own_warnings;

void keep(std::vector<std::string>& warnings, const mjLogMessage& message) {
  if (warnings.size() >= kMaxWarnings) return;
  std::string text = message.subject;
  if (message.body != nullptr && message.body[0] != '\0') text += std::string(": ") + message.body;
  warnings.push_back(std::move(text));
}

void on_message(const mjLogMessage* message) {
  if (depth == 0) {
    std::unique_lock lock(mutex);
    if (!takes_all) {
      const mjfLogHandler next = before;
      lock.unlock();
      if (next != nullptr) next(message);
      return;
    }
    if (message->level == mjLOG_WARNING) keep(shared_warnings, *message);
  } else if (message->level == mjLOG_WARNING) {
    keep(own_warnings, *message);
  }
  if (message->level == mjLOG_ERROR) {
    const bool more = message->body != nullptr && message->body[0] != '\0';
    std::snprintf(error_text, sizeof error_text, "%s%s%s", message->subject, more ? "\n" : "",
                  more ? message->body : "");
    if (error_jump != nullptr) std::longjmp(*error_jump, 1);
    std::fputs("tendril: MuJoCo: ", stderr);
    write_visible(error_text,
                  [](std::string_view part) { std::fwrite(part.data(), 1, part.size(), stderr); });
    std::fputc('\n', stderr);
    std::_Exit(kExitDiverged);
  }
}

}  // namespace

EngineLog::EngineLog() {
  if (depth++ > 0) return;
  own_warnings.clear();
  const std::lock_guard lock(mutex);
  if (listeners++ == 0 && !takes_all) before = mju_setLogHandler(on_message);
}

EngineLog::~EngineLog() {
  if (--depth > 0) return;
  const std::lock_guard lock(mutex);
  if (--listeners == 0 && !takes_all) mju_setLogHandler(before);
}

void install_engine_log() {
  if (depth > 0) return;
  const std::lock_guard lock(mutex);
  takes_all = true;
  mju_setLogHandler(on_message);
}

std::vector<std::string> take_engine_warnings() {
  if (depth > 0) return std::exchange(own_warnings, {});
  const std::lock_guard lock(mutex);
  return std::exchange(shared_warnings, {});
}

namespace detail {

std::jmp_buf* exchange_error_jump(std::jmp_buf* jump) noexcept {
  return std::exchange(error_jump, jump);
}

const char* engine_error_text() noexcept {
  return error_text[0] != '\0' ? error_text : "unknown engine error";
}

}  // namespace detail
}  // namespace tendril::simulation
