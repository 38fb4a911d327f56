#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tendril/kinematics/section.hpp"

namespace tendril {

struct ContinuumDescription;

/// Names of the elements of links; sections and links are counted from 1.
namespace names {
/// Body "s1_l1", at the joints of the link, and its geom: from there to the next joints.
[[nodiscard]] std::string link(int section, int link);
/// Joint "s1_l1_x", axis 'x' or 'y'. A link whose bend fraction is 0 has no hinges.
[[nodiscard]] std::string hinge(int section, int link, char axis);
/// Joint "s1_l1_twist" of a section that is not rigid in torsion.
[[nodiscard]] std::string twist(int section, int link);
/// Joint "s1_l1_z" of an extensible section.
[[nodiscard]] std::string slide(int section, int link);
/// Section of an element with one of these names, or that of a section's bend, length or end such
/// as "s2_x" or "s2_end", after any prefix; 0 for other names.
[[nodiscard]] int section_of(std::string_view name);
}  // namespace names

/// Division of one section into links; computed from the sub-section weights.
struct LinkLayout {
  std::vector<double> length;  ///< fraction of the section's length, sum 1
  std::vector<double>
      bend_fraction;  ///< fraction of the section's bend angle at each link's joint, sum 1
};

/// Every sub-section gets one link; each further link goes to the sub-section whose links are the
/// longest (the first of equals). Within a sub-section the links are equal.
/// @param links  at least the number of sub-sections; else ModelError
[[nodiscard]] LinkLayout link_layout(const Section& section, int links);
/// Returns the layout of a section of the robot, from 0; the links of one whose stiffness tapers
/// are equal.
[[nodiscard]] LinkLayout link_layout(const ContinuumDescription& robot, std::size_t section);

/// One link of the chain in its rest pose. Its hinges are in its middle: what turns with them is
/// its second half and the next link's first one, the body of this name.
struct Link {
  int section = 0;  ///< from 1
  int index = 0;    ///< in its section, from 1
  double length = 0.0;
  double bend_fraction = 0.0;
  /// A half of the link, a homogeneous cylinder.
  struct Half {
    double mass = 0.0, radius = 0.0;
  };
  Half first_half, second_half;
  double radius = 0.0;                       ///< at its end
  double slide_low = 0.0, slide_high = 0.0;  ///< range of the slide [m]; both 0 without one
  double slide_rest = 0.0;                   ///< where its spring is without force [m]
  double axial_stiffness = 0.0;              ///< of the slide [N/m]
  double hinge_stiffness = 0.0;              ///< [N m/rad]; 0 without hinges
  double natural_x = 0.0, natural_y = 0.0;   ///< angles of the hinges without moments [rad]
  double torsional_stiffness = 0.0;  ///< of the hinge about its axis [N m/rad]; 0 without one
  double damping_time = 0.0;         ///< of the joints, without what the integrator adds
  double servo_damping = 0.0;  ///< of the hinges, for link servos: outside the servo [N m s/rad]
  bool x_first = true;         ///< order of the two hinges
  bool axial_first = true;     ///< slide and twist are before the hinges, else after them

  [[nodiscard]] bool has_hinges() const { return bend_fraction > 0.0; }
  [[nodiscard]] double natural(char axis) const { return axis == 'x' ? natural_x : natural_y; }
  [[nodiscard]] bool has_twist() const { return torsional_stiffness > 0.0; }
  [[nodiscard]] bool has_slide() const { return slide_high > slide_low; }
};

/// The links of all sections, from the base to the tip.
[[nodiscard]] std::vector<Link> chain_links(const ContinuumDescription& robot);

}  // namespace tendril
