#include "apps/tendril/progress.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>

#include "tendril/system/file_descriptor.hpp"
#include "tendril/visible_text.hpp"

namespace tendril {
namespace {

constexpr std::size_t kWidth = 30;
constexpr std::chrono::seconds kPatience(1);
constexpr const char* kClearLine = "\r\033[K";

}  // namespace

bool wants_color() {
  const char* no_color = std::getenv("NO_COLOR");
  return system::is_terminal(system::Stream::Output) &&
         (no_color == nullptr || no_color[0] == '\0');
}

ProgressBar::ProgressBar(bool quiet)
    : active_(!quiet && system::is_terminal(system::Stream::Error)) {}

ProgressBar::~ProgressBar() { finish(); }

void ProgressBar::show(const simulation::Progress& progress) {
  show(fmt::format("{:.2f}/{:.2f} s  {:.1f} x real time", progress.time, progress.duration,
                   progress.real_time_factor),
       progress.time / progress.duration);
}

void ProgressBar::show(const std::string& text, double part) {
  if (!active_) return;
  part = std::clamp(part, 0.0, 1.0);
  const auto full = static_cast<std::size_t>(part * kWidth);
  const std::string line =
      fmt::format("{}[{}{}] {:3.0f} %  {}", kClearLine, std::string(full, '#'),
                  std::string(kWidth - full, '.'), 100.0 * part, visible(text));
  std::fputs(line.c_str(), stderr);
  std::fflush(stderr);
  drawn_ = true;
}

void ProgressBar::finish() {
  if (drawn_) std::fputs(kClearLine, stderr);
  active_ = drawn_ = false;
}

Waiting::Waiting(const std::string& text) {
  if (!system::is_terminal(system::Stream::Error)) return;
  teller_ = std::jthread([text = visible(text)](const std::stop_token& stop) {
    const auto begin = std::chrono::steady_clock::now();
    std::mutex mutex;
    std::unique_lock lock(mutex);
    std::condition_variable_any wake;
    for (bool drawn = false;; drawn = true) {
      wake.wait_for(lock, stop, kPatience, [] { return false; });
      if (stop.stop_requested()) {
        if (drawn) std::fputs(kClearLine, stderr);
        return;
      }
      const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
      fmt::print(stderr, "{}{}: {:.0f} s", kClearLine, text, passed.count());
      std::fflush(stderr);
    }
  });
}

}  // namespace tendril
