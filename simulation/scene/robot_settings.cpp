#include "simulation/scene/robot_settings.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <utility>

namespace tendril::simulation {
namespace {

constexpr std::string_view kRobot = "robot.", kController = "controller.";

/// What is before the first dot; empty without a dot.
std::string_view first_word(std::string_view key) {
  const std::size_t dot = key.find('.');
  return dot == key.npos ? std::string_view() : key.substr(0, dot);
}

}  // namespace

RobotSettings::RobotSettings(std::span<const Setting> settings,
                             std::span<const AttachedFile> attached) {
  for (const AttachedFile& file : attached)
    if (!file.prefix.empty()) prefixes_.push_back(file.prefix);
  std::sort(prefixes_.begin(), prefixes_.end(), [](const auto& a, const auto& b) {
    return a.size() != b.size() ? a.size() > b.size() : a < b;
  });
  for (const Setting& setting : settings) {
    const std::string_view key = setting.key;
    const bool is_controllers = key.starts_with(kController);
    if (!is_controllers && !key.starts_with(kRobot)) continue;
    std::string_view rest = key.substr((is_controllers ? kController : kRobot).size());
    const auto prefix = std::find_if(prefixes_.begin(), prefixes_.end(), [&](const auto& known) {
      return rest.starts_with(known + ".");
    });
    if (prefix != prefixes_.end())
      rest.remove_prefix(prefix->size() + 1);
    else if (is_controllers && !first_word(rest).empty())
      refuse_prefix(setting, first_word(rest));
    std::string own(rest);
    if (is_controllers) own.insert(0, kController);
    entries_.push_back({setting,
                        {std::move(own), setting.value, setting.origin},
                        prefix != prefixes_.end() ? *prefix : ""});
  }
}

std::vector<Override> RobotSettings::of(std::string_view prefix) const {
  std::vector<Override> overrides;
  for (const Entry& entry : entries_)
    if (entry.prefix.empty() || entry.prefix == prefix) overrides.push_back(entry.change);
  return overrides;
}

bool RobotSettings::has(std::string_view prefix) const {
  return !prefix.empty() && std::any_of(entries_.begin(), entries_.end(),
                                        [&](const Entry& entry) { return entry.prefix == prefix; });
}

void RobotSettings::refuse_prefix(const Setting& setting, std::string_view prefix) const {
  const std::set<std::string> known(prefixes_.begin(), prefixes_.end());
  refuse(setting,
         fmt::format("'{}' is no prefix of a robot: {}", prefix,
                     known.empty() ? "the scene attaches none with a prefix"
                                   : fmt::format("the scene has {}", fmt::join(known, ", "))));
}

void RobotSettings::refuse_of(std::string_view prefix, std::string_view reason) const {
  const auto own = std::find_if(entries_.begin(), entries_.end(),
                                [&](const Entry& entry) { return entry.prefix == prefix; });
  refuse(own->setting, fmt::format("the file attached with {} {}", prefix, reason));
}

void RobotSettings::rethrow(const ModelError& error) const {
  for (const Entry& entry : entries_) {
    const std::string_view word = first_word(entry.change.key);
    if (!entry.prefix.empty() || word.empty() || !entry.setting.key.starts_with(kRobot)) continue;
    if (std::string_view(error.what()).find(fmt::format("unknown key '{}'", word)) !=
        std::string_view::npos)
      refuse_prefix(entry.setting, word);
  }
  throw;
}

}  // namespace tendril::simulation
