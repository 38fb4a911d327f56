#include "tendril/model/continuum/section.hpp"

#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <numbers>
#include <numeric>

#include "tendril/model/toml_fields.hpp"

namespace tendril {
namespace {

constexpr KeyInfo kSectionKeys[]{
    {"constant_length", "m",
     "constant part S_C of the length; this or `variable_length` must be positive"},
    {"variable_length", "m",
     "largest variable part S_Δ of the length. 0: a section of fixed length; a telescopic section "
     "has no constant part"},
    {"bend_plane", "",
     "plane through the section's axis in which alone it bends, by one hinge per link: `\"xz\"` "
     "or `\"yz\"`; `\"any\"`: in every direction ([one plane](#sections-that-bend-in-one-plane))"},
    {"bend_limit", "rad",
     "largest bend angle. Of a section of variable length: at its full length; at the variable "
     "length s it is bend_limit s / variable_length, so at s = 0, as at the unloaded length, the "
     "section does not bend"},
    {"length_weights", "",
     "relative lengths of sub-sections (> 0); with `angle_weights`, of the same count",
     "one sub-section"},
    {"angle_weights", "", "relative bends of sub-sections (>= 0)", "one sub-section"},
    {"links",
     "",
     "rigid links, at least one per sub-section; 400 in the whole robot. Keep the bend of one link "
     "below 12 deg. `\"auto\"`: as many as `accuracy` needs "
     "([number of links](../theory/chain.md#number-of-links))",
     {},
     "integer in [1, 200], `\"auto\"`"},
    {"accuracy", "",
     "with `links = \"auto\"`: largest error of the tip at rest under gravity and a force at the "
     "tip, in parts of the length"},
    {"radius", "m",
     "of the body; or two numbers, at start and end of a section that "
     "[tapers](#taper-and-material)"},
    {"inner_radius", "m", "of a hollow section; or two numbers"},
    {"backbone_radius", "m",
     "of the elastic rod in a body of disks, for `youngs_modulus`; or two numbers. Needs `mass` "
     "instead of `density`. With `disks` it is drawn, by default a quarter of `radius`",
     "`radius`"},
    {"mass", "kg", "distributed as in a homogeneous body"},
    {"density", "kg/m^3", "instead of `mass`", "none"},
    {"youngs_modulus", "Pa", "instead of `bending_stiffness`: EI = E π/4 (r^4 - r_i^4)", "none"},
    {"bending_stiffness", "N m^2", "EI; or two numbers"},
    {"torsional_stiffness", "N m^2",
     "GJ: every link gets a hinge about its axis ([torsion](#torsion)). Not with a `bend_plane`",
     "rigid"},
    {"poisson_ratio", "", "ν, instead of `torsional_stiffness`: GJ = EI / (1 + ν)", "none"},
    {"natural_bend", "rad",
     "bend of the section when no moment acts on it ([natural bend](#natural-bend))"},
    {"natural_direction", "rad", "its direction, from x towards y"},
    {"color", "", "`[red, green, blue]`, optionally with opacity", "by its number"},
    {"damping_time", "s", "damping over stiffness of every joint"},
    {"axial_stiffness", "N/m",
     "EA/L of the whole section. Needs `variable_length`, as do all keys of lengths"},
    {"unloaded_length", "m", "length at which nothing stretches a section without length servo",
     "half the range", "in the range of the length"}};

constexpr Range kPoissonRatio{-1.0, 0.5, true};  // of isotropic materials
constexpr Range kModulus{0.0, 1e13, true};       // [Pa]
constexpr Range kBendLimit{0.0, 2.0 * std::numbers::pi, true};
constexpr Range kColor{0.0, 1.0};
constexpr Range kAccuracy{1e-3, 0.1};
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
  fields.describe(key, fallback.start);
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
/// makes the ends meet to second order (docs/theory/chain.md, "Taper").
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

/// Refuses what would bend or twist the section out of its plane.
void require_in_plane(const Fields& fields, BendPlane plane, const SectionPhysics& physics) {
  constexpr double kAcross = 1e-6;  // [rad]
  if (plane == BendPlane::Any) return;
  if (physics.torsional_stiffness > 0.0) {
    fields.refuse(fields.has("poisson_ratio") ? "poisson_ratio" : "torsional_stiffness",
                  "a section that bends in one plane does not twist, must be left out");
  }
  const bool is_xz = plane == BendPlane::XZ;
  if (std::abs(physics.natural_bend[is_xz ? 1 : 0]) > kAcross)
    fields.refuse(fields.has("natural_direction") ? "natural_direction" : "natural_bend",
                  is_xz ? "the section bends in the x-z plane: natural_direction must be 0 or pi"
                        : "the section bends in the y-z plane: natural_direction must be pi/2 or "
                          "-pi/2");
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
    physics.backbone_radius = profile.outer;
    if (!physics.youngs_modulus && !fields.has("disks"))
      fields.refuse("backbone_radius", "needs youngs_modulus, or disks");
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

void read_torsion(const Fields& fields, SectionPhysics& physics) {
  physics.torsional_stiffness =
      fields.number("torsional_stiffness", physics.torsional_stiffness, kPositiveNumber);
  refuse_both(fields, "poisson_ratio", "torsional_stiffness");
  if (!fields.has("poisson_ratio")) return;
  physics.torsional_stiffness =
      physics.bending_stiffness / (1.0 + fields.required_number("poisson_ratio", kPoissonRatio));
  physics.torsion_tapers = !physics.compliance.empty();
}

void read_natural_bend(const Fields& fields, SectionPhysics& physics) {
  if (fields.has("natural_direction") && !fields.has("natural_bend"))
    fields.refuse("natural_direction", "needs natural_bend");
  const double natural = fields.number("natural_bend", 0.0, kNaturalBend);
  const double direction = fields.number("natural_direction", 0.0, kAnyNumber);
  physics.natural_bend = {natural * std::cos(direction), natural * std::sin(direction)};
}

void read_unloaded_length(const Fields& fields, const SectionParameters& section,
                          SectionPhysics& physics) {
  physics.unloaded_length = rest_length(section);
  if (section.variable_length > 0.0)
    physics.unloaded_length =
        fields.number("unloaded_length", physics.unloaded_length,
                      {section.length, section.length + section.variable_length});
  else if (fields.has("unloaded_length"))
    fields.refuse("unloaded_length", "needs variable_length > 0");
}

/// Refuses links that the engine cannot have.
void require_links(const Fields& fields, const SectionParameters& section,
                   const SectionPhysics& physics) {
  // Links of a section whose stiffness tapers are equal, whatever arcs its kinematics have.
  const std::vector<double> weights =
      physics.compliance.empty() ? section.length_weights : std::vector<double>{};
  if (static_cast<std::size_t>(physics.links) < weights.size()) {
    fields.refuse(
        "links", fmt::format("must be at least {}, one link for each sub-section", weights.size()));
  }
  // The shortest link that the weights can lead to; it is also the lightest.
  const double smallest_weight = weights.empty()
                                     ? 1.0
                                     : *std::min_element(weights.begin(), weights.end()) /
                                           std::accumulate(weights.begin(), weights.end(), 0.0);
  const double fraction = smallest_weight / physics.links;
  if (rest_length(section) * fraction < kShortestLink) {
    fields.refuse_object(fmt::format(
        "links = {}: links would be shorter than {} m, must be fewer or the section longer",
        physics.links, kShortestLink));
  }
  const double radius = std::min(physics.radius.start, physics.radius.end);
  const double slenderness = std::pow(radius / physics.radius.largest(), 2);  // of the mass
  if (physics.mass * fraction * slenderness * radius * radius / 4.0 < kSmallestInertia) {
    fields.refuse_object(
        fmt::format("mass = {} kg, radius = {} m: the inertia of a link would be below {} kg m^2, "
                    "must be heavier, thicker or of fewer links",
                    physics.mass, radius, kSmallestInertia));
  }
}

/// Number of links with which the tip at rest is off by at most a fraction of the length. The error
/// falls with its square (docs/theory/chain.md, "Number of links").
int links_for(double accuracy, double bend_limit, bool twists) {
  const double error_of_one = (twists ? 1.3 : 0.8) * std::max(bend_limit, 1.0);
  return static_cast<int>(std::ceil(std::sqrt(error_of_one / accuracy)));
}

int read_links(const Fields& fields, const SectionParameters& section, int fallback) {
  const toml::node* const node = fields.get("links");
  const bool is_auto = node != nullptr && node->is_string();
  if (is_auto && node->as_string()->get() != "auto") {
    fields.refuse("links",
                  fmt::format("must be an integer in [1, {}] or \"auto\"", kMaxLinksPerSection));
  }
  const double accuracy = fields.number("accuracy", 0.01, kAccuracy);
  if (!is_auto) {
    if (fields.has("accuracy")) fields.refuse("accuracy", "needs links = \"auto\"");
    return fields.integer("links", fallback, 1, kMaxLinksPerSection);
  }
  const bool twists = fields.has("torsional_stiffness") || fields.has("poisson_ratio");
  return std::max(links_for(accuracy, section.bend_angle_limit, twists),
                  static_cast<int>(section.length_weights.size()));
}

/// @param planar  the file says so of the whole arm: the x-z plane
BendPlane read_bend_plane(const Fields& fields, bool planar) {
  const auto plane = fields.choice<BendPlane>(
      "bend_plane", {{"any", BendPlane::Any}, {"xz", BendPlane::XZ}, {"yz", BendPlane::YZ}});
  if (!planar) return plane;
  if (fields.has("bend_plane") && plane != BendPlane::XZ)
    fields.refuse("bend_plane", "planar = true: must be \"xz\" or left out");
  return BendPlane::XZ;
}

SectionPhysics read_physics(const Fields& fields, bool planar, SectionParameters& section) {
  SectionPhysics physics;
  section.bend_plane = read_bend_plane(fields, planar);
  physics.links = read_links(fields, section, physics.links);
  read_body(fields, section, physics);
  read_torsion(fields, physics);
  read_natural_bend(fields, physics);
  require_in_plane(fields, section.bend_plane, physics);
  physics.color = fields.numbers("color", kColor);
  if (!physics.color.empty() && physics.color.size() != 3 && physics.color.size() != 4)
    fields.refuse("color", "must be red, green, blue and, if there are four, opacity, in [0, 1]");
  physics.damping_time = fields.number("damping_time", physics.damping_time, kPositiveNumber);
  physics.axial_stiffness =
      fields.number("axial_stiffness", physics.axial_stiffness, kPositiveNumber);
  read_unloaded_length(fields, section, physics);
  require_links(fields, section, physics);
  return physics;
}

}  // namespace

std::span<const char> bend_axes(const SectionParameters& section) noexcept {
  static constexpr std::array<char, 2> kAxes{'x', 'y'};
  if (section.bend_plane == BendPlane::Any) return kAxes;
  return std::span(kAxes).subspan(section.bend_plane == BendPlane::XZ ? 1 : 0, 1);
}

std::span<const int> bend_directions(const SectionParameters& section) noexcept {
  static constexpr std::array<int, 2> kDirections{0, 1};
  if (section.bend_plane == BendPlane::Any) return kDirections;
  return std::span(kDirections).subspan(section.bend_plane == BendPlane::XZ ? 0 : 1, 1);
}

double rest_length(const SectionParameters& section) {
  return section.length + section.variable_length / 2.0;
}

double volume_fraction(const SectionPhysics& physics, double x0, double x1) noexcept {
  return squared_between(physics, x0, x1) / squared_between(physics, 0.0, 1.0);
}

std::pair<SectionParameters, SectionPhysics> read_section(const Fields& fields, bool planar) {
  std::vector<KeyInfo> keys(std::begin(kSectionKeys), std::end(kSectionKeys));
  for (const KeyRows more : {disk_keys(), turning_keys(), drive_keys()})
    keys.insert(keys.end(), more.begin(), more.end());
  fields.refuse_unknown(keys);
  SectionParameters section = read_parameters(fields);
  SectionPhysics physics = read_physics(fields, planar, section);
  read_disks(fields, section, physics);
  read_turning(fields, section, physics);
  return {std::move(section), std::move(physics)};
}

}  // namespace tendril
