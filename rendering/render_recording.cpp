#include "rendering/render_recording.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "rendering/framing.hpp"
#include "rendering/video_writer.hpp"
#include "simulation/engine/engine_log.hpp"
#include "simulation/files/manifest.hpp"
#include "simulation/rollout/drive_log.hpp"
#include "simulation/rollout/recorded_model.hpp"
#include "tendril/model_error.hpp"
#include "tendril/number_text.hpp"

namespace tendril::simulation {
namespace {

constexpr double kLargestState = 1e10;  // the engine's bound of valid values
constexpr int kMaxFrames = 1'000'000;
constexpr int kFramedInstants = 100;  // of a whole recording, besides those drawn

bool is_physical(const RolloutReader::Row& row) {
  const auto sane = [](const std::vector<double>& values) {
    return std::all_of(values.begin(), values.end(),
                       [](double v) { return std::isfinite(v) && std::abs(v) < kLargestState; });
  };
  return sane(row.qpos) && sane(row.qvel) && sane(row.mocap_pos) && sane(row.plugin_state);
}

void require_time(double start, double end, const char* option, double time) {
  constexpr double kRounding = 1e-6;  // s, of times that are sums of steps
  if (time >= start - kRounding && time <= end + kRounding) return;
  throw ModelError(fmt::format("{}: {:g}: must be a time of the recording, {:g} to {:g} s", option,
                               time, start, end));
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
  absent_.leave_out(reader_, *model_, *data_);
  is_log_ = is_drive_log(reader_);
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
  if (is_log_) d.ncon = 0;  // those of the pose that was estimated are no measurement
}

void RecordedScene::pose(std::int64_t index) {
  const RolloutReader::Row& row = reader_.row(std::clamp(index, std::int64_t{0}, row_count_ - 1));
  std::copy(row.qpos.begin(), row.qpos.end(), data_->qpos);
  std::copy(row.mocap_pos.begin(), row.mocap_pos.end(), data_->mocap_pos);
  std::copy(row.mocap_quat.begin(), row.mocap_quat.end(), data_->mocap_quat);
  mj_kinematics(model_.get(), data_.get());
  mj_comPos(model_.get(), data_.get());
  mj_camlight(model_.get(), data_.get());
}

std::vector<double> evenly_spread(double start, double end, int count) {
  std::vector<double> times;
  for (int i = 0; i < count; ++i) {
    times.push_back(count == 1 ? end : start + (end - start) * i / (count - 1));
  }
  return times;
}

mjvCamera recording_camera(RecordedScene& scene, const ImageOptions& options, double start,
                           double end, std::vector<double> times) {
  const mjModel& model = scene.model();
  const mjvCamera own = image_camera(model, options.camera);
  const bool is_placed = own.type == mjCAMERA_FIXED;
  const std::vector<int> geoms = geoms_to_show(model);
  if (!options.camera.empty() || (is_placed && geoms.empty())) return own;

  const std::vector<double> spread = evenly_spread(start, end, kFramedInstants);
  times.insert(times.end(), spread.begin(), spread.end());
  std::sort(times.begin(), times.end());
  const double aspect = static_cast<double>(options.width) / options.height;
  bool all_seen = is_placed;
  std::optional<Framing> framing;
  Subject subject(model);
  for (const double time : times) {
    scene.pose(scene.row_at(time));
    const mjvGLCamera eye = mjv_camera2GLCamera(&model, &scene.data(), &own);
    if (!framing) {
      framing.emplace(model, scene.data(), own, aspect);
      if (is_placed) framing->add_image(model, eye);
    }
    if (!is_placed) {
      subject.add(scene.data());
      continue;
    }
    for (const int geom : geoms) {
      for (int corner = 0; corner < 8; ++corner) {
        mjtNum point[3];
        geom_corner(model, scene.data(), geom, corner, point);
        framing->add(point);
        all_seen = all_seen && is_in_image(eye, aspect, point);
      }
    }
  }
  if (!is_placed) subject.add_to(*framing, scene.data());
  return all_seen ? own : framing->camera().value_or(own);
}

namespace {

/// Makes the geoms of an instant paler, the opaque ones without letting show through what is
/// behind.
/// @param fraction  of the color that is kept
void fade(std::vector<mjvGeom>& geoms, float fraction) {
  constexpr float kPale = 0.92F;
  for (mjvGeom& geom : geoms) {
    for (int i = 0; i < 3; ++i) geom.rgba[i] = fraction * geom.rgba[i] + (1.0F - fraction) * kPale;
    geom.specular *= fraction;
    geom.matid = -1;  // its texture would keep the color
  }
}

void expect_all(OffscreenRenderer& renderer, RecordedScene& scene, double start, double end) {
  for (const double time : evenly_spread(start, end, kFramedInstants)) {
    scene.pose(scene.row_at(time));
    renderer.expect(scene.data());
  }
}

/// Draws a recording.
class Frames {
 public:
  /// @param camera_times  at which all must be seen
  Frames(RecordedScene& scene, const ImageOptions& options, int width, double start, double end,
         const std::vector<double>& camera_times)
      : scene_(scene), renderer_(scene.model(), width, options.height, options.drawing) {
    ImageOptions own = options;
    own.width = width;
    camera_ = recording_camera(scene, own, start, end, camera_times);
    expect_all(renderer_, scene, start, end);
  }

  const Image& at(double time, const std::vector<double>& earlier = {}) {
    std::vector<mjvGeom> ghosts;
    for (std::size_t i = 0; i < earlier.size(); ++i) {
      constexpr double kPalest = 0.25, kStrongest = 0.75;
      const double fraction = kPalest + (kStrongest - kPalest) * static_cast<double>(i) /
                                            static_cast<double>(earlier.size());
      scene_.show(scene_.row_at(earlier[i]));
      std::vector<mjvGeom> geoms = renderer_.geoms(scene_.data(), moving_geoms());
      fade(geoms, static_cast<float>(fraction));
      ghosts.insert(ghosts.end(), geoms.begin(), geoms.end());
    }
    scene_.show(scene_.row_at(time));
    return renderer_.render(scene_.data(), camera_, ghosts);
  }

 private:
  std::vector<bool> moving_geoms() const {
    const mjModel& model = scene_.model();
    std::vector<bool> chosen(static_cast<std::size_t>(model.ngeom), false);
    for (const int geom : geoms_to_show(model)) {
      chosen[static_cast<std::size_t>(geom)] = model.body_weldid[model.geom_bodyid[geom]] != 0;
    }
    return chosen;
  }

  RecordedScene& scene_;
  OffscreenRenderer renderer_;
  mjvCamera camera_{};
};

/// One recording, or two side by side; the second one is stationary where it has no rows.
class Screen {
 public:
  Screen(const std::filesystem::path& recording, const ImageOptions& options) : options_(options) {
    scenes_.push_back(std::make_unique<RecordedScene>(recording));
    if (!options.second.empty()) scenes_.push_back(std::make_unique<RecordedScene>(options.second));
    start_ = scenes_.front()->start_time();
    end_ = scenes_.front()->end_time();
    for (const auto& scene : scenes_) {
      start_ = std::min(start_, scene->start_time());
      end_ = std::max(end_, scene->end_time());
    }
  }

  [[nodiscard]] double start() const noexcept { return start_; }
  [[nodiscard]] double end() const noexcept { return end_; }

  /// Places the camera; to be called before `at`. See recording_camera.
  void frame(double start, double end, const std::vector<double>& times) {
    int left = options_.width;
    for (std::size_t i = scenes_.size(); i-- > 0;) {
      const int width = i == 0 ? left : options_.width / 2;
      left -= width;
      frames_.insert(frames_.begin(),
                     std::make_unique<Frames>(*scenes_[i], options_, width, start, end, times));
    }
  }

  const Image& at(double time, const std::vector<double>& earlier = {}) {
    const Image& first = frames_.front()->at(time, earlier);
    if (frames_.size() == 1) return first;
    joined_ = side_by_side(first, frames_.back()->at(time, earlier));
    return joined_;
  }

 private:
  const ImageOptions& options_;
  std::vector<std::unique_ptr<RecordedScene>> scenes_;
  std::vector<std::unique_ptr<Frames>> frames_;
  double start_ = 0.0, end_ = 0.0;
  Image joined_;
};

double number_of(const std::string& text, const std::string& whole) {
  if (const std::optional<double> value = read_number(text)) return *value;
  throw ModelError(fmt::format(
      "--strobe: {}: must be a whole number of instants, or times divided by commas", whole));
}

}  // namespace

std::vector<double> strobe_times(const std::string& text, double from, double to) {
  constexpr int kMax = 100;
  std::vector<double> times;
  if (text.find(',') == std::string::npos) {
    const double count = number_of(text, text);
    if (!(count >= 2.0 && count <= kMax) || count != std::floor(count))
      throw ModelError(fmt::format("--strobe: {}: must be 2 to {} instants", text, kMax));
    times = evenly_spread(from, to, static_cast<int>(count));
  } else {
    for (std::size_t at = 0; at <= text.size();) {
      const std::size_t comma = std::min(text.find(',', at), text.size());
      times.push_back(number_of(text.substr(at, comma - at), text));
      at = comma + 1;
    }
    std::sort(times.begin(), times.end());
  }
  return times;
}

void render_image(const std::filesystem::path& recording, const std::filesystem::path& image,
                  const ImageOptions& options, const Instants& instants) {
  Screen screen(recording, options);
  std::vector<double> times{instants.time.value_or(screen.end())};
  if (!instants.strobe.empty()) {
    times = strobe_times(instants.strobe, instants.from.value_or(screen.start()),
                         instants.to.value_or(screen.end()));
  }
  for (const double time : times) {
    require_time(screen.start(), screen.end(), instants.strobe.empty() ? "--time" : "--strobe",
                 time);
  }
  screen.frame(screen.start(), screen.end(), times);
  const double time = times.back();
  times.pop_back();
  write_png(image, screen.at(time, times));
}

std::vector<mjvCamera> following_cameras(RecordedScene& scene, const ImageOptions& options,
                                         const mjvCamera& whole, const std::vector<double>& times) {
  constexpr double kRoom = 0.1;        // on each side, of the robot's size
  constexpr double kMuchNearer = 0.5;  // of the distance of a camera that shows the whole way
  std::vector<mjvCamera> cameras(times.size(), whole);
  if (whole.type != mjCAMERA_FREE) return cameras;
  const double aspect = static_cast<double>(options.width) / options.height;
  double farthest = 0.0;
  for (std::size_t i = 0; i < times.size(); ++i) {
    scene.pose(scene.row_at(times[i]));
    Framing framing(scene.model(), scene.data(), whole, aspect);
    Subject subject(scene.model());
    subject.add(scene.data());
    subject.add_room(kRoom);
    subject.add_to(framing, scene.data());
    const auto nearest = framing.camera();
    if (!nearest || nearest->distance > kMuchNearer * whole.distance)
      return std::vector<mjvCamera>(times.size(), whole);
    cameras[i] = *nearest;
    farthest = std::max(farthest, nearest->distance);
  }
  for (mjvCamera& camera : cameras) camera.distance = farthest;
  return cameras;
}

void remove_snapshots(const std::filesystem::path& folder) {
  for (const std::string& name : manifest_of(folder)) {
    if (name.starts_with("snapshot_")) std::filesystem::remove(folder / name);
  }
}

std::vector<std::filesystem::path> render_snapshots(const std::filesystem::path& recording,
                                                    const std::filesystem::path& folder,
                                                    const SnapshotOptions& options,
                                                    const RenderProgress& progress) {
  RecordedScene scene(recording);
  const std::vector<double> times =
      evenly_spread(scene.start_time(), scene.end_time(), options.count);
  const std::vector<mjvCamera> cameras = following_cameras(
      scene, options.image,
      recording_camera(scene, options.image, scene.start_time(), scene.end_time(), times), times);
  OffscreenRenderer renderer(scene.model(), options.image.width, options.image.height);
  expect_all(renderer, scene, scene.start_time(), scene.end_time());
  remove_snapshots(folder);
  std::vector<std::filesystem::path> files;
  for (std::size_t i = 0; i < times.size(); ++i) {
    const double time = times[i];
    scene.show(scene.row_at(time));
    const std::string name = fmt::format("snapshot_{:02}_{:.3f}s.png", files.size() + 1, time);
    add_to_manifest(folder, name);
    files.push_back(folder / name);
    write_png(files.back(), renderer.render(scene.data(), cameras[i]));
    if (progress && !progress(static_cast<int>(files.size()), options.count)) {
      remove_snapshots(folder);
      return {};
    }
  }
  return files;
}

std::vector<double> frame_times(double start, double end, const VideoOptions& options) {
  const double from = options.from.value_or(start);
  const double to = options.to.value_or(end);
  require_time(start, end, "--from", from);
  require_time(start, end, "--to", to);
  if (!(from <= to))
    throw ModelError(fmt::format("--to: {:g} s: must not be before --from, {:g} s", to, from));
  if (!(options.speed > 0.0) || !std::isfinite(options.speed))
    throw ModelError(fmt::format("--speed: {:g}: must be > 0", options.speed));
  require_frame_rate(options.frame_rate);
  const double frames = std::floor((to - from) / options.speed * options.frame_rate + 1e-9) + 1.0;
  if (!(frames <= kMaxFrames)) {
    throw ModelError(
        fmt::format("video: {:g} frames: at most {}; raise the speed", frames, kMaxFrames));
  }
  std::vector<double> times;
  for (int i = 0; i < static_cast<int>(frames); ++i)
    times.push_back(from + i * options.speed / options.frame_rate);
  return times;
}

int render_video(const std::filesystem::path& recording, const std::filesystem::path& video,
                 const VideoOptions& options, const RenderProgress& progress) {
  Screen screen(recording, options.image);
  const std::vector<double> times = frame_times(screen.start(), screen.end(), options);
  screen.frame(times.front(), times.back(), times);
  VideoWriter writer(video, options.image.width, options.image.height, options.frame_rate);
  int written = 0;
  for (const double time : times) {
    writer.write(screen.at(time));
    ++written;
    if (progress && !progress(written, static_cast<int>(times.size()))) return 0;
  }
  writer.close();
  return written;
}

}  // namespace tendril::simulation
