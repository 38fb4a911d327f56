#pragma once

#include <string>

#include "apps/host/experiment/run.hpp"

namespace tendril {

/// Whether the terminal wants colour: stdout is one, and NO_COLOR is not set.
[[nodiscard]] bool wants_colour();

/// Progress on stderr: a bar on a terminal, nothing otherwise.
class ProgressBar {
 public:
  explicit ProgressBar(bool quiet);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  /// Of a simulation, with its real-time factor.
  void show(const host::Progress& progress);

  /// @param part  what is done, 0..1
  void show(const std::string& text, double part);

  /// Takes the bar off the screen; further calls do nothing.
  void finish();

 private:
  bool active_;
  bool drawn_ = false;
};

}  // namespace tendril
