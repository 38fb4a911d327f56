#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "tendril/system/interrupt.hpp"
#include "tendril/system/windows/windows.hpp"

namespace tendril::system {
namespace {

std::atomic<Handler> on_request{nullptr};
std::mutex file_mutex;
std::filesystem::path removed_file;

BOOL WINAPI handle_interrupt(DWORD /*kind*/) {
  const Handler handler = on_request.load();
  if (handler == nullptr) return FALSE;
  handler();
  return TRUE;
}

BOOL WINAPI remove_file(DWORD /*kind*/) {
  const std::lock_guard lock(file_mutex);
  DeleteFileW(removed_file.c_str());
  ExitProcess(kExitInterrupted);
}

/// Calls a function after a time, unless it gets another order before.
class Timer {
 public:
  void set(unsigned seconds, Handler handler) {
    const std::lock_guard lock(mutex_);
    handler_ = handler;
    end_ = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
    if (!thread_.joinable()) thread_ = std::jthread([this](const auto& stop) { run(stop); });
    changed_.notify_one();
  }

 private:
  void run(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (!stop.stop_requested()) {
      const auto end = end_;
      if (handler_ == nullptr) {
        changed_.wait(lock, stop, [&] { return handler_ != nullptr; });
      } else if (!changed_.wait_until(lock, stop, end, [&] { return end_ != end; }) &&
                 handler_ != nullptr && !stop.stop_requested()) {
        const Handler handler = std::exchange(handler_, nullptr);
        lock.unlock();
        handler();
        lock.lock();
      }
    }
  }

  std::mutex mutex_;
  std::condition_variable_any changed_;
  Handler handler_ = nullptr;
  std::chrono::steady_clock::time_point end_;
  std::jthread thread_;  // last: ends first
};

Timer& timer() {
  static Timer one;
  return one;
}

}  // namespace

void on_interrupt(Handler handler) noexcept {
  const Handler before = on_request.exchange(handler);
  if ((before == nullptr) != (handler == nullptr))
    SetConsoleCtrlHandler(handle_interrupt, handler != nullptr ? TRUE : FALSE);
}

void call_later(unsigned seconds, Handler handler) noexcept { timer().set(seconds, handler); }

void remove_at_interrupt(const std::filesystem::path& file) noexcept {
  const std::lock_guard lock(file_mutex);
  const bool was_set = !removed_file.empty();
  removed_file = file;
  if (was_set != !file.empty()) SetConsoleCtrlHandler(remove_file, file.empty() ? FALSE : TRUE);
}

}  // namespace tendril::system
