#include "apps/tendril/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace tendril {
namespace {

constexpr int kWidth = 30;
constexpr const char* kClearLine = "\r\033[K";

}  // namespace

bool wants_colour() {
  const char* no_colour = std::getenv("NO_COLOR");
  return isatty(STDOUT_FILENO) == 1 && (no_colour == nullptr || no_colour[0] == '\0');
}

ProgressBar::ProgressBar(bool quiet) : active_(!quiet && isatty(STDERR_FILENO) == 1) {}

ProgressBar::~ProgressBar() { finish(); }

void ProgressBar::show(const host::Progress& progress) {
  if (!active_) return;
  const double part = std::clamp(progress.time / progress.duration, 0.0, 1.0);
  const int full = static_cast<int>(part * kWidth);
  const std::string line = fmt::format(
      "{}[{:#<{}}{:.<{}}] {:3.0f} %  {:.2f}/{:.2f} s  {:.1f} x real time", kClearLine, "", full, "",
      kWidth - full, 100.0 * part, progress.time, progress.duration, progress.real_time_factor);
  std::fputs(line.c_str(), stderr);
  std::fflush(stderr);
  drawn_ = true;
}

void ProgressBar::finish() {
  if (drawn_) std::fputs(kClearLine, stderr);
  active_ = drawn_ = false;
}

}  // namespace tendril
