#include <fmt/format.h>

#include <memory>
#include <string>

#include "apps/tendril/commands.hpp"
#include "apps/tendril/interrupt.hpp"
#include "apps/tendril/progress.hpp"
#include "apps/tendril/terminal.hpp"
#include "tendril/model_error.hpp"
#ifdef TENDRIL_DYNAMIXEL
#include <algorithm>
#include <chrono>
#include <cmath>
#include <numbers>
#include <thread>

#include "links/dynamixel/winding.hpp"
#include "simulation/rollout/run.hpp"
#include "tendril/model/robot_description.hpp"
#include "tendril/model/toml_fields.hpp"
#endif

namespace tendril {
namespace {

struct ServosArguments {
  std::string bus, robot, output;
  bool quiet = false;
};

#ifdef TENDRIL_DYNAMIXEL
using dynamixel::ServoDescription;
using dynamixel::ServoReading;
using Clock = dynamixel::DynamixelBus::Clock;

constexpr int kExitLoose = 1;
constexpr double kPeriod = 0.02;  // s

Clock::duration period() {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(kPeriod));
}

/// A line for each servo: where it is and how it is loaded.
void print_servos(const dynamixel::Servos& servos) {
  say("{:>3} {:<6} {:<16} {:>9} {:>12} {:>10}\n", "id", "model", "actuator", "angle", "value",
      "force");
  for (std::size_t i = 0; i < servos.readings().size(); ++i) {
    const ServoDescription& servo = servos.description().servos[i];
    const ServoReading& reading = servos.readings()[i];
    const double angle = servo.zero + reading.value / (servo.direction * servo.ratio);
    const double value = servo.is_tendon ? 1e3 * reading.value : reading.value;
    say("{:>3} {:<6} {:<16} {:>9} {:>12} {:>10}{}\n", servo.id, servo.family.name, servo.actuator,
        fmt::format("{:.3f} rad", angle),
        fmt::format("{:.3f} {}", value, servo.is_tendon ? "mm" : "rad"),
        std::isnan(reading.force)
            ? "-"
            : fmt::format("{:.2f} {}", reading.force, servo.is_tendon ? "N" : "N m"),
        reading.hardware_error != 0
            ? fmt::format("  hardware_error = {:#04x}", reading.hardware_error)
            : "");
  }
}

/// The pretension of the tendon of each servo.
std::vector<double> tensions_of(const dynamixel::BusDescription& bus, const std::string& bus_file,
                                const std::string& robot_file) {
  const auto robot = load_as<ContinuumDescription>(robot_file);
  std::vector<double> tensions;
  for (const ServoDescription& servo : bus.servos) {
    const auto refuse = [&](const std::string& what) {
      throw ModelError(
          fmt::format("{}: servo {}: actuator = {}: {}", bus_file, servo.id, servo.actuator, what));
    };
    const auto tendon = std::ranges::find(robot.tendons, servo.actuator, &Tendon::name);
    if (tendon == robot.tendons.end() || !servo.is_tendon)
      refuse("must be a tendon of " + robot_file + " with a radius here");
    if (!(tendon->pretension > 0.0))
      refuse("has no pretension in " + robot_file + ": must have one");
    if (!servo.torque_constant)
      refuse("torque_constant: is missing, tells the tension by the current");
    tensions.push_back(tendon->pretension);
  }
  return tensions;
}

/// Winds the tendons up. Returns the exit code; 0: `winding` is done.
int wind_up(dynamixel::Servos& servos, dynamixel::Winding& winding, bool quiet) {
  const InterruptRequest interrupt;
  ProgressBar bar(quiet);
  std::vector<double> commands(servos.readings().size());
  Clock::time_point due = Clock::now(), heard = due;
  while (!winding.is_done()) {
    std::this_thread::sleep_until(due);
    if (InterruptRequest::is_set()) return kExitInterrupted;
    const int count = servos.read(due + period() / 2);
    if (count == static_cast<int>(commands.size())) heard = Clock::now();
    if (std::chrono::duration<double>(Clock::now() - heard).count() >
        servos.description().watchdog) {
      complain("not all servos answer");
      return kExitLoose;
    }
    if (heard >= due) {
      winding.step(servos.readings(), commands);
      servos.write(commands, due + period());
    }
    if (const auto loose = winding.loose()) {
      const ServoDescription& servo = servos.description().servos[*loose];
      complain(
          fmt::format("servo {} ({}): pulls {:.2f} N after it has wound up {:g} mm or tried for "
                      "{:g} s: is its tendon fixed, and its direction right?",
                      servo.id, servo.actuator, servos.readings()[*loose].force,
                      1e3 * dynamixel::Winding::kMostWound, dynamixel::Winding::kLongest));
      return kExitLoose;
    }
    double least = servos.readings()[0].force;
    for (const ServoReading& reading : servos.readings()) least = std::min(least, reading.force);
    bar.show(fmt::format("least tension {:.2f} N", least), 0.0);
    due = std::max(due + period(), Clock::now());
  }
  return 0;
}

int find_zeros(const ServosArguments& arguments, const std::string& text,
               dynamixel::Servos& servos) {
  dynamixel::Winding winding(tensions_of(servos.description(), arguments.bus, arguments.robot),
                             kPeriod);
  servos.torque_on();
  int code = 0;
  try {
    code = wind_up(servos, winding, arguments.quiet);
  } catch (...) {
    servos.torque_off();
    throw;
  }
  servos.torque_off();
  if (code != 0) return code;
  print_servos(servos);
  std::vector<double> zeros = winding.values();
  for (std::size_t i = 0; i < zeros.size(); ++i) {
    const ServoDescription& servo = servos.description().servos[i];
    zeros[i] = servo.zero + zeros[i] / (servo.direction * servo.ratio);
    if (!(zeros[i] >= 0.0 && zeros[i] < 2.0 * std::numbers::pi))
      complain(
          fmt::format("servo {} ({}): zero = {:.3f} rad is not in the turn that it reads after "
                      "power is switched on: turn its drum on the horn",
                      servo.id, servo.actuator, zeros[i]));
  }
  simulation::write_text_file(arguments.output, dynamixel::with_zeros(text, arguments.bus, zeros));
  say("{}: zero angles of {} servos\n", arguments.output, zeros.size());
  return 0;
}

int servos_command(const ServosArguments& arguments) {
  const std::string text = read_text_file(arguments.bus);
  const dynamixel::BusDescription description = dynamixel::parse_bus(text, arguments.bus);
  if (!arguments.robot.empty())
    static_cast<void>(tensions_of(description, arguments.bus, arguments.robot));
  dynamixel::DynamixelBus bus(description.port, description.baud);
  dynamixel::Servos servos(description, bus);
  if (!arguments.robot.empty()) return find_zeros(arguments, text, servos);
  servos.read(Clock::now() + std::chrono::seconds(1));
  print_servos(servos);
  return 0;
}
#else
int servos_command(const ServosArguments& arguments) {
  throw ModelError(arguments.bus +
                   ": this program was built without servos: build it with -DTENDRIL_DYNAMIXEL=ON");
}
#endif

}  // namespace

void add_servos_command(CommandLine& line) {
  const Command command =
      line.command("servos", "Lists the servos of a bus, or finds the zero angles of its tendons");
  const auto arguments = std::make_shared<ServosArguments>();
  command.option("bus", arguments->bus, "bus file (.toml) of Dynamixel servos").required();
  const Option output =
      command
          .option("-o,--output", arguments->output, "bus file with the zero angles that were found")
          .output();
  const Option zero = command.option(
      "--zero", arguments->robot,
      "robot file (.toml) of the arm: winds every tendon up to its pretension there. The arm must "
      "be held straight");
  zero.needs(output);
  output.needs(zero);
  command.flag("-q,--quiet", arguments->quiet, "no progress bar");
  command.footer(
      "Example: tendril servos bus.toml --zero arm.toml -o zeroed.toml\n"
      "Torque is switched off at the start and at the end.\n"
      "Exit codes: 0 done, 1 a tendon has no tension or a servo does not answer, 130 interrupted");
  command.action([arguments] { return servos_command(*arguments); });
}

}  // namespace tendril
