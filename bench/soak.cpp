// Runs, reloads and replans in one process for a long time. Its memory in the last minute, on the
// mean, is compared with that in the second: growth of 1 % or more is a leak and gives exit code 1.
// (Single values vary by 2 %, as the allocator has it.) bench/soak runs it from the source folder.

#include <fmt/format.h>
#include <malloc.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "simulation/rollout/run.hpp"
#include "tendril/model/value.hpp"
#include "tendril/model_error.hpp"
#include "tendril/plan_file/path_plan.hpp"
#include "tendril/plan_file/plan_file.hpp"
#include "tendril/plan_file/plan_result.hpp"

namespace {

namespace fs = std::filesystem;
using namespace tendril;
using Clock = std::chrono::steady_clock;

constexpr double kMinute = 60.0;    // [s]
constexpr double kDuration = 0.25;  // of each run, simulated [s]
constexpr double kMaxGrowth = 0.01;

constexpr const char* kExperiments[] = {"scenes/reach/moves.toml",
                                        "scenes/reach_clutter/reach_clutter.toml",
                                        "scenes/reach_clutter/random.toml",
                                        "scenes/trail/trail.toml",
                                        "scenes/tube_insertion/tube_insertion.toml",
                                        "scenes/tube_narrow/tube_narrow.toml",
                                        "scenes/wrap_button/wrap_button.toml",
                                        "scenes/wrap_reach/moved_case_1_short.toml",
                                        "scenes/snake_travel/goals.toml",
                                        "scenes/snake_path/snake_path.toml",
                                        "scenes/youbot_clutter/youbot_clutter.toml",
                                        "scenes/mobile_arm/mobile_arm.toml"};
constexpr const char* kPlans[] = {"scenes/plans/case_1.toml", "scenes/plans/grasp_post.toml",
                                  "scenes/tube_narrow/plan.toml"};

std::string text_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw ModelError(file.string() + ": not found: run it from the source folder");
  return {std::istreambuf_iterator<char>(in), {}};
}

void plan(const char* file) {
  const std::string toml = text_of(file);
  if (is_path_plan(toml))
    (void)solve_path_plan(parse_path_plan(toml, file));
  else
    (void)solve_plan(parse_plan(toml, file));
}

/// Resident memory of the process [MiB].
double memory() {
  malloc_trim(0);
  std::ifstream in("/proc/self/statm");
  double total = 0.0, resident = 0.0;
  in >> total >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE)) / (1024.0 * 1024.0);
}

/// Mean memory of the samples from `from` to `to`.
double mean(std::span<const std::pair<double, double>> samples, double from, double to) {
  double sum = 0.0;
  long count = 0;
  for (const auto& [time, mib] : samples) {
    if (time < from || time > to) continue;
    sum += mib;
    ++count;
  }
  return sum / static_cast<double>(count);
}

int soak(double hours) {
  const fs::path folder = fs::temp_directory_path() / ("tendril-soak-" + std::to_string(getpid()));
  fs::create_directories(folder);
  long runs = 0, plans = 0, steps = 0, refused = 0;
  std::vector<std::pair<double, double>> samples;  // time [s], memory [MiB]
  const Clock::time_point start = Clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  fmt::print("{:>9} {:>8} {:>8} {:>10}\n", "s", "runs", "plans", "MiB");
  for (std::uint64_t round = 0; elapsed() < std::max(3600.0 * hours, 3.0 * kMinute); ++round) {
    for (const char* file : kExperiments) {
      simulation::RunOptions options;
      options.changes.seed = round;
      options.changes.duration = kDuration;
      options.recording = folder / "rollout.h5";
      const simulation::Experiment experiment = simulation::load_experiment(file);
      steps += simulation::run_experiment(experiment, options).steps;
      ++runs;
    }
    for (const char* file : kPlans) {
      plan(file);
      ++plans;
    }
    try {  // what is refused must leave nothing behind either
      simulation::RunOptions options;
      options.changes.settings.push_back(simulation::parse_setting("controller.integral_gain=-1"));
      (void)simulation::run_experiment(simulation::load_experiment(kExperiments[0]), options);
    } catch (const ModelError&) {
      ++refused;
    }
    samples.emplace_back(elapsed(), memory());
    fmt::print("{:9.0f} {:8} {:8} {:10.2f}\n", samples.back().first, runs, plans,
               samples.back().second);
    std::fflush(stdout);
  }
  fs::remove_all(folder);
  const double end = samples.back().first;
  const double before = mean(samples, kMinute, 2.0 * kMinute);
  const double after = mean(samples, end - kMinute, end);
  const double growth = after / before - 1.0;
  const bool holds = growth < kMaxGrowth;  // not so for a NaN
  fmt::print(
      "{} runs of {} steps, {} plans, {} refused; {:.2f} MiB in the second minute, {:.2f} MiB "
      "in the last: {:+.2f} %: {}\n",
      runs, steps / std::max(1L, runs), plans, refused, before, after, 100.0 * growth,
      holds ? "holds" : "GROWS");
  return holds ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  char* end = nullptr;
  const double hours = argc == 2 ? std::strtod(argv[1], &end) : 0.0;
  if (argc != 2 || end == argv[1] || *end != '\0' || !(hours >= 0.0 && hours <= 1000.0)) {
    std::cerr << "usage: bench/soak HOURS    HOURS in [0, 1000]; at least three minutes\n";
    return 2;
  }
  try {
    return soak(hours);
  } catch (const std::exception& error) {
    std::cerr << "soak: " << error.what() << '\n';
    return 4;
  }
}
