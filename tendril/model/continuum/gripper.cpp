#include "tendril/model/continuum/gripper.hpp"

#include <fmt/format.h>

#include <cmath>

#include "tendril/model/continuum/arm_document.hpp"
#include "tendril/model/continuum/chain.hpp"
#include "tendril/model/continuum/joint_damping.hpp"
#include "tendril/model/toml_fields.hpp"
#include "tendril/standard_arithmetic.hpp"

namespace tendril {

namespace names {
std::string finger(int i) { return fmt::format("gripper_finger_{}", i); }
}  // namespace names

namespace {

constexpr KeyInfo kKeys[]{
    {"opening", "m", "largest distance between the fingers"},
    {"force", "N", "largest force of each finger"},
    {"speed", "m/s", "of the opening at that force"},
    {"gain", "N/m", "of the servo"},
    {"finger_length", "m", "along the axis of the tip"},
    {"finger_width", "m", "of the faces that hold"},
    {"finger_thickness", "m", "across the faces"},
    {"mass", "kg", "of the whole gripper; each finger has a fifth"},
    {"friction", "",
     "between the fingers and everything they touch; that of the other body does not count"},
    {"angle", "rad", "of the direction of opening, about the axis of the tip, from x towards y"}};

constexpr Range kLength{1e-4, 10.0};  // [m]
constexpr Range kGripperMass{1e-4, 1e3};
constexpr Range kFriction{1e-5, 100.0};

std::shared_ptr<const ArmPart> read(const Fields& table, const ContinuumDescription& robot,
                                    const FileContents& /*file*/) {
  if (robot.part<Suction>() != nullptr)
    table.refuse_object("[tip] has a suction cup, must be one of the two");
  auto gripper = std::make_shared<Gripper>();
  gripper->opening = table.required_number("opening", kLength);
  const auto number = [&table](std::string_view key, double& value, const Range& allowed) {
    value = table.number(key, value, allowed);
  };
  number("force", gripper->force, kPositiveNumber);
  number("speed", gripper->speed, kPositiveNumber);
  number("gain", gripper->gain, kPositiveNumber);
  number("finger_length", gripper->finger_length, kLength);
  number("finger_width", gripper->finger_width, kLength);
  number("finger_thickness", gripper->finger_thickness, kLength);
  number("mass", gripper->mass, kGripperMass);
  number("friction", gripper->friction, kFriction);
  number("angle", gripper->angle, kAnyNumber);
  return gripper;
}

XmlNode& add_palm(ArmDocument& arm, const Gripper& gripper, double height) {
  XmlNode& palm =
      arm.last_body().add("body", {{"name", names::kGripper}, {"pos", {0, 0, arm.tip_height()}}});
  if (gripper.angle != 0.0) palm.set("euler", {0, 0, gripper.angle});
  XmlNode& geom = palm.add("geom", {{"name", names::kGripper},
                                    {"type", "box"},
                                    {"pos", {0, 0, height / 2.0}},
                                    {"size",
                                     {gripper.opening / 2.0 + gripper.finger_thickness,
                                      gripper.finger_width / 2.0, height / 2.0}},
                                    {"mass", gripper.palm_mass()},
                                    {"rgba", "0.25 0.25 0.28 1"}});
  arm.touches(geom);
  palm.add("site", {{"name", names::kGrasp},
                    {"pos", {0, 0, height + gripper.finger_length / 2.0}},
                    {"size", 0.002}});
  return palm;
}

void add_finger(ArmDocument& arm, const Gripper& gripper, int i, double palm_height,
                XmlNode& palm) {
  const std::string name = names::finger(i);
  const double side = i == 1 ? 1.0 : -1.0, thickness = gripper.finger_thickness;
  const double damping = 2.0 * gripper.force / gripper.speed;
  XmlNode& body = palm.add(
      "body", {{"name", name}, {"pos", {0, 0, palm_height + gripper.finger_length / 2.0}}});
  XmlNode& joint = arm.mjcf.add_joint(body,
                                      {{"name", name},
                                       {"type", "slide"},
                                       {"axis", {side, 0, 0}},
                                       {"range", {0, gripper.opening / 2.0}},
                                       {"damping", damping}},
                                      0.0);
  write_armature(arm.robot, damping, joint);
  XmlNode& geom = body.add(
      "geom", {{"name", name},
               {"type", "box"},
               {"pos", {side * thickness / 2.0, 0, 0}},
               {"size", {thickness / 2.0, gripper.finger_width / 2.0, gripper.finger_length / 2.0}},
               {"mass", gripper.finger_mass()},
               {"condim", 4},
               {"priority", 1},
               {"friction", {gripper.friction, 0.005, 0.0001}},
               {"rgba", "0.15 0.15 0.17 1"}});
  arm.touches(geom);
}

/// Excludes contacts of links with the palm and the fingers, as wide as they are.
void add_excludes(ArmDocument& arm, const Gripper& gripper) {
  if (!arm.robot.self_collision) return;
  const double reach =
      hypotenuse(gripper.opening / 2.0 + gripper.finger_thickness, gripper.finger_width / 2.0);
  const std::vector<ChainPiece> pieces = chain_pieces(arm);
  for (const ChainPiece& piece : pieces) {
    if (pieces.back().end - piece.end > reach) continue;
    arm.mjcf.exclude(piece.body, names::kGripper);
    for (const int i : {1, 2}) arm.mjcf.exclude(piece.body, names::finger(i));
  }
  arm.mjcf.exclude(names::finger(1), names::finger(2));
}

void add_drive(MjcfDocument& mjcf, const Gripper& gripper) {
  XmlNode& tendon = mjcf.tendon.add("fixed", {{"name", names::kGripper}});
  for (const int i : {1, 2}) tendon.add("joint", {{"joint", names::finger(i)}, {"coef", 1}});
  mjcf.equality.add("joint", {{"joint1", names::finger(1)}, {"joint2", names::finger(2)}})
      .set(stiff_contact());
  mjcf.add_actuator("position",
                    {{"name", names::kGripper},
                     {"tendon", names::kGripper},
                     {"kp", gripper.gain},
                     {"ctrlrange", {0, gripper.opening}},
                     {"forcerange", {-gripper.force, gripper.force}}},
                    0.0, CommandedBy::User);
  mjcf.sensor.add("tendonpos", {{"name", names::kGripperOpening}, {"tendon", names::kGripper}});
  mjcf.sensor.add("actuatorfrc", {{"name", names::kGripperForce}, {"actuator", names::kGripper}});
}

}  // namespace

constinit const ArmPartKind kGripperKind{
    .table = "gripper", .keys = kKeys, .actuator = names::kGripper, .read = read};

void Gripper::write(ArmDocument& arm) const {
  const double height = palm_height(arm.tip_radius());
  XmlNode& palm = add_palm(arm, *this, height);
  for (const int i : {1, 2}) add_finger(arm, *this, i, height, palm);
  add_excludes(arm, *this);
  add_drive(arm.mjcf, *this);
}

PartLoad Gripper::load(double tip_radius) const {
  const double palm = palm_height(tip_radius);
  const double center =
      (palm_mass() * palm / 2.0 + 2.0 * finger_mass() * (palm + finger_length / 2.0)) / mass;
  return {.mass = mass, .height = center};
}

}  // namespace tendril
