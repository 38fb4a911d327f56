#include "controllers/interface/settings.hpp"

#include <cmath>
#include <stdexcept>

#include "tendril/model_error.hpp"
#include "tendril/number_text.hpp"

namespace tendril {
namespace {

[[noreturn]] void refuse(std::string_view name, std::string_view text, const std::string& allowed) {
  throw ModelError(std::string(name) + " = " + std::string(text) + ": must be " + allowed);
}

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

/// Removes and returns the first word.
std::string_view next_word(std::string_view& rest) {
  rest = trimmed(rest);
  const auto end = rest.find_first_of(" \t\r\n");
  const std::string_view word = rest.substr(0, end);
  rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end);
  return word;
}

double parsed(const SettingInfo& info, std::string_view text) {
  const std::optional<double> value = read_number(text);
  if (!value || !info.range.contains(*value)) {
    const std::string allowed = to_string(info.range);
    refuse(info.name, text, allowed == "finite" ? "a finite number" : allowed);
  }
  return *value;
}

}  // namespace

std::string default_text(const SettingInfo& info) {
  if (info.type != SettingInfo::Type::Choice) return info.default_value;
  std::string_view words = info.choices;
  return std::string(next_word(words));
}

const SettingInfo& Settings::row(std::string_view name) const {
  for (const SettingInfo& info : rows_) {
    if (name == info.name) return info;
  }
  throw std::logic_error("setting " + std::string(name) + ": has no row in the controller's table");
}

const SettingInfo& Settings::row(std::string_view name, SettingInfo::Type type) const {
  const SettingInfo& info = row(name);
  if (info.type == type) {
    reads_.insert(info.name);
    return info;
  }
  throw std::logic_error("setting " + std::string(name) + ": its row has another type");
}

std::string_view Settings::given(std::string_view name) const noexcept {
  for (const auto& [key, value] : values_) {
    if (key == name) return trimmed(value);
  }
  return {};
}

bool Settings::has(std::string_view name) const { return !given(row(name).name).empty(); }

std::string_view Settings::text(std::string_view name) const {
  const SettingInfo& info = row(name);
  reads_.insert(info.name);
  const std::string_view text = given(name);
  return text.empty() ? std::string_view(info.default_value) : text;
}

double Settings::number(std::string_view name) const {
  const SettingInfo& info = row(name, SettingInfo::Type::Number);
  return parsed(info, text(name));
}

std::optional<double> Settings::optional_number(std::string_view name) const {
  const SettingInfo& info = row(name, SettingInfo::Type::Number);
  if (given(name).empty()) return std::nullopt;
  return parsed(info, given(name));
}

int Settings::integer(std::string_view name) const {
  const SettingInfo& info = row(name, SettingInfo::Type::Integer);
  const double value = parsed(info, text(name));
  if (value != std::floor(value)) refuse(name, text(name), "an integer " + to_string(info.range));
  return static_cast<int>(value);
}

bool Settings::flag(std::string_view name) const {
  static_cast<void>(row(name, SettingInfo::Type::Flag));
  const std::string_view value = text(name);
  if (value == "true") return true;
  if (value == "false") return false;
  refuse(name, value, "true or false");
}

std::vector<double> Settings::numbers(std::string_view name) const {
  static_cast<void>(row(name, SettingInfo::Type::Numbers));
  std::vector<double> values;
  for (std::string_view rest = given(name); !trimmed(rest).empty();) {
    const std::string_view word = next_word(rest);
    const std::optional<double> value = read_number(word);
    if (!value) refuse(name, word, "finite numbers separated by spaces");
    values.push_back(*value);
  }
  return values;
}

int Settings::choice_index(std::string_view name) const {
  const SettingInfo& info = row(name, SettingInfo::Type::Choice);
  const std::string_view value = given(name);
  if (value.empty()) return 0;
  std::string allowed = "one of";
  int index = 0;
  for (std::string_view rest = info.choices; !trimmed(rest).empty(); ++index) {
    const std::string_view word = next_word(rest);
    if (word == value) return index;
    allowed += (index == 0 ? " " : ", ") + std::string(word);
  }
  refuse(name, value, allowed);
}

std::string_view Settings::scene_name(std::string_view name, SettingInfo::Type type) const {
  static_cast<void>(row(name, type));
  return text(name);
}

std::vector<SettingInfo> joined(std::initializer_list<std::span<const SettingInfo>> tables) {
  std::vector<SettingInfo> all;
  for (const auto& table : tables) all.insert(all.end(), table.begin(), table.end());
  return all;
}

}  // namespace tendril
