#pragma once

#include <Eigen/Core>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "tendril/snake/snake_chain.hpp"

namespace tendril {

/// Gaits of a chain of alternating yaw (odd) and pitch (even) joints, counted from the tail.
enum class GaitKind {
  VerticalWave,  ///< bends perpendicular to the ground run along the body; straight ahead
  Serpenoid,     ///< lateral undulation; needs sideways friction above lengthwise, or pegs
  Sidewinding,   ///< both families a quarter of a wave apart; moves sideways
  Rolling,       ///< a bent body that rotates about itself; moves sideways, needs round links
  Anguilliform,  ///< lateral undulation that grows towards the tail; swims
  Helix,         ///< a helix that rotates about itself; climbs poles and pipes
};
inline constexpr int kGaitKinds = 6;

/// "vertical_wave", "serpenoid", "sidewinding", "rolling", "anguilliform",
/// "helix".
[[nodiscard]] std::string_view to_string(GaitKind kind) noexcept;
/// The gait of that name; nothing for another word.
[[nodiscard]] std::optional<GaitKind> gait_kind(std::string_view name) noexcept;

/// A gait as two sine waves, one for each family of joints.
struct Gait {
  GaitKind kind = GaitKind::Sidewinding;
  double yaw_amplitude = 0.0;    ///< [rad]
  double pitch_amplitude = 0.0;  ///< [rad]
  double yaw_lead = 0.0;         ///< phase of the yaw wave relative to the gait's phase [rad]
  double pitch_lead = 0.0;       ///< same for the pitch wave [rad]
  double lag = 0.0;        ///< phase from joint to joint [rad]: positive, the wave runs to the
                           ///< head; negative, to the tail
  double frequency = 1.0;  ///< [Hz]; negative: backwards
  double growth = 0.0;     ///< part of the yaw amplitude that the head lacks and the tail has
};

/// Steering of a gait; the default changes nothing.
struct GaitSteering {
  double yaw_offset = 0.0;  ///< added to every yaw joint [rad]
  double side = 1.0;        ///< factor of the pitch wave along the whole body
  double twist = 0.0;       ///< factor of the pitch wave that grows from -twist at the tail to
                            ///< twist at the head
  double roll = 0.0;  ///< of the body about its axis [rad], from which the bends are turned back:
                      ///< those of yaw stay horizontal, those of pitch vertical
};

/// Waves on a body of n joints -> phase from joint to joint [rad].
[[nodiscard]] double lag_of_waves(double waves, int joints) noexcept;

/// A gait with amplitudes and wave numbers that were measured to work well for 16 joints, a link
/// radius of 0.4 of the link's length and 1 Hz (a helix: 0.3 Hz on a pole of the links' thickness).
[[nodiscard]] Gait standard_gait(GaitKind kind, int joints) noexcept;

/// The angle of joint j = 1..n (n = `angles.size()`) at a phase:
///
///     odd j (yaw)     A_y (1 - growth (j - 1) / (n - 1)) sin(phase - lag j + lead_y) + yaw_offset
///     even j (pitch)  A_p (side + twist c_j) sin(phase - lag j + lead_p),   c_j = (2 j - n - 1) /
///     n
///
/// With a roll, joint j makes its component of both bends there.
///
/// Source: docs/theory/snakes.md. Tested by: gait_test.
void gait_angles(const Gait& gait, const GaitSteering& steering, double phase,
                 std::span<double> angles) noexcept;

/// Bounds of the speed of a vertical wave without slip [m/s]; the sign is that of the motion,
/// positive head first.
struct WaveSpeed {
  double thin = 0.0;   ///< body without thickness: f (Lambda - lambda)
  double thick = 0.0;  ///< and all that the lower side of a body of this thickness adds
};

/// @param link_length  [m]
/// @param half_height  from the backbone to the ground [m]
/// Source: docs/theory/snakes.md, "Vertical wave".
[[nodiscard]] WaveSpeed vertical_wave_speed(const Gait& gait, double link_length,
                                            double half_height) noexcept;

/// The ground that the links need, in the body's own frame: x from tail to head, mean over a
/// period.
struct GaitFootprint {
  double length = 0.0;  ///< mean distance from tail to head along x [m]
  double width =
      0.0;  ///< largest distance of a link's axis from the x axis through the mean of the links [m]
  double reach =
      0.0;  ///< largest horizontal distance of a link's axis from the mean of the links [m]
};
/// Computes the footprint by forward kinematics at phases of a period, with the links' headings at
/// 0 on average, as they are on the ground. Allocates.
[[nodiscard]] GaitFootprint gait_footprint(const Gait& gait, const SnakeChain& chain);

/// Radius [m] of the cylinder on which the middles of the links lie (least squares) when yaw and
/// pitch wave have the amplitude and lag of the gait at phase 0; the chain has `joints` joints and
/// equal links. Infinite for a straight chain. May allocate.
[[nodiscard]] double helix_radius(double amplitude, double lag, double link_length, int joints);

/// Above 90 deg the wave's crests are cut by joints that bend no further; the coil still closes.
inline constexpr double kLargestHelixAmplitude = 2.0;  // [rad]

/// The amplitude [rad] up to kLargestHelixAmplitude that puts the links' middles on a cylinder of
/// this radius, without regard to joint limits; nothing when none does. May allocate.
[[nodiscard]] std::optional<double> helix_amplitude(double radius, double lag, double link_length,
                                                    int joints);

/// Middle points of the links 1 .. N that have a length and, first, of body 0 if it has a length,
/// in the frame of the base. Allocates.
[[nodiscard]] std::vector<Eigen::Vector3d> link_middles(const SnakeChain& chain,
                                                        std::span<const double> angles);

/// A straight line through the middle of a coil.
struct CylinderFit {
  Eigen::Vector3d point = Eigen::Vector3d::Zero();  ///< of the axis, nearest to the points' mean
  Eigen::Vector3d axis = Eigen::Vector3d::UnitZ();  ///< unit, from the first to the last point
  double radius = 0.0;
};

/// The cylinder nearest to the points of a helix, equally spaced and at least 5, by least squares
/// of their distances. It starts from what an exact helix has: second differences perpendicular to
/// the axis, and a circle around it. May allocate.
[[nodiscard]] CylinderFit fit_cylinder(std::span<const Eigen::Vector3d> points);

}  // namespace tendril
