#include "tendril/path/winding_path.hpp"

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>

#include "tendril/range.hpp"
#include "tendril/standard_arithmetic.hpp"

namespace tendril {
namespace {

using Eigen::Vector3d;

constexpr double kSpacing = 1e-3;  // [m] of the path's points
constexpr double kMeet = 1e-9;     // [m]: axes at a smaller distance meet
constexpr char kName[] = "winding";

/// The feed axis (+z from the origin) and the cylinder's axis.
struct Axes {
  Vector3d direction;   // of the cylinder, so that the winding continues forwards along it
  Vector3d foot;        // point of the cylinder's axis nearest to the feed axis
  Vector3d radial;      // unit, from there to the feed axis
  double distance;      // of the axes [m]
  double radius;        // of the loose helix [m]
  double lead_in;       // where on the feed axis the winding begins [m]
  double sine, cosine;  // of the pitch angle
};

Axes axes_of(const Winding& winding) {
  require(kName, "cylinder_radius", winding.cylinder_radius, kPositive, "m");
  require(kName, "angle", winding.angle, kPositive, "rad");
  require(kName, "exit_length", winding.exit_length, kPositive, "m");
  require(kName, "cylinder_point", winding.cylinder_point.sum(), kFinite, "m");
  const double length = winding.cylinder_axis.norm();
  require(kName, "length of cylinder_axis", length, {.low = 1e-9, .open_low = true});
  Axes axes;
  axes.direction = winding.cylinder_axis / length;
  axes.sine = axes.direction.z();
  axes.cosine = hypotenuse(axes.direction.x(), axes.direction.y());
  require(kName, "sine of the angle between cylinder_axis and the feed axis", axes.cosine,
          {.low = 0.1});
  // Feet of the common perpendicular of the feed axis z e_z and the cylinder's axis p + t d.
  const Vector3d& p = winding.cylinder_point;
  const Vector3d& d = axes.direction;
  const double along = (p.z() * d.z() - p.dot(d)) / (axes.cosine * axes.cosine);
  axes.foot = p + along * d;
  axes.lead_in = axes.foot.z();
  const Vector3d across = Vector3d(0.0, 0.0, axes.lead_in) - axes.foot;
  axes.distance = across.norm();
  axes.radius = winding.radius == 0.0 ? axes.distance : winding.radius;
  if (!(axes.radius > winding.cylinder_radius))
    refuse(kName,
           winding.radius == 0.0 ? "distance of the cylinder's axis from the feed axis" : "radius",
           axes.radius, "> cylinder_radius", "m");
  require(kName, "point of the feed axis nearest to the cylinder", axes.lead_in, kPositive, "m");
  // To one side of a cylinder that the feed axis meets.
  axes.radial = axes.distance > kMeet ? Vector3d(across / axes.distance)
                                      : axes.direction.cross(Vector3d::UnitZ()).normalized();
  return axes;
}

}  // namespace

WindingPlace winding_place(const Winding& winding) {
  const Axes axes = axes_of(winding);
  return {axes.distance, axes.lead_in, axes.radius, std::atan2(axes.sine, axes.cosine)};
}

Path winding_path(const Winding& winding, double radius, double transition) {
  const Axes axes = axes_of(winding);
  if (radius == 0.0) radius = axes.radius;
  require(kName, "radius", radius, {.low = 0.0, .high = axes.radius, .open_low = true}, "m");
  require(kName, "transition", transition, kPositive, "m");
  transition = std::min(transition, axes.lead_in);

  // The feed axis, drawn towards the cylinder's by `draw` from the helix on, and before it by a
  // smooth fraction of that.
  const double draw = axes.distance - radius;
  const Vector3d forward = axes.direction.cross(axes.radial);
  const double sense = forward.z() >= 0.0 ? 1.0 : -1.0;
  std::vector<Vector3d> points;
  const int lead_count = std::max(2, static_cast<int>(std::ceil(axes.lead_in / kSpacing)));
  for (int k = 0; k < lead_count; ++k) {
    const double z = axes.lead_in * k / lead_count;
    const double x = std::clamp(1.0 - (axes.lead_in - z) / transition, 0.0, 1.0);
    points.emplace_back(Vector3d(0.0, 0.0, z) - draw * x * x * (3.0 - 2.0 * x) * axes.radial);
  }
  const double rise = axes.radius * axes.sine / axes.cosine;  // along the cylinder per radian
  const double arc = winding.angle * hypotenuse(radius, rise);
  const int arc_count = std::max(2, static_cast<int>(std::ceil(arc / kSpacing)));
  Vector3d radial = axes.radial;
  for (int k = 0; k <= arc_count; ++k) {
    const double phi = winding.angle * k / arc_count;
    radial = axes.radial * std::cos(phi) + sense * forward * std::sin(phi);
    points.emplace_back(axes.foot + radius * radial + rise * phi * axes.direction);
  }
  const Vector3d tangent =
      (sense * radius * axes.direction.cross(radial) + rise * axes.direction).normalized();
  const int exit_count = std::max(1, static_cast<int>(std::ceil(winding.exit_length / kSpacing)));
  const Vector3d end = points.back();
  for (int k = 1; k <= exit_count; ++k)
    points.emplace_back(end + winding.exit_length * k / exit_count * tangent);
  return Path(std::move(points));
}

}  // namespace tendril
