#include "tendril/model/continuum/tip_camera.hpp"

#include <algorithm>
#include <numbers>

#include "tendril/model/continuum/arm_document.hpp"
#include "tendril/model/toml_fields.hpp"

namespace tendril {
namespace {

constexpr Range kViewAngle{0.1, 2.8};  // [rad]
constexpr double kBefore = 0.1;        // of the tip's radius: of the camera before what is there
constexpr double kDegrees = 180.0 / std::numbers::pi;

constexpr KeyInfo kKeys[]{
    {"camera", "",
     "a camera `tip_camera` that looks forward from the tip, with a light: `tendril render "
     "--camera tip_camera`, Tab in the window; with the attach prefix"},
    {"camera_angle", "rad", "its vertical field of view"}};

std::shared_ptr<const ArmPart> read(const Fields& tip, const ContinuumDescription& robot,
                                    const FileContents& /*file*/) {
  auto camera = std::make_shared<TipCamera>();
  const bool has_camera = tip.boolean("camera", false);
  camera->view_angle = tip.number("camera_angle", camera->view_angle, kViewAngle);
  if (!has_camera) {
    if (tip.has("camera_angle")) tip.refuse("camera_angle", "needs camera = true");
    return nullptr;
  }
  if (robot.part<Suction>() != nullptr)
    tip.refuse("camera", "the suction cup covers the front of the tip, must be left out");
  return camera;
}

}  // namespace

constinit const ArmPartKind kTipCameraKind{
    .table = "tip", .keys = kKeys, .actuator = {}, .read = read};

void TipCamera::write(ArmDocument& arm) const {
  const double radius = arm.tip_radius();
  const double front = arm.robot.part<Gripper>() != nullptr ? Gripper::palm_height(radius) : radius;
  const double height = arm.tip_height() + front + kBefore * radius;
  arm.last_body().add("camera", {{"name", names::kTipCamera},
                                 {"pos", {0, 0, height}},
                                 {"xyaxes", {-1, 0, 0, 0, 1, 0}},
                                 {"fovy", kDegrees * view_angle}});
  arm.last_body().add("light", {{"name", names::kTipLight},
                                {"pos", {0, 0, height}},
                                {"dir", {0, 0, 1}},
                                {"cutoff", std::min(90.0, kDegrees * view_angle)},
                                {"exponent", 2},
                                {"castshadow", "false"}});
}

PartLoad TipCamera::load(double /*tip_radius*/) const { return {}; }

}  // namespace tendril
