#include "plugin/plugin_instance.hpp"

#include <utility>
#include <vector>

#include "tendril/model_error.hpp"
#include "tendril/robot_file/continuum_model.hpp"

namespace tendril {

Settings read_settings(const mjModel* m, int instance, std::span<const SettingInfo> settings,
                       std::span<const char* const> common) {
  std::vector<std::pair<std::string, std::string>> values;
  const auto read = [&](const char* name) {
    if (const char* text = mj_getPluginConfig(m, instance, name); text && *text)
      values.emplace_back(name, text);
  };
  for (const SettingInfo& setting : settings) read(setting.name);
  for (const char* name : common) read(name);
  return Settings(std::move(values));
}

std::string instance_prefix(const mjModel* m, int instance) {
  const char* name = mj_id2name(m, mjOBJ_PLUGIN, instance);
  const std::string_view text = name ? name : "";
  const std::string_view suffix = names::kController;
  return text.ends_with(suffix) ? std::string(text.substr(0, text.size() - suffix.size()))
                                : std::string();
}

std::string_view sensor_quantity_name(const mjModel* m, int instance, int sensor) {
  const char* name = mj_id2name(m, mjOBJ_SENSOR, sensor);
  std::string_view text = name ? name : "";
  const std::string prefix = instance_prefix(m, instance);
  if (text.starts_with(prefix)) text.remove_prefix(prefix.size());
  return text;
}

std::string_view target_name(const Settings& settings, std::span<const SettingInfo> infos) {
  if (settings.has("target")) return settings.text("target");
  for (const SettingInfo& setting : infos) {
    if (std::string_view(setting.name) == "target") return setting.default_value;
  }
  return {};
}

int target_mocap(const mjModel* m, std::string_view target) {
  // The target belongs to the scene: its name is as written, not prefixed.
  const int body = mj_name2id(m, mjOBJ_BODY, std::string(target).c_str());
  if (body < 0)
    throw ModelError("target = " + std::string(target) +
                     ": must be the name of a mocap body of the scene; there is no such body");
  if (m->body_mocapid[body] < 0)
    throw ModelError("target = " + std::string(target) + ": must be a mocap body (mocap=\"true\")");
  return m->body_mocapid[body];
}

int require_element(const mjModel* m, mjtObj type, const std::string& name) {
  const int id = mj_name2id(m, type, name.c_str());
  if (id < 0) {
    throw ModelError(std::string(mju_type2Str(type)) + " " + name +
                     ": missing: the model must hold the robot that the setting robot describes");
  }
  return id;
}

namespace {

mjvGeom* next_geom(mjvScene* scene) {
  return scene->ngeom < scene->maxgeom ? scene->geoms + scene->ngeom : nullptr;
}

}  // namespace

void draw_sphere(mjvScene* scene, const Eigen::Vector3d& p, double radius, const float colour[4]) {
  mjvGeom* geom = next_geom(scene);
  if (!geom) return;
  const mjtNum size[3] = {radius, radius, radius};
  mjv_initGeom(geom, mjGEOM_SPHERE, size, p.data(), nullptr, colour);
  geom->category = mjCAT_DECOR;
  ++scene->ngeom;
}

void draw_line(mjvScene* scene, std::span<const Eigen::Vector3d> points, double radius,
               const float colour[4]) {
  for (std::size_t i = 1; i < points.size(); ++i) {
    mjvGeom* geom = next_geom(scene);
    if (!geom) return;
    mjv_initGeom(geom, mjGEOM_CAPSULE, nullptr, nullptr, nullptr, colour);
    mjv_connector(geom, mjGEOM_CAPSULE, radius, points[i - 1].data(), points[i].data());
    geom->category = mjCAT_DECOR;
    ++scene->ngeom;
  }
}

}  // namespace tendril
