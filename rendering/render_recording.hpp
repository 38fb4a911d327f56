#pragma once

#include <mujoco/mujoco.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "rendering/offscreen.hpp"
#include "simulation/rollout/absent_drivers.hpp"
#include "simulation/scene/scene.hpp"
#include "tendril/recording/rollout_file.hpp"

namespace tendril::simulation {

/// A recording as a scene: its model, and an mjData that can be set to any row.
class RecordedScene {
 public:
  /// Loads the engine with its plugins and the model in the recording. Throws RolloutError (file)
  /// and ModelError (engine).
  explicit RecordedScene(const std::filesystem::path& file);

  [[nodiscard]] const mjModel& model() const noexcept { return *model_; }
  [[nodiscard]] mjData& data() noexcept { return *data_; }
  [[nodiscard]] RolloutReader& reader() noexcept { return reader_; }

  /// Returns the number of valid rows, >= 1: those before the first divergent one.
  [[nodiscard]] std::int64_t row_count() const noexcept { return row_count_; }
  [[nodiscard]] double start_time() const noexcept { return start_time_; }  ///< of row 0 [s]
  [[nodiscard]] double end_time() const noexcept { return end_time_; }      ///< of the last row [s]

  /// Returns the row nearest in time; the first or last one outside the recording.
  [[nodiscard]] std::int64_t row_at(double time);

  /// Sets the data to a row in [0, row_count()) and computes poses, the contacts of a simulation
  /// and the drawings of controllers (mj_forward). The sensors are as recorded. Throws RolloutError
  /// if the engine fails for this state.
  void show(std::int64_t row);

  /// Sets positions alone and computes the poses of geoms and cameras.
  void pose(std::int64_t row);

 private:
  std::filesystem::path file_;
  RolloutReader reader_;
  AbsentDrivers absent_;
  bool is_log_ = false;  // of a robot
  ModelPtr model_;
  DataPtr data_;
  std::int64_t row_count_ = 0;
  double start_time_ = 0.0, end_time_ = 0.0;
};

/// `count` times spread evenly over [start, end], both included.
[[nodiscard]] std::vector<double> evenly_spread(double start, double end, int count);

struct ImageOptions {
  int width = 960, height = 540;  ///< pixels
  std::string camera = {};        ///< of the scene; empty: see recording_camera
  Drawing drawing = {};
  std::filesystem::path second = {};  ///< a second recording, in the right half; empty: none
};

/// The camera for images of a recording: the one named in the options; else that of the scene
/// (image_camera) if it shows all of the robots at the given times and throughout the interval;
/// else the nearest free camera that does, looks in the same direction, and shows what the scene's
/// camera shows at the distance of the model's center. In a scene without a camera that free camera
/// shows the robots with what they go to (Subject). The scene's camera is kept if the engine would
/// not draw that far. Throws ModelError for an unknown name. Tested by: framing_test.
[[nodiscard]] mjvCamera recording_camera(RecordedScene& scene, const ImageOptions& options,
                                         double start, double end, std::vector<double> times = {});

/// Cameras for single images at some times: `whole`, which shows all of a recording, or where the
/// robots are small in it, because they travel, ones that look in its direction from one nearer
/// distance, and go along. Tested by: framing_test.
[[nodiscard]] std::vector<mjvCamera> following_cameras(RecordedScene& scene,
                                                       const ImageOptions& options,
                                                       const mjvCamera& whole,
                                                       const std::vector<double>& times);

/// Called after each of `count` images; returning false stops.
using RenderProgress = std::function<bool(int done, int count)>;

/// Times of a stroboscopic image, ascending: `text` is a whole number N >= 2, for N times spread
/// evenly over [from, to], or at least two times divided by commas. Throws ModelError.
[[nodiscard]] std::vector<double> strobe_times(const std::string& text, double from, double to);

/// Content of an image of a recording.
struct Instants {
  std::optional<double> time = {};           ///< [s]; not given: the end of the recording
  std::string strobe = {};                   ///< several instants instead, see strobe_times
  std::optional<double> from = {}, to = {};  ///< for `strobe`; not given: those of the recording
};

/// Writes an image of a recording to a PNG. Of several instants the last one is shown as it is,
/// and of the others the robots, the paler the earlier. Throws RolloutError, ModelError,
/// RenderError.
void render_image(const std::filesystem::path& recording, const std::filesystem::path& image,
                  const ImageOptions& options, const Instants& instants = {});

struct SnapshotOptions {
  int count = 6;  ///< >= 1, evenly from the first row to the last
  ImageOptions image = {.width = 720, .height = 480};
};

/// Removes the snapshots that were rendered into a folder, by its manifest.
void remove_snapshots(const std::filesystem::path& folder);

/// Writes `snapshot_1.png` … to the folder and returns the files; removes older snapshots there,
/// and all if it is stopped. Throws RolloutError, ModelError, RenderError.
std::vector<std::filesystem::path> render_snapshots(const std::filesystem::path& recording,
                                                    const std::filesystem::path& folder,
                                                    const SnapshotOptions& options = {},
                                                    const RenderProgress& progress = {});

struct VideoOptions {
  ImageOptions image = {};
  double frame_rate = 25.0;                  ///< frames per second, see require_frame_rate
  double speed = 1.0;                        ///< simulated seconds per second of video, > 0
  std::optional<double> from = {}, to = {};  ///< part of the recording [s]; not given: its ends
};

/// Returns the times of the frames of a video of a recording from `start` to `end`. Throws
/// ModelError unless the options are in their ranges and `from` and `to` are times of the
/// recording, one after the other.
[[nodiscard]] std::vector<double> frame_times(double start, double end,
                                              const VideoOptions& options);

/// Renders a recording to an MP4. Returns the number of frames; 0 if it was stopped, and then there
/// is no new file. Throws RolloutError, ModelError, RenderError.
int render_video(const std::filesystem::path& recording, const std::filesystem::path& video,
                 const VideoOptions& options = {}, const RenderProgress& progress = {});

}  // namespace tendril::simulation
