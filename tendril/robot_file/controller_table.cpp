#include "tendril/robot_file/controller_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "tendril/model_error.hpp"

namespace tendril::robot_file_detail {
namespace {

/// NAME of a setting `{ file = "NAME" }`; empty if it is none.
std::string file_of(const toml::node& node) {
  const toml::table* table = node.as_table();
  if (table == nullptr || table->size() != 1) return {};
  return (*table)["file"].value_or(std::string());
}

/// Appends the config text of a setting's value; arrays are flattened.
void append_setting(const Fields& fields, std::string_view key, const toml::node& node,
                    std::string& text) {
  if (const toml::array* array = node.as_array()) {
    for (const toml::node& element : *array) append_setting(fields, key, element, text);
    return;
  }
  if (!text.empty()) text += ' ';
  if (const auto integer = node.as_integer()) {
    text += fmt::format("{}", integer->get());
  } else if (const auto number = node.as_floating_point()) {
    if (!std::isfinite(number->get())) fields.refuse(key, "must be finite");
    text += fmt::format("{}", number->get());
  } else if (const auto boolean = node.as_boolean()) {
    text += boolean->get() ? "true" : "false";
  } else if (const auto string = node.as_string()) {
    text += string->get();
  } else {
    fields.refuse(
        key, "must be a string, a number, true, false, a list of these, or { file = \"NAME\" }");
  }
}

}  // namespace

ControllerConfig read_controller(const Fields& fields) {
  ControllerConfig controller;
  controller.plugin = fields.text("plugin", "");
  if (controller.plugin.empty()) {
    fields.refuse("plugin", "is missing, must name a plugin, such as \"tendril.reach\"");
  }
  if (fields.has("robot")) fields.refuse("robot", "this key is reserved for the robot itself");

  // A TOML table is sorted by key; the plugin gets its settings in the order of the text.
  std::vector<std::pair<std::string_view, const toml::node*>> in_order;
  for (const auto& [key, node] : fields.table()) {
    if (key.str() != "plugin") in_order.emplace_back(key.str(), &node);
  }
  std::stable_sort(in_order.begin(), in_order.end(), [](const auto& a, const auto& b) {
    const auto& p = a.second->source().begin;
    const auto& q = b.second->source().begin;
    return std::pair(p.line, p.column) < std::pair(q.line, q.column);
  });
  for (const auto& [key, node] : in_order) {
    if (std::string file = file_of(*node); !file.empty()) {
      controller.files.emplace_back(std::string(key), std::move(file));
      continue;
    }
    std::string value;
    append_setting(fields, key, *node, value);
    controller.settings.emplace_back(std::string(key), std::move(value));
  }
  return controller;
}

void read_setting_files(ControllerConfig& controller, const std::filesystem::path& folder) {
  for (const auto& [key, name] : controller.files) {
    std::string text;
    try {
      text = read_text(folder / name);
    } catch (const ModelError& error) {
      throw ModelError(
          fmt::format("controller: {} = {{ file = \"{}\" }}: {}", key, name, error.what()));
    }
    controller.settings.emplace_back(key, std::move(text));
  }
  controller.files.clear();
}

}  // namespace tendril::robot_file_detail
