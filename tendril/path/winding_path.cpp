#include "tendril/path/winding_path.hpp"

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <sstream>
#include <string>

#include "tendril/model_error.hpp"

namespace tendril {
namespace {

using Eigen::Vector3d;

constexpr double kSpacing = 1e-3;  // [m] of the path's points

/// The feed axis (+z from the origin) and the post's axis.
struct Axes {
  Vector3d direction;   // of the post, so that the winding goes on forwards along it
  Vector3d foot;        // point of the post's axis nearest to the feed axis
  Vector3d radial;      // unit, from there to the feed axis
  double distance;      // of the axes [m]
  double lead_in;       // where on the feed axis the winding begins [m]
  double sine, cosine;  // of the pitch angle
};

[[noreturn]] void refuse(const std::string& field, double value, const std::string& allowed) {
  std::ostringstream text;
  text << "winding: " << field << " = " << value << ", must be " << allowed;
  throw ModelError(text.str());
}

void require_positive(const char* field, double value) {
  if (!(value > 0.0) || !std::isfinite(value)) refuse(field, value, "finite and > 0");
}

Axes axes_of(const Winding& winding) {
  require_positive("cylinder_radius", winding.cylinder_radius);
  require_positive("angle", winding.angle);
  require_positive("exit_length", winding.exit_length);
  if (!winding.cylinder_point.allFinite())
    refuse("cylinder_point", winding.cylinder_point.sum(), "finite");
  const double length = winding.cylinder_axis.norm();
  if (!(length > 1e-9) || !std::isfinite(length)) refuse("length of cylinder_axis", length, "> 0");
  Axes axes;
  axes.direction = winding.cylinder_axis / length;
  axes.sine = axes.direction.z();
  axes.cosine = std::hypot(axes.direction.x(), axes.direction.y());
  if (axes.cosine < 0.1)
    refuse("angle of cylinder_axis with the feed axis, sine", axes.cosine, ">= 0.1");
  // Feet of the common perpendicular of the feed axis z e_z and the post's axis p + t d.
  const Vector3d& p = winding.cylinder_point;
  const Vector3d& d = axes.direction;
  const double along = (p.z() * d.z() - p.dot(d)) / (axes.cosine * axes.cosine);
  axes.foot = p + along * d;
  axes.lead_in = axes.foot.z();
  const Vector3d across = Vector3d(0.0, 0.0, axes.lead_in) - axes.foot;
  axes.distance = across.norm();
  if (axes.distance <= winding.cylinder_radius)
    refuse("distance of the post's axis from the feed axis", axes.distance, "> cylinder_radius");
  if (axes.lead_in <= 0.0)
    refuse("point of the feed axis nearest to the post", axes.lead_in, "> 0 m");
  axes.radial = across / axes.distance;
  return axes;
}

}  // namespace

double winding_radius(const Winding& winding) { return axes_of(winding).distance; }

Path winding_path(const Winding& winding, double radius, double lean) {
  const Axes axes = axes_of(winding);
  if (radius == 0.0) radius = axes.distance;
  if (!(radius > 0.0) || radius > axes.distance)
    refuse("radius", radius, "in (0, distance of the axes]");
  require_positive("lean", lean);
  lean = std::min(lean, axes.lead_in);

  // The loose path, drawn towards the post's axis by `draw` from the helix on, and before it by a
  // smooth share of that.
  const double draw = axes.distance - radius;
  const Vector3d forward = axes.direction.cross(axes.radial);
  const double sense = forward.z() >= 0.0 ? 1.0 : -1.0;
  std::vector<Vector3d> points;
  const int lead_count = std::max(2, static_cast<int>(std::ceil(axes.lead_in / kSpacing)));
  for (int k = 0; k < lead_count; ++k) {
    const double z = axes.lead_in * k / lead_count;
    const double x = std::clamp(1.0 - (axes.lead_in - z) / lean, 0.0, 1.0);
    points.emplace_back(Vector3d(0.0, 0.0, z) - draw * x * x * (3.0 - 2.0 * x) * axes.radial);
  }
  const double rise = axes.distance * axes.sine / axes.cosine;  // along the post per radian
  const double arc = winding.angle * std::hypot(radius, rise);
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
