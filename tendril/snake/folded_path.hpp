#pragma once

#include <Eigen/Core>

#include "tendril/snake/curve.hpp"

namespace tendril {

/// A path whose straight beginning is folded aside, so that it is longer by `stored`: a chain of
/// constant length on a fixed base lies on it with its head `stored` farther back than on the path
/// itself, and advances along the path as the fold straightens. The fold is four arcs of one radius
/// in a plane: aside by the angle alpha, back by 2 alpha, aside again; the path's tangent at both
/// ends. A ParametricCurve; s is the arc length in the fold, then that of the path, shifted by
/// `stored`. docs/theory/snakes.md, "Fixed base".
///
///     alpha / sin(alpha) = 1 + stored / straight,   r = straight / (4 sin(alpha))
class FoldedPath {
 public:
  /// Takes a path that is straight from its beginning for `straight` [m], > 0, and must live
  /// longer; `stored` [m] is cut to [0, largest(straight)]. `aside` is a vector that is not along
  /// the path: the fold lies in the plane of both, on its side.
  FoldedPath(CurveRef path, double straight, double stored, const Eigen::Vector3d& aside) noexcept;

  [[nodiscard]] CurvePoint at(double s) const noexcept;
  [[nodiscard]] double begin() const noexcept { return path_.begin(); }
  [[nodiscard]] double end() const noexcept { return path_.end() + stored_; }

  /// Returns how much a straight piece of this length can store [m].
  [[nodiscard]] static double largest(double straight) noexcept;

 private:
  CurveRef path_;
  double straight_, stored_, angle_, radius_;
  Eigen::Vector3d start_, along_, aside_;
};

}  // namespace tendril
