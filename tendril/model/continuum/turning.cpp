#include "tendril/model/continuum/turning.hpp"

#include <fmt/format.h>

#include "tendril/kinematics/turning.hpp"
#include "tendril/model/continuum/arm_document.hpp"
#include "tendril/model/continuum/joint_damping.hpp"
#include "tendril/model/toml_fields.hpp"

namespace tendril {
namespace {

constexpr double kInJoint = 0.5;  // of the damping

constexpr KeyInfo kKeys[]{
    {"rotation", "",
     "`\"bending\"`: the section bends in every plane. `\"turning\"`: it bends in one plane of its "
     "own, which turns with it on its base ([turning](#sections-that-turn))"},
    {"turn_gain", "N m/rad", "kp of the servo of the turn"},
    {"turn_damping_time", "s", "kv / kp"},
    {"turn_torque_limit", "N m", "of the servo of the turn"}};

}  // namespace

namespace names {
std::string turn(int section) { return fmt::format("s{}_turn", section); }
}  // namespace names

KeyRows turning_keys() { return kKeys; }

void read_turning(const Fields& fields, SectionParameters& section, SectionPhysics& physics) {
  section.rotation = fields.choice<SectionRotation>(
      "rotation", {{"bending", SectionRotation::Bending}, {"turning", SectionRotation::Turning}});
  const bool turns = section.rotation == SectionRotation::Turning;
  for (const std::string_view key : {"turn_gain", "turn_damping_time", "turn_torque_limit"})
    if (!turns && fields.has(key)) fields.refuse(key, "needs rotation = \"turning\"");
  physics.turn = {.gain = fields.number("turn_gain", kTurnServo.gain, kPositiveNumber),
                  .damping_time = fields.number("turn_damping_time", kTurnServo.damping_time,
                                                kNotNegativeNumber),
                  .limit = fields.number("turn_torque_limit", kTurnServo.limit, kPositiveNumber)};
}

void require_turning(const Fields& top, const ContinuumDescription& robot) {
  const std::vector<Fields> tables = top.tables("section");
  for (std::size_t i = 0; i < tables.size(); ++i) {
    if (robot.sections[i].rotation != SectionRotation::Turning) continue;
    const auto refuse = [&](std::string_view why) {
      tables[i].refuse("rotation", fmt::format("{}, must be \"bending\"", why));
    };
    for (const SectionParameters& section : robot.sections)
      if (section.bend_plane != BendPlane::Any)
        refuse("the arm has sections that bend in one plane, which does not turn");
    if (robot.guide.exists()) refuse("the arm has a guide, in which it does not turn");
    if (!robot.tendons.empty()) refuse("the arm has tendons, which a turn would wind up");
    if (!robot.chambers.empty()) refuse("the arm has chambers, which do not turn");
    if (!std::holds_alternative<ServoDrive>(robot.physics[i].bend))
      refuse("a servo must set the bend of a section that turns");
    if (robot.start && !robot.start->bends.empty()) refuse("the arm starts bent, by [start]");
  }
}

void write_turn(ArmDocument& arm, std::size_t section, XmlNode& first_link) {
  if (arm.robot.sections[section].rotation != SectionRotation::Turning) return;
  const std::string name = names::turn(static_cast<int>(section) + 1);
  const auto& [gain, damping_time, limit] = arm.robot.physics[section].turn;
  const double damping = arm.robot.written_damping_time(damping_time) * gain;
  XmlNode& joint = arm.mjcf.add_joint(
      first_link, {{"name", name}, {"axis", {0, 0, 1}}, {"damping", kInJoint * damping}}, 0.0);
  write_armature(arm.robot, damping, joint);
  arm.mjcf.add_actuator("position",
                        {{"name", name},
                         {"joint", name},
                         {"kp", gain},
                         {"kv", (1.0 - kInJoint) * damping},
                         {"ctrlrange", {-kTurnLimit, kTurnLimit}},
                         {"forcerange", {-limit, limit}}},
                        0.0);
}

}  // namespace tendril
