#include "simulation/engine/setting.hpp"

#include <fmt/format.h>

#include "tendril/model_error.hpp"
#include "tendril/shell_pattern.hpp"

namespace tendril::simulation {
namespace {

std::string_view trimmed(std::string_view text) {
  constexpr const char* kBlank = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

}  // namespace

Setting parse_setting(std::string_view text) {
  const std::size_t equals = text.find('=');
  std::string_view key, value;
  if (equals != std::string_view::npos) {
    key = trimmed(text.substr(0, equals));
    value = trimmed(text.substr(equals + 1));
  }
  if (key.empty() || value.empty()) {
    throw ModelError(
        fmt::format("--set: {}: must be key=value, for example option.timestep=0.002", text));
  }
  try {
    return {std::string(key), Value::parse(value), "--set"};
  } catch (const ModelError& error) {
    throw ModelError(fmt::format("--set: {}: {}", key, error.what()));
  }
}

void refuse(const Setting& setting, std::string_view allowed) {
  throw ModelError(
      fmt::format("{}: {}: {}: {}", setting.origin, setting.key, setting.value.text(), allowed));
}

std::vector<double> setting_numbers(const Setting& setting, std::size_t min_count,
                                    std::size_t max_count, std::string_view allowed) {
  const auto numbers = setting.value.numbers();
  if (!numbers || numbers->size() < min_count || numbers->size() > max_count)
    refuse(setting, allowed);
  return *numbers;
}

double setting_number(const Setting& setting, const Range& range) {
  const auto numbers = setting.value.numbers();
  if (!numbers || numbers->size() != 1 || !range.contains(numbers->front()))
    refuse(setting, "must be " + to_string(range));
  return numbers->front();
}

std::string setting_word(const Setting& setting) {
  const auto* word = std::get_if<std::string>(&setting.value.data);
  return word != nullptr ? *word : setting.value.text();
}

Setting resolved(const Setting& setting, std::span<const double> present) {
  const std::optional<double> scale = setting.value.scale();
  if (!scale) return setting;
  Value::List scaled;
  for (const double number : present) scaled.push_back({*scale * number});
  return {setting.key, scaled.size() == 1 ? scaled.front() : Value{std::move(scaled)},
          setting.origin};
}

bool matches(const std::string& pattern, const std::string& name) {
  return pattern == name || matches_pattern(name, pattern);
}

}  // namespace tendril::simulation
