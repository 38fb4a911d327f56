#include "apps/host/recording/render_recording.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "apps/host/engine/engine_log.hpp"
#include "apps/host/recording/recorded_model.hpp"
#include "apps/host/recording/video_writer.hpp"

namespace tendril::host {
namespace {

constexpr double kLargestState = 1e10;  // the engine's bound of valid values
constexpr int kMostFrames = 1'000'000;

bool is_physical(const RolloutReader::Row& row) {
  const auto sane = [](const std::vector<double>& values) {
    return std::all_of(values.begin(), values.end(),
                       [](double v) { return std::isfinite(v) && std::abs(v) < kLargestState; });
  };
  return sane(row.qpos) && sane(row.qvel) && sane(row.mocap_pos) && sane(row.plugin_state);
}

}  // namespace

RecordedScene::RecordedScene(const std::filesystem::path& file) : file_(file), reader_(file) {
  reader_.require_rows();
  model_ = recorded_model(reader_);
  data_ = make_data(*model_);
  row_count_ = reader_.row_count();
  while (row_count_ > 0 && !is_physical(reader_.row(row_count_ - 1))) --row_count_;
  if (row_count_ == 0)
    throw RolloutError(
        fmt::format("{}: the recording has no row that can be shown", file.string()));
  start_time_ = reader_.row(0).time;
  end_time_ = reader_.row(row_count_ - 1).time;
}

std::int64_t RecordedScene::row_at(double time) {
  const std::int64_t last = row_count_ - 1;
  if (!(time > start_time_) || last == 0) return 0;
  if (time >= end_time_) return last;
  // Steps are equally long in most recordings: guess, then search from there.
  const double fraction = (time - start_time_) / (end_time_ - start_time_);
  auto row =
      std::clamp(static_cast<std::int64_t>(std::llround(fraction * static_cast<double>(last))),
                 std::int64_t{0}, last);
  while (row < last && reader_.row(row + 1).time <= time) ++row;
  while (row > 0 && reader_.row(row).time > time) --row;
  if (row < last && reader_.row(row + 1).time - time < time - reader_.row(row).time) ++row;
  return row;
}

void RecordedScene::show(std::int64_t index) {
  const RolloutReader::Row& row = reader_.row(std::clamp(index, std::int64_t{0}, row_count_ - 1));
  const auto put = [](const std::vector<double>& from, mjtNum* to) {
    std::copy(from.begin(), from.end(), to);
  };
  mjData& d = *data_;
  d.time = row.time;
  put(row.qpos, d.qpos);
  put(row.qvel, d.qvel);
  put(row.act, d.act);
  put(row.ctrl, d.ctrl);
  put(row.mocap_pos, d.mocap_pos);
  put(row.mocap_quat, d.mocap_quat);
  put(row.plugin_state, d.plugin_state);
  const std::string error = guarded([&] { mj_forward(model_.get(), &d); });
  if (!error.empty())
    throw RolloutError(fmt::format("{}: row {}: {}", file_.string(), index, error));
  put(row.sensordata, d.sensordata);
}

std::vector<double> snapshot_times(double start, double end, int count) {
  std::vector<double> times;
  for (int i = 0; i < count; ++i) {
    times.push_back(count == 1 ? end : start + (end - start) * i / (count - 1));
  }
  return times;
}

std::vector<std::filesystem::path> render_snapshots(const std::filesystem::path& recording,
                                                    const std::filesystem::path& folder,
                                                    const SnapshotOptions& options) {
  RecordedScene scene(recording);
  const mjvCamera camera = picture_camera(scene.model(), options.camera);
  OffscreenRenderer renderer(scene.model(), options.width, options.height);
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("snapshot_") && name.ends_with(".png"))
      std::filesystem::remove(entry.path());
  }
  std::vector<std::filesystem::path> files;
  for (const double time : snapshot_times(scene.start_time(), scene.end_time(), options.count)) {
    scene.show(scene.row_at(time));
    files.push_back(folder / fmt::format("snapshot_{:02}_{:.3f}s.png", files.size() + 1, time));
    write_png(files.back(), renderer.render(scene.data(), camera));
  }
  return files;
}

int render_video(const std::filesystem::path& recording, const std::filesystem::path& film,
                 const VideoOptions& options, const VideoProgress& progress) {
  if (!(options.speed > 0.0) || !std::isfinite(options.speed)) {
    throw RenderError(fmt::format("video speed: {}: must be > 0", options.speed));
  }
  RecordedScene scene(recording);
  const mjvCamera camera = picture_camera(scene.model(), options.camera);
  OffscreenRenderer renderer(scene.model(), options.width, options.height);
  VideoWriter writer(film, options.width, options.height, options.frame_rate);
  const double seconds = (scene.end_time() - scene.start_time()) / options.speed;
  const double frames = std::floor(seconds * options.frame_rate + 1e-9) + 1.0;
  if (!(frames <= kMostFrames)) {
    throw RenderError(fmt::format("{}: {} frames: at most {}; raise the speed", film.string(),
                                  frames, kMostFrames));
  }
  const int frame_count = static_cast<int>(frames);
  int written = 0;
  bool desired = true;
  while (desired && written < frame_count) {
    scene.show(scene.row_at(scene.start_time() + written * options.speed / options.frame_rate));
    writer.write(renderer.render(scene.data(), camera));
    ++written;
    desired = !progress || progress(written, frame_count);
  }
  writer.close();
  return written;
}

}  // namespace tendril::host
