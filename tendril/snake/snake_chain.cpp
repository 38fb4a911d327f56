#include "tendril/snake/snake_chain.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <string>
#include <utility>

#include "tendril/range.hpp"
#include "tendril/snake/module_frame.hpp"
#include "tendril/standard_arithmetic.hpp"

namespace tendril {
namespace {

using Eigen::Isometry3d;
using Eigen::Matrix3d;
using Eigen::Vector3d;

constexpr Range kLimits{.low = 0.0, .high = std::numbers::pi / 2.0, .open_low = true};

/// R_{j-1} to R_j.
void rotate(int j, double angle, Matrix3d& R) noexcept {
  const double c = std::cos(angle), s = std::sin(angle);
  if (j % 2 == 1)
    rotate_yaw(c, s, R);
  else
    rotate_pitch(c, s, R);
}

}  // namespace

SnakeChain::SnakeChain(SnakeParameters parameters) : parameters_(std::move(parameters)) {
  const std::vector<double>& lengths = parameters_.link_lengths;
  if (lengths.size() < 2 || lengths.size() % 2 != 0)
    refuse("snake", "number of links", static_cast<double>(lengths.size()), "even and >= 2");
  const bool universal = lengths[0] == 0.0;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const std::string name = "snake: link " + std::to_string(i + 1);
    if (!universal || i % 2 == 1)
      require(name, "length", lengths[i], kPositive, "m");
    else if (lengths[i] != 0.0)
      refuse(name, "length", lengths[i], "0, as that of link 1: universal joints", "m");
    length_ += lengths[i];
  }
  require("snake", "joint_limit", parameters_.joint_limit, kLimits, "rad");
  if (parameters_.joint_limits.empty())
    parameters_.joint_limits.assign(lengths.size(), parameters_.joint_limit);
  if (parameters_.joint_limits.size() != lengths.size())
    refuse("snake", "number of joint_limits", static_cast<double>(parameters_.joint_limits.size()),
           "0 or the number of links, " + std::to_string(lengths.size()));
  for (std::size_t i = 0; i < lengths.size(); ++i)
    require("snake: joint " + std::to_string(i + 1), "limit", parameters_.joint_limits[i], kLimits,
            "rad");
  require("snake", "rear_length", parameters_.rear_length, kNotNegative, "m");
}

SnakeChain SnakeChain::uniform(int module_count, double link_length, double joint_limit,
                               double rear_length) {
  require("snake", "number of modules", module_count, {.low = 1.0});
  return SnakeChain(
      {.link_lengths = std::vector<double>(2 * static_cast<std::size_t>(module_count), link_length),
       .joint_limit = joint_limit,
       .rear_length = rear_length});
}

bool SnakeChain::within_limits(std::span<const double> angles) const noexcept {
  assert(std::ssize(angles) == joint_count());
  for (int j = 1; j <= joint_count(); ++j) {
    if (!(std::abs(angles[static_cast<std::size_t>(j - 1)]) <= joint_limit(j))) return false;
  }
  return true;
}

double SnakeChain::curvature_limit(int j) const noexcept {
  const double half = joint_limit(j) / 2.0;
  if (is_universal()) {
    const int k = (j + 1) / 2;
    return 2.0 * std::sin(half) / (0.5 * (module_length(std::max(k - 1, 1)) + module_length(k)));
  }
  const auto length = [this](int i) { return link_length(std::clamp(i, 1, joint_count())); };
  if (j % 2 == 0) return std::tan(half) / (0.5 * (length(j - 1) + length(j)));
  const double behind = j == 1 ? length(1) + length(2) : length(j - 2) + length(j - 1);
  return 2.0 * std::sin(half) / (0.5 * (behind + length(j) + length(j + 1)));
}

void snake_points(const SnakeChain& chain, const Isometry3d& X_WB, std::span<const double> angles,
                  std::span<Vector3d> p_WL) noexcept {
  assert(std::ssize(angles) == chain.joint_count() && p_WL.size() == angles.size() + 1);
  Matrix3d R = X_WB.linear();
  p_WL[0] = X_WB.translation();
  for (int j = 1; j <= chain.joint_count(); ++j) {
    const auto i = static_cast<std::size_t>(j);
    rotate(j, angles[i - 1], R);
    p_WL[i] = p_WL[i - 1] + chain.link_length(j) * R.col(0);
  }
}

void snake_frames(const SnakeChain& chain, const Isometry3d& X_WB, std::span<const double> angles,
                  std::span<Isometry3d> X_WL) noexcept {
  assert(std::ssize(angles) == chain.joint_count() && X_WL.size() == angles.size() + 1);
  X_WL[0] = X_WB;
  Matrix3d R = X_WB.linear();
  for (int j = 1; j <= chain.joint_count(); ++j) {
    const auto i = static_cast<std::size_t>(j);
    rotate(j, angles[i - 1], R);
    X_WL[i].makeAffine();
    X_WL[i].linear() = R;
    X_WL[i].translation() = X_WL[i - 1].translation() + chain.link_length(j) * R.col(0);
  }
}

ModuleAngles module_angles(const Vector3d& D, double first_length, double second_length) noexcept {
  const double rho = hypotenuse(D.x(), D.y());
  const double excess = rho - first_length;
  return {.yaw = std::atan2(D.y(), D.x()),
          .pitch = std::atan2(D.z(), excess),
          .gap = hypotenuse(std::max(excess, 0.0), D.z()) - second_length};
}

double angles_from_even_points(const SnakeChain& chain, const Matrix3d& R_WB,
                               std::span<const Vector3d> even_points,
                               std::span<double> angles) noexcept {
  assert(std::ssize(even_points) == chain.module_count() + 1);
  assert(std::ssize(angles) == chain.joint_count());
  Matrix3d R = R_WB;
  double worst = 0.0;
  for (int k = 1; k <= chain.module_count(); ++k) {
    const auto i = static_cast<std::size_t>(k);
    const Vector3d D = R.transpose() * (even_points[i] - even_points[i - 1]);
    const ModuleAngles module =
        module_angles(D, chain.link_length(2 * k - 1), chain.link_length(2 * k));
    angles[2 * i - 2] = module.yaw;
    angles[2 * i - 1] = module.pitch;
    rotate(2 * k - 1, module.yaw, R);
    rotate(2 * k, module.pitch, R);
    worst = std::max(worst, std::abs(module.gap));
  }
  return worst;
}

}  // namespace tendril
