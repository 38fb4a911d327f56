#pragma once

// Read robot_mjcf.hpp first.

#include <span>
#include <string>

#include "tendril/model/continuum/chain.hpp"
#include "tendril/model/continuum/description.hpp"
#include "tendril/model/names.hpp"

namespace tendril {

/// The MJCF document of an arm: base, guide, links, drives, tendons, chambers, medium
/// and the parts that it carries, whose elements and names are described in their headers (`write_`
/// functions), the controller's plugin instance with its sensors, and the recommended options.
/// Complete: it loads alone and attaches by its body `base`. The same description gives the same
/// text.
///
/// Order of the actuators: feed, spin, then section by section x, y, z (link servos: x, y of each
/// link, then z), then the tendons and the chambers as in the file, then those of the parts.
///
/// `discrete` integrates a spring or servo K by backward Euler, which damps it by timestep K.
/// Joints, servos and tendons have as much less damping than `damping_time` K, at least none:
/// `numerical_damping_time`. With `implicitfast` damped joints have an armature
/// (joint_damping.hpp).
///
/// A section that bends in one plane has the hinges of that plane alone. With a start pose there is
/// a keyframe `start`; with `bends` in it, the keyframe has these commands and the feed's.
///
/// Source: docs/theory/chain.md, "Links for a section". Tested by: continuum_model_test,
/// arc_fidelity_test.
[[nodiscard]] std::string continuum_mjcf(const ContinuumDescription& robot,
                                         std::span<const std::string> sensors = {});

/// Iterations of the engine's solver that the model needs.
[[nodiscard]] int solver_iterations(const ContinuumDescription& robot);

}  // namespace tendril
