#include "tendril/model/continuum/guide.hpp"

#include <fmt/format.h>

#include "tendril/model/continuum/arm_document.hpp"
#include "tendril/model/toml_fields.hpp"

namespace tendril {

Guide read_guide(const Fields& base, const ContinuumDescription& robot) {
  Guide guide;
  guide.length = base.number("guide_length", guide.length, kNotNegativeNumber);
  guide.clearance = base.number("guide_clearance", guide.clearance, kNotNegativeNumber);
  if (!guide.exists()) return guide;
  if (robot.base.feed_limit <= 0.0) base.refuse("guide_length", "needs feed > 0");
  if (robot.base.spin) base.refuse("guide_length", "a base with a guide cannot spin");
  if (robot.compliance != Compliance::Link)
    base.refuse("guide_length", "needs compliance = \"link\": links in the guide are not bent");
  return guide;
}

void write_guide(ArmDocument& arm) {
  const Guide& guide = arm.robot.guide;
  if (!guide.exists()) return;
  const double radius = largest_radius(arm.robot), inside = radius + guide.clearance;
  const double half_wall = radius / 2.0, half_length = guide.length / 2.0;
  for (const bool along_x : {false, true}) {
    if (!along_x && arm.robot.is_planar()) continue;  // it does not bend towards these walls
    for (const double side : {1.0, -1.0}) {
      const double offset = side * (inside + half_wall);
      arm.base
          .add("geom",
               {{"name", fmt::format("guide_{}{}", along_x ? 'x' : 'y', side > 0.0 ? '+' : '-')},
                {"type", "box"},
                {"pos", {along_x ? offset : 0.0, along_x ? 0.0 : offset, half_length}},
                {"size", {along_x ? half_wall : inside, along_x ? inside : half_wall, half_length}},
                {"contype", 2},
                {"conaffinity", 1},
                {"priority", 1},
                {"friction", 0},
                {"group", 1},
                {"rgba", "0.25 0.25 0.28 0.5"}})
          .set(stiff_contact());
    }
  }
}

}  // namespace tendril
