#pragma once

#include <string>

#include "apps/host/run.hpp"

namespace tendril {

/// Whether the terminal wants colour: stdout is one, and NO_COLOR is not set.
[[nodiscard]] bool wants_colour();

/// Progress of a run on stderr: a bar with the real-time factor on a terminal, nothing otherwise.
class ProgressBar {
 public:
  explicit ProgressBar(bool quiet);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void show(const host::Progress& progress);

  /// Takes the bar off the screen; further calls do nothing.
  void finish();

 private:
  bool active_;
  bool drawn_ = false;
};

}  // namespace tendril
