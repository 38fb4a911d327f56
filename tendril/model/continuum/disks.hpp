#pragma once

#include <string>

#include "tendril/model/continuum/taper.hpp"
#include "tendril/model/key_info.hpp"

namespace tendril {

class Fields;
struct ArmDocument;
struct SectionParameters;
struct SectionPhysics;
class XmlNode;

namespace names {
/// Geom "s1_disk_3"; sections and disks are counted from 1.
[[nodiscard]] std::string disk(int section, int disk);
/// Geom "s1_l1_rod" of the rod in the link "s1_l1", and "root_rod" in the first half link.
[[nodiscard]] std::string rod(const std::string& link);
}  // namespace names

/// Disks on the rod of a section, spread evenly, the last one at its end. They are only drawn, with
/// the rod, instead of the full body, which is still what touches.
struct Disks {
  int count = 0;           ///< > 0
  Taper radius;            ///< [m], > 0
  double thickness = 0.0;  ///< [m], > 0
  Taper rod_radius;        ///< [m], > 0
};

/// Keys of disks in a table [[section]].
[[nodiscard]] KeyRows disk_keys();
/// Reads the disks of a section whose body is read. Throws ModelError.
void read_disks(const Fields& fields, const SectionParameters& section, SectionPhysics& physics);

/// Draws the part of a link with this geom, along z of its body: hides the geom and adds the rod.
/// Nothing in a section without disks.
/// @param fraction  of the section's length up to the part
void write_rod(const ArmDocument& arm, int section, double fraction, XmlNode& geom, XmlNode& body);

/// Adds the disks of all sections as geoms without mass that touch nothing.
void write_disks(const ArmDocument& arm);

/// Makes a geom one that is only drawn.
void make_visual(XmlNode& geom);

/// Group of geoms that are there to touch, not to be seen; those that are only drawn have
/// kVisualGroup.
inline constexpr int kCollisionGroup = 3, kVisualGroup = 2;

}  // namespace tendril
