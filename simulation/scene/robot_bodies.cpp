#include "simulation/scene/robot_bodies.hpp"

#include <algorithm>
#include <string_view>

#include "tendril/model/robot_mjcf.hpp"

namespace tendril::simulation {

std::string RobotBodies::Robot::name() const {
  const std::size_t end = prefix.find_last_not_of("_/");
  return end == prefix.npos ? "robot" : prefix.substr(0, end + 1);
}

RobotBodies::RobotBodies(const mjModel& model)
    : base_(static_cast<std::size_t>(model.nbody), 0),
      geom_body_(model.geom_bodyid, model.geom_bodyid + model.ngeom) {
  std::vector<Robot> declared;
  for (int tuple = 0; tuple < model.ntuple; ++tuple) {
    const char* const text = mj_id2name(&model, mjOBJ_TUPLE, tuple);
    const std::string_view name = text ? text : "";
    const int first = model.tuple_adr[tuple];
    if (!name.ends_with(names::kRobot) || model.tuple_size[tuple] != 1 ||
        model.tuple_objtype[first] != mjOBJ_BODY)
      continue;
    const std::size_t prefix = name.size() - std::string_view(names::kRobot).size();
    declared.push_back({std::string(name.substr(0, prefix)), model.tuple_objid[first]});
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
}

}  // namespace tendril::simulation
