#include "tendril/kinematics/tendon_map.hpp"

#include <Eigen/QR>
#include <cmath>
#include <string>

#include "tendril/model_error.hpp"
#include "tendril/range.hpp"
#include "tendril/standard_arithmetic.hpp"

namespace tendril {
namespace {

double rest_length(const Section& section) {
  return section.length() + section.variable_length() / 2.0;
}

/// Mean lever arm r (cos a, sin a) in a piece of the path, of a tendon that turns: times the cosine
/// of its inclination to the backbone.
Eigen::Vector2d mean_lever(const TendonRoute& tendon, double from, double to,
                           double path_length_along) {
  // The middle of an arc represents all of it.
  if (tendon.turn == 0.0) return tendon.offset_at((from + to) / 2.0 / path_length_along);
  constexpr int kSteps = 200;
  const double taper = (tendon.end_distance - tendon.base_distance) / path_length_along;
  Eigen::Vector2d lever = Eigen::Vector2d::Zero();
  for (int i = 0; i < kSteps; ++i) {
    const double fraction = (from + (to - from) * (i + 0.5) / kSteps) / path_length_along;
    const double across =
        hypotenuse(taper, tendon.distance_at(fraction) * tendon.turn / path_length_along);
    lever += tendon.offset_at(fraction) / (kSteps * hypotenuse(1.0, across));
  }
  return lever;
}

/// The same in a section that begins `start` along the path, weighted by the bend of its
/// sub-sections.
Eigen::Vector2d mean_lever(const TendonRoute& tendon, const Section& section, double start,
                           double path_length_along) {
  const auto lengths = section.length_weights(), bends = section.angle_weights();
  Eigen::Vector2d lever = Eigen::Vector2d::Zero();
  for (std::size_t j = 0; j < lengths.size(); ++j) {
    const double length = lengths[j] * rest_length(section);
    lever += bends[j] * mean_lever(tendon, start, start + length, path_length_along);
    start += length;
  }
  return lever;
}

}  // namespace

TendonMap::TendonMap(const ContinuumRobot& robot, std::span<const TendonRoute> tendons)
    : jacobian_(Eigen::MatrixXd::Zero(static_cast<Eigen::Index>(tendons.size()),
                                      robot.coordinate_count())),
      straight_(Eigen::VectorXd::Zero(robot.coordinate_count())) {
  for (int i = 0; i < robot.section_count(); ++i) {
    if (robot.section(i).is_extensible())
      straight_[robot.coordinate_index(i) + 2] = robot.section(i).variable_length() / 2.0;
  }
  for (std::size_t t = 0; t < tendons.size(); ++t) {
    const TendonRoute& tendon = tendons[t];
    const std::string object = "tendon " + std::to_string(t + 1);
    require(object, "section", tendon.section, {0.0, robot.section_count() - 1.0});
    require(object, "first_section", tendon.first_section,
            {0.0, static_cast<double>(tendon.section)});
    require(object, "angle", tendon.angle, kFinite, "rad");
    require(object, "turn", tendon.turn, kFinite, "rad");
    require(object, "base_distance", tendon.base_distance, kPositive, "m");
    require(object, "end_distance", tendon.end_distance, kPositive, "m");
    double path_length_along = 0.0;
    for (int i = tendon.first_section; i <= tendon.section; ++i)
      path_length_along += rest_length(robot.section(i));
    double start = 0.0;
    for (int i = tendon.first_section; i <= tendon.section; ++i) {
      const Section& section = robot.section(i);
      const int k = robot.coordinate_index(i);
      const auto row = static_cast<Eigen::Index>(t);
      jacobian_.row(row).segment<2>(k) = -mean_lever(tendon, section, start, path_length_along);
      if (section.is_extensible()) jacobian_(row, k + 2) = 1.0;
      start += rest_length(section);
    }
  }
  inverse_ = jacobian_.completeOrthogonalDecomposition().pseudoInverse();
}

void TendonMap::lengths(const Eigen::VectorXd& q, Eigen::VectorXd& lengths) const noexcept {
  lengths.noalias() = jacobian_ * q;
  lengths.noalias() -= jacobian_ * straight_;
}

void TendonMap::moments(const Eigen::VectorXd& tensions, Eigen::VectorXd& moments) const noexcept {
  moments.noalias() = -jacobian_.transpose() * tensions;
}

void TendonMap::coordinates(const Eigen::VectorXd& lengths, Eigen::VectorXd& q) const noexcept {
  q = straight_;
  q.noalias() += inverse_ * lengths;
}

}  // namespace tendril
