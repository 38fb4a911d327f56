#pragma once

// Tendons and chambers together, in this order: both pull along routes, chambers with tensions < 0.

#include <Eigen/Core>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tendril/kinematics/actuation.hpp"
#include "tendril/kinematics/tendon_map.hpp"

namespace tendril {

class Fields;
struct ContinuumDescription;

[[nodiscard]] int tendon_count(const ContinuumDescription& robot);
[[nodiscard]] std::vector<std::string> tendon_names(const ContinuumDescription& robot);
[[nodiscard]] std::vector<TendonRoute> tendon_routes(const ContinuumDescription& robot);

/// Tensions that controllers ask for [N]: of a tendon from its pretension to the largest, of a
/// chamber those of its pressures in the straight arm.
[[nodiscard]] std::vector<std::pair<double, double>> tension_ranges(
    const ContinuumDescription& robot);

/// Tells whether nothing bends a section, from 0, which its file wants so: `bend_servo = false`,
/// and no tendon or chamber ends in it. Those that run past it bend it, but are not commanded to.
[[nodiscard]] bool is_passive(const ContinuumDescription& robot, std::size_t section);

/// Coordinates that only tendons and chambers hold: those of the bends of sections which have no
/// drive of it and are not passive, s of those whose variable length has none.
[[nodiscard]] std::vector<Eigen::Index> coordinates_of_tendons(const ContinuumDescription& robot);

/// Moments and forces of unit tensions on these coordinates: coordinates x tendons [m], [1].
[[nodiscard]] Eigen::MatrixXd moments_of_tendons(const ContinuumDescription& robot);

/// Section, from 0, that neither drives nor its tendons and chambers bend in every direction, or
/// whose length they do not set: a controller needs that, but for bends of sections whose file says
/// so, `bend_servo = false`. The last one of several.
[[nodiscard]] std::optional<int> section_without_drive(const ContinuumDescription& robot);

/// The same of all sections: the last one that is passive, or has fewer tendons than directions.
[[nodiscard]] std::optional<int> section_driven_in_part(const ContinuumDescription& robot);

/// What drives, tendons and chambers do to the coordinates; default: they move everything. Without
/// gravity, and with limits of tensions but not of servos.
[[nodiscard]] Actuation actuation(const ContinuumDescription& robot);

/// Throws ModelError naming that section.
void require_drives(const Fields& top, const ContinuumDescription& robot);

/// Throws ModelError if tendons or chambers would bend links inside a guide, at any feed.
void refuse_tendons_in_guide(const Fields& top, const ContinuumDescription& robot);

/// Commands of the actuators of tendons and chambers.
struct TendonCommands {
  std::vector<double> values;  ///< [m], [N], [Pa]
  bool reached = true;         ///< tensions and pressures within their limits make the moments
};

/// Commands that hold the coordinates q (ContinuumRobot) against the body's stiffness, without
/// gravity; of all that do, those with the tensions of least norm.
[[nodiscard]] TendonCommands tendon_commands(const ContinuumDescription& robot,
                                             const Eigen::VectorXd& q);

/// Commands of the actuators that hold the bends of the start pose against the body's stiffness; 0
/// without such bends.
[[nodiscard]] std::vector<double> tendon_start_commands(const ContinuumDescription& robot);

}  // namespace tendril
