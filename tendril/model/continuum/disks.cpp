#include "tendril/model/continuum/disks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "tendril/model/continuum/arm_document.hpp"
#include "tendril/model/continuum/chain.hpp"
#include "tendril/model/toml_fields.hpp"

namespace tendril {
namespace {

constexpr int kMaxDisks = 200;
constexpr double kThickness = 0.125;  // of the distance between disks
constexpr double kRodRadius = 0.25;   // of the body's

constexpr KeyInfo kKeys[]{
    {"disks", "",
     "disks that are drawn, with the rod, instead of the full body: spread evenly, the last one at "
     "the end of the section ([disks](#disks-and-skin)); 0: the full body"},
    {"disk_radius", "m", "of the disks", "`radius`"},
    {"disk_thickness", "m", "along the backbone", "1/8 of their distance",
     "(0, distance of the disks]"}};

}  // namespace

namespace names {
std::string disk(int section, int disk) { return fmt::format("s{}_disk_{}", section, disk); }
std::string rod(const std::string& link) { return link + "_rod"; }
}  // namespace names

KeyRows disk_keys() { return kKeys; }

void read_disks(const Fields& fields, const SectionParameters& section, SectionPhysics& physics) {
  Disks disks;
  disks.count = fields.integer("disks", 0, 0, kMaxDisks);
  disks.radius = physics.radius;
  if (disks.count == 0) {
    for (const char* key : {"disk_radius", "disk_thickness"})
      if (fields.has(key)) fields.refuse(key, "needs disks");
  }
  if (const auto radius = fields.number("disk_radius", kPositiveNumber))
    disks.radius = {*radius, *radius};
  const double distance = rest_length(section) / std::max(disks.count, 1);
  disks.thickness = fields.number("disk_thickness", kThickness * distance,
                                  {.low = 0.0, .high = distance, .open_low = true});
  disks.rod_radius = physics.backbone_radius.value_or(
      Taper{kRodRadius * physics.radius.start, kRodRadius * physics.radius.end});
  if (disks.count > 0) physics.disks = disks;
}

void make_visual(XmlNode& geom) {
  geom.set("contype", 0).set("conaffinity", 0).set("mass", 0).set("group", kVisualGroup);
}

void write_rod(const ArmDocument& arm, int section, double fraction, XmlNode& geom, XmlNode& body) {
  const std::optional<Disks>& disks =
      arm.robot.physics[static_cast<std::size_t>(section - 1)].disks;
  if (!disks) return;
  geom.set("group", kCollisionGroup);
  make_visual(body.add("geom", {{"name", names::rod(*geom.find("name"))},
                                {"type", "capsule"},
                                {"fromto", *geom.find("fromto")},
                                {"size", disks->rod_radius.at(fraction)},
                                {"rgba", "0.72 0.74 0.78 1"}}));
}

void write_disks(const ArmDocument& arm) {
  const std::vector<double> start = arm.body_starts();
  double from = 0.0;  // of the section
  for (std::size_t i = 0; i < arm.robot.sections.size(); ++i) {
    const double length = rest_length(arm.robot.sections[i]);
    const Disks disks = arm.robot.physics[i].disks.value_or(Disks());
    for (int k = 1; k <= disks.count; ++k) {
      const double x = static_cast<double>(k) / disks.count, z = from + x * length;
      const auto body = std::upper_bound(start.begin(), start.end(), z) - start.begin() - 1;
      const auto section = static_cast<int>(i) + 1;
      make_visual(arm.bodies[static_cast<std::size_t>(body)]->add(
          "geom", {{"name", names::disk(section, k)},
                   {"type", "cylinder"},
                   {"pos", {0, 0, z - start[static_cast<std::size_t>(body)]}},
                   {"size", {disks.radius.at(x), disks.thickness / 2.0}},
                   {"rgba", section_color(arm.robot, section)}}));
    }
    from += length;
  }
}

}  // namespace tendril
