#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tendril/kinematics/continuum_robot.hpp"
#include "tendril/kinematics/tendon_map.hpp"
#include "tendril/model/controller_config.hpp"
#include "tendril/model/medium.hpp"

namespace tendril {

/// How a section is driven in physics.
enum class Compliance {
  Section,  ///< two fixed tendons over all hinges of a section: exactly equal moments along the
            ///< section
  Link,     ///< one servo on every hinge: cheaper with integrator "discrete", stiffer shape
};

/// Integrators of the engine that suit an arm's stiff joints.
enum class Integrator {
  Discrete,      ///< springs by backward Euler; contacts see them
  ImplicitFast,  ///< springs explicit, their damping implicit
};

/// Most links of one section and of a whole robot. The second keeps the model below the 496 nested
/// bodies that MJCF text may have.
inline constexpr int kMaxLinksPerSection = 200;
inline constexpr int kMaxLinks = 400;

/// A quantity that changes evenly along a section, from its start to its end.
struct Taper {
  double start = 0.0, end = 0.0;
  /// @param x  of the section's length, in [0, 1]
  [[nodiscard]] double at(double x) const noexcept { return start + (end - start) * x; }
  [[nodiscard]] double largest() const noexcept { return std::max(start, end); }
  [[nodiscard]] bool is_even() const noexcept { return start == end; }
};

/// Physics of one section; the kinematics are in `SectionParameters`. The names are the keys of the
/// robot file (docs/robot_file.md).
struct SectionPhysics {
  int links = 10;  ///< rigid links that stand for the section, 1..200, one per sub-section at least
  Taper radius{0.008, 0.008};        ///< of the body [m], > 0
  Taper inner_radius;                ///< of a hollow one [m], >= 0, less than the other
  double mass = 0.07;                ///< [kg], > 0; homogeneous
  double bending_stiffness = 0.05;   ///< EI [N m^2], > 0; where it tapers, its harmonic mean
  double torsional_stiffness = 0.0;  ///< GJ [N m^2], > 0; 0: rigid in torsion; mean as above
  /// Where EI tapers: what each of the links, of equal lengths, bends of the whole under one
  /// moment, sum 1; else empty. The weights of the section's `SectionParameters` stand for the same
  /// curve.
  std::vector<double> compliance;
  bool torsion_tapers = false;  ///< GJ in proportion to EI, else even
  /// Bend of the section when no moment acts on it, u and v (`bend_vector`) [rad].
  std::array<double, 2> natural_bend{};
  std::vector<double> color;  ///< red, green, blue and, if there are four, opacity, in [0, 1]
  /// Of the material, where the file gives it: EI and mass are made of them [Pa], [kg/m^3].
  std::optional<double> youngs_modulus, density;
  double damping_time = 0.02;  ///< Kelvin-Voigt time: damping / stiffness of every joint [s], > 0
  double axial_stiffness = 2000.0;  ///< EA/L of the whole section, variable length only [N/m], > 0
  /// Length of the section that nothing stretches [m], variable length only; with a length servo,
  /// half of the range.
  double unloaded_length = 0.0;
  bool bend_servo = true;  ///< servos bend it; by default unless a tendon runs through it
  /// A motor in the place of the bend servo: its command is the moment itself.
  bool bend_motor = false;
  double bend_gain = 20.0;          ///< section servo kp [N m/rad], >= 0; 0: an elastic body whose
                                    ///< command is the bend that it takes when nothing touches it
  double bend_damping_time = 0.05;  ///< kv / kp of the section servo [s], >= 0
  double bend_torque_limit = 3.0;   ///< [N m], > 0
  bool length_servo = true;    ///< sets the variable length; by default unless a chamber acts on it
  bool length_motor = false;   ///< in the place of that servo: its command is the force itself
  double length_gain = 2.0e4;  ///< servo of the variable length [N/m], > 0
  double length_damping_time = 0.02;  ///< kv / kp [s], >= 0
  double length_force_limit = 200.0;  ///< [N], > 0
};

/// Part of a homogeneous section's volume between x0 and x1, parts of its length.
[[nodiscard]] double volume_part(const SectionPhysics& physics, double x0, double x1) noexcept;

/// Physics of the base feed and spin.
struct BasePhysics {
  double carriage_mass = 1.0;      ///< [kg], > 0
  double feed_gain = 2.0e4;        ///< [N/m], > 0
  double feed_force_limit = 30.0;  ///< [N], > 0
  double spin_gain = 50.0;         ///< [N m/rad], > 0
  double spin_torque_limit = 5.0;  ///< [N m], > 0
  /// Length of the guide that the arm is fed through [m], >= 0; 0: none. It begins at the base;
  /// what of the arm is inside is kept straight. Needs a feed and a servo on every hinge.
  double guide_length = 0.0;
  double guide_clearance = 0.0005;  ///< between the body and each wall of the guide [m], >= 0
};

/// What the actuator of a tendon is told.
enum class TendonCommand { Length, Tension, Pressure };

/// Of the air outside, below which no chamber can be evacuated [Pa].
inline constexpr double kAtmosphere = 101325.0;

/// A chamber whose pressure acts along its way; the names are the keys of the robot file. Pressures
/// are above that outside [Pa].
struct Chamber {
  double area = 0.0;  ///< on which the pressure acts [m^2], > 0; of a muscle, unloaded
  /// Of the fibers with its axis [rad], in (0, acos(1/sqrt 3)): a McKibben muscle, which pulls.
  /// Without it the chamber pushes.
  std::optional<double> braid_angle;
  double min_pressure = 0.0;   ///< >= -kAtmosphere
  double max_pressure = 1e5;   ///< > min_pressure, > 0
  double time_constant = 0.0;  ///< with which the pressure follows its command [s], >= 0
  /// Changes of volume from the straight arm between which the chamber is stopped [m^3].
  std::optional<std::pair<double, double>> volume_range;

  /// Tension per pressure in the straight arm [m^2]: -area, or of a muscle area (3 / tan^2 - 1 /
  /// sin^2) of its braid angle.
  [[nodiscard]] double tension_per_pressure() const;
  /// The part of its length by which a muscle contracts without load: 1 - 1 / (sqrt 3
  /// cos(braid_angle)).
  [[nodiscard]] double free_contraction() const;
};

/// A tendon and the actuator that pulls it, or a chamber that pushes; the names are the keys of the
/// robot file.
struct Tendon {
  std::string name;  ///< of the tendon and its actuator
  TendonRoute route;
  TendonCommand command = TendonCommand::Length;
  double max_tension = 50.0;  ///< [N], > 0
  double pretension = 1.0;    ///< [N], in [0, max_tension): of the straight arm with commands 0, if
                              ///< it is told a length; the least that controllers ask for
  double stiffness = 2.0e4;   ///< of the whole tendon [N/m], > 0; if it is told a length
  double damping_time = 0.005;  ///< its damping / stiffness [s], >= 0
  double friction = 0.0;        ///< Coulomb friction along its way, whatever the tension [N], >= 0
  /// Of the friction that grows with tension and bend, >= 0; the controller's plugin simulates it.
  double friction_coefficient = 0.0;
  std::optional<Chamber> chamber;  ///< with command Pressure; then only name and route are used too

  /// Tensions that controllers ask for [N]: from the pretension to the largest; of a chamber, those
  /// of its pressures in the straight arm.
  [[nodiscard]] std::pair<double, double> tension_range() const;
};

/// What the arm carries at its tip.
struct TipLoad {
  double payload = 0.0;          ///< a ball whose middle is the tip [kg], >= 0
  double payload_radius = 0.01;  ///< [m], > 0; it touches nothing
  double suction = 0.0;          ///< largest force of a suction cup at the tip [N], >= 0; 0: none
};

/// Two fingers beyond the tip, which open along its x axis turned by `angle`; the names are the
/// keys of the robot file.
struct Gripper {
  double opening = 0.0;             ///< largest distance between the fingers [m], > 0
  double force = 10.0;              ///< largest one with which each finger presses [N], > 0
  double speed = 0.1;               ///< of the opening at that force [m/s], > 0
  double gain = 2.0e4;              ///< of the opening's servo [N/m], > 0
  double finger_length = 0.04;      ///< along the tip's axis [m], > 0
  double finger_width = 0.012;      ///< of the faces that hold [m], > 0
  double finger_thickness = 0.005;  ///< [m], > 0
  double mass = 0.05;               ///< of all of it [kg], > 0
  double friction = 0.8;            ///< of the fingers, on whatever they touch, > 0
  double angle = 0.0;               ///< about the tip's axis, from x towards y [rad]

  /// Of the body that carries the fingers and of a finger [kg].
  [[nodiscard]] double palm_mass() const { return 0.6 * mass; }
  [[nodiscard]] double finger_mass() const { return 0.2 * mass; }
  /// The palm's, from the tip to where the fingers begin [m]: it covers the round end of the body.
  [[nodiscard]] static double palm_height(double body_radius) { return 1.25 * body_radius; }
  /// Of the center of mass beyond the tip [m].
  [[nodiscard]] double center(double body_radius) const {
    const double palm = palm_height(body_radius);
    return (palm_mass() * palm / 2.0 + 2.0 * finger_mass() * (palm + finger_length / 2.0)) / mass;
  }
};

/// Largest bend that a section's servos can be told [rad]: more than the bend limit, so that a load
/// can be held at the limit.
[[nodiscard]] inline double bend_command_limit(const SectionParameters& section) {
  return std::max(1.5 * section.bend_angle_limit, 1.0);
}

/// The keyframe `start`.
struct StartPose {
  double feed = 0.0;  ///< [m], in [0, feed limit]
  /// Curvature [1/m] (positive: towards +x) and length [m] of arcs in the x-z plane, from the end
  /// of the guide or the base on; straight beyond them.
  std::vector<std::pair<double, double>> arcs;
  /// Commanded bend of each section in the x-z plane (positive: towards +x) [rad]; empty: the
  /// keyframe leaves the commands at 0.
  std::vector<double> bends;
};

/// A robot file of kind = "continuum", parsed and validated.
struct ContinuumDescription {
  std::string name = "arm";
  Compliance compliance = Compliance::Section;
  bool self_collision = false;
  bool planar = false;                           ///< bends in the x-z plane of the base only
  Integrator integrator = Integrator::Discrete;  ///< option of the model alone, as is the timestep
  double timestep = 0.002;                       ///< [s], > 0
  /// What the integrator adds to the damping_time of a spring [s]: the timestep of `discrete`, else
  /// 0. The joints' own damping is less by as much, where there is enough. Of the file's own
  /// options; whoever knows the scene's sets it.
  double numerical_damping_time = 0.002;
  BaseParameters base;
  BasePhysics base_physics;
  std::vector<SectionParameters> sections;
  std::vector<SectionPhysics> physics;  ///< one per section
  std::vector<Tendon> tendons;          ///< and after them the chambers
  std::optional<Medium> medium;
  TipLoad tip;
  std::optional<Gripper> gripper;
  std::optional<StartPose> start;
  ControllerConfig controller;
  std::string text;  ///< the TOML it was read from

  [[nodiscard]] ContinuumRobot kinematics() const { return ContinuumRobot(sections, base); }
};

/// Length of a straight section, and of the whole straight arm, variable lengths at half their
/// range [m].
[[nodiscard]] double rest_length(const SectionParameters& section);
[[nodiscard]] double rest_length(const ContinuumDescription& robot);

/// Length of the sections that a tendon runs through, straight [m].
[[nodiscard]] double rest_length(const ContinuumDescription& robot, const TendonRoute& route);

/// Routes of the tendons and chambers, in their order.
[[nodiscard]] std::vector<TendonRoute> tendon_routes(const ContinuumDescription& robot);

/// Of the arm's sections [m].
[[nodiscard]] double largest_radius(const ContinuumDescription& robot);

}  // namespace tendril
