#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "tendril/geometry/solid.hpp"
#include "tendril/rod/spatial_rod.hpp"
#include "tests/support/random.hpp"

namespace tendril::test {

/// A body among random solids, and a target that an actuation drawn at random leads its tip to.
struct ContactQuery {
  SpatialBody body;
  std::vector<Solid> solids;
  Obstacles obstacles;
  Eigen::Vector3d target;
  SpatialActuation witness;
  int witness_contacts = 0;
  bool arc_is_free = false;  ///< the arc from the base to the target is free and within the limits
};

inline Solid random_solid(Random& random, const Eigen::Vector3d& center) {
  Solid solid;
  solid.X_BO.translation() = center;
  solid.X_BO.linear() = Eigen::AngleAxisd(random.angle(), random.unit_vector()).toRotationMatrix();
  switch (random.integer(0, 2)) {
    case 0:
      solid.kind = Solid::Kind::Sphere;
      solid.size.x() = random.uniform(0.03, 0.12);
      break;
    case 1:
      solid.kind = Solid::Kind::Capsule;
      solid.size = {random.uniform(0.01, 0.05), random.uniform(0.05, 0.3), 0.0};
      break;
    default:
      solid.kind = Solid::Kind::Box;
      solid.size = {random.uniform(0.02, 0.12), random.uniform(0.02, 0.12),
                    random.uniform(0.02, 0.12)};
  }
  return solid;
}

inline Obstacles obstacles_of(const std::vector<Solid>& solids) {
  std::vector<Obstacle> obstacles;
  for (const Solid& solid : solids) obstacles.push_back({shape_of(solid), solid.X_BO});
  return Obstacles(std::move(obstacles));
}

/// Draws an actuation in three legs and follows it while the body does not snap or overlap.
/// The last one that it can be at.
inline std::optional<SpatialActuation> random_drive(Random& random, SpatialRod& rod) {
  const SpatialBody& body = rod.body();
  SpatialActuation at = rod.reset();
  if (!rod.solve(at).converged) return std::nullopt;
  const int last = rod.actuation_size() - 1;
  const double end = random.uniform(0.4, 1.0) * body.length();
  constexpr int kLegs = 3, kSteps = 40;
  for (int leg = 1; leg <= kLegs; ++leg) {
    SpatialActuation to = at;
    for (std::size_t k = 0; k < body.sections.size(); ++k) {
      const double u = body.sections[k].max_curvature * random.uniform(0.0, 1.0), a = random.angle();
      to[static_cast<Eigen::Index>(2 * k)] = u * std::cos(a);
      to[static_cast<Eigen::Index>(2 * k + 1)] = u * std::sin(a);
    }
    to[last] = std::max(at[last], body.start_length + (end - body.start_length) * leg / kLegs);
    const SpatialActuation step = (to - at) / kSteps;
    for (int i = 0; i < kSteps; ++i) {
      const Eigen::VectorXd shape = rod.shape();
      const std::vector<Eigen::Vector3d> nodes(rod.nodes().begin(), rod.nodes().end());
      bool moves = rod.solve(at + step).converged;
      for (std::size_t j = 0; j < nodes.size() && moves; ++j)
        moves = (rod.nodes()[j] - nodes[j]).norm() < 0.05;
      if (!moves) {  // the leg ends here
        rod.set_shape(shape);
        break;
      }
      at += step;
    }
  }
  rod.solve(at);
  return at;
}

/// The query of a seed; the same on every machine. Bodies of 1 or 2 sections are fed out of a guide,
/// those of 3 are clamped.
/// @param braced  the witness touches an obstacle, and the arc to the target is not free
inline ContactQuery contact_query(std::uint64_t seed, int sections, bool braced) {
  Random random(seed);
  while (true) {
    ContactQuery query;
    const double length = random.uniform(0.6, 1.0);
    for (int k = 0; k < sections; ++k)
      query.body.sections.push_back(
          {.length = length / sections, .max_curvature = random.uniform(5.0, 12.0)});
    query.body.radius = random.uniform(0.006, 0.012);
    query.body.start_length = sections < 3 ? random.uniform(0.04, 0.1) : query.body.length();
    const int count = random.integer(5, 20);
    while (static_cast<int>(query.solids.size()) < count) {
      const Eigen::Vector3d center = random.unit_vector() * length *
                                         std::cbrt(random.uniform(0.0, 1.0)) * 0.8 +
                                     Eigen::Vector3d(0.0, 0.0, 0.4 * length);
      const Solid solid = random_solid(random, center);
      const Obstacles alone = obstacles_of({solid});
      const BodyArc straight{.length = query.body.start_length};
      if (alone.nearest(std::span(&straight, 1)).distance > query.body.radius + 0.01)
        query.solids.push_back(solid);
    }
    query.obstacles = obstacles_of(query.solids);
    SpatialRod rod(query.body, query.obstacles);
    for (int draw = 0; draw < 50; ++draw) {
      const auto witness = random_drive(random, rod);
      if (!witness) break;
      if ((*witness)[rod.actuation_size() - 1] < 0.3 * length) continue;
      if (rod.obstacles().nearest(rod.nodes().back()).distance < query.body.radius) continue;
      query.witness = *witness;
      query.target = rod.nodes().back();
      query.witness_contacts = static_cast<int>(rod.contacts().size());
      const double across = query.target.head<2>().norm(), along = query.target.z();
      const double chord = query.target.norm(), curvature = 2.0 * across / (chord * chord);
      BodyArc arc{.curvature = curvature};
      if (across > 1e-9) arc.side << query.target.head<2>() / across, 0.0;
      const double bend = 2.0 * std::atan2(across, along);
      arc.length = curvature > 1e-9 ? bend / curvature : chord;
      query.arc_is_free =
          curvature <= query.body.sections.front().max_curvature && arc.length <= length &&
          rod.obstacles().nearest(std::span(&arc, 1)).distance >= query.body.radius;
      if (braced && (query.arc_is_free || query.witness_contacts == 0)) continue;
      return query;
    }
  }
}

}  // namespace tendril::test
