#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <set>

#include "apps/tendril/write_report.hpp"
#include "rendering/render_recording.hpp"
#include "simulation/files/manifest.hpp"
#include "tendril/model_error.hpp"
#include "tests/rendering/recorded_pendulum.hpp"

using namespace tendril;
using namespace tendril::simulation;
using tendril::test::recorded_pendulum;
using tendril::test::TemporaryFolder;

namespace {

/// The environment variable has a value until the end of the block.
class EnvironmentVariable {
 public:
  EnvironmentVariable(const char* name, const std::string& value) : name_(name) {
    if (const char* const old = std::getenv(name)) old_ = old;
    setenv(name, value.c_str(), 1);
  }
  ~EnvironmentVariable() { old_ ? setenv(name_, old_->c_str(), 1) : unsetenv(name_); }
  EnvironmentVariable(const EnvironmentVariable&) = delete;
  EnvironmentVariable& operator=(const EnvironmentVariable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> old_;
};

std::set<std::string> files_in(const TemporaryFolder& folder) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    names.insert(entry.path().filename().string());
  return names;
}

}  // namespace

TEST_CASE("recorded scene: the row nearest to a time is found, whatever the time", "[view]") {
  const TemporaryFolder folder;
  RecordedScene scene(recorded_pendulum(folder));
  REQUIRE(scene.row_count() == 101);
  for (std::int64_t desired = 0; desired < scene.row_count(); ++desired) {
    const double time = 0.01 * static_cast<double>(desired);
    CHECK(scene.row_at(time) == desired);
    CHECK(scene.row_at(time + 0.004) == desired);
    CHECK(scene.row_at(time - 0.004) == desired);
  }
  CHECK(scene.row_at(-5.0) == 0);
  CHECK(scene.row_at(99.0) == 100);
  CHECK(scene.row_at(std::nan("")) == 0);
}

TEST_CASE("recorded scene: a shown row has the recorded state, in any order", "[view]") {
  const TemporaryFolder folder;
  RecordedScene scene(recorded_pendulum(folder));
  for (const std::int64_t index :
       {std::int64_t{70}, std::int64_t{0}, std::int64_t{100}, std::int64_t{3}}) {
    scene.show(index);
    const RolloutReader::Row row = scene.reader().row(index);
    CHECK(scene.data().time == row.time);
    CHECK(scene.data().qpos[0] == row.qpos[0]);
    CHECK(scene.data().mocap_pos[0] == row.mocap_pos[0]);
    CHECK(scene.data().sensordata[0] == row.sensordata[0]);
    // Where the pendulum's tip is follows from its angle: forward kinematics has been done.
    const double angle = row.qpos[0];
    CHECK(scene.data().geom_xpos[3] == Approx(0.2 * std::cos(angle)).margin(1e-9));
    CHECK(scene.data().geom_xpos[5] == Approx(0.3 - 0.2 * std::sin(angle)).margin(1e-9));
  }
}

TEST_CASE("recorded scene: rows that are no longer physics are left out", "[view]") {
  const TemporaryFolder folder;
  const std::filesystem::path good = recorded_pendulum(folder);
  RolloutReader reader(good);
  const std::filesystem::path bad = folder.path() / "bad.h5";
  const std::vector<std::byte> mjb = reader.model_mjb();
  {
    RolloutWriter writer(bad, reader.layout(), {}, mjb);
    for (std::int64_t i = 0; i < 10; ++i) {
      RolloutReader::Row row = reader.row(i);
      if (i >= 8) row.qpos[0] = i == 8 ? std::nan("") : 1e12;
      writer.append({.step = i,
                     .time = row.time,
                     .qpos = row.qpos,
                     .qvel = row.qvel,
                     .ctrl = row.ctrl,
                     .act = row.act,
                     .sensordata = row.sensordata,
                     .plugin_state = row.plugin_state,
                     .mocap_pos = row.mocap_pos,
                     .mocap_quat = row.mocap_quat,
                     .contacts = {},
                     .integration_state = {}});
    }
    writer.close("diverged at step 8");
  }
  RecordedScene scene(bad);
  CHECK(scene.row_count() == 8);
  CHECK_NOTHROW(scene.show(scene.row_at(1e9)));
}

TEST_CASE("recorded scene: a file that is no recording is refused by name", "[view]") {
  const TemporaryFolder folder;
  CHECK_THROWS_WITH(RecordedScene(folder.path() / "none.h5"), Catch::Contains("none.h5"));
  CHECK_THROWS_AS(RecordedScene(folder.write("text.h5", "not a recording")), RolloutError);
}

TEST_CASE("snapshots: times start at the first row and end at the last", "[view]") {
  CHECK(evenly_spread(1.0, 3.0, 5) == std::vector<double>{1.0, 1.5, 2.0, 2.5, 3.0});
  CHECK(evenly_spread(1.0, 3.0, 1) == std::vector<double>{3.0});
}

TEST_CASE("snapshots: as many images as desired, older ones removed", "[view]") {
  const TemporaryFolder folder;
  const std::filesystem::path recording = recorded_pendulum(folder);
  const std::filesystem::path old = folder.write("snapshot_99_9.000s.png", "");
  const std::filesystem::path foreign = folder.write("snapshot_of_mine.png", "");
  add_to_manifest(folder.path(), old.filename().string());
  try {
    const auto files = render_snapshots(recording, folder.path(),
                                        {.count = 3, .image = {.width = 64, .height = 48}});
    REQUIRE(files.size() == 3);
    for (const auto& file : files) CHECK(std::filesystem::file_size(file) > 100);
    CHECK(files[1].filename() == "snapshot_02_0.500s.png");
    CHECK_FALSE(std::filesystem::exists(old));
    const auto stopped =
        render_snapshots(recording, folder.path(), {}, [](int done, int) { return done < 2; });
    CHECK(stopped.empty());
    CHECK(files_in(folder) == std::set<std::string>{kManifest, "pendulum.toml", "pendulum.xml",
                                                    "rollout.h5", foreign.filename().string()});
  } catch (const RenderError& error) {
    WARN(error.what());
  }
}

TEST_CASE("strobe: times are spread evenly, or as listed; what is neither is refused", "[view]") {
  CHECK(strobe_times("3", 1.0, 2.0) == std::vector<double>{1.0, 1.5, 2.0});
  CHECK(strobe_times("2,0.5", 0.0, 9.0) == std::vector<double>{0.5, 2.0});
  for (const char* const text :
       {"1", "2.5", "101", "-3", "nan", "two", "1,", ",1", "1,x", "1, 2"}) {
    CAPTURE(text);
    CHECK_THROWS_WITH(strobe_times(text, 0.0, 1.0),
                      Catch::StartsWith(std::string("--strobe: ") + text + ": must be "));
  }
}

TEST_CASE("video: as many frames as the time at that speed takes; stopped, it leaves no file",
          "[view]") {
  const TemporaryFolder folder;
  const std::filesystem::path recording = recorded_pendulum(folder),
                              film = folder.path() / "film.mp4";
  VideoOptions options{.image = {.width = 65, .height = 48}, .frame_rate = 10.0, .speed = 2.0};
  try {
    CHECK(render_video(recording, film, options) ==
          6);  // 1 s at twice the speed: 0.5 s and the first frame
    CHECK(std::filesystem::file_size(film) > 500);
    const auto size = std::filesystem::file_size(film);
    const auto stop = [](int frame, int) { return frame < 2; };
    CHECK(render_video(recording, film, options, stop) == 0);
    CHECK(std::filesystem::file_size(film) == size);  // the earlier one
    CHECK(render_video(recording, folder.path() / "other.mp4", options, stop) == 0);
    CHECK(files_in(folder) ==
          std::set<std::string>{"film.mp4", "pendulum.toml", "pendulum.xml", "rollout.h5"});
  } catch (const RenderError& error) {
    WARN(error.what());
  }
}

TEST_CASE("video: frames lie in the part asked for; what cannot be is refused", "[view]") {
  const TemporaryFolder folder;
  const RecordedScene scene(recorded_pendulum(folder));
  const std::vector<double> times =
      frame_times(scene.start_time(), scene.end_time(),
                  {.frame_rate = 20.0, .speed = 0.5, .from = 0.2, .to = 0.4});
  REQUIRE(times.size() == 9);
  CHECK(times.front() == 0.2);
  CHECK(times.back() == Approx(0.4));
  CHECK(frame_times(scene.start_time(), scene.end_time(), {}).size() == 26);
  CHECK(frame_times(scene.start_time(), scene.end_time(), {.from = 1.0}).size() == 1);
  const auto refusal = [&](const VideoOptions& options) {
    try {
      static_cast<void>(frame_times(scene.start_time(), scene.end_time(), options));
    } catch (const ModelError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(refusal({.from = -0.1}) == "--from: -0.1: must be a time of the recording, 0 to 1 s");
  CHECK(refusal({.to = 1.1}) == "--to: 1.1: must be a time of the recording, 0 to 1 s");
  CHECK(refusal({.to = std::nan("")}) == "--to: nan: must be a time of the recording, 0 to 1 s");
  CHECK(refusal({.from = 0.5, .to = 0.4}) == "--to: 0.4 s: must not be before --from, 0.5 s");
  CHECK(refusal({.speed = 0.0}) == "--speed: 0: must be > 0");
  CHECK(refusal({.frame_rate = 1001.0}) == "--fps: 1001: must be in (0, 1000]");
  CHECK_THAT(refusal({.speed = 1e-9}), Catch::Contains("frames: at most 1000000"));
}

TEST_CASE("report: a missing interpreter or module is one line", "[view]") {
  const TemporaryFolder folder;
  folder.write("summary.json", "{}");
  {
    const EnvironmentVariable python("TENDRIL_PYTHON", "/nonexistent/python");
    const auto warnings = write_report(folder.path(), {.images = 0});
    REQUIRE(warnings.size() == 1);
    CHECK_THAT(warnings[0],
               Catch::Contains("/nonexistent/python") && Catch::Contains("TENDRIL_PYTHON"));
  }
  const std::filesystem::path fake =
      folder.write("python", "#!/bin/sh\necho one >&2\necho 'no module named h5py' >&2\nexit 4\n");
  std::filesystem::permissions(fake, std::filesystem::perms::owner_all);
  const EnvironmentVariable python("TENDRIL_PYTHON", fake);
  const auto warnings = write_report(folder.path(), {.images = 0});
  REQUIRE(warnings.size() == 1);
  CHECK_THAT(warnings[0], Catch::Contains("no module named h5py"));
  CHECK(warnings[0].find('\n') == std::string::npos);
}
