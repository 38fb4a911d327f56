#include "tendril/model/continuum_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <numeric>

#include "tendril/model/medium_mjcf.hpp"
#include "tendril/model/readers.hpp"
#include "tendril/model/tendon_file.hpp"
#include "tendril/model_error.hpp"

namespace tendril {
namespace {

constexpr std::array<std::string_view, 16> kTopKeys{
    "kind",     "name",    "compliance", "planar",    "self_collision", "integrator",
    "timestep", "base",    "section",    "tendon",    "chamber",        "medium",
    "tip",      "gripper", "start",      "controller"};
constexpr std::array<std::string_view, 9> kBaseKeys{"feed",
                                                    "spin",
                                                    "carriage_mass",
                                                    "feed_gain",
                                                    "feed_force_limit",
                                                    "spin_gain",
                                                    "spin_torque_limit",
                                                    "guide_length",
                                                    "guide_clearance"};
constexpr std::array<std::string_view, 3> kStartKeys{"feed", "arcs", "bends"};
constexpr std::array<std::string_view, 31> kSectionKeys{"constant_length",
                                                        "variable_length",
                                                        "bend_limit",
                                                        "length_weights",
                                                        "angle_weights",
                                                        "links",
                                                        "radius",
                                                        "inner_radius",
                                                        "backbone_radius",
                                                        "mass",
                                                        "density",
                                                        "youngs_modulus",
                                                        "bending_stiffness",
                                                        "torsional_stiffness",
                                                        "poisson_ratio",
                                                        "natural_bend",
                                                        "natural_direction",
                                                        "color",
                                                        "damping_time",
                                                        "axial_stiffness",
                                                        "unloaded_length",
                                                        "bend_servo",
                                                        "bend_command",
                                                        "bend_gain",
                                                        "bend_damping_time",
                                                        "bend_torque_limit",
                                                        "length_servo",
                                                        "length_command",
                                                        "length_gain",
                                                        "length_damping_time",
                                                        "length_force_limit"};

/// Of isotropic materials.
constexpr Range kPoissonRatio{-1.0, 0.5, true};
constexpr Range kTimestep{0.0, 0.1, true};  // [s]
constexpr Range kModulus{0.0, 1e13, true};  // [Pa]
constexpr Range kBendLimit{0.0, 2.0 * std::numbers::pi, true};

constexpr Range kGripperLength{1e-4, 10.0};  // [m]
constexpr Range kGripperMass{1e-4, 1e3};     // [kg]
constexpr Range kGripperFriction{1e-5, 100.0};

constexpr Range kColor{0.0, 1.0};
constexpr Range kNaturalBend{0.0, 4.0 * std::numbers::pi};

/// Below this the engine's own limits on sizes and inertias come near.
constexpr double kShortestLink = 1e-6;      // [m]
constexpr double kSmallestInertia = 1e-14;  // [kg m^2]

SectionParameters read_parameters(const Fields& fields) {
  SectionParameters section;
  section.length = fields.number("constant_length", 0.0, kNotNegativeNumber);
  section.variable_length = fields.number("variable_length", 0.0, kNotNegativeNumber);
  if (section.length + section.variable_length <= 0.0) {
    fields.refuse_object(
        "constant_length or variable_length: one of them must be given and positive");
  }
  section.bend_angle_limit = fields.required_number("bend_limit", kBendLimit);
  section.length_weights = fields.numbers("length_weights", kPositiveNumber);
  section.angle_weights = fields.numbers("angle_weights", kNotNegativeNumber);
  const auto& angle_weights = section.angle_weights;
  if (section.length_weights.size() != angle_weights.size()) {
    fields.refuse(fields.has("angle_weights") ? "angle_weights" : "length_weights",
                  "length_weights and angle_weights must have the same number of elements");
  }
  if (!angle_weights.empty() &&
      std::accumulate(angle_weights.begin(), angle_weights.end(), 0.0) <= 0.0) {
    fields.refuse("angle_weights", "one weight at least must be positive");
  }
  return section;
}

/// One number, or two: at the start of the section and at its end.
Taper read_taper(const Fields& fields, std::string_view key, const Taper& fallback,
                 const Range& allowed) {
  const toml::node* const node = fields.get(key);
  if (node == nullptr) return fallback;
  if (node->is_array()) {
    const std::vector<double> ends = fields.elements(key, *node, 2, allowed);
    return {ends[0], ends[1]};
  }
  const double value = fields.element(key, *node, allowed);
  return {value, value};
}

/// Integral of R^2 of a cone whose radius is R, from x0 to x1.
double squared_between(const Taper& radius, double x0, double x1) noexcept {
  const double a = radius.at(x0), b = radius.at(x1);
  return (x1 - x0) * (a * a + a * b + b * b) / 3.0;
}

/// The same of what is between the two radii of a section.
double squared_between(const SectionPhysics& physics, double x0, double x1) noexcept {
  return squared_between(physics.radius, x0, x1) - squared_between(physics.inner_radius, x0, x1);
}

void refuse_both(const Fields& fields, std::string_view key, std::string_view other) {
  if (fields.has(key) && fields.has(other))
    fields.refuse(key, fmt::format("{} is given, must be one of the two", other));
}

/// EI at x of the section's length, up to a factor: R^4 - r^4 of the rod in it.
struct StiffnessProfile {
  Taper outer, inner;
  [[nodiscard]] double at(double x) const noexcept {
    return std::pow(outer.at(x), 4) - std::pow(inner.at(x), 4);
  }
  /// Integral of 1/EI from x0 to x1, by Simpson's rule.
  [[nodiscard]] double compliance(double x0, double x1) const noexcept {
    constexpr int kParts = 256;
    const double h = (x1 - x0) / kParts;
    double sum = 1.0 / at(x0) + 1.0 / at(x1);
    for (int i = 1; i < kParts; ++i) sum += (i % 2 == 1 ? 4.0 : 2.0) / at(x0 + i * h);
    return sum * h / 3.0;
  }
};

/// One moment along the section bends it where it is compliant: its links, and in the kinematics
/// arcs. An arc has the bend of its part of the curve; the angles between arcs are shifted by what
/// makes the ends meet to second order (docs/derivations.md, "Taper").
void taper_stiffness(const Fields& fields, const StiffnessProfile& profile,
                     SectionParameters& section, SectionPhysics& physics) {
  for (const char* key : {"length_weights", "angle_weights"}) {
    if (fields.has(key))
      fields.refuse(key, "the stiffness tapers, which says where it bends; must be left out");
  }
  const double mean = 1.0 / profile.compliance(0.0, 1.0);
  const auto part = [&](int j, int n) {
    return mean * profile.compliance(static_cast<double>(j) / n, (j + 1.0) / n);
  };
  for (int j = 0; j < physics.links; ++j) physics.compliance.push_back(part(j, physics.links));

  constexpr int kArcs = 10;
  const auto shift = [&](int j) {  // of the angle before arc j: -curvature' l^2 / 12
    if (j == 0 || j == kArcs) return 0.0;
    const double x = static_cast<double>(j) / kArcs, h = 1e-3 / kArcs;
    const double rate = mean * (1.0 / profile.at(x + h) - 1.0 / profile.at(x - h)) / (2.0 * h);
    return -rate / (12.0 * kArcs * kArcs);
  };
  for (int j = 0; j < kArcs; ++j) {
    section.length_weights.push_back(1.0);
    section.angle_weights.push_back(std::max(part(j, kArcs) + shift(j + 1) - shift(j), 0.0));
  }
}

/// Radii, mass and stiffness, given as such or by the material.
void read_body(const Fields& fields, SectionParameters& section, SectionPhysics& physics) {
  physics.radius = read_taper(fields, "radius", physics.radius, kPositiveNumber);
  physics.inner_radius = read_taper(fields, "inner_radius", {}, kNotNegativeNumber);
  refuse_both(fields, "youngs_modulus", "bending_stiffness");
  refuse_both(fields, "density", "mass");
  physics.youngs_modulus = fields.number("youngs_modulus", kModulus);
  physics.density = fields.number("density", kPositiveNumber);

  StiffnessProfile profile{read_taper(fields, "backbone_radius", physics.radius, kPositiveNumber),
                           physics.inner_radius};
  if (fields.has("backbone_radius")) {
    if (!physics.youngs_modulus) fields.refuse("backbone_radius", "needs youngs_modulus");
    if (physics.density)
      fields.refuse("density",
                    "backbone_radius is given: what is around it has another density, "
                    "give mass instead");
  }
  for (const Taper& around : {physics.radius, profile.outer}) {
    if (physics.inner_radius.start >= around.start || physics.inner_radius.end >= around.end)
      fields.refuse("inner_radius", "must be less than radius and backbone_radius");
  }
  if (physics.density) {
    physics.mass = *physics.density * std::numbers::pi * rest_length(section) *
                   squared_between(physics, 0.0, 1.0);
  } else {
    physics.mass = fields.number("mass", physics.mass, kPositiveNumber);
  }

  double factor = std::numbers::pi / 4.0 * physics.youngs_modulus.value_or(0.0);
  if (!physics.youngs_modulus) {  // EI that tapers as a cone's: its fourth root is even
    const Taper ends =
        read_taper(fields, "bending_stiffness",
                   {physics.bending_stiffness, physics.bending_stiffness}, kPositiveNumber);
    physics.bending_stiffness = ends.start;
    profile = {.outer = {std::pow(ends.start, 0.25), std::pow(ends.end, 0.25)}, .inner = {}};
    factor = 1.0;
    if (ends.is_even()) return;
  }
  physics.bending_stiffness = factor / profile.compliance(0.0, 1.0);
  if (!profile.outer.is_even() || !profile.inner.is_even())
    taper_stiffness(fields, profile, section, physics);
}

SectionPhysics read_physics(const Fields& fields, SectionParameters& section) {
  SectionPhysics physics;
  physics.links = fields.integer("links", physics.links, 1, kMaxLinksPerSection);
  const auto number = [&fields](std::string_view key, double& value, const Range& allowed) {
    value = fields.number(key, value, allowed);
  };
  read_body(fields, section, physics);
  number("torsional_stiffness", physics.torsional_stiffness, kPositiveNumber);
  refuse_both(fields, "poisson_ratio", "torsional_stiffness");
  if (fields.has("poisson_ratio")) {
    physics.torsional_stiffness =
        physics.bending_stiffness / (1.0 + fields.required_number("poisson_ratio", kPoissonRatio));
    physics.torsion_tapers = !physics.compliance.empty();
  }
  if (fields.has("natural_direction") && !fields.has("natural_bend"))
    fields.refuse("natural_direction", "needs natural_bend");
  const double natural = fields.number("natural_bend", 0.0, kNaturalBend);
  const double direction = fields.number("natural_direction", 0.0, kAnyNumber);
  physics.natural_bend = {natural * std::cos(direction), natural * std::sin(direction)};
  physics.color = fields.numbers("color", kColor);
  if (!physics.color.empty() && physics.color.size() != 3 && physics.color.size() != 4)
    fields.refuse("color", "must be red, green, blue and, if there are four, opacity, in [0, 1]");
  number("damping_time", physics.damping_time, kPositiveNumber);
  number("axial_stiffness", physics.axial_stiffness, kPositiveNumber);
  physics.unloaded_length = rest_length(section);
  if (section.variable_length > 0.0)
    number("unloaded_length", physics.unloaded_length,
           {section.length, section.length + section.variable_length});
  else if (fields.has("unloaded_length"))
    fields.refuse("unloaded_length", "needs variable_length > 0");
  number("bend_gain", physics.bend_gain, kNotNegativeNumber);
  number("bend_damping_time", physics.bend_damping_time, kNotNegativeNumber);
  number("bend_torque_limit", physics.bend_torque_limit, kPositiveNumber);
  number("length_gain", physics.length_gain, kPositiveNumber);
  number("length_damping_time", physics.length_damping_time, kNotNegativeNumber);
  number("length_force_limit", physics.length_force_limit, kPositiveNumber);
  physics.bend_motor = fields.choice<bool>("bend_command", {{"angle", false}, {"moment", true}});
  physics.length_motor =
      fields.choice<bool>("length_command", {{"length", false}, {"force", true}});
  if (section.variable_length <= 0.0 && fields.has("length_command"))
    fields.refuse("length_command", "needs variable_length > 0");
  const auto refuse_gains = [&](std::initializer_list<const char*> keys, const char* needs) {
    for (const char* key : keys)
      if (fields.has(key)) fields.refuse(key, fmt::format("needs {}: a motor has no gains", needs));
  };
  if (physics.bend_motor)
    refuse_gains({"bend_gain", "bend_damping_time"}, "bend_command = \"angle\"");
  if (physics.length_motor)
    refuse_gains({"length_gain", "length_damping_time"}, "length_command = \"length\"");

  const std::vector<double>& weights =
      physics.compliance.empty() ? section.length_weights : physics.compliance;
  if (static_cast<std::size_t>(physics.links) < weights.size()) {
    fields.refuse(
        "links", fmt::format("must be at least {}, one link for each sub-section", weights.size()));
  }
  // The shortest link that the weights can lead to; it is also the lightest.
  const double smallest_weight = weights.empty()
                                     ? 1.0
                                     : *std::min_element(weights.begin(), weights.end()) /
                                           std::accumulate(weights.begin(), weights.end(), 0.0);
  const double smallest_share = smallest_weight / physics.links;
  if (rest_length(section) * smallest_share < kShortestLink) {
    fields.refuse_object(fmt::format(
        "links = {}: links would be shorter than {} m, must be fewer or the section longer",
        physics.links, kShortestLink));
  }
  const double radius = std::min(physics.radius.start, physics.radius.end);
  const double slenderness = std::pow(radius / physics.radius.largest(), 2);  // of the mass
  if (physics.mass * smallest_share * slenderness * radius * radius / 4.0 < kSmallestInertia) {
    fields.refuse_object(
        fmt::format("mass = {} kg, radius = {} m: the inertia of a link would be below {} kg m^2, "
                    "must be heavier, thicker or of fewer links",
                    physics.mass, radius, kSmallestInertia));
  }
  return physics;
}

BasePhysics read_base_physics(const Fields& fields) {
  BasePhysics physics;
  physics.carriage_mass = fields.number("carriage_mass", physics.carriage_mass, kMass);
  physics.feed_gain = fields.number("feed_gain", physics.feed_gain, kPositiveNumber);
  physics.feed_force_limit =
      fields.number("feed_force_limit", physics.feed_force_limit, kPositiveNumber);
  physics.spin_gain = fields.number("spin_gain", physics.spin_gain, kPositiveNumber);
  physics.spin_torque_limit =
      fields.number("spin_torque_limit", physics.spin_torque_limit, kPositiveNumber);
  physics.guide_length = fields.number("guide_length", physics.guide_length, kNotNegativeNumber);
  physics.guide_clearance =
      fields.number("guide_clearance", physics.guide_clearance, kNotNegativeNumber);
  return physics;
}

TipLoad read_tip(const Fields& fields) {
  fields.refuse_unknown({"payload", "payload_radius", "suction"});
  TipLoad tip;
  tip.payload = fields.number("payload", 0.0, kMass);
  if (fields.has("payload_radius") && !fields.has("payload"))
    fields.refuse("payload_radius", "needs payload");
  tip.payload_radius = fields.number("payload_radius", tip.payload_radius, kPositiveNumber);
  tip.suction = fields.number("suction", 0.0, kPositiveNumber);
  return tip;
}

Gripper read_gripper(const Fields& fields, const TipLoad& tip) {
  fields.refuse_unknown({"opening", "force", "speed", "gain", "finger_length", "finger_width",
                         "finger_thickness", "mass", "friction", "angle"});
  if (tip.suction > 0.0) fields.refuse_object("[tip] has a suction cup, must be one of the two");
  Gripper gripper;
  gripper.opening = fields.required_number("opening", kGripperLength);
  const auto number = [&fields](std::string_view key, double& value, const Range& allowed) {
    value = fields.number(key, value, allowed);
  };
  number("force", gripper.force, kPositiveNumber);
  number("speed", gripper.speed, kPositiveNumber);
  number("gain", gripper.gain, kPositiveNumber);
  number("finger_length", gripper.finger_length, kGripperLength);
  number("finger_width", gripper.finger_width, kGripperLength);
  number("finger_thickness", gripper.finger_thickness, kGripperLength);
  number("mass", gripper.mass, kGripperMass);
  number("friction", gripper.friction, kGripperFriction);
  number("angle", gripper.angle, kAnyNumber);
  return gripper;
}

StartPose read_start(const Fields& fields, double feed_limit,
                     std::span<const SectionParameters> sections) {
  fields.refuse_unknown(kStartKeys);
  StartPose start;
  start.feed = fields.number("feed", 0.0, kNotNegativeNumber);
  if (start.feed > feed_limit) {
    fields.refuse("feed", fmt::format("must be in [0, {}], the base's feed", feed_limit));
  }
  const std::vector<double> numbers = fields.numbers("arcs", kAnyNumber);
  if (numbers.size() % 2 != 0) fields.refuse("arcs", "must be pairs of curvature and length");
  for (std::size_t i = 0; i < numbers.size(); i += 2) {
    if (numbers[i + 1] <= 0.0) fields.refuse("arcs", "every length must be positive");
    start.arcs.emplace_back(numbers[i], numbers[i + 1]);
  }
  start.bends = fields.numbers("bends", kAnyNumber);
  if (!start.bends.empty() && start.bends.size() != sections.size()) {
    fields.refuse("bends", fmt::format("must be one for each section, {} in all", sections.size()));
  }
  for (std::size_t i = 0; i < start.bends.size(); ++i) {
    const double limit = bend_command_limit(sections[i]);
    if (std::abs(start.bends[i]) > limit) {
      fields.refuse("bends",
                    fmt::format("that of section {} must be in [-{}, {}]", i + 1, limit, limit));
    }
  }
  return start;
}

ContinuumDescription read_sections(const FileContents& file, ContinuumDescription robot) {
  const std::vector<Fields> sections = file.top.tables("section");
  if (sections.empty()) file.top.missing("section", "is missing, one [[section]] at least");
  int links = 0;
  for (const Fields& fields : sections) {
    fields.refuse_unknown(kSectionKeys);
    robot.sections.push_back(read_parameters(fields));
    robot.physics.push_back(read_physics(fields, robot.sections.back()));
    if (robot.planar && robot.physics.back().torsional_stiffness > 0.0) {
      fields.refuse(fields.has("poisson_ratio") ? "poisson_ratio" : "torsional_stiffness",
                    "a planar arm does not twist, must be left out");
    }
    if (robot.physics.back().bend_motor && robot.compliance == Compliance::Link) {
      fields.refuse("bend_command",
                    "needs compliance = \"section\": one moment bends the whole section");
    }
    constexpr double kAcross = 1e-6;
    if (robot.planar && std::abs(robot.physics.back().natural_bend[1]) > kAcross)
      fields.refuse("natural_direction", "a planar arm bends in the x-z plane, must be 0 or pi");
    links += robot.physics.back().links;
    if (links > kMaxLinks) {
      fields.refuse_object(fmt::format(
          "links: the robot has {} up to here, must be at most {} in all", links, kMaxLinks));
    }
  }
  return robot;
}

/// With servos without a gain the natural shape is where the commands are 0, which no controller
/// knows.
void require_known_rest(const Fields& top, const ContinuumDescription& robot) {
  const std::vector<Fields> sections = top.tables("section");
  for (std::size_t i = 0; i < sections.size(); ++i) {
    const SectionPhysics& physics = robot.physics[i];
    if (physics.bend_servo && physics.bend_gain == 0.0 && sections[i].has("natural_bend"))
      sections[i].refuse("natural_bend", "a controller needs bend_gain > 0 here, or tendons");
  }
}

}  // namespace

double volume_part(const SectionPhysics& physics, double x0, double x1) noexcept {
  return squared_between(physics, x0, x1) / squared_between(physics, 0.0, 1.0);
}

double rest_length(const SectionParameters& section) {
  return section.length + section.variable_length / 2.0;
}

double rest_length(const ContinuumDescription& robot) {
  double length = 0.0;
  for (const SectionParameters& section : robot.sections) length += rest_length(section);
  return length;
}

double rest_length(const ContinuumDescription& robot, const TendonRoute& route) {
  double length = 0.0;
  for (int i = route.first_section; i <= route.section; ++i)
    length += rest_length(robot.sections[static_cast<std::size_t>(i)]);
  return length;
}

double Chamber::tension_per_pressure() const {
  if (!braid_angle) return -area;
  const double tangent = std::tan(*braid_angle), sine = std::sin(*braid_angle);
  return area * (3.0 / (tangent * tangent) - 1.0 / (sine * sine));
}

double Chamber::free_contraction() const {
  return 1.0 - 1.0 / (std::numbers::sqrt3 * std::cos(*braid_angle));
}

std::pair<double, double> Tendon::tension_range() const {
  if (!chamber) return {pretension, max_tension};
  const double gain = chamber->tension_per_pressure();
  return std::minmax({gain * chamber->min_pressure, gain * chamber->max_pressure});
}

std::vector<TendonRoute> tendon_routes(const ContinuumDescription& robot) {
  std::vector<TendonRoute> routes;
  for (const Tendon& tendon : robot.tendons) routes.push_back(tendon.route);
  return routes;
}

double largest_radius(const ContinuumDescription& robot) {
  double radius = 0.0;
  for (const SectionPhysics& section : robot.physics)
    radius = std::max(radius, section.radius.largest());
  return radius;
}

ContinuumDescription read_continuum(const FileContents& file) {
  const Fields& top = file.top;
  top.refuse_unknown(kTopKeys);
  ContinuumDescription robot;
  robot.text = file.text;
  robot.name = top.text("name", robot.name);
  robot.compliance = top.choice<Compliance>(
      "compliance", {{"section", Compliance::Section}, {"link", Compliance::Link}});
  robot.self_collision = top.boolean("self_collision", robot.self_collision);
  robot.planar = top.boolean("planar", robot.planar);
  robot.integrator = top.choice<Integrator>(
      "integrator",
      {{"discrete", Integrator::Discrete}, {"implicitfast", Integrator::ImplicitFast}});
  robot.timestep = top.number("timestep", robot.timestep, kTimestep);
  robot.numerical_damping_time = robot.integrator == Integrator::Discrete ? robot.timestep : 0.0;

  const Fields base = top.table("base");
  base.refuse_unknown(kBaseKeys);
  robot.base.feed_limit = base.number("feed", 0.0, kNotNegativeNumber);
  robot.base.spin = base.boolean("spin", false);
  robot.base_physics = read_base_physics(base);
  if (robot.base_physics.guide_length > 0.0) {
    if (robot.base.feed_limit <= 0.0) base.refuse("guide_length", "needs feed > 0");
    if (robot.base.spin) base.refuse("guide_length", "a base with a guide cannot spin");
    if (robot.compliance != Compliance::Link)
      base.refuse("guide_length", "needs compliance = \"link\": links in the guide are not bent");
  }
  robot = read_sections(file, std::move(robot));
  read_tendons(file.top, robot);
  if (top.has("tip")) robot.tip = read_tip(top.table("tip"));
  if (top.has("gripper")) robot.gripper = read_gripper(top.table("gripper"), robot.tip);
  if (top.has("medium")) robot.medium = read_medium(top.table("medium"));
  if (top.has("start"))
    robot.start = read_start(top.table("start"), robot.base.feed_limit, robot.sections);
  robot.controller = read_controller(file);
  try {
    static_cast<void>(robot.kinematics());
  } catch (const ModelError& error) {
    throw ModelError(fmt::format("{}: {}", top.file_name(), error.what()));
  }
  if (!robot.controller.plugin.empty()) {
    require_drives(file.top, robot);
    require_known_rest(file.top, robot);
  } else {
    refuse_friction(file.top, robot);
  }
  return robot;
}

}  // namespace tendril
