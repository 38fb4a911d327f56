#include <limits.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstring>

#include "tendril/system/interrupt.hpp"

namespace tendril::system {
namespace {

constexpr int kInterrupts[] = {SIGINT, SIGTERM, SIGHUP};

std::atomic<Handler> on_request{nullptr};
std::atomic<Handler> on_time{nullptr};
static_assert(std::atomic<Handler>::is_always_lock_free);  // may be set in a signal handler

char removed_file[PATH_MAX];

extern "C" void handle_interrupt(int /*signal*/) {
  if (const Handler handler = on_request.load()) handler();
}

extern "C" void handle_alarm(int /*signal*/) {
  if (const Handler handler = on_time.load()) handler();
}

extern "C" void remove_file(int /*signal*/) {
  unlink(removed_file);
  _exit(kExitInterrupted);
}

}  // namespace

void on_interrupt(Handler handler) noexcept {
  on_request.store(handler);
  for (const int signal : kInterrupts)
    std::signal(signal, handler == nullptr ? SIG_DFL : handle_interrupt);
}

void call_later(unsigned seconds, Handler handler) noexcept {
  on_time.store(handler);
  if (handler != nullptr) std::signal(SIGALRM, handle_alarm);
  alarm(handler == nullptr ? 0 : seconds);
}

void remove_at_interrupt(const std::filesystem::path& file) noexcept {
  const std::string& name = file.native();
  if (name.size() >= sizeof removed_file) return;
  std::memcpy(removed_file, name.c_str(), name.size() + 1);
  for (const int signal : kInterrupts) {
    const auto before = std::signal(signal, name.empty() ? SIG_DFL : remove_file);
    if (before == SIG_IGN) std::signal(signal, SIG_IGN);
  }
}

}  // namespace tendril::system
