#pragma once

#include <string>
#include <thread>

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

/// A text and the seconds that have passed, on stderr from the first second on: on a terminal,
/// while this exists. Nothing else may be printed meanwhile.
class Waiting {
 public:
  explicit Waiting(const std::string& text);

 private:
  std::jthread teller_;
};

/// Returns the result of work that can last, and shows that it does.
template <class Work>
auto while_waiting(const std::string& text, const Work& work) {
  const Waiting waiting(text);
  return work();
}

}  // namespace tendril
