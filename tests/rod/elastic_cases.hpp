#pragma once

#include <vector>

#include "tendril/contact/planar_arc.hpp"
#include "tendril/contact/planar_scene.hpp"
#include "tendril/rod/elastic_correction.hpp"

namespace tendril::test {

/// A plan that braces against obstacles, with what contact physics made of it. Base at the origin,
/// along +z, body radius 10 mm. Each planned arc is tangent to its contact; the last one ends at
/// the target.
struct ElasticCase {
  const char* name;
  PlanarScene scene;
  Eigen::Vector2d target;
  std::vector<PlannedContact> contacts;
  /// Measured in MuJoCo 4.0 with EI = 0.05 N m^2, 10 mm links: tip error of the plan as it is [m]
  /// and contact force of the corrected plan [N].
  double plain_tip_error, contact_force;
  /// Corrected actuation, from a penalty model with 140 nodes [1/m, m].
  double curvature, length;

  [[nodiscard]] std::vector<PlanarArc> plan() const {
    std::vector<PlanarArc> arcs;
    PlanarPose pose;
    for (const PlannedContact& contact : contacts) {
      PlanarArc arc{
          .start = pose,
          .curvature = *tangency_curvature(pose, contact.center, contact.radius, contact.side),
          .length = 1.0};
      arc.length = arc.nearest_parameter(contact.center);
      arcs.push_back(arc);
      pose = arc.end();
    }
    arcs.push_back(*chord_arc(pose, target));
    return arcs;
  }
};

inline std::vector<ElasticCase> elastic_cases() {
  constexpr BodySide plus = BodySide::Positive, minus = BodySide::Negative;
  constexpr double r = 0.01;
  PlanarScene first, second, third;
  first.add(box_polygon(-0.44, -0.30, 0.42, 0.64));
  first.add(box_polygon(-0.17, 0.03, 0.35, 0.49));
  first.add(box_polygon(0.26, 0.44, 0.07, 0.21));
  first.add(box_polygon(-0.09, 0.07, 0.11, 0.29));
  second.add(box_polygon(0.15, 0.21, 0.31, 0.51));
  second.add(box_polygon(-0.03, 0.19, 0.58, 0.78));
  second.add(box_polygon(0.36, 0.42, 0.08, 0.24));
  third.add(box_polygon(0.07, 0.27, 0.48, 0.66));
  third.add(box_polygon(-0.45, -0.31, 0.57, 0.81));
  third.add(Disc{{0.03, 0.29}, 0.06});
  const Eigen::Vector2d target_1(0.14, 0.69), target_2(0.35, 0.64), target_3(0.32, 0.69);
  return {
      {"case 1 short", first, target_1, {{{0.07, 0.11}, r, minus}}, 0.230, 6.96, -2.40, 0.790},
      {"case 1 long",
       first,
       target_1,
       {{{-0.09, 0.11}, r, plus}, {{-0.30, 0.42}, r, minus}},
       0.196,
       7.05,
       3.12,
       1.052},
      {"case 2 long", second, target_2, {{{0.21, 0.31}, r, minus}}, 0.158, 1.03, -2.00, 0.755},
      {"case 2 short",
       second,
       target_2,
       {{{0.15, 0.51}, r, plus}, {{0.19, 0.58}, r, minus}},
       0.025,
       0.22,
       2.48,
       0.793},
      {"case 3",
       third,
       target_3,
       {{{0.03, 0.29}, 0.06 + r, minus}, {{0.27, 0.48}, r, minus}},
       0.062,
       0.58,
       -2.41,
       0.783},
  };
}

inline double plan_length(std::span<const PlanarArc> plan) {
  double sum = 0.0;
  for (const PlanarArc& arc : plan) sum += arc.length;
  return sum;
}

/// Smallest clearance of the rod in its last equilibrium, by sampling the body at every 0.2 mm.
inline double sampled_clearance(const ElasticRod& rod) {
  double least = std::numeric_limits<double>::infinity();
  const int samples = static_cast<int>(rod.length() / 2e-4);
  for (int i = 0; i <= samples; ++i)
    least = std::min(least, rod.scene().distance(rod.pose_at(rod.length() * i / samples).position));
  return least - rod.options().body_radius;
}

}  // namespace tendril::test
