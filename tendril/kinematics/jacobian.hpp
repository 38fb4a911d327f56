#pragma once

#include <Eigen/Core>
#include <Eigen/Geometry>

#include "tendril/kinematics/continuum_robot.hpp"

namespace tendril {

using JacobianRef = Eigen::Ref<Eigen::Matrix<double, 6, Eigen::Dynamic>>;

/// Tip pose, and the derivative of tip position (rows 0-2) and tip direction z (rows 3-5) with
/// respect to the smooth coordinates q of the robot (columns, see ContinuumRobot). Expressed in the
/// robot's base frame; SI units. Smooth at theta = 0. One pass over the sections and one over the
/// columns. docs/theory/kinematics.md, "Tip Jacobian in u, v, s". Tested by: jacobian_test,
/// against central differences.
/// @param jacobian  6 x coordinate_count(), overwritten
Eigen::Isometry3d tip_jacobian(const ContinuumRobot& robot, SectionStates states,
                               const BaseState& base, JacobianRef jacobian) noexcept;

/// The same for the point of section `i` at `fraction` in [0, 1] of its arc length; columns of
/// later sections are zero.
Eigen::Isometry3d backbone_jacobian(const ContinuumRobot& robot, SectionStates states,
                                    const BaseState& base, int i, double fraction,
                                    JacobianRef jacobian) noexcept;

/// The same point's position alone, with respect to the bends u, v of sections 0 to i alone;
/// columns of bends that a section does not have are zero.
/// @param jacobian  scratch, 6 x coordinate_count()
/// @param bends  3 x at least 2 (i + 1), of which as many columns are overwritten
Eigen::Vector3d bend_jacobian(const ContinuumRobot& robot, SectionStates states,
                              const BaseState& base, int i, double fraction, JacobianRef jacobian,
                              Eigen::Ref<Eigen::MatrixXd> bends) noexcept;

}  // namespace tendril
