#include "tendril/kinematics/section.hpp"

#include <algorithm>
#include <cstdio>
#include <numbers>
#include <numeric>
#include <string>

#include "tendril/kinematics/sinc.hpp"
#include "tendril/model_error.hpp"
#include "tendril/standard_arithmetic.hpp"

namespace tendril {
namespace {

constexpr double kTwoPi = 2.0 * std::numbers::pi;
constexpr double kScanStep = std::numbers::pi / 360.0;  // half a degree
constexpr double kUndeterminedBend = 1e-12;             // [rad], below it a bend has no direction
constexpr double kVanishedChord = 1e-15;                // per unit length

[[noreturn]] void refuse(int index, const std::string& field, double value, const char* unit,
                         const char* allowed) {
  char number[32];
  std::snprintf(number, sizeof number, "%.9g", value);
  throw ModelError("section " + std::to_string(index) + ": " + field + " = " + number + unit +
                   ", must be " + allowed);
}

void check_length(int index, const char* field, double value) {
  if (!std::isfinite(value) || value < 0.0) refuse(index, field, value, " m", "finite and >= 0");
}

void check_weights(int index, const SectionParameters& parameters) {
  const std::size_t lengths = std::max<std::size_t>(parameters.length_weights.size(), 1);
  const std::size_t angles = std::max<std::size_t>(parameters.angle_weights.size(), 1);
  if (lengths != angles)
    throw ModelError(
        "section " + std::to_string(index) + ": angle_weights has " + std::to_string(angles) +
        " values, must have as many as length_weights, which has " + std::to_string(lengths));
  for (std::size_t j = 0; j < parameters.length_weights.size(); ++j) {
    const double W = parameters.length_weights[j];
    if (!std::isfinite(W) || W <= 0.0)
      refuse(index, "length_weights[" + std::to_string(j) + "]", W, "", "finite and > 0");
  }
  for (std::size_t j = 0; j < parameters.angle_weights.size(); ++j) {
    const double w = parameters.angle_weights[j];
    if (!std::isfinite(w) || w < 0.0)
      refuse(index, "angle_weights[" + std::to_string(j) + "]", w, "", "finite and >= 0");
  }
}

/// The weights divided by their sum; {1} for none.
std::vector<double> normalized(int index, const char* field, std::vector<double> weights) {
  if (weights.empty()) return {1.0};
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  if (!std::isfinite(sum) || sum <= 0.0)
    refuse(index, std::string("sum of ") + field, sum, "", "finite and > 0");
  for (double& weight : weights) weight /= sum;
  return weights;
}

/// A running point of the unit-length planar shape: sub-section after sub-section is appended.
struct PlanarWalk {
  double cos_tangent = 1.0, sin_tangent = 0.0;
  double angle_fraction = 0.0;  // A_j
  PlanarPoint point;

  /// Appends an arc of length W (of total length 1) that takes the fraction w of the bend angle.
  void append(double W, double w, double theta) noexcept {
    const double y = w * theta / 2.0;
    const double cos_y = std::cos(y), sin_y = std::sin(y);
    const double cos_mid = cos_tangent * cos_y - sin_tangent * sin_y;
    const double sin_mid = sin_tangent * cos_y + cos_tangent * sin_y;
    const Sinc chord = sinc(y, sin_y, cos_y);
    const double d = w / 2.0 * chord.derivative;
    const double sg = chord.value * (angle_fraction + w / 2.0);
    point.x += W * chord.value * sin_mid;
    point.z += W * chord.value * cos_mid;
    point.dx += W * (d * sin_mid + sg * cos_mid);
    point.dz += W * (d * cos_mid - sg * sin_mid);
    cos_tangent = cos_mid * cos_y - sin_mid * sin_y;
    sin_tangent = sin_mid * cos_y + cos_mid * sin_y;
    angle_fraction += w;
  }
};

/// Rz(phi) Ry(tangent angle) Rz(-phi) and the planar point, for total length S, rotated into the
/// plane phi.
Eigen::Isometry3d bent_pose(const PlanarPoint& point, double phi, double S) noexcept {
  const double c = point.cos_tangent, s = point.sin_tangent;
  const double cp = std::cos(phi), sp = std::sin(phi);
  Eigen::Isometry3d X_SE;
  X_SE.linear() << cp * cp * c + sp * sp, cp * sp * (c - 1.0), cp * s,  //
      cp * sp * (c - 1.0), sp * sp * c + cp * cp, sp * s,               //
      -cp * s, -sp * s, c;
  X_SE.translation() << S * point.x * cp, S * point.x * sp, S * point.z;
  return X_SE;
}

/// Small-bend limit of alpha/theta: sum_j w_j (1 - m_j), m_j the middle of sub-section j.
double small_bend_ratio(std::span<const double> W, std::span<const double> w) noexcept {
  double ratio = 0.0, base = 0.0;
  for (std::size_t j = 0; j < W.size(); ++j) {
    ratio += w[j] * (1.0 - (base + W[j] / 2.0));
    base += W[j];
  }
  return ratio;
}

/// Tells whether the chord angle still grows at theta and has not reached pi.
bool is_invertible_at(const Section& section, double theta) noexcept {
  const PlanarPoint end = section.end_point(theta);
  return end.x >= 0.0 && end.z * end.dx - end.x * end.dz > 0.0;
}

/// First end of the interval on which the chord angle grows and remains below pi; at most the bend
/// limit.
double find_invertible_bend_angle(const Section& section) noexcept {
  double good = 0.0;
  while (good < section.bend_angle_limit()) {
    double bad = std::min(good + kScanStep, section.bend_angle_limit());
    if (is_invertible_at(section, bad)) {
      good = bad;
      continue;
    }
    for (int i = 0; i < 60; ++i) {
      const double middle = 0.5 * (good + bad);
      (is_invertible_at(section, middle) ? good : bad) = middle;
    }
    return good;
  }
  return section.bend_angle_limit();
}

}  // namespace

SectionState state_from_bend_vector(double u, double v, double extension,
                                    double phi_if_straight) noexcept {
  const double theta = hypotenuse(u, v);
  return {theta, theta < kUndeterminedBend ? phi_if_straight : std::atan2(v, u), extension};
}

Section::Section(const SectionParameters& parameters, int index)
    : length_(parameters.length),
      variable_length_(parameters.variable_length),
      bend_angle_limit_(parameters.bend_angle_limit),
      rotation_(parameters.rotation),
      bend_plane_(parameters.bend_plane) {
  if (turns() && bend_plane_ != BendPlane::Any)
    throw ModelError("section " + std::to_string(index) +
                     ": bend_plane: a section that turns bends in any plane");
  check_length(index, "length", length_);
  check_length(index, "variable_length", variable_length_);
  if (!(max_length() > 0.0) || !std::isfinite(max_length()))
    refuse(index, "length + variable_length", max_length(), " m", "finite and > 0");
  if (!(bend_angle_limit_ > 0.0) || bend_angle_limit_ > kTwoPi)
    refuse(index, "bend_angle_limit", bend_angle_limit_, " rad", "in (0, 2 pi]");
  check_weights(index, parameters);
  length_weights_ = normalized(index, "length_weights", parameters.length_weights);
  angle_weights_ = normalized(index, "angle_weights", parameters.angle_weights);

  if (length_weights_.size() == 1) {
    theta_inv_ = bend_angle_limit_;
    alpha_inv_ = bend_angle_limit_ / 2.0;
    return;
  }
  kappa0_ = small_bend_ratio(length_weights_, angle_weights_);
  theta_inv_ = find_invertible_bend_angle(*this);
  const PlanarPoint end = end_point(theta_inv_);
  alpha_inv_ = std::atan2(std::abs(end.x), end.z);
}

SectionParameters Section::parameters() const {
  return {.length = length_,
          .variable_length = variable_length_,
          .bend_angle_limit = bend_angle_limit_,
          .length_weights = length_weights_,
          .angle_weights = angle_weights_,
          .rotation = rotation_,
          .bend_plane = bend_plane_};
}

double Section::bend_angle_limit_at(double extension) const noexcept {
  if (!is_extensible()) return bend_angle_limit_;
  return bend_angle_limit_ * (extension / variable_length_);
}

PlanarPoint Section::end_point(double theta) const noexcept {
  if (length_weights_.size() == 1) {
    const double y = theta / 2.0;
    const double cos_y = std::cos(y), sin_y = std::sin(y);
    const Sinc chord = sinc(y, sin_y, cos_y);
    return {chord.value * sin_y,
            chord.value * cos_y,
            0.5 * (chord.derivative * sin_y + chord.value * cos_y),
            0.5 * (chord.derivative * cos_y - chord.value * sin_y),
            1.0,
            (cos_y - sin_y) * (cos_y + sin_y),
            2.0 * sin_y * cos_y};
  }
  PlanarWalk walk;
  for (std::size_t j = 0; j < length_weights_.size(); ++j)
    walk.append(length_weights_[j], angle_weights_[j], theta);
  walk.point.cos_tangent = walk.cos_tangent;
  walk.point.sin_tangent = walk.sin_tangent;
  return walk.point;
}

PlanarPoint Section::point_at(double theta, double fraction) const noexcept {
  fraction = std::clamp(fraction, 0.0, 1.0);
  PlanarWalk walk;
  double rest = fraction;
  for (std::size_t j = 0; j < length_weights_.size() && rest > 0.0; ++j) {
    const double W = std::min(rest, length_weights_[j]);
    walk.append(W, angle_weights_[j] * (W / length_weights_[j]), theta);
    rest -= W;
  }
  walk.point.tangent_ratio = walk.angle_fraction;
  walk.point.cos_tangent = walk.cos_tangent;
  walk.point.sin_tangent = walk.sin_tangent;
  return walk.point;
}

Chord chord(const Section& section, double theta) noexcept {
  const PlanarPoint end = section.end_point(theta);
  const double ratio = hypotenuse(end.x, end.z);
  if (section.length_weights().size() == 1) return {theta / 2.0, ratio, 0.5};
  const double turning = end.z * end.dx - end.x * end.dz;
  return {std::atan2(end.x, end.z), ratio,
          ratio > kVanishedChord ? turning / (ratio * ratio) : 0.0};
}

Eigen::Isometry3d section_end_pose(const Section& section, const SectionState& state) noexcept {
  const double S = section.length() + state.extension;
  const PlanarPoint end = section.end_point(state.theta);
  return bent_pose(end, state.phi, S);
}

Eigen::Isometry3d section_pose_at(const Section& section, const SectionState& state,
                                  double fraction) noexcept {
  const double S = section.length() + state.extension;
  const PlanarPoint point = section.point_at(state.theta, fraction);
  return bent_pose(point, state.phi, S);
}

}  // namespace tendril
