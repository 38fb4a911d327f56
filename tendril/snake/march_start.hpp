#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <span>

#include "tendril/snake/torus_march.hpp"

namespace tendril {

enum class MarchDirection : std::uint8_t { BaseToHead, HeadToBase };

/// The frame with x along `tangent` and z as near to `z_reference` as possible (any z if that is
/// along the tangent), then rolled about x and tilted about -y [rad]: positive tilt lifts the nose.
/// Precondition: tangent finite, not zero. docs/theory/snakes.md, "Roll and tilt".
[[nodiscard]] Eigen::Matrix3d tangent_frame(const Eigen::Vector3d& tangent,
                                            const Eigen::Vector3d& z_reference, double roll = 0.0,
                                            double tilt = 0.0) noexcept;

/// A march with its start frame chosen.
struct MarchStart {
  double roll = 0.0;  ///< [rad], in [-pi/2, pi/2): half a revolution only changes the angles' signs
  double tilt = 0.0;  ///< [rad]
  Eigen::Matrix3d R = Eigen::Matrix3d::Identity();  ///< tangent_frame(..., roll, tilt)
  double sum_of_squares = 0.0;                      ///< of the joint angles [rad^2]
  double largest_angle = 0.0;                       ///< [rad]
  MarchResult march;
};

/// Marches from s in `direction` with the start roll and tilt for which the sum of the squared
/// joint angles is smallest, found by a search over a grid and a descent from its best point. About
/// 100 marches; allocates nothing. If no march succeeds, the result is that of roll and
/// tilt 0. The best march's angles and parameters are left in `out`.
MarchStart choose_start(const SnakeChain& chain, CurveRef curve, double s, MarchDirection direction,
                        const Eigen::Vector3d& z_reference, MarchMemory out,
                        const MarchOptions& options = {}) noexcept;

}  // namespace tendril
