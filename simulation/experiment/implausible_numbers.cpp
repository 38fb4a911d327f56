#include "simulation/experiment/implausible_numbers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numbers>

namespace tendril::simulation {
namespace {

constexpr double kTurn = 2.0 * std::numbers::pi;
constexpr double kRoom = 200.0;    // lengths of a robot through which it may travel
constexpr double kLonger = 20.0;   // times the run: longer than any run that would be extended
constexpr double kFastest = 20.0;  // lengths in a second, more than a whip's tip
constexpr double kHardest = 500.0;

constexpr Believed kTable[] = {
    // object    key               unit       scale            most      away      instead
    {"motion", "times", "s", Scale::Duration, kLonger, kLonger, "ms"},
    {"motion", "begins", "s", Scale::Duration, 1.0, 1.0, "ms"},
    {"motion", "points", "m", Scale::Length, 5.0, kRoom, "mm"},
    {"motion", "center", "m", Scale::Length, 5.0, kRoom, "mm"},
    {"motion", "amplitude", "m", Scale::Length, 3.0, kRoom, "mm"},
    {"motion", "radius", "m", Scale::Length, 3.0, kRoom, "mm"},
    {"motion", "speed", "m/s", Scale::Speed, kFastest, kFastest, "mm/s"},
    {"motion", "speed / radius", "rad/s", Scale::One, kFastest* kTurn, kFastest* kTurn, "deg/s"},
    {"motion", "frequency", "Hz", Scale::One, 50.0, 50.0, "1/min"},
    {"motion", "phase", "rad", Scale::One, 2.0 * kTurn, 2.0 * kTurn, "degrees"},
    {"fault", "begins", "s", Scale::Duration, 1.0, 1.0, "ms"},
    {"fault", "duration", "s", Scale::Duration, kLonger, kLonger, "ms"},
    {"fault", "correlation_time", "s", Scale::Duration, kLonger, kLonger, "ms"},
    {"fault", "period", "s", Scale::Duration, 1.0, 1.0, "ms"},
    {"fault", "time", "s", Scale::Duration, 1.0, 1.0, "ms"},
    {"fault", "factor", "", Scale::One, 20.0, 20.0, "percent"},
    {"fault", "mass", "kg", Scale::Mass, 10.0, 10.0, "g"},
    {"fault", "force", "N", Scale::Weight, kHardest, kHardest, "mN"},
    {"fault", "torque", "N m", Scale::Moment, kHardest, kHardest, "N mm"},
    {"channel", "length", "m", Scale::Length, 0.5, 2.0, "mm"},
    {"channel", "speed", "m/s", Scale::Speed, kFastest, kFastest, "mm/s"},
    {"channel", "angle", "rad", Scale::Angle, 0.5, 0.5, "degrees"},
    {"channel", "rate", "rad/s", Scale::Rate, kFastest, kFastest, "deg/s"},
    {"channel", "force", "N", Scale::Weight, 2.0 * kHardest, 2.0 * kHardest, "mN"},
    {"channel", "moment", "N m", Scale::Moment, 2.0 * kHardest, 2.0 * kHardest, "N mm"},
    {"channel", "direction", "", Scale::One, 2.0, 2.0, "degrees"},
    {"check", "m", "m", Scale::Length, 2.0, 50.0, "mm"},
    {"check", "rad", "rad", Scale::One, 8.0 * kTurn, 8.0 * kTurn, "degrees"},
    {"check", "angle_error", "rad", Scale::One, 0.5 * std::numbers::pi, 0.5 * std::numbers::pi,
     "degrees"},
    {"check", "settle_time", "s", Scale::Duration, 10.0, 10.0, "ms"},
    {"check", "threshold", "m", Scale::Length, 0.5, 5.0, "mm"},
    {"check", "before", "s", Scale::Duration, kLonger, kLonger, "ms"},
    {"setting", "offset", "m", Scale::Length, kRoom, kRoom, "mm"},
    {"controller", "m", "m", Scale::Length, 3.0, kRoom, "mm"},
    {"controller", "rad", "rad", Scale::One, 2.0 * kTurn, 2.0 * kTurn, "degrees"},
    {"controller", "N", "N", Scale::Weight, 2.0 * kHardest, 2.0 * kHardest, "mN"},
};

}  // namespace

const Believed& believed(std::string_view object, std::string_view key) {
  return *std::find_if(std::begin(kTable), std::end(kTable),
                       [&](const Believed& row) { return row.object == object && row.key == key; });
}

std::pair<double, std::string> Sizes::of(Scale scale) const {
  const double moment = robot.weight() * robot.length;
  const auto named = [](double size, const char* what, const char* unit) {
    return std::pair(size, fmt::format("{} ({:.3g} {})", what, size, unit));
  };
  switch (scale) {
    case Scale::One:
      return {1.0, ""};
    case Scale::Duration:
      return named(duration, "the duration of the run", "s");
    case Scale::Length:
      return named(robot.length, "the robot's length", "m");
    case Scale::Speed:
      return named(robot.length, "the robot's length in a second", "m");
    case Scale::Mass:
      return named(robot.mass, "the robot's mass", "kg");
    case Scale::Weight:
      return named(robot.weight(), "the robot's weight", "N");
    case Scale::Moment:
      return named(moment, "the robot's weight at its length", "N m");
    case Scale::Angle:
      return named(robot.range, "the robot's largest angle", "rad");
    case Scale::Rate:
      return named(robot.range, "the robot's largest angle in a second", "rad");
  }
  return {};
}

double largest(std::span<const double> values) {
  double most = 0.0;
  for (const double value : values) most = std::max(most, std::abs(value));
  return most;
}

std::string text_of(std::span<const double> values) {
  constexpr std::size_t kShown = 6;
  if (values.size() == 1) return fmt::format("{:.6g}", values.front());
  std::string text;
  for (std::size_t i = 0; i < std::min(values.size(), kShown); ++i)
    text += fmt::format("{}{:.6g}", i == 0 ? "" : ", ", values[i]);
  return fmt::format("[{}{}]", text, values.size() > kShown ? ", ..." : "");
}

void ImplausibleNumbers::say(NoticeCode code, const std::string& what) {
  lines.push_back(notice_text(code, fmt::format("{}: {}", where, what)));
}

void ImplausibleNumbers::begins(const char* object, const char* key, double start) {
  const Believed& row = believed(object, "begins");
  if (start < sizes.duration * row.most || start == 0.0) return;
  say("implausible-size",
      fmt::format("{} = {:.6g} s: the run ends at {:.6g} s: is the unit s, not {}?", key, start,
                  sizes.duration, row.instead));
}

bool ImplausibleNumbers::flag(const char* object, const char* key, double value) {
  return flag(believed(object, key), key, {&value, 1});
}

bool ImplausibleNumbers::flag(const char* object, const char* key, const Eigen::Vector3d& value) {
  return flag(believed(object, key), key, {value.data(), 3});
}

bool ImplausibleNumbers::flag(const Believed& row, std::string_view key,
                              std::span<const double> values) {
  return flag(row, key, values, largest(values));
}

bool ImplausibleNumbers::flag(const Believed& row, std::string_view key,
                              std::span<const double> values, double size) {
  const auto [scale, name] = sizes.of(row.scale);
  const double most = sizes.is_fixed ? row.most : row.most_away;
  if (!(scale > 0.0) || !(size > most * scale)) return false;
  const std::string gap = row.unit[0] == '\0' ? "" : " ";
  const std::string times =
      name.empty() ? "" : fmt::format(", {:.3g} times {}", size / scale, name);
  const std::string unit = row.unit[0] == '\0'
                               ? fmt::format("is it in {}?", row.instead)
                               : fmt::format("is the unit {}, not {}?", row.unit, row.instead);
  say("implausible-size",
      fmt::format("{} = {}{}{}{}: {}", key, text_of(values), gap, row.unit, times, unit));
  return true;
}

}  // namespace tendril::simulation
