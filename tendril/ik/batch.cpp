#include "tendril/ik/batch.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "tendril/ik/start_pose.hpp"
#include "tendril/model_error.hpp"

namespace tendril {
namespace {

constexpr std::size_t kChunk = 16;  // targets that a thread takes at a time

using Clock = std::chrono::steady_clock;

/// One thread's solver and start pose.
class Worker {
 public:
  explicit Worker(const AnySolver& solver)
      : solver_(solver), start_(static_cast<std::size_t>(solver.robot().section_count())) {}

  void solve(const TipTarget& target, SectionStates start, const BaseState& base, bool measure_time,
             BatchResult& result, std::span<SectionState> states) noexcept {
    if (start.empty()) {
      straight_start(solver_.robot(), target, base, start_);
      start = start_;
    }
    const Clock::time_point begin = measure_time ? Clock::now() : Clock::time_point{};
    const IkResult solution = solver_.solve(target, start, base);
    const Clock::time_point end = measure_time ? Clock::now() : Clock::time_point{};
    result = {.status = solution.status,
              .iterations = solution.iterations,
              .position_error = solution.position_error,
              .angle_error = solution.angle_error,
              .jumped = solution.jumped,
              .base = solution.base,
              .time = std::chrono::duration<double>(end - begin).count()};
    std::copy(solution.states.begin(), solution.states.end(), states.begin());
  }

 private:
  AnySolver solver_;
  std::vector<SectionState> start_;
};

void require_size(const char* what, std::size_t value, std::size_t desired) {
  if (value != desired)
    throw ModelError(std::string("batch: number of ") + what + " = " + std::to_string(value) +
                     ", must be " + std::to_string(desired));
}

}  // namespace

void solve_batch(const AnySolver& solver, std::span<const TipTarget> targets,
                 std::span<BatchResult> results, std::span<SectionState> states,
                 const BatchOptions& options) {
  const auto sections = static_cast<std::size_t>(solver.robot().section_count());
  require_size("results", results.size(), targets.size());
  require_size("states", states.size(), targets.size() * sections);
  if (!options.starts.empty())
    require_size("start states", options.starts.size(), targets.size() * sections);
  if (!options.bases.empty()) require_size("bases", options.bases.size(), targets.size());
  if (options.threads < 0)
    throw ModelError("batch: threads = " + std::to_string(options.threads) + ", must be >= 0");

  const std::size_t chunks = (targets.size() + kChunk - 1) / kChunk;
  const std::size_t desired = options.threads > 0
                                  ? static_cast<std::size_t>(options.threads)
                                  : std::max(1u, std::thread::hardware_concurrency());
  std::vector<Worker> workers(std::max<std::size_t>(1, std::min(desired, chunks)), Worker(solver));
  std::atomic<std::size_t> next_chunk = 0;
  const auto work = [&](Worker& worker) noexcept {
    for (std::size_t chunk = next_chunk++; chunk < chunks; chunk = next_chunk++) {
      const std::size_t end = std::min(targets.size(), (chunk + 1) * kChunk);
      for (std::size_t k = chunk * kChunk; k < end; ++k) {
        const SectionStates start = options.starts.empty()
                                        ? SectionStates{}
                                        : options.starts.subspan(k * sections, sections);
        const BaseState base = options.bases.empty() ? BaseState{} : options.bases[k];
        worker.solve(targets[k], start, base, options.measure_time, results[k],
                     states.subspan(k * sections, sections));
      }
    }
  };
  std::vector<std::jthread> threads;
  for (std::size_t i = 1; i < workers.size(); ++i)
    threads.emplace_back([&work, &worker = workers[i]] { work(worker); });
  work(workers.front());
}

}  // namespace tendril
