#pragma once

#include <Eigen/Geometry>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "tendril/snake/growing_path.hpp"
#include "tendril/snake/snake_chain.hpp"

namespace tendril {

/// How body 0 of a chain may move.
enum class MarchBase : std::uint8_t {
  Fixed,     ///< not at all: the body unfolds from the base
  Carriage,  ///< along x
  Free,      ///< with the body: it follows the path too
};

/// The curve that the chain lies on while its head advances along a path.
enum class PathUpdate : std::uint8_t {
  Kept,      ///< the path itself, which stays where it is
  Refitted,  ///< [Torus]: in every step a spline through the present {B_2k} and the head's next
             ///< point
};

struct PathMarchOptions {
  MarchBase base = MarchBase::Fixed;
  PathUpdate update = PathUpdate::Kept;  ///< Refitted needs a free base
  /// Of the feed, or of the length unfolded, with a free base of the head along the path [m], > 0.
  double step = 0.01;
  double feed_limit = 1.0;  ///< of a carriage [m], > 0
  /// Fixed base: length of the body that is folded at the first step [m]; none: as much as the path
  /// is shorter than the body.
  std::optional<double> fold{};
  double fold_angle = 0.0;  ///< direction of the fold, from y about x [rad]
  /// Orientation of the head at the end, in the frame of the path: one more step, in which the head
  /// stays where it is and body 0 too (HeadPose).
  std::optional<Eigen::Matrix3d> head{};
  MarchOptions march{};
};

/// The chain with its head at one point of the path.
struct PathMarchStep {
  double s = 0.0;     ///< of the head, length along the path [m]
  double feed = 0.0;  ///< of a carriage, or the length unfolded on a fixed base [m]
  Eigen::Isometry3d X_WB = Eigen::Isometry3d::Identity();  ///< body 0, its origin at joint 1
  std::vector<double> angles;                              ///< [rad]
  double even = 0.0, odd = 0.0;  ///< largest distance of B_0, B_2, ... and of B_1, B_3, ... from
                                 ///< the path, on a fixed base from the folded one [m]
  int iterations = 0;            ///< evaluations of the curve
};

/// Marches a chain along the path through `points` [m], in steps of the head from where the whole
/// body lies on it to its end. Fixed base and carriage: in the frame of the base, whose x is that
/// of body 0; the path begins at 0 0 0 with a straight piece to point 2 and those in line with it.
/// Free base: in the world. The path is a GrowingPath. docs/theory/snakes.md.
///
/// Throws ModelError naming the point, the step's place and the module at fault: fewer than two
/// points, repeated ones, a path that does not begin at the base, leaves its reach, turns back, is
/// too short or bends further than the joints; an orientation that the head cannot take.
[[nodiscard]] std::vector<PathMarchStep> march_along(const SnakeChain& chain,
                                                     std::span<const Eigen::Vector3d> points,
                                                     const PathMarchOptions& options);

/// The root method of that name, "newton", "chord" or "bisection"; nothing for another word.
[[nodiscard]] std::optional<RootMethod> root_method(std::string_view name) noexcept;

}  // namespace tendril
