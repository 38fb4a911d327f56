#pragma once

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <vector>

namespace tendril {

/// Tensions of tendons for given moments: of all that lie within their limits and make the moments,
/// the ones of least norm,
///
///     min |t|^2   with   P t = m,   t_min <= t <= t_max.
///
/// Tendons only pull, t_min >= 0; pressure chambers push with tensions below 0, down to t_min.
/// Where no tensions make the moments, those that come nearest (least squares). The solution is
/// continuous and piecewise linear in m. All memory is allocated by the constructor, nothing is
/// kept from call to call.
///
/// t = clip(P^T y): the dual y maximizes a concave, piecewise quadratic function, by Newton's
/// method with exact line search. Source: docs/theory/chain.md, "Tension distribution".
/// Tested by: tension_distribution_test.
class TensionDistribution {
 public:
  TensionDistribution() = default;
  /// @param moments  P, moments x tendons: of each tendon's unit tension [m]
  /// @param low,high limits of each tendon [N]; low <= high. Throws ModelError.
  TensionDistribution(Eigen::MatrixXd moments, Eigen::VectorXd low, Eigen::VectorXd high);

  struct Result {
    int iterations = 0;    ///< of Newton's method, at most kMaxIterations
    double error = 0.0;    ///< |P t - m| [N m]
    bool reached = false;  ///< error within kTolerance of the largest moment that the tendons make
  };
  static constexpr int kMaxIterations = 60;
  static constexpr double kTolerance = 1e-7;

  /// @param m         as many as P has rows [N m]
  /// @param tensions  [N]; resized to the number of tendons
  Result distribute(const Eigen::VectorXd& m, Eigen::VectorXd& tensions) noexcept;

  /// A limit that changes; not below the lower one.
  void set_high(Eigen::Index t, double high) noexcept { high_[t] = std::max(high, low_[t]); }

  [[nodiscard]] Eigen::Index tendon_count() const noexcept { return moments_.cols(); }
  [[nodiscard]] const Eigen::MatrixXd& moments() const noexcept { return moments_; }

 private:
  [[nodiscard]] double clipped(Eigen::Index t, double tension) const noexcept;
  [[nodiscard]] double slope(double step) const noexcept;
  [[nodiscard]] double line_search() noexcept;

  Eigen::MatrixXd moments_;
  Eigen::VectorXd low_, high_;
  double regularization_ = 0.0, scale_ = 0.0, settled_ = 0.0;
  // Scratch.
  Eigen::VectorXd m_, dual_, residual_, direction_;
  Eigen::VectorXd free_, free_change_;  // P^T y and P^T dy
  Eigen::MatrixXd hessian_;
  // Of a matrix from the start: Eigen copies the status of an empty one uninitialized.
  Eigen::LDLT<Eigen::MatrixXd> factor_{Eigen::MatrixXd(Eigen::MatrixXd::Identity(1, 1))};
  std::vector<double> kinks_;
};

}  // namespace tendril
