#include "tendril/model/continuum/chain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "tendril/model/continuum/arm_document.hpp"
#include "tendril/model/continuum/joint_damping.hpp"

namespace tendril {

namespace names {
std::string section_end(int section) { return fmt::format("s{}_end", section); }
}  // namespace names

namespace {

constexpr std::array<std::string_view, 6> kSectionColors{"0.16 0.44 0.71 1", "0.93 0.55 0.14 1",
                                                         "0.20 0.60 0.38 1", "0.76 0.27 0.32 1",
                                                         "0.48 0.37 0.66 1", "0.55 0.55 0.55 1"};

/// Adds the capsule of a link's body along z.
XmlNode& add_capsule(const ArmDocument& arm, const std::string& name, int section, double from,
                     double to, double radius, XmlNode& body) {
  XmlNode& geom = body.add("geom", {{"name", name},
                                    {"type", "capsule"},
                                    {"fromto", {0, 0, from, 0, 0, to}},
                                    {"size", radius},
                                    {"rgba", section_color(arm.robot, section)}});
  arm.touches(geom);
  return geom;
}

/// The first half of the first link moves with the base, or the carriage.
void write_root(ArmDocument& arm) {
  const Link& first = arm.links.front();
  XmlNode& geom = add_capsule(arm, names::kRoot, first.section, 0.0, first.length / 2.0,
                              arm.robot.physics.front().radius.start, *arm.bodies.front());
  if (!arm.has_carriage()) geom.set("mass", first.first_half.mass);
  write_rod(arm, first.section, 0.0, geom, *arm.bodies.front());
}

void add_hinge(ArmDocument& arm, const Link& link, char axis, double start, XmlNode& body) {
  XmlNode& joint = arm.mjcf.add_joint(
      body,
      {{"name", names::hinge(link.section, link.index, axis)},
       {"axis", axis == 'x' ? "1 0 0" : "0 1 0"},
       {"stiffness", link.hinge_stiffness},
       {"damping", link.damping_time * link.hinge_stiffness + link.servo_damping}},
      start);
  write_armature(arm.robot, damping_at_hinge(arm.robot, link), joint);
  if (const double natural = link.natural(axis); natural != 0.0) joint.set("springref", natural);
}

/// @param turn  of the keyframe's arcs along the link [rad]
void add_hinges(ArmDocument& arm, const Link& link, double turn, XmlNode& body) {
  if (!link.has_hinges()) return;
  const auto section = static_cast<std::size_t>(link.section - 1);
  const BendPlane plane = arm.robot.sections[section].bend_plane;
  const bool has_x = plane != BendPlane::XZ, has_y = plane != BendPlane::YZ;
  if (has_x && link.x_first) add_hinge(arm, link, 'x', 0.0, body);
  if (has_y) add_hinge(arm, link, 'y', turn, body);
  if (has_x && !link.x_first) add_hinge(arm, link, 'x', 0.0, body);
}

void add_twist(ArmDocument& arm, const Link& link, XmlNode& body) {
  if (!link.has_twist()) return;
  const double damping = link.damping_time * link.torsional_stiffness;
  XmlNode& joint = arm.mjcf.add_joint(body,
                                      {{"name", names::twist(link.section, link.index)},
                                       {"axis", {0, 0, 1}},
                                       {"stiffness", link.torsional_stiffness},
                                       {"damping", damping}},
                                      0.0);
  write_armature(arm.robot, damping, joint);
}

/// The slide of a link in the keyframe [m].
double start_slide(const ArmDocument& arm, const Link& link) {
  if (!link.has_slide()) return 0.0;
  const auto section = static_cast<std::size_t>(link.section - 1);
  const double fraction = link.length / rest_length(arm.robot.sections[section]);
  return std::clamp(fraction * arm.start_extension(section), link.slide_low, link.slide_high);
}

void add_slide(ArmDocument& arm, const Link& link, XmlNode& body) {
  if (!link.has_slide()) return;
  XmlNode& joint = arm.mjcf.add_joint(body,
                                      {{"name", names::slide(link.section, link.index)},
                                       {"type", "slide"},
                                       {"axis", {0, 0, 1}},
                                       {"range", {link.slide_low, link.slide_high}},
                                       {"stiffness", link.axial_stiffness},
                                       {"springref", link.slide_rest},
                                       {"damping", link.damping_time * link.axial_stiffness}},
                                      start_slide(arm, link));
  write_armature(arm.robot, damping_at_slide(arm.robot, link), joint);
}

void add_joints(ArmDocument& arm, const Link& link, double turn, XmlNode& body) {
  if (link.axial_first) {
    add_slide(arm, link, body);
    add_twist(arm, link, body);
  }
  add_hinges(arm, link, turn, body);
  if (!link.axial_first) {
    add_twist(arm, link, body);
    add_slide(arm, link, body);
  }
}

/// Distance from the chain's start to the middle of each link, where its joints are, when the chain
/// is straight and at its shortest [m].
std::vector<double> shortest_joints(const std::vector<Link>& chain) {
  std::vector<double> joints;
  double end = 0.0;
  for (const Link& link : chain) {
    joints.push_back(end + link.slide_low + link.length / 2.0);
    end = joints.back() + link.length / 2.0;
  }
  return joints;
}

}  // namespace

XmlText section_color(const ContinuumDescription& robot, int section) {
  const auto i = static_cast<std::size_t>(section - 1);
  std::vector<double> color = robot.physics[i].color;
  if (color.empty()) return kSectionColors[i % kSectionColors.size()];
  if (color.size() == 3) color.push_back(1.0);
  return std::span<const double>(color);
}

double length_to_next(const std::vector<Link>& links, std::size_t k) {
  return (links[k].length + (k + 1 < links.size() ? links[k + 1].length : 0.0)) / 2.0;
}

std::array<HalfLink, 2> halves_of_body(const std::vector<Link>& links, std::size_t k) {
  const Link& link = links[k];
  std::array<HalfLink, 2> halves{
      {{link.second_half.mass, link.length / 2.0, link.second_half.radius, link.length / 4.0}, {}}};
  if (k + 1 < links.size()) {
    const Link& next = links[k + 1];
    halves[1] = {next.first_half.mass, next.length / 2.0, next.first_half.radius,
                 link.length / 2.0 + next.length / 4.0};
  }
  return halves;
}

void write_inertia(const std::array<HalfLink, 2>& halves, const std::array<double, 2>& added_mass,
                   XmlNode& body) {
  const auto& [a, b] = halves;
  double mass = a.mass + b.mass;
  const double center = (a.mass * a.center + b.mass * b.center) / mass;
  double across = 0.0, along = 0.0;
  for (std::size_t i = 0; i < 2; ++i) {
    const auto& [own, length, radius, middle] = halves[i];
    const double r2 = radius * radius, d = middle - center;
    along += own * r2 / 2.0;
    across += (own + added_mass[i]) * ((3.0 * r2 + length * length) / 12.0 + d * d);
    mass += added_mass[i];
  }
  body.child("inertial")
      .set("pos", {0, 0, center})
      .set("mass", mass)
      .set("diaginertia", {across, across, along});
}

void write_chain(ArmDocument& arm) {
  write_root(arm);
  const std::optional<StartPose>& start = arm.robot.start;
  const Guide& guide = arm.robot.guide;
  // Of the link's start in the keyframe, from where the arcs begin [m].
  double s = start && guide.exists() ? start->feed - guide.length : 0.0;
  double joint_offset = 0.0;  // from the frame of the body before to the start of the link
  for (std::size_t k = 0; k < arm.links.size(); ++k) {
    const Link& link = arm.links[k];
    const std::string name = names::link(link.section, link.index);
    XmlNode& body = arm.bodies.back()->add(
        "body", {{"name", name}, {"pos", {0, 0, joint_offset + link.length / 2.0}}});
    arm.bodies.push_back(&body);
    joint_offset = link.length / 2.0;
    write_inertia(halves_of_body(arm.links, k), {}, body);
    const double length = link.length + start_slide(arm, link);
    const double turn = start ? start->heading_at(s + length) - start->heading_at(s) : 0.0;
    s += length;
    if (link.index == 1) write_turn(arm, static_cast<std::size_t>(link.section - 1), body);
    add_joints(arm, link, turn, body);
    // To the next joints with one radius: where the next section is wider its caps are set back.
    XmlNode& geom = add_capsule(arm, name, link.section, -link.slide_high,
                                length_to_next(arm.links, k), link.radius, body);
    const int links = arm.robot.physics[static_cast<std::size_t>(link.section - 1)].links;
    write_rod(arm, link.section, static_cast<double>(link.index) / links, geom, body);
  }
}

void write_section_ends(ArmDocument& arm) {
  const auto add = [](const std::string& name, const Link& link, XmlNode& body) {
    body.add("site", {{"name", name}, {"pos", {0, 0, link.length / 2.0}}, {"size", 0.002}});
  };
  for (std::size_t k = 0; k < arm.links.size(); ++k) {
    const Link& link = arm.links[k];
    if (k + 1 == arm.links.size() || arm.links[k + 1].section != link.section)
      add(names::section_end(link.section), link, *arm.bodies[k + 1]);
  }
  add(names::kTip, arm.links.back(), arm.last_body());
}

std::vector<ChainPiece> chain_pieces(const ArmDocument& arm) {
  const std::vector<Link>& links = arm.links;
  const std::vector<double> joint = shortest_joints(links);
  std::vector<ChainPiece> pieces{{arm.has_carriage() ? names::kCarriage : names::kBase, 0.0,
                                  links.front().length / 2.0,
                                  arm.robot.physics.front().radius.start}};
  for (std::size_t k = 0; k < links.size(); ++k) {
    pieces.push_back({names::link(links[k].section, links[k].index), joint[k] - links[k].slide_high,
                      joint[k] + length_to_next(links, k), links[k].radius});
  }
  return pieces;
}

void write_excludes(ArmDocument& arm) {
  if (!arm.robot.self_collision) return;
  // Equal links of length l and radius r: all |a - b| <= 1 + 2 r/l.
  constexpr double kRounding = 1e-9;  // [m]
  const std::vector<ChainPiece> pieces = chain_pieces(arm);
  for (std::size_t a = 0; a < pieces.size(); ++a) {
    for (std::size_t b = a + 1; b < pieces.size(); ++b) {
      const double gap = pieces[b].start - pieces[a].end;
      if (gap <= pieces[a].radius + pieces[b].radius + kRounding)
        arm.mjcf.exclude(pieces[a].body, pieces[b].body);
    }
  }
}

}  // namespace tendril
