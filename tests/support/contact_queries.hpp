#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "tendril/geometry/solid.hpp"
#include "tendril/rod/spatial_planner.hpp"
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
      const double u = body.sections[k].max_curvature * random.uniform(0.0, 1.0),
                   a = random.angle();
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

/// The query of a seed; the same on every machine. Bodies of 1 or 2 sections are fed out of a
/// guide, those of 3 are clamped.
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
      const Eigen::Vector3d center =
          random.unit_vector() * length * std::cbrt(random.uniform(0.0, 1.0)) * 0.8 +
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
      query.arc_is_free = curvature <= query.body.sections.front().max_curvature &&
                          arc.length <= length &&
                          rod.obstacles().nearest(std::span(&arc, 1)).distance >= query.body.radius;
      if (braced && (query.arc_is_free || query.witness_contacts == 0)) continue;
      return query;
    }
  }
}

// An independent check of plans: distances and kinematics written here, on their own.

/// Distance of a point from a random solid [m].
inline double distance_to(const Solid& solid, const Eigen::Vector3d& p) {
  const Eigen::Vector3d local = solid.X_BO.inverse() * p;
  if (solid.kind == Solid::Kind::Sphere) return local.norm() - solid.size.x();
  if (solid.kind == Solid::Kind::Capsule) {
    const double z = std::clamp(local.z(), -solid.size.y(), solid.size.y());
    return (local - Eigen::Vector3d(0.0, 0.0, z)).norm() - solid.size.x();
  }
  const Eigen::Vector3d out = local.cwiseAbs() - solid.size;
  return out.cwiseMax(0.0).norm() + std::min(0.0, out.maxCoeff());
}

/// Points of a body of equal arcs of these curvatures, `count` on each: the tangent turns in small
/// steps about the axis perpendicular to it and to the bend.
inline std::vector<Eigen::Vector3d> sampled_body(const Eigen::VectorXd& shape, double length,
                                                 int count) {
  std::vector<Eigen::Vector3d> points{Eigen::Vector3d::Zero()};
  Eigen::Quaterniond turned = Eigen::Quaterniond::Identity();
  const double step = length / (static_cast<double>(shape.size() / 2) * count);
  for (Eigen::Index i = 0; i < shape.size(); i += 2) {
    const Eigen::Vector3d turn(-shape[i + 1] * step, shape[i] * step, 0.0);
    const auto by = [&](double part) {
      const double angle = part * turn.norm();
      return angle == 0.0 ? Eigen::Quaterniond::Identity()
                          : Eigen::Quaterniond(Eigen::AngleAxisd(angle, turn.normalized()));
    };
    // The chord of a step is its length times sin(a/2)/(a/2), along its middle.
    const double half = 0.5 * turn.norm(),
                 chord = half > 1e-9 ? step * std::sin(half) / half : step;
    for (int k = 0; k < count; ++k) {
      points.push_back(points.back() + turned * (by(0.5) * Eigen::Vector3d(0.0, 0.0, chord)));
      turned = (turned * by(1.0)).normalized();
    }
  }
  return points;
}

/// What is wrong with a plan, at worst over its poses.
struct PlanErrors {
  double tip = 0.0;          ///< of the last pose from the target [m]
  double penetration = 0.0;  ///< of sampled points [m]
  double imbalance = 0.0;    ///< of moments over EI, virtual work of the contact forces [1/m]
  double limits = 0.0;       ///< excess of curvature [1/m] or length [m]
  double motion = 0.0;       ///< of a point of the body between two poses [m]
  double coarse = 0.0;       ///< tip of a body of four times as many arcs, from the target [m]
};

inline PlanErrors plan_errors(const ContactQuery& query, const SpatialPlan& plan,
                              const SpatialRod& planned) {
  constexpr int kSamples = 12;
  constexpr double kDifference = 1e-5;  // [1/m]
  PlanErrors errors;
  SpatialRod rod = planned;
  std::vector<Eigen::Vector3d> before;
  for (const SpatialPose& pose : plan.poses) {
    const Eigen::Index last = pose.actuation.size() - 1, arcs = pose.shape.size() / 2;
    const double length = pose.actuation[last], h = length / static_cast<double>(arcs);
    const std::vector<Eigen::Vector3d> points = sampled_body(pose.shape, length, kSamples);
    for (const Eigen::Vector3d& p : points)
      for (const Solid& solid : query.solids)
        errors.penetration =
            std::max(errors.penetration, query.body.radius - distance_to(solid, p));
    for (std::size_t i = 0; i < before.size(); ++i)
      errors.motion = std::max(errors.motion, (points[i] - before[i]).norm());
    before = points;
    errors.tip = (points.back() - query.target).norm();
    errors.limits =
        std::max({errors.limits, length - query.body.length(), query.body.start_length - length});
    for (Eigen::Index k = 0; k < last; k += 2)
      errors.limits = std::max(
          errors.limits, pose.actuation.segment<2>(k).norm() -
                             query.body.sections[static_cast<std::size_t>(k / 2)].max_curvature);
    // Virtual work: EI h (kappa - u) = sum_j F_j d(gap_j)/d(kappa) at the forces that are claimed.
    rod.set_shape(pose.shape);
    (void)rod.solve(pose.actuation);
    const std::vector<SpatialContact> contacts(rod.contacts().begin(), rod.contacts().end());
    const auto potential = [&](const Eigen::VectorXd& shape) {
      double value = 0.0;
      double start = length - query.body.length();
      for (std::size_t k = 0; k < query.body.sections.size(); ++k) {
        const double end = start + query.body.sections[k].length;
        const Eigen::Vector2d u = pose.actuation.segment<2>(2 * static_cast<Eigen::Index>(k));
        for (Eigen::Index i = 0; i < arcs; ++i) {
          const double a = std::max(start, static_cast<double>(i) * h),
                       b = std::min(end, static_cast<double>(i + 1) * h);
          if (b > a) value += 0.5 * (b - a) * (shape.segment<2>(2 * i) - u).squaredNorm();
        }
        start = end;
      }
      for (const SpatialContact& contact : contacts) {
        const auto arc = std::min(arcs - 1, static_cast<Eigen::Index>(contact.arc_length / h));
        Eigen::VectorXd up_to = shape.head(2 * (arc + 1));
        const double part = contact.arc_length - static_cast<double>(arc) * h;
        const std::vector<Eigen::Vector3d> whole =
            sampled_body(up_to.head(2 * arc), static_cast<double>(arc) * h, 1);
        // The part of the last arc, in the frame at its start.
        Eigen::Quaterniond turned = Eigen::Quaterniond::Identity();
        for (Eigen::Index i = 0; i < arc; ++i) {
          const Eigen::Vector3d turn(-shape[2 * i + 1] * h, shape[2 * i] * h, 0.0);
          if (turn.norm() > 0.0)
            turned = turned * Eigen::AngleAxisd(turn.norm(), turn.normalized());
        }
        const Eigen::Vector3d p =
            whole.back() + turned * sampled_body(up_to.tail<2>(), part, 1).back();
        value -= contact.force / query.body.sections.front().bending_stiffness *
                 (distance_to(query.solids[static_cast<std::size_t>(contact.obstacle)], p));
      }
      return value;
    };
    for (Eigen::Index c = 0; c < pose.shape.size(); ++c) {
      Eigen::VectorXd plus = pose.shape, minus = pose.shape;
      plus[c] += kDifference;
      minus[c] -= kDifference;
      errors.imbalance = std::max(
          errors.imbalance, std::abs(potential(plus) - potential(minus)) / (2.0 * kDifference * h));
    }
  }
  SpatialBody fine = query.body;
  fine.elements *= 4;
  SpatialRod finer(fine, query.obstacles);
  SpatialEquilibrium end;
  (void)finer.reset();
  for (const SpatialPose& pose : plan.poses) end = finer.solve(pose.actuation);
  errors.coarse = (end.tip - query.target).norm();
  return errors;
}

}  // namespace tendril::test
