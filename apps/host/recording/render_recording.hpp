#pragma once

#include <mujoco/mujoco.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "apps/host/engine/scene.hpp"
#include "apps/host/recording/offscreen.hpp"
#include "tendril/recording/rollout_file.hpp"

namespace tendril::host {

/// A recording as a scene: its model, and an mjData that can be set to any row.
class RecordedScene {
 public:
  /// Loads the engine with its plugins and the model in the recording. Throws RolloutError (file)
  /// and ModelError (engine).
  explicit RecordedScene(const std::filesystem::path& file);

  [[nodiscard]] const mjModel& model() const noexcept { return *model_; }
  [[nodiscard]] mjData& data() noexcept { return *data_; }
  [[nodiscard]] RolloutReader& reader() noexcept { return reader_; }

  /// Number of valid rows, >= 1: those before the first divergent one.
  [[nodiscard]] std::int64_t row_count() const noexcept { return row_count_; }
  [[nodiscard]] double start_time() const noexcept { return start_time_; }  ///< of row 0 [s]
  [[nodiscard]] double end_time() const noexcept { return end_time_; }      ///< of the last row [s]

  /// The row nearest in time; the first or last one outside the recording.
  [[nodiscard]] std::int64_t row_at(double time);

  /// Sets the data to a row in [0, row_count()) and computes poses, contacts and the drawings of
  /// controllers (mj_forward). The sensors are as recorded. Throws RolloutError if the engine fails
  /// for this state.
  void show(std::int64_t row);

 private:
  std::filesystem::path file_;
  RolloutReader reader_;
  ModelPtr model_;
  DataPtr data_;
  std::int64_t row_count_ = 0;
  double start_time_ = 0.0, end_time_ = 0.0;
};

/// `count` times spread evenly over [start, end], both included, for snapshots.
[[nodiscard]] std::vector<double> snapshot_times(double start, double end, int count);

struct SnapshotOptions {
  int count = 6;  ///< >= 1, evenly from the first row to the last
  int width = 720, height = 480;
  std::string camera = {};  ///< see picture_camera
};

/// Writes `snapshot_1.png` … to the folder and returns the files; removes older snapshots there.
/// Throws RolloutError, ModelError, RenderError.
std::vector<std::filesystem::path> render_snapshots(const std::filesystem::path& recording,
                                                    const std::filesystem::path& folder,
                                                    const SnapshotOptions& options = {});

struct VideoOptions {
  double frame_rate = 25.0;  ///< frames per second, in (0, 1000]
  double speed = 1.0;        ///< simulated seconds per second of video, > 0
  int width = 960, height = 540;
  std::string camera = {};  ///< see picture_camera
};

/// Called after each frame; returning false stops: the video ends there and is playable.
using VideoProgress = std::function<bool(int frame, int frame_count)>;

/// Renders a recording to an MP4. Returns the number of frames. Throws RolloutError, ModelError,
/// RenderError.
int render_video(const std::filesystem::path& recording, const std::filesystem::path& film,
                 const VideoOptions& options = {}, const VideoProgress& progress = {});

}  // namespace tendril::host
