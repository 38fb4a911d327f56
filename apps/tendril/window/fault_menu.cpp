#include "apps/tendril/window/fault_menu.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "tendril/model_error.hpp"

namespace tendril {
namespace {

constexpr double kEarthGravity = 9.81;  // m/s^2

enum class Unit { None, Factor, Seconds, Degrees, Length, Mass, Weight };

struct Kind {
  const char* name;
  const char* kind;    ///< of the `[[fault]]`
  const char* fields;  ///< {0} the strength in SI, {1} the servo, {2} the body of the tip
  Unit unit;
  std::array<double, 3> strengths;  ///< degrees; percent of length and mass; weights
};
constexpr Kind kKinds[] = {
    {"Tip lost (frozen)", "freeze", "channel = \"tip\"", Unit::None, {}},
    {"Tip noise", "noise", "channel = \"tip\"\nsigma = {0}", Unit::Length, {0.1, 1, 5}},
    {"Tip bias", "bias", "channel = \"tip\"\nvalue = {0}", Unit::Length, {0.2, 1, 5}},
    {"Tip late", "delay", "channel = \"tip\"\ntime = {0}", Unit::Seconds, {0.01, 0.05, 0.2}},
    {"Joints lost (frozen)", "freeze", "channel = \"q\"", Unit::None, {}},
    {"Joint noise", "noise", "channel = \"q\"\nsigma = {0}", Unit::Degrees, {0.2, 1, 5}},
    {"Joint bias", "bias", "channel = \"q\"\nvalue = {0}", Unit::Degrees, {1, 5, 15}},
    {"Servo stuck", "actuator_stuck", "actuator = \"{1}\"", Unit::None, {}},
    {"Servo limp", "actuator_loss", "actuator = \"{1}\"\nfactor = 0", Unit::None, {}},
    {"All servos weak",
     "actuator_loss",
     "actuator = \"*\"\nfactor = {0}",
     Unit::Factor,
     {0.8, 0.5, 0.2}},
    {"Arm soft", "stiffness", "factor = {0}", Unit::Factor, {0.8, 0.5, 0.2}},
    {"Slippery", "friction", "geom = \"*\"\nfactor = {0}", Unit::Factor, {0.5, 0.2, 0}},
    {"Payload at the tip", "payload", "body = \"{2}\"\nmass = {0}", Unit::Mass, {2, 10, 50}},
    {"Kick at the tip",
     "kick",
     "body = \"{2}\"\nforce = [{0}, 0, 0]\nduration = 0.1",
     Unit::Weight,
     {0.1, 0.5, 2}},
};

/// The last body of the longest chain below the base, and the length of that chain [m].
std::pair<int, double> tip_of(const mjModel& model, int base) {
  std::vector<double> reach(static_cast<std::size_t>(model.nbody), -1.0);
  reach[static_cast<std::size_t>(base)] = 0.0;
  int tip = base;
  for (int body = base + 1; body < model.nbody; ++body) {
    const double parent = reach[static_cast<std::size_t>(model.body_parentid[body])];
    if (parent < 0.0) continue;
    double& own = reach[static_cast<std::size_t>(body)];
    own = parent + mju_norm3(model.body_pos + 3 * body);
    if (own > reach[static_cast<std::size_t>(tip)]) tip = body;
  }
  return {tip, reach[static_cast<std::size_t>(tip)]};
}

}  // namespace

const char* fault_kinds() {
  static const std::string names = [] {
    std::string all;
    for (const Kind& kind : kKinds) all += (all.empty() ? "" : "\n") + std::string(kind.name);
    return all;
  }();
  return names.c_str();
}

ChosenFault chosen_fault(const mjModel& model, const FaultChoice& choice) {
  const Kind& kind = kKinds[choice.kind];
  const auto [tip, length] = tip_of(model, choice.base);
  const double mass = model.body_subtreemass[choice.base];
  const double given = kind.strengths[static_cast<std::size_t>(choice.strength)];
  double value = given;
  std::string text;
  switch (kind.unit) {
    case Unit::None:
      break;
    case Unit::Factor:
      text = fmt::format(", x {:g}", given);
      break;
    case Unit::Seconds:
      text = fmt::format(", {:g} s", given);
      break;
    case Unit::Degrees:
      value = given * mjPI / 180.0;
      text = fmt::format(", {:g} deg", given);
      break;
    case Unit::Length:
      value = 0.01 * given * length;
      text = fmt::format(", {:.2g} mm", 1e3 * value);
      break;
    case Unit::Mass:
      value = 0.01 * given * mass;
      text = fmt::format(", {:.2g} kg", value);
      break;
    case Unit::Weight:
      value = given * mass * kEarthGravity;
      text = fmt::format(", {:.2g} N", value);
      break;
  }
  const char* const body = mj_id2name(&model, mjOBJ_BODY, tip);
  const std::string_view fields = kind.fields;
  if (fields.find("{1}") != fields.npos && choice.servo.empty())
    throw ModelError("fault: the robot has no servo");
  if (fields.find("{2}") != fields.npos && (choice.base == 0 || body == nullptr))
    throw ModelError("fault: the scene has no robot whose tip has a name");
  ChosenFault chosen;
  chosen.toml = fmt::format("kind = \"{}\"\n", kind.kind) +
                fmt::format(fmt::runtime(fields), value, choice.servo, body == nullptr ? "" : body);
  // The larger friction of two geoms counts.
  if (choice.base != 0 && std::string_view(kind.kind) != "friction")
    chosen.toml += fmt::format("\nrobot = \"{}\"", choice.prefix);
  chosen.text = kind.name + text;
  if (fields.find("{1}") != fields.npos) chosen.text += ": " + choice.servo;
  return chosen;
}

}  // namespace tendril
