#include "simulation/scene/model_tables.hpp"

#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "simulation/engine/engine.hpp"
#include "simulation/engine/quantities.hpp"
#include "simulation/scene/robot_bodies.hpp"
#include "simulation/scene/scene_robot.hpp"

namespace tendril::simulation {
namespace {

using Json = nlohmann::ordered_json;

// A JSON list with `row(i)` of each of `count` elements.
template <class Row>
std::string table(mjtSize count, const Row& row) {
  Json list = Json::array();
  for (int i = 0; i < count; ++i) list.push_back(row(i));
  return list.dump(-1, ' ', false, Json::error_handler_t::replace);
}

const char* joint_type(int type) {
  switch (type) {
    case mjJNT_FREE:
      return "free";
    case mjJNT_BALL:
      return "ball";
    case mjJNT_SLIDE:
      return "slide";
    default:
      return "hinge";
  }
}

/// Tells whether a sensor measures a curvature: that of a robot file has the name of its tendon.
bool is_grating(const mjModel& model, int sensor) {
  return object_name(model, mjOBJ_SENSOR, sensor) ==
         object_name(model, mjOBJ_TENDON, model.sensor_objid[sensor]);
}

/// Unit of a sensor of MuJoCo; empty where it depends on more than the sensor.
const char* unit_of(const mjModel& model, int sensor) {
  const int object = model.sensor_objid[sensor];
  const auto of_joint = [&](const char* slide, const char* hinge) {
    return model.jnt_type[object] == mjJNT_SLIDE ? slide : hinge;
  };
  switch (model.sensor_type[sensor]) {
    case mjSENS_TOUCH:
    case mjSENS_FORCE:
    case mjSENS_TENDONACTFRC:
    case mjSENS_TENDONLIMITFRC:
      return "N";
    case mjSENS_TORQUE:
      return "N m";
    case mjSENS_TENDONPOS:
      return is_grating(model, sensor) ? "1/m" : "m";
    case mjSENS_FRAMEPOS:
    case mjSENS_SUBTREECOM:
    case mjSENS_TENDONLIMITPOS:
    case mjSENS_GEOMDIST:
      return "m";
    case mjSENS_VELOCIMETER:
    case mjSENS_FRAMELINVEL:
    case mjSENS_SUBTREELINVEL:
    case mjSENS_TENDONVEL:
      return "m/s";
    case mjSENS_ACCELEROMETER:
    case mjSENS_FRAMELINACC:
      return "m/s^2";
    case mjSENS_GYRO:
    case mjSENS_BALLANGVEL:
    case mjSENS_FRAMEANGVEL:
      return "rad/s";
    case mjSENS_FRAMEANGACC:
      return "rad/s^2";
    case mjSENS_JOINTPOS:
    case mjSENS_JOINTLIMITPOS:
      return of_joint("m", "rad");
    case mjSENS_JOINTVEL:
    case mjSENS_JOINTLIMITVEL:
      return of_joint("m/s", "rad/s");
    case mjSENS_JOINTACTFRC:
    case mjSENS_JOINTLIMITFRC:
      return of_joint("N", "N m");
    case mjSENS_E_POTENTIAL:
    case mjSENS_E_KINETIC:
      return "J";
    case mjSENS_CLOCK:
      return "s";
    case mjSENS_PLUGIN:  // of a drum
      return model.sensor_objtype[sensor] == mjOBJ_TENDON ? "m" : "";
    default:
      return "";
  }
}

/// Unit of a sensor that is none of a controller's quantities: of a reading, that of its sensor.
const char* unit_of_other(const mjModel& model, int sensor) {
  const std::optional<std::string> shown = shown_quantity(&model, sensor);
  if (!shown) return unit_of(model, sensor);
  const RobotNames names = robot_names(&model, model.sensor_plugin[sensor]);
  for (int i = 0; i < model.nsensor; ++i) {
    const std::string name = object_name(model, mjOBJ_SENSOR, i);
    if (const auto own = names.element(name); own && names::reading(std::string(*own)) == *shown)
      return unit_of(model, i);
  }
  return unit_of(model, sensor);
}

/// Names and units of the coordinates of an arm, as its commands have them.
Json coordinates_of(const ContinuumDescription& arm) {
  Json list = Json::array();
  for (std::size_t i = 0; i < arm.sections.size(); ++i) {
    const std::string section = "section " + std::to_string(i + 1);
    list.push_back({section + ", u", "rad"});
    list.push_back({section + ", v", "rad"});
    if (arm.sections[i].variable_length > 0.0) list.push_back({section + ", length change", "m"});
  }
  return list;
}

/// A row of the table `robots`.
Json robot_row(const RobotBodies::Robot& robot, std::span<const SceneRobot> driven) {
  Json row{{"prefix", robot.names.prefix}, {"suffix", robot.names.suffix}, {"body", robot.base}};
  for (const SceneRobot& other : driven) {
    const auto* const arm = std::get_if<ContinuumDescription>(&other.description);
    if (arm != nullptr && other.names == robot.names) row["coordinates"] = coordinates_of(*arm);
  }
  return row;
}

}  // namespace

RolloutAttributes model_tables(const mjModel& model) {
  const auto name = [&](mjtObj type, int id) { return object_name(model, type, id); };
  const RobotBodies robots(model);
  const std::vector<SceneRobot> driven = robots_of(model);
  const std::vector<ReportedQuantity> declared = declared_quantities();

  RolloutAttributes tables;
  tables["sensors"] = table(model.nsensor, [&](int i) {
    const ReportedQuantity quantity =
        quantity_of(model, i, declared).value_or(ReportedQuantity{"", unit_of_other(model, i), ""});
    Json row{{"name", name(mjOBJ_SENSOR, i)},
             {"address", model.sensor_adr[i]},
             {"dimension", model.sensor_dim[i]},
             {"quantity", quantity.name},
             {"unit", quantity.unit}};
    if (shown_quantity(&model, i))
      row["robot"] = robot_names(&model, model.sensor_plugin[i]).label();
    return row;
  });
  tables["joints"] = table(model.njnt, [&](int i) {
    return Json{{"name", name(mjOBJ_JOINT, i)},
                {"type", joint_type(model.jnt_type[i])},
                {"qpos_address", model.jnt_qposadr[i]},
                {"dof_address", model.jnt_dofadr[i]}};
  });
  tables["actuators"] = table(model.nactuator, [&](int i) {
    return Json{{"name", name(mjOBJ_ACTUATOR, i)},
                {"address", model.actuator_ctrladr[i]},
                {"dimension", model.actuator_ctrlnum[i]}};
  });
  tables["bodies"] = table(model.nbody, [&](int i) {
    return Json{{"name", name(mjOBJ_BODY, i)}, {"parent", model.body_parentid[i]}};
  });
  tables["geoms"] = table(model.ngeom, [&](int i) {
    return Json{{"name", name(mjOBJ_GEOM, i)},
                {"body", model.geom_bodyid[i]},
                {"robot", robots.base_of_geom(i) != 0}};
  });
  tables["robots"] = table(static_cast<mjtSize>(robots.robots().size()), [&](int i) {
    return robot_row(robots.robots()[static_cast<std::size_t>(i)], driven);
  });
  return tables;
}

std::string plugin_names(const mjModel& model) {
  std::string names;
  for (int i = 0; i < model.nplugin; ++i) {
    const mjpPlugin* plugin = mjp_getPluginAtSlot(model.plugin[i]);
    if (i > 0) names += ' ';
    names += plugin ? plugin->name : "?";
  }
  return names;
}

}  // namespace tendril::simulation
