#include "tendril/robot_file/continuum_file.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <numbers>
#include <numeric>

#include "tendril/model_error.hpp"
#include "tendril/robot_file/readers.hpp"
#include "tendril/robot_file/tendon_file.hpp"

namespace tendril {
namespace {

constexpr std::array<std::string_view, 13> kTopKeys{
    "kind",     "name", "compliance", "planar", "self_collision", "integrator", "timestep",
    "base",     "section", "tendon",  "chamber", "start",         "controller"};
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
constexpr std::array<std::string_view, 22> kSectionKeys{"constant_length",
                                                        "variable_length",
                                                        "bend_limit",
                                                        "length_weights",
                                                        "angle_weights",
                                                        "links",
                                                        "radius",
                                                        "mass",
                                                        "bending_stiffness",
                                                        "torsional_stiffness",
                                                        "poisson_ratio",
                                                        "damping_time",
                                                        "axial_stiffness",
                                                        "unloaded_length",
                                                        "bend_servo",
                                                        "bend_gain",
                                                        "bend_damping_time",
                                                        "bend_torque_limit",
                                                        "length_servo",
                                                        "length_gain",
                                                        "length_damping_time",
                                                        "length_force_limit"};

/// Of isotropic materials.
constexpr Range kPoissonRatio{-1.0, 0.5, true};
constexpr Range kTimestep{0.0, 0.1, true};  // [s]
constexpr Range kBendLimit{0.0, 2.0 * std::numbers::pi, true};

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

SectionPhysics read_physics(const Fields& fields, const SectionParameters& section) {
  SectionPhysics physics;
  physics.links = fields.integer("links", physics.links, 1, kMaxLinksPerSection);
  const auto number = [&fields](std::string_view key, double& value, const Range& allowed) {
    value = fields.number(key, value, allowed);
  };
  number("radius", physics.radius, kPositiveNumber);
  number("mass", physics.mass, kPositiveNumber);
  number("bending_stiffness", physics.bending_stiffness, kPositiveNumber);
  number("torsional_stiffness", physics.torsional_stiffness, kPositiveNumber);
  if (fields.has("poisson_ratio")) {
    if (fields.has("torsional_stiffness"))
      fields.refuse("poisson_ratio", "torsional_stiffness is given, must be one of the two");
    physics.torsional_stiffness = physics.bending_stiffness /
                                  (1.0 + fields.required_number("poisson_ratio", kPoissonRatio));
  }
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

  const auto& weights = section.length_weights;
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
  const double rest_length = section.length + section.variable_length / 2.0;
  if (rest_length * smallest_share < kShortestLink) {
    fields.refuse_object(fmt::format(
        "links = {}: links would be shorter than {} m, must be fewer or the section longer",
        physics.links, kShortestLink));
  }
  if (physics.mass * smallest_share * physics.radius * physics.radius / 4.0 < kSmallestInertia) {
    fields.refuse_object(
        fmt::format("mass = {} kg, radius = {} m: the inertia of a link would be below {} kg m^2, "
                    "must be heavier, thicker or of fewer links",
                    physics.mass, physics.radius, kSmallestInertia));
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
    links += robot.physics.back().links;
    if (links > kMaxLinks) {
      fields.refuse_object(fmt::format(
          "links: the robot has {} up to here, must be at most {} in all", links, kMaxLinks));
    }
  }
  return robot;
}

}  // namespace

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
  for (const SectionPhysics& section : robot.physics) radius = std::max(radius, section.radius);
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
  robot.numerical_damping_time =
      robot.integrator == Integrator::Discrete ? robot.timestep : 0.0;

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
  if (top.has("start"))
    robot.start = read_start(top.table("start"), robot.base.feed_limit, robot.sections);
  robot.controller = read_controller(file);
  try {
    static_cast<void>(robot.kinematics());
  } catch (const ModelError& error) {
    throw ModelError(fmt::format("{}: {}", top.file_name(), error.what()));
  }
  if (!robot.controller.plugin.empty()) require_drives(file.top, robot);
  return robot;
}

}  // namespace tendril
