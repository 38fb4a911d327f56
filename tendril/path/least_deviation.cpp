#include "tendril/path/least_deviation.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "tendril/kinematics/jacobian.hpp"
#include "tendril/path/shape_fit.hpp"

namespace tendril {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;
using Eigen::VectorXd;

constexpr double kSpacing = 0.02;     // of the advance [m]
constexpr int kPointsPerSection = 6;  // the points between them may deviate more: still a bound
constexpr int kIterations = 40;       // of Lawson's algorithm at each advance
constexpr double kGapWidth = 1.02;    // the bound need not come nearer to the maximum than this
constexpr double kNone = 1e-6;        // no deviation at all [m]
constexpr double kDamping = 1e-9;     // [m^2/rad^2]
constexpr double kForgotten = 0.05;   // part of the weights that is even at the next advance

/// The deviations e - J x of a body's points across the path, linear in its bends x.
struct Deviations {
  explicit Deviations(int sections)
      : J(3 * kPointsPerSection * sections, 2 * sections), e(J.rows()), arc_length(J.rows() / 3) {}

  [[nodiscard]] VectorXd norms(const VectorXd& x) const {
    const VectorXd left = e - J * x;
    VectorXd all(left.size() / 3);
    for (Eigen::Index i = 0; i < all.size(); ++i) all[i] = left.segment<3>(3 * i).norm();
    return all;
  }
  /// The bends with the least weighted sum of squares.
  [[nodiscard]] VectorXd least_squares(const VectorXd& weights) const {
    Eigen::MatrixXd normal = Eigen::MatrixXd::Zero(J.cols(), J.cols());
    VectorXd gradient = VectorXd::Zero(J.cols());
    for (Eigen::Index i = 0; i < weights.size(); ++i) {
      const Eigen::Index columns = 2 * (i / kPointsPerSection + 1);  // later bends do not move it
      const auto Ji = J.block(3 * i, 0, 3, columns);
      normal.topLeftCorner(columns, columns).noalias() += weights[i] * (Ji.transpose() * Ji);
      gradient.head(columns).noalias() += weights[i] * (Ji.transpose() * e.segment<3>(3 * i));
    }
    normal.diagonal().array() += kDamping;
    return normal.ldlt().solve(gradient);
  }

  Eigen::MatrixXd J;
  VectorXd e;
  VectorXd arc_length;
};

void linearize(const ContinuumRobot& robot, const Path& path, const BaseState& base,
               std::span<const SectionState> states, Deviations& out) {
  Eigen::Matrix<double, 6, Eigen::Dynamic> scratch(6, robot.coordinate_count());
  Eigen::MatrixXd bends(3, out.J.cols());
  out.J.setZero();
  double start = base.feed;
  Eigen::Index point = 0;
  for (int i = 0; i < robot.section_count(); ++i) {
    const double length = robot.section(i).length() + states[static_cast<std::size_t>(i)].extension;
    for (int k = 1; k <= kPointsPerSection; ++k, ++point) {
      const double fraction = static_cast<double>(k) / kPointsPerSection;
      const double s = start + fraction * length;
      const Vector3d p = bend_jacobian(robot, states, base, i, fraction, scratch, bends);
      const Vector3d along = path.tangent(s);
      const Matrix3d across = Matrix3d::Identity() - along * along.transpose();
      out.J.block(3 * point, 0, 3, 2 * (i + 1)) = across * bends.leftCols(2 * (i + 1));
      out.e.segment<3>(3 * point) = across * (path.position(s) - p);
      out.arc_length[point] = s;
    }
    start += length;
  }
}

}  // namespace

LeastDeviation least_deviation(const ContinuumRobot& robot, const Path& path,
                               const Advance& advance, double end) {
  const int sections = robot.section_count();
  ShapeFit fit(robot, {.iterations = 20, .norm = FitNorm::Body});
  std::vector<SectionState> states(robot.straight().begin(), robot.straight().end());
  Deviations deviations(sections);
  const Eigen::Index points = deviations.arc_length.size();
  const VectorXd even = VectorXd::Constant(points, 1.0 / static_cast<double>(points));
  VectorXd weights = even;
  LeastDeviation least;
  const int steps = std::max(1, static_cast<int>(std::ceil(end / kSpacing)));
  for (int step = 0; step <= steps; ++step) {
    const double advanced = end * step / steps;
    const BaseState base = advance.apply(advanced, states);
    fit.fit([&](double s) { return path.position(s); }, base, states);
    linearize(robot, path, base, states, deviations);
    double smallest = std::numeric_limits<double>::infinity();  // of the maxima found
    for (int k = 0; k < kIterations; ++k) {
      const VectorXd norms = deviations.norms(deviations.least_squares(weights));
      Eigen::Index farthest = 0;
      const double largest = norms.maxCoeff(&farthest);
      const double bound = std::sqrt(weights.dot(norms.cwiseAbs2()));
      if (bound > least.distance)
        least = {
            .distance = bound, .advance = advanced, .arc_length = deviations.arc_length[farthest]};
      smallest = std::min(smallest, largest);
      if (largest < kNone || smallest < kGapWidth * bound) break;
      weights.array() *= norms.array();
      weights /= weights.sum();
    }
    weights = (1.0 - kForgotten) * weights + kForgotten * even;
  }
  return least;
}

}  // namespace tendril
