#pragma once

// Private to tendril/model: tendons and chambers in the MJCF of an arm.

#include <Eigen/Core>
#include <string>
#include <string_view>
#include <vector>

#include "tendril/model/continuum_file.hpp"
#include "tendril/model/mjcf_writer.hpp"

namespace tendril {

/// A joint that a tendon runs past, or a chamber acts on: its length changes by `coefficient` with
/// the joint's coordinate.
struct TendonJoint {
  std::string joint;
  double coefficient;
  int section;  ///< from 0
};

/// Where a tendon that turns passes a joint: through a site on either side of it, at this part of
/// the link's length. Between them it is straight.
inline constexpr double kSiteDistance = 0.25;

/// Friction that holds: with the engine's own values it gives way within a second.
inline constexpr std::string_view kFrictionThatHolds =
    "solreffriction=\"0.004 1\" solimpfriction=\"0.9999 0.9999 0.001\"";

/// A site on the way of a tendon that turns.
struct TendonSite {
  int body = 0;            ///< 0: what carries the first joint; k: the link at the k-th joint
  Eigen::Vector3d p_link;  ///< in the frame of that body, in the base's in the straight arm [m]
  Eigen::Vector3d p_base;
};

/// "T_1"
[[nodiscard]] std::string site_name(const Tendon& tendon, std::size_t number);

/// Of the tendon as a chain of straight pieces [m].
[[nodiscard]] double length_of(const std::vector<TendonSite>& sites);

/// The tendon's element in <tendon>: over joints, or through sites.
void write_tendon(MjcfWriter& writer, const Tendon& tendon, const std::vector<TendonSite>& sites);
void write_tendon(MjcfWriter& writer, const Tendon& tendon, const std::vector<TendonJoint>& joints);

/// Its actuator; `range`: of the length commands [m]; `way`: length of the backbone along it [m];
/// `straight`: length of the engine's tendon in the straight arm [m].
void write_tendon_actuator(MjcfWriter& writer, const Tendon& tendon, double range, double way,
                           double straight);

/// Sensors of length and tension of every tendon and muscle, of pressure and volume of every other
/// chamber.
void write_tendon_sensors(MjcfWriter& writer, const ContinuumDescription& robot);

/// Largest change of each tendon's length that it can be told: what all sections at the limits of
/// their commands and its largest tension amount to [m]; of no meaning for chambers.
[[nodiscard]] std::vector<double> tendon_ranges(const ContinuumDescription& robot);

/// Commands of the tendons that hold the bends of the start pose against the body's stiffness.
[[nodiscard]] std::vector<double> tendon_start_commands(const ContinuumDescription& robot);

}  // namespace tendril
