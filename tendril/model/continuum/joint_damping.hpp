#pragma once

// Private to tendril/model: armature of an arm's joints, from the damping that they see.

namespace tendril {

struct ContinuumDescription;
struct Link;
class XmlNode;

/// Damping that a joint of a link sees: its own, and that of the servo that moves it with the
/// tendon by which it does, without what the integrator adds [N m s/rad], [N s/m].
[[nodiscard]] double damping_at_hinge(const ContinuumDescription& robot, const Link& link);
[[nodiscard]] double damping_at_slide(const ContinuumDescription& robot, const Link& link);

/// With the integrator `implicitfast` gives a joint that sees this damping D an armature of
/// timestep x D. The engine solves contacts with the inertia M and moves the joints with
/// M + timestep D. Without the armature the impulses of contacts on light links are too weak.
///
/// Source: docs/theory/chain.md, "Armature". Tested by: joint_damping_test.
void write_armature(const ContinuumDescription& robot, double damping, XmlNode& joint);

}  // namespace tendril
