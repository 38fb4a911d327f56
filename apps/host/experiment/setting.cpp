#include "apps/host/experiment/setting.hpp"

#include <fmt/format.h>
#include <fnmatch.h>
#include <toml++/toml.h>

#include <cmath>

#include "tendril/model_error.hpp"

namespace tendril::host {
namespace {

constexpr const char* kBlank = " \t\r\n";

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

/// `v = value` as a table; empty when the value is not TOML.
toml::table as_toml(const Setting& setting) {
  try {
    toml::table table = toml::parse("v = " + setting.value);
    if (table.size() == 1) return table;
  } catch (const toml::parse_error&) {
  }
  return {};
}

}  // namespace

Setting parse_setting(std::string_view text) {
  const std::size_t equals = text.find('=');
  Setting setting;
  if (equals != std::string_view::npos) {
    setting.key = trimmed(text.substr(0, equals));
    setting.value = trimmed(text.substr(equals + 1));
  }
  if (setting.key.empty() || setting.value.empty()) {
    throw ModelError(
        fmt::format("--set: {}: must be key=value, for example option.timestep=0.002", text));
  }
  return setting;
}

void refuse(const Setting& setting, std::string_view allowed) {
  throw ModelError(
      fmt::format("{}: {}: {}: {}", setting.origin, setting.key, setting.value, allowed));
}

std::vector<double> setting_numbers(const Setting& setting, std::size_t min_count,
                                    std::size_t max_count, std::string_view allowed) {
  const toml::table table = as_toml(setting);
  std::vector<double> numbers;
  const auto add = [&](const toml::node& node) {
    const auto number = node.value<double>();
    if (!node.is_number() || !number || !std::isfinite(*number)) refuse(setting, allowed);
    numbers.push_back(*number);
  };
  if (const toml::node* value = table.get("v")) {
    if (const toml::array* array = value->as_array()) {
      for (const toml::node& node : *array) add(node);
    } else {
      add(*value);
    }
  }
  if (numbers.size() < min_count || numbers.size() > max_count) refuse(setting, allowed);
  return numbers;
}

double setting_number(const Setting& setting, double low, double high, std::string_view allowed) {
  const double number = setting_numbers(setting, 1, 1, allowed).front();
  if (number < low || number > high) refuse(setting, allowed);
  return number;
}

std::string setting_word(const Setting& setting) {
  const toml::table table = as_toml(setting);
  if (const toml::node* value = table.get("v")) {
    if (const auto word = value->value<std::string>()) return *word;
  }
  return setting.value;
}

bool matches(const std::string& pattern, const std::string& name) {
  return pattern == name || fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
}

}  // namespace tendril::host
