// Data races show in the preset `tsan`.

#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "tendril/ik/batch.hpp"
#include "tests/recording/recording.hpp"
#include "tests/support/reference_robots.hpp"
#include "tests/threads/at_once.hpp"

using namespace tendril;
using namespace tendril::test;

namespace {

struct Folder {
  std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("tendril_threads_" + std::to_string(getpid()));
  Folder() { std::filesystem::create_directory(path); }
  ~Folder() { std::filesystem::remove_all(path); }
};

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
