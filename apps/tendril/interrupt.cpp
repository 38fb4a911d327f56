#include "apps/tendril/interrupt.hpp"

#include <csignal>

namespace tendril {
namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};
std::atomic<bool> requested{false};
static_assert(std::atomic<bool>::is_always_lock_free);  // may be set in a signal handler

extern "C" void on_interrupt(int) { requested.store(true); }

}  // namespace

InterruptRequest::InterruptRequest() {
  for (const int signal : kSignals) std::signal(signal, on_interrupt);
}

InterruptRequest::~InterruptRequest() {
  for (const int signal : kSignals) std::signal(signal, SIG_DFL);
}

const std::atomic<bool>& InterruptRequest::flag() noexcept { return requested; }

}  // namespace tendril
