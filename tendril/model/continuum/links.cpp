#include "tendril/model/continuum/links.hpp"

#include <fmt/format.h>

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <regex>

#include "tendril/model/continuum/description.hpp"
#include "tendril/model_error.hpp"

namespace tendril {

namespace names {
std::string link(int section, int link) { return fmt::format("s{}_l{}", section, link); }
std::string hinge(int section, int link, char axis) {
  return fmt::format("s{}_l{}_{}", section, link, axis);
}
std::string twist(int section, int link) { return fmt::format("s{}_l{}_twist", section, link); }
std::string slide(int section, int link) { return fmt::format("s{}_l{}_z", section, link); }
int section_of(std::string_view name) {
  static const std::regex pattern(
      "(?:^|_)s([0-9]{1,5})_(?:x|y|z|end|turn|l[0-9]+(?:_(?:x|y|z|twist))?)$");
  std::match_results<std::string_view::const_iterator> found;
  if (!std::regex_search(name.begin(), name.end(), found, pattern)) return 0;
  return std::stoi(found[1].str());
}
}  // namespace names

namespace {

constexpr double kOrderBends[] = {1.0, 2.0};  // of a section, halfway between x and y [rad]

/// Returns the error of a bent section's tip against links that bend about one axis: sum of squares
/// of parts of the length and of radians, to leading order.
double order_error(const LinkLayout& layout, const std::vector<bool>& x_first) {
  const auto x = Eigen::Vector3d::UnitX(), y = Eigen::Vector3d::UnitY();
  const Eigen::Vector3d both = (x + y).normalized();
  double error = 0.0;
  for (const double bend : kOrderBends) {
    Eigen::Isometry3d tip = Eigen::Isometry3d::Identity(), exact = tip;
    for (std::size_t j = 0; j < x_first.size(); ++j) {
      const double angle = bend * layout.bend_fraction[j], part = angle / std::numbers::sqrt2;
      const Eigen::Vector3d half(0.0, 0.0, layout.length[j] / 2.0);
      const Eigen::AngleAxisd first(part, x_first[j] ? x : y), second(part, x_first[j] ? y : x);
      tip.translate(half).rotate(first).rotate(second).translate(half);
      exact.translate(half).rotate(Eigen::AngleAxisd(angle, both)).translate(half);
    }
    error += (tip.translation() - exact.translation()).squaredNorm() +
             (tip.linear() - exact.linear()).squaredNorm() / 2.0;
  }
  return error;
}

/// Chooses for each link whether its x hinge comes first. Two hinges twist what follows by +-u v
/// b^2 / 2, by their order (docs/theory/chain.md, "Two hinges per link"). The last links have
/// the order of least error; those before them keep the twist and its sum over the links small.
std::vector<bool> hinge_orders(const LinkLayout& layout) {
  constexpr std::size_t kSearched = 8;
  const std::vector<double>& bend = layout.bend_fraction;
  const std::size_t before = bend.size() - std::min(bend.size(), kSearched);
  std::vector<bool> x_first(bend.size());
  double twist = 0.0, twist_sum = 0.0;
  for (std::size_t j = 0; j < before; ++j) {
    x_first[j] = twist / 2.0 + twist_sum <= 0.0;
    twist += (x_first[j] ? 1.0 : -1.0) * bend[j] * bend[j];
    twist_sum += twist;
  }
  std::vector<bool> best;
  double least = std::numeric_limits<double>::infinity();
  for (unsigned code = 0; code < 1U << (bend.size() - before); ++code) {
    for (std::size_t j = before; j < bend.size(); ++j)
      x_first[j] = (code >> (j - before) & 1U) == 0;
    const double error = order_error(layout, x_first);
    if (error >= least * (1.0 - 1e-9)) continue;  // less, but not by rounding
    least = error;
    best = x_first;
  }
  return best;
}

/// Masses and radii of a link that takes `fraction` of its section from `start` on, a fraction too.
void fill_body(const SectionPhysics& physics, double start, double fraction, Link& link) {
  const bool is_even = physics.radius.is_even() && physics.inner_radius.is_even();
  const auto half = [&](double from) -> Link::Half {
    const double mass = is_even
                            ? physics.mass * fraction / 2.0
                            : physics.mass * volume_fraction(physics, from, from + fraction / 2.0);
    return {mass, physics.radius.at(from + fraction / 4.0)};
  };
  link.radius = physics.radius.at(start + fraction);
  link.first_half = half(start);
  link.second_half = half(start + fraction / 2.0);
}

void fill_slide(const SectionParameters& section, const SectionPhysics& physics, double fraction,
                Link& link) {
  if (section.variable_length <= 0.0) return;
  const double retracted = section.length > 0.0 ? 0.0 : kShortestTelescope;
  link.slide_low = (retracted - 0.5) * section.variable_length * fraction;
  link.slide_high = 0.5 * section.variable_length * fraction;
  link.slide_rest = (physics.unloaded_length - rest_length(section)) * fraction;
  link.axial_stiffness = physics.axial_stiffness / fraction;
}

/// @param torsion  fraction of the section's length, or of its compliance
void fill_hinges(const ContinuumDescription& robot, const SectionParameters& section,
                 const SectionPhysics& physics, double torsion, Link& link) {
  if (!link.has_hinges()) return;
  link.hinge_stiffness = physics.bend_stiffness() / link.bend_fraction;
  link.natural_x = -physics.natural_bend[1] * link.bend_fraction;
  link.natural_y = physics.natural_bend[0] * link.bend_fraction;
  link.torsional_stiffness = physics.torsional_stiffness / (rest_length(section) * torsion);
  link.servo_damping = hinge_damping(robot, physics, link.bend_fraction);
}

std::vector<Link> section_links(const ContinuumDescription& robot, std::size_t i) {
  const SectionParameters& section = robot.sections[i];
  const SectionPhysics& physics = robot.physics[i];
  const LinkLayout layout = link_layout(robot, i);
  std::vector<Link> links(layout.length.size());
  const std::vector<bool> x_first = hinge_orders(layout);
  double start = 0.0;  // of the link, fraction of the section's length
  for (std::size_t j = 0; j < links.size(); ++j) {
    Link& link = links[j];
    const double fraction = layout.length[j];
    link.section = static_cast<int>(i) + 1;
    link.index = static_cast<int>(j) + 1;
    link.length = rest_length(section) * fraction;
    link.bend_fraction = layout.bend_fraction[j];
    link.damping_time = robot.written_damping_time(physics.damping_time);
    link.axial_first = j % 2 == 0;
    link.x_first = x_first[j];
    fill_body(physics, start, fraction, link);
    fill_slide(section, physics, fraction, link);
    fill_hinges(robot, section, physics, physics.torsion_tapers ? physics.compliance[j] : fraction,
                link);
    // Where the section turns there is a hinge about the axis already.
    if (j == 0 && section.rotation == SectionRotation::Turning) link.torsional_stiffness = 0.0;
    start += fraction;
  }
  return links;
}

constexpr double kEndFraction = 1.0 / 12.0;

/// Weight of the bend at joint k of n in a piece of constant curvature: the first joint turns by
/// 1/12 more than its part and the next one by as much less, the last two the same way around. That
/// cancels the term of second order in the bend of a link (docs/theory/chain.md, "Shape:
/// joints at mid-link"); two links or one have no room for it.
double end_correction(int k, int n) {
  if (n < 3) return 1.0;
  const int from_end = std::min(k, n - 1 - k);
  double weight = 1.0;
  if (from_end == 0) weight += kEndFraction;
  if (k == 1) weight -= kEndFraction;
  if (k == n - 2) weight -= kEndFraction;
  return weight;
}

}  // namespace

LinkLayout link_layout(const Section& section, int links) {
  const auto lengths = section.length_weights();
  const auto angles = section.angle_weights();
  const std::size_t parts = lengths.size();
  if (links < static_cast<int>(parts)) {
    throw ModelError(fmt::format("links = {}: must be at least {}, one link for each sub-section",
                                 links, parts));
  }
  std::vector<int> count(parts, 1);
  for (int placed = static_cast<int>(parts); placed < links; ++placed) {
    std::size_t longest = 0;
    for (std::size_t j = 1; j < parts; ++j) {
      if (lengths[j] * count[longest] > lengths[longest] * count[j]) longest = j;
    }
    ++count[longest];
  }
  LinkLayout layout;
  for (std::size_t j = 0; j < parts; ++j) {
    for (int k = 0; k < count[j]; ++k) {
      layout.length.push_back(lengths[j] / count[j]);
      layout.bend_fraction.push_back(angles[j] / count[j] * end_correction(k, count[j]));
    }
  }
  return layout;
}

LinkLayout link_layout(const ContinuumDescription& robot, std::size_t section) {
  const SectionPhysics& physics = robot.physics[section];
  if (physics.compliance.empty()) {
    return link_layout(Section(robot.sections[section], static_cast<int>(section) + 1),
                       physics.links);
  }
  LinkLayout layout{.length = std::vector<double>(physics.compliance.size(), 1.0 / physics.links),
                    .bend_fraction = physics.compliance};
  // As `end_correction` does for equal bends.
  if (std::vector<double>& bend = layout.bend_fraction; bend.size() >= 3) {
    const std::size_t last = bend.size() - 1;
    const double first_part = kEndFraction * bend[0], last_part = kEndFraction * bend[last];
    bend[0] += first_part;
    bend[1] -= first_part;
    bend[last - 1] -= last_part;
    bend[last] += last_part;
  }
  return layout;
}

std::vector<Link> chain_links(const ContinuumDescription& robot) {
  std::vector<Link> chain;
  for (std::size_t i = 0; i < robot.sections.size(); ++i) {
    const std::vector<Link> links = section_links(robot, i);
    chain.insert(chain.end(), links.begin(), links.end());
  }
  return chain;
}

}  // namespace tendril
