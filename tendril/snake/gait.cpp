#include "tendril/snake/gait.hpp"

#include <Eigen/Dense>
#include <array>
#include <cassert>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

namespace tendril {
namespace {

constexpr double kPi = std::numbers::pi;
constexpr std::array<std::string_view, kGaitKinds> kNames{
    "vertical_wave", "serpenoid", "sidewinding", "rolling", "anguilliform", "helix"};

CylinderFit fit_helix(double amplitude, double lag, double link_length, int joints) {
  Gait gait = standard_gait(GaitKind::Helix, joints);
  gait.yaw_amplitude = gait.pitch_amplitude = amplitude;
  gait.lag = lag;
  std::vector<double> angles(static_cast<std::size_t>(joints));
  gait_angles(gait, {}, 0.0, angles);
  const SnakeChain chain = SnakeChain::uniform(joints / 2, link_length, kPi / 2.0, link_length);
  return fit_cylinder(link_middles(chain, angles));
}

/// One Gauss-Newton step of the points' distances from the cylinder; false when it has converged or
/// cannot continue.
bool improve(std::span<const Eigen::Vector3d> points, CylinderFit& fit) {
  const Eigen::Vector3d e1 = fit.axis.unitOrthogonal(), e2 = fit.axis.cross(e1);
  Eigen::Matrix<double, 5, 5> normal = Eigen::Matrix<double, 5, 5>::Zero();
  Eigen::Matrix<double, 5, 1> rhs = Eigen::Matrix<double, 5, 1>::Zero();
  for (const Eigen::Vector3d& p : points) {
    const double along = fit.axis.dot(p - fit.point);
    const Eigen::Vector3d across = p - fit.point - along * fit.axis;
    const double distance = across.norm();
    const double u = across.dot(e1) / distance, v = across.dot(e2) / distance;
    const Eigen::Matrix<double, 5, 1> row{-u, -v, -along * u, -along * v, -1.0};
    normal += row * row.transpose();
    rhs -= row * (distance - fit.radius);
  }
  const Eigen::Matrix<double, 5, 1> change = normal.ldlt().solve(rhs);
  if (!change.allFinite()) return false;
  fit.point += change[0] * e1 + change[1] * e2;
  fit.axis = (fit.axis + change[2] * e1 + change[3] * e2).normalized();
  fit.radius += change[4];
  return change.norm() > 1e-14;
}

constexpr int kFitSteps = 30;

double bessel_j0(double x) noexcept {
#ifdef __cpp_lib_math_special_functions
  return std::cyl_bessel_j(0.0, x);
#else
  return ::j0(x);  // libc++ has none
#endif
}

}  // namespace

std::string_view to_string(GaitKind kind) noexcept {
  return kNames[static_cast<std::size_t>(kind)];
}

std::optional<GaitKind> gait_kind(std::string_view name) noexcept {
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<GaitKind>(i);
  }
  return std::nullopt;
}

double lag_of_waves(double waves, int joints) noexcept { return 2.0 * kPi * waves / joints; }

Gait standard_gait(GaitKind kind, int joints) noexcept {
  Gait gait;
  gait.kind = kind;
  switch (kind) {
    case GaitKind::VerticalWave:
      gait.pitch_amplitude = 0.45;
      gait.lag = lag_of_waves(2.0, joints);
      break;
    case GaitKind::Serpenoid:  // towards the tail: the body is pushed head first
      gait.yaw_amplitude = 0.6;
      gait.lag = lag_of_waves(-1.25, joints);
      break;
    case GaitKind::Sidewinding:
      gait.yaw_amplitude = 0.6;
      gait.pitch_amplitude = 0.25;
      gait.pitch_lead = kPi / 2.0;
      gait.lag = lag_of_waves(1.25, joints);
      break;
    case GaitKind::Rolling:
      gait.yaw_amplitude = gait.pitch_amplitude = 0.2;
      gait.yaw_lead = kPi / 2.0;
      break;
    case GaitKind::Anguilliform:
      gait.yaw_amplitude = 0.6;
      gait.lag = lag_of_waves(-1.0, joints);
      gait.growth = 0.8;
      break;
    case GaitKind::Helix:
      gait.yaw_amplitude = gait.pitch_amplitude = 1.6;
      gait.yaw_lead = kPi / 2.0;
      gait.lag = -0.3;
      gait.frequency = 0.3;
      break;
  }
  return gait;
}

void gait_angles(const Gait& gait, const GaitSteering& steering, double phase,
                 std::span<double> angles) noexcept {
  const auto n = static_cast<double>(angles.size());
  const auto yaw = [&](double j) {
    const double here = gait.growth == 0.0 ? 1.0 : 1.0 - gait.growth * (j - 1.0) / (n - 1.0);
    return gait.yaw_amplitude * here * std::sin(phase - gait.lag * j + gait.yaw_lead) +
           steering.yaw_offset;
  };
  const auto pitch = [&](double j) {
    const double weight = steering.side + steering.twist * (2.0 * j - n - 1.0) / n;
    return gait.pitch_amplitude * weight * std::sin(phase - gait.lag * j + gait.pitch_lead);
  };
  const double c = std::cos(steering.roll), s = std::sin(steering.roll);
  for (std::size_t i = 0; i < angles.size(); ++i) {
    const double j = static_cast<double>(i) + 1.0;
    angles[i] = i % 2 == 0 ? c * yaw(j) + s * pitch(j) : c * pitch(j) - s * yaw(j);
  }
}

WaveSpeed vertical_wave_speed(const Gait& gait, double link_length, double half_height) noexcept {
  const double lag = 2.0 * gait.lag;  // from pitch joint to pitch joint
  const double slope = gait.pitch_amplitude / (2.0 * std::sin(std::abs(lag) / 2.0));  // largest
  const double arc = 2.0 * link_length * 2.0 * kPi / std::abs(lag);  // Lambda, of one wave
  const double sign = lag < 0.0 ? -1.0 : 1.0;
  const double thin = sign * gait.frequency * arc * (1.0 - bessel_j0(std::abs(slope)));
  return {thin, thin + sign * 2.0 * kPi * gait.frequency * std::abs(slope) * half_height};
}

GaitFootprint gait_footprint(const Gait& gait, const SnakeChain& chain) {
  constexpr int kPhases = 48;
  GaitFootprint footprint;
  const int joints = chain.joint_count();
  std::vector<double> angles(static_cast<std::size_t>(joints));
  std::vector<Eigen::Isometry3d> frames(angles.size() + 1);
  std::vector<Eigen::Vector2d> ends(angles.size() + 2);
  for (int k = 0; k < kPhases; ++k) {
    gait_angles(gait, {}, 2.0 * kPi * k / kPhases, angles);
    snake_frames(chain, Eigen::Isometry3d::Identity(), angles, frames);
    ends[0] << -chain.rear_length(), 0.0;
    for (std::size_t i = 0; i < frames.size(); ++i) ends[i + 1] = frames[i].translation().head<2>();
    Eigen::Vector2d mean = Eigen::Vector2d::Zero();
    double heading = 0.0, length = 0.0;
    for (std::size_t i = 1; i < ends.size(); ++i) {
      const Eigen::Vector2d link = ends[i] - ends[i - 1];
      const double part = link.norm();
      if (part == 0.0) continue;
      length += part;
      heading += part * std::atan2(link.y(), link.x());
      mean += 0.5 * part * (ends[i] + ends[i - 1]);
    }
    mean /= length;
    const Eigen::Rotation2Dd turn(-heading / length);
    footprint.length += (turn * (ends.back() - ends.front())).x() / kPhases;
    for (const Eigen::Vector2d& end : ends) {
      const Eigen::Vector2d offset = turn * (end - mean);
      footprint.width = std::max(footprint.width, std::abs(offset.y()));
      footprint.reach = std::max(footprint.reach, offset.norm());
    }
  }
  return footprint;
}

double helix_radius(double amplitude, double lag, double link_length, int joints) {
  return fit_helix(amplitude, lag, link_length, joints).radius;
}

std::optional<double> helix_amplitude(double radius, double lag, double link_length, int joints) {
  // The radius falls with the amplitude from the largest, where the coil's pitch angle is 45 deg
  // (curvature = torsion), on.
  double loose = 2.0 * std::atan(std::abs(lag)), tight = kLargestHelixAmplitude;
  if (!(helix_radius(loose, lag, link_length, joints) >= radius) ||
      !(helix_radius(tight, lag, link_length, joints) <= radius)) {
    return std::nullopt;
  }
  while (tight - loose > 1e-12) {
    const double middle = 0.5 * (loose + tight);
    (helix_radius(middle, lag, link_length, joints) > radius ? loose : tight) = middle;
  }
  return 0.5 * (loose + tight);
}

std::vector<Eigen::Vector3d> link_middles(const SnakeChain& chain, std::span<const double> angles) {
  std::vector<Eigen::Isometry3d> frames(angles.size() + 1);
  snake_frames(chain, Eigen::Isometry3d::Identity(), angles, frames);
  std::vector<Eigen::Vector3d> middles;
  if (chain.rear_length() > 0.0) middles.emplace_back(-chain.rear_length() / 2.0, 0.0, 0.0);
  for (int j = 1; j <= chain.joint_count(); ++j) {
    if (chain.link_length(j) == 0.0) continue;  // between the axes of a universal joint
    middles.emplace_back(frames[static_cast<std::size_t>(j)] *
                         Eigen::Vector3d(-chain.link_length(j) / 2.0, 0.0, 0.0));
  }
  return middles;
}

CylinderFit fit_cylinder(std::span<const Eigen::Vector3d> points) {
  assert(points.size() >= 5);
  const auto n = static_cast<Eigen::Index>(points.size());
  Eigen::Matrix3d bends = Eigen::Matrix3d::Zero();
  Eigen::Vector3d mean = Eigen::Vector3d::Zero();
  for (std::size_t i = 0; i < points.size(); ++i) {
    mean += points[i] / static_cast<double>(n);
    if (i == 0 || i + 1 == points.size()) continue;
    const Eigen::Vector3d bend = points[i - 1] - 2.0 * points[i] + points[i + 1];
    bends += bend * bend.transpose();
  }
  CylinderFit fit;
  const Eigen::SelfAdjointEigenSolver<Eigen::Matrix3d> solver(bends);
  fit.axis = solver.eigenvectors().col(0);
  if (fit.axis.dot(points.back() - points.front()) < 0.0) fit.axis = -fit.axis;
  const Eigen::Vector3d e1 = solver.eigenvectors().col(1), e2 = fit.axis.cross(e1);

  // x^2 + y^2 = 2 a x + 2 b y + c about the mean
  Eigen::MatrixX3d A(n, 3);
  Eigen::VectorXd rhs(n);
  for (Eigen::Index i = 0; i < n; ++i) {
    const Eigen::Vector3d p = points[static_cast<std::size_t>(i)] - mean;
    const double x = p.dot(e1), y = p.dot(e2);
    A.row(i) << 2.0 * x, 2.0 * y, 1.0;
    rhs[i] = x * x + y * y;
  }
  if (solver.eigenvalues()[1] <= 1e-24) {  // no bend: no circle
    fit.radius = std::numeric_limits<double>::infinity();
    return fit;
  }
  const Eigen::Vector3d circle = A.colPivHouseholderQr().solve(rhs);
  fit.point = mean + circle[0] * e1 + circle[1] * e2;
  fit.radius = std::sqrt(circle[2] + circle[0] * circle[0] + circle[1] * circle[1]);
  for (int i = 0; i < kFitSteps; ++i) {
    if (!improve(points, fit)) break;
  }
  fit.point += fit.axis.dot(mean - fit.point) * fit.axis;
  return fit;
}

}  // namespace tendril
