#include "apps/host/experiment/motion_set.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "apps/host/engine/engine.hpp"
#include "tendril/model_error.hpp"

namespace tendril::host {

MotionSet::MotionSet(const mjModel& model, std::span<const Motion> motions) {
  for (const Motion& motion : motions) {
    const auto refuse_body = [&](const std::string& reason) {
      throw ModelError(fmt::format("{}motion: body = {}: {}",
                                   motion.origin.empty() ? "" : motion.origin + ": ", motion.body,
                                   reason));
    };
    const int body = mj_name2id(&model, mjOBJ_BODY, motion.body.c_str());
    const int mocap = body < 0 ? -1 : model.body_mocapid[body];
    if (mocap < 0) {
      std::string names;
      for (int i = 0; i < model.nbody; ++i) {
        if (model.body_mocapid[i] >= 0)
          names += (names.empty() ? "" : ", ") + object_name(model, mjOBJ_BODY, i);
      }
      refuse_body(
          fmt::format("must be a mocap body of the scene{}; {}",
                      body < 0 ? ", there is no such body" : ", this body lacks mocap=\"true\"",
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

void MotionSet::apply(mjData& data, double time) const noexcept {
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

}  // namespace tendril::host
