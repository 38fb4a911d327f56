#include "simulation/rollout/run.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <memory>
#include <utility>

#include "tendril/system/file_descriptor.hpp"

namespace tendril::simulation {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kProgressInterval = std::chrono::milliseconds(100);

/// Calls a function once, at the latest when it goes out of scope.
struct AtEnd {
  std::function<void()> call;
  AtEnd() = default;
  AtEnd(const AtEnd&) = delete;
  AtEnd& operator=(const AtEnd&) = delete;
  ~AtEnd() { now(); }
  void now() {
    if (const auto once = std::exchange(call, nullptr)) once();
  }
};

}  // namespace

RunResult run_experiment(const Experiment& experiment, const RunOptions& options,
                         const OnNotices& on_notices) {
  PreparedRun prepared = prepare_run(experiment, options.changes);
  mjModel& model = *prepared.scene.model;
  const mjData& data = *prepared.data;
  ExperimentRun run(experiment, prepared, model, *prepared.data, options.changes,
                    options.command_line, on_notices);
  AtEnd at_end;
  if (options.on_ready) {
    options.on_ready(prepared);
    at_end.call = options.on_end;
  }
  if (options.on_loaded) options.on_loaded(model);
  if (!options.recording.empty()) {
    run.record(
        [&](const auto& layout, const auto& attributes, const auto& model_mjb) {
          return std::make_unique<RolloutWriter>(options.recording, layout, attributes, model_mjb);
        },
        options.attributes);
  }
  const Clock::time_point start = Clock::now();
  Clock::time_point reported = start;
  while (!run.done()) {
    run.step();
    const Clock::time_point now = Clock::now();
    if (options.on_progress && now - reported >= kProgressInterval) {
      reported = now;
      const double elapsed = std::chrono::duration<double>(now - start).count();
      options.on_progress({data.time, run.result().duration, data.time / elapsed});
    }
    if (options.stop != nullptr && options.stop->load(std::memory_order_relaxed)) run.interrupt();
  }
  at_end.now();
  return run.finish();
}

void make_output_folder(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    throw OutputError(
        fmt::format("{}: {}: must be a writable folder", folder.string(), error.message()));
  if (!std::filesystem::is_directory(folder)) {
    throw OutputError(fmt::format("{}: is a file: must be a writable folder", folder.string()));
  }
  if (!system::is_writable(folder)) {
    throw OutputError(
        fmt::format("{}: {}: must be a writable folder", folder.string(), std::strerror(errno)));
  }
}

void write_text_file(const std::filesystem::path& file, const std::string& text) {
  std::ofstream out(file, std::ios::binary | std::ios::trunc);
  out << text;
  out.close();
  if (!out)
    throw OutputError(
        fmt::format("{}: {}: could not be written", file.string(), std::strerror(errno)));
}

}  // namespace tendril::simulation
