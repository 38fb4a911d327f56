#pragma once

#include <Eigen/Core>
#include <cmath>
#include <vector>

namespace tendril {

/// The frames in which the hinges of an arm's sections bend: turned by psi, by turns of sections on
/// their bases and by twist. Controllers have the coordinates u, v of frames that are not turned:
///
///     (u, v) = R(psi) (a, b),    a, b: sums of a section's hinges about y and, negative, about x
///
/// Source: docs/theory/control.md, "Sections that turn" and "Tip integral". The functions allocate
/// nothing.
class TurnedFrames {
 public:
  TurnedFrames() = default;
  /// @param bends  coordinate u of each section, from the base on; v is the next one
  explicit TurnedFrames(const std::vector<Eigen::Index>& bends);

  [[nodiscard]] bool empty() const noexcept { return frames_.empty(); }
  /// Sets all psi to 0.
  void reset() noexcept;
  /// Adds to the psi of a section and its rate [rad], [rad/s].
  void add(std::size_t section, double angle, double rate) noexcept;

  /// Replaces coordinates and rates of the joints by those of controllers [rad], [rad/s].
  void untwist(Eigen::Ref<Eigen::VectorXd> q, Eigen::Ref<Eigen::VectorXd> q_rate) const noexcept;
  /// The inverse.
  void twist(Eigen::Ref<Eigen::VectorXd> q, Eigen::Ref<Eigen::VectorXd> q_rate) const noexcept;
  /// Replaces the components (x, y) of a vector in a section's frame by those in one not turned.
  void untwist(std::size_t section, double& x, double& y) const noexcept {
    rotate(frames_[section].c, frames_[section].s, x, y);
  }
  /// By which the last section is turned [rad].
  [[nodiscard]] double tip_angle() const noexcept { return frames_.back().angle; }
  /// The same of moments on the coordinates, or of columns of derivatives with respect to them.
  void untwist_moments(Eigen::Ref<Eigen::VectorXd> moments) const noexcept;
  template <class Matrix>
  void untwist_columns(Matrix& columns) const noexcept {
    for (const Frame& frame : frames_)
      for (Eigen::Index row = 0; row < columns.rows(); ++row)
        rotate(frame.c, frame.s, columns(row, frame.bend), columns(row, frame.bend + 1));
  }
  /// Replaces moments on the coordinates of controllers by those on the joints.
  void twist_moments(Eigen::Ref<Eigen::VectorXd> moments) const noexcept;

  /// Rotates (x, y) by the angle of which c and s are cosine and sine.
  static void rotate(double c, double s, double& x, double& y) noexcept {
    const double rotated = c * x - s * y;
    y = s * x + c * y;
    x = rotated;
  }

 private:
  struct Frame {
    Eigen::Index bend = 0;
    double angle = 0.0, rate = 0.0;
    double c = 1.0, s = 0.0;  // cosine and sine of the angle
  };
  std::vector<Frame> frames_;
};

}  // namespace tendril
