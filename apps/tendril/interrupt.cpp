#include "apps/tendril/interrupt.hpp"

namespace tendril {
namespace {

std::atomic<bool> requested{false};
static_assert(std::atomic<bool>::is_always_lock_free);  // may be set in a signal handler

std::atomic<system::Handler> hook{nullptr};
static_assert(std::atomic<system::Handler>::is_always_lock_free);
constexpr unsigned kPatience = 1;  // s

void request_stop() {
  requested.store(true);
  if (const system::Handler stop = hook.load()) system::call_later(kPatience, stop);
}

}  // namespace

void InterruptRequest::when_ignored(system::Handler stop) noexcept { hook.store(stop); }

InterruptRequest::InterruptRequest() { system::on_interrupt(request_stop); }

InterruptRequest::~InterruptRequest() {
  if (hook.load() != nullptr) system::call_later(0, nullptr);
  system::on_interrupt(nullptr);
}

const std::atomic<bool>& InterruptRequest::flag() noexcept { return requested; }

void InterruptRequest::clear() noexcept { requested.store(false); }

}  // namespace tendril
