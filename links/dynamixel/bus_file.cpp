#include "links/dynamixel/bus_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "links/dynamixel/bus.hpp"
#include "tendril/model/toml_fields.hpp"

namespace tendril::dynamixel {
namespace {

constexpr Range kWatchdogTime{0.02, 2.54};  // 1 to 127 counts of 20 ms
constexpr Range kRatio{1e-6, 1e6};

ModelFamily read_family(const Fields& servo) {
  std::vector<std::string_view> names;
  for (const ModelFamily& family : kModelFamilies) names.push_back(family.name);
  const std::string allowed = "must be one of: " + joined(names);
  const std::string name = servo.required_text("model", allowed);
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) servo.refuse("model", allowed);
  return kModelFamilies[static_cast<std::size_t>(found - names.begin())];
}

ServoDescription read_servo(const Fields& servo) {
  servo.refuse_unknown({"id", "model", "actuator", "radius", "gear", "direction", "zero",
                        "current_limit", "torque_constant"});
  ServoDescription read;
  if (!servo.has("id")) servo.missing("id", fmt::format("is missing, must be in [0, {}]", kMaxId));
  read.id = servo.integer("id", 0, 0, kMaxId);
  read.family = read_family(servo);
  read.actuator = servo.required_text("actuator", "must be the name of an actuator of the robot");
  const std::string_view drive = servo.one_of({"radius", "gear"});
  read.is_tendon = drive == "radius";
  const double number = servo.required_number(drive, kRatio);
  read.ratio = read.is_tendon ? number : 1.0 / number;
  read.direction = servo.integer("direction", 1, -1, 1);
  if (read.direction == 0) servo.refuse("direction", "must be 1 or -1");
  read.zero =
      servo.required_number("zero", {-kMaxGoal * registers::kStep, kMaxGoal * registers::kStep});
  read.current_limit = servo.number("current_limit", {0.0, 32767 * read.family.current_unit, true});
  read.torque_constant = servo.number("torque_constant", kPositiveNumber);
  return read;
}

/// Refuses an id or an actuator that two servos have.
void refuse_twice(const std::vector<Fields>& fields, const std::vector<ServoDescription>& servos) {
  for (std::size_t i = 0; i < servos.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      const std::string by = fmt::format("is that of servo {} too", j + 1);
      if (servos[i].id == servos[j].id) fields[i].refuse("id", by);
      if (servos[i].actuator == servos[j].actuator) fields[i].refuse("actuator", by);
    }
}

}  // namespace

BusDescription read_bus_file(const std::filesystem::path& file) {
  return parse_bus(read_text_file(file), file.string());
}

BusDescription parse_bus(std::string_view text, const std::string& file_name) {
  const toml::table table = parse_toml(text, file_name);
  const Fields top(table, file_name);
  top.refuse_unknown({"port", "baud", "watchdog", "servo"});
  BusDescription bus;
  bus.port = top.required_text("port", "must be a serial port, such as \"/dev/ttyUSB0\"");
  bus.baud = top.integer("baud", bus.baud, 0, std::numeric_limits<int>::max());
  if (std::find(kBaudRates.begin(), kBaudRates.end(), bus.baud) == kBaudRates.end())
    top.refuse("baud", fmt::format("must be one of: {}", fmt::join(kBaudRates, ", ")));
  bus.watchdog = top.number("watchdog", bus.watchdog, kWatchdogTime);
  const std::vector<Fields> servos = top.tables("servo");
  if (servos.empty() || servos.size() > kMaxServos)
    top.refuse_object(
        fmt::format("{} tables [[servo]]: must be 1 to {}", servos.size(), kMaxServos));
  for (const Fields& servo : servos) bus.servos.push_back(read_servo(servo));
  refuse_twice(servos, bus.servos);
  return bus;
}

std::string with_zeros(std::string_view text, const std::string& file_name,
                       std::span<const double> zeros) {
  const toml::table table = parse_toml(text, file_name);
  std::vector<std::string> lines(1);
  for (const char c : text) {
    if (c == '\n')
      lines.emplace_back();
    else
      lines.back() += c;
  }
  for (std::size_t i = 0; i < zeros.size(); ++i) {
    const toml::source_region& at = table["servo"][i]["zero"].node()->source();
    std::string& line = lines.at(at.begin.line - 1);
    line.replace(at.begin.column - 1, at.end.column - at.begin.column,
                 fmt::format("{:.5f}", zeros[i]));
  }
  return fmt::format("{}", fmt::join(lines, "\n"));
}

}  // namespace tendril::dynamixel
