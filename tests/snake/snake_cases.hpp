#pragma once

#include <Eigen/Geometry>
#include <cmath>
#include <optional>
#include <vector>

#include "tendril/snake/cubic_spline.hpp"
#include "tendril/snake/march_start.hpp"
#include "tests/support/random.hpp"

namespace tendril::test {

/// Memory for marches of one chain.
struct MarchArrays {
  explicit MarchArrays(const SnakeChain& chain)
      : angles(static_cast<std::size_t>(chain.joint_count())),
        parameters(static_cast<std::size_t>(chain.module_count()) + 1) {}
  MarchMemory memory() { return {angles, parameters}; }
  std::vector<double> angles, parameters;
};

/// Modules of unequal links: lengths in [shortest, longest] [m].
inline SnakeChain random_chain(Random& random, int module_count, double shortest, double longest) {
  std::vector<double> lengths;
  for (int j = 0; j < 2 * module_count; ++j) lengths.push_back(random.uniform(shortest, longest));
  return SnakeChain({.link_lengths = lengths});
}

/// A wandering spline: points `spacing` [m] apart, each segment rotated by up to `turn` [rad]
/// against the one before, unevenly spaced by up to a third.
inline CubicSpline random_spline(Random& random, int points, double spacing, double turn) {
  std::vector<Eigen::Vector3d> through{Eigen::Vector3d::Zero()};
  Eigen::Vector3d direction = random.unit_vector();
  for (int i = 1; i < points; ++i) {
    through.push_back(through.back() + spacing * random.uniform(0.67, 1.33) * direction);
    const Eigen::Vector3d axis = direction.cross(random.unit_vector());
    if (axis.norm() > 1e-3)
      direction = Eigen::AngleAxisd(random.uniform(-turn, turn), axis.normalized()) * direction;
  }
  return CubicSpline(through);
}

/// A march from the base by brute force, as an oracle: the chain's frames from Eigen's rotations,
/// the torus equation as printed, [Torus] (22), looked up along the curve in small steps.
struct DenseMarch {
  MarchStatus status = MarchStatus::Ok;
  int module = 0;
  std::vector<double> parameters;
};

inline DenseMarch dense_march(const SnakeChain& chain, CurveRef curve, double s_start,
                              const Eigen::Matrix3d& R_WB, int steps_per_module) {
  using Eigen::AngleAxisd;
  using Eigen::Vector3d;
  DenseMarch found{.parameters = {s_start}};
  Eigen::Matrix3d R = R_WB;
  double s = s_start;
  for (int k = 1; k <= chain.module_count(); ++k) {
    found.module = k;
    const double ai = chain.link_length(2 * k - 1), ao = chain.link_length(2 * k);
    const Vector3d b = curve.at(s).position, u = R.col(2);
    const auto F = [&](double at) -> std::optional<double> {
      const Vector3d D = curve.at(at).position - b;
      const double h = u.dot(D), root = ao * ao - h * h;
      if (root < 0.0) return std::nullopt;
      return ai * ai + ao * ao - D.dot(D) + 2.0 * ai * std::sqrt(root);
    };
    const double step = (ai + ao) / curve.at(s).first.norm() / steps_per_module;
    double low = s, high = s;
    bool crossed = false;
    while (!crossed) {
      if (high >= curve.end()) {
        found.status = MarchStatus::PathTooShort;
        return found;
      }
      low = high;
      high = std::min(high + step, curve.end());
      const std::optional<double> value = F(high);
      if (!value) {
        // Over the rim. It may have crossed the torus just before.
        double inside = low, out = high;
        for (int i = 0; i < 60; ++i) {
          const double middle = 0.5 * (inside + out);
          const std::optional<double> there = F(middle);
          if (there && *there < 0.0) {
            high = middle;
            crossed = true;
            break;
          }
          (there ? inside : out) = middle;
        }
        if (!crossed) {
          found.status = MarchStatus::TooTight;
          return found;
        }
      }
      crossed = crossed || *value < 0.0;
    }
    for (int i = 0; i < 60; ++i) {
      const double middle = 0.5 * (low + high);
      (F(middle).value_or(-1.0) > 0.0 ? low : high) = middle;
    }
    s = 0.5 * (low + high);
    const Vector3d D = R.transpose() * (curve.at(s).position - b);
    const double yaw = std::atan2(D.y(), D.x());
    const double pitch = std::asin(std::clamp(D.z() / ao, -1.0, 1.0));
    if (std::abs(yaw) > chain.joint_limit(2 * k - 1) ||
        std::abs(pitch) > chain.joint_limit(2 * k)) {
      found.status = MarchStatus::JointLimit;
      return found;
    }
    R = R * AngleAxisd(yaw, Vector3d::UnitZ()) * AngleAxisd(pitch, -Vector3d::UnitY());
    found.parameters.push_back(s);
  }
  found.module = 0;
  return found;
}

}  // namespace tendril::test
