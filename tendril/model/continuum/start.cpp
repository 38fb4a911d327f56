#include "tendril/model/continuum/start.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tendril/model/continuum/description.hpp"
#include "tendril/model/toml_fields.hpp"

namespace tendril {
namespace {

constexpr KeyInfo kKeys[]{
    {"feed", "m", "of the base"},
    {"arcs", "1/m, m",
     "curvature (positive: towards +x) and length of consecutive arcs in the x-z plane, from the "
     "end of the guide or from the base; straight after them",
     "straight"},
    {"bends", "rad",
     "commanded bend of each section in that plane, or in its own with `bend_plane = \"yz\"`, "
     "stored in `ctrl` of the keyframe with the feed. Without a controller the arm keeps these "
     "commands",
     "0"},
    {"variable_lengths", "m",
     "variable part of the length of each section, 0 of one of fixed length; stored in `ctrl`, too",
     "half of the range"}};

std::vector<std::pair<double, double>> read_arcs(const Fields& fields,
                                                 const ContinuumDescription& robot) {
  std::vector<std::pair<double, double>> arcs;
  const std::vector<double> numbers = fields.numbers("arcs", kAnyNumber);
  if (numbers.size() % 2 != 0) fields.refuse("arcs", "must be pairs of curvature and length");
  for (std::size_t i = 0; i < numbers.size(); i += 2) {
    if (numbers[i + 1] <= 0.0) fields.refuse("arcs", "every length must be positive");
    arcs.emplace_back(numbers[i], numbers[i + 1]);
  }
  for (std::size_t i = 0; i < robot.physics.size() && !arcs.empty(); ++i)
    if (robot.sections[i].bend_plane == BendPlane::YZ)
      fields.refuse("arcs", fmt::format("must be left out: they are in the x-z plane, and section "
                                        "{} bends in the y-z plane alone",
                                        i + 1));
  return arcs;
}

std::vector<double> read_bends(const Fields& fields, const ContinuumDescription& robot) {
  const std::vector<double> bends = fields.numbers("bends", kAnyNumber);
  const std::size_t count = robot.sections.size();
  if (!bends.empty() && bends.size() != count)
    fields.refuse("bends", fmt::format("must be one for each section, {} in all", count));
  for (std::size_t i = 0; i < bends.size(); ++i) {
    const double limit = bend_command_limit(robot.sections[i]);
    if (std::abs(bends[i]) <= limit) continue;
    fields.refuse("bends",
                  fmt::format("that of section {} must be in [-{}, {}]", i + 1, limit, limit));
  }
  return bends;
}

std::vector<double> read_lengths(const Fields& fields, const ContinuumDescription& robot) {
  constexpr const char* kKey = "variable_lengths";
  const std::vector<double> lengths = fields.numbers(kKey, kNotNegativeNumber);
  const std::size_t count = robot.sections.size();
  if (!lengths.empty() && lengths.size() != count)
    fields.refuse(kKey, fmt::format("must be one for each section, {} in all", count));
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const Section section(robot.sections[i]);
    const double low = section.retracted(), high = section.variable_length();
    if (lengths[i] < low || lengths[i] > high)
      fields.refuse(kKey, fmt::format("that of section {} must be in [{}, {}]", i + 1, low, high));
  }
  return lengths;
}

}  // namespace

double StartPose::heading_at(double s) const noexcept {
  double turn = 0.0;
  for (const auto& [curvature, length] : arcs) {
    turn += curvature * std::clamp(s, 0.0, length);
    s -= length;
  }
  return turn;
}

StartPose read_start(const Fields& fields, const ContinuumDescription& robot) {
  fields.refuse_unknown(kKeys);
  StartPose start;
  start.feed = fields.number("feed", 0.0, kNotNegativeNumber);
  if (start.feed > robot.base.feed_limit)
    fields.refuse("feed",
                  fmt::format("must be in [0, {}], the base's feed", robot.base.feed_limit));
  start.arcs = read_arcs(fields, robot);
  start.bends = read_bends(fields, robot);
  start.variable_lengths = read_lengths(fields, robot);
  return start;
}

}  // namespace tendril
