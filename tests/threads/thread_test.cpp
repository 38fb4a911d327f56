// Everything that runs on several threads, each as a serial run and all at once. Data races show in
// the preset `tsan`.

#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <exception>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "tendril/ik/batch.hpp"
#include "tests/plugin/test_scenes.hpp"
#include "tests/recording/recording.hpp"
#include "tests/support/reference_robots.hpp"

using namespace tendril;
using namespace tendril::test;

namespace {

constexpr int kThreads = 4;

/// Calls `work(i)` on as many threads at once; their exceptions are failures of the test.
void at_once(const std::function<void(int)>& work) {
  std::array<std::exception_ptr, kThreads> errors;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] {
        try {
          work(i);
        } catch (...) {
          errors[static_cast<std::size_t>(i)] = std::current_exception();
        }
      });
    }
  }
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

struct Folder {
  std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("tendril_threads_" + std::to_string(getpid()));
  Folder() { std::filesystem::create_directory(path); }
  ~Folder() { std::filesystem::remove_all(path); }
};

ModelPtr load_arms(std::string& error) {
  return try_load_scene(two_arm_scene(),
                        {{"reach.toml", reach_arm()}, {"follow.toml", follow_arm()}}, error);
}

/// The state of a simulation with its own target after some steps.
std::vector<mjtNum> future(const ModelPtr& model, int i) {
  const DataPtr data(mj_makeData(model.get()));
  data->mocap_pos[2] += 0.005 * i;
  step(model, data, 100);
  return full_state(model, data);
}

}  // namespace

TEST_CASE("threads: a batch of targets", "[threads]") {
  const ContinuumRobot robot = plain_robot();
  const AnySolver solver = make_solver("auto", robot, {});
  std::vector<TipTarget> targets(200);
  for (std::size_t k = 0; k < targets.size(); ++k)
    targets[k].X_BG.translation() << 0.001 * static_cast<double>(k), 0.02, 0.2;
  std::vector<BatchResult> results(targets.size());
  std::vector<SectionState> states(3 * targets.size());
  solve_batch(solver, targets, results, states, {.threads = kThreads});
  for (std::size_t k = 0; k < targets.size(); ++k) CHECK(results[k].iterations > 0);
}

TEST_CASE("threads: recordings are written and read at once", "[threads]") {
  const Folder folder;
  constexpr std::int64_t kRows = 600;
  std::array<std::int64_t, kThreads> rows{};
  at_once([&](int i) {
    const auto file = folder.path / (std::to_string(i) + ".h5");
    RolloutWriter writer(file, arm_layout(), {}, {});
    InventedRow row(arm_layout());
    for (std::int64_t k = 0; k < kRows; ++k) writer.append(row.make(k));
    writer.close("done");
    RolloutReader reader(file);
    for (std::int64_t k = 0; k < reader.row_count(); ++k)
      rows[static_cast<std::size_t>(i)] += reader.row(k).step == k;
  });
  for (const std::int64_t count : rows) CHECK(count == kRows);
}

TEST_CASE("threads: simulations of one model", "[threads]") {
  const ModelPtr model = load_two_arms();
  std::array<std::vector<mjtNum>, kThreads> together;
  at_once([&](int i) { together[static_cast<std::size_t>(i)] = future(model, i); });
  for (int i = 0; i < kThreads; ++i)
    CHECK(same_bits(together[static_cast<std::size_t>(i)], future(model, i)));
}

TEST_CASE("threads: a scene is loaded, run and freed on each", "[threads]") {
  load_tendril();
  std::array<std::vector<mjtNum>, kThreads> together;
  std::array<std::string, kThreads> errors;
  at_once([&](int i) {
    const auto k = static_cast<std::size_t>(i);
    for (int repeat = 0; repeat < 3; ++repeat) {
      const ModelPtr model = load_arms(errors[k]);
      if (!model) return;
      together[k] = future(model, i);
    }
  });
  for (const std::string& error : errors) CHECK(error.empty());
  const ModelPtr model = load_two_arms();
  for (int i = 0; i < kThreads; ++i)
    CHECK(same_bits(together[static_cast<std::size_t>(i)], future(model, i)));
}
