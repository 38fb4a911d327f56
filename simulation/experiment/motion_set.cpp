#include "simulation/experiment/motion_set.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "simulation/engine/engine.hpp"
#include "simulation/scene/scene.hpp"
#include "tendril/model_error.hpp"

namespace tendril::simulation {
namespace {

[[noreturn]] void refuse(const Motion& motion, const std::string& reason) {
  const bool of_actuator = !motion.actuator.empty();
  throw ModelError(fmt::format(
      "{}motion: {} = {}: {}", motion.origin.empty() ? "" : motion.origin + ": ",
      of_actuator ? "actuator" : "body", of_actuator ? motion.actuator : motion.body, reason));
}

}  // namespace

MotionSet::MotionSet(const mjModel& model, std::span<const Motion> motions,
                     std::span<const SceneRobot> robots) {
  for (const Motion& motion : motions) {
    if (!motion.actuator.empty()) {
      bind_actuator(model, motion, robots);
      continue;
    }
    const auto refuse_body = [&](const std::string& reason) { refuse(motion, reason); };
    const int body = mj_name2id(&model, mjOBJ_BODY, motion.body.c_str());
    const int mocap = body < 0 ? -1 : model.body_mocapid[body];
    if (mocap < 0) {
      std::string names;
      for (int i = 0; i < model.nbody; ++i) {
        if (model.body_mocapid[i] >= 0)
          names += (names.empty() ? "" : ", ") + object_name(model, mjOBJ_BODY, i);
      }
      refuse_body(fmt::format("must be a mocap body of the scene{}; {}",
                              body < 0
                                  ? ", there is no such body" +
                                        meant_object(model, mjOBJ_BODY, model.nbody, motion.body)
                                  : ", this body lacks mocap=\"true\"",
                              names.empty() ? "it has none" : "it has " + names));
    }
    if (std::any_of(bound_.begin(), bound_.end(),
                    [&](const Bound& b) { return b.mocap == mocap; })) {
      refuse_body("has two motions, must have one");
    }
    const mjtNum* q = model.body_quat + 4 * body;
    bound_.push_back({motion, mocap, Eigen::Vector3d(model.body_pos + 3 * body),
                      Eigen::Quaterniond(q[0], q[1], q[2], q[3])});
  }
}

void MotionSet::bind_actuator(const mjModel& model, const Motion& motion,
                              std::span<const SceneRobot> robots) {
  const int actuator = mj_name2id(&model, mjOBJ_ACTUATOR, motion.actuator.c_str());
  if (actuator < 0 || model.actuator_ctrlnum[actuator] != 1) {
    const std::string names =
        object_names(model, mjOBJ_ACTUATOR, static_cast<int>(model.nactuator));
    refuse(motion,
           fmt::format("must be an actuator of the scene{}; {}",
                       meant_object(model, mjOBJ_ACTUATOR, model.nactuator, motion.actuator),
                       names.empty() ? "it has none" : "it has " + names));
  }
  const std::vector<std::string> drivers = drivers_of(model, robots);
  if (const std::string& driver = drivers[static_cast<std::size_t>(actuator)]; !driver.empty()) {
    std::string others;
    for (std::size_t i = 0; i < drivers.size(); ++i) {
      if (drivers[i].empty())
        others +=
            (others.empty() ? "" : ", ") + object_name(model, mjOBJ_ACTUATOR, static_cast<int>(i));
    }
    refuse(motion,
           fmt::format("is driven by the controller {}, must be an actuator that none drives; {}",
                       driver, others.empty() ? "the scene has none" : "the scene has " + others));
  }
  const mjtNum* const range = model.actuator_ctrlrange + 2 * actuator;
  for (const double value : motion.values) {
    if (model.actuator_ctrllimited[actuator] == 0 || (value >= range[0] && value <= range[1]))
      continue;
    refuse(motion, fmt::format("values: {:g}: must be in the actuator's control range [{:g}, {:g}]",
                               value, range[0], range[1]));
  }
  const int control = model.actuator_ctrladr[actuator];
  if (std::any_of(driven_.begin(), driven_.end(),
                  [&](const Driven& d) { return d.control == control; })) {
    refuse(motion, "has two motions, must have one");
  }
  driven_.push_back({motion, control});
}

void MotionSet::apply(mjData& data, double time) const noexcept {
  for (const Driven& d : driven_) data.ctrl[d.control] = d.motion.control(time);
  for (const Bound& b : bound_) {
    Eigen::Map<Eigen::Vector3d>(data.mocap_pos + 3 * b.mocap) = b.motion.position(time, b.home);
    if (!b.motion.moves_orientation()) continue;
    const Eigen::Quaterniond q = b.motion.orientation(time, b.home_orientation);
    mjtNum* out = data.mocap_quat + 4 * b.mocap;
    out[0] = q.w();
    out[1] = q.x();
    out[2] = q.y();
    out[3] = q.z();
  }
}

std::vector<OwnedInput> MotionSet::inputs() const {
  std::vector<OwnedInput> inputs;
  const auto owner = [](const Motion& motion) {
    return fmt::format("its motion{}; take that out of the experiment to write it yourself",
                       motion.origin.empty() ? "" : fmt::format(" ({})", motion.origin));
  };
  for (const Driven& d : driven_) {
    inputs.push_back(
        {&mjData::ctrl, d.control, 1, "ctrl of " + d.motion.actuator, owner(d.motion)});
  }
  for (const Bound& b : bound_) {
    inputs.push_back(
        {&mjData::mocap_pos, 3 * b.mocap, 3, "mocap_pos of " + b.motion.body, owner(b.motion)});
    if (b.motion.moves_orientation()) {
      inputs.push_back(
          {&mjData::mocap_quat, 4 * b.mocap, 4, "mocap_quat of " + b.motion.body, owner(b.motion)});
    }
  }
  return inputs;
}

}  // namespace tendril::simulation
