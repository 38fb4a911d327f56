#include "drive/real_time_loop.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>
#include <vector>

#include "drive/robot_message.hpp"

namespace tendril {

LoopTimes run_real_time(DriveLoop& loop, RobotLink& link, const RealTimeOptions& options) {
  using Clock = std::chrono::steady_clock;
  constexpr double kProgressInterval = 0.1;  // s
  const RobotPorts& ports = loop.driver().ports();
  RobotMessage message(ports);
  std::vector<double> numbers(message.size(), 0.0), commands(ports.actuators.size(), 0.0);
  const auto step =
      std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(options.timestep));
  const auto seconds = [](Clock::duration d) { return std::chrono::duration<double>(d).count(); };
  LoopTimes times;
  double late_sum = 0.0, last_progress = 0.0;
  const Clock::time_point start = Clock::now();
  Clock::time_point due = start;
  for (;;) {
    std::this_thread::sleep_until(due);
    const Clock::time_point begin = Clock::now();
    const double time = seconds(begin - start), late = seconds(begin - due);
    if (options.duration > 0.0 && time >= options.duration) break;
    if (options.stop != nullptr && options.stop->load(std::memory_order_relaxed)) break;
    const bool any = link.receive(numbers);
    if (link.has_failed()) break;
    const auto come = any ? std::span<const double>(numbers) : std::span<const double>();
    const bool is_new =
        step_by_message(loop, time, message, come, options.targets.at(time), commands);
    const Order order = loop.state() == DriveState::Waiting ? Order::Hello
                        : is_new                            ? Order::Command
                                                            : Order::Hold;
    (void)link.send(order, time, commands);
    ++times.steps;
    late_sum += late;
    times.longest_late = std::max(times.longest_late, late);
    const double duration = seconds(Clock::now() - begin);
    times.longest_step = std::max(times.longest_step, duration);
    if (options.on_step)
      options.on_step({.time = time,
                       .late = late,
                       .duration = duration,
                       .message = come,
                       .commands = commands});
    due += step;
    for (; due + step <= Clock::now(); due += step) ++times.skipped;
    if (options.on_progress && time - last_progress >= kProgressInterval) {
      last_progress = time;
      options.on_progress(time);
    }
  }
  (void)link.send(Order::Hold, seconds(Clock::now() - start), commands);
  times.mean_late = times.steps > 0 ? late_sum / static_cast<double>(times.steps) : 0.0;
  return times;
}

}  // namespace tendril
