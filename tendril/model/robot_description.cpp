#include "tendril/model/robot_description.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <sstream>

#include "tendril/model/readers.hpp"
#include "tendril/model_error.hpp"

namespace tendril {
namespace {

/// NAME of a setting `{ file = "NAME" }`; empty for other settings.
std::string file_of(const toml::node& node) {
  const toml::table* table = node.as_table();
  if (table == nullptr || table->size() != 1) return {};
  return (*table)["file"].value_or(std::string());
}

/// Appends the config text of a setting's value; lists are flattened.
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

std::string setting_text(const FileContents& file, const Fields& fields, std::string_view key,
                         const toml::node& node) {
  std::string text;
  if (const std::string name = file_of(node); !name.empty()) {
    try {
      return file.read(name);
    } catch (const ModelError& error) {
      fields.refuse(key, error.what());
    }
  }
  append_setting(fields, key, node, text);
  return text;
}

/// A kind of file and who reads it.
struct Kind {
  std::string_view name;
  std::string_view what;
  ModelDescription (*read)(const FileContents& file);
};
template <class... D>
constexpr std::array<Kind, sizeof...(D)> kinds_of(std::type_identity<std::variant<D...>>) {
  return {Kind{D::kKind, D::kWhat,
               [](const FileContents& file) -> ModelDescription { return D::read(file); }}...};
}
constexpr auto kKinds = kinds_of(std::type_identity<ModelDescription>());
constexpr std::span kRobotKinds = std::span(kKinds).first<std::variant_size_v<RobotDescription>>();

/// Reads a file that must be of one of these kinds.
ModelDescription read_model(const FileContents& file, std::span<const Kind> allowed) {
  std::string words;
  for (const Kind& kind : allowed)
    words += fmt::format("{}\"{}\"", words.empty() ? "" : ", ", kind.name);
  const std::string name = file.top.text("kind", kKinds[0].name);
  for (const Kind& kind : kKinds) {
    if (kind.name != name) continue;
    const bool fits = std::any_of(allowed.begin(), allowed.end(),
                                  [&](const Kind& one) { return one.name == name; });
    if (fits) return kind.read(file);
    if (!file.top.has("kind")) file.top.missing("kind", "is missing, must be " + words);
    file.top.refuse("kind", fmt::format("this file is {}, must be {}", kind.what, words));
  }
  file.top.refuse("kind", "must be " + words);
}

std::string written(const toml::table& table) {
  std::ostringstream stream;
  stream << table << '\n';
  return stream.str();
}

ModelDescription parse(std::string_view toml, const std::string& file_name,
                       std::span<const Override> overrides, const FileReader& read,
                       std::span<const Kind> allowed) {
  toml::table table = parse_toml(toml, file_name);
  std::string text(toml);
  if (!overrides.empty()) {
    apply_overrides(table, overrides, file_name);
    text = written(table);
  }
  return read_model(
      {Fields(table, file_name), std::move(text),
       read ? read : files_in(std::filesystem::path(file_name).parent_path()), overrides},
      allowed);
}

}  // namespace

ControllerConfig read_controller(const FileContents& file) {
  ControllerConfig controller;
  if (!file.top.has("controller")) return controller;
  const Fields fields = file.top.table("controller");
  controller.plugin =
      fields.required_text("plugin", "must name a plugin, such as \"tendril.reach\"");
  controller.is_elsewhere = controller.plugin == ControllerConfig::kElsewhere;
  if (ControllerConfig::is_none(controller.plugin)) controller.plugin.clear();
  controller.origin = fields.origin(*fields.get("plugin"));
  for (const std::string_view reserved : {"robot", "arm"})
    if (fields.has(reserved)) fields.refuse(reserved, "this key is reserved for the robot itself");

  // A TOML table is sorted by key; the plugin gets its settings in the order of the text.
  std::vector<std::pair<std::string_view, const toml::node*>> in_order;
  for (const auto& [key, node] : fields.toml()) {
    if (key.str() != "plugin") in_order.emplace_back(key.str(), &node);
  }
  std::stable_sort(in_order.begin(), in_order.end(), [](const auto& a, const auto& b) {
    const auto& p = a.second->source().begin;
    const auto& q = b.second->source().begin;
    return std::pair(p.line, p.column) < std::pair(q.line, q.column);
  });
  for (const auto& [key, node] : in_order) {
    controller.settings.push_back(
        {std::string(key), setting_text(file, fields, key, *node), fields.origin(*node)});
  }
  return controller;
}

FileReader files_in(const std::filesystem::path& folder) {
  return [folder](const std::string& name) { return read_text_file(folder / name); };
}

ModelDescription parse_model(std::string_view toml, const std::string& file_name,
                             std::span<const Override> overrides, const FileReader& read) {
  return parse(toml, file_name, overrides, read, kKinds);
}

ModelDescription load_model(const std::filesystem::path& file,
                            std::span<const Override> overrides) {
  return parse_model(read_text_file(file), file.string(), overrides);
}

ModelDescription parse_kind(std::string_view kind, std::string_view toml,
                            const std::string& file_name, std::span<const Override> overrides,
                            const FileReader& read) {
  const auto found =
      std::ranges::find_if(kKinds, [&](const Kind& one) { return one.name == kind; });
  return parse(toml, file_name, overrides, read, {found, 1});
}

ModelDescription load_kind(std::string_view kind, const std::filesystem::path& file,
                           std::span<const Override> overrides) {
  return parse_kind(kind, read_text_file(file), file.string(), overrides);
}

RobotDescription parse_robot(std::string_view toml, const std::string& file_name,
                             std::span<const Override> overrides, const FileReader& read) {
  return *as_robot(parse(toml, file_name, overrides, read, kRobotKinds));
}

RobotDescription load_robot(const std::filesystem::path& file,
                            std::span<const Override> overrides) {
  return parse_robot(read_text_file(file), file.string(), overrides);
}

RobotDescription parse_configured(const std::string& text, const std::string& arm_text) {
  const auto without_skin = [](const std::string& toml) {
    toml::table table = parse_toml(toml, "robot");
    return table.erase(names::kSkin) > 0 ? written(table) : toml;
  };
  RobotDescription robot = parse_robot(without_skin(text), "robot", {},
                                       [&](const std::string&) { return without_skin(arm_text); });
  std::visit([&](auto& d) { d.text = text; }, robot);
  if (auto* const mobile = std::get_if<MobileDescription>(&robot); mobile && mobile->mounted)
    mobile->mounted->robot.text = arm_text;
  return robot;
}

std::string without_controller_settings(const std::string& toml,
                                        const std::vector<std::string>& keys) {
  toml::table table = parse_toml(toml, "");
  if (toml::table* const controller = table["controller"].as_table()) {
    for (const std::string& key : keys) controller->erase(key);
  }
  return written(table);
}

std::string_view kind_name(const ModelDescription& model) {
  return std::visit([]<class D>(const D&) { return std::string_view(D::kKind); }, model);
}

const ControllerConfig& controller_of(const RobotDescription& robot) {
  return std::visit([](const auto& d) -> const ControllerConfig& { return d.controller; }, robot);
}

ControllerConfig& controller_of(RobotDescription& robot) {
  return std::visit([](auto& d) -> ControllerConfig& { return d.controller; }, robot);
}

std::span<const RobotSensor> sensors_of(const RobotDescription& robot) {
  return std::visit([](const auto& d) -> std::span<const RobotSensor> { return d.sensors; }, robot);
}

std::optional<RobotDescription> as_robot(const ModelDescription& model) {
  return std::visit(
      []<class D>(const D& d) -> std::optional<RobotDescription> {
        if constexpr (RobotKind<D>) {
          return d;
        } else {
          return std::nullopt;
        }
      },
      model);
}

}  // namespace tendril
