#pragma once

#include <string>

#include "simulation/rollout/run.hpp"

namespace tendril {

/// Tells whether to use colors: stdout is a terminal, and NO_COLOR is not set.
[[nodiscard]] bool wants_color();

/// Progress on stderr: a bar on a terminal, nothing otherwise.
class ProgressBar {
 public:
  explicit ProgressBar(bool quiet);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  /// Shows the progress of a simulation, with its real-time factor.
  void show(const simulation::Progress& progress);

  /// @param part  fraction done, 0..1
  void show(const std::string& text, double part);

  /// Removes the bar from the screen; further calls have no effect.
  void finish();

 private:
  bool active_;
  bool drawn_ = false;
};

}  // namespace tendril
