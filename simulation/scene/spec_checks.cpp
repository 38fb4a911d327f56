#include "simulation/scene/spec_checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <span>
#include <string_view>

#include "simulation/engine/angle_units.hpp"

namespace tendril::simulation {
namespace {

constexpr double kTurn = 2.0 * std::numbers::pi;

class Angles {
 public:
  explicit Angles(mjSpec& spec) : spec_(spec) {}

  std::vector<std::string> lines() {
    each(mjOBJ_FRAME, "frame", [](mjsElement* e) { return &mjs_asFrame(e)->alt; });
    each(mjOBJ_BODY, "body", [](mjsElement* e) { return &mjs_asBody(e)->alt; });
    each(mjOBJ_GEOM, "geom", [](mjsElement* e) { return &mjs_asGeom(e)->alt; });
    each(mjOBJ_SITE, "site", [](mjsElement* e) { return &mjs_asSite(e)->alt; });
    each(mjOBJ_CAMERA, "camera", [](mjsElement* e) { return &mjs_asCamera(e)->alt; });
    for (mjsElement* e = mjs_firstElement(&spec_, mjOBJ_JOINT); e != nullptr;
         e = mjs_nextElement(&spec_, e)) {
      const mjsJoint& joint = *mjs_asJoint(e);
      const bool turns = joint.type == mjJNT_HINGE || joint.type == mjJNT_BALL;
      if (turns && joint.limited != mjLIMITED_FALSE)
        flag(e, "joint", "range", joint.range, kMaxTurns * kTurn);
    }
    return std::move(lines_);
  }

 private:
  static constexpr double kMaxTurns = 5.0;  // of a joint

  template <class Orientation>
  void each(mjtObj type, const char* what, const Orientation& orientation) {
    for (mjsElement* e = mjs_firstElement(&spec_, type); e != nullptr;
         e = mjs_nextElement(&spec_, e)) {
      const mjsOrientation& alt = *orientation(e);
      if (alt.type == mjORIENTATION_EULER) flag(e, what, "euler", alt.euler, kTurn);
      if (alt.type == mjORIENTATION_AXISANGLE)
        flag(e, what, "axisangle", {alt.axisangle + 3, 1}, kTurn);
    }
  }

  void flag(mjsElement* element, const char* what, const char* key, std::span<const double> angles,
            double most) {
    const mjsCompiler* const compiler = mjs_getCompiler(element);
    if (compiler == nullptr) return;
    double largest = 0.0;
    for (const double angle : angles) largest = std::max(largest, std::abs(angle));
    const bool is_large = compiler->degree == 0 && largest > most * (1.0 + 1e-6);
    if (!is_large && (compiler->degree == 0 || !look_like_radians(angles))) return;
    std::string text;
    for (const double angle : angles) text += fmt::format(" {:.6g}", angle);
    const std::string_view name = mjs_getString(mjs_getName(element));
    lines_.push_back(fmt::format(
        "{}{}: {} ={} in {}: is the unit {}? The compiler's angle is \"{}\"", what,
        name.empty() ? "" : fmt::format(" {}", name), key, text,
        is_large ? "rad, more than a turn" : "degrees, parts of pi",
        is_large ? "rad, not degrees" : "degrees, not rad", is_large ? "radian" : "degree"));
  }

  mjSpec& spec_;
  std::vector<std::string> lines_;
};

int size_of(const mjDoubleVec* numbers) {
  int size = 0;
  if (numbers != nullptr) mjs_getDouble(numbers, &size);
  return size;
}

}  // namespace

std::vector<std::string> implausible_angles(mjSpec& spec) { return Angles(spec).lines(); }

std::vector<KeyframeSizes> keyframe_sizes(mjSpec& spec) {
  std::vector<KeyframeSizes> all;
  for (mjsElement* e = mjs_firstElement(&spec, mjOBJ_KEY); e != nullptr;
       e = mjs_nextElement(&spec, e)) {
    const mjsKey& key = *mjs_asKey(e);
    all.push_back({.name = mjs_getString(mjs_getName(e)),
                   .qpos = size_of(key.qpos),
                   .qvel = size_of(key.qvel),
                   .ctrl = size_of(key.ctrl),
                   .mpos = size_of(key.mpos),
                   .mquat = size_of(key.mquat)});
  }
  return all;
}

std::map<std::string, std::string> unlike_keyframes(const std::vector<KeyframeSizes>& written,
                                                    const mjModel& m) {
  std::map<std::string, std::string> lines;
  for (const KeyframeSizes& key : written) {
    const std::pair<const char*, std::pair<int, mjtSize>> fields[] = {
        {"qpos", {key.qpos, m.nq}},
        {"qvel", {key.qvel, m.nv}},
        {"ctrl", {key.ctrl, m.nu}},
        {"mpos", {key.mpos, 3 * m.nmocap}},
        {"mquat", {key.mquat, 4 * m.nmocap}}};
    std::string text;
    for (const auto& [name, sizes] : fields) {
      if (sizes.first == 0 || sizes.first == static_cast<int>(sizes.second)) continue;
      text += fmt::format("{}{} has {} numbers, the model {}", text.empty() ? "" : "; ", name,
                          sizes.first, sizes.second);
    }
    if (!text.empty()) {
      lines[key.name] = fmt::format(
          "keyframe {}: {}: must have one for each coordinate, those of attached robots too",
          key.name, text);
    }
  }
  return lines;
}

}  // namespace tendril::simulation
