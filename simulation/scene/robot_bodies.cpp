#include "simulation/scene/robot_bodies.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "tendril/model/robot_mjcf.hpp"

namespace tendril::simulation {

namespace {

/// The names of a robot that a tuple declares by one body. Either that body is the robot's base by
/// its names, or the scene declares a separate body; nothing for a tuple that declares no robot.
std::optional<RobotNames> declared_names(const mjModel& model, int tuple) {
  const char* const text = mj_id2name(&model, mjOBJ_TUPLE, tuple);
  const int first = model.tuple_adr[tuple];
  if (text == nullptr || model.tuple_size[tuple] != 1 || model.tuple_objtype[first] != mjOBJ_BODY)
    return std::nullopt;
  const int body = model.tuple_objid[first];
  const auto is_base = [&](const RobotNames& names) {
    return mj_name2id(&model, mjOBJ_BODY, names(names::kBase).c_str()) == body;
  };
  if (auto names = split_name(text, names::kRobot, is_base)) return names;
  return split_name(text, names::kRobot, [](const RobotNames& n) { return n.suffix.empty(); });
}

/// A body that an actuator moves; 0 for one that is of none.
int body_of_actuator(const mjModel& model, int actuator) {
  const int target = model.actuator_trnid[2 * actuator];
  const int type = model.actuator_trntype[actuator];
  if (type == mjTRN_JOINT || type == mjTRN_JOINTINPARENT) return model.jnt_bodyid[target];
  if (type == mjTRN_BODY) return target;
  if (type == mjTRN_SITE || type == mjTRN_SLIDERCRANK) return model.site_bodyid[target];
  if (type == mjTRN_TENDON && model.tendon_num[target] > 0) {
    const int first = model.tendon_adr[target];
    const int object = model.wrap_objid[first];
    if (model.wrap_type[first] == mjWRAP_JOINT) return model.jnt_bodyid[object];
    if (model.wrap_type[first] == mjWRAP_SITE) return model.site_bodyid[object];
  }
  return 0;
}

}  // namespace

RobotBodies::RobotBodies(const mjModel& model)
    : base_(static_cast<std::size_t>(model.nbody), 0),
      geom_body_(model.geom_bodyid, model.geom_bodyid + model.ngeom) {
  std::vector<Robot> declared;
  for (int tuple = 0; tuple < model.ntuple; ++tuple) {
    if (auto names = declared_names(model, tuple))
      declared.push_back({*std::move(names), model.tuple_objid[model.tuple_adr[tuple]]});
  }
  std::sort(declared.begin(), declared.end(),
            [](const Robot& a, const Robot& b) { return a.base < b.base; });
  for (int body = 1; body < model.nbody; ++body) {
    int& base = base_[static_cast<std::size_t>(body)];
    base = base_[static_cast<std::size_t>(model.body_parentid[body])];
    if (base != 0) continue;
    for (const Robot& robot : declared) {
      if (robot.base != body) continue;
      base = body;
      robots_.push_back(robot);
      break;
    }
  }
  for (int i = 0; i < static_cast<int>(model.nactuator); ++i)
    actuator_base_.push_back(base_of_body(body_of_actuator(model, i)));
}

}  // namespace tendril::simulation
