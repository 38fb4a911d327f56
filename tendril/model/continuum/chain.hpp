#pragma once

// Private to tendril/model: the bodies of an arm's links.

#include <array>
#include <string>
#include <vector>

#include "tendril/model/continuum/links.hpp"

namespace tendril {

struct ArmDocument;
struct ContinuumDescription;
class XmlNode;
struct XmlText;

namespace names {
inline constexpr const char* kRoot = "root";  ///< geom of the body's part before the first joint
/// Site "s1_end", z along the backbone.
[[nodiscard]] std::string section_end(int section);
}  // namespace names

/// Adds the links: bodies with two hinges each in alternating axis order, one more about its axis
/// with a torsional stiffness, a slide of a section of variable length, a turn at the base of a
/// section that turns, explicit inertias, and capsules from joint to joint.
///
/// Sign convention: the sum of a section's y hinges is u = theta cos(phi), the sum of its x hinges
/// is -v = -theta sin(phi). Rest length of a section in the model: SC + SD/2; the slides of a
/// section sum to s - SD/2.
///
/// With a torsional stiffness nothing drives the hinges about the axis, which are alternately
/// before and after the other two.
void write_chain(ArmDocument& arm);

/// Adds the sites at the ends of the sections and at the tip.
void write_section_ends(ArmDocument& arm);

/// Excludes contacts between links that touch already in the straight chain at its shortest; only
/// with `self_collision`.
void write_excludes(ArmDocument& arm);

/// Color of a section, from 1: that of the file, or one by its number.
[[nodiscard]] XmlText section_color(const ContinuumDescription& robot, int section);

/// Half of a link, a homogeneous cylinder in the frame of its body.
struct HalfLink {
  double mass, length, radius;
  double center;  ///< along z [m]
};
/// The two halves that body k consists of: from the joint of link k to the next one.
[[nodiscard]] std::array<HalfLink, 2> halves_of_body(const std::vector<Link>& links, std::size_t k);

/// Sets the inertia of a body.
/// @param added_mass  of each half that counts for motion, but not for turning about the axis [kg]
void write_inertia(const std::array<HalfLink, 2>& halves, const std::array<double, 2>& added_mass,
                   XmlNode& body);

/// Returns the length from the joints of link k to the next ones, or to the tip [m].
[[nodiscard]] double length_to_next(const std::vector<Link>& links, std::size_t k);

/// A body of the straight chain at its shortest.
struct ChainPiece {
  std::string body;
  double start, end, radius;  ///< along the chain [m]
};
[[nodiscard]] std::vector<ChainPiece> chain_pieces(const ArmDocument& arm);

}  // namespace tendril
