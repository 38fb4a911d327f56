#include "tendril/model/continuum/base.hpp"

#include <iterator>
#include <numbers>
#include <vector>

#include "tendril/model/continuum/arm_document.hpp"
#include "tendril/model/toml_fields.hpp"

namespace tendril {
namespace {

constexpr double kSpinCommandLimit = 4.0 * std::numbers::pi;  // [rad]

constexpr KeyInfo kKeys[]{{"feed", "m", "largest displacement along the base axis; 0: no feed"},
                          {"spin", "", "the base rotates about its axis"},
                          {"carriage_mass", "kg", "used with feed or spin"},
                          {"feed_gain", "N/m", "of the servo of the feed"},
                          {"feed_force_limit", "N", "of the servo of the feed"},
                          {"spin_gain", "N m/rad", "of the servo of the spin"},
                          {"spin_torque_limit", "N m", "of the servo of the spin"}};

void add_feed(ArmDocument& arm, XmlNode& carriage) {
  const BasePhysics& physics = arm.robot.base_physics;
  const double limit = arm.robot.base.feed_limit, start = arm.start_feed();
  arm.mjcf.add_joint(
      carriage,
      {{"name", names::kFeed}, {"type", "slide"}, {"axis", {0, 0, 1}}, {"range", {0, limit}}},
      start);
  arm.mjcf.add_joint_servo(names::kFeed, physics.feed_gain, physics.feed_force_limit, start)
      .set("dampratio", 1)
      .set("ctrlrange", {0, limit});
}

void add_spin(ArmDocument& arm, XmlNode& carriage) {
  const BasePhysics& physics = arm.robot.base_physics;
  arm.mjcf.add_joint(carriage, {{"name", names::kSpin}, {"type", "hinge"}, {"axis", {0, 0, 1}}},
                     0.0);
  arm.mjcf.add_joint_servo(names::kSpin, physics.spin_gain, physics.spin_torque_limit, 0.0)
      .set("dampratio", 1)
      .set("ctrlrange", {-kSpinCommandLimit, kSpinCommandLimit});
}

}  // namespace

void read_base(const Fields& fields, ContinuumDescription& robot) {
  std::vector<KeyInfo> keys(std::begin(kKeys), std::end(kKeys));
  keys.insert(keys.end(), std::begin(kGuideKeys), std::end(kGuideKeys));
  fields.refuse_unknown(keys);
  robot.base.feed_limit = fields.number("feed", 0.0, kNotNegativeNumber);
  robot.base.spin = fields.boolean("spin", false);
  BasePhysics& physics = robot.base_physics;
  const auto number = [&fields](std::string_view key, double& value, const Range& allowed) {
    value = fields.number(key, value, allowed);
  };
  number("carriage_mass", physics.carriage_mass, kMass);
  number("feed_gain", physics.feed_gain, kPositiveNumber);
  number("feed_force_limit", physics.feed_force_limit, kPositiveNumber);
  number("spin_gain", physics.spin_gain, kPositiveNumber);
  number("spin_torque_limit", physics.spin_torque_limit, kPositiveNumber);
  robot.guide = read_guide(fields, robot);
}

void write_base(ArmDocument& arm) {
  XmlNode* body = &arm.base;
  if (arm.has_carriage()) {
    body = &arm.base.add("body", {{"name", names::kCarriage}});
    add_carriage_inertia(*body,
                         arm.robot.base_physics.carriage_mass + arm.links.front().first_half.mass);
    if (arm.robot.base.feed_limit > 0.0) add_feed(arm, *body);
    if (arm.robot.base.spin) add_spin(arm, *body);
  }
  const double radius = arm.robot.physics.front().radius.start;
  body->add("geom", {{"type", "cylinder"},
                     {"fromto", {0, 0, -radius, 0, 0, 0}},
                     {"size", 1.6 * radius},
                     {"mass", 0},
                     {"contype", 0},
                     {"conaffinity", 0},
                     {"group", 1},
                     {"rgba", "0.25 0.25 0.28 1"}});
  arm.bodies = {body};
}

}  // namespace tendril
