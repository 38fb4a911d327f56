#include "apps/tendril/interrupt.hpp"

#include <unistd.h>

#include <csignal>

namespace tendril {
namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};
std::atomic<bool> requested{false};
static_assert(std::atomic<bool>::is_always_lock_free);  // may be set in a signal handler

std::atomic<InterruptRequest::Hook> hook{nullptr};
static_assert(std::atomic<InterruptRequest::Hook>::is_always_lock_free);
constexpr unsigned kPatience = 1;  // s

extern "C" void on_interrupt(int) {
  requested.store(true);
  if (hook.load() != nullptr) alarm(kPatience);
}

extern "C" void on_alarm(int) {
  if (const auto stop = hook.load()) stop();
}

}  // namespace

void InterruptRequest::when_ignored(Hook stop) noexcept {
  hook.store(stop);
  std::signal(SIGALRM, on_alarm);
}

InterruptRequest::InterruptRequest() {
  for (const int signal : kSignals) std::signal(signal, on_interrupt);
}

InterruptRequest::~InterruptRequest() {
  if (hook.load() != nullptr) alarm(0);
  for (const int signal : kSignals) std::signal(signal, SIG_DFL);
}

const std::atomic<bool>& InterruptRequest::flag() noexcept { return requested; }

void InterruptRequest::clear() noexcept { requested.store(false); }

}  // namespace tendril
